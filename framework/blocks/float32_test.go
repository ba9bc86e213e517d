package blocks_test

import (
	"bytes"
	"encoding/gob"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/fingerprint"
)

// bits are the numbers of rows, of which NaN are equal.
func bits(b blocks.Rows) (list []uint64) {
	for i := range b.N {
		for _, v := range b.Row(i) {
			list = append(list, math.Float64bits(v))
		}
	}
	return list
}

// TestFloat32TablesHaveTheRowsOfWideOnes: all that a table yields is that of the same numbers in float64. Every lends its
// memory, and what is kept of a block stays, also on the way to another process.
func TestFloat32TablesHaveTheRowsOfWideOnes(t *testing.T) {
	const d = 1 << 13 // blocks of 64 rows
	n := 5*blocks.Height(d) + 1
	rng := rand.New(rand.NewPCG(1, 32))
	x, weights := make([]float32, n*d), make([]float64, n)
	wide := make([]float64, len(x))
	for i := range x {
		if x[i] = rng.Float32() - 0.5; i%1001 == 0 {
			x[i] = float32(math.NaN())
		}
		wide[i] = float64(x[i])
	}
	for i := range weights {
		weights[i] = float64(i)
	}
	table, err := blocks.FromFloat32(x, n, d)
	require.NoError(t, err)
	require.True(t, table.InMemory() && table.IsFloat32())
	table, err = table.WithWeights(weights)
	require.NoError(t, err)
	same, err := blocks.FromIncomplete(wide, n, d)
	require.NoError(t, err)
	require.False(t, same.IsFloat32())
	same, err = same.WithWeights(weights)
	require.NoError(t, err)

	collect := func(list iter.Seq2[blocks.Rows, error], own bool) (seen, kept []blocks.Rows) {
		for b, err := range list {
			require.NoError(t, err)
			require.NoError(t, b.Check())
			if seen, kept = append(seen, b), append(kept, b.Kept(0, b.N)); !own {
				seen[len(seen)-1].X = slices.Clone(b.X)
			}
		}
		return seen, kept
	}
	for _, of := range [][3]int{{0, 1, 1}, {1, 3, 4}, {3, 4, 4}, {0, 0, 3}, {6, 9, 9}, {1, 2, 2}} {
		want, _ := collect(same.Shards(t.Context(), of[0], of[1], of[2]), true)
		got, _ := collect(table.Shards(t.Context(), of[0], of[1], of[2]), true)
		lists := [][]blocks.Rows{got}
		if of[1] == of[0]+1 {
			lent, kept := collect(table.Every(of[0], of[2]), false)
			lists = append(lists, lent, kept)
		}
		for _, got := range lists {
			require.Len(t, got, len(want))
			for i, b := range got {
				require.Equal(t, [3]int{want[i].First, want[i].N, want[i].D}, [3]int{b.First, b.N, b.D})
				require.Equal(t, want[i].Weights, b.Weights)
				require.True(t, slices.Equal(bits(want[i]), bits(b)), of)
			}
		}
	}
	require.True(t, slices.Equal(bits(same.All()), bits(table.All())))
	require.Equal(t, weights, table.All().Weights)
	require.True(t, table.HasGaps(d) && table.HasGaps(1) && same.HasGaps(d))

	var lent blocks.Rows
	for b := range table.Lent() {
		if lent.X != nil {
			require.Same(t, &lent.X[0], &b.X[0])
		}
		lent = b
	}
	part := lent.Kept(0, 1)
	require.Nil(t, part.X)
	var file bytes.Buffer
	require.NoError(t, gob.NewEncoder(&file).Encode(part))
	var there blocks.Rows
	require.NoError(t, gob.NewDecoder(&file).Decode(&there))
	require.True(t, slices.Equal(bits(part), bits(there)))

	sum := func(src *blocks.Table) string {

		s, err := fingerprint.Of(src.Rows(), src.Blocks(t.Context()))
		require.NoError(t, err)
		return s
	}
	require.Equal(t, sum(same), sum(table))
}

// TestSequencesOfFloat32 are those of the wide table, and have its fingerprint.
func TestSequencesOfFloat32(t *testing.T) {
	x := []float32{.1, .2, .3, .4, .5, .6}
	table, err := blocks.FromFloat32(x, 3, 2)
	require.NoError(t, err)
	wide, err := blocks.FromSlice(x, 3, 2)
	require.NoError(t, err)
	var sums []string
	for _, of := range []*blocks.Table{table, wide} {
		s, err := blocks.NewSequences(of, []int{1, 3})
		require.NoError(t, err)
		require.Equal(t, bits(wide.All()), bits(s.All().Steps))
		sum, err := fingerprint.Of(s.Rows(), s.Blocks(t.Context()))
		require.NoError(t, err)
		sums = append(sums, sum)
	}
	require.Equal(t, sums[1], sums[0])
	// of checkpoints that were made before there was float32
	require.Equal(t, "7263026791446ff23c08ae8e162efd1f9193c9ab2b08b405290cf2981f1ded99", sums[0])
}

func TestFloat32TablesAreRefusedWhenMalformed(t *testing.T) {
	_, err := blocks.FromFloat32([]float32{1, 2, 3, float32(math.NaN()), 5, float32(math.Inf(-1))}, 3, 2)
	require.EqualError(t, err, "framework: row 3, column 2 is -Inf: remove the row or the column, or fill the entry in")
	for _, shape := range [][2]int{{2, 2}, {0, 3}, {3, 0}, {-1, -3}} {
		_, err := blocks.FromFloat32([]float32{1, 2, 3}, shape[0], shape[1])
		require.Error(t, err)
		_, wide := blocks.FromIncomplete([]float64{1, 2, 3}, shape[0], shape[1])
		require.EqualError(t, wide, err.Error())
	}
	_, err = blocks.FromFloat32(nil, 0, 2)
	require.EqualError(t, err, "framework: a table of 0 rows and 2 columns holds no data")
}
