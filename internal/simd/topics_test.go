package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// probabilities are those of k topics, some of which are 0.
func probabilities(rng *rand.Rand, k int) []float32 {
	q, sum := make([]float32, k), float32(0)
	for j := range q {
		if rng.IntN(4) > 0 {
			q[j] = rng.Float32()
		}
		sum += q[j]
	}
	for j := range q {
		q[j] /= max(sum, 1e-30)
	}
	return q
}

// draws are n numbers between 0 and most.
func draws(rng *rand.Rand, n int, most float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = most * rng.Float64()
	}
	return v
}

func TestTopicsAreTheirFormulas(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(4, 1))
		for k := range 40 {
			for _, n := range []float64{1, 3, 0.25} {
				old, mine, words, tokens := probabilities(rng, k), draws(rng, k, 2), draws(rng, k, 2), draws(rng, k, 9)
				got, want := make([]float32, k+1), make([]float32, k)
				got[k] = 7
				moved, work := slices.Clone(mine), make([]float64, k+1)
				work[k] = 8
				Reassign(got[:k], old, n, 0.1, 0.05, 4, moved, words, tokens, work[:k])
				reassignPortable(want, old, n, min(n, 1), 0.1, 0.05, 4, mine, words, tokens, make([]float64, k))
				sum := 0.0
				for j, v := range want {
					sum += float64(got[j])
					assert.InDelta(t, v, got[j], 1e-7*float64(v), "k = %d", k)
					assert.InDelta(t, mine[j], moved[j], 4e-7*float64(v)*n+1e-15)
				}
				require.Equal(t, []float64{7, 8}, []float64{float64(got[k]), work[k]})
				if k > 0 {
					assert.InDelta(t, 1, sum, 1e-6)
				}

				var a, b [4][]float64
				for i := range a {
					a[i] = draws(rng, k, 5)
					b[i] = slices.Clone(a[i])
				}
				h, reference := Tally(got[:k], n, 1.5, a[0], a[1], a[2], a[3]), 0.0
				for j, f := range got[:k] {
					v := float64(f)
					for i, plus := range []float64{n * v, n * v * v, 1.5 * n * v, 1.5 * n * v * v} {
						assert.InDelta(t, b[i][j]+plus, a[i][j], 1e-14*(b[i][j]+plus))
					}
					if v > 0 {
						reference += v * math.Log(v)
					}
				}
				assert.InDelta(t, reference, h, 1e-13)
			}
		}
		two := make([]float64, 2)
		require.Panics(t, func() { Reassign(make([]float32, 3), make([]float32, 2), 1, 1, 1, 1, two, two, two, two) })
		require.Panics(t, func() { Reassign(make([]float32, 3), make([]float32, 3), 1, 1, 1, 1, two, two, two, two) })
		require.Panics(t, func() { Tally(make([]float32, 3), 1, 1, two, two, two, two) })
	})
}
