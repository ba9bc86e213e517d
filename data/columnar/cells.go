package columnar

import (
	"fmt"
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

// mostDigits are those of Arrow's largest decimals.
const mostDigits = 76

// kind says whether values of a type are categories; ok is false where they are neither these nor numbers.
func kind(t arrow.DataType) (categorical, ok bool) {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return kind(t.ValueType)
	case arrow.DecimalType: // of as many digits as a file claims
		return false, max(t.GetPrecision(), t.GetScale(), -t.GetScale()) <= mostDigits
	default:
		switch id := t.ID(); {
		case arrow.IsInteger(id), arrow.IsFloating(id), id == arrow.BOOL, id == arrow.NULL:
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
	columns []field
	cells   []fastcsv.Column // what categorical columns hold so far; of numeric ones, what was marked missing
	missing []string
	numbers map[float64]int // those of missing, and their places there
}

func newTable(columns []field, rows int, o Options) (*table, error) {
	names, categorical := make([]string, len(columns)), make([]bool, len(columns))
	t := &table{columns: columns, cells: make([]fastcsv.Column, len(columns)), missing: o.NA, numbers: map[float64]int{}}
	for j, f := range columns {
		names[j], categorical[j] = f.name, f.categorical
	}
	for i, text := range slices.Backward(o.NA) {
		if v, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
			t.numbers[v] = i
		}
	}
	builder := data.NewBuilder
	if o.Float32 {
		builder = data.NewFloat32Builder
	}
	var err error
	if t.Builder, err = builder(names, categorical, rows, o.Store); err != nil {
		return nil, err
	}
	for j := range columns {
		t.cells[j].Codes = t.Codes(j)[:0]
	}
	return t, nil
}

// done is the table, which is whole and follows so many rows of others.
func (t *table) done(first int) *data.Table {
	for j, c := range t.cells {
		t.Finish(j, c.Levels, c.MarkedMissing)
	}
	return t.Table(first)
}

// put fills column j from a row on.
func (t *table) put(j, from int, values arrow.Array) error {
	if !t.columns[j].categorical {
		return t.putNumbers(j, from, values)
	}
	for i := range values.Len() {
		if err := t.addText(j, textAt(values, i)); err != nil {
			return err
		}
	}
	return nil
}

// addText adds the next cell of a categorical column; an empty one is missing.
func (t *table) addText(j int, text string) error {
	if t.cells[j].AddText(text, t.missing) {
		return nil
	}
	return fmt.Errorf("row %d is %.60q, which is not UTF-8", len(t.cells[j].Codes)+1, text)
}

// isNull reports whether a cell is null, as all of the null type are, which has no bitmap that says so.
func isNull(values arrow.Array, i int) bool {
	return values.DataType().ID() == arrow.NULL || values.IsNull(i)
}

// textAt is the text of a category; empty where it is null.
func textAt(values arrow.Array, i int) string {
	if isNull(values, i) {
		return ""
	}
	switch a := values.(type) {
	case *array.Dictionary:
		return textAt(a.Dictionary(), a.GetValueIndex(i))
	case interface{ Value(int) string }:
		return a.Value(i)
	case *array.Boolean:
		if a.Value(i) {
			return "1"
		}
		return "0"
	case *array.Date32:
		return a.Value(i).ToTime().Format(time.DateOnly)
	case *array.Date64:
		return a.Value(i).ToTime().Format(time.DateOnly)
	}
	return values.ValueStr(i)
}

// putNumbers fills a numeric column.
func (t *table) putNumbers(j, from int, values arrow.Array) error {
	if dst, stride := t.Float32s(j); dst != nil {
		dst = dst[from*stride:]
		convert(dst, stride, values.(*array.Float32))
		mark(t, j, dst, stride, values.Len())
		return nil
	}
	dst, stride := t.Numbers(j)
	dst = dst[from*stride:]
	switch a := values.(type) {
	case *array.Float64:
		convert(dst, stride, a)
	case *array.Float32:
		convert(dst, stride, a)
	case *array.Int64:
		convert(dst, stride, a)
	case *array.Int32:
		convert(dst, stride, a)
	case *array.Int16:
		convert(dst, stride, a)
	case *array.Int8:
		convert(dst, stride, a)
	case *array.Uint64:
		convert(dst, stride, a)
	case *array.Uint32:
		convert(dst, stride, a)
	case *array.Uint16:
		convert(dst, stride, a)
	case *array.Uint8:
		convert(dst, stride, a)
	default:
		for i := range values.Len() {
			v, err := numberAt(values, i)
			if err != nil {
				return err
			}
			dst[i*stride] = v
		}
	}
	mark(t, j, dst, stride, values.Len())
	return nil
}

// mark makes those of n numbers of a column missing that stand for it.
func mark[F constraints.Float](t *table, j int, dst []F, stride, n int) {
	if len(t.numbers) == 0 {
		return
	}
	for i := range n {
		if at, marks := t.numbers[float64(dst[i*stride])]; marks {
			dst[i*stride] = F(math.NaN())
			t.cells[j].CountMissing(at, len(t.missing))
		}
	}
}

// convert puts numbers of an array stride apart.
func convert[F constraints.Float, T constraints.Integer | constraints.Float](dst []F, stride int, a interface {
	arrow.Array
	Value(i int) T
}) {
	whole := a.NullN() == 0
	for i := range a.Len() {
		if whole || a.IsValid(i) {
			dst[i*stride] = F(a.Value(i))
		} else {
			dst[i*stride] = F(math.NaN())
		}
	}
}

// numberAt is a number of one of the rarer types.
func numberAt(values arrow.Array, i int) (float64, error) {
	if isNull(values, i) {
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
