package mixture

import (
	"errors"
	"fmt"
	"math"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// A plan is a family laid out on the columns of a table: which factor takes which of
// the flat numbers of a component.
type plan struct {
	parts []part
	layout
}

// part is a factor with the places where its numbers begin.
type part struct {
	factor
	size  layout
	at    layout
	whole *whole // the factor's part of the table as one component; nil until that is known
}

func newPlan(f Family, d int) (*plan, error) {
	list, err := factors(f, d)
	if err != nil {
		return nil, err
	}
	p := &plan{}
	for _, one := range list {
		l := one.layout()
		p.parts = append(p.parts, part{factor: one, size: l, at: p.layout})
		p.columns += l.columns
		p.cells += l.cells
		p.free += l.cells * l.free // of a component, here
		p.shared += l.shared
		p.sums += l.sums
		p.anchor += l.anchor
		p.score += l.score
		p.params += l.params
		p.hyper += l.hyper
		p.features += l.features
	}
	return p, nil
}

// The parts of one component's flat numbers that belong to a factor.
func (p *part) ofSums(v []float64) []float64   { return v[p.at.sums:][:p.size.sums] }
func (p *part) ofAnchor(v []float64) []float64 { return v[p.at.anchor:][:p.size.anchor] }
func (p *part) ofScore(v []float64) []float64  { return v[p.at.score:][:p.size.score] }
func (p *part) ofParams(v []float64) []float64 { return v[p.at.params:][:p.size.params] }
func (p *part) ofHyper(v []float64) []float64  { return v[p.at.hyper:][:p.size.hyper] }

// attach tells the factors of the table as one component.
func (p *plan) attach(w *Whole) *plan {
	if w == nil || len(w.Parameters) != p.params || len(w.Sums) != p.sums || len(w.Anchor) != p.anchor {
		return p
	}
	for i := range p.parts {
		f := &p.parts[i]
		f.whole = &whole{f.ofParams(w.Parameters), f.ofSums(w.Sums), f.ofAnchor(w.Anchor)}
	}
	return p
}

// at cuts one component's numbers out of a K×n matrix.
func at(v []float64, k, n int) []float64 { return v[k*n : (k+1)*n] }

// pooled factors have parameters that all components share.
type pooled interface {
	// pool makes the shared parameters one, from each component's own estimate.
	pool(sums, params table) error
}

// estimate puts the maximum likelihood parameters of every component into params, K×P.
func (p *plan) estimate(s *Statistics, params []float64) error {
	for k := range s.K {
		for i := range p.parts {
			f := &p.parts[i]
			if err := f.estimate(f.ofSums(at(s.Sums, k, p.sums)), f.ofAnchor(at(s.Anchor, k, p.anchor)), f.whole, f.ofParams(at(params, k, p.params))); err != nil {
				return fmt.Errorf("component %d: %w", k+1, shift(err, f.at.columns))
			}
		}
	}
	for i := range p.parts {
		f := &p.parts[i]
		if shared, ok := f.factor.(pooled); ok {
			sums, xi := table{s.K, p.sums, s.Sums[f.at.sums:]}, table{s.K, p.params, params[f.at.params:]}
			if err := shared.pool(sums, xi); err != nil {
				return shift(err, f.at.columns)
			}
		}
	}
	return nil
}

// shift numbers the column of a factor's error as the table does.
func shift(err error, by int) error {
	var fault *framework.DataError
	if errors.As(err, &fault) {
		fault.Column += by
	}
	return err
}

// natural puts the score of parameters into score.
func (p *plan) natural(xi, score []float64) error {
	for i := range p.parts {
		f := &p.parts[i]
		if err := f.natural(f.ofParams(xi), f.ofScore(score)); err != nil {
			return err
		}
	}
	return nil
}

// locate puts the anchors that go with a score into anchor.
func (p *plan) locate(score, anchor []float64) {
	for i := range p.parts {
		f := &p.parts[i]
		f.locate(f.ofScore(score), f.ofAnchor(anchor))
	}
}

// effective is the exposure that a cell of a component is charged for. It is the exposure n
// itself where the component's nk rows all have the cell; of one that is missing in a share
// of them it is that share more, so that a cell that nobody has counts as 1 and costs nothing.
func effective(n, nk float64) float64 {
	if nk > 1 && n < nk {
		return n + 1 - n/nk
	}
	return n
}

// penalise is the tilt of gFAB and FAB: the derivatives of Σ_c (D_c/2) ln(effective count)
// in the exposures lower the scores of the cells, and that in N_k, which is returned, the
// score of every row (docs/theory/mixtures.md, section 2). Without missing values the two
// add up to D_ξ/(2N_k).
func (p *plan) penalise(tilt *laplace.Tilt, k int, score []float64) (constant float64) {
	first := k * (1 + p.cells)
	nk := tilt.Count(first)
	for i := range p.parts {
		f := &p.parts[i]
		cells := f.ofScore(score)[:f.size.cells]
		for c := range cells {
			block := first + 1 + f.at.cells + c
			half, count := tilt.Block(block), tilt.Count(block)
			if nk > 1 && count < nk { // some rows miss the cell
				cells[c] -= half * (1 - 1/nk)
				constant += half * max(0, count-1) / (nk * (nk - 1))
				continue
			}
			cells[c] -= half
		}
	}
	return constant
}

func (p *plan) total(score, sums, anchor []float64) float64 {
	sum := 0.0
	for i := range p.parts {
		f := &p.parts[i]
		sum += f.total(f.ofScore(score), f.ofSums(sums), f.ofAnchor(anchor))
	}
	return sum
}

// curvature adds component k, which holds nk rows: one block without parameters for the rows, and
// one for each cell, of its effective exposure and its unit information. units is memory for
// the latter.
func (p *plan) curvature(f *laplace.Curvature, k int, sums []float64, nk float64, xi []float64, units []laplace.Block) []laplace.Block {
	units = units[:0]
	f.Class(k, nk, laplace.Identity(0))
	for i := range p.parts {
		part := &p.parts[i]
		first := len(units)
		if f.CountOnly() {
			for range part.size.cells {
				units = append(units, laplace.Identity(part.size.free))
			}
		} else {
			units = part.information(part.ofParams(xi), part.whole, units)
		}
		for c, n := range part.ofSums(sums)[:part.size.cells] {
			f.Class(k, effective(n, nk), units[first+c])
		}
	}
	return units
}

// conjugates are the priors of the factors.
func (p *plan) conjugates(pr prior.Prior) ([]conjugate, error) {
	list := make([]conjugate, len(p.parts))
	priors, err := p.split(pr)
	if err != nil {
		return nil, err
	}
	for i := range p.parts {
		f := &p.parts[i]
		if list[i], err = f.conjugate(priors[i], f.whole); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// split gives each factor its prior: the same, or its own of [Priors].
func (p *plan) split(pr prior.Prior) ([]prior.Prior, error) {
	own, ok := pr.(Priors)
	list := make([]prior.Prior, len(p.parts))
	for i := range list {
		f := p.parts[i].factor
		switch {
		case !ok:
			list[i] = pr
		case own[f.name()] != nil:
			list[i] = own[f.name()]
		}
	}
	if ok {
		for name := range own {
			found := false
			for i := range p.parts {
				found = found || p.parts[i].name() == name
			}
			if !found {
				return nil, fmt.Errorf("mixture: there is a prior for the family %q, which the model does not have", name)
			}
		}
	}
	return list, nil
}

// Priors are priors by the name of the family, for a [Product] of several.
type Priors map[string]prior.Prior

// Check checks each.
func (p Priors) Check() error {
	for name, one := range p {
		if one == nil {
			return fmt.Errorf("mixture: the prior of %q is nil", name)
		}
		if err := one.Check(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func finite(v []float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
