package family

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// A Family says how the rows of a class are distributed: a component of a mixture, a state of a
// Markov chain, a leaf behind a gate. An [ExponentialFamily] on columns that are independent
// needs no more than [Independent] for On.
type Family interface {
	// Name is how users write the family, such as "poisson".
	Name() string
	// Columns is the number of columns of one observation; 0 stands for a family that takes all
	// that there are. A family of fewer columns than the table describes the rest by independent
	// copies of itself.
	Columns() int
	// On lays the family out on so many columns of a table: one factor, or one for each group of
	// columns that are independent within a class.
	On(columns int) ([]Factor, error)
}

// Creeps reports whether fits of a family are [framework.Creeping].
func Creeps(f Family) bool {
	c, ok := f.(framework.Creeping)
	return ok && c.Creeps()
}

// A Factor is a family on some columns, for K classes at once: the only thing that local and global
// steps know of families. What belongs to a class lies in flat vectors, whose lengths [Layout]
// gives; a [Table] holds those of several classes. Factors hold no state:
// goroutines share them. Every factor is also a [SumFactor] or a [RowFactor], which differ in what
// the global step gives them.
//
// The density of a class may hold latent variables of its own, such as the scale of a Student-t
// row: AddScores then integrates them out, AddSums adds their expected statistics, and returns the
// entropy of their q.
type Factor interface {
	Name() string
	Layout() Layout

	// Observe reads rows first to first+n of a block, from column at on, into o.
	Observe(b framework.Rows, at, first, n int, o *Observed) error
	// AddScores adds the log density of the rows, less ln h(x), under every class to r: K×n, the
	// rows of a class next to one another and filled up to a multiple of [simd.Lanes].
	AddScores(o *Observed, scores Table, r []float64)
	// AddSums adds the rows' statistics, with weights r (as for AddScores, 0 for rows that
	// fill up), about the anchors. entropy is that of the factor's own latent variables, with
	// the same weights.
	AddSums(o *Observed, r []float64, scores, anchors, sums Table) (entropy float64)
	// AddPooled adds the statistics of weight rows that are like those of the pooled table, about the
	// anchor.
	AddPooled(weight float64, pooled *Pooled, anchor, sums []float64)
	// Score puts what the log density needs of ξ into score: its constants first, one a cell.
	Score(xi, score []float64) error
}

// A SumFactor is a [Factor] whose sums are sufficient statistics: estimates and the log likelihood
// are functions of them.
type SumFactor interface {
	Factor
	// Estimate is the maximum likelihood ξ of one class. pooled is the table as one class, nil
	// where it is that which is estimated.
	Estimate(sums, anchor []float64, pooled *Pooled, xi []float64) error
	// Total is the sum over the rows behind sums of the log density, less ln h(x).
	Total(score, sums, anchor []float64) float64
	// Information appends the unit information of each cell to dst, memory reused, in
	// coordinates without units.
	Information(xi []float64, pooled *Pooled, dst []laplace.Block) []laplace.Block
	featured
}

type featured interface {
	// Features puts numbers that distances between rows can be measured in into dst, n×width
	// from its column at on; NaN where missing. A [Designed] factor has its response first, as linear in the
	// regressors as it gets, and then these.
	Features(o *Observed, dst []float64, width, at int)
}

// Layout says how many numbers a factor takes of each kind, for one class.
type Layout struct {
	Columns int
	Cells   int // exposures, one for each part that can be missing by itself
	Free    int // D_ξ of a cell
	Design  int // parameters of a class besides, which the matrix of a [Designed] factor counts
	Shared  int // parameters that the classes share, in all
	Sums    int // exposures of the cells first
	Anchor  int // what sums are taken about
	Score   int // constants of the cells first
	Params  int // ξ
	Hyper   int // hyperparameters of a conjugate prior, or what integrals under another one need besides ξ
	Units   int // of Pooled.Units
	// Regressors is the length of Pooled.Regressors.
	Regressors int
	Features   int
}

// The rest are interfaces that a factor may implement.

