package bernmix

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// EnumerationLimit is the largest number of columns whose 2^M patterns
// GeneralisationError and MixtureEntropy visit.
const EnumerationLimit = 20

// GeneralisationError returns the Kullback–Leibler divergence KL(p* ‖ p) in nats from one
// Bernoulli mixture, the truth, to another, exactly: a sum over the 2^M patterns, at the
// cost of 2^M (K* + K) products (paper K, section 6.1.1). At the posterior means
// E[π_k] and E[μ_km] the second mixture is the variational predictive distribution.
//
// A mixture is its K weights and its K×M probabilities of a 1, row-major. Patterns that
// the truth never makes contribute nothing; the divergence is +Inf if the other mixture
// rules out a pattern that the truth makes. It returns an error for weights or probabilities outside [0, 1], for
// weights whose sum is further than 10⁻⁶ from 1 (a nearer sum is normalised), for lengths that do not match, and for
// M above [EnumerationLimit].
func GeneralisationError(trueWeights, trueProbabilities, weights, probabilities []float64) (float64, error) {
	truth, err := newPatternMixture("truth", trueWeights, trueProbabilities)
	if err != nil {
		return 0, err
	}
	model, err := newPatternMixture("model", weights, probabilities)
	if err != nil {
		return 0, err
	}
	if truth.m != model.m {
		return 0, fmt.Errorf("bernmix: the truth has %d columns, the model %d", truth.m, model.m)
	}
	return sumPatterns(0, 0, truth.m, []*patternMixture{truth, model}, func(x uint32) float64 {
		p, q := truth.probability(), model.probability()
		if q < underflown {
			return rareDivergence(truth, model, x, p, q)
		}
		return divergenceTerm(p, q)
	}), nil
}

// MixtureEntropy returns the entropy S = −Σ_x p(x) ln p(x) of a Bernoulli mixture in nats per
// row, exactly; the arguments and errors are those of GeneralisationError.
func MixtureEntropy(weights, probabilities []float64) (float64, error) {
	mix, err := newPatternMixture("mixture", weights, probabilities)
	if err != nil {
		return 0, err
	}
	return sumPatterns(0, 0, mix.m, []*patternMixture{mix}, func(uint32) float64 {
		p := mix.probability()
		if p == 0 {
			return 0
		}
		return max(0, -p*math.Log(p)) // p may round to above 1
	}), nil
}

// underflown bounds the probabilities whose products may have lost digits or vanished.
const underflown = 1e-290

// divergenceTerm is p ln(p/q) − p + q. Over all patterns −p + q sums to 0, and with it no
// term is negative: nothing cancels between patterns, however close p and q are.
func divergenceTerm(p, q float64) float64 {
	d := q - p
	switch {
	case p < underflown:
		return q
	case math.Abs(d) <= p/2:
		return max(0, d-p*math.Log1p(d/p))
	}
	return p*(math.Log(p)-math.Log(q)) + d
}

// rareDivergence is divergenceTerm where q is 0 or nearly so: the logarithms distinguish
// an underflow, after which the divergence is finite, from a pattern of probability 0.
func rareDivergence(truth, model *patternMixture, x uint32, p, q float64) float64 {
	logP := truth.logProbability(x)
	if math.IsInf(logP, -1) {
		return q
	}
	logQ := model.logProbability(x)
	if math.IsInf(logQ, -1) {
		return math.Inf(1) // also where p has underflown to 0
	}
	return max(0, p*(logP-logQ)+q-p)
}

// sumPatterns adds up term over all patterns that agree with x on the first depth of m
// columns, carrying the partial products of each mixture along. Sums of sums, they are
// pairwise.
func sumPatterns(depth int, x uint32, m int, mixtures []*patternMixture, term func(x uint32) float64) float64 {
	if depth == m {
		return term(x)
	}
	sum := 0.0
	for bit := range uint32(2) {
		for _, mix := range mixtures {
			mix.extend(depth, bit)
		}
		sum += sumPatterns(depth+1, x|bit<<depth, m, mixtures, term)
	}
	return sum
}

// patternMixture is a mixture with the partial products of the enumeration.
type patternMixture struct {
	k, m int
	// factors[x] is M×K: the probability of x = 0 or 1 in each column.
	factors [2][]float64
	// partial is (M+1)×K: the weights, times the factors of the columns so far.
	partial []float64
	logs    []float64 // K, scratch
}

func newPatternMixture(name string, weights, probabilities []float64) (*patternMixture, error) {
	k := len(weights)
	if k == 0 || len(probabilities) == 0 || len(probabilities)%k != 0 {
		return nil, fmt.Errorf("bernmix: the %s has %d weights and %d probabilities: K and K×M are needed",
			name, k, len(probabilities))
	}
	m := len(probabilities) / k
	if m > EnumerationLimit {
		return nil, fmt.Errorf("bernmix: the %s has %d columns: at most %d can be enumerated", name, m, EnumerationLimit)
	}
	for i, w := range weights {
		if !(w >= 0 && w <= 1+1e-6) {
			return nil, fmt.Errorf("bernmix: weight %d of the %s is %v, outside [0, 1]", i+1, name, w)
		}
	}
	total := floats.Sum(weights)
	if math.Abs(total-1) > 1e-6 {
		return nil, fmt.Errorf("bernmix: the weights of the %s sum to %v, not to 1", name, total)
	}
	mix := &patternMixture{k: k, m: m, partial: make([]float64, (m+1)*k), logs: make([]float64, k)}
	mix.factors = [2][]float64{make([]float64, m*k), make([]float64, m*k)}
	for i, mu := range probabilities {
		if !(mu >= 0 && mu <= 1) {
			return nil, fmt.Errorf("bernmix: probability %v of the %s (component %d, column %d) is outside [0, 1]", mu,
				name, i/m+1, i%m+1)
		}
		at := i%m*k + i/m
		mix.factors[0][at], mix.factors[1][at] = 1-mu, mu
	}
	floats.ScaleTo(mix.partial[:k], 1/total, weights)
	return mix, nil
}

// extend makes the partial products of depth+1 columns from those of depth.
func (mix *patternMixture) extend(depth int, bit uint32) {
	k := mix.k
	here, next := mix.partial[depth*k:(depth+1)*k], mix.partial[(depth+1)*k:(depth+2)*k]
	floats.MulTo(next, here, mix.factors[bit][depth*k:(depth+1)*k])
}

// probability is that of the pattern whose partial products are complete.
func (mix *patternMixture) probability() float64 {
	return floats.Sum(mix.partial[mix.m*mix.k:])
}

// logProbability is ln p(x), −Inf only where p(x) = 0 without rounding.
func (mix *patternMixture) logProbability(x uint32) float64 {
	for j := range mix.logs {
		mix.logs[j] = math.Log(mix.partial[j])
		for i := 0; i < mix.m && !math.IsInf(mix.logs[j], -1); i++ {
			mix.logs[j] += math.Log(mix.factors[x>>i&1][i*mix.k+j])
		}
	}
	return floats.LogSumExp(mix.logs)
}
