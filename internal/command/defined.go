package command

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/report"
)

// ofDefinition is a model that its definition says all of.
func ofDefinition(d fitted.Definition) (m model, err error) {
	if d.New == nil {
		return m, fmt.Errorf("the definition of model %q has no New: the command could load its files, and not fit", d.Name)
	}
	m = model{Definition: d, settings: func() modelSettings { return &definedSettings{d.New(), d} }}
	for _, method := range d.Methods {
		m.methods = append(m.methods, method.Name)
	}
	if m.selecting = m.methods[0]; slices.Contains(m.methods, methodEM) {
		m.selecting = methodEM
	}
	general := flagFieldsOf(reflect.TypeFor[fittingFlags]())
	for name := range flagFields(m) {
		if _, taken := general[name]; taken {
			return m, fmt.Errorf("the model %q has the flag --%s, which all models have: rename its setting", d.Name, name)
		}
	}
	return m, nil
}

// definedSettings are those of a definition.
type definedSettings struct {
	fitted.Settings
	of fitted.Definition
}

func (c *definedSettings) method(f *modelFlags) fitted.Method {
	return c.of.Methods[slices.IndexFunc(c.of.Methods, func(m fitted.Method) bool { return m.Name == f.Method })]
}

func (c *definedSettings) check(f *modelFlags) error {
	if err := c.Check(c.method(f)); err != nil {
		return misused("%w", c.flagged(err))
	}
	return nil
}

// flagged names the flag of a setting.
func (c *definedSettings) flagged(err error) error {
	fault, is := errors.AsType[*fitted.SettingError](err)
	if !is {
		return err
	}
	name := fault.Setting
	if field, has := reflect.TypeOf(c.Settings).Elem().FieldByName(name); has {
		name = flagName(field)
	}
	return fmt.Errorf("--%s: %s", name, fault.Reason)
}

func (c *definedSettings) bind(s *session, f *modelFlags, in *input) (*task, error) {
	table, n, _, err := in.matrix()
	if err != nil {
		return nil, err
	}
	columns := named(in.Names)
	bound, err := c.Bind(s, columns, table, c.method(f))
	if err != nil {
		return nil, c.flagged(err)
	}
	t := &task{engine: definedEngine{bound.Problem}, what: c.of.Title, columns: columns}
	t.largest, t.checkSize = bound.KMax, bound.CheckK
	if t.largest == 0 {
		t.largest = max(1, min(mostByDefault, n/2))
	}
	if t.checkSize == nil {
		t.checkSize = func(k int) error {
			if k > n {
				return fmt.Errorf("%s for %s: choose K up to %d", counted(k, "latent dimension"), counted(n, "row"), n)
			}
			return nil
		}
	}
	return t, nil
}

// definedEngine fits what a definition has bound.
type definedEngine struct{ fitted.Problem[fitted.Found] }

func (e definedEngine) fit(ctx context.Context, o framework.Options) (*outcome, error) {
	return definedOutcome(e.Fit(ctx, o))
}

func definedOutcome(res *framework.Result[fitted.Found, struct{}], err error) (*outcome, error) {
	if res == nil || res.Parameters == nil {
		return nil, err
	}
	return outcomeOf(fitted.With(res, definedResult(res.Parameters, res.Shape.K)), err)
}

func (e definedEngine) score(
	ctx context.Context, ks []int, o framework.Options, criteria []framework.Criterion,
) (*scores, error) {
	sel, err := e.Select(ctx, ks, o, criteria...)
	if err != nil {
		return nil, err
	}
	later := func(*framework.Result[fitted.Found, struct{}]) (*result, error) { return nil, nil }
	all := scoresOf(fitted.Selected(&sel.Selection, later), o)
	all.fit = func(i int) (*outcome, error) { return definedOutcome(sel.Open(i)) }
	return all, nil
}

// definedResult says of a fit what its model does.
func definedResult(found fitted.Found, k int) *result {
	var sections []report.Section
	if d, is := found.(fitted.Describer); is {
		sections = d.Describe()
	}
	r := &result{k: k, params: found.Params()}
	r.sections = func(*input) ([]report.Section, error) { return sections, nil }
	r.print = func(p *page) {
		for _, one := range sections {
			if one.Text != "" {
				p.line("")
				p.prose(0, "%s", one.Text)
			}
			for _, t := range one.Tables {
				p.table(t)
			}
		}
	}
	return r
}

// table is a table of a document, its first rows and as many columns as there is room for.
func (p *page) table(t report.Table) {
	rows := t.Rows[:min(len(t.Rows), mostRows)]
	n, g := p.widest(len(t.Columns)-1, func(n int) *grid {
		var heads []string
		for _, c := range t.Columns[:1+n] {
			heads = append(heads, short(c.Name))
		}
		g := newGrid(heads...)
		for _, row := range rows {
			var cells []string
			for _, cell := range row[:1+n] {
				cells = append(cells, short(cell.String()))
			}
			g.row(cells...)
		}
		return g
	})
	p.line("")
	p.grid(g)
	if rest := len(t.Columns) - 1 - n; rest > 0 || len(rows) < len(t.Rows) {
		left := len(t.Rows) - len(rows)
		p.prose(0, "%s and %s left out (--format json has all).", counted(left, "row"), counted(rest, "column"))
	}
}
