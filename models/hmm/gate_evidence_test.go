package hmm_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/hmm"
)

// weather draws sequences of K Gaussian states that are apart times sds from one another, and a covariate that every
// move depends on: odds a + b x of moving on to the next state, against staying.
func weather(t testing.TB, k, sequences, steps int, apart, a, b float64, rng *rand.Rand) (*blocks.SequenceTable, []int) {
	var x []float64
	var ends, states []int
	z := 0
	for range sequences {
		for range steps {
			u := rng.NormFloat64()
			if rng.Float64() < 1/(1+math.Exp(-a-b*u)) {
				z = (z + 1) % k
			}
			x, states = append(x, apart*float64(z)+rng.NormFloat64(), 5+2*u), append(states, z)
		}
		ends = append(ends, len(states))
	}
	table, err := blocks.FromSlice(x, len(states), 2)
	require.NoError(t, err)
	src, err := blocks.NewSequences(table, ends)
	require.NoError(t, err)
	return src, states
}

// TestEvidenceOfGatesIsTheirIntegral: of two states that are certain, the evidence with a covariate less that without is
// the integral over the logits, by a sum over a grid, less that over constant moves, which has a closed form.
func TestEvidenceOfGatesIsTheirIntegral(t *testing.T) {
	src, states := weather(t, 2, 1, 120, 60, -1, 1, rand.New(rand.NewPCG(1, 2)))
	b := src.All()
	var x []float64
	for i := range b.Steps.N {
		x = append(x, b.Steps.Row(i)[0])
	}
	plain := sequencesOf(t, x)
	ctx, o := context.Background(), framework.Options{K: 2, FixedK: true, Criterion: framework.Evidence, Tolerance: 1e-12}
	m := hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}}
	without, err := framework.Fit(ctx, m, plain, o)
	require.NoError(t, err)
	m.Structure.Covariates = 1
	o.Accelerate = true
	with, err := framework.Fit(ctx, m, src, o)
	require.NoError(t, err)
	root := with.Parameters.Root
	want := 0.0
	for from := range 2 {
		// ln ∫ Π a(t) p(γ) dγ for d = γ₂ − γ₁, whose two numbers have variance 2/½ each
		var sum, top float64 = 0, math.Inf(-1)
		const half, h = 60, 0.1
		value := func(d0, d1 float64) float64 {
			v := -(d0*d0 + d1*d1) / 8
			for i := 1; i < len(states); i++ {
				if states[i-1] == from {
					u := d0 + d1*(b.Steps.Row(i)[1]-root[2])/root[3]
					if states[i] == 0 {
						u = -u
					}
					v -= math.Log1p(math.Exp(-u))
				}
			}
			return v - math.Log(8*math.Pi)
		}
		for pass := range 2 {
			for i := -half; i <= half; i++ {
				for j := -half; j <= half; j++ {
					v := value(h*float64(i), h*float64(j))
					if pass == 0 {
						top = max(top, v)
					} else {
						sum += h * h * math.Exp(v-top)
					}
				}
			}
		}
		moves := [2]float64{}
		for i := 1; i < len(states); i++ {
			if states[i-1] == from {
				moves[states[i]]++
			}
		}
		lg := func(v float64) float64 { r, _ := math.Lgamma(v); return r }
		want += top + math.Log(sum) - (lg(1+moves[0]) + lg(1+moves[1]) - lg(2+moves[0]+moves[1]))
	}
	assert.InDelta(t, want, with.Value-without.Value, 0.1) // of Laplace's method
	t.Logf("grid %.4f, evidence %.4f", want, with.Value-without.Value)
}

// TestCountsOfGates: what a chain with covariates has to estimate, by state before, and what gFIC and the evidence of it
// are finite for.
func TestCountsOfGates(t *testing.T) {
	src, _ := weather(t, 3, 20, 40, 6, -1, 1, rand.New(rand.NewPCG(3, 4)))
	for name, structure := range gatedStructures(1) {
		m := hmm.Model{Family: normal.Family{}, Structure: structure}
		for _, c := range []framework.Criterion{framework.GFIC, framework.Evidence, framework.BIC} {
			res := fit(t, m, src, framework.Options{K: 3, FixedK: true, Criterion: c, Accelerate: true})
			shape := m.Shape(res.Parameters)
			assert.Equal(t, 3*2+3*2*2, shape.Component, name) // means and variances; logits by state before
			assert.Equal(t, map[string]int{"free": 2, "uniform": 0, "gated": 4}[name], shape.Shared, name)
			assert.False(t, math.IsNaN(res.Value) || math.IsInf(res.Value, 0), name)
		}
	}
}

