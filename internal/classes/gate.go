package classes

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// GatedEngine returns the engine of the classes of base whose probabilities depend on columns, and whether it searches
// for estimates, which cannot be extrapolated. Rows have the model's columns; the classes see numbers called seen.
func GatedEngine[R any](d design.Gate, rows blocks.Rows, seen []data.Column, t *data.Named, name string,
	base mixture.Model, found func(g *Gated) (R, error),
) (*fitted.Engine[R, blocks.Rows, *experts.Parameters, *experts.Statistics], bool, error) {
	b := d.Rows(rows, nil)
	table, err := TableOf(b, t.Weights)
	if err != nil {
		return nil, false, err
	}
	plan, err := family.NewPlan(base.Family, d.Width)
	if err != nil {
		return nil, false, err
	}
	m := d.Model(base)
	e := &fitted.Engine[R, blocks.Rows, *experts.Parameters, *experts.Statistics]{Model: m, Source: table}
	e.Found = func(p *experts.Parameters, s *experts.Statistics) (R, error) {
		g, err := newGated(d, m, name, seen, t, table, p, s)
		if err != nil {
			var none R
			return none, err
		}
		g.Draw = func(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error) {
			e, err := DrawnComponents(ctx, g.Components, e.Model, table, g.params, (*experts.Parameters).Vector, o)
			if err != nil {
				return bootstrap.Outcome{}, err
			}
			g.gate.Attach(e.Numbers)
			return e.Outcome, nil
		}
		return found(g)
	}
	return e, plan.Searches(), nil
}

// TableOf returns rows as a table with weights, nil for 1 each.
func TableOf(b blocks.Rows, weights []float64) (*blocks.Table, error) {
	t, err := blocks.FromIncomplete(b.X, b.N, b.D)
	if err == nil && weights != nil {
		t, err = t.WithWeights(weights)
	}
	return t, err
}

// SequencesOf are the rows of a table, whose weights do not count, as sequences with these ends and weights; nil: all
// weigh 1.
func SequencesOf(t *blocks.Table, ends []int, weights []float64) (*blocks.SequenceTable, error) {
	s, err := blocks.NewSequences(t.Unweighted(), ends)
	if err == nil && weights != nil {
		s, err = s.WithWeights(weights)
	}
	return s, err
}

// A Gated is the result of a mixture with a gate, the classes ordered by their shares of the rows.
type Gated struct {
	*Components
	model  experts.Model
	params *experts.Parameters
	design design.Gate
	table  *blocks.Table // as the model sees it
	gate   *GateReport
}

// A GateReport says how the probabilities of the components depend on columns: ln(π_k/π_r) of the components but r, the
// reference, is linear in them.
type GateReport struct {
	After     int                 `json:"after,omitempty"` // of states of a chain: the state before, from 1; 0: there is none
	Columns   []string            `json:"columns"`         // the intercept first
	Reference int                 `json:"reference"`       // the component that log odds are against
	LogOdds   [][]fitted.Number   `json:"log_odds"`        // a list for each other component
	Errors    [][]fitted.Number   `json:"standard_errors"`
	Ratios    [][]fitted.Number   `json:"odds_ratios"` // exp of the log odds
	Drawn     [][]fitted.Number   `json:"bootstrap_standard_errors,omitempty"`
	Intervals [][][]fitted.Number `json:"bootstrap_intervals,omitempty"`
}

func newGated(d design.Gate, m experts.Model, name string, columns []data.Column, t *data.Named,
	table *blocks.Table, p *experts.Parameters, s *experts.Statistics) (*Gated, error) {
	sums, params, err := m.Keep(s, p, p.Mixture.Order())
	if err != nil {
		return nil, err
	}
	g := &Gated{model: m, params: params, design: d, table: table}
	if g.Components, err = DescribeComponents(mixture.Model{Family: m.Family}, name, columns, t, params.Mixture,
		sums.Mixture); err != nil {
		return nil, err
	}
	g.Probabilities = g.responsibilities
	g.Counter = LikeliestOf(table, params.K(), func() (Scorer, error) { return m.Scorer(params) })
	for k := range g.List { // shares are averages of probabilities that differ from row to row
		g.List[k].WeightError = fitted.Number(math.NaN())
	}
	list, err := m.Coefficients(table.All(), params)
	if err != nil {
		return nil, err
	}
	g.gate = NewGateReport(d)
	for _, of := range list {
		g.gate.Add(of)
	}
	g.Warnings, err = m.Doubts(table.All(), params)
	return g, err
}

// NewGateReport is a report without coefficients, of log odds against the first component.
func NewGateReport(d design.Gate) *GateReport {
	return &GateReport{Columns: append([]string{"intercept"}, d.Names()...), Reference: 1,
		LogOdds: [][]fitted.Number{}, Errors: [][]fitted.Number{}, Ratios: [][]fitted.Number{}}
}

