package numeric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

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

type flips struct{}

func (flips) Layout(int) Layout { return Layout{Component: []Parameter{Probability("p", 1)}} }

func (flips) LogProb(x, p, _ []float64) float64 {
	if x[0] == 1 {
		return math.Log(p[0])
	}
	return math.Log1p(-p[0])
}

// The information about a probability is 1 in its coordinate, however small its estimate, and ½ on the edge, where
// the function is mirrored.
func TestInformationNextToTheEdge(t *testing.T) {
	c, err := compile(flips{}, 1)
	require.NoError(t, err)
	one := c.machine()
	info := mat.NewSymDense(1, nil)
	for k := range 18 {
		p := 0.5 * math.Pow(0.1, float64(k))
		w := Weighted{N: 30, blocks: []framework.Rows{{N: 2, D: 1, Stride: 1, X: []float64{0, 1}}}, q: []float64{30 * (1 - p), 30 * p}, k: 1}
		want := 1.0
		if 2*math.Sqrt(p) < onEdge {
			want = 0.5
		}
		one.observe(w, []float64{p}, nil, &Whole{}, true, info)
		assert.InEpsilon(t, want, info.At(0, 0), 1e-2, "p = %v", p)
	}
}
