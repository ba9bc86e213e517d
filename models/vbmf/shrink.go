package vbmf

import (
	"fmt"
	"math"
)

// The functions of this file are about one singular value γ ≥ 0 of an L×M matrix with
// noise variance σ² > 0. L and M may be exchanged in all of them. c2 = c_a²·c_b² > 0 is
// the product of the prior variances of the two factors. Other arguments panic.

func checkScalar(gamma float64, l, m int, noise float64) {
	if !(gamma >= 0) || math.IsInf(gamma, 0) || l < 1 || m < 1 || !(noise > 0) || math.IsInf(noise, 0) {
		panic(fmt.Sprintf("vbmf: singular value %v of a %d×%d matrix with noise variance %v", gamma, l, m, noise))
	}
}

func checkPrior(c2 float64) {
	if !(c2 > 0) || math.IsInf(c2, 0) {
		panic(fmt.Sprintf("vbmf: prior variance %v", c2))
	}
}

// Threshold returns γ̃, the largest singular value that a prior with c_a²c_b² = c2 shrinks to 0 (paper N, eq. 15).
func Threshold(l, m int, noise, c2 float64) float64 {
	checkScalar(0, l, m, noise)
	checkPrior(c2)
	// In units of σ²: t² − LM = (t − √LM)(t + √LM), of which only the first may cancel.
	lf, mf := float64(l), float64(m)
	excess, root := (math.Sqrt(lf)-math.Sqrt(mf))*(math.Sqrt(lf)-math.Sqrt(mf))/2+noise/(2*c2), math.Sqrt(lf*mf)
	t := excess + root
	return math.Sqrt(noise) * math.Sqrt(t+math.Sqrt(excess*(t+root)))
}

// Shrink returns γ̂, to which a prior with c_a²c_b² = c2 shrinks the singular value γ. It is 0 up to [Threshold], and
// above it the closed form of the second largest root of paper N's quartic (Nakajima, Sugiyama, Babacan & Tomioka
// 2013).
func Shrink(gamma float64, l, m int, noise, c2 float64) float64 {
	checkScalar(gamma, l, m, noise)
	if gamma <= Threshold(l, m, noise, c2) {
		return 0
	}
	lack := newKept(gamma, float64(l), float64(m), noise, c2)
	return lack.shrunk
}

// kept describes a singular value above the threshold under a given prior.
type kept struct {
	shrunk     float64 // γ̂
	rest, less float64 // γ − γ̂ − Lσ²/γ and γ − γ̂ − Mσ²/γ, both positive
}

// newKept is without cancellation: both products are (σ²/2γ)(√(d² + 4γ²/c²) ± d), d = M − L.
func newKept(gamma, l, m, noise, c2 float64) kept {
	unit := noise / (2 * gamma)
	d := math.Abs(m - l)
	root := math.Hypot(d, 2*gamma/math.Sqrt(c2))
	large := unit * (root + d)
	small := unit * (2 * gamma / math.Sqrt(c2)) * (2 * gamma / math.Sqrt(c2)) / (root + d)
	k := kept{shrunk: gamma - unit*(l+m+root), rest: large, less: small}
	if m < l {
		k.rest, k.less = small, large
	}
	k.shrunk = max(0, k.shrunk)
	return k
}

// edge is where the empirical solution begins to keep a singular value, for α = L/M ≤ 1:
// τ is the root of Φ(τ) + Φ(τ/α), Φ(z) = ln(z + 1)/z − ½, and x = γ²/(Mσ²) must exceed
// (1 + τ)(1 + α/τ).
type edge struct {
	alpha, x float64
}

func newEdge(l, m int) edge {
	alpha := float64(min(l, m)) / float64(max(l, m))
	phi := func(z float64) float64 { return math.Log1p(z)/z - 0.5 }
	slope := func(z float64) float64 { return (1/(1+z) - math.Log1p(z)/z) / z }
	// Φ is convex and falls through its only root, at 2.51: the sum is positive at 2.5α and,
	// Newton's steps from the left stay left of the root and grow towards it.
	tau := 2.5 * alpha
	for range 100 {
		step := (phi(tau) + phi(tau/alpha)) / (slope(tau) + slope(tau/alpha)/alpha)
		if tau -= step; math.Abs(step) <= 1e-16*tau {
			break
		}
	}
	return edge{alpha, (1 + tau) * (1 + alpha/tau)}
}

// tau solves x = (1 + τ)(1 + α/τ) for the larger root; Mσ²τ is γγ̂.
func (e edge) tau(x float64) float64 {
	y := x - 1 - e.alpha
	return (y + difference(y, 2*math.Sqrt(e.alpha))) / 2
}

// difference is √(a² − b²) for a ≥ b, 0 where rounding puts a below b.
func difference(a, b float64) float64 { return math.Sqrt(max(0, a-b)) * math.Sqrt(a+b) }

// cost is 2/M times what a kept singular value adds to the free energy: x + Δ/M, of which
// x − τ = 1 + α + α/τ is written without cancellation.
func (e edge) cost(x float64) float64 {
	t := e.tau(x)
	return math.Log1p(t) + e.alpha*math.Log1p(t/e.alpha) + 1 + e.alpha + e.alpha/t
}

// EmpiricalThreshold returns the largest singular value that the empirical solution, which estimates the priors'
// variances, shrinks to 0. Its square is Mσ²(1 + τ)(1 + α/τ) for L ≤ M, α = L/M (Nakajima, Tomioka, Sugiyama &
// Babacan 2015, Theorem 2).
func EmpiricalThreshold(l, m int, noise float64) float64 {
	checkScalar(0, l, m, noise)
	return math.Sqrt(noise) * math.Sqrt(float64(max(l, m))*newEdge(l, m).x)
}

// EmpiricalShrink returns γ̂, to which the empirical solution shrinks the singular value γ: (γ/2)(1 − (L+M)σ²/γ² +
// √((1 − (L+M)σ²/γ²)² − 4LMσ⁴/γ⁴)) above [EmpiricalThreshold], otherwise 0.
func EmpiricalShrink(gamma float64, l, m int, noise float64) float64 {
	if gamma <= EmpiricalThreshold(l, m, noise) {
		return 0
	}
	checkScalar(gamma, l, m, noise)
	s := noise / gamma / gamma
	y := 1 - float64(l+m)*s
	return gamma / 2 * (y + difference(y, 2*math.Sqrt(float64(l)*float64(m))*s))
}
