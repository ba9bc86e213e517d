package blocks

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/latent-go/latent/internal/linalg"
)

// Entries are the numbers, mostly 0, of a block of rows in compressed form: row i has the entries Start[i] to
// Start[i+1].
type Entries struct {
	Start   []int     // N+1 offsets into Columns and Values
	Columns []int     // of the entries, from 0, ascending within a row
	Values  []float64 // of the entries; nil when every entry is 1
}

// Row returns the columns and values of row i, sharing their memory; the
// values are nil when every entry is 1.
func (e *Entries) Row(i int) (columns []int, values []float64) {
	from, to := e.Start[i], e.Start[i+1]
	if e.Values == nil {
		return e.Columns[from:to], nil
	}
	return e.Columns[from:to], e.Values[from:to]
}

// Put writes row i into dst, zeros included.
func (e *Entries) Put(i int, dst []float64) {
	clear(dst)
	columns, values := e.Row(i)
	for n, j := range columns {
		if dst[j] = 1; values != nil {
			dst[j] = values[n]
		}
	}
}

// check returns an error about the entries of rows of d columns, the first of which is row first.
func (e *Entries) check(first, d int) error {
	for i, from := range e.Start[:len(e.Start)-1] {
		to := e.Start[i+1]
		if from < 0 || from > to || to > len(e.Columns) || e.Values != nil && to > len(e.Values) {
			return FaultyRow(first+i, "has the entries %d to %d, which do not exist", from, to)
		}
		last := -1
		for _, j := range e.Columns[from:to] {
			if j <= last || j >= d {
				return FaultyRow(first+i, "has an entry in column %d after column %d: columns must ascend from 0 "+
					"to %d", j, last, d-1)
			}
			last = j
		}
		if e.Values == nil {
			continue
		}
		for n, v := range e.Values[from:to] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return NotFinite(first+i, e.Columns[from+n], v)
			}
		}
	}
	return nil
}

// SparseTable is an in-memory source of [Rows] that are given by their entries. Mixtures of Bernoulli or Poisson
// columns then take time in proportion to the entries; models that read [Rows.Row] see complete rows.
type SparseTable struct {
	rows, d int
	entries Entries
	weights []float64
}

// FromSparse makes a SparseTable of d columns in compressed form, using the memory in place: row i has the entries
// start[i] to start[i+1], with ascending columns from 0; values may be nil if every entry is 1. Otherwise it returns an
// error that names the row, counting from 1.
func FromSparse(start, columns []int, values []float64, d int) (*SparseTable, error) {
	if len(start) < 2 || d < 1 {
		return nil, fmt.Errorf("framework: a table of %d rows and %d columns holds no data", max(0, len(start)-1), d)
	}
	n := len(start) - 1
	if start[0] != 0 || start[n] != len(columns) || values != nil && len(values) != len(columns) {
		return nil, fmt.Errorf("framework: %d columns and %d values of entries do not match rows that cover the "+
			"entries %d to %d", len(columns), len(values), start[0], start[n])
	}
	entries := Entries{start, columns, values}
	if err := entries.check(0, d); err != nil {
		return nil, fmt.Errorf("framework: %w", err)
	}
	return &SparseTable{n, d, entries, nil}, nil
}

// FromOnes makes a SparseTable of zeros and ones: a row is the list of the columns, from 0,
// that hold its ones, in any order. It returns an error for a column that a row names twice, or beyond the d columns.
func FromOnes(rows [][]int, d int) (*SparseTable, error) {
	start := make([]int, 1, len(rows)+1)
	var columns []int
	for i, ones := range rows {
		columns = append(columns, ones...)
		row := columns[start[i]:]
		slices.Sort(row)
		for e := 1; e < len(row); e++ {
			if row[e] == row[e-1] {
				return nil, fmt.Errorf("framework: %w", FaultyRow(i, "names column %d twice", row[e]))
			}
		}
		start = append(start, len(columns))
	}
	return FromSparse(start, columns, nil, d)
}

// WithWeights is [Table.WithWeights].
func (t *SparseTable) WithWeights(w []float64) (*SparseTable, error) {
	if err := checkWeights(w, t.rows); err != nil {
		return nil, err
	}
	weighted := *t
	weighted.weights = w
	return &weighted, nil
}

// Rows is the number of rows.
func (t *SparseTable) Rows() int { return t.rows }

// Dims returns the numbers of rows and columns.
func (t *SparseTable) Dims() (rows, d int) { return t.rows, t.d }

// All returns the table as one block.
func (t *SparseTable) All() Rows { return t.block(0, t.rows) }

