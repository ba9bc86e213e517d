package normal

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/prior"
)

var (
	_ family.SharedPrior = (*tiedNormalWishart)(nil)
	_ family.FactorPrior = (*tiedNormalWishart)(nil)
)

// gaussianCase is a factor with a prior and data.
type gaussianCase struct {
	normal
	family.FactorPrior
	size    family.Layout
	pooled  *family.Pooled
	x       []float64
	weights []float64
	anchor  []float64
}

func (c *gaussianCase) String() string {
	return fmt.Sprintf("%T of %d columns", c.normal, c.size.Columns)
}

// newGaussianCase has n weighted rows, and a prior that is neither near them nor far.
func newGaussianCase(t require.TestingT, rng *rand.Rand, f normal, n int) *gaussianCase {
	l := f.Layout()
	d := l.Columns
	xi, mean, _ := parametersOf(rng, f, d, 1, 10)
	c := &gaussianCase{normal: f, size: l, x: samples(f, xi, rng, n), weights: make([]float64, n), anchor: normals(rng, d)}
	for i := range c.weights {
		c.weights[i] = 0.2 + rng.Float64()
	}
	c.pooled = pooledOf(t, f, samples(f, xi, rng, 20))
	var p prior.Prior = prior.NormalInverseGamma{Mean: mean[0], Kappa: 0.5, Shape: 3, Rate: 2}
	if _, ok := f.(gaussian); ok {
		p = prior.NormalInverseWishart{Mean: normals(rng, d), Kappa: 0.5, Nu: float64(d) + 5, Scale: covarianceOf(rng, d, 5)}
	}
	var err error
	c.FactorPrior, err = f.Conjugate(p, c.pooled)
	require.NoError(t, err)
	return c
}

func gaussianCases(t require.TestingT, rng *rand.Rand, d, n int) []*gaussianCase {
	var list []*gaussianCase
	for _, f := range gaussians(d) {
		list = append(list, newGaussianCase(t, rng, f, n))
	}
	return list
}

func (c *gaussianCase) sums(t require.TestingT) []float64 {
	return sumsOf(t, c.normal, c.x, c.weights, c.anchor)
}

// posterior is that of the rows; with others, of one component among K of a tied covariance.
func (c *gaussianCase) posterior(t require.TestingT) []float64 {
	h := make([]float64, c.size.Hyper)
	c.Update(c.sums(t), c.anchor, h)
	return h
}

func (c *gaussianCase) score(t require.TestingT, h []float64) []float64 {
	score := make([]float64, c.size.Score)
	require.NoError(t, c.Expected(h, score))
	return score
}

// logDensity is ln q(ξ) under hyperparameters, the shared covariance's included: that is
// the prior's own with others in its place.
func (c *gaussianCase) logDensity(t require.TestingT, h, xi []float64) float64 {
	at := withHyper(t, c.FactorPrior, h)
	value := at.LogProb(xi)
	if tied, ok := at.(*tiedNormalWishart); ok {
		value += tied.LogProbShared(xi)
	}
	return value
}

func withHyper(t require.TestingT, c family.FactorPrior, h []float64) family.FactorPrior {
	h = slices.Clone(h)
	switch c := c.(type) {
	case *normalWishart:
		q, err := newNormalWishart(c.gaussian, c.at(h))
		require.NoError(t, err)
		return q
	case *tiedNormalWishart:
		q, err := newNormalWishart(c.gaussian, c.at(h))
		require.NoError(t, err)
		return &tiedNormalWishart{*q}
	}
	return &isotropicPrior{c.(*isotropicPrior).isotropic, h}
}

func (c *gaussianCase) priorHyper() []float64 {
	h := make([]float64, c.size.Hyper)
	c.FactorPrior.Prior(h)
	return h
}

