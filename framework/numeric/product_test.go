package numeric_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

// incomplete are rows of counts and two measurements, some of which are missing.
func incomplete(t *testing.T, n int) *blocks.Table {
	rng := rand.New(rand.NewPCG(41, 1))
	measured := clouds(n, 41)
	x := make([]float64, 0, 3*n)
	for i := range n {
		row := []float64{0, measured[2*i], measured[2*i+1]}
		for time := rng.ExpFloat64(); time < 2*(row[1]-98); time += rng.ExpFloat64() { // more where the first measurement is larger
			row[0]++
		}
		if rng.IntN(5) == 0 {
			row[0] = math.NaN()
		}
		if rng.IntN(4) == 0 {
			row[1], row[2] = math.NaN(), math.NaN()
		}
		x = append(x, row...)
	}
	src, err := blocks.FromIncomplete(x, n, 3)
	require.NoError(t, err)
	return src
}

// A density beside other columns, with rows that miss it or them, is as good as the family that it is the twin of.
func TestProductsWithMissingValues(t *testing.T) {
	src := incomplete(t, 150)
	twin := family.Product{family.Poisson{}, family.Of{Family: normal.Family{Covariance: normal.Diagonal}, Width: 2}}
	density := family.Product{family.Poisson{}, family.Of{Family: numeric.Family{Density: diagonal{}}, Width: 2}}
	for _, o := range []framework.Options{{K: 1}, {K: 2, Method: framework.EM}, {K: 2, Criterion: framework.GFIC, FixedK: true}} {
		o.Tolerance = 1e-11
		want, err := framework.Fit(ctx, mixture.Model{Family: twin}, src, o)
		require.NoError(t, err)
		got, err := framework.Fit(ctx, mixture.Model{Family: density}, src, o)
		require.NoError(t, err)
		t.Logf("%v at K = %d: %.9f, apart %.1e", o.Method, o.K, got.Value, got.Value-want.Value)
		assert.Equal(t, want.Shape, got.Shape)
		assert.Less(t, got.Fall, 1e-7)
		assert.InDelta(t, want.Value, got.Value, 1e-6)
	}
}

// Columns of a density are there together, or not at all.
func TestRowsMissingInPart(t *testing.T) {
	src, err := blocks.FromIncomplete([]float64{1, 2, 3, 4, math.NaN(), 6}, 3, 2)
	require.NoError(t, err)
	_, err = framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: diagonal{}}}, src, framework.Options{K: 1})
	var fault *blocks.DataError
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, 2, fault.Row)
	assert.Equal(t, 0, fault.Column)
	assert.ErrorContains(t, err, "takes all of its columns of a row, or none")
}

// The product of the guide: a Gaussian has the columns that a density on two leaves.
func TestGaussianBesideADensity(t *testing.T) {
	x := append(clouds(40, 6), clouds(40, 7)...)
	table := make([]float64, 0, 160)
	for i := range 40 {
		table = append(table, x[2*i], x[2*i+1], x[80+2*i], x[81+2*i])
	}
	beside := family.Product{normal.Family{}, family.Of{Family: numeric.Family{Density: diagonal{}}, Width: 2}}
	twin := family.Product{family.Of{Family: normal.Family{}, Width: 2}, family.Of{Family: normal.Family{Covariance: normal.Diagonal}, Width: 2}}
	var values []float64
	for _, f := range []family.Product{beside, twin} {
		res, err := framework.Fit(ctx, mixture.Model{Family: f}, tableOf(t, table, 4), framework.Options{K: 2, Method: framework.EM, Tolerance: 1e-11})
		require.NoError(t, err)
		values = append(values, res.Value)
	}
	assert.InDelta(t, values[1], values[0], 1e-6)
}

// A density of so many columns refuses tables of others, alone and in a product.
func TestDensityRefusesOtherColumns(t *testing.T) {
	two := faulty{layout: func(int) numeric.Layout {
		return numeric.Layout{Columns: 2, Component: []numeric.Parameter{numeric.Rate("rate", 2)}}
	}}
	src := tableOf(t, counts(30, 3, 1), 3)
	_, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: two}}, src, framework.Options{K: 2})
	assert.ErrorContains(t, err, "numeric_test.faulty describes 2 columns, and the table has 3")
	_, err = framework.Fit(ctx, mixture.Model{Family: family.Product{numeric.Family{Density: two}, family.Poisson{}}}, src, framework.Options{K: 2})
	require.NoError(t, err)
	_, err = framework.Fit(ctx, numeric.Continuous{Density: faultyJoint{layout: func(int) numeric.Layout {
		return numeric.Layout{Columns: 2, Component: []numeric.Parameter{numeric.Real("loadings", 2)}}
	}}}, src, framework.Options{K: 1})
	assert.ErrorContains(t, err, "describes 2 columns, and the table has 3")
	two.layout = func(int) numeric.Layout { return numeric.Layout{Columns: -1} }
	_, err = framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: two}}, src, framework.Options{K: 2})
	assert.ErrorContains(t, err, "Columns is -1")
}
