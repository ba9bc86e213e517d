package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/internal/fastcsv"
)

// factor holds a categorical column. It has no level that a cell could not have, and one at least unless
// the column was to be read as text and has no value.
type factor struct {
	levels []string // in order of first appearance, or as given to Factor
	codes  []int32  // one a row, an index of levels or missingCode

	decimal byte // what decimals follow in the levels: a comma, or else a point
}

const missingCode = fastcsv.MissingCode

// Factor returns the table with one column, numeric or categorical, converted to a categorical column
// with exactly these levels in this order, such as those that a saved model knows. If levels is nil, it uses the
// column's own levels, sorted so that the codes do not depend on the order of the rows: first numbers, by value, then
// texts, by their bytes. A categorical column keeps levels that no row has any more. Missing cells stay missing.
//
// The cells of a numeric column become the shortest texts that read back as the same numbers (those of
// [strconv.FormatFloat] with format 'g'): 4, 0.5, 1e+06. A cell gets the level with the same text, otherwise the only
// level with the same number. Numbers are compared because a column's other cells decide whether 1, 1.0 or 01 is read
// as a number or as a text, and new rows have other cells. Whole numbers from 2⁵³ on must match as texts, because
// different ones can be the same float64.
//
// If a cell has none of the levels, Factor returns an error that names the row, from 1, the column, the text and the
// levels; with unseenMissing the cell becomes missing instead. It also returns an error if there is no such column,
// if there are no levels (levels is empty, or the column has no value), or if a level is given twice or stands for a
// missing value.
//
// Factor copies the given levels. The new table shares the storage of all other columns with t, which does not
// change.
func (t *Table) Factor(name string, levels []string, unseenMissing bool) (*Table, error) {
	return t.Factors([]string{name}, [][]string{levels}, unseenMissing)
}

// Factors is [Table.Factor] for several different columns at once: levels[i] are the levels of names[i]. Calling
// Factor for each column copies the list of all columns each time, which is slow for wide tables.
func (t *Table) Factors(names []string, levels [][]string, unseenMissing bool) (*Table, error) {
	places, err := t.places(names)
	if err != nil {
		return nil, err
	}
	made := *t
	made.Names, made.columns, made.index = slices.Clone(t.Names), slices.Clone(t.columns), new(index)
	codes, err := t.store.codes(len(places), t.rows)
	if err != nil {
		return nil, err
	}
	for i, j := range places {
		f, err := t.recoded(j, levels[i], unseenMissing, codes[i])
		if err != nil {
			return nil, err
		}
		made.columns[j] = column{factor: f, marked: t.columns[j].marked}
	}
	return &made, nil
}

// Numbers returns the table with several different columns as numeric ones: texts[i] are the levels, or the numbers, of
// names[i] that stand for missing values. It returns an error if there is no such column, or if another of its levels
// is not a number.
func (t *Table) Numbers(names []string, texts [][]string) (*Table, error) {
	places, err := t.places(names)
	if err != nil {
		return nil, err
	}
	columns := make([][]float64, len(places))
	for i, j := range places {
		f := t.columns[j].factor
		if f == nil {
			columns[i] = t.column(j)
			markMissing(columns[i], texts[i])
			continue
		}
		values := make([]float64, len(f.levels))
		for code, level := range f.levels {
			var kind fastcsv.Kind
			values[code], kind = fastcsv.ParseDecimal(level, f.decimal)
			if kind != fastcsv.Number {
				values[code] = math.NaN()
			}
			if kind != fastcsv.Number && !slices.Contains(texts[i], level) && slices.Contains(f.codes, int32(code)) {
				return nil, fmt.Errorf("%s; a numeric column is needed here", t.describeText(j))
			}
		}
		columns[i] = make([]float64, t.rows)
		for row, code := range f.codes {
			columns[i][row] = math.NaN()
			if code != missingCode {
				columns[i][row] = values[code]
			}
		}
	}
	return t.withNumbers(places, columns)
}

