package prior

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/special"
)

// Dirichlet is the symmetric Dirichlet distribution Dir(Alpha,…,Alpha) of any number of mixture weights (K, eq. 3.2,
// with a for Alpha). It is the conjugate prior of a categorical variable. In the form of [Conjugate], T holds the
// indicators of all values but the last, η_i = ln(p_i/p_n), ν = n·Alpha and νχ_i = Alpha.
//
// If Alpha is small, variational Bayes empties redundant components. For Bernoulli components of M columns with prior
// Beta(b, b), it empties all of them if Alpha is below (M+1)/2 and ½ + Mb (K, Theorem 5.1.2, case 1).
type Dirichlet struct {
	Alpha float64 `json:"alpha"`
}

// Check returns an error unless Alpha is positive and finite.
func (d Dirichlet) Check() error { return positive("Dirichlet.Alpha", d.Alpha) }

// Concentrations returns the distribution of n weights, Alpha repeated n times.
func (d Dirichlet) Concentrations(n int) Concentrations {
	return slices.Repeat(Concentrations{d.Alpha}, n)
}

// LogNorm returns Concentrations(n).LogNorm(), n ln Γ(Alpha) − ln Γ(n·Alpha), in nats.
func (d Dirichlet) LogNorm(n int) float64 {
	count, total := float64(n), float64(n)*d.Alpha
	return -total*math.Log(count) - count*math.Log(d.Alpha)/2 + math.Log(total)/2 +
		(count-1)*special.HalfLogTwoPi + count*special.StirlingGap(d.Alpha) - special.StirlingGap(total)
}

// Concentrations are the parameters a of a Dirichlet distribution,
//
//	p(p) = Γ(Σa_i)/ΠΓ(a_i) Π p_i^(a_i−1),   Σp_i = 1,
//
// with a density with respect to all weights but the last. It is the posterior of a Dirichlet prior, a_i = Alpha +
// N_i (K, eq. 4.6), or a prior that is not symmetric. Its methods are accurate for any a_i from below 1e-4 to 1e9.
type Concentrations []float64

// Check returns an error unless there is at least one concentration, all are positive, and their sum is finite.
func (c Concentrations) Check() error {
	if len(c) == 0 {
		return errors.New("prior: Concentrations are empty: give one for each weight")
	}
	for i, a := range c {
		if !(a > 0) || math.IsInf(a, 1) {
			return positive(fmt.Sprintf("Concentrations[%d]", i), a)
		}
	}
	return positive("the sum of Concentrations", floats.Sum(c))
}

// LogNorm returns Σ ln Γ(a_i) − ln Γ(Σa_i), in nats: the log of the integral of
// Π p_i^(a_i−1) over the simplex.
//
// It is computed as Σ a_i ln(a_i/A) + ½(ln A − Σ ln a_i) + ½(n−1) ln 2π + Σδ(a_i) −
// δ(A), where A = Σa_i and δ is Stirling's remainder: the first sum has terms of one
// sign, and the rest is small, so that nothing large cancels.
func (c Concentrations) LogNorm() float64 {
	t := c.totals()
	large, small := 0.0, math.Log(t.all)/2-special.StirlingGap(t.all)+float64(len(c)-1)*special.HalfLogTwoPi
	for _, a := range c {
		large += a * t.logShare(a)
		small += special.StirlingGap(a) - math.Log(a)/2
	}
	return large + small
}

// totals are the sum of the concentrations, and what it is without the largest.
type totals struct{ all, rest float64 }

func (c Concentrations) totals() totals {
	top, rest := 0.0, 0.0
	for _, a := range c { // not floats.Sum, which would move a Beta's pair to the heap
		rest += min(a, top)
		top = max(a, top)
	}
	return totals{top + rest, rest}
}

// logShare is ln(a/A) for one of the concentrations. Only the largest can be more
// than half of A; a share near 1 is known by what is missing from it.
func (t totals) logShare(a float64) float64 {
	switch share := a / t.all; {
	case share > 0.5:
		return math.Log1p(-t.rest / t.all)
	case share < 1e-300:
		return math.Log(a) - math.Log(t.all)
	default:
		return math.Log(share)
	}
}

