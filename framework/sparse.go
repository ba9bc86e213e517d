package framework

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
)

// SparseRows is a block of consecutive rows of a table most of whose entries are 0, in
// compressed form: row i of the block has the entries Start[i] to Start[i+1].
type SparseRows struct {
	First   int       // index of the block's first row in the source
	N, D    int       // rows and columns of the block
	Start   []int     // N+1 places in Columns and Values
	Columns []int     // of the entries, from 0, ascending within a row
	Values  []float64 // of the entries; nil when every entry is 1
	Weights []float64 // frequency weights, length N; nil when every row weighs 1
}

// Row returns the columns and values of row i of the block, sharing their memory; the
// values are nil when every entry is 1.
func (b SparseRows) Row(i int) (columns []int, values []float64) {
	from, to := b.Start[i], b.Start[i+1]
	if b.Values == nil {
		return b.Columns[from:to], nil
	}
	return b.Columns[from:to], b.Values[from:to]
}

// Weight returns the frequency weight of row i of the block.
func (b SparseRows) Weight(i int) float64 { return Rows{Weights: b.Weights}.Weight(i) }

// Check says what is wrong with the weights of a block, which a source of one's own may have made.
func (b SparseRows) Check() error { return checkBlockWeights(b.Weights, b.N, b.First) }

// SparseTable is an in-memory [Source] of [SparseRows].
type SparseTable struct {
	all SparseRows
}

// FromSparse makes a SparseTable of d columns in compressed form, the memory used in
// place: row i has the entries start[i] to start[i+1], with ascending columns from 0;
// values may be nil when every entry is 1. Anything else is an error that names the row,
// counting from 1.
func FromSparse(start, columns []int, values []float64, d int) (*SparseTable, error) {
	if len(start) < 2 || d < 1 {
		return nil, fmt.Errorf("framework: a table of %d rows and %d columns holds no data", max(0, len(start)-1), d)
	}
	n := len(start) - 1
	if start[0] != 0 || start[n] != len(columns) || values != nil && len(values) != len(columns) {
		return nil, fmt.Errorf("framework: %d columns and %d values of entries do not go with rows that cover the entries %d to %d", len(columns), len(values), start[0], start[n])
	}
	for i := range n {
		if start[i] > start[i+1] || start[i+1] > len(columns) {
			return nil, fmt.Errorf("framework: %w", FaultyRow(i, "covers the entries %d to %d", start[i], start[i+1]))
		}
		last := -1
		for _, j := range columns[start[i]:start[i+1]] {
			if j <= last || j >= d {
				return nil, fmt.Errorf("framework: %w", FaultyRow(i, "has an entry in column %d after column %d: columns ascend from 0 to %d", j, last, d-1))
			}
			last = j
		}
		if values == nil {
			continue
		}
		for e, v := range values[start[i]:start[i+1]] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("framework: %w", NotFinite(i, columns[start[i]+e], v))
			}
		}
	}
	return &SparseTable{SparseRows{N: n, D: d, Start: start, Columns: columns, Values: values}}, nil
}

// FromOnes makes a SparseTable of zeros and ones: a row is the list of the columns, from 0,
// that hold its ones, in any order. A column named twice in a row, or beyond the d
// columns, is an error.
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
	if err := checkWeights(w, t.all.N); err != nil {
		return nil, err
	}
	weighted := *t
	weighted.all.Weights = w
	return &weighted, nil
}

// Rows is the number of rows.
func (t *SparseTable) Rows() int { return t.all.N }

// Dims returns the numbers of rows and columns.
func (t *SparseTable) Dims() (rows, d int) { return t.all.N, t.all.D }

// All returns the whole table as one block.
func (t *SparseTable) All() SparseRows { return t.all }

// Blocks yields the rows in blocks of 4096.
func (t *SparseTable) Blocks(context.Context) iter.Seq2[SparseRows, error] {
	const size = 4096
	return func(yield func(SparseRows, error) bool) {
		for first := 0; first < t.all.N; first += size {
			if !yield(t.block(first, min(size, t.all.N-first)), nil) {
				return
			}
		}
	}
}

func (t *SparseTable) block(first, n int) SparseRows {
	b := t.all
	b.First, b.N = first, n
	b.Start = t.all.Start[first : first+n+1]
	if b.Weights != nil {
		b.Weights = b.Weights[first : first+n]
	}
	return b
}

// Distinct counts repeated rows once: it returns a table of the different rows, in order of
// their first appearance, with the sums of their weights. A fit to it from the same start is
// the same, to rounding, at the cost of the different rows alone; models that are a
// [Condenser] see to that themselves. 0 and −0 are the same value, and so are two missing
// ones.
func (t *Table) Distinct() *Table {
	var kept distinct
	kept.add(t.All(), t.rows)
	return kept.table()
}

// distinct collects the different rows of blocks.
type distinct struct {
	Table
	places grouping
}

// add is false when there are more than limit different rows.
func (k *distinct) add(b Rows, limit int) bool {
	k.d, k.stride = b.D, b.D
	for i := range b.N {
		row := b.Row(i)
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
	kept := &SparseTable{SparseRows{D: t.all.D, Start: []int{0}}}
	places := grouping{}
	var key []float64
	for i := range t.all.N {
		columns, values := t.all.Row(i)
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
		if places.isNew(key, t.all.Weight(i)) {
			kept.all.Columns = append(kept.all.Columns, columns...)
			if t.all.Values != nil {
				kept.all.Values = append(kept.all.Values, values...)
			}
			kept.all.N++
			kept.all.Start = append(kept.all.Start, len(kept.all.Columns))
		}
	}
	kept.all.Weights = places.weights
	return kept
}

// grouping finds equal rows.
type grouping struct {
	seen    map[string]int
	weights []float64
	key     []byte
}

// isNew says whether a row differs from all before it, and adds to the weight of the
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
