package main

import (
	"fmt"
	"math"
	"slices"

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
	return slices.Concat(first, c.coefficientsSection(), c.weightsSection(c.heaviest())), err
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
	panel.Series = []htmlreport.Series{{Name: "observed = fitted", Y: chart.X}}
	chart.About = "Points are rows, coloured by their most probable component, at its mean. " + remark
	chart.Panels = []htmlreport.Panel{panel}
	return section(chart.Title, chart.Figure(), &rows), nil
}

// coefficientsSection lists the coefficients with their standard errors.
func (c curves) coefficientsSection() []htmlreport.Section {
	shown := c.heaviest()
	table := sheet{caption: "coefficients", heads: []string{"component", "number", "estimate", "standard error (complete data)"}, open: true}
	drawn := c.drawn
	if drawn {
		table.heads = append(table.heads, "standard error (bootstrap)")
	}
	for k, one := range shown {
		for _, coefficient := range c.coefficients() {
			s := one.Columns[coefficient.column]
			cells := []any{k + 1, coefficient.name, s.Values[coefficient.key], s.Errors[coefficient.key]}
			if drawn {
				cells = append(cells, s.Drawn[coefficient.key])
			}
			table.add(cells...)
		}
	}
	list := section("Coefficients", nil, &table)
	list[0].Text = "Of " + c.responseName() + ", in the units of the table" + map[string]string{familyPoisson: ", on the scale of ln of the mean", familyBinomial: ", on the scale of the log odds"}[c.design.Distribution] + "."
	return list
}
