package prior

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// A Distribution is the distribution of one number, such as [Beta] and [Gamma].
type Distribution interface {
	Prior
	LogNorm() float64
	Mean() float64
	Mode() (float64, error)
	LogProb(x float64) float64
	Rand(rng *rand.Rand) float64
}

// A Likelihood ln p(x|η) = ηx − ψ of one parameter has the distributions D of that parameter as conjugate priors: in
// η their density is ∝ exp(ητ − νψ), with pseudo-counts ν of rows and τ of their sum.
type Likelihood[D Distribution] struct {
	// Pseudo returns ν and τ of a prior.
	Pseudo func(prior D) (nu, tau float64)
	// Posterior returns the posterior with the pseudo-counts ν and τ.
	Posterior func(prior D, nu, tau float64) D
	// Expected returns E[η] and E[ψ].
	Expected func(D) (eta, psi float64)
	// Predictive and Curvature compute [Natural.Predictive] and [Natural.Curvature] for a row with exposure e and sum x;
	// the distribution after includes a share out of the row.
	Predictive func(prior, after D, e, x, out float64) (factor, log float64)
	Curvature  func(after D, e, x float64) float64
	// Factors computes the factors of Predictive for rows of 0 and 1, all at once; nil if rows have other numbers.
	Factors func(prior, after D, labels, out, factors []float64)

	Mean    string // what χ of a [Conjugate] may be, for error messages
	Instead string // what to use in place of [Jeffreys] if that is improper, for error messages
}

// PoissonRate has η = ln λ and ψ = λ, where Gamma(τ, ν) is ∝ λ^τ exp(−νλ).
var PoissonRate = &Likelihood[Gamma]{
	Pseudo:    func(g Gamma) (nu, tau float64) { return g.Rate, g.Shape },
	Posterior: func(_ Gamma, nu, tau float64) Gamma { return Gamma{Shape: tau, Rate: nu} },
	Expected:  func(g Gamma) (eta, psi float64) { return g.ExpectedLog(), g.Mean() },
	Predictive: func(prior, g Gamma, e, x, out float64) (factor, log float64) {
		return predictiveGamma(prior, g, x, e, out)
	},
	Curvature: func(g Gamma, e, x float64) float64 { return curvatureGamma(g, x, e) },
	Mean:      "a positive number",
	Instead:   "prior.Gamma with Shape 0.5 and a small Rate",
}

// ExponentialRate has η = −λ and ψ = −ln λ, where Gamma(1+ν, τ) is ∝ λ^ν exp(−λτ).
var ExponentialRate = &Likelihood[Gamma]{
	Pseudo:     func(g Gamma) (nu, tau float64) { return g.Shape - 1, g.Rate },
	Posterior:  func(_ Gamma, nu, tau float64) Gamma { return Gamma{Shape: 1 + nu, Rate: tau} },
	Expected:   func(g Gamma) (eta, psi float64) { return -g.Mean(), -g.ExpectedLog() },
	Predictive: predictiveGamma,
	Curvature:  curvatureGamma,
	Mean:       "a positive number",
	Instead:    "prior.Gamma with a small Shape and Rate",
}

// BernoulliProbability has η = ln p − ln(1−p) and ψ = −ln(1−p), where Beta(τ, ν−τ) is ∝ p^τ (1−p)^(ν−τ).
var BernoulliProbability = &Likelihood[Beta]{
	Pseudo: func(b Beta) (nu, tau float64) { return b.A + b.B, b.A },
	// At least what the prior counts: its B may be 1e-4, and ν − τ is known to the rounding of ν.
	Posterior: func(prior Beta, nu, tau float64) Beta { return Beta{A: max(tau, prior.A), B: max(nu-tau, prior.B)} },
	Expected: func(b Beta) (eta, psi float64) {
		lnP, lnQ := b.ExpectedLog()
		return lnP - lnQ, -lnQ
	},
	Predictive: predictiveBeta,
	Curvature:  curvatureBeta,
	Factors: func(prior, b Beta, labels, out, factors []float64) {
		counts, least := [2]float64{b.B, b.A}, [2]float64{prior.B, prior.A}
		labelFactors(counts[:], least[:], labels, out, factors)
	},
	Mean: "a number between 0 and 1",
}

// Natural is a prior of one parameter in terms of pseudo-counts h = (ν, τ). A posterior adds the number of rows to ν
// and their sum of x to τ.
type Natural[D Distribution] struct {
	Of     *Likelihood[D]
	Before D // the prior
}

func (q Natural[D]) at(h []float64) D { return q.Of.Posterior(q.Before, h[0], h[1]) }

// Prior puts the pseudo-counts of the prior into h.
func (q Natural[D]) Prior(h []float64) { h[0], h[1] = q.Of.Pseudo(q.Before) }

// LogNorm returns the logarithm of the integral of exp(ητ − νψ), in nats.
func (q Natural[D]) LogNorm(h []float64) float64 { return q.at(h).LogNorm() }

// Expected puts E[η] into eta and returns E[ψ].
func (q Natural[D]) Expected(h, eta []float64) (partition float64) {
	eta[0], partition = q.Of.Expected(q.at(h))
	return partition
}

// Mode puts the mode of the parameter into xi.
func (q Natural[D]) Mode(h, xi []float64) (err error) {
	xi[0], err = q.at(h).Mode()
	return err
}

// LogProb returns the log density of the parameter xi, in nats.
func (q Natural[D]) LogProb(h, xi []float64) float64 { return q.at(h).LogProb(xi[0]) }

// Mean puts the mean of the parameter into xi.
func (q Natural[D]) Mean(h, xi []float64) { xi[0] = q.at(h).Mean() }

// Rand draws the parameter into xi.
func (q Natural[D]) Rand(h []float64, rng *rand.Rand, xi []float64) { xi[0] = q.at(h).Rand(rng) }

// NaturalDirichlet is [Natural] for the probabilities p of categories, with η = ln p. The pseudo-counts are ν, which
// has no effect because ψ = 0, and the concentration of every category.
type NaturalDirichlet struct{ Before Concentrations }

func (NaturalDirichlet) at(h []float64) Concentrations { return h[1:] }

// Prior puts the pseudo-counts of the prior into h.
func (q NaturalDirichlet) Prior(h []float64) {
	h[0] = floats.Sum(q.Before)
	copy(h[1:], q.Before)
}

// LogNorm returns [Concentrations.LogNorm], in nats.
func (q NaturalDirichlet) LogNorm(h []float64) float64 { return q.at(h).LogNorm() }

// Expected puts E[ln p] into eta and returns 0.
func (q NaturalDirichlet) Expected(h, eta []float64) float64 {
	q.at(h).ExpectedLog(eta)
	return 0
}

// Mode puts the mode of p into xi.
func (q NaturalDirichlet) Mode(h, xi []float64) error {
	_, err := q.at(h).Mode(xi)
	return err
}

// LogProb returns the log density of p, in nats.
func (q NaturalDirichlet) LogProb(h, xi []float64) float64 { return q.at(h).LogProb(xi) }

// Mean puts E[p] into xi.
func (q NaturalDirichlet) Mean(h, xi []float64) { q.at(h).Mean(xi) }

// Rand draws p.
func (q NaturalDirichlet) Rand(h []float64, rng *rand.Rand, xi []float64) { q.at(h).Rand(rng, xi) }
