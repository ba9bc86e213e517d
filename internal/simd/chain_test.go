package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// paddedRows are n rows of k numbers, filled up to Padded(k).
func paddedRows(k, n int, draw func() float64) []float64 {
	side := Padded(k)
	v := make([]float64, n*side)
	for i := range n {
		for j := range k {
			v[i*side+j] = draw()
		}
	}
	return v
}

func TestChainKernelsAreThePortableOnes(t *testing.T) {
	onEach(t, chainKernels)
}

func chainKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{1, 2, 3, 4, 7, 8, 9, 10, 15, 16, 17, 40, 70} {
		for _, n := range []int{1, 2, 9, 100} {
			side := Padded(k)
			e, entry := paddedRows(k, n, rng.Float64), paddedRows(k, 1, rng.Float64)
			move, back := make([]float64, side*side), make([]float64, side*side)
			for i := range k {
				for j := range k {
					v := rng.Float64() / float64(k)
					move[i*side+j], back[j*side+i] = v, v
				}
			}
			junk := func(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }
			alpha, scale, gamma := junk(n*side), junk(n), junk(n*side)
			want, wantScale, wantGamma := junk(n*side), junk(n), junk(n*side)
			after, beta := slices.Clone(e), paddedRows(k, 1, func() float64 { return 1 })
			wantAfter, wantBeta := slices.Clone(e), slices.Clone(beta)
			assert.Equal(t, n, Forward(alpha, e, scale, entry, move, k, n, 1e-200))
			Backward(after, alpha, gamma, scale, beta, back, k, n)
			assert.Equal(t, n, forwardPortable(want, e, wantScale, entry, move, k, n, 1e-200))
			backwardPortable(wantAfter, want, wantGamma, wantScale, wantBeta, back, k, n)
			for _, pair := range [][2][]float64{{want, alpha}, {wantScale, scale}, {wantGamma, gamma}, {wantAfter, after}, {wantBeta, beta}} {
				assert.InDeltaSlice(t, pair[0], pair[1], 1e-13*float64(n)*max(1, math.Abs(pair[0][0])), "k = %d, n = %d", k, n)
			}
			if n < 9 {
				continue
			}
			for _, bad := range []float64{0, math.NaN()} {
				clear(e[5*side:][:k])
				e[5*side] = bad
				assert.Equal(t, 5, Forward(alpha, e, scale, entry, move, k, n, 1e-200))
				assert.Equal(t, 5, forwardPortable(alpha, e, scale, entry, move, k, n, 1e-200))
			}
		}
	}
}

func TestChainRefusesShortSlices(t *testing.T) {
	v := make([]float64, 64)
	assert.Panics(t, func() { Forward(v[:15], v, v, v, v, 3, 2, 0) })
	assert.Panics(t, func() { Forward(v, v, v, v, v[:63], 3, 2, 0) })
	assert.Panics(t, func() { Backward(v, v, v, v[:1], v, v, 3, 2) })
}