// Bayes' rule: ln p(ξ) + ln p(X|ξ) − ln p(ξ|X) is ln p(X), wherever ξ is. And ln p(X) is
// E_q[ln p(X|ξ)] − KL(q‖p), which holds every number of expected and divergence.
func TestGaussianPosteriorScoreAndDivergenceGiveTheEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, n := rapid.IntRange(1, 4).Draw(t, "d"), rapid.IntRange(1, 12).Draw(t, "n")
		rng := seeded(rapid.Uint64().Draw(t, "seed"))
		for _, c := range gaussianCases(t, rng, d, n) {
			h := c.posterior(t)
			score := c.score(t, h)
			bound := c.Total(score, c.sums(t), c.anchor) - c.Divergence(h, score)
			for range 3 {
				xi, _, _ := parametersOf(rng, c.normal, d, 0, 10)
				evidence := c.logDensity(t, c.priorHyper(), xi) - c.logDensity(t, h, xi)
				for i, v := range scoresOf(t, c.normal, c.x, scoreOf(t, c.normal, xi)) {
					evidence += c.weights[i] * v
				}
				closeTo(t, evidence, bound, 1e-9, c)
			}
		}
	})
}

// meanIs compares with a mean of draws, five standard errors apart at most.
func meanIs(t *testing.T, want float64, draws []float64, what ...any) {
	t.Helper()
	mean, deviation := stat.MeanStdDev(draws, nil)
	margin := 5*deviation/math.Sqrt(float64(len(draws))) + 1e-12*math.Abs(want)
	assert.InDelta(t, want, mean, margin, what...)
}

func TestGaussianExpectationsAreMeansOfDraws(t *testing.T) {
	rng := seeded(20)
	const d, draws = 3, 20000
	for _, c := range gaussianCases(t, rng, d, 6) {
		h := c.posterior(t)
		score := c.score(t, h)
		row := []float64{0.5, -1, 2}
		xi, mean := make([]float64, c.size.Params), make([]float64, c.size.Params)
		var scores, ratios []float64
		values := make([][]float64, c.size.Params)
		q, p := withHyper(t, c.FactorPrior, h), c.FactorPrior
		for range draws {
			c.Rand(h, rng, xi)
			scores = append(scores, scoresOf(t, c.normal, row, scoreOf(t, c.normal, xi))[0])
			ratio := q.LogProb(xi) - p.LogProb(xi)
			if tied, ok := q.(*tiedNormalWishart); ok {
				ratio += tied.LogProbShared(xi) - p.(*tiedNormalWishart).LogProbShared(xi)
			}
			ratios = append(ratios, ratio)
			for i, v := range xi {
				values[i] = append(values[i], v)
			}
		}
		meanIs(t, scoresOf(t, c.normal, row, score)[0], scores, c, "score")
		meanIs(t, c.Divergence(h, score), ratios, c, "divergence")
		c.Mean(h, mean)
		for i, v := range values {
			meanIs(t, mean[i], v, c, "mean", i)
		}
	}
}

func TestGaussianDivergenceIsZeroAtThePriorAndPositiveElsewhere(t *testing.T) {
	rng := seeded(21)
	for _, d := range []int{1, 3} {
		for _, c := range gaussianCases(t, rng, d, 5) {
			h := c.priorHyper()
			assert.InDelta(t, 0, c.Divergence(h, c.score(t, h)), 1e-12, c)
			h = c.posterior(t)
			assert.Greater(t, c.Divergence(h, c.score(t, h)), 0.1, c)
		}
	}
}

// The scatter of rows that are all one weight is exact; the anchor moves nothing.
func TestGaussianPosteriorDoesNotDependOnTheAnchor(t *testing.T) {
	rng := seeded(22)
	const d = 3
	for _, c := range gaussianCases(t, rng, d, 10) {
		want := c.posterior(t)
		for range 5 {
			c.anchor = normals(rng, d)
			allClose(t, want, c.posterior(t), 1e-12, c)
		}
	}
}