// markMissing puts NaN in place of numbers that are among the texts.
func markMissing(x []float64, texts []string) {
	marks := map[float64]bool{}
	for _, text := range texts {
		if v, kind := fastcsv.ParseCell(text); kind == fastcsv.Number {
			marks[v] = true
		}
	}
	for i, v := range x {
		if marks[v] {
			x[i] = math.NaN()
		}
	}
}

// withNumbers is the table with numbers in place of some columns.
func (t *Table) withNumbers(places []int, columns [][]float64) (made *Table, err error) {
	made = new(Table)
	*made = *t
	made.Names, made.columns, made.index = slices.Clone(t.Names), slices.Clone(t.columns), new(index)
	for i, j := range places {
		made.columns[j] = column{at: t.stride + i, marked: t.columns[j].marked}
	}
	made.stride += len(places)
	if made.flat, err = t.store.numbers(t.rows * made.stride); err != nil {
		return nil, err
	}
	made.float32s = nil
	for row := range t.rows {
		for at := range t.stride {
			made.flat = append(made.flat, t.number(row, column{at: at}))
		}
		for _, list := range columns {
			made.flat = append(made.flat, list[row])
		}
	}
	return made, nil
}

// recoded is column j with these levels, whose codes it puts into a list.
func (t *Table) recoded(j int, levels []string, unseenMissing bool, codes []int32) (*factor, error) {
	name := t.Names[j]
	own, err := t.ownFactor(j, levels == nil)
	if err != nil {
		return nil, err
	}
	if levels == nil {
		levels = own.sorted(own.levels)
	} else if err := checkLevels(levels); err != nil {
		return nil, fmt.Errorf("column %q: %w", name, err)
	}

	recoded := own.recode(levels, codes)
	if !unseenMissing {
		for row, code := range own.codes {
			if code != missingCode && recoded.codes[row] == missingCode {
				return nil,
					fmt.Errorf("row %d of column %q is %.60q, which is none of the levels %s; give it one of them, or leave it empty",
						t.Origin(row)+1, name, own.levels[code], quotedFirst(levels, mostLevels))
			}
		}
	}
	return recoded, nil
}

// mostLevels is how many levels an error lists.
const mostLevels = 12

// ownFactor is column j with its own levels, one at least if they are needed.
func (t *Table) ownFactor(j int, needed bool) (*factor, error) {
	own := t.columns[j].factor
	if own == nil {
		own = numberFactor(t.column(j))
	}
	if needed && len(own.levels) == 0 {
		return nil, fmt.Errorf("column %q has no value to take levels from; drop it", t.Names[j])
	}
	return own, nil
}

// Occurring lists the levels that occur in a column, numeric or categorical, in the order of [Table.Factor]. Unlike
// Factor it omits levels that no row has. It returns an error if there is no such column, or if it has no value and
// no level.
func (t *Table) Occurring(name string) ([]string, error) {
	j := t.place(name)
	if j < 0 {
		return nil, t.unknown(name)
	}
	own, err := t.ownFactor(j, true)
	if err != nil {
		return nil, err
	}
	used := make([]bool, len(own.levels))
	for _, code := range own.codes {
		if code != missingCode {
			used[code] = true
		}
	}
	var list []string
	for i, level := range own.levels {
		if used[i] {
			list = append(list, level)
		}
	}
	return own.sorted(list), nil
}

// numberFactor makes the texts of numbers levels, in order of first appearance. Equal numbers are one
// level, 0 and −0 too.
func numberFactor(x []float64) *factor {
	f := &factor{codes: make([]int32, len(x))}
	index := make(map[float64]int32)
	for row, v := range x {
		if math.IsNaN(v) {
			f.codes[row] = missingCode
			continue
		}
		code, ok := index[v]
		if !ok {
			code = int32(len(f.levels))
			index[v] = code
			if v == 0 {
				v = 0 // not −0
			}
			f.levels = append(f.levels, strconv.FormatFloat(v, 'g', -1, 64))
		}
		f.codes[row] = code
	}
	return f
}

