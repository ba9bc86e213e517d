package framework

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework/blocks"
)

// skewed are rows of three columns: the first is one of two numbers, a third of all rows are zeros.
func skewed(t *testing.T, n int) []float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 3*n)
	for i := range n {
		if i%3 > 0 {
			x[3*i], x[3*i+1], x[3*i+2] = float64(rng.IntN(2)), math.Round(100*rng.ExpFloat64()), rng.NormFloat64()
		}
	}
	return x
}

func drawnOf(t *testing.T, x []float64, n int) blocks.Rows {
	t.Helper()
	table, err := blocks.FromIncomplete(x, len(x)/3, 3)
	require.NoError(t, err)
	rows, err := DrawRows(context.Background(), table, n, rand.New(rand.NewPCG(3, 4)))
	require.NoError(t, err)
	return rows
}

// The rows that are drawn, in their order and with their weights, are the same whatever the order of the rows and of the columns,
// and in other units.
func TestDrawnRowsKeepToAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{300, 1000} { // a draw of 500: of all, and of some
		x := skewed(t, n)
		x[4] = math.NaN()
		here := drawnOf(t, x, 500)
		require.Equal(t, min(n, 500), here.N)
		order, other, turned := rng.Perm(n), make([]float64, 3*n), make([]float64, 3*n)
		for i, from := range order {
			copy(other[3*i:3*i+3], x[3*from:])
			turned[3*i], turned[3*i+1], turned[3*i+2] = x[3*i+2]*1e10, x[3*i]*1e-10, x[3*i+1]*3
		}
		there := drawnOf(t, other, 500)
		assert.True(t, floats.Same(here.X, there.X))
		assert.Equal(t, here.Weights, there.Weights)
		there = drawnOf(t, turned, 500)
		assert.Equal(t, here.Weights, there.Weights)
		for i := range here.N {
			a, b := here.Row(i), there.Row(i)
			assert.InDeltaSlice(t, []float64{a[0], a[2]}, []float64{b[1] * 1e10, b[0] * 1e-10}, 1e-12)
		}
	}
}

// Means over draws are those of the table, and frequent rows are drawn for certain.
func TestDrawnRowsStandForTheTable(t *testing.T) {
	const n, draws = 3000, 200
	x := skewed(t, n)
	table, err := blocks.FromSlice(x, n, 3)
	require.NoError(t, err)
	var zeros, ones [draws]float64
	for s := range draws {
		rows, err := DrawRows(context.Background(), table, 100, rand.New(rand.NewPCG(uint64(s), 1)))
		require.NoError(t, err)
		require.Equal(t, 100, rows.N)
		for i, w := range rows.Weights {
			if row := rows.Row(i); row[1] == 0 && row[2] == 0 {
				zeros[s] += w
			}
			ones[s] += w * rows.Row(i)[0]
		}
		all := floats.Sum(rows.Weights)
		zeros[s] /= all
		ones[s] /= all
	}
	assert.Positive(t, floats.Min(zeros[:]))
	assert.InDelta(t, 1./3, floats.Sum(zeros[:])/draws, 0.01)
	assert.InDelta(t, 1./3, floats.Sum(ones[:])/draws, 0.01)
}

// entries is a table of one block of entries.
type entries struct{ of *blocks.Entries }

func (e entries) Rows() int { return len(e.of.Start) - 1 }

func (e entries) Blocks(context.Context) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) { yield(blocks.Rows{N: e.Rows(), D: 3, Entries: e.of}, nil) }
}

// Rows given by their entries are drawn as those given by all numbers.
func TestDrawnEntriesAreRows(t *testing.T) {
	x := skewed(t, 900)
	e := &blocks.Entries{Start: []int{0}}
	for i, v := range x {
		if v != 0 {
			e.Columns, e.Values = append(e.Columns, i%3), append(e.Values, v)
		}
		if i%3 == 2 {
			e.Start = append(e.Start, len(e.Columns))
		}
	}
	for _, n := range []int{1000, 200} {
		here := drawnOf(t, x, n)
		there, err := DrawRows(context.Background(), entries{e}, n, rand.New(rand.NewPCG(3, 4)))
		require.NoError(t, err)
		assert.Equal(t, here, there)
	}
}

// Where rows differ by so little beside one other that they have one key, and so one priority, as many are drawn as
// elsewhere: the bound that is guessed for priorities is given up.
func TestDrawnRowsOfOneKey(t *testing.T) {
	x := make([]float64, 3*3000)
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range x {
		x[i] = 1 + 1e-12*rng.Float64()
	}
	x[0], x[1], x[2] = 0, 0, 0
	table, err := blocks.FromSlice(x, 3000, 3)
	require.NoError(t, err)
	for seed := range uint64(5) {
		rows, err := DrawRows(context.Background(), table, 100, rand.New(rand.NewPCG(seed, 1)))
		require.NoError(t, err)
		assert.Equal(t, 100, rows.N)
	}
}

// Divisions share a draw of the fit's own source, each as a copy; other sources and sizes have draws of their own.
func TestDivisionsShareADraw(t *testing.T) {
	x := skewed(t, 600)
	table, err := blocks.FromSlice(x, 600, 3)
	require.NoError(t, err)
	other, err := blocks.FromSlice(x, 600, 3)
	require.NoError(t, err)
	ctx, rng := drawingOnce(context.Background(), table), rand.New(rand.NewPCG(1, 1))
	draw := func(src Source[blocks.Rows], n int) blocks.Rows {
		rows, err := DrawRows(ctx, src, n, rng)
		require.NoError(t, err)
		require.Equal(t, n, rows.N)
		return rows
	}
	first := draw(table, 50)
	want := slices.Clone(first.X)
	first.X[0] = 1e6
	again := draw(table, 50)
	assert.Equal(t, want, again.X)
	assert.NotEqual(t, want, draw(other, 50).X)
	assert.NotEqual(t, want, draw(table, 60).X[:150])
}