// Blocks yields the rows in blocks of at most 4096, and of about 32,768 entries.
func (t *SparseTable) Blocks(context.Context) iter.Seq2[Rows, error] {
	const size = 4096
	var blocks []Rows // made once for all passes
	for first := 0; first < t.rows; {
		end := first + 1
		for end < t.rows && end-first < size && t.entries.Start[end]-t.entries.Start[first] < blockFloats {
			end++
		}
		blocks = append(blocks, t.block(first, end-first))
		first = end
	}
	return func(yield func(Rows, error) bool) {
		for _, b := range blocks {
			if !yield(b, nil) {
				return
			}
		}
	}
}

func (t *SparseTable) block(first, n int) Rows {
	b := Rows{
		First:   first,
		N:       n,
		D:       t.d,
		Entries: &Entries{t.entries.Start[first : first+n+1], t.entries.Columns, t.entries.Values},
	}
	if t.weights != nil {
		b.Weights = t.weights[first : first+n]
	}
	return b
}

// Distinct returns a table of the distinct rows, in order of first appearance, with the sums of
// their weights. A fit to the distinct rows from the same start is the same, to rounding, and costs less; models that
// are a [Condenser] use Distinct themselves. 0 and −0 are the same value, and so are two missing ones.
func (t *Table) Distinct() *Table {
	var kept distinct
	kept.add(t.All(), t.rows)
	return kept.table()
}

// distinct collects the distinct rows of blocks.
type distinct struct {
	Table
	places grouping
	row    []float64 // of a block of entries
}

// add is false when there are more than limit distinct rows.
func (k *distinct) add(b Rows, limit int) bool {
	k.d, k.stride = b.D, b.D
	if b.Entries != nil {
		k.row = linalg.Resize(k.row, b.D)
	}
	for i := range b.N {
		row := k.row
		if b.Entries == nil {
			row = b.Row(i)
		} else {
			b.Entries.Put(i, row)
		}
		if !k.places.isNew(row, b.Weight(i)) {
			continue
		}
		if k.rows == limit {
			return false
		}
		k.x = append(k.x, row...)
		k.rows++
	}
	return true
}

func (k *distinct) table() *Table {
	k.weights = k.places.weights
	return &k.Table
}

// Distinct is [Table.Distinct].
func (t *SparseTable) Distinct() *SparseTable {
	kept := &SparseTable{d: t.d, entries: Entries{Start: []int{0}}}
	places, all := grouping{}, t.All()
	var key []float64
	for i := range t.rows {
		columns, values := t.entries.Row(i)
		key = key[:0]
		for e, j := range columns {
			v := 1.0
			if values != nil {
				v = values[e]
			}
			if v != 0 {
				key = append(key, float64(j), v)
			}
		}
		if places.isNew(key, all.Weight(i)) {
			kept.entries.Columns = append(kept.entries.Columns, columns...)
			if values != nil {
				kept.entries.Values = append(kept.entries.Values, values...)
			}
			kept.rows++
			kept.entries.Start = append(kept.entries.Start, len(kept.entries.Columns))
		}
	}
	kept.weights = places.weights
	return kept
}

// grouping finds equal rows.
type grouping struct {
	seen    map[string]int
	weights []float64
	key     []byte
}

// isNew reports whether a row differs from all before it, and adds to the weight of the
// one that it equals.
func (g *grouping) isNew(row []float64, weight float64) bool {
	if g.seen == nil {
		g.seen = map[string]int{}
	}
	g.key = g.key[:0]
	for _, v := range row {
		switch {
		case v == 0:
			v = 0 // not −0
		case v != v:
			v = math.NaN()
		}
		g.key = binary.LittleEndian.AppendUint64(g.key, math.Float64bits(v))
	}
	if place, ok := g.seen[string(g.key)]; ok {
		g.weights[place] += weight
		return false
	}
	g.seen[string(g.key)] = len(g.weights)
	g.weights = append(g.weights, weight)
	return true
}

// condensedNumbers bounds the numbers of a condensed table: 4 MiB, and not much more to find them.
const condensedNumbers = 1 << 19

// Condensed counts repeated rows of blocks once, as [Table.Distinct] does, if less than half of so many rows are
// distinct and these hold at most 2¹⁹ numbers; otherwise, and if the blocks cannot be read, it returns false. Reading
// stops once the distinct rows exceed the bound.
func Condensed(ctx context.Context, blocks iter.Seq2[Rows, error], rows int) (t *Table, pays bool) {
	var kept distinct
	limit := (rows - 1) / 2
	for b, err := range blocks {
		if err != nil || b.D < 1 || kept.d != 0 && b.D != kept.d || b.Check() != nil {
			return nil, false
		}
		if b.Entries != nil && b.Entries.check(b.First, b.D) != nil {
			return nil, false
		}
		if !kept.add(b, min(limit, condensedNumbers/b.D)) {
			return nil, false
		}
	}
	if ctx.Err() != nil || kept.rows == 0 {
		return nil, false
	}
	return kept.table(), true
}
