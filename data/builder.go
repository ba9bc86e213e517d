package data

import "fmt"

// A Builder builds a table from cells that come column by column, as in files of columnar formats. A cell that is not
// set is missing.
type Builder struct{ table *Table }

// NewBuilder returns a Builder of a table with so many rows. categorical says which columns are categorical; the
// others are numeric. Names must differ. The store holds the numbers (nil: memory).
func NewBuilder(names []string, categorical []bool, rows int, store *Store) (*Builder, error) {
	return newBuilder(names, categorical, rows, store, false)
}

// NewFloat32Builder is [NewBuilder] of a table that keeps its numbers in float32 (see [Table.Float32s]), unless they
// are more than the store holds in memory: [Builder.Float32s] has their memory in place of Numbers.
func NewFloat32Builder(names []string, categorical []bool, rows int, store *Store) (*Builder, error) {
	return newBuilder(names, categorical, rows, store, store.holds(4*float64(rows)*float64(len(names))))
}

func newBuilder(names []string, categorical []bool, rows int, store *Store, float32s bool) (*Builder, error) {
	if rows < 1 || len(names) < 1 {
		return nil, fmt.Errorf("the table has %d rows and %d columns; must have at least one of each", rows, len(names))
	}
	if _, _, err := columnNames(names, true); err != nil {
		return nil, err
	}
	t := &Table{Names: names, rows: rows, columns: make([]column, len(names)), store: store, index: new(index)}
	for j := range names {
		if !categorical[j] {
			t.columns[j].at = t.stride
			t.stride++
		}
	}
	codes, err := store.codes(len(names)-t.stride, rows)
	if err != nil {
		return nil, err
	}
	for j := range names {
		if categorical[j] {
			t.columns[j].factor, codes = &factor{codes: codes[0]}, codes[1:]
			for row := range t.columns[j].factor.codes {
				t.columns[j].factor.codes[row] = missingCode
			}
		}
	}
	if float32s {
		t.float32s, err = store.float32s(rows * t.stride)
	} else {
		t.flat, err = store.filled(rows * t.stride)
	}
	if err != nil {
		return nil, err
	}
	return &Builder{t}, nil
}

// Numbers returns the memory of numeric column j, which the caller fills: row i is at i times the stride. NaN is a
// missing value.
func (b *Builder) Numbers(j int) (values []float64, stride int) {
	return b.table.flat[b.table.columns[j].at:], b.table.stride
}

// Float32s is Numbers of a numeric column of a table that keeps float32; nil of others.
func (b *Builder) Float32s(j int) (values []float32, stride int) {
	if b.table.float32s == nil || b.table.columns[j].factor != nil {
		return nil, 0
	}
	return b.table.float32s[b.table.columns[j].at:], b.table.stride
}

// Codes returns the memory for the codes of categorical column j, one a row, which the caller fills with indices of
// its levels; −1 is a missing value. It returns nil if the column is numeric.
func (b *Builder) Codes(j int) []int32 {
	if f := b.table.columns[j].factor; f != nil {
		return f.codes
	}
	return nil
}

// Finish sets the levels of column j, all different (nil for a column of numbers), and how many of its cells each
// text of [CSVOptions].NA made missing (nil: none).
func (b *Builder) Finish(j int, levels []string, marked []int) {
	if f := b.table.columns[j].factor; f != nil {
		f.levels = levels
	}
	b.table.columns[j].marked = marked
}

// Table returns the table. first is the number of rows in the tables before it (see [Table.Origin]).
func (b *Builder) Table(first int) *Table {
	b.table.first = first
	return b.table
}
