package bpca

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// Four times as many columns, of few rows, take four times the memory: no D×D matrix is made, and no tile of rows that
// there are not.
func TestMemoryOfWideTablesGrowsWithTheColumnsOnce(t *testing.T) {
	use := func(d int) uint64 {
		rng := rand.New(rand.NewPCG(1, 2))
		x := make([]float64, 3*d)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		table, err := blocks.FromSlice(x, 3, d)
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = framework.Fit(context.Background(), Model{}, table, framework.Options{K: 1, Method: framework.EM, MaxIterations: 5, Workers: 1})
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	narrow := use(1000)
	require.Less(t, narrow, uint64(1000*8*300), "three hundred vectors of D numbers at most")
	require.Less(t, float64(use(4000)), 6*float64(narrow))
}
