package mixture_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

var laws = []struct {
	family  family.Family
	columns int
	of      [][]float64 // ξ of each component
	named   bool        // package distmv has the distribution of a component
	moments bool
}{
	{normal.Family{}, 2, [][]float64{{1, -2, 4, 1, 1, 2}, {5, 0, 1, -0.5, -0.5, 1}}, true, true},
	{normal.Family{Covariance: normal.Tied}, 2, [][]float64{{1, -2, 4, 1, 1, 2}, {5, 0, 4, 1, 1, 2}}, true, true},
	{normal.Family{Covariance: normal.Diagonal}, 2, [][]float64{{1, -2, 4, 2}, {5, 0, 1, 3}}, true, true},
	{normal.Family{Covariance: normal.Spherical}, 2, [][]float64{{1, -2, 4}, {5, 0, 1}}, true, true},
	{normal.FactorAnalysers{Factors: 1}, 3, [][]float64{{1, -2, 0, 1, 2, 1, 0.5, -1, 2, 1}, {5, 0, 1, 1, 1, 1, 1, 1, 1, 1}}, true, true},
	{normal.StudentT{}, 2, [][]float64{{1, -2, 4, 1, 1, 2, 7}, {5, 0, 1, -0.5, -0.5, 1, 9}}, true, true},
	{normal.Lognormal{}, 1, [][]float64{{0.5, 0.03}, {2, 0.1}}, false, true},
	{family.Poisson{}, 1, [][]float64{{3.3}, {0}}, false, true},
	{family.Exponential{}, 1, [][]float64{{2}, {0.3}}, false, true},
	{family.Gamma{}, 1, [][]float64{{2, 3}, {9, 1}}, false, true},
	{family.Bernoulli{}, 1, [][]float64{{0.3}, {1}}, false, true},
	{family.Categorical{Levels: 3}, 1, [][]float64{{0.2, 0.5, 0.3}, {0, 1, 0}}, false, false},
	{family.Ordinal{Levels: 4}, 1, [][]float64{{1.4, 0.6}, {3, 0.2}}, false, false},
	{family.Product{family.Of{Family: normal.Family{}, Width: 2}, family.Poisson{}}, 3,
		[][]float64{{1, -2, 4, 1, 1, 2, 3.3}, {5, 0, 1, -0.5, -0.5, 1, 9}}, false, true},
}

func distributionOf(t *testing.T, f family.Family, columns int, components ...[]float64) *mixture.Distribution {
	t.Helper()
	p := &mixture.Parameters{K: len(components), D: columns, Weights: []float64{0.3, 0.7}[:len(components)]}
	if len(components) == 1 {
		p.Weights = []float64{1}
	}
	for _, xi := range components {
		p.Components = append(p.Components, xi...)
	}
	d, err := mixture.Model{Family: f}.Distribution(p, rand.NewPCG(1, 2))
	require.NoError(t, err, f.Name())
	return d
}

// The mixture's density is that of its components, which are gonum's; so is that of the columns where they are independent.
func TestDistributionIsTheMixtureOfItsComponents(t *testing.T) {
	for _, c := range laws {
		d := distributionOf(t, c.family, c.columns, c.of...)
		assert.Equal(t, c.columns, d.Dim())
		for range 50 {
			x, sum := d.Rand(nil), 0.0
			for k, weight := range d.Weights() {
				law, err := d.Component(k)
				require.NoError(t, err, c.family.Name())
				_, ours := law.(*mixture.Distribution)
				assert.Equal(t, c.named, !ours, c.family.Name())
				sum += weight * math.Exp(law.LogProb(x))
				if c.columns == 1 {
					column, err := d.Marginal(k, 0)
					require.NoError(t, err)
					assert.InDelta(t, math.Exp(column.LogProb(x[0])), math.Exp(law.LogProb(x)), 1e-12, c.family.Name())
				}
			}
			assert.InEpsilon(t, sum, d.Prob(x), 1e-10, c.family.Name())
		}
	}
}