func TestGaussianPosteriorOfNothingIsThePrior(t *testing.T) {
	rng := seeded(23)
	for _, c := range gaussianCases(t, rng, 3, 4) {
		want, h := c.priorHyper(), make([]float64, c.size.Hyper)
		for _, weight := range []float64{0, 5e-324, 1e-320, 1e-300, 1e-30} {
			for i := range c.weights {
				c.weights[i] = weight
			}
			c.Update(c.sums(t), c.anchor, h)
			allClose(t, want, h, 1e-15, c, weight)
			assert.InDelta(t, 0, c.Divergence(h, c.score(t, h)), 1e-12, c)
		}
		empty := make([]float64, c.size.Sums)
		empty[0] = -1e-18 // what rounding can leave
		c.Update(empty, c.anchor, h)
		assert.Equal(t, want, h, c)
	}
}

func TestGaussianPosteriorsStayFinite(t *testing.T) {
	rng := seeded(24)
	for _, c := range gaussianCases(t, rng, 3, 8) {
		h, xi := make([]float64, c.size.Hyper), make([]float64, c.size.Params)
		for _, weight := range []float64{1e-300, 1, 1e9, 1e15} {
			for i := range c.weights {
				c.weights[i] = weight
			}
			c.Update(c.sums(t), c.anchor, h)
			score := c.score(t, h)
			divergence := c.Divergence(h, score)
			require.NoError(t, c.Mode(h, xi))
			assert.True(t, finite(h) && finite(score) && finite(xi) && finite([]float64{divergence, c.LogProb(xi)}), "%v %v", c, weight)
			assert.GreaterOrEqual(t, divergence, -1e-12)
			c.Mean(h, xi)
			assert.True(t, finite(scoreOf(t, c.normal, xi)))
		}
	}
}

// nearby moves parameters a little, and leaves them parameters.
func nearby(rng *rand.Rand, f family.Factor, d int, xi []float64) []float64 {
	step := math.Pow(10, -3*rng.Float64())
	to := slices.Clone(xi)
	if rng.Float64() < 0.5 {
		for a := range d {
			to[a] += step * rng.NormFloat64()
		}
		return to
	}
	if _, ok := f.(gaussian); !ok {
		for i := d; i < len(to); i++ {
			to[i] *= math.Exp(step * rng.NormFloat64())
		}
		return to
	}
	e := mat.NewDense(d, d, normals(rng, d*d)) // (I + sE) Σ (I + sE)ᵀ
	e.Scale(step, e)
	for a := range d {
		e.Set(a, a, 1+e.At(a, a))
	}
	var moved mat.Dense
	moved.Product(e, mat.NewDense(d, d, xi[d:]), e.T())
	copy(to[d:], moved.RawMatrix().Data)
	return to
}

func TestGaussianModeIsWhereTheJointDensityIsGreatest(t *testing.T) {
	rng := seeded(25)
	for _, d := range []int{1, 3} {
		for _, c := range gaussianCases(t, rng, d, 5) {
			for _, h := range [][]float64{c.priorHyper(), c.posterior(t)} {
				xi := make([]float64, c.size.Params)
				require.NoError(t, c.Mode(h, xi))
				peak := c.logDensity(t, h, xi)
				for range 50 {
					assert.Greater(t, peak, c.logDensity(t, h, nearby(rng, c.normal, d, xi)), c)
				}
			}
		}
	}
}

func TestGaussianMeanStandsInWhereItDoesNotExist(t *testing.T) {
	g, xi := gaussian{d: 2}, make([]float64, 6)
	w := &family.Pooled{Parameters: []float64{1, 2, 4, 1, 1, 9}}
	q, err := g.Conjugate(nil, w)
	require.NoError(t, err)
	h := make([]float64, g.Layout().Hyper)
	q.Prior(h)
	q.Mean(h, xi) // ν = D
	assert.Equal(t, []float64{1, 2, 2, 0.5, 0.5, 4.5}, xi)

	for _, f := range []normal{diagonal(2), spherical(2)} {
		c, err := f.Conjugate(prior.NormalInverseGamma{Mean: 3, Kappa: 1, Shape: 0.5, Rate: 2}, &family.Pooled{Parameters: []float64{1, 2, 4, 9}})
		require.NoError(t, err)
		h, xi := make([]float64, f.Layout().Hyper), make([]float64, f.Layout().Params)
		c.Prior(h)
		c.Mean(h, xi)
		assert.Equal(t, []float64{3, 3, 4}, xi[:3])
	}
}

