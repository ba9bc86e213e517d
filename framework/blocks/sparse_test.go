package blocks_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	_ "github.com/latent-go/latent/internal/fixedseed" // rapid draws the same in every run
)

// TestDistinctRowsKeepTheirWeight: different rows in order of first appearance, the sums of
// their weights, dense and sparse alike.
func TestDistinctRowsKeepTheirWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const d = 3
		n := rapid.IntRange(1, 30).Draw(t, "rows")
		var x, w []float64
		var ones [][]int
		for range n {
			var row []int
			for j := range d {
				v := rapid.IntRange(0, 1).Draw(t, "bit")
				if v == 1 {
					row = append(row, j)
				}
				x = append(x, float64(v))
			}
			ones = append(ones, row)
			w = append(w, float64(rapid.IntRange(1, 4).Draw(t, "weight")))
		}
		dense, err := blocks.FromSlice(x, n, d)
		require.NoError(t, err)
		dense, err = dense.WithWeights(w)
		require.NoError(t, err)
		sparse, err := blocks.FromOnes(ones, d)
		require.NoError(t, err)
		sparse, err = sparse.WithWeights(w)
		require.NoError(t, err)

		weights := map[[d]float64]float64{}
		for i := range n {
			weights[[d]float64(x[i*d:])] += w[i]
		}
		a, b := dense.Distinct().All(), sparse.Distinct().All()
		require.Equal(t, len(weights), a.N)
		require.Equal(t, len(weights), b.N)
		for i := range a.N {
			row := [d]float64(a.Row(i))
			assert.Equal(t, weights[row], a.Weight(i))
			assert.Equal(t, weights[row], b.Weight(i))
			columns, values := b.Entries.Row(i)
			assert.Nil(t, values)
			var expanded [d]float64
			for _, j := range columns {
				expanded[j] = 1
			}
			assert.Equal(t, row, expanded)
			assert.Equal(t, a.Row(i), b.Row(i), "written out")
		}
	})
}

func TestMissingValuesAreEqualAndZeroHasNoSign(t *testing.T) {
	nan := math.NaN()
	table, err := blocks.FromIncomplete([]float64{0, nan, math.Copysign(0, -1), nan, 1, nan}, 3, 2)
	require.NoError(t, err)
	assert.Equal(t, []float64{2, 1}, table.Distinct().All().Weights)
	_, err = blocks.FromSlice([]float64{0, nan}, 1, 2)
	assert.ErrorContains(t, err, "row 1, column 2 is NaN")
	_, err = blocks.FromIncomplete([]float64{0, math.Inf(1)}, 1, 2)
	assert.ErrorContains(t, err, "row 1, column 2 is +Inf")
}

func TestSparseTablesAreRefusedWhenMalformed(t *testing.T) {
	for _, c := range []struct {
		start, columns []int
		values         []float64
		part           string
	}{
		{[]int{0}, nil, nil, "holds no data"},
		{[]int{0, 2}, []int{0}, nil, "do not match rows"},
		{[]int{0, 1}, []int{0}, []float64{1, 2}, "do not match rows"},
		{[]int{0, 2, 1, 2}, []int{0, 1}, nil, "row 2 has the entries"},
		{[]int{0, 2}, []int{1, 0}, nil, "row 1 has an entry in column 0 after column 1"},
		{[]int{0, 1}, []int{3}, nil, "columns must ascend from 0 to 2"},
		{[]int{0, 1}, []int{0}, []float64{math.NaN()}, "row 1, column 1 is NaN"},
	} {
		_, err := blocks.FromSparse(c.start, c.columns, c.values, 3)
		assert.ErrorContains(t, err, c.part)
	}
	_, err := blocks.FromOnes([][]int{{0}, {2, 2}}, 3)
	assert.ErrorContains(t, err, "row 2 names column 2 twice")
}

func TestSparseRowsAreCondensed(t *testing.T) {
	sparse, err := blocks.FromOnes([][]int{{0}, {1, 2}, {0}, {0}, {1, 2}}, 3)
	require.NoError(t, err)
	all, ok := framework.Condense(context.Background(), sparse).(*blocks.Table)
	require.True(t, ok)
	assert.Equal(t, blocks.Rows{N: 2, D: 3, Stride: 3, X: []float64{1, 0, 0, 0, 1, 1}, Weights: []float64{3, 2}}, all.All())
}

// What cannot be read is left to whoever reads it next.
func TestMalformedEntriesAreNotCondensed(t *testing.T) {
	for _, e := range []blocks.Entries{
		{Start: []int{0, 1, 2, 3}, Columns: []int{0, 0, 3}},
		{Start: []int{0, 1, 2, 3}, Columns: []int{0, -1, 0}},
		{Start: []int{0, 1, 2, 4}, Columns: []int{0, 0, 0}},
		{Start: []int{0, 2, 1, 3}, Columns: []int{0, 0, 0}},
		{Start: []int{0, 1, 2}, Columns: []int{0, 0, 0}},
		{Start: []int{0, 1, 2, 3}, Columns: []int{0, 0, 0}, Values: []float64{1, 1}},
	} {
		src := blocks.Single[blocks.Rows]{Block: blocks.Rows{N: 3, D: 3, Entries: &e}, Count: 3}
		assert.Equal(t, framework.Source[blocks.Rows](src), framework.Condense(context.Background(), src), "%v", e)
	}
}

// TestSparseBlocksCoverTheTable in order, each entry once.
func TestSparseBlocksCoverTheTable(t *testing.T) {
	const n = 10000
	ones := make([][]int, n)
	for i := range ones {
		ones[i] = []int{i % 7}
	}
	table, err := blocks.FromOnes(ones, 7)
	require.NoError(t, err)
	seen := 0
	for b, err := range table.Blocks(context.Background()) {
		require.NoError(t, err)
		require.Equal(t, seen, b.First)
		for i := range b.N {
			columns, _ := b.Entries.Row(i)
			require.Equal(t, []int{seen % 7}, columns)
			seen++
		}
	}
	assert.Equal(t, n, seen)
}