// 20,000 draws have the moments to 5 standard errors, the heaviest tail being that of a t with seven degrees of freedom.
func TestMomentsAreThoseOfDraws(t *testing.T) {
	const n = 20_000
	for _, c := range laws {
		d := distributionOf(t, c.family, c.columns, c.of[0])
		mean, covariance, err := d.Moments(0)
		if !c.moments {
			assert.ErrorContains(t, err, "no mean", c.family.Name())
			continue
		}
		require.NoError(t, err, c.family.Name())
		x := mat.NewDense(n, c.columns, nil)
		for i := range n {
			d.Rand(x.RawRowView(i))
		}
		var s mat.SymDense
		stat.CovarianceMatrix(&s, x, nil)
		for a := range c.columns {
			scale := math.Sqrt(covariance.At(a, a))
			assert.InDelta(t, mean[a], stat.Mean(mat.Col(nil, a, x), nil), 5*scale/math.Sqrt(n), c.family.Name())
			for b := range c.columns {
				assert.InDelta(t, covariance.At(a, b), s.At(a, b), 15*scale*math.Sqrt(covariance.At(b, b))/math.Sqrt(n), c.family.Name())
			}
		}
	}
}

func TestResponsibilitiesOfAMatrix(t *testing.T) {
	d := distributionOf(t, normal.Family{Covariance: normal.Diagonal}, 2, []float64{0, 0, 1, 1}, []float64{5, 5, 1, 1})
	x := mat.NewDense(2, 3, []float64{0, 5, 2.5, 0, 5, math.NaN()})
	q, err := d.Responsibilities(x.T())
	require.NoError(t, err)
	assert.InDelta(t, 1, q.At(0, 0), 1e-9)
	assert.InDelta(t, 1, q.At(1, 1), 1e-9)
	assert.InDelta(t, 0.3, q.At(2, 0), 1e-9, "half way, and the other column missing")
	assert.InDelta(t, distributionOf(t, normal.Family{}, 1, []float64{0, 1}, []float64{5, 1}).LogProb([]float64{2}),
		d.LogProb([]float64{2, math.NaN()}), 1e-12)
	_, err = d.Responsibilities(x)
	assert.ErrorContains(t, err, "2×3")
	assert.Panics(t, func() { d.LogProb([]float64{1}) })
	assert.Panics(t, func() { d.Rand(make([]float64, 1)) })
}

func TestWhatIsNoDistributionOfRows(t *testing.T) {
	d := distributionOf(t, family.Poisson{}, 1, []float64{3})
	for _, x := range []float64{-1, 0.5, math.Inf(1)} {
		assert.Equal(t, math.Inf(-1), d.LogProb([]float64{x}))
	}
	spherical := distributionOf(t, normal.Family{Covariance: normal.Spherical}, 2, []float64{0, 0, 1})
	assert.True(t, math.IsNaN(spherical.LogProb([]float64{0, math.NaN()})))
	assert.Equal(t, math.Inf(-1), spherical.LogProb([]float64{0, 1e200}), "below the range of floating point")
	_, err := d.Component(1)
	assert.ErrorContains(t, err, "no component 1")
	_, err = d.Marginal(0, 1)
	assert.ErrorContains(t, err, "no column 1")
	heavy := distributionOf(t, normal.StudentT{Nu: 2}, 1, []float64{0, 1, 2})
	_, _, err = heavy.Moments(0)
	assert.ErrorContains(t, err, "no covariance")
	for _, f := range []family.Family{family.Multinomial{Categories: 2}, regress.Family{}} {
		plan, err := family.NewPlan(f, 2)
		require.NoError(t, err)
		assert.ErrorContains(t, plan.Whole(), "as given", f.Name())
	}
}

// gonum's functions of distributions take a component as it is.
func TestComponentsGoIntoGonum(t *testing.T) {
	d := distributionOf(t, normal.Family{}, 2, []float64{1, -2, 4, 1, 1, 2}, []float64{5, 0, 1, -0.5, -0.5, 1})
	var normal [2]*distmv.Normal
	for k := range normal {
		law, err := d.Component(k)
		require.NoError(t, err)
		normal[k] = law.(*distmv.Normal)
	}
	assert.Greater(t, distmv.KullbackLeibler{}.DistNormal(normal[0], normal[1]), 0.0)
	rows, err := blocks.FromMatrix(mat.NewDense(1, 2, normal[0].Mean(nil)))
	require.NoError(t, err)
	assert.Equal(t, 1, rows.Rows())
}
