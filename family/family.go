package family

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// A Family is the distribution of the rows of a class: of a component of a mixture, a state of a Markov chain, a leaf
// behind a gate. An [ExponentialFamily] on independent columns implements On by [Independent].
type Family interface {
	// Name is the name of the family for users, such as "poisson".
	Name() string
	// Columns is the number of columns of one observation; 0 stands for a family that takes all columns. A family of fewer
	// columns than the table describes the other columns by independent copies.
	Columns() int
	// On lays the family out on the given number of columns of a table: one factor, or one for each group of columns that
	// are independent within a class.
	On(columns int) ([]Factor, error)
}

// Creeps reports whether fits of a family are [optional.Creeping].
func Creeps(f Family) bool {
	c, ok := f.(optional.Creeping)
	return ok && c.Creeps()
}

// A Factor is a family on some columns, for K classes at once: the only interface of local and global steps to
// families. The numbers of a class are flat vectors, whose lengths [Layout] gives; a [Table] holds those of several
// classes. Factors hold no state: goroutines share them. Every factor is also a [SumFactor] or a [RowFactor], which
// differ in their input from the global step.
//
// The density of a class may have its own latent variables, such as the scale of a Student-t row: AddScores then
// integrates them out, AddSums adds their expected statistics, and returns the entropy of their q.
type Factor interface {
	Name() string
	Layout() Layout

	// Observe reads rows first to first+n of a block, from column at on, into o.
	Observe(b blocks.Rows, at, first, n int, o *Observed) error
	// AddScores adds the log density of the rows, less ln h(x), under every class to r: K×n, the
	// rows of a class next to one another and filled up to a multiple of [simd.Lanes].
	AddScores(o *Observed, scores Table, r []float64)
	// AddSums adds the rows' statistics, with weights r (as for AddScores, 0 for padding), about the anchors. entropy is
	// that of the factor's own latent variables, with the same weights.
	AddSums(o *Observed, r []float64, scores, anchors, sums Table) (entropy float64)
	// AddPooled adds the statistics of weight rows like those of the pooled table, about the anchor.
	AddPooled(weight float64, pooled *Pooled, anchor, sums []float64)
	// Score computes the log density's function of ξ into score: its constants first, one per cell.
	Score(xi, score []float64) error
}

// A SumFactor is a [Factor] whose sums are sufficient statistics: estimates and the log likelihood
// are functions of them.
type SumFactor interface {
	Factor
	// Estimate is the maximum likelihood ξ of one class. pooled is the table as one class, nil for the estimate of the
	// table itself.
	Estimate(sums, anchor []float64, pooled *Pooled, xi []float64) error
	// Total is the sum over the rows behind sums of the log density, less ln h(x).
	Total(score, sums, anchor []float64) float64
	// Information appends the unit information of each cell to dst, reusing memory, in coordinates without units.
	Information(xi []float64, pooled *Pooled, dst []laplace.Block) []laplace.Block
	featured
}

type featured interface {
	// Features puts numbers that distances between rows can be measured in into dst, n×width
	// from its column at on; NaN if missing. A [Designed] factor has its response first, as linear in the
	// regressors as it gets, and then these.
	Features(o *Observed, dst []float64, width, at int)
}

// Layout gives the number of values of each kind in a factor, for one class.
type Layout struct {
	Columns int
	Cells   int // exposures, one for each part that can be missing separately
	Free    int // D_ξ of a cell
	Design  int // further parameters of a class, which the matrix of a [Designed] factor counts
	Shared  int // parameters that the classes share, in total
	Sums    int // exposures of the cells first
	Anchor  int // origin of the sums
	Score   int // constants of the cells first
	Params  int // ξ
	Hyper   int // hyperparameters of a conjugate prior, or further input of integrals under another prior
	Units   int // of Pooled.Units
	// Regressors is the length of Pooled.Regressors.
	Regressors int
	Features   int
}

