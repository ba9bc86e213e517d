package outcome

import (
	"fmt"
	"strconv"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/internal/agreement"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/text"
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

// Print shows the cross-table, as far as there is room.
func (a *Agreement) Print(p *text.Page) {
	shown, g := p.Widest(len(a.Labels), func(n int) *report.Grid {
		heads := []string{"component"}
		for _, label := range a.Labels[:n] {
			heads = append(heads, text.Short(label))
		}
		g := report.NewGrid(heads...)
		for k, row := range a.Table[:min(len(a.Table), wording.MostRows)] {
			cells := []string{strconv.Itoa(k + 1)}
			for _, v := range row[:n] {
				cells = append(cells, fmt.Sprintf("%.10g", float64(v)))
			}
			g.Row(cells...)
		}
		return g
	})
	p.Line("")
	p.Prose(0, "Rows by component and %s:", wording.Isolated(report.Printable(a.Column)))
	p.Grid(g)
	if more := len(a.Labels) - shown; more > 0 {
		p.Prose(0, "%s left out (--format json has all).", wording.Are(more, "label"))
	}
}

// agreementSection is the cross-table of the page.
func (r *Report) agreementSection() []report.Section {
	if r.Agreement == nil {
		return nil
	}
	table := report.Table{
		Caption: "rows by component and label",
		Columns: report.Columns(append([]string{"component"}, r.Agreement.Labels...)...),
		Open:    true,
	}
	for k, row := range r.Agreement.Table {
		cells := []any{k + 1}
		for _, v := range row {
			cells = append(cells, v)
		}
		table.Add(cells...)
	}
	list := report.Single("Components and "+report.Printable(r.Agreement.Column), nil, table)
	list[0].Text = fmt.Sprintf("The adjusted Rand index is %.4f.", float64(r.Agreement.AdjustedRand))
	return list
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
