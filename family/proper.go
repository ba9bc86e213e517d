package family

import (
	"errors"
	"fmt"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// What the evidence needs of classes whose parameters have a proper prior (docs/theory/evidence.md, section 2).
// Exponential families have conjugate priors, and integrals that are exact; other factors are [Proper].

// A Proper factor has a prior worth about one observation, and integrals under it by Laplace's method.
type Proper interface {
	SumFactor
	// MaximizePosterior moves the parameters of all classes to, or towards, the maximum of E_q[ln p(x|ξ)] + ln p(ξ). They
	// start from the last iteration, at first anywhere in their range. A class without exposure gets the mode of the
	// prior.
	MaximizePosterior(sums, anchors, params Table, of *Reference) error
	// Integrals passes the terms of each class and cell to add, and the terms of shared parameters with class −1.
	Integrals(sums, anchors, params Table, of *Reference, add func(class, cell int, t laplace.Term)) error
}

// ProperRows is [Proper] for a [RowFactor].
type ProperRows interface {
	RowFactor
	// MaximizePosteriorRows is EstimateRows of the likelihood and the prior. Weights may be negative if those of a class
	// have a positive sum.
	MaximizePosteriorRows(rows []Weighted, params Table, of *Reference) error
	// IntegralsRows is [Proper].Integrals.
	IntegralsRows(rows []Weighted, params Table, of *Reference, add func(class, cell int, t laplace.Term)) error
}

// A Reference is the centre of a unit-information prior.
type Reference struct {
	Pooled *Pooled // the factor's part of the table as one class
	Prior  prior.UnitInformation

	Kept   Table   // K×H: what a global step has found that integrals need, too; empty if nobody asks for them
	Memory *Memory // of the factor, from one step to the next
	Once   *Once   // of the plan, for what the factor makes of the table
}

// A Once is a value that is made when it is first needed, for all fits of a plan.
type Once struct {
	once  sync.Once
	value any
	err   error
}

// Do returns what make has returned when it was called first.
func (o *Once) Do(make func() (any, error)) (any, error) {
	o.once.Do(func() { o.value, o.err = make() })
	return o.value, o.err
}

// Memory is what a factor keeps from one global step to the next.
type Memory struct {
	Value any  // the factor's own; nil before it has put something there
	Again bool // the step is repeated from where it has come to, as a factor asks for if rounding has cost it digits
}

// proper are the priors of a plan's factors, made when they are first needed.
type proper struct {
	of   prior.Prior
	once sync.Once
	err  error

	unit   prior.UnitInformation
	exact  []FactorPrior // one a factor; nil of a factor that is [Proper]
	tables []Once        // one a factor
}

// WithPrior sets the prior of the evidence: [prior.UnitInformation] or conjugate priors, nil for unit information.
func (p *Plan) WithPrior(pr prior.Prior) *Plan {
	p.priors = &proper{of: pr}
	return p
}

// proper returns the priors; an error where a factor has none.
func (p *Plan) proper() (*proper, error) {
	p.priors.once.Do(func() { p.priors.err = p.priors.make(p) })
	return p.priors, p.priors.err
}

func (r *proper) make(p *Plan) error {
	if p.pooled == nil {
		return errUnpooled
	}
	own := make([]prior.Prior, len(p.parts))
	if r.of != nil {
		if err := r.of.Check(); err != nil {
			return err
		}
		var unit bool
		if r.unit, unit = r.of.(prior.UnitInformation); !unit {
			var err error
			if own, err = p.split(r.of); err != nil {
				return err
			}
		}
	}
	r.exact, r.tables = make([]FactorPrior, len(p.parts)), make([]Once, len(p.parts))
	for i := range p.parts {
		f := &p.parts[i]
		kernel, exponential := f.Factor.(interface{ exponential() exponentialKernel })
		switch {
		case exponential && kernel.exponential().integrates(own[i]):
			var err error
			of := kernel.exponential()
			if r.exact[i], err = of.unitInformation(own[i], f.pooled, r.unit); err != nil {
				return shift(err, f.at.Columns)
			}
		case !hasPrior(f.Factor):
			return NoPrior(f.Factor)
		case own[i] != nil:
			return fmt.Errorf("family: the prior of %s is %T; the evidence needs prior.UnitInformation", f.Name(), own[i])
		}
	}
	return nil
}

// hasPrior says whether the factor has a proper prior.
func hasPrior(f Factor) bool {
	_, bySums := f.(Proper)
	_, byRows := f.(ProperRows)
	return bySums || byRows
}

// CheckPrior returns an error if a factor of the family has no proper prior, or p is improper. It cannot check a family
// before a fit if the family needs more than a few columns.
func CheckPrior(f Family, p prior.Prior) error {
	if p != nil {
		if err := p.Check(); err != nil {
			return err
		}
	}
	if f == nil {
		return nil // NewPlan says so
	}
	var list []Factor
	for columns := max(f.Columns(), 1); columns < 1<<10; columns *= 2 {
		var err error
		if list, err = layOut(f, columns); err == nil {
			break
		}
	}
	for _, one := range list {
		if !hasPrior(one) {
			return NoPrior(one)
		}
	}
	return nil
}

// NoPrior is the error of a factor without a proper prior; it is [errors.ErrUnsupported].
func NoPrior(f Factor) error { return unpriorError(f.Name()) }

// An unpriorError names a family; it is [errors.ErrUnsupported].
type unpriorError string

func (e unpriorError) Error() string {
	return "family: the evidence needs a proper prior, and that of " + string(e) +
		" is not known: give it the methods of family.Proper, or take another criterion, such as gFIC"
}

func (unpriorError) Is(target error) bool { return target == errors.ErrUnsupported }

// unitInformation is the conjugate prior of the kernel's cells, by default Jeffreys' where that is proper, otherwise
// that of one observation at the table's mean, or of as many as unit has.
func (l exponentialKernel) unitInformation(p prior.Prior, w *Pooled, unit prior.UnitInformation) (
	FactorPrior, error) {
	if p == nil && unit.RowsOr() != 1 {
		p = unit
	}
	if p == nil {
		if jeffreys, err := l.Conjugate(prior.Jeffreys{}, w); err == nil {
			return jeffreys, nil
		}
	}
	return l.Conjugate(p, w)
}

// references are what the priors of the factors of the classes are about; hyper is K×H.
func (c *Classes) references(hyper []float64) []Reference {
	p := c.plan
	if c.about == nil {
		c.about = make([]Reference, len(p.parts))
		for i := range p.parts {
			c.about[i] = Reference{Pooled: p.parts[i].pooled, Prior: p.priors.unit,
				Once: &p.priors.tables[i], Memory: new(Memory)}
		}
	}
	for i := range p.parts {
		if c.about[i].Kept = (Table{}); p.parts[i].size.Hyper > 0 && len(hyper) == c.K*p.size.Hyper {
			c.about[i].Kept = Table{c.K, p.size.Hyper, hyper[p.parts[i].at.Hyper:]}
		}
	}
	return c.about
}

// MaximizePosterior moves the parameters of every class, params, K×P, to, or towards, the maximum of E_q[ln p(X|Z,ξ)] +
// ln p(ξ), and puts the hyperparameters of conjugate posteriors into hyper, K×H.
func (c *Classes) MaximizePosterior(params, hyper []float64) error {
	p := c.plan
	priors, err := p.proper()
	if err != nil {
		return err
	}
	about := c.references(hyper)
	for i := range p.parts {
		f := &p.parts[i]
		to := Table{c.K, p.size.Params, params[f.at.Params:]}
		if exact := priors.exact[i]; exact != nil {
			for k := range c.K {
				h := f.ofHyper(linalg.Row(hyper, k, p.size.Hyper))
				exact.Update(f.ofSums(c.sums(k)), f.ofAnchor(c.anchor(k)), h)
				exact.Mean(h, to.Row(k, f.size.Params))
			}
		} else if err := c.maximizePosterior(f, to, &about[i]); err != nil {
			return shift(err, f.at.Columns)
		}
		if err := p.bound(f, Table{c.K, p.size.Params, params}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Classes) maximizePosterior(f *part, to Table, of *Reference) error {
	if f.rows != nil {
		return f.Factor.(ProperRows).MaximizePosteriorRows(c.allWeighted(f), to, of)
	}
	_, anchors, sums := c.tables(f)
	for range mostRepeats {
		of.Memory.Again = false
		if err := f.Factor.(Proper).MaximizePosterior(sums, anchors, to, of); err != nil || !of.Memory.Again {
			return err
		}
	}
	return nil
}

// mostRepeats bounds the steps that a factor asks for again.
const mostRepeats = 10

// Integrals adds every class, of counts nk, to a curvature with a prior, each as 1 + Cells blocks; params and hyper are
// those of MaximizePosterior.
func (c *Classes) Integrals(f *laplace.Curvature, nk, params, hyper []float64) error {
	if _, err := c.plan.proper(); err != nil {
		return err
	}
	for k, n := range nk {
		c.blocks(f, k, k, n)
		f.Exact(c.exactly(k, params, hyper))
	}
	return c.terms(params, hyper, func(class, cell int, t laplace.Term) {
		if class < 0 {
			f.Shared(t)
			return
		}
		f.Charge(class*c.plan.Blocks()+1+cell, t)
	})
}

// blocks adds the blocks of class k, which nk rows are in, as dimension dim.
func (c *Classes) blocks(f *laplace.Curvature, dim, k int, nk float64) {
	f.Integrate(dim, nk)
	for i := range c.plan.parts {
		part := &c.plan.parts[i]
		for _, n := range part.ofSums(c.sums(k))[:part.size.Cells] {
			f.Integrate(dim, n)
		}
	}
	for range c.plan.latent {
		f.Integrate(dim, nk) // their terms are those of cells
	}
	c.designs(f, dim, k)
}

// designs adds the counts of class k's coefficients as dimension dim: the rest of their integrals are terms of cells.
func (c *Classes) designs(f *laplace.Curvature, dim, k int) {
	for i := range c.plan.parts {
		if part := &c.plan.parts[i]; part.design != nil {
			count := mat.NewSymDense(part.size.Design, nil)
			part.design.Count(part.ofSums(c.sums(k)), part.pooled, count)
			count.ScaleSym(1/c.plan.priors.unit.RowsOr(), count)
			f.Matrix(dim, count, laplace.Identity(1))
		}
	}
}

// terms passes those of each class and cell to add, and those of parameters that the classes share with class −1.
func (c *Classes) terms(params, hyper []float64, add func(class, cell int, t laplace.Term)) error {
	p := c.plan
	about := c.references(hyper)
	for i := range p.parts {
		f := &p.parts[i]
		if p.priors.exact[i] != nil {
			continue
		}
		var err error
		to, of := Table{c.K, p.size.Params, params[f.at.Params:]}, &about[i]
		here := func(class, cell int, t laplace.Term) { add(class, f.at.Cells+cell, t) }
		if f.rows != nil {
			err = f.Factor.(ProperRows).IntegralsRows(c.allWeighted(f), to, of, here)
		} else {
			_, anchors, sums := c.tables(f)
			err = f.Factor.(Proper).Integrals(sums, anchors, to, of, here)
		}
		if err != nil {
			return shift(err, f.at.Columns)
		}
	}
	return nil
}

// exactly is ln ∫ p(ξ) exp E_q[ln p(X|Z,ξ)] dξ − E_q[ln p(X|Z,ξ̃)] of class k, of the factors where it is known
// exactly.
func (c *Classes) exactly(k int, params, hyper []float64) (sum float64) {
	p := c.plan
	for i, exact := range p.priors.exact {
		f := &p.parts[i]
		if exact == nil {
			continue
		}
		c.spare = linalg.Resize(c.spare, f.size.Score)
		score := c.spare
		clear(score)
		if f.Score(f.ofParams(linalg.Row(params, k, p.size.Params)), score) != nil {
			return nan // the engine reports it
		}
		sum += exact.(Collapsible).LogEvidence(f.ofHyper(linalg.Row(hyper, k, p.size.Hyper)))
		sum -= f.sums.Total(score, f.ofSums(c.sums(k)), f.ofAnchor(c.anchor(k)))
	}
	return sum
}

// Costs is the difference between E_q[ln p(X|Z,ξ̃)] and the evidence of each class alone with nk rows, in nats, without
// shared parameters.
func (c *Classes) Costs(nk, params, hyper []float64) ([]float64, error) {
	if _, err := c.plan.proper(); err != nil {
		return nil, err
	}
	each, costs := make([]laplace.Curvature, c.K), make([]float64, c.K)
	for k, n := range nk {
		each[k].ResetPrior(1)
		c.blocks(&each[k], 0, k, n)
		each[k].Exact(c.exactly(k, params, hyper))
	}
	err := c.terms(params, hyper, func(class, cell int, t laplace.Term) {
		if class >= 0 {
			each[class].Charge(1+cell, t)
		}
	})
	for k := range each {
		followed, information := each[k].Integral()
		costs[k] = -followed - information
	}
	return costs, err
}

// expect replaces the scores of factors with conjugate posteriors by E[ln p(x|ξ)], whose sum with the evidence never
// falls.
func (c *Classes) expect(hyper []float64) error {
	p := c.plan
	priors, err := p.proper()
	if err != nil {
		return err
	}
	for i, exact := range priors.exact {
		f := &p.parts[i]
		if exact == nil {
			continue
		}
		for k := range c.K {
			if err := exact.Expected(f.ofHyper(linalg.Row(hyper, k, p.size.Hyper)), f.ofScore(c.scoreOf(k))); err != nil {
				return ClassError(k, err)
			}
		}
	}
	return nil
}

// lower takes the tilt of class k off the scores of its cells and designs.
func (p *Plan) lower(t *laplace.Tilt, k int, score []float64) error {
	first := k * p.Blocks()
	design := first + 1 + p.size.Cells + p.latent
	for i := range p.parts {
		f := &p.parts[i]
		cells := f.ofScore(score)[:f.size.Cells]
		for c := range cells {
			cells[c] -= t.Block(first + 1 + f.at.Cells + c)
		}
		if f.design == nil {
			continue
		}
		precision := mat.NewSymDense(f.size.Design, nil)
		if err := t.Precision(precision, design); err != nil {
			return err
		}
		precision.ScaleSym(1/p.priors.unit.RowsOr(), precision)
		if err := f.design.Lower(precision, f.pooled, f.ofScore(score)); err != nil {
			return err
		}
		design++
	}
	return nil
}
