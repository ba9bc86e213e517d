package family_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
)

// The share of draws below a value is its probability: 5 standard errors of 20,000 draws are 0.018 at most.
func TestDistributionFunctionsAreThoseOfDraws(t *testing.T) {
	for _, c := range []struct {
		family family.Family
		width  int
		xi     []float64
		at     []float64
	}{
		{normal.Family{}, 2, []float64{1, -2, 4, 1, 1, 2}, []float64{-1, 0, 1.5}},
		{normal.Family{Covariance: normal.Diagonal}, 2, []float64{1, -2, 4, 2}, []float64{-1, 0, 1.5}},
		{normal.Family{Covariance: normal.Spherical}, 2, []float64{1, -2, 4}, []float64{-1, 0, 1.5}},
		{normal.FactorAnalysers{Factors: 1}, 3, []float64{1, -2, 0, 1, 2, 1, 0.5, -1, 2, 1}, []float64{-1, 0, 1.5}},
		{normal.Lognormal{}, 1, []float64{0.5, 0.3}, []float64{-1, 0.5, 2}},
		{normal.StudentT{}, 2, []float64{1, -2, 4, 1, 1, 2, 3}, []float64{-3, 0, 1.5}},
		{family.Poisson{}, 1, []float64{3.3}, []float64{-1, 0, 2, 2.5, 7}},
		{family.Exponential{}, 1, []float64{2}, []float64{-1, 0, 0.4}},
		{family.Gamma{}, 1, []float64{2, 3}, []float64{-1, 0.4, 1.3}},
		{family.Bernoulli{}, 1, []float64{0.3}, []float64{-1, 0, 0.5, 1}},
		{family.Categorical{Levels: 3}, 1, []float64{0.2, 0.5, 0.3}, []float64{-1, 0, 1, 2, 3}},
		{family.Ordinal{Levels: 4}, 1, []float64{1.4, 0.6}, []float64{-1, 0, 1, 2, 3}},
		{family.Indicators{Categorical: family.Categorical{Levels: 3}}, 3, []float64{0.2, 0.5, 0.3}, []float64{-1, 0, 0.5, 1}},
		{family.Product{family.Poisson{}, family.Of{Family: family.Bernoulli{}, Width: 2}}, 3, []float64{3.3, 0.3, 0.8}, []float64{0, 1}},
	} {
		pl, err := family.NewPlan(c.family, c.width)
		require.NoError(t, err)
		rng, x := rand.New(rand.NewPCG(1, 2)), make([]float64, c.width)
		const n = 20_000
		less, atMost := make([]float64, c.width*len(c.at)), make([]float64, c.width*len(c.at))
		for range n {
			require.NoError(t, pl.Sample(c.xi, rng, x))
			for j, v := range x {
				for i, at := range c.at {
					if v < at {
						less[j*len(c.at)+i] += 1.0 / n
					}
					if v <= at {
						atMost[j*len(c.at)+i] += 1.0 / n
					}
				}
			}
		}
		for j := range c.width {
			for i, at := range c.at {
				a, b, err := pl.Below(c.xi, j, at)
				require.NoError(t, err)
				assert.InDelta(t, less[j*len(c.at)+i], a, 0.018, "%s, column %d below %v", c.family.Name(), j, at)
				assert.InDelta(t, atMost[j*len(c.at)+i], b, 0.018, "%s, column %d at most %v", c.family.Name(), j, at)
			}
		}
	}
	pl, err := family.NewPlan(family.Multinomial{Categories: 3}, 3)
	require.NoError(t, err)
	_, _, err = pl.Below([]float64{0.2, 0.3, 0.5}, 0, 1)
	assert.ErrorContains(t, err, "family.Distributor")
	_, _, err = pl.Below(nil, 3, math.NaN())
	assert.Error(t, err)
}
