package mixture

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// A Family is what the components of a mixture are made of. It is an [ExponentialFamily]
// family, a [Gaussian], or a [Product] of families.
type Family interface {
	// Name is how users write the family, such as "poisson".
	Name() string
	// Columns is the number of columns of one observation. A family of fewer columns
	// than the table describes the rest by independent copies of itself; 0 stands for a
	// family that takes all.
	Columns() int
}

// An ExponentialFamily has densities
//
//	ln p(x|ξ) = ln h(x) + η(ξ)·T(x) − e(x) ψ(ξ),
//
// where the exposure e(x) is 1, or the number of trials behind x. Everything that the
// engine needs follows from the methods; a new family is one file (docs/theory/mixtures.md,
// section 3). Slices have the length that the method's comment gives, and belong to the
// caller. Implementations hold no state: goroutines share them.
type ExponentialFamily interface {
	Family
	// Support says in words which values there are, such as "the counts 0, 1, 2, …".
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
	// and of T(x). n is positive. It fails where there is no maximum.
	Estimate(n float64, t, xi []float64) error
	// Natural puts η(ξ) into eta (length S) and returns ψ(ξ). All are finite: a
	// probability of 0 counts as 1e-300.
	Natural(xi, eta []float64) (partition float64)
	// Expect puts E[T(x)] of a unit of exposure into t (length S): the mean value parameters.
	Expect(xi, t []float64)
	// Information puts the diagonal of the Fisher information of a unit of exposure into
	// diag (length Free), in coordinates without units in which it is diagonal.
	Information(xi, diag []float64)
	// Move puts into dst the parameters that a step (length Free) in those coordinates
	// leads to from xi. It ties the coordinates down: a test differentiates through it.
	Move(xi, step, dst []float64)
	// Deviations puts the standard errors of the numbers of ξ after n units of exposure
	// into dst.
	Deviations(xi []float64, n float64, dst []float64)
	// Sample draws an observation into x.
	Sample(xi []float64, rng *rand.Rand, x []float64)
	// Conjugate makes the conjugate prior of ξ that p describes, nil for the family's
	// default; whole is the estimate of ξ from the whole table, for priors scaled by the
	// data.
	Conjugate(p prior.Prior, whole []float64) (Conjugate, error)
}

// A Conjugate prior of an [ExponentialFamily] family, in the general form of paper K, A.2. A
// posterior is known by its pseudo-counts h = (ν, τ), 1+S numbers: the prior's own plus
// the sums of exposures and of T(x); its density is ∝ exp(η·τ − νψ) in the natural
// parameters.
type Conjugate interface {
	// Prior puts the pseudo-counts of the prior into h.
	Prior(h []float64)
	// LogNorm is the logarithm of the integral of exp(η·τ − νψ), up to a constant that
	// is the same for all h.
	LogNorm(h []float64) float64
	// Expected puts E[η] into eta and returns E[ψ]: the gradient of LogNorm in τ and,
	// negated, in ν.
	Expected(h, eta []float64) (partition float64)
	// Mode puts the mode of the density of ξ into xi; an error where it has none. (The
	// density of ξ, in the parameters as they are reported; modes depend on that choice.)
	Mode(h, xi []float64) error
	// LogProb is the log density of ξ, for the mode's value.
	LogProb(h, xi []float64) float64
	// Mean puts the posterior mean of ξ into xi.
	Mean(h, xi []float64)
	// Rand draws ξ.
	Rand(h []float64, rng *rand.Rand, xi []float64)
}

// A Product describes a row by independent families, one a column or a group of columns,
// from left to right: a table of mixed types is one model. Missing entries (NaN) are
// integrated out, column by column.
type Product []Family

// Name lists the families, equal neighbours once.
func (p Product) Name() string {
	var names []string
	for i := 0; i < len(p); {
		n := 1
		name := nameOf(p[i])
		for i+n < len(p) && nameOf(p[i+n]) == name {
			n++
		}
		if n > 1 {
			name = fmt.Sprintf("%s×%d", name, n)
		}
		names = append(names, name)
		i += n
	}
	return strings.Join(names, "+")
}

// Columns is the sum over the families.
func (p Product) Columns() int {
	n := 0
	for _, f := range p {
		if f != nil { // a missing family is reported where the product is put to use
			n += f.Columns()
		}
	}
	return n
}

func nameOf(f Family) string {
	if f == nil {
		return "nothing"
	}
	return f.Name()
}

// An Of is a family on a given number of neighbouring columns, as an element of a
// [Product]: independent copies of a family of fewer columns, or one Gaussian over all.
type Of struct {
	Family Family
	Width  int
}

// Name is that of the family.
func (o Of) Name() string { return nameOf(o.Family) }

// Columns is Width.
func (o Of) Columns() int { return o.Width }

// errNotFamily says that a Family is none that the package can compute with.
func errNotFamily(f Family) error {
	return fmt.Errorf("mixture: %T is neither an ExponentialFamily nor one of this package", f)
}