// A Whitener has numbers of another kind that distances between rows can be measured in: those that do not change when
// its columns are mapped linearly, as what it fits does not.
type Whitener interface {
	// Whiten is Features with the covariance of the table taken out, and 0 where missing.
	Whiten(o *Observed, pooled *Pooled, dst []float64, width, at int)
}

// Anchored factors take their sums about an anchor, so that nothing cancels.
type Anchored interface {
	// Center moves an anchor to the mean of the rows behind sums.
	Center(sums, anchor []float64)
	// Locate puts the anchor that goes with a score into anchor.
	Locate(score, anchor []float64)
	// AddAbout adds sums about another anchor to sums.
	AddAbout(sums, anchor, others, another []float64)
}

// A Latent factor has classes with continuous latent variables u of their own, of as many dimensions as a class says
// for itself, such as those of a factor analysis. Densities and sums have u integrated out. FAB and gFAB charge for
// what belongs to the dimensions by the units of data behind it under the best q(u), and have the factor choose their
// number in each global step, as the objective is to be maximised over that as well.
type Latent interface {
	SumFactor
	// Dimensions is the number of dimensions of u in a class.
	Dimensions(xi []float64) int
	// Loadings are the numbers of ξ that belong to so many dimensions, beside Layout.Free, and those of them that are
	// identifiable.
	Loadings(dimensions int) (numbers, free int)
	// Count is the units of data behind each of those numbers in a class of n rows, and its derivative by n.
	Count(n float64) (count, slope float64)
	// Choose is Estimate over the number of dimensions, too, less ½ ln Count for each number that belongs to
	// them. It goes on from ξ.
	Choose(sums, anchor []float64, pooled *Pooled, xi []float64) error
}

// A Designed factor has rows with regressors u, p numbers: Layout.Design of the class's parameters are their
// coefficients, behind which the rows count by the matrix Σ_n q_n u_n u_nᵀ and not by one number. FAB and gFAB take
// half the leverage off a row in place of the same constant off each (see [laplace.Tilt.Quadratic]). Fits begin with
// classes that have lines of their own.
type Designed interface {
	Factor
	featured
	// Count puts that matrix into dst, in coordinates of the regressors in which that of the pooled table is N·I: so
	// nothing depends on their units, or on which linear combinations of them are columns.
	Count(sums []float64, pooled *Pooled, dst *mat.SymDense)
	// Unit is the information of a unit of Count about each coefficient in these coordinates, in units of the pooled
	// table's.
	Unit(xi []float64, pooled *Pooled) float64
	// Lower makes the score that of the log density less ½ uᵀPu, in these coordinates; P is positive definite.
	Lower(precision mat.Symmetric, pooled *Pooled, score []float64) error
}

// A Sharer has parameters that all classes share.
type Sharer interface {
	// Share makes the shared parameters one, from each class's own estimate. The sums are about the anchors; pooled is the
	// table as one class.
	Share(sums, anchors, params Table, pooled *Pooled) error
}

// A Joiner can describe neighbouring columns of a [Product] together with the next factor, so that they share a kernel.
type Joiner interface {
	// Join is one factor on the columns of both; ok is false where there is none.
	Join(next Factor) (joined Factor, ok bool)
}

// Selective factors can leave out log joints from which exp underflows.
type Selective interface {
	// AddJoints is AddScores to log joints that are the same for all rows, when nothing will
	// be added any more. Where a row's responsibility comes out as exactly 0, so it does
	// from what AddJoints leaves there.
	AddJoints(o *Observed, scores Table, r []float64)
}

// A Sampler draws a row of a class, or an observation of an [ExponentialFamily], into x.
type Sampler interface {
	Sample(xi []float64, rng *rand.Rand, x []float64)
}

// A Numberer names the numbers of ξ.
type Numberer interface {
	// Numbers describes them in order, columns counted from the factor's first.
	Numbers() []Number
}

// A Describer also has their standard errors and contrasts.
type Describer interface {
	Numberer
	// Contrast puts the divergence of each column from the pooled table's into dst.
	Contrast(xi, pooled, dst []float64)
	// Deviations are the standard errors of ξ, given the class's sums and the rows in all.
	Deviations(xi, sums []float64, total float64, dst []float64)
}

