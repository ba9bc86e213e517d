package mixture

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

	"github.com/latent-go/latent/prior"
)

var (
	_ pooledPrior = (*tiedNormalWishart)(nil)
	_ conjugate   = (*tiedNormalWishart)(nil)
)

// gaussianCase is a factor with a prior and data.
type gaussianCase struct {
	factor
	layout
	conjugate
	whole   *whole
	x       []float64
	weights []float64
	anchor  []float64
}

func (c *gaussianCase) String() string { return fmt.Sprintf("%T of %d columns", c.factor, c.columns) }

// newGaussianCase has n weighted rows, and a prior that is neither near them nor far.
func newGaussianCase(t require.TestingT, rng *rand.Rand, f factor, n int) *gaussianCase {
	l := f.layout()
	d := l.columns
	xi, mean, _ := parametersOf(rng, f, d, 1, 10)
	c := &gaussianCase{factor: f, layout: l, x: samples(f, xi, rng, n), weights: make([]float64, n), anchor: normals(rng, d)}
	for i := range c.weights {
		c.weights[i] = 0.2 + rng.Float64()
	}
	c.whole = wholeOf(t, f, samples(f, xi, rng, 20))
	var p prior.Prior = prior.NormalInverseGamma{Mean: mean[0], Kappa: 0.5, Shape: 3, Rate: 2}
	if _, ok := f.(gaussian); ok {
		p = prior.NormalInverseWishart{Mean: normals(rng, d), Kappa: 0.5, Nu: float64(d) + 5, Scale: covarianceOf(rng, d, 5)}
	}
	var err error
	c.conjugate, err = f.conjugate(p, c.whole)
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
	return sumsOf(t, c.factor, c.x, c.weights, c.anchor)
}

// posterior is that of the rows; with others, of one component among K of a tied covariance.
func (c *gaussianCase) posterior(t require.TestingT) []float64 {
	h := make([]float64, c.hyper)
	c.update(c.sums(t), c.anchor, h)
	return h
}

func (c *gaussianCase) score(t require.TestingT, h []float64) []float64 {
	score := make([]float64, c.layout.score)
	require.NoError(t, c.expected(h, score))
	return score
}

// logDensity is ln q(ξ) under hyperparameters, the shared covariance's included: that is
// the prior's own with others in its place.
func (c *gaussianCase) logDensity(t require.TestingT, h, xi []float64) float64 {
	at := withHyper(t, c.conjugate, h)
	value := at.logProb(xi)
	if tied, ok := at.(*tiedNormalWishart); ok {
		value += tied.logProbShared(xi)
	}
	return value
}

func withHyper(t require.TestingT, c conjugate, h []float64) conjugate {
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
	case *diagonalPrior:
		q := &diagonalPrior{diagonal: c.diagonal}
		for a := range c.d {
			q.of = append(q.of, c.column(h, a))
		}
		return q
	}
	s := c.(*sphericalPrior)
	return &sphericalPrior{s.spherical, h[3:], prior.NormalInverseGamma{Kappa: h[0], Shape: h[1], Rate: h[2]}}
}