// In one column all four are one distribution.
func TestGaussianPriorsOfOneColumnAgree(t *testing.T) {
	rng := seeded(26)
	x, weights, anchor := normals(rng, 7), ones(7), []float64{0.4}
	g := prior.NormalInverseGamma{Mean: 0.3, Kappa: 0.7, Shape: 1.8, Rate: 0.9}
	niw := prior.NormalInverseWishart{Mean: []float64{g.Mean}, Kappa: g.Kappa, Nu: 2 * g.Shape, Scale: []float64{2 * g.Rate}}
	for _, scaled := range []bool{false, true} {
		var want []float64
		for _, f := range gaussians(1) {
			var p prior.Prior = g
			if _, ok := f.(gaussian); ok {
				p = niw
			}
			if scaled {
				p = prior.DataScaled{Kappa: 0.4, Nu: 2.5}
			}
			q, err := f.Conjugate(p, pooledOf(t, f, x))
			require.NoError(t, err)
			l := f.Layout()
			h, xi, score := make([]float64, l.Hyper), make([]float64, l.Params), make([]float64, l.Score)
			q.Update(sumsOf(t, f, x, weights, anchor), anchor, h)
			require.NoError(t, q.Expected(h, score))
			got := append(scoresOf(t, f, []float64{-1, 2}, score), q.Divergence(h, score))
			require.NoError(t, q.Mode(h, xi))
			got = append(got, xi...)
			q.Mean(h, xi)
			got = append(got, xi...)
			density := q.LogProb([]float64{0.2, 1.7})
			if tied, ok := q.(*tiedNormalWishart); ok {
				density += tied.LogProbShared([]float64{0.2, 1.7})
			}
			if got = append(got, density); want == nil {
				want = got
			}
			allClose(t, want, got, 1e-12, f)
		}
	}
}

// The default prior of a table's affine map is the map of its default prior: scores lose
// ln|det A|, and divergences nothing.
func TestUnitsMoveGaussianPosteriorsByTheJacobian(t *testing.T) {
	rng := seeded(27)
	const d, n, part = 3, 40, 10
	for _, f := range gaussians(d) {
		xi, _, _ := parametersOf(rng, f, d, 0, 10)
		x := samples(f, xi, rng, n)
		a, shift := mat.NewDense(d, d, nil), normals(rng, d)
		for i := range d {
			a.Set(i, i, 30*math.Exp(3*rng.NormFloat64()))
			if formOf(f) == Spherical {
				a.Set(i, i, a.At(0, 0))
			}
		}
		if _, ok := f.(gaussian); ok {
			a.CloneFrom(mat.NewDense(d, d, normals(rng, d*d)))
		}
		var product mat.Dense
		product.Mul(mat.NewDense(n, d, x), a.T())
		moved := product.RawMatrix().Data
		for i := range moved {
			moved[i] += shift[i%d]
		}
		logDet, _ := mat.LogDet(a)
		l := f.Layout()
		measure := func(x []float64) (scores []float64, divergence float64) {
			w := pooledOf(t, f, x)
			q, err := f.Conjugate(nil, w)
			require.NoError(t, err)
			h, score := make([]float64, l.Hyper), make([]float64, l.Score)
			q.Update(sumsOf(t, f, x[:part*d], ones(part), w.Anchor), w.Anchor, h)
			require.NoError(t, q.Expected(h, score))
			return scoresOf(t, f, x, score), q.Divergence(h, score)
		}
		scores, divergence := measure(x)
		got, gotDivergence := measure(moved)
		for i := range scores {
			scores[i] -= logDet
		}
		allClose(t, scores, got, 1e-9, f)
		closeTo(t, divergence, gotDivergence, 1e-9, f)
	}
}

