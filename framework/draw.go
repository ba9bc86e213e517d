package framework

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
)

// DrawRows draws at most n of the rows of positive weight by their contents: the draw and its order do not depend on
// the order of the table's rows nor, apart from rounding, on the order and the units of its columns. So a fit that
// begins with rows drawn at random begins at the same place however a table is sorted.
//
// If there are more than n rows, equal rows become one row of the sum of their weights, and DrawRows draws without
// replacement by priorities: random numbers, seeded by the cells of a row, over an estimate of its frequency (Duffield,
// Lund & Thorup, Journal of the ACM 54(6), 2007). Frequent rows are certain to be drawn. Weights are proportional to
// the number of rows of the table that a row of the draw stands for: means over the draw are unbiased. DrawRows then
// reads the source twice and needs 1 MiB and the memory of 2n rows.
func DrawRows(ctx context.Context, src Source[Rows], n int, rng *rand.Rand) (Rows, error) {
	rows, _, err := drawRows(ctx, src, n, rng)
	return rows, err
}

// drawRows also returns the weight of the table.
func drawRows(ctx context.Context, src Source[Rows], n int, rng *rand.Rand) (Rows, float64, error) {
	d := drawing{most: n}
	if src.Rows() > n {
		d.seed, d.buckets, d.held = rng.Uint64(), make([]float32, 1<<bucketBits), map[uint64]int{}
	}
	if err := d.each(ctx, src, d.look); err != nil {
		return Rows{}, 0, err
	}
	d.prepare()
	if d.buckets != nil {
		if err := d.each(ctx, src, d.take); err != nil {
			return Rows{}, 0, err
		}
		d.weigh()
	}
	slices.SortFunc(d.drawn, func(a, b drawnRow) int {
		return cmp.Or(cmp.Compare(a.key, b.key), slices.Compare(a.cells, b.cells), cmp.Compare(a.weight, b.weight))
	})
	out := Rows{N: len(d.drawn), D: d.d, Stride: d.d, X: make([]float64, 0, len(d.drawn)*d.d)}
	for _, r := range d.drawn {
		out.X, out.Weights = append(out.X, r.cells...), append(out.Weights, r.weight)
	}
	return out, d.weight, ctx.Err()
}

const (
	// bucketBits is the logarithm of the number of buckets that rows are counted in.
	bucketBits = 18
	// A row is frequent where its bucket has so many times the rows that it would have of a table without equal rows.
	frequent = 4
	// keyBits are the digits of a cell, in units of its column, that tell rows apart: far more than rounding takes away.
	keyBits = 30
)

// A drawing is what DrawRows knows of a table.
type drawing struct {
	most    int
	seed    uint64
	buckets []float32 // the weight of the rows whose cells have such a hash; nil if all rows are taken

	d            int
	rows, weight float64
	columns      []drawnColumn
	zeros        uint64 // the key of a row of zeros

	drawn []drawnRow
	held  map[uint64]int // by raw, the place of a row in drawn
	bound *drawnRow      // rows with a later priority are not drawn
}

// A drawnColumn is what tells a column from others, and a cell of it from another: nothing but sums about its first
// number depends on the order of rows, in digits that are not used.
type drawnColumn struct {
	some, low, high, sum float64 // a number of it, the least and the greatest, and the sum of the differences from some
	given, missing       float64 // cells
	salt, zero           uint64  // what its cells are told by from those of others, and the key of 0
}

// A drawnRow is a row, or equal ones.
type drawnRow struct {
	cells    []float64
	weight   float64
	key, raw uint64  // of the cells in units of their columns, and as they are
	priority float64 // the least are drawn
	estimate float64 // of the weight, in units of what is not frequent
}

func (r *drawnRow) compare(to *drawnRow) int {
	return cmp.Or(cmp.Compare(r.priority, to.priority), cmp.Compare(r.raw, to.raw))
}

// each visits the rows that have weight.
func (d *drawing) each(ctx context.Context, src Source[Rows], visit func(b Rows, i int)) error {
	for b, err := range src.Blocks(ctx) {
		if err == nil {
			err = b.Check()
		}
		if d.columns == nil {
			d.d, d.columns = b.D, make([]drawnColumn, b.D)
			for j := range d.columns {
				d.columns[j] = drawnColumn{some: math.NaN(), low: math.Inf(1), high: math.Inf(-1)}
				if b.Entries != nil {
					d.columns[j].some = 0
				}
			}
		}
		if err == nil && b.D != d.d {
			err = fmt.Errorf("framework: a block has %d columns; the first block has %d", b.D, d.d)
		}
		if err != nil {
			return &sourceError{err}
		}
		for i := range b.N {
			if b.Weight(i) > 0 {
				visit(b, i)
			}
		}
	}
	return nil
}

