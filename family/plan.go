package family

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/memory"
	"github.com/latent-go/latent/laplace"
)

// A Plan is a family laid out on the columns of a table: it assigns the flat numbers of a class to its factors.
type Plan struct {
	parts []part
	size  Layout // of a class; Free is D_ξ in all

	searches, keepsRows bool    // of some factor
	latent              int     // Latent factors
	designed            int     // Designed factors
	pooled              *Pooled // the table as one class; nil until that is known
	priors              *proper // of the evidence
}

// part is a factor with the places where its numbers begin. Either sums or rows is the factor, the other nil.
type part struct {
	Factor
	sums   SumFactor
	rows   RowFactor
	latent Latent   // as sums, where it is one
	design Designed // where it is one
	size   Layout
	at     Layout
	pooled *Pooled // the factor's part of the table as one class; nil until that is known
}

// NewPlan lays a family out on the given number of columns.
func NewPlan(f Family, columns int) (*Plan, error) {
	if f == nil {
		return nil, errors.New("family: the model has no family: choose one, such as normal.Family{}")
	}
	list, err := layOut(f, columns)
	if err != nil {
		return nil, err
	}
	p := &Plan{priors: new(proper)}
	for _, one := range list {
		l := one.Layout()
		sums, closed := one.(SumFactor)
		rows, searches := one.(RowFactor)
		if closed == searches {
			return nil, fmt.Errorf("family: the factor %s (%T) must be either a family.SumFactor or a family.RowFactor",
				one.Name(), one)
		}
		latent, inner := one.(Latent)
		if inner {
			p.latent++
		}
		design, designed := one.(Designed)
		if designed {
			p.designed++
		}
		p.parts = append(p.parts,
			part{Factor: one, sums: sums, rows: rows, latent: latent, design: design, size: l, at: p.size})
		p.searches = p.searches || searches
		p.keepsRows = p.keepsRows || searches && rows.KeepsRows()
		p.size.Columns += l.Columns
		p.size.Cells += l.Cells
		p.size.Free += l.Cells*l.Free + l.Design
		p.size.Shared += l.Shared
		p.size.Sums += l.Sums
		p.size.Anchor += l.Anchor
		p.size.Score += l.Score
		p.size.Params += l.Params
		p.size.Hyper += l.Hyper
		p.size.Units += l.Units
		p.size.Regressors += l.Regressors
		p.size.Features += l.Features
	}
	if p.size.Columns != columns {
		return nil, fmt.Errorf("family: the factors of %s describe %d columns, and the table has %d", f.Name(),
			p.size.Columns, columns)
	}
	// Of one class: models have several, in several starts.
	numbers := float64(p.size.Sums) + float64(p.size.Score) + float64(p.size.Params)
	return p, memory.Need(fmt.Sprintf("one class of %s over %d columns", f.Name(), columns), 8*numbers)
}

// layOut is f.On. An [ExponentialFamily] is laid out as itself: one that embeds another has its On from there, which
// knows nothing of the methods that it replaces.
func layOut(f Family, columns int) ([]Factor, error) {
	if e, ok := f.(ExponentialFamily); ok {
		return Independent(e, columns)
	}
	return f.On(columns)
}

// Factors yields the factors, each with the places where its numbers begin in those of a class.
func (p *Plan) Factors() iter.Seq2[Factor, Layout] {
	return func(yield func(Factor, Layout) bool) {
		for i := range p.parts {
			if !yield(p.parts[i].Factor, p.parts[i].at) {
				return
			}
		}
	}
}

// Size gives the number of values of each kind in a class; Free is D_ξ.
func (p *Plan) Size() Layout { return p.size }

// Searches reports whether a factor estimates by a search (see [RowFactor]), so that steps are expensive.
func (p *Plan) Searches() bool { return p.searches }

// Counts are D_ξ, summed over k classes with parameters params, k×P, and the number of these that are identifiable.
func (p *Plan) Counts(k int, params []float64) (numbers, free int) {
	numbers, free = k*p.size.Free, k*p.size.Free
	for i := range p.parts {
		f := &p.parts[i]
		if f.latent == nil {
			continue
		}
		for j := range k {
			n, m := f.latent.Loadings(f.latent.Dimensions(f.ofParams(linalg.Row(params, j, p.size.Params))))
			numbers, free = numbers+n, free+m
		}
	}
	return numbers, free
}

// Blocks is the number of blocks of the curvature of a class: of its rows, of each cell, of each [Latent] factor, and
// of each [Designed] one.
func (p *Plan) Blocks() int { return 1 + p.size.Cells + p.latent + p.designed }

