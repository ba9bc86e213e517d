package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// regressionSettings say what is explained by what.
type regressionSettings struct {
	columnSettings
	startSettings
	Response    string   `json:"response,omitempty" placeholder:"COL" help:"The column to explain by the others, in each component by a regression of its own. Of --family binomial: 0 and 1, a text of two levels, or with --trials a number of successes."`
	Regress     []string `json:"regress,omitempty" placeholder:"COL" help:"Explain it by these columns. Default: all others. Texts become indicators of their levels but the first."`
	Trials      string   `json:"trials,omitempty" placeholder:"COL" help:"The column with the numbers of trials of --family binomial. Default: 1 each."`
	Exposure    string   `json:"exposure,omitempty" placeholder:"COL" help:"The column with the exposures of --family poisson, such as the time that events are counted over. Default: 1 each."`
	Power       powers   `json:"power,omitzero" placeholder:"COL=DEGREE,…" help:"Polynomials: x=2 adds the square of column x to the regressors."`
	Fixed       []string `json:"fixed,omitempty" placeholder:"NAME" help:"Coefficients that all components share, by the names that the text has: intercept, or a regressor. Default: none."`
	NoIntercept bool     `json:"no_intercept,omitempty" name:"no-intercept" help:"Lines through the origin."`
	gateSettings
}

const (
	familyBinomial = "binomial"
	modelOfCurves  = "regression"
)

// responses are the values of --family of regressions.
var responses = map[string]family.Response{families.Gaussian: family.Normal, families.Poisson: family.Counts, familyBinomial: family.Successes}

// powers are the value of --power.
type powers struct {
	names  []string
	degree map[string]int
	text   string
}

// mostDegree is the largest degree of a polynomial: numbers of a higher one have no digits in common.
const mostDegree = 9

// MarshalText is the text as it was given.
func (p powers) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText reads COL=DEGREE,…; a comma of a name has a backslash before it.
func (p *powers) UnmarshalText(text []byte) error {
	*p = powers{degree: map[string]int{}, text: string(text)}
	for _, item := range kong.SplitEscaped(p.text, ',') {
		at := strings.LastIndex(item, "=")
		if at < 0 {
			return fmt.Errorf("%q: write COL=DEGREE,…", item)
		}
		name := strings.TrimSpace(item[:at])
		degree, err := strconv.Atoi(strings.TrimSpace(item[at+1:]))
		switch {
		case err != nil || degree < 1 || degree > mostDegree:
			return fmt.Errorf("%s: the degree of a polynomial is from 1 to %d", item, mostDegree)
		case p.degree[name] != 0:
			return fmt.Errorf("column %q is given twice", name)
		}
		p.names, p.degree[name] = append(p.names, name), degree
	}
	return nil
}

// size is the column that a response counts over; empty: none.
func (m *regressionSettings) size() string { return cmp.Or(m.Trials, m.Exposure) }

func (m *regressionSettings) check(f *modelFlags) error {
	if err := m.checkFloor(f); err != nil {
		return err
	}
	if _, err := m.starting(false); err != nil {
		return err
	}
	for _, name := range m.Columns.names {
		if m.Columns.family[name] != families.Categorical {
			return misused("--columns %s=%s cannot be used with --model regression: regressors are numbers, or categorical", item(name), m.Columns.family[name])
		}
	}
	switch {
	case m.Response == "":
		return misused("--model regression requires --response, the column to explain by the others")
	case m.Trials != "" && f.Family != familyBinomial:
		return misused("--trials requires --family binomial, and the family is %s", f.Family)
	case m.Exposure != "" && f.Family != families.Poisson:
		return misused("--exposure requires --family poisson, and the family is %s", f.Family)
	case m.Floor != nil && f.Family != families.Gaussian:
		return misused("--floor requires --family gaussian, and the family is %s", f.Family)
	case m.Columns.family[m.Response] != "":
		return misused("--columns cannot name the response, %q: --family is its distribution", m.Response)
	}
	return nil
}

// arrange keeps the columns of a regression: the response, what it counts over, and the regressors. weights are none of them, and
// the columns of a gate only those that --regress names.
func (in *input) arrange(f *regressionSettings, weights string, gate []string) error {
	own := []string{f.Response}
	if f.size() != "" {
		own = append(own, f.size())
	}
	names := f.Regress
	if names == nil {
		names = without(in.Names, setOf(slices.Concat(own, gate, []string{weights})))
	}
	for _, one := range []struct {
		flag  string
		names []string
	}{{"--response", own[:1]}, {"--trials or --exposure", own[1:]}, {"--regress", names}, {"--power", f.Power.names}} {
		for _, name := range one.names {
			if !slices.Contains(in.Names, name) || name == weights {
				return in.wrap(fmt.Errorf("%s: no column %.60q; the columns are %s", one.flag, name, quoted(in.Names)))
			}
		}
	}
	for _, name := range f.Power.names {
		if !slices.Contains(names, name) {
			return in.wrap(fmt.Errorf("--power: column %.60q is no regressor", name))
		}
	}
	var err error
	in.Table, err = in.Table.Select(append(own, names...)...)
	return in.wrap(err)
}

