package command

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/htmlreport"
)

// sections draw the curves, or what is fitted against what is observed, the coefficients, and the weights.
func (c curves) sections(in *input) ([]htmlreport.Section, error) {
	fit := c.fittedSection
	if c.oneRegressor() {
		fit = c.curvesSection
	}
	first, err := fit(in)
	if err != nil {
		return nil, err
	}
	certainty, err := c.certaintySection(in, c.heaviest())
	return slices.Concat(c.coefficientsSection(), first, certainty), err
}

// finding says how many components there are, and of each how the response depends on the regressors.
func (c curves) finding(in *input) (htmlreport.Section, error) {
	shown := c.heaviest()
	list := htmlreport.Section{Text: c.headline(shown), Tables: []htmlreport.Table{c.weights(shown)}}
	if judged, err := c.judge(in); err != nil {
		return list, err
	} else if judged != nil {
		list.Text += " " + judged.sentence(c.noun)
	}
	for k, one := range shown {
		list.Items = append(list.Items, htmlreport.Item{Group: k, Name: fmt.Sprintf("Component %d", k+1), Size: c.size(one), Share: float64(one.Weight), Text: c.equation(one)})
	}
	return list, nil
}

// scale is what the linear predictor is.
func (c curves) scale() string {
	name := isolated(c.responseName())
	switch c.design.Distribution {
	case familyPoisson:
		return "ln of the mean of " + name
	case familyBinomial:
		return "log odds of " + name
	}
	return name
}

// equation writes a component's regression with its numbers, of many terms the first ones.
func (c curves) equation(one component) string {
	const most = 6
	text, sd, terms := "", "", 0
	for _, coefficient := range c.coefficients() {
		value := float64(one.Columns[coefficient.column].Values[coefficient.key])
		switch {
		case coefficient.key == "sd":
			sd = fmt.Sprintf(", give or take %s (standard deviation)", htmlreport.Readable(value))
			continue
		case coefficient.column > 0:
			if terms++; terms > most {
				continue
			}
		}
		number, sign := htmlreport.Readable(math.Abs(value)), " + "
		if value < 0 {
			sign = " − "
		}
		if text == "" {
			sign = strings.TrimPrefix(strings.TrimSpace(sign), "+")
		}
		text += sign + number
		if coefficient.column > 0 {
			text += " · " + isolated(printable(coefficient.name))
		}
	}
	if terms > most {
		text += fmt.Sprintf(" + … (%s)", counted(terms-most, "more term"))
	}
	return c.scale() + " = " + text + sd + "."
}

// oneRegressor says whether all terms are powers of one column.
func (c curves) oneRegressor() bool {
	first := c.design.Terms[0].Column
	return !slices.ContainsFunc(c.design.Terms, func(t regressor) bool { return t.Power == 0 || t.Column != first })
}

// perUnit is what a response is drawn as: of one unit of what it counts over.
func (c curves) perUnit(row []float64) float64 {
	if c.design.Size != "" {
		return row[0] / row[1]
	}
	return row[0]
}

// responseName is that of the axis.
func (c curves) responseName() string {
	if c.design.Size != "" {
		return printable(c.design.Response) + " / " + printable(c.design.Size)
	}
	return printable(c.design.Response)
}

// shownRows calls visit with the place of each row that a page has room for, its numbers in the design, and its component.
func (c curves) shownRows(in *input, visit func(place int, row []float64, label int)) (remark string, err error) {
	places := thinned(in.Rows(), mostPoints, nil)
	labels, err := c.assign(in, places)
	if err != nil {
		return "", err
	}
	all := c.table.All()
	for i, place := range places {
		if in.frequency(place) > 0 {
			visit(place, all.Row(place), labels[i])
		}
	}
	if len(places) < in.Rows() {
		return fmt.Sprintf("%d of the %s are shown.", len(places), counted(in.Rows(), "row")), nil
	}
	return "", nil
}

