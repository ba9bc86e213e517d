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

// Indicators are filled in as the codes of their category are, and what is known of a group holds.
func TestIndicatorsAreFilledInAsTheirCategoryIs(t *testing.T) {
	category := family.Categorical{Levels: 3}
	classes := []float64{0.6, 0.3, 0.1, 0.1, 0.2, 0.7} // of two classes
	codes, err := family.NewPlan(category, 1)
	require.NoError(t, err)
	indicators, err := family.NewPlan(family.Indicators{Categorical: category}, 3)
	require.NoError(t, err)
	one, err := fill.New(codes, classes)
	require.NoError(t, err)
	other, err := fill.New(indicators, classes)
	require.NoError(t, err)
	nan := math.NaN()
	row := func(x ...float64) blocks.Rows { return blocks.Rows{N: 1, D: len(x), Stride: len(x), X: x} }
	for _, q := range [][]float64{{1, 0}, {0, 1}, {0.5, 0.5}, {0.7, 0.3}} {
		code, err := one.Fill(row(nan), q)
		require.NoError(t, err)
		want := make([]float64, 3)
		want[int(code[0])] = 1
		got, err := other.Fill(row(nan, nan, nan), q)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	counts := make([]float64, 3)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		got, err := other.Impute(row(nan, 0, nan), []int{0}, rng)
		require.NoError(t, err)
		for l, v := range got {
			counts[l] += v
		}
	}
	require.Zero(t, counts[1])
	require.Equal(t, 3000., counts[0]+counts[2])
	require.InDelta(t, 6./7, counts[0]/3000, 0.03) // four standard deviations, of .6 and .1
	for _, known := range [][]float64{{1, nan, nan}, {nan, 1, 0}} {
		got, err := other.Fill(row(known...), []float64{0, 1})
		require.NoError(t, err)
		for l, v := range known {
			require.True(t, got[l] == v || v != v && got[l] == 0)
		}
	}
}