// factors lists what a family is made of on d columns.
func factors(f Family, d int) ([]factor, error) {
	if f == nil {
		return nil, fmt.Errorf("mixture: the model has no family: choose one, such as Gaussian{}")
	}
	switch f := f.(type) {
	case Product:
		if slices.Contains(f, nil) {
			return nil, errors.New("mixture: a family of the product is nil")
		}
		if f.Columns() != d {
			return nil, fmt.Errorf("mixture: the product %s describes %d columns, and the table has %d", f.Name(), f.Columns(), d)
		}
		var list []factor
		for _, part := range merged(f) {
			some, err := factors(part.Family, part.Width)
			if err != nil {
				return nil, err
			}
			list = append(list, some...)
		}
		return list, nil
	case Of:
		if f.Width != d {
			return nil, fmt.Errorf("mixture: %s of %d columns cannot describe %d", f.Name(), f.Width, d)
		}
		return factors(f.Family, d)
	case Gaussian:
		return f.factors(d)
	case ExponentialFamily:
		c := f.Columns()
		if c < 1 || d < c || d%c != 0 {
			return nil, fmt.Errorf("mixture: %s takes %d columns at a time, and there are %d", f.Name(), c, d)
		}
		return []factor{newLinear(f, d/c)}, nil
	}
	return nil, errNotFamily(f)
}

// merged joins equal neighbours of independent columns, so that they share a kernel.
func merged(p Product) []Of {
	var list []Of
	for _, f := range p {
		o, ok := f.(Of)
		if !ok && f != nil {
			o = Of{f, f.Columns()}
		}
		if last := len(list) - 1; last >= 0 && independent(o.Family) && same(list[last].Family, o.Family) {
			list[last].Width += o.Width
			continue
		}
		list = append(list, o)
	}
	return list
}

// independent says that a family on more columns is that of each column by itself.
func independent(f Family) bool {
	switch f := f.(type) {
	case Gaussian:
		return f.Covariance == Diagonal
	case ExponentialFamily:
		return f.Columns() == 1
	}
	return false
}

// same compares families that are plain values.
func same(a, b Family) (equal bool) {
	defer func() { _ = recover() }() // values that cannot be compared are not the same
	return a == b
}

// layout says how many numbers a factor takes of each kind, for one component.
type layout struct {
	columns  int
	cells    int // exposures, one for each part that can be missing by itself
	free     int // D_ξ of a cell
	shared   int // parameters that the components share, in all
	features int
	sums     int // exposures of the cells first
	anchor   int
	score    int // constants of the cells first
	params   int
	hyper    int
}

// A factor is a family at work on its columns: the only thing that the local and the
// global step know of families. Methods about one component take its part of the flat
// vectors.
type factor interface {
	layout() layout
	name() string

	// observe reads rows first to first+n of a block, from column at on.
	observe(b framework.Rows, at, first, n int, o *observed) error
	// addScores adds what the scores of k components say of the rows to r, k×n with rows
	// side by side.
	addScores(o *observed, scores table, r []float64)
	// addSums adds the rows' statistics, with weights r (as for addScores, 0 for rows that
	// fill up), about the anchors.
	addSums(o *observed, r []float64, anchors, sums table)
	// features puts numbers that distances between rows can be measured in into dst, n×width
	// from its column at on; NaN where missing.
	features(o *observed, w *whole, dst []float64, width, at int)

	// estimate is the maximum likelihood ξ of one component.
	estimate(sums, anchor []float64, w *whole, xi []float64) error
	// natural is the score of ξ.
	natural(xi, score []float64) error
	// center moves an anchor to the mean of the rows behind sums.
	center(sums, anchor []float64)
	// locate puts the anchor that goes with a score into anchor.
	locate(score, anchor []float64)
	// total is the sum over the rows behind sums of the score.
	total(score, sums, anchor []float64) float64
	// addWhole adds weight rows' worth of the whole table's statistics, about the anchor.
	addWhole(weight float64, w *whole, anchor, sums []float64)

	// information appends the unit information of each cell to dst, memory reused.
	information(xi []float64, w *whole, dst []laplace.Block) []laplace.Block
	// numbers says what the numbers of ξ are, columns counted from the factor's first.
	numbers() []Number
	// contrast puts the divergence of each column from the whole table's into dst.
	contrast(xi, whole, dst []float64)
	// deviations are the standard errors of ξ, given the component's sums and the rows in all.
	deviations(xi, sums []float64, total float64, dst []float64)
	sample(xi []float64, rng *rand.Rand, x []float64)
	conjugate(p prior.Prior, w *whole) (conjugate, error)
}

// whole is a factor's view of the whole table as one component.
type whole struct{ xi, sums, anchor []float64 }

// A conjugate prior of a factor's ξ. Hyperparameters h are one component's.
type conjugate interface {
	prior(h []float64)
	// update is the posterior after sums about an anchor.
	update(sums, anchor, h []float64)
	// expected is the score that E_q[ln p(x|ξ)] makes.
	expected(h, score []float64) error
	// divergence is KL(q(ξ)‖p(ξ)), given the expected score.
	divergence(h, score []float64) float64
	mode(h, xi []float64) error
	mean(h, xi []float64)
	logProb(xi []float64) float64
	rand(h []float64, rng *rand.Rand, xi []float64)
}

// table is a K×n matrix inside a larger one.
type table struct {
	k, stride int
	data      []float64 // of the first row on
}

func (t table) row(k, n int) []float64 { return t.data[k*t.stride : k*t.stride+n] }

// observed is what a factor keeps of the rows at hand.
type observed struct {
	n        int
	rows     framework.Rows
	at       int       // first column
	first    int       // first row
	complete bool      // every exposure is 1
	e        []float64 // n×cells exposures, where not complete
	t        []float64 // n rows of S statistics, stride apart, of exponential families
	stride   int
	own      []float64 // memory for t where it is not the rows themselves
	x        []float64 // d×n, the rows side by side, of Gaussians
	work     []float64
	far      far
	base     []float64 // ln h(x) of each row; nil where it is 0
	sparse   bool      // of rows in compressed form, with one number of t an entry and e as scratch
	entries  framework.SparseRows
}

// padded is the number of rows side by side.
func (o *observed) padded() int { return simd.Padded(o.n) }