func (c *gaussianCase) priorHyper() []float64 {
	h := make([]float64, c.hyper)
	c.conjugate.prior(h)
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
			bound := c.total(score, c.sums(t), c.anchor) - c.divergence(h, score)
			for range 3 {
				xi, _, _ := parametersOf(rng, c.factor, d, 0, 10)
				evidence := c.logDensity(t, c.priorHyper(), xi) - c.logDensity(t, h, xi)
				for i, v := range scoresOf(t, c.factor, c.x, naturalOf(t, c.factor, xi)) {
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
		xi, mean := make([]float64, c.params), make([]float64, c.params)
		var scores, ratios []float64
		values := make([][]float64, c.params)
		q, p := withHyper(t, c.conjugate, h), c.conjugate
		for range draws {
			c.rand(h, rng, xi)
			scores = append(scores, scoresOf(t, c.factor, row, naturalOf(t, c.factor, xi))[0])
			ratio := q.logProb(xi) - p.logProb(xi)
			if tied, ok := q.(*tiedNormalWishart); ok {
				ratio += tied.logProbShared(xi) - p.(*tiedNormalWishart).logProbShared(xi)
			}
			ratios = append(ratios, ratio)
			for i, v := range xi {
				values[i] = append(values[i], v)
			}
		}
		meanIs(t, scoresOf(t, c.factor, row, score)[0], scores, c, "score")
		meanIs(t, c.divergence(h, score), ratios, c, "divergence")
		c.mean(h, mean)
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
			assert.InDelta(t, 0, c.divergence(h, c.score(t, h)), 1e-12, c)
			h = c.posterior(t)
			assert.Greater(t, c.divergence(h, c.score(t, h)), 0.1, c)
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
		want, h := c.priorHyper(), make([]float64, c.hyper)
		for _, weight := range []float64{0, 5e-324, 1e-320, 1e-300, 1e-30} {
			for i := range c.weights {
				c.weights[i] = weight
			}
			c.update(c.sums(t), c.anchor, h)
			allClose(t, want, h, 1e-15, c, weight)
			assert.InDelta(t, 0, c.divergence(h, c.score(t, h)), 1e-12, c)
		}
		empty := make([]float64, c.layout.sums)
		empty[0] = -1e-18 // what rounding can leave
		c.update(empty, c.anchor, h)
		assert.Equal(t, want, h, c)
	}
}

func TestGaussianPosteriorsStayFinite(t *testing.T) {
	rng := seeded(24)
	for _, c := range gaussianCases(t, rng, 3, 8) {
		h, xi := make([]float64, c.hyper), make([]float64, c.params)
		for _, weight := range []float64{1e-300, 1, 1e9, 1e15} {
			for i := range c.weights {
				c.weights[i] = weight
			}
			c.update(c.sums(t), c.anchor, h)
			score := c.score(t, h)
			divergence := c.divergence(h, score)
			require.NoError(t, c.mode(h, xi))
			assert.True(t, finite(h) && finite(score) && finite(xi) && finite([]float64{divergence, c.logProb(xi)}), "%v %v", c, weight)
			assert.GreaterOrEqual(t, divergence, -1e-12)
			c.mean(h, xi)
			assert.True(t, finite(naturalOf(t, c.factor, xi)))
		}
	}
}

// nearby moves parameters a little, and leaves them parameters.
func nearby(rng *rand.Rand, f factor, d int, xi []float64) []float64 {
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
				xi := make([]float64, c.params)
				require.NoError(t, c.mode(h, xi))
				peak := c.logDensity(t, h, xi)
				for range 50 {
					assert.Greater(t, peak, c.logDensity(t, h, nearby(rng, c.factor, d, xi)), c)
				}
			}
		}
	}
}

