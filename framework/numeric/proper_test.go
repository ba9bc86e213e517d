package numeric_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

// evident fits a density by the evidence, K chosen where k is 0.
func evident(t *testing.T, d numeric.Density, x []float64, columns, k int) *framework.Result[*mixture.Parameters, *mixture.Statistics] {
	t.Helper()
	src, err := blocks.FromSlice(x, len(x)/columns, columns)
	require.NoError(t, err)
	o := framework.Options{K: 4, Criterion: framework.Evidence, Restarts: 2, Seed: 1}
	if k > 0 {
		o.K, o.FixedK = k, true
	}
	res, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: d}}, src, o)
	require.NoError(t, err)
	require.Zero(t, res.Fall, "the objective fell")
	return res
}

// Of one component E is ln L − (D/2) ln(N + 1), whatever the density; of two groups K is 2, the objective never falls, a component without
// rows is at the table's fit and costs nothing, and it does not matter which methods a density has.
func TestEvidenceOfDensities(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	const n = 50
	draw := func(d int, cell func(class int) float64) []float64 {
		x := make([]float64, 0, n*d)
		for i := range n {
			for range d {
				x = append(x, cell(i%2))
			}
		}
		return x
	}
	normal := func(class int) float64 { return rng.NormFloat64() + 8*float64(class) }
	for _, c := range []struct {
		name    string
		columns int
		x       []float64
		list    []numeric.Density
		free    int
		shared  int
	}{
		{"rates", 2, draw(2, func(class int) float64 { return float64(rng.IntN(4) + 15*class) }), []numeric.Density{poisson{}}, 2, 0},
		{"probabilities", 6, draw(6, func(class int) float64 { return float64((rng.IntN(10)/9 + class) % 2) }), []numeric.Density{bernoulli{}}, 6, 0},
		{"simplices", 3, draw(3, func(class int) float64 { return float64((rng.IntN(10)/9 + 2*class) % 3) }), []numeric.Density{categorical{}, categoricalGradient{}}, 6, 0},
		{"positive numbers", 2, draw(2, normal), []numeric.Density{diagonal{}}, 4, 0},
		{"matrices", 2, draw(2, normal), []numeric.Density{full{}, fullGradient{}}, 5, 0},
		{"a shared variance", 1, draw(1, normal), []numeric.Density{tied{}, tiedGradient{}, tiedEstimate{}}, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := evident(t, c.list[0], c.x, c.columns, 1)
			assert.InDelta(t, one.Evaluation.LogLikelihood-float64(c.free)/2*math.Log(n+1), one.Value, 1e-4)
			two := evident(t, c.list[0], c.x, c.columns, 0)
			assert.Equal(t, 2, two.Shape.K)
			assert.Greater(t, two.Value, one.Value)
			for _, d := range c.list[1:] {
				assert.InDelta(t, two.Value, evident(t, d, c.x, c.columns, 0).Value, 1e-4, "%T", d)
			}
			w := one.Parameters.Pooled
			m, p := mixture.Model{Family: numeric.Family{Density: c.list[0]}}, &mixture.Parameters{K: 2, D: c.columns, Weights: []float64{1, 0},
				Components: slices.Repeat(w.Parameters, 2), Pooled: w}
			src, err := blocks.FromSlice(c.x, n, c.columns)
			require.NoError(t, err)
			s := m.NewStatistics(p)
			require.NoError(t, m.Prepare(p, nil, s))
			_, err = m.Infer(src.All(), p, s)
			require.NoError(t, err)
			p, err = m.MaximizePosterior(s, p, nil)
			require.NoError(t, err)
			costs, err := s.Classes.Costs(s.Nk, p.Components, p.Hyper)
			require.NoError(t, err)
			assert.InDelta(t, 0, costs[1], 1e-9)
			assert.InDelta(t, float64(c.free-c.shared)/2*math.Log(n+1), costs[0], 1e-4)
		})
	}
}

// E + ln K! is below the sum over all labels of eight counts with each component's rate integrated by quadrature, and not far below.
func TestEvidenceOfDensitiesIsBelowTheExactOne(t *testing.T) {
	for i, x := range [][]float64{{3, 5, 2, 4, 6, 3, 1, 4}, {0, 1, 0, 2, 15, 18, 12, 20}, {0, 0, 0, 0, 0, 0, 0, 9}, {7, 7, 7, 7, 7, 7, 7, 7}} {
		const points = 600
		root := math.Sqrt(floats.Sum(x) / float64(len(x)))
		class := func(s int) float64 {
			norm, sum := make([]float64, points), make([]float64, points)
			for at := range points {
				v := 12 * (float64(at) + 0.5) / points // √λ
				norm[at] = -2 * (v - root) * (v - root)
				sum[at] = norm[at]
				for n, value := range x {
					if s>>n&1 == 1 {
						sum[at] += distuv.Poisson{Lambda: v * v}.LogProb(value)
					}
				}
			}
			return floats.LogSumExp(sum) - floats.LogSumExp(norm)
		}
		all := 1<<len(x) - 1
		exact := []float64{class(all)}
		var total []float64
		for s := range all + 1 {
			in := 0
			for n := range x {
				in += s >> n & 1
			}
			total = append(total, class(s)+class(all-s)-combin.LogGeneralizedBinomial(float64(len(x)), float64(in))-math.Log(float64(len(x)+1)))
		}
		exact = append(exact, floats.LogSumExp(total))
		for k, value := range exact {
			off := evident(t, poisson{}, x, 1, k+1).Value + math.Log(float64(k+1)) - value
			t.Logf("table %d, K = %d: E + ln K! − ln p(X) = %.3f", i, k+1, off)
			assert.LessOrEqual(t, off, 0.15, "Laplace's method errs at the boundary of a rate of 0")
			assert.GreaterOrEqual(t, off, -2.5)
		}
	}
}
