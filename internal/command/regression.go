package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// regressionSettings say what is explained by what.
type regressionSettings struct {
	columnSettings
	startSettings
	Response    string   `json:"response,omitempty" placeholder:"COL" help:"The column to explain by the others, by one regression in each component. With --family binomial: 0 and 1, a text of two levels, or with --trials a number of successes."`
	Regress     []string `json:"regress,omitempty" placeholder:"COL" help:"Explain it by these columns. Default: all others. Texts become indicators of all levels except the first."`
	Trials      string   `json:"trials,omitempty" family:"binomial" placeholder:"COL" help:"The column with the numbers of trials of --family binomial. Default: 1 each."`
	Exposure    string   `json:"exposure,omitempty" family:"poisson" placeholder:"COL" help:"The column with the exposures of --family poisson, such as the time that events are counted over. Default: 1 each."`
	Power       powers   `json:"power,omitzero" placeholder:"COL=DEGREE,…" help:"Polynomials: x=2 adds the square of column x to the regressors."`
	Fixed       []string `json:"fixed,omitempty" placeholder:"NAME" help:"Coefficients that all components share, by the names that the text has: intercept, or a regressor. Default: none."`
	NoIntercept bool     `json:"no_intercept,omitempty" name:"no-intercept" help:"Lines through the origin."`
	gateSettings
}

const modelOfCurves = "regression"

// powers are the value of --power.
type powers struct {
	names  []string
	degree map[string]int
	text   string
}

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
		case err != nil || degree < 1 || degree > design.MostDegree:
			return fmt.Errorf("%s: the degree of a polynomial must be from 1 to %d", item, design.MostDegree)
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
			return misused("--columns %s=%s cannot be used with --model regression: regressors are numbers, or categorical",
				item(name), m.Columns.family[name])
		}
	}
	switch {
	case m.Response == "":
		return misused("--model regression requires --response, the column to explain by the others")
	case m.Floor != nil && f.Family != families.Gaussian:
		return misused("--floor requires --family gaussian, and the family is %s", f.Family)
	case m.Columns.family[m.Response] != "":
		return misused("--columns cannot name the response, %q: --family is its distribution", m.Response)
	}
	return nil
}

// arrange keeps the columns of a regression: the response, what it counts over, and the regressors. weights are none of
// them, and the columns of a gate only those that --regress names.
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
			return in.wrap(fmt.Errorf("--power: column %.60q is not a regressor", name))
		}
	}
	var err error
	in.Table, err = in.Table.Select(append(own, names...)...)
	return in.wrap(err)
}

// design finds the terms of the table's columns, which become numbers.
func (m *regressionSettings) arrange(f *modelFlags, in *input) (*design.Regression, []data.Column, error) {
	g := &design.Regression{Distribution: f.Family, Response: m.Response, Size: m.size(), Intercept: !m.NoIntercept}
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
			if text && f.Family == design.Binomial && m.Trials == "" {
				levels, err := in.Occurring(name)
				if err != nil {
					return nil, nil, err
				}
				if len(levels) != 2 {
					return nil, nil, fmt.Errorf("column %.60q, the response, has %s (%s); must have two", name,
						counted(len(levels), "level"), abridged(levels, ", ", quotedCell))
				}
				c.Levels = levels
			}
		case j < g.First():
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
				return nil, nil, refusal([]string{name}, len(in.Names), "",
					fmt.Sprintf("has 1 level (%.60q); must have at least two", c.Levels[0]), "")
			}
			for l := 1; l < len(c.Levels); l++ {
				g.Terms = append(g.Terms, design.Term{Name: name + " = " + c.Levels[l], Column: j, Level: l, Against: c.Levels[0]})
			}
		default:
			c.Family = "regressor"
			for power := 1; power <= max(1, m.Power.degree[name]); power++ {
				t := design.Term{Name: name, Column: j, Power: power}
				if power > 1 {
					t.Name = fmt.Sprintf("%s^%d", name, power)
				}
				g.Terms = append(g.Terms, t)
			}
		}
		columns[j] = c
	}
	if len(g.Terms) == 0 && len(m.Gate) > 0 {
		return nil, nil, errors.New("there is no column beside the response and the gate to explain it by: --regress " +
			"names some, which may be the gate's too")
	}
	if len(g.Terms) == 0 {
		return nil, nil, errors.New("there is no column beside the response to explain it by: take --model mixture")
	}
	return g, columns, in.recode(columns, upTo(0, len(columns)-1), false)
}

// fix finds the coefficients of --fixed.
func fix(g *design.Regression, names []string) error {
	all := g.Coefficients()
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
		return errors.New("--fixed names every coefficient: leave at least one to the components")
	}
	return nil
}

func (m *regressionSettings) bind(s *session, f *modelFlags, in *input) (*task, error) {
	if err := in.checkGate(m.Gate); err != nil {
		return nil, err
	}
	g, columns, err := m.arrange(f, in)
	if err != nil {
		return nil, err
	}
	if err := fix(g, m.Fixed); err != nil {
		return nil, err
	}
	x, n, d, err := in.numbers(s, true, true)
	if err != nil {
		return nil, err
	}
	whole := framework.Rows{N: n, D: d, Stride: d, X: x}
	rows := g.Expand(whole, nil)
	in.shown = namesOf(g.Columns())
	table, err := in.source(rows.X, n, rows.D)
	if err != nil {
		return nil, err
	}
	b, err := m.starting(false)
	if err != nil {
		return nil, err
	}
	model := mixture.Model{Family: g.Family(f.floor()), Start: b.fit, Prior: f.Prior.unit()}
	described := describedRows{Table: table, columns: columns, family: model.Family}
	t := described.task(f, "component")
	t.what = fmt.Sprintf("%s regressions of %s on %s", g.Distribution, report.Printable(g.Response),
		listed(printables(g.Terms), 8))
	t.largest = max(1, min(n/(g.Width()+2), mostByDefault))
	if len(m.Gate) == 0 {
		t.engine = regressionEngine(g, model, table)
		return t, nil
	}
	t.engine, err = gatedEngine(f, in, g.Gated(columns, m.Gate), whole, g.Columns(), model,
		func(c *gatedClasses) *result { return c.regressions(g, table) })
	return t, err
}

// printables are the names of terms.
func printables(terms []design.Term) (names []string) {
	for _, t := range terms {
		names = append(names, report.Printable(t.Name))
	}
	return names
}

// regressionFile is what JSON and a model file have of the parameters.
type regressionFile struct {
	estimates
	Regression *design.Regression `json:"regression"`
}
