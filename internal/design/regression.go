package design

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// Binomial is the family of responses that count successes.
const Binomial = "binomial"

// MostDegree is the largest degree of a polynomial: numbers of a higher one have no digits in common.
const MostDegree = 9

// Responses are the values of --family of regressions.
var Responses = map[string]regress.Response{
	families.Gaussian: regress.Normal, families.Poisson: regress.Counts, Binomial: regress.Successes,
}

// A Term is a power of a column, or the indicator of one of its levels.
type Term struct {
	Name   string `json:"name"`
	Column int    `json:"column"`          // place among the model's columns
	Power  int    `json:"power,omitempty"` // 0 of an indicator
	Level  int    `json:"level,omitempty"` // of an indicator, 1 or above: the first is the reference

	Against string `json:"-"` // the name of that one, where the table is at hand
}

// A Regression is the design of a table: its columns are the response, what it counts over, and the sources of the
// terms.
type Regression struct {
	Distribution string `json:"distribution"` // as --family has it
	Response     string `json:"response"`
	Size         string `json:"counted_over,omitempty"` // the column of trials or exposures
	Intercept    bool   `json:"intercept"`
	Terms        []Term `json:"terms"`
	Fixed        []int  `json:"fixed,omitempty"` // places of coefficients that all components share, the intercept's first

	known  int           // 1 + the place of the column of known classes; 0: there is none
	labels []data.Column // that column
}

// Know takes the column of known classes from the model's columns, if it is one of these.
func (g *Regression) Know(columns []data.Column) {
	if at := slices.IndexFunc(columns, func(c data.Column) bool { return c.Family == families.Known }); at >= 0 {
		g.known, g.labels = at+1, columns[at:at+1]
	}
}

// Known is 1 + the place of the column of known classes among the model's columns; 0: there is none.
func (g *Regression) Known() int { return g.known }

// First is the number of columns before the regressors.
func (g *Regression) First() int {
	if g.Size != "" {
		return 2
	}
	return 1
}

// Family is that of the components.
func (g *Regression) Family(floor float64) family.Family {
	return families.WithKnown(regress.Family{
		Response: Responses[g.Distribution], Exposure: g.Size != "", NoIntercept: !g.Intercept, Fixed: g.Fixed, Floor: floor,
	}, g.labels)
}

// Columns are those of the design: names for messages and summaries, and at the end the column of known classes.
func (g *Regression) Columns() []data.Column {
	list := []data.Column{{Name: g.Response}, {Name: g.Size}}[:g.First()]
	for _, t := range g.Terms {
		list = append(list, data.Column{Name: t.Name})
	}
	return append(list, g.labels...)
}

// Width is the number of columns of the design.
func (g *Regression) Width() int { return g.First() + len(g.Terms) + len(g.labels) }

// Expand makes rows of the design of rows with the model's columns; they lie in x, which is overwritten from its
// beginning, and grows where it is too short.
func (g *Regression) Expand(b blocks.Rows, x []float64) blocks.Rows {
	x = x[:0]
	for i := range b.N {
		x = g.expand(x, b.Row(i))
	}
	return blocks.Rows{First: b.First, N: b.N, D: g.Width(), Stride: g.Width(), X: x, Weights: b.Weights}
}

func (g *Regression) expand(x, row []float64) []float64 {
	x = append(x, row[:g.First()]...)
	for _, t := range g.Terms {
		x = append(x, t.Of(row[t.Column]))
	}
	if g.known > 0 {
		x = append(x, row[g.known-1])
	}
	return x
}

// Gated is the design of a gate before regressions, which has the named columns.
func (g *Regression) Gated(columns []data.Column, names []string) Gate {
	g.Know(columns)
	d := GateOf(columns, names)
	d.Width, d.Seen = g.Width(), g
	return d
}

// About says what is explained by what.
func (g *Regression) About() string {
	var terms []string
	for _, t := range g.Terms {
		terms = append(terms, report.Printable(t.Name))
	}
	return fmt.Sprintf("%s regressions of %s on %s", g.Distribution, report.Printable(g.Response),
		wording.Listed(terms, 8))
}

// Of is the term's value.
func (t Term) Of(v float64) float64 {
	switch {
	case t.Power > 0:
		return math.Pow(v, float64(t.Power))
	case math.IsNaN(v):
		return v
	case v == float64(t.Level):
		return 1
	}
	return 0
}

// Intercept is the name of the coefficient of no column.
const Intercept = "intercept"

// Coefficients are the names of the coefficients of a component, in their places.
func (g *Regression) Coefficients() (names []string) {
	if g.Intercept {
		names = append(names, Intercept)
	}
	for _, t := range g.Terms {
		names = append(names, t.Name)
	}
	return names
}

// Check holds a design from a file to the columns of the model.
func (g *Regression) Check(columns []data.Column, width int) error {
	g.Know(columns)
	if _, ok := Responses[g.Distribution]; !ok || width != g.Width() || len(columns) < g.First() ||
		columns[0].Name != g.Response || g.Size != "" && columns[1].Name != g.Size {
		return errors.New("its regression does not match its columns")
	}
	for _, t := range g.Terms {
		if t.Column < g.First() || t.Column >= len(columns) || t.Power < 0 || t.Power > MostDegree ||
			(t.Power == 0) != (t.Level > 0) || t.Level > 0 && t.Level >= len(columns[t.Column].Levels) {
			return fmt.Errorf("its term %q does not match its columns", t.Name)
		}
	}
	return nil
}

// Free says whether a row with the model's columns has neither a response nor a known class.
func (g *Regression) Free(row []float64) bool {
	return math.IsNaN(row[0]) && (g.known == 0 || math.IsNaN(row[g.known-1]))
}

// Sourced is an error about the model's columns in place of those of the design.
func (g *Regression) Sourced(err error) error {
	if fault, ok := errors.AsType[*blocks.DataError](err); ok && fault.Column >= g.First() && fault.Column < g.Width() {
		if at := fault.Column - g.First(); at < len(g.Terms) {
			fault.Column = g.Terms[at].Column
		} else {
			fault.Column = g.known - 1
		}
	}
	return err
}

// Complete refuses rows without all of their regressors.
func (g *Regression) Complete(b blocks.Rows) error {
	for i := range b.N {
		for j, v := range b.Row(i) {
			if math.IsNaN(v) && j >= g.First() && j != g.known-1 {
				return &blocks.DataError{
					Row:    b.First + i,
					Column: j,
					Value:  v,
					Reason: errors.New("the mean of the response takes all regressors: fill it in, or --missing drop"),
				}
			}
		}
	}
	return nil
}
