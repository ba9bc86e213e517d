package prior_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/prior"
)

// family is an exponential family in the form of K, A.2: log g(η), and the parameter
// in which a named prior has its density, as a function of η.
type family struct {
	name      string
	logG      func(eta []float64) float64
	parameter func(dst, eta []float64)
	logProb   func(parameter []float64) float64
	form      prior.Conjugate
	points    [][]float64 // of η
}

func families(t *testing.T) []family {
	beta := prior.Beta{A: 0.7, B: 3}
	dirichlet := prior.Dirichlet{Alpha: 0.4}
	poisson, exponential := prior.Gamma{Shape: 2, Rate: 0.3}, prior.Gamma{Shape: 4, Rate: 5}
	gaussian := prior.NormalInverseGamma{Mean: -1, Kappa: 2, Shape: 2.5, Rate: 0.8}
	plane := prior.NormalInverseWishart{Mean: []float64{1, -2}, Kappa: 1.5, Nu: 5.5, Scale: []float64{2, 0.3, 0.3, 1}}
	softmax := func(dst, eta []float64) {
		norm := floats.LogSumExp(append([]float64{0}, eta...))
		for i, v := range eta {
			dst[i] = math.Exp(v - norm)
		}
	}
	return []family{{
		name:      "Beta and Bernoulli, η = logit p",
		logG:      func(eta []float64) float64 { return -math.Log1p(math.Exp(eta[0])) },
		parameter: softmax,
		logProb:   func(p []float64) float64 { return beta.LogProb(p[0]) },
		form:      prior.Conjugate{Nu: beta.A + beta.B, Chi: []float64{beta.Mean()}},
		points:    [][]float64{{-3}, {0.1}, {2}},
	}, {
		name:      "Dirichlet and categorical, η_i = ln(p_i/p_n)",
		logG:      func(eta []float64) float64 { return -math.Log(1 + math.Exp(eta[0]) + math.Exp(eta[1])) },
		parameter: softmax,
		logProb: func(p []float64) float64 {
			return dirichlet.Concentrations(3).LogProb([]float64{p[0], p[1], 1 - p[0] - p[1]})
		},
		form:   prior.Conjugate{Nu: 3 * dirichlet.Alpha, Chi: []float64{1. / 3, 1. / 3}},
		points: [][]float64{{-3, 1}, {0.1, 0.2}, {2, -1}},
	}, {
		name:      "Gamma and Poisson, η = ln λ",
		logG:      func(eta []float64) float64 { return -math.Exp(eta[0]) },
		parameter: func(dst, eta []float64) { dst[0] = math.Exp(eta[0]) },
		logProb:   func(p []float64) float64 { return poisson.LogProb(p[0]) },
		form:      prior.Conjugate{Nu: poisson.Rate, Chi: []float64{poisson.Shape / poisson.Rate}},
		points:    [][]float64{{-3}, {0.1}, {2}},
	}, {
		name:      "Gamma and exponential, η = −λ",
		logG:      func(eta []float64) float64 { return math.Log(-eta[0]) },
		parameter: func(dst, eta []float64) { dst[0] = -eta[0] },
		logProb:   func(p []float64) float64 { return exponential.LogProb(p[0]) },
		form:      prior.Conjugate{Nu: exponential.Shape - 1, Chi: []float64{exponential.Rate / (exponential.Shape - 1)}},
		points:    [][]float64{{-3}, {-0.1}, {-1}},
	}, {
		name:      "NormalInverseGamma and Gaussian, η = (μ/s², −1/(2s²)), K, Example A.2.1",
		logG:      func(eta []float64) float64 { return math.Log(-2*eta[1])/2 + eta[0]*eta[0]/(4*eta[1]) },
		parameter: func(dst, eta []float64) { dst[0], dst[1] = -eta[0]/(2*eta[1]), -1/(2*eta[1]) },
		logProb:   func(p []float64) float64 { return gaussian.LogProb(p[0], p[1]) },
		form:      prior.Conjugate{Nu: gaussian.Kappa, Chi: []float64{gaussian.Mean, 2*gaussian.Rate/gaussian.Kappa + gaussian.Mean*gaussian.Mean}},
		points:    [][]float64{{-3, -1}, {0.1, -2}, {1, -0.3}},
	}, {
		// T = (x₁, x₂, x₁², x₁x₂, x₂²), η = (Λμ, −Λ₁₁/2, −Λ₁₂, −Λ₂₂/2); parameters μ, Σ₁₁, Σ₁₂, Σ₂₂.
		name: "NormalInverseWishart and Gaussian of two columns",
		logG: func(eta []float64) float64 {
			det := 4*eta[2]*eta[4] - eta[3]*eta[3]
			distance := (-2*eta[4]*eta[0]*eta[0] + 2*eta[3]*eta[0]*eta[1] - 2*eta[2]*eta[1]*eta[1]) / det
			return math.Log(det)/2 - distance/2
		},
		parameter: func(dst, eta []float64) {
			det := 4*eta[2]*eta[4] - eta[3]*eta[3]
			dst[2], dst[3], dst[4] = -2*eta[4]/det, eta[3]/det, -2*eta[2]/det
			dst[0], dst[1] = dst[2]*eta[0]+dst[3]*eta[1], dst[3]*eta[0]+dst[4]*eta[1]
		},
		logProb: func(p []float64) float64 {
			value, err := plane.LogProb(p[:2], []float64{p[2], p[3], p[3], p[4]})
			require.NoError(t, err)
			return value
		},
		form:   prior.Conjugate{Nu: plane.Kappa, Chi: []float64{1, -2, 2/plane.Kappa + 1, 0.3/plane.Kappa - 2, 1/plane.Kappa + 4}},
		points: [][]float64{{-3, 1, -1, 0.5, -2}, {0.1, 0, -0.7, 0, -0.6}, {1, 2, -0.3, -0.2, -1}},
	}}
}

// The named priors are ν ln g(η) + νηᵀχ up to a constant, with the ν and χ that their
// comments give, once their densities are transformed to η.
func TestNamedPriorsAreOfTheConjugateForm(t *testing.T) {
	for _, f := range families(t) {
		require.NoError(t, f.form.Check(), f.name)
		var constants []float64
		for _, eta := range f.points {
			n := len(eta)
			jacobian, parameter := mat.NewDense(n, n, nil), make([]float64, n)
			fd.Jacobian(jacobian, f.parameter, eta, &fd.JacobianSettings{Formula: fd.Central})
			logJacobian, _ := mat.LogDet(jacobian)
			f.parameter(parameter, eta)
			pseudo := f.form.Pseudo(nil)
			constants = append(constants, f.logProb(parameter)+logJacobian-pseudo[0]*f.logG(eta)-floats.Dot(eta, pseudo[1:]))
		}
		for _, c := range constants {
			closeTo(t, constants[0], c, 1e-7, f.name)
		}
	}
}

func TestPseudoReusesTheDestination(t *testing.T) {
	c := prior.Conjugate{Nu: 2, Chi: []float64{0.5, -3}}
	dst := make([]float64, 3)
	assert.Zero(t, testing.AllocsPerRun(10, func() { c.Pseudo(dst) }))
	assert.Equal(t, []float64{2, 1, -6}, dst)
	assert.Equal(t, dst, c.Pseudo(nil))
}
