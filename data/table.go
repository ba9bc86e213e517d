package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/latent-go/latent/internal/parallel"
	"github.com/latent-go/latent/internal/simd"
)

// Table is a rectangular data set whose columns are numeric or categorical. The numeric columns share one flat
// row-major slice, so that a model gets a numeric table without a copy. A categorical column is a list of levels and
// one code a row.
//
// Tables made from one another by [Table.Select], [Table.Drop], [Table.DropMissing] and [Table.Factor] share
// storage.
// The zero Table has no rows and no columns.
type Table struct {
	Names []string // one a column, all different

	first     int // rows in the blocks before: see Blocks
	rows      int
	skipped   int       // lines of nothing above rows of a CSV file
	flat      []float64 // rows × stride, row-major; NaN is a missing value
	float32s  []float32 // in place of flat, of a file of such numbers; nil otherwise
	stride    int
	store     *Store // where copies of the numbers lie, too
	columns   []column
	decimal   byte       // of a CSV file, what decimals follow
	unnamed   bool       // the first row was read as data, though a header could be there
	nameless  []string   // columns without a name in the header
	encoding  string     // of the CSV file, if it was not in UTF-8
	preamble  string     // what stands above the table in the CSV file
	titles    [][]string // rows below the header that are no data
	blanks    bool       // separate the fields of the CSV file
	years     bool       // the header has years for names
	unsure    []string   // columns whose decimals may be thousands
	spellings []Spelling
	rowsNamed bool  // the first of them names the rows
	origin    []int // of each row, its place among those that were read; nil: its own
	index     *index
}

// index finds the places of columns by their names, in time that does not grow with the columns. It is made when it is
// first asked for.
type index struct {
	once   sync.Once
	places map[string]int
}

// column is numeric, at a place in every row of the flat slice, or categorical.
type column struct {
	at     int
	factor *factor // nil: numeric
	marked []int   // cells that were read as missing, as MarkedMissing
}

// numericTable wraps a row-major matrix of at least one column, named V1, V2, …
func numericTable(x []float64, rows, cols int) *Table {
	t := &Table{
		Names: make([]string, cols), rows: rows, flat: x, stride: cols, columns: make([]column, cols), index: new(index),
	}
	for j := range t.columns {
		t.Names[j] = defaultName(j)
		t.columns[j].at = j
	}
	return t
}

func defaultName(j int) string { return "V" + strconv.Itoa(j+1) }

// Rows returns the number of rows, N.
func (t *Table) Rows() int { return t.rows }

// EmptyLines returns the number of empty lines above the last row of a CSV file, which were skipped. In a file of one
// column they may stand for missing values.
func (t *Table) EmptyLines() int { return t.skipped }

// Cols returns the number of columns, numeric and categorical.
func (t *Table) Cols() int { return len(t.columns) }

// Select returns the named columns, in the given order. It returns an error if names is empty, has a column that does
// not exist, or has one column twice.
func (t *Table) Select(names ...string) (*Table, error) {
	places, err := t.places(names)
	if err != nil {
		return nil, err
	}
	return t.pick(places)
}

// Drop returns the table without the named columns. It returns an error if names has a column that does not exist,
// one column twice, or every column.
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
	places := make([]int, len(names))
	seen := make([]bool, len(t.columns))
	for i, name := range names {
		j := t.place(name)
		if j < 0 {
			return nil, t.unknown(name)
		}
		if seen[j] {
			return nil, fmt.Errorf("column %q is named twice; name each column once", name)
		}
		seen[j] = true
		places[i] = j
	}
	return places, nil
}

// place finds a column by name; -1 if there is none. Names can be changed from outside, so the index only proposes.
func (t *Table) place(name string) int {
	if t.index == nil {
		return slices.Index(t.Names, name)
	}
	t.index.once.Do(func() {
		t.index.places = make(map[string]int, len(t.Names))
		for j, name := range t.Names {
			t.index.places[name] = j
		}
	})
	if j, ok := t.index.places[name]; ok && t.Names[j] == name {
		return j
	}
	return slices.Index(t.Names, name)
}

