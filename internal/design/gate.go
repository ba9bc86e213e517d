// Package design makes the numbers that a model sees of the columns of a table: those of gates and of regressions.
package design

import (
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/mixture"
)

// A GateColumn is a column of a gate, and its place among those of the model.
type GateColumn struct {
	data.Column
	place int
}

// A Gate says what the gate and the classes see of the columns of a model.
type Gate struct {
	Columns []GateColumn
	Own     int         // columns that the classes describe; those of the gate alone come after them
	Width   int         // numbers that the classes see of them
	Seen    *Regression // makes these; nil where they are the columns themselves

	all int // columns of the model
}

// GateOf is the design of a gate that has the named columns, the last of which no class describes.
func GateOf(columns []data.Column, names []string) (d Gate) {
	for _, name := range names {
		j := slices.IndexFunc(columns, func(c data.Column) bool { return c.Name == name })
		d.Columns = append(d.Columns, GateColumn{columns[j], j})
	}
	d.Own = slices.IndexFunc(columns, func(c data.Column) bool { return c.Family == families.Gate })
	if d.Own < 0 {
		d.Own = len(columns)
	}
	d.Width, d.all = d.Own, len(columns)
	return d
}

// Changes says whether a model sees other numbers than those of the columns.
func (d *Gate) Changes() bool { return d.Seen != nil || len(d.Columns) > 0 }

// Described are the columns of the numbers that the classes see.
func (d *Gate) Described(columns []data.Column) []data.Column {
	if d.Seen != nil {
		return d.Seen.Columns()
	}
	return columns[:d.Own]
}

// Given is the number of last columns that the model conditions on.
func (d *Gate) Given() int {
	if d.Seen != nil {
		return d.all - d.Seen.First()
	}
	return len(d.Columns)
}

// Names are those of the numbers that the gate sees: of the columns themselves, and of levels an indicator for each but
// the first.
func (d *Gate) Names() (list []string) {
	for _, c := range d.Columns {
		list = append(list, c.Names()...)
	}
	return list
}

// Names are those of the numbers that the gate sees of the column.
func (c GateColumn) Names() (list []string) {
	if len(c.Levels) == 0 {
		return []string{c.Name}
	}
	for _, level := range c.Levels[1:] {
		list = append(list, c.Name+" = "+level)
	}
	return list
}

// Numbers appends what the gate sees of a value, or of the code of a level; NaN where it is missing.
func (c GateColumn) Numbers(x []float64, v float64) []float64 {
	if len(c.Levels) == 0 {
		return append(x, v)
	}
	for l := 1; l < len(c.Levels); l++ {
		switch {
		case v != v:
			x = append(x, v)
		case int(v) == l:
			x = append(x, 1)
		default:
			x = append(x, 0)
		}
	}
	return x
}

// Rows are what the classes see of rows with the model's columns, and then what the gate does; they lie in x, which is
// overwritten from its beginning, and grows where it is too short.
func (d *Gate) Rows(b blocks.Rows, x []float64) blocks.Rows {
	x = x[:0]
	for i := range b.N {
		row := b.Row(i)
		if d.Seen != nil {
			x = d.Seen.expand(x, row)
		} else {
			x = append(x, row[:d.Own]...)
		}
		for _, c := range d.Columns {
			x = c.Numbers(x, row[c.place])
		}
	}
	return d.block(b, x)
}

// Behind has the columns of the classes from what Rows made of a block, and those of the gate from the block.
func (d *Gate) Behind(b blocks.Rows, rows []float64) (x []float64) {
	wide := len(rows) / max(1, b.N)
	for i := range b.N {
		x = append(append(x, rows[i*wide:][:d.Own]...), b.Row(i)[d.Own:]...)
	}
	return x
}

// Alone are rows that have the last columns of the model alone, those of the gate: the classes see nothing.
func (d *Gate) Alone(b blocks.Rows) blocks.Rows {
	var x []float64
	for i := range b.N {
		x = append(x, make([]float64, d.Width)...)
		for _, c := range d.Columns {
			x = c.Numbers(x, b.Row(i)[c.place-d.Own])
		}
	}
	return d.block(b, x)
}

func (d *Gate) block(b blocks.Rows, x []float64) blocks.Rows {
	wide := len(x) / max(1, b.N)
	return blocks.Rows{First: b.First, N: b.N, D: wide, Stride: wide, X: x, Weights: b.Weights}
}

// Model is that of the library.
func (d *Gate) Model(m mixture.Model) experts.Model {
	list := make([]int, len(d.Names()))
	for i := range list {
		list[i] = d.Width + i
	}
	return experts.Model{Family: m.Family, Gate: list, Start: m.Start, ParameterPrior: m.Prior}
}
