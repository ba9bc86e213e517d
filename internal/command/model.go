package command

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
)

// A model is a value of --model: all that the command has to know of it before it sees data.
type model struct {
	fitted.Definition
	methods   []string // values of --method, the default first, except that selecting is that of latent select
	selecting string   //
	// the rows are independent: criteria that integrate the parameters out or count labels are theirs
	mixes    bool
	settings func() fitted.Settings // those that it alone has
}

// A registry is the models of a program, the values of --model.
type registry struct {
	fitted.Registry                  // the default first
	models          map[string]model // by name
	aliases         map[string]alias // by name, those of models that there are
}

// An alias is a name for a model with one family.
type alias struct {
	fitted.Alias
	model string
}

// registryOf has the models of a host.
func registryOf(list fitted.Registry) (*registry, error) {
	r := &registry{Registry: list, models: map[string]model{}}
	if err := list.Check(); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("there are no models: those of latent are builtin.Models()")
	}
	for _, d := range list {
		m, err := ofDefinition(d)
		if err != nil {
			return nil, err
		}
		r.models[d.Name] = m.withMethods(d.Methods)
	}
	r.aliases = map[string]alias{}
	for _, d := range list {
		for _, a := range d.Aliases {
			if _, taken := r.models[a.Name]; !taken && d.Families != nil && slices.Contains(d.Families.Names(false), a.Family) {
				r.aliases[a.Name] = alias{a, d.Name}
			}
		}
	}
	return r, nil
}

// resolve is the name of a model that another name stands for.
func (r *registry) resolve(name string) string { return cmp.Or(r.aliases[name].model, name) }

// values are those of --model.
func (r *registry) values() []string {
	return slices.Concat(r.Names(), slices.Sorted(maps.Keys(r.aliases)))
}

// AfterApply puts the model and its family in the place of another name, once the arguments are parsed.
func (f *modelFlags) AfterApply() error {
	of, is := f.known.aliases[f.Model]
	switch {
	case !is:
		return nil
	case f.Family != "" && f.Family != of.Family:
		return fmt.Errorf("--model %s has --family %s: leave --family %s out, or take --model %s", f.Model, of.Family,
			f.Family, of.model)
	}
	f.Model, f.Family = of.model, of.Family
	return nil
}

// names are those of the models, in order.
func (r *registry) names() []string { return slices.Sorted(maps.Keys(r.models)) }

// method is that of a name.
func (m model) method(name string) fitted.Method {
	method, _ := m.MethodNamed(name)
	return method
}

// criteria score a method's fits, its own first.
func (m model) criteria(method string) []framework.Criterion {
	return slices.Clone(m.method(method).Criteria)
}

// further criteria score a method's fits where they are asked for, or where fits of every K are compared, the sweep.
func (m model) further(method string, sweep bool) []framework.Criterion {
	of := m.method(method)
	if sweep {
		return slices.Concat(of.Further, of.Swept)
	}
	return of.Further
}

// finds says whether a method finds K in one fit; the others fit every K separately.
func (m model) finds(method string) bool { return m.method(method).FindsK }

// informed says whether a method has a place for --prior.
func (m model) informed(method string) bool { return m.method(method).Prior != nil }

// chooses says whether the table decides about the method where none is given.
func (m model) chooses() bool {
	_, is := m.settings().(fitted.Chooser)
	return is
}

// withMethods is a model with these methods, and the one of latent select where none is named.
func (m model) withMethods(list []fitted.Method) model {
	m.Methods, m.methods = list, nil
	for _, method := range list {
		m.methods = append(m.methods, method.Name)
	}
	m.selecting = m.methods[0]
	if slices.Contains(m.methods, methodEM) {
		m.selecting = methodEM
	}
	if at := slices.IndexFunc(list, func(one fitted.Method) bool { return !one.Iterates() }); at >= 0 {
		m.selecting = m.methods[at]
	}
	return m
}

// hasEvidence says whether the evidence compares a method's fits, or can.
func (m model) hasEvidence(method string) bool {
	return slices.ContainsFunc(append(m.criteria(method), m.further(method, false)...),
		func(c framework.Criterion) bool { return c.Name == framework.Evidence.Name })
}

// needsAll says whether the model has no place for missing values.
func (f *fittingFlags) needsAll() bool {
	m := f.model()
	return !m.Classes && !m.Gaps || f.Explained() != nil || families.NeedsComplete(f.Family)
}

// checkLabel refuses labels where there are no components to compare them with.
func (m model) checkLabel(name, label string) error {
	if label != "" && !m.Classes {
		return misused("--label requires a mixture: %s model has no components", wording.A(name))
	}
	return nil
}

// starts is the default of --restarts: several make up for local maxima where they cost little, and one of each kind,
// such as k-means and a hierarchical one, where passes are dear. Those of cvb0, which integrates the parameters out,
// agree, and three show it.
func (m model) starts(method string, rows, cols int) int {
	large := rows > 5000 || cols > 1_000_000/max(1, rows)
	switch {
	case m.Starts == 0 || m.method(method).ClosedForm || large && (!m.Classes || method == methodCVB0):
		return 1
	case large:
		return 2
	case method == methodCVB0:
		return 3
	}
	return m.Starts
}

// A task is a model ready for one table.
type task struct {
	*fitted.Bound
	flags   *modelFlags
	columns []data.Column
	rows    int
}
