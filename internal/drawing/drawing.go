// Package drawing draws rows by their contents, in two readings of a table, of which parts merge in any order. What it
// draws does not depend on the order of the rows nor, apart from rounding, on the order and the units of the columns.
package drawing

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"github.com/latent-go/latent/framework/blocks"
)

const (
	// bucketBits is the logarithm of the number of buckets that rows are counted in.
	bucketBits = 18
	// A row is frequent where its bucket has so many times the rows that it would have of a table without equal rows.
	frequent = 4
	// keyBits are the digits of a cell, in units of its column, that tell rows apart: far more than rounding takes away.
	keyBits = 30
)

// Seen is what the first reading learns of a table, or of a part of it.
type Seen struct {
	D            int
	Rows, Weight float64
	Columns      []Column
	Buckets      []float32 // the weight of the rows whose cells have such a hash; nil if all rows are taken
	Taken        []Row     // all of them then
}

// A Column is what tells a column from others, and a cell of it from another: nothing but sums about its first
// number depends on the order of rows, in digits that are not used.
type Column struct {
	Some, Low, High, Sum float64 // a number of it, the least and the greatest, and the sum of the differences from some
	Given, Missing       float64 // cells
	salt, zero           uint64  // what its cells are told by from those of others, and the key of 0
}

// A Row is a row, or equal ones.
type Row struct {
	Cells    []float64
	Weight   float64
	Key, Raw uint64  // of the cells in units of their columns, and as they are
	Priority float64 // the least are drawn
	Estimate float64 // of the weight, in units of what is not frequent
}

// NewSeen is empty; all rows are taken unless some are to be drawn.
func NewSeen(some bool) *Seen {
	s := new(Seen)
	if some {
		s.Buckets = make([]float32, 1<<bucketBits)
	}
	return s
}

func (r *Row) compare(to *Row) int {
	return cmp.Or(cmp.Compare(r.Priority, to.Priority), cmp.Compare(r.Raw, to.Raw))
}

// Add takes note of the rows that have weight.
func (s *Seen) Add(b blocks.Rows) error {
	err := b.Check()
	if s.Columns == nil {
		s.D, s.Columns = b.D, make([]Column, b.D)
		for j := range s.Columns {
			s.Columns[j] = Column{Some: math.NaN(), Low: math.Inf(1), High: math.Inf(-1)}
			if b.Entries != nil {
				s.Columns[j].Some = 0
			}
		}
	}
	if err == nil && b.D != s.D {
		err = otherColumns(b.D, s.D)
	}
	if err != nil {
		return err
	}
	for i := range b.N {
		if b.Weight(i) > 0 {
			s.look(b, i)
		}
	}
	return nil
}

func otherColumns(d, first int) error {
	return fmt.Errorf("framework: a block has %d columns; the first block has %d", d, first)
}

// Merge adds what another part has.
func (s *Seen) Merge(o *Seen) error {
	if o.D != s.D {
		return otherColumns(o.D, s.D)
	}
	s.Rows += o.Rows
	s.Weight += o.Weight
	for j := range s.Columns {
		s.Columns[j].merge(o.Columns[j])
	}
	for i, w := range o.Buckets {
		s.Buckets[i] += w
	}
	s.Taken = append(s.Taken, o.Taken...)
	return nil
}

func (c *Column) merge(o Column) {
	if math.IsNaN(c.Some) {
		c.Some = o.Some
	} else if !math.IsNaN(o.Some) {
		c.Sum += o.Given * (o.Some - c.Some)
	}
	c.Sum += o.Sum
	c.Low, c.High = min(c.Low, o.Low), max(c.High, o.High)
	c.Given += o.Given
	c.Missing += o.Missing
}

// cells are the columns and numbers of a row; where the block has entries, those alone.
func cells(b blocks.Rows, i int) iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		if b.Entries == nil {
			for j, x := range b.Row(i) {
				if !yield(j, x) {
					return
				}
			}
			return
		}
		columns, values := b.Entries.Row(i)
		for n, j := range columns {
			x := 1.0
			if values != nil {
				x = values[n]
			}
			if !yield(j, x) {
				return
			}
		}
	}
}

