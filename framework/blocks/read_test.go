package blocks_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework/blocks"
)

// read is a table whose blocks are counted as they are read.
type read struct {
	of   *blocks.Table
	seen []int // first rows of the blocks
	lost error
}

func (r *read) Rows() int { return r.of.Rows() }

func (r *read) Part(ctx context.Context, first, last, shards int) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		for b, err := range r.of.Shards(ctx, first, last, shards) {
			r.seen = append(r.seen, b.First)
			if !yield(b, errors.Join(err, r.lost)) {
				return
			}
		}
	}
}

func (r *read) All(context.Context) (x, weights []float64, err error) {
	all := r.of.All()
	return all.X, all.Weights, r.lost
}

// TestARowIsReadWhenItIsAskedFor: blocks are those of the table in memory, with its weights, and no others are read.
func TestARowIsReadWhenItIsAskedFor(t *testing.T) {
	const d = 1 << 13 // blocks of 64 rows
	height := blocks.Height(d)
	n := 5*height + 1
	x, weights := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = float64(i % 7919)
	}
	for i := range weights {
		weights[i] = float64(i)
	}
	table, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	weighted, err := table.WithWeights(weights)
	require.NoError(t, err)
	r := &read{of: table}
	later, err := blocks.Read(r, d).WithWeights(weights)
	require.NoError(t, err)
	require.Equal(t, n, later.Rows())
	require.True(t, table.InMemory() && !later.InMemory())
	for _, of := range [][3]int{{0, 1, 1}, {1, 3, 4}, {3, 4, 4}, {0, 0, 3}, {6, 9, 9}} {
		r.seen = nil
		var want, got []blocks.Rows
		for b := range weighted.Shards(t.Context(), of[0], of[1], of[2]) {
			want = append(want, b)
		}
		for b, err := range later.Shards(t.Context(), of[0], of[1], of[2]) {
			require.NoError(t, err)
			got = append(got, b)
		}
		require.Equal(t, want, got, of)
		require.Len(t, r.seen, len(want))
	}
	doubled := func(b blocks.Rows, _ []float64) blocks.Rows { // and with a column more
		wide := blocks.Rows{First: b.First, N: b.N, D: d + 1, Stride: d + 1, Weights: b.Weights}
		for i := range b.N {
			wide.X = append(append(wide.X, b.Row(i)...), 2*b.Row(i)[0])
		}
		return wide
	}
	through, err := weighted.Through(d+1, doubled)
	require.NoError(t, err)
	laterThrough, err := later.Through(d+1, doubled)
	require.NoError(t, err)
	require.Equal(t, through.All(), laterThrough.All())
	at := 0
	for b, err := range laterThrough.Blocks(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, through.All().X[at:at+len(b.X)], b.X)
		require.Equal(t, min(height, through.Rows()-b.First), b.N)
		at += len(b.X)
	}
	require.Len(t, through.All().X, at)
	at = 0
	for b := range through.Blocks(t.Context()) {
		require.Equal(t, at*height, b.First)
		at++
	}
	var every []blocks.Rows
	for b := range later.Every(1, 4) {
		every = append(every, b)
	}
	require.Equal(t, []int{height, 5 * height}, []int{every[0].First, every[1].First})
	require.True(t, slices.Equal(weighted.All().X, later.All().X))
	require.Equal(t, weighted.All().Weights, later.All().Weights)

	lost := blocks.Read(&read{of: table, lost: errors.New("the disk is gone")}, d)
	for _, err := range lost.Blocks(t.Context()) {
		require.ErrorContains(t, err, "the disk is gone")
	}
	defer func() {
		fault, _ := recover().(error)
		var is *blocks.ReadError
		require.ErrorAs(t, fault, &is)
		require.EqualError(t, fault, "the disk is gone")
	}()
	lost.All()
}

// cuts reads a table in blocks that end at some rows.
type cuts struct {
	*read
	ends []int
}

func (c cuts) Part(ctx context.Context, first, last, shards int) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		all, begin := c.of.All(), 0
		for i, end := range c.ends {
			b := blocks.Rows{First: begin, N: end - begin, D: all.D, Stride: all.D, X: all.X[begin*all.D : end*all.D]}
			if begin = end; i%shards < first || last <= i%shards {
				continue
			}
			c.seen = append(c.seen, b.First)
			if !yield(b, c.lost) {
				return
			}
		}
	}
}

// TestSequencesAreReadWhenTheyAreAskedFor: blocks are those of the sequences in memory, and no others are read.
func TestSequencesAreReadWhenTheyAreAskedFor(t *testing.T) {
	const d = 1 << 9
	height := blocks.Height(d)
	ends := []int{3, height, height + 1, 4 * height, 4*height + 7, 5 * height}
	x := make([]float64, 5*height*d)
	for i := range x {
		x[i] = float64(i % 7919)
	}
	table, err := blocks.FromSlice(x, 5*height, d)
	require.NoError(t, err)
	weights := []float64{1, 2, 0, 4, 5, 6}
	of := func(rows *blocks.Table) *blocks.SequenceTable {
		s, err := blocks.NewSequences(rows, ends)
		require.NoError(t, err)
		s, err = s.WithWeights(weights)
		require.NoError(t, err)
		return s
	}
	at := blocks.Cut(ends, d)
	require.Equal(t, []int{height, height + 1, 4 * height, 5 * height}, at)
	r := &read{of: table}
	memory, later := of(table), of(blocks.Read(cuts{r, at}, d))
	require.True(t, memory.InMemory() && !later.InMemory())
	for _, of := range [][3]int{{0, 1, 1}, {1, 2, 3}, {1, 3, 3}, {2, 2, 3}, {5, 9, 9}} {
		r.seen = nil
		var want, got []blocks.Sequences
		for b := range memory.Shards(t.Context(), of[0], of[1], of[2]) {
			want = append(want, b)
		}
		for b, err := range later.Shards(t.Context(), of[0], of[1], of[2]) {
			require.NoError(t, err)
			require.NoError(t, b.Check())
			got = append(got, b)
		}
		require.Equal(t, want, got, of)
		require.Len(t, r.seen, len(want))
	}
	require.Equal(t, memory.All(), later.All())
	for name, reader := range map[string]blocks.Reader{"not the blocks": r, "the disk is gone": cuts{&read{of: table, lost: errors.New("the disk is gone")}, at}} {
		failed := false
		for _, err := range of(blocks.Read(reader, d)).Blocks(t.Context()) {
			failed = failed || err != nil
			if err != nil {
				require.ErrorContains(t, err, name)
				break
			}
		}
		require.True(t, failed, name)
	}
}
