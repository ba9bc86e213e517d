package family

import "math"

var nan = math.NaN()

// tiny stands for a probability of 0, so that no logarithm is infinite.
const tiny = 1e-300

func logOf(p float64) float64 { return math.Log(max(p, tiny)) }

func finite(v []float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// logOfRate is ln λ; NaN of what is no rate.
func logOfRate(lambda float64) float64 {
	if lambda < 0 {
		return nan
	}
	return logOf(lambda)
}

// logOfProbability is ln p; NaN of what is no probability.
func logOfProbability(p float64) float64 {
	if p < 0 || p > 1 {
		return nan
	}
	return logOf(p)
}

// share is t/n, within 0 and 1 whatever the rounding.
func share(t, n float64) float64 { return min(1, max(0, t/n)) }
