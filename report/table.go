package report

import (
	"fmt"
	"math"
	"reflect"
)

// A Table of numbers and names. The first cell of a row names the row.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Cell
	Open    bool // shown at once, and not only when its caption is chosen
	Long    bool // left out of a command's text, which has its essentials elsewhere
	// Low and High say what the strongest shades of negative and of positive cells mean; with both empty there is no key.
	Low, High string
}

// A Column of a table.
type Column struct {
	Name  string
	Class int // the class, from 1, whose colour it has; 0: none
}

// Columns are columns of no class.
func Columns(names ...string) []Column {
	list := make([]Column, len(names))
	for j, name := range names {
		list[j].Name = name
	}
	return list
}

// Classes are a column for each class, in order.
func Classes(names ...string) []Column {
	list := Columns(names...)
	for j := range list {
		list[j].Class = j + 1
	}
	return list
}

// Add adds a row. A cell is a [Cell] or what [Of] makes one of; it panics at others.
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

// Series draws column j under a name.
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

// A Cell is a value, and how people read it.
type Cell struct {
	Value float64 // NaN: there is none
	SD    float64 // of Spreads and Dates
	Text  string  // of Words
	As    Quantity
	Shade float64 // from −1 to 1: the strength of its colour, one for negative and one for positive values; 0: none
}

// A Quantity says what kind of value readers see. Files have all digits of the value.
type Quantity uint8

// The quantities.
const (
	Words      Quantity = iota // a text and no number
	Counts                     // whole numbers
	Numbers                    // of any kind, in four digits
	Settings                   // of any kind, in three decimals where they are large: criteria, tolerances
	Scores                     // nats, in two decimals
	Hundredths                 // numbers near 1, such as correlations, in two decimals
	Shares                     // probabilities and parts of a whole, in percent
	Percents                   // shares whose sign is in the name of their column
	Spreads                    // a mean and its standard deviation
	Dates                      // likewise, in days since 1970
)

// Nats is a criterion or log-likelihood.
func Nats[F ~float64](v F) Cell { return Cell{Value: float64(v), As: Scores} }

// Share is a probability or a part of a whole.
func Share[F ~float64](v F) Cell { return Cell{Value: float64(v), As: Shares} }

// Percent is a share in a column whose name has the sign.
func Percent[F ~float64](v F) Cell { return Cell{Value: float64(v), As: Percents} }

// Decimals is a number near 1, such as a correlation.
func Decimals[F ~float64](v F) Cell { return Cell{Value: float64(v), As: Hundredths} }

// Setting is a number of any kind, such as a tolerance.
func Setting[F ~float64](v F) Cell { return Cell{Value: float64(v), As: Settings} }

// Spread is a mean and its standard deviation.
func Spread[F ~float64](mean, sd F) Cell {
	return Cell{Value: float64(mean), SD: float64(sd), As: Spreads}
}

// Shaded is a cell with a colour, from −1 to 1.
func Shaded(cell any, shade float64) Cell {
	c := Of(cell)
	c.Shade = shade
	return c
}

// Of returns the cell of a Go value: words for a text or a bool, a count for an integer, a number for a float, and a
// [Cell] as it is. It panics for other types.
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
