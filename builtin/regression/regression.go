// Package regression defines the mixture of regressions of package builtin, in which each component explains a column
// by others with its own coefficients: its settings, the results of its fits, predictions for rows, and its model
// files.
package regression

import (
	"cmp"
	"context"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/builtin/internal/curves"
	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// Definition returns the definition of mixtures of regressions.
func Definition() fitted.Definition {
	return fitted.Definition{Name: "regression", Title: "Mixture of regressions",
		About: "a mixture of regressions of one column on other columns", Part: "component", Classes: true, Starts: 10,
		UnitKeys: fitted.UnitKeys,
		Example:  "NPreg", Families: families.Only{families.Gaussian, families.Poisson, design.Binomial},
		New: func() fitted.Settings { return new(Settings) }, Load: load, Methods: fitted.OfClasses(framework.Slope)}
}

// Settings name the response and the regressors.
type Settings struct {
	classes.ColumnSettings
	classes.StartSettings
	classes.RegressionSettings
	Trials string `json:"trials,omitempty" family:"binomial" placeholder:"COL" help:"The column with the numbers of trials of --family binomial. Default: 1 each."`
	classes.GateSettings
	classes.KnownSettings
}

// Explained names the response and the regressors.
func (m *Settings) Explained() fitted.Explained {
	e := m.RegressionSettings.Explained()
	e.Over = cmp.Or(m.Trials, e.Over)
	return e
}

// role says what columns are besides regressors.
func (m *Settings) role() classes.Role {
	return classes.Role{Columns: m.Columns, Trials: m.Trials, Known: m.Known, Gate: m.Gate}
}

// DescribeColumns returns the columns that the model reads.
func (m *Settings) DescribeColumns(t *data.Named, r fitted.Request) ([]data.Column, error) {
	return m.ColumnsOf(t, r, m.role())
}

// Check returns a *[fitted.SettingError] for inconsistent settings.
func (m *Settings) Check(r fitted.Request) error {
	_, err := m.Starting()
	if err := cmp.Or(m.CheckFloor(r), err); err != nil {
		return err
	}
	if m.Response == "" {
		return &fitted.SettingError{Setting: "Model",
			Reason: "regression requires --response, the column to explain by the others"}
	}
	return m.CheckRegression(r, &m.ColumnSettings)
}

// Bind prepares the model for the rows.
func (m *Settings) Bind(_ context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	g, err := m.Design(t.Columns, r, m.role())
	if err != nil {
		return nil, err
	}
	table, err := t.Rows.Through(g.Width(), g.Expand)
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
	model := mixture.Model{Family: g.Family(m.LeastVariance(r)), Start: start, Prior: r.EvidencePrior()}
	b := classes.Bind(&fitted.Table{Rows: table}, model.Family, r, "component")
	b.What = g.About()
	n := table.Rows()
	if b.KMax = max(1, b.KMin, min(n/(g.Width()+2), classes.MostByDefault)); b.KMax == classes.MostByDefault {
		b.DoubleTo = classes.Doubling(n, len(t.Columns))
	}
	b.Seen = (&fitted.Table{Columns: g.Columns()}).Names()
	if len(m.Gate) == 0 {
		b.Problem = plainProblem(g, model, t.Columns, shown, table)
		return b, nil
	}
	gate := g.Gated(t.Columns, m.Gate)
	b.Seen = append(b.Seen, gate.Names()...)
	whole := t.Rows.All()
	whole.Weights = nil
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
			c := &plainCurves{curves.Curves{Components: found, Design: g, Expanded: table}}
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
			return gatedFit{rows, gatedCurves{c, &curves.Curves{Components: c.Components, Design: g, Expanded: table}}}, err
		})
}

// What fits find: what scores rows, and what is said of it.
type (
	plainFit struct {
		*rows
		*plainCurves
	}
	gatedFit struct {
		*rows
		gatedCurves
	}
)

// regressionFile is what JSON and a model file have of the parameters.
type regressionFile struct {
	classes.Estimates
	Regression *design.Regression `json:"regression"`
}

// plainCurves are the result of a mixture of regressions, the component of the largest weight first.
type plainCurves struct{ curves.Curves }

// Params have the terms, too.
func (c *plainCurves) Params() any {
	return regressionFile{classes.Estimates{Parameters: c.Mixture, Errors: c.Errors}, c.Design}
}

// responsibilities are the probabilities of the components for the rows of the fitted table.
func (c *plainCurves) responsibilities(rows []int) ([]float64, error) {
	return c.Model.Responsibilities(classes.Some(c.Expanded.All(), rows), c.Mixture, nil)
}

// gatedRegressionFile holds the parameters of JSON and of a model file.
type gatedRegressionFile struct {
	classes.GatedEstimates
	Regression *design.Regression `json:"regression"`
}

// gatedCurves are the result of regressions with a gate.
type gatedCurves struct {
	*classes.Gated
	curves *curves.Curves
}

// Params have the terms, too.
func (g gatedCurves) Params() any {
	return gatedRegressionFile{g.Gated.Params().(classes.GatedEstimates), g.curves.Design}
}

// Facts are those of the terms, and of the gate.
func (g gatedCurves) Facts() [][2]string { return append(g.curves.Facts(), g.GateFact()) }

// Print shows the coefficients, and those of the gate.
func (g gatedCurves) Print(p report.Page) {
	g.curves.Print(p)
	g.PrintGate(p)
}

// Describe shows the gate after the curves.
func (g gatedCurves) Describe() (*fitted.Description, error) {
	return classes.DescribedBy(g.curves.Finding, func() ([]report.Section, error) {
		first, err := g.curves.Sections()
		if err != nil {
			return nil, err
		}
		gate, err := g.GateSections()
		return append(first, gate...), err
	})
}
