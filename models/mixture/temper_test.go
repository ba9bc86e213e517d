package mixture_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// TestTemperedBoundOfOneComponentIsTheTemperedEvidence: with K = 1 nothing is factorised, and
// the bound is ln ∫ p(X|ξ)^α p(ξ) dξ. The integral is taken by quadrature over ξ, and in closed
// form: of normalising constants with N, Σx, … times α, for which Σ_n ln h(x_n) counts α times too.
func TestTemperedBoundOfOneComponentIsTheTemperedEvidence(t *testing.T) {
	const n = 20
	rng := rand.New(rand.NewPCG(8, 1))
	gamma, beta := prior.Gamma{Shape: 2.5, Rate: 0.7}, prior.Beta{A: 0.8, B: 1.7}
	gaussian := prior.NormalInverseGamma{Mean: 0.4, Kappa: 0.3, Shape: 1.2, Rate: 2}
	for _, c := range []struct {
		name   string
		family family.Family
		prior  prior.Prior
		draw   func() float64
		// logDensity is ln p(x|ξ), and the prior's density of ξ.
		logDensity func(x float64, xi []float64) float64
		logPrior   func(xi []float64) float64
		low, high  []float64 // where ξ has all its mass
		closed     func(n, sum, square, base float64) float64
	}{
		{"bernoulli", family.Bernoulli{}, beta, func() float64 { return float64(rng.IntN(3) / 2) },
			func(x float64, xi []float64) float64 { return x*math.Log(xi[0]) + (1-x)*math.Log1p(-xi[0]) },
			func(xi []float64) float64 { return distuv.Beta{Alpha: beta.A, Beta: beta.B}.LogProb(xi[0]) },
			[]float64{0}, []float64{1},
			func(n, sum, _, _ float64) float64 {
				return mathext.Lbeta(beta.A+sum, beta.B+n-sum) - mathext.Lbeta(beta.A, beta.B)
			}},
		{"poisson", family.Poisson{}, gamma, func() float64 { return float64(rng.IntN(7)) },
			func(x float64, xi []float64) float64 { return distuv.Poisson{Lambda: xi[0]}.LogProb(x) },
			func(xi []float64) float64 { return distuv.Gamma{Alpha: gamma.Shape, Beta: gamma.Rate}.LogProb(xi[0]) },
			[]float64{0}, []float64{60},
			func(n, sum, _, base float64) float64 {
				return base + prior.Gamma{Shape: gamma.Shape + sum, Rate: gamma.Rate + n}.LogNorm() - gamma.LogNorm()
			}},
		{"gaussian", normal.Family{Covariance: normal.Diagonal}, gaussian, func() float64 { return 1 + 2*rng.NormFloat64() },
			func(x float64, xi []float64) float64 { // ξ = ((μ − m)√κ/σ, ln σ²)
				sigma := math.Exp(xi[1] / 2)
				return distuv.Normal{Mu: gaussian.Mean + sigma*xi[0]/math.Sqrt(gaussian.Kappa), Sigma: sigma}.LogProb(x)
			},
			func(xi []float64) float64 {
				return distuv.UnitNormal.LogProb(xi[0]) + distuv.InverseGamma{Alpha: gaussian.Shape, Beta: gaussian.Rate}.LogProb(math.Exp(xi[1])) + xi[1]
			},
			[]float64{-8, -9}, []float64{8, 25},
			func(n, sum, square, _ float64) float64 {
				return -n/2*math.Log(2*math.Pi) + gaussian.Update(n, sum/n, square-sum*sum/n).LogNorm() - gaussian.LogNorm()
			}},
	} {
		x := make([]float64, n)
		var sum, square, base float64
		for i := range x {
			x[i] = c.draw()
			sum += x[i]
			square += x[i] * x[i]
			lg, _ := math.Lgamma(x[i] + 1)
			base -= lg
		}
		m := mixture.Variational{Family: c.family, Prior: c.prior}
		for _, alpha := range []float64{1, 0.5, 0.1, 0.01} {
			got := fit(t, m, source(t, x, n, 1), framework.Options{K: 1, Method: framework.EM, Temper: alpha}).Value
			assert.InDelta(t, c.closed(alpha*n, alpha*sum, alpha*square, alpha*base), got, 1e-10, "%s, α = %v", c.name, alpha)

			if c.name == "gaussian" { // the same with a covariance matrix, 1×1
				full := mixture.Variational{Family: normal.Family{}, Prior: prior.NormalInverseWishart{
					Mean: []float64{gaussian.Mean}, Kappa: gaussian.Kappa, Nu: 2 * gaussian.Shape, Scale: []float64{2 * gaussian.Rate}}}
				assert.InDelta(t, got, fit(t, full, source(t, x, n, 1), framework.Options{K: 1, Method: framework.EM, Temper: alpha}).Value, 1e-10)
			}
			logIntegrand := func(xi []float64) float64 {
				v := c.logPrior(xi)
				for _, x := range x {
					v += alpha * c.logDensity(x, xi)
				}
				return v
			}
			assert.InDelta(t, logIntegral(c.low, c.high, 250, logIntegrand), got, 1e-4, "%s, α = %v, by quadrature", c.name, alpha)
		}
	}
}

