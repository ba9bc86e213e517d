package factor

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
)

func fitModel(t *testing.T, src framework.Source[blocks.Rows], o framework.Options) *framework.Result[*Parameters, *Statistics] {
	res, err := framework.Fit(context.Background(), Model{}, src, o)
	require.NoError(t, err)
	return res
}

// draw makes rows of k factors, each of whose loadings are about as large as the noise.
func draw(n, d, k int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	normal := func(_, _ int, _ float64) float64 { return rng.NormFloat64() }
	w, z, x := mat.NewDense(k, d, nil), mat.NewDense(n, k, nil), mat.NewDense(n, d, nil)
	w.Apply(normal, w)
	z.Apply(normal, z)
	x.Mul(z, w)
	x.Apply(func(_, j int, v float64) float64 {
		return float64(10*j) + math.Pow(3, float64(j%3))*(v+(0.6+0.1*float64(j%5))*rng.NormFloat64())
	}, x)
	return x
}

// maximum is ln p(X|W,ψ) at its maximum for k factors, by a search over ψ alone (Lawley & Maxwell 1971), from the covariance.
func maximum(t *testing.T, cov *mat.SymDense, n float64, k int) float64 {
	d := cov.SymmetricDim()
	profile := func(logNoise []float64) float64 {
		scaled := mat.NewSymDense(d, nil)
		for i := range d {
			for j := i; j < d; j++ {
				scaled.SetSym(i, j, cov.At(i, j)*math.Exp(-(logNoise[i]+logNoise[j])/2))
			}
		}
		var eigen mat.EigenSym
		eigen.Factorize(scaled, false)
		value := float64(d)*math.Log(2*math.Pi) + floats.Sum(logNoise)
		for i, v := range eigen.Values(nil) { // ascending
			if i >= d-k && v > 1 {
				value += math.Log(v) + 1
			} else {
				value += v
			}
		}
		return n / 2 * value
	}
	var inverse mat.Dense
	require.NoError(t, inverse.Inverse(cov))
	start := make([]float64, d)
	for j := range d {
		start[j] = math.Log((1 - float64(k)/float64(2*d)) / inverse.At(j, j))
	}
	res, err := optimize.Minimize(optimize.Problem{Func: profile, Grad: func(grad, x []float64) {
		fd.Gradient(grad, profile, x, &fd.Settings{Formula: fd.Central})
	}}, start, &optimize.Settings{GradientThreshold: 1e-4, Converger: &optimize.FunctionConverge{Absolute: 1e-9, Iterations: 20}}, &optimize.BFGS{})
	if res == nil {
		require.NoError(t, err)
	}
	return -res.F
}

// closedForm is FIC of k factors: at a fixed point of gFAB the loadings are those of maximum likelihood, but for a factor
// (1 − D/N)^−½. The proof of docs/theory/bpca.md, section 2, holds for a noise of each column: W S = NCΨ⁻¹WΣ, multiplied by
// WᵀΨ⁻¹, and S = NΣ + ΣAS with A = WᵀΨ⁻¹W give Σ⁻¹S = N I + AS, which by the tilt is (A + I + D S⁻¹)S.
func closedForm(t *testing.T, cov *mat.SymDense, n float64, k int) float64 {
	d := float64(cov.SymmetricDim())
	return maximum(t, cov, n, k) + float64(k)/2*(d+(n-d)*math.Log(1-d/n)) - (d*float64(k)+d)/2*math.Log(n)
}

// covariance is Σ (x − mean)(x − mean)ᵀ/N.
func covariance(s *Statistics, d int) *mat.SymDense {
	var cov mat.SymDense
	cov.ScaleSym(1/s.N, mat.NewSymDense(d, s.XX))
	return &cov
}

// At fixed points of gFAB S = (N − D) I, and FIC, which gFIC is, has the value of the closed form.
func TestFixedPoints(t *testing.T) {
	tables := map[string]*blocks.Table{"marks": marks()}
	for seed := range uint64(3) {
		src, err := blocks.FromMatrix(draw(300, 12, 3, seed))
		require.NoError(t, err)
		tables[fmt.Sprintf("drawn %d", seed)] = src
	}
	for name, src := range tables {
		ks := []int{2, 3} // other K lead to Heywood cases, of which the theorem says nothing
		if name == "marks" {
			ks = []int{1, 2}
		}
		for _, k := range ks {
			res := fitModel(t, src, framework.Options{K: k, FixedK: true, Restarts: 5, Tolerance: 1e-13, MaxIterations: 30000, Also: []framework.Criterion{framework.FIC}})
			d := len(res.Parameters.Mean)
			_, zz := res.Statistics.moments(res.Parameters)
			want := closedForm(t, covariance(res.Statistics, d), res.N, k)
			zz.ScaleSym(1/(res.N-float64(d)), zz)
			worst := 0.0
			for i := range k {
				for j := range k {
					off := zz.At(i, j)
					if i == j {
						off--
					}
					worst = max(worst, math.Abs(off))
				}
			}
			t.Logf("%s, K = %d: FIC %.6f, closed form %.1e more, S/(N − D) − I ≤ %.1e, %d iterations, %v", name, k, res.Value, want-res.Value, worst, res.Iterations, res.Status)
			assert.InDelta(t, want, res.Value, 1e-7)
			assert.Equal(t, res.Value, res.Scores[1].Value)
			assert.Less(t, worst, 1e-5)
		}
	}
}

