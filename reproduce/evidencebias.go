package reproduce

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// The bias of the evidence: ln p(X|K = 2) of tables of few rows is a sum over all labellings, each of which has ln p of
// two classes' rows: in closed form for codes and counts, by quadrature over the covariance for Gaussian classes.

// biasSettings are tables of two classes that are hardly mixed, or are.
func biasSettings() (list []evidenceSetting) {
	for _, s := range []evidenceSetting{
		{columns: "bernoulli", levels: 2, d: 6, n: 12},
		{columns: "categorical", levels: 3, d: 5, n: 12},
		{columns: "poisson", d: 2, n: 12},
		{columns: "gaussian", form: "VII", d: 1, n: 12},
		{columns: "gaussian", form: "VVI", d: 2, n: 12},
		{columns: "gaussian", form: "VVV", d: 2, n: 10},
	} {
		for _, s.overlap = range []float64{0.01, 0.1} {
			s.k, s.variant = 2, "base"
			list = append(list, s)
		}
	}
	return list
}

func (s evidenceSetting) tiny() string {
	return fmt.Sprintf("%s%s-%d-%g", s.columns, s.form, s.d, s.overlap)
}

// evidenceBiases are the values whose bias is measured.
var evidenceBiases = []string{"E", "gFIC", "BIC"}

// bias draws a table and takes ln p(X|K = 2) off the values of the fit with the highest evidence.
func (s evidenceSetting) bias(ctx context.Context, seed uint64) ([]float64, error) {
	src, labels, err := s.tinyTable(rand.New(rand.NewPCG(seed, 0xb1a5)))
	if err != nil {
		return nil, err
	}
	begin := labelStart{model: mixture.Model{Family: s.family(s.form)}, labels: labels}
	fit, err := framework.FitFrom(ctx, begin.model, src, begin.andOthers(), framework.Options{
		K:         2,
		FixedK:    true,
		Criterion: framework.Evidence,
		Also:      []framework.Criterion{framework.GFIC, framework.BIC},
		Restarts:  20,
		Seed:      seed,
		Workers:   1,
	})
	if err != nil {
		return nil, err
	}
	values := []float64{fit.Value}
	for _, score := range fit.Scores[1:] {
		values = append(values, score.Value)
	}
	w := fit.Parameters.Pooled
	about := w.Parameters
	if len(w.Reference) > 0 {
		about = w.Reference
	}
	exact, err := s.exact(ctx, src.All().X, about)
	floats.AddConst(-exact, values)
	return values, err
}

// tinyTable draws a table without columns of zeros, whose counts would have no prior.
func (s evidenceSetting) tinyTable(rng *rand.Rand) (*blocks.Table, []int, error) {
	for {
		src, labels, err := s.newTruth(rng).table(rng)
		if err != nil {
			return nil, nil, err
		}
		total := make([]float64, s.d)
		for i := range s.n {
			floats.Add(total, src.All().Row(i))
		}
		if !slices.Contains(total, 0) {
			return src, labels, nil
		}
	}
}

// exact is ln p(X|K = 2) under the priors of the evidence, which are about these parameters.
func (s evidenceSetting) exact(ctx context.Context, x, about []float64) (float64, error) {
	switch s.columns {
	case "poisson":
		return overLabellings(s.n, s.countsOf(x, about)), nil
	case "gaussian":
		return overLabellings(s.n, s.gaussianOf(x, about)), nil
	}
	codes := make([]int, len(x))
	for i, v := range x {
		codes[i] = int(v)
	}
	m := evidence.Mixture{K: 2, Levels: slices.Repeat([]int{s.levels}, s.d), Alpha: 1, Beta: 0.5, Workers: 1}
	return m.LogEvidence(ctx, codes, slices.Repeat([]float64{1}, s.n))
}

// overLabellings is ln of the sum over all labellings with two classes and weights Dir(1); class is ln p of the rows in
// a set of them.
func overLabellings(n int, class func(rows uint) float64) float64 {
	of, sum := make([]float64, 1<<n), make([]float64, 1<<n)
	for rows := range of {
		of[rows] = class(uint(rows))
	}
	all, _ := math.Lgamma(float64(n) + 2)
	for rows := range sum {
		size := float64(bits.OnesCount(uint(rows)))
		a, _ := math.Lgamma(size + 1)
		b, _ := math.Lgamma(float64(n) - size + 1)
		sum[rows] = a + b - all + of[rows] + of[len(of)-1-rows]
	}
	return floats.LogSumExp(sum)
}

// each visits the rows of a set.
func each(rows uint, visit func(i int)) {
	for ; rows != 0; rows &= rows - 1 {
		visit(bits.TrailingZeros(rows))
	}
}

// countsOf is ln p of rows of counts, whose rates are gamma(1, 1/mean) in a column.
func (s evidenceSetting) countsOf(x, mean []float64) func(rows uint) float64 {
	return func(rows uint) (sum float64) {
		total, n := make([]float64, s.d), float64(bits.OnesCount(rows))
		each(rows, func(i int) {
			for j, v := range x[i*s.d : (i+1)*s.d] {
				total[j] += v
				factorial, _ := math.Lgamma(v + 1)
				sum -= factorial
			}
		})
		for j, t := range total {
			a, _ := math.Lgamma(1 + t)
			sum += a - math.Log(mean[j]) - (1+t)*math.Log(1/mean[j]+n)
		}
		return sum
	}
}