// look adds a row to what is known of the columns, and takes it where all are taken.
func (s *Seen) look(b blocks.Rows, i int) {
	w := b.Weight(i)
	s.Rows++
	s.Weight += w
	for j, x := range cells(b, i) {
		c := &s.Columns[j]
		if math.IsNaN(x) {
			c.Missing++
			continue
		}
		if math.IsNaN(c.Some) {
			c.Some = x
		}
		c.Given++
		c.Low, c.High = min(c.Low, x), max(c.High, x)
		c.Sum += x - c.Some
	}
	if s.Buckets == nil {
		s.Taken = append(s.Taken, Row{Cells: slices.Clone(b.Row(i)), Weight: w})
		return
	}
	s.Buckets[raw(b, i)>>(64-bucketBits)] += float32(w)
}

// A Drawing is what the second reading has to know.
type Drawing struct {
	*Seen
	most  int
	seed  uint64
	zeros uint64              // the key of a row of zeros
	bound atomic.Pointer[Row] // rows with a later priority are not drawn
	guess bool                // of the bound: it is not from rows
}

// NewDrawing draws at most so many of the rows that were seen; it finds what rows are told apart by.
func NewDrawing(seen *Seen, most int, seed uint64) *Drawing {
	d := &Drawing{Seen: seen, most: most, seed: seed}
	for j := range d.Columns {
		c := &d.Columns[j]
		if c.Given+c.Missing < d.Rows {
			c.Low, c.High = min(c.Low, 0), max(c.High, 0)
		}
		mean := c.Some + c.Sum/(d.Rows-c.Missing)
		if place := (mean - c.Low) / (c.High - c.Low); place >= 0 {
			c.salt = scrambled(1 + uint64(0x1p16*place+0.7)) // no fraction of small numbers is next to a step
		}
		c.zero = c.key(0)
		d.zeros += c.zero
	}
	for i := range d.Taken {
		r := &d.Taken[i]
		r.Key = d.key(blocks.Rows{N: 1, D: d.D, Stride: d.D, X: r.Cells}, 0)
	}
	d.begin()
	return d
}

// begin guesses the bound from the number of different rows, which the number of empty buckets tells (Whang,
// Vander-Zanden & Taylor, ACM Transactions on Database Systems 15(2), 1990). Then hardly more rows than are drawn are
// kept on the way.
func (d *Drawing) begin() {
	empty := 0
	for _, w := range d.Buckets {
		if w == 0 {
			empty++
		}
	}
	if empty == 0 {
		return
	}
	different := float64(len(d.Buckets)) * math.Log(float64(len(d.Buckets))/float64(empty))
	most := float64(d.most)
	if share := (most + 8*math.Sqrt(most) + 8) / different; share < 1 {
		d.bound.Store(&Row{Priority: share * 0x1p53})
		d.guess = true
	}
}

// Again reports whether the guess of a bound has left out rows that are to be drawn, as it may where rows have one key,
// and takes it away: then the rows are to be read once more.
func (d *Drawing) Again(t *Drawn) bool {
	if !d.guess || len(t.Rows) > d.most {
		return false
	}
	d.bound.Store(nil)
	d.guess = false
	return true
}

// key is a number that a cell of the column has in any units.
func (c *Column) key(x float64) uint64 {
	z := (x - c.Low) / (c.High - c.Low)
	if math.IsNaN(x) {
		return scrambled(c.salt - 1)
	}
	if z-z != 0 { // of one number alone
		z = 0
	}
	return scrambled(c.salt + (math.Float64bits(z)+1<<(51-keyBits))>>(52-keyBits))
}

// key is a number that a row has in any units and any order of the columns.
func (d *Drawing) key(b blocks.Rows, i int) (sum uint64) {
	if b.Entries != nil {
		sum = d.zeros
	}
	for j, x := range cells(b, i) {
		c := &d.Columns[j]
		sum += c.key(x)
		if b.Entries != nil {
			sum -= c.zero
		}
	}
	return sum
}

// raw is a number that equal rows have, and hardly any others, whether they are given by their entries or not.
func raw(b blocks.Rows, i int) (sum uint64) {
	for j, x := range cells(b, i) {
		if math.IsNaN(x) {
			sum += scrambled(uint64(j))
		} else if x != 0 {
			sum += scrambled(math.Float64bits(x) + uint64(j)*0x9e3779b97f4a7c15)
		}
	}
	return sum
}