// ExpectedLog puts E[ln p_i] = ψ(a_i) − ψ(Σa) into dst and returns it (K, eq. 4.3).
func (c Concentrations) ExpectedLog(dst []float64) []float64 {
	dst = linalg.Resize(dst, len(c))
	t := c.totals()
	excess := special.DigammaExcess(t.all)
	for i, a := range c {
		dst[i] = t.logShare(a) + special.DigammaExcess(a) - excess
	}
	return dst
}

// Mean puts E[p_i] = a_i/Σa into dst and returns it.
func (c Concentrations) Mean(dst []float64) []float64 {
	dst = linalg.Resize(dst, len(c))
	all := c.totals().all
	for i, a := range c {
		dst[i] = a / all
	}
	return dst
}

// Mode puts the weights of greatest density, (a_i−1)/Σ(a_j−1), into dst and returns
// it. It returns an error if some a_i < 1, because the density is unbounded near p_i = 0, and if all are 1, because
// it is flat. A single weight always has the mode 1.
func (c Concentrations) Mode(dst []float64) ([]float64, error) {
	dst = linalg.Resize(dst, len(c))
	if len(c) == 1 {
		dst[0] = 1
		return dst, nil
	}
	sum := 0.0
	for i, a := range c {
		if !(a >= 1) {
			return nil, fmt.Errorf("prior: a Dirichlet distribution with concentration %v at weight %d has no mode: "+
				"below 1 its density is unbounded at 0", a, i)
		}
		sum += a - 1
	}
	if sum == 0 {
		return nil, errors.New("prior: a Dirichlet distribution with all concentrations 1 is flat and has no single mode")
	}
	for i, a := range c {
		dst[i] = (a - 1) / sum
	}
	return dst, nil
}

// LogProb returns the log density at the weights p, in nats: −Inf off the simplex, that is
// if one of them is negative or NaN or their sum differs from 1 by more than 1e-6. On
// its edge, p_i = 0, it is −Inf if any such a_i > 1, otherwise +Inf if any such a_i < 1.
func (c Concentrations) LogProb(p []float64) float64 {
	if len(p) != len(c) {
		panic("prior: the numbers of weights and of concentrations differ")
	}
	value, sum, infinite := -c.LogNorm(), 0.0, false
	for i, a := range c {
		switch {
		case !(p[i] >= 0), p[i] == 0 && a > 1:
			return math.Inf(-1)
		case p[i] == 0 && a < 1:
			infinite = true
		default:
			value += timesLog(a-1, p[i])
		}
		sum += p[i]
	}
	switch {
	case !(math.Abs(sum-1) <= 1e-6):
		return math.Inf(-1)
	case infinite:
		return math.Inf(1)
	}
	return value
}

// Rand draws weights into dst and returns it. They are drawn as logarithms of Gamma
// variables and sum to 1 however small the concentrations are; a weight below 1e-308
// may be returned as 0.
func (c Concentrations) Rand(rng *rand.Rand, dst []float64) []float64 {
	dst = linalg.Resize(dst, len(c))
	for i, a := range c {
		dst[i] = randLogGamma(rng, a)
	}
	top := floats.MaxIdx(dst)
	if math.IsInf(dst[top], -1) {
		// The weight that is 1 if the others are 0 is weight i with probability a_i/Σa: that is the law of the largest
		// of Gamma variables of tiny shapes, whose −ln are exponential with rates a_i, and it stays so, exponentials
		// having no memory, given that all of them are out of range.
		top = categorical.Draw(c, rng)
		clear(dst)
		dst[top] = 1
		return dst
	}
	peak := dst[top]
	for i, v := range dst {
		dst[i] = math.Exp(v - peak)
	}
	floats.Scale(1/floats.Sum(dst), dst)
	return dst
}
