package family

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/prior"
)

// Poisson describes counts: ln p(x|λ) = x ln λ − λ − ln x!. Its coordinate is 2√λ, in which
// the Fisher information of a row is 1. An estimate of 0 counts as 1e-300.
type Poisson struct{}

// Name is "poisson".
func (Poisson) Name() string { return "poisson" }

// Columns is 1.
func (Poisson) Columns() int { return 1 }

// On makes the columns independent.
func (f Poisson) On(columns int) ([]Factor, error) { return Independent(f, columns) }

// Repeats is true: rows are often equal.
func (Poisson) Repeats() bool { return true }

// Support describes the valid values.
func (Poisson) Support() string { return "the counts 0, 1, 2, …" }

// Statistics is 1: T(x) = x.
func (Poisson) Statistics() int { return 1 }

// Observe takes a count of at most 2⁵³.
func (Poisson) Observe(x, t []float64) (exposure, base float64, ok bool) {
	if !isCount(x[0]) {
		return 0, 0, false
	}
	t[0] = x[0]
	return 1, -logFactorial(x[0]), true
}

// ObserveBlock copies complete rows of counts.
func (f Poisson) ObserveBlock(
	self ExponentialFamily, x []float64, n, cells, stride int, memory, _ *[]float64, base []float64,
) ([]float64, int, bool) {
	t := linalg.Resize(*memory, n*cells)
	*memory = t
	return t, cells, self == ExponentialFamily(f) && countsOf(x, n, cells, stride, t, base)
}

// Parameters is the rate λ.
func (Poisson) Parameters() []string { return []string{"rate"} }

// Free is 1.
func (Poisson) Free() int { return 1 }

// Estimate is the mean.
func (Poisson) Estimate(n float64, t, xi []float64) error {
	xi[0] = max(0, t[0]/n)
	return nil
}

// Natural is η = ln λ, ψ = λ; NaN if λ is negative.
func (Poisson) Natural(xi, eta []float64) float64 {
	eta[0] = logOfRate(xi[0])
	return xi[0]
}

// Expect is λ.
func (Poisson) Expect(xi, t []float64) { t[0] = xi[0] }

// Information is 1.
func (Poisson) Information(_, diag []float64) { diag[0] = 1 }

// Move goes from 2√λ.
func (Poisson) Move(xi, step, dst []float64) {
	root := math.Sqrt(xi[0]) + step[0]/2
	dst[0] = root * root
}

// Deviations is √(λ/n).
func (Poisson) Deviations(xi []float64, n float64, dst []float64) { dst[0] = math.Sqrt(xi[0] / n) }

// Sample draws a count.
func (Poisson) Sample(xi []float64, rng *rand.Rand, x []float64) {
	x[0] = 0
	if xi[0] > 0 {
		x[0] = distuv.Poisson{Lambda: xi[0], Src: rng}.Rand()
	}
}

// Conjugate takes a prior.Gamma for λ, prior.UnitInformation, or a prior.Conjugate; by default Gamma(1, 1/mean),
// the exponential distribution with the mean of the column.
func (f Poisson) Conjugate(p prior.Prior, pooled []float64) (CellPrior, error) {
	each := 1 / max(pooled[0], 1e-3) // exposure of an event
	return conjugate(f, unitGamma(p, each), prior.Gamma{Shape: 1, Rate: each}, prior.PoissonRate)
}
