package ppca

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/lineargaussian"
)

// datasets is the number of data sets of each size in the experiments.
var datasets = flag.Int("datasets", 3, "data sets of each size in the experiments of package ppca")

func normal(t testing.TB, mean []float64, cov []float64) *distmv.Normal {
	n, ok := distmv.NewNormal(mean, mat.NewSymDense(len(mean), cov), rand.New(rand.NewPCG(1, 1)))
	require.True(t, ok)
	return n
}

// TestRenyi holds gonum's divergence of normal laws to its definition, D_α(P, R) =
// ln ∫ (dP/dR)^{α−1} dP / (α − 1): by quadrature in one dimension, by Monte Carlo in three, and
// by (1 − α) D_α(P, R) = α D_{1−α}(R, P).
func TestRenyi(t *testing.T) {
	for _, c := range [][4]float64{{0, 1, 0, 1}, {0, 2, 0, 0.5}, {0, 0.3, 0, 4}, {1, 0.5, -0.5, 1.5}} {
		p, r := normal(t, c[:1], c[1:2]), normal(t, c[2:3], c[3:])
		for _, alpha := range []float64{0.1, 0.5, 0.9, 1, 1.2} {
			if alpha > 1 && (1-alpha)*c[1]+alpha*c[3] <= 0 {
				// Where the integral diverges gonum says NaN; ExpectedRenyi stays below.
				assert.True(t, math.IsNaN(distmv.Renyi{Alpha: alpha}.DistNormal(p, r)))
				continue
			}
			integral := quad.Fixed(func(x float64) float64 {
				lp, lr := p.LogProb([]float64{x}), r.LogProb([]float64{x})
				if alpha == 1 {
					return math.Exp(lp) * (lp - lr)
				}
				return math.Exp((alpha-1)*(lp-lr) + lp)
			}, -60, 60, 4000, nil, 0)
			want := integral
			if alpha != 1 {
				want = math.Log(integral) / (alpha - 1)
			}
			assert.InDelta(t, want, distmv.Renyi{Alpha: alpha}.DistNormal(p, r), 1e-10, "%v, α = %v", c, alpha)
		}
	}

	p := normal(t, []float64{0.3, 0, -0.2}, []float64{1, 0.4, 0, 0.4, 2, 0.1, 0, 0.1, 0.8})
	r := normal(t, []float64{0, 0, 0}, []float64{1.5, 0, 0.2, 0, 1, 0, 0.2, 0, 1})
	for _, alpha := range []float64{0.25, 0.5, 0.75} {
		const draws = 40000
		ratio := make([]float64, draws)
		for i := range ratio {
			x := p.Rand(nil)
			ratio[i] = math.Exp((alpha - 1) * (p.LogProb(x) - r.LogProb(x)))
		}
		mean, sd := stat.MeanStdDev(ratio, nil)
		want := math.Log(mean) / (alpha - 1)
		assert.InDelta(t, want, distmv.Renyi{Alpha: alpha}.DistNormal(p, r), 4*sd/mean/math.Sqrt(draws)/(1-alpha))
		assert.InEpsilon(t, alpha*distmv.Renyi{Alpha: 1 - alpha}.DistNormal(r, p), (1-alpha)*distmv.Renyi{Alpha: alpha}.DistNormal(p, r), 1e-12)
	}
}

// TestExpectedRenyi: with Σ = 0 it is the divergence at the mean; with D = K = 1 an integral.
func TestExpectedRenyi(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	p := somewhere(4, 2, false, 3)
	for i := range p.Factors {
		p.Factors[i] *= 1e-10
	}
	law, err := Law(mat.NewDense(4, 2, p.Means), p.Noise)
	require.NoError(t, err)
	truth, err := Law(mat.NewDense(4, 1, []float64{1, 2, 0, 0}), 0.5)
	require.NoError(t, err)
	for _, alpha := range []float64{0.3, 0.5, 1} {
		mean, stdErr, err := p.ExpectedRenyi(alpha, truth, 3, rng)
		require.NoError(t, err)
		assert.InEpsilon(t, distmv.Renyi{Alpha: alpha}.DistNormal(law, truth), mean, 1e-8)
		assert.Less(t, stdErr, 1e-8)
	}

	q := somewhere(1, 1, false, 3)
	one := normal(t, []float64{0}, []float64{2})
	rho := distuv.Normal{Mu: q.Means[0], Sigma: q.Factors[0]}
	want := quad.Fixed(func(w float64) float64 {
		law, err := Law(mat.NewDense(1, 1, []float64{w}), q.Noise)
		require.NoError(t, err)
		return rho.Prob(w) * distmv.Renyi{Alpha: 0.5}.DistNormal(law, one)
	}, rho.Mu-9*rho.Sigma, rho.Mu+9*rho.Sigma, 200, nil, 0)
	mean, stdErr, err := q.ExpectedRenyi(0.5, one, 5000, rng)
	require.NoError(t, err)
	assert.InDelta(t, want, mean, 4*stdErr)

	for _, alpha := range []float64{0, -1, 1.5, math.NaN()} {
		_, _, err := p.ExpectedRenyi(alpha, truth, 3, rng)
		assert.ErrorContains(t, err, "order of the Rényi divergence")
	}
	_, _, err = p.ExpectedRenyi(0.5, one, 3, rng)
	assert.ErrorContains(t, err, "the truth has 1 dimensions, and the posterior 4")
	_, _, err = p.ExpectedRenyi(0.5, truth, 1, rng)
	assert.ErrorContains(t, err, "two or more")
	p.Noise = math.NaN()
	_, _, err = p.ExpectedRenyi(0.5, truth, 3, rng)
	assert.ErrorContains(t, err, "noise NaN")
	_, err = Law(mat.NewDense(2, 1, []float64{1e9, 0}), 0)
	assert.ErrorContains(t, err, "not positive")
}

