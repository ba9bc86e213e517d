package numeric_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

// mallows is of rankings: of each item, its place from 0. A component has a central ranking, and a spread.
type mallows struct{}

func (mallows) Layout(items int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Discrete("centre", items), numeric.Positive("spread", 1)}}
}

// discordant is Kendall's distance: the pairs of items in another order.
func discordant(a, b []float64) (d float64) {
	for i := range a {
		for j := range i {
			if (a[i]-a[j])*(b[i]-b[j]) < 0 {
				d++
			}
		}
	}
	return d
}

func (mallows) LogProb(x, component, _ []float64) float64 {
	n := len(x)
	centre, spread := component[:n], component[n]
	v := -discordant(x, centre) / spread
	for i := 2; i <= n; i++ {
		v -= math.Log(math.Expm1(-float64(i)/spread) / math.Expm1(-1/spread))
	}
	return v
}

func (mallows) Guess(rows numeric.Weighted, component, _ []float64) {
	n := len(component) - 1
	copy(component, borda(rows, n))
	component[n] = 1
}

// borda is the order of the mean places.
func borda(rows numeric.Weighted, n int) []float64 {
	mean, order, centre := make([]float64, n), make([]int, n), make([]float64, n)
	for x, w := range rows.All() {
		for i, v := range x {
			mean[i] += w * v
		}
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, mean[a]-mean[b])) })
	for place, i := range order {
		centre[i] = float64(place)
	}
	return centre
}

// Estimate has the spread at which the distance from the centre is the mean one: by bisection of its logarithm.
func (m mallows) Estimate(rows numeric.Weighted, component, _ []float64) error {
	n := len(component) - 1
	copy(component, borda(rows, n))
	distance := 0.0
	for x, w := range rows.All() {
		distance += w * discordant(x, component[:n]) / rows.N
	}
	low, high := math.Log(1e-2), math.Log(1e2)
	for range 60 {
		half := (low + high) / 2
		t := math.Exp(-half)
		expected := float64(n-1) / math.Expm1(t)
		for i := 2; i <= n; i++ {
			expected -= float64(i) / math.Expm1(float64(i)*t)
		}
		if expected < distance {
			low = half
		} else {
			high = half
		}
	}
	component[n] = math.Exp((low + high) / 2)
	return nil
}

// TestDiscreteNumbersAreEstimatedAndNotCharged: two groups of rankings about two central ones.
func TestDiscreteNumbersAreEstimatedAndNotCharged(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	centres := [][]float64{{0, 1, 2, 3, 4}, {4, 2, 3, 0, 1}}
	var x []float64
	for i := range 120 {
		x = append(x, drawMallows(centres[i%2], 0.8, rng)...)
	}
	table := tableOf(t, x, 5)
	m := mixture.Model{Family: numeric.Family{Density: mallows{}}}
	for _, c := range []framework.Criterion{framework.Evidence, framework.GFIC} {
		res, err := framework.Fit(ctx, m, table, framework.Options{K: 3, Criterion: c})
		require.NoError(t, err)
		assert.Equal(t, framework.Shape{K: 2, Component: 2, Shared: 1}, res.Shape, c.Name)
		var found [][]float64
		for k := range res.Shape.K {
			found = append(found, res.Parameters.Component(k)[:5])
			assert.InDelta(t, 0.8, res.Parameters.Component(k)[5], 0.25)
		}
		assert.ElementsMatch(t, centres, found, c.Name)
	}
	o := lvmtest.Check(lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics]{
		Model: m, Data: lvmtest.Matrix(mat.NewDense(40, 5, x[:200])), K: []int{2}, Tolerance: tolerance,
	})
	assert.NoError(t, o)
}

// drawMallows inserts the items of the centre one after the other, each d places before the end with weight exp(−d/spread).
func drawMallows(centre []float64, spread float64, rng *rand.Rand) []float64 {
	items := make([]int, len(centre))
	for i, place := range centre {
		items[int(place)] = i
	}
	var list []int
	for _, item := range items {
		weights := make([]float64, len(list)+1)
		for d := range weights {
			weights[d] = math.Exp(-float64(d) / spread)
		}
		d := int(distuv.NewCategorical(weights, rng).Rand())
		list = slices.Insert(list, len(list)-d, item)
	}
	x := make([]float64, len(centre))
	for place, item := range list {
		x[item] = float64(place)
	}
	return x
}

