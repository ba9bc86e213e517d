package family

import (
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// A Posterior holds the conjugate priors of a plan's factors: MAP takes the modes of their posteriors, variational
// Bayes the posteriors. Hyperparameters of a class are H numbers.
type Posterior struct {
	*Plan
	priors []FactorPrior
	Units  Units // gain of log densities in units of the table
}

// Posterior makes the priors that p describes: nil for every family's default, [Priors] for a product of several. The
// plan must have the table as one class attached.
func (p *Plan) Posterior(pr prior.Prior) (*Posterior, error) {
	if p.pooled == nil {
		return nil, errUnpooled
	}
	if pr != nil {
		if err := pr.Check(); err != nil {
			return nil, err
		}
	}
	own, err := p.split(pr)
	if err != nil {
		return nil, err
	}
	b := &Posterior{Plan: p, priors: make([]FactorPrior, len(p.parts))}
	for i := range p.parts {
		f := &p.parts[i]
		c, ok := f.Factor.(ConjugateFactor)
		if !ok {
			return nil, fmt.Errorf("family: %s has no conjugate prior: it does not implement family.ConjugateFactor", f.Name())
		}
		if b.priors[i], err = c.Conjugate(own[i], f.pooled); err != nil {
			return nil, err
		}
		u := c.Units(f.pooled)
		b.Units.Class += u.Class
		b.Units.Shared += u.Shared
	}
	return b, nil
}

// split gives each factor its prior: the same, or its own of [Priors].
func (p *Plan) split(pr prior.Prior) ([]prior.Prior, error) {
	own, ok := pr.(Priors)
	list := make([]prior.Prior, len(p.parts))
	names := map[string]bool{}
	for i := range list {
		name := p.parts[i].Name()
		names[name] = true
		switch {
		case !ok:
			list[i] = pr
		case own[name] != nil:
			list[i] = own[name]
		}
	}
	for name := range own {
		if !names[name] {
			return nil, fmt.Errorf("family: the prior names the family %q, which the model does not have", name)
		}
	}
	return list, nil
}

// Priors are priors by the names of the families of a [Product].
type Priors map[string]prior.Prior

// Check checks each.
func (p Priors) Check() error {
	for name, one := range p {
		if one == nil {
			return fmt.Errorf("family: the prior of %q is nil", name)
		}
		if err := one.Check(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// each calls do for every factor with its prior.
func (b *Posterior) each(do func(f *part, p FactorPrior) error) error {
	for i := range b.parts {
		if err := do(&b.parts[i], b.priors[i]); err != nil {
			return shift(err, b.parts[i].at.Columns)
		}
	}
	return nil
}

// Update puts the posterior hyperparameters of every class into h, K×H.
func (b *Posterior) Update(c *Classes, h []float64) {
	for i := range b.parts {
		f := &b.parts[i]
		for k := range c.K {
			b.priors[i].Update(f.ofSums(c.sums(k)), f.ofAnchor(c.anchor(k)), f.ofHyper(linalg.Row(h, k, b.size.Hyper)))
		}
		if p, ok := b.priors[i].(SharedPrior); ok {
			p.Share(Table{c.K, b.size.Hyper, h[f.at.Hyper:]})
		}
	}
}

// Prepare is [Classes.Prepare] with E[ln p(x|ξ_k)] instead of the log density.
func (b *Posterior) Prepare(c *Classes, h []float64, tilt *laplace.Tilt, constant []float64) error {
	c.Clear()
	if err := b.expect(c, h); err != nil {
		return err
	}
	return c.settle(tilt, constant)
}

// expect puts the expected scores into the scratch memory of c.
func (b *Posterior) expect(c *Classes, h []float64) error {
	c.write()
	for k := range c.K {
		err := b.each(func(f *part, p FactorPrior) error {
			return p.Expected(f.ofHyper(linalg.Row(h, k, b.size.Hyper)), f.ofScore(c.scoreOf(k)))
		})
		if err != nil {
			return ClassError(k, err)
		}
	}
	return nil
}

// LogJoint is Σ_n Σ_k r_nk E[ln p(x_n|ξ_k)] − Σ_k KL(q(ξ_k)‖p(ξ_k)); NaN if it does not exist.
func (b *Posterior) LogJoint(c *Classes, h []float64) float64 {
	if b.expect(c, h) != nil {
		return nan // the engine reports it
	}
	sum := c.Base
	for k := range c.K {
		sum += c.total(k)
		_ = b.each(func(f *part, p FactorPrior) error {
			sum -= p.Divergence(f.ofHyper(linalg.Row(h, k, b.size.Hyper)), f.ofScore(c.scoreOf(k)))
			return nil
		})
	}
	return sum
}

// Mode puts the mode of every class's posterior, above the floor if there is one, into params, K×P.
func (b *Posterior) Mode(h, params []float64) error {
	for k := range len(h) / max(1, b.size.Hyper) {
		err := b.each(func(f *part, p FactorPrior) error {
			return p.Mode(f.ofHyper(linalg.Row(h, k, b.size.Hyper)), f.ofParams(linalg.Row(params, k, b.size.Params)))
		})
		if err != nil {
			return ClassError(k, err)
		}
	}
	k := len(params) / max(1, b.size.Params)
	return b.each(func(f *part, _ FactorPrior) error { return b.bound(f, Table{k, b.size.Params, params}) })
}

// Mean puts the mean of every class's posterior into params, K×P.
func (b *Posterior) Mean(h, params []float64) {
	for k := range len(h) / max(1, b.size.Hyper) {
		_ = b.each(func(f *part, p FactorPrior) error {
			p.Mean(f.ofHyper(linalg.Row(h, k, b.size.Hyper)), f.ofParams(linalg.Row(params, k, b.size.Params)))
			return nil
		})
	}
}

// LogPrior is the log prior density of the parameters of all classes, params, K×P, with means,
// variances and rates in units of the table.
func (b *Posterior) LogPrior(params []float64) float64 {
	k := len(params) / max(1, b.size.Params)
	sum := float64(k)*b.Units.Class + b.Units.Shared
	for j := range k {
		_ = b.each(func(f *part, p FactorPrior) error {
			xi := f.ofParams(linalg.Row(params, j, b.size.Params))
			sum += p.LogProb(xi)
			if shared, ok := p.(SharedPrior); ok && j == 0 {
				sum += shared.LogProbShared(xi)
			}
			return nil
		})
	}
	return sum
}

// Draw draws the parameters of every class, params, K×P, from their posteriors.
func (b *Posterior) Draw(h []float64, rng *rand.Rand, params []float64) {
	k := len(h) / max(1, b.size.Hyper)
	for i := range b.parts {
		f, p := &b.parts[i], b.priors[i]
		if shared, ok := p.(SharedPrior); ok {
			shared.RandShared(Table{k, b.size.Hyper, h[f.at.Hyper:]}, rng, Table{k, b.size.Params, params[f.at.Params:]})
			continue
		}
		for j := range k {
			p.Rand(f.ofHyper(linalg.Row(h, j, b.size.Hyper)), rng, f.ofParams(linalg.Row(params, j, b.size.Params)))
		}
	}
}
