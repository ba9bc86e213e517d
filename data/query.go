package data

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/latent-go/latent/internal/fastcsv"
)

// RowsOptions say how the result of a query is read, and where it is kept.
type RowsOptions struct {
	NA    []string               // further texts and numbers that stand for missing values
	Text  func(name string) bool // whether to read a column as texts even if it has numbers; nil: no column
	Store *Store                 // holds the numbers; nil: in memory
}

// FromRows reads the result of a query to its end, once, and closes it. Integers, floats, truth values (0 and 1) and
// decimals are numbers; NULL is a missing value. Texts are categories, and so are dates and times, as texts of ISO
// 8601; texts that would be missing in a CSV file (empty, NA, NaN) are missing. A column without a value is one of
// numbers. It returns an error for a column that has both numbers and texts, or values that are neither, and for a
// result without rows. The error of a query that fails in its middle says how many rows had been read.
func FromRows(rows *sql.Rows, o RowsOptions) (_ *Table, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	q := &query{o: o, columns: make([]queryColumn, len(types))}
	names, cells := make([]string, len(types)), make([]any, len(types))
	for j, t := range types {
		c := &q.columns[j]
		names[j], cells[j] = t.Name(), &c.value
		c.name, c.asText = t.Name(), o.Text != nil && o.Text(t.Name())
		c.decimal = slices.Contains(numericTypes, strings.ToUpper(t.DatabaseTypeName()))
	}
	if len(names) == 0 {
		return nil, errors.New("the query has no columns")
	}
	if _, _, err := columnNames(names, true); err != nil {
		return nil, err
	}
	for i, text := range slices.Backward(o.NA) {
		if v, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
			q.marks = append(q.marks, mark{v, i})
		}
	}
	for rows.Next() {
		err := rows.Scan(cells...)
		if err == nil {
			err = q.add()
		}
		if err != nil {
			return nil, fmt.Errorf("row %d of the query: %w", q.rows+1, err)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("the query failed after %d rows: %w", q.rows, err)
	}
	if q.rows == 0 {
		return nil, errors.New("the query has no rows")
	}
	return q.table(names)
}

// numericTypes are those of databases whose drivers return some numbers as texts.
var numericTypes = strings.Fields(
	"DECIMAL NUMERIC NUMBER TINYINT SMALLINT MEDIUMINT INT INTEGER BIGINT FLOAT DOUBLE REAL",
)

// A query is one whose result is being read.
type query struct {
	o       RowsOptions
	columns []queryColumn
	marks   []mark
	flat    []float64 // rows × columns: numbers, and codes of texts
	rows    int
}

// A mark is a number that stands for a missing value, and its place in RowsOptions.NA.
type mark struct {
	value float64
	at    int
}

type queryColumn struct {
	name            string
	value           any
	asText, decimal bool
	kind            queryKind
	cells           fastcsv.Column // of texts, and what was marked missing
}

// A queryKind is that of a column so far.
type queryKind int

const (
	ofNothing queryKind = iota
	ofNumbers
	ofTexts
)

func (k queryKind) String() string { return [...]string{"nothing", "numbers", "texts"}[k] }

// add adds the row that was scanned.
func (q *query) add() error {
	if n := len(q.flat) + len(q.columns); n > cap(q.flat) {
		var err error
		if q.flat, err = q.o.Store.resized(q.flat, max(2*cap(q.flat), n, 1<<12)); err != nil {
			return err
		}
	}
	for j := range q.columns {
		v, err := q.cell(&q.columns[j])
		if err != nil {
			return fmt.Errorf("column %q %w", q.columns[j].name, err)
		}
		q.flat = append(q.flat, v)
	}
	q.rows++
	return nil
}

// cell is a number, or the code of a text; NaN where it is missing.
func (q *query) cell(c *queryColumn) (float64, error) {
	if c.value == nil {
		return math.NaN(), nil
	}
	v, text, isText, err := valueOf(c.value)
	switch {
	case err != nil:
		return 0, err
	case isText && c.decimal && !c.asText:
		if v, err = strconv.ParseFloat(text, 64); err != nil {
			return 0, fmt.Errorf("is %.60q, which is not a number", text)
		}
		isText = false
	case !isText && c.asText:
		text, isText = digitsOf(c.value, v), true
	}
	kind := ofNumbers
	if isText {
		kind = ofTexts
	}
	if c.kind != ofNothing && c.kind != kind {
		return 0, fmt.Errorf("has %v, and %v before: CAST it in the query", kind, c.kind)
	}
	c.kind = kind
	if !isText {
		for _, m := range q.marks {
			if v == m.value {
				c.cells.CountMissing(m.at, len(q.o.NA))
				return math.NaN(), nil
			}
		}
		return v, nil
	}
	if c.cells.Codes = c.cells.Codes[:0]; !c.cells.AddText(text, q.o.NA) {
		return 0, fmt.Errorf("is %.60q, which is not UTF-8", text)
	}
	if code := c.cells.Codes[0]; code != missingCode {
		return float64(code), nil
	}
	return math.NaN(), nil
}

// digitsOf is the text of a number; a whole one has all its digits.
func digitsOf(value any, number float64) string {
	if v, whole := value.(int64); whole {
		return strconv.FormatInt(v, 10)
	}
	if number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return strconv.FormatFloat(number, 'g', -1, 64)
}

// valueOf is a value as drivers return it, a number or a text.
func valueOf(value any) (number float64, text string, isText bool, err error) {
	switch v := value.(type) {
	case int64:
		return float64(v), "", false, nil
	case float64:
		return v, "", false, nil
	case bool:
		if v {
			return 1, "", false, nil
		}
		return 0, "", false, nil
	case string:
		return 0, v, true, nil
	case []byte:
		return 0, string(v), true, nil
	case time.Time:
		if h, m, s := v.Clock(); h == 0 && m == 0 && s == 0 && v.Nanosecond() == 0 {
			return 0, v.Format(time.DateOnly), true, nil
		}
		return 0, v.Format("2006-01-02T15:04:05.999999999"), true, nil
	}
	return 0, "", false, fmt.Errorf("has values of type %T, which are neither numbers nor texts: CAST it in the query",
		value)
}

// table is what was read.
func (q *query) table(names []string) (*Table, error) {
	t := &Table{Names: names, rows: q.rows, columns: make([]column, len(names)), store: q.o.Store, index: new(index)}
	var numeric, texts []int
	for j, c := range q.columns {
		t.columns[j].marked = c.cells.MarkedMissing
		if c.kind == ofTexts {
			texts = append(texts, j)
			continue
		}
		t.columns[j].at = len(numeric)
		numeric = append(numeric, j)
	}
	t.stride = len(numeric)
	codes, err := q.o.Store.codes(len(texts), q.rows)
	if err != nil {
		return nil, err
	}
	for i, j := range texts {
		t.columns[j].factor = &factor{levels: q.columns[j].cells.Levels, codes: codes[i]}
	}
	d := len(names)
	for row := range q.rows { // numbers move to the front, where codes were
		cells := q.flat[row*d : (row+1)*d]
		for i, j := range texts {
			codes[i][row] = missingCode
			if v := cells[j]; v == v {
				codes[i][row] = int32(v)
			}
		}
		for i, j := range numeric {
			q.flat[row*t.stride+i] = cells[j]
		}
	}
	t.flat = q.flat[:q.rows*t.stride]
	return t, nil
}
