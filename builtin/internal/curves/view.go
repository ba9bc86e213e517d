package curves

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// Sections draw the curves, or what is fitted against what is observed, the coefficients, and the weights.
func (c *Curves) Sections() ([]report.Section, error) {
	fit := c.fittedSection
	if c.oneRegressor() {
		fit = c.curvesSection
	}
	first, err := fit()
	if err != nil {
		return nil, err
	}
	certainty, err := c.CertaintySection(c.Heaviest())
	return slices.Concat(c.coefficientsSection(), first, certainty), err
}

// Finding says how many components there are, and of each how the response depends on the regressors.
func (c *Curves) Finding() (report.Section, error) {
	shown := c.Heaviest()
	list := report.Section{Text: c.Headline(shown), Tables: []report.Table{c.Weights(shown)}}
	if judged, err := c.Judge(); err != nil {
		return list, err
	} else if judged != nil {
		list.Text += " " + judged.Sentence(c.Noun)
	}
	for k, one := range shown {
		list.Items = append(list.Items, report.Item{
			Group: k,
			Name:  wording.Capital(c.Noun) + " " + c.Called(k),
			Size:  c.Size(one),
			Share: float64(one.Weight),
			Text:  c.equation(one),
		})
	}
	return list, nil
}

// scale is what the linear predictor is.
func (c *Curves) scale() string {
	name := wording.Isolated(c.responseName())
	switch c.Design.Distribution {
	case families.Poisson:
		return "ln of the mean of " + name
	case design.Binomial:
		return "log odds of " + name
	}
	return name
}

// equation writes a component's regression with its numbers, of many terms the first ones.
func (c *Curves) equation(one classes.Component) string {
	const most = 6
	text, sd, terms := "", "", 0
	for _, coefficient := range c.coefficients() {
		value := float64(one.Columns[coefficient.column].Values[coefficient.key])
		switch {
		case coefficient.key == "sd":
			sd = fmt.Sprintf(", give or take %s (standard deviation)", report.Readable(value))
			continue
		case coefficient.column > 0:
			if terms++; terms > most {
				continue
			}
		}
		number, sign := report.Readable(math.Abs(value)), " + "
		if value < 0 {
			sign = " − "
		}
		if text == "" {
			sign = strings.TrimPrefix(strings.TrimSpace(sign), "+")
		}
		text += sign + number
		if coefficient.column > 0 {
			text += " · " + wording.Isolated(report.Printable(coefficient.name))
		}
	}
	if terms > most {
		text += fmt.Sprintf(" + … (%s)", wording.Counted(terms-most, "more term"))
	}
	return c.scale() + " = " + text + sd + "."
}

// oneRegressor says whether all terms are powers of one column.
func (c *Curves) oneRegressor() bool {
	first := c.Design.Terms[0].Column
	return !slices.ContainsFunc(c.Design.Terms, func(t design.Term) bool { return t.Power == 0 || t.Column != first })
}

// perUnit is what a response is drawn as: of one unit of what it counts over.
func (c *Curves) perUnit(row []float64) float64 {
	if c.Design.Size != "" {
		return row[0] / row[1]
	}
	return row[0]
}

// responseName is that of the axis.
func (c *Curves) responseName() string {
	if c.Design.Size != "" {
		return report.Printable(c.Design.Response) + " / " + report.Printable(c.Design.Size)
	}
	return report.Printable(c.Design.Response)
}

// shownRows calls visit with the place of each row that a page has room for, its numbers in the design, and its
// component.
func (c *Curves) shownRows(visit func(place int, row []float64, label int)) (remark string, err error) {
	places := wording.Thinned(c.Data.Rows(), classes.MostPoints, nil)
	labels, err := c.Assign(places)
	if err != nil {
		return "", err
	}
	all := c.Expanded.All()
	for i, place := range places {
		if c.Data.Weight(place) > 0 {
			visit(place, all.Row(place), labels[i])
		}
	}
	if len(places) < c.Data.Rows() {
		return fmt.Sprintf("%d of the %s are shown.", len(places), wording.Counted(c.Data.Rows(), "row")), nil
	}
	return "", nil
}

