package outcome

import (
	"fmt"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/internal/agreement"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// Agreement compares components with the classes of --label.
type Agreement struct {
	Column       string            `json:"column"`
	AdjustedRand fitted.Number     `json:"adjusted_rand_index"`
	Groups       *fitted.Number    `json:"groups_adjusted_rand_index,omitempty"` // of groups of several components
	Labels       []string          `json:"labels"`
	Table        [][]fitted.Number `json:"table"` // rows, or their weights: a list a component, in the order of the labels
}

// AgreementOf compares the components of the table's rows, from 0, with the known classes; nil where none are known.
func AgreementOf(in *tables.Input, components []int, k int) *Agreement {
	if in.Known == nil {
		return nil
	}
	classes := make([]int, len(components))
	for row := range components {
		classes[row] = int(in.Known.Codes[in.Origin(row)])
	}
	table := agreement.CrossTable(components, classes, in.Weights, k, len(in.Known.Levels))
	a := &Agreement{
		Column: in.Known.Column, AdjustedRand: fitted.Number(agreement.AdjustedRand(table)), Labels: in.Known.Levels,
	}
	for _, row := range table {
		a.Table = append(a.Table, fitted.Numbers(row))
	}
	return a
}

// Fact is the adjusted Rand index, by name.
func (a *Agreement) Fact() [2]string {
	text := fmt.Sprintf("%.4f, of components and column %q", float64(a.AdjustedRand), report.Printable(a.Column))
	if a.Groups != nil {
		text += fmt.Sprintf("; of groups %.4f", float64(*a.Groups))
	}
	return [2]string{"adjusted Rand", text}
}

// Section has the cross-table.
func (a *Agreement) Section() report.Section {
	column := report.Printable(a.Column)
	table := report.Table{
		Caption: "rows by component and " + wording.Isolated(column),
		Columns: report.Columns(append([]string{"component"}, a.Labels...)...),
		Open:    true,
	}
	for k, row := range a.Table {
		cells := []any{k + 1}
		for _, v := range row {
			cells = append(cells, v)
		}
		table.Add(cells...)
	}
	return report.Section{Title: "Components and " + column, Tables: []report.Table{table},
		Text: fmt.Sprintf("The adjusted Rand index is %.4f.", float64(a.AdjustedRand))}
}

// group takes the groups that the components form, once their rows are counted, and compares them with known classes.
func (r *Report) group(s *tables.Session, in *tables.Input, wanted *int) (err error) {
	if r.mixes() && r.K > grouping.MostComponents {
		s.Note("%s are too many to join into groups; must be at most %d", wording.Counted(r.K, "component"),
			grouping.MostComponents)
	}
	groups, is := r.found.(fitted.Grouper)
	if !is {
		return nil
	}
	v, err := groups.Group(wanted)
	if err != nil || v == nil {
		return err
	}
	if wanted != nil && *wanted > r.K {
		s.Note("--groups %d: there are %s, and as many groups", *wanted, wording.Counted(r.K, "component"))
	}
	if r.Groups = *v; r.Agreement == nil || !v.Join() {
		return nil
	}
	list, err := groups.ClassifyGroups()
	if err == nil {
		r.Agreement.Groups = &AgreementOf(in, list, len(r.Groups.Groups)).AdjustedRand
	}
	return err
}

// groupFact is a line of the text where groups have several components.
func (r *Report) groupFact() [][2]string {
	if !r.Join() {
		return nil
	}
	return [][2]string{{"groups", r.Sentence()}}
}
