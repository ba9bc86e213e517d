package main

import (
	"fmt"
	"github.com/latent-go/latent/family"
	"math"
	"slices"
	"strings"

	"github.com/latent-go/latent/internal/htmlreport"
	"github.com/latent-go/latent/models/mixture"
)

// sections draw the weights, the Gaussian columns in a plane, and the profiles of all columns.
func (f *components) sections(in *input) ([]htmlreport.Section, error) {
	shown := f.heaviest()
	plane, err := f.planeSection(in, shown)
	if err != nil {
		return nil, err
	}
	pooled, err := f.pooled()
	return slices.Concat(plane, f.weightsSection(shown), f.probabilitiesSection(shown), f.numbersSection(shown, pooled)), err
}

// heaviest are the components that hold rows, as many as there is room for.
func (f *components) heaviest() []component {
	n := len(f.list)
	for n > 1 && f.list[n-1].Rows < 0.5 { // they are ordered by weight, and so by rows
		n--
	}
	return f.list[:min(n, mostRows)]
}

// weightsSection shows the sizes of the components.
func (f *components) weightsSection(shown []component) []htmlreport.Section {
	table := sheet{caption: "weights", heads: []string{f.noun, "weight", "standard error (complete data)", "rows"}}
	for k, c := range shown {
		table.add(k+1, c.Weight, c.WeightError, c.Rows)
	}
	chart := htmlreport.Chart{
		Title: "Weights of the " + f.noun + "s", XName: f.noun, Names: numbered("", len(shown)),
		About:  fmt.Sprintf("%s, the heaviest first.", counted(len(shown), f.noun)) + leftOut(len(f.list)-len(shown), f.noun, "of less weight"),
		Panels: []htmlreport.Panel{{Name: "weight", Height: 220, Bars: true, Series: table.series("weight", 1)}},
	}
	return section(chart.Title, chart.Figure(), &table)
}

// pooled summarises the table as one component.
func (f *components) pooled() ([]columnSummary, error) {
	numbers, err := f.model.Numbers(f.params)
	if err != nil {
		return nil, err
	}
	return summaries(f.columns, numbers, f.params.Pooled.Parameters), nil
}

// summaries are those of the columns under the numbers of one class.
func summaries(columns []column, names []family.Number, class []float64) []columnSummary {
	values := make([][]mixture.Value, len(columns))
	for i, n := range names {
		if isCovariance(n.Name) {
			continue
		}
		for j := n.From; j <= n.To; j++ {
			values[j] = append(values[j], mixture.Value{Name: n.Name, Value: class[i]})
		}
	}
	list := make([]columnSummary, len(columns))
	for j, c := range columns {
		list[j] = summarise(c, values[j])
	}
	return list
}

// A profile is one row of a heat map: a column, or one level of it.
type profile struct {
	name   string // of the row
	column int
	key    string // of the value
}

// profiles lists those of the most characteristic columns of a kind, in the order of the table;
// cut counts the columns left out.
func (f *components) profiles(of func(column int) []profile) (list []profile, cut int) {
	var taken []int
	rows := 0
	for _, j := range f.order {
		n := len(of(j))
		switch {
		case n == 0:
		case rows > 0 && rows+n > mostProfiles:
			cut++
		default:
			taken, rows = append(taken, j), rows+n
		}
	}
	slices.Sort(taken)
	for _, j := range taken {
		list = append(list, of(j)...)
	}
	return list, cut
}

// mostLevels bounds those of one column.
const mostLevels = 20

// levels are the profiles of a column of probabilities. Of many levels, those are kept that are
// likeliest in some component.
func (f *components) levels(shown []component, j int) []profile {
	c := f.columns[j]
	keys := shown[0].Columns[j].keys
	switch {
	case !familyNamed(c.Family).shares:
		return nil
	case c.Family == familyBernoulli && len(c.Levels) > 0:
		return []profile{{printable(c.Name) + " = " + printable(c.Levels[1]), j, keys[0]}}
	case c.Family != familyCategorical:
		return []profile{{printable(c.Name), j, keys[0]}}
	}
	if truth := c.truth(); truth >= 0 {
		return []profile{{printable(c.Name) + " = " + printable(keys[truth]), j, keys[truth]}}
	}
	peaks := make([]float64, len(keys))
	for l, key := range keys {
		for _, one := range shown {
			peaks[l] = max(peaks[l], float64(one.Columns[j].Values[key]))
		}
	}
	var list []profile
	for _, l := range chosen(peaks, mostLevels) {
		list = append(list, profile{printable(c.Name) + " = " + printable(keys[l]), j, keys[l]})
	}
	return list
}

