package bernmix_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bernmix"
	"github.com/latent-go/latent/models/mixture"
)

// edge is a truth of one stochastic and one deterministic component on four bits, with
// every pattern in its exact proportion: rows weigh N·p(x), so that nothing is left to luck.
var edge = struct {
	weights, probabilities []float64
	truth                  bernmix.Truth
}{[]float64{0.6, 0.4}, []float64{0.7, 0.3, 0.6, 0.35, 1, 1, 0, 1}, bernmix.Truth{Stochastic: 1, Deterministic: 1}}

const bitsOfEdge = 4

func proportions(t testing.TB, n float64) *framework.Table {
	t.Helper()
	var all []float64
	for code := range 1 << bitsOfEdge {
		for j := range bitsOfEdge {
			all = append(all, float64(code>>j&1))
		}
	}
	table := rows(t, all, bitsOfEdge)
	weights, err := bernmix.EM().LogProb(table.All(), params(edge.weights, edge.probabilities, bitsOfEdge), nil)
	require.NoError(t, err)
	for i, l := range weights {
		weights[i] = n * math.Exp(l)
	}
	table, err = table.WithWeights(weights)
	require.NoError(t, err)
	return table
}

// shared begins a fit with the true components' rows shared out evenly: the stochastic one's
// among the first of the components, the deterministic one's among the next, and the
// others empty. Redundant components gain or lose a few rows an iteration, too few for random
// starts to show where they end when N is large.
type shared struct {
	mixture.Variational
	a, b                      float64
	stochastic, deterministic int
}

func (m shared) Init(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (*mixture.Posterior, error) {
	p, err := m.Variational.Init(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	for j := range k {
		from, count := 0, 0.0
		switch {
		case j < m.stochastic:
			count = edge.weights[0] * p.Whole.N / float64(m.stochastic)
		case j < m.stochastic+m.deterministic:
			from, count = 1, edge.weights[1]*p.Whole.N/float64(m.deterministic)
		}
		p.Weights[j] = m.a + count
		for i := range bitsOfEdge {
			h := p.Components[(j*bitsOfEdge+i)*2:]
			h[0], h[1] = 2*m.b+count, m.b+count*edge.probabilities[from*bitsOfEdge+i]
		}
	}
	return p, nil
}

// settle returns the posterior of least free energy over all ways to begin.
func settle(t testing.TB, a, b float64, k int, src *framework.Table) *framework.Result[*mixture.Posterior, *mixture.Statistics] {
	t.Helper()
	var best *framework.Result[*mixture.Posterior, *mixture.Statistics]
	for stochastic := 1; stochastic < k; stochastic++ {
		for deterministic := 1; stochastic+deterministic <= k; deterministic++ {
			m := shared{bernmix.VB(a, b), a, b, stochastic, deterministic}
			res, err := framework.Fit(context.Background(), m, src, framework.Options{K: k, Method: framework.EM, Tolerance: 1e-13})
			require.NoError(t, err)
			if best == nil || res.Value > best.Value {
				best = res
			}
		}
	}
	return best
}

// TestRedundantComponentsBehaveAsTheTheoremSays at a point inside each region of Theorem
// 5.1.2, K = 4, N = 10⁶.
func TestRedundantComponentsBehaveAsTheTheoremSays(t *testing.T) {
	const k, n = 4, 1e6
	src := proportions(t, n)
	for _, c := range []struct {
		name string
		a, b float64
	}{
		{"case 1", 0.5, 0.4},
		{"case 2", 2.2, 0.05},
		{"case 3", 3.5, 1},
		{"case 4a", 7, 0.8},
		{"case 4b", 7, 0.1},
	} {
		phase, err := bernmix.Hyperparameters{A: c.a, B: c.b, M: bitsOfEdge}.Phase()
		require.NoError(t, err)
		stochastic, deterministic, err := phase.Components(edge.truth, k)
		require.NoError(t, err)
		res := settle(t, c.a, c.b, k, src)
		gotStochastic, gotDeterministic, counts := count(res.Parameters, c.a, c.b, n)
		t.Logf("%s, a = %v, b = %v: %v; N_k = %s: %d stochastic, %d deterministic", c.name, c.a, c.b, phase, counts, gotStochastic, gotDeterministic)
		assert.Equal(t, stochastic, gotStochastic, c.name)
		assert.Equal(t, deterministic, gotDeterministic, c.name)
	}
}

// count counts the components that hold rows, by whether a probability is inside (0, 1).
func count(p *mixture.Posterior, a, b, n float64) (stochastic, deterministic int, counts string) {
	for j := range p.K {
		rows := p.Weights[j] - a
		counts += fmt.Sprintf(" %.4g", rows)
		if rows < 1e-3*n {
			continue
		}
		edges := 0
		for i := range p.D {
			h := p.Components[(j*p.D+i)*2:]
			if ones := (h[1] - b) / (h[0] - 2*b); min(ones, 1-ones) < 0.02 {
				edges++
			}
		}
		if edges == p.D {
			deterministic++
		} else {
			stochastic++
		}
	}
	return stochastic, deterministic, counts
}

// TestFreeEnergyGrowsAsTheTheoremSays: the slope of F̄ − N·S in ln N against Theorem 5.1.1.
func TestFreeEnergyGrowsAsTheTheoremSays(t *testing.T) {
	const k = 3
	entropy, err := bernmix.MixtureEntropy(edge.weights, edge.probabilities)
	require.NoError(t, err)
	for _, c := range []struct{ a, b float64 }{{0.5, 0.4}, {1, 0.45}, {2, 0.05}, {4, 0.2}, {0.1, 0.1}} {
		h := bernmix.Hyperparameters{A: c.a, B: c.b, M: bitsOfEdge}
		require.NoError(t, h.Scope(edge.truth, k))
		want, err := h.Lambda(edge.truth, k)
		require.NoError(t, err)
		var free [2]float64
		for i, n := range []float64{1e5, 1e7} {
			free[i] = -settle(t, c.a, c.b, k, proportions(t, n)).Value - n*entropy
		}
		slope := (free[1] - free[0]) / math.Log(100)
		t.Logf("a = %v, b = %v: coefficient of ln N %.4f, Theorem 5.1.1 says %.4f", c.a, c.b, slope, want)
		assert.InEpsilon(t, want, slope, 0.1)
	}
}
