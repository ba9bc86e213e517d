package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// ones makes all numbers 1.
func ones(x []float64) []float64 {
	for i := range x {
		x[i] = 1
	}
	return x
}

// Every number of rows and columns that a register can leave over, against the sums entry by
// entry: rounding is at most d+2 units of the terms' sizes.
func TestRowScoresAreTheirFormula(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 11))
		for n := range 19 {
			for d := range 35 {
				k := rng.IntN(8)
				x, stride, insideX := matrixOf(t, rng, n, d, rng.IntN(3))
				eta, etaStride, insideEta := matrixOf(t, rng, k, d, rng.IntN(3))
				old := normals(rng, k*Padded(n), 1, 0)
				dst, inside := guarded(t, old, rng.IntN(8))
				RowScores(dst, x, n, d, stride, eta, k, etaStride)
				inside()
				insideX()
				insideEta()
				for i := range n {
					for j := range k {
						at := j*Padded(n) + i
						sum, size := old[at], math.Abs(old[at])
						for c := range d {
							term := x[i*stride+c] * eta[j*etaStride+c]
							sum += term
							size += math.Abs(term)
						}
						require.InDelta(t, sum, dst[at], float64(d+2)*0x1p-52*size, "row %d of %d, %d columns, vector %d of %d", i, n, d, j, k)
					}
				}
			}
		}
	})
}

// The scores of a row are the same bits whatever rows are asked for with it.
func TestRowScoresDoNotDependOnTheOtherRows(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 12))
		const n, d, k = 37, 29, 5
		x, eta := normals(rng, n*d, 1, 0), normals(rng, k*d, 1, 0)
		all := make([]float64, k*Padded(n))
		RowScores(all, x, n, d, d, eta, k, d)
		for i := range n {
			one := make([]float64, k*Lanes)
			RowScores(one, x[i*d:], 1, d, d, eta, k, d)
			for j := range k {
				require.Equal(t, all[j*Padded(n)+i], one[j*Lanes])
			}
		}
	})
}

func TestBitsAreZerosAndOnes(t *testing.T) {
	strange := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, -5e-324, 1e-200, 0.5, math.Nextafter(1, 0), math.Nextafter(1, 2), -1, 2, math.MaxFloat64}
	onEach(t, func(t *testing.T) {
		for _, d := range []int{1, 3, 8, 13, 32} {
			for n := range 18 {
				stride := d + n%3
				all := make([]float64, max(0, n-1)*stride+d)
				for i := range all {
					all[i] = canary // between the rows
				}
				for i := range n {
					for c := range d {
						all[i*stride+c] = []float64{0, 1, math.Copysign(0, -1)}[(i*d+c)%3]
					}
				}
				x, inside := guarded(t, all, n%5)
				require.True(t, Bits(x, n, d, stride))
				for i := range n * d {
					for s, odd := range strange {
						if d*n > 50 && s != i%len(strange) {
							continue
						}
						place := &x[i/d*stride+i%d]
						old := *place
						*place = odd
						require.False(t, Bits(x, n, d, stride), "%v", odd)
						*place = old
					}
				}
				inside()
			}
		}
	})
}

func TestNearerIsItsFormula(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 14))
		for n := 0; n <= 136; n += Lanes {
			for d := 1; d < 8; d++ {
				x, insideX := guarded(t, normals(rng, d*n, 1, 0), rng.IntN(8))
				m, insideM := guarded(t, normals(rng, d, 1, 0), rng.IntN(8))
				w, insideW := guarded(t, normals(rng, n, 1, 0), rng.IntN(8))
				gap, insideGap := guarded(t, normals(rng, n, 1, float64(d)), rng.IntN(8))
				for i := range gap {
					if rng.IntN(4) == 0 {
						gap[i] = math.Inf(1)
					}
				}
				dst, inside := guarded(t, make([]float64, n), rng.IntN(8))
				got := Nearer(dst, gap, x, d, n, m, w)
				want, size := 0.0, 0.0
				for i := range n {
					square := 0.0
					for a := range d {
						square += (x[a*n+i] - m[a]) * (x[a*n+i] - m[a])
					}
					square = min(square, gap[i])
					require.InDelta(t, square, dst[i], 1e-14*math.Abs(square), "row %d of %d, %d columns", i, n, d)
					want += w[i] * square
					size += math.Abs(w[i] * square)
				}
				require.InDelta(t, want, got, 1e-14*float64(n)*size)
				require.Equal(t, got, Nearer(gap, gap, x, d, n, m, w), "in one slice")
				require.Equal(t, dst, gap)
				for _, check := range []func(){inside, insideX, insideM, insideW, insideGap} {
					check()
				}
			}
		}
	})
}

func BenchmarkRowScores(b *testing.B) {
	for _, k := range []int{2, 10, 40} {
		b.Run(fmt.Sprintf("D=200/K=%d", k), func(b *testing.B) {
			const n, d = 256, 200
			rng := rand.New(rand.NewPCG(1, 13))
			x, eta, dst := normals(rng, n*d, 1, 0), normals(rng, k*d, 1, 0), make([]float64, k*n)
			each(b, n*d*k, func() { RowScores(dst, x, n, d, d, eta, k, d) })
		})
	}
}
