package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/columns"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
)

// ofDefinition is a model that its definition says all of.
func ofDefinition(d fitted.Definition) (m model, err error) {
	if d.New == nil {
		return m, fmt.Errorf("the definition of model %q has no New: the command can load its files and cannot "+
			"fit it", d.Name)
	}
	m = model{Definition: d, mixes: d.Joins, settings: d.New}
	own := flagFields(m)
	for _, name := range flagsOfAll() {
		if _, taken := own[name]; taken {
			return m, fmt.Errorf("the model %q has the flag --%s, which all models have: rename its setting", d.Name, name)
		}
	}
	return m, nil
}

// flagsOfAll are the flags that fit, select, or all commands have whatever the model is.
var flagsOfAll = sync.OnceValue(func() (names []string) {
	for _, general := range []any{fitCommand{}, selectCommand{}, generalFlags{}} {
		names = slices.AppendSeq(names, maps.Keys(flagFieldsOf(reflect.TypeOf(general))))
	}
	slices.Sort(names)
	return slices.Compact(names)
})

// checkOwn refuses settings of the model that do not go together.
func (f *modelFlags) checkOwn() error {
	r := f.request()
	if r.Method.Prior != nil && !f.Prior.ofEvidence() {
		if err := f.Prior.among(r.Method.Prior...); err != nil {
			return err
		}
	}
	return f.flagged(f.Flags().Check(r))
}

// flagged is an error that names the flag of a setting, where one is to blame.
func (f *modelFlags) flagged(err error) error {
	fault, is := errors.AsType[*fitted.SettingError](err)
	if !is {
		return err
	}
	field, has := reflect.TypeOf(f.Flags()).Elem().FieldByName(fault.Setting)
	if !has {
		if field, has = reflect.TypeFor[modelFlags]().FieldByName(fault.Setting); !has {
			field.Name = fault.Setting
		}
	}
	return misused("--%s%s", flagName(field), fault.Cause())
}

// columns are those of a table that is to be fitted; selected says that somebody named them.
func (f *modelFlags) columns(s *tables.Session, in *tables.Input, selected bool) columns.Columns {
	return columns.Of(in, &columns.Request{Roles: f.Roles, Kind: f.Kind(), Family: &f.Family, AnyFamily: f.anyFamily,
		Selected:  selected,
		Weighting: f.Weights, Covariance: f.covariance, Structures: &f.compared, Fit: f.request,
		Choose: func(t *fitted.Table) error { return f.chooseMethod(s, in, t) }})
}

// bind readies the model for a table.
func (f *modelFlags) bind(s *tables.Session, in *tables.Input) (*task, error) {
	table, n := f.table, in.Rows()
	var err error
	switch {
	case table != nil:
		n = table.Rows.Rows()
	case f.from != nil:
		table, err = f.from.table(s, in)
	default:
		table, err = f.columns(s, in, false).Prepare(s)
	}
	if err != nil {
		return nil, err
	}
	bound, err := f.Flags().Bind(s, table, f.request())
	if err != nil {
		return nil, f.flagged(err)
	}
	in.NoteAll(s, bound.Notes)
	in.Shown, f.Accelerate = bound.Seen, f.Accelerate || bound.Accelerate
	in.What = bound.Data
	bound.What, bound.KMin = cmp.Or(bound.What, f.model().Title), max(1, bound.KMin)
	if bound.KMax == 0 {
		bound.KMax = max(1, min(mostByDefault, n/2))
	}
	if bound.CheckK == nil {
		bound.CheckK = func(k int) error {
			if k > n {
				return fmt.Errorf("%s for %s: choose K up to %d", counted(k, "latent dimension"), counted(n, "row"), n)
			}
			return nil
		}
	}
	return &task{bound, f, table.Columns, n}, nil
}

// fit makes one fit.
func (t *task) fit(ctx context.Context, o framework.Options) (*outcome.Fit, error) {
	return t.outcome(t.Fit(ctx, o))
}

func (t *task) outcome(res *framework.Result[fitted.Found, struct{}], err error) (*outcome.Fit, error) {
	if res == nil || res.Parameters == nil {
		return nil, t.flags.flagged(err)
	}
	return outcome.Of(res, t.flags.request().Method), t.flags.flagged(err)
}

// score makes the fits of several K.
func (t *task) score(
	ctx context.Context, ks []int, o framework.Options, criteria []framework.Criterion,
) (*outcome.Scores, error) {
	sel, err := t.Select(ctx, ks, o, criteria...)
	if err != nil {
		return nil, t.flags.flagged(err)
	}
	all := outcome.ScoresOf(&sel.Selection, o, t.flags.request().Method)
	all.Open = func(i int) (*outcome.Fit, error) { return t.outcome(sel.Open(i)) }
	return all, nil
}

// chooseMethod takes the method that suits the table, where none is given.
func (f *modelFlags) chooseMethod(s *tables.Session, in *tables.Input, t *fitted.Table) error {
	chooser, chooses := f.Flags().(fitted.Chooser)
	if !chooses || !f.byTable {
		return nil
	}
	if c := chooser.Choose(t, f.request()); c.Method != "" {
		f.decide(s, in, c.Method, c.Why, c.Elsewhere)
		f.Accelerate = f.Accelerate || c.Accelerate
	}
	return f.checkMethod()
}
