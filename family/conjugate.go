package family

import (
	"fmt"

	"github.com/latent-go/latent/prior"
)

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

// wrongPrior says which prior a family takes.
func wrongPrior(p prior.Prior, name string, takes ...prior.Prior) error {
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
		return 0, nil, fmt.Errorf("family: Conjugate.Chi has %d numbers, and %s has %d statistics", len(p.Chi), f.Name(), f.Statistics())
	}
	h := p.Pseudo(nil)
	return h[0], h[1:], nil
}

// noMean says that χ is not a mean that the statistics can have.
func noMean(p prior.Conjugate, f ExponentialFamily, want string) error {
	return fmt.Errorf("family: Conjugate.Chi is %v, which is no mean of the statistics of %s: give %s", p.Chi, f.Name(), want)
}