// curvesSection shows the rows over the only regressor, and the mean of each component.
func (c curves) curvesSection(in *input) ([]htmlreport.Section, error) {
	shown := c.heaviest()
	x := c.design.first() // the first power, if it is there
	name := printable(in.Names[c.design.Terms[0].Column])
	chart := htmlreport.Chart{Title: "Fitted curves", XName: name}
	panel := htmlreport.Panel{Name: c.responseName(), Height: 340}
	rows := sheet{caption: "rows shown", heads: []string{"row", name, c.responseName(), "component"}}
	low, high := math.Inf(1), math.Inf(-1)
	remark, err := c.shownRows(in, func(place int, row []float64, label int) {
		low, high = min(low, row[x]), max(high, row[x])
		origin := in.Origin(place) + 1
		rows.add(origin, row[x], c.perUnit(row), label+1)
		panel.Points = append(panel.Points, htmlreport.Point{X: row[x], Y: c.perUnit(row), Group: label, Tip: fmt.Sprintf("row %d\n%.6g, %.6g\ncomponent %d", origin, row[x], c.perUnit(row), label+1)})
	})
	if err != nil || !(high > low) {
		return nil, err
	}
	chart.X = floats.Span(make([]float64, 121), low, high)
	curve := sheet{caption: "curves", heads: append([]string{name}, numbered("component ", len(shown))...)}
	block := framework.Rows{D: c.design.width(), Stride: c.design.width(), N: len(chart.X)}
	for _, v := range chart.X {
		block.X = append(block.X, math.NaN())
		if c.design.Size != "" {
			block.X = append(block.X, 1)
		}
		for _, t := range c.design.Terms {
			block.X = append(block.X, t.of(v))
		}
	}
	means, err := c.model.Means(block, c.params)
	if err != nil {
		return nil, err
	}
	for i, v := range chart.X {
		cells := []any{v}
		for k := range shown {
			cells = append(cells, means[i*c.params.K+k])
		}
		curve.add(cells...)
	}
	for k, one := range shown {
		panel.Series = append(panel.Series, htmlreport.Series{Name: fmt.Sprintf("component %d", k+1), Y: curve.column(k + 1), Tip: fmt.Sprintf("component %d\nweight %.4g", k+1, float64(one.Weight))})
	}
	chart.About = "Points are rows, coloured by their most probable component; lines are the means of the components. " + remark + leftOut(len(c.list)-len(shown), "component", "of less weight")
	chart.Panels = []htmlreport.Panel{panel}
	return section(chart.Title, chart.Figure(), &curve, &rows), nil
}

// fittedSection shows the mean of each row's most probable component beside its response.
func (c curves) fittedSection(in *input) ([]htmlreport.Section, error) {
	chart := htmlreport.Chart{Title: "Fitted and observed", XName: "mean of the component"}
	panel := htmlreport.Panel{Name: c.responseName(), Height: 340}
	rows := sheet{caption: "rows shown", heads: []string{"row", "mean of the component", c.responseName(), "component"}}
	low, high := math.Inf(1), math.Inf(-1)
	var fault error
	remark, err := c.shownRows(in, func(place int, row []float64, label int) {
		means, err := c.model.Means(framework.Rows{N: 1, D: len(row), Stride: len(row), X: row}, c.params)
		if err != nil {
			fault = err
			return
		}
		mean, origin := means[label], in.Origin(place)+1
		if c.design.Size != "" {
			mean /= row[1]
		}
		low, high = min(low, mean), max(high, mean)
		rows.add(origin, mean, c.perUnit(row), label+1)
		panel.Points = append(panel.Points, htmlreport.Point{X: mean, Y: c.perUnit(row), Group: label, Tip: fmt.Sprintf("row %d\nmean %.6g, observed %.6g\ncomponent %d", origin, mean, c.perUnit(row), label+1)})
	})
	if err == nil {
		err = fault
	}
	if err != nil || len(panel.Points) == 0 {
		return nil, err
	}
	chart.X = []float64{low, high}
	panel.Groups = numbered("component ", min(len(c.list), mostRows))
	panel.Series = []htmlreport.Series{{Name: "observed = fitted", Y: chart.X}}
	chart.About = "Points are rows, coloured by their most probable component, at its mean. " + remark
	chart.Panels = []htmlreport.Panel{panel}
	return section(chart.Title, chart.Figure(), &rows), nil
}

// coefficientsSection compares the coefficients of the components, with their standard errors.
func (c curves) coefficientsSection() []htmlreport.Section {
	shown := c.heaviest()
	beside := sheet{caption: "coefficients ± standard errors", heads: append([]string{"coefficient"}, numbered("component ", len(shown))...), groups: append([]int{-1}, upTo(0, len(shown)-1)...), open: true}
	table := sheet{caption: "coefficients", heads: []string{"component", "coefficient", "estimate", "standard error (complete data)"}}
	if c.drawn {
		table.heads = append(table.heads, "standard error (bootstrap)")
	}
	for _, coefficient := range c.coefficients() {
		row := []any{coefficient.name}
		for k, one := range shown {
			s := one.Columns[coefficient.column]
			value, e := s.Values[coefficient.key], s.Errors[coefficient.key]
			cells := []any{k + 1, coefficient.name, value, e}
			if c.drawn {
				e = s.Drawn[coefficient.key]
				cells = append(cells, e)
			}
			table.add(cells...)
			if e == e {
				row = append(row, spread{value, e})
			} else {
				row = append(row, value)
			}
		}
		beside.add(row...)
	}
	list := section("Coefficients", nil, &beside, &table)
	list[0].Text = "Of " + c.scale() + ", in the units of the table. "
	if against := c.references(); len(against) > 0 {
		list[0].Text += "Levels are against " + enumerated(against) + ". "
	}
	if c.drawn {
		list[0].Text += "Beside ± are standard errors by bootstrap."
	} else {
		list[0].Text += "Beside ± are standard errors that take the components of the rows for known."
	}
	list[0].Wide = len(shown) > 3
	return list
}
