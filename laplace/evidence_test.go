package laplace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
)

// gaussian is −½(θ−m)ᵀP(θ−m) + c, with evidence c + (d/2) ln 2π − ½ ln|P|.
func gaussian(p mat.Symmetric, m []float64, c float64) func([]float64) float64 {
	return func(theta []float64) float64 {
		delta := mat.NewVecDense(len(m), nil)
		delta.SubVec(mat.NewVecDense(len(m), theta), mat.NewVecDense(len(m), m))
		return c - mat.Inner(delta, p, delta)/2
	}
}

func TestEvidenceOfGaussianIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 1))
	for _, d := range []int{1, 2, 5, 12} {
		for _, units := range []float64{1e-8, 1, 1e6} {
			p, m := randomSPD(rng, d), make([]float64, d)
			for i := range m {
				m[i] = rng.NormFloat64() * units
			}
			p.ScaleSym(1/(units*units), p)
			h := gaussian(p, m, -3)
			want := -3 + float64(d)/2*math.Log(2*math.Pi) - NewDense(p).LogDet()/2
			name := fmt.Sprintf("d = %d in units of %v", d, units)

			got, err := LogEvidence(h, m, nil)
			require.NoError(t, err, name)
			assert.InDelta(t, want, got, 1e-7, name)

			got, err = LogEvidence(h, m, &Options{Concurrent: true})
			require.NoError(t, err, name)
			assert.InDelta(t, want, got, 1e-7, name)

			got, err = LogEvidence(h, m, &Options{Hessian: func(dst *mat.SymDense, _ []float64) { dst.ScaleSym(-1, p) }})
			require.NoError(t, err, name)
			assert.InDelta(t, want, got, 1e-11*max(1, math.Abs(want)), name)
		}
	}
}

