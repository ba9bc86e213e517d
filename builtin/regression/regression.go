// Package regression defines the mixture of regressions of package builtin, in which each component explains a column
// by others with its own coefficients: its settings, the results of its fits, predictions for rows, and its model
// files.
package regression

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// Definition returns the definition of mixtures of regressions.
func Definition() fitted.Definition {
	return fitted.Definition{Name: "regression", Title: "Mixture of regressions",
		About: "a mixture of regressions of one column on other columns", Part: "component", Classes: true, Starts: 10,
		Example: "NPreg", Families: families.Only{families.Gaussian, families.Poisson, design.Binomial},
		New: func() fitted.Settings { return new(Settings) }, Load: load, Methods: fitted.OfClasses(framework.Slope)}
}

// Settings name the response and the regressors.
type Settings struct {
	classes.ColumnSettings
	classes.StartSettings
	Response    string   `json:"response,omitempty" placeholder:"COL" help:"The column to explain by the others, by one regression in each component. With --family binomial: 0 and 1, a text of two levels, or with --trials a number of successes."`
	Regress     []string `json:"regress,omitempty" placeholder:"COL" help:"Explain it by these columns. Default: all others. Texts become indicators of all levels except the first."`
	Trials      string   `json:"trials,omitempty" family:"binomial" placeholder:"COL" help:"The column with the numbers of trials of --family binomial. Default: 1 each."`
	Exposure    string   `json:"exposure,omitempty" family:"poisson" placeholder:"COL" help:"The column with the exposures of --family poisson, such as the time that events are counted over. Default: 1 each."`
	Power       Powers   `json:"power,omitzero" placeholder:"COL=DEGREE,…" help:"Polynomials: x=2 adds the square of column x to the regressors."`
	Fixed       []string `json:"fixed,omitempty" placeholder:"NAME" help:"Coefficients that all components share, by the names that the text has: intercept, or a regressor. Default: none."`
	NoIntercept bool     `json:"no_intercept,omitempty" name:"no-intercept" help:"Lines through the origin."`
	classes.GateSettings
	classes.KnownSettings
}

// Powers hold the degree of a polynomial for each of some columns.
type Powers struct {
	Names  []string // as they were given
	Degree map[string]int
	Text   string
}

// MarshalText returns the text that UnmarshalText has read.
func (p Powers) MarshalText() ([]byte, error) { return []byte(p.Text), nil }

// UnmarshalText reads COL=DEGREE,…; a comma within a name needs a backslash before it.
func (p *Powers) UnmarshalText(text []byte) error {
	*p = Powers{Degree: map[string]int{}, Text: string(text)}
	for _, item := range wording.Items(p.Text) {
		at := strings.LastIndex(item, "=")
		if at < 0 {
			return fmt.Errorf("%q: write COL=DEGREE,…", item)
		}
		name := strings.TrimSpace(item[:at])
		degree, err := strconv.Atoi(strings.TrimSpace(item[at+1:]))
		switch {
		case err != nil || degree < 1 || degree > design.MostDegree:
			return fmt.Errorf("%s: the degree of a polynomial must be from 1 to %d", item, design.MostDegree)
		case p.Degree[name] != 0:
			return fmt.Errorf("column %q is given twice", name)
		}
		p.Names, p.Degree[name] = append(p.Names, name), degree
	}
	return nil
}

// size is the column that a response counts over; empty: none.
func (m *Settings) size() string { return cmp.Or(m.Trials, m.Exposure) }

// Explained names the response and the regressors.
func (m *Settings) Explained() fitted.Explained {
	return fitted.Explained{Response: m.Response, Over: m.size(), By: m.Regress, Powers: m.Power.Names}
}

