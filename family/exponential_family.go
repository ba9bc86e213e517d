package family

import (
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/prior"
)

// An ExponentialFamily has densities
//
//	ln p(x|ξ) = ln h(x) + η(ξ)·T(x) − e(x) ψ(ξ),
//
// where the exposure e(x) is 1, or the number of trials behind x. The methods suffice for the engine; a new family is
// one file (docs/theory/mixtures.md, section 3). Slices have the length that the method's comment gives, and belong to
// the caller. Implementations hold no state: goroutines share them.
//
// The interfaces below are optional: [Expecter] contrasts classes with the table, [Deviator] gives standard errors,
// [Sampler] samples, and [ConjugateFamily] MAP and variational Bayes.
type ExponentialFamily interface {
	Family
	// Support describes the valid values in words, such as "the counts 0, 1, 2, …".
	Support() string
	// Statistics is S, the length of T(x).
	Statistics() int
	// Observe puts T(x) into t (length S) for an observation x (length Columns) and returns
	// the exposure and ln h(x). ok is false outside the support.
	Observe(x, t []float64) (exposure, base float64, ok bool)
	// Parameters names the numbers of ξ.
	Parameters() []string
	// Free is D_ξ, the number of free parameters.
	Free() int
	// Estimate puts the maximum likelihood estimate of ξ into xi, from the sums of exposures
	// and of T(x). n is positive. It returns an error if there is no maximum.
	Estimate(n float64, t, xi []float64) error
	// Natural puts η(ξ) into eta (length S) and returns ψ(ξ). All are finite: a
	// probability of 0 counts as 1e-300.
	Natural(xi, eta []float64) (partition float64)
	// Information puts the diagonal of the Fisher information of a unit of exposure into
	// diag (length Free), in coordinates without units in which it is diagonal.
	Information(xi, diag []float64)
}

// An Expecter knows its mean value parameters.
type Expecter interface {
	// Expect puts E[T(x)] of a unit of exposure into t (length S).
	Expect(xi, t []float64)
}

// A Mover defines the coordinates of the information: a test differentiates through it.
type Mover interface {
	// Move puts into dst the parameters after a step (length Free) from xi in those coordinates.
	Move(xi, step, dst []float64)
}

// A Deviator has standard errors.
type Deviator interface {
	// Deviations puts the standard errors of the numbers of ξ after n units of exposure
	// into dst.
	Deviations(xi []float64, n float64, dst []float64)
}

// A ConjugateFamily family has conjugate priors.
type ConjugateFamily interface {
	// Conjugate makes the conjugate prior of ξ that p describes, nil for the family's
	// default; pooled is the estimate of ξ from the pooled table, for priors scaled by the
	// data.
	Conjugate(p prior.Prior, pooled []float64) (CellPrior, error)
}

// A CellPrior is the conjugate prior of an [ExponentialFamily], in the general form of paper K, A.2. A posterior is
// given by its pseudo-counts h = (ν, τ), 1+S numbers: the prior's own plus the sums of exposures and of T(x); its
// density is ∝ exp(η·τ − νψ) in the natural parameters.
type CellPrior interface {
	// Prior puts the pseudo-counts of the prior into h.
	Prior(h []float64)
	// LogNorm is the logarithm of the integral of exp(η·τ − νψ), up to a constant that
	// is the same for all h.
	LogNorm(h []float64) float64
	// Expected puts E[η] into eta and returns E[ψ]: the gradient of LogNorm in τ and,
	// negated, in ν.
	Expected(h, eta []float64) (partition float64)
	// Mode puts the mode of the density of ξ into xi, or returns an error if there is none. The density is of the
	// parameters as reported; the mode depends on that choice.
	Mode(h, xi []float64) error
	// LogProb is the log density of ξ, for the mode's value.
	LogProb(h, xi []float64) float64
	// Mean puts the posterior mean of ξ into xi.
	Mean(h, xi []float64)
	// Rand draws ξ.
	Rand(h []float64, rng *rand.Rand, xi []float64)
}

// A BlockObserver observes rows together, faster than one by one.
type BlockObserver interface {
	// ObserveBlock observes n rows of cells observations each, stride apart in x. It returns their
	// statistics, those of each row apart numbers after those of the row before: in place, or in *memory (n×cells·S),
	// which it resizes as necessary. ln h of each row goes into base (length n), which is 0 before. *exposures is empty,
	// and stays so if all rows are complete; otherwise it gets those of every cell (n×cells), 0 where the cell is missing
	// and 1 elsewhere. ok is false if a row is outside the support, or has gaps that the method does not observe: Observe
	// then reads the rows one by one. self is the family of the call: a
	// family that embeds the receiver may observe differently, and gets false.
	ObserveBlock(
		self ExponentialFamily, x []float64, n, cells, stride int, memory, exposures *[]float64, base []float64,
	) (statistics []float64, apart int, ok bool)
}

// A LabelObserver has statistics of which one is 1 and the others are 0, those of a label. Where there are many, rows
// are observed by their labels.
type LabelObserver interface {
	// ObserveLabels puts the labels of n rows of cells observations each, stride apart in x, into labels, one cell after
	// the other, NaN for what is missing. ok is false if a row is outside the support. self is as for [BlockObserver].
	ObserveLabels(self ExponentialFamily, x []float64, n, cells, stride int, labels []float64) (ok bool)
}

// A BlockNatural computes the natural parameters of many cells faster than one by one.
type BlockNatural interface {
	// Naturals puts −ψ of each cell into e and η into t, from ξ of one cell after the other. self is as
	// for [BlockObserver].
	Naturals(self ExponentialFamily, xi, e, t []float64) (ok bool)
}

// Rated families have a rate, in the units of 1/x, among their parameters.
type Rated interface{ Rate(xi []float64) float64 }

// Independent is the exponential family on columns, or groups of columns, that are independent within a
// class: the result of On for such a family. It returns an error if the number of columns is no multiple of the
// family's.
func Independent(f ExponentialFamily, columns int) ([]Factor, error) {
	c := f.Columns()
	if c < 1 || columns < c || columns%c != 0 {
		return nil, fmt.Errorf("family: %s takes %d columns at a time, and the table has %d", f.Name(), c, columns)
	}
	return []Factor{newExponentialKernel(f, columns/c)}, nil
}