// scrambled is the finaliser of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
func scrambled(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Drawn are the rows with the first priorities of a table, or of a part of it.
type Drawn struct {
	Rows []Row

	of   *Drawing
	held map[uint64]int // by raw, the place of a row
}

// Drawn is empty.
func (d *Drawing) Drawn() *Drawn { return &Drawn{of: d} }

// Add draws those rows of a block whose priorities are early enough as yet. Several parts may do so at the same time.
func (t *Drawn) Add(b blocks.Rows) error {
	d := t.of
	usual := d.Weight / d.Seen.Rows * max(1, d.Seen.Rows/float64(len(d.Buckets)))
	for i := range b.N {
		r := Row{Weight: b.Weight(i)}
		if !(r.Weight > 0) {
			continue
		}
		r.Key, r.Raw = d.key(b, i), raw(b, i)
		r.Estimate = max(1, float64(d.Buckets[r.Raw>>(64-bucketBits)])/(frequent*usual))
		r.Priority = float64(scrambled(r.Key+d.seed)>>11+1) / r.Estimate
		if d.within(&r) {
			t.take(r, func() []float64 { return slices.Clone(b.Row(i)) })
		}
	}
	return nil
}

// within reports whether a row may be drawn.
func (d *Drawing) within(r *Row) bool {
	bound := d.bound.Load()
	return bound == nil || r.compare(bound) <= 0
}

// take adds a row to its equal, or draws it as yet.
func (t *Drawn) take(r Row, cells func() []float64) {
	if t.held == nil {
		t.hold()
	}
	if at, ok := t.held[r.Raw]; ok {
		t.Rows[at].Weight += r.Weight
		return
	}
	r.Cells = cells()
	t.held[r.Raw] = len(t.Rows)
	if t.Rows = append(t.Rows, r); len(t.Rows) > 2*t.of.most {
		t.cut()
	}
}

func (t *Drawn) hold() {
	t.held = make(map[uint64]int, len(t.Rows))
	for at, r := range t.Rows {
		t.held[r.Raw] = at
	}
}

// Merge draws from those of another part, too.
func (t *Drawn) Merge(o *Drawn) error {
	for _, r := range o.Rows {
		if t.of.within(&r) {
			t.take(r, func() []float64 { return r.Cells })
		}
	}
	return nil
}

// cut leaves the rows that are drawn as yet, and the next, which bounds those of every part.
func (t *Drawn) cut() {
	slices.SortFunc(t.Rows, func(a, b Row) int { return a.compare(&b) })
	most := t.of.most
	if len(t.Rows) <= most {
		return
	}
	clear(t.Rows[most+1:])
	t.Rows = t.Rows[:most+1]
	bound := t.Rows[most]
	for old := t.of.bound.Load(); old == nil || bound.compare(old) < 0; old = t.of.bound.Load() {
		if t.of.bound.CompareAndSwap(old, &bound) {
			break
		}
	}
	t.hold()
}

// First are at most n of the rows, each with its weight over the probability that a row like it is drawn with, as one
// that is not frequent has it. n is at most what is drawn.
func (t *Drawn) First(n int) []Row {
	t.cut()
	rows := slices.Clone(t.Rows[:min(n, len(t.Rows))])
	for i := range rows {
		if r := &rows[i]; n < len(t.Rows) {
			r.Weight *= max(1/r.Estimate, t.Rows[n].Priority/0x1p53)
		}
	}
	return rows
}

// Block is the rows taken, in an order that is that of their contents.
func (s *Seen) Block() blocks.Rows {
	slices.SortFunc(s.Taken, func(a, b Row) int {
		if a.Key != b.Key { // nearly always: what follows takes ten times as long
			return cmp.Compare(a.Key, b.Key)
		}
		return cmp.Or(slices.Compare(a.Cells, b.Cells), cmp.Compare(a.Weight, b.Weight))
	})
	out := blocks.Rows{N: len(s.Taken), D: s.D, Stride: s.D, X: make([]float64, 0, len(s.Taken)*s.D)}
	for _, r := range s.Taken {
		out.X, out.Weights = append(out.X, r.Cells...), append(out.Weights, r.Weight)
	}
	return out
}