// probabilitiesSection shows the columns of zeros and ones, of levels and of counts in categories.
func (f *components) probabilitiesSection(shown []component) []htmlreport.Section {
	list, cut := f.profiles(func(j int) []profile { return f.levels(shown, j) })
	if len(list) == 0 {
		return nil
	}
	heat := htmlreport.Heat{
		Title: "Probabilities", ColumnsName: f.noun, Columns: numbered("", len(shown)), High: "1",
		About: "How likely each " + f.noun + " makes a value of a column: the stronger the colour, the likelier." + leftOut(cut, "column", "less characteristic") + f.levelsLeftOut(),
	}
	table := sheet{caption: "probabilities", heads: append([]string{"column"}, heat.Columns...)}
	largest := 0.0
	for _, p := range list {
		row, values, texts := []any{p.name}, []float64{}, []string{}
		for _, c := range shown {
			v := c.Columns[p.column].Values[p.key]
			row, values, texts = append(row, v), append(values, float64(v)), append(texts, cellText(v))
		}
		largest = max(largest, slices.Max(values))
		heat.Rows, heat.Shade, heat.Texts = append(heat.Rows, p.name), append(heat.Shade, values), append(heat.Texts, texts)
		table.add(row...)
	}
	if f.family == familyMultinomial { // shares of many categories, all of them small
		heat.Shade, heat.High = htmlreport.Relative(heat.Shade), fmt.Sprintf("%.3g", largest)
	}
	return section(heat.Title, heat.Figure(), &table)
}

// levelsLeftOut is a sentence about columns with more levels than are shown.
func (f *components) levelsLeftOut() string {
	for _, c := range f.columns {
		if c.Family == familyCategorical && len(c.Levels) > mostLevels {
			return fmt.Sprintf(" Of columns with more than %d levels, the likeliest are shown (--format json has all).", mostLevels)
		}
	}
	return ""
}

// numbersSection shows the columns of numbers: how far a component's mean is from that of the table,
// in standard deviations of the table.
func (f *components) numbersSection(shown []component, pooled []columnSummary) []htmlreport.Section {
	list, cut := f.profiles(func(j int) []profile {
		if familyNamed(f.columns[j].Family).shares {
			return nil
		}
		return []profile{{name: printable(f.columns[j].Name), column: j}}
	})
	if len(list) == 0 {
		return nil
	}
	heat := htmlreport.Heat{
		Title: "Means beside those of the table", ColumnsName: f.noun, Columns: numbered("", len(shown)),
		About: "How far a " + f.noun + "'s mean of a column is from the whole table's, in standard deviations of the table under the same family: blue above, orange below." + leftOut(cut, "column", "less characteristic"),
	}
	table := sheet{caption: "parameters of the columns", heads: append([]string{"column", "number"}, heat.Columns...)}
	largest := 0.0
	for _, p := range list {
		moments := familyNamed(f.columns[p.column].Family).moments
		mean, sd := moments(pooled[p.column].Values)
		var scores []float64
		var texts []string
		for _, c := range shown {
			s := c.Columns[p.column]
			own, _ := moments(s.Values)
			score := float64((own - mean) / sd)
			if !math.IsNaN(score) && !math.IsInf(score, 0) {
				largest = max(largest, math.Abs(score))
			}
			var parts []string
			for _, key := range s.keys {
				parts = append(parts, key+" "+cellText(s.Values[key]))
			}
			scores, texts = append(scores, score), append(texts, strings.Join(parts, ", "))
		}
		heat.Rows, heat.Shade, heat.Texts = append(heat.Rows, p.name), append(heat.Shade, scores), append(heat.Texts, texts)
		for _, key := range shown[0].Columns[p.column].keys {
			row := []any{p.name, key}
			for _, c := range shown {
				row = append(row, c.Columns[p.column].Values[key])
			}
			table.add(row...)
		}
	}
	heat.Shade = htmlreport.Relative(heat.Shade)
	heat.Low, heat.High = fmt.Sprintf("−%.2g", largest), fmt.Sprintf("%.2g", largest)
	return section(heat.Title, heat.Figure(), &table)
}