// The rest are interfaces that a factor may implement.

// A Whitener gives numbers for distances between rows that, like its fits, do not change under linear maps of its
// columns.
type Whitener interface {
	// Whiten is Features whitened by the covariance of the table, with 0 for missing values.
	Whiten(o *Observed, pooled *Pooled, dst []float64, width, at int)
}

// Anchored factors sum about an anchor, so that nothing cancels.
type Anchored interface {
	// Center moves an anchor to the mean of the rows behind sums.
	Center(sums, anchor []float64)
	// Locate puts the anchor of a score into anchor.
	Locate(score, anchor []float64)
	// AddAbout adds sums about another anchor to sums.
	AddAbout(sums, anchor, others, another []float64)
}

// A Latent factor has classes with their own continuous latent variables u, in a number of dimensions for each class,
// as in factor analysis. Densities and sums have u integrated out. FAB and gFAB charge for the numbers of the
// dimensions by the observations behind them under the best q(u), and the factor chooses the number of dimensions in
// each global step, because the objective is maximised over it, too.
type Latent interface {
	SumFactor
	// Dimensions is the number of dimensions of u in a class.
	Dimensions(xi []float64) int
	// Loadings returns how many numbers of ξ, beside Layout.Free, belong to the given number of dimensions, and how many
	// of these are identifiable.
	Loadings(dimensions int) (numbers, free int)
	// Count is the observations behind each of those numbers in a class of n rows, and its derivative by n.
	Count(n float64) (count, slope float64)
	// Choose is Estimate that also chooses the number of dimensions, less ½ ln Count for each number of theirs. It starts
	// from ξ.
	Choose(sums, anchor []float64, pooled *Pooled, xi []float64) error
}

// A Designed factor has rows with p regressors u: Layout.Design of the class's parameters are their coefficients, for
// which the rows count by the matrix Σ_n q_n u_n u_nᵀ instead of one number. FAB and gFAB subtract half the leverage
// from a row instead of the same constant from each (see [laplace.Tilt.Quadratic]). Fits begin with classes that have
// their own lines.
type Designed interface {
	Factor
	featured
	// Count puts that matrix into dst, in coordinates of the regressors in which that of the pooled table is N·I, so that
	// nothing depends on the units of the regressors or on their linear combinations.
	Count(sums []float64, pooled *Pooled, dst *mat.SymDense)
	// Unit is the information of a unit of Count about each coefficient in these coordinates, in units of the pooled
	// table's.
	Unit(xi []float64, pooled *Pooled) float64
	// Lower subtracts ½ uᵀPu from the log density of the score, in these coordinates; P is positive definite.
	Lower(precision mat.Symmetric, pooled *Pooled, score []float64) error
}

// A Sharer has parameters common to all classes.
type Sharer interface {
	// Share merges the shared parameters of the classes' own estimates. The sums are about the anchors; pooled is the
	// table as one class.
	Share(sums, anchors, params Table, pooled *Pooled) error
}

// A Joiner can describe neighbouring columns of a [Product] together with the next factor, so that they share a kernel.
type Joiner interface {
	// Join returns one factor on the columns of both; ok is false if there is none.
	Join(next Factor) (joined Factor, ok bool)
}

// Selective factors can leave out log joints whose exp underflows.
type Selective interface {
	// AddJoints is AddScores to log joints that are the same for all rows, when nothing is added later. A responsibility
	// that is exactly 0 is also exactly 0 from the result of AddJoints.
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
	// Deviations are the standard errors of ξ, given the class's sums and the total number of rows.
	Deviations(xi, sums []float64, total float64, dst []float64)
}

// A PooledDeviator has standard errors that depend on the origin of the sums.
type PooledDeviator interface {
	// PooledDeviations are the standard errors of ξ, given the class's sums and the table as one class.
	PooledDeviations(xi, sums []float64, pooled *Pooled, dst []float64)
}

