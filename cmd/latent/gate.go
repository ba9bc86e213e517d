package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/mixture"
)

// familyGate is what a column of --gate has for a family: class probabilities depend on it, and no class describes it. Such
// columns come last.
const familyGate = "gate"

// gateMethods are those that a gate has.
var gateMethods = []string{methodGFAB, methodFAB, methodEM}

// gated is the model with a gate, which has no conjugate prior.
func (m model) gated() model {
	m.mixes = false
	m.methods = slices.DeleteFunc(slices.Clone(m.methods), func(name string) bool { return !slices.Contains(gateMethods, name) })
	return m
}

// checkGate refuses what does not go with --gate.
func (f *modelFlags) checkGate() error {
	if len(f.Gate) == 0 {
		return nil
	}
	m := models[f.Model]
	switch {
	case !m.gates:
		return misused("--gate cannot be used with --model %s: it is about the probabilities of the components of a mixture", f.Model)
	case f.Method != "" && slices.Contains(m.methods, f.Method) && !slices.Contains(gateMethods, f.Method):
		return misused("--gate cannot be used with --method %s: choose one of %s", f.Method, strings.Join(gateMethods, ", "))
	case f.Noise != "":
		return misused("--gate cannot be used with --noise")
	}
	for i, name := range f.Gate {
		given := f.Columns.family[name]
		switch {
		case slices.Contains(f.Gate[:i], name):
			return misused("--gate names column %q twice", name)
		case name == f.Weights || name == f.Sequence:
			return misused("column %q is named by --gate and by another flag: it cannot be both", name)
		case given != "" && given != familyCategorical:
			return misused("--columns %s=%s: a column of --gate is taken as a number, or as %s", name, given, familyCategorical)
		}
	}
	return nil
}

// described are the families of --columns, with those of the gate.
func (f *modelFlags) described() *columnFamilies {
	if len(f.Gate) == 0 {
		return &f.Columns
	}
	given := f.Columns
	if given.family = maps.Clone(given.family); given.family == nil {
		given.family = map[string]string{}
	}
	for _, name := range f.Gate {
		if given.family[name] == "" {
			given.family[name] = familyGate
		}
	}
	return &given
}

// checkGate refuses columns of the gate, the last ones, that say nothing or lack a value.
func (in *input) checkGate(gate []string) error {
	for j := in.Cols() - len(gate); j < in.Cols(); j++ {
		if in.Constant(j, in.frequencies) {
			return fmt.Errorf("--gate: column %.60q is constant: leave it out of the gate", in.Names[j])
		}
		for row := range in.Rows() {
			if v := in.Number(row, j); v != v {
				return &framework.DataError{Row: row, Column: j, Value: v, Reason: errors.New("a gate needs every value of its columns; --missing drop leaves such rows out")}
			}
		}
	}
	return nil
}

// gateOf are the columns of a gate among those of a model, and how many columns the classes describe.
func gateOf(columns []column) (gate design, own int) {
	own = len(columns)
	for own > 0 && columns[own-1].Family == familyGate {
		own--
	}
	return columns[own:], own
}

// A design is the columns of a gate: numbers as they are, and of levels an indicator for each but the first.
type design []column

// names are those of the numbers that the gate sees.
func (d design) names() (list []string) {
	for _, c := range d {
		if len(c.Levels) == 0 {
			list = append(list, c.Name)
			continue
		}
		for _, level := range c.Levels[1:] {
			list = append(list, c.Name+" = "+level)
		}
	}
	return list
}

// appendTo appends the numbers that the gate sees of a row: codes of levels become indicators, NaN where they are missing.
func (d design) appendTo(x, codes []float64) []float64 {
	for j, c := range d {
		if len(c.Levels) == 0 {
			x = append(x, codes[j])
			continue
		}
		for l := 1; l < len(c.Levels); l++ {
			indicator := math.NaN()
			if codes[j] == codes[j] {
				indicator = 0
				if int(codes[j]) == l {
					indicator = 1
				}
			}
			x = append(x, indicator)
		}
	}
	return x
}

