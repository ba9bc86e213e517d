package numeric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
)

type normals struct{}

func (normals) Layout(d int) Layout {
	return Layout{Component: []Parameter{Real("mean", d), Positive("variance", d)}}
}

func (normals) LogProb(x, xi, _ []float64) float64 {
	sum := 0.0
	for j, v := range x {
		s := xi[len(x)+j]
		sum -= (math.Log(2*math.Pi*s) + (v-xi[j])*(v-xi[j])/s) / 2
	}
	return sum
}

// A fit begins at means of 0 and variances of 1, and finds the whole table's wherever they are.
func TestWholeTableFromFarAway(t *testing.T) {
	for _, scale := range []float64{1e-6, 1e-3, 1, 1e3, 1e6} {
		for _, ratio := range []float64{0, 10, 1000} {
			rng := rand.New(rand.NewPCG(1, 2))
			const n = 50
			x, moments := make([]float64, 2*n), make([]float64, 4)
			for i := range n {
				x[2*i], x[2*i+1] = scale*(ratio+rng.NormFloat64()), 0.07+0.01*rng.NormFloat64()
				moments[0] += x[2*i] / n
				moments[1] += x[2*i+1] / n
			}
			for i, v := range x {
				moments[2+i%2] += (v - moments[i%2]) * (v - moments[i%2]) / n
			}
			src, err := framework.FromSlice(x, n, 2)
			require.NoError(t, err)
			c, err := compile(normals{}, 2)
			require.NoError(t, err)
			one := c.machine()
			all, err := gather(one, []framework.Rows{src.All()})
			require.NoError(t, err)
			w, err := all.whole(one)
			require.NoError(t, err, "scale %v, mean %v", scale, ratio)
			assert.InDelta(t, one.total(all.Weighted, moments, nil), one.total(all.Weighted, w.Component, nil), 1e-8, "scale %v, mean %v", scale, ratio)
		}
	}
}
