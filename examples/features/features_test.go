package features

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/lvmtest"
)

// draw makes rows of the model.
func draw(p *Parameters, n int, rng *rand.Rand) *mat.Dense {
	k, d := len(p.On), len(p.W)/len(p.On)
	z := mat.NewDense(n, k, nil)
	z.Apply(func(_, l int, _ float64) float64 {
		if rng.Float64() < p.On[l] {
			return 1
		}
		return 0
	}, z)
	x := mat.NewDense(n, d, nil)
	x.Mul(z, loadings(p).T())
	x.Apply(func(_, _ int, v float64) float64 { return v + math.Sqrt(p.Noise)*rng.NormFloat64() }, x)
	return x
}

func loadings(p *Parameters) *mat.Dense { return mat.NewDense(len(p.W)/len(p.On), len(p.On), p.W) }

// truth has k features of about twice the noise in each of 12 columns.
func truth(k int, rng *rand.Rand) *Parameters {
	p := &Parameters{On: []float64{1}, Noise: 1}
	for l := range k {
		p.On = append(p.On, 0.3+0.1*float64(l%3))
	}
	for range 12 * (k + 1) {
		p.W = append(p.W, 1.5*rng.NormFloat64())
	}
	return p
}

// gFAB finds the number of features, and them, up to the swap of on and off.
func TestFeaturesAreFound(t *testing.T) {
	for _, k := range []int{4, 5} {
		rng := rand.New(rand.NewPCG(uint64(k), 1))
		want := truth(k, rng)
		src, err := framework.FromMatrix(draw(want, 600, rng))
		require.NoError(t, err)
		res, err := framework.Fit(context.Background(), Model{}, src, framework.Options{K: 8, Restarts: 5})
		require.NoError(t, err)
		assert.Equal(t, k, res.Shape.K)
		assert.Zero(t, res.Fall)
		assert.InDelta(t, 1, res.Parameters.Noise, 0.1)
		got := loadings(res.Parameters)
		for l := 1; l <= k; l++ {
			worst := math.Inf(1) // root mean square distance to the nearest feature found; errors are about 0.1
			for m := 1; m <= k; m++ {
				for _, sign := range []float64{1, -1} {
					var off mat.VecDense
					off.AddScaledVec(loadings(want).ColView(l), sign, got.ColView(m))
					worst = min(worst, mat.Norm(&off, 2)/math.Sqrt(12))
				}
			}
			assert.Less(t, worst, 0.3)
		}
	}
}

func TestModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	x := draw(truth(2, rng), 80, rng)
	lvmtest.Test(t, lvmtest.Case[framework.Rows, *Parameters, *Statistics]{
		Model: Model{}, Data: lvmtest.Matrix(x), K: []int{1, 2},
		Units: []lvmtest.Units[framework.Rows]{lvmtest.Rescaled("times 1000", x, slices.Repeat([]float64{1000}, 12))},
		Free: func(_ *Statistics, p *Parameters) ([]float64, func([]float64) *Parameters) {
			k := len(p.On)
			list := append([]float64{math.Log(p.Noise)}, p.W...)
			for _, on := range p.On[1:] {
				list = append(list, math.Log(on/(1-on)))
			}
			return list, func(v []float64) *Parameters {
				q := &Parameters{On: []float64{1}, W: slices.Clone(v[1 : 1+len(p.W)]), Noise: math.Exp(v[0]), Unit: p.Unit}
				for _, logit := range v[len(v)-k+1:] {
					q.On = append(q.On, 1/(1+math.Exp(-logit)))
				}
				return q
			}
		},
		Latent: func(_ *Statistics, p *Parameters) ([]float64, func([]float64) *Parameters) {
			scaled := func(v []float64, rows, columns int, by float64) []float64 { // transposed
				m := mat.DenseCopyOf(mat.NewDense(rows, columns, v).T())
				m.Scale(by, m)
				return m.RawMatrix().Data
			}
			k, d, unit := len(p.On), len(p.W)/len(p.On), math.Sqrt(p.Unit)
			return scaled(p.W, d, k, 1/unit), func(v []float64) *Parameters {
				q := *p
				q.W = scaled(v, k, d, unit)
				return &q
			}
		},
		Degenerate: func(s *Statistics, p *Parameters) (*Statistics, *Parameters, float64) { // never on
			k := len(p.On)
			for l := range k {
				s.ZZ[l*k+k-1], s.ZZ[(k-1)*k+l] = 0, 0
			}
			for i := k - 1; i < len(s.XZ); i += k {
				s.XZ[i] = 0
			}
			q, err := Model{}.Maximize(s, p, nil)
			require.NoError(t, err)
			return s, q, 0
		},
	})
}