// A PooledDeviator has standard errors that depend on what sums are taken about.
type PooledDeviator interface {
	// PooledDeviations are the standard errors of ξ, given the class's sums and the table as one class.
	PooledDeviations(xi, sums []float64, pooled *Pooled, dst []float64)
}

// A Predictor has a response, which is one of its columns, and describes it given the others.
type Predictor interface {
	// Response is the response's column, counted from the factor's first.
	Response() int
	// Mean is the mean of the response of a row x under ξ. The response's own entry is not read.
	Mean(xi, x []float64) float64
}

// A ConjugateFactor has conjugate priors.
type ConjugateFactor interface {
	// Conjugate makes the conjugate prior that p describes, nil for the default.
	Conjugate(p prior.Prior, pooled *Pooled) (FactorPrior, error)
	// Units are what the log density of ξ gains when it is measured in units of the table.
	Units(pooled *Pooled) Units
}

// A FactorPrior is the conjugate prior of a factor's ξ. Hyperparameters h are one class's.
type FactorPrior interface {
	Prior(h []float64)
	// Update is the posterior after sums about an anchor.
	Update(sums, anchor, h []float64)
	// Expected is the score that E_q[ln p(x|ξ)] makes.
	Expected(h, score []float64) error
	// Divergence is KL(q(ξ)‖p(ξ)), given the expected score.
	Divergence(h, score []float64) float64
	Mode(h, xi []float64) error
	Mean(h, xi []float64)
	LogProb(xi []float64) float64
	Rand(h []float64, rng *rand.Rand, xi []float64)
}

// A SharedPrior is a [FactorPrior] with hyperparameters that all classes share.
type SharedPrior interface {
	// Share makes the shared hyperparameters one, from each class's own update.
	Share(hyper Table)
	// LogProbShared is the log prior density of the shared parameters, which LogProb
	// leaves out.
	LogProbShared(xi []float64) float64
	// RandShared draws the parameters of all classes at once.
	RandShared(hyper Table, rng *rand.Rand, params Table)
}

// Units say what the density of a class's parameters, and of what the classes share,
// gains in nats when they are measured in units of the table.
type Units struct{ Class, Shared float64 }

// A Number describes one of the numbers of a class.
type Number struct {
	Name string // "mean", "variance", "covariance", or as the family names its parameters
	// From and To are the columns it is about: one and the same, the two of a covariance,
	// or the first and the last that a spherical variance is common to.
	From, To int
}

// Pooled is the table as one class, or a factor's part of it: the scale of the columns, which
// the unit-free coordinates of the curvature and the default priors are taken from.
type Pooled struct {
	N          float64   `json:"n"`
	Parameters []float64 `json:"parameters"` // ξ
	Sums       []float64 `json:"sums"`       // statistics of all rows, about Anchor
	Anchor     []float64 `json:"anchor,omitempty"`
	Units      []float64 `json:"units,omitempty"` // what coordinates without units take besides, of a [RowFactor]
	// Floor is, of each column, the least variance that a class may have, in squared units of the data, or of ln x at the
	// table's mean of it for [Lognormal] (see [Bounder]); 0 of columns without one, and empty where there is none at all.
	Floor []float64 `json:"floor,omitempty"`
	// Reference is ξ of what a unit-information prior is about, where rows lie so far out that it is not Parameters:
	// without their weight.
	Reference []float64 `json:"reference,omitempty"`
	// Regressors are location and scatter of regressors, without the weight of rows far out where there are such.
	Regressors []float64 `json:"regressors,omitempty"`
}

// reference is Reference, or Parameters.
func (w *Pooled) reference() []float64 {
	if len(w.Reference) > 0 {
		return w.Reference
	}
	return w.Parameters
}

// A Table is a K×n matrix inside a larger one.
type Table struct {
	K, Stride int
	Data      []float64 // of the first row on
}

// Row is the part of class k.
func (t Table) Row(k, n int) []float64 { return t.Data[k*t.Stride : k*t.Stride+n] }

// from begins with column i.
func (t Table) from(i int) Table { return Table{t.K, t.Stride, t.Data[i:]} }
