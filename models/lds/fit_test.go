package lds_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/lds"
)

func source(t testing.TB, b blocks.Sequences) *blocks.SequenceTable {
	table, err := blocks.FromIncomplete(b.Steps.X, b.Steps.N, b.Steps.D)
	require.NoError(t, err)
	src, err := blocks.NewSequences(table, b.Ends)
	require.NoError(t, err)
	return src
}

// TestTwoOscillationsAreFound begins with four dimensions.
func TestTwoOscillationsAreFound(t *testing.T) {
	for _, criterion := range []framework.Criterion{framework.Evidence, framework.GFIC} {
		for seed := range tier.Of[uint64](2, 4, 10) {
			src := source(t, sequences(oscillating(5), seed, 0.05, 70, 50))
			res, err := framework.Fit(t.Context(), lds.Model{}, src, framework.Options{K: 4, Criterion: criterion})
			require.NoError(t, err)
			assert.Equal(t, 2, res.Shape.K, "%s, seed %d", criterion.Name, seed)
		}
	}
}

// TestLikelihoodIsThatOfOtherPrograms at the maximum with one dimension: statsmodels 0.15.0 has −1440.05367 (MLEModel,
// the best of six starts), and at the parameters found here pykalman 0.11.2 has the same.
func TestLikelihoodIsThatOfOtherPrograms(t *testing.T) {
	table, err := data.Load("geyser")
	require.NoError(t, err)
	x, n, d, err := table.Values()
	require.NoError(t, err)
	b := blocks.Sequences{Steps: blocks.Rows{N: n, D: d, X: x}, Ends: []int{n}}
	res, err := framework.Fit(t.Context(), lds.Model{}, source(t, b), framework.Options{K: 1, Method: framework.EM})
	require.NoError(t, err)
	assert.InDelta(t, -1440.05367, res.Evaluation.LogLikelihood, 1e-4)
	for j, unit := range res.Parameters.Unit { // the variance of a column is what z explains and noise
		c := res.Parameters.Loadings[j]
		assert.InEpsilon(t, unit, c*c*res.Statistics.Covariance().At(0, 0)+res.Parameters.NoiseOf(j), 1e-9)
	}
}

func TestConstantColumnsAreRefused(t *testing.T) {
	b := sequences(oscillating(3), 1, 0, 20)
	for i := range b.Steps.N {
		b.Steps.Row(i)[1] = 7
	}
	_, err := framework.Fit(t.Context(), lds.Model{}, source(t, b), framework.Options{K: 1})
	assert.ErrorIs(t, err, blocks.ErrConstant)
	assert.ErrorContains(t, err, "column 2")
}

// TestInputsAreFound beside the latent dimensions: what they do to columns at once, D, and in the step after, CAB.
func TestInputsAreFound(t *testing.T) {
	truth := driven(oscillating(5))
	b := sequences(truth, 3, 0.05, 150, 100)
	res, err := framework.Fit(t.Context(), lds.Model{Inputs: 2}, source(t, b), framework.Options{K: 4})
	require.NoError(t, err)
	require.Equal(t, 2, res.Shape.K)
	after := func(p *lds.Parameters) []float64 {
		var product mat.Dense
		product.Product(mat.NewDense(p.D, 2, p.Loadings), mat.NewDense(2, 2, p.Dynamics), mat.NewDense(2, 2, p.Drive))
		return product.RawMatrix().Data
	}
	assert.InDeltaSlice(t, truth.Effects, res.Parameters.Effects, 0.5)
	assert.InDeltaSlice(t, after(truth), after(res.Parameters), 0.5)

	b.Steps.Row(7)[6] = math.NaN()
	_, err = framework.Fit(t.Context(), lds.Model{Inputs: 2}, source(t, b), framework.Options{K: 1})
	assert.ErrorContains(t, err, "column 7 is an input, and misses a value")
	_, err = framework.Fit(t.Context(), lds.Model{Inputs: 7}, source(t, b), framework.Options{K: 1})
	assert.ErrorContains(t, err, "7 inputs of 7 columns")
}
