package goodness_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted/goodness"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tier"
)

// Rows of two classes that overlap: each class counts as its probability, so that the percentiles are those of χ², by
// parameters and formulas. Distances from the most probable class alone are too small. A row far out is named.
func TestDistancesHaveTheirLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	const n = 3000
	var x []float64
	for i := range n {
		x = append(x, 2*float64(i%2)+rng.NormFloat64(), rng.NormFloat64())
	}
	table := tableOf(t, x, 2, "gaussian", 0)
	m, free := fit(t, "mixture", "gaussian-diagonal", table, 2, 3)
	r, err := goodness.Check(context.Background(), m, table, goodness.Options{Free: free, Draws: 19})
	require.NoError(t, err)
	require.NotNil(t, r.Distances)
	assert.Equal(t, 2, r.Distances.Columns)
	assert.Less(t, float64(r.Distances.Distance.Value), 1.36/math.Sqrt(n))
	text, err := json.Marshal(m.Params())
	require.NoError(t, err)
	var p struct{ Weights, Components []float64 }
	require.NoError(t, json.Unmarshal(text, &p))
	median := distuv.ChiSquared{K: 2}.Quantile(0.5)
	assert.InDelta(t, median, float64(r.Distances.Expected[49]), 1e-12)
	below, nearest, largest := 0.0, 0.0, 0.0
	for i := range n {
		var d, q [2]float64
		for k := range 2 {
			own := p.Components[4*k:]
			q[k] = p.Weights[k]
			for j, v := range x[2*i : 2*i+2] {
				z := (v - own[j]) / math.Sqrt(own[2+j])
				d[k] += z * z
				q[k] *= math.Exp(-z*z/2) / math.Sqrt(own[2+j])
			}
		}
		best := 0
		if q[1] > q[0] {
			best = 1
		}
		for k := range 2 {
			if d[k] <= float64(r.Distances.Quantiles[49]) {
				below += q[k] / (q[0] + q[1]) / n
			}
		}
		if d[best] <= median {
			nearest += 1.0 / n
		}
		largest = max(largest, d[best])
	}
	assert.InDelta(t, 0.5, below, 1e-3)
	assert.Greater(t, nearest, 0.52)
	assert.InDelta(t, largest, float64(r.Distances.Largest.Value), 1e-9)

	x[2*17], x[2*17+1] = 9, math.NaN()
	r, err = goodness.Check(context.Background(), m, tableOf(t, x, 2, "gaussian", 0), goodness.Options{Free: free, Draws: 19})
	require.NoError(t, err)
	assert.Equal(t, "18", r.Distances.Row)
	assert.Equal(t, 1.0/20, float64(r.Distances.Largest.P))
}

// Tails are found out in at least 9 of 10 tables whose rows have a t distribution, by refits.
func TestHeavyTailsAreFoundByDistances(t *testing.T) {
	tables, found := tier.Of(1, 2, 10), 0
	for seed := range uint64(tables) {
		rng := rand.New(rand.NewPCG(seed, 9))
		var x []float64
		for i := range 400 {
			by := 1 / math.Sqrt(distuv.ChiSquared{K: 4, Src: rng}.Rand()/4)
			x = append(x, 4*float64(i%2)+by*rng.NormFloat64(), by*rng.NormFloat64())
		}
		table := tableOf(t, x, 2, "gaussian", 0)
		m, free := fit(t, "mixture", "gaussian", table, 2, 3)
		r, err := goodness.Check(context.Background(), m, table,
			goodness.Options{Free: free, Draws: 59, Refit: refit(t, "mixture", "gaussian", 2)})
		require.NoError(t, err)
		if float64(r.Distances.Distance.Adjusted) <= 0.05 && r.Distances.Quantiles[98] > r.Distances.Expected[98] &&
			strings.Contains(strings.Join(r.Advice, " "), "heavy tails") {
			found++
		}
	}
	t.Log(found, "of", tables)
	assert.GreaterOrEqual(t, found, tables-tables/10)
}

// What is known of classes is no part of the patterns: G² and X² have Σ_k π_k Π_j p_kj of each.
func TestG2WithKnownClasses(t *testing.T) {
	table := carcinoma(t)
	rows := table.Rows.All()
	var x []float64
	for i := range rows.N {
		label := math.NaN()
		if i%3 == 0 {
			label = rows.Row(i)[1]
		}
		x = append(append(x, rows.Row(i)...), label)
	}
	table.Columns = append(table.Columns, data.Column{Name: "known", Family: "known", Levels: []string{"no", "yes"}})
	var err error
	table.Rows, err = blocks.FromIncomplete(x, rows.N, 8)
	require.NoError(t, err)
	m, free := fit(t, "mixture", "categorical", table, 2, 3)
	r, err := goodness.Check(context.Background(), m, table,
		goodness.Options{Free: free, Draws: 19, Refit: refit(t, "mixture", "categorical", 2)})
	require.NoError(t, err)
	require.NotNil(t, r.Patterns)
	assert.Equal(t, []float64{103, 128}, []float64{float64(r.Patterns.Df), r.Patterns.Cells})
	text, err := json.Marshal(m.Params())
	require.NoError(t, err)
	var p struct{ Weights, Components []float64 }
	require.NoError(t, json.Unmarshal(text, &p))
	seen := map[[7]float64]float64{}
	for i := range rows.N {
		seen[[7]float64(rows.Row(i))]++
	}
	g := 0.0
	for codes, count := range seen {
		sum := 0.0
		for k, w := range p.Weights {
			for j, code := range codes {
				w *= p.Components[k*15+2*j+int(code)]
			}
			sum += w
		}
		g += 2 * count * math.Log(count/(118*sum))
	}
	assert.InDelta(t, g, float64(r.Patterns.G2.Value), 1e-9)
	assert.NotContains(t, r.Notes, "known")
}
