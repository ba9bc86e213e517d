package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/internal/htmlreport"
)

// A sheet is a table of a page. Figures take their values from its columns, so that each
// number that is drawn can be read.
type sheet struct {
	caption string
	heads   []string
	rows    [][]any // int, bool, string, number or float64
	open    bool    // shown at once
}

func (t *sheet) add(cells ...any) { t.rows = append(t.rows, cells) }

// series draws column j.
func (t *sheet) series(name string, j int) []htmlreport.Series {
	return []htmlreport.Series{{Name: name, Y: t.column(j)}}
}

// column is a column of numbers.
func (t *sheet) column(j int) (values []float64) {
	for _, row := range t.rows {
		switch v := row[j].(type) {
		case int:
			values = append(values, float64(v))
		case number:
			values = append(values, float64(v))
		case float64:
			values = append(values, v)
		}
	}
	return values
}

// section shows a figure, if any, above its tables.
func section(title string, figure *htmlreport.Figure, sheets ...*sheet) []htmlreport.Section {
	list := htmlreport.Section{Title: title, Figure: figure}
	for _, t := range sheets {
		table := htmlreport.Table{Caption: t.caption, Head: t.heads, Open: t.open}
		for _, row := range t.rows {
			var cells []string
			for _, cell := range row {
				cells = append(cells, cellText(cell))
			}
			table.Rows = append(table.Rows, cells)
		}
		list.Tables = append(list.Tables, table)
	}
	return []htmlreport.Section{list}
}

// cellText is a value in the digits of JSON.
func cellText(cell any) string {
	switch v := cell.(type) {
	case number:
		return htmlreport.Number(float64(v))
	case float64:
		return htmlreport.Number(v)
	case string:
		return printable(v)
	}
	return fmt.Sprint(cell)
}

// writePage writes the page of the fit, completely or not at all.
func (r *report) writePage(dir string, in *input) error {
	page, err := r.html(in)
	if err != nil {
		return err
	}
	if err := atomicfile.MkdirAll(dir); err != nil {
		return atomicfile.CannotWrite(dir, err)
	}
	return atomicfile.Write(filepath.Join(dir, pageName), page.Write)
}

// html is the report as a page: what was found, how, and the model itself.
func (r *report) html(in *input) (*htmlreport.Page, error) {
	page := &htmlreport.Page{
		Title: "latent fit: " + printable(in.name),
		Lead:  in.describe(float64(r.N)),
		Facts: joined(r.facts()),
		Foot:  "Made by latent fit --report. The numbers in the tables are those of --format json; coordinates in the plane, cumulative shares and bins are computed from them.",
	}
	own, err := r.found.sections(in)
	if err != nil {
		return nil, err
	}
	how := slices.Concat(r.agreementSection(), r.iterationsSection(), r.prunedSection(), r.sizesSection(), r.startsSection())
	for i := range max(len(own), len(how)) { // beside each other on a wide screen: what was found, and how
		page.Sections = append(page.Sections, own[min(i, len(own)):min(i+1, len(own))]...)
		page.Sections = append(page.Sections, how[min(i, len(how)):min(i+1, len(how))]...)
	}
	text, err := encode(r)
	if err != nil {
		return nil, err
	}
	settings, err := scalars("", text)
	if err != nil {
		return nil, err
	}
	page.Sections = append(page.Sections, htmlreport.Section{
		Title:  "Results and settings",
		Wide:   true,
		Text:   "What it takes to make the fit again, by the names of --format json.",
		Tables: []htmlreport.Table{{Caption: "Results and settings", Head: []string{"name", "value"}, Rows: settings}},
	})
	return page, nil
}

// joined puts facts without a name into the one before, as further chart.
func joined(facts [][2]string) (list [][2]string) {
	for _, f := range facts {
		if last := len(list) - 1; f[0] == "" && last >= 0 {
			list[last][1] += "\n" + f[1]
		} else {
			list = append(list, f)
		}
	}
	return list
}

// mostIterations bounds the figure and the table of the iterations.
const mostIterations = 600

// iterationsSection shows criterion and K after each iteration, where there were any.
func (r *report) iterationsSection() []htmlreport.Section {
	if len(r.Trace) == 0 {
		return nil
	}
	var at []int // of prunings
	notes := map[int]string{}
	for _, p := range r.Pruned {
		if i := p.Iteration - 1; i >= 0 && i < len(r.Trace) {
			at = append(at, i)
			notes[i] = strings.TrimPrefix(notes[i]+"\n"+fmt.Sprintf("pruned to %d by the rule %s", p.K, p.Rule), "\n")
		}
	}
	shown := thinned(len(r.Trace), mostIterations, at)
	table := sheet{caption: "iterations" + leftIn(len(r.Trace)-len(shown), "of them"), heads: []string{"iteration", r.Criterion, "objective", "K"}}
	chart := htmlreport.Chart{Title: r.Criterion + " and K over the iterations", XName: "iteration", IntegerX: true}
	for place, i := range shown {
		table.add(i+1, r.Trace[i], r.Objective[i], r.KTrace[i])
		chart.Notes = append(chart.Notes, notes[i])
		if notes[i] != "" {
			chart.Events = append(chart.Events, place)
		}
	}
	chart.X = table.column(0)
	chart.Panels = []htmlreport.Panel{
		{Name: r.Criterion + ", nats", Late: true, Dots: len(shown) == 1, Series: table.series(r.Criterion, 1)},
		{Name: "K", Integer: true, Steps: true, Height: 90, Dots: len(shown) == 1, Series: table.series("K", 3)},
	}
	last := len(r.Trace) - 1
	sizes := fmt.Sprintf("K stayed %d", r.KTrace[last])
	if r.KTrace[0] != r.KTrace[last] {
		sizes = fmt.Sprintf("K went from %d to %d", r.KTrace[0], r.KTrace[last])
	}
	chart.About = fmt.Sprintf("%s went from %s after the first of %s to %s after the last; %s.", r.Criterion, digits(float64(r.Trace[0])), counted(len(r.Trace), "iteration"), digits(float64(r.Trace[last])), sizes)
	if len(r.Pruned) > 0 {
		chart.About += " Dotted lines: something was pruned."
	}
	if len(r.Restarts) > 1 {
		chart.About += " The best of the starts is shown."
	}
	return section(chart.Title, chart.Figure(), &table)
}

