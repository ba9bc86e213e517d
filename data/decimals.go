package data

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/latent-go/latent/internal/fastcsv"
)

// A columnHead is what the first cells of a column show of what decimals follow, by a point (0) and by a comma (1).
type columnHead struct {
	texts     int
	decimals  [2]int // numbers that have them, and no other reading
	grouped   [2]int // numbers of which three digits at least are behind every one, as where they separate thousands
	thousands [2]tally
}

// long says whether a whole number without separators has more than three digits.
func (c *columnHead) long() bool { return c.thousands[0].long || c.thousands[1].long }

// decimalOf guesses what decimals follow, from the first lines of a text, unless it is given. It is a comma if a column
// has more numbers with one than texts, and no cell has a point in its number. A point or comma with three digits
// behind it may be a separator of thousands, and shows something only where other cells of the column speak for it;
// seen says whether any shows it. Columns that might be either are unsure.
func decimalOf(head []byte, whole bool, comma rune, na []string, given byte) (decimal byte, seen bool, unsure []int) {
	if !whole {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	rows := csv.NewReader(bytes.NewReader(head))
	rows.Comma, rows.ReuseRecord, rows.FieldsPerRecord = comma, true, -1
	var columns []columnHead
	for first := true; ; first = false {
		record, err := rows.Read()
		if err != nil { // the end, or what the reader of rows will report
			break
		}
		for j, cell := range record {
			if j == len(columns) {
				columns = append(columns, columnHead{})
			}
			if cell = strings.TrimSpace(cell); fastcsv.IsMissing(cell) || slices.Contains(na, cell) {
				continue
			}
			if columns[j].look(cell, first); columns[j].decimals[0] > 0 && given == 0 {
				return '.', true, nil
			}
		}
	}
	// What decides: decimals, then separators of thousands, which decimals do not have.
	for _, shows := range []func(c *columnHead, mark int) int{
		func(c *columnHead, mark int) int { return c.decimals[mark] },
		func(c *columnHead, mark int) int {
			if n := c.grouped[1-mark]; c.thousands[1-mark].thousands() && !c.long() {
				return n
			}
			return 0
		},
	} {
		for j := range columns {
			for mark, decimal := range []byte{'.', ','} {
				if given == 0 && shows(&columns[j], mark) > columns[j].texts {
					return decimal, true, nil
				}
			}
		}
	}
	mark := strings.IndexByte(".,", cmp.Or(given, '.'))
	for j, c := range columns {
		if c.grouped[mark] > c.texts && !c.long() && c.decimals[mark] == 0 {
			unsure = append(unsure, j)
		}
	}
	return cmp.Or(given, '.'), given != 0, unsure
}

// look counts a cell, of the first row where that may be a header.
func (c *columnHead) look(cell string, first bool) {
	_, kind := fastcsv.ParseCell(cell)
	readings, decimals := 0, -1
	for mark, decimal := range []byte{'.', ','} {
		w, is := parseNumeral(cell, decimal)
		if !is || w.hex || w.parts > 0 {
			continue
		}
		if readings++; !w.whole {
			decimals = mark
		}
		if w.groups > 0 && (w.thousands == "." || w.thousands == ",") {
			c.grouped[1-mark]++
			c.thousands[1-mark].sees(w)
		} else if w.groups == 0 && w.whole {
			c.thousands[1-mark].sees(w)
		}
	}
	switch {
	case kind == fastcsv.Number && readings == 0: // Inf
	case readings == 0:
		if !first { // else a name
			c.texts++
		}
	case readings == 1 && decimals >= 0:
		c.decimals[decimals]++
	}
}

// DecimalComma reports whether the table was read from a CSV file with decimal commas.
func (t *Table) DecimalComma() bool { return t.decimal == ',' }

// ErrDecimalComma is part of the error about a categorical column that would be numeric with decimal commas, and
// ErrDecimalPoint of one that would be numeric with decimal points: see [CSVOptions].Decimal.
var (
	ErrDecimalComma = errors.New("the table is read with decimal points, as in 1.5: read it with decimal commas")
	ErrDecimalPoint = errors.New("the table is read with decimal commas, as in 1,5: read it with decimal " +
		"points, or write one of the two throughout")
)

// ErrGrouped is part of the error about a categorical column that would be numeric if thousands were not separated,
// or if the file showed its decimal mark.
var ErrGrouped = errors.New("a separator may be that of thousands or of decimals, and the file does not show " +
	"which, or they differ: name the decimal separator, or write the digits without separators")

// mostUnits is how many different words beside numbers may be units.
const mostUnits = 4

// ErrUnits is part of the error about a categorical column of numbers in several units.
var ErrUnits = errors.New("write all numbers in one unit, or without")

// units are what stands beside the numbers among the levels, "none" if nothing does; others are no numbers.
func (f *factor) units() (units, others []string) {
	for _, level := range f.levels {
		w, is := parseNumeral(level, cmp.Or(f.decimal, '.'))
		unit := cmp.Or(w.unit, "none")
		switch {
		case !is:
			others = append(others, level)
		case !slices.ContainsFunc(units, func(one string) bool { return sameUnit(one, unit) }):
			units = append(units, unit)
		}
	}
	return units, others
}

// isNumeral reports whether a text is a number, however written.
func (f *factor) isNumeral(text string) bool {
	_, is := parseNumeral(text, cmp.Or(f.decimal, '.'))
	return is
}

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
	grouped := func(level string) bool {
		return slices.ContainsFunc([]byte{'.', ','}, func(decimal byte) bool {
			w, is := parseNumeral(level, decimal)
			return is && w.groups > 0
		})
	}
	switch {
	case areAddresses(f.levels):
		return nil
	case all(grouped):
		return ErrGrouped
	case f.decimal == ',' && all(number('.')):
		return ErrDecimalPoint
	case all(number(',')):
		return ErrDecimalComma
	case all(func(level string) bool { return grouped(level) || number('.')(level) || number(',')(level) }):
		return ErrGrouped
	}
	if !all(f.isNumeral) {
		return nil
	}
	if units, others := f.units(); len(units) > 1 && len(units) <= mostUnits && len(others) == 0 {
		return fmt.Errorf("its numbers have several units, %s: %w", firstQuoted(units), ErrUnits)
	}
	return nil
}
