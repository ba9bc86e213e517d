package family

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/prior"
)

// Poisson describes counts: ln p(x|λ) = x ln λ − λ − ln x!. Its coordinate is 2√λ, in which
// the Fisher information of a row is 1. An estimate of 0 counts as 1e-300.
type Poisson struct{}

// Name is "poisson".
func (Poisson) Name() string { return "poisson" }

// Columns is 1.
func (Poisson) Columns() int { return 1 }

// On is independent columns.
func (f Poisson) On(columns int) ([]Factor, error) { return Independent(f, columns) }

// Repeats says that rows often are equal.
func (Poisson) Repeats() bool { return true }

// Support is in words.
func (Poisson) Support() string { return "the counts 0, 1, 2, …" }

// Statistics is 1: T(x) = x.
func (Poisson) Statistics() int { return 1 }

// Observe takes a count; 2⁵³ is the largest.
func (Poisson) Observe(x, t []float64) (exposure, base float64, ok bool) {
	if !isCount(x[0]) {
		return 0, 0, false
	}
	t[0] = x[0]
	return 1, -logFactorial(x[0]), true
}

// ObserveBlock copies complete rows of counts.
func (f Poisson) ObserveBlock(self ExponentialFamily, x []float64, n, cells, stride int, t, base []float64) ([]float64, int, bool) {
	if self != ExponentialFamily(f) {
		return nil, 0, false
	}
	for i := range n {
		for c, v := range x[i*stride : i*stride+cells] {
			if !isCount(v) {
				return nil, 0, false
			}
			t[i*cells+c] = v
			base[i] -= logFactorial(v)
		}
	}
	return t, cells, true
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

// Natural is η = ln λ, ψ = λ; NaN where λ is negative.
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

// Conjugate takes a prior.Gamma for λ, or a prior.Conjugate; by default Gamma(1, 1/mean),
// the exponential distribution with the mean of the column.
func (f Poisson) Conjugate(p prior.Prior, pooled []float64) (Conjugate, error) {
	switch own := p.(type) {
	case prior.Jeffreys:
		return nil, improper(f, "prior.Gamma with Shape 0.5 and a small Rate")
	case prior.Conjugate:
		nu, tau, err := pseudoCounts(own, f)
		if err != nil {
			return nil, err
		}
		if !(tau[0] > 0) {
			return nil, noMean(own, f, "a positive number")
		}
		p = prior.Gamma{Shape: tau[0], Rate: nu}
	}
	g, err := choose(p, f.Name(), prior.Gamma{Shape: 1, Rate: 1 / max(pooled[0], 1e-3)})
	return poissonPrior{gammaOfPoisson, g}, err
}

// poissonPrior is Gamma(τ, ν) for the rate: the density in η = ln λ is ∝ exp(ητ − νλ).
type poissonPrior struct {
	gammaOf
	before prior.Gamma
}

func gammaOfPoisson(h []float64) prior.Gamma { return prior.Gamma{Shape: h[1], Rate: h[0]} }

func (p poissonPrior) Prior(h []float64) { h[0], h[1] = p.before.Rate, p.before.Shape }

func (p poissonPrior) Expected(h, eta []float64) float64 {
	eta[0] = p.gammaOf(h).ExpectedLog()
	return p.gammaOf(h).Mean()
}

// gammaOf reads a distribution of a rate off pseudo-counts.
type gammaOf func(h []float64) prior.Gamma

func (of gammaOf) LogNorm(h []float64) float64 { return of(h).LogNorm() }

func (of gammaOf) Mode(h, xi []float64) (err error) {
	xi[0], err = of(h).Mode()
	return err
}

func (of gammaOf) LogProb(h, xi []float64) float64 { return of(h).LogProb(xi[0]) }

func (of gammaOf) Mean(h, xi []float64) { xi[0] = of(h).Mean() }

func (of gammaOf) Rand(h []float64, rng *rand.Rand, xi []float64) { xi[0] = of(h).Rand(rng) }

// logOfRate is ln λ; NaN of what is no rate.
func logOfRate(lambda float64) float64 {
	if lambda < 0 {
		return math.NaN()
	}
	return logOf(lambda)
}

// isCount says whether a number is 0, 1, 2, …; from 2⁵³ on they cannot be told apart.
func isCount(v float64) bool { return v >= 0 && v == math.Trunc(v) && v <= 1<<53 }

// factorials holds ln n! for the counts that are frequent.
var factorials = func() (table [256]float64) {
	for n := range table {
		table[n], _ = math.Lgamma(float64(n) + 1)
	}
	return table
}()

// logFactorial is ln n! for a count n.
func logFactorial(n float64) float64 {
	if n < float64(len(factorials)) {
		return factorials[int(n)]
	}
	v, _ := math.Lgamma(n + 1)
	return v
}