// TestDraw: draws have the means and covariances of ρ, and columns are independent. The draws' averages
// are held to 5 of their standard errors.
func TestDraw(t *testing.T) {
	const d, k, draws = 3, 2, 20000
	for _, diagonal := range []bool{false, true} {
		p := somewhere(d, k, diagonal, 4)
		rng := rand.New(rand.NewPCG(4, 4))
		flat := mat.NewDense(draws, d*k, nil) // column by column of W
		var w *mat.Dense
		for i := range draws {
			w = p.Draw(rng, w)
			for j := range k {
				for l := range d {
					flat.Set(i, j*d+l, w.At(l, j))
				}
			}
		}
		var cov mat.SymDense
		stat.CovarianceMatrix(&cov, flat, nil)
		sd := func(a int) float64 { return math.Sqrt(p.Covariance(a/d).At(a%d, a%d)) }
		for a := range d * k {
			assert.InDelta(t, p.Means[a%d*k+a/d], stat.Mean(mat.Col(nil, a, flat), nil), 5*sd(a)/math.Sqrt(draws))
			for b := range d * k {
				want := 0.0
				if a/d == b/d {
					want = p.Covariance(a/d).At(a%d, b%d)
				}
				assert.InDelta(t, want, cov.At(a, b), 5*math.Sqrt2*sd(a)*sd(b)/math.Sqrt(draws))
			}
		}
	}
}

// ---- Experiments: ranks and rates

// A truth is P⁰: x = W₀z + e with z normal and e of variance noise, normal or Student's t with
// three degrees of freedom.
type truth struct {
	w0    *mat.Dense
	noise float64
	heavy bool
}

// newTruth draws W₀, D×K₀, from a standard normal distribution.
func newTruth(d, k0 int, heavy bool) truth {
	return truth{w0: mat.NewDense(d, k0, sample(d, k0, nil, 1, 5)), noise: 1, heavy: heavy}
}

func (p0 truth) sample(n int, rng *rand.Rand) []float64 {
	d, k0 := p0.w0.Dims()
	x, z := make([]float64, n*d), make([]float64, k0)
	for i := range n {
		for j := range z {
			z[j] = rng.NormFloat64()
		}
		for l := range d {
			e := rng.NormFloat64()
			if p0.heavy { // t₃/√3, of variance 1
				a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
				e /= math.Sqrt(a*a + b*b + c*c)
			}
			x[i*d+l] = math.Sqrt(p0.noise) * e
			for j, v := range z {
				x[i*d+l] += p0.w0.At(l, j) * v
			}
		}
	}
	return x
}

// gaussian is the normal law with the covariance of P⁰: P⁰ itself, unless it is heavy-tailed.
func (p0 truth) gaussian(t testing.TB) *distmv.Normal {
	law, err := Law(p0.w0, p0.noise)
	require.NoError(t, err)
	return law
}

// choose fits all ranks to n rows of P⁰ under the posterior tempered by alpha, and returns the
// selection and the index of K̂ under equal weights of the ranks.
func (p0 truth) choose(t testing.TB, n int, alpha float64, ks []int, rng *rand.Rand) (*framework.Selection[*Posterior, *Statistics], int) {
	d, _ := p0.w0.Dims()
	mo := moments(t, p0.sample(n, rng), d)
	tempered := &lineargaussian.Moments{Rows: n, N: alpha * mo.N, D: d, Mean: mo.Mean, Scatter: scaled(mo.Scatter, alpha)}
	m := Compressed{Model{Noise: p0.noise, PriorVariance: 1, Pairs: 64}}
	sel, err := framework.Select(background, m, tempered.Source(), ks, framework.Options{Method: framework.EM, Tolerance: 1e-5, Workers: 1})
	require.NoError(t, err)
	return sel, sel.Best(0)
}

