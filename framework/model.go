package framework

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/laplace"
)

// Statistics are sums over rows, from which the global step needs no more of the data and q(Z). Merging is addition, so
// any grouping of the rows into blocks and shards gives the same statistics, to rounding.
//
// Exported fields travel in checkpoints (encoding/gob); scratch memory belongs in
// unexported ones.
type Statistics[S any] interface {
	// Merge adds the other's sums to the receiver's. The other sums belong to other rows of the same local step or, under
	// [Options].Accelerate, to another step.
	Merge(other S)
	// Observations is N in every formula: the sum of the weights of the rows seen, each as often as it has observations.
	Observations() float64
}

// Scaler is implemented by statistics that can be tempered (see [Options].Temper) and
// extrapolated (see [Options].Accelerate).
type Scaler interface {
	// Scale multiplies every sum over rows by factor, which is not 0, the weight among them:
	// afterwards the statistics are those of rows of factor times the weight. Everything else, such as the origin of the
	// sums, stays. With Merge and negative factors it makes sums that no rows have: for such sums Maximize may fail or
	// return parameters without a LogJoint, but must not panic.
	Scale(factor float64)
}

// Follower is implemented by statistics that can take over what [Model].Prepare has computed, so that it is computed
// once a pass, and not once for each of the [DefaultShards] partial sums.
type Follower[S any] interface {
	// Follow empties the statistics and readies them for the local step that Prepare has readied lead for, which has the
	// same K. They may share with lead what no local step changes, and must not write to it later.
	Follow(lead S)
}

// A Model is a latent variable model ln p(X,Z|Π) as the engine sees it: a local
// step (Prepare, then Infer block by block), a global step (Maximize) and the
// value of the joint log-likelihood. These are enough for EM; the optional
// interfaces below add the rest.
//
// B is a block of rows, P the parameters Π, S the statistics. P and S are plain
// data or pointers to plain data; a nil or zero P stands for "none".
type Model[B, P any, S Statistics[S]] interface {
	// Init draws starting parameters with k latent dimensions. It may read the source, and should reject data that the
	// model cannot describe. [FitFrom] starts elsewhere.
	Init(ctx context.Context, src Source[B], k int, rng *rand.Rand) (P, error)
	// NewStatistics makes statistics of the size that p needs, not yet prepared.
	NewStatistics(p P) S
	// Prepare empties s and prepares it for a local step at p: it computes, once per shard, or once a pass if S is a
	// [Follower], whatever does not depend on the rows. The tilt, nil for EM, lowers the log joint of each row
	// (docs/theory/gfab.md, section 3: gFAB is one E-step away from EM).
	Prepare(p P, tilt *laplace.Tilt, s S) error
	// Infer finds q(z_n) for each row of b, adds the rows' expected statistics to
	// s and returns the entropy of their q, in nats, weighted like the rows.
	// Goroutines call it at the same time with different s.
	Infer(b B, p P, s S) (entropy float64, err error)
	// Maximize returns argmax_Π E_q[ln p(X,Z|Π)]. p is the current value, for models whose global step starts from it, and
	// must not be changed. dst, if not the zero P, has the shape of p; Maximize may overwrite and return it.
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
	Free      int // identifiable parameters, which BIC and AIC count: symmetries excluded, centring included; 0: D_Ξ + D_Θ
}

// Total is D_Π = D_Ξ + D_Θ.
func (s Shape) Total() int { return s.Component + s.Shared }

// Identifiable returns the number of free parameters, for which BIC and AIC charge.
func (s Shape) Identifiable() int {
	if s.Free == 0 {
		return s.Total()
	}
	return s.Free
}

// Curved adds gFIC, FIC, gFAB and FAB (paper G, eqs. 1, 2 and 16).
type Curved[P, S any] interface {
	// Curvature adds the blocks of F = E_q[F_Ξ], the average Hessian of −ln p(X,Z|Π)/N in Ξ,
	// to f, which is empty and knows N. Each block is a count, which depends on q, times the information of an observation
	// in unit-free coordinates, which depends on Π (see [laplace.Curvature]). gFIC uses both factors, FIC the first; the
	// tilt of Prepare follows from them.
	Curvature(s S, p P, f *laplace.Curvature) error
}

// Projector adds pruning: the degeneracy projection T_K' of paper G (eq. 3, A1).
type Projector[P, S any] interface {
	// Relevance returns one number for each latent dimension. The objective rule first tries to prune the dimensions with
	// the smallest numbers. A negative number guarantees that the criterion rises at once without the dimension; the rule
	// tries such a dimension before convergence. +Inf says that the dimension must stay, such as a class that rows are
	// known to be in: no rule drops it.
	Relevance(s S, p P) ([]float64, error)
	// Keep keeps the latent dimensions dims, ascending and not empty: (Z, Π) → (Z̃, Π̃), with Z in the form of its
	// statistics. If the dropped dimensions are degenerate, the joint likelihood does not change. Keep does not change s
	// and p, and shares no memory with them. [KeepAxes] does most of the work.
	Keep(s S, p P, dims []int) (S, P, error)
}

