package theorems

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/sizes"
	"github.com/latent-go/latent/models/bernmix"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// TestTheorem1OfPaperC with q(Z) in the bound (docs/theory/elbo.md): over every table of n rows of two
// bits, at its probability,
//
//	E[exp(n(1−α)∫D_α(P_θ,P⁰)q(dθ) − α ln P⁰(X) + L(K̂) − ln(1/π_K̂))] ≤ 1,
//
// and so the risk, E∫D_α dq, is at most E[α ln P⁰(X) − L(K̂) + ln(1/π_K̂)]/(n(1−α)). It holds for any
// choice of K̂, a fixed one among them. With K̂ = argmax L(K) − ln(1/π_K) that is at most the
// oracle's, the least over K, over ρ and over one q(z|x) for all tables, of
//
//	α/(1−α) ∫KL(p⁰(x)q(z|x)‖p(x,z|θ))ρ(dθ) + KL(ρ‖Π_K)/(n(1−α)) + ln(1/π_K)/(n(1−α)),
//
// which is the bound of a table with every pattern in its proportion: the engine's too.
func TestTheorem1OfPaperC(t *testing.T) {
	weights, probabilities := []float64{0.5, 0.5}, []float64{0.95, 0.9, 0.1, 0.05}
	var truth [4]float64 // in the order of bits
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
			best := sel.BestUnder(0, sizes.Geometric)
			return best, sizes.Geometric(sel.K[best])
		}},
		{"K = 1", fixed(0)}, {"K = 2", fixed(1)}, {"K = 3", fixed(2)},
	}
	sizes := lengths([]float64{4, 8}, []float64{16}, []float64{32})
	last := []float64{math.Inf(1), math.Inf(1)}
	for _, rows := range sizes {
		n := int(rows)
		oracle := oracleBounds(t, truth, rows, alpha)
		sums := make([]struct{ p, risk, bound, moment, k float64 }, len(choices))
		eachTable(n, func(counts [4]int) {
			table := bits{2, make([]float64, 4)}
			logTruth, logCount := 0.0, lgamma(float64(n+1))
			for i, c := range counts {
				table.counts[i] = float64(c)
				logTruth += float64(c) * math.Log(truth[i])
				logCount -= lgamma(float64(c + 1))
			}
			p := math.Exp(logCount + logTruth)
			sel, err := framework.Select(t.Context(), tempered, table.table(t), []int{1, 2, 3}, framework.Options{Method: framework.EM, Temper: alpha, Restarts: 2, Tolerance: 1e-6})
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
			t.Logf("n = %2d, %s: risk %.4f, bound %.4f, oracle %.4f, exponential moment %.4f, E[K] = %.3f, on tables of probability %.4f", n, choices[i].name, sum.risk, sum.bound, oracle[i], sum.moment, sum.k, sum.p)
			assert.LessOrEqual(t, sum.moment, 1.0)
			if i > 1 {
				continue // not all tables
			}
			require.InDelta(t, 1, sum.p, 1e-12)
			assert.LessOrEqual(t, sum.risk, sum.bound)
			assert.LessOrEqual(t, sum.bound, oracle[i])
			assert.Less(t, sum.risk, last[i], "the risk falls as n doubles")
			last[i] = sum.risk
		}
	}
}

// tempered is the model of these tests, with priors that are named before the data are seen.
var tempered = bernmix.VB(1, 0.5)

// oracleBounds are the right-hand sides at K̂ by π_K = 2^−K and at K = 1, 2, 3: of a table in the
// truth's proportions α E[ln p(x,z)] + αH(q(z|x)) − KL(ρ‖Π_K) is at its largest what the engine maximises.
func oracleBounds(t testing.TB, truth [4]float64, n, alpha float64) []float64 {
	t.Helper()
	population := bits{2, append([]float64(nil), truth[:]...)}.times(n)
	logTruth := 0.0
	for i, p := range truth {
		logTruth += population.counts[i] * math.Log(p)
	}
	bounds := []float64{math.Inf(1)}
	for k := 1; k <= 3; k++ {
		res, err := framework.Fit(t.Context(), tempered, population.table(t), framework.Options{K: k, Method: framework.EM, Temper: alpha, Restarts: 10})
		require.NoError(t, err)
		missing := alpha*logTruth - res.Value
		bounds = append(bounds, missing/(n*(1-alpha)))
		bounds[0] = min(bounds[0], (missing-sizes.Geometric(k))/(n*(1-alpha)))
	}
	return bounds
}

