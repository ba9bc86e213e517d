package prior_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/prior"
)

// natural is what the priors in natural parameters have in common.
type natural interface {
	Prior(h []float64)
	LogNorm(h []float64) float64
	Expected(h, eta []float64) float64
	Mode(h, xi []float64) error
	LogProb(h, xi []float64) float64
	Mean(h, xi []float64)
}

func naturals() []natural {
	return []natural{
		prior.Natural[prior.Gamma]{Of: prior.PoissonRate, Before: prior.Gamma{Shape: 2, Rate: 3}},
		prior.Natural[prior.Gamma]{Of: prior.ExponentialRate, Before: prior.Gamma{Shape: 2, Rate: 3}},
		prior.Natural[prior.Beta]{Of: prior.BernoulliProbability, Before: prior.Beta{A: 2, B: 3}},
		prior.NaturalDirichlet{Before: prior.Concentrations{2, 1.5, 4}},
	}
}

// TestNaturalPriorsAreTheGradientOfTheirLogNorm: E[η] in τ and, where ν counts, −E[ψ] in ν.
func TestNaturalPriorsAreTheGradientOfTheirLogNorm(t *testing.T) {
	for _, q := range naturals() {
		h, eta := make([]float64, 4), make([]float64, 3)
		if _, ok := q.(prior.NaturalDirichlet); !ok {
			h, eta = h[:2], eta[:1]
		}
		q.Prior(h)
		h[0], h[1] = h[0]+5, h[1]+3
		partition := q.Expected(h, eta)
		slope := func(i int) float64 {
			return central(func(v float64) float64 {
				at := append([]float64(nil), h...)
				at[i] = v
				return q.LogNorm(at)
			}, h[i])
		}
		require.InDelta(t, -partition, slope(0), 1e-8, "%T", q)
		for s, e := range eta {
			require.InDelta(t, e, slope(1+s), 1e-8, "%T", q)
		}
	}
}

func TestNaturalPriorsDoNotAllocate(t *testing.T) {
	for _, q := range naturals() {
		h, xi := make([]float64, 4), make([]float64, 3)
		if _, ok := q.(prior.NaturalDirichlet); !ok {
			h, xi = h[:2], xi[:1]
		}
		q.Prior(h)
		h[0], h[1] = h[0]+2, h[1]+1
		require.Zero(t, testing.AllocsPerRun(20, func() {
			q.Prior(h)
			q.Expected(h, xi)
			q.LogNorm(h)
			require.NoError(t, q.Mode(h, xi))
			q.LogProb(h, xi)
			q.Mean(h, xi)
		}), "%T", q)
	}
}
