package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/internal/htmlreport"
)

// A sheet is a table of a page. Figures take their values from its columns, so that each
// number that is drawn can be read.
type sheet struct {
	caption   string
	heads     []string
	groups    []int   // of the columns, for their colours; negative: none. nil: none has a group
	rows      [][]any // int, bool, string, or what cellOf takes for a number
	open      bool    // shown at once
	low, high string  // what the strongest shades mean
}

// A shaded cell has a colour, from −1 to 1.
type shaded struct {
	value any
	shade float64
}

// A nats is a number in nats, of which two decimals are read.
type nats float64

// A share is a probability or a part of a whole, read in percent.
type share float64

// percents is a share of which the sign is in the head of its column.
type percents float64

// decimals is a number near 1 of which two decimals are read, such as a correlation.
type decimals float64

// precise is a number of any kind, such as a criterion or a tolerance: three decimals of a large one.
type precise float64

// A spread is a mean and its standard deviation.
type spread struct{ mean, sd number }

func (t *sheet) add(cells ...any) { t.rows = append(t.rows, cells) }

// series draws column j.
func (t *sheet) series(name string, j int) []htmlreport.Series {
	return []htmlreport.Series{{Name: name, Y: t.column(j)}}
}

// column is a column of numbers.
func (t *sheet) column(j int) (values []float64) {
	for _, row := range t.rows {
		if v, ok := float(row[j]); ok {
			values = append(values, v)
		}
	}
	return values
}

// float is the number of a cell.
func float(cell any) (v float64, ok bool) {
	switch v := cell.(type) {
	case int:
		return float64(v), true
	case number:
		return float64(v), true
	case nats:
		return float64(v), true
	case share:
		return float64(v), true
	case decimals:
		return float64(v), true
	case percents:
		return float64(v), true
	case precise:
		return float64(v), true
	case shaded:
		return float(v.value)
	case float64:
		return v, true
	}
	return 0, false
}

// section shows a figure, if any, above its tables.
func section(title string, figure *htmlreport.Figure, sheets ...*sheet) []htmlreport.Section {
	list := htmlreport.Section{Title: title, Figure: figure}
	for _, t := range sheets {
		list.Tables = append(list.Tables, t.table())
	}
	return []htmlreport.Section{list}
}

func (t *sheet) table() htmlreport.Table {
	table := htmlreport.Table{Caption: t.caption, Head: t.heads, Groups: t.groups, Open: t.open, Low: t.low, High: t.high}
	for _, row := range t.rows {
		var cells []htmlreport.Cell
		for _, cell := range row {
			cells = append(cells, cellOf(cell))
		}
		table.Rows = append(table.Rows, cells)
	}
	return table
}

// cellOf writes a value as a person reads it, with the digits of JSON beside it where those are more.
func cellOf(cell any) htmlreport.Cell {
	switch v := cell.(type) {
	case shaded:
		c := cellOf(v.value)
		c.Shade = v.shade
		return c
	case spread:
		return htmlreport.Cell{Text: meanAndSD(float64(v.mean), float64(v.sd))}
	case string:
		return htmlreport.Cell{Text: printable(v)}
	}
	v, ok := float(cell)
	if !ok {
		return htmlreport.Cell{Text: fmt.Sprint(cell)}
	}
	c := htmlreport.Cell{Text: cellText(cell), Value: htmlreport.Number(v)}
	if c.Text == c.Value {
		c.Value = ""
	}
	return c
}

// cellText is a number as a person reads it.
func cellText(cell any) string {
	switch v := cell.(type) {
	case nats:
		return htmlreport.Fixed(float64(v), 2)
	case decimals:
		return htmlreport.Fixed(float64(v), 2)
	case percents:
		return htmlreport.Fixed(100*float64(v), 1)
	case precise:
		if size := math.Abs(float64(v)); size >= 1 && size < 1e9 {
			return htmlreport.Fixed(float64(v), 3)
		}
		return htmlreport.Readable(float64(v))
	case share:
		return percentage(float64(v))
	case number:
		return htmlreport.Readable(float64(v))
	case float64:
		return htmlreport.Readable(v)
	}
	return fmt.Sprint(cell)
}

// noBreak is a space at which no line ends.
const noBreak = "\u00a0"

// percentage is a share as a person reads it: 0 % and 100 % mean exactly that.
func percentage(p float64) string {
	switch {
	case p > 0 && p < 0.001:
		return "<" + noBreak + "0.1" + noBreak + "%"
	case p < 1 && p > 0.999:
		return ">" + noBreak + "99.9" + noBreak + "%"
	case p > 0.0995 && p < 0.9005 || p == 0 || p == 1:
		return htmlreport.Fixed(100*p, 0) + noBreak + "%"
	case p != p:
		return htmlreport.Missing
	}
	return htmlreport.Fixed(100*p, 1) + noBreak + "%"
}

