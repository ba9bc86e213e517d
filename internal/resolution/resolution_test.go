package resolution

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/internal/variances"
)

const mostValues = 1 << 16

// stepOf is the resolution of a column whose values have the standard deviation sd.
func stepOf(x []float64, most int, sd float64) float64 {
	c := New(most, math.Sqrt(12*variances.Finest)*sd)
	for _, v := range x {
		if c.Add(v); c.Done {
			break
		}
	}
	return c.Step()
}

func TestResolutionIsTheLeastGap(t *testing.T) {
	tenth := func(n int) float64 { return float64(n) * 0.1 } // 3*0.1 is not 0.3
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{5, 5, 5}, math.Inf(1)},
		{[]float64{0, math.Copysign(0, -1), 0}, math.Inf(1)},
		{[]float64{0.1 + 0.2, 0.3, 0.3}, math.Inf(1)},
		{[]float64{0.1 + 0.2, 0.3, 0.7}, 0.4},
		{[]float64{0, 1, 0, 1}, 1},
		{[]float64{0, 7, -3, 12, 4}, 3},
		{[]float64{tenth(3), 0.3, tenth(6), 0.6, tenth(7), 0.7, 0.1}, 0.1},
		{[]float64{1e15, 1e15 + 1, 1e15 + 3}, 1},
		{[]float64{3, 3 + 1e-6, 9}, 0}, // finer than what matters
	} {
		for range 3 {
			rand.New(rand.NewPCG(9, 0)).Shuffle(len(c.x), func(i, j int) { c.x[i], c.x[j] = c.x[j], c.x[i] })
			got := stepOf(c.x, mostValues, 1)
			assert.True(t, got == c.want || math.Abs(got-c.want) < 1e-12, "%v: %v", c.x, got)
		}
	}
	rng := rand.New(rand.NewPCG(1, 0))
	x := make([]float64, 3000)
	for i := range x {
		x[i] = math.Floor(1e4 * rng.NormFloat64())
	}
	assert.Equal(t, 1., stepOf(x, mostValues, 1e4))
	assert.Zero(t, stepOf(x, 1000, 1e4)) // more values than are looked at
	c := New(mostValues, math.Sqrt(12*variances.Finest))
	read := 0
	for ; !c.Done; read++ { // continuous columns are read a little way
		c.Add(rng.NormFloat64())
	}
	assert.Less(t, read, 3000)
}
