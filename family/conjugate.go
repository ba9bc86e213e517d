package family

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/prior"
)

// choose takes the prior of the type that a family needs, or its default.
func choose[T prior.Prior](p prior.Prior, name string, otherwise T) (T, error) {
	if p == nil {
		return otherwise, otherwise.Check()
	}
	own, ok := p.(T)
	if !ok {
		return own, WrongPrior(p, name, otherwise)
	}
	return own, own.Check()
}

// WrongPrior says which prior a family takes.
func WrongPrior(p prior.Prior, name string, takes ...prior.Prior) error {
	text := ""
	for i, t := range takes {
		if i > 0 {
			text += " or "
		}
		text += fmt.Sprintf("%T", t)
	}
	return fmt.Errorf("family: %s has no conjugate prior %T: take %s", name, p, text)
}

// improper refuses Jeffreys' prior where it is no distribution.
func improper(f ExponentialFamily, instead string) error {
	return fmt.Errorf("family: Jeffreys' prior of %s has no finite integral: take %s", f.Name(), instead)
}

// pseudoCounts are ν and τ = νχ of a prior in the general form of paper K, A.2.
func pseudoCounts(p prior.Conjugate, f ExponentialFamily) (nu float64, tau []float64, err error) {
	if err := p.Check(); err != nil {
		return 0, nil, err
	}
	if len(p.Chi) != f.Statistics() {
		return 0, nil, fmt.Errorf("family: Conjugate.Chi has %d numbers, and %s has %d statistics", len(p.Chi),
			f.Name(), f.Statistics())
	}
	h := p.Pseudo(nil)
	return h[0], h[1:], nil
}

// noMean says that χ is not a mean that the statistics can have.
func noMean(p prior.Conjugate, f ExponentialFamily, want string) error {
	return fmt.Errorf("family: Conjugate.Chi is %v; must be a mean of the statistics of %s: give %s", p.Chi, f.Name(),
		want)
}

// conjugate is the prior of a family of one parameter that p describes: of the likelihood's type, which
// otherwise is too, or in the general form.
func conjugate[D prior.Distribution](
	f ExponentialFamily, p prior.Prior, otherwise D, of *prior.Likelihood[D],
) (CellPrior, error) {
	switch own := p.(type) {
	case prior.Jeffreys:
		return nil, improper(f, of.Instead)
	case prior.Conjugate:
		nu, tau, err := pseudoCounts(own, f)
		if err != nil {
			return nil, err
		}
		d := of.Posterior(*new(D), nu, tau[0])
		if d.Check() != nil {
			return nil, noMean(own, f, of.Mean)
		}
		p = d
	}
	d, err := choose(p, f.Name(), otherwise)
	return prior.Natural[D]{Of: of, Before: d}, err
}

// unitGamma is the prior of a rate, or of the rate of a time, worth so many observations with the given mean.
func unitGamma(p prior.Prior, mean float64) prior.Prior {
	if own, ok := p.(prior.UnitInformation); ok {
		return prior.Gamma{Shape: own.RowsOr(), Rate: own.RowsOr() * mean}
	}
	return p
}

// dirichletOf is the prior of the probabilities of levels, or categories, that p describes.
func dirichletOf(p prior.Prior, f ExponentialFamily, levels int) (CellPrior, error) {
	switch own := p.(type) {
	case prior.Jeffreys:
		p = own.Dirichlet()
	case prior.UnitInformation:
		p = prior.Dirichlet{Alpha: own.RowsOr() / 2}
	case prior.Concentrations:
		if len(own) != levels {
			return nil, fmt.Errorf("family: %d concentrations for the %d probabilities of %s: give one for each",
				len(own), levels, f.Name())
		}
		return prior.NaturalDirichlet{Before: own}, own.Check()
	case prior.Conjugate:
		_, tau, err := pseudoCounts(own, f)
		if err != nil {
			return nil, err
		}
		if !(floats.Min(tau) > 0) || !(math.Abs(floats.Sum(own.Chi)-1) <= 1e-6) {
			return nil, noMean(own, f, "positive numbers that sum to 1")
		}
		return prior.NaturalDirichlet{Before: tau}, nil
	}
	d, err := choose(p, f.Name(), prior.Dirichlet{Alpha: 1})
	if err != nil {
		return nil, err
	}
	return prior.NaturalDirichlet{Before: d.Concentrations(levels)}, nil
}
