package fitted

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/report"
)

// A Definition is a model that a program knows: a value of --model, and what loads its files.
type Definition struct {
	Name     string   // as flags and files have it: "mixture"
	Title    string   // what it is called in the field: "Hidden Markov model"
	About    string   // what --help says of it; empty: the title
	Part     string   // what one latent dimension is called; empty: dimension
	Example  string   // the embedded data set that shows it, of data.Datasets; empty: none does
	Families Families // of its components, or states; nil: there are no such
	Methods  []Method // values of --method, the default first
	// New makes the settings of a fit. Of the models of package builtin it is nil, with Methods: the command knows those.
	New func() Settings
	// Load makes a model of a file, and checks that its parts go together: it is about what somebody may have changed.
	// An error is prefixed with what is said of damaged files, unless [ErrNothing] is in it.
	Load func(f *File) (Model, error)
}

// A Method is a way to fit a model.
type Method struct {
	Name     string                // gfab, fab, em or, of a variational model, vb
	Criteria []framework.Criterion // what its fits are compared by, its own first
}

// MethodsOf are those that the optional interfaces of a model allow, with their criteria.
func MethodsOf[B, P any, S framework.Statistics[S]](m framework.Model[B, P, S]) (list []Method) {
	if _, is := m.(framework.Variational); is {
		return []Method{{"vb", []framework.Criterion{framework.ELBO}}}
	}
	_, curved := m.(framework.Curved[P, S])
	_, projects := m.(framework.Projector[P, S])
	_, expands := m.(framework.Expander[P, S])
	_, assigns := m.(framework.Assigner[B, P])
	_, labels := m.(framework.Labelled[S])
	proper, is := m.(framework.Proper[P, S])
	last := []framework.Criterion{framework.BIC, framework.AIC}
	if assigns || labels {
		last = append(last, framework.ICL)
	}
	if !curved {
		return []Method{{"em", last}}
	}
	of := func(own ...framework.Criterion) []framework.Criterion { return append(own, last...) }
	if projects {
		tilted := of(framework.GFIC, framework.FIC, framework.BICEM)
		if is && !expands && proper.CheckPrior() == nil {
			tilted = append([]framework.Criterion{framework.Evidence}, tilted...)
		}
		list = append(list, Method{"gfab", tilted}, Method{"fab", of(framework.FIC, framework.GFIC, framework.BICEM)})
	}
	return append(list, Method{"em", of(framework.BICEM, framework.GFIC, framework.FIC)})
}

// Settings are what a model can be told beyond what all can: a pointer to a struct whose exported fields are the
// flags of the model (tags of kong), the fields of "settings" in JSON and in files (tags of encoding/json), and plain
// Go to a library user.
type Settings interface {
	// Check refuses settings that do not go together, by a *[SettingError] where one of them is to blame. It is asked
	// before any data are read.
	Check(m Method) error
	// Bind readies the model for the rows of a table, which has a number in every place.
	Bind(ctx context.Context, columns []data.Column, rows *framework.Table, m Method) (*Bound, error)
}

// A SettingError names the setting, by its field, so that the command can write the flag.
type SettingError struct {
	Setting string // the field of the settings
	Reason  string
}

func (e *SettingError) Error() string { return e.Setting + ": " + e.Reason }

// A Bound model is ready for a table.
type Bound struct {
	Problem[Found]
	KMax   int               // where K begins unless it is given; 0: 10, and fewer where there are fewer rows
	CheckK func(k int) error // refuses K beyond what the columns allow; nil: up to the number of rows
}

// Found is what a fit found: a model that is ready for rows, and its parameters.
type Found interface {
	Model
	Params() any // "params" in JSON and in files, by encoding/json
}

// A Describer is a Found that says what was found, for text and page.
type Describer interface {
	Describe() []report.Section
}

// Families are those that components may have, by the names that flags and files have for them.
type Families interface {
	// Names are those of all families, the default first, or of those that can describe a single column beside others.
	Names(single bool) []string
	// Joint says whether a family describes all columns together. There are such that are not listed, as numbers are
	// part of their names.
	Joint(name string) bool
	// OfRows is the family of a row, with the families and levels of its columns.
	OfRows(name string, columns []data.Column) family.Family
	// Check says what is wrong with families of an author's own.
	Check() error
}

// A Registry is the models that a program knows: a value, so that a program has those that it wants.
type Registry []Definition

// Names are those of the models, in their order.
func (r Registry) Names() (list []string) {
	for _, d := range r {
		list = append(list, d.Name)
	}
	return list
}

// Check refuses definitions that cannot be used.
func (r Registry) Check() error {
	for i, d := range r {
		var err error
		switch {
		case d.Name == "" || strings.ContainsAny(d.Name, " ,=\\\"'"):
			err = fmt.Errorf("definition %d of %d is named %q: a name is one word, without = and commas", i+1, len(r), d.Name)
		case d.Load == nil:
			err = fmt.Errorf("the definition of model %q has no Load", d.Name)
		case slices.Contains(r[:i].Names(), d.Name):
			err = fmt.Errorf("two definitions are named %q", d.Name)
		case (d.New == nil) != (len(d.Methods) == 0):
			err = fmt.Errorf("the definition of model %q has New without Methods, or Methods without New", d.Name)
		case d.Families != nil:
			if err = d.Families.Check(); err != nil {
				err = fmt.Errorf("the model %s: %w", d.Name, err)
			}
		}
		if err == nil {
			err = d.checkFit()
		}
		if err != nil {
			return fmt.Errorf("fitted: %w", err)
		}
	}
	return nil
}

// checkFit refuses what a fit could not use.
func (d Definition) checkFit() error {
	if d.New == nil {
		return nil
	}
	t := reflect.TypeOf(d.New())
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("the model %q: New makes no pointer to a struct", d.Name)
	}
	for _, m := range d.Methods {
		switch {
		case !slices.Contains([]string{"gfab", "fab", "em", "vb"}, m.Name):
			return fmt.Errorf("the model %q has the method %q: methods are gfab, fab, em and vb", d.Name, m.Name)
		case len(m.Criteria) == 0:
			return fmt.Errorf("the method %s of model %q has no criteria", m.Name, d.Name)
		}
	}
	return nil
}
