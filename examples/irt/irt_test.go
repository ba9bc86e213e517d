package irt

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/internal/evidencetest"
	"github.com/latent-go/latent/internal/tier"
)

// exam is what answers are drawn from.
type exam struct {
	slopes     [][]float64 // of each ability, one an item
	intercepts []float64
}

var (
	one = exam{[][]float64{{.8, 1, 1.2, 1.4, 1.6, 1.8, 2, 1.2}}, []float64{0, .5, -.5, 1, -1, .3, -.3, 0}}
	two = exam{[][]float64{{1.5, 2, 1.2, 1.8, 0, 0, .3, 0}, {0, .3, 0, 0, 1.5, 2, 1.2, 1.8}},
		[]float64{0, .5, -.5, 1, -1, .3, -.3, 0}}
	three = exam{[][]float64{{2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2}},
		[]float64{0, .5, -.5, 1, -1, .3, -.3, 0, .5, -.5, 1, -1}}
)

// answers of n persons, each 0 or 1.
func (e exam) answers(t *testing.T, n int) *blocks.Table {
	rng := rand.New(rand.NewPCG(1, 28))
	var x []float64
	for range n {
		eta := append([]float64(nil), e.intercepts...)
		for _, slopes := range e.slopes {
			z := rng.NormFloat64()
			for j, a := range slopes {
				eta[j] += z * a
			}
		}
		for _, v := range eta {
			answer := 0.0
			if _, wrong := logistic(v); rng.Float64() >= wrong {
				answer = 1
			}
			x = append(x, answer)
		}
	}
	table, err := blocks.FromSlice(x, n, len(e.intercepts))
	require.NoError(t, err)
	return table
}

type result = framework.Result[*numeric.ContinuousParameters, *numeric.Posteriors]

func fit(t *testing.T, m numeric.Continuous, src *blocks.Table, o framework.Options) *result {
	res, err := framework.Fit(context.Background(), m, src, o)
	require.NoError(t, err)
	return res
}

// squares is AᵀA of the slopes A, K×D, which no rotation of the abilities changes.
func squares(k, items int, slopes []float64) *mat.Dense {
	a := mat.NewDense(k, items, slopes)
	var s mat.Dense
	s.Mul(a.T(), a)
	return &s
}

// Slopes and intercepts are those of other programs at the same K: girth 0.8.0 (twopl_mml, and multidimensional_twopl_mml
// with 41 points from −5 to 5, SciPy 1.11.4), and for the normal ogive, which it does not have, ln p(X) by 61 and 41×41
// Gauss–Hermite points of N(0, I), maximised by BFGS of SciPy 1.17.1. Log-likelihoods are of the latter.
func TestLoadingsAreThoseOfOtherPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		exam       exam
		probit     bool
		slopes     []float64
		intercepts []float64
		likelihood float64
		within     float64
	}{
		"one ability, girth": {one, false,
			[]float64{1.0350, .8226, 1.2412, 1.4498, 2.2936, 1.7384, 1.5052, 1.1915},
			[]float64{-.2354, .4271, -.4845, 1.0925, -.8777, .2934, -.2499, -.1027}, -1218.08794, 0.015},
		"two abilities, girth": {two, false,
			[]float64{-.1963, .5978, -.4135, -.0942, 1.2180, 1.6754, .9308, 2.1748,
				1.4567, 2.2943, 1.4764, 1.9326, -.0292, .0524, .6352, 0},
			[]float64{-.0673, .5029, -.5311, 1.0669, -.8316, .4331, .1612, .3347}, -1237.68488, 0.015},
		"one ability, normal ogive": {one, true,
			[]float64{.6264, .4938, .7324, .8296, 1.3091, 1.0134, .8903, .7163},
			[]float64{-.1406, .2587, -.2914, .6385, -.5071, .1689, -.1506, -.0644}, -1219.00405, 0.003},
		"two abilities, normal ogive": {two, true,
			[]float64{.6529, 1.2885, .5824, .8983, .3973, .5883, .6340, .7209,
				.5845, .4608, .6852, .6850, -.5973, -.8003, -.2410, -1.0598},
			[]float64{-.0427, .2869, -.3161, .6165, -.4951, .2525, .0996, .1927}, -1237.67339, 0.003},
	} {
		t.Run(name, func(t *testing.T) {
			k := len(c.exam.slopes)
			if k > 1 && testing.Short() {
				t.Skip("takes seconds")
			}
			if k > 1 && c.probit {
				tier.Leave(t, "two abilities by the other link, and one by this")
			}
			res := fit(t, numeric.Continuous{Density: Density{Probit: c.probit}}, c.exam.answers(t, 250),
				framework.Options{K: k, Method: framework.EM, Tolerance: 1e-7})
			p := res.Parameters
			var apart mat.Dense
			apart.Sub(squares(k, 8, p.Components), squares(k, 8, c.slopes))
			t.Logf("%d iterations, ln p(X) %.5f, squares within %.1e; fall %.0e", res.Iterations,
				res.Evaluation.Bound(), mat.Norm(&apart, math.Inf(1))/8, res.Fall)
			assert.InDelta(t, c.likelihood, res.Evaluation.Bound(), 0.02)
			assert.True(t, mat.EqualApprox(squares(k, 8, p.Components), squares(k, 8, c.slopes), 4*c.within))
			assert.InDeltaSlice(t, c.intercepts, p.Shared, c.within)
			assert.Less(t, res.Fall, 1e-6)
		})
	}
}

