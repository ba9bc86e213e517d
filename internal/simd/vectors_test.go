package simd

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVectorsOfAnyLength(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(6, 6))
		for n := range 100 {
			x, insideX := guarded(t, normals(rng, n, 1, 0), n%3)
			y, insideY := guarded(t, normals(rng, n, 1, 0), n%5)
			sum, size := 0.0, 0.0
			want := make([]float64, n)
			for i, v := range x {
				sum += v * y[i]
				size += math.Abs(v * y[i])
				want[i] = y[i] + float64(-0.3*v)
			}
			closeTo(t, sum, Dot(x, y), size, n)
			AddTimes(-0.3, x, y)
			require.Equal(t, want, y, "the product is rounded before the sum")
			insideX()
			insideY()
		}
	})
}

func TestWidenIsExactAndFindsWhatIsNotFinite(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(6, 7))
		for n := range 100 {
			src, want := make([]float32, n), make([]float64, n)
			for i := range src {
				for src[i] = float32(math.NaN()); src[i]-src[i] != 0; { // of all sizes, below the normal range too
					src[i] = math.Float32frombits(rng.Uint32())
				}
				want[i] = float64(src[i])
			}
			dst, inside := guarded(t, make([]float64, n), n%3)
			require.True(t, Widen(dst, src))
			require.Equal(t, want, dst)
			for i, v := range src {
				for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					src[i] = float32(odd)
					require.False(t, Widen(dst, src))
				}
				src[i] = v
			}
			inside()
		}
	})
}
