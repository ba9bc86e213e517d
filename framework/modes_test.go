package framework_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// logModes is that of a mixture of Poisson distributions.
func logModes(t require.TestingT, src framework.Source[blocks.Rows], p *rates, workers int) float64 {
	v, err := framework.LogModes(background, poisson{}, src, p, workers)
	require.NoError(t, err)
	return v
}

// TestLogModesAreBetweenNoneAndAllOrders: 0 of components that are one, ln K! of those that share no row, and the pairs
// of a textbook loop between; the same bits for any number of workers, and the same value in any order of labels.
func TestLogModesAreBetweenNoneAndAllOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 6).Draw(t, "K")
		draw := func(what string, low, high float64) []float64 {
			return rapid.SliceOfN(rapid.Float64Range(low, high), k, k).Draw(t, what)
		}
		p := &rates{draw("weights", 0.1, 1), draw("rates", 0.5, 40)}
		x := mixed(rapid.IntRange(1, 300).Draw(t, "rows"), 4)
		src := chopped{table(x)}
		v := logModes(t, src, p, 1)
		require.Equal(t, v, logModes(t, src, p, 3))

		most, _ := math.Lgamma(float64(k) + 1)
		q, err := poisson{}.Responsibilities(src.All(), p, nil)
		require.NoError(t, err)
		want := most
		for i := range k {
			for j := range i {
				rho := 1.0
				for n := range x {
					rho *= 1 - math.Pow(math.Sqrt(q[n*k+i])-math.Sqrt(q[n*k+j]), 2)
				}
				want -= math.Log(1 + rho)
			}
		}
		require.InDelta(t, max(0, want), v, 1e-9)
		require.LessOrEqual(t, v, most)

		slices.Reverse(p.Weights)
		slices.Reverse(p.Rates)
		require.InDelta(t, v, logModes(t, src, p, 1), 1e-12)

		one := &rates{slices.Repeat([]float64{1}, k), slices.Repeat([]float64{3}, k)}
		require.InDelta(t, 0, logModes(t, src, one, 1), 1e-12)
	})
	apart := &rates{[]float64{1, 1, 1}, []float64{1, 1000, 100000}}
	assert.InDelta(t, math.Log(6), logModes(t, table([]float64{1, 1000, 100000}), apart, 1), 1e-12)
}

// A row of weight 2 is two rows.
func TestLogModesOfWeights(t *testing.T) {
	p := &rates{[]float64{1, 2}, []float64{3, 4}}
	weighted, err := table([]float64{1, 6}).WithWeights([]float64{2, 3})
	require.NoError(t, err)
	v := logModes(t, weighted, p, 1)
	assert.InDelta(t, logModes(t, table([]float64{1, 1, 6, 6, 6}), p, 1), v, 1e-12)
	assert.Positive(t, v)
}
