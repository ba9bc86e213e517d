package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is a rectangular data set whose columns are numeric or categorical. The numeric columns lie
// together in one flat row-major slice, so that a numeric table reaches a model without being copied;
// a categorical column is a list of levels and one code a row.
//
// Tables made from one another by [Table.Select], [Table.Drop] and [Table.DropMissing] share storage.
// The zero Table has no rows and no columns.
type Table struct {
	Names []string // one a column, all different

	rows    int
	flat    []float64 // rows × stride, row-major; NaN is a missing value
	stride  int
	columns []column
	unnamed bool // the first row was read as data, though a header could be there
}

// column is numeric, at a place in every row of the flat slice, or categorical.
type column struct {
	at     int
	factor *factor // nil: numeric
}

// factor holds a categorical column.
type factor struct {
	levels []string // in order of first appearance
	codes  []int32  // one a row, an index of levels or missingCode
}

const missingCode = -1

// numericTable wraps a row-major matrix of at least one column, named V1, V2, …
func numericTable(x []float64, rows, cols int) *Table {
	t := &Table{Names: make([]string, cols), rows: rows, flat: x, stride: cols, columns: make([]column, cols)}
	for j := range t.columns {
		t.Names[j] = defaultName(j)
		t.columns[j].at = j
	}
	return t
}

func defaultName(j int) string { return "V" + strconv.Itoa(j+1) }

// Rows is the number of rows, N.
func (t *Table) Rows() int { return t.rows }

// Cols is the number of columns, numeric and categorical.
func (t *Table) Cols() int { return len(t.columns) }

// Select keeps the named columns, in the order given. It is an error to name no column, a column that is
// not there, or one column twice.
func (t *Table) Select(names ...string) (*Table, error) {
	places, err := t.places(names)
	if err != nil {
		return nil, err
	}
	return t.pick(places)
}

// Drop keeps all columns but the named ones. It is an error to name a column that is not there, one column
// twice, or every column.
func (t *Table) Drop(names ...string) (*Table, error) {
	places, err := t.places(names)
	if err != nil {
		return nil, err
	}
	dropped := make([]bool, len(t.columns))
	for _, j := range places {
		dropped[j] = true
	}
	var kept []int
	for j, gone := range dropped {
		if !gone {
			kept = append(kept, j)
		}
	}
	return t.pick(kept)
}

// places finds columns by name.
func (t *Table) places(names []string) ([]int, error) {
	index := make(map[string]int, len(t.Names))
	for j, name := range t.Names {
		index[name] = j
	}
	places := make([]int, len(names))
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		j, ok := index[name]
		if !ok {
			return nil, t.unknown(name)
		}
		if seen[name] {
			return nil, fmt.Errorf("column %q is named twice; name each column once", name)
		}
		seen[name] = true
		places[i] = j
	}
	return places, nil
}

func (t *Table) pick(places []int) (*Table, error) {
	if len(places) == 0 {
		return nil, fmt.Errorf("no column is left of %s; keep at least one", quotedList(t.Names))
	}
	picked := *t
	picked.Names = make([]string, len(places))
	picked.columns = make([]column, len(places))
	for i, j := range places {
		picked.Names[i] = t.Names[j]
		picked.columns[i] = t.columns[j]
	}
	return &picked, nil
}

func (t *Table) unknown(name string) error {
	return fmt.Errorf("no column %q; the columns are %s", name, quotedList(t.Names))
}

// quotedList writes names for an error message, which stays one readable line for wide tables.
func quotedList(names []string) string {
	const most = 40
	quoted := make([]string, min(len(names), most))
	for i := range quoted {
		quoted[i] = fmt.Sprintf("%.60q", names[i])
	}
	list := strings.Join(quoted, ", ")
	if len(names) > most {
		list += fmt.Sprintf(", … (%d in all)", len(names))
	}
	return list
}

// DropMissing returns the rows in which no cell is missing, and how many rows it left out; t itself if
// none. An infinite number is not missing. Categorical columns keep all their levels, also those that no
// row has any more. The result may have no rows.
func (t *Table) DropMissing() (*Table, int) {
	missing, dropped := make([]bool, t.rows), 0
	for row := range missing {
		if t.missingIn(row) {
			missing[row] = true
			dropped++
		}
	}
	if dropped == 0 {
		return t, 0
	}

	kept := &Table{Names: slices.Clone(t.Names), rows: t.rows - dropped, columns: slices.Clone(t.columns), unnamed: t.unnamed && !missing[0]}
	var from []int // where the numeric columns, now packed in their present order, lay in a row
	for j, c := range t.columns {
		if c.factor == nil {
			kept.columns[j].at = len(from)
			from = append(from, c.at)
			continue
		}
		codes := make([]int32, 0, kept.rows)
		for row, code := range c.factor.codes {
			if !missing[row] {
				codes = append(codes, code)
			}
		}
		kept.columns[j].factor = &factor{levels: c.factor.levels, codes: codes}
	}
	kept.stride = len(from)
	kept.flat = t.gather(from, missing, kept.rows)
	return kept, dropped
}

