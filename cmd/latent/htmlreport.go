package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/internal/htmlreport"
)

// writePage writes the page of the fit, whole or not at all.
func (r *report) writePage(dir string, in *input) error {
	page, err := r.html(in)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return atomicfile.CannotWrite(dir, err)
	}
	return atomicfile.Write(filepath.Join(dir, pageName), page.Write)
}

// html is the report as a page: what was found, how, and the model itself.
func (r *report) html(in *input) (*htmlreport.Page, error) {
	page := &htmlreport.Page{
		Title: "latent fit: " + printable(in.name),
		Lead:  printable(in.describe(float64(r.N))),
		Facts: joined(r.facts()),
		Foot:  "Made by latent fit --report. The numbers in the tables are those of --format json; coordinates in the plane, cumulative shares and bins are computed from them.",
	}
	own, err := r.found.sections(in)
	if err != nil {
		return nil, err
	}
	var how []htmlreport.Section
	for _, section := range []*htmlreport.Section{r.iterationsSection(), r.prunedSection(), r.sizesSection(), r.startsSection()} {
		if section != nil {
			how = append(how, *section)
		}
	}
	for i := range max(len(own), len(how)) { // side by side on a wide screen: what was found, and how
		page.Sections = append(page.Sections, own[min(i, len(own)):min(i+1, len(own))]...)
		page.Sections = append(page.Sections, how[min(i, len(how)):min(i+1, len(how))]...)
	}
	settings, err := r.scalars()
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

// joined puts facts without a name into the one before, as further lines.
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

// cell is a number in the digits of JSON.
func (n number) cell() string { return htmlreport.Number(float64(n)) }

// mostIterations bounds the figure and the table of the iterations.
const mostIterations = 600

// iterationsSection shows criterion and K after each iteration; nil where there were none.
func (r *report) iterationsSection() *htmlreport.Section {
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
	lines := htmlreport.Lines{
		Title: r.Criterion + " and K over the iterations", XName: "iteration", WholeX: true,
		Panels: []htmlreport.Panel{
			{Name: r.Criterion + ", nats", Late: true, Points: len(shown) == 1, Series: []htmlreport.Series{{Name: r.Criterion}}},
			{Name: "K", Whole: true, Steps: true, Small: true, Points: len(shown) == 1, Series: []htmlreport.Series{{Name: "K"}}},
		},
	}
	last := len(r.Trace) - 1
	sizes := fmt.Sprintf("K stayed %d", r.KTrace[last])
	if r.KTrace[0] != r.KTrace[last] {
		sizes = fmt.Sprintf("K went from %d to %d", r.KTrace[0], r.KTrace[last])
	}
	lines.About = fmt.Sprintf("%s went from %s after the first of %s to %s after the last; %s.", r.Criterion, digits(float64(r.Trace[0])), counted(len(r.Trace), "iteration"), digits(float64(r.Trace[last])), sizes)
	if len(r.Pruned) > 0 {
		lines.About += " Dotted lines: something was pruned."
	}
	table := htmlreport.Table{Caption: "iterations", Head: []string{"iteration", r.Criterion, "objective", "K"}}
	for place, i := range shown {
		lines.X = append(lines.X, float64(i+1))
		lines.Panels[0].Series[0].Y = append(lines.Panels[0].Series[0].Y, float64(r.Trace[i]))
		lines.Panels[1].Series[0].Y = append(lines.Panels[1].Series[0].Y, float64(r.KTrace[i]))
		lines.Notes = append(lines.Notes, notes[i])
		if notes[i] != "" {
			lines.Events = append(lines.Events, place)
		}
		table.Rows = append(table.Rows, []string{strconv.Itoa(i + 1), r.Trace[i].cell(), r.Objective[i].cell(), strconv.Itoa(r.KTrace[i])})
	}
	if left := len(r.Trace) - len(shown); left > 0 {
		table.Caption += fmt.Sprintf(" (%s left out; --format json has all)", are(left, "of them"))
	}
	if len(r.Restarts) > 1 {
		lines.About += " The best of the starts is shown."
	}
	return &htmlreport.Section{Title: lines.Title, Figure: lines.Figure(), Tables: []htmlreport.Table{table}}
}

// thinned are the places 0 to n − 1, or about so many of them as there should be at most: first, last
// and the wanted ones, as far as half of them reaches, and the others at equal distances.
func thinned(n, most int, wanted []int) []int {
	if n <= most {
		return upTo(0, n-1)
	}
	list := slices.Clone(wanted[:min(len(wanted), most/2)])
	left := most - len(list)
	for i := range left {
		list = append(list, int(float64(i)/float64(left-1)*float64(n-1)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// sizesSection shows the criterion over K, where every K was fitted.
func (r *report) sizesSection() *htmlreport.Section {
	if len(r.ByK) == 0 {
		return nil
	}
	lines := htmlreport.Lines{
		Title: r.Criterion + " over K", XName: "K", WholeX: true,
		About:  fmt.Sprintf("Of K from %d to %d, %s chooses %d, the dotted line.", r.ByK[0].K, r.ByK[len(r.ByK)-1].K, r.Criterion, r.K),
		Panels: []htmlreport.Panel{{Name: r.Criterion + ", nats", Points: true, Late: true, Series: []htmlreport.Series{{Name: r.Criterion}}}},
	}
	table := htmlreport.Table{Caption: lines.Title, Head: []string{"K", r.Criterion, "converged"}}
	for i, one := range r.ByK {
		lines.X = append(lines.X, float64(one.K))
		lines.Panels[0].Series[0].Y = append(lines.Panels[0].Series[0].Y, float64(one.Value))
		if one.K == r.K {
			lines.Events = append(lines.Events, i)
		}
		table.Rows = append(table.Rows, []string{strconv.Itoa(one.K), one.Value.cell(), strconv.FormatBool(one.Converged)})
	}
	return &htmlreport.Section{Title: lines.Title, Figure: lines.Figure(), Tables: []htmlreport.Table{table}}
}

// prunedSection tells what went when, and why.
func (r *report) prunedSection() *htmlreport.Section {
	if len(r.Pruned) == 0 {
		return nil
	}
	table := htmlreport.Table{Caption: "pruned", Head: []string{"iteration", "K left", "rule", "relevance of those dropped"}, Open: true}
	for _, p := range r.Pruned[:min(len(r.Pruned), mostIterations)] {
		var relevance []string
		for _, v := range p.Relevance {
			relevance = append(relevance, v.cell())
		}
		table.Rows = append(table.Rows, []string{strconv.Itoa(p.Iteration), strconv.Itoa(p.K), p.Rule, strings.Join(relevance, ", ")})
	}
	if left := len(r.Pruned) - len(table.Rows); left > 0 {
		table.Caption += fmt.Sprintf(" (%s left out; --format json has all)", are(left, "later step"))
	}
	return &htmlreport.Section{Title: fmt.Sprintf("What was pruned from K = %d", r.KMax), Text: sentence(strings.Join(r.pruningReasons(), "; ")), Tables: []htmlreport.Table{table}}
}

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// mostOpen is how many starts are listed without being asked for.
const mostOpen = 20

// startsSection tells how the starts ended, where there were several.
func (r *report) startsSection() *htmlreport.Section {
	if len(r.Restarts) < 2 {
		return nil
	}
	table := htmlreport.Table{Caption: "starts", Head: []string{"start", "K", r.Criterion, "iterations", "status"}, Open: len(r.Restarts) <= mostOpen}
	for i, one := range r.Restarts[:min(len(r.Restarts), mostIterations)] {
		status := one.Status
		if one.Error != "" {
			status += ": " + printable(one.Error)
		}
		table.Rows = append(table.Rows, []string{strconv.Itoa(i + 1), strconv.Itoa(one.K), one.Value.cell(), strconv.Itoa(one.Iterations), status})
	}
	if left := len(r.Restarts) - len(table.Rows); left > 0 {
		table.Caption += fmt.Sprintf(" (%s left out; --format json has all)", are(left, "more start"))
	}
	return &htmlreport.Section{Title: "Starts", Text: fmt.Sprintf("%d of %d reached the best value (to %v nats).", r.reached(), len(r.Restarts), closeBy), Tables: []htmlreport.Table{table}}
}

// scalars are the numbers and texts of the JSON object that are not in lists, in its digits.
func (r *report) scalars() ([][]string, error) {
	text, err := encode(r)
	if err != nil {
		return nil, err
	}
	return scalars("", text)
}

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
