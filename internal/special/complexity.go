package special

import "math"

// directly is the number of draws up to which C(n, 2) is summed up; beyond, its expansion errs by less than 1e-8.
const directly = 100_000

// LogComplexity is ln C(n, L), the parametric complexity of n draws of L values in nats: the logarithm of the
// sum of the maximum likelihood over all data,
//
//	C(n, L) = Σ n!/(r₁!⋯r_L!) Π_l (r_l/n)^r_l,   C(n, L+2) = C(n, L+1) + (n/L) C(n, L),
//
// (Kontkanen & Myllymäki 2007, "A linear-time algorithm for computing the multinomial stochastic complexity"). It
// interpolates for an n that is not a whole number.
func LogComplexity(n float64, values int) float64 {
	if n <= 0 || values <= 1 {
		return 0
	}
	if below := math.Floor(n); below != n {
		share := n - below
		return (1-share)*LogComplexity(below, values) + share*LogComplexity(below+1, values)
	}
	last, log := 0., math.Log(complexityOfTwo(n))
	for l := 1; l+2 <= values; l++ {
		high, low := log, math.Log(n/float64(l))+last
		last, log = log, max(high, low)+math.Log1p(math.Exp(-math.Abs(high-low)))
	}
	return log
}

// complexityOfTwo is C(n, 2) = Σ_r (n choose r)(r/n)^r(1−r/n)^(n−r), by Stirling's formula with its remainder.
func complexityOfTwo(n float64) float64 {
	if n > directly {
		return math.Sqrt(n*math.Pi/2) * math.Exp(math.Sqrt(8/(9*n*math.Pi))+(3*math.Pi-16)/(36*n*math.Pi))
	}
	sum, gap := 2., StirlingGap(n)
	for r := 1.; r < n; r++ {
		sum += math.Sqrt(n/(2*math.Pi*r*(n-r))) * math.Exp(gap-StirlingGap(r)-StirlingGap(n-r))
	}
	return sum
}