// A regressor is a power of a column, or the indicator of one of its levels.
type regressor struct {
	Name   string `json:"name"`
	Column int    `json:"column"`          // place among the model's columns
	Power  int    `json:"power,omitempty"` // 0 of an indicator
	Level  int    `json:"level,omitempty"` // of an indicator, 1 or above: the first is the reference

	against string // the name of that one, where the table is at hand
}

// A regression is the design of a table: its columns are the response, what it counts over, and the sources of the terms.
type regression struct {
	Distribution string      `json:"distribution"` // as --family has it
	Response     string      `json:"response"`
	Size         string      `json:"counted_over,omitempty"` // the column of trials or exposures
	Intercept    bool        `json:"intercept"`
	Terms        []regressor `json:"terms"`
	Fixed        []int       `json:"fixed,omitempty"` // places of coefficients that all components share, the intercept's first
}

// first is the number of columns before the regressors.
func (g *regression) first() int {
	if g.Size != "" {
		return 2
	}
	return 1
}

// family is that of the components.
func (g *regression) family(floor float64) family.Regression {
	return family.Regression{Response: responses[g.Distribution], Exposure: g.Size != "", NoIntercept: !g.Intercept, Fixed: g.Fixed, Floor: floor}
}

// columns are those of the design: names for messages and summaries.
func (g *regression) columns() []data.Column {
	list := named([]string{g.Response, g.Size}[:g.first()])
	for _, t := range g.Terms {
		list = append(list, data.Column{Name: t.Name})
	}
	return list
}

// width is the number of columns of the design.
func (g *regression) width() int { return g.first() + len(g.Terms) }

// expand makes rows of the design of rows with the model's columns.
func (g *regression) expand(b framework.Rows) framework.Rows {
	d := g.width()
	to := framework.Rows{First: b.First, N: b.N, D: d, Stride: d, X: make([]float64, 0, b.N*d), Weights: b.Weights}
	for i := range b.N {
		row := b.Row(i)
		to.X = append(to.X, row[:g.first()]...)
		for _, t := range g.Terms {
			to.X = append(to.X, t.of(row[t.Column]))
		}
	}
	return to
}

// of is the term's value.
func (t regressor) of(v float64) float64 {
	switch {
	case t.Power > 0:
		return math.Pow(v, float64(t.Power))
	case math.IsNaN(v):
		return v
	case v == float64(t.Level):
		return 1
	}
	return 0
}

// design finds the terms of the table's columns, which become numbers.
func (m *regressionSettings) design(f *modelFlags, in *input) (*regression, []data.Column, error) {
	g := &regression{Distribution: f.Family, Response: m.Response, Size: m.size(), Intercept: !m.NoIntercept}
	columns := make([]data.Column, len(in.Names))
	for j, name := range in.Names {
		c := data.Column{Name: name}
		text := in.Levels(name) != nil
		switch {
		case slices.Contains(m.Gate, name) && !slices.Contains(m.Regress, name):
			c.Family = families.Gate
			if text || m.Columns.family[name] == families.Categorical {
				var err error
				if c.Levels, err = in.Occurring(name); err != nil {
					return nil, nil, err
				}
			}
		case j == 0:
			c.Family = f.Family
			if text && f.Family == familyBinomial && m.Trials == "" {
				levels, err := in.Occurring(name)
				if err != nil {
					return nil, nil, err
				}
				if len(levels) != 2 {
					return nil, nil, fmt.Errorf("column %.60q, the response, has %s (%s): it must have two", name, counted(len(levels), "level"), abridged(levels, ", ", quotedCell))
				}
				c.Levels = levels
			}
		case j < g.first():
			c.Family = map[bool]string{true: "trials", false: "exposure"}[m.Trials != ""]
		case text || m.Columns.family[name] == families.Categorical:
			var err error
			if c.Family = families.Categorical; m.Power.degree[name] > 0 {
				return nil, nil, fmt.Errorf("--power: column %.60q is categorical", name)
			}
			if c.Levels, err = in.Occurring(name); err != nil {
				return nil, nil, err
			}
			if len(c.Levels) < 2 {
				return nil, nil, refusal([]string{name}, len(in.Names), "", fmt.Sprintf("has 1 level (%.60q), and two are the least", c.Levels[0]), "")
			}
			for l := 1; l < len(c.Levels); l++ {
				g.Terms = append(g.Terms, regressor{Name: name + " = " + c.Levels[l], Column: j, Level: l, against: c.Levels[0]})
			}
		default:
			c.Family = "regressor"
			for power := 1; power <= max(1, m.Power.degree[name]); power++ {
				t := regressor{Name: name, Column: j, Power: power}
				if power > 1 {
					t.Name = fmt.Sprintf("%s^%d", name, power)
				}
				g.Terms = append(g.Terms, t)
			}
		}
		columns[j] = c
	}
	if len(g.Terms) == 0 && len(m.Gate) > 0 {
		return nil, nil, errors.New("there is no column beside the response and the gate to explain it by: --regress names some, which may be the gate's too")
	}
	if len(g.Terms) == 0 {
		return nil, nil, errors.New("there is no column beside the response to explain it by: take --model mixture")
	}
	return g, columns, in.recode(columns, upTo(0, len(columns)-1), false)
}

