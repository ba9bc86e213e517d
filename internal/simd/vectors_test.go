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
