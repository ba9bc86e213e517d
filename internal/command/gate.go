package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// gateMethods are those that a gate has.
var gateMethods = []string{methodGFAB, methodFAB, methodEM}

// gateSettings name the columns of a gate.
type gateSettings struct {
	Gate []string `json:"gate,omitempty" aliases:"covariates" placeholder:"COL" help:"Columns that the probabilities of the components depend on, by a multinomial logistic regression (latent class regression, mixtures of experts). The components describe the other columns; --regress may name columns of the gate too. Texts, and columns that are categorical by --columns, become indicators of all levels except the first. Requires --method gfab, fab or em; implies --accelerate."`
}

func (g *gateSettings) gated() []string { return g.Gate }

// gated is the model with a gate, which has no conjugate prior.
func (m model) gated() model {
	m.mixes = false
	return m.withMethods(fitted.OfClasses(framework.Slope))
}

// checkGate refuses what does not go with --gate.
func (f *modelFlags) checkGate() error {
	gate := f.gate()
	if len(gate) == 0 {
		return nil
	}
	if m := f.known.models[f.Model]; f.Method != "" && slices.Contains(m.methods, f.Method) &&
		!slices.Contains(gateMethods, f.Method) {
		return misused("--gate cannot be used with --method %s: choose one of %s", f.Method, strings.Join(gateMethods, ", "))
	}
	for _, name := range gate {
		if given := f.columns().family[name]; given != "" && given != families.Categorical {
			return misused("--columns %s=%s: a column of --gate is a number, or %s", name,
				given, families.Categorical)
		}
	}
	return nil
}

// described are the families of --columns, with those of the gate.
func (f *modelFlags) described() *columnFamilies {
	if len(f.gate()) == 0 {
		return f.columns()
	}
	given := *f.columns()
	if given.family = maps.Clone(given.family); given.family == nil {
		given.family = map[string]string{}
	}
	for _, name := range f.gate() {
		if given.family[name] == "" {
			given.family[name] = families.Gate
		}
	}
	return &given
}

// checkGate refuses columns of the gate that say nothing or lack a value.
func (in *input) checkGate(gate []string) error {
	for _, name := range gate {
		j := slices.Index(in.Names, name)
		if in.Constant(j, in.frequencies) {
			return fmt.Errorf("--gate: column %.60q is constant: leave it out of the gate", name)
		}
		for row := range in.Rows() {
			if v := in.Number(row, j); v != v {
				return &framework.DataError{
					Row:    row,
					Column: j,
					Value:  v,
					Reason: errors.New("a gate needs every value of its columns; --missing drop leaves such rows out"),
				}
			}
		}
	}
	return nil
}

// gatedEngine makes the model of classes, those of base, whose probabilities depend on columns. seen are the numbers
// that the classes see, and report makes the result of what was found.
func gatedEngine(f *modelFlags, in *input, d design.Gate, whole framework.Rows, seen []data.Column, base mixture.Model,
	report func(g *gatedClasses) *result) (engine, error) {
	b := d.Rows(whole, nil)
	table, err := in.source(b.X, b.N, b.D)
	if err != nil {
		return nil, err
	}
	plan, err := family.NewPlan(base.Family, d.Width)
	if err != nil {
		return nil, err
	}
	// A steep gate makes EM slow (docs/theory/experts.md, section 3). Searched estimates cannot be extrapolated.
	f.Accelerate = f.Accelerate || !plan.Searches()
	in.shown = append(namesOf(seen), d.Names()...)
	made := &iterated[framework.Rows, *experts.Parameters, *experts.Statistics]{Model: d.Model(base), Source: table}
	made.Found = func(p *experts.Parameters, s *experts.Statistics) (*result, error) {
		found, err := newGated(d, d.Model(base), f.Family, seen, table, p, s)
		if err != nil {
			return nil, err
		}
		r := report(found)
		r.bootstrap = func(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error) {
			e, err := drawnComponents(ctx, found.components, made.Model, table, found.params, (*experts.Parameters).Vector, o)
			if err != nil {
				return bootstrap.Outcome{}, err
			}
			found.gate.attach(e.Numbers)
			return e.Outcome, nil
		}
		return r, nil
	}
	return made, nil
}

// gatedClasses are the result of a mixture with a gate, the classes ordered by their shares of the rows.
type gatedClasses struct {
	*components
	model  experts.Model
	params *experts.Parameters
	design design.Gate
	table  *framework.Table // as the model sees it
	gate   *gateReport
}

// A gateReport says how the probabilities of the components depend on columns: ln(π_k/π_1) of components 2 to K is
// linear in them.
type gateReport struct {
	Columns   []string     `json:"columns"`   // the intercept first
	Reference int          `json:"reference"` // the component that log odds are against
	LogOdds   [][]number   `json:"log_odds"`  // a list for each further component
	Errors    [][]number   `json:"standard_errors"`
	Ratios    [][]number   `json:"odds_ratios"` // exp of the log odds
	Drawn     [][]number   `json:"bootstrap_standard_errors,omitempty"`
	Intervals [][][]number `json:"bootstrap_intervals,omitempty"`
}

