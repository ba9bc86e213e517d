package prior

import (
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/internal/special"
)

// NormalInverseGamma is the distribution of the mean μ and variance s² of one column,
//
//	μ | s² ~ N(Mean, s²/Kappa),   s² ~ InverseGamma(Shape, Rate),
//
// without its constant
//
//	(s²)^−(Shape+3/2) exp(−[Rate + Kappa(μ−Mean)²/2]/s²),   s² > 0,
//
// with respect to μ and s². It is [NormalInverseWishart] with D = 1, ν = 2·Shape,
// Ψ = 2·Rate, and the prior of a Gaussian with diagonal covariance, one for each
// column. Those with Kappa = 2·Shape − 3 have the form of [Conjugate] (K, Example A.2.1: T = (x, x²), η = (μ/s²,
// −1/(2s²))), with ν = Kappa and νχ = (Kappa·Mean, 2·Rate + Kappa·Mean²). The others are conjugate too; they count
// rows for the mean and for the variance separately.
type NormalInverseGamma struct {
	Mean  float64 `json:"mean"`
	Kappa float64 `json:"kappa"` // number of rows from which the mean is known
	Shape float64 `json:"shape"` // of 1/s²: half the number of rows from which the variance is known
	Rate  float64 `json:"rate"`  // of 1/s²: half the sum of squares of these rows
}

// Check returns an error unless Mean is finite and the other numbers are positive and finite.
func (p NormalInverseGamma) Check() error {
	return first(
		finite("NormalInverseGamma.Mean", p.Mean), positive("NormalInverseGamma.Kappa", p.Kappa),
		positive("NormalInverseGamma.Shape", p.Shape), positive("NormalInverseGamma.Rate", p.Rate))
}

// LogNorm returns ½ ln(2π/Kappa) + ln Γ(Shape) − Shape·ln Rate, in nats: the log of the
// integral over μ and s² of the expression in the type's comment. The evidence of n
// rows is LogNorm of the posterior − LogNorm of the prior − (n/2) ln 2π.
func (p NormalInverseGamma) LogNorm() float64 {
	return special.HalfLogTwoPi - math.Log(p.Kappa)/2 + p.Precision().LogNorm()
}

// Precision returns the distribution of 1/s²: the expected squared distance of a row x, E[(x−μ)²/s²], is
// 1/Kappa + E[1/s²](x−Mean)².
func (p NormalInverseGamma) Precision() Gamma { return Gamma{p.Shape, p.Rate} }

// Update returns the posterior after n ≥ 0 rows (n may be a sum of responsibilities), given their mean and the sum of
// their squared deviations from it. If n = 0, the mean is not used and may be NaN.
func (p NormalInverseGamma) Update(n, mean, squares float64) NormalInverseGamma {
	if n == 0 {
		return p
	}
	kappa := p.Kappa + n
	shift := mean - p.Mean
	return NormalInverseGamma{
		Mean:  p.Mean + n/kappa*shift,
		Kappa: kappa,
		Shape: p.Shape + n/2,
		Rate:  p.Rate + squares/2 + p.Kappa*(n/kappa)*shift*shift/2,
	}
}

// Mode returns the point at which the joint density of μ and s² is greatest: Mean and Rate/(Shape + 3/2).
func (p NormalInverseGamma) Mode() (mean, variance float64) {
	return p.Mean, p.Rate / (p.Shape + 1.5)
}

// LogProb returns the joint log density at a mean and a variance, in nats; −Inf if the variance is not positive and
// finite, or the mean not finite.
func (p NormalInverseGamma) LogProb(mean, variance float64) float64 {
	if !(variance > 0) || math.IsInf(variance, 1) || math.IsNaN(mean) || math.IsInf(mean, 0) {
		return math.Inf(-1)
	}
	shift := mean - p.Mean
	return -(p.Shape+1.5)*math.Log(variance) - (p.Rate+p.Kappa*shift*shift/2)/variance - p.LogNorm()
}

// Rand draws a mean and a variance. A variance outside e^±700, which is likely if Shape is below 0.001, is returned
// as that bound.
func (p NormalInverseGamma) Rand(rng *rand.Rand) (mean, variance float64) {
	logVariance := math.Log(p.Rate) - randLogGamma(rng, p.Shape)
	logVariance = min(max(logVariance, -700), 700)
	deviation := math.Exp((logVariance - math.Log(p.Kappa)) / 2)
	return p.Mean + deviation*rng.NormFloat64(), math.Exp(logVariance)
}
