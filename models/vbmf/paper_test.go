package vbmf

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/mat"
)

// shrinkQuartic is [Shrink] as paper N states it: the second largest real root of
// t⁴ + ξ₃t³ + ξ₂t² + ξ₁t + ξ₀ (Corollary 1, eqs. 14 and 15).
func shrinkQuartic(gamma float64, l, m int, noise, c2 float64) float64 {
	checkScalar(gamma, l, m, noise)
	if gamma <= Threshold(l, m, noise, c2) {
		return 0
	}
	// For t/γ and σ²/γ², so that nothing has units.
	lf, mf := float64(l), float64(m)
	s := noise / (gamma * gamma)
	sc := s * gamma / math.Sqrt(c2) // σ²/(γ c)
	eta2 := (1 - s*lf) * (1 - s*mf)
	xi3 := (lf - mf) * (lf - mf) / (lf * mf)
	d := eta2 - sc*sc
	xi0 := d * d
	xi2 := -(xi3 + (lf*lf+mf*mf)/(lf*mf)*eta2 + 2*sc*sc)
	xi1 := xi3 * math.Sqrt(xi0)

	companion := mat.NewDense(4, 4, []float64{-xi3, -xi2, -xi1, -xi0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0})
	var eigen mat.Eigen
	if !eigen.Factorize(companion, mat.EigenNone) {
		panic("vbmf: no roots of a quartic")
	}
	first, second := math.Inf(-1), math.Inf(-1)
	for _, z := range eigen.Values(nil) {
		if math.Abs(imag(z)) > 1e-6*max(1, cmplx.Abs(z)) {
			continue
		}
		if t := real(z); t > first {
			first, second = t, first
		} else if t > second {
			second = t
		}
	}
	for range 3 { // Newton's method removes the error of the eigenvalues
		f := xi0 + second*(xi1+second*(xi2+second*(xi3+second)))
		slope := xi1 + second*(2*xi2+second*(3*xi3+4*second))
		if step := f / slope; slope != 0 && math.Abs(step) < 1e-3 {
			second -= step
		}
	}
	return gamma * second
}

// empiricalCorollary2 is [EmpiricalShrink] as paper N states it (Corollary 2, eqs. 16 to 18). γ̂ is the value of [Shrink] at c_a²c_b² = c̆² if γ > (√L + √M)σ and Δ ≤ 0, otherwise 0. Δ is twice the
// change of the free energy from keeping γ. c2 (c̆²) and delta (Δ) are 0 if c̆² does not exist.
func empiricalCorollary2(gamma float64, l, m int, noise float64) (shrunk, c2, delta float64) {
	checkScalar(gamma, l, m, noise)
	lf, mf := float64(l), float64(m)
	if !(gamma > (math.Sqrt(lf)+math.Sqrt(mf))*math.Sqrt(noise)) {
		return 0, 0, 0
	}
	y := gamma*gamma - (lf+mf)*noise
	c2 = (y + difference(y, 2*math.Sqrt(lf*mf)*noise)) / (2 * lf * mf)
	shrunk = Shrink(gamma, l, m, noise, c2)
	product := gamma * shrunk
	delta = mf*math.Log1p(product/(mf*noise)) + lf*math.Log1p(product/(lf*noise)) + (lf*mf*c2-2*product)/noise
	if delta > 0 {
		return 0, c2, delta
	}
	return shrunk, c2, delta
}