// meanAndSD writes both with the decimals that the standard deviation needs for two digits, or three of which the first is 1.
func meanAndSD(mean, sd float64) string {
	if !(sd > 0) || math.IsInf(sd, 0) || sd < 1e-4 || math.Abs(mean) >= 1e7 || sd >= 1e7 {
		return htmlreport.Readable(mean) + noBreak + "±" + noBreak + htmlreport.Readable(sd)
	}
	decimals := 1 - int(math.Floor(math.Log10(sd/2)))
	return htmlreport.Fixed(mean, decimals) + noBreak + "±" + noBreak + htmlreport.Fixed(sd, decimals)
}

// writePage writes a page into a folder, which is made where it is missing: all of it, or nothing.
func writePage(dir string, page *htmlreport.Page) error {
	return atomicfile.WriteIn(dir, pageName, page.Write)
}

// html is the report as a page: what was found, the model itself, how sure that is, and last how it was fitted.
func (r *report) html(in *input) (*htmlreport.Page, error) {
	page := &htmlreport.Page{
		Title: isolated(in.title()),
		Lead: fmt.Sprintf("%s. %s, %s, fitted by latent with method %s.", in.contents(float64(r.N)), r.modelName(),
			strings.TrimPrefix(r.what, strings.ToLower(r.modelName())+", "), r.Method),
		Foot: "Made by latent fit --report. The numbers in the tables are those of --format json, rounded: it has all digits. Coordinates in the plane, cumulative shares and bins are computed from them.",
	}
	finding, err := r.findingSection(in)
	if err != nil {
		return nil, err
	}
	own, err := r.found.sections(in)
	if err != nil {
		return nil, err
	}
	settings, err := settingsSection(r)
	page.Sections = slices.Concat(finding, own, r.agreementSection(), r.sizesSection(), r.gapsSection(in),
		r.factsSection(), r.iterationsSection(), r.prunedSection(), r.startsSection(), settings)
	return page, err
}

// modelName is what the model is called in the field.
func (r *report) modelName() string {
	switch r.Model {
	case "bernmix":
		return "Bernoulli mixture"
	case "hmm":
		return "Hidden Markov model"
	case "bpca":
		return "Bayesian PCA"
	case "ppca":
		return "Probabilistic PCA"
	case "factor":
		return "Factor analysis"
	case "features":
		return "Binary features"
	case "vbmf":
		return "Variational Bayesian matrix factorisation"
	case "blockmodel":
		return "Stochastic block model"
	case modelOfCurves:
		return "Mixture of regressions"
	}
	return capital(r.Model)
}

// shortly is a warning that names the file without its folders.
func (in *input) shortly(warning string) string {
	return printable(strings.ReplaceAll(warning, in.name, filepath.Base(in.name)))
}

// title is the name of the file, without its folders.
func (in *input) title() string { return printable(filepath.Base(in.name)) }

// contents are the rows and columns, without the name of the table.
func (in *input) contents(n float64) string {
	return strings.TrimPrefix(in.describe(n), printable(in.name)+": ")
}

// isolated keeps the direction in which a name is written from what stands beside it.
func isolated(name string) string {
	const first, last = "\u2068", "\u2069" // first strong isolate, pop directional isolate
	if strings.IndexFunc(name, func(r rune) bool {
		return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam)
	}) < 0 {
		return name
	}
	return first + name + last
}

// findingSection says first what was found: what the model says of it, or its size, and the warnings of the fit.
func (r *report) findingSection(in *input) ([]htmlreport.Section, error) {
	list := htmlreport.Section{Text: fmt.Sprintf("K = %s.", r.choice())}
	if r.found.finding != nil {
		var err error
		if list, err = r.found.finding(in); err != nil {
			return nil, err
		}
	}
	list.Title, list.Wide = "What was found", true
	list.Text = strings.TrimSpace(list.Text + " " + r.clarity())
	for _, warning := range r.Warnings {
		list.Warnings = append(list.Warnings, in.shortly(warning))
	}
	return []htmlreport.Section{list}, nil
}

// factsSection has what there is in the text of the command.
func (r *report) factsSection() []htmlreport.Section {
	return []htmlreport.Section{{Title: "The fit", Facts: joined(r.facts())}}
}

// settingsSection has the numbers and texts of the object that --format json writes: what it takes to make it again.
func settingsSection(object any) ([]htmlreport.Section, error) {
	text, err := encode(object)
	if err != nil {
		return nil, err
	}
	settings, err := scalars("", text)
	if err != nil {
		return nil, err
	}
	table := sheet{caption: "Results and settings", heads: []string{"name", "value"}}
	for _, row := range settings {
		if v, err := strconv.ParseFloat(row[1], 64); err == nil && strings.ContainsAny(row[1], ".e") {
			table.add(row[0], precise(v))
		} else {
			table.add(row[0], row[1])
		}
	}
	list := section("Results and settings", nil, &table)
	list[0].Wide, list[0].Text = true, "What it takes to make this again, by the names of --format json."
	return list, nil
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

// leftIn ends a caption: JSON has what a table has no room for.
func leftIn(n int, thing string) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%s not listed; --format json has all)", are(n, thing))
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

// byValue puts places into the order of their values, the largest first.
func byValue(values []float64, places []int) []int {
	list := slices.Clone(places)
	slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(values[j], values[i]) })
	return list
}