// cells are the columns and numbers of a row; where the block has entries, those alone.
func cells(b Rows, i int) iter.Seq2[int, float64] {
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
func (d *drawing) look(b Rows, i int) {
	w := b.Weight(i)
	d.rows++
	d.weight += w
	for j, x := range cells(b, i) {
		c := &d.columns[j]
		if math.IsNaN(x) {
			c.missing++
			continue
		}
		if math.IsNaN(c.some) {
			c.some = x
		}
		c.given++
		c.low, c.high = min(c.low, x), max(c.high, x)
		c.sum += x - c.some
	}
	if d.buckets == nil {
		d.drawn = append(d.drawn, drawnRow{cells: slices.Clone(b.Row(i)), weight: w})
		return
	}
	d.buckets[raw(b, i)>>(64-bucketBits)] += float32(w)
}

// prepare finds what rows are told apart by.
func (d *drawing) prepare() {
	for j := range d.columns {
		c := &d.columns[j]
		if c.given+c.missing < d.rows {
			c.low, c.high = min(c.low, 0), max(c.high, 0)
		}
		mean := c.some + c.sum/(d.rows-c.missing)
		if place := (mean - c.low) / (c.high - c.low); place >= 0 {
			c.salt = scrambled(1 + uint64(0x1p16*place+0.7)) // no fraction of small numbers is next to a step
		}
		c.zero = c.key(0)
		d.zeros += c.zero
	}
	for i := range d.drawn {
		r := &d.drawn[i]
		r.key = d.key(Rows{N: 1, D: d.d, Stride: d.d, X: r.cells}, 0)
	}
}

// key is a number that a cell of the column has in any units.
func (c *drawnColumn) key(x float64) uint64 {
	z := (x - c.low) / (c.high - c.low)
	if math.IsNaN(x) {
		return scrambled(c.salt - 1)
	}
	if z-z != 0 { // of one number alone
		z = 0
	}
	return scrambled(c.salt + (math.Float64bits(z)+1<<(51-keyBits))>>(52-keyBits))
}

// key is a number that a row has in any units and any order of the columns.
func (d *drawing) key(b Rows, i int) (sum uint64) {
	if b.Entries != nil {
		sum = d.zeros
	}
	for j, x := range cells(b, i) {
		c := &d.columns[j]
		sum += c.key(x)
		if b.Entries != nil {
			sum -= c.zero
		}
	}
	return sum
}

// raw is a number that equal rows have, and hardly any others, whether they are given by their entries or not.
func raw(b Rows, i int) (sum uint64) {
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

// take draws a row where its priority is early enough as yet.
func (d *drawing) take(b Rows, i int) {
	r := drawnRow{weight: b.Weight(i), key: d.key(b, i), raw: raw(b, i)}
	usual := d.weight / d.rows * max(1, d.rows/float64(len(d.buckets)))
	r.estimate = max(1, float64(d.buckets[r.raw>>(64-bucketBits)])/(frequent*usual))
	r.priority = float64(scrambled(r.key+d.seed)>>11+1) / r.estimate
	if d.bound != nil && r.compare(d.bound) > 0 {
		return
	}
	if at, ok := d.held[r.raw]; ok {
		d.drawn[at].weight += r.weight
		return
	}
	r.cells = slices.Clone(b.Row(i))
	d.held[r.raw] = len(d.drawn)
	if d.drawn = append(d.drawn, r); len(d.drawn) > 2*d.most {
		d.cut()
	}
}

// cut leaves the rows that are drawn as yet, and the next.
func (d *drawing) cut() {
	slices.SortFunc(d.drawn, func(a, b drawnRow) int { return a.compare(&b) })
	if len(d.drawn) <= d.most {
		return
	}
	clear(d.drawn[d.most+1:])
	d.drawn = d.drawn[:d.most+1]
	bound := d.drawn[d.most]
	d.bound = &bound
	clear(d.held)
	for at, r := range d.drawn {
		d.held[r.raw] = at
	}
}

// weigh leaves the rows that are drawn, each with its weight over the probability that a row like it is drawn with, as
// one that is not frequent has it.
func (d *drawing) weigh() {
	if d.cut(); d.bound == nil {
		return
	}
	d.drawn = d.drawn[:d.most]
	for i := range d.drawn {
		r := &d.drawn[i]
		r.weight *= max(1/r.estimate, d.bound.priority/0x1p53)
	}
}
