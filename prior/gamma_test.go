package prior_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/prior"
)

var gammas = []prior.Gamma{{0.5, 2}, {1, 1e-3}, {3, 50}, {200, 7}}

// The integral of λ^Shape exp(−Rate·λ) over ln λ, around its peak.
func TestGammaLogNormIsTheIntegral(t *testing.T) {
	for _, g := range gammas {
		peak := math.Log(g.Mean())
		mass := integral(func(u float64) float64 {
			return math.Exp(g.Shape*u - g.Rate*(math.Exp(u+peak)-math.Exp(peak)))
		}, -80, 6, 1000)
		closeTo(t, math.Log(mass)+g.Shape*peak-g.Rate*math.Exp(peak), g.LogNorm(), 1e-11, g)
	}
}

func TestGammaExpectationsAreDerivativesOfLogNorm(t *testing.T) {
	for _, g := range gammas {
		closeTo(t, g.ExpectedLog(), central(func(s float64) float64 { return prior.Gamma{Shape: s, Rate: g.Rate}.LogNorm() }, g.Shape), 1e-9, g)
		closeTo(t, -g.Mean(), central(func(r float64) float64 { return prior.Gamma{Shape: g.Shape, Rate: r}.LogNorm() }, g.Rate), 1e-9, g)
	}
}

// The integral of g ln(g/h) over ln λ.
func TestGammaDivergenceIsTheIntegral(t *testing.T) {
	for _, g := range gammas {
		for _, h := range gammas {
			mean := math.Log(g.Mean())
			sum := integral(func(u float64) float64 {
				lambda := math.Exp(u + mean)
				return math.Exp(g.LogProb(lambda)) * lambda * (g.LogProb(lambda) - h.LogProb(lambda))
			}, -80, 6, 2000)
			closeTo(t, sum, g.Divergence(h), 1e-10, []prior.Gamma{g, h})
		}
		assert.Zero(t, g.Divergence(g))
	}
}

// The distribution of a rate after n counts, against that after a few more: as n grows, it
// tends to that of normal distributions, and is far below the rounding of ln Γ(n).
func TestGammaDivergenceKeepsItsDigits(t *testing.T) {
	const n = 1e12
	g, h := prior.Gamma{Shape: n, Rate: n}, prior.Gamma{Shape: n + 1e6, Rate: n}
	closeTo(t, 0.5, g.Divergence(h), 2e-6, "one standard deviation apart")
	for _, g := range []prior.Gamma{{1e-3, 1e-3}, {1e3, 1e-300}, {5, 1e200}} {
		for _, h := range []prior.Gamma{{1e-3, 1e-3}, {1e3, 1e300}, {5, 1e-200}} {
			assert.GreaterOrEqual(t, g.Divergence(h), 0.0)
			assert.False(t, math.IsNaN(g.Divergence(h)))
		}
	}
}

func TestGammaLogProbAgreesWithGonum(t *testing.T) {
	for _, g := range gammas {
		other := distuv.Gamma{Alpha: g.Shape, Beta: g.Rate}
		for _, x := range []float64{1e-9, 0.4, 30} {
			closeTo(t, other.LogProb(x), g.LogProb(x), 1e-12, g)
		}
		for _, x := range []float64{-0.1, nan, inf} {
			assert.Equal(t, -inf, g.LogProb(x))
		}
	}
	assert.Equal(t, []float64{inf, math.Log(2), -inf}, []float64{
		prior.Gamma{Shape: 0.5, Rate: 2}.LogProb(0), prior.Gamma{Shape: 1, Rate: 2}.LogProb(0), prior.Gamma{Shape: 2, Rate: 2}.LogProb(0)})
}

func TestGammaModeIsWhereTheDensityIsGreatest(t *testing.T) {
	for _, g := range []prior.Gamma{{1, 2}, {1.5, 1e-3}, {200, 7}} {
		mode, err := g.Mode()
		require.NoError(t, err)
		for _, step := range []float64{-0.5, -1e-3, 1e-3, 0.5} {
			assert.Greater(t, g.LogProb(mode), g.LogProb(mode+step*g.Mean()), "%v", g)
		}
	}
	for _, shape := range []float64{0.999, 0, nan} {
		_, err := prior.Gamma{Shape: shape, Rate: 1}.Mode()
		assert.ErrorContains(t, err, "prior: Gamma of shape")
	}
}

func TestGammaDrawsHaveTheMoments(t *testing.T) {
	for i, g := range append(gammas, prior.Gamma{Shape: 0.05, Rate: 3}) {
		rng := generator(uint64(40 + i))
		var draws, logs []float64
		for range 20000 {
			x := g.Rand(rng)
			draws, logs = append(draws, x), append(logs, math.Log(x))
		}
		meanIs(t, g.Mean(), draws, g)
		meanIs(t, g.ExpectedLog(), logs, g)
	}
}