// BIC and gFIC of fits of every K are the highest where the answers come from so many abilities. Three points in each
// dimension do for that.
func TestNumberOfAbilitiesIsFound(t *testing.T) {
	for _, e := range tier.Of([]exam{one}, []exam{one, two}, []exam{one, two, three}) {
		truth, src := len(e.slopes), e.answers(t, 200)
		most := truth + 1
		best, at := [2]float64{math.Inf(-1), math.Inf(-1)}, [2]int{}
		for k := max(1, truth-1); k <= most; k++ {
			res := fit(t, numeric.Continuous{Density: Density{}, Nodes: 3}, src, framework.Options{K: k,
				Method: framework.EM, Tolerance: 1e-4, Also: []framework.Criterion{framework.BIC, framework.GFIC}})
			t.Logf("%d abilities, K = %d: BIC %.1f, gFIC %.1f", truth, k, res.Scores[1].Value, res.Scores[2].Value)
			for i := range best {
				if v := res.Scores[1+i].Value; v > best[i] {
					best[i], at[i] = v, k
				}
			}
		}
		assert.Equal(t, [2]int{truth, truth}, at)
	}
}

// gFAB leaves out an ability that the answers do not need, by either criterion.
func TestAbilityIsPruned(t *testing.T) {
	for _, c := range []framework.Criterion{framework.Evidence, framework.GFIC} {
		res := fit(t, numeric.Continuous{Density: Density{}, Nodes: 3}, one.answers(t, 200),
			framework.Options{K: 2, Tolerance: 1e-4, Criterion: c})
		assert.Equal(t, 1, res.Shape.K)
	}
}

// The evidence of one ability is below that by annealed importance sampling, under the prior that it has in the fit, with
// the ability integrated out by 15 points; complete data would tell more about three items of 40 persons, for which it
// charges.
func TestEvidenceOfOneAbilityIsBelowTheAnnealedOne(t *testing.T) {
	exam := exam{[][]float64{{1, 1.5, 2}}, []float64{0, .5, -.5}}
	const items = 3
	src := exam.answers(t, 40)
	d := Density{}
	res := fit(t, numeric.Continuous{Density: d}, src, framework.Options{K: 1, FixedK: true, Tolerance: 1e-8})
	require.Equal(t, "evidence", res.Criterion)
	w := res.Parameters.Pooled
	deviations := make([]float64, 2*items)
	for j := range items {
		deviations[j] = 1 / w.Root[j*(items+1)]
		deviations[items+j] = 1 / math.Sqrt(w.Information[j*(items+1)])
	}
	points, weights := make([]float64, 15), make([]float64, 15)
	quad.Hermite{}.FixedLocations(points, weights, math.Inf(-1), math.Inf(1))
	table := src.All()
	exact, err := evidence.AIS(context.Background(), evidencetest.Normal(deviations, func(theta []float64) (sum float64) {
		intercepts, terms := slices.Clone(w.Shared), make([]float64, len(points))
		floats.Add(intercepts, theta[items:])
		for i := range table.N {
			for p, at := range points {
				z := math.Sqrt2 * at
				terms[p] = math.Log(weights[p]*math.Sqrt2) + at*at + d.LogJoint(table.Row(i), []float64{z}, theta[:items], intercepts)
			}
			sum += floats.LogSumExp(terms)
		}
		return sum
	}), evidence.AISOptions{Temperatures: 100, Chains: tier.Of(16, 16, 32), Seed: 1})
	require.NoError(t, err)
	t.Logf("%.3f, annealed %.3f ± %.3f", res.Value, exact.LogEvidence, exact.StandardError)
	assert.Less(t, res.Value, exact.LogEvidence+4*exact.StandardError+0.1)
	assert.Greater(t, res.Value, exact.LogEvidence-5)
}

// Values far out, where F is 0 to machine precision, join those nearby, and slopes are those of the values.
func TestTailsOfTheLinks(t *testing.T) {
	for name, link := range map[string]func(float64) (float64, float64){"logistic": logistic, "normal": normal} {
		for _, at := range []float64{-1000, -40, -30.001, -29.999, -5, 0, 3, 40} {
			const h = 1e-4
			above, _ := link(at + h)
			below, _ := link(at - h)
			value, rise := link(at)
			assert.InDelta(t, (above-below)/(2*h), rise, 1e-6*max(1, rise), "%s at %v", name, at)
			assert.False(t, math.IsInf(value, 0))
		}
	}
}

// The log joint is strictly concave in z, so that every row has a mode, however steep the items: where the search for it
// once ended with "no strict maximum".
func TestSteepItemsHaveAMode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 29))
	for _, steep := range []float64{1, 10, 1e3, 1e5} {
		for k := 1; k <= 3; k++ {
			for _, probit := range []bool{false, true} {
				m := numeric.Continuous{Density: Density{Probit: probit}, Nodes: 3}
				src := one.answers(t, 60)
				p, err := m.Init(context.Background(), src, k, rng)
				require.NoError(t, err)
				for i := range p.Components {
					p.Components[i] = steep * rng.NormFloat64()
				}
				for i := range p.Shared {
					p.Shared[i] = steep * rng.NormFloat64()
				}
				values, err := m.LogProb(src.All(), p, nil)
				require.NoError(t, err, "slopes of %v, K = %d", steep, k)
				for _, v := range values {
					assert.Less(t, v, 5.)
					assert.False(t, math.IsInf(v, 0))
				}
			}
		}
	}
}
