package theorems

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"
)

// TestLemma521 compares, at the fixed point, Σ ln Σ_k ρ_nk with Σ ln p(x_n|θ_vb) at the mean parameters (paper K, Lemma
// 5.2.1). The paper has o(1) for the difference; it tends to −(M·K₁ + K₀ − 1)/2 − M·b·ΔK, here −2.5 − 1.6, as N rows miss a
// part of order 1/N each (docs/errata.md, 10a). Lemma 5.2.2 has O(1) for Σ ln p(x_n|θ_vb) + N·S, which tends to 0 on exact
// proportions.
func TestLemma521(t *testing.T) {
	const a, b, k = 1, 0.4, 2
	want := -0.5*(bitsOfEdge+2-1) - bitsOfEdge*b
	last := math.Inf(1)
	for _, n := range []float64{1e3, 1e4, 1e5, 1e6} {
		src := proportions(t, n)
		fit := settle(t, a, b, k, src)
		q := fit.Parameters
		total := q.Weights[0] + q.Weights[1]
		var scores, logs, entropy float64 // Σ ln Σ ρ, Σ ln p(x|θ_vb), N·S
		rows := src.All()
		for i := range rows.N {
			rho, p := 0.0, 0.0
			for j := range k {
				expected, mean := mathext.Digamma(q.Weights[j])-mathext.Digamma(total), q.Weights[j]/total
				for m, x := range rows.Row(i) {
					h := q.Components[(j*bitsOfEdge+m)*2:]
					side := h[1]
					if x == 0 {
						side = h[0] - h[1]
					}
					expected += mathext.Digamma(side) - mathext.Digamma(h[0])
					mean *= side / h[0]
				}
				rho, p = rho+math.Exp(expected), p+mean
			}
			w := rows.Weight(i)
			scores, logs = scores+w*math.Log(rho), logs+w*math.Log(p)
			if w > 0 {
				entropy -= w * math.Log(w/n)
			}
		}
		t.Logf("N = %.0e: difference %.6f, predicted %.4f; Σ ln p(x|θ_vb) + N·S = %.6f", n, scores-logs, want, logs+entropy)
		off := math.Abs(scores - logs - want)
		assert.Less(t, off, last)
		assert.Less(t, math.Abs(logs+entropy), 1., "Lemma 5.2.2")
		last = off
	}
	require.Less(t, last, 1e-3)
}

// TestWhatGFICDropsOfABernoulliColumn: the exact marginal likelihood of N rows of one Bernoulli column under Jeffreys' prior,
// less that at the estimate and −½ ln N, in the arcsine coordinate. Inside it is ½ ln 2π − ln π, Laplace's formula. At the
// edge, where the likelihood is exp(−Nθ²/4) from θ = 0 on, it is −½ ln π.
func TestWhatGFICDropsOfABernoulliColumn(t *testing.T) {
	for _, c := range []struct{ share, want float64 }{{0.3, 0.5*math.Log(2*math.Pi) - math.Log(math.Pi)}, {0, -0.5 * math.Log(math.Pi)}} {
		off := math.Inf(1)
		for _, n := range []float64{1e2, 1e4, 1e6} {
			ones := c.share * n
			exact := lgamma(ones+0.5) + lgamma(n-ones+0.5) - lgamma(n+1) - math.Log(math.Pi)
			best := 0.0
			for _, s := range []float64{ones, n - ones} {
				if s > 0 {
					best += s * math.Log(s/n)
				}
			}
			dropped := exact - best + 0.5*math.Log(n)
			t.Logf("share %v, N = %.0e: %.4f, predicted %.4f", c.share, n, dropped, c.want)
			assert.Less(t, math.Abs(dropped-c.want), off)
			off = math.Abs(dropped - c.want)
		}
		require.Less(t, off, 1e-5)
	}
}
