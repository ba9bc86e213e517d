package mixture

import "math"

// The three functions below are what the logarithm of Γ and its derivatives leave beside
// their large parts. Each is a series from asymptotic on, whose first neglected term is
// below 1e-15 there, and brought there by a recurrence.
const asymptotic = 12

var halfLogTwoPi = math.Log(2*math.Pi) / 2

// stirlingGap is ln Γ(x) − [(x−½) ln x − x + ½ ln 2π], for x > 0: between 0 and 1/(12x).
func stirlingGap(x float64) float64 {
	if x < asymptotic {
		v, _ := math.Lgamma(x)
		return v - ((x-0.5)*math.Log(x) - x + halfLogTwoPi)
	}
	r := 1 / x
	s := r * r
	return r * (1./12 - s*(1./360-s*(1./1260-s*(1./1680-s*(1./1188-s*(691./360360-s/156))))))
}

// digammaGap is x (ln x − ψ(x)), for x > 0: it falls from 1 to ½.
func digammaGap(x float64) float64 {
	if x < asymptotic {
		n := math.Ceil(asymptotic - x)
		far := x + n
		sum := 1 + x*(math.Log(x)-math.Log(far)) + x/far*digammaGap(far)
		for i := 1.0; i < n; i++ {
			sum += x / (x + i)
		}
		return sum
	}
	r := 1 / x
	s := r * r
	return 0.5 + r*(1./12-s*(1./120-s*(1./252-s*(1./240-s*(1./132-s*(691./32760-s/12))))))
}

// trigammaGap is x² ψ′(x) − x, for x > 0: it falls from 1 to ½.
func trigammaGap(x float64) float64 {
	if x < asymptotic {
		n := math.Ceil(asymptotic - x)
		far := x + n
		ratio := x / far
		sum := 1 - x + ratio*ratio*(far+trigammaGap(far))
		for i := 1.0; i < n; i++ {
			ratio = x / (x + i)
			sum += ratio * ratio
		}
		return sum
	}
	r := 1 / x
	s := r * r
	return 0.5 + r*(1./6-s*(1./30-s*(1./42-s*(1./30-s*(5./66-s*(691./2730-s*7/6))))))
}
