package report

import (
	"encoding/json"
	"io"
	"math"
	"slices"

	"github.com/latent-go/latent/data"
)

// MarshalJSON writes a text, a number with all digits, the mean and sd of a spread or of a date, which is in days since
// 1970, or null in place of a number that is not finite.
func (c Cell) MarshalJSON() ([]byte, error) {
	switch {
	case c.As == Words:
		return json.Marshal(c.Text)
	case c.spreads():
		return json.Marshal(map[string]Cell{"mean": {Value: c.Value, As: Numbers}, "sd": {Value: c.SD, As: Numbers}})
	case math.IsNaN(c.Value) || math.IsInf(c.Value, 0):
		return []byte("null"), nil
	}
	return json.Marshal(c.Value)
}

func (c Cell) spreads() bool { return c.As == Spreads || c.As == Dates }

// Write writes the table to w with all digits, as the writer that begin returns does: that of [data.NewCSVWriter], or
// of [github.com/latent-go/latent/data/columnar.NewParquetWriter]. A column with a word has texts, and one with spreads
// or dates is followed by their standard deviations.
func (t *Table) Write(w io.Writer, begin func(io.Writer, []data.Head) (data.Writer, error)) error {
	heads, texts, numbers := t.Cells()
	to, err := begin(w, heads)
	if err != nil {
		return err
	}
	if err := to.Write(texts, numbers); err != nil {
		return err
	}
	return to.Close()
}

// Cells returns the heads and the cells of the table, row by row, as [data.Writer] takes them.
func (t *Table) Cells() (heads []data.Head, texts []string, numbers []float64) {
	any := func(j int, is func(c Cell) bool) bool {
		return slices.ContainsFunc(t.Rows, func(row []Cell) bool { return is(row[j]) })
	}
	word, spread := make([]bool, len(t.Columns)), make([]bool, len(t.Columns))
	for j, column := range t.Columns {
		head := data.Head{Name: column.Name}
		word[j] = any(j, func(c Cell) bool { return c.As == Words })
		spread[j] = !word[j] && any(j, Cell.spreads)
		switch {
		case word[j]:
			head.Cells = data.Texts
		case !any(j, func(c Cell) bool { return c.As != Counts || math.IsNaN(c.Value) }) && len(t.Rows) > 0:
			head.Cells = data.Integers
		}
		if heads = append(heads, head); spread[j] {
			heads = append(heads, data.Head{Name: column.Name + " sd"})
		}
	}
	for _, row := range t.Rows {
		for j, cell := range row {
			switch {
			case cell.As == Words:
				texts = append(texts, cell.Text)
			case word[j] && math.IsNaN(cell.Value):
				texts = append(texts, "")
			case word[j]:
				texts = append(texts, Digits(cell.Value))
			case spread[j] && !cell.spreads():
				numbers = append(numbers, cell.Value, math.NaN())
			case spread[j]:
				numbers = append(numbers, cell.Value, cell.SD)
			default:
				numbers = append(numbers, cell.Value)
			}
		}
	}
	return heads, texts, numbers
}
