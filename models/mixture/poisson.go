package mixture

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

// Support is in words.
func (Poisson) Support() string { return "the counts 0, 1, 2, …" }

// Statistics is 1: T(x) = x.
func (Poisson) Statistics() int { return 1 }

// Observe takes a count; 2⁵³ is the largest.
func (Poisson) Observe(x, t []float64) (exposure, base float64, ok bool) {
	v := x[0]
	if !(v >= 0) || v != math.Trunc(v) || v > 1<<53 {
		return 0, 0, false
	}
	t[0] = v
	return 1, -logFactorial(v), true
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

// Natural is η = ln λ, ψ = λ.
func (Poisson) Natural(xi, eta []float64) float64 {
	eta[0] = logOf(xi[0])
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

// Conjugate takes a prior.Gamma for λ; by default Gamma(1, 1/mean), the exponential
// distribution with the mean of the column.
func (Poisson) Conjugate(p prior.Prior, whole []float64) (Conjugate, error) {
	return gammaOfRate(p, "poisson", prior.Gamma{Shape: 1, Rate: 1 / max(whole[0], 1e-3)})
}

// gammaPrior is Gamma(τ, ν) for the rate: the density in η = ln λ is ∝ exp(ητ − νλ).
type gammaPrior struct{ prior.Gamma }

func gammaOfRate(p prior.Prior, name string, otherwise prior.Gamma) (Conjugate, error) {
	g, err := choose(p, name, otherwise)
	return gammaPrior{g}, err
}

// choose takes the prior of the type that a family needs, or its default.
func choose[T prior.Prior](p prior.Prior, name string, otherwise T) (T, error) {
	if p == nil {
		return otherwise, otherwise.Check()
	}
	own, ok := p.(T)
	if !ok {
		return own, wrongPrior(p, name, otherwise)
	}
	return own, own.Check()
}

func (g gammaPrior) Prior(h []float64) { h[0], h[1] = g.Rate, g.Shape }

func (gammaPrior) of(h []float64) prior.Gamma { return prior.Gamma{Shape: h[1], Rate: h[0]} }

func (g gammaPrior) LogNorm(h []float64) float64 { return g.of(h).LogNorm() }

func (g gammaPrior) Expected(h, eta []float64) float64 {
	eta[0] = g.of(h).ExpectedLog()
	return g.of(h).Mean()
}

func (g gammaPrior) Mode(h, xi []float64) (err error) {
	xi[0], err = g.of(h).Mode()
	return err
}

func (g gammaPrior) LogProb(h, xi []float64) float64 { return g.of(h).LogProb(xi[0]) }

func (g gammaPrior) Mean(h, xi []float64) { xi[0] = g.of(h).Mean() }

func (g gammaPrior) Rand(h []float64, rng *rand.Rand, xi []float64) { xi[0] = g.of(h).Rand(rng) }
