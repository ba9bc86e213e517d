package family

import (
	"context"
	"math"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/resolution"
	"github.com/latent-go/latent/internal/variances"
)

// Values are recorded in steps: minutes, tenths of a degree, yes and no. A number that stands for all
// within a step of width Δ has the variance Δ²/12 about them, so that less than that cannot be told
// from a column, whatever its values in a class. With these floors the likelihood of a Gaussian
// mixture has a maximum: no class collapses onto equal values, rows or directions.

// A Bounder is a factor with a floor below the variances of its classes: Σ_k ⪰ diag([Pooled].Floor). A
// [Plan] bounds estimates and modes with it.
type Bounder interface {
	// Spread is the variance of each column under parameters; nil for no floor.
	Spread(params []float64) []float64
	// SetFloor puts the floor of each column into pooled, whose parameters it bounds. steps are the
	// resolutions of the columns: 0 if it does not matter, +Inf if all values are equal.
	SetFloor(steps []float64, pooled *Pooled) error
	// Bound moves each class's parameters from the maximum of their likelihood or posterior to the maximum above the
	// floor; shared parameters stay equal in all classes.
	Bound(pooled *Pooled, params Table) error
	// Doubts returns, as one [blocks.DataError] per column, the directions of the pooled table with no variance beyond
	// the floor.
	Doubts(pooled *Pooled) []error
}

// A Refiner has scores that are more exact when the table as one class is known, such as those of classes on their
// floor.
type Refiner interface {
	Refine(pooled *Pooled, xi, score []float64)
}

// mostValues and allValues bound the different values that are looked at, of one column and of all: a
// column with more has no resolution.
const (
	mostValues = 1 << 16
	allValues  = 1 << 21
)

// setFloors finds the floor of every column and bounds the table as one class.
func (b *beginning) setFloors(ctx context.Context, src framework.Source[blocks.Rows], w *Pooled) error {
	p := b.plan
	spread := p.spread(w.Center())
	if !slices.ContainsFunc(spread, func(v float64) bool { return v == v }) {
		return nil
	}
	found, err := b.found(ctx, src, spread)
	if err != nil {
		return err
	}
	p.Attach(w)
	floor := make([]float64, p.size.Columns)
	if !slices.ContainsFunc(found, func(step float64) bool { return !math.IsInf(step, 1) }) {
		return blocks.FaultyColumn(0, variances.ErrAllConstant)
	}
	for i := range p.parts {
		f := &p.parts[i]
		if b, ok := f.Factor.(Bounder); ok {
			f.pooled.Floor = floor[f.at.Columns:][:f.size.Columns]
			if err := b.SetFloor(found[f.at.Columns:][:f.size.Columns], f.pooled); err != nil {
				return shift(err, f.at.Columns)
			}
			if groups, _, _ := f.scatterForm(); groups > 0 && len(w.Reference) > 0 {
				if err := b.Bound(f.pooled, Table{1, 0, f.pooled.Reference}); err != nil {
					return shift(err, f.at.Columns)
				}
			}
		}
	}
	w.Floor = floor
	return nil
}

// bounded says whether the pooled table of a factor has a floor.
func (f *part) bounded() bool { return f.pooled != nil && len(f.pooled.Floor) > 0 }

// bound bounds the parameters of some classes.
func (p *Plan) bound(f *part, params Table) error {
	if b, ok := f.Factor.(Bounder); ok && f.bounded() {
		if err := b.Bound(f.pooled, params.From(f.at.Params)); err != nil {
			return shift(err, f.at.Columns)
		}
	}
	return nil
}

// Doubts reports columns of the pooled table, or directions, that vary so little that the floor replaces their variance
// (see normal.Family): they separate no rows. Each error is a [blocks.DataError].
func (p *Plan) Doubts() (list []error) {
	for i := range p.parts {
		f := &p.parts[i]
		if b, ok := f.Factor.(Bounder); ok && f.bounded() {
			for _, err := range b.Doubts(f.pooled) {
				list = append(list, shift(err, f.at.Columns))
			}
		}
	}
	return list
}