// conjugate is a model with known evidence: h, its mode and exact ln p(X) for n
// observations, h″, and the limit of n·(exact − Laplace) by Stirling's series.
type conjugate struct {
	name   string
	at     func(n float64) (h func([]float64) float64, mode []float64, exact float64)
	second func(n float64, theta float64) float64
	limit  float64
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

var conjugates = []conjugate{{
	// 30% ones under Beta(½, ½), in θ = logit μ, Jacobian μ(1−μ) included.
	name: "Beta–Bernoulli, logit",
	at: func(n float64) (func([]float64) float64, []float64, float64) {
		a, b := 0.5+0.3*n, 0.5+0.7*n
		norm := mathext.Lbeta(0.5, 0.5)
		h := func(t []float64) float64 {
			return -a*math.Log1p(math.Exp(-t[0])) - b*math.Log1p(math.Exp(t[0])) - norm
		}
		return h, []float64{math.Log(a / b)}, mathext.Lbeta(a, b) - norm
	},
	second: func(n, t float64) float64 {
		mu := 1 / (1 + math.Exp(-t))
		return -(1 + n) * mu * (1 - mu)
	},
	limit: (1/0.3 + 1/0.7 - 1) / 12,
}, {
	// The same under Beta(1, 1) in θ = 2 arcsin √μ, dμ = √(μ(1−μ)) dθ.
	name: "Beta–Bernoulli, arcsine",
	at: func(n float64) (func([]float64) float64, []float64, float64) {
		a, b := 0.5+0.3*n, 0.5+0.7*n
		h := func(t []float64) float64 {
			s, c := math.Sincos(t[0] / 2)
			return 2*a*math.Log(s) + 2*b*math.Log(c)
		}
		return h, []float64{2 * math.Atan(math.Sqrt(a/b))}, mathext.Lbeta(a+0.5, b+0.5)
	},
	second: func(n, t float64) float64 {
		s, c := math.Sincos(t / 2)
		return -(0.5+0.3*n)/2/(s*s) - (0.5+0.7*n)/2/(c*c)
	},
	limit: -(1/0.3 + 1/0.7 + 2) / 24,
}, {
	// Mean 1.5 under Gamma(3, 2), in θ = ln λ; Σ ln x! is dropped on both sides.
	name: "Gamma–Poisson, log",
	at: func(n float64) (func([]float64) float64, []float64, float64) {
		a, b := 3+1.5*n, 2+n
		norm := lgamma(3) - 3*math.Log(2)
		h := func(t []float64) float64 { return a*t[0] - b*math.Exp(t[0]) - norm }
		return h, []float64{math.Log(a / b)}, lgamma(a) - a*math.Log(b) - norm
	},
	second: func(n, t float64) float64 { return -(2 + n) * math.Exp(t) },
	limit:  1. / 18,
}}

// Lemma 3 (eq. 9): the full Laplace formula errs by O(1/N), with the right constant.
// A prior counts as some rows, which flattens the slope near N = 10: it measures
// −0.979 to −0.986, but −0.9495 in the logit under Beta(2, 1), three rows strong, which
// is why the prior there is a weaker one.
func TestEvidenceErrorFallsLikeOneOverN(t *testing.T) {
	for _, model := range conjugates {
		for _, numeric := range []bool{true, false} {
			var logN, logError []float64
			var last float64
			for _, n := range []float64{10, 30, 100, 300, 1000, 3000, 10000} {
				h, mode, exact := model.at(n)
				options := new(Options)
				if !numeric {
					options.Hessian = func(dst *mat.SymDense, theta []float64) { dst.SetSym(0, 0, model.second(n, theta[0])) }
				}
				got, err := LogEvidence(h, mode, options)
				require.NoError(t, err, model.name)
				logN = append(logN, math.Log(n))
				logError = append(logError, math.Log(math.Abs(got-exact)))
				last = n * (exact - got)
			}
			_, slope := stat.LinearRegression(logN, logError, nil, false)
			t.Logf("%s, numeric %v: slope %.4f, N·error %.5f of %.5f", model.name, numeric, slope, last, model.limit)
			assert.InEpsilon(t, model.limit, last, 0.01, "%s, numeric %v", model.name, numeric)
			assert.InDelta(t, -1, slope, 0.05, "%s, numeric %v: %v", model.name, numeric, logError)
		}
	}
}

// Lemma 3 in four dimensions: Dirichlet–categorical with five categories, in
// log-ratios to the last; ∏ p_k^{α_k} carries the Jacobian.
func TestEvidenceErrorFallsLikeOneOverNInManyDimensions(t *testing.T) {
	share := []float64{0.1, 0.15, 0.2, 0.25, 0.3}
	var logN, logError []float64
	for _, n := range []float64{30, 100, 300, 1000, 3000} {
		alpha := make([]float64, len(share))
		exact, total := 0.0, 0.0
		for k, s := range share {
			alpha[k] = 1 + n*s
			exact += lgamma(alpha[k])
			total += alpha[k]
		}
		exact -= lgamma(total)
		h := func(t []float64) float64 {
			norm, sum := 1.0, 0.0
			for k, v := range t {
				norm += math.Exp(v)
				sum += alpha[k] * v
			}
			return sum - total*math.Log(norm)
		}
		mode := make([]float64, 4)
		for k := range mode {
			mode[k] = math.Log(alpha[k] / alpha[4])
		}
		got, err := LogEvidence(h, mode, nil)
		require.NoError(t, err)
		logN = append(logN, math.Log(n))
		logError = append(logError, math.Log(math.Abs(got-exact)))
	}
	_, slope := stat.LinearRegression(logN, logError, nil, false)
	assert.InDelta(t, -1, slope, 0.05) // measures −0.960
}

// ∫ exp h(θ) dθ with θ = cφ differs by the Jacobian alone, however small or large c.
func TestEvidenceFollowsUnitsOfTheParameters(t *testing.T) {
	h, mode, _ := conjugates[0].at(50)
	want, err := LogEvidence(h, mode, nil)
	require.NoError(t, err)
	for _, c := range []float64{1e-9, 1e-3, 1e3, 1e9} {
		scaled := func(t []float64) float64 { return h([]float64{t[0] / c}) }
		got, err := LogEvidence(scaled, []float64{mode[0] * c}, nil)
		require.NoError(t, err)
		assert.InDelta(t, want+math.Log(c), got, 1e-8, "c = %v", c)
	}
}

func TestEvidenceNearEdgeOfDomain(t *testing.T) {
	// Gamma(3/2, 1) in its own coordinate: mode ½, sd 0.7, nothing below 0.
	h := func(t []float64) float64 {
		if t[0] <= 0 {
			return math.Inf(-1)
		}
		return math.Log(t[0])/2 - t[0]
	}
	got, err := LogEvidence(h, []float64{0.5}, nil)
	require.NoError(t, err)
	want := h([]float64{0.5}) + math.Log(2*math.Pi)/2 - math.Log(2)/2 // h'' = −½/θ² = −2
	assert.InDelta(t, want, got, 1e-8)
}

func TestEvidenceNamesWhatIsWrong(t *testing.T) {
	quadratic := func(t []float64) float64 { return -t[0]*t[0] - t[1]*t[1] }
	origin := []float64{0, 0}
	constant := func(v float64) func([]float64) float64 { return func([]float64) float64 { return v } }
	spoiled := func(dst *mat.SymDense, _ []float64) { dst.SetSym(0, 1, math.NaN()) }
	saddle := func(t []float64) float64 { return t[1]*t[1]/2 - t[0]*t[0]/2 }
	for name, c := range map[string]struct {
		h       func([]float64) float64
		mode    []float64
		options *Options
		is      error
		says    string
	}{
		"empty":            {h: quadratic, says: "empty mode"},
		"NaN mode":         {h: quadratic, mode: []float64{0, math.NaN()}, says: "coordinate 1 of the mode is NaN"},
		"infinite mode":    {h: quadratic, mode: []float64{math.Inf(-1), 0}, says: "coordinate 0 of the mode is -Inf"},
		"h NaN":            {h: constant(math.NaN()), mode: origin, says: "h is NaN at the mode"},
		"h −Inf":           {h: constant(math.Inf(-1)), mode: origin, says: "h is -Inf at the mode"},
		"h constant":       {h: constant(1), mode: origin, is: ErrNotMaximum, says: "eigenvalue"},
		"Hessian NaN":      {h: quadratic, mode: origin, options: &Options{Hessian: spoiled}, says: "Hessian of h is not finite"},
		"off the mode":     {h: quadratic, mode: []float64{0, 0.02}, is: ErrNotStationary, says: "Newton decrement 0.0008"},
		"minimum":          {h: func(t []float64) float64 { return -quadratic(t) }, mode: origin, is: ErrNotMaximum, says: "eigenvalue"},
		"saddle":           {h: saddle, mode: origin, is: ErrNotMaximum, says: "-1, mostly along coordinate 1"},
		"flat direction":   {h: func(t []float64) float64 { return -math.Pow(t[0]+t[1]-2, 2) - 1 }, mode: []float64{1, 1}, is: ErrNotMaximum, says: "smallest eigenvalue"},
		"curved flat line": {h: func(t []float64) float64 { return 100*math.Log(t[0]*t[1]) - 100*t[0]*t[1] }, mode: []float64{0.5, 2}, is: ErrNotMaximum, says: "smallest eigenvalue"},
		"unused parameter": {h: func(t []float64) float64 { return -t[0] * t[0] }, mode: origin, is: ErrNotMaximum, says: "along coordinate 1"},
		"flat, analytic": {h: func(t []float64) float64 { return -math.Pow(t[0]+t[1], 2) }, mode: origin, is: ErrNotMaximum, says: "smallest eigenvalue",
			options: &Options{Hessian: func(dst *mat.SymDense, _ []float64) { dst.CopySym(mat.NewSymDense(2, []float64{-2, -2, -2, -2})) }}},
	} {
		t.Run(name, func(t *testing.T) {
			value, err := LogEvidence(c.h, c.mode, c.options)
			assert.True(t, math.IsNaN(value))
			require.ErrorContains(t, err, c.says)
			if c.is != nil {
				assert.ErrorIs(t, err, c.is)
			}
		})
	}
	near := []float64{0, 0.02}
	_, err := LogEvidence(quadratic, near, &Options{Tolerance: 1e-3})
	assert.NoError(t, err, "the tolerance is the caller's")
	assert.Equal(t, []float64{0, 0.02}, near)
	assert.PanicsWithValue(t, badScale, func() { _, _ = LogEvidence(quadratic, origin, &Options{Scale: []float64{1}}) })
}