// pattern puts the probabilities of the patterns into p; bit 0 is the first column.
func pattern(weights, probabilities []float64, p *[4]float64) {
	*p = [4]float64{}
	for k, w := range weights {
		u, v := probabilities[2*k], probabilities[2*k+1]
		p[0] += w * (1 - u) * (1 - v)
		p[1] += w * u * (1 - v)
		p[2] += w * (1 - u) * v
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

// TestTheorem1OfPaperCAsItIsPrinted: without latent variables the bound is the tempered evidence,
// and both sides of the theorem can be had (paper C, Theorem 1): one binary column of chance p⁰, the
// prior Beta(½, ½), a single model. The risk is a sum over n+1 tables and an integral,
//
//	E ∫D_α(P_θ,P⁰)q(dθ) ≤ inf_ρ { α/(1−α) ∫KL(P⁰‖P_θ)ρ(dθ) + KL(ρ‖Π)/(n(1−α)) },
//
// whose right-hand side has its least value at a Beta distribution, in closed form. It falls like
// ln n/n, the rate of paper C; the risk itself like 1/n.
func TestTheorem1OfPaperCAsItIsPrinted(t *testing.T) {
	before := prior.Beta{A: 0.5, B: 0.5}
	for _, truth := range []float64{0.5, 0.2, 0.03} {
		for _, alpha := range []float64{0.3, 0.5, 0.9} {
			var n, risk, bound []float64
			for _, rows := range lengths([]float64{1, 8, 64, 512}, []float64{2048}, []float64{8192}) {
				sum := 0.0
				for c := range int(rows) + 1 {
					ones := float64(c)
					log := lgamma(rows+1) - lgamma(ones+1) - lgamma(rows-ones+1) + ones*math.Log(truth) + (rows-ones)*math.Log1p(-truth)
					if log < -40 {
						continue
					}
					q := prior.Beta{A: before.A + alpha*ones, B: before.B + alpha*(rows-ones)}
					sum += math.Exp(log) * meanDivergence(q, truth, alpha)
				}
				// KL(P⁰‖P_θ) is linear in ln θ and ln(1−θ): ρ is the posterior of nα rows in proportion.
				best := prior.Beta{A: before.A + alpha*rows*truth, B: before.B + alpha*rows*(1-truth)}
				entropy := -truth*math.Log(truth) - (1-truth)*math.Log1p(-truth)
				right := (before.LogNorm() - best.LogNorm() - alpha*rows*entropy) / (rows * (1 - alpha))
				assert.LessOrEqual(t, sum, right)
				n, risk, bound = append(n, rows), append(risk, sum), append(bound, right)
			}
			ratio := last(bound) * last(n) * (1 - alpha) / (math.Log(last(n)) / 2)
			t.Logf("p⁰ = %v, α = %v: risk %s, bound %s at n = %v; slopes %.3f and %.3f; bound/(ln n/2n(1−α)) %.3f", truth, alpha, list("%.5f", risk), list("%.5f", bound), n, decay(n, risk), decay(n, bound), ratio)
			assert.InDelta(t, -1, decay(n, risk), 0.1)
			assert.InDelta(t, -1+1/math.Log(last(n)), decay(n, bound), 0.1)
		}
	}
}

// meanDivergence is ∫D_α(P_θ,P⁰)q(dθ), by quadrature in θ = sin²φ.
func meanDivergence(q prior.Beta, truth, alpha float64) float64 {
	const steps = 400
	mean := q.Mean()
	center := math.Asin(math.Sqrt(mean))
	width := math.Min(12/math.Sqrt(q.A+q.B+1), math.Pi/2)
	low, high := math.Max(0, center-width), math.Min(math.Pi/2, center+width)
	sum, mass := 0.0, 0.0
	for i := range steps { // midpoints: the density of φ is finite for A, B ≥ ½
		s, c := math.Sincos(low + (high-low)*(float64(i)+0.5)/steps)
		theta := s * s
		weight := math.Exp(q.LogProb(theta)) * s * c
		mass += weight
		sum += weight * math.Log(math.Pow(theta, alpha)*math.Pow(truth, 1-alpha)+math.Pow(1-theta, alpha)*math.Pow(1-truth, 1-alpha)) / (alpha - 1)
	}
	return sum / mass
}
