package data

import (
	"math"
	"slices"
)

// Nameless lists the columns for which the header of a CSV file has no name: they are called "column 1", "column 2", …
// by their places. It is not to be changed.
func (t *Table) Nameless() []string { return t.nameless }

// RowNames returns the column that names the rows of CSV files, as R and pandas write it. It is the first of several
// columns and has no name in the header. Its cells are all present, all different within each file, and texts or
// whole numbers. ok is false if there is no such column.
func (t *Table) RowNames() (name string, ok bool) {
	if !t.rowsNamed || t.place(t.nameless[0]) < 0 {
		return "", false
	}
	return t.nameless[0], true
}

// namesRows says whether the first column names the rows of a file that was read.
func (t *Table) namesRows() bool {
	if len(t.nameless) == 0 || len(t.columns) < 2 || t.Names[0] != t.nameless[0] {
		return false
	}
	if f := t.columns[0].factor; f != nil {
		return len(f.levels) == len(f.codes) && !slices.Contains(f.codes, missingCode)
	}
	x := t.column(0)
	if slices.ContainsFunc(x, func(v float64) bool { return v != math.Trunc(v) || math.Abs(v) > 1<<53 }) {
		return false
	}
	slices.Sort(x)
	return len(slices.Compact(x)) == t.rows
}
