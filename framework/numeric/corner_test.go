package numeric_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

// plackettLuce is a mixture's density of rankings: the items, from 0, the first the best (Plackett 1975; Luce 1959).
type plackettLuce struct{}

func (plackettLuce) Layout(items int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Simplex("worth", items)}}
}

func (plackettLuce) LogProb(ranking, worth, _ []float64) float64 {
	sum, left := 0.0, 0.0
	for _, item := range slices.Backward(ranking) {
		w := worth[int(item)]
		if left += w; w == 0 {
			return math.Inf(-1)
		}
		sum += math.Log(w / left)
	}
	return sum
}

// rankings draws n rankings of each of the worths as likely as the others: the order in which clocks ring.
func rankings(n int, worths ...[]float64) []float64 {
	rng := rand.New(rand.NewPCG(1, 28))
	var x []float64
	for range n {
		worth := worths[rng.IntN(len(worths))]
		times, order := make([]float64, len(worth)), make([]int, len(worth))
		for j, w := range worth {
			times[j], order[j] = rng.ExpFloat64()/w, j
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Compare(times[i], times[j]) })
		for _, j := range order {
			x = append(x, float64(j))
		}
	}
	return x
}

// Of a component whose rows all put the same items last, the worths of these run to 0 together. Their sum then has no
// information that second differences can see beside that of their ratio, 10¹⁴ times as large: gFIC still has a value,
// by which the component leaves.
func TestComponentsInCornersArePruned(t *testing.T) {
	type tables struct {
		rows, k int
		seeds   []uint64
		worths  [][]float64
	}
	small := tables{60, 4, []uint64{2, 4}, [][]float64{{.7, .2, .08, .02}, {.02, .08, .2, .7}}}
	large := tables{200, 6, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, [][]float64{
		{.5, .25, .12, .07, .04, .02}, {.02, .04, .07, .12, .25, .5}, {.05, .3, .05, .3, .05, .25}}}
	c := tier.Of(small, small, large)
	src := tableOf(t, rankings(c.rows, c.worths...), len(c.worths[0]))
	for _, seed := range c.seeds {
		res, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: plackettLuce{}}}, src,
			framework.Options{K: c.k, Seed: seed, Criterion: framework.GFIC})
		require.NoError(t, err, "seed %d", seed)
		assert.Equal(t, len(c.worths), res.Shape.K, "seed %d", seed)
	}
}

// cornered is a rate whose information is no number above 15.
type cornered struct{ poisson }

func (cornered) Information(rows numeric.Weighted, rate, _ []float64, dst *mat.SymDense) {
	if dst.SetSym(0, 0, rows.N/rate[0]); rate[0] > 15 {
		dst.SetSym(0, 0, math.Inf(1))
	}
}

// A component whose second derivatives are not finite leaves, and the others stay; alone it is an error.
func TestComponentsWithoutSecondDerivativesArePruned(t *testing.T) {
	x := []float64{3, 4, 5, 4, 9, 20, 22, 18, 25, 21}
	m := mixture.Model{Family: numeric.Family{Density: cornered{}}}
	for _, c := range []framework.Criterion{framework.GFIC, framework.Evidence} {
		res, err := framework.Fit(ctx, m, tableOf(t, x, 1), framework.Options{K: 2, Criterion: c})
		require.NoError(t, err)
		assert.Equal(t, 1, res.Shape.K)
		require.NotEmpty(t, res.Pruned)
		assert.Equal(t, "degenerate", res.Pruned[0].Rule)
		_, err = framework.Fit(ctx, m, tableOf(t, x, 1), framework.Options{K: 2, Criterion: c, FixedK: true})
		assert.ErrorContains(t, err, "Information of numeric_test.cornered for component")
		assert.ErrorIs(t, err, framework.ErrDegenerate)
	}
}
