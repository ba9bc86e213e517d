// Package vonmises is the example of a quantity that is no number on a line: a mixture of von Mises distributions, for
// directions x in radians,
//
//	p(x|z=k) = exp(κ_k cos(x − μ_k)) / (2π I₀(κ_k)).
//
// The angle μ comes back after a turn, and means nothing where κ = 0: no coordinate for a curvature. The numbers of a
// component are instead those of its mean vector m = E[(cos x, sin x)] = A(κ) (cos μ, sin μ), A = I₁/I₀,
// a point of the open unit disc, to which nothing happens at 0° or at κ = 0, the centre. Its estimate is the mean of
// the rows, and the information of a row is the inverse covariance of (cos x, sin x). That grows without bound towards
// the rim, where a component shrinks onto one direction, as for the mean and the variance of the normal distribution
// that κ → ∞ leads to.
package vonmises

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/numeric"
)

// A Density is the von Mises distribution of one direction, and nothing but its log density.
type Density struct{}

// Layout is the mean vector of each component.
func (Density) Layout(int) numeric.Layout {
	return numeric.Layout{Columns: 1, Component: []numeric.Parameter{numeric.Real("mean", 2)}}
}

// LogProb is κ cos(x − μ) − ln 2π I₀(κ), and −Inf where m is not in the disc.
func (Density) LogProb(x, m, _ []float64) float64 {
	sin, cos := math.Sincos(x[0])
	return total(1, cos, sin, m)
}

// WithSums knows the rows by Σ (cos x, sin x), and has the global step and the information in closed form.
type WithSums struct{ Density }

// Statistics is 2.
func (WithSums) Statistics(int) int { return 2 }

// Observe puts (cos x, sin x) into t.
func (WithSums) Observe(x, t []float64) { t[1], t[0] = math.Sincos(x[0]) }

// LogTotal is the sum of LogProb.
func (WithSums) LogTotal(rows numeric.Weighted, m, _ []float64) float64 {
	return total(rows.N, rows.Sums[0], rows.Sums[1], m)
}

// total is κ (cos μ, sin μ)·Σ (cos x, sin x) − N ln 2π I₀(κ).
func total(n, cos, sin float64, m []float64) float64 {
	direction, kappa := Polar(m)
	if math.IsInf(kappa, 1) {
		return math.Inf(-1)
	}
	logI0, _, _ := bessel(kappa)
	return kappa*(cos*math.Cos(direction)+sin*math.Sin(direction)-n) - n*(logI0+math.Log(2*math.Pi))
}

// Estimate is the mean of (cos x, sin x).
func (WithSums) Estimate(rows numeric.Weighted, m, _ []float64) error {
	m[0], m[1] = rows.Sums[0]/rows.N, rows.Sums[1]/rows.N
	if _, kappa := Polar(m); math.IsInf(kappa, 1) {
		return fmt.Errorf("vonmises: a component has rows of one direction only: %w", framework.ErrDegenerate)
	}
	return nil
}

// Information is the inverse covariance of (cos x, sin x): 1/A′ along m and κ/A across it.
func (WithSums) Information(rows numeric.Weighted, m, _ []float64, dst *mat.SymDense) {
	direction, kappa := Polar(m)
	_, across, along := bessel(kappa)
	sin, cos := math.Sincos(direction)
	dst.SetSym(0, 0, rows.N*(cos*cos/along+sin*sin/across))
	dst.SetSym(0, 1, rows.N*cos*sin*(1/along-1/across))
	dst.SetSym(1, 1, rows.N*(sin*sin/along+cos*cos/across))
}
