package optional

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/laplace"
)

// Curved adds gFIC, FIC, gFAB and FAB (paper G, eqs. 1, 2 and 16).
type Curved[P, S any] interface {
	// Curvature adds the blocks of F = E_q[F_Ξ], the average Hessian of −ln p(X,Z|Π)/N in Ξ,
	// to f, which is empty and knows N. Each block is a count, which depends on q, times the information of an observation
	// in unit-free coordinates, which depends on Π (see [laplace.Curvature]). gFIC uses both factors, FIC the first; the
	// tilt of Prepare follows from them.
	Curvature(s S, p P, f *laplace.Curvature) error
}

// Proper adds framework.Evidence to a [Curved] model: its parameters have a proper prior p(Π), by default worth one
// unit of data (Kass & Wasserman 1995). Curvature adds integrals under that prior if [laplace.Curvature.Prior] asks for
// them. The steps of an [Expander], whose expansion ignores the prior, follow the likelihood: they maximise E_q[ln
// p(X,Z|Π)], and the integrals do not change their objective.
type Proper[P, S any] interface {
	// MaximizePosterior is framework.Model.Maximize of E_q[ln p(X,Z|Π)] + ln p(Π). It has a maximum even if a latent
	// dimension has no rows.
	MaximizePosterior(s S, p, dst P) (P, error)
	// CheckPrior says why the parameters have no proper prior for any table, or returns nil. The engine calls it before a
	// pass.
	CheckPrior() error
}

// ReplacesPrior marks a [Penalized] model that is [Proper]: integrals under the prior replace LogPrior, which LogJoint
// includes, too.
type ReplacesPrior interface{ ReplacesPrior() }

// Projector adds pruning: the degeneracy projection T_K' of paper G (eq. 3, A1).
type Projector[P, S any] interface {
	// Relevance returns one number for each latent dimension. The objective rule first tries to prune the dimensions with
	// the smallest numbers. A negative number guarantees that the criterion rises at once without the dimension; the rule
	// tries such a dimension before convergence. +Inf says that the dimension must stay, such as a class that rows are
	// known to be in: no rule drops it.
	Relevance(s S, p P) ([]float64, error)
	// Keep keeps the latent dimensions dims, ascending and not empty: (Z, Π) → (Z̃, Π̃), with Z in the form of its
	// statistics. If the dropped dimensions are degenerate, the joint likelihood does not change. Keep does not change s
	// and p, and shares no memory with them. framework.KeepAxes does most of the work.
	Keep(s S, p P, dims []int) (S, P, error)
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

// Splitter adds split and merge moves to a [Projector] whose latent dimensions do not mix: the way out of local
// maxima, and the only way to more latent dimensions (Ueda, Nakano, Ghahramani & Hinton 2000). When the best run has
// converged, the engine divides its latent dimensions one at a time, makes steps, and keeps a state that scores higher:
// with one dimension more if K may grow, otherwise without the dimension of the smallest Relevance.
type Splitter[Src, P, S any] interface {
	// Split returns parameters with one latent dimension more: k is divided between k and the last, the others stay.
	// The two must differ, because no step separates equal ones. gain, in nats, is the expected rise of E_q[ln
	// p(X,Z|Π)] + H(q): the engine tries divisions in descending order of gain, then in the order of k. p was maximised
	// from s. Split may read src, and sample it with rng, but must not change s and p. An error, a
	// framework.ErrDegenerate if no division explains the rows better, says that k cannot be divided.
	Split(ctx context.Context, src Src, s S, p P, k int, rng *rand.Rand) (split P, gain float64, err error)
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

// Singular adds framework.SBIC, for models with parameters that X does not identify if K is larger than necessary.
type Singular[P any] interface {
	// LearningCoefficient is λ of ln p(X|K) = ln p(X|truth) − λ ln N + …, or a bound of it, for a model of the size of p
	// if the truth is a model of truth ≤ K latent dimensions. For a regular model it is half the number of parameters.
	LearningCoefficient(p P, truth int) float64
}
