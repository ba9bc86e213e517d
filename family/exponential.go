package family

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/prior"
)

// Exponential describes times and other non-negative numbers:
// ln p(x|λ) = ln λ − λx. Its coordinate is ln λ, in which the Fisher information of a row
// is 1. A component all of whose numbers are 0 has no estimate.
type Exponential struct{}

// Name is "exponential".
func (Exponential) Name() string { return "exponential" }

// Columns is 1.
func (Exponential) Columns() int { return 1 }

// On makes the columns independent.
func (f Exponential) On(columns int) ([]Factor, error) { return Independent(f, columns) }

// Support describes the valid values.
func (Exponential) Support() string { return "non-negative finite numbers" }

// Statistics is 1: T(x) = x.
func (Exponential) Statistics() int { return 1 }

// Observe takes a non-negative number.
func (Exponential) Observe(x, t []float64) (exposure, base float64, ok bool) {
	if !(x[0] >= 0) || math.IsInf(x[0], 1) {
		return 0, 0, false
	}
	t[0] = x[0]
	return 1, 0, true
}

// Parameters is the rate λ.
func (Exponential) Parameters() []string { return []string{"rate"} }

// Rate is λ.
func (Exponential) Rate(xi []float64) float64 { return xi[0] }

// Free is 1.
func (Exponential) Free() int { return 1 }

// Estimate is 1/mean.
func (Exponential) Estimate(n float64, t, xi []float64) error {
	if xi[0] = n / t[0]; !(xi[0] > 0 && xi[0] < 1e290) { // beyond, a prior's pseudo-counts overflow
		return fmt.Errorf("family: all numbers of an exponential distribution are 0, or too small for its rate: %w; "+
			"lower K, allow pruning, rescale the column, or take MAP", framework.ErrDegenerate)
	}
	return nil
}

// Natural is η = −λ, ψ = −ln λ; NaN if λ is negative.
func (Exponential) Natural(xi, eta []float64) float64 {
	eta[0] = -xi[0]
	return -logOfRate(xi[0])
}

// Expect is 1/λ.
func (Exponential) Expect(xi, t []float64) { t[0] = 1 / max(xi[0], tiny) }

// Information is 1.
func (Exponential) Information(_, diag []float64) { diag[0] = 1 }

// Move goes from ln λ.
func (Exponential) Move(xi, step, dst []float64) { dst[0] = xi[0] * math.Exp(step[0]) }

// Deviations is λ/√n.
func (Exponential) Deviations(xi []float64, n float64, dst []float64) { dst[0] = xi[0] / math.Sqrt(n) }

// Sample draws a number.
func (Exponential) Sample(xi []float64, rng *rand.Rand, x []float64) {
	x[0] = rng.ExpFloat64() / max(xi[0], tiny)
}

// Conjugate takes a prior.Gamma for λ, prior.UnitInformation, or a prior.Conjugate; by default Gamma(1, mean),
// the exponential distribution whose mean is 1/mean of the column.
func (f Exponential) Conjugate(p prior.Prior, pooled []float64) (CellPrior, error) {
	p = unitGamma(p, 1/pooled[0])
	if g, ok := p.(prior.Gamma); ok && g.Shape > 0 && !(1+(g.Shape-1) > 0) {
		return nil, &prior.ParameterError{
			Name:   "Gamma.Shape",
			Value:  g.Shape,
			Reason: fmt.Sprintf("it vanishes beside 1: give %s a shape above 1e-15", f.Name()),
		}
	}
	return conjugate(f, p, prior.Gamma{Shape: 1, Rate: 1 / pooled[0]}, prior.ExponentialRate)
}
