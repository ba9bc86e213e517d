package bernmix_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bernmix"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// TestTemperedBoundControlsTheRisk is Theorem 1 of Chérif-Abdellatif 2018, with q(Z) in the bound
// (docs/theory/elbo.md): over every table of n rows of two bits, at its probability,
//
//	E[exp(n(1−α)∫D_α(P_θ,P⁰)q(dθ) − α ln P⁰(X) + L(K̂) − ln(1/π_K̂))] ≤ 1,
//
// and so the risk, E∫D_α dq, is at most E[α ln P⁰(X) − L(K̂) + ln(1/π_K̂)]/(n(1−α)). It holds for any
// choice of K̂, a fixed one among them.
func TestTemperedBoundControlsTheRisk(t *testing.T) {
	weights, probabilities := []float64{0.5, 0.5}, []float64{0.95, 0.9, 0.1, 0.05}
	var truth [4]float64 // of the patterns 00, 01, 10, 11
	pattern(weights, probabilities, &truth)
	const alpha = 0.5
	type selection = framework.Selection[*mixture.Posterior, *mixture.Statistics]
	fixed := func(i int) func(*selection) (int, float64) {
		return func(sel *selection) (int, float64) {
			if sel.Errs[i] != nil {
				return -1, 0 // too few different rows to start with
			}
			return i, 0
		}
	}
	choices := []struct {
		name   string
		choose func(*selection) (index int, logPrior float64)
	}{
		{"2^−K", func(sel *selection) (int, float64) {
			best := sel.BestUnder(0, framework.GeometricSize)
			return best, framework.GeometricSize(sel.K[best])
		}},
		{"K = 1", fixed(0)}, {"K = 2", fixed(1)}, {"K = 3", fixed(2)},
	}
	sizes := []int{4, 8}
	if !testing.Short() {
		sizes = append(sizes, 16)
	}
	last := []float64{math.Inf(1), math.Inf(1)}
	for _, n := range sizes {
		sums := make([]struct{ p, risk, bound, moment, k float64 }, len(choices))
		eachTable(n, func(counts [4]int) {
			var x []float64
			logTruth, logCount := 0.0, lgamma(float64(n+1))
			for i, c := range counts {
				for range c {
					x = append(x, float64(i/2), float64(i%2))
				}
				logTruth += float64(c) * math.Log(truth[i])
				logCount -= lgamma(float64(c + 1))
			}
			p := math.Exp(logCount + logTruth)
			sel, err := framework.Select(context.Background(), bernmix.VB(1, 0.5), rows(t, x, 2), []int{1, 2, 3}, framework.Options{Method: framework.EM, Temper: alpha, Restarts: 2, Tolerance: 1e-6})
			require.NoError(t, err)
			for i, c := range choices {
				best, logPrior := c.choose(sel)
				if best < 0 {
					continue
				}
				loss := renyi(sel.Fits[best].Parameters, &truth, alpha)
				missing := alpha*logTruth - sel.Values[best][0] - logPrior
				sum := &sums[i]
				sum.p += p
				sum.k += p * float64(sel.K[best])
				sum.risk += p * loss
				sum.bound += p * missing / (float64(n) * (1 - alpha))
				sum.moment += p * math.Exp(float64(n)*(1-alpha)*loss-missing)
			}
		})
		for i, sum := range sums {
			t.Logf("n = %2d, %s: risk %.4f, bound %.4f, exponential moment %.4f, E[K] = %.3f, on tables of probability %.4f", n, choices[i].name, sum.risk, sum.bound, sum.moment, sum.k, sum.p)
			assert.LessOrEqual(t, sum.moment, 1.0)
			if i > 1 {
				continue // not all tables
			}
			require.InDelta(t, 1, sum.p, 1e-12)
			assert.LessOrEqual(t, sum.risk, sum.bound)
			assert.Less(t, sum.risk, last[i], "the risk falls as n doubles")
			last[i] = sum.risk
		}
	}
}

// eachTable visits the counts of the four patterns of two bits in n rows.
func eachTable(n int, visit func([4]int)) {
	for a := 0; a <= n; a++ {
		for b := 0; a+b <= n; b++ {
			for c := 0; a+b+c <= n; c++ {
				visit([4]int{a, b, c, n - a - b - c})
			}
		}
	}
}

// pattern puts the probabilities of the patterns into p.
func pattern(weights, probabilities []float64, p *[4]float64) {
	*p = [4]float64{}
	for k, w := range weights {
		u, v := probabilities[2*k], probabilities[2*k+1]
		p[0] += w * (1 - u) * (1 - v)
		p[1] += w * (1 - u) * v
		p[2] += w * u * (1 - v)
		p[3] += w * u * v
	}
}

// renyi is ∫D_α(P_θ,P⁰)q(dθ) of Rényi's divergence, by draws.
func renyi(q *mixture.Posterior, truth *[4]float64, alpha float64) float64 {
	const draws = 200
	rng := rand.New(rand.NewPCG(3, 3))
	var p [4]float64
	sum := 0.0
	for range draws {
		w := prior.Concentrations(q.Weights).Rand(rng, nil)
		u := make([]float64, 2*q.K)
		for i := range u {
			total, ones := q.Components[i/2*4+i%2*2], q.Components[i/2*4+i%2*2+1]
			u[i] = prior.Beta{A: ones, B: total - ones}.Rand(rng)
		}
		pattern(w, u, &p)
		affinity := 0.0
		for i, v := range p {
			affinity += math.Pow(v, alpha) * math.Pow(truth[i], 1-alpha)
		}
		sum += math.Log(affinity) / (alpha - 1)
	}
	return sum / draws
}