// tiedComponents are K posteriors that share a covariance.
func tiedComponents(t require.TestingT, rng *rand.Rand, d, n, k int) (list []*gaussianCase, hyper family.Table) {
	l := gaussian{d: d, tied: true}.Layout()
	hyper = family.Table{K: k, Stride: l.Hyper + 2, Data: make([]float64, k*(l.Hyper+2))} // as in a larger matrix
	for j := range k {
		c := newGaussianCase(t, rng, gaussian{d: d, tied: true}, n)
		if j > 0 {
			c.FactorPrior = list[0].FactorPrior
		}
		c.Update(c.sums(t), c.anchor, hyper.Row(j, l.Hyper))
		list = append(list, c)
	}
	list[0].FactorPrior.(*tiedNormalWishart).Share(hyper)
	return list, hyper
}

// tiedDensity is the log density of all means and the shared covariance.
func tiedDensity(t require.TestingT, list []*gaussianCase, hyper family.Table, params [][]float64) float64 {
	sum := 0.0
	for j, c := range list {
		q := withHyper(t, c.FactorPrior, hyper.Row(j, c.size.Hyper)).(*tiedNormalWishart)
		if sum += q.LogProb(params[j]); j == 0 {
			sum += q.LogProbShared(params[j])
		}
	}
	return sum
}

func TestTiedPosteriorsGiveTheEvidenceOfAllRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, k := rapid.IntRange(1, 3).Draw(t, "d"), rapid.IntRange(1, 4).Draw(t, "k")
		rng := seeded(rapid.Uint64().Draw(t, "seed"))
		list, hyper := tiedComponents(t, rng, d, 5, k)
		bound := 0.0
		for j, c := range list {
			h := hyper.Row(j, c.size.Hyper)
			score := c.score(t, h)
			bound += c.Total(score, c.sums(t), c.anchor) - c.Divergence(h, score)
		}
		cov := covarianceOf(rng, d, 10)
		evidence, before := 0.0, family.Table{K: k, Stride: list[0].size.Hyper, Data: make([]float64, k*list[0].size.Hyper)}
		var params [][]float64
		for j, c := range list {
			xi := append(normals(rng, d), cov...)
			params = append(params, xi)
			c.FactorPrior.Prior(before.Row(j, c.size.Hyper))
			for i, v := range scoresOf(t, c.normal, c.x, scoreOf(t, c.normal, xi)) {
				evidence += c.weights[i] * v
			}
		}
		evidence += tiedDensity(t, list, before, params) - tiedDensity(t, list, hyper, params)
		closeTo(t, evidence, bound, 1e-9)
	})
}

func TestTiedModeIsWhereTheJointDensityIsGreatest(t *testing.T) {
	rng := seeded(28)
	const d, k = 2, 3
	list, hyper := tiedComponents(t, rng, d, 4, k)
	params := make([][]float64, k)
	for j, c := range list {
		params[j] = make([]float64, c.size.Params)
		require.NoError(t, c.Mode(hyper.Row(j, c.size.Hyper), params[j]))
		assert.Equal(t, params[0][d:], params[j][d:])
	}
	peak := tiedDensity(t, list, hyper, params)
	for range 100 {
		other := make([][]float64, k)
		for j := range other {
			other[j] = nearby(rng, list[j].normal, d, params[j])
			copy(other[j][d:], other[0][d:])
		}
		assert.Greater(t, peak, tiedDensity(t, list, hyper, other))
	}
}

func TestTiedDrawsShareTheCovarianceAndHaveTheDivergence(t *testing.T) {
	rng := seeded(29)
	const d, k, draws = 2, 3, 10000
	list, hyper := tiedComponents(t, rng, d, 4, k)
	l, q := list[0].size, list[0].FactorPrior.(*tiedNormalWishart)
	before := family.Table{K: k, Stride: l.Hyper, Data: make([]float64, k*l.Hyper)}
	divergence := 0.0
	for j, c := range list {
		h := hyper.Row(j, l.Hyper)
		divergence += c.Divergence(h, c.score(t, h))
		q.Prior(before.Row(j, l.Hyper))
	}
	params := family.Table{K: k, Stride: l.Params + 1, Data: make([]float64, k*(l.Params+1))}
	var ratios []float64
	for range draws {
		q.RandShared(hyper, rng, params)
		var each [][]float64
		for j := range k {
			each = append(each, params.Row(j, l.Params))
			assert.Equal(t, each[0][d:], each[j][d:])
		}
		ratios = append(ratios, tiedDensity(t, list, hyper, each)-tiedDensity(t, list, before, each))
	}
	meanIs(t, divergence, ratios)
}

