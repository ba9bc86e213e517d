package mixture_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

var (
	_ bootstrap.Resampler[blocks.Rows, *mixture.Parameters] = mixture.Model{}
	_ bootstrap.Starter[blocks.Rows, *mixture.Parameters]   = mixture.MAP{}
	_ bootstrap.Permuter[*mixture.Parameters]               = mixture.Model{}
)

// resampled draws a table in the place of rows of weights w, from parameters that a fit of K = 1 to them has.
func resampled(t *testing.T, m mixture.Model, x []float64, rows int, w []float64) (blocks.Rows, error) {
	t.Helper()
	src, err := blocks.FromIncomplete(x, rows, len(x)/rows)
	require.NoError(t, err)
	res, err := framework.Fit(t.Context(), m, src, framework.Options{K: 1, Method: framework.EM})
	require.NoError(t, err)
	if w != nil {
		src, err = src.WithWeights(w)
		require.NoError(t, err)
	}
	drawn, err := m.Resample(t.Context(), src, res.Parameters, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		return blocks.Rows{}, err
	}
	return drawn.(*blocks.Table).All(), nil
}

// TestResampleKeepsWhatIsGiven: the rows that weights stand for, missing values and numbers of trials.
func TestResampleKeepsWhatIsGiven(t *testing.T) {
	nan := math.NaN()
	m := mixture.Model{Family: family.Product{normal.Family{Covariance: normal.Diagonal}, family.Multinomial{Categories: 3}, family.Bernoulli{}}}
	x := []float64{
		1.5, 5, 3, 2, 1,
		nan, 1, 0, 0, 0,
		2.5, 0, 0, 0, nan,
		0.5, 4e9, 3e9, 3e9, 0,
	}
	got, err := resampled(t, m, x, 4, []float64{2, 1, 0, 3})
	require.NoError(t, err)
	require.Equal(t, 6, got.N)
	for i, from := range []int{0, 0, 1, 3, 3, 3} {
		row, given := got.Row(i), x[from*5:from*5+5]
		assert.Equal(t, floats.Sum(given[1:4]), floats.Sum(row[1:4]), "trials of row %d", i)
		for j, v := range row {
			assert.Equal(t, math.IsNaN(given[j]), math.IsNaN(v), "row %d, column %d", i, j)
		}
	}
	assert.NotEqual(t, got.Row(0), got.Row(1))
	for l, p := range []float64{0.4, 0.3, 0.3} { // of 10¹⁰ trials, up to six standard deviations
		assert.InDelta(t, p, got.Row(5)[1+l]/1e10, 6*math.Sqrt(p*(1-p)/1e10))
	}
}

func TestResampleRefusesWeightsThatAreNoRows(t *testing.T) {
	m := mixture.Model{Family: family.Poisson{}}
	_, err := resampled(t, m, []float64{1, 2, 3}, 3, []float64{1, 1.5, 1})
	assert.EqualError(t, err, "mixture: the weight of row 2 is 1.5; must be a whole number, to draw rows")
	_, err = resampled(t, m, []float64{1, 2, 3}, 3, []float64{1, 1, 1e12})
	assert.EqualError(t, err, "mixture: the weights stand for more than 268435456 rows of 1 columns, too many to draw")
}

// TestStartAtIsOneIteration from parameters that it does not change.
func TestStartAtIsOneIteration(t *testing.T) {
	src, err := blocks.FromSlice([]float64{0, 1, 2, 5, 6, 7.5}, 6, 1)
	require.NoError(t, err)
	for _, m := range []interface {
		framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics]
		bootstrap.Starter[blocks.Rows, *mixture.Parameters]
	}{mixture.Model{Family: normal.Family{}}, mixture.MAP{Model: mixture.Model{Family: normal.Family{}}}} {
		o := framework.Options{K: 2, Method: framework.EM, MaxIterations: 3}
		few, err := framework.Fit(t.Context(), m, src, o)
		require.NoError(t, err)
		before := few.Parameters.Vector()
		got, err := m.StartAt(t.Context(), src, few.Parameters)
		require.NoError(t, err)
		o.MaxIterations = 4
		more, err := framework.Fit(t.Context(), m, src, o)
		require.NoError(t, err)
		assert.InDeltaSlice(t, more.Parameters.Vector(), got.Vector(), 1e-12)
		assert.Equal(t, before, few.Parameters.Vector())
	}
}