// OnFloor returns the columns whose variance in a class with parameters xi is on the floor, although the table has
// more.
func (p *Plan) OnFloor(xi []float64) (columns []int) {
	for i := range p.parts {
		f := &p.parts[i]
		b, ok := f.Factor.(Bounder)
		if !ok || !f.bounded() {
			continue
		}
		all := b.Spread(f.pooled.Parameters)
		for j, v := range b.Spread(f.ofParams(xi)) {
			if least := (1 + atFloor) * f.pooled.Floor[j]; v <= least && all[j] > least {
				columns = append(columns, f.at.Columns+j)
			}
		}
	}
	return columns
}

// atFloor is by what share a variance on its floor may be above it.
const atFloor = 1e-3

// spread is the variance of each column that has a floor, as far as it is known, and NaN of others.
func (p *Plan) spread(params []float64) []float64 {
	all := slices.Repeat([]float64{math.NaN()}, p.size.Columns)
	for i := range p.parts {
		f := &p.parts[i]
		if b, ok := f.Factor.(Bounder); ok {
			for j, v := range b.Spread(f.ofParams(params)) {
				if all[f.at.Columns+j] = 0; v > 0 {
					all[f.at.Columns+j] = v
				}
			}
		}
	}
	return all
}

// enough is the gap between values that need not be known better, where they have a variance.
func enough(variance float64) float64 { return math.Sqrt(12 * variances.Finest * variance) }

// resolutions are those of columns of such variances, before anything is known of them.
func resolutions(spread []float64) []resolution.Column {
	list, most := make([]resolution.Column, len(spread)), max(1<<10, min(mostValues, allValues/len(spread)))
	for j, v := range spread {
		if v == v {
			list[j] = resolution.New(most, enough(v))
		}
	}
	return list
}

// found is the resolution of each column. Columns whose variance is much less than that of their first block are read
// once more, if a gap was enough that is not.
func (b *beginning) found(ctx context.Context, src framework.Source[blocks.Rows], spread []float64) ([]float64, error) {
	found, again := make([]float64, len(spread)), slices.Clone(spread)
	for j, v := range spread {
		step, ok := b.steps[j].StepFrom(enough(v))
		if found[j] = step; ok || !(v > 0) {
			again[j] = math.NaN()
		}
	}
	columns := resolutions(again)
	asked := askSteps(columns, false)
	if asked == nil {
		return found, nil
	}
	if err := framework.SurveyAll(ctx, src, 0, asked); err != nil {
		return nil, err
	}
	for j, c := range asked.Sum.Columns {
		if c.Asked() {
			found[j] = c.Step()
		}
	}
	return found, nil
}

// steps are the values of columns.
type steps struct{ Columns []resolution.Column }

// askSteps asks for the values of those columns that need more than was seen; nil if none does. Rows of weight 0 and
// missing values do not count. The sum has a name if the first block alone decides which gaps are enough.
func askSteps(columns []resolution.Column, named bool) *framework.Asked[blocks.Rows, *steps] {
	fresh, which := make([]resolution.Column, len(columns)), make([]byte, len(columns))
	for j := range columns {
		if c := &columns[j]; c.Asked() && !c.Done {
			fresh[j], which[j] = c.Fresh(), 1
		}
	}
	if !slices.Contains(which, 1) {
		return nil
	}
	var of any
	if named {
		of = ofSteps{string(which)}
	}
	return framework.Ask(of, func() (*steps, error) { return &steps{slices.Clone(fresh)}, nil },
		func(s *steps, b blocks.Rows) error {
			addSteps(s.Columns, b)
			return nil
		},
		func(into, from *steps) error {
			for j := range into.Columns {
				into.Columns[j].Merge(&from.Columns[j])
			}
			return nil
		})
}

// addSteps takes note of the values of a block.
func addSteps(columns []resolution.Column, b blocks.Rows) {
	for j := range columns {
		for i := 0; i < b.N && columns[j].Asked() && !columns[j].Done; i++ {
			if v := b.X[i*b.Stride+j]; v == v && b.Weight(i) > 0 {
				columns[j].Add(v)
			}
		}
	}
}