// logIntegral is ln ∫ e^f over a box of one or two sides, by Gauss's rule of some points a side.
func logIntegral(low, high []float64, points int, f func(xi []float64) float64) float64 {
	at, weight := make([]float64, points), make([]float64, points)
	quad.Legendre{}.FixedLocations(at, weight, low[0], high[0])
	var terms []float64
	if len(low) == 1 {
		for i, v := range at {
			terms = append(terms, math.Log(weight[i])+f([]float64{v}))
		}
		return floats.LogSumExp(terms)
	}
	other, otherWeight := make([]float64, points), make([]float64, points)
	quad.Legendre{}.FixedLocations(other, otherWeight, low[1], high[1])
	for i, u := range at {
		for j, v := range other {
			terms = append(terms, math.Log(weight[i]*otherWeight[j])+f([]float64{u, v}))
		}
	}
	return floats.LogSumExp(terms)
}

// TestTemperedBoundOfTwoComponentsIsBelowTheTemperedEvidence, ln ∫ Π_n p(x_n|Π)^α p(Π) dΠ by
// quadrature over the three parameters of two Bernoulli components. With the entropy of q(Z)
// counted in full the bound would be above it.
func TestTemperedBoundOfTwoComponentsIsBelowTheTemperedEvidence(t *testing.T) {
	x := []float64{1, 0, 1, 1, 0, 1, 0, 1, 1, 1}
	ones, n := floats.Sum(x), float64(len(x))
	const points = 40
	at, weight := make([]float64, points), make([]float64, points)
	quad.Legendre{}.FixedLocations(at, weight, 0, 1)
	m := mixture.Variational{Family: family.Bernoulli{}, Prior: prior.Beta{A: 1, B: 1}, Weights: prior.Dirichlet{Alpha: 1}}
	for _, alpha := range []float64{1, 0.5, 0.2, 0.05} {
		var evidence float64
		for i, b := range at {
			for j, u := range at {
				for k, v := range at {
					p := b*u + (1-b)*v
					evidence += weight[i] * weight[j] * weight[k] * math.Exp(alpha*(ones*math.Log(p)+(n-ones)*math.Log1p(-p)))
				}
			}
		}
		res := fit(t, m, source(t, x, len(x), 1), framework.Options{K: 2, Method: framework.EM, Temper: alpha, Tolerance: 1e-13, Restarts: 5})
		assert.Less(t, res.Value, math.Log(evidence), "α = %v", alpha)
		_, entropy, err := framework.LocalStep(context.Background(), m, source(t, x, len(x), 1), res.Parameters, 1)
		require.NoError(t, err)
		t.Logf("α = %v: bound %.4f, evidence %.4f, H(q(Z)) = %.3f", alpha, res.Value, math.Log(evidence), entropy)
		if alpha < 1 {
			assert.Greater(t, res.Value+(1-alpha)*entropy, math.Log(evidence), "this test would notice")
		}
	}
}

// given starts a variational fit where it is told to.
type given struct {
	mixture.Variational
	start *mixture.Posterior
}

func (g given) Init(context.Context, framework.Source[blocks.Rows], int, *rand.Rand) (*mixture.Posterior, error) {
	p := *g.start // the engine overwrites what it is given
	p.Weights, p.Components = slices.Clone(p.Weights), slices.Clone(p.Components)
	return &p, nil
}

