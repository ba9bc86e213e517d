package special

import "math"

// trigammaAsymptotic is where the series of TrigammaGap begins: its first neglected term is
// below 1e-15 there. A recurrence brings smaller arguments there.
const trigammaAsymptotic = 12

// TrigammaGap is x² ψ′(x) − x, for x > 0: it falls from 1 to ½.
func TrigammaGap(x float64) float64 {
	if x < trigammaAsymptotic {
		n := math.Ceil(trigammaAsymptotic - x)
		far := x + n
		ratio := x / far
		sum := 1 - x + ratio*ratio*(far+TrigammaGap(far))
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

// Trigamma is ψ′(x), for x > 0.
func Trigamma(x float64) float64 { return (TrigammaGap(x)/x + 1) / x }

// Tetragamma is ψ″(x), for x > 0.
func Tetragamma(x float64) float64 {
	sum := 0.0
	for ; x < trigammaAsymptotic; x++ {
		sum -= 2 / (x * x * x)
	}
	r := 1 / x
	s := r * r
	return sum - s*(1+r*(1+r*(1./2-s*(1./6-s*(1./6-s*(3./10-s*(5./6-s*691./210)))))))
}