// Check returns a *[fitted.SettingError] for inconsistent settings.
func (m *Settings) Check(r fitted.Request) error {
	wrong := func(setting, reason string, args ...any) error {
		return &fitted.SettingError{Setting: setting, Reason: fmt.Sprintf(reason, args...)}
	}
	_, err := m.Starting()
	if err := cmp.Or(m.CheckFloor(r), err); err != nil {
		return err
	}
	for _, name := range m.Columns.Names {
		if m.Columns.Family[name] != families.Categorical {
			return wrong("Columns", "%s=%s cannot be used with --model regression: regressors are numbers, or categorical",
				wording.Item(name), m.Columns.Family[name])
		}
	}
	switch {
	case m.Response == "":
		return wrong("Model", "regression requires --response, the column to explain by the others")
	case m.Floor != nil && r.Family != families.Gaussian:
		return wrong("Floor", "requires --family gaussian, and the family is %s", r.Family)
	case m.Columns.Family[m.Response] != "":
		return wrong("Columns", "cannot name the response, %q: --family is its distribution", m.Response)
	}
	return nil
}

// numeric is the family of columns of numbers that explain.
const numeric = "regressor"

// DescribeColumns returns the columns that the model reads: the response, its exposure or trials, the regressors, which
// may be categorical, and the columns of the gate.
func (m *Settings) DescribeColumns(t *data.Named, r fitted.Request) ([]data.Column, error) {
	columns := make([]data.Column, len(t.Names))
	for j, name := range t.Names {
		c := data.Column{Name: name}
		text := t.Levels(name) != nil
		switch {
		case name == m.Known:
			c.Family = families.Known
			var err error
			if c.Levels, err = t.Occurring(name); err != nil {
				return nil, err
			}
		case slices.Contains(m.Gate, name) && !slices.Contains(m.Regress, name):
			c.Family = families.Gate
			if text || m.Columns.Family[name] == families.Categorical {
				var err error
				if c.Levels, err = t.Occurring(name); err != nil {
					return nil, err
				}
			}
		case j == 0:
			c.Family = r.Family
			if text && r.Family == design.Binomial && m.Trials == "" {
				levels, err := t.Occurring(name)
				if err != nil {
					return nil, err
				}
				if len(levels) != 2 {
					return nil, fmt.Errorf("column %.60q, the response, has %s (%s); must have two", name,
						wording.Counted(len(levels), "level"), wording.Quoted(levels))
				}
				c.Levels = levels
			}
		case j == 1 && m.size() != "":
			c.Family = map[bool]string{true: "trials", false: "exposure"}[m.Trials != ""]
		case text || m.Columns.Family[name] == families.Categorical:
			var err error
			if c.Family = families.Categorical; m.Power.Degree[name] > 0 {
				return nil, fmt.Errorf("--power: column %.60q is categorical", name)
			}
			if c.Levels, err = t.Occurring(name); err != nil {
				return nil, err
			}
			if len(c.Levels) < 2 {
				return nil, fmt.Errorf("column %.60q has 1 level (%.60q); must have at least two: --drop %s", name, c.Levels[0],
					wording.Item(name))
			}
		default:
			c.Family = numeric
		}
		columns[j] = c
	}
	_, err := m.design(columns, r)
	return columns, err
}

// design finds the terms of columns.
func (m *Settings) design(columns []data.Column, r fitted.Request) (*design.Regression, error) {
	g := &design.Regression{Distribution: r.Family, Response: m.Response, Size: m.size(), Intercept: !m.NoIntercept}
	g.Know(columns)
	for j, c := range columns[g.First():] {
		j += g.First()
		for l := 1; l < len(c.Levels) && c.Family == families.Categorical; l++ {
			g.Terms = append(g.Terms, design.Term{Name: c.Name + " = " + c.Levels[l], Column: j, Level: l, Against: c.Levels[0]})
		}
		for power := 1; power <= max(1, m.Power.Degree[c.Name]) && c.Family == numeric; power++ {
			t := design.Term{Name: c.Name, Column: j, Power: power}
			if power > 1 {
				t.Name = fmt.Sprintf("%s^%d", c.Name, power)
			}
			g.Terms = append(g.Terms, t)
		}
	}
	switch {
	case len(g.Terms) == 0 && len(m.Gate) > 0:
		return nil, errors.New("there is no column beside the response and the gate to explain it by: --regress " +
			"names some, which may be the gate's too")
	case len(g.Terms) == 0:
		return nil, errors.New("there is no column beside the response to explain it by: take --model mixture")
	}
	return g, fix(g, m.Fixed)
}

