package membership

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
)

var model = numeric.Continuous{Density: WithGradient{Density{Concentration: 1}}, Axes: true}

// corners of the triangle that rows are drawn from.
var corners = [][]float64{{0, 0, 0}, {4, 0, 2}, {0, 4, -2}}

// points are rows between the corners, as likely anywhere, with a standard deviation of 0.3.
func points(t *testing.T, n int) *blocks.Table {
	rng := rand.New(rand.NewPCG(1, 1))
	anywhere := distmv.NewDirichlet([]float64{1, 1, 1}, rng)
	var x []float64
	for range n {
		pi := anywhere.Rand(nil)
		for j := range 3 {
			v := 0.3 * rng.NormFloat64()
			for k, corner := range corners {
				v += pi[k] * corner[j]
			}
			x = append(x, v)
		}
	}
	table, err := blocks.FromSlice(x, n, 3)
	require.NoError(t, err)
	return table
}

func fit(t *testing.T, model numeric.Continuous, src *blocks.Table, k, iterations int) *framework.Result[*numeric.ContinuousParameters, *numeric.Posteriors] {
	res, err := framework.Fit(context.Background(), model, src, framework.Options{K: k, Method: framework.EM, Tolerance: 1e-4, MaxIterations: iterations, Also: []framework.Criterion{framework.GFIC, framework.BIC}})
	require.NoError(t, err)
	assert.Zero(t, res.Fall)
	return res
}

// Three corners are found: gFIC of two latent dimensions is the highest.
func TestCornersAreFound(t *testing.T) {
	src := points(t, 60)
	one, two := fit(t, model, src, 1, 100), fit(t, model, src, 2, 100)
	gfic := func(k int, value float64) float64 { t.Logf("K = %d: gFIC %.1f", k, value); return value }
	best := gfic(2, two.Scores[1].Value)
	assert.Greater(t, best, gfic(1, one.Scores[1].Value)+10)
	p := two.Parameters
	found := [][]float64{p.Shared[:3], floats.AddTo(make([]float64, 3), p.Shared[:3], p.Component(0)), floats.AddTo(make([]float64, 3), p.Shared[:3], p.Component(1))}
	for _, corner := range corners {
		nearest := math.Inf(1)
		for _, at := range found {
			nearest = min(nearest, floats.Distance(corner, at, 2))
		}
		assert.Less(t, nearest, 0.8, "of edges of 4.5 to 7.2")
	}
	if !testing.Short() {
		assert.Less(t, gfic(3, fit(t, model, src, 3, 15).Scores[1].Value), best-10)
	}
}

// Between two corners ln p(x) is an integral over the share, and LogProb is that to the error of the rule.
func TestLogProbIsNearTheIntegral(t *testing.T) {
	src := points(t, 40)
	p := fit(t, model, src, 1, 20).Parameters
	bound, err := model.LogProb(src.All(), p, nil)
	require.NoError(t, err)
	sd := math.Sqrt(p.Shared[3])
	for i, v := range bound {
		exact := math.Log(quad.Fixed(func(share float64) float64 {
			density := 1.0
			for j, x := range src.All().Row(i) {
				density *= distuv.Normal{Mu: p.Shared[j] + share*p.Component(0)[j], Sigma: sd}.Prob(x)
			}
			return density
		}, 0, 1, 400, nil, 0))
		assert.InDelta(t, exact, v, 0.005)
	}
}

// The gradient is that of LogJoint, and the fit without it is the same.
func TestGradientKeepsTheAnswer(t *testing.T) {
	src := points(t, 40)
	with := fit(t, model, src, 1, 20)
	res := fit(t, numeric.Continuous{Density: Density{Concentration: 1}, Axes: true}, src, 1, 20)
	assert.InDelta(t, with.Value, res.Value, 1e-6)
	assert.InDelta(t, with.Scores[1].Value, res.Scores[1].Value, 1e-5)
}
