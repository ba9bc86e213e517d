// Package special has the remainders of the asymptotic expansions of ln Γ and of its derivative.
// Differences taken through these functions avoid the cancellation of the leading terms.
package special

import "math"

// Asymptotic is where the series below begin: the first terms they leave out are 3e-17
// and 4e-17 there, and fall fast. Smaller arguments are brought there by a recurrence.
const Asymptotic = 10

// HalfLogTwoPi is ½ ln 2π.
var HalfLogTwoPi = math.Log(2*math.Pi) / 2

// AngleShare is what each of the m angles of k orthonormal directions in d columns, up to their signs, has of a prior
// by which all directions are alike, relative to a normal one of unit variance, shared equally, in nats:
//
//	{½ m ln 2π + Σ_{i<k} [ln Γ((d−i)/2) − ((d−i)/2) ln π]}/m,   m = dk − k(k+1)/2.
//
// The sum is −ln(V/2^k), V the volume of the Stiefel manifold. It is 0 where there is no angle.
func AngleShare(d, k int) float64 {
	dd, kk := float64(d), float64(k)
	angles := dd*kk - kk*(kk+1)/2
	if !(angles > 0) {
		return 0
	}
	constant := angles / 2 * math.Log(2*math.Pi)
	for i := range k {
		half := (dd - float64(i)) / 2
		lgamma, _ := math.Lgamma(half)
		constant += lgamma - half*math.Log(math.Pi)
	}
	return constant / angles
}

// StirlingGap is the remainder of Stirling's formula,
//
//	ln Γ(x) − [(x−½) ln x − x + ½ ln 2π],
//
// for x > 0: between 0 and 1/(12x). ln Γ(1e9) itself has no digit after the sixth decimal
// place.
func StirlingGap(x float64) float64 {
	if x < Asymptotic {
		v, _ := math.Lgamma(x)
		return v - ((x-0.5)*math.Log(x) - x + HalfLogTwoPi)
	}
	r := 1 / x
	s := r * r
	return r * (1./12 - s*(1./360-s*(1./1260-s*(1./1680-s*(1./1188-s*(691./360360-s/156))))))
}

// DigammaGap is x (ln x − ψ(x)), for x > 0: it falls from 1 to ½.
// (mathext.Digamma errs by up to 5e-11, which a count of 10⁹ makes visible.)
func DigammaGap(x float64) float64 {
	if x < Asymptotic {
		n := math.Ceil(Asymptotic - x)
		shifted := x + n
		sum := 1 + x*(math.Log(x)-math.Log(shifted)) + x/shifted*DigammaGap(shifted)
		for i := 1.0; i < n; i++ {
			sum += x / (x + i)
		}
		return sum
	}
	r := 1 / x
	s := r * r
	return 0.5 + r*(1./12-s*(1./120-s*(1./252-s*(1./240-s*(1./132-s*(691./32760-s/12))))))
}

// DigammaExcess is ψ(x) − ln x, for x > 0, to full relative accuracy.
func DigammaExcess(x float64) float64 { return -DigammaGap(x) / x }