// TestChainsWithCovariatesAreRecovered in 10 drawn tables of three states: K in 9 of them, and 9 of 10 log odds within
// 2 standard errors of the truth.
func TestChainsWithCovariatesAreRecovered(t *testing.T) {
	if testing.Short() {
		t.Skip("ten fits")
	}
	const k, a, b = 3, -1.5, 1.2
	right, within, all, squares := 0, 0, 0, 0.0
	for table := range 10 {
		src, _ := weather(t, k, 4, 400, 4, a, b, rand.New(rand.NewPCG(uint64(table), 6)))
		m := hmm.Model{Family: normal.Family{}, Structure: hmm.Structure{Covariates: 1}}
		res := fit(t, m, src, framework.Options{K: 5, Criterion: framework.Evidence, Accelerate: true})
		if res.Shape.K != k {
			continue
		}
		right++
		order := make([]int, k) // by their means
		for z := range k {
			order[int(math.Round(res.Parameters.Component(z)[0]/4))] = z
		}
		p, err := m.Permute(res.Parameters, order)
		require.NoError(t, err)
		list, err := m.Coefficients(context.Background(), src, p)
		require.NoError(t, err)
		for from, of := range list {
			next := (from + 1) % k
			place := next
			if next > from {
				place--
			}
			c := of[2*place:][:2] // the covariate is 5 + 2u
			for j, truth := range []float64{a - b*5/2, b / 2} {
				z := (c[j].Value - truth) / c[j].Error
				squares += z * z
				if all++; math.Abs(z) < 2 {
					within++
				}
			}
		}
	}
	t.Logf("K right in %d of 10; %d of %d within 2 standard errors, mean square %.2f", right, within, all,
		squares/float64(all))
	assert.GreaterOrEqual(t, right, 9)
	assert.GreaterOrEqual(t, within, all*9/10)
}

// TestBadInputOfGates has one clear line each.
func TestBadInputOfGates(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	of := func(n, columns int, value func(i, j int) float64) *blocks.SequenceTable {
		var x []float64
		for i := range n {
			for j := range columns {
				x = append(x, value(i, j))
			}
		}
		table, err := blocks.FromIncomplete(x, n, columns)
		require.NoError(t, err)
		src, err := blocks.NewSequences(table, nil)
		require.NoError(t, err)
		return src
	}
	random := func(_, j int) float64 {
		if j == 0 {
			return float64(rng.IntN(9))
		}
		return rng.NormFloat64()
	}
	fails := func(what string, s hmm.Structure, src *blocks.SequenceTable) {
		t.Helper()
		_, err := framework.Fit(context.Background(), hmm.Model{Family: family.Poisson{}, Structure: s}, src, framework.Options{K: 2})
		assert.ErrorContains(t, err, what)
	}
	one := hmm.Structure{Covariates: 1}
	fails("column 2 is constant", one, of(30, 2, func(i, j int) float64 { return max(random(i, j), 0) * float64(1-j) }))
	fails("row 4, column 2 is missing: a covariate needs a value in every step", one, of(30, 2, func(i, j int) float64 {
		if i == 3 && j == 1 {
			return math.NaN()
		}
		return random(i, j)
	}))
	fails("linear combination of other covariates", hmm.Structure{Covariates: 8}, of(5, 9, random))
	fails("leaves none to the family", hmm.Structure{Covariates: 2}, of(30, 2, random))
	fails("cannot depend on covariates", hmm.Structure{Covariates: 1, LeftRight: 1}, of(30, 2, random))
	fails("no stationary distribution", hmm.Structure{Covariates: 1, Initial: hmm.Stationary}, of(30, 2, random))
	fails("needs Covariates", hmm.Structure{Initial: hmm.Gated}, of(30, 2, random))
	src := of(60, 2, random)
	m := hmm.Model{Family: family.Poisson{}, Structure: one}
	for _, other := range []framework.Model[blocks.Sequences, *hmm.Parameters, *hmm.Statistics]{hmm.MAP{Model: m}} {
		_, err := framework.Fit(context.Background(), other, src, framework.Options{K: 2})
		assert.ErrorContains(t, err, "no conjugate prior")
	}
	res := fit(t, m, src, framework.Options{K: 1})
	_, _, err := m.Sample(res.Parameters, []int{3}, rng)
	assert.ErrorContains(t, err, "depend on covariates")
	_, err = m.Forecast(src.All(), res.Parameters, 2)
	assert.ErrorContains(t, err, "covariates of the steps to come")
	list, err := m.Coefficients(context.Background(), src, res.Parameters)
	require.NoError(t, err)
	assert.Len(t, list, 1)
	assert.Empty(t, list[0])
}

// TestACovariateThatIsTheState separates the states: the likelihood has no finite maximum, and a doubt says so.
func TestACovariateThatIsTheState(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, separated := range []bool{true, false} {
		var x []float64
		z := 0.0
		for range 300 {
			if rng.Float64() < 0.2 {
				z = 1 - z
			}
			u := z
			if !separated {
				u += rng.NormFloat64()
			}
			x = append(x, 8*z+rng.NormFloat64(), u)
		}
		table, err := blocks.FromSlice(x, 300, 2)
		require.NoError(t, err)
		src, err := blocks.NewSequences(table, nil)
		require.NoError(t, err)
		m := hmm.Model{Family: normal.Family{}, Structure: hmm.Structure{Covariates: 1}}
		for _, c := range []framework.Criterion{framework.Evidence, framework.BIC} {
			res := fit(t, m, src, framework.Options{K: 2, FixedK: true, Criterion: c, Accelerate: true})
			doubts, err := m.Doubts(context.Background(), src, res.Parameters)
			require.NoError(t, err)
			if !separated {
				assert.Empty(t, doubts)
				continue
			}
			require.NotEmpty(t, doubts)
			assert.ErrorContains(t, doubts[0], "column 2 separates states after state 1: its coefficients have no finite maximum")
		}
	}
}
