package prior_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/prior"
)

var betas = []prior.Beta{{0.5, 0.5}, {1, 1}, {0.3, 4}, {7, 2}, {40, 60}}

// The integral of p^A(1−p)^B over the logit of p, which has no singularities.
func TestBetaLogNormIsTheIntegral(t *testing.T) {
	for _, b := range betas {
		reach := 4 + 36/min(b.A, b.B) // where less than e^−36 is left
		mass := integral(func(eta float64) float64 {
			return math.Exp(-b.A*math.Log1p(math.Exp(-eta)) - b.B*math.Log1p(math.Exp(eta)))
		}, -reach, reach, 1000)
		closeTo(t, math.Log(mass), b.LogNorm(), 1e-11, b)
	}
}

func TestBetaExpectedLogIsTheGradientOfLogNorm(t *testing.T) {
	for _, b := range betas {
		lnP, lnQ := b.ExpectedLog()
		closeTo(t, lnP, central(func(a float64) float64 { return prior.Beta{A: a, B: b.B}.LogNorm() }, b.A), 1e-9, b)
		closeTo(t, lnQ, central(func(c float64) float64 { return prior.Beta{A: b.A, B: c}.LogNorm() }, b.B), 1e-9, b)
	}
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		b := prior.Beta{A: 2, B: 3}
		b.LogNorm()
		b.ExpectedLog()
	}))
}

func TestBetaLogProbAgreesWithGonum(t *testing.T) {
	for _, b := range betas {
		other := distuv.Beta{Alpha: b.A, Beta: b.B}
		for _, p := range []float64{1e-6, 0.3, 0.99} {
			closeTo(t, other.LogProb(p), b.LogProb(p), 1e-12, b)
		}
		for _, p := range []float64{-0.1, 1.1, nan, inf} {
			assert.Equal(t, -inf, b.LogProb(p))
		}
	}
	assert.Equal(t, []float64{inf, -inf, 0, 0}, []float64{
		prior.Beta{A: 0.5, B: 2}.LogProb(0), prior.Beta{A: 0.5, B: 2}.LogProb(1),
		prior.Beta{A: 1, B: 1}.LogProb(0), prior.Beta{A: 1, B: 1}.LogProb(1)})
}

func TestBetaModeIsWhereTheDensityIsGreatest(t *testing.T) {
	for _, b := range []prior.Beta{{7, 2}, {1, 3}, {3, 1}, {1.5, 1.5}, {40, 60}} {
		mode, err := b.Mode()
		require.NoError(t, err)
		for p := range 1001 {
			assert.GreaterOrEqual(t, b.LogProb(mode)+1e-13, b.LogProb(float64(p)/1000), "%v", b)
		}
		for _, p := range []float64{mode - 1e-4, mode + 1e-4} {
			assert.Greater(t, b.LogProb(mode), b.LogProb(p), "%v", b)
		}
	}
	for _, b := range []prior.Beta{{0.5, 0.5}, {0.5, 3}, {3, 0.5}, {1, 1}, {nan, 2}} {
		_, err := b.Mode()
		assert.ErrorContains(t, err, "prior: Beta(", "%v", b)
	}
}

func TestBetaDrawsHaveTheMoments(t *testing.T) {
	for i, b := range append(betas, prior.Beta{A: 1e-4, B: 3e-4}, prior.Beta{A: 1e9, B: 1e9}) {
		rng := generator(uint64(30 + i))
		var draws, logs []float64
		for range 20000 {
			p := b.Rand(rng)
			draws, logs = append(draws, p), append(logs, math.Log(p))
		}
		meanIs(t, b.Mean(), draws, b)
		if lnP, _ := b.ExpectedLog(); b.A >= 0.1 {
			meanIs(t, lnP, logs, b)
		}
	}
}