func (t *Table) pick(places []int) (*Table, error) {
	if len(places) == 0 {
		return nil, fmt.Errorf("no column is left of %s; keep at least one", quotedList(t.Names))
	}
	picked := *t
	picked.Names = make([]string, len(places))
	picked.columns = make([]column, len(places))
	picked.index = new(index)
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
func quotedList(names []string) string { return quotedFirst(names, 40) }

// quotedFirst is quotedList of so many names.
func quotedFirst(names []string, most int) string {
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

// DropMissing returns the rows in which no cell is missing, and how many rows it dropped; cells of the columns but do
// not count. If it dropped none, it returns t itself. An infinite number is not missing. Categorical columns keep all
// their levels, including those that no row has any longer. The result may have no rows. It returns an error if the
// [Store] has no room.
func (t *Table) DropMissing(but ...string) (complete *Table, dropped int, err error) {
	if t.complete() {
		return t, 0, nil
	}
	return t.dropRows(func(row int) bool {
		for j, c := range t.columns {
			if math.IsNaN(t.number(row, c)) && !slices.Contains(but, t.Names[j]) {
				return true
			}
		}
		return false
	})
}

// DropEmpty is [Table.DropMissing] for rows in which every cell is missing; cells of the columns but do not count.
func (t *Table) DropEmpty(but ...string) (complete *Table, dropped int, err error) {
	if t.complete() {
		return t, 0, nil
	}
	return t.dropRows(func(row int) bool {
		for j, c := range t.columns {
			if !math.IsNaN(t.number(row, c)) && !slices.Contains(but, t.Names[j]) {
				return false
			}
		}
		return true
	})
}

func (t *Table) dropRows(drop func(row int) bool) (complete *Table, dropped int, err error) {
	missing := make([]bool, t.rows)
	origin := make([]int, 0, t.rows)
	for row := range missing {
		if drop(row) {
			missing[row] = true
			dropped++
		} else {
			origin = append(origin, t.Origin(row))
		}
	}
	if dropped == 0 {
		return t, 0, nil
	}

	kept := &Table{
		Names:     slices.Clone(t.Names),
		rows:      t.rows - dropped,
		columns:   slices.Clone(t.columns),
		unnamed:   t.unnamed && !missing[0],
		nameless:  t.nameless,
		encoding:  t.encoding,
		preamble:  t.preamble,
		titles:    t.titles,
		blanks:    t.blanks,
		spellings: t.spellings,
		unsure:    t.unsure,
		years:     t.years,
		rowsNamed: t.rowsNamed,
		decimal:   t.decimal,
		origin:    origin,
		store:     t.store,
		index:     new(index),
	}
	var numeric []column // to be packed in their present order
	for j, c := range t.columns {
		if c.factor == nil {
			kept.columns[j].at = len(numeric)
			numeric = append(numeric, c)
		}
	}
	kept.stride = len(numeric)
	lists, err := t.store.codes(kept.Cols()-kept.stride, kept.rows)
	if err != nil {
		return nil, 0, err
	}
	for j, c := range t.columns {
		if c.factor == nil {
			continue
		}
		codes := lists[0][:0]
		for row, code := range c.factor.codes {
			if !missing[row] {
				codes = append(codes, code)
			}
		}
		kept.columns[j].factor, lists = c.factor.with(codes), lists[1:]
	}
	if kept.flat, err = t.store.numbers(kept.rows * kept.stride); err != nil {
		return nil, 0, err
	}
	kept.flat = t.gather(kept.flat, numeric, missing)
	return kept, dropped, nil
}

// Origin returns the position, from 0, that a row had when it was read, before [Table.DropMissing] dropped others.
// Errors number rows by it. In a table of [Blocks] it also counts the rows of the previous tables.
func (t *Table) Origin(row int) int {
	if t.origin == nil {
		return t.first + row
	}
	return t.origin[row]
}

// complete says that no cell is missing; false says nothing, as when an infinite number or a dropped column is there.
func (t *Table) complete() bool {
	for _, c := range t.columns {
		if c.factor != nil && slices.Contains(c.factor.codes, missingCode) {
			return false
		}
	}
	return t.allFinite()
}

// Number returns the cell of a row and a column, both from 0, as [Table.Values] does: the value in a numeric column,
// the code of the level in a categorical one, NaN if it is missing. It panics if there is no such cell.
func (t *Table) Number(row, col int) float64 { return t.number(row, t.columns[col]) }

func (t *Table) number(row int, c column) float64 {
	if c.factor == nil && t.float32s != nil {
		return float64(t.float32s[row*t.stride+c.at])
	}
	if c.factor == nil {
		return t.flat[row*t.stride+c.at]
	}
	if code := c.factor.codes[row]; code != missingCode {
		return float64(code)
	}
	return math.NaN()
}

// Empty reports whether a column has no value at all: every cell is missing, or there is no such column. It stops at
// the first value.
func (t *Table) Empty(name string) bool {
	j := t.place(name)
	return j < 0 || t.empty(t.columns[j])
}

func (t *Table) empty(c column) bool {
	for row := range t.rows {
		if !math.IsNaN(t.number(row, c)) {
			return false
		}
	}
	return true
}

// gather adds columns as numbers to x, row-major, from every row that is not left out (nil: none is).
func (t *Table) gather(x []float64, columns []column, leftOut []bool) []float64 {
	for row := range t.rows {
		if leftOut != nil && leftOut[row] {
			continue
		}
		for _, c := range columns {
			x = append(x, t.number(row, c))
		}
	}
	return x
}

// column copies column j.
func (t *Table) column(j int) []float64 {
	return t.gather(make([]float64, 0, t.rows), t.columns[j:j+1], nil)
}

// Column copies a numeric column: one value a row, NaN if it is missing. It returns an error if there is no such
// column, or if it is categorical.
func (t *Table) Column(name string) ([]float64, error) {
	j := t.place(name)
	if j < 0 {
		return nil, t.unknown(name)
	}
	if t.columns[j].factor != nil {
		if err := t.misread(j); err != nil {
			return nil, fmt.Errorf("%s; %w", t.describeText(j), err)
		}
		return nil, fmt.Errorf("%s; a numeric column is needed here", t.describeText(j))
	}
	return t.column(j), nil
}

// Levels lists the different texts of a categorical column: exactly as they were read, in order of first appearance,
// or as [Table.Factor] set them. The caller must not change the list. It returns nil if there is no such column or if
// it is numeric.
func (t *Table) Levels(name string) []string {
	if f := t.factor(name); f != nil {
		return f.levels
	}
	return nil
}

// Codes returns a categorical column as indices of [Table.Levels], one a row, -1 for a missing cell. The caller must
// not change it. It returns nil if there is no such column or if it is numeric.
func (t *Table) Codes(name string) []int32 {
	if f := t.factor(name); f != nil {
		return f.codes
	}
	return nil
}

// Texts shows why a column is categorical: it lists the levels that are not numbers, in the order of [Table.Levels],
// and counts the cells with these texts and the cells with numbers. It returns zero values if there is no such column
// or if it is numeric.
func (t *Table) Texts(name string) (levels []string, texts, numbers int) {
	f := t.factor(name)
	if f == nil {
		return nil, 0, 0
	}
	cells := make([]int, len(f.levels))
	for _, code := range f.codes {
		if code != missingCode {
			cells[code]++
		}
	}
	for code, n := range cells {
		switch {
		case !f.isText(int32(code)):
			numbers += n
		case n > 0:
			levels, texts = append(levels, f.levels[code]), texts+n
		}
	}
	return levels, texts, numbers
}

// MarkedMissing returns, for each text of CSVOptions.NA, the number of cells of a column that it made missing, and
// last the number that N/A, NULL and the like made missing, over all rows that were read. The caller must not change
// the list. It returns nil if there were no such cells, or no such column.
func (t *Table) MarkedMissing(name string) []int {
	if j := t.place(name); j >= 0 {
		return t.columns[j].marked
	}
	return nil
}

func (t *Table) factor(name string) *factor {
	if j := t.place(name); j >= 0 {
		return t.columns[j].factor
	}
	return nil
}

// Matrix returns the table as numbers, rows×cols in row-major order, all finite. If the table holds all numeric
// columns that were read, in their order, x is the table's own storage and not a copy.
//
// It returns an error if there is no row or no column, if a column is categorical (the error shows the first cell
// that is not a number), or if a value is missing or infinite. The error names the row, from 1, and the column.
func (t *Table) Matrix() (x []float64, rows, cols int, err error) {
	if t.Cols() == 0 {
		return nil, 0, 0, fmt.Errorf("no numeric column: the table has no columns at all")
	}
	if j := slices.IndexFunc(t.columns, func(c column) bool { return c.factor != nil }); j >= 0 {
		return nil, 0, 0, t.refuseText(j)
	}
	if t.rows == 0 {
		return nil, 0, 0, errNoRows
	}
	if x, err = t.numbers(); err != nil {
		return nil, 0, 0, err
	}
	if !allFinite(x) {
		i := slices.IndexFunc(x, func(v float64) bool { return v-v != 0 })
		return nil, 0, 0, t.refuseNumber(i, x[i])
	}
	return x, t.Rows(), t.Cols(), nil
}

// allFinite says that no number is NaN or infinite. Memory is what it waits for, and two cores wait less.
func allFinite(x []float64) bool {
	return inParts(len(x), func(from, to int) bool { return simd.Finite(x[from:to]) })
}

func inParts(n int, finite func(from, to int) bool) bool {
	const part = 1 << 18
	return parallel.Do((n+part-1)/part, 0, func(i int) error {
		if !finite(i*part, min((i+1)*part, n)) {
			return errNotFinite
		}
		return nil
	}) == nil
}

// allFinite says that no number of the columns that were read is NaN or infinite.
func (t *Table) allFinite() bool {
	return allFinite(t.flat) && inParts(len(t.float32s), func(from, to int) bool {
		var wide [1 << 10]float64
		for part := range slices.Chunk(t.float32s[from:to], len(wide)) {
			if !simd.Widen(wide[:], part) {
				return false
			}
		}
		return true
	})
}

var errNotFinite = errors.New("not finite")

// Values returns the table as numbers, rows×cols in row-major order, for models that know about kinds of
// columns and missing values: NaN if a cell is missing, and the code 0, 1, … of its level if the column is
// categorical (see [Table.Codes], and [Table.Factor] for codes that do not depend on the order of the rows). All
// other numbers are finite. As in [Table.Matrix], x is the table's own storage if the table holds all numeric columns
// that were read, in their order, and no others; the caller must then not change it.
//
// It returns an error if there is no row or no column, or if a number is infinite. The error names the row, from 1,
// and the column.
func (t *Table) Values() (x []float64, rows, cols int, err error) {
	if t.Cols() == 0 {
		return nil, 0, 0, fmt.Errorf("the table has no columns at all")
	}
	if t.rows == 0 {
		return nil, 0, 0, errNoRows
	}
	if x, err = t.numbers(); err != nil {
		return nil, 0, 0, err
	}
	if allFinite(x) { // in a fraction of the time that it takes to look for infinite numbers alone
		return x, t.Rows(), t.Cols(), nil
	}
	for i, v := range x {
		if math.IsInf(v, 0) {
			return nil, 0, 0, t.refuseNumber(i, v)
		}
	}
	return x, t.Rows(), t.Cols(), nil
}

var errNoRows = errors.New("the table has no rows left; drop the columns with missing values instead of the rows")

// Float32s returns what [Table.Values] does, the table's own storage, if it holds these numbers and no others in
// float32, and none is infinite; otherwise nil. complete reports that none is missing.
func (t *Table) Float32s() (x []float32, complete bool) {
	if t.rows == 0 || !t.inPlace() {
		return nil, false
	}
	complete = t.allFinite()
	if !complete && slices.ContainsFunc(t.float32s, func(v float32) bool { return math.IsInf(float64(v), 0) }) {
		return nil, false
	}
	return t.float32s, complete
}

// inPlace says whether the storage has the columns alone, in their order.
func (t *Table) inPlace() bool {
	for j, c := range t.columns {
		if c.factor != nil || c.at != j {
			return false
		}
	}
	return t.Cols() == t.stride
}

// numbers is the whole table in row-major order, and no copy if that is how its columns are stored.
func (t *Table) numbers() ([]float64, error) {
	if t.inPlace() && t.float32s == nil {
		return t.flat, nil
	}
	x, err := t.store.numbers(t.rows * t.Cols())
	if err != nil {
		return nil, err
	}
	return t.gather(x, t.columns, nil), nil
}

// refuseNumber is the error about number i of the table in row-major order.
func (t *Table) refuseNumber(i int, v float64) error {
	row, name := t.Origin(i/t.Cols())+1, t.Names[i%t.Cols()]
	if math.IsInf(v, 0) {
		return fmt.Errorf("row %d of column %q is infinite; correct it, or leave the row out", row, name)
	}
	return fmt.Errorf("row %d of column %q %w", row, name, ErrMissing)
}

// ErrMissing is part of the error about a missing value where none is allowed: see
// [Table.DropMissing].
var ErrMissing = errors.New("is missing; fill it in, or leave the row out")

// ErrHeader is part of the error about a categorical column that would be numeric without the first row of
// a CSV file: see [CSVOptions].Header.
var ErrHeader = errors.New("the first row looks like a header: read it with a header")

// ErrNoHeader is part of the error about a CSV file that has a header and nothing below it: see
// [CSVOptions].Header.
var ErrNoHeader = errors.New("if the first line is data, say that there is no header")

// ErrWhichHeader is part of the error about a CSV file whose first row is years alone, which may be data or names: see
// [CSVOptions].Header.
var ErrWhichHeader = errors.New("say whether there is a header")

// HeaderOfYears reports whether some names in the header of a CSV file are years, so that the header could be data.
func (t *Table) HeaderOfYears() bool { return t.years }

// underHeader says whether the only text of categorical column j is in the file's first row.
func (t *Table) underHeader(j int) bool {
	f := t.columns[j].factor
	return t.unnamed && len(f.codes) > 1 && f.isText(f.codes[0]) && !slices.ContainsFunc(f.codes[1:], f.isText)
}

// misread says what a reader who took categorical column j for numbers may have overlooked; nil if nothing.
func (t *Table) misread(j int) error {
	switch {
	case t.underHeader(j):
		return ErrHeader
	}
	return t.columns[j].factor.misspelt()
}

// ErrText is part of the error about a categorical column among numeric ones, where all must be numeric.
var ErrText = errors.New("drop it")

func (t *Table) refuseText(j int) error {
	if err := t.misread(j); err != nil {
		return fmt.Errorf("%s; %w", t.describeText(j), err)
	}
	hint := ErrText
	if !slices.ContainsFunc(t.columns, func(c column) bool { return c.factor == nil }) {
		hint = errors.New("and the table has no numeric column")
	}
	return fmt.Errorf("%s; %w", t.describeText(j), hint)
}

// describeText says that column j is categorical, and because of which cell: the first that is no number however
// written, or else the first that is not digits alone.
func (t *Table) describeText(j int) string {
	f := t.columns[j].factor
	row := slices.IndexFunc(f.codes, func(code int32) bool { return f.isText(code) && !f.isNumeral(f.levels[code]) })
	if row < 0 {
		row = slices.IndexFunc(f.codes, f.isText)
	}
	if row < 0 { // its texts were in rows that are gone, or it was made categorical
		return fmt.Sprintf("column %q is categorical", t.Names[j])
	}
	return fmt.Sprintf("column %q is categorical: row %d is %.60q", t.Names[j], t.Origin(row)+1, f.levels[f.codes[row]])
}