// A Predictor has a response, which is one of its columns, and describes it given the others.
type Predictor interface {
	// Response is the response's column, counted from the factor's first.
	Response() int
	// Mean is the mean of the response of a row x under ξ. Mean ignores the response's own entry.
	Mean(xi, x []float64) float64
}

// A ConjugateFactor has conjugate priors.
type ConjugateFactor interface {
	// Conjugate makes the conjugate prior that p describes, nil for the default.
	Conjugate(p prior.Prior, pooled *Pooled) (FactorPrior, error)
	// Units are the gain of the log density of ξ in units of the table.
	Units(pooled *Pooled) Units
}

// A FactorPrior is the conjugate prior of a factor's ξ. Hyperparameters h are one class's.
type FactorPrior interface {
	Prior(h []float64)
	// Update is the posterior after sums about an anchor.
	Update(sums, anchor, h []float64)
	// Expected is the score of E_q[ln p(x|ξ)].
	Expected(h, score []float64) error
	// Divergence is KL(q(ξ)‖p(ξ)), given the expected score.
	Divergence(h, score []float64) float64
	Mode(h, xi []float64) error
	Mean(h, xi []float64)
	LogProb(xi []float64) float64
	Rand(h []float64, rng *rand.Rand, xi []float64)
}

// A SharedPrior is a [FactorPrior] with hyperparameters common to all classes.
type SharedPrior interface {
	// Share merges the shared hyperparameters of the classes' own updates.
	Share(hyper Table)
	// LogProbShared is the log prior density of the shared parameters, which LogProb
	// leaves out.
	LogProbShared(xi []float64) float64
	// RandShared draws the parameters of all classes at once.
	RandShared(hyper Table, rng *rand.Rand, params Table)
}

// Units are the gains, in nats, of the density of a class's parameters, and of the shared ones, in units of the table.
type Units struct{ Class, Shared float64 }

// A Number describes one of the numbers of a class.
type Number struct {
	Name string // "mean", "variance", "covariance", or as the family names its parameters
	// From and To are its columns: one column twice, the two of a covariance, or the first and the last of a spherical
	// variance.
	From, To int
}

// Pooled is the table as one class, or a factor's part of it: the scale of the columns, from which the unit-free
// coordinates of the curvature and the default priors follow.
type Pooled struct {
	N          float64   `json:"n"`
	Parameters []float64 `json:"parameters"` // ξ
	Sums       []float64 `json:"sums"`       // statistics of all rows, about Anchor
	Anchor     []float64 `json:"anchor,omitempty"`
	Units      []float64 `json:"units,omitempty"` // further units of coordinates without units, of a [RowFactor]
	// Floor is, of each column, the least variance that a class may have, in squared units of the data, or of ln x at the
	// table's mean of it for lognormal columns (see [Bounder]); 0 of columns without one, and empty where there is none at
	// all.
	Floor []float64 `json:"floor,omitempty"`
	// Reference is the centre ξ of a unit-information prior if it differs from Parameters: rows that lie far out have no
	// weight in it, and with no more rows than columns it has variances alone, and no covariances.
	Reference []float64 `json:"reference,omitempty"`
	// Regressors are location and scatter of the regressors, without the weight of rows far out.
	Regressors []float64 `json:"regressors,omitempty"`
}

// Center is the centre of a unit-information prior: Reference, or Parameters if there is none.
func (w *Pooled) Center() []float64 {
	if len(w.Reference) > 0 {
		return w.Reference
	}
	return w.Parameters
}

// A Table is a K×n matrix inside a larger one.
type Table struct {
	K, Stride int
	Data      []float64 // from the first row on
}

// Row is the part of class k.
func (t Table) Row(k, n int) []float64 { return t.Data[k*t.Stride : k*t.Stride+n] }

// From begins with column i.
func (t Table) From(i int) Table { return Table{t.K, t.Stride, t.Data[i:]} }
