package fill_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/fill"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
)

// More different gaps than distributions are kept for: a row is filled as it is alone.
func TestRowsAreFilledAloneAndTogetherAlike(t *testing.T) {
	const n, d, k = 4000, 24, 2
	rng := rand.New(rand.NewPCG(5, 7))
	plan, err := family.NewPlan(normal.Family{}, d)
	require.NoError(t, err)
	var classes []float64
	for j := range k {
		a := make([]float64, d)
		for i := range a {
			a[i] = rng.NormFloat64()
		}
		classes = append(classes, a...) // the means
		for p := range d {
			for q := range d { // 1 + a aᵀ: any columns are correlated
				v := a[p] * a[q] * float64(j+1)
				if p == q {
					v++
				}
				classes = append(classes, v)
			}
		}
	}
	f, err := fill.New(plan, classes)
	require.NoError(t, err)
	b := blocks.Rows{N: n, D: d, Stride: d}
	var shares []float64
	var labels []int
	for i := range n {
		for range d {
			v := rng.NormFloat64()
			if rng.Float64() < 0.5 {
				v = math.NaN()
			}
			b.X = append(b.X, v)
		}
		shares, labels = append(shares, 0.25, 0.75), append(labels, i%k)
	}
	means, err := f.Fill(b, shares)
	require.NoError(t, err)
	drawn, err := f.Impute(b, labels, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, err)
	again := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		one := blocks.Rows{N: 1, D: d, Stride: d, X: b.Row(i)}
		mean, err := f.Fill(one, shares[i*k:][:k])
		require.NoError(t, err)
		require.True(t, slices.Equal(means[i*d:][:d], mean), "row %d", i)
		draw, err := f.Impute(one, labels[i:i+1], again)
		require.NoError(t, err)
		require.True(t, slices.Equal(drawn[i*d:][:d], draw), "row %d", i)
		for j, v := range b.Row(i) {
			require.True(t, v == mean[j] && v == draw[j] || v != v && mean[j]-mean[j] == 0 && draw[j]-draw[j] == 0)
		}
	}
}
