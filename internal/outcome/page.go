package outcome

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/internal/jsontext"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// Document is the report as a page: what was found, the model itself, how sure that is, and last how it was fitted.
func (r *Report) Document(in *tables.Input) (*report.Document, error) {
	page := &report.Document{
		Title: wording.Isolated(in.Title()),
		Lead: fmt.Sprintf("%s. %s, %s, fitted by latent with method %s.", in.Contents(float64(r.N)), r.kind.Title,
			strings.TrimPrefix(r.what, strings.ToLower(r.kind.Title)+", "), r.Method),
		Foot: "Made by latent fit --report. The numbers in the tables are those of --format json, rounded: it has " +
			"all digits. Coordinates in the plane, cumulative shares and bins are computed from them.",
	}
	finding, err := r.findingSection(in)
	if err != nil {
		return nil, err
	}
	var agreement []report.Section
	if r.Agreement != nil {
		agreement = append(agreement, r.Agreement.Section())
	}
	settings, err := settingsSection(r)
	page.Sections = slices.Concat(finding, r.begunSection(), r.said.Sections, agreement, r.comparedSection(),
		r.sizesSection(), r.gapsSection(in),
		r.factsSection(), r.iterationsSection(), r.prunedSection(wording.MostIterations), r.startsSection(), settings)
	return page, err
}

// findingSection says first what was found: what the model says of it, or its size, and the warnings of the fit.
func (r *Report) findingSection(in *tables.Input) ([]report.Section, error) {
	list := report.Section{Text: fmt.Sprintf("K = %s.", r.choice())}
	if found := r.said.Finding; found.Text != "" {
		list = found
		list.Text += r.said.Omitted
	}
	list.Title, list.Wide = "What was found", true
	if r.kind.Classes && len(list.Items) > wording.MostShaded {
		list.Choose = "Choose a " + r.kind.Part
	}
	list.Text = strings.TrimSpace(list.Text + " " + r.clarity())
	list.Warnings = append(list.Warnings, in.Shortened(r.Warnings)...)
	return []report.Section{list}, nil
}

// factsSection has what there is in the text of the command.
func (r *Report) factsSection() []report.Section {
	return []report.Section{{Title: "The fit", Facts: joined(r.facts())}}
}

// settingsSection has the numbers and texts of the object that --format json writes: what it takes to make it again.
func settingsSection(object any) ([]report.Section, error) {
	text, err := jsontext.Encode(object)
	if err != nil {
		return nil, err
	}
	settings, err := scalars("", text)
	if err != nil {
		return nil, err
	}
	table := report.Table{Caption: "Results and settings", Columns: report.Columns("name", "value")}
	for _, row := range settings {
		if v, err := strconv.ParseFloat(row[1], 64); err == nil && strings.ContainsAny(row[1], ".e") {
			table.Add(row[0], report.Setting(v))
		} else {
			table.Add(row[0], row[1])
		}
	}
	list := report.Single("Results and settings", nil, table)
	list[0].Wide, list[0].Text = true, "The settings that reproduce this fit, by the names of --format json."
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
	return fmt.Sprintf(" (%s not listed; --format json has all)", wording.Are(n, thing))
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
			rows = append(rows, []string{name, report.Printable(text)})
		case string(value) == "null":
			rows = append(rows, []string{name, report.Missing})
		default:
			rows = append(rows, []string{name, string(value)})
		}
	}
	return rows, nil
}

// gapsSection shows which columns have missing values, where there are any.
func (r *Report) gapsSection(in *tables.Input) []report.Section {
	if in.Pairs != nil { // pairs of names, all of which have a number
		return nil
	}
	missing, all := make([]float64, in.Cols()), 0.0
	gaps, incomplete := 0.0, 0.0
	for row := range in.Rows() {
		some := false
		n := in.Weight(row)
		for j := range missing {
			if v := in.Number(row, j); v != v {
				missing[j] += n
				gaps += n
				some = true
			}
		}
		all += n
		if some {
			incomplete += n
		}
	}
	if gaps == 0 {
		return nil
	}
	shown := wording.Largest(missing, wording.MostProfiles)
	table := report.Table{
		Caption: "missing values by column",
		Columns: report.Columns("column", "missing", "share of the rows"),
		Open:    true,
		High:    "missing",
	}
	whole := 0
	for _, j := range wording.ByValue(missing, shown) {
		if missing[j] == 0 {
			whole++
			continue
		}
		table.Add(in.Names[j], missing[j], report.Shaded(report.Share(missing[j]/all), missing[j]/all))
	}
	list := report.Single("Missing values", nil, table)
	list[0].Text = fmt.Sprintf(
		"%s of the cells are missing, in %s of the rows. The fit integrates them out: a row counts by the values "+
			"that it has.", report.Percentage(gaps/all/float64(in.Cols())), report.Percentage(incomplete/all),
	)
	if whole > 0 {
		list[0].Text += fmt.Sprintf(" %s complete.", wording.Are(whole, "column"))
	}
	list[0].Text += wording.LeftOut(in.Cols()-len(shown), "column", "with fewer missing values")
	return list
}