// Pooling twice changes nothing, and leaving components out only how many share.
func TestTiedPoolingAgainOnlyDividesAnew(t *testing.T) {
	rng := seeded(30)
	const d, k = 2, 4
	list, hyper := tiedComponents(t, rng, d, 4, k)
	q, n := list[0].FactorPrior.(*tiedNormalWishart), list[0].size.Hyper
	once := slices.Clone(hyper.Data)
	q.Share(hyper)
	assert.Equal(t, once, hyper.Data)
	shared := func(h []float64) float64 {
		score := list[0].score(t, h)
		_, root := q.split(score, 1)
		return q.at(h).CovarianceDivergence(root, q.of, q.norm)
	}
	want := shared(hyper.Row(0, n))
	for left := k - 1; left > 0; left-- {
		hyper = family.Table{K: left, Stride: hyper.Stride, Data: hyper.Data[hyper.Stride:]} // without the first
		q.Share(hyper)
		for j := range left {
			h := hyper.Row(j, n)
			assert.Equal(t, once[1], h[1])
			assert.Equal(t, float64(left), h[2])
			assert.Equal(t, once[3+d:n], h[3+d:])
			own := list[0].score(t, h)
			_, root := q.split(own, 1)
			mean := q.at(h).MeanDivergence(root, q.of)
			closeTo(t, mean+want/float64(left), q.Divergence(h, own), 1e-12)
		}
	}
}

func TestGaussianPriorsThatAreRefused(t *testing.T) {
	niw := prior.NormalInverseWishart{Mean: []float64{0, 0}, Kappa: 1, Nu: 3, Scale: []float64{1, 0, 0, 1}}
	nig := prior.NormalInverseGamma{Kappa: 1, Shape: 1, Rate: 1}
	with := func(change func(p *prior.NormalInverseWishart)) prior.Prior {
		p := niw
		change(&p)
		return p
	}
	for _, f := range gaussians(2) {
		w := &family.Pooled{Parameters: []float64{0, 0, 1, 1}}
		refused := []prior.Prior{
			prior.Jeffreys{}, prior.Gamma{Shape: 1, Rate: 1}, prior.DataScaled{Kappa: -1}, prior.DataScaled{Nu: math.NaN()},
		}
		if _, ok := f.(gaussian); ok {
			w.Parameters = []float64{0, 0, 1, 0, 0, 1}
			refused = append(refused, nig, prior.DataScaled{Nu: 1},
				prior.NormalInverseWishart{Mean: []float64{0}, Kappa: 1, Nu: 3, Scale: []float64{1}},
				with(func(p *prior.NormalInverseWishart) { p.Scale = []float64{1, 2, 2, 1} }),
				with(func(p *prior.NormalInverseWishart) { p.Nu = 1 }),
				with(func(p *prior.NormalInverseWishart) { p.Nu = 1e307 }))
		} else {
			refused = append(refused, niw, prior.NormalInverseGamma{Kappa: 1, Shape: 1},
				prior.NormalInverseGamma{Kappa: 1, Shape: 1e307, Rate: 1})
		}
		for _, p := range refused {
			_, err := f.Conjugate(p, w)
			assert.Error(t, err, "%T %+v", f, p)
		}
		_, err := f.Conjugate(prior.Jeffreys{}, w)
		assert.ErrorContains(t, err, "improper")
		_, err = f.Conjugate(nil, w)
		assert.NoError(t, err)
	}
}