func newGated(d design.Gate, m experts.Model, name string, columns []data.Column, table *framework.Table,
	p *experts.Parameters, s *experts.Statistics) (*gatedClasses, error) {
	sums, params, err := m.Keep(s, p, p.Mixture.Order())
	if err != nil {
		return nil, err
	}
	g := &gatedClasses{model: m, params: params, design: d, table: table}
	if g.components, err = describeComponents(mixture.Model{Family: m.Family}, name, columns, params.Mixture,
		sums.Mixture); err != nil {
		return nil, err
	}
	g.probabilities = g.responsibilities
	for k := range g.list { // shares are averages of probabilities that differ from row to row
		g.list[k].WeightError = number(math.NaN())
	}
	list, err := m.Coefficients(table.All(), params)
	if err != nil {
		return nil, err
	}
	g.gate = &gateReport{
		Columns:   append([]string{"intercept"}, d.Names()...),
		Reference: 1,
		LogOdds:   [][]number{},
		Errors:    [][]number{},
		Ratios:    [][]number{},
	}
	for _, of := range list {
		var values, errs, ratios []number
		for _, c := range of {
			values, errs, ratios = append(values, number(c.Value)), append(errs, number(c.Error)),
				append(ratios, number(math.Exp(c.Value)))
		}
		g.gate.LogOdds, g.gate.Errors, g.gate.Ratios = append(g.gate.LogOdds, values), append(g.gate.Errors, errs),
			append(g.gate.Ratios, ratios)
	}
	g.doubts, err = m.Doubts(table.All(), params)
	return g, err
}

func (g *gatedClasses) result() *result {
	r := g.components.result()
	r.params, r.gate = gatedEstimates{g.params, g.errors}, g.gate
	r.count = likeliestOf(g.table, g.params.K(), func() (scorer, error) { return g.model.Scorer(g.params) })
	r.print = func(p *page) {
		g.components.print(p)
		g.printGate(p)
	}
	r.sections = func(in *input) ([]report.Section, error) {
		first, err := g.gateSections(in)
		if err != nil {
			return nil, err
		}
		own, err := g.components.sections(in)
		return append(first, own...), err
	}
	var names []string
	for _, c := range g.design.Columns {
		names = append(names, report.Printable(c.Name))
	}
	r.facts = append(r.facts, [2]string{"gate", listed(names, 40)})
	return r
}

// gatedEstimates are parameters as a report has them.
type gatedEstimates struct {
	*experts.Parameters
	Errors standardErrors `json:"complete_data_standard_errors"`
}

// attach takes standard errors by bootstrap, in the order of the log odds.
func (g *gateReport) attach(draws []bootstrap.Number) {
	width := len(g.Columns)
	for k := range g.LogOdds {
		var errs []number
		var intervals [][]number
		for j := range width {
			e, interval := drawn(draws[k*width+j])
			errs, intervals = append(errs, e), append(intervals, interval)
		}
		g.Drawn, g.Intervals = append(g.Drawn, errs), append(g.Intervals, intervals)
	}
}

// responsibilities are the probabilities of the components of some rows of the table that was fitted.
func (g *gatedClasses) responsibilities(_ *input, rows []int) ([]float64, error) {
	return g.model.Responsibilities(some(g.table.All(), rows), g.params, nil)
}

// printGate shows the coefficients of the gate.
func (g *gatedClasses) printGate(p *page) {
	if len(g.gate.LogOdds) == 0 {
		return
	}
	p.line("")
	p.prose(0, "Log odds of a component against component 1, by column of the gate (standard errors: observed "+
		"information, with the components held fixed):")
	heads := []string{"component", "column", "log odds", "standard error", "odds ratio"}
	if g.gate.Drawn != nil {
		heads = append(heads, "by bootstrap")
	}
	t := newGrid(heads...)
	t.prose("column")
	rows := 0
	for k, values := range g.gate.LogOdds {
		for j, v := range values {
			if rows++; rows > mostRows {
				continue
			}
			cells := []string{strconv.Itoa(k + 2), short(g.gate.Columns[j]), readable(float64(v)), fmt.Sprintf("%.3g",
				float64(g.gate.Errors[k][j])), readable(float64(g.gate.Ratios[k][j]))}
			if g.gate.Drawn != nil {
				cells = append(cells, fmt.Sprintf("± %.3g", float64(g.gate.Drawn[k][j])))
			}
			t.row(cells...)
		}
	}
	p.grid(t)
	if more := rows - mostRows; more > 0 {
		p.prose(0, "%s left out (--format json has all).", are(more, "more coefficient"))
	}
}
