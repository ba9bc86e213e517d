package numeric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
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
			src, err := blocks.FromSlice(x, n, 2)
			require.NoError(t, err)
			w, _, err := family.Pool(t.Context(), src, Family{normals{}})
			require.NoError(t, err, "scale %v, mean %v", scale, ratio)
			total := func(xi []float64) (sum float64) {
				for i := range n {
					sum += normals{}.LogProb(x[2*i:2*i+2], xi, nil)
				}
				return sum
			}
			assert.InDelta(t, total(moments), total(w.Parameters), 1e-8, "scale %v, mean %v", scale, ratio)
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

// The information about a probability is 1 in its coordinate, however small its estimate, and ½ on the boundary, where
// the function is mirrored.
func TestInformationNextToTheEdge(t *testing.T) {
	for k := range 18 {
		p := 0.5 * math.Pow(0.1, float64(k))
		src, err := blocks.FromSlice([]float64{0, 1}, 2, 1)
		require.NoError(t, err)
		src, err = src.WithWeights([]float64{30 * (1 - p), 30 * p})
		require.NoError(t, err)
		_, plan, err := family.Pool(t.Context(), src, Family{flips{}})
		require.NoError(t, err)
		c := plan.Classes(1)
		require.NoError(t, c.Observe(src.All(), 0, 2))
		r := make([]float64, family.Padded(2))
		copy(r, src.All().Weights)
		c.Add(2, src.All().Weights, r)
		var f laplace.Curvature
		f.Reset(30, false)
		require.NoError(t, c.Curvature(&f, []float64{30}, []float64{p}, nil))
		want := 1.0
		if 2*math.Sqrt(p) < nearBoundary {
			want = 0.5
		}
		assert.InEpsilon(t, want, math.Exp(f.LogDet()), 1e-2, "p = %v", p)
	}
}