// DataScaled centres a prior at the table, with its covariance for a scale.
func TestGaussianDefaultPriorsAreScaledByTheTable(t *testing.T) {
	hyper := func(f normal, xi ...float64) []float64 {
		q, err := f.Conjugate(nil, &family.Pooled{Parameters: xi})
		require.NoError(t, err)
		h := make([]float64, f.Layout().Hyper)
		q.Prior(h)
		return h
	}
	assert.Equal(t, []float64{1, 2, 1, 5, 6, 4, 1, 1, 9}, hyper(gaussian{d: 2}, 5, 6, 4, 1, 1, 9))
	assert.Equal(t, []float64{5, 1, 0.5, 2, 6, 1, 0.5, 4.5}, hyper(diagonal(2), 5, 6, 4, 9))
	assert.Equal(t, []float64{5, 6, 1, 1, 6.5}, hyper(spherical(2), 5, 6, 6.5))
}

// A prior belongs to the caller, who may change it afterwards.
func TestGaussianPriorsAreCopied(t *testing.T) {
	p := prior.NormalInverseWishart{Mean: []float64{1, 2}, Kappa: 1, Nu: 3, Scale: []float64{1, 0, 0, 1}}
	w := &family.Pooled{Parameters: []float64{0, 0, 1, 0, 0, 1}}
	g := gaussian{d: 2}
	q, err := g.Conjugate(p, w)
	require.NoError(t, err)
	p.Mean[0], p.Scale[0] = 7, 7
	h := make([]float64, g.Layout().Hyper)
	q.Prior(h)
	assert.Equal(t, []float64{1, 3, 1, 1, 2, 1, 0, 0, 1}, h)
}

// ν next to D − 1: hardly any draw is in the range of float64.
func TestGaussianDrawsAreAlwaysParameters(t *testing.T) {
	rng := seeded(31)
	for _, f := range gaussians(2) {
		for _, excess := range []float64{1e-8, 1e-3, 0.1} {
			var p prior.Prior = prior.NormalInverseGamma{Kappa: 1, Shape: excess, Rate: 1}
			if _, ok := f.(gaussian); ok {
				p = prior.NormalInverseWishart{Mean: []float64{0, 0}, Kappa: 1, Nu: 1 + excess, Scale: []float64{1, 0, 0, 1}}
			}
			q, err := f.Conjugate(p, &family.Pooled{Parameters: []float64{0, 0, 1, 0, 0, 1}})
			require.NoError(t, err)
			h, xi := make([]float64, f.Layout().Hyper), make([]float64, f.Layout().Params)
			q.Prior(h)
			for range 200 {
				q.Rand(h, rng, xi)
				assert.True(t, finite(xi), "%T %v", f, excess)
				assert.True(t, finite(scoreOf(t, f, xi)), "%T %v", f, excess)
			}
		}
	}
}

func TestGaussianLogProbOutsideTheParametersIsMinusInfinity(t *testing.T) {
	rng := seeded(32)
	for _, c := range gaussianCases(t, rng, 2, 3) {
		for _, bad := range []float64{0, -1, math.NaN()} {
			xi := make([]float64, c.size.Params)
			for i := 2; i < len(xi); i++ {
				xi[i] = bad
			}
			assert.Equal(t, math.Inf(-1), c.LogProb(xi), "%v %v", c, bad)
			if tied, ok := c.FactorPrior.(*tiedNormalWishart); ok {
				assert.Equal(t, math.Inf(-1), tied.LogProbShared(xi))
			}
		}
	}
}

func TestGaussianPosteriorLoopsDoNotAllocate(t *testing.T) {
	rng := seeded(33)
	for _, c := range gaussianCases(t, rng, 4, 9) {
		sums, h, score, xi := c.sums(t), make([]float64, c.size.Hyper), make([]float64, c.size.Score), make([]float64, c.size.Params)
		sink := 0.0
		assert.Zero(t, testing.AllocsPerRun(20, func() {
			c.Update(sums, c.anchor, h)
			if p, ok := c.FactorPrior.(family.SharedPrior); ok {
				p.Share(family.Table{K: 1, Stride: len(h), Data: h})
			}
			if c.Expected(h, score) != nil || c.Mode(h, xi) != nil {
				panic("posterior")
			}
			c.Mean(h, xi)
			sink += c.Divergence(h, score)
		}), c)
		assert.True(t, finite([]float64{sink}))
	}
}