// Add adds the coefficients of the next component.
func (g *GateReport) Add(of []experts.Coefficient) {
	var values, errs, ratios []fitted.Number
	for _, c := range of {
		values, errs, ratios = append(values, fitted.Number(c.Value)), append(errs, fitted.Number(c.Error)),
			append(ratios, fitted.Number(math.Exp(c.Value)))
	}
	g.LogOdds, g.Errors, g.Ratios = append(g.LogOdds, values), append(g.Errors, errs), append(g.Ratios, ratios)
}

// class is the number of the component that a list is about, from 1.
func (g *GateReport) class(list int) int {
	if list+1 < g.Reference {
		return list + 1
	}
	return list + 2
}

// Params are the parameters with their standard errors.
func (g *Gated) Params() any { return GatedEstimates{g.params, g.Errors} }

// Experts returns the model and its parameters.
func (g *Gated) Experts() (experts.Model, *experts.Parameters) { return g.model, g.params }

// Gate is how the probabilities of the components depend on columns.
func (g *Gated) Gate() any { return g.gate }

// Facts name the columns of the gate, too.
func (g *Gated) Facts() [][2]string { return append(g.Components.Facts(), g.GateFact()) }

// GateFact names the columns of the gate.
func (g *Gated) GateFact() [2]string {
	var names []string
	for _, c := range g.design.Columns {
		names = append(names, report.Printable(c.Name))
	}
	return [2]string{"gate", wording.Listed(names, 40)}
}

// Print has the coefficients of the gate, too.
func (g *Gated) Print(p report.Page) {
	g.Components.Print(p)
	g.PrintGate(p)
}

// Describe has the gate before the components.
func (g *Gated) Describe() (*fitted.Description, error) {
	return DescribedBy(g.Finding, func() ([]report.Section, error) {
		first, err := g.GateSections()
		if err != nil {
			return nil, err
		}
		own, err := g.Sections()
		return append(first, own...), err
	})
}

// GatedEstimates are parameters as a report has them.
type GatedEstimates struct {
	*experts.Parameters
	Errors StandardErrors `json:"complete_data_standard_errors"`
}

// Attach takes standard errors by bootstrap, in the order of the log odds.
func (g *GateReport) Attach(draws []bootstrap.Number) {
	width := len(g.Columns)
	for k := range g.LogOdds {
		var errs []fitted.Number
		var intervals [][]fitted.Number
		for j := range width {
			e, interval := Drawn(draws[k*width+j])
			errs, intervals = append(errs, e), append(intervals, interval)
		}
		g.Drawn, g.Intervals = append(g.Drawn, errs), append(g.Intervals, intervals)
	}
}

// responsibilities are the probabilities of the components of some rows of the table that was fitted.
func (g *Gated) responsibilities(rows []int) ([]float64, error) {
	return g.model.Responsibilities(Some(g.table.All(), rows), g.params, nil)
}

// PrintGate shows the coefficients of the gate.
func (g *Gated) PrintGate(p report.Page) {
	if len(g.gate.LogOdds) == 0 {
		return
	}
	PrintGates(p, "Log odds of a component against component 1, by column of the gate (standard errors: observed "+
		"information, with the components held fixed):", "component", g.gate)
}

// PrintGates shows the coefficients of reports that are alike: of several, each with the state before.
func PrintGates(p report.Page, about, noun string, list ...*GateReport) {
	p.Line("")
	p.Prose(0, "%s", about)
	heads := []string{noun, "column", "log odds", "standard error", "odds ratio"}
	if list[0].After > 0 {
		heads = append([]string{"after " + noun}, heads...)
	}
	if list[0].Drawn != nil {
		heads = append(heads, "by bootstrap")
	}
	t := report.NewGrid(heads...)
	t.Wrap("column")
	rows := 0
	for _, g := range list {
		for k, values := range g.LogOdds {
			for j, v := range values {
				if rows++; rows > wording.MostRows {
					continue
				}
				cells := []string{strconv.Itoa(g.class(k)), p.Short(g.Columns[j]), wording.Readable(float64(v)),
					fmt.Sprintf("%.3g", float64(g.Errors[k][j])), wording.Readable(float64(g.Ratios[k][j]))}
				if list[0].After > 0 {
					cells = append([]string{g.before()}, cells...)
				}
				if g.Drawn != nil {
					cells = append(cells, fmt.Sprintf("± %.3g", float64(g.Drawn[k][j])))
				}
				t.Row(cells...)
			}
		}
	}
	p.Grid(t)
	if more := rows - wording.MostRows; more > 0 {
		p.Prose(0, "%s left out (--format json has all).", wording.Are(more, "more coefficient"))
	}
}

// before names the state before.
func (g *GateReport) before() string {
	if g.After == 0 {
		return "begins"
	}
	return strconv.Itoa(g.After)
}
