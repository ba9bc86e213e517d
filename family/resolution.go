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
func (p *Plan) setFloors(ctx context.Context, src framework.Source[blocks.Rows], w *Pooled) error {
	steps := make([]resolution.Column, p.size.Columns)
	bounded := false
	most := max(1<<10, min(mostValues, allValues/p.size.Columns))
	for i := range p.parts {
		f := &p.parts[i]
		if b, ok := f.Factor.(Bounder); ok {
			for j, v := range b.Spread(f.ofParams(w.Center())) {
				bounded = true
				steps[f.at.Columns+j] = resolution.New(most, math.Sqrt(12*variances.Finest*max(0, v)))
			}
		}
	}
	if !bounded {
		return nil
	}
	if err := readSteps(ctx, src, steps); err != nil {
		return err
	}
	p.Attach(w)
	floor := make([]float64, p.size.Columns)
	found := make([]float64, len(steps))
	for j := range steps {
		found[j] = steps[j].Step()
	}
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

// readSteps looks at the values of each column until its resolution is known: at those of the first block, and of all
// rows where that is not enough. Rows of weight 0 and missing values do not count.
func readSteps(ctx context.Context, src framework.Source[blocks.Rows], columns []resolution.Column) error {
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return err
		}
		if !addSteps(columns, b) {
			return nil
		}
		break
	}
	type steps struct{ Columns []resolution.Column }
	all, err := framework.Survey(ctx, src, 1,
		func() (*steps, error) { return &steps{unread(columns)}, nil },
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
	if err == nil {
		copy(columns, all.Columns)
	}
	return err
}

// addSteps takes note of the values of a block, and says whether a column needs more.
func addSteps(columns []resolution.Column, b blocks.Rows) (more bool) {
	for j := range columns {
		c := &columns[j]
		if !c.Asked() {
			continue
		}
		for i := 0; i < b.N && !c.Done; i++ {
			if v := b.X[i*b.Stride+j]; v == v && b.Weight(i) > 0 {
				c.Add(v)
			}
		}
		more = more || !c.Done
	}
	return more
}

// unread are the same columns before anything is known of them.
func unread(columns []resolution.Column) []resolution.Column {
	list := make([]resolution.Column, len(columns))
	for j := range columns {
		list[j] = columns[j].Fresh()
	}
	return list
}
