package simd

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/special"
)

func TestGammas(t *testing.T) {
	for x := 0.0007; x < 1e7; x *= 1.1 {
		logGamma, trigamma := gammas(x)
		want, _ := math.Lgamma(x)
		assert.InDelta(t, want, logGamma, 1e-12*(1+math.Abs(want)))
		assert.InEpsilon(t, special.Trigamma(x), trigamma, 1e-11)
	}
}

// Each count alone, and all of them: none, hardly any, of one indicator, of many, certain, and certain but for
// rounding.
func TestRisingOfAnyCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var mean, squares []float64
	for _, size := range []float64{0, 1e-300, 1e-12, 0.99e-9, 1.01e-9, 1e-7, 1e-4, 0.1, 0.5, 1, 3, 40, 1e4, 1e8} {
		for _, share := range []float64{1e-8, 1e-3, 0.3, 1 - 1e-4, 1 - 2e-9, 1 - 0.5e-9, 1, 1 + 1e-12} {
			mean, squares = append(mean, size), append(squares, size*share)
		}
		p := rng.Float64() // one indicator
		mean, squares = append(mean, size*p), append(squares, size*p*size*p)
	}
	onEach(t, func(t *testing.T) {
		for _, a := range []float64{1e-6, 0.01, 0.1, 1, 250, 1e6} {
			logGamma, _ := math.Lgamma(a)
			all, size := 0.0, 0.0
			for i, m := range mean {
				want := risingPortable(mean[i:i+1], squares[i:i+1], a, math.Log(a), logGamma)
				assert.InDelta(t, want, Rising(mean[i:i+1], squares[i:i+1], a), 1e-12*math.Abs(want)+1e-13+1e-14*math.Abs(logGamma),
					"mean %v, squares %v, a %v", m, squares[i], a)
				all += want
				size += math.Abs(want) + math.Abs(logGamma)
				of, inside := guarded(t, mean[:i], i%3)
				with, insideWith := guarded(t, squares[:i], i%5)
				require.False(t, math.IsNaN(Rising(of, with, a)))
				inside()
				insideWith()
			}
			assert.InDelta(t, all, Rising(mean, squares, a), 1e-12*size)
		}
	})
}