// TestTemperedRowsAreRowsOfThatWeight in every family, but for rounding: rows that weigh 1 have
// their logarithms taken together, others one by one.
func TestTemperedRowsAreRowsOfThatWeight(t *testing.T) {
	families, tables := everyFamily(t)
	for i, family := range families {
		src := tables[i]
		n, _ := src.Dims()
		m := mixture.Variational{Family: family}
		start := fit(t, m, src, framework.Options{K: 3, Method: framework.EM, MaxIterations: 1}).Parameters
		for _, alpha := range []float64{0.5, 0.3} {
			w := make([]float64, n)
			for i := range w {
				w[i] = alpha
			}
			weighted, err := src.WithWeights(w)
			require.NoError(t, err)
			o := framework.Options{K: 3, Method: framework.EM, MaxIterations: 40, Workers: 1}
			want := fit(t, given{m, start}, weighted, o)
			o.Temper = alpha
			got := fit(t, given{m, start}, src, o)
			assert.Zero(t, got.Fall, family.Name())
			for k, v := range want.Statistics.Loss {
				assert.InEpsilon(t, v, got.Statistics.Loss[k], 1e-8, family.Name())
			}
			for i, v := range want.Trace {
				bound := 1e-9
				if alpha == 0.5 { // a power of two: the products round alike
					bound = 1e-13
				}
				require.InEpsilon(t, v, got.Trace[i], bound, "%s, iteration %d", family.Name(), i+1)
			}
			for _, workers := range []int{2, 7} {
				o.Workers = workers
				assert.Equal(t, got.Trace, fit(t, given{m, start}, src, o).Trace)
			}
		}
	}
}

// everyFamily has a table for each.
func everyFamily(t testing.TB) (families []family.Family, tables []*blocks.Table) {
	for _, c := range conjugateTwoOfEach() {
		families, tables = append(families, c.family), append(tables, c.table(t))
	}
	for _, form := range []normal.Covariance{normal.Full, normal.Tied, normal.Diagonal, normal.Spherical} {
		families, tables = append(families, normal.Family{Covariance: form}), append(tables, embedded(t, "iris", 4))
	}
	return families, tables
}

// TestTemperedAwayRowsLeaveThePrior in every family, down to the end of the range of float64.
func TestTemperedAwayRowsLeaveThePrior(t *testing.T) {
	families, tables := everyFamily(t)
	for i, family := range families {
		for _, alpha := range []float64{1e-3, 1e-9, 1e-30, 1e-300, 5e-324} {
			res := fit(t, mixture.Variational{Family: family}, tables[i], framework.Options{K: 3, Method: framework.EM, Temper: alpha})
			assert.InDelta(t, 0, res.Value, 1e4*alpha+1e-12, "%s, α = %v", family.Name(), alpha)
			for _, v := range res.Parameters.Weights {
				assert.InDelta(t, 1, v, 1e3*alpha, "%s, α = %v", family.Name(), alpha)
			}
		}
	}
}

// TestSparseRowsTemperAsDenseOnesDo also covers missing values, which the dense table may have
// and which drop out of both terms that α multiplies.
func TestSparseRowsTemperAsDenseOnesDo(t *testing.T) {
	const n, d = 120, 6
	rng := rand.New(rand.NewPCG(2, 9))
	x, ones := make([]float64, n*d), make([][]int, n)
	for i := range n {
		for j := range d {
			if rng.Float64() < []float64{0.2, 0.7}[(i+j/3)%2] {
				x[i*d+j] = 1
				ones[i] = append(ones[i], j)
			}
		}
	}
	sparse, err := blocks.FromOnes(ones, d)
	require.NoError(t, err)
	m := mixture.Variational{Family: family.Bernoulli{}}
	o := framework.Options{K: 2, Method: framework.EM, Temper: 0.4, Seed: 3}
	dense := fit(t, m, source(t, x, n, d), o)
	other, err := framework.Fit(context.Background(), m, sparse, o)
	require.NoError(t, err)
	assert.InEpsilon(t, dense.Value, other.Value, 1e-9)
	assert.InEpsilon(t, 0.4*n, other.N, 1e-12)

	for i := 0; i < len(x); i += 7 {
		x[i] = math.NaN()
	}
	assert.Zero(t, fit(t, m, source(t, x, n, d), o).Fall)
}

func TestTemperedIterationsAllocateNothing(t *testing.T) {
	src := embedded(t, "iris", 4)
	m := mixture.Variational{Family: normal.Family{}}
	count := func(iterations int) float64 {
		o := framework.Options{K: 3, Method: framework.EM, Temper: 0.7, Workers: 1, MaxIterations: iterations, Tolerance: 1e-300}
		return testing.AllocsPerRun(3, func() { fit(t, m, src, o) })
	}
	untempered := func(iterations int) float64 {
		o := framework.Options{K: 3, Method: framework.EM, Workers: 1, MaxIterations: iterations, Tolerance: 1e-300}
		return testing.AllocsPerRun(3, func() { fit(t, m, src, o) })
	}
	assert.LessOrEqual(t, count(60)-count(20), untempered(60)-untempered(20)+10)
}