// seeded says that classes begin with densities around rows, as some factor has no [featured] rows.
func (p *Plan) seeded() bool {
	return slices.ContainsFunc(p.parts, func(f part) bool { return f.rows != nil && f.design == nil })
}

// regresses says that classes are regressions, and begin with lines.
func (p *Plan) regresses() bool { return p.described() == 1 && p.designed == 1 }

// The parts of one class's flat numbers that belong to a factor.
func (p *part) ofSums(v []float64) []float64   { return v[p.at.Sums:][:p.size.Sums] }
func (p *part) ofAnchor(v []float64) []float64 { return v[p.at.Anchor:][:p.size.Anchor] }
func (p *part) ofScore(v []float64) []float64  { return v[p.at.Score:][:p.size.Score] }
func (p *part) ofParams(v []float64) []float64 { return v[p.at.Params:][:p.size.Params] }
func (p *part) ofHyper(v []float64) []float64  { return v[p.at.Hyper:][:p.size.Hyper] }
func (p *part) ofUnits(v []float64) []float64  { return v[p.at.Units:][:p.size.Units] }

// Attach gives the factors their parts of the table as one class, if it has the plan's size.
func (p *Plan) Attach(w *Pooled) *Plan {
	if !p.fits(w) {
		return p
	}
	p.pooled = w
	for i := range p.parts {
		f := &p.parts[i]
		f.pooled = &Pooled{
			w.N, f.ofParams(w.Parameters), f.ofSums(w.Sums), f.ofAnchor(w.Anchor), f.ofUnits(w.Units), nil, nil, nil,
		}
		if len(w.Reference) > 0 {
			f.pooled.Reference = f.ofParams(w.Reference)
		}
		if len(w.Regressors) > 0 {
			f.pooled.Regressors = w.Regressors[f.at.Regressors:][:f.size.Regressors]
		}
		if len(w.Floor) > 0 {
			floor := w.Floor[f.at.Columns:][:f.size.Columns]
			if floats.Max(floor) > 0 {
				f.pooled.Floor = floor
			}
		}
	}
	return p
}

var errUnpooled = errors.New("family: the parameters lack Pooled, the table as one component")

func (p *Plan) fits(w *Pooled) bool {
	return w != nil && w.N > 0 && len(w.Parameters) == p.size.Params && len(w.Sums) == p.size.Sums &&
		len(w.Anchor) == p.size.Anchor && len(w.Units) == p.size.Units &&
		(len(w.Floor) == 0 || len(w.Floor) == p.size.Columns) &&
		(len(w.Reference) == 0 || len(w.Reference) == p.size.Params) &&
		(len(w.Regressors) == 0 || len(w.Regressors) == p.size.Regressors)
}

// Check returns an error if the parameters of k classes, k×P, and the pooled table, which may come from elsewhere, do
// not match the plan.
func (p *Plan) Check(k int, params []float64, w *Pooled) error {
	if len(params) == k*p.size.Params && !p.fits(w) {
		return errUnpooled
	}
	return p.CheckClasses(k, params)
}

// CheckClasses is Check of the parameters alone.
func (p *Plan) CheckClasses(k int, params []float64) error {
	if len(params) != k*p.size.Params {
		return fmt.Errorf("family: %d numbers of components do not match K = %d with %d numbers each",
			len(params), k, p.size.Params)
	}
	if !finite(params) {
		return errors.New("family: parameters are not finite")
	}
	score := make([]float64, p.size.Score)
	for j := range k {
		xi := linalg.Row(params, j, p.size.Params)
		if err := p.score(xi, score); err != nil {
			return fmt.Errorf("component %d: %w", j+1, err)
		}
		if !finite(score) || !p.valid(xi) {
			return fmt.Errorf("family: the parameters of component %d are outside their range", j+1)
		}
	}
	return nil
}

// A Validator is a factor that checks more of ξ than the existence of its score.
type Validator interface{ Valid(xi []float64) bool }

func (p *Plan) valid(xi []float64) bool {
	for i := range p.parts {
		f := &p.parts[i]
		if v, ok := f.Factor.(Validator); ok && !v.Valid(f.ofParams(xi)) {
			return false
		}
	}
	return true
}

