package bernmix_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/models/bernmix"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// draw makes n rows of a Bernoulli mixture, n×m.
func draw(n int, weights, probabilities []float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 11))
	m := len(probabilities) / len(weights)
	var x []float64
	for range n {
		k := categorical.Draw(weights, rng)
		for _, p := range probabilities[k*m : (k+1)*m] {
			v := 0.0
			if rng.Float64() < p {
				v = 1
			}
			x = append(x, v)
		}
	}
	return x
}

func rows(t testing.TB, x []float64, m int) *blocks.Table {
	t.Helper()
	table, err := blocks.FromSlice(x, len(x)/m, m)
	require.NoError(t, err)
	return table
}

// sparseRows is the same table as lists of ones.
func sparseRows(t testing.TB, x []float64, m int) *blocks.SparseTable {
	t.Helper()
	ones := make([][]int, len(x)/m)
	for i, v := range x {
		if v == 1 {
			ones[i/m] = append(ones[i/m], i%m)
		}
	}
	table, err := blocks.FromOnes(ones, m)
	require.NoError(t, err)
	return table
}

var three = struct{ weights, probabilities []float64 }{
	[]float64{0.5, 0.3, 0.2},
	[]float64{
		0.9, 0.9, 0.9, 0.1, 0.1, 0.1,
		0.1, 0.1, 0.9, 0.9, 0.9, 0.1,
		0.1, 0.9, 0.1, 0.1, 0.9, 0.9,
	},
}

// TestThreeProfilesAreFound: M = 6, N = 1500, K = 10 to begin with, ten starts of gFAB and
// of FAB, one value.
func TestThreeProfilesAreFound(t *testing.T) {
	src := rows(t, draw(1500, three.weights, three.probabilities, 1), 6).Distinct()
	for _, method := range []framework.Method{framework.GFAB, framework.FAB} {
		var value float64
		for seed := range uint64(10) {
			res, err := framework.Fit(context.Background(), bernmix.EM(), src, framework.Options{K: 10, Method: method, Seed: seed})
			require.NoError(t, err)
			assert.Equal(t, 3, res.Shape.K, "%v seed %d", method, seed)
			assert.Zero(t, res.Fall)
			if seed == 0 {
				value = res.Value
				t.Logf("%v: K = %d, %s = %.6f", method, res.Shape.K, res.Criterion, value)
			}
			assert.InEpsilon(t, value, res.Value, 1e-7, "%v seed %d", method, seed)
		}
	}
}