// rows are those of a table with the own columns of the classes and what the gate sees.
func (d design) rows(b framework.Rows, own int) framework.Rows {
	to := framework.Rows{First: b.First, N: b.N, D: own + len(d.names()), Weights: b.Weights}
	to.Stride = to.D
	for i := range b.N {
		row := b.Row(i)
		to.X = d.appendTo(append(to.X, row[:own]...), row[own:])
	}
	return to
}

// packed are the first columns of rows, row-major.
func packed(b framework.Rows, columns int) []float64 {
	x := make([]float64, 0, b.N*columns)
	for i := range b.N {
		x = append(x, b.Row(i)[:columns]...)
	}
	return x
}

// gatedModel is the model of the library for a design.
func gatedModel(m mixture.Model, d design, own int) experts.Model {
	return experts.Model{Family: m.Family, Gate: upTo(own, own+len(d.names())-1), Start: m.Start}
}

// gatedEngine makes the model of classes whose probabilities depend on columns. report makes the result of its classes.
func gatedEngine(f *modelFlags, in *input, rows *describedRows, base mixture.Model) (engine, error) {
	gate, own := gateOf(rows.columns)
	b := gate.rows(rows.whole, own)
	table, err := in.source(b.X, b.N, b.D)
	if err != nil {
		return nil, err
	}
	plan, err := family.NewPlan(base.Family, own)
	if err != nil {
		return nil, err
	}
	// A steep gate makes EM slow (docs/theory/experts.md, section 3). Searched estimates cannot be extrapolated.
	f.Accelerate = f.Accelerate || !plan.Searches()
	in.shown = append(slices.Clone(in.Names[:own]), gate.names()...)
	made := &iterated[framework.Rows, *experts.Parameters, *experts.Statistics]{model: gatedModel(base, gate, own), source: table}
	made.find = func(p *experts.Parameters, s *experts.Statistics) (*result, error) {
		found, err := newGated(gatedModel(base, gate, own), f.Family, rows.columns[:own], gate, table, p, s)
		if err != nil {
			return nil, err
		}
		r := found.result()
		r.bootstrap = func(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error) {
			e, err := drawnComponents(ctx, found.components, made.model, table, found.params, (*experts.Parameters).Vector, o)
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
	design design
	table  *framework.Table // as the model sees it
	gate   *gateReport
	labels []int // of the rows; nil until they are asked for
}

// A gateReport says how the probabilities of the components depend on columns: ln(π_k/π_1) of components 2 to K is linear in them.
type gateReport struct {
	Columns   []string     `json:"columns"`   // the intercept first
	Reference int          `json:"reference"` // the component that log odds are against
	LogOdds   [][]number   `json:"log_odds"`  // a list for each further component
	Errors    [][]number   `json:"standard_errors"`
	Ratios    [][]number   `json:"odds_ratios"` // exp of the log odds
	Drawn     [][]number   `json:"bootstrap_standard_errors,omitempty"`
	Intervals [][][]number `json:"bootstrap_intervals,omitempty"`
}

func newGated(m experts.Model, name string, columns []column, d design, table *framework.Table, p *experts.Parameters, s *experts.Statistics) (*gatedClasses, error) {
	sums, params, err := m.Keep(s, p, p.Mixture.Order())
	if err != nil {
		return nil, err
	}
	g := &gatedClasses{model: m, params: params, design: d, table: table}
	if g.components, err = describeComponents(mixture.Model{Family: m.Family}, name, columns, params.Mixture, sums.Mixture); err != nil {
		return nil, err
	}
	g.assign = g.likeliest
	for k := range g.list { // shares are averages of probabilities that differ from row to row
		g.list[k].WeightError = number(math.NaN())
	}
	list, err := m.Coefficients(table.All(), params)
	if err != nil {
		return nil, err
	}
	g.gate = &gateReport{Columns: append([]string{"intercept"}, d.names()...), Reference: 1, LogOdds: [][]number{}, Errors: [][]number{}, Ratios: [][]number{}}
	for _, of := range list {
		var values, errs, ratios []number
		for _, c := range of {
			values, errs, ratios = append(values, number(c.Value)), append(errs, number(c.Error)), append(ratios, number(math.Exp(c.Value)))
		}
		g.gate.LogOdds, g.gate.Errors, g.gate.Ratios = append(g.gate.LogOdds, values), append(g.gate.Errors, errs), append(g.gate.Ratios, ratios)
	}
	g.doubts, err = m.Doubts(table.All(), params)
	return g, err
}

func (g *gatedClasses) result() *result {
	r := g.components.result()
	r.params, r.gate, r.print, r.sections = gatedEstimates{g.params, g.errors}, g.gate, g.print, g.sections
	var names []string
	for _, c := range g.design {
		names = append(names, printable(c.Name))
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

// likeliest are the components of some rows of the table that was fitted.
func (g *gatedClasses) likeliest(_ *input, rows []int) ([]int, error) {
	if g.labels == nil {
		q, err := g.model.Responsibilities(g.table.All(), g.params, nil)
		if err != nil {
			return nil, err
		}
		g.labels = mixture.Labels(q, g.params.K())
	}
	list := make([]int, len(rows))
	for i, row := range rows {
		list[i] = g.labels[row]
	}
	return list, nil
}

// print shows the classes, and the coefficients of the gate.
func (g *gatedClasses) print(p *page) {
	g.components.print(p)
	if len(g.gate.LogOdds) == 0 {
		return
	}
	p.line("")
	p.prose(0, "Log odds of a component against component 1, by column of the gate (standard errors: observed information, with what is said of the components as it is):")
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
			cells := []string{strconv.Itoa(k + 2), short(g.gate.Columns[j]), fmt.Sprintf("%.4g", float64(v)), fmt.Sprintf("%.3g", float64(g.gate.Errors[k][j])), fmt.Sprintf("%.4g", float64(g.gate.Ratios[k][j]))}
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

// ---- Saved models

// loadGated takes the parameters of a mixture with a gate out of a model file.
func loadGated(file *modelFile) (*savedModel, error) {
	var p *experts.Parameters
	if err := json.Unmarshal(file.Params, &p); err != nil {
		return nil, err
	}
	gate, own := gateOf(file.Columns)
	m := gatedModel(mixture.Model{Family: familyOfRows(file.Family, file.Columns[:own])}, gate, own)
	if err := m.Check(p); err != nil {
		return nil, err
	}
	if err := file.matches(p.K(), len(file.Columns)); err != nil {
		return nil, err
	}
	saved := savedMixture(mixture.Model{Family: m.Family}, p.Mixture, needsComplete(file.Family))
	saved.score = scoreTable(p.K(), func(b framework.Rows) (logProb, r []float64, err error) {
		return m.Score(gate.rows(b, own), p, nil, nil)
	})
	saved.gate = gate
	saved.prior = scoreTable(p.K(), func(b framework.Rows) (logProb, r []float64, err error) {
		of := gate.rows(b, 0)
		alone := framework.Rows{N: b.N, D: p.D, Stride: p.D, First: b.First}
		for i := range b.N {
			alone.X = append(alone.X, make([]float64, own)...)
			alone.X = append(alone.X, of.Row(i)...)
		}
		r, err = m.Prior(alone, p, nil)
		return make([]float64, b.N), r, err // of no column of the components, the probability is 1
	})
	saved.given = func(b framework.Rows, rng *rand.Rand) (x []float64, labels []int, err error) {
		drawn, labels, err := m.Sample(gate.rows(b, own), p, rng)
		for i := range labels {
			x = append(append(x, drawn[i*p.D:i*p.D+own]...), b.Row(i)[own:]...)
		}
		return x, labels, err
	}
	return saved, nil
}