// interceptName is that of the coefficient of no column.
const interceptName = "intercept"

// coefficients are the names of the coefficients of a component, in their places.
func (g *regression) coefficients() (names []string) {
	if g.Intercept {
		names = append(names, interceptName)
	}
	for _, t := range g.Terms {
		names = append(names, t.Name)
	}
	return names
}

// fix finds the coefficients of --fixed.
func (g *regression) fix(names []string) error {
	all := g.coefficients()
	for _, name := range names {
		place := slices.Index(all, name)
		switch {
		case place < 0:
			return fmt.Errorf("--fixed: no coefficient %.60q; there are %s", name, quoted(all))
		case slices.Contains(g.Fixed, place):
			return fmt.Errorf("--fixed names %q twice", name)
		}
		g.Fixed = append(g.Fixed, place)
	}
	if len(g.Fixed) == len(all) {
		return errors.New("--fixed names every coefficient: one at least is left to the components")
	}
	return nil
}

func (m *regressionSettings) bind(s *session, f *modelFlags, in *input) (*task, error) {
	if err := in.checkGate(m.Gate); err != nil {
		return nil, err
	}
	g, columns, err := m.design(f, in)
	if err != nil {
		return nil, err
	}
	if err := g.fix(m.Fixed); err != nil {
		return nil, err
	}
	x, n, d, err := in.numbers(s, true, true)
	if err != nil {
		return nil, err
	}
	whole := framework.Rows{N: n, D: d, Stride: d, X: x}
	rows := g.expand(whole)
	in.shown = namesOf(g.columns())
	table, err := in.source(rows.X, n, rows.D)
	if err != nil {
		return nil, err
	}
	b, err := m.starting(false)
	if err != nil {
		return nil, err
	}
	model := mixture.Model{Family: g.family(f.floor()), Start: b.fit}
	described := describedRows{Table: table, columns: columns, family: model.Family}
	t := described.task(f, "component")
	t.what = fmt.Sprintf("%s regressions of %s on %s", g.Distribution, report.Printable(g.Response), listed(printables(g.Terms), 8))
	t.largest = max(1, min(n/(g.width()+2), mostByDefault))
	if len(m.Gate) == 0 {
		t.engine = regressionEngine(g, model, table)
		return t, nil
	}
	t.engine, err = gatedEngine(f, in, g.gated(columns, m.Gate), whole, g.columns(), model, func(c *gatedClasses) *result { return c.regressions(g, table) })
	return t, err
}

// printables are the names of terms.
func printables(terms []regressor) (names []string) {
	for _, t := range terms {
		names = append(names, report.Printable(t.Name))
	}
	return names
}

// regressionFile is what JSON and a model file have of the parameters.
type regressionFile struct {
	estimates
	Regression *regression `json:"regression"`
}

func loadRegression(file *modelFile) (*savedModel, error) {
	var params struct {
		*mixture.Parameters
		Regression *regression `json:"regression"`
	}
	if err := json.Unmarshal(file.Params, &params); err != nil {
		return nil, err
	}
	p, g := params.Parameters, params.Regression
	if g != nil && len(file.Settings.gate()) > 0 {
		return loadGatedRegression(file, g)
	}
	if p == nil || g == nil {
		return nil, errors.New("no parameters of a regression")
	}
	if err := file.matches(p.K, len(file.Columns)); err != nil {
		return nil, err
	}
	if err := g.check(file.Columns, p.D); err != nil {
		return nil, err
	}
	model := mixture.Model{Family: g.family(file.Settings.floor())}
	if err := model.Check(p); err != nil {
		return nil, err
	}
	return savedRegression(g, model, p, namesOf(file.Columns), ungated{model, p, g}), nil
}

