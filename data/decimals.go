package data

import (
	"bytes"
	"encoding/csv"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/latent-go/latent/internal/fastcsv"
)

// decimalOf guesses what decimals follow, from the first lines of a text. It is a comma if a column has more numbers
// with one than texts, and no cell has a point in its number. Commas with three digits behind them may be thousands
// separators, and show nothing.
func decimalOf(head []byte, whole bool, comma rune, na []string) byte {
	if !whole {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	rows := csv.NewReader(bytes.NewReader(head))
	rows.Comma, rows.ReuseRecord, rows.FieldsPerRecord = comma, true, -1
	var commas, texts []int // cells, by column
	for first := true; ; first = false {
		record, err := rows.Read()
		if err != nil { // the end, or what the reader of rows will report
			break
		}
		for j, cell := range record {
			cell = strings.TrimSpace(cell)
			if j == len(commas) {
				commas, texts = append(commas, 0), append(texts, 0)
			}
			_, kind := fastcsv.ParseCell(cell)
			_, otherwise := fastcsv.ParseDecimal(cell, ',')
			switch {
			case kind == fastcsv.Number && strings.Contains(cell, "."):
				return '.'
			case kind != fastcsv.Text || slices.Contains(na, cell):
			case otherwise != fastcsv.Number:
				if !first { // else a name
					texts[j]++
				}
			case !grouped.MatchString(cell):
				commas[j]++
			}
		}
	}
	for j, n := range commas {
		if n > texts[j] {
			return ','
		}
	}
	return '.'
}

// grouped are numbers with separators of thousands.
var grouped = regexp.MustCompile(`^[+-]?[0-9]{1,3}([ .,'’\x{a0}\x{202f}][0-9]{3})+([.,][0-9]+)?$`)

// DecimalComma says whether the table is of a CSV file whose decimals follow a comma.
func (t *Table) DecimalComma() bool { return t.decimal == ',' }

// ErrDecimalComma is part of the error about a categorical column that would be numeric if decimals followed a comma,
// and ErrDecimalPoint of one that would if they followed a point: see [CSVOptions].Decimal.
var (
	ErrDecimalComma = errors.New("decimals have a point here, as 1.5, and not a comma: read the table with decimal commas")
	ErrDecimalPoint = errors.New("decimals have a comma here, as 1,5, and not a point: read the table with decimal " +
		"points, or write one of the two throughout")
)

// ErrGrouped is part of the error about a categorical column that would be numeric if thousands were not separated.
var ErrGrouped = errors.New("separators of thousands are not read, as a point or a comma may be the beginning of " +
	"decimals: write the digits without them")

// misspelt says why cells that are meant as numbers are texts; nil if they are none.
func (f *factor) misspelt() error {
	all := func(is func(level string) bool) bool {
		texts := 0
		for code, level := range f.levels {
			if f.isText(int32(code)) {
				if texts++; !is(strings.TrimSpace(level)) {
					return false
				}
			}
		}
		return texts > 0
	}
	number := func(decimal byte) func(string) bool {
		return func(level string) bool {
			_, kind := fastcsv.ParseDecimal(level, decimal)
			return kind == fastcsv.Number
		}
	}
	switch {
	case all(grouped.MatchString):
		return ErrGrouped
	case f.decimal == ',' && all(number('.')):
		return ErrDecimalPoint
	case all(number(',')):
		return ErrDecimalComma
	case all(func(level string) bool { return grouped.MatchString(level) || number('.')(level) || number(',')(level) }):
		return ErrGrouped
	}
	return nil
}