// estimate puts the maximum likelihood ξ of one class into xi, without shared parameters and those of a [RowFactor]. A
// [Latent] factor chooses its dimensions where it is charged for them.
func (p *Plan) estimate(charged bool, sums, anchor, xi []float64) error {
	for i := range p.parts {
		f := &p.parts[i]
		if f.sums == nil {
			continue
		}
		estimate := f.sums.Estimate
		if charged && f.latent != nil {
			estimate = f.latent.Choose
		}
		if err := estimate(f.ofSums(sums), f.ofAnchor(anchor), f.pooled, f.ofParams(xi)); err != nil {
			return shift(err, f.at.Columns)
		}
		if _, shares := f.Factor.(Sharer); !shares {
			if err := p.bound(f, Table{1, 0, xi}); err != nil {
				return err
			}
		}
	}
	return nil
}

// share makes shared parameters the same in all classes.
func (p *Plan) share(sums, anchors, params Table) error {
	for i := range p.parts {
		f := &p.parts[i]
		if s, ok := f.Factor.(Sharer); ok {
			if err := s.Share(sums.From(f.at.Sums), anchors.From(f.at.Anchor), params.From(f.at.Params), f.pooled); err != nil {
				return shift(err, f.at.Columns)
			}
			if err := p.bound(f, params); err != nil {
				return err
			}
		}
	}
	return nil
}

// shift numbers the column of a factor's error as the table does.
func shift(err error, by int) error {
	var fault *blocks.DataError
	if errors.As(err, &fault) && fault.Column >= 0 {
		fault.Column += by
	}
	return err
}

// score puts the score of parameters into score.
func (p *Plan) score(xi, score []float64) error {
	for i := range p.parts {
		if err := p.parts[i].score(xi, score); err != nil {
			return err
		}
	}
	return nil
}

func (f *part) score(xi, score []float64) error {
	xi, score = f.ofParams(xi), f.ofScore(score)
	if err := f.Score(xi, score); err != nil {
		return err
	}
	if r, ok := f.Factor.(Refiner); ok && f.pooled != nil {
		r.Refine(f.pooled, xi, score)
	}
	return nil
}

// A ScoreSharer computes what the scores of several classes have in common once.
type ScoreSharer interface {
	// ScoreAs is Score where another class's is known, with the same bits; ok is false where they have nothing in common.
	ScoreAs(xi, other, otherScore, score []float64) (ok bool)
}

// scoreAll puts the scores of classes with parameters params into scores.
func (p *Plan) scoreAll(params, scores Table) error {
	for k := range params.K {
		xi, score := params.Row(k, p.size.Params), scores.Row(k, p.size.Score)
		for i := range p.parts {
			f := &p.parts[i]
			if s, ok := f.Factor.(ScoreSharer); ok && k > 0 &&
				s.ScoreAs(f.ofParams(xi), f.ofParams(params.Data), f.ofScore(scores.Data), f.ofScore(score)) {
				continue
			}
			if err := f.score(xi, score); err != nil {
				return ClassError(k, err)
			}
		}
	}
	return nil
}

// locate puts the anchors that go with a score into anchor.
func (p *Plan) locate(score, anchor []float64) {
	for i := range p.parts {
		f := &p.parts[i]
		if a, ok := f.Factor.(Anchored); ok {
			a.Locate(f.ofScore(score), f.ofAnchor(anchor))
		}
	}
}

// effective is the exposure that a cell of a class is charged for. It is the exposure n
// itself where the class's nk rows all have the cell; of one that is missing in a share
// of them it is that share more, so that a cell that no row has counts as 1 and costs nothing.
func effective(n, nk float64) float64 {
	if nk > 1 && n < nk {
		return n + 1 - n/nk
	}
	return n
}

// tilt takes the tilt of gFAB and FAB off the scores of class k: the derivatives of
// Σ_c (D_c/2) ln(effective count) in the exposures lower the scores of the cells, and that in N_k,
// which is returned, is to lower the score of every row (docs/theory/mixtures.md, section 2).
// Without missing values the two add up to D_ξ/(2N_k). Scores of [Designed] factors are lowered by half the leverage.
func (p *Plan) tilt(t *laplace.Tilt, k int, score []float64) (constant float64, err error) {
	first := k * p.Blocks()
	nk, latent := t.Count(first), first+1+p.size.Cells
	design := latent + p.latent
	for i := range p.parts {
		f := &p.parts[i]
		cells := f.ofScore(score)[:f.size.Cells]
		if f.latent != nil {
			_, slope := f.latent.Count(nk)
			constant += t.Block(latent) * slope
			latent++
		}
		if f.design != nil {
			precision := mat.NewSymDense(f.size.Design, nil)
			if err := t.Precision(precision, design); err != nil {
				return 0, err
			}
			if err := f.design.Lower(precision, f.pooled, f.ofScore(score)); err != nil {
				return 0, err
			}
			design++
		}
		for c := range cells {
			block := first + 1 + f.at.Cells + c
			half, count := t.Block(block), t.Count(block)
			if nk > 1 && count < nk { // some rows miss the cell
				cells[c] -= half * (1 - 1/nk)
				constant += half * max(0, count-1) / (nk * (nk - 1))
				continue
			}
			cells[c] -= half
		}
	}
	return constant, nil
}

