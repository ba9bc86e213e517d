package report

import (
	"fmt"
	"math"
	"reflect"
)

// A Table holds numbers and names. The first cell of a row names the row.
type Table struct {
	Caption string   `json:"caption"`
	Columns []Column `json:"columns"`
	Rows    [][]Cell `json:"rows"`
	Open    bool     `json:"-"` // shown at once, not only after a click on its caption
	Long    bool     `json:"-"` // omitted from a command's text, which shows its essentials elsewhere
	// Low and High say what the strongest shades of negative and of positive cells mean; if both are empty, there is no
	// key.
	Low  string `json:"-"`
	High string `json:"-"`
}

// A Column is a column of a Table.
type Column struct {
	Name  string `json:"name"`
	Class int    `json:"class,omitempty"` // the class, from 1, whose colour the column has; 0: none
}

// Columns returns one column for each name, without a class's colour.
func Columns(names ...string) []Column {
	list := make([]Column, len(names))
	for j, name := range names {
		list[j].Name = name
	}
	return list
}

// Classes returns one column for each name, in the colours of classes 1, 2, ….
func Classes(names ...string) []Column {
	list := Columns(names...)
	for j := range list {
		list[j].Class = j + 1
	}
	return list
}

// Add adds a row. It converts each value to a cell by [Of], and so panics for the types for which [Of] does.
func (t *Table) Add(cells ...any) {
	row := make([]Cell, len(cells))
	for j, cell := range cells {
		row[j] = Of(cell)
	}
	t.Rows = append(t.Rows, row)
}

// Values returns the numbers among the cells of column j.
func (t *Table) Values(j int) (values []float64) {
	for _, row := range t.Rows {
		if row[j].As != Words {
			values = append(values, row[j].Value)
		}
	}
	return values
}

// Series returns the numbers of column j as a series with this name.
func (t *Table) Series(name string, j int) []Series { return []Series{{Name: name, Y: t.Values(j)}} }

// Check panics if a row does not have one cell for each column.
func (t *Table) Check() {
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) {
			panic(fmt.Sprintf("report: row %d of table %q has %d cells, and it has %d "+
				"columns", i, t.Caption, len(row), len(t.Columns)))
		}
	}
}

// A Cell is a value and how to show it.
type Cell struct {
	Value float64 // NaN if there is none
	SD    float64 // for Spreads and Dates: the standard deviation
	Text  string  // for Words: the text
	As    Quantity
	// from −1 to 1: the strength of the cell's colour; negative and positive values have different colours; 0: none
	Shade float64
}

// A Quantity says how a page shows a value. Files have all its digits.
type Quantity uint8

// The quantities that a cell can show.
const (
	Words      Quantity = iota // a text and no number
	Counts                     // whole numbers
	Numbers                    // any numbers, with four digits
	Settings                   // any numbers, with three decimals if they are large: criteria, tolerances
	Scores                     // nats, with two decimals
	Hundredths                 // numbers near 1, such as correlations, with two decimals
	Shares                     // probabilities and parts of a whole, in percent
	Percents                   // shares in percent, whose sign is in the name of their column
	Spreads                    // a mean and its standard deviation
	Dates                      // a mean and its standard deviation, in days since 1970
)

// Nats returns the cell of a criterion or a log-likelihood, in nats.
func Nats[F ~float64](v F) Cell { return Cell{Value: float64(v), As: Scores} }

// Share returns the cell of a probability or another share from 0 to 1.
func Share[F ~float64](v F) Cell { return Cell{Value: float64(v), As: Shares} }

// Percent returns the cell of a share, without a percent sign: the column's name has it.
func Percent[F ~float64](v F) Cell { return Cell{Value: float64(v), As: Percents} }

// Decimals returns the cell of a number near 1, such as a correlation.
func Decimals[F ~float64](v F) Cell { return Cell{Value: float64(v), As: Hundredths} }

// Setting returns the cell of a number of any size, such as a tolerance.
func Setting[F ~float64](v F) Cell { return Cell{Value: float64(v), As: Settings} }

// Spread returns the cell of a mean and its standard deviation.
func Spread[F ~float64](mean, sd F) Cell {
	return Cell{Value: float64(mean), SD: float64(sd), As: Spreads}
}

// Shaded returns the cell with a colour, from −1 to 1.
func Shaded(cell any, shade float64) Cell {
	c := Of(cell)
	c.Shade = shade
	return c
}

// Of returns the cell of a Go value: Words for a string or a bool, Counts for an integer, Numbers for a float, and a
// [Cell] unchanged. It panics for other types.
func Of(value any) Cell {
	if c, ok := value.(Cell); ok {
		return c
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.String, reflect.Bool:
		return Cell{Text: fmt.Sprint(value), Value: math.NaN()}
	case reflect.Int:
		return Cell{Value: float64(v.Int()), As: Counts}
	case reflect.Float64:
		return Cell{Value: v.Float(), As: Numbers}
	}
	panic(fmt.Sprintf("report: a cell of type %T", value))
}
