package data

import (
	"math"
	"slices"
)

// Nameless lists the columns without a name in the header of a CSV file, which are called "column 1", "column 2", …
// according to their positions. The caller must not change the list.
func (t *Table) Nameless() []string { return t.nameless }

// RowNames returns the column of row names that R and pandas write to CSV files: the first of several columns,
// without a name in the header, whose cells are texts or whole numbers, all present, and all different within each
// file. ok is false if there is no such column.
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
