package topics

import (
	"math"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/special"
)

// The collapsed model has only logarithms of rising factorials,
//
//	ln p(X,Z) = Σ_d [ln Γ(Kα)/Γ(Kα+n_d) + Σ_k ln Γ(α+n_dk)/Γ(α)] + Σ_k [ln Γ(Vβ)/Γ(Vβ+n_k) + Σ_w ln Γ(β+n_wk)/Γ(β)],
//
// of counts that are sums of independent indicators. Their expectations follow from the mean and the variance of the
// count.

// A rising is the function E[ln Γ(a+n) − ln Γ(a)] of counts n = Σ_i z_i of independent indicators, of which Σ_i q_i =
// mean and Σ_i q_i² = squares are known.
//
// Where a is small, as β is, most of the function lies between n = 0 and 1, and Taylor's series about the mean is
// useless: zero is taken apart, with the probability that the binomial distribution of the same mean and variance gives
// it, and the second order is that of the count given that it is not zero (Teh, Newman & Welling 2007, section 3.2, who
// add up ln(1 − q_i) for that probability). It is exact for one indicator, and for counts that are certain.
type rising struct{ a float64 }

// of is the sum of the function over counts of these means and sums of squares.
func (r rising) of(means, squares []float64) float64 { return simd.Rising(means, squares, r.a) }

// certain is the function of a count that is known.
func (r rising) certain(n float64) float64 { return r.of([]float64{n}, []float64{n}) }

// slope is the derivative by a, of the function of a count whose distribution stays.
func (r rising) slope(mean, squares float64) float64 {
	if mean < simd.NegligibleCount {
		return mean / r.a
	}
	present, count, variance := simd.Present(mean, squares)
	return present * (digamma(r.a+count) - digamma(r.a) + variance/2*special.Tetragamma(r.a+count))
}

func digamma(x float64) float64 { return math.Log(x) + special.DigammaExcess(x) }

// addDocument adds the part of a document whose counts are in s.mine and s.squares.
func (s *Statistics) addDocument(tokens, weight float64) {
	s.Documents += weight * (s.each.of(s.mine, s.squares) - s.all.certain(tokens))
	if !s.estimates {
		return
	}
	for k, n := range s.mine {
		s.Rise += weight * s.each.slope(n, s.squares[k])
	}
	s.RiseTotal += weight * s.all.slope(tokens, tokens)
}

// logTopics is the topics' part of E_q[ln p(X,Z)] at β.
func (s *Statistics) logTopics(p *Parameters) float64 {
	if s.beta == p.Beta {
		return s.topics
	}
	word, all := p.risings()
	s.topics, s.beta = word.of(s.Counts, s.Squares)-all.of(s.totals(p.K)), p.Beta
	return s.topics
}

// risings are those of a word in a topic and of all words.
func (p *Parameters) risings() (word, all rising) {
	return rising{p.Beta}, rising{float64(p.Words) * p.Beta}
}

// totals are the sums over words, in scratch.
func (s *Statistics) totals(k int) (tokens, squares []float64) {
	s.mine, s.squares = linalg.Resize(s.mine, k), linalg.Resize(s.squares, k)
	columnSums(s.mine, s.Counts)
	columnSums(s.squares, s.Squares)
	return s.mine, s.squares
}

// Concentrations are within the first range. Estimates of α stay within the second one: of documents that have one
// topic each they would creep towards 0 for thousands of iterations, and of a single document anywhere. Estimates of β
// may be as large as any: several equal topics of a bounded β would stand for one of a larger β.
const (
	leastConcentration, mostConcentration = 1e-6, 1e3
	leastEstimate, mostEstimate           = 1e-3, 10
)

func concentrated(v float64) bool { return v >= leastConcentration && v <= mostConcentration }

// stepOfAlpha is that of Minka's fixed point, α ← α Σ rise / Σ rise of the total.
func stepOfAlpha(a, rise, total float64) float64 {
	if !(total > 0) {
		return a
	}
	return min(mostEstimate, max(leastEstimate, a*rise/total))
}

// stepOfBeta is from β to about the maximum at the counts of the local step: a step of the same fixed point, and one of
// the secant of ln(rise/total) by ln β, without which β would creep for thousands of iterations where words are no more
// uneven than counts of one law are.
func (s *Statistics) stepOfBeta(p *Parameters) float64 {
	const farthest = math.Ln10 // of a step
	bound := func(x float64) float64 {
		return min(math.Log(mostConcentration), max(math.Log(leastEstimate), x))
	}
	tokens, squares := s.totals(p.K)
	first := math.Log(p.Beta)
	f, ok := s.riseOfBeta(p, p.Beta, tokens, squares)
	if !ok {
		return p.Beta
	}
	second := bound(first + min(farthest, max(-farthest, f)))
	g, ok := s.riseOfBeta(p, math.Exp(second), tokens, squares)
	if !ok || second == first {
		return math.Exp(second)
	}
	to := second + math.Copysign(farthest, g) // away from where it falls short, unless the secant says how far
	if slope := (g - f) / (second - first); slope < 0 {
		to = second + min(farthest, max(-farthest, -g/slope))
	}
	return math.Exp(bound(to))
}

// riseOfBeta is ln of the ratio by which a step of the fixed point multiplies β; ok is false where there is none.
func (s *Statistics) riseOfBeta(p *Parameters, beta float64, tokens, squares []float64) (ratio float64, ok bool) {
	at := *p
	at.Beta = beta
	word, all := at.risings()
	rise, total := 0.0, 0.0
	for i, n := range s.Counts {
		rise += word.slope(n, s.Squares[i])
	}
	for k, n := range tokens {
		total += all.slope(n, squares[k])
	}
	ratio = math.Log(rise / (float64(p.Words) * total))
	return ratio, ratio-ratio == 0
}