// curvature adds class k, which holds nk rows, as latent dimension dim: one block without parameters for the rows,
// and one for each cell, of its effective exposure and its unit information. observed is what has been
// observed of it; units is memory.
func (p *Plan) curvature(f *laplace.Curvature, dim, k int, sums []float64, nk float64, xi []float64,
	observed [][]laplace.Block, units []laplace.Block) []laplace.Block {
	units = units[:0]
	f.Class(dim, nk, laplace.Identity(0))
	for i := range p.parts {
		part := &p.parts[i]
		first := len(units)
		switch {
		case f.CountOnly():
			for range part.size.Cells {
				units = append(units, laplace.Identity(part.size.Free))
			}
		case part.rows != nil:
			units = append(units, observed[i][k])
		default:
			units = part.sums.Information(part.ofParams(xi), part.pooled, units)
		}
		for c, n := range part.ofSums(sums)[:part.size.Cells] {
			f.Class(dim, effective(n, nk), units[first+c])
		}
	}
	for i := range p.parts {
		if part := &p.parts[i]; part.latent != nil {
			numbers, _ := part.latent.Loadings(part.latent.Dimensions(part.ofParams(xi)))
			count, _ := part.latent.Count(nk)
			f.Class(dim, count, laplace.Identity(numbers))
		}
	}
	for i := range p.parts {
		if part := &p.parts[i]; part.design != nil {
			count := mat.NewSymDense(part.size.Design, nil)
			part.design.Count(part.ofSums(sums), part.pooled, count)
			var unit laplace.Block = laplace.Identity(1)
			if !f.CountOnly() {
				unit = laplace.Diagonal{part.design.Unit(part.ofParams(xi), part.pooled)}
			}
			f.Matrix(dim, count, unit)
		}
	}
	return units
}

// Sample draws a row of a class with parameters ξ into x. It returns an error if a family cannot be drawn from.
func (p *Plan) Sample(xi []float64, rng *rand.Rand, x []float64) error {
	for i := range p.parts {
		f := &p.parts[i]
		s, ok := f.Factor.(Sampler)
		if !ok {
			return notDrawn(f.Name())
		}
		s.Sample(f.ofParams(xi), rng, x[f.at.Columns:][:f.size.Columns])
	}
	return nil
}

// Numbers describes the numbers of a class, in their order.
func (p *Plan) Numbers() []Number {
	var list []Number
	for i := range p.parts {
		f := &p.parts[i]
		d, ok := f.Factor.(Numberer)
		if !ok {
			for j := range f.size.Params {
				list = append(list, Number{fmt.Sprintf("parameter %d", j+1), f.at.Columns, f.at.Columns + f.size.Columns - 1})
			}
			continue
		}
		for _, n := range d.Numbers() {
			list = append(list, Number{n.Name, n.From + f.at.Columns, n.To + f.at.Columns})
		}
	}
	return list
}

// deviations puts the standard errors of ξ into dst, given the sums of the class and the number of all
// rows: NaN if the family has none, +Inf of a cell without a value.
func (p *Plan) deviations(xi, sums []float64, total float64, dst []float64) {
	for i := range p.parts {
		f := &p.parts[i]
		to := f.ofParams(dst)
		if d, ok := f.Factor.(PooledDeviator); ok {
			d.PooledDeviations(f.ofParams(xi), f.ofSums(sums), f.pooled, to)
			continue
		}
		if d, ok := f.Factor.(Describer); ok {
			d.Deviations(f.ofParams(xi), f.ofSums(sums), total, to)
			continue
		}
		linalg.Fill(to, nan)
	}
}

// Contrast puts the divergence of each column in a class with parameters ξ from the pooled table
// into dst; 0 if the family does not provide it.
func (p *Plan) Contrast(xi []float64, w *Pooled, dst []float64) {
	for i := range p.parts {
		f := &p.parts[i]
		if d, ok := f.Factor.(Describer); ok {
			d.Contrast(f.ofParams(xi), f.ofParams(w.Parameters), dst[f.at.Columns:][:f.size.Columns])
		}
	}
}
