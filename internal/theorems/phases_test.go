package theorems

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bernmix"
	"github.com/latent-go/latent/models/mixture"
)

// edge is a truth of one stochastic and one deterministic component on four bits, with
// every pattern in its exact proportion: rows weigh N·p(x), so that nothing is random.
var edge = struct {
	weights, probabilities []float64
	truth                  bernmix.Truth
}{[]float64{0.6, 0.4}, []float64{0.7, 0.3, 0.6, 0.35, 1, 1, 0, 1}, bernmix.Truth{Stochastic: 1, Deterministic: 1}}

const bitsOfEdge = 4

func proportions(t testing.TB, n float64) *blocks.Table {
	t.Helper()
	patterns := bits{bitsOfEdge, make([]float64, 1<<bitsOfEdge)}
	for p := range patterns.counts {
		patterns.counts[p] = 1
	}
	truth := &mixture.Parameters{K: 2, D: bitsOfEdge, Weights: edge.weights, Components: edge.probabilities}
	logs, err := bernmix.EM().LogProb(patterns.table(t).All(), truth, nil)
	require.NoError(t, err)
	for p, l := range logs {
		patterns.counts[p] = n * math.Exp(l)
	}
	return patterns.table(t)
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

func (m shared) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*mixture.Posterior, error) {
	p, err := m.Variational.Init(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	for j := range k {
		from, count := 0, 0.0
		switch {
		case j < m.stochastic:
			count = edge.weights[0] * p.Pooled.N / float64(m.stochastic)
		case j < m.stochastic+m.deterministic:
			from, count = 1, edge.weights[1]*p.Pooled.N/float64(m.deterministic)
		}
		p.Weights[j] = m.a + count
		for i := range bitsOfEdge {
			h := p.Components[(j*bitsOfEdge+i)*2:]
			h[0], h[1] = 2*m.b+count, m.b+count*edge.probabilities[from*bitsOfEdge+i]
		}
	}
	return p, nil
}

type variationalFit = framework.Result[*mixture.Posterior, *mixture.Statistics]

// share iterates from one way to begin.
func share(t testing.TB, a, b float64, k int, src *blocks.Table, stochastic, deterministic, iterations int) *variationalFit {
	t.Helper()
	m := shared{bernmix.VB(a, b), a, b, stochastic, deterministic}
	res, err := framework.Fit(t.Context(), m, src, framework.Options{K: k, Method: framework.EM, Tolerance: 1e-13, MaxIterations: iterations})
	require.NoError(t, err)
	return res
}

// settle returns the posterior of least free energy over all ways to begin.
func settle(t testing.TB, a, b float64, k int, src *blocks.Table) *variationalFit {
	t.Helper()
	var best *variationalFit
	for stochastic := 1; stochastic < k; stochastic++ {
		for deterministic := 1; stochastic+deterministic <= k; deterministic++ {
			res := share(t, a, b, k, src, stochastic, deterministic, framework.DefaultMaxIterations)
			if best == nil || res.Value > best.Value {
				best = res
			}
		}
	}
	return best
}

// TestTheorem512: which K₁ and ΔK the free energy chooses (paper K, Theorem 5.1.2): redundant
// components empty for a < (M+1)/2 and a < ½ + Mb, and else fill up, with probabilities at 0 and 1
// for b < ½ and inside for b > ½. A point inside each region, K = 4, N = 10⁶; the truth has one
// component of each kind, which is what the theorem needs (docs/errata.md, 7 to 9).
func TestTheorem512(t *testing.T) {
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

// TestTheorem511: with K₁ components inside (0, 1), ΔK on the edges and the others empty, the
// variational free energy is
//
//	F̄ − N·S(X) = {((M+1)/2 − a)K₁ + (½ − a + Mb)ΔK + Ka − ½} ln N + O(1)
//
// (paper K, Theorem 5.1.1, as bernmix.Hyperparameters.Coefficient computes it). First where the iteration
// ends, at the K₁ and ΔK of Theorem 5.1.2; then for every way to share the rows of the truth among
// K components, each of which the formula is about, though the iteration leaves all but the
// best. The remainder is bounded: slopes in ln N agree from one N to the next.
func TestTheorem511(t *testing.T) {
	entropy, err := bernmix.MixtureEntropy(edge.weights, edge.probabilities)
	require.NoError(t, err)
	grid := lengths([]float64{1e5, 1e7}, nil, []float64{1e9})
	for _, c := range []struct{ a, b float64 }{{0.5, 0.4}, {1, 0.45}, {2, 0.05}, {4, 0.2}, {0.1, 0.1}} {
		const k = 3
		h := bernmix.Hyperparameters{A: c.a, B: c.b, M: bitsOfEdge}
		require.NoError(t, h.Scope(edge.truth, k))
		want, err := h.Lambda(edge.truth, k)
		require.NoError(t, err)
		var free []float64
		for _, n := range grid {
			free = append(free, -settle(t, c.a, c.b, k, proportions(t, n)).Value-n*entropy)
		}
		s := slopes(grid, free)
		t.Logf("a = %v, b = %v: coefficient of ln N %s, Theorem 5.1.1 says %.4f", c.a, c.b, list("%.4f", s), want)
		assert.InDelta(t, want, last(s), 1e-3)
	}

	const k, a, b = 4, 0.7, 0.4
	h := bernmix.Hyperparameters{A: a, B: b, M: bitsOfEdge}
	for stochastic := 1; stochastic < k; stochastic++ {
		for deterministic := 1; stochastic+deterministic <= k; deterministic++ {
			want, err := h.Coefficient(stochastic, deterministic, k)
			require.NoError(t, err)
			var free []float64
			for _, n := range grid {
				free = append(free, -share(t, a, b, k, proportions(t, n), stochastic, deterministic, 2).Value-n*entropy)
			}
			s := slopes(grid, free)
			t.Logf("K₁ = %d, ΔK = %d of K = %d: coefficient of ln N %s, Theorem 5.1.1 says %.4f", stochastic, deterministic, k, list("%.4f", s), want)
			assert.InDelta(t, want, last(s), 1e-3)
		}
	}
}
