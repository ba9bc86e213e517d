package simd

import "math"

// NegligibleCount is the expected count below which ln Γ(a+n) − ln Γ(a) is ln a, for the one indicator that may be
// there.
const NegligibleCount = 1e-9

// certain is the probability that rounding may leave of a count not being what it is.
const certain = 1e-9

// Rising is Σ E[ln Γ(a+n) − ln Γ(a)] over counts n of independent indicators q, of which Σ q = mean and Σ q² = squares
// are known: of the count given that it is not 0 to the second order (see package topics).
func Rising(mean, squares []float64, a float64) float64 {
	need("squares", squares, len(mean))
	if len(mean) == 0 {
		return 0
	}
	logGamma, _ := math.Lgamma(a)
	return rising(mean, squares[:len(mean)], a, math.Log(a), logGamma)
}

// Present are the probability that a count is not 0, by the binomial distribution of the same mean and variance, and
// the mean and variance of such a count.
func Present(mean, squares float64) (present, count, variance float64) {
	p := squares / mean // of the binomial distribution, mean/p trials
	if p >= 1-certain {
		return 1, mean, 0
	}
	present = -math.Expm1(mean / p * math.Log1p(-p))
	count = mean / present
	return present, count, max(0, (mean-squares+mean*mean)/present-count*count)
}

// ---- The reference

func risingPortable(mean, squares []float64, a, log, logGamma float64) (sum float64) {
	for i, m := range mean {
		if m < NegligibleCount {
			sum += m * log
			continue
		}
		present, count, variance := Present(m, squares[i])
		with, trigamma := gammas(a + count)
		sum += present * (with - logGamma + variance/2*trigamma)
	}
	return sum
}

const halfLogTwoPi = 0.91893853320467274178032973640562

// asymptotic is where Stirling's series, to x⁻⁹ and x⁻¹¹, errs by less than 1e-12.
const asymptotic = 9

// gammas are ln Γ(x) and ψ′(x).
func gammas(x float64) (logGamma, trigamma float64) {
	product := 1.0
	for x < asymptotic {
		r := 1 / x
		product *= x
		trigamma += r * r
		x++
	}
	r := 1 / x
	s := r * r
	logGamma = (x-0.5)*math.Log(x) - x + halfLogTwoPi + r*(1./12-s*(1./360-s*(1./1260-s*(1./1680-s*(1./1188)))))
	if product != 1 {
		logGamma -= math.Log(product)
	}
	return logGamma, trigamma + r*(1+r/2+s*(1./6-s*(1./30-s*(1./42-s*(1./30-s*(5./66))))))
}
