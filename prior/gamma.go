package prior

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/internal/special"
)

// Gamma is the Gamma distribution of a rate λ,
//
//	p(λ) = Rate^Shape/Γ(Shape) λ^(Shape−1) exp(−Rate·λ),   λ ≥ 0.
//
// It is the conjugate prior of a Poisson mean: after N counts of sum S it is
// Gamma(Shape+S, Rate+N). In the form of [Conjugate], T = x and η = ln λ. In η the density is λ^Shape exp(−Rate·λ),
// so that ν = Rate and νχ = Shape.
//
// It is also the conjugate prior of the rate of an exponential variable: after N times of sum S it is Gamma(Shape+N,
// Rate+S). Here T = x and η = −λ, so that ν = Shape − 1 and νχ = Rate. With Shape ≤ 1 it is conjugate, but no
// Conjugate with ν > 0.
type Gamma struct {
	Shape float64 `json:"shape"`
	Rate  float64 `json:"rate"`
}

// Check returns an error unless Shape and Rate are positive and finite.
func (g Gamma) Check() error {
	return first(positive("Gamma.Shape", g.Shape), positive("Gamma.Rate", g.Rate))
}

// LogNorm returns ln Γ(Shape) − Shape·ln Rate, in nats: the log of
// ∫ λ^(Shape−1) exp(−Rate·λ) dλ.
func (g Gamma) LogNorm() float64 {
	value, _ := math.Lgamma(g.Shape)
	return value - g.Shape*math.Log(g.Rate)
}

// ExpectedLog returns E[ln λ] = ψ(Shape) − ln Rate.
func (g Gamma) ExpectedLog() float64 { return digamma(g.Shape) - math.Log(g.Rate) }

// Mean returns E[λ] = Shape/Rate.
func (g Gamma) Mean() float64 { return g.Shape / g.Rate }

// Mode returns the λ of greatest density, (Shape−1)/Rate. It returns an error if Shape is below 1, because the
// density is then unbounded at 0.
func (g Gamma) Mode() (float64, error) {
	if !(g.Shape >= 1) {
		return 0, fmt.Errorf("prior: Gamma of shape %v has no mode: below 1 its density is unbounded at 0", g.Shape)
	}
	return (g.Shape - 1) / g.Rate, nil
}

// LogProb returns the log density at λ, in nats; −Inf if λ is negative, infinite or NaN. At 0 it is −Inf, finite or
// +Inf as Shape is above, at or below 1.
func (g Gamma) LogProb(lambda float64) float64 {
	if !(lambda >= 0) || math.IsInf(lambda, 1) {
		return math.Inf(-1)
	}
	return timesLog(g.Shape-1, lambda) - g.Rate*lambda - g.LogNorm()
}

// Divergence returns KL(g ‖ from) = E_g[ln g(λ)/from(λ)], in nats. With a and b the shape and
// rate of g, a₀ and b₀ those of from, and t = E_g[λ]/E_from[λ], it is
//
//	a₀(t − 1 − ln t) + (a−a₀)(ψ(a) − ln a) + ½ ln(a/a₀) + s(a₀) − s(a),
//
// where s is the remainder of Stirling's formula for ln Γ, so that no large numbers cancel.
func (g Gamma) Divergence(from Gamma) float64 {
	t := g.Mean() / from.Mean()
	beyond := t - 1 - math.Log1p(t-1)
	if t < 0.5 || t > 2 { // where t − 1 may have lost t
		beyond = t - 1 - (math.Log(g.Shape) - math.Log(g.Rate) - math.Log(from.Shape) + math.Log(from.Rate))
	}
	return from.Shape*beyond + (g.Shape-from.Shape)*special.DigammaExcess(g.Shape) +
		math.Log(g.Shape/from.Shape)/2 + special.StirlingGap(from.Shape) - special.StirlingGap(g.Shape)
}

// Rand draws λ. A draw below the range of float64, which is likely if Shape is below 0.001, is returned as 0.
func (g Gamma) Rand(rng *rand.Rand) float64 {
	return math.Exp(randLogGamma(rng, g.Shape) - math.Log(g.Rate))
}
