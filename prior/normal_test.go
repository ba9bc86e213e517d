package prior_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/prior"
)

var normals = []prior.NormalInverseGamma{
	{Mean: 0, Kappa: 1, Shape: 0.5, Rate: 0.5},
	{Mean: -3, Kappa: 0.2, Shape: 2.5, Rate: 7},
	{Mean: 100, Kappa: 8, Shape: 30, Rate: 2e-3},
}

func TestNormalInverseGammaIsANormalTimesAnInverseGamma(t *testing.T) {
	for _, p := range normals {
		for _, variance := range []float64{1e-5, 0.3, 40} {
			for _, mean := range []float64{-4, 0, 99.9} {
				want := distuv.Normal{Mu: p.Mean, Sigma: math.Sqrt(variance / p.Kappa)}.LogProb(mean) +
					distuv.InverseGamma{Alpha: p.Shape, Beta: p.Rate}.LogProb(variance)
				closeTo(t, want, p.LogProb(mean, variance), 1e-12, p)
			}
		}
		for _, pair := range [][2]float64{{0, 0}, {0, -1}, {0, inf}, {0, nan}, {nan, 1}, {inf, 1}} {
			assert.Equal(t, -inf, p.LogProb(pair[0], pair[1]))
		}
	}
}

// overMeanAndVariance integrates exp(f + shift) over the mean and the variance, the
// latter by its logarithm, in units of the posterior p.
func overMeanAndVariance(p prior.NormalInverseGamma, shift float64, f func(mean, variance float64) float64) float64 {
	centre := math.Log(p.Rate / p.Shape)
	mass := integral(func(u float64) float64 {
		variance := math.Exp(u)
		deviation := math.Sqrt(variance / p.Kappa)
		return variance * integral(func(mean float64) float64 {
			return math.Exp(f(mean, variance) + shift)
		}, p.Mean-9*deviation, p.Mean+9*deviation, 60)
	}, centre-5, centre+40/p.Shape, 300)
	return math.Log(mass) - shift
}

func TestNormalInverseGammaLogNormIsTheIntegral(t *testing.T) {
	for _, p := range normals {
		got := overMeanAndVariance(p, -p.LogNorm(), func(mean, variance float64) float64 {
			shift := mean - p.Mean
			return -(p.Shape+1.5)*math.Log(variance) - (p.Rate+p.Kappa*shift*shift/2)/variance
		})
		closeTo(t, p.LogNorm(), got, 1e-9, p)
	}
}

// The evidence of three rows, integrated over the mean and the variance directly.
func TestNormalInverseGammaLogNormsDifferByTheEvidence(t *testing.T) {
	x := []float64{-1, 0.3, 2.5}
	mean, variance := stat.PopMeanVariance(x, nil)
	for _, p := range normals {
		after := p.Update(3, mean, 3*variance)
		evidence := after.LogNorm() - p.LogNorm() - 1.5*math.Log(2*math.Pi)
		got := overMeanAndVariance(after, -evidence, func(mean, variance float64) float64 {
			value := p.LogProb(mean, variance)
			for _, v := range x {
				value += distuv.Normal{Mu: mean, Sigma: math.Sqrt(variance)}.LogProb(v)
			}
			return value
		})
		closeTo(t, evidence, got, 1e-9, p)
	}
}

func TestNormalInverseGammaExpectationsAreDerivativesOfLogNorm(t *testing.T) {
	for _, p := range normals {
		shape := central(func(s float64) float64 { q := p; q.Shape = s; return q.LogNorm() }, p.Shape)
		rate := central(func(r float64) float64 { q := p; q.Rate = r; return q.LogNorm() }, p.Rate)
		closeTo(t, p.Precision().ExpectedLog(), shape, 1e-9, p)
		closeTo(t, -p.Precision().Mean(), rate, 1e-9, p)
	}
}

func TestNormalInverseGammaModeIsWhereTheJointDensityIsGreatest(t *testing.T) {
	for _, p := range normals {
		mean, variance := p.Mode()
		for _, step := range []float64{-0.5, -1e-3, 1e-3, 0.5} {
			assert.Greater(t, p.LogProb(mean, variance), p.LogProb(mean, variance*(1+step)))
			assert.Greater(t, p.LogProb(mean, variance), p.LogProb(mean+step*math.Sqrt(variance), variance))
		}
	}
}

// Rows in two batches, or all at once, and the posterior density is proportional to
// prior times likelihood.
func TestNormalInverseGammaUpdateIsBayesRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(-5, 5)
		x := rapid.SliceOfN(value, 2, 8).Draw(t, "x")
		split := rapid.IntRange(1, len(x)-1).Draw(t, "split")
		p := rapid.SampledFrom(normals).Draw(t, "p")
		update := func(p prior.NormalInverseGamma, x []float64) prior.NormalInverseGamma {
			mean, variance := stat.PopMeanVariance(x, nil)
			return p.Update(float64(len(x)), mean, variance*float64(len(x)))
		}
		once, twice := update(p, x), update(update(p, x[:split]), x[split:])
		assert.InEpsilon(t, once.Kappa, twice.Kappa, 1e-12)
		assert.InEpsilon(t, once.Shape, twice.Shape, 1e-12)
		assert.InEpsilon(t, once.Rate, twice.Rate, 1e-10)
		assert.InDelta(t, once.Mean, twice.Mean, 1e-10)

		constant := func(mean, variance float64) float64 {
			value := p.LogProb(mean, variance) - once.LogProb(mean, variance)
			for _, v := range x {
				value += distuv.Normal{Mu: mean, Sigma: math.Sqrt(variance)}.LogProb(v)
			}
			return value
		}
		assert.InEpsilon(t, constant(0, 1), constant(1, 20), 1e-7)
	})
	p := normals[1]
	assert.Equal(t, p, p.Update(0, nan, nan))
}

func TestNormalInverseGammaDrawsHaveTheMoments(t *testing.T) {
	for i, p := range normals {
		rng := generator(uint64(50 + i))
		var means, precisions, logs, squares []float64
		for range 20000 {
			mean, variance := p.Rand(rng)
			precisions, logs = append(precisions, 1/variance), append(logs, math.Log(variance))
			z := (mean - p.Mean) / math.Sqrt(variance/p.Kappa)
			means, squares = append(means, z), append(squares, z*z)
		}
		meanIs(t, p.Precision().Mean(), precisions, p)
		meanIs(t, -p.Precision().ExpectedLog(), logs, p)
		meanIs(t, 0, means, p)
		meanIs(t, 1, squares, p)
	}
	rng := generator(59)
	var draws []float64
	for range 1000 {
		mean, variance := prior.NormalInverseGamma{Kappa: 1, Shape: 1e-4, Rate: 1}.Rand(rng)
		draws = append(draws, mean, variance)
	}
	assert.False(t, floats.HasNaN(draws))
	assert.Equal(t, math.Exp(700), floats.Max(draws))
}
