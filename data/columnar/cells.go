package columnar

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/exp/constraints"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/fastcsv"
)

// kind says whether values of a type are categories; ok is false where they are neither these nor numbers.
func kind(t arrow.DataType) (categorical, ok bool) {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return kind(t.ValueType)
	default:
		switch id := t.ID(); {
		case arrow.IsInteger(id), arrow.IsFloating(id), arrow.IsDecimal(id), id == arrow.BOOL, id == arrow.NULL:
			return false, true
		case arrow.IsBaseBinary(id) && id != arrow.BINARY && id != arrow.LARGE_BINARY, id == arrow.STRING_VIEW,
			id == arrow.DATE32, id == arrow.DATE64, id == arrow.TIMESTAMP:
			return true, true
		}
		return false, false
	}
}

// A table is one that is being read.
type table struct {
	*data.Builder
	rows    int
	columns []field
	missing []string
	numbers []float64          // those of missing
	codes   []map[string]int32 // of the levels of a categorical column
}

func newTable(columns []field, rows int, o Options) (*table, error) {
	names, categorical := make([]string, len(columns)), make([]bool, len(columns))
	t := &table{rows: rows, columns: columns, codes: make([]map[string]int32, len(columns))}
	for j, f := range columns {
		names[j], categorical[j] = f.name, f.categorical
		if f.categorical {
			t.codes[j] = map[string]int32{}
		}
	}
	for _, text := range o.NA {
		text = strings.TrimSpace(text)
		t.missing = append(t.missing, text)
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			t.numbers = append(t.numbers, v)
		}
	}
	var err error
	t.Builder, err = data.NewBuilder(names, categorical, rows, o.Store)
	return t, err
}

// add reads the columns of a file into the rows from one on.
func (t *table) add(f source, columns []field, from int) (err error) {
	defer func() {
		if e := damage(recover()); e != nil {
			err = e
		}
	}()
	return f.Fill(t, columns, from)
}

// put fills column j from a row on.
func (t *table) put(j, from int, values arrow.Array) error {
	if !t.columns[j].categorical {
		return t.putNumbers(j, from, values)
	}
	codes := t.Codes(j)[from:]
	if d, ok := values.(*array.Dictionary); ok {
		levels := make([]int32, d.Dictionary().Len())
		for i := range levels {
			levels[i] = t.code(j, textAt(d.Dictionary(), i))
		}
		for i := range d.Len() {
			if d.IsValid(i) {
				codes[i] = levels[d.GetValueIndex(i)]
			}
		}
		return nil
	}
	for i := range values.Len() {
		codes[i] = t.code(j, textAt(values, i))
	}
	return nil
}

// code is that of a text in column j.
func (t *table) code(j int, text string) int32 {
	code, known := t.codes[j][text]
	if known {
		return code
	}
	if trimmed := strings.TrimSpace(text); trimmed == "" || fastcsv.IsMissing(trimmed) || slices.Contains(t.missing, trimmed) {
		code = fastcsv.MissingCode
	} else {
		code = t.Level(j, strings.Clone(text))
	}
	t.codes[j][strings.Clone(text)] = code
	return code
}

// textAt is the text of a category; empty where it is null.
func textAt(values arrow.Array, i int) string {
	if values.IsNull(i) {
		return ""
	}
	switch a := values.(type) {
	case interface{ Value(int) string }:
		return a.Value(i)
	case *array.Date32:
		return a.Value(i).ToTime().Format(time.DateOnly)
	case *array.Date64:
		return a.Value(i).ToTime().Format(time.DateOnly)
	}
	return values.ValueStr(i)
}

// putNumbers fills a numeric column.
func (t *table) putNumbers(j, from int, values arrow.Array) error {
	dst, stride := t.Numbers(j)
	dst = dst[from*stride:]
	switch a := values.(type) {
	case *array.Float64:
		widen(dst, stride, a)
	case *array.Float32:
		widen(dst, stride, a)
	case *array.Int64:
		widen(dst, stride, a)
	case *array.Int32:
		widen(dst, stride, a)
	case *array.Int16:
		widen(dst, stride, a)
	case *array.Int8:
		widen(dst, stride, a)
	case *array.Uint64:
		widen(dst, stride, a)
	case *array.Uint32:
		widen(dst, stride, a)
	case *array.Uint16:
		widen(dst, stride, a)
	case *array.Uint8:
		widen(dst, stride, a)
	default:
		for i := range values.Len() {
			v, err := numberAt(values, i)
			if err != nil {
				return err
			}
			dst[i*stride] = v
		}
	}
	t.mark(dst, stride, values.Len())
	return nil
}

// mark makes those of n numbers missing that stand for it.
func (t *table) mark(dst []float64, stride, n int) {
	if len(t.numbers) == 0 {
		return
	}
	for i := range n {
		if slices.Contains(t.numbers, dst[i*stride]) {
			dst[i*stride] = math.NaN()
		}
	}
}

// widen puts numbers of an array stride apart.
func widen[T constraints.Integer | constraints.Float](dst []float64, stride int, a interface {
	arrow.Array
	Value(i int) T
}) {
	whole := a.NullN() == 0
	for i := range a.Len() {
		if whole || a.IsValid(i) {
			dst[i*stride] = float64(a.Value(i))
		} else {
			dst[i*stride] = math.NaN()
		}
	}
}

// numberAt is a number of one of the rarer types.
func numberAt(values arrow.Array, i int) (float64, error) {
	if values.IsNull(i) {
		return math.NaN(), nil
	}
	switch a := values.(type) {
	case *array.Boolean:
		if a.Value(i) {
			return 1, nil
		}
		return 0, nil
	case *array.Float16:
		return float64(a.Value(i).Float32()), nil
	case *array.Dictionary:
		return numberAt(a.Dictionary(), a.GetValueIndex(i))
	case *array.Float64:
		return a.Value(i), nil
	}
	return strconv.ParseFloat(values.ValueStr(i), 64) // decimals, and dictionaries of other numbers
}