// TestRate measures the expected divergence of theorem 1 of paper C: D = 10, K₀ = 3, α = ½ for
// the posterior and for the divergence, n from 100 to 10,000. The chosen rank is K₀ in every
// data set, and the slope in ln n is −1 within 0.15. With three data sets a size the slope has
// a standard error of about 0.02. For large n the constant is (α·27 + 30)/2 (docs/theory/elbo-ppca.md,
// section 5), which the nine data sets from n = 1000 on meet with a standard error of 3%.
func TestRate(t *testing.T) {
	if testing.Short() {
		t.Skip("an experiment of several seconds")
	}
	const d, k0, alpha = 10, 3, 0.5
	p0 := newTruth(d, k0, false)
	law := p0.gaussian(t)
	var logN, logD []float64
	constant := 0.0 // mean of n·D from n = 1000 on
	for _, n := range []int{100, 316, 1000, 3162, 10000} {
		mean := 0.0
		for set := range *datasets {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(set)))
			sel, best := p0.choose(t, n, alpha, []int{1, 2, 3, 4, 5, 6}, rng)
			assert.Equal(t, k0, sel.K[best], "n = %d, set %d", n, set)
			for i := range sel.K {
				sel.Values[i][0] -= float64(sel.K[i]) * math.Ln2
			}
			assert.Equal(t, k0, sel.K[sel.Best(0)], "with weights 2^−K; n = %d, set %d", n, set)

			v, _, err := sel.Fits[best].Parameters.ExpectedRenyi(alpha, law, 300, rng)
			require.NoError(t, err)
			logN, logD = append(logN, math.Log(float64(n))), append(logD, math.Log(v))
			mean += v / float64(*datasets)
		}
		if n >= 1000 {
			constant += float64(n) * mean / 3
		}
		t.Logf("n = %5d: E D = %.5f, times n = %.2f", n, mean, mean*float64(n))
	}
	intercept, slope := stat.LinearRegression(logN, logD, nil, false)
	residual := 0.0
	for i, x := range logN {
		e := logD[i] - intercept - slope*x
		residual += e * e
	}
	count := float64(len(logN))
	stdErr := math.Sqrt(residual / (count - 2) / ((count - 1) * stat.Variance(logN, nil)))
	t.Logf("slope %.3f ± %.3f", slope, stdErr)
	assert.InDelta(t, -1, slope, 0.15)
	assert.Less(t, stdErr, 0.05)
	assert.InEpsilon(t, (alpha*(d*k0-k0*(k0-1)/2)+d*k0)/2, constant, 0.1)
}

// TestRankIsFoundWithEnoughRows: a third direction with half the variance of the noise is left
// out while there are few rows and found when there are many; a fourth column, which nothing
// speaks for, costs more and more, as ln n does.
func TestRankIsFoundWithEnoughRows(t *testing.T) {
	const d, noise = 8, 0.5
	last := 0.0
	for _, c := range []struct{ n, k int }{{30, 2}, {3000, 3}, {30000, 3}} {
		mo := moments(t, rotated(t, sample(c.n, d, []float64{2, 1.5, 0.5}, noise, 21), d), d)
		o := framework.Options{Method: framework.EM, Tolerance: 0.01 / float64(c.n), Workers: 1}
		sel, err := framework.Select(background, Compressed{Model{Noise: noise, PriorVariance: 1}}, mo.Source(), []int{1, 2, 3, 4, 5}, o)
		require.NoError(t, err)
		cost := sel.Values[2][0] - sel.Values[3][0]
		t.Logf("n = %d: K̂ = %d; a fourth column costs %.2f nats", c.n, sel.K[sel.Best(0)], cost)
		assert.Equal(t, c.k, sel.K[sel.Best(0)], "n = %d", c.n)
		assert.Greater(t, cost, last+2, "n = %d", c.n)
		last = cost
	}
}

// logProb is ln p⁰(x) of the heavy-tailed law with K₀ = 2: the trapezoidal rule over z, which
// converges exponentially.
func (p0 truth) logProb(x []float64) float64 {
	const step, end = 0.15, 6
	_, k0 := p0.w0.Dims()
	if k0 != 2 || !p0.heavy {
		panic("ppca: the density is that of a heavy-tailed law of rank 2")
	}
	sd := math.Sqrt(p0.noise)
	a, b, y := scaled(mat.Col(nil, 0, p0.w0), 1/sd), scaled(mat.Col(nil, 1, p0.w0), 1/sd), scaled(x, 1/sd)
	sum := 0.0
	for z1 := -float64(end); z1 <= end; z1 += step {
		for z2 := -float64(end); z2 <= end; z2 += step {
			product := 1.0
			for l, v := range y {
				e := v - a[l]*z1 - b[l]*z2
				product *= 1 + e*e // t₃/√3 has the density 2/(π(1 + e²)²)
			}
			sum += math.Exp(-(z1*z1+z2*z2)/2) / (product * product)
		}
	}
	return math.Log(sum*step*step/(2*math.Pi)) + float64(len(x))*math.Log(2/math.Pi/sd)
}

