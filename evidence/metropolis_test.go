package evidence_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/evidence"
)

// regression is y = a + bx + N(0, 1) with a prior whose scales differ by 1e4; the evidence is
// normal.
func regression(t *testing.T) (m *evidence.Metropolis, exact float64) {
	const n = 40
	scales := [2]float64{100, 0.01}
	rng := rand.New(rand.NewPCG(8, 9))
	x, y := make([]float64, n), make([]float64, n)
	covariance := mat.NewSymDense(n, nil)
	for i := range x {
		x[i] = 100 * rng.NormFloat64()
		y[i] = 30 + 0.02*x[i] + rng.NormFloat64()
	}
	for i := range x {
		for j := range i + 1 {
			v := scales[0]*scales[0] + scales[1]*scales[1]*x[i]*x[j]
			if i == j {
				v++
			}
			covariance.SetSym(i, j, v)
		}
	}
	normal, ok := distmv.NewNormal(make([]float64, n), covariance, nil)
	require.True(t, ok)
	return &evidence.Metropolis{
		DrawFunc: func(rng *rand.Rand) []float64 {
			return []float64{scales[0] * rng.NormFloat64(), scales[1] * rng.NormFloat64()}
		},
		LogPriorFunc: func(theta []float64) float64 {
			u, v := theta[0]/scales[0], theta[1]/scales[1]
			return -(u*u + v*v) / 2
		},
		LogLikelihoodFunc: func(theta []float64) float64 {
			sum := -n / 2 * math.Log(2*math.Pi)
			for i := range x {
				r := y[i] - theta[0] - theta[1]*x[i]
				sum -= r * r / 2
			}
			return sum
		},
	}, normal.LogProb(y)
}

func TestMetropolisMatchesClosedFormWithoutTuning(t *testing.T) {
	m, exact := regression(t)
	mean, rms := scores(t, 10, exact, func(seed uint64) evidence.Estimate {
		e, err := evidence.AIS(t.Context(), m, evidence.AISOptions{Temperatures: 150, Chains: 60, Seed: seed})
		require.NoError(t, err)
		require.Less(t, e.StandardError, 0.5)
		return e
	})
	t.Logf("z-scores over 10 seeds: mean %.2f, rms %.2f", mean, rms)
	require.Less(t, math.Abs(mean), 4/math.Sqrt(10))
	require.Greater(t, rms, 0.4)
	require.Less(t, rms, 1.8)
}

// exponential has the prior Exp(1), which ends at 0, on d coordinates and the likelihood exp(−5Σθ):
// p(θ)L(θ)^t is Exp(1+5t), and the evidence 6⁻ᵈ.
func exponential(d int) *evidence.Metropolis {
	sum := func(theta []float64) float64 {
		s := 0.0
		for _, v := range theta {
			if v < 0 {
				return math.Inf(1)
			}
			s += v
		}
		return s
	}
	return &evidence.Metropolis{
		DrawFunc: func(rng *rand.Rand) []float64 {
			theta := make([]float64, d)
			for i := range theta {
				theta[i] = rng.ExpFloat64()
			}
			return theta
		},
		LogPriorFunc:      func(theta []float64) float64 { return -sum(theta) },
		LogLikelihoodFunc: func(theta []float64) float64 { return -5 * sum(theta) },
	}
}

// Draws of the tempered posterior, moved by Step, are draws of it still.
func TestMetropolisStepLeavesTemperedPosteriorInvariant(t *testing.T) {
	const n, temperature = 20_000, 0.6
	rate := 1 + 5*temperature
	inner := exponential(2)
	m := *inner
	rng := rand.New(rand.NewPCG(10, 11))
	var powers [3][]float64 // of both coordinates' sum, a Gamma(2, rate)
	moved := 0
	for range n {
		m.DrawFunc = func(rng *rand.Rand) []float64 {
			return []float64{rng.ExpFloat64() / rate, rng.ExpFloat64() / rate}
		}
		p, err := m.Draw(rng)
		require.NoError(t, err)
		before := p.Theta[0]
		m.DrawFunc = inner.DrawFunc
		p, err = m.Step(p, temperature, rng)
		require.NoError(t, err)
		if p.Theta[0] != before {
			moved++
		}
		s := p.Theta[0] + p.Theta[1]
		for j := range powers {
			powers[j] = append(powers[j], math.Pow(s, float64(j+1)))
		}
	}
	require.Greater(t, moved, n*9/10)
	for j, want := range []float64{2 / rate, 6 / (rate * rate), 24 / (rate * rate * rate)} {
		mean, deviation := stat.MeanStdDev(powers[j], nil)
		require.InDelta(t, want, mean, 4*deviation/math.Sqrt(n), "moment %d", j+1)
	}
}

func TestMetropolisMatchesClosedFormAtAnEdge(t *testing.T) {
	for _, d := range []int{1, 3} {
		e, err := evidence.AIS(t.Context(), exponential(d), evidence.AISOptions{Temperatures: 200, Chains: 200})
		require.NoError(t, err)
		require.InDelta(t, -float64(d)*math.Log(6), e.LogEvidence, 4*e.StandardError)
		require.Less(t, e.StandardError, 0.1)
	}
}

func TestMetropolisReportsBrokenModels(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		change func(m *evidence.Metropolis)
		want   string
	}{
		"empty draw":        {func(m *evidence.Metropolis) { m.DrawFunc = func(*rand.Rand) []float64 { return nil } }, "empty"},
		"NaN draw":          {func(m *evidence.Metropolis) { m.DrawFunc = func(*rand.Rand) []float64 { return []float64{nan} } }, "not finite"},
		"prior excludes it": {func(m *evidence.Metropolis) { m.LogPriorFunc = func([]float64) float64 { return -inf } }, "at the prior's own draw"},
		"NaN prior":         {func(m *evidence.Metropolis) { m.LogPriorFunc = func([]float64) float64 { return nan } }, "log prior NaN"},
		"NaN likelihood":    {func(m *evidence.Metropolis) { m.LogLikelihoodFunc = func([]float64) float64 { return nan } }, "log likelihood NaN"},
		"NaN at proposals": {func(m *evidence.Metropolis) {
			m.LogPriorFunc = func(theta []float64) float64 {
				if theta[0] < 0 {
					return nan
				}
				return -theta[0]
			}
		}, "log prior NaN"},
		"changing length": {func(m *evidence.Metropolis) {
			m.DrawFunc = func(rng *rand.Rand) []float64 { return make([]float64, 1+rng.IntN(5)) }
		}, "coordinates"},
	} {
		m := exponential(1)
		c.change(m)
		_, err := evidence.AIS(t.Context(), m, evidence.AISOptions{Workers: 1})
		require.ErrorContains(t, err, c.want, name)
	}
}

func TestProposalsThatOverflowAreNotTaken(t *testing.T) {
	m := exponential(1)
	m.StepSizes = []float64{math.MaxFloat64, math.Inf(1)}
	rng := rand.New(rand.NewPCG(1, 1))
	p, err := m.Draw(rng)
	require.NoError(t, err)
	before := p.Theta[0]
	p, err = m.Step(p, 0.5, rng)
	require.NoError(t, err)
	require.Equal(t, before, p.Theta[0])
}
