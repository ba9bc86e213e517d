package prior

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/special"
)

// IsotropicNormal is the distribution of the means μ of W columns and of the variance σ² that they share,
//
//	μ_j | σ² ~ N(m_j, σ²/κ),   1/σ² ~ Gamma(shape, rate),
//
// stored as the numbers m_1,…,m_W, κ, shape, rate. It is the conjugate prior of a Gaussian with spherical covariance.
// For W = 1 it is [NormalInverseGamma].
type IsotropicNormal []float64

func (p IsotropicNormal) mean() []float64 { return p[:len(p)-3] }
func (p IsotropicNormal) width() float64  { return float64(len(p) - 3) }
func (p IsotropicNormal) kappa() float64  { return p[len(p)-3] }

// precision is the distribution of 1/σ².
func (p IsotropicNormal) precision() Gamma { return Gamma{Shape: p[len(p)-2], Rate: p[len(p)-1]} }

// Update puts the posterior after n > 0 rows into dst (W+3). n may be a sum of responsibilities. Before the call the
// first W numbers of dst must be the means of the rows; squares is the sum of the squared deviations of all columns
// from these means.
func (p IsotropicNormal) Update(n, squares float64, dst IsotropicNormal) {
	kappa, between, w := p.kappa()+n, 0.0, len(p)-3
	for j, m := range p[:w] {
		shift := dst[j] - m
		between += shift * shift
		dst[j] = m + n/kappa*shift
	}
	dst[w] = kappa
	dst[w+1] = p[w+1] + n*float64(w)/2
	dst[w+2] = p[w+2] + (squares+p[w]*(n/kappa)*between)/2
}

// Expected returns E[ln N(x|μ,σ²I)] = constant − ½ precision ‖x−m‖², in nats, where precision is E[1/σ²].
func (p IsotropicNormal) Expected() (constant, precision float64) {
	g := p.precision()
	return -p.width() / 2 * (2*special.HalfLogTwoPi - g.ExpectedLog() + 1/p.kappa()), g.Mean()
}

// Divergence returns KL(p‖from), in nats.
func (p IsotropicNormal) Divergence(from IsotropicNormal) float64 {
	g := p.precision()
	return meanDivergence(p.kappa(), from.kappa(), len(p)-3, g.Mean()*squaredDistance(p.mean(), from.mean())) +
		g.Divergence(from.precision())
}

// Mode returns the variance at which the joint density with the means m is greatest. Each mean contributes a factor
// (σ²)^−½ to the density.
func (p IsotropicNormal) Mode() (variance float64) {
	g := p.precision()
	return g.Rate / (g.Shape + 1 + p.width()/2)
}

// Expectation returns E[σ²] = Rate/(Shape−1). If that does not exist (Shape ≤ 1), it returns Rate/Shape, the inverse
// of the expected precision.
func (p IsotropicNormal) Expectation() (variance float64) {
	g := p.precision()
	if g.Shape > 1 {
		return g.Rate / (g.Shape - 1)
	}
	return g.Rate / g.Shape
}

// LogProb returns the joint log density at means (W) and a variance, in nats; −Inf if the variance is not positive
// and finite, or a mean not finite.
func (p IsotropicNormal) LogProb(mean []float64, variance float64) float64 {
	if sum := floats.Sum(mean); !(variance > 0) || math.IsInf(variance, 1) || sum-sum != 0 {
		return math.Inf(-1)
	}
	g := p.precision()
	logNorm := p.width()*(special.HalfLogTwoPi-math.Log(p.kappa())/2) + g.LogNorm()
	return -(g.Shape+1+p.width()/2)*math.Log(variance) -
		(g.Rate+p.kappa()*squaredDistance(mean, p.mean())/2)/variance - logNorm
}

// Rand draws means into mean (W) and returns a variance, with the bounds of [NormalInverseGamma.Rand].
func (p IsotropicNormal) Rand(rng *rand.Rand, mean []float64) (variance float64) {
	copy(mean, p.mean())
	g := p.precision()
	mean[0], variance = NormalInverseGamma{p[0], p.kappa(), g.Shape, g.Rate}.Rand(rng)
	for j := range mean[1:] {
		mean[1+j] += math.Sqrt(variance/p.kappa()) * rng.NormFloat64()
	}
	return variance
}

func squaredDistance(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += (v - y[i]) * (v - y[i])
	}
	return sum
}
