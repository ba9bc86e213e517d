package classes

import (
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// Sections show the profiles of the columns, those that separate most first, the rows in a plane, how sure rows are of
// their components, and the correlations within.
func (f *Components) Sections() ([]report.Section, error) {
	shown := f.Heaviest()
	pooled, err := f.pooled()
	if err != nil {
		return nil, err
	}
	plane, err := f.planeSections(shown)
	if err != nil {
		return nil, err
	}
	certainty, err := f.CertaintySection(shown)
	first, next := f.numbersSection(shown, pooled), f.probabilitiesSection(shown, pooled)
	if len(shown) > wording.MostShaded && f.levels(shown, f.Order[0]) != nil { // which separates most
		first, next = next, first
	}
	return slices.Concat(first, next, plane, certainty, f.groups.Sections(), f.correlationsSection(shown)), err
}

// Heaviest are the components that hold rows, as many as there is room for.
func (f *Components) Heaviest() []Component {
	n := len(f.List)
	for n > 1 && f.List[n-1].Rows < 0.5 { // they are ordered by weight, and so by rows
		n--
	}
	return f.List[:min(n, wording.MostRows)]
}

// Weights are the sizes of the components as a table.
func (f *Components) Weights(shown []Component) report.Table {
	table := report.Table{
		Caption: "weights",
		Columns: report.Columns(f.Noun, "weight", "standard error (complete data)", "rows, expected", "rows, assigned"),
	}
	for k, c := range shown {
		table.Add(k+1, c.Weight, c.WeightError, c.Rows, c.Assigned)
	}
	return table
}

// pooled summarises the table as one component.
func (f *Components) pooled() ([]ColumnSummary, error) {
	numbers, err := f.Model.Numbers(f.Mixture)
	if err != nil {
		return nil, err
	}
	return summaries(f.Columns, numbers, f.Mixture.Pooled.Parameters), nil
}

// summaries are those of the columns under the numbers of one class.
func summaries(columns []data.Column, names []family.Number, class []float64) []ColumnSummary {
	values := make([][]mixture.Value, len(columns))
	for i, n := range names {
		if isCovariance(n.Name) || n.From >= len(columns) { // the label of a known class
			continue
		}
		for j := n.From; j <= n.To; j++ {
			values[j] = append(values[j], mixture.Value{Name: n.Name, Value: class[i]})
		}
	}
	list := make([]ColumnSummary, len(columns))
	for j, c := range columns {
		list[j], _ = summarise(c, values[j])
	}
	return list
}

// A profile is one row of a heat map: a column, or one level of it.
type profile struct {
	name   string // of the row
	level  string // that it is about, of columns of levels
	column int
	key    string // of the value
}

// profiles lists those of the columns of a kind that separate most, in that order; cut counts the columns left out.
func (f *Components) profiles(of func(column int) []profile) (list []profile, cut int) {
	for _, j := range f.Order {
		own := of(j)
		switch {
		case len(own) == 0:
		case len(list) > 0 && len(list)+len(own) > wording.MostProfiles:
			cut++
		default:
			list = append(list, own...)
		}
	}
	return list, cut
}

// mostLevels bounds those of one column.
const mostLevels = 20

// levels are the profiles of a column of probabilities. Of many levels, those are kept that are
// likeliest in some component.
func (f *Components) levels(shown []Component, j int) []profile {
	c := f.Columns[j]
	keys := shown[0].Columns[j].Keys
	switch {
	case !families.Named(c.Family).Shares:
		return nil
	case (c.Family == families.Bernoulli || c.Family == families.Indicators) && len(c.Levels) > 0:
		return []profile{profileOf(c, j, c.Levels[1], keys[0])}
	case c.Family != families.Categorical:
		return []profile{{name: report.Printable(c.Name), level: keys[0], column: j, key: keys[0]}}
	}
	if len(keys) == 2 { // one says both
		l := Truth(c)
		if l < 0 {
			l = 1
		}
		return []profile{profileOf(c, j, keys[l], keys[l])}
	}
	peaks := make([]float64, len(keys))
	for l, key := range keys {
		for _, one := range shown {
			peaks[l] = max(peaks[l], float64(one.Columns[j].Values[key]))
		}
	}
	var list []profile
	for _, l := range wording.Largest(peaks, mostLevels) {
		list = append(list, profileOf(c, j, keys[l], keys[l]))
	}
	return list
}

// profileOf is the row of a level.
func profileOf(c data.Column, j int, level, key string) profile {
	level = report.Printable(level)
	return profile{report.Printable(c.Name) + " = " + level, level, j, key}
}

// heat draws a table of profiles of more classes than it has room for in columns: nil of fewer, and of tables that have
// a row for each class. Rows of several levels of one column stand below its name.
func (f *Components) heat(t report.Table, heat report.Heat, list []profile) report.Figure {
	const first = 3 // column of a class, after name, separation and all rows
	k := len(t.Columns) - first
	if k <= wording.MostShaded || len(t.Rows) != len(list) || t.Columns[first].Class == 0 {
		return nil
	}
	heat.Columns, heat.ColumnsName, heat.Classes = wording.Numbered("", k), f.Noun, true
	several := slices.ContainsFunc(list, func(p profile) bool {
		return slices.IndexFunc(list, func(o profile) bool { return o.column == p.column && o != p }) >= 0
	})
	for i, row := range t.Rows {
		p := list[i]
		var shades []float64
		var texts []string
		for _, cell := range row[first:] {
			shades = append(shades, cell.Shade)
			texts = append(texts, fmt.Sprintf("%s (all rows %s)", cell, row[first-1]))
		}
		name, head := row[0].String(), ""
		if several {
			if name = p.level; i == 0 || list[i-1].column != p.column {
				head = fmt.Sprintf("%s (separation %s)", report.Printable(f.Columns[p.column].Name), row[1])
			}
		}
		heat.Rows, heat.Heads = append(heat.Rows, name), append(heat.Heads, head)
		heat.Shade, heat.Texts = append(heat.Shade, shades), append(heat.Texts, texts)
	}
	return heat
}

// mapped is a section with a table of profiles, and where there are many classes its heat map, above the numbers.
func (f *Components) mapped(of report.Heat, t report.Table, list []profile, further ...report.Table) []report.Section {
	t = turned(t, f.Noun)
	figure := f.heat(t, of, list)
	t.Open = figure == nil
	result := report.Single(of.Title, figure, append([]report.Table{t}, further...)...)
	if figure == nil {
		result[0].Wide, result[0].Text = true, of.About
	}
	return result
}

// profileColumns are those of a table of profiles.
func (f *Components) profileColumns(shown []Component) []report.Column {
	if len(shown) == 1 {
		return report.Columns("column", "all rows")
	}
	return append(report.Columns("column", "separation", "all rows"),
		report.Classes(wording.Numbered("", len(shown))...)...)
}

// aboutSeparation explains a column of profiles.
func (f *Components) aboutSeparation(shown []Component) string {
	if len(shown) == 1 {
		return ""
	}
	return fmt.Sprintf(" Separation is how far the %ss' distributions of the column are from that of all rows, in "+
		"nats a row: columns are in its order.", f.Noun)
}

// probabilitiesSection shows the columns of zeros and ones, of levels and of counts in categories.
func (f *Components) probabilitiesSection(shown []Component, pooled []ColumnSummary) []report.Section {
	list, cut := f.profiles(func(j int) []profile { return f.levels(shown, j) })
	if len(list) == 0 {
		return nil
	}
	table := report.Table{Caption: "probabilities"}
	table.Columns = f.profileColumns(shown)
	largest := 0.0
	for _, p := range list {
		all := pooled[p.column].Values[p.key]
		for _, c := range shown {
			largest = max(largest, math.Abs(float64(c.Columns[p.column].Values[p.key]-all)))
		}
	}
	for _, p := range list {
		all := pooled[p.column].Values[p.key]
		if len(shown) == 1 {
			table.Add(p.name, report.Share(shown[0].Columns[p.column].Values[p.key]))
			continue
		}
		row := []any{p.name, report.Decimals(f.separation[p.column]), report.Share(all)}
		for _, c := range shown {
			v := c.Columns[p.column].Values[p.key]
			row = append(row, report.Shaded(report.Share(v), float64(v-all)/max(largest, math.SmallestNonzeroFloat64)))
		}
		table.Add(row...)
	}
	text := fmt.Sprintf("How likely each %s makes a value of a column.", f.Noun)
	if len(shown) > 1 {
		table.Low, table.High = fmt.Sprintf("%.2g points less than in all rows", 100*largest),
			fmt.Sprintf("%.2g points more", 100*largest)
	}
	text += f.aboutSeparation(shown) + wording.LeftOut(cut, "column", "which separate less") + f.levelsLeftOut()
	return f.mapped(report.Heat{Title: "Probabilities by " + f.Noun, About: text,
		Low: fmt.Sprintf("%.2g points less", 100*largest), High: fmt.Sprintf("%.2g more", 100*largest)}, table, list)
}

// levelsLeftOut is a sentence about columns with more levels than are shown.
func (f *Components) levelsLeftOut() string {
	for _, c := range f.Columns {
		if c.Family == families.Categorical && len(c.Levels) > mostLevels {
			return fmt.Sprintf(" Of columns with more than %d levels, the likeliest are shown (--format json has all).",
				mostLevels)
		}
	}
	return ""
}

// numbersSection shows the columns of numbers: the mean of each component, its standard deviation, and how far that is
// from the mean of the table, in standard deviations of the table.
func (f *Components) numbersSection(shown []Component, pooled []ColumnSummary) []report.Section {
	list, cut := f.profiles(func(j int) []profile {
		if families.Named(f.Columns[j].Family).Shares {
			return nil
		}
		return []profile{{name: report.Printable(f.Columns[j].Name), column: j}}
	})
	if len(list) == 0 {
		return nil
	}
	every := list
	list = slices.DeleteFunc(slices.Clone(every), func(p profile) bool { return !f.measured(p.column) })
	if len(list) == 0 {
		result := report.Single("Numbers by "+f.Noun, nil, f.parametersSheet(shown, every))
		result[0].Text = fmt.Sprintf("The parameters of each column in each %s, by the names of its family.", f.Noun) +
			wording.LeftOut(cut, "column", "")
		return result
	}
	table := report.Table{Caption: "means ± standard deviations"}
	table.Columns = f.profileColumns(shown)
	scores, largest := make([][]float64, len(list)), 0.0
	for i, p := range list {
		all := f.wholeOf(p.column, pooled)
		for _, c := range shown {
			score := (f.spreadOf(c.Columns[p.column], p.column).Value - all.Value) / all.SD
			scores[i] = append(scores[i], score)
			if !math.IsNaN(score) && !math.IsInf(score, 0) {
				largest = max(largest, math.Abs(score))
			}
		}
	}
	for i, p := range list {
		if len(shown) == 1 {
			table.Add(p.name, f.spreadOf(shown[0].Columns[p.column], p.column))
			continue
		}
		row := []any{p.name, report.Decimals(f.separation[p.column]), f.wholeOf(p.column, pooled)}
		for k, c := range shown {
			row = append(row,
				report.Shaded(f.spreadOf(c.Columns[p.column], p.column), scores[i][k]/max(largest, math.SmallestNonzeroFloat64)))
		}
		table.Add(row...)
	}
	if len(shown) > 1 {
		table.Low, table.High = fmt.Sprintf("lower by %.2g sd of all rows", largest),
			fmt.Sprintf("higher by %.2g sd", largest)
	}
	text := fmt.Sprintf("Mean ± standard deviation of each column in each %s.", f.Noun) + f.aboutSeparation(shown) +
		wording.LeftOut(cut, "column", "which separate less")
	return f.mapped(report.Heat{Title: "Means by " + f.Noun, About: text, Low: fmt.Sprintf("lower by %.2g sd", largest),
		High: fmt.Sprintf("higher by %.2g", largest)}, table, list, f.parametersSheet(shown, every))
}

// wholeOf are mean and standard deviation of a column over all rows: of the rows, or, of levels in an order, of their
// distribution.
func (f *Components) wholeOf(j int, pooled []ColumnSummary) report.Cell {
	if f.Columns[j].Family == families.Ordinal {
		return f.spreadOf(pooled[j], j)
	}
	return f.whole(j)
}

// parametersSheet has all numbers of the columns by their names.
func (f *Components) parametersSheet(shown []Component, list []profile) report.Table {
	table := report.Table{
		Caption: "parameters of the columns",
		Columns: append(report.Columns("column", "number"), report.Classes(wording.Numbered("", len(shown))...)...),
	}
	for _, p := range list {
		for _, key := range shown[0].Columns[p.column].Keys {
			row := []any{p.name, quantity(f.Columns[p.column], key)}
			for _, c := range shown {
				row = append(row, c.Columns[p.column].Values[key])
			}
			table.Add(row...)
		}
	}
	return table
}

// turned is a table of profiles with a row for each class where that is narrower.
func turned(t report.Table, noun string) report.Table {
	if len(t.Columns) <= mostBeside+3 || len(t.Rows) > mostBeside+3 {
		return t
	}
	across := report.Table{Caption: t.Caption, Columns: report.Columns(noun), Open: t.Open, Low: t.Low, High: t.High}
	for _, row := range t.Rows {
		across.Columns = append(across.Columns, report.Column{Name: row[0].String()})
	}
	for j, head := range t.Columns[1:] {
		cells := []any{head.Name}
		for _, row := range t.Rows {
			cells = append(cells, row[j+1])
		}
		across.Add(cells...)
	}
	return across
}