// fix finds the coefficients of --fixed.
func fix(g *design.Regression, names []string) error {
	all := g.Coefficients()
	for _, name := range names {
		place := slices.Index(all, name)
		switch {
		case place < 0:
			return fmt.Errorf("--fixed: no coefficient %.60q; there are %s", name, wording.Quoted(all))
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

// Bind prepares the model for the rows.
func (m *Settings) Bind(_ context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	g, err := m.design(t.Columns, r)
	if err != nil {
		return nil, err
	}
	whole := t.Rows.All()
	weights := whole.Weights
	whole.Weights = nil
	table, err := classes.TableOf(g.Expand(whole, nil), weights)
	if err != nil {
		return nil, err
	}
	shown, err := classes.DataOf(t)
	if err != nil {
		return nil, err
	}
	start, err := m.Starting()
	if err != nil {
		return nil, err
	}
	model := mixture.Model{Family: g.Family(m.LeastVariance(r)), Start: start, Prior: classes.OfEvidence(r.Prior)}
	b := classes.Bind(&fitted.Table{Rows: table}, model.Family, r, "component")
	b.What = fmt.Sprintf("%s regressions of %s on %s", g.Distribution, report.Printable(g.Response),
		wording.Listed(printables(g.Terms), 8))
	if b.KMax = max(1, b.KMin, min(whole.N/(g.Width()+2), classes.MostByDefault)); b.KMax == classes.MostByDefault {
		b.DoubleTo = classes.Doubling(whole.N, len(t.Columns))
	}
	b.Seen = (&fitted.Table{Columns: g.Columns()}).Names()
	if len(m.Gate) == 0 {
		b.Problem = plainProblem(g, model, t.Columns, shown, table)
		return b, nil
	}
	gate := g.Gated(t.Columns, m.Gate)
	b.Seen = append(b.Seen, gate.Names()...)
	searches := false
	b.Problem, searches, err = gatedProblem(g, gate, whole, model, t.Columns, shown, table)
	b.Accelerate = !searches // a steep gate makes EM slow (docs/theory/experts.md, section 3)
	return b, err
}

// plainProblem fits a mixture of regressions.
func plainProblem(
	g *design.Regression, model mixture.Model, columns []data.Column, shown *data.Named, table *blocks.Table,
) fitted.Problem[fitted.Found] {
	return &fitted.Engine[fitted.Found, blocks.Rows, *mixture.Parameters, *mixture.Statistics]{
		Model: model, Source: table, Found: func(p *mixture.Parameters, s *mixture.Statistics) (fitted.Found, error) {
			found, err := classes.NewComponents(model, g.Distribution, g.Columns(), shown, p, nil, s)
			if err != nil {
				return nil, err
			}
			c := &curves{found, g, table}
			c.Probabilities, c.Counter = c.responsibilities, classes.LikeliestOf(table, c.Mixture.K, found.Scorer)
			c.Draw = func(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error) {
				return c.DrawRows(ctx, model, table, o)
			}
			rows, err := plainRows(g, columns, model, c.Mixture)
			return plainFit{rows, c}, err
		}}
}

// gatedProblem fits one behind a gate, whose rows have the columns.
func gatedProblem(g *design.Regression, gate design.Gate, rows blocks.Rows, model mixture.Model,
	columns []data.Column, shown *data.Named, table *blocks.Table) (fitted.Problem[fitted.Found], bool, error) {
	return classes.GatedEngine(gate, rows, g.Columns(), shown, g.Distribution, model,
		func(c *classes.Gated) (fitted.Found, error) {
			behind := &scoring.Gated{Gate: gate}
			behind.Model, behind.Params = c.Experts()
			rows, err := gatedRows(g, columns, behind)
			return gatedFit{rows, gatedCurves{c, &curves{c.Components, g, table}}}, err
		})
}

// What fits find: what scores rows, and what is said of it.
type (
	plainFit struct {
		*rows
		*curves
	}
	gatedFit struct {
		*rows
		gatedCurves
	}
)

// printables are the names of terms.
func printables(terms []design.Term) (names []string) {
	for _, t := range terms {
		names = append(names, report.Printable(t.Name))
	}
	return names
}

// regressionFile is what JSON and a model file have of the parameters.
type regressionFile struct {
	classes.Estimates
	Regression *design.Regression `json:"regression"`
}
