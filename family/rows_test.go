package family

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework/blocks"
)

// TestKeptRowsOfFloat32: rows that a family keeps of blocks whose memory is used again are those of the table.
func TestKeptRowsOfFloat32(t *testing.T) {
	const n, d = 200, 1 << 13 // blocks of 64 rows
	rng := rand.New(rand.NewPCG(1, 64))
	x := make([]float32, n*d)
	for i := range x {
		x[i] = rng.Float32()
	}
	table, err := blocks.FromFloat32(x, n, d)
	require.NoError(t, err)
	var kept KeptRows
	for b := range table.Lent() {
		first := b.N / 3 // two chunks of each
		for _, chunk := range [][2]int{{0, first}, {first, b.N - first}} {
			kept.observe(b, chunk[0], chunk[1])
			q := make([]float64, Padded(chunk[1]))
			for i := range q {
				q[i] = float64(b.First + chunk[0] + i + 1)
			}
			kept.add(chunk[1], 1, q)
		}
	}
	seen := 0
	kept.Weighted(5, 3).Each(func(row int, got []float64, weight float64) bool {
		require.Equal(t, seen, row)
		require.Equal(t, float64(seen+1), weight)
		require.Equal(t, table.All().Row(row)[5:8], got)
		seen++
		return true
	})
	require.Equal(t, n, seen)
}
