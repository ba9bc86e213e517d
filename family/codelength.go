package family

import (
	"fmt"

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
// of the rows behind the sums: minus the length of their normalised maximum likelihood codes, with C that of
// special.LogComplexity. It returns an error if a factor has no [Finite] family.
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
			known[key] = special.LogComplexity(n, values)
		}
		sum -= n * l.law.Natural(xi, eta)
		sum += linalg.Dot(eta, l.cell(t, c)) - known[key]
	}
	return sum, nil
}
