package family

import (
	"context"
	"math"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
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
	steps := make([]resolution, p.size.Columns)
	bounded := false
	most := max(1<<10, min(mostValues, allValues/p.size.Columns))
	for i := range p.parts {
		f := &p.parts[i]
		if b, ok := f.Factor.(Bounder); ok {
			for j, v := range b.Spread(f.ofParams(w.Center())) {
				bounded = true
				steps[f.at.Columns+j] = resolution{most: most, enough: math.Sqrt(12 * variances.Finest * max(0, v))}
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
		found[j] = steps[j].step()
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
func readSteps(ctx context.Context, src framework.Source[blocks.Rows], columns []resolution) error {
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return err
		}
		if !addSteps(columns, b) {
			return nil
		}
		break
	}
	type steps struct{ Columns []resolution }
	all, err := framework.Survey(ctx, src, 1,
		func() (*steps, error) { return &steps{unread(columns)}, nil },
		func(s *steps, b blocks.Rows) error {
			addSteps(s.Columns, b)
			return nil
		},
		func(into, from *steps) error {
			for j := range into.Columns {
				into.Columns[j].merge(&from.Columns[j])
			}
			return nil
		})
	if err == nil {
		copy(columns, all.Columns)
	}
	return err
}

// addSteps takes note of the values of a block, and says whether a column needs more.
func addSteps(columns []resolution, b blocks.Rows) (more bool) {
	for j := range columns {
		c := &columns[j]
		if c.most == 0 {
			continue
		}
		for i := 0; i < b.N && !c.Done; i++ {
			if v := b.X[i*b.Stride+j]; v == v && b.Weight(i) > 0 {
				c.add(v)
			}
		}
		more = more || !c.Done
	}
	return more
}

// unread are the same columns before anything is known of them.
func unread(columns []resolution) []resolution {
	list := make([]resolution, len(columns))
	for j, c := range columns {
		list[j] = resolution{most: c.most, enough: c.enough}
	}
	return list
}

// A resolution is the least gap between the different values of a column, as far as it matters. What it
// finds does not depend on the order of the values.
type resolution struct {
	most   int     // values that are kept; 0: the column is not looked at
	enough float64 // a gap below this need not be known better

	Seen  []uint64 // the bits of different values, in a table with open addressing; 0 is free
	Count int
	Zero  bool // 0 is among the values: its bits are those of a free place
	Done  bool // a gap below enough, or more than most values
	last  float64
}

// add takes note of a value.
func (c *resolution) add(v float64) {
	if v == c.last && (c.Count > 0 || c.Zero) {
		return
	}
	if c.last = v; v == 0 {
		c.Zero = true
		return
	}
	if 2*c.Count >= len(c.Seen) {
		c.grow()
		if c.Done {
			return
		}
	}
	if place := c.place(math.Float64bits(v)); c.Seen[place] == 0 {
		c.Seen[place] = math.Float64bits(v)
		c.Count++
	}
}

// merge adds the values of others.
func (c *resolution) merge(o *resolution) {
	if o.Done {
		c.Seen, c.Done = nil, true
	}
	c.Zero = c.Zero || o.Zero
	for _, bits := range o.Seen {
		if bits != 0 && !c.Done {
			c.add(math.Float64frombits(bits))
		}
	}
}

// place is where bits are, or would be.
func (c *resolution) place(bits uint64) int {
	i := int(bits * 0x9e3779b97f4a7c15 >> 32 % uint64(len(c.Seen)))
	for c.Seen[i] != 0 && c.Seen[i] != bits {
		if i++; i == len(c.Seen) {
			i = 0
		}
	}
	return i
}

// grow doubles the table, unless what is in it is enough.
func (c *resolution) grow() {
	if c.Count > c.most || c.gap() < c.enough {
		c.Seen, c.Done = nil, true
		return
	}
	old := c.Seen
	c.Seen = make([]uint64, max(32, 2*len(old)))
	for _, bits := range old {
		if bits != 0 {
			c.Seen[c.place(bits)] = bits
		}
	}
}

// gap is the least gap between two values that differ by more than a few units in the last place, which
// arithmetic puts between equal ones; +Inf where there are no two.
func (c *resolution) gap() float64 {
	values := make([]float64, 0, c.Count+1)
	for _, bits := range c.Seen {
		if bits != 0 {
			values = append(values, math.Float64frombits(bits))
		}
	}
	if c.Zero {
		values = append(values, 0)
	}
	slices.Sort(values)
	least := math.Inf(1)
	for i := 1; i < len(values); i++ {
		if gap := values[i] - values[i-1]; gap > variances.Ulps*max(math.Abs(values[i]), math.Abs(values[i-1])) {
			least = min(least, gap)
		}
	}
	return least
}

// step is the resolution: 0 where it does not matter.
func (c *resolution) step() float64 {
	switch {
	case c.most == 0 || c.Done || c.Count > c.most:
		return 0
	}
	if gap := c.gap(); !(gap < c.enough) {
		return gap
	}
	return 0
}
