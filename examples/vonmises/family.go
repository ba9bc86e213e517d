package vonmises

import (
	"fmt"
	"math"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
)

// VonMises is the family of directions x in radians, for mixtures and products of families: T(x) = (cos x, sin x), and
// ξ is the mean m of T.
type VonMises struct{}

// Name is "von-mises".
func (VonMises) Name() string { return "von-mises" }

// Columns is 1.
func (VonMises) Columns() int { return 1 }

// On is independent columns.
func (f VonMises) On(columns int) ([]family.Factor, error) { return family.Independent(f, columns) }

// Support is in words.
func (VonMises) Support() string { return "finite directions in radians" }

// Statistics is 2.
func (VonMises) Statistics() int { return 2 }

// Observe is (cos x, sin x).
func (VonMises) Observe(x, t []float64) (exposure, base float64, ok bool) {
	t[1], t[0] = math.Sincos(x[0])
	return 1, -math.Log(2 * math.Pi), !math.IsNaN(t[0])
}

// Parameters are the two numbers of m.
func (VonMises) Parameters() []string { return []string{"mean cosine", "mean sine"} }

// Free is 2.
func (VonMises) Free() int { return 2 }

// Estimate is the mean of T.
func (VonMises) Estimate(n float64, t, xi []float64) error {
	xi[0], xi[1] = t[0]/n, t[1]/n
	if _, kappa := Polar(xi); math.IsInf(kappa, 1) {
		return fmt.Errorf("vonmises: a component has rows of one direction only: %w", framework.ErrDegenerate)
	}
	return nil
}

// Natural is η = κ (cos μ, sin μ), ψ = ln I₀(κ).
func (VonMises) Natural(xi, eta []float64) float64 {
	direction, kappa := Polar(xi)
	logI0, _, _ := bessel(kappa)
	sin, cos := math.Sincos(direction)
	eta[0], eta[1] = kappa*cos, kappa*sin
	return logI0 + kappa
}

// Information is the inverse covariance of T, along m and across it: 1/A′ and κ/A.
func (VonMises) Information(xi, diag []float64) {
	_, kappa := Polar(xi)
	_, across, along := bessel(kappa)
	diag[0], diag[1] = 1/along, 1/across
}

// Polar returns μ in [−π, π] and κ of a mean vector; κ is +Inf outside of the disc, and so near to its rim (κ > 5·10⁸)
// that the distance is rounding.
func Polar(m []float64) (direction, kappa float64) {
	rho := math.Hypot(m[0], m[1])
	if rho > 1-1e-9 {
		return math.Atan2(m[1], m[0]), math.Inf(1)
	}
	kappa = rho * (2 - rho*rho) / (1 - rho*rho) // Banerjee et al. 2005, eq. 4.4
	for range 20 {                              // Newton on A(κ) = ρ
		_, ratio, slope := bessel(kappa)
		step := (kappa*ratio - rho) / slope
		kappa -= step
		if math.Abs(step) <= 1e-9*kappa { // the next one would be about its square
			break
		}
	}
	return math.Atan2(m[1], m[0]), kappa
}

// bessel returns ln I₀(κ) − κ, A(κ)/κ and A′(κ) = 1 − A/κ − A² by the power series or, from κ = 30 on, where it has all
// digits of a float64, by the asymptotic series (Abramowitz & Stegun 1964, 9.6.10 and 9.7.1).
func bessel(kappa float64) (logI0, ratio, slope float64) {
	s0, s1, t0, t1 := 1., 1., 1., 1. // sums and terms of I₀ and I₁, without a common factor
	if kappa < 30 {
		for j := 1.; t0 > 1e-17*s0; j++ {
			t0, t1 = t0*kappa*kappa/(4*j*j), t1*kappa*kappa/(4*j*(j+1))
			s0, s1 = s0+t0, s1+t1
		}
		ratio = s1 / s0 / 2
		return math.Log(s0) - kappa, ratio, 1 - ratio - kappa*ratio*kappa*ratio
	}
	rest := 0. // I₀ − I₁
	for j := 1.; t0 > 1e-17; j++ {
		t0, t1 = t0*(2*j-1)*(2*j-1)/(8*j*kappa), t1*((2*j-1)*(2*j-1)-4)/(8*j*kappa)
		s0, rest = s0+t0, rest+t0-t1 // t₁ is negative
	}
	rest /= s0 // 1 − A
	ratio = (1 - rest) / kappa
	return math.Log(s0) - math.Log(2*math.Pi*kappa)/2, ratio, rest*(2-rest) - ratio
}
