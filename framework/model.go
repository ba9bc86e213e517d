package framework

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/laplace"
)

// Statistics are sums over rows: all that the global step needs of the
// data and of q(Z). Merging is addition, so any grouping of the rows into blocks
// and shards gives the same statistics, to rounding.
//
// Exported fields travel in checkpoints (encoding/gob); scratch memory belongs in
// unexported ones.
type Statistics[S any] interface {
	// Merge adds the other's sums to the receiver's. They are those of other rows in the same
	// local step; where [Options].Accelerate is to work, of another step too.
	Merge(other S)
	// Weight is the sum of the row weights seen, the N of every formula.
	Weight() float64
}

// Scaler is implemented by statistics that can be tempered (see [Options].Temper) and
// extrapolated (see [Options].Accelerate).
type Scaler interface {
	// Scale multiplies every sum over rows by factor, which is not 0, the weight among them:
	// afterwards the statistics are those of rows of factor times the weight. What is not a
	// sum, such as a point that sums are taken about, stays. With Merge and negative factors
	// it makes sums that no rows have: for them Maximize may fail or give parameters without
	// a LogJoint, but must not panic.
	Scale(factor float64)
}

// A Model is a latent variable model ln p(X,Z|Π) as the engine sees it: a local
// step (Prepare, then Infer block by block), a global step (Maximize) and the
// value of the joint log-likelihood. These are enough for EM; the optional
// interfaces below add the rest.
//
// B is a block of rows, P the parameters Π, S the statistics. P and S are plain
// data or pointers to plain data; a nil or zero P stands for "none".
type Model[B, P any, S Statistics[S]] interface {
	// Init draws starting parameters with k latent dimensions. It may read the
	// source, and is the place to refuse data that the model cannot describe.
	// [FitFrom] starts elsewhere.
	Init(ctx context.Context, src Source[B], k int, rng *rand.Rand) (P, error)
	// NewStatistics makes statistics of the size that p needs, not yet prepared.
	NewStatistics(p P) S
	// Prepare empties s and readies it for a local step at p: whatever does not
	// depend on the rows is computed here, once a shard. The tilt, nil for EM, lowers the
	// log joint of each row (docs/theory/gfab.md, section 3: gFAB is one E-step away from EM).
	Prepare(p P, tilt *laplace.Tilt, s S) error
	// Infer finds q(z_n) for each row of b, adds the rows' expected statistics to
	// s and returns the entropy of their q, in nats, weighted like the rows.
	// Goroutines call it at the same time with different s.
	Infer(b B, p P, s S) (entropy float64, err error)
	// Maximize returns argmax_Π E_q[ln p(X,Z|Π)]. p is the current value, for
	// models whose global step starts from it; it must not be changed. dst, when
	// not the zero P, has the shape of p and is free to be overwritten and returned.
	Maximize(s S, p, dst P) (P, error)
	// LogJoint is E_q[ln p(X,Z|p)] in nats, in the units of the user's data.
	LogJoint(s S, p P) float64
	// Shape counts the parameters of p.
	Shape(p P) Shape
}

// Shape counts latent dimensions and parameters.
type Shape struct {
	K         int // latent dimensions
	Component int // D_Ξ, numbers that belong to latent dimensions
	Shared    int // D_Θ, numbers that all share
	Free      int // identifiable parameters, which BIC and AIC count: less symmetries, with centring; 0: D_Ξ + D_Θ
}

// Total is D_Π = D_Ξ + D_Θ.
func (s Shape) Total() int { return s.Component + s.Shared }

// Identifiable is the number of free parameters that BIC and AIC charge for.
func (s Shape) Identifiable() int {
	if s.Free == 0 {
		return s.Total()
	}
	return s.Free
}