// gFAB stops at the K at which the closed form is highest, which is the true one, and has its value.
func TestFactorsAreFound(t *testing.T) {
	for seed := range uint64(8) {
		src, err := blocks.FromMatrix(draw(300, 12, 3, seed))
		require.NoError(t, err)
		res := fitModel(t, src, framework.Options{K: 6, Restarts: 3})
		assert.Equal(t, 3, res.Shape.K, "seed %d", seed)
		assert.Zero(t, res.Fall)
		cov := covariance(res.Statistics, 12)
		best := closedForm(t, cov, 300, 3)
		assert.InDelta(t, best, res.Value, 1e-3)
		for _, k := range []int{2, 4} {
			assert.Greater(t, best, closedForm(t, cov, 300, k)+15)
		}
	}
}

// A column that repeats another has no noise: the fit stops at the least that there may be, and gFIC stays finite.
func TestHeywoodCase(t *testing.T) {
	x := draw(100, 4, 1, 1)
	for i := range 100 {
		x.Set(i, 3, x.At(i, 0))
	}
	src, err := blocks.FromMatrix(x)
	require.NoError(t, err)
	res := fitModel(t, src, framework.Options{K: 2})
	t.Logf("K = %d, %.3f, %.4f", res.Shape.K, res.Value, res.Parameters.Noise)
	for _, j := range []int{0, 3} {
		assert.InEpsilon(t, 0.005*res.Parameters.Unit[j], res.Parameters.Noise[j], 1e-9)
	}
}

func TestMoreColumnsThanRows(t *testing.T) {
	src, err := blocks.FromMatrix(draw(6, 6, 1, 1))
	require.NoError(t, err)
	_, err = framework.Fit(context.Background(), Model{}, src, framework.Options{K: 1})
	assert.ErrorContains(t, err, "more rows than the 6 columns")
}

// numeric.Continuous and the model by hand are one model: FIC does not see coordinates.
func TestModelIsTheDensity(t *testing.T) {
	for _, o := range []framework.Options{{K: 1, Method: framework.EM}, {K: 2, Method: framework.EM}, {K: 1, Method: framework.FAB}, {K: 3, Method: framework.FAB}} {
		o.Tolerance = 1e-12
		want, got := fit(Closed{}, marks(), o), fitModel(t, marks(), o)
		t.Logf("%v from %d: K = %d, %.8f, apart %.1e", o.Method, o.K, got.Shape.K, got.Value, got.Value-want.Value)
		assert.Equal(t, want.Shape.K, got.Shape.K)
		assert.InDelta(t, want.Value, got.Value, 1e-8)
	}
}

func TestModelConforms(t *testing.T) {
	x := draw(60, 5, 2, 1)
	latent := func(_ *Statistics, p *Parameters) (x []float64, at func([]float64) *Parameters) {
		d, k := p.loadings().Dims()
		for i := range k { // factor after factor
			for j := range d {
				x = append(x, p.W[j*k+i]/math.Sqrt(p.Noise[j]))
			}
		}
		return x, func(x []float64) *Parameters {
			q := &Parameters{p.D, p.Mean, p.Unit, slices.Clone(p.Noise), slices.Clone(p.W)}
			for i, v := range x {
				q.W[i%d*k+i/d] = v * math.Sqrt(p.Noise[i%d])
			}
			return q
		}
	}
	lvmtest.Test(t, lvmtest.Case[blocks.Rows, *Parameters, *Statistics]{
		Model: Model{}, Data: lvmtest.Matrix(x), K: []int{1, 2}, Latent: latent,
		Units: []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("columns", x, []float64{1000, 1, 0.1, 2, 50})},
		Free: func(s *Statistics, p *Parameters) ([]float64, func([]float64) *Parameters) {
			x, at := latent(s, p)
			n := len(x)
			for _, v := range p.Noise {
				x = append(x, math.Log(v))
			}
			return x, func(v []float64) *Parameters {
				q := at(v[:n])
				for j, log := range v[n:] {
					q.Noise[j] = math.Exp(log)
				}
				return q
			}
		},
		Symmetry: func(p *Parameters, rng *rand.Rand) *Parameters {
			_, k := p.loadings().Dims()
			random := mat.NewDense(k, k, nil)
			random.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, random)
			var qr mat.QR
			var basis mat.Dense
			qr.Factorize(random)
			qr.QTo(&basis)
			_, q, err := Model{}.Rotate(Model{}.NewStatistics(p), p, &basis)
			require.NoError(t, err)
			return q
		},
		// E[z_K] is 0 and so is its variance: z is at 0, whatever the row.
		Degenerate: func(s *Statistics, p *Parameters) (*Statistics, *Parameters, float64) {
			d, k := p.loadings().Dims()
			clear(s.Gain[(k-1)*d:])
			for i := range k {
				s.Cov[i*k+k-1], s.Cov[(k-1)*k+i] = 0, 0
			}
			for j := range d {
				p.W[j*k+k-1] = 0
			}
			return s, p, -s.N / 2 * math.Log(2*math.Pi)
		},
		Sample: func(p *Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
			_, k := p.loadings().Dims()
			z, x := mat.NewDense(n, k, nil), mat.NewDense(n, 5, nil)
			z.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, z)
			x.Mul(z, p.loadings().T())
			x.Apply(func(_, j int, v float64) float64 { return v + p.Mean[j] + math.Sqrt(p.Noise[j])*rng.NormFloat64() }, x)
			return lvmtest.Matrix(x), nil
		},
		SampleK: 1,
	})
}
