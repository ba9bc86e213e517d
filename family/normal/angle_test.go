package normal

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The least angle is that of the arctangent, with a cosine that is not negative, and its cosine and sine have all digits.
func TestLeastAngleIsThatOfTheArctangent(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 1))
	for range 2000 {
		p := rng.NormFloat64() * math.Exp(100*rng.NormFloat64())
		q := p * rng.NormFloat64() * math.Exp(10*rng.NormFloat64())
		wantSin, wantCos := math.Sincos(math.Atan2(-q, -p) / 2)
		cos, sin := leastAngle(p, q)
		assert.InDelta(t, wantCos, cos, 4e-16)
		assert.InDelta(t, wantSin, sin, 4e-16)
		assert.InDelta(t, 1, cos*cos+sin*sin, 1e-15)
	}
	for _, c := range [][2]float64{{-1, 0}, {0, 0}, {math.NaN(), 1}, {1, math.NaN()}, {math.Inf(1), 1}, {1, math.Inf(-1)}} {
		cos, sin := leastAngle(c[0], c[1])
		assert.Equal(t, [2]float64{1, 0}, [2]float64{cos, sin}, "%v: nothing is turned", c)
	}
}
