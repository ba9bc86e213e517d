package mixture_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// A law is a family that rows can be drawn from, and that has standard errors.
type law interface {
	family.ExponentialFamily
	family.Sampler
	family.Deviator
}

// twoOf are two components of a family that lie well apart.
type twoOf struct {
	family law
	xi     [2][]float64
	copies int // of the columns
	trials int // of a row
}

func twoOfEach() []twoOf {
	return []twoOf{
		{family.Poisson{}, [2][]float64{{2}, {12}}, 3, 1},
		{family.Bernoulli{}, [2][]float64{{0.1}, {0.9}}, 8, 1},
		{family.Categorical{Levels: 3}, [2][]float64{{0.8, 0.1, 0.1}, {0.1, 0.1, 0.8}}, 6, 1},
		{family.Multinomial{Categories: 3}, [2][]float64{{0.8, 0.1, 0.1}, {0.1, 0.1, 0.8}}, 1, 12},
		{family.Exponential{}, [2][]float64{{0.1}, {5}}, 4, 1},
		{family.Gamma{}, [2][]float64{{2, 4}, {20, 2}}, 3, 1},
		{family.Ordinal{Levels: 5}, [2][]float64{{0.8, 0.4}, {3.1, 0.6}}, 5, 1},
	}
}

// conjugateTwoOfEach are those with conjugate priors.
func conjugateTwoOfEach() []twoOf {
	return slices.DeleteFunc(twoOfEach(), func(p twoOf) bool {
		_, ok := p.family.(family.ConjugateFamily)
		return !ok
	})
}

// width is the number of columns.
func (p twoOf) width() int { return p.copies * p.family.Columns() }

// row draws a row of component k.
func (p twoOf) row(k int, rng *rand.Rand) []float64 {
	row, one := make([]float64, p.width()), make([]float64, p.family.Columns())
	for c := range p.copies {
		for range p.trials {
			p.family.Sample(p.xi[k], rng, one)
			floats.Add(row[c*len(one):(c+1)*len(one)], one)
		}
	}
	return row
}

// component is 0 for 2 of 5 rows.
func component(i int) int {
	if i%5 < 2 {
		return 0
	}
	return 1
}

const fitRows = 300

func (p twoOf) table(t testing.TB) *blocks.Table {
	rng := rand.New(rand.NewPCG(1, 2))
	var x []float64
	for i := range fitRows {
		x = append(x, p.row(component(i), rng)...)
	}
	table, err := blocks.FromSlice(x, fitRows, p.width())
	require.NoError(t, err)
	return table
}

func TestGFABFindsTheTwoComponentsOfEachFamily(t *testing.T) {
	for _, p := range twoOfEach() {
		t.Run(p.family.Name(), func(t *testing.T) {
			m, table := mixture.Model{Family: p.family}, p.table(t)
			var values []float64
			for seed := range uint64(3) {
				r, err := framework.Fit(context.Background(), m, table, framework.Options{K: 6, Seed: seed})
				require.NoError(t, err)
				require.Equal(t, framework.Converged, r.Status)
				require.Equal(t, 2, r.Shape.K)
				values = append(values, r.Value)
				q, err := m.Canonical(r.Parameters)
				require.NoError(t, err)
				require.InDelta(t, 0.6, q.Weights[0], 0.05)
				for k, xi := range [2][]float64{p.xi[1], p.xi[0]} {
					n := float64(fitRows*p.trials) * q.Weights[k]
					deviations := make([]float64, len(xi))
					p.family.Deviations(xi, n, deviations)
					for c := range p.copies {
						for i, v := range xi {
							at := k*p.copies*len(xi) + c*len(xi) + i
							require.InDelta(t, v, q.Components[at], 5*deviations[i]+0.05*v)
						}
					}
				}
			}
			for _, v := range values {
				require.InDelta(t, values[0], v, 1e-5)
			}
		})
	}
}

// EM with a prior climbs, and so does the evidence lower bound, whatever the conjugate family; the
// bound is below the log-likelihood at the posterior's mean.
func TestEveryFamilyHasMAPAndVariationalFits(t *testing.T) {
	for _, p := range conjugateTwoOfEach() {
		t.Run(p.family.Name(), func(t *testing.T) {
			table := p.table(t)
			mode, err := framework.Fit(context.Background(), mixture.MAP{Model: mixture.Model{Family: p.family}}, table, framework.Options{K: 2, Method: framework.EM, Tolerance: 1e-7})
			require.NoError(t, err)
			require.Zero(t, mode.Fall)
			v := mixture.Variational{Family: p.family}
			bound, err := framework.Fit(context.Background(), v, table, framework.Options{K: 2, Method: framework.EM, Tolerance: 1e-7})
			require.NoError(t, err)
			require.Zero(t, bound.Fall)
			require.Less(t, bound.Objective[0], bound.Value)
			mean, err := v.Point(bound.Parameters)
			require.NoError(t, err)
			logProb := 0.0
			for b, err := range table.Blocks(context.Background()) {
				require.NoError(t, err)
				rows, err := mixture.Model{Family: p.family}.LogProb(b, mean, nil)
				require.NoError(t, err)
				logProb += floats.Sum(rows)
			}
			require.Less(t, bound.Value, logProb)
			require.InDelta(t, slices.Max(mode.Parameters.Weights), slices.Max(mean.Weights), 0.02)
		})
	}
}