// Curved adds gFIC, FIC, gFAB and FAB (paper G, eqs. 1, 2 and 16).
type Curved[P, S any] interface {
	// Curvature adds the blocks of F = E_q[F_Ξ], the average Hessian of −ln p(X,Z|Π)/N in Ξ,
	// to f, which is empty and knows N: each one a count, which q decides, times the information
	// of a unit of data in unit-free coordinates, which Π decides (see [laplace.Curvature]).
	// gFIC takes both factors, FIC the first, and the tilt that Prepare gets follows from them.
	Curvature(s S, p P, f *laplace.Curvature) error
}

// Projector adds pruning: the degeneracy projection T_K' of paper G (eq. 3, A1).
type Projector[P, S any] interface {
	// Relevance gives one number for each latent dimension. Those with the smallest are tried
	// first when the objective rule prunes. A negative number guarantees that the criterion rises at
	// once without the dimension, which is then tried before convergence.
	Relevance(s S, p P) ([]float64, error)
	// Keep keeps the latent dimensions dims, ascending and not empty: (Z, Π) → (Z̃, Π̃), where Z is
	// seen through its statistics. If those left out are degenerate, the joint
	// likelihood does not change. s and p are not changed, and what is returned may be
	// overwritten without changing them. [KeepAxes] does most of the work.
	Keep(s S, p P, dims []int) (S, P, error)
}

// Splitter adds split and merge moves to a [Projector] whose latent dimensions do not mix: the way out of local
// maxima, and the only way to more latent dimensions (Ueda, Nakano, Ghahramani & Hinton 2000). Where the best
// run has converged, the engine divides its latent dimensions one at a time, makes steps, and keeps what scores
// higher: with one dimension more where K may grow, else without the one that Relevance then misses least.
type Splitter[B, P, S any] interface {
	// Split returns parameters with one latent dimension more: k is divided between k and the last, the
	// others stay. The two must differ, because no step tells two equal ones apart. gain, in nats, is by how much
	// the division promises to raise E_q[ln p(X,Z|Π)] + H(q): divisions that promise most are tried first, those
	// that promise the same in the order of k. s is what p was maximised from; src may be read, and sampled
	// with rng. s and p are not changed. An error, an [ErrDegenerate] where no division explains the rows better, says
	// that k cannot be divided.
	Split(ctx context.Context, src Source[B], s S, p P, k int, rng *rand.Rand) (split P, gain float64, err error)
}

// Rotator marks a [Projector] whose latent dimensions mix linearly: a rotation of z, and of Π with it,
// leaves p(X|Π) unchanged. The engine rotates them to the principal axes of Signal before it keeps some.
type Rotator[P, S any] interface {
	// Signal is the signal-to-noise matrix of z in x, WᵀΨ⁻¹W, K×K and positive semidefinite:
	// the engine rotates to its eigenvectors before it asks for Relevance, whose sign guarantees
	// nothing here. nil means that the dimensions do not mix, as an option of the model may have it.
	Signal(s S, p P) (*mat.SymDense, error)
	// Rotate is z → Vᵀz, W → WV for an orthonormal basis V, K×K, of the latent space. s and p
	// are not changed.
	Rotate(s S, p P, basis *mat.Dense) (S, P, error)
}

// A Charge is a number of parameters with the N that they are estimated from: the criteria
// charge ½ ln N for each of them.
type Charge struct {
	Parameters int     // numbers
	Free       int     // identifiable ones, as BIC and AIC count them
	Latent     bool    // they belong to Ξ, and gFIC and FIC charge for them by F
	N          float64 // units of data that they are estimated from
}

// Charger is a model whose parameters are not all estimated from as many units of data: the start
// of a hidden Markov model from the sequences, the rest from time steps. The sums over the charges
// are those of [Shape]. For other models N is Weight.
type Charger[P, S any] interface {
	Charges(s S, p P) []Charge
}

// Estimating is a model whose parameters, where FAB or gFAB fitted them, are estimates only after a transformation,
// such as of loadings that the tilt lengthens. Criteria about the likelihood are taken at the estimates; EM's are the
// parameters themselves.
type Estimating[P, S any] interface {
	// Estimates are in parameters of their own: p stays.
	Estimates(s S, p P) (P, error)
}