// TestHeavyTails fits normal noise to noise of Student's t₃. With D = 10 and K₀ = 2 the density
// p⁰ is a double integral, so that D_½(P_W, P⁰) = −2 ln E_{P⁰}(p_W/p⁰)^½ can be had by Monte
// Carlo, with the same rows of P⁰ for all ranks. On average over data sets, as theorem 1 has
// it, the chosen rank's expected divergence is compared with the best rank's: within 10% on these data sets, which is our
// threshold, as the paper compares with a bound. So is
// KL(P⁰, P_W) = KL(P⁰, G) + KL(G, P_W), G normal with the covariance of P⁰. The test also
// prints the part that depends on the rank, KL(G, P_W), and the worst data set: now and then a
// heavy tail makes a direction of its own, and a rank too many.
func TestHeavyTails(t *testing.T) {
	if testing.Short() {
		t.Skip("an experiment of several seconds")
	}
	const d, k0, alpha, rows = 10, 2, 0.5, 1500
	p0 := newTruth(d, k0, true)
	g := p0.gaussian(t)
	rng := rand.New(rand.NewPCG(8, 8))
	x := p0.sample(rows, rng)
	logP := make([]float64, rows)
	floor := 0.0
	for i := range logP {
		row := x[i*d : (i+1)*d]
		logP[i] = p0.logProb(row)
		floor += (logP[i] - g.LogProb(row)) / rows
	}
	assert.Positive(t, floor)
	t.Logf("KL(P⁰, G) = %.3f", floor)
	for _, n := range []int{100, 1000, 10000} {
		ranks := map[int]int{}
		var half, toG ratio
		for range *datasets {
			sel, best := p0.choose(t, n, alpha, []int{1, 2, 3, 4, 5}, rng)
			ranks[sel.K[best]]++
			a, b := make([]float64, len(sel.K)), make([]float64, len(sel.K))
			for i, fit := range sel.Fits {
				var err error
				a[i], _, err = fit.Parameters.Expect(func(law *distmv.Normal) float64 {
					sum := 0.0
					for r := range rows {
						sum += math.Exp((law.LogProb(x[r*d:(r+1)*d]) - logP[r]) / 2)
					}
					return -2 * math.Log(sum/rows)
				}, 10, rng)
				require.NoError(t, err)
				b[i], _, err = fit.Parameters.Expect(func(law *distmv.Normal) float64 {
					return distmv.KullbackLeibler{}.DistNormal(g, law)
				}, 200, rng)
				require.NoError(t, err)
			}
			half.add(a, best)
			toG.add(b, best)
		}
		ofHalf, halfErr := half.of(0)
		ofKL, klErr := toG.of(floor)
		t.Logf("n = %5d: ranks %v", n, ranks)
		t.Logf("           D½(P_W, P⁰): chosen %.4f, best %.4f, ratio %.3f ± %.3f; worst data set %.3f",
			stat.Mean(half.chosen, nil), stat.Mean(half.best, nil), ofHalf, halfErr, half.worst())
		t.Logf("           KL(P⁰, P_W): ratio %.3f ± %.3f; KL(G, P_W): chosen %.5f, best %.5f", ofKL, klErr, stat.Mean(toG.chosen, nil), stat.Mean(toG.best, nil))
		assert.Less(t, ofHalf, 1.1, "n = %d", n)
		assert.Less(t, ofKL, 1.1, "n = %d", n)
	}
}

// A ratio compares the chosen rank with the best one, data set by data set.
type ratio struct{ chosen, best []float64 }

// add adds a data set's divergences.
func (r *ratio) add(divergences []float64, chosen int) {
	r.chosen, r.best = append(r.chosen, divergences[chosen]), append(r.best, slices.Min(divergences))
}

// of is the ratio of the means, each more by floor, and its standard error to first order.
func (r *ratio) of(floor float64) (mean, stdErr float64) {
	best := floor + stat.Mean(r.best, nil)
	mean = (floor + stat.Mean(r.chosen, nil)) / best
	residual := make([]float64, len(r.best))
	for i, b := range r.best {
		residual[i] = r.chosen[i] + floor - mean*(b+floor)
	}
	return mean, stat.StdDev(residual, nil) / math.Sqrt(float64(len(residual))) / best
}

// worst is the largest ratio of a data set.
func (r *ratio) worst() float64 {
	most := 0.0
	for i, b := range r.best {
		most = max(most, r.chosen[i]/b)
	}
	return most
}