// trials is a binomial distribution of as many trials as the table shows at the most.
type trials struct{}

func (trials) Layout(int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Probability("success", 1)},
		Shared: []numeric.Parameter{numeric.Discrete("trials", 1)}}
}

func (trials) LogProb(x, success, trials []float64) float64 {
	return distuv.Binomial{N: trials[0], P: success[0]}.LogProb(x[0])
}

func (trials) Guess(rows numeric.Weighted, success, trials []float64) {
	for x := range rows.All() {
		trials[0] = max(trials[0], x[0])
	}
	success[0] = 0.5
}

func TestFixedNumbersComeFromTheGuess(t *testing.T) {
	x := []float64{0, 1, 1, 2, 0, 1, 9, 10, 8, 9, 9, 10, 7, 1, 2, 9}
	res, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: trials{}}}, tableOf(t, x, 1), framework.Options{K: 3})
	require.NoError(t, err)
	assert.Equal(t, 2, res.Shape.K)
	assert.Equal(t, 1, res.Shape.Shared) // a weight
	for k := range 2 {
		assert.InDelta(t, 10, res.Parameters.Component(k)[1], 0)
	}
}

// grades are those of a normal variable between thresholds: as many as there are grades but one, so that all frequencies are met.
type grades struct{}

func (grades) Layout(int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Ordered("threshold", 3)}}
}

func (grades) LogProb(x, threshold, _ []float64) float64 {
	below, above := 0.0, 1.0
	if i := int(x[0]); i > 0 {
		below = distuv.UnitNormal.CDF(threshold[i-1])
	}
	if i := int(x[0]); i < 3 {
		above = distuv.UnitNormal.CDF(threshold[i])
	}
	return math.Log(above - below)
}

func TestOrderedNumbersAscend(t *testing.T) {
	var x []float64
	for grade, n := range []int{10, 40, 30, 20} {
		x = append(x, slices.Repeat([]float64{float64(grade)}, n)...)
	}
	res, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: grades{}}}, tableOf(t, x, 1),
		framework.Options{K: 1, Method: framework.EM, Also: []framework.Criterion{framework.GFIC}})
	require.NoError(t, err)
	want := []float64{distuv.UnitNormal.Quantile(0.1), distuv.UnitNormal.Quantile(0.5), distuv.UnitNormal.Quantile(0.8)}
	assert.InDeltaSlice(t, want, res.Parameters.Component(0), 1e-6)
	require.NoError(t, res.Scores[1].Err)
	for _, c := range []framework.Criterion{framework.GFIC, framework.Evidence} {
		res, err = framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: grades{}}}, tableOf(t, x, 1), framework.Options{K: 3, Criterion: c})
		require.NoError(t, err)
		assert.Equal(t, 1, res.Shape.K) // one component meets all frequencies
	}
}

// onInterval is bernoulli with its probability p written as v = −1 + 4p.
type onInterval struct{ bernoulli }

func (onInterval) Layout(columns int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Interval("v", columns, -1, 3)}}
}

func (d onInterval) LogProb(x, v, shared []float64) float64 {
	p := make([]float64, len(v))
	for i, v := range v {
		p[i] = (v + 1) / 4
	}
	return d.bernoulli.LogProb(x, p, shared)
}

func TestIntervalsAreProbabilitiesOfAnotherScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var x []float64
	for i := range 50 {
		for range 2 {
			one := 0.0
			if rng.Float64() < []float64{0.15, 0.85}[i%2] {
				one = 1
			}
			x = append(x, one)
		}
	}
	for _, c := range []framework.Criterion{framework.GFIC, framework.Evidence} {
		o := framework.Options{K: 2, Criterion: c}
		a, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: bernoulli{}}}, tableOf(t, x, 2), o)
		require.NoError(t, err)
		b, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: onInterval{}}}, tableOf(t, x, 2), o)
		require.NoError(t, err)
		assert.Equal(t, a.Shape, b.Shape)
		assert.InDelta(t, a.Value, b.Value, 1e-6)
	}
	for _, ends := range [][2]float64{{1, 1}, {2, 1}, {0, math.Inf(1)}, {math.NaN(), 1}} {
		_, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: asked{layout: numeric.Layout{
			Component: []numeric.Parameter{numeric.Interval("v", 1, ends[0], ends[1])}}}}}, tableOf(t, x, 2), framework.Options{K: 1})
		assert.ErrorContains(t, err, `parameter "v" has an invalid interval`)
	}
}
