package command

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/agreement"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// labels are the known classes of --label.
type labels struct {
	column string
	levels []string
	codes  []int32 // of every row that was read; negative: not known
}

// takeLabels takes the column of --label out of the table.
func (in *input) takeLabels(column string) error {
	if column == "" {
		return nil
	}
	levels, err := in.Occurring(column)
	if err != nil {
		return in.wrap(fmt.Errorf("--label: %w", err))
	}
	if len(levels) < 2 {
		return in.wrap(fmt.Errorf("--label: column %.60q has a single value, %.60q: labels need at least "+
			"two values", column, levels[0]))
	}
	t, err := in.Factor(column, levels, false)
	if err != nil {
		return in.wrap(err)
	}
	in.known = &labels{column, levels, t.Codes(column)}
	if in.label == column {
		in.label = ""
	}
	in.Table, err = t.Drop(column)
	return in.wrap(err)
}

// asText reads some columns as texts, so that 01 and 1 differ, and the others as before.
func asText(reading func(name string) data.Reading, columns ...string) func(name string) data.Reading {
	return func(name string) data.Reading {
		if slices.Contains(columns, name) {
			return data.ReadAsText
		}
		return reading(name)
	}
}

// agreementTable compares components with the classes of --label.
type agreementTable struct {
	Column       string     `json:"column"`
	AdjustedRand number     `json:"adjusted_rand_index"`
	Groups       *number    `json:"groups_adjusted_rand_index,omitempty"` // of groups of several components
	Labels       []string   `json:"labels"`
	Table        [][]number `json:"table"` // rows, or their weights: a list a component, in the order of the labels
}

// agreement compares the components of the table's rows, from 0, with the known classes; nil where none are known.
func (in *input) agreement(components []int, k int) *agreementTable {
	if in.known == nil {
		return nil
	}
	classes := make([]int, len(components))
	for row := range components {
		classes[row] = int(in.known.codes[in.Origin(row)])
	}
	table := agreement.CrossTable(components, classes, in.frequencies, k, len(in.known.levels))
	a := &agreementTable{
		Column: in.known.column, AdjustedRand: number(agreement.AdjustedRand(table)), Labels: in.known.levels,
	}
	for _, row := range table {
		a.Table = append(a.Table, numbers(row))
	}
	return a
}

// classify finds the class of every row of the table, from 0.
func (f *components) classify(in *input) ([]int, error) { return f.assign(in, upTo(0, in.Rows()-1)) }

// likeliest are the most probable classes of rows.
func (f *components) likeliest(in *input, rows []int) (list []int, err error) {
	for block := range slices.Chunk(rows, blockRows) {
		q, err := f.probabilities(in, block)
		if err != nil {
			return nil, err
		}
		list = append(list, mixture.Labels(q, f.params.K)...)
	}
	return list, nil
}

// scorer is that of latent predict: of a posterior, the predictive distribution where there is one.
func (f *components) scorer() (scorer, error) {
	if bayes := (mixture.Variational{Family: f.model.Family}); f.posterior != nil && bayes.Collapses(f.posterior) == nil {
		return bayes.Predictor(f.posterior)
	}
	return f.model.Scorer(f.params)
}

// responsibilities are the probabilities of the components of rows that are like those of the table.
func (f *components) responsibilities(in *input, rows []int) ([]float64, error) {
	score, err := f.scorer()
	if err != nil {
		return nil, err
	}
	d := in.Cols()
	x := make([]float64, 0, len(rows)*d)
	for _, row := range rows {
		for j := range d {
			x = append(x, in.Number(row, j))
		}
	}
	_, r, err := score(framework.Rows{First: rows[0], N: len(rows), D: d, Stride: d, X: x}, nil, nil)
	return r, err
}

// some are the chosen ones of all rows.
func some(all framework.Rows, rows []int) framework.Rows {
	list := framework.Rows{First: rows[0], N: len(rows), D: all.D, Stride: all.D}
	for _, row := range rows {
		list.X = append(list.X, all.Row(row)...)
	}
	return list
}

func (a *agreementTable) fact() [2]string {
	text := fmt.Sprintf("%.4f, of components and column %q", float64(a.AdjustedRand), report.Printable(a.Column))
	if a.Groups != nil {
		text += fmt.Sprintf("; of groups %.4f", float64(*a.Groups))
	}
	return [2]string{"adjusted Rand", text}
}

// print shows the cross-table, as far as there is room.
func (a *agreementTable) print(p *page) {
	shown, g := p.widest(len(a.Labels), func(n int) *grid {
		heads := []string{"component"}
		for _, label := range a.Labels[:n] {
			heads = append(heads, short(label))
		}
		g := newGrid(heads...)
		for k, row := range a.Table[:min(len(a.Table), mostRows)] {
			cells := []string{strconv.Itoa(k + 1)}
			for _, v := range row[:n] {
				cells = append(cells, fmt.Sprintf("%.10g", float64(v)))
			}
			g.row(cells...)
		}
		return g
	})
	p.line("")
	p.prose(0, "Rows by component and %s:", isolated(report.Printable(a.Column)))
	p.grid(g)
	if more := len(a.Labels) - shown; more > 0 {
		p.prose(0, "%s left out (--format json has all).", are(more, "label"))
	}
}

// agreementSection is the cross-table of the page.
func (r *fitReport) agreementSection() []report.Section {
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
	list := section("Components and "+report.Printable(r.Agreement.Column), nil, table)
	list[0].Text = fmt.Sprintf("The adjusted Rand index is %.4f.", float64(r.Agreement.AdjustedRand))
	return list
}
