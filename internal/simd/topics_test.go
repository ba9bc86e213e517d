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
		const vocabulary = 5
		for k := 1; k < 40; k++ {
			for _, counts := range [][]float64{nil, {1, 3, 0.25}, {2}, {}} {
				columns := []int{4, 0, 3}
				if counts != nil {
					columns = columns[:len(counts)]
				}
				n := len(columns) * k
				var old []float32
				for range columns {
					old = append(old, probabilities(rng, k)...)
				}
				mine, tokens, words := draws(rng, k, 2), draws(rng, k, 9), draws(rng, vocabulary*k, 2)
				got, want := make([]float32, n+1), make([]float32, n)
				got[n] = 7
				expected := slices.Clone(mine)
				reassignPortable(want, old, columns, counts, 0.1, 0.05, 4, expected, words, tokens, make([]float64, k))
				moved, insideMine := guarded(t, mine, k%3)
				work, insideWork := guarded(t, make([]float64, k), k%5)
				Reassign(got[:n], old, columns, counts, 0.1, 0.05, 4, moved, words, tokens, work)
				sum := 0.0
				for i, v := range want {
					sum += float64(got[i])
					assert.InDelta(t, v, got[i], 2e-7*float64(v), "k = %d", k)
				}
				assert.InDeltaSlice(t, expected, moved, 1e-5)
				require.EqualValues(t, 7, got[n])
				assert.InDelta(t, len(columns), sum, 1e-5)

				a := [4][]float64{draws(rng, k, 5), draws(rng, k, 5), draws(rng, vocabulary*k, 5), draws(rng, vocabulary*k, 5)}
				var b [4][]float64
				var inside [4]func()
				for i := range a {
					b[i], inside[i] = guarded(t, a[i], i)
				}
				h := Tally(got[:n], columns, counts, 1.5, b[0], b[1], b[2], b[3])
				reference := 0.0
				for e, w := range columns {
					n := tokensOf(counts, e)
					for j, f := range got[e*k : (e+1)*k] {
						v := float64(f)
						for i, plus := range []float64{n * v, n * v * v, 1.5 * n * v, 1.5 * n * v * v} {
							a[i][i/2*w*k+j] += plus
						}
						if v > 0 {
							reference += n * v * math.Log(v)
						}
					}
				}
				for i := range a {
					assert.InDeltaSlice(t, a[i], b[i], 1e-13)
					inside[i]()
				}
				insideMine()
				insideWork()
				assert.InDelta(t, reference, h, 1e-13)
			}
		}
		two, three, word := make([]float64, 2), make([]float32, 3), []int{0}
		require.Panics(t, func() { Reassign(three, three[:2], word, nil, 1, 1, 1, two, two, two, two) })
		require.Panics(t, func() { Reassign(three, three, word, nil, 1, 1, 1, two, two, two, two) })
		require.Panics(t, func() { Reassign(three[:2], three[:2], []int{1}, nil, 1, 1, 1, two, two, two, two) })
		require.Panics(t, func() { Tally(three[:2], word, two, 1, two, two, two, two) })
		require.Panics(t, func() { Tally(three[:2], []int{-1}, nil, 1, two, two, two, two) })
		require.Panics(t, func() { Tally(three[:2], word, nil, 1, two, two[:1], two, two) })
	})
}