// Splitter adds split and merge moves to a [Projector] whose latent dimensions do not mix: the way out of local
// maxima, and the only way to more latent dimensions (Ueda, Nakano, Ghahramani & Hinton 2000). When the best run has
// converged, the engine divides its latent dimensions one at a time, makes steps, and keeps a state that scores higher:
// with one dimension more if K may grow, otherwise without the dimension of the smallest Relevance.
type Splitter[B, P, S any] interface {
	// Split returns parameters with one latent dimension more: k is divided between k and the last, the others stay. The
	// two must differ, because no step separates equal ones. gain, in nats, is the expected rise of E_q[ln p(X,Z|Π)] +
	// H(q): the engine tries divisions in descending order of gain, then in the order of k. p was maximised from s. Split
	// may read src, and sample it with rng, but must not change s and p. An error, an [ErrDegenerate] if no division
	// explains the rows better, says that k cannot be divided.
	Split(ctx context.Context, src Source[B], s S, p P, k int, rng *rand.Rand) (split P, gain float64, err error)
}

// Rotator marks a [Projector] whose latent dimensions mix linearly: a rotation of z, and of Π with it,
// leaves p(X|Π) unchanged. The engine rotates them to the principal axes of Signal before it keeps some.
type Rotator[P, S any] interface {
	// Signal is the signal-to-noise matrix of z in x, WᵀΨ⁻¹W, K×K and positive semidefinite:
	// the engine rotates to its eigenvectors before it asks for Relevance, whose sign guarantees nothing here. nil means
	// that the dimensions do not mix, for example by an option of the model.
	Signal(s S, p P) (*mat.SymDense, error)
	// Rotate is z → Vᵀz, W → WV for an orthonormal basis V, K×K, of the latent space. It does not change s and p.
	Rotate(s S, p P, basis *mat.Dense) (S, P, error)
}

// A Charge is a number of parameters with the N of their estimate: the criteria charge ½ ln N for each.
type Charge struct {
	Parameters int     // numbers
	Free       int     // identifiable ones, as BIC and AIC count them
	Latent     bool    // they belong to Ξ, for which gFIC and FIC charge by F
	N          float64 // observations of the estimate
}

// Charger is a model whose parameters are not all estimated from as many observations: the start
// of a hidden Markov model from the sequences, the rest from time steps. The sums over the charges
// are those of [Shape]. Rows that say nothing of a parameter, as sequences of one step do of transitions, add nothing
// to its N. For other models N is that of the statistics.
type Charger[P, S any] interface {
	Charges(s S, p P) []Charge
}

// Estimating is a model whose parameters after FAB or gFAB become estimates by a transformation, such as one of
// loadings that the tilt lengthens. Criteria of the likelihood use these estimates; after EM the parameters are
// estimates.
type Estimating[P, S any] interface {
	// Estimates returns new parameters: p stays.
	Estimates(s S, p P) (P, error)
}

// Expander adds parameter expansion (PX-EM; Liu, Rubin & Wu 1998). If Π can undo a change of z without changing
// p(X|Z,Π), EM converges slowly along that change when the noise is small; the expansion maximises over the change in
// one step.
type Expander[P, S any] interface {
	// Expand moves (q, Π) along such changes to the maximum of E_q[ln p(X,Z|Π)] + H(q), less the part of ½ ln|F| that
	// depends on q if charged is true. It may overwrite s and p, and returns the moved parameters and the change of H(q),
	// weighted like the rows of s.
	Expand(s S, p P, charged bool) (moved P, entropy float64, err error)
}

// ErrDegenerate is wrapped by errors about a step that does not exist at this number of latent dimensions, but may
// exist with fewer. If it may prune, the engine then drops a dimension: the one that a [DegenerateError] names,
// otherwise the weakest.
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
// a log density that is NaN. They always end a fit; any other error of a model in a trial of the objective rule only
// rejects the trial.
var ErrContract = errors.New("contract violated")

// Variational marks a model whose parameters describe a posterior q(Π). Its LogJoint is E[ln p(X,Z,Π)] + H(q(Π)): with
// the entropy of q(Z) the evidence lower bound, so that no criterion may charge for parameters again.
type Variational interface{ BoundsEvidence() }

// Penalized marks a model that estimates the mode of Π under a prior (MAP): its LogJoint
// includes ln p(Π), which LogPrior returns, so that criteria of the likelihood can subtract it.
type Penalized[P any] interface{ LogPrior(p P) float64 }

// LogProber gives the marginal log-likelihood ln p(x_n|Π) of each row of a block,
// in nats, in dst[:rows] (allocated when nil).
type LogProber[B, P any] interface {
	LogProb(b B, p P, dst []float64) ([]float64, error)
}

// Assigner marks a model with discrete latent variables: Responsibilities returns q(z_n = k) for each row, rows×K
// row-major. Criteria of classification, such as ICL, need it.
type Assigner[B, P any] interface {
	Responsibilities(b B, p P, dst []float64) ([]float64, error)
}

// LabelEntropy marks a model whose rows have labels that are not all of q(z_n), as in an [Assigner] with a position
// beside the label, or more than one of K, such as binary features: it gives the part of the entropy that is the
// labels', Σ_n w_n H(q(labels_n)) in nats, which ICL subtracts.
type LabelEntropy[S any] interface{ LabelEntropy(s S) float64 }

// BoundedLikelihood marks a model whose q is an approximation even at its best, such as a
// mean-field one: LogJoint + H(q) then bounds ln p(X|Π) from below and never reaches it. Criteria of the likelihood use
// the bound, and [Score].Bound says so.
type BoundedLikelihood interface{ BoundsLikelihood() }

// Creeping is a model whose iterations, if Creeps says so, gain so little that the engine always extrapolates them (see
// [Options.Accelerate]): the rows retain little of the information of the complete data, for example about the degrees
// of freedom of t distributions.
type Creeping interface{ Creeps() bool }