// checkLevels refuses levels that would leave a column without meaning.
func checkLevels(levels []string) error {
	if len(levels) == 0 {
		return fmt.Errorf("no levels are given; a categorical column needs at least one")
	}
	seen := make(map[string]bool, len(levels))
	for _, level := range levels {
		if fastcsv.IsMissing(strings.TrimSpace(level)) {
			return fmt.Errorf("the level %.60q means a missing value; leave it out", level)
		}
		if seen[level] {
			return fmt.Errorf("the level %.60q is given twice; give each level once", level)
		}
		seen[level] = true
	}
	return nil
}

// with has the same levels in other cells.
func (f *factor) with(codes []int32) *factor {
	return &factor{levels: f.levels, codes: codes, decimal: f.decimal}
}

// recode gives the same cells other levels, and puts their codes into a list; those that have none of the levels are
// missing.
func (f *factor) recode(levels []string, codes []int32) *factor {
	coder := NewCoder(levels)
	to := make([]int32, len(f.levels))
	for i, level := range f.levels {
		to[i] = coder.code(level, f.decimal)
	}
	for row, code := range f.codes {
		if code != missingCode {
			code = to[code]
		}
		codes[row] = code
	}
	return &factor{levels: slices.Clone(levels), codes: codes}
}

// A Coder finds the codes of a column's levels as [Table.Factor] does. It is safe for concurrent use.
type Coder struct {
	byText   map[string]int32
	byNumber map[float64]int32 // missingCode where several levels are one number
}

// NewCoder returns a Coder for these levels, whose codes are 0, 1, ….
func NewCoder(levels []string) *Coder {
	c := &Coder{make(map[string]int32, len(levels)), make(map[float64]int32)}
	for i, level := range levels {
		c.byText[level] = int32(i)
		if v, kind := fastcsv.ParseCell(level); kind == fastcsv.Number && !longDigits(level, v) {
			if _, several := c.byNumber[v]; several {
				c.byNumber[v] = missingCode
			} else {
				c.byNumber[v] = int32(i)
			}
		}
	}
	return c
}

// Code returns the code of the level with the text of the cell, otherwise that of the only level with the same
// number, and a negative number if there is none. The cell has decimal commas if decimal is a comma.
func (c *Coder) Code(cell string, decimal byte) int { return int(c.code(cell, decimal)) }

func (c *Coder) code(cell string, decimal byte) int32 {
	code, ok := c.byText[cell]
	if ok {
		return code
	}
	if v, kind := fastcsv.ParseDecimal(cell, decimal); kind == fastcsv.Number && !longDigits(cell, v) {
		if code, ok = c.byNumber[v]; ok {
			return code
		}
	}
	return missingCode
}

// longDigits says whether other digits may be the same number.
func longDigits(level string, v float64) bool {
	return v >= 1<<53 && fastcsv.IsDigits(strings.TrimSpace(level))
}

// sorted are levels in order: numbers by value, before texts by their bytes. Different levels are never equal.
func (f *factor) sorted(levels []string) []string {
	type read struct {
		text  string
		value float64 // +Inf of texts
		kind  fastcsv.Kind
	}
	list := make([]read, len(levels))
	for i, level := range levels {
		list[i] = read{level, math.Inf(1), fastcsv.Text}
		if v, kind := fastcsv.ParseDecimal(level, f.decimal); kind == fastcsv.Number {
			list[i].value, list[i].kind = v, kind
		}
	}
	slices.SortFunc(list, func(a, b read) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.kind, b.kind), cmp.Compare(a.text, b.text))
	})
	inOrder := make([]string, len(list))
	for i, one := range list {
		inOrder[i] = one.text
	}
	return inOrder
}

// isText says whether a cell of that code is what made its column categorical.
func (f *factor) isText(code int32) bool {
	if code == missingCode {
		return false
	}
	_, kind := fastcsv.ParseDecimal(f.levels[code], f.decimal)
	return kind == fastcsv.Text
}
