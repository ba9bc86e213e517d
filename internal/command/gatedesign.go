package command

import (
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/mixture"
)

// A gateColumn is a column of a gate, and its place among those of the model.
type gateColumn struct {
	data.Column
	place int
}

// A gateDesign says what the gate and the classes see of the columns of a model.
type gateDesign struct {
	gate   []gateColumn
	own    int                                 // columns that the classes describe; those of the gate alone come after them
	width  int                                 // numbers that the classes see of them
	expand func(framework.Rows) framework.Rows // makes these; nil where they are the columns themselves
}

// gateOf is the design of a gate that has the named columns, the last of which no class describes.
func gateOf(columns []data.Column, names []string) (d gateDesign) {
	for _, name := range names {
		j := slices.IndexFunc(columns, func(c data.Column) bool { return c.Name == name })
		d.gate = append(d.gate, gateColumn{columns[j], j})
	}
	d.own = slices.IndexFunc(columns, func(c data.Column) bool { return c.Family == families.Gate })
	if d.own < 0 {
		d.own = len(columns)
	}
	d.width = d.own
	return d
}

// columns are those of the gate.
func (d *gateDesign) columns() (list []data.Column) {
	for _, c := range d.gate {
		list = append(list, c.Column)
	}
	return list
}

// names are those of the numbers that the gate sees: of the columns themselves, and of levels an indicator for each but the first.
func (d *gateDesign) names() (list []string) {
	for _, c := range d.gate {
		list = append(list, c.names()...)
	}
	return list
}

func (c gateColumn) names() (list []string) {
	if len(c.Levels) == 0 {
		return []string{c.Name}
	}
	for _, level := range c.Levels[1:] {
		list = append(list, c.Name+" = "+level)
	}
	return list
}

// numbers appends what the gate sees of a value, or of the code of a level; NaN where it is missing.
func (c gateColumn) numbers(x []float64, v float64) []float64 {
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

// rows are what the classes see of rows with the model's columns, and then what the gate does.
func (d *gateDesign) rows(b framework.Rows) framework.Rows {
	own := b.Columns(upTo(0, d.own-1))
	if d.expand != nil {
		own = d.expand(own)
	}
	to := framework.Rows{First: b.First, N: b.N, D: d.width + len(d.names()), Weights: b.Weights}
	to.Stride = to.D
	for i := range b.N {
		to.X = append(to.X, own.Row(i)...)
		row := b.Row(i)
		for _, c := range d.gate {
			to.X = c.numbers(to.X, row[c.place])
		}
	}
	return to
}

// alone are rows that have the columns of the gate alone: the classes see nothing.
func (d *gateDesign) alone(b framework.Rows) framework.Rows {
	to := framework.Rows{First: b.First, N: b.N, D: d.width + len(d.names())}
	to.Stride = to.D
	for i := range b.N {
		to.X = append(to.X, make([]float64, d.width)...)
		for j, c := range d.gate {
			to.X = c.numbers(to.X, b.Row(i)[j])
		}
	}
	return to
}

// model is that of the library.
func (d *gateDesign) model(m mixture.Model) experts.Model {
	return experts.Model{Family: m.Family, Gate: upTo(d.width, d.width+len(d.names())-1), Start: m.Start}
}

// packed are the first columns of rows, row-major.
func packed(b framework.Rows, columns int) []float64 {
	x := make([]float64, 0, b.N*columns)
	for i := range b.N {
		x = append(x, b.Row(i)[:columns]...)
	}
	return x
}