func TestGaussianMeanStandsInWhereItDoesNotExist(t *testing.T) {
	g, xi := gaussian{2, false}, make([]float64, 6)
	w := &whole{xi: []float64{1, 2, 4, 1, 1, 9}}
	q, err := g.conjugate(nil, w)
	require.NoError(t, err)
	h := make([]float64, g.layout().hyper)
	q.prior(h)
	q.mean(h, xi) // ν = D
	assert.Equal(t, []float64{1, 2, 2, 0.5, 0.5, 4.5}, xi)

	for _, f := range []factor{diagonal{2}, spherical{2}} {
		c, err := f.conjugate(prior.NormalInverseGamma{Mean: 3, Kappa: 1, Shape: 0.5, Rate: 2}, &whole{xi: []float64{1, 2, 4, 9}})
		require.NoError(t, err)
		h, xi := make([]float64, f.layout().hyper), make([]float64, f.layout().params)
		c.prior(h)
		c.mean(h, xi)
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
			q, err := f.conjugate(p, wholeOf(t, f, x))
			require.NoError(t, err)
			l := f.layout()
			h, xi, score := make([]float64, l.hyper), make([]float64, l.params), make([]float64, l.score)
			q.update(sumsOf(t, f, x, weights, anchor), anchor, h)
			require.NoError(t, q.expected(h, score))
			got := append(scoresOf(t, f, []float64{-1, 2}, score), q.divergence(h, score))
			require.NoError(t, q.mode(h, xi))
			got = append(got, xi...)
			q.mean(h, xi)
			got = append(got, xi...)
			density := q.logProb([]float64{0.2, 1.7})
			if tied, ok := q.(*tiedNormalWishart); ok {
				density += tied.logProbShared([]float64{0.2, 1.7})
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
			if _, ok := f.(spherical); ok {
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
		l := f.layout()
		judge := func(x []float64) (scores []float64, divergence float64) {
			w := wholeOf(t, f, x)
			q, err := f.conjugate(nil, w)
			require.NoError(t, err)
			h, score := make([]float64, l.hyper), make([]float64, l.score)
			q.update(sumsOf(t, f, x[:part*d], ones(part), w.anchor), w.anchor, h)
			require.NoError(t, q.expected(h, score))
			return scoresOf(t, f, x, score), q.divergence(h, score)
		}
		scores, divergence := judge(x)
		got, gotDivergence := judge(moved)
		for i := range scores {
			scores[i] -= logDet
		}
		allClose(t, scores, got, 1e-9, f)
		closeTo(t, divergence, gotDivergence, 1e-9, f)
	}
}

// tiedComponents are K posteriors that share a covariance.
func tiedComponents(t require.TestingT, rng *rand.Rand, d, n, k int) (list []*gaussianCase, hyper table) {
	l := gaussian{d, true}.layout()
	hyper = table{k, l.hyper + 2, make([]float64, k*(l.hyper+2))} // as in a larger matrix
	for j := range k {
		c := newGaussianCase(t, rng, gaussian{d, true}, n)
		if j > 0 {
			c.conjugate = list[0].conjugate
		}
		c.update(c.sums(t), c.anchor, hyper.row(j, l.hyper))
		list = append(list, c)
	}
	list[0].conjugate.(*tiedNormalWishart).pool(hyper)
	return list, hyper
}

// tiedDensity is the log density of all means and the shared covariance.
func tiedDensity(t require.TestingT, list []*gaussianCase, hyper table, params [][]float64) float64 {
	sum := 0.0
	for j, c := range list {
		q := withHyper(t, c.conjugate, hyper.row(j, c.hyper)).(*tiedNormalWishart)
		if sum += q.logProb(params[j]); j == 0 {
			sum += q.logProbShared(params[j])
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
			h := hyper.row(j, c.hyper)
			score := c.score(t, h)
			bound += c.total(score, c.sums(t), c.anchor) - c.divergence(h, score)
		}
		cov := covarianceOf(rng, d, 10)
		evidence, before := 0.0, table{k, list[0].hyper, make([]float64, k*list[0].hyper)}
		var params [][]float64
		for j, c := range list {
			xi := append(normals(rng, d), cov...)
			params = append(params, xi)
			c.conjugate.prior(before.row(j, c.hyper))
			for i, v := range scoresOf(t, c.factor, c.x, naturalOf(t, c.factor, xi)) {
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
		params[j] = make([]float64, c.params)
		require.NoError(t, c.mode(hyper.row(j, c.hyper), params[j]))
		assert.Equal(t, params[0][d:], params[j][d:])
	}
	peak := tiedDensity(t, list, hyper, params)
	for range 100 {
		other := make([][]float64, k)
		for j := range other {
			other[j] = nearby(rng, list[j].factor, d, params[j])
			copy(other[j][d:], other[0][d:])
		}
		assert.Greater(t, peak, tiedDensity(t, list, hyper, other))
	}
}

func TestTiedDrawsShareTheCovarianceAndHaveTheDivergence(t *testing.T) {
	rng := seeded(29)
	const d, k, draws = 2, 3, 10000
	list, hyper := tiedComponents(t, rng, d, 4, k)
	l, q := list[0].layout, list[0].conjugate.(*tiedNormalWishart)
	before := table{k, l.hyper, make([]float64, k*l.hyper)}
	divergence := 0.0
	for j, c := range list {
		h := hyper.row(j, l.hyper)
		divergence += c.divergence(h, c.score(t, h))
		q.prior(before.row(j, l.hyper))
	}
	params := table{k, l.params + 1, make([]float64, k*(l.params+1))}
	var ratios []float64
	for range draws {
		q.randShared(hyper, rng, params)
		var each [][]float64
		for j := range k {
			each = append(each, params.row(j, l.params))
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
	q, n := list[0].conjugate.(*tiedNormalWishart), list[0].hyper
	once := slices.Clone(hyper.data)
	q.pool(hyper)
	assert.Equal(t, once, hyper.data)
	shared := func(h []float64) float64 {
		score := list[0].score(t, h)
		_, root := q.split(score, 1)
		return q.covarianceDivergence(q.at(h), root)
	}
	want := shared(hyper.row(0, n))
	for left := k - 1; left > 0; left-- {
		hyper = table{left, hyper.stride, hyper.data[hyper.stride:]} // without the first
		q.pool(hyper)
		for j := range left {
			h := hyper.row(j, n)
			assert.Equal(t, once[1], h[1])
			assert.Equal(t, float64(left), h[2])
			assert.Equal(t, once[3+d:n], h[3+d:])
			own := list[0].score(t, h)
			m, root := q.split(own, 1)
			mean := meanDivergence(d, h[0], q.of.Kappa, quadratic(d, root, m, q.of.Mean))
			closeTo(t, mean+want/float64(left), q.divergence(h, own), 1e-12)
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
		w := &whole{xi: []float64{0, 0, 1, 1}}
		refused := []prior.Prior{
			prior.Jeffreys{}, prior.Gamma{Shape: 1, Rate: 1}, prior.DataScaled{Kappa: -1}, prior.DataScaled{Nu: math.NaN()},
		}
		if _, ok := f.(gaussian); ok {
			w.xi = []float64{0, 0, 1, 0, 0, 1}
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
			_, err := f.conjugate(p, w)
			assert.Error(t, err, "%T %+v", f, p)
		}
		_, err := f.conjugate(prior.Jeffreys{}, w)
		assert.ErrorContains(t, err, "improper")
		_, err = f.conjugate(nil, w)
		assert.NoError(t, err)
	}
}

// DataScaled centres a prior at the table, with its covariance for a scale.
func TestGaussianDefaultPriorsAreScaledByTheTable(t *testing.T) {
	hyper := func(f factor, xi ...float64) []float64 {
		q, err := f.conjugate(nil, &whole{xi: xi})
		require.NoError(t, err)
		h := make([]float64, f.layout().hyper)
		q.prior(h)
		return h
	}
	assert.Equal(t, []float64{1, 2, 1, 5, 6, 4, 1, 1, 9}, hyper(gaussian{2, false}, 5, 6, 4, 1, 1, 9))
	assert.Equal(t, []float64{5, 1, 0.5, 2, 6, 1, 0.5, 4.5}, hyper(diagonal{2}, 5, 6, 4, 9))
	assert.Equal(t, []float64{1, 1, 6.5, 5, 6}, hyper(spherical{2}, 5, 6, 6.5))
}

// A prior belongs to the caller, who may change it afterwards.
func TestGaussianPriorsAreCopied(t *testing.T) {
	p := prior.NormalInverseWishart{Mean: []float64{1, 2}, Kappa: 1, Nu: 3, Scale: []float64{1, 0, 0, 1}}
	w := &whole{xi: []float64{0, 0, 1, 0, 0, 1}}
	g := gaussian{2, false}
	q, err := g.conjugate(p, w)
	require.NoError(t, err)
	p.Mean[0], p.Scale[0] = 7, 7
	h := make([]float64, g.layout().hyper)
	q.prior(h)
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
			q, err := f.conjugate(p, &whole{xi: []float64{0, 0, 1, 0, 0, 1}})
			require.NoError(t, err)
			h, xi := make([]float64, f.layout().hyper), make([]float64, f.layout().params)
			q.prior(h)
			for range 200 {
				q.rand(h, rng, xi)
				assert.True(t, finite(xi), "%T %v", f, excess)
				assert.True(t, finite(naturalOf(t, f, xi)), "%T %v", f, excess)
			}
		}
	}
}

func TestGaussianLogProbOutsideTheParametersIsMinusInfinity(t *testing.T) {
	rng := seeded(32)
	for _, c := range gaussianCases(t, rng, 2, 3) {
		for _, bad := range []float64{0, -1, math.NaN()} {
			xi := make([]float64, c.params)
			for i := 2; i < len(xi); i++ {
				xi[i] = bad
			}
			assert.Equal(t, math.Inf(-1), c.logProb(xi), "%v %v", c, bad)
			if tied, ok := c.conjugate.(*tiedNormalWishart); ok {
				assert.Equal(t, math.Inf(-1), tied.logProbShared(xi))
			}
		}
	}
}

func TestGaussianPosteriorLoopsDoNotAllocate(t *testing.T) {
	rng := seeded(33)
	for _, c := range gaussianCases(t, rng, 4, 9) {
		sums, h, score, xi := c.sums(t), make([]float64, c.hyper), make([]float64, c.layout.score), make([]float64, c.params)
		sink := 0.0
		assert.Zero(t, testing.AllocsPerRun(20, func() {
			c.update(sums, c.anchor, h)
			if p, ok := c.conjugate.(pooledPrior); ok {
				p.pool(table{1, len(h), h})
			}
			if c.expected(h, score) != nil || c.mode(h, xi) != nil {
				panic("posterior")
			}
			c.mean(h, xi)
			sink += c.divergence(h, score)
		}), c)
		assert.True(t, finite([]float64{sink}))
	}
}