// axisSum is what a class's rows are along an axis: their number, mean, and squares about it.
type axisSum struct{ n, mean, squares float64 }

// logProb is ln p of the rows with variance v along the axis and the mean N(0, 1).
func (a axisSum) logProb(v float64) float64 {
	if a.n == 0 {
		return 0
	}
	return -a.n/2*math.Log(2*math.Pi*v) - a.squares/(2*v) - math.Log1p(a.n/v)/2 - a.mean*a.mean*a.n/(2*(v+a.n))
}

// along projects rows, centred and in units of the table, on a direction.
func along(y []float64, d int, direction []float64, rows uint) (a axisSum) {
	project := func(i int) float64 { return floats.Dot(y[i*d:(i+1)*d], direction) }
	a.n = float64(bits.OnesCount(rows))
	each(rows, func(i int) { a.mean += project(i) / a.n })
	each(rows, func(i int) { a.squares += (project(i) - a.mean) * (project(i) - a.mean) })
	return a
}

// gaussianOf is ln p of rows of Gaussian columns, one or two. Log variances, relative to S, are N(0, 2) where
// axes lie along the columns; a full covariance is that of docs/theory/evidence.md, section 3, worth √2 rows.
func (s evidenceSetting) gaussianOf(x, about []float64) func(rows uint) float64 {
	y, logDet := standardized(x, about[:s.d], about[s.d:])
	unit := func(rows uint) float64 { return float64(bits.OnesCount(rows)) * logDet }
	if s.form == "VVV" {
		return func(rows uint) float64 { return overDirections(y, math.Sqrt2, rows) - unit(rows) }
	}
	return func(rows uint) (sum float64) {
		for j := range s.d {
			direction := make([]float64, s.d)
			direction[j] = 1
			sum += overVariances(along(y, s.d, direction, rows))
		}
		return sum - unit(rows)
	}
}

// standardized centres columns at m, and makes unit matrices of variances, or of a covariance of two columns; logDet is
// what the log density of a row loses.
func standardized(x, m, variances []float64) (y []float64, logDet float64) {
	d := len(m)
	y = slices.Clone(x)
	scale, slope := slices.Clone(variances), 0.0
	if len(variances) > d {
		slope = variances[1] / variances[0]
		scale = []float64{variances[0], variances[3] - slope*variances[1]}
	}
	for j := range scale {
		scale[j] = math.Sqrt(scale[j])
		logDet += math.Log(scale[j])
	}
	for i := range len(x) / d {
		row := y[i*d : (i+1)*d]
		floats.Sub(row, m)
		if d == 2 {
			row[1] -= slope * row[0]
		}
		floats.Div(row, scale)
	}
	return y, logDet
}

// Nodes of the trapezoid rule over log variances relative to S.
const (
	nodeStep = 0.2
	nodeEnd  = 14.0
)

func variances() (x, v []float64) {
	for at := -nodeEnd; at <= nodeEnd+nodeStep/2; at += nodeStep {
		x, v = append(x, at), append(v, math.Exp(at))
	}
	return x, v
}

// overVariances is ln of the integral over a log variance that is N(0, 2).
func overVariances(a axisSum) float64 {
	x, v := variances()
	for i := range x {
		x[i] = a.logProb(v[i]) - x[i]*x[i]/4 - math.Log(4*math.Pi)/2 + math.Log(nodeStep)
	}
	return floats.LogSumExp(x)
}

// overDirections is ln of the integral over X = [v+a b; b v−a], whose v, a and b are N(0, 1/ν): in polar coordinates a
// = r cos θ, b = r sin θ, an eigenvalue is v + r, in the direction θ/2, and the other v − r, across.
func overDirections(y []float64, worth float64, rows uint) float64 {
	const angles = 24
	x, v := variances()
	var terms []float64
	constant := 1.5*math.Log(worth/(2*math.Pi)) + math.Log(nodeStep*nodeStep/2*2*math.Pi/angles)
	for i := range angles {
		sin, cos := math.Sincos(math.Pi * float64(i) / angles)
		a, b := along(y, 2, []float64{cos, sin}, rows), along(y, 2, []float64{-sin, cos}, rows)
		one, two := make([]float64, len(x)), make([]float64, len(x))
		for j, at := range x {
			// r² + v² is half the sum of squares of the eigenvalues.
			one[j], two[j] = a.logProb(v[j])-worth/4*at*at, b.logProb(v[j])-worth/4*at*at
		}
		top, across := floats.Max(one), floats.Max(two)
		sum := 0.0
		for j := range x {
			one[j], two[j] = math.Exp(one[j]-top), math.Exp(two[j]-across)
			for l, low := range x[:j] {
				sum += (x[j] - low) / 2 * one[j] * two[l]
			}
		}
		terms = append(terms, top+across+math.Log(sum)+constant)
	}
	return floats.LogSumExp(terms)
}
