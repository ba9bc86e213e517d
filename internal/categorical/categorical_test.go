package categorical_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/internal/categorical"
	_ "github.com/latent-go/latent/internal/fixedseed" // the same cases in every run
)

// TestDrawHasTheFrequenciesOfTheWeights, within five standard errors.
func TestDrawHasTheFrequenciesOfTheWeights(t *testing.T) {
	const n = 100000
	for _, weights := range [][]float64{{1}, {1, 1}, {0.2, 0, 0.3, 0.5, 0}, {1e-300, 2e-300}, {3e200, 1e200}, {0, 0, 7}, {1e-9, 1, 1e-9}} {
		rng := rand.New(rand.NewPCG(1, 2))
		counts, sum := make([]float64, len(weights)), 0.0
		for range n {
			counts[categorical.Draw(weights, rng)]++
		}
		for _, w := range weights {
			sum += w
		}
		for i, w := range weights {
			p := w / sum
			require.InDelta(t, p, counts[i]/n, 5*math.Sqrt(p*(1-p)/n)+1e-12, "%v %d", weights, i)
		}
	}
}

// TestDrawIsTheInverseOfTheDistributionFunction, and takes one number of the stream.
func TestDrawIsTheInverseOfTheDistributionFunction(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		weights := rapid.SliceOfN(rapid.OneOf(rapid.Just(0.), rapid.Float64Range(1e-3, 1)), 0, 8).Draw(rt, "weights")
		seed := rapid.Uint64().Draw(rt, "seed")
		rng, same := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 1))
		got := categorical.Draw(weights, rng)
		if !slices.ContainsFunc(weights, func(w float64) bool { return w > 0 }) {
			require.Equal(rt, -1, got)
			require.Equal(rt, same.Uint64(), rng.Uint64())
			return
		}
		u, total := same.Float64(), 0.0
		for _, w := range weights {
			total += w
		}
		below := 0.0
		for _, w := range weights[:got] {
			below += w
		}
		require.Positive(rt, weights[got])
		require.LessOrEqual(rt, below/total, u+1e-12)
		require.LessOrEqual(rt, u, (below+weights[got])/total+1e-12)
		require.Equal(rt, same.Uint64(), rng.Uint64())
	})
}

// TestDrawSkipsWhatHasNoProbability, though rounding leaves something of the total at the end.
func TestDrawSkipsWhatHasNoProbability(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 10000 {
		require.Equal(t, 1, categorical.Draw([]float64{0, math.SmallestNonzeroFloat64, 0, math.NaN(), -1}, rng))
	}
}
