package classes

import (
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

const (
	// mostGates bounds the columns of a gate that are drawn.
	mostGates = 8
	// mostGatePoints bounds the values of a column of numbers that are drawn.
	mostGatePoints = 81
)

// GateSections show how likely the components are by each column of the gate, and its coefficients.
func (g *Gated) GateSections() (list []report.Section, err error) {
	first := 0 // of the numbers that the gate sees
	for _, c := range g.design.Columns[:min(len(g.design.Columns), mostGates)] {
		one, err := g.gateSection(c, first)
		if err != nil {
			return nil, err
		}
		list = append(list, one...)
		first += len(c.Names())
	}
	return append(list, g.oddsSection()...), nil
}

// gateSection shows the probabilities of the components over one column, whose first number is number first of the
// design, where the other columns are at their means.
func (g *Gated) gateSection(c design.GateColumn, first int) ([]report.Section, error) {
	chart := report.Chart{Title: g.Noun + " probabilities by " + report.Printable(c.Name), XName: report.Printable(c.Name),
		About: "What the gate expects before it sees the columns of the " + g.Noun + "s"}
	chart.Title = wording.Capital(chart.Title)
	if len(g.design.Columns) > 1 {
		chart.About += ", with its other columns at their means over the rows"
	}
	chart.About += "." + wording.LeftOut(len(g.design.Columns)-mostGates, "column", "of the gate")
	var values [][]float64 // what the gate sees of the column, at each place
	table := report.Table{
		Caption: "probabilities by " + report.Printable(c.Name),
		Columns: report.Columns(append([]string{report.Printable(c.Name)}, wording.Numbered(g.Noun+" ", g.params.K())...)...),
	}
	var places []any
	if len(c.Levels) > 0 {
		for l, level := range c.Levels {
			values = append(values, c.Numbers(nil, float64(l)))
			chart.Names, places = append(chart.Names, report.Printable(level)), append(places, level)
		}
	} else {
		all, err := g.Data.Column(c.Name)
		if err != nil {
			return nil, err
		}
		grid := floats.Span(make([]float64, mostGatePoints), floats.Min(all), floats.Max(all))
		for _, v := range grid {
			values, places = append(values, []float64{v}), append(places, v)
		}
		chart.X = grid
	}
	prior, err := g.priorAt(first, values)
	if err != nil {
		return nil, err
	}
	k := g.params.K()
	for i, place := range places {
		cells := []any{place}
		for _, v := range prior[i*k : (i+1)*k] {
			cells = append(cells, report.Share(v))
		}
		table.Add(cells...)
	}
	panel := report.Panel{Name: "probability", Height: 220, Bars: len(c.Levels) > 0}
	for j := range min(k, wording.MostRows) {
		panel.Series = append(panel.Series, table.Series(g.Noun+" "+strconv.Itoa(j+1), j+1)...)
	}
	chart.Panels = []report.Panel{panel}
	return report.Single(chart.Title, chart, table), nil
}

// priorAt are the probabilities of the components where the numbers of the design from first on have some values, and
// the others are at their means.
func (g *Gated) priorAt(first int, values [][]float64) ([]float64, error) {
	rows, own := g.table.All(), g.design.Width
	mean, n := make([]float64, rows.D), 0.0
	for i := range rows.N {
		n += rows.Weight(i)
		for j := own; j < rows.D; j++ {
			mean[j] += rows.Weight(i) * rows.Row(i)[j]
		}
	}
	floats.Scale(1/n, mean)
	at := blocks.Rows{N: len(values), D: rows.D, Stride: rows.D}
	for _, v := range values {
		row := slices.Clone(mean)
		copy(row[own+first:], v)
		at.X = append(at.X, row...)
	}
	return g.model.Prior(at, g.params, nil)
}

// oddsSection has the coefficients of the gate.
func (g *Gated) oddsSection() []report.Section {
	if len(g.gate.LogOdds) == 0 {
		return nil
	}
	list := OddsSection("The gate", "Log odds of a "+g.Noun+" against the first", g.Noun, g.design, g.gate)
	return []report.Section{list}
}

// OddsSection has the coefficients of reports.
func OddsSection(title, what, noun string, d design.Gate, list ...*GateReport) report.Section {
	s := report.Section{Title: title}
	for _, g := range list {
		after := ""
		if g.After > 0 {
			after = fmt.Sprintf(", after %s %d", noun, g.After)
		} else if len(list) > 1 {
			after = ", in a first step"
		}
		beside := report.Table{Caption: "log odds ± standard errors" + after, Open: true, Columns: report.Columns("column")}
		table := report.Table{
			Caption: fmt.Sprintf("log odds against %s %d%s", noun, g.Reference, after),
			Columns: report.Columns(noun, "column", "log odds", "standard error", "odds ratio"),
		}
		for j, name := range g.Columns {
			beside.Add(name)
			for k, values := range g.LogOdds {
				beside.Rows[j] = append(beside.Rows[j], report.Spread(values[j], g.Errors[k][j]), report.Of(g.Ratios[k][j]))
			}
		}
		for k, values := range g.LogOdds {
			class := g.class(k)
			beside.Columns = append(beside.Columns, report.Column{Name: fmt.Sprintf("%s %d", noun, class), Class: class},
				report.Column{Name: "odds ratio"})
			for j, v := range values {
				table.Add(class, g.Columns[j], v, g.Errors[k][j], g.Ratios[k][j])
			}
		}
		s.Tables, s.Wide = append(s.Tables, beside, table), len(g.LogOdds) > 1
	}
	s.Text = what + ": what a unit of a column adds, and, by the intercept, where all columns are 0. The odds " +
		"ratio is what a unit multiplies the odds by. Standard errors hold the " + noun + "s fixed."
	var against []string
	for _, c := range d.Columns {
		if len(c.Levels) > 0 {
			against = append(against, wording.Isolated(report.Printable(c.Name+" = "+c.Levels[0])))
		}
	}
	if len(against) > 0 {
		s.Text += " Levels are against " + wording.Enumerated(against) + "."
	}
	return s
}