// leftIn ends a caption: JSON has what a table has no room for.
func leftIn(n int, thing string) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%s left out; --format json has all)", are(n, thing))
}

// thinned are the places 0 to n − 1, or about so many of them as there should be at most: first, last,
// the required ones, as far as half of them reaches, and the others at equal distances.
func thinned(n, most int, required []int) []int {
	if n <= most {
		return upTo(0, n-1)
	}
	list := slices.Clone(required[:min(len(required), most/2)])
	left := most - len(list)
	for i := range left {
		list = append(list, int(float64(i)/float64(left-1)*float64(n-1)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// sizesSection shows the criterion over K, where every K was fitted.
func (r *report) sizesSection() []htmlreport.Section {
	if len(r.ByK) == 0 {
		return nil
	}
	chart := htmlreport.Chart{
		Title: r.Criterion + " over K", XName: "K", IntegerX: true,
		About: fmt.Sprintf("Of K from %d to %d, %s chooses %d, the dotted line.", r.ByK[0].K, r.ByK[len(r.ByK)-1].K, r.Criterion, r.K),
	}
	table := sheet{caption: chart.Title, heads: []string{"K", r.Criterion, "converged"}}
	for i, one := range r.ByK {
		table.add(one.K, one.Value, one.Converged)
		if one.K == r.K {
			chart.Events = append(chart.Events, i)
		}
	}
	chart.X = table.column(0)
	chart.Panels = []htmlreport.Panel{{Name: r.Criterion + ", nats", Dots: true, Late: true, Series: table.series(r.Criterion, 1)}}
	return section(chart.Title, chart.Figure(), &table)
}

// prunedSection says what went when, and why.
func (r *report) prunedSection() []htmlreport.Section {
	if len(r.Pruned) == 0 {
		return nil
	}
	table := sheet{caption: "pruned" + leftIn(len(r.Pruned)-mostIterations, "later step"), heads: []string{"iteration", "K left", "rule", "relevance of those dropped", r.Criterion + " before", "after"}, open: true}
	for _, p := range r.Pruned[:min(len(r.Pruned), mostIterations)] {
		table.add(p.Iteration, p.K, p.Rule, abridgedNumbers(p.Relevance), p.Before, p.After)
	}
	list := section(fmt.Sprintf("What was pruned from K = %d", r.KMax), nil, &table)
	reasons := strings.Join(r.pruningReasons(), "; ")
	list[0].Text = strings.ToUpper(reasons[:1]) + reasons[1:] + "."
	return list
}

// mostOpen is how many starts are listed without being asked for.
const mostOpen = 20

// startsSection says how the starts ended, where there were several.
func (r *report) startsSection() []htmlreport.Section {
	if len(r.Restarts) < 2 {
		return nil
	}
	table := sheet{caption: "starts" + leftIn(len(r.Restarts)-mostIterations, "more start"), heads: []string{"start", "K", r.Criterion, "iterations", "status"}, open: len(r.Restarts) <= mostOpen}
	for i, one := range r.Restarts[:min(len(r.Restarts), mostIterations)] {
		table.add(i+1, one.K, one.Value, one.Iterations, one.ending())
	}
	list := section("Starts", nil, &table)
	list[0].Text = fmt.Sprintf("%d of %d reached the best value (to %v nats).", r.reached(), r.apart(), closeBy)
	return list
}

// scalars are the numbers and texts of a JSON object that are not in lists, in its digits.
func scalars(prefix string, object json.RawMessage) (rows [][]string, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil { // {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint(prefix, key)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		switch {
		case name == "params" || name == "posterior" || value[0] == '[':
		case value[0] == '{':
			inner, err := scalars(name+".", value)
			if err != nil {
				return nil, err
			}
			rows = append(rows, inner...)
		case value[0] == '"':
			var text string
			if err := json.Unmarshal(value, &text); err != nil {
				return nil, err
			}
			rows = append(rows, []string{name, printable(text)})
		case string(value) == "null":
			rows = append(rows, []string{name, htmlreport.Missing})
		default:
			rows = append(rows, []string{name, string(value)})
		}
	}
	return rows, nil
}

// chosen are the places of the largest values, in their order; at most so many.
func chosen(values []float64, most int) []int {
	order := upTo(0, len(values)-1)
	if len(order) <= most {
		return order
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[j], values[i]) })
	order = order[:most]
	slices.Sort(order)
	return order
}
