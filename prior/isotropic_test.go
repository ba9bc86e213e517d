package prior_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/prior"
)

func randomIsotropic(seed uint64, width int) prior.IsotropicNormal {
	rng := generator(seed)
	return append(normalVariables(rng, width), 0.2+3*rng.Float64(), 1.5+4*rng.Float64(), 0.5+rng.Float64())
}

func TestIsotropicNormalOfOneColumnIsTheNormalInverseWishart(t *testing.T) {
	wishart := func(p prior.IsotropicNormal) prior.NormalInverseWishart {
		return prior.NormalInverseWishart{Mean: p[:1], Kappa: p[1], Nu: 2 * p[2], Scale: []float64{2 * p[3]}}
	}
	p, from := randomIsotropic(80, 1), randomIsotropic(81, 1)
	w, fromWishart := wishart(p), wishart(from)
	root, mean, variance := []float64{0}, []float64{0}, []float64{0}

	constant, precision := p.Expected()
	want, err := w.Expected(root)
	require.NoError(t, err)
	closeTo(t, want, constant, 1e-13, "constant")
	closeTo(t, root[0]*root[0], precision, 1e-13, "precision")
	closeTo(t, w.MeanDivergence(root, fromWishart)+w.CovarianceDivergence(root, fromWishart, logNorm(t, fromWishart)),
		p.Divergence(from), 1e-12, "divergence")

	w.Mode(1, mean, variance)
	closeTo(t, variance[0], p.Mode(), 1e-14, "mode")
	for _, shape := range []float64{3, 0.7} { // E[σ²] exists, and does not
		p[2] = shape
		wishart(p).Expectation(mean, variance)
		closeTo(t, variance[0], p.Expectation(), 1e-14, shape)
	}
	after, w := prior.IsotropicNormal{1, 0, 0, 0}, wishart(p).Update(2.5, []float64{1}, []float64{3}, prior.NormalInverseWishart{})
	p.Update(2.5, 3, after)
	assert.InEpsilonSlice(t, []float64{w.Mean[0], w.Kappa, w.Nu / 2, w.Scale[0] / 2}, []float64(after), 1e-14)
}

func TestIsotropicNormalIsNormalsTimesAnInverseGamma(t *testing.T) {
	p := randomIsotropic(82, 3)
	mean, variance := []float64{1, -2, 0.5}, 0.8
	want := distuv.InverseGamma{Alpha: p[4], Beta: p[5]}.LogProb(variance)
	for j, m := range mean {
		want += distuv.Normal{Mu: p[j], Sigma: math.Sqrt(variance / p[3])}.LogProb(m)
	}
	closeTo(t, want, p.LogProb(mean, variance), 1e-13, p)
	for _, v := range []float64{0, -1, inf, nan} {
		assert.Equal(t, -inf, p.LogProb(mean, v))
	}
	assert.Equal(t, -inf, p.LogProb([]float64{0, inf, 0}, 1))
}

// The expected log density, the divergence and the moments are means over draws.
func TestIsotropicNormalDrawsHaveTheExpectations(t *testing.T) {
	const width, n = 3, 20000
	p, from, rng := randomIsotropic(83, width), randomIsotropic(84, width), generator(85)
	p[width+1] = 4 // so that σ² has a variance
	x, mean := []float64{0.3, -1, 2}, make([]float64, width)
	var densities, ratios, variances []float64
	for range n {
		v := p.Rand(rng, mean)
		density := -width / 2. * math.Log(2*math.Pi*v)
		for j, m := range mean {
			density -= (x[j] - m) * (x[j] - m) / (2 * v)
		}
		densities, variances = append(densities, density), append(variances, v)
		ratios = append(ratios, p.LogProb(mean, v)-from.LogProb(mean, v))
	}
	constant, precision := p.Expected()
	distance := floats.Distance(x, p[:width], 2)
	meanIs(t, constant-precision*distance*distance/2, densities, "E[ln N(x)]")
	meanIs(t, p.Divergence(from), ratios, "divergence")
	meanIs(t, p.Expectation(), variances, "E[σ²]")
}

// The same of the normal–inverse Wishart distribution, whose means of two components share Σ in the mode.
func TestNormalInverseWishartDrawsHaveTheExpectations(t *testing.T) {
	const d, n = 3, 20000
	rng := generator(86)
	p, from := randomWishart(rng, d), randomWishart(rng, d)
	p.Nu = d + 6
	root, x := make([]float64, d*d), normalVariables(rng, d)
	constant, err := p.Expected(root)
	require.NoError(t, err)
	point := p
	point.Mean, point.Scale = make([]float64, d), make([]float64, d*d)
	p.Expectation(point.Mean, point.Scale)
	var ratios, densities, traces []float64
	mean, covariance, half := make([]float64, d), make([]float64, d*d), make([]float64, d*d)
	for range n {
		mean, covariance, err = p.Rand(rng, mean, covariance)
		require.NoError(t, err)
		density, err := p.LogProb(mean, covariance)
		require.NoError(t, err)
		other, err := from.LogProb(mean, covariance)
		require.NoError(t, err)
		ratios = append(ratios, density-other)
		unit := prior.NormalInverseWishart{Mean: mean, Kappa: 1, Nu: 1, Scale: covariance}
		_, err = unit.Expected(half)
		require.NoError(t, err)
		logDet, err := unit.LogDetScale()
		require.NoError(t, err)
		densities = append(densities, unit.LogProbMean(x, half, logDet))
		traces = append(traces, covariance[0]+covariance[d+1])
	}
	z := make([]float64, d)
	for a := range d {
		for c := a; c < d; c++ {
			z[a] += root[a*d+c] * (x[c] - p.Mean[c])
		}
	}
	meanIs(t, constant-floats.Dot(z, z)/2, densities, "E[ln N(x)]")
	meanIs(t, p.MeanDivergence(root, from)+p.CovarianceDivergence(root, from, logNorm(t, from)), ratios, "divergence")
	meanIs(t, point.Scale[0]+point.Scale[d+1], traces, "E[Σ]")
}

func TestPooledPosteriorsHaveTheRowsOfAll(t *testing.T) {
	const d = 2
	rng := generator(87)
	p := randomWishart(rng, d)
	mean, one, two := normalVariables(rng, d), positiveDefinite(rng, d), positiveDefinite(rng, d)
	first, second := p.Update(3, mean, one, prior.NormalInverseWishart{}), p.Update(4, p.Mean, two, prior.NormalInverseWishart{})
	pooled := first.Pool(second, p)
	assert.InDelta(t, p.Nu+7, pooled.Nu, 1e-13)
	want := p.Update(3, mean, floats.AddTo(make([]float64, d*d), one, two), prior.NormalInverseWishart{})
	assert.InDeltaSlice(t, want.Scale, pooled.Scale, 1e-12)

	covariance := make([]float64, d*d)
	pooled.Mode(2, mean, covariance)
	assert.InDelta(t, pooled.Scale[1]/(pooled.Nu+d+3), covariance[1], 1e-14)
}

func TestGaussianPriorsDoNotAllocate(t *testing.T) {
	const d = 4
	rng := generator(88)
	w, p := randomWishart(rng, d), randomIsotropic(89, d)
	root, mean, covariance := make([]float64, d*d), make([]float64, d), make([]float64, d*d)
	norm, after := logNorm(t, w), slices.Clone(p)
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		_, _ = w.Expected(root)
		w.MeanDivergence(root, w)
		w.CovarianceDivergence(root, w, norm)
		w.Mode(1, mean, covariance)
		p.Update(2, 1, after)
		after.Expected()
		after.Divergence(p)
	}))
}
