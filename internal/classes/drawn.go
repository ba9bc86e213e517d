package classes

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// Drawn is the standard error of a number and its interval.
func Drawn(n bootstrap.Number) (e fitted.Number, interval []fitted.Number) {
	return fitted.Number(n.Error), []fitted.Number{fitted.Number(n.Low), fitted.Number(n.High)}
}

func isCovariance(name string) bool { return strings.HasSuffix(name, "covariance") }

func isVariance(name string) bool { return strings.HasSuffix(name, "variance") && !isCovariance(name) }

// DrawRows puts standard errors beside the numbers of the components as they are reported.
func (f *Components) DrawRows(
	ctx context.Context, m framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics],
	table *blocks.Table, o bootstrap.Options,
) (bootstrap.Outcome, error) {
	e, err := DrawnComponents(ctx, f, m, table, f.Mixture, (*mixture.Parameters).Vector, o)
	if err != nil {
		return bootstrap.Outcome{}, err
	}
	for k := range f.List {
		weight, interval := Drawn(e.Numbers[k])
		f.List[k].Drawn, f.List[k].Interval = &weight, interval
	}
	return e.Outcome, nil
}

// DrawnComponents draws tables like src and refits m, whose parameters as a list end with those of the components, to
// which it gives what the draws say.
func DrawnComponents[B, P any, S framework.Statistics[S]](
	ctx context.Context, f *Components, m framework.Model[B, P, S], src framework.Source[B], at P,
	vector func(P) []float64, o bootstrap.Options,
) (*bootstrap.Estimates, error) {
	numbers, err := f.Model.Numbers(f.Mixture)
	if err != nil {
		return nil, err
	}
	first := len(vector(at)) - len(f.Mixture.Components)
	reported := func(p P) []float64 { // standard deviations in place of variances
		v := slices.Clone(vector(p))
		for i := range v[first:] {
			if isVariance(numbers[i%len(numbers)].Name) {
				v[first+i] = math.Sqrt(v[first+i])
			}
		}
		return v
	}
	e, err := bootstrap.StandardErrors(ctx, m, src, at, reported, o)
	if err != nil {
		return nil, err
	}
	for k := range f.List {
		f.List[k].attach(numbers, e.Numbers[first+k*len(numbers):])
	}
	f.Drawn = true
	return e, nil
}

// attach gives the values of the columns what the draws say, in the order of [mixture.Model.Summarize].
func (c *Component) attach(numbers []family.Number, draws []bootstrap.Number) {
	for i, n := range numbers {
		if isCovariance(n.Name) || n.Name == numberOfFactors || n.From >= len(c.Columns) {
			continue
		}
		for j := n.From; j <= n.To; j++ {
			s := &c.Columns[j]
			if s.Drawn == nil {
				s.Drawn, s.Intervals = map[string]fitted.Number{}, map[string][]fitted.Number{}
			}
			key := s.Keys[len(s.Drawn)]
			s.Drawn[key], s.Intervals[key] = Drawn(draws[i])
		}
	}
}

// printDrawn shows the first number of each column with its standard error: of levels, the most probable.
func (f *Components) printDrawn(p report.Page, rows []Component) {
	p.Line("")
	p.Prose(0, "Estimates ± standard errors by bootstrap (--format json has intervals):")
	n, _ := p.Widest(len(f.Order), func(n int) *report.Grid { return f.drawnGrid(p, rows, f.Order[:n]) })
	shown := f.Order[:n]
	if n == len(f.Order) {
		shown = slices.Sorted(slices.Values(shown))
	}
	p.Grid(f.drawnGrid(p, rows, shown))
}

func (f *Components) drawnGrid(p report.Page, rows []Component, columns []int) *report.Grid {
	heads := []string{f.Noun, "weight"}
	for _, j := range columns {
		legend, _ := rows[0].Columns[j].shownDrawn(p, f.Columns[j])
		heads = append(heads, p.Short(f.Columns[j].Name)+"\n"+legend)
	}
	g := report.NewGrid(heads...)
	for k, c := range rows {
		cells := []string{f.Called(k), wording.Readable(float64(c.Weight))}
		if c.Drawn != nil {
			cells[1] += fmt.Sprintf(" ± %.2g", float64(*c.Drawn))
		}
		for _, j := range columns {
			_, cell := c.Columns[j].shownDrawn(p, f.Columns[j])
			cells = append(cells, cell)
		}
		g.Row(cells...)
	}
	return g
}

// shownDrawn is the number that stands for a column with its standard error: the head of its table column, and a cell.
func (s ColumnSummary) shownDrawn(p report.Page, c data.Column) (legend, cell string) {
	legend, _ = s.shown(p, c)
	key, level := s.Keys[0], ""
	switch at := Truth(c); {
	case c.Family == families.Categorical && at >= 0:
		key = c.Levels[at]
	case c.Family == families.Categorical:
		for _, other := range s.Keys {
			if s.Values[other] > s.Values[key] {
				key = other
			}
		}
		level = p.Short(key) + " "
	case len(s.Keys) > 1:
		legend = key
	}
	v, e := float64(s.Values[key]), float64(s.Drawn[key])
	if families.Named(c.Family).Shares {
		return legend, fmt.Sprintf("%s%.3f ± %.3f", level, v, e)
	}
	return legend, fmt.Sprintf("%.4g ± %.2g", v, e)
}
