package family

import (
	"fmt"
	"math"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/special"
)

// Finite is an [ExponentialFamily] of a unit of exposure with finitely many values, each with its own probability, so
// that the normalised maximum likelihood has a closed form.
type Finite interface {
	// Values is their number L.
	Values() int
}

// Values is 2.
func (Bernoulli) Values() int { return 2 }

// Values is L.
func (f Categorical) Values() int { return f.Levels }

// Values is the number of categories.
func (f Multinomial) Values() int { return f.Categories }

// CodeLength is, in nats, the sum over classes k and cells c of
//
//	ln p(x_c|ξ̂_kc) − ln C(E_kc, L_c),   E_kc the exposures,
//
// of the rows behind the sums: minus the length of their normalised maximum likelihood codes (see [LogComplexity]). It
// returns an error if a factor has no [Finite] family.
func (c *Classes) CodeLength() (float64, error) {
	sum, known := c.Base, map[[2]float64]float64{}
	for i := range c.plan.parts {
		f := &c.plan.parts[i]
		of, ok := f.Factor.(interface{ exponential() exponentialKernel })
		if ok {
			_, ok = of.exponential().law.(Finite)
		}
		if !ok {
			return 0, fmt.Errorf("family: %s has infinitely many values, and so no normalised maximum likelihood", f.Name())
		}
		for k := range c.K {
			v, err := of.exponential().codeLength(f.ofSums(c.sums(k)), known)
			if err != nil {
				return 0, err
			}
			sum += v
		}
	}
	return sum, nil
}

// codeLength is that of one class, but for ln h; known are the complexities of (n, L).
func (l exponentialKernel) codeLength(sums []float64, known map[[2]float64]float64) (sum float64, err error) {
	e, t := l.split(sums)
	values := l.law.(Finite).Values()
	xi, eta := make([]float64, l.p), make([]float64, l.s)
	for c, n := range e {
		if !(n > 0) {
			continue
		}
		if err := l.law.Estimate(n, l.cell(t, c), xi); err != nil {
			return 0, l.unestimated(c, err)
		}
		key := [2]float64{n, float64(values)}
		if _, ok := known[key]; !ok {
			known[key] = LogComplexity(n, values)
		}
		sum -= n * l.law.Natural(xi, eta)
		sum += linalg.Dot(eta, l.cell(t, c)) - known[key]
	}
	return sum, nil
}

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
	sum, gap := 2., special.StirlingGap(n)
	for r := 1.; r < n; r++ {
		sum += math.Sqrt(n/(2*math.Pi*r*(n-r))) * math.Exp(gap-special.StirlingGap(r)-special.StirlingGap(n-r))
	}
	return sum
}