// An allocation says which components rows, with the model's columns, are in.
type allocation interface {
	// score has the log densities of the responses, and the probabilities of the components given these, rows×K.
	score(b framework.Rows) (logProb, r []float64, err error)
	// prior has the probabilities before the responses are seen, rows×K.
	prior(b framework.Rows) ([]float64, error)
}

// ungated are components whose probabilities are their weights.
type ungated struct {
	model  mixture.Model
	params *mixture.Parameters
	design *regression
}

func (u ungated) score(b framework.Rows) (logProb, r []float64, err error) {
	return u.model.Score(u.design.expand(b), u.params, nil, nil)
}

func (u ungated) prior(b framework.Rows) ([]float64, error) {
	return slices.Repeat(u.params.Weights, b.N), nil
}

// check holds a design from a file to the columns of the model.
func (g *regression) check(columns []data.Column, width int) error {
	if _, ok := responses[g.Distribution]; !ok || width != g.width() || len(columns) < g.first() || columns[0].Name != g.Response || g.Size != "" && columns[1].Name != g.Size {
		return errors.New("its regression does not match its columns")
	}
	for _, t := range g.Terms {
		if t.Column < g.first() || t.Column >= len(columns) || t.Power < 0 || t.Power > mostDegree || (t.Power == 0) != (t.Level > 0) || t.Level > 0 && t.Level >= len(columns[t.Column].Levels) {
			return fmt.Errorf("its term %q does not match its columns", t.Name)
		}
	}
	return nil
}

// savedRegression returns what a mixture does of each row, and the mean of the response: of the mixture, by the weights of
// the components, or the gate, and not by the response itself, and in each component.
func savedRegression(g *regression, model mixture.Model, p *mixture.Parameters, names []string, of allocation) *savedModel {
	m := &savedModel{optional: names[:g.first()], layout: layout{first: []string{labelHead, "probability", "mean"}, list: "responsibilities", entries: numbered("p", p.K),
		last: append(numbered("mean", p.K), "log_likelihood")}}
	m.score = func(b framework.Rows) ([]float64, error) {
		if err := g.complete(b); err != nil {
			return nil, err
		}
		logProb, r, err := of.score(b)
		if err != nil {
			return nil, g.sourced(err)
		}
		prior, err := of.prior(b)
		if err != nil {
			return nil, err
		}
		means, err := model.Means(g.expand(b), p)
		if err != nil {
			return nil, err
		}
		var table []float64
		labels := mixture.Labels(r, p.K)
		for i, l := range logProb {
			if math.IsNaN(b.Row(i)[0]) { // without a response the probabilities sum to 1, up to rounding
				l = 0
			}
			q, each, mean := r[i*p.K:(i+1)*p.K], means[i*p.K:(i+1)*p.K], 0.0
			for k, w := range prior[i*p.K : (i+1)*p.K] {
				mean += w * each[k]
			}
			table = append(append(table, float64(labels[i]+1), q[labels[i]], mean), q...)
			table = append(append(table, each...), l)
		}
		return table, nil
	}
	m.given = func(b framework.Rows, rng *rand.Rand) (x []float64, labels []int, err error) {
		if err := g.complete(b); err != nil {
			return nil, nil, err
		}
		plan, err := family.NewPlan(model.Family, p.D)
		if err != nil {
			return nil, nil, err
		}
		prior, err := of.prior(b)
		if err != nil {
			return nil, nil, err
		}
		rows := g.expand(b)
		for i := range b.N {
			k := categorical.Draw(prior[i*p.K:(i+1)*p.K], rng)
			row := rows.Row(i)
			if g.Size != "" && math.IsNaN(row[1]) {
				row[1] = 1
			}
			if err := plan.Resample(p.Component(k), rng, drawable(row)); err != nil {
				return nil, nil, err
			}
			x, labels = append(append(append(x, row[0]), row[1:g.first()]...), b.Row(i)[g.first():]...), append(labels, k)
		}
		return x, labels, nil
	}
	return m
}

// drawable gives a row without a response one to be replaced.
func drawable(row []float64) []float64 {
	if math.IsNaN(row[0]) {
		row[0] = 0
	}
	return row
}

// sourced is an error about the model's columns in place of those of the design.
func (g *regression) sourced(err error) error {
	for _, fault := range faults(err) {
		if fault.Column >= g.first() && fault.Column < g.width() {
			fault.Column = g.Terms[fault.Column-g.first()].Column
		}
	}
	return err
}

// complete refuses rows without all of their regressors.
func (g *regression) complete(b framework.Rows) error {
	for i := range b.N {
		for j, v := range b.Row(i) {
			if math.IsNaN(v) && j >= g.first() {
				return &framework.DataError{Row: b.First + i, Column: j, Value: v, Reason: errors.New("the mean of the response takes all regressors: fill it in, or --missing drop")}
			}
		}
	}
	return nil
}
