package hmm_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/hmm"
)

// TestStatesHaveFactorsOfTheirOwn: gFAB finds the states, and how many factors each of them has, in one fit, as of
// mixtures.
func TestStatesHaveFactorsOfTheirOwn(t *testing.T) {
	const n, d = 1200, 8
	rng := rand.New(rand.NewPCG(5, 6))
	loadings := make([]float64, 3*d)
	for i := range loadings {
		loadings[i] = rng.NormFloat64()
	}
	var x []float64
	state := 0
	for range n {
		if rng.Float64() < 0.05 {
			state = 1 - state
		}
		u := []float64{rng.NormFloat64(), 0, 0} // of the first state, and of the second
		if state == 1 {
			u = []float64{0, rng.NormFloat64(), rng.NormFloat64()}
		}
		for j := range d {
			v := 0.5 * rng.NormFloat64()
			for m, f := range u {
				v += f * loadings[m*d+j]
			}
			x = append(x, v)
		}
	}
	table, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	src, err := blocks.NewSequences(table, []int{n})
	require.NoError(t, err)
	res, err := framework.Fit(context.Background(), hmm.Model{Family: normal.FactorAnalysers{Factors: 4}}, src, framework.Options{Criterion: framework.GFIC, K: 4})
	require.NoError(t, err)
	require.Equal(t, 2, res.Shape.K)
	assert.Zero(t, res.Fall)
	width := len(res.Parameters.Components) / 2
	factors := []int{int(res.Parameters.Components[width-1]), int(res.Parameters.Components[2*width-1])}
	slices.Sort(factors)
	assert.Equal(t, []int{1, 2}, factors)
	assert.Equal(t, 2*2*d+3*d+2, res.Shape.Component, "means, noise, loadings and transitions")
	assert.Equal(t, res.Shape.Total()-1, res.Shape.Identifiable(), "two factors turn")
}
