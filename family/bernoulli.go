package family

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/prior"
)

// Bernoulli describes zeros and ones: ln p(x|p) = x ln p + (1−x) ln(1−p). Its coordinate
// is 2 arcsin √p, in which the Fisher information of a row is 1, on a line of finite length, so that columns that are
// constant in a component need no special case. A probability of 0 counts as 1e-300.
type Bernoulli struct{}

// Name is "bernoulli".
func (Bernoulli) Name() string { return "bernoulli" }

// Columns is 1.
func (Bernoulli) Columns() int { return 1 }

// On makes the columns independent.
func (f Bernoulli) On(columns int) ([]Factor, error) { return Independent(f, columns) }

// Repeats is true: rows are often equal.
func (Bernoulli) Repeats() bool { return true }

// Support describes the valid values.
func (Bernoulli) Support() string { return "the numbers 0 and 1" }

// Statistics is 1: T(x) = x.
func (Bernoulli) Statistics() int { return 1 }

// Observe takes a zero or a one.
func (Bernoulli) Observe(x, t []float64) (exposure, base float64, ok bool) {
	if x[0] != 0 && x[0] != 1 {
		return 0, 0, false
	}
	t[0] = x[0]
	return 1, 0, true
}

// Parameters is the success probability p.
func (Bernoulli) Parameters() []string { return []string{"probability"} }

// Free is 1.
func (Bernoulli) Free() int { return 1 }

// Estimate is the share of ones.
func (Bernoulli) Estimate(n float64, t, xi []float64) error {
	xi[0] = share(t[0], n)
	return nil
}

// Natural is η = ln p − ln(1−p), ψ = −ln(1−p); NaN if p is not a probability.
func (Bernoulli) Natural(xi, eta []float64) float64 {
	lnQ := logOfProbability(1 - xi[0])
	eta[0] = logOfProbability(xi[0]) - lnQ
	return -lnQ
}

// ObserveBlock uses complete rows of zeros and ones in place as their statistics.
func (f Bernoulli) ObserveBlock(
	self ExponentialFamily, x []float64, n, cells, stride int, _, _ *[]float64, _ []float64,
) ([]float64, int, bool) {
	return x, stride, self == ExponentialFamily(f) && simd.Bits(x, n, cells, stride)
}

// Naturals is Natural of many probabilities: every shard of every pass needs K×D of them.
func (f Bernoulli) Naturals(self ExponentialFamily, p, e, t []float64) bool {
	if self != ExponentialFamily(f) {
		return false
	}
	for c, v := range p {
		t[c], e[c] = max(v, tiny), max(1-v, tiny)
		if v < 0 || v > 1 {
			t[c], e[c] = math.NaN(), math.NaN()
		}
	}
	simd.Log(t, t)
	simd.Log(e, e)
	floats.Sub(t, e)
	return true
}

// Expect is p.
func (Bernoulli) Expect(xi, t []float64) { t[0] = xi[0] }

// Information is 1.
func (Bernoulli) Information(_, diag []float64) { diag[0] = 1 }

// Move goes from 2 arcsin √p.
func (Bernoulli) Move(xi, step, dst []float64) {
	s := math.Sin(math.Atan2(math.Sqrt(xi[0]), math.Sqrt(1-xi[0])) + step[0]/2)
	dst[0] = s * s
}

// Deviations is √(p(1−p)/n).
func (Bernoulli) Deviations(xi []float64, n float64, dst []float64) {
	dst[0] = math.Sqrt(xi[0] * (1 - xi[0]) / n)
}

// Sample draws a zero or a one.
func (Bernoulli) Sample(xi []float64, rng *rand.Rand, x []float64) {
	if x[0] = 0; rng.Float64() < xi[0] {
		x[0] = 1
	}
}

// Conjugate takes a prior.Beta, prior.Jeffreys, which is Beta(½, ½), prior.UnitInformation, as many times that, or a
// prior.Conjugate; by default Beta(1, 1), flat.
func (f Bernoulli) Conjugate(p prior.Prior, _ []float64) (CellPrior, error) {
	switch own := p.(type) {
	case prior.Jeffreys:
		p = own.Beta()
	case prior.UnitInformation:
		p = prior.Beta{A: own.RowsOr() / 2, B: own.RowsOr() / 2}
	}
	return conjugate(f, p, prior.Beta{A: 1, B: 1}, prior.BernoulliProbability)
}