// curvesSection shows the rows over the only regressor, and the mean of each component.
func (c *Curves) curvesSection() ([]report.Section, error) {
	shown := c.Heaviest()
	x := c.Design.First() // the first power, if it is there
	name := report.Printable(c.Data.Names[c.Design.Terms[0].Column])
	chart := report.Chart{Title: "Fitted curves", XName: name}
	panel := report.Panel{Name: c.responseName(), Height: 340}
	rows := report.Table{Caption: "rows shown", Columns: report.Columns("row", name, c.responseName(), c.Noun)}
	low, high := math.Inf(1), math.Inf(-1)
	remark, err := c.shownRows(func(place int, row []float64, label int) {
		low, high = min(low, row[x]), max(high, row[x])
		origin := c.Data.Origin(place) + 1
		rows.Add(origin, row[x], c.perUnit(row), label+1)
		panel.Points = append(panel.Points, report.Point{
			X:     row[x],
			Y:     c.perUnit(row),
			Group: label,
			Tip:   fmt.Sprintf("row %d\n%.6g, %.6g\n%s %d", origin, row[x], c.perUnit(row), c.Noun, label+1),
		})
	})
	if err != nil || !(high > low) {
		return nil, err
	}
	chart.X = floats.Span(make([]float64, 121), low, high)
	curve := report.Table{
		Caption: "curves", Columns: report.Columns(append([]string{name}, wording.Numbered(c.Noun+" ", len(shown))...)...),
	}
	block := blocks.Rows{D: c.Design.Width(), Stride: c.Design.Width(), N: len(chart.X)}
	for _, v := range chart.X {
		block.X = append(block.X, math.NaN())
		if c.Design.Size != "" {
			block.X = append(block.X, 1)
		}
		for _, t := range c.Design.Terms {
			block.X = append(block.X, t.Of(v))
		}
		if c.Design.Known() > 0 {
			block.X = append(block.X, math.NaN())
		}
	}
	means, err := c.Model.Means(block, c.Mixture)
	if err != nil {
		return nil, err
	}
	for i, v := range chart.X {
		cells := []any{v}
		for k := range shown {
			cells = append(cells, means[i*c.Mixture.K+k])
		}
		curve.Add(cells...)
	}
	for k, one := range shown {
		panel.Series = append(panel.Series, report.Series{
			Name: fmt.Sprintf("%s %d", c.Noun, k+1),
			Y:    curve.Values(k + 1),
			Tip:  fmt.Sprintf("%s %d\nweight %.4g", c.Noun, k+1, float64(one.Weight)),
		})
	}
	chart.About = fmt.Sprintf("Points are rows, coloured by their most probable %[1]s; lines are the means of the "+
		"%[1]ss. ", c.Noun) + remark + wording.LeftOut(len(c.List)-len(shown), c.Noun, "of less weight")
	chart.Panels = []report.Panel{panel}
	return report.Single(chart.Title, chart, curve, rows), nil
}

// fittedSection shows the mean of each row's most probable component beside its response.
func (c *Curves) fittedSection() ([]report.Section, error) {
	chart := report.Chart{Title: "Fitted and observed", XName: "mean of the " + c.Noun}
	panel := report.Panel{Name: c.responseName(), Height: 340}
	rows := report.Table{
		Caption: "rows shown", Columns: report.Columns("row", "mean of the "+c.Noun, c.responseName(), c.Noun),
	}
	low, high := math.Inf(1), math.Inf(-1)
	var fault error
	remark, err := c.shownRows(func(place int, row []float64, label int) {
		means, err := c.Model.Means(blocks.Rows{N: 1, D: len(row), Stride: len(row), X: row}, c.Mixture)
		if err != nil {
			fault = err
			return
		}
		mean, origin := means[label], c.Data.Origin(place)+1
		if c.Design.Size != "" {
			mean /= row[1]
		}
		low, high = min(low, mean), max(high, mean)
		rows.Add(origin, mean, c.perUnit(row), label+1)
		panel.Points = append(panel.Points, report.Point{
			X:     mean,
			Y:     c.perUnit(row),
			Group: label,
			Tip:   fmt.Sprintf("row %d\nmean %.6g, observed %.6g\n%s %d", origin, mean, c.perUnit(row), c.Noun, label+1),
		})
	})
	if err == nil {
		err = fault
	}
	if err != nil || len(panel.Points) == 0 {
		return nil, err
	}
	chart.X = []float64{low, high}
	panel.Groups = wording.Numbered(c.Noun+" ", min(len(c.List), wording.MostRows))
	panel.Series = []report.Series{{Name: "observed = fitted", Y: chart.X}}
	chart.About = "Points are rows, coloured by their most probable " + c.Noun + ", at its mean. " + remark
	chart.Panels = []report.Panel{panel}
	return report.Single(chart.Title, chart, rows), nil
}

// coefficientsSection compares the coefficients of the components, with their standard errors.
func (c *Curves) coefficientsSection() []report.Section {
	shown := c.Heaviest()
	beside := report.Table{
		Caption: "coefficients ± standard errors",
		Columns: append(report.Columns("coefficient"), report.Classes(wording.Numbered(c.Noun+" ", len(shown))...)...),
		Open:    true,
	}
	table := report.Table{
		Caption: "coefficients",
		Columns: report.Columns(c.Noun, "coefficient", "estimate", "standard error (complete data)"),
	}
	if c.Drawn {
		table.Columns = append(table.Columns, report.Columns("standard error (bootstrap)")...)
	}
	for _, coefficient := range c.coefficients() {
		row := []any{coefficient.name}
		for k, one := range shown {
			s := one.Columns[coefficient.column]
			value, e := s.Values[coefficient.key], s.Errors[coefficient.key]
			cells := []any{k + 1, coefficient.name, value, e}
			if c.Drawn {
				e = s.Drawn[coefficient.key]
				cells = append(cells, e)
			}
			table.Add(cells...)
			if e == e {
				row = append(row, report.Spread(value, e))
			} else {
				row = append(row, value)
			}
		}
		beside.Add(row...)
	}
	list := report.Single("Coefficients", nil, beside, table)
	list[0].Text = "Of " + c.scale() + ", in the units of the table. "
	if against := c.references(); len(against) > 0 {
		list[0].Text += "Levels are against " + wording.Enumerated(against) + ". "
	}
	if c.Drawn {
		list[0].Text += "± gives standard errors by bootstrap."
	} else {
		list[0].Text += "± gives standard errors that assume known " + c.Noun + "s of the rows."
	}
	list[0].Wide = len(shown) > 3
	return list
}
