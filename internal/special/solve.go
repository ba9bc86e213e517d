package special

import "math"

// Crossing is where a falling function crosses 0 between a and b.
func Crossing(f func(x float64) float64, a, b float64) float64 {
	for range 64 {
		if middle := a + (b-a)/2; f(middle) > 0 {
			a = middle
		} else {
			b = middle
		}
	}
	return a + (b-a)/2
}

// GammaSpread solves ln α − ψ(α) = s for w = 1/α. The left side is convex in w and between w/2 and w, so that Newton's
// method converges monotonically from w = 2s.
func GammaSpread(s float64) float64 {
	w := 2 * s
	for range 50 {
		step := (w*DigammaGap(1/w) - s) / TrigammaGap(1/w)
		w -= step
		if math.Abs(step) <= 1e-15*w {
			break
		}
	}
	return w
}
