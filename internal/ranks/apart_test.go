package ranks_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/ranks"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/features"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/models/lds"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/models/vbmf"
)

// correlated is a table of more rows than the driver reads by itself, in several blocks; of some rows it misses
// entries.
func correlated(t *testing.T, gaps bool) *blocks.Table {
	const n, d = 11_000, 5
	rng := rand.New(rand.NewPCG(5, 6))
	x := make([]float64, n*d)
	for i := range n {
		z := rng.NormFloat64()
		for j := range d {
			x[i*d+j] = float64(j) + z*float64(j-2) + rng.NormFloat64()
		}
		if gaps && i%7 == 0 {
			x[i*d+i%d] = math.NaN()
		}
	}
	table, err := blocks.FromIncomplete(x, n, d)
	require.NoError(t, err)
	return table
}

// startsApart holds that two starts of a fit ask workers for so many surveys, that the driver reads all rows as often
// before the first pass, and that a driver, and three processes that share the surveys, have the bits of one.
func startsApart[B, P any, S framework.Statistics[S]](
	t *testing.T, m framework.Model[B, P, S], src framework.Source[B], whole, surveys int,
) {
	t.Helper()
	o := framework.Options{K: 2, Method: framework.EM, Restarts: 2, MaxIterations: 3, NoMoves: true, Seed: 2}
	want, err := framework.Fit(t.Context(), m, src, o)
	require.NoError(t, err)
	elsewhere, driver := ranks.Apart(src, m)
	got, err := framework.Fit(t.Context(), m, elsewhere, o)
	require.NoError(t, err)
	require.Equal(t, want.Parameters, got.Parameters)
	require.Equal(t, want.Trace, got.Trace)
	assert.Equal(t, whole, driver.Whole)
	assert.Equal(t, surveys, driver.Surveys)
	for rank, err := range ranks.Each(3, func(r ranks.Rank) error {
		o := o
		o.Group = r
		got, err := framework.Fit(t.Context(), m, src, o)
		if err == nil {
			assert.Equal(t, want.Parameters, got.Parameters)
		}
		return err
	}) {
		require.NoError(t, err, rank)
	}
}

// TestStartsElsewhereReadNoRows: the sums that further starts have in common are not made again.
func TestStartsElsewhereReadNoRows(t *testing.T) {
	rows := framework.Source[blocks.Rows](correlated(t, false))
	t.Run("bpca", func(t *testing.T) { // columns, and two products with directions at random of each start
		startsApart(t, bpca.Model{}, rows, 0, 5)
	})
	t.Run("factor", func(t *testing.T) { startsApart(t, factor.Model{}, rows, 1, 2) }) // columns, moments; Condense looks for gaps
	t.Run("factor with gaps", func(t *testing.T) {                                     // columns, moments of filled rows
		startsApart(t, factor.Model{}, framework.Source[blocks.Rows](correlated(t, true)), 1, 2)
	})
	t.Run("vbmf", func(t *testing.T) { startsApart(t, vbmf.Iterative{}, rows, 0, 1) })
	t.Run("lds", func(t *testing.T) {
		sequences, err := blocks.NewSequences(correlated(t, false), []int{3000, 7000, 11_000})
		require.NoError(t, err)
		startsApart(t, lds.Model{Inputs: 1}, framework.Source[blocks.Sequences](sequences), 0, 3)
	})
	t.Run("hmm", func(t *testing.T) {
		sequences, err := blocks.NewSequences(correlated(t, false), []int{3000, 7000, 11_000})
		require.NoError(t, err)
		startsApart(t, hmm.Model{Family: normal.Family{}}, framework.Source[blocks.Sequences](sequences), 0, 3)
	})
	t.Run("mixture", func(t *testing.T) { startsApart(t, mixture.Model{Family: normal.Family{}}, rows, 0, 3) })
	t.Run("gate", func(t *testing.T) {
		startsApart(t, experts.Model{Family: normal.Family{}, Gate: []int{4}}, rows, 0, 5)
	})
	if testing.Short() { // under the race detector these are most of the time
		return
	}
	t.Run("features", func(t *testing.T) { startsApart(t, features.Model{}, rows, 0, 6) })
	t.Run("noise", func(t *testing.T) {
		low, high := normal.Ranges(correlated(t, false).All().X, 5)
		startsApart(t, mixture.Model{Family: normal.Noise{Family: normal.Family{}, Low: low, High: high}}, rows, 0, 3)
	})
}
