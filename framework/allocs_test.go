//go:build !race

// The race detector drops a part of what a sync.Pool keeps.

package framework_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

func TestIterationsAllocateNothing(t *testing.T) {
	x := make([]float64, 500) // one Poisson distribution: two components converge slowly
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i] = float64(rng.IntN(8))
	}
	narrow := make([]float32, len(x))
	for i, v := range x {
		narrow[i] = float32(v)
	}
	float32s, err := blocks.FromFloat32(narrow, len(x), 1)
	require.NoError(t, err)
	allocations := func(src *blocks.Table, iterations int) float64 {
		o := framework.Options{K: 2, Method: framework.EM, Criterion: framework.GFIC, Workers: 1, MaxIterations: iterations, Tolerance: 1e-300}
		return testing.AllocsPerRun(3, func() {
			res, err := framework.Fit(background, poisson{}, src, o)
			require.NoError(t, err)
			require.Equal(t, iterations, res.Iterations)
		})
	}
	// Only the traces grow, by doubling.
	for _, src := range []*blocks.Table{table(x), float32s} {
		assert.Less(t, allocations(src, 150)-allocations(src, 20), 20.0)
	}
}