// Expander adds parameter expansion (PX-EM; Liu, Rubin & Wu 1998). Where a change of z can
// be undone by Π without changing p(X|Z,Π), EM converges slowly along that change when the noise
// is small; the expansion maximises over it in one step.
type Expander[P, S any] interface {
	// Expand moves (q, Π) along such changes to where E_q[ln p(X,Z|Π)] + H(q) is largest, less
	// ½ ln|F| as q decides it where charged is true. It may overwrite s and p, and
	// returns the moved parameters and the change of H(q), weighted like the rows of s.
	Expand(s S, p P, charged bool) (moved P, entropy float64, err error)
}

// ErrDegenerate is wrapped by errors about a step that does not exist at this number of latent
// dimensions, and may with fewer. Where it may prune, the engine then drops a dimension: the one
// that a [DegenerateError] names, else the weakest.
var ErrDegenerate = errors.New("too many latent dimensions")

// A DegenerateError is an [ErrDegenerate] that names the latent dimension.
type DegenerateError struct {
	Dimension int // from 0
	Reason    error
}

func (e *DegenerateError) Error() string {
	if errors.Is(e.Reason, ErrDegenerate) {
		return fmt.Sprintf("latent dimension %d: %v", e.Dimension+1, e.Reason)
	}
	return fmt.Sprintf("latent dimension %d: %v: %v", e.Dimension+1, e.Reason, ErrDegenerate)
}

// Unwrap returns the reason and [ErrDegenerate].
func (e *DegenerateError) Unwrap() []error { return []error{e.Reason, ErrDegenerate} }

// ErrContract is wrapped by errors about a method of a model that violated its contract, such as
// a log density that is NaN. They end a fit wherever they occur, while any other error of a model in
// a trial of the objective rule only rejects the trial.
var ErrContract = errors.New("contract violated")

// Variational marks a model whose parameters are those of a posterior q(Π): its
// LogJoint holds E[ln p(X,Z,Π)] + H(q(Π)), so that with the entropy of q(Z) it is
// the evidence lower bound, and no criterion may charge for parameters again.
type Variational interface{ BoundsEvidence() }

// Penalized marks a model that estimates the mode of Π under a prior (MAP): its LogJoint
// holds ln p(Π), which LogPrior returns, so that criteria about the likelihood can subtract it.
type Penalized[P any] interface{ LogPrior(p P) float64 }

// LogProber gives the marginal log-likelihood ln p(x_n|Π) of each row of a block,
// in nats, in dst[:rows] (allocated when nil).
type LogProber[B, P any] interface {
	LogProb(b B, p P, dst []float64) ([]float64, error)
}

// Assigner marks a model with discrete latent variables, whose rows can be
// assigned: Responsibilities gives q(z_n = k) for each row, rows×K row-major.
// Criteria about classification, such as ICL, need it.
type Assigner[B, P any] interface {
	Responsibilities(b B, p P, dst []float64) ([]float64, error)
}

// LabelEntropy marks a model whose rows have labels that are not all of q(z_n), as in an [Assigner] with a position
// beside the label, or more than one of K, such as binary features: it gives the part of the entropy that is the
// labels', Σ_n w_n H(q(labels_n)) in nats, which ICL subtracts.
type LabelEntropy[S any] interface{ LabelEntropy(s S) float64 }

// BoundedLikelihood marks a model whose q is an approximation even at its best, such as a
// mean-field one: LogJoint + H(q) then bounds ln p(X|Π) from below and never reaches it. Criteria
// about the likelihood are of the bound, and [Score].Bound says so.
type BoundedLikelihood interface{ BoundsLikelihood() }

// Creeping is a model whose iterations gain so little each, where Creeps says so, that they are extrapolated without
// being asked for (see [Options.Accelerate]): little of the complete data's information is left, as about the degrees
// of freedom of t distributions.
type Creeping interface{ Creeps() bool }
