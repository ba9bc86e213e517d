package data

import "fmt"

// A Builder makes a table whose cells come column by column, such as files in columnar formats hold them. A cell that
// nobody sets is missing.
type Builder struct{ table *Table }

// NewBuilder makes a Builder of so many rows; what is not categorical is numeric. Names must differ. The numbers lie in
// the store (nil: in memory).
func NewBuilder(names []string, categorical []bool, rows int, store *Store) (*Builder, error) {
	if rows < 1 || len(names) < 1 {
		return nil, fmt.Errorf("a table of %d rows and %d columns; it needs at least one of each", rows, len(names))
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
	if t.flat, err = store.filled(rows * t.stride); err != nil {
		return nil, err
	}
	return &Builder{t}, nil
}

// Numbers is the memory of numeric column j, to be filled: row i is at i times the stride. NaN is a missing value.
func (b *Builder) Numbers(j int) (values []float64, stride int) {
	return b.table.flat[b.table.columns[j].at:], b.table.stride
}

// Codes are those of categorical column j, one a row, to be filled by the places of its levels; −1 is a missing value.
// It is nil if the column is numeric.
func (b *Builder) Codes(j int) []int32 {
	if f := b.table.columns[j].factor; f != nil {
		return f.codes
	}
	return nil
}

// Finish says which levels, all different, the codes of column j are of, nil for one of numbers, and how many of its
// cells are missing by each text of [CSVOptions].NA, nil: none is.
func (b *Builder) Finish(j int, levels []string, marked []int) {
	if f := b.table.columns[j].factor; f != nil {
		f.levels = levels
	}
	b.table.columns[j].marked = marked
}

// Table is the table, which follows so many rows of others: see [Table.Origin].
func (b *Builder) Table(first int) *Table {
	b.table.first = first
	return b.table
}
