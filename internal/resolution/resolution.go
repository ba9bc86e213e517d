// Package resolution finds the steps in which the values of a column are recorded: the least gap between different
// ones, as far as it matters. What it finds does not depend on the order of the values.
package resolution

import (
	"math"
	"slices"

	"github.com/latent-go/latent/internal/variances"
)

// A Column has the different values of a column. The zero value is not looked at.
type Column struct {
	most   int     // values that are kept
	enough float64 // a gap below this need not be known better

	Seen  []uint64 // the bits of different values, in a table with open addressing; 0 is free
	Count int
	Zero  bool    // 0 is among the values: its bits are those of a free place
	Done  bool    // a gap below enough, or more than most values
	Least float64 // that gap then; 0 for too many values
	last  float64
}

// New returns a column without values, of which at most so many different ones are kept, and of whose gaps one below
// enough need not be known better.
func New(most int, enough float64) Column { return Column{most: most, enough: enough} }

// Fresh returns the column before anything is known of it.
func (c *Column) Fresh() Column { return New(c.most, c.enough) }

// Asked reports whether the column is looked at.
func (c *Column) Asked() bool { return c.most > 0 }

// Add takes note of a value.
func (c *Column) Add(v float64) {
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

// Merge adds the values of others.
func (c *Column) Merge(o *Column) {
	if o.Done {
		c.end(o.Least)
	}
	c.Zero = c.Zero || o.Zero
	for _, bits := range o.Seen {
		if bits != 0 && !c.Done {
			c.Add(math.Float64frombits(bits))
		}
	}
}

// place is where bits are, or would be.
func (c *Column) place(bits uint64) int {
	i := int(bits * 0x9e3779b97f4a7c15 >> 32 % uint64(len(c.Seen)))
	for c.Seen[i] != 0 && c.Seen[i] != bits {
		if i++; i == len(c.Seen) {
			i = 0
		}
	}
	return i
}

// grow doubles the table, unless what is in it is enough.
func (c *Column) grow() {
	if c.Count > c.most {
		c.end(0)
		return
	} else if gap := c.gap(); gap < c.enough {
		c.end(gap)
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

// end leaves out the values, two of which are so near, or which are too many.
func (c *Column) end(gap float64) {
	if !c.Done || gap < c.Least {
		c.Least = gap
	}
	c.Seen, c.Done = nil, true
}

// gap is the least gap between two values that differ by more than a few units in the last place, which
// arithmetic puts between equal ones; +Inf where there are no two.
func (c *Column) gap() float64 {
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

// Step is the resolution: 0 where it does not matter.
func (c *Column) Step() float64 {
	step, _ := c.StepFrom(c.enough)
	return step
}

// StepFrom is the resolution, or 0 where it is below enough; ok is false where more values have to tell, of a column
// for which that was more.
func (c *Column) StepFrom(enough float64) (step float64, ok bool) {
	switch {
	case c.Done:
		return 0, c.Least < enough
	case c.most == 0 || c.Count > c.most:
		return 0, true
	}
	if gap := c.gap(); !(gap < enough) {
		return gap, true
	}
	return 0, true
}