// TestDenseSparseAndDistinctRowsAgree: three ways to give the same table.
func TestDenseSparseAndDistinctRowsAgree(t *testing.T) {
	x := draw(3000, three.weights, three.probabilities, 2)
	dense, sparse := rows(t, x, 6), sparseRows(t, x, 6)
	assert.Less(t, dense.Distinct().Rows(), 65)
	assert.Equal(t, dense.Distinct().Rows(), sparse.Distinct().Rows())
	p, err := bernmix.EM().Init(context.Background(), dense, 3, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	want, h, err := framework.LocalStep(context.Background(), bernmix.EM(), dense, p, 2)
	require.NoError(t, err)
	same := func(s *mixture.Statistics, entropy float64, err error) {
		require.NoError(t, err)
		assert.InEpsilon(t, h, entropy, 1e-11)
		assert.InDelta(t, want.N, s.N, 1e-9)
		assert.InDeltaSlice(t, want.Nk, s.Nk, 1e-9)
		assert.InDeltaSlice(t, want.Classes.Sums, s.Classes.Sums, 1e-9)
		assert.InEpsilon(t, bernmix.EM().LogJoint(want, p), bernmix.EM().LogJoint(s, p), 1e-11)
	}
	same(framework.LocalStep(context.Background(), bernmix.EM(), dense.Distinct(), p, 2))
	same(framework.LocalStep(context.Background(), bernmix.EM(), sparse, p, 2))
	same(framework.LocalStep(context.Background(), bernmix.EM(), sparse.Distinct(), p, 2))

	r, err := bernmix.EM().Responsibilities(dense.All(), p, nil)
	require.NoError(t, err)
	rs, err := bernmix.EM().Responsibilities(sparse.All(), p, nil)
	require.NoError(t, err)
	assert.InDeltaSlice(t, r, rs, 1e-12)
	fitted, err := framework.Fit(context.Background(), bernmix.EM(), sparse, framework.Options{K: 10})
	require.NoError(t, err)
	assert.Equal(t, 3, fitted.Shape.K)
	vb, err := framework.Fit(context.Background(), bernmix.VB(1, 1), sparse, framework.Options{K: 3, Method: framework.EM, Restarts: 4})
	require.NoError(t, err)
	dvb, err := framework.Fit(context.Background(), bernmix.VB(1, 1), dense, framework.Options{K: 3, Method: framework.EM, Restarts: 4})
	require.NoError(t, err)
	assert.InEpsilon(t, dvb.Value, vb.Value, 1e-7)
}

func lgamma(x float64) float64 { v, _ := math.Lgamma(x); return v }

// TestELBOIsTheFreeEnergyOfTheThesis: paper K, eqs. 4.3 to 4.6 and 5.3 written out as they
// are printed, iteration by iteration from the same start.
func TestELBOIsTheFreeEnergyOfTheThesis(t *testing.T) {
	const n, m, k = 200, 6, 4
	x := draw(n, three.weights, three.probabilities, 3)
	for _, h := range []struct{ a, b float64 }{{1, 1}, {0.3, 0.5}, {1e-4, 1e-4}, {5, 0.2}} {
		vb := bernmix.VB(h.a, h.b)
		vb.Start = family.RandomResponsibilities
		src := rows(t, x, m)
		start, err := vb.Init(context.Background(), src, k, rand.New(rand.NewPCG(7, 0)))
		require.NoError(t, err)
		alpha := append([]float64(nil), start.Weights...)
		eta, etb := make([]float64, k*m), make([]float64, k*m)
		for i := range eta { // pseudo-counts (ν, τ) of a column: ones τ, zeros ν − τ
			eta[i] = start.Components[2*i+1]
			etb[i] = start.Components[2*i] - eta[i]
		}
		res, err := framework.Fit(context.Background(), vb, src, framework.Options{K: k, Method: framework.EM, Seed: 7, MaxIterations: 20, Tolerance: 1e-300})
		require.NoError(t, err)
		psi := mathext.Digamma
		for iteration, elbo := range res.Trace {
			sum := 0.0
			for _, v := range alpha {
				sum += v
			}
			counts, ones := make([]float64, k), make([]float64, k*m)
			entropy := 0.0
			for i := range n {
				rho, top := make([]float64, k), math.Inf(-1)
				for c := range k {
					rho[c] = psi(alpha[c]) - psi(sum)
					for j := range m {
						e, f := eta[c*m+j], etb[c*m+j]
						rho[c] += x[i*m+j]*psi(e) + (1-x[i*m+j])*psi(f) - psi(e+f)
					}
					top = max(top, rho[c])
				}
				total := 0.0
				for c := range rho {
					rho[c] = math.Exp(rho[c] - top)
					total += rho[c]
				}
				for c := range rho {
					r := rho[c] / total
					counts[c] += r
					for j := range m {
						ones[c*m+j] += r * x[i*m+j]
					}
					if r > 0 {
						entropy -= r * math.Log(r)
					}
				}
			}
			free := -lgamma(k*h.a) + k*lgamma(h.a) - k*m*(lgamma(2*h.b)-2*lgamma(h.b)) - entropy
			total := 0.0
			for c := range k {
				alpha[c] = h.a + counts[c]
				total += alpha[c]
				free -= lgamma(alpha[c])
				for j := range m {
					e, f := h.b+ones[c*m+j], h.b+max(0, counts[c]-ones[c*m+j])
					eta[c*m+j], etb[c*m+j] = e, f
					free += lgamma(e+f) - lgamma(e) - lgamma(f)
				}
			}
			free += lgamma(total)
			assert.InEpsilon(t, -free, elbo, 1e-8, "a = %v, b = %v, iteration %d", h.a, h.b, iteration)
		}
	}
}

// TestPredictiveDistributionIsTheExpectation over q(θ), by drawing from q; it sums to 1 over
// {0,1}^M, and its exact generalisation error is the definition's.
func TestPredictiveDistributionIsTheExpectation(t *testing.T) {
	const m = 6
	vb := bernmix.VB(1, 0.5)
	res, err := framework.Fit(context.Background(), vb, rows(t, draw(100, three.weights, three.probabilities, 4), m), framework.Options{K: 3, Method: framework.EM})
	require.NoError(t, err)
	p, err := bernmix.Predict(vb, res.Parameters)
	require.NoError(t, err)
	var all []float64
	for code := range 1 << m {
		for j := range m {
			all = append(all, float64(code>>j&1))
		}
	}
	logs, err := p.LogProb(rows(t, all, m).All(), nil)
	require.NoError(t, err)
	truth, err := bernmix.EM().LogProb(rows(t, all, m).All(), params(three.weights, three.probabilities, m), nil)
	require.NoError(t, err)
	sum, kl := 0.0, 0.0
	for i, l := range logs {
		sum += math.Exp(l)
		kl += math.Exp(truth[i]) * (truth[i] - l)
	}
	assert.InDelta(t, 1, sum, 1e-12)
	got, err := p.GeneralisationError(three.weights, three.probabilities)
	require.NoError(t, err)
	assert.InEpsilon(t, kl, got, 1e-9)

	rng := rand.New(rand.NewPCG(1, 2))
	const draws = 20000
	mean, square := 0.0, 0.0
	for range draws {
		v := probability(res.Parameters, all[5*m:6*m], rng)
		mean += v / draws
		square += v * v / draws
	}
	assert.InDelta(t, math.Exp(logs[5]), mean, 5*math.Sqrt((square-mean*mean)/draws))
}

func params(weights, probabilities []float64, m int) *mixture.Parameters {
	return &mixture.Parameters{K: len(weights), D: m, Weights: weights, Components: probabilities}
}

// probability is p(x|θ) at a draw of θ from the posterior.
func probability(p *mixture.Posterior, x []float64, rng *rand.Rand) float64 {
	weights := gammas(p.Weights, rng)
	v := 0.0
	for k, w := range weights {
		for j, xj := range x {
			h := p.Components[(k*p.D+j)*2:]
			pair := gammas([]float64{h[1], h[0] - h[1]}, rng)
			if xj == 1 {
				w *= pair[0]
			} else {
				w *= pair[1]
			}
		}
		v += w
	}
	return v
}

// gammas draws from a Dirichlet distribution.
func gammas(alpha []float64, rng *rand.Rand) []float64 {
	return prior.Concentrations(alpha).Rand(rng, nil)
}
