package prior

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/special"
)

// Posterior predictive distributions, of which a row may be left out, and the curvature of LogNorm, both along
// the pseudo-counts (e, T) that a row adds. With out the share of the row that the pseudo-counts h hold,
// Predictive is
//
//	LogNorm(h + (1−out)(e, T)) − LogNorm(h − out(e, T)) = ln factor + log,
//
// where no pseudo-count goes below the prior's. It has two parts so that a caller can multiply many factors before it
// takes a logarithm. Curvature is the second derivative of LogNorm(h + t(e, T)) at t = 0: the variance of the row's
// log density under the posterior.

// left is a pseudo-count without what is taken from it, at least the prior's, and c itself where nothing is taken:
// before may then be of any prior.
func left(c, taken, before float64) float64 { return max(c-taken, min(c, before)) }

// rising is Γ(low + x)/Γ(low) with low = c − out·x, and not below the prior's pseudo-count.
func rising(c, before, x, out float64) (factor, log float64) {
	if x == 0 {
		return 1, 0
	}
	low := left(c, out*x, before)
	if x == 1 {
		return low, 0
	}
	above, _ := math.Lgamma(low + x)
	below, _ := math.Lgamma(low)
	return 1, above - below
}

// labelFactors multiplies factors by those of categories, of one trial a row: pseudo-counts and the prior's of each. A
// label NaN is none. out is nil if nothing is left out.
func labelFactors(counts, least, labels, out, factors []float64) {
	all, leastAll := floats.Sum(counts), floats.Sum(least)
	if out == nil {
		for i, l := range labels {
			if l == l {
				factors[i] *= counts[int(l)] / all
			}
		}
		return
	}
	lowAll := min(all, leastAll)
	for i, l := range labels {
		if l != l {
			continue
		}
		taken, at := out[i], int(l)
		c, b := counts[at], least[at]
		one, of := c-taken, all-taken // as left does, whose max and min cost more than the division
		if one < b && one < c {
			one = min(c, b)
		}
		if of < lowAll {
			of = lowAll
		}
		factors[i] *= one / of
	}
}

// predictiveBeta is of x ones in e trials.
func predictiveBeta(before, b Beta, e, x, out float64) (factor, log float64) {
	ones, logOnes := rising(b.A, before.A, x, out)
	zeros, logZeros := rising(b.B, before.B, e-x, out)
	all, logAll := rising(b.A+b.B, before.A+before.B, e, out)
	return ones * zeros / all, logOnes + logZeros - logAll
}

func curvatureBeta(b Beta, e, x float64) float64 {
	return x*x*special.Trigamma(b.A) + (e-x)*(e-x)*special.Trigamma(b.B) - e*e*special.Trigamma(b.A+b.B)
}

// fewFactors is the shape up to which Γ(s + shape)/Γ(s) is a product: of counts it is, and most are small.
const fewFactors = 32

// predictiveGamma is of a row that adds to shape and rate.
func predictiveGamma(before, g Gamma, shape, rate, out float64) (factor, log float64) {
	s, r := left(g.Shape, out*shape, before.Shape), left(g.Rate, out*rate, before.Rate)
	log = -s * logOnePlus(rate, r)
	if shape <= fewFactors && shape == math.Trunc(shape) {
		inverse := 1 / (r + rate)
		factor = 1
		for j := 0.; j < shape; j++ {
			factor *= (s + j) * inverse
		}
		if factor >= 1e-30 && factor <= 1e30 {
			return factor, log
		}
	}
	factor, gammas := rising(g.Shape, before.Shape, shape, out)
	return factor, gammas + log - shape*math.Log(r+rate)
}

// logOnePlus is ln(1 + a/b) of a ≥ 0 and b > 0: where a is little beside b, by 2 artanh(a/(2b + a)), whose next term is
// below 1e-16.
func logOnePlus(a, b float64) float64 {
	if a > b/16 {
		return math.Log1p(a / b)
	}
	y := a / (2*b + a)
	z := y * y
	return 2 * y * (1 + z*(1./3+z*(1./5+z*(1./7+z*(1./9+z/11)))))
}

func curvatureGamma(g Gamma, shape, rate float64) float64 {
	rate /= g.Rate
	return shape*shape*special.Trigamma(g.Shape) - 2*shape*rate + g.Shape*rate*rate
}

// Predictive returns the predictive density factor·exp(log) of the statistic t (length 1) with exposure e, up to
// h(x), after a share out of the row has been removed from the posterior h.
func (q Natural[D]) Predictive(h, t []float64, e, out float64) (factor, log float64) {
	return q.Of.Predictive(q.Before, q.at(h), e, t[0], out)
}

// Factors multiplies factors by the factors of Predictive for rows with exposure 1 and values 0 or 1; a missing row
// (NaN) keeps its factor. It returns false, and does nothing, if the likelihood is not of such rows.
func (q Natural[D]) Factors(h, labels, out, factors []float64) bool {
	if q.Of.Factors != nil {
		q.Of.Factors(q.Before, q.at(h), labels, out, factors)
	}
	return q.Of.Factors != nil
}

// Curvature returns the second derivative of LogNorm at h along (e, t).
func (q Natural[D]) Curvature(h, t []float64, e float64) float64 {
	return q.Of.Curvature(q.at(h), e, t[0])
}

// Predictive is Natural.Predictive for the counts t of categories.
func (q NaturalDirichlet) Predictive(h, t []float64, _, out float64) (factor, log float64) {
	trials := floats.Sum(t)
	factor = 1
	for l, x := range t {
		if x != 0 {
			f, v := rising(h[1+l], q.Before[l], x, out)
			factor, log = factor*f, log+v
		}
	}
	all, logAll := rising(h[0], floats.Sum(q.Before), trials, out)
	return factor / all, log - logAll
}

// Factors is Natural.Factors for rows that are labels of categories, from 0.
func (q NaturalDirichlet) Factors(h, labels, out, factors []float64) bool {
	labelFactors(q.at(h), q.Before, labels, out, factors)
	return true
}

// LabelCurvature is the sum of weights times Curvature, of the labels that have one.
func (NaturalDirichlet) LabelCurvature(h, weights []float64) (sum float64) {
	all := special.Trigamma(h[0])
	for l, w := range weights {
		if w != 0 {
			sum += w * (special.Trigamma(h[1+l]) - all)
		}
	}
	return sum
}

// Curvature is that along t.
func (NaturalDirichlet) Curvature(h, t []float64, _ float64) (sum float64) {
	trials := floats.Sum(t)
	for l, x := range t {
		if x != 0 {
			sum += x * x * special.Trigamma(h[1+l])
		}
	}
	return sum - trials*trials*special.Trigamma(h[0])
}