func (t *Table) missingIn(row int) bool {
	values := t.flat[row*t.stride : (row+1)*t.stride]
	for _, c := range t.columns {
		if c.factor == nil && math.IsNaN(values[c.at]) || c.factor != nil && c.factor.codes[row] == missingCode {
			return true
		}
	}
	return false
}

// gather copies the places `from` of every row that is not left out (nil: none is); rows is their number.
func (t *Table) gather(from []int, leftOut []bool, rows int) []float64 {
	x := make([]float64, 0, rows*len(from))
	for row := range t.rows {
		if leftOut != nil && leftOut[row] {
			continue
		}
		values := t.flat[row*t.stride : (row+1)*t.stride]
		for _, at := range from {
			x = append(x, values[at])
		}
	}
	return x
}

// Column copies a numeric column: one value a row, NaN where it is missing. It is an error if there is no
// such column, or if it is categorical.
func (t *Table) Column(name string) ([]float64, error) {
	j := slices.Index(t.Names, name)
	if j < 0 {
		return nil, t.unknown(name)
	}
	if t.columns[j].factor != nil {
		if t.underHeader(j) {
			return nil, fmt.Errorf("%s; %w", t.describeText(j), ErrHeader)
		}
		return nil, fmt.Errorf("%s; a numeric column is needed here", t.describeText(j))
	}
	return t.gather([]int{t.columns[j].at}, nil, t.rows), nil
}

// Levels lists the different texts of a categorical column, exactly as they were read, in order of first
// appearance. It is nil if the column is numeric or not there, and not to be changed.
func (t *Table) Levels(name string) []string {
	if f := t.factor(name); f != nil {
		return f.levels
	}
	return nil
}

// Codes is a categorical column as indices of [Table.Levels], one a row, -1 where it is missing. It is nil
// if the column is numeric or not there, and not to be changed.
func (t *Table) Codes(name string) []int32 {
	if f := t.factor(name); f != nil {
		return f.codes
	}
	return nil
}

func (t *Table) factor(name string) *factor {
	if j := slices.Index(t.Names, name); j >= 0 {
		return t.columns[j].factor
	}
	return nil
}

// Matrix returns the table as numbers, rows×cols in row-major order, all finite. When the table holds all
// numeric columns that were read, in their order, x is the table's own storage and not a copy.
//
// It is an error if there is no row or no column, if a column is categorical (the error shows the first
// cell that is no number), or if a value is missing or infinite; the error tells the row, from 1, and the
// column.
func (t *Table) Matrix() (x []float64, rows, cols int, err error) {
	rows, cols = t.Rows(), t.Cols()
	if cols == 0 {
		return nil, 0, 0, fmt.Errorf("no numeric column: the table has no columns at all")
	}
	from := make([]int, cols)
	inPlace := cols == t.stride
	for j, c := range t.columns {
		if c.factor != nil {
			return nil, 0, 0, t.refuseText(j)
		}
		from[j] = c.at
		inPlace = inPlace && c.at == j
	}
	if rows == 0 {
		return nil, 0, 0, fmt.Errorf("the table has no rows left; drop the columns with missing values instead of the rows")
	}
	if x = t.flat; !inPlace {
		x = t.gather(from, nil, rows)
	}
	for i, v := range x {
		if v-v == 0 { // neither NaN nor infinite
			continue
		}
		what := "is missing"
		if math.IsInf(v, 0) {
			what = "is infinite"
		}
		return nil, 0, 0, fmt.Errorf("row %d of column %q %s; drop the row or the column", i/cols+1, t.Names[i%cols], what)
	}
	return x, rows, cols, nil
}

// ErrHeader is part of the error about a categorical column that would be numeric but for the first row of
// a CSV file: see [CSVOptions].Header.
var ErrHeader = errors.New("the first row looks like a header: read it with a header")

// underHeader tells whether the only text of categorical column j is in the file's first row.
func (t *Table) underHeader(j int) bool {
	f := t.columns[j].factor
	return t.unnamed && len(f.codes) > 1 && f.isText(f.codes[0]) && !slices.ContainsFunc(f.codes[1:], f.isText)
}

func (t *Table) refuseText(j int) error {
	if t.underHeader(j) {
		return fmt.Errorf("%s; %w", t.describeText(j), ErrHeader)
	}
	hint := "drop it"
	if !slices.ContainsFunc(t.columns, func(c column) bool { return c.factor == nil }) {
		hint = "and the table has no numeric column"
	}
	return fmt.Errorf("%s; %s", t.describeText(j), hint)
}

// isText tells whether a cell of that code is what made its column categorical.
func (f *factor) isText(code int32) bool {
	if code == missingCode {
		return false
	}
	_, kind := parse(f.levels[code])
	return kind == text
}

// describeText says that column j is categorical, and because of which cell.
func (t *Table) describeText(j int) string {
	f := t.columns[j].factor
	row := slices.IndexFunc(f.codes, f.isText)
	if row < 0 { // its texts were in rows that are gone
		return fmt.Sprintf("column %q is categorical", t.Names[j])
	}
	return fmt.Sprintf("column %q is categorical: row %d is %.60q", t.Names[j], row+1, f.levels[f.codes[row]])
}