// incomplete is a table of all families side by side, a fifth of whose entries are missing.
func incomplete(t testing.TB) (family.Product, []float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	var product family.Product
	for _, p := range twoOfEach() {
		product = append(product, family.Of{Family: p.family, Width: p.width()})
	}
	var x []float64
	for i := range fitRows {
		for _, p := range twoOfEach() {
			row, w := p.row(component(i), rng), p.family.Columns()
			for c := range p.copies {
				if rng.Float64() < 0.2 {
					for j := range w {
						row[c*w+j] = math.NaN()
					}
				}
			}
			x = append(x, row...)
		}
	}
	return product, x
}

// The density of an incomplete row is a sum over components of products over the columns
// that are there.
func TestMissingEntriesDropOutOfTheDensity(t *testing.T) {
	product, x := incomplete(t)
	d := product.Columns()
	table, err := blocks.FromIncomplete(x, fitRows, d)
	require.NoError(t, err)
	m := mixture.Model{Family: product}
	r, err := framework.Fit(context.Background(), m, table, framework.Options{K: 6})
	require.NoError(t, err)
	require.Equal(t, 2, r.Shape.K)

	block := blocks.Rows{N: fitRows, D: d, Stride: d, X: x}
	logProb, err := m.LogProb(block, r.Parameters, nil)
	require.NoError(t, err)
	for i, got := range logProb {
		joint := make([]float64, 2)
		for k := range joint {
			joint[k] = math.Log(r.Parameters.Weights[k]) + observedDensity(t, block.Row(i), r.Parameters.Components[k*len(r.Parameters.Components)/2:])
		}
		want := floats.LogSumExp(joint)
		require.InDelta(t, want, got, 1e-11*max(1, math.Abs(want)))
	}

	responsibilities, err := m.Responsibilities(block, r.Parameters, nil)
	require.NoError(t, err)
	wrong := 0
	labels := mixture.Labels(responsibilities, 2)
	for i, label := range labels {
		if label == labels[0] != (component(i) == component(0)) {
			wrong++
		}
	}
	require.Zero(t, wrong)
}

// observedDensity is ln p of the entries that are there, family after family.
func observedDensity(t testing.TB, row, xi []float64) float64 {
	sum := 0.0
	for _, p := range twoOfEach() {
		w, n := p.family.Columns(), len(p.family.Parameters())
		for range p.copies {
			if !math.IsNaN(row[0]) {
				statistics, eta := make([]float64, p.family.Statistics()), make([]float64, p.family.Statistics())
				e, base, ok := p.family.Observe(row[:w], statistics)
				require.True(t, ok)
				psi := p.family.Natural(xi[:n], eta)
				sum += base + floats.Dot(eta, statistics) - e*psi
			}
			row, xi = row[w:], xi[n:]
		}
	}
	return sum
}

func TestGroupsThatAreMissingInPartAreRefused(t *testing.T) {
	table, err := blocks.FromIncomplete([]float64{1, 2, 3, 4, math.NaN(), 5}, 3, 2)
	require.NoError(t, err)
	_, err = framework.Fit(context.Background(), mixture.Model{Family: family.Multinomial{Categories: 2}}, table, framework.Options{K: 1})
	require.ErrorContains(t, err, "row 3, column 1 is missing: the group must be complete or missing as a whole")
}

// Bad tables and families that were not filled in are errors, not panics.
func TestFamiliesExplainWhatTheyCannotFit(t *testing.T) {
	for _, c := range []struct {
		family  family.Family
		x       []float64
		mention string
	}{
		{family.Categorical{}, []float64{0, 1, 0, 1}, "set Levels"},
		{family.Multinomial{}, []float64{0, 1, 0, 1}, "takes 0 columns"},
		{family.Multinomial{Categories: 1}, []float64{0, 1, 0, 1}, "set Categories"},
		{family.Bernoulli{}, []float64{0, 1, 2, 1}, "row 3, column 1 is 2"},
		{family.Poisson{}, []float64{0, 1, 0.5, 1}, "the counts 0, 1, 2"},
		{family.Exponential{}, []float64{0, 1, -3, 1}, "non-negative finite numbers"},
		{family.Exponential{}, []float64{0, 0, 0, 0}, "column 1 is constant"},
		{family.Gamma{}, []float64{0, 1, 3, 1}, "positive numbers"},
		{family.Gamma{}, []float64{3, 3, 3, 3}, "column 1 is constant"},
		{normal.Lognormal{}, []float64{2, 1, 0, 1}, "row 3, column 1 is 0: outside the support of lognormal: finite positive numbers"},
		{normal.Lognormal{}, []float64{3, 3, 3, 3}, "column 1 is constant"},
		{family.Ordinal{Levels: 2}, []float64{0, 1, 0, 1}, "set Levels to 3"},
		{family.Ordinal{Levels: 3}, []float64{0, 1, 3, 1}, "the codes 0 to 2"},
	} {
		table, err := blocks.FromSlice(c.x, 4, 1)
		require.NoError(t, err)
		_, err = framework.Fit(context.Background(), mixture.Model{Family: c.family}, table, framework.Options{K: 2})
		require.ErrorContains(t, err, c.mention, "%s %v", c.family.Name(), c.x)
	}
}
