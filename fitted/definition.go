package fitted

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/report"
)

// A Definition is a model that a program knows: a value of --model, and what loads its files.
type Definition struct {
	Name    string // as flags and files have it: "mixture"
	Title   string // what it is called in the field: "Hidden Markov model"
	About   string // what --help says of it; empty: the title
	Help    string // what latent help NAME says beside its methods and flags, in sentences; empty: nothing
	Part    string // what one latent dimension is called; empty: dimension
	Several bool   // a row has several of them, such as features, in place of one
	// Classes says that z is a class of each row, each with its own distribution of the columns: [Table].Family. A fit
	// finds a [Classifier].
	Classes bool
	Joins   bool // classes form groups: a fit finds a [Grouper]
	// Compares says that one fit can compare covariance structures: [Request].Comparison.
	Compares bool
	Aliases  []Alias
	Example  string   // the embedded data set that shows it, of data.Datasets; empty: none does
	Families Families // of its components, or states; nil: there are no such
	Gaps     bool     // entries may be missing
	Pairs    bool     // rows are two names and perhaps a number: [Table].Pairs
	// Sequences says that rows follow one another: [Table].Sequences. The settings then embed [SequenceSettings].
	Sequences bool
	Starts    int      // independent starts of a table of up to 5000 rows where none are asked for; 0: one
	Methods   []Method // values of --method, the default first
	// New makes the settings of a fit. Of some models of package builtin it is nil: the command knows those.
	New func() Settings
	// Load makes a model from a file, and checks that its parts are consistent, since somebody may have changed the
	// file. The caller prefixes its errors with the text for damaged files, unless they wrap [ErrNothing].
	Load func(f *File) (Model, error)
	// Advice names flags that avoid an error of a fit, such as "--method em"; empty: none do. It may be nil.
	Advice func(err error) string
}

// An Alias is a name that the field has for a model with one family, if the model has it, and a data set that shows it.
type Alias struct{ Name, About, Family, Example string }

// A Method is a way to fit a model.
type Method struct {
	Name     string                // gfab, fab, em, closed-form or, of a variational model, vb
	Engine   framework.Method      // what the engine makes of it
	Criteria []framework.Criterion // what its fits are compared by, its own first
	Further  []framework.Criterion // others that it has where they are asked for: they take more passes over the rows
	Swept    []framework.Criterion // likewise, where fits of every K are compared
	// FindsK says that one fit finds K. With other methods every K is fitted, and the fits are compared.
	FindsK bool
	// ClosedForm says that the method has no iterations and no starts, and none of their options.
	ClosedForm bool
	// Search says how a search ends, such as "no move gains". A search has starts but no iterations. Empty for other
	// methods.
	Search    string
	Prior     []string // keys of [Request].Prior; nil: the method has no place for one
	Bootstrap bool     // what its fits find is a [Bootstrapper]
}

// MethodNamed returns the method of that name, if the model has it.
func (d Definition) MethodNamed(name string) (Method, bool) {
	at := slices.IndexFunc(d.Methods, func(m Method) bool { return m.Name == name })
	if at < 0 {
		return Method{}, false
	}
	return d.Methods[at], true
}

// MethodsOf returns the methods that the optional interfaces of a model allow, with their criteria.
func MethodsOf[B, P any, S framework.Statistics[S]](m framework.Model[B, P, S]) (list []Method) {
	if _, is := m.(framework.Variational); is {
		return []Method{{Name: "vb", Engine: framework.EM, Criteria: []framework.Criterion{framework.ELBO}}}
	}
	_, curved := m.(framework.Curved[P, S])
	_, projects := m.(framework.Projector[P, S])
	_, expands := m.(framework.Expander[P, S])
	_, assigns := m.(framework.Assigner[B, P])
	_, labels := m.(framework.LabelEntropy[S])
	proper, is := m.(framework.Proper[P, S])
	var last []framework.Criterion
	if assigns || labels {
		last = append(last, framework.ICL)
	}
	list = Estimating(nil, last...)
	switch {
	case !curved:
		list = list[2:]
		list[0].Criteria = append([]framework.Criterion{framework.BIC, framework.AIC}, last...)
	case !projects:
		list = list[2:]
	case is && !expands && proper.CheckPrior() == nil:
		list[0].Criteria = append([]framework.Criterion{framework.Evidence}, list[0].Criteria...)
	}
	return list
}

// Estimating returns the methods gfab, fab and em of a model that estimates its parameters. The criteria of each
// begin with its own and end with BIC, AIC and the last ones; all three methods have the further ones.
func Estimating(further []framework.Criterion, last ...framework.Criterion) []Method {
	of := func(own ...framework.Criterion) []framework.Criterion {
		return slices.Concat(own, []framework.Criterion{framework.BIC, framework.AIC}, last)
	}
	return []Method{
		{Name: "gfab", Engine: framework.GFAB, FindsK: true, Further: further,
			Criteria: of(framework.GFIC, framework.FIC, framework.BICEM)},
		{Name: "fab", Engine: framework.FAB, FindsK: true, Further: further,
			Criteria: of(framework.FIC, framework.GFIC, framework.BICEM)},
		{Name: "em", Engine: framework.EM, Further: further,
			Criteria: of(framework.BICEM, framework.GFIC, framework.FIC)},
	}
}

// ByEvidence returns the methods of [Estimating] with the evidence as gfab's own criterion, and as a further
// criterion of the others.
func ByEvidence(last ...framework.Criterion) []Method {
	evidence := []framework.Criterion{framework.Evidence}
	list := Estimating(evidence, last...)
	list[0].Further, list[0].Criteria = nil, append(evidence, list[0].Criteria...)
	return list
}

// OfClasses returns the methods of [ByEvidence] for a model whose z is a class. Sweeps over K compare by these
// criteria.
func OfClasses(swept ...framework.Criterion) []Method {
	list := ByEvidence(framework.ICL, framework.ELBO)
	for i := range list {
		list[i].Swept = swept
	}
	return list
}

// Settings are the options of a model beyond those of all models: a pointer to a struct whose exported fields are the
// flags of the model (tags of kong), the fields of "settings" in JSON and in files (tags of encoding/json), and plain
// Go to a library user.
type Settings interface {
	// Check returns an error for inconsistent settings, a *[SettingError] if one of them is to blame. It is called
	// before any data are read.
	Check(r Request) error
	// Bind prepares the model for a table.
	Bind(ctx context.Context, t *Table, r Request) (*Bound, error)
}

// NoiseSettings are the settings of a model with normal noise, to be embedded in its own.
type NoiseSettings struct {
	Noise *string `json:"noise,omitempty" placeholder:"NAME" enum:"diagonal,isotropic" help:"Variances of the noise: diagonal, one for each column, or isotropic, one for all. Default: diagonal."`
}

// Isotropic reports whether the noise has one variance.
func (s NoiseSettings) Isotropic() bool { return s.Noise != nil && *s.Noise == "isotropic" }

// SequenceSettings are the settings of a model of sequences, to be embedded in its own.
type SequenceSettings struct {
	Sequence string `json:"sequence,omitempty" placeholder:"COL" help:"The column that says which sequence a row belongs to; rows of one sequence follow one another. Default: the table is one sequence."`
}

// SequenceColumn is the column that says which sequence a row belongs to, or nothing.
func (s SequenceSettings) SequenceColumn() string { return s.Sequence }

// An Explainer is settings of a model that explains a column by others.
type Explainer interface {
	Explained() Explained
}

// Explained says which column a model explains by which.
type Explained struct {
	Response string
	Over     string   // the column of what a response is counted over, such as trials; empty: none
	By       []string // nil: all other columns
	Powers   []string // those of By that have powers
}

// A ColumnDescriber is settings of a model that says itself what the columns of its table are.
type ColumnDescriber interface {
	// DescribeColumns returns families and levels of all columns; the command makes codes of the levels.
	DescribeColumns(t *data.Named, r Request) ([]data.Column, error)
}

// A Request is what is asked of a fit beside the settings of the model.
type Request struct {
	Method   Method
	Family   string             // of the components, or of what there is in their place; empty: the model has none
	Prior    map[string]float64 // hyperparameters by the keys of the method, those that are given: positive numbers
	Weighted bool               // the rows have weights
	// iterations are extrapolated, which models may have to refuse
	Accelerate bool
	Workers    int // goroutines of what Bind computes; 0: one a processor
	FixedK     bool
	Families   Families    // of the definition; nil: those of package family
	Comparison *Comparison // of a model that compares; nil: no structures are compared
}

// A Chooser is settings of a model whose default method depends on the table.
type Chooser interface {
	// Choose returns the method if none is asked for. Of models of classes, the table has only columns and Data yet.
	Choose(t *Table, r Request) Choice
}

// A Choice is a method, and why it is that one, and what would be the default of which tables; an empty method stands
// for the default, without a reason.
type Choice struct {
	Method, Why, Elsewhere string
	Accelerate             bool // extrapolate its iterations
}

// A FamilySetter is settings by which the family is another than that of the request.
type FamilySetter interface {
	SetFamily(name string) (string, error)
}

// A Table is what a model is fitted to.
type Table struct {
	Columns []data.Column
	Rows    *framework.Table // numbers, and NaN if Definition.Gaps lets them be missing, with the weights of the rows
	Pairs   *Pairs           // of models of pairs, in place of Rows

	// Family is that of the rows, of models of classes; nil: that of the request, by its [Families].
	Family family.Family
	Data   *data.Named // the table as it was read, which descriptions show; nil: Rows

	Sequences *framework.SequenceTable // of models of sequences, the same rows with the weights of whole sequences
}

// Names returns the names of the columns.
func (t *Table) Names() []string {
	names := make([]string, len(t.Columns))
	for j, c := range t.Columns {
		names[j] = c.Name
	}
	return names
}

// Pairs are rows of two names and perhaps a number, such as the edges of a graph, or documents, words and counts.
type Pairs struct {
	Names   [2][]string // the different names of each column, sorted
	Index   [2][]int    // of each row, the places of its names
	Numbers []float64   // of each row, finite and not negative; nil: there are none
}

// Number returns the number of a row, or 1 if there are no numbers.
func (p *Pairs) Number(row int) float64 {
	if p.Numbers == nil {
		return 1
	}
	return p.Numbers[row]
}

// A SettingError names the setting, by its field, so that the command can write the flag. Fields of a [Request] and of
// framework.Options can be to blame as well.
type SettingError struct {
	Setting string // the field
	Reason  string // what is wrong with it: "is 60: at most 50 components" or "cannot be used with …"
}

func (e *SettingError) Error() string { return e.Setting + e.Cause() }

// Cause returns the reason as it follows the name of the setting. A reason may begin with a colon.
func (e *SettingError) Cause() string {
	if strings.HasPrefix(e.Reason, ":") {
		return e.Reason
	}
	return " " + e.Reason
}

// A Bound model is ready for a table.
type Bound struct {
	Problem[Found]
	What string // the model's parts for people, such as "gaussian noise"; empty: the title
	Data string // what pairs amount to, such as "3 documents of 5 different words"
	// where K begins unless it is given; 0: 10, and fewer where there are fewer rows
	KMax     int
	DoubleTo int                              // how far K may double by itself where KMax is not given; 0: not at all
	Starts   int                              // independent starts where none are asked for; 0: as the definition says
	CheckK   func(k int) error                // refuses K beyond what the columns allow; nil: up to the number of rows
	Compares func(c framework.Criterion) bool // whether a criterion compares fits to this table; nil: all do
	Notes    []string                         // remarks about the table
	Seen     []string                         // what errors call the columns of rows that a model sees; nil: as the table
	// Accelerate asks for iterations that are extrapolated, whether or not the request does.
	Accelerate bool
}

// Found is what a fit found: a model that is ready for rows, and its parameters.
type Found interface {
	Model
	Params() any // "params" in JSON and in files, by encoding/json
}

// What a Found may have beside.
type (
	// A Describer says what was found, for text and page.
	Describer interface {
		Describe() (*Description, error)
	}
	// Doubtful fits are warned of.
	Doubtful interface {
		Doubts() []error
	}
	// A Sized model has a K that differs from the shape of its fit, such as the rank of a product of matrices.
	Sized interface {
		Size() int
	}
	// An Inferred model has a posterior of its parameters, "posterior" in JSON and in files.
	Inferred interface {
		Posterior() any
	}
	// An Extended model has fields of its own at the top of JSON and files, those of a struct.
	Extended interface {
		Fields() any
	}
	// A Shown model has fields in JSON that model files do not have.
	Shown interface {
		Shown() any
	}
	// A Bootstrapper adds standard errors to its description, from tables that are drawn from the fit and fitted
	// anew.
	Bootstrapper interface {
		Bootstrap(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error)
	}
)

// A Description is what a model reports about its fit. It serves two outputs: the page shows all of it; text shows
// the sentences of Finding, the facts, and the tables of sections that are not Long.
type Description struct {
	Finding  report.Section // what is said first: a text, and an item for each latent dimension
	Omitted  string         // a sentence about those that have no item, or nothing
	Facts    [][2]string    // names and values, a line each
	Sections []report.Section
}

// Families are the families that components may have, by their names in flags and files.
type Families interface {
	// Names returns the names of all families, the default first, or of those that can describe a single column
	// beside others.
	Names(single bool) []string
	// Joint says whether a family describes all columns together. Names does not list all of these, because numbers
	// are part of some names.
	Joint(name string) bool
	// OfRows returns the family of a row whose columns have these families and levels.
	OfRows(name string, columns []data.Column) family.Family
	// Check returns an error for invalid families that a program has added.
	Check() error
}

// A Registry lists the models that a program knows. It is a value, so that each program can have its own.
type Registry []Definition

// Names returns the names of the models, in their order.
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
			err = fmt.Errorf("definition %d of %d is named %q; must be one word without = and commas", i+1, len(r), d.Name)
		case d.Load == nil:
			err = fmt.Errorf("the definition of model %q has no Load", d.Name)
		case slices.Contains(r[:i].Names(), d.Name):
			err = fmt.Errorf("two definitions are named %q", d.Name)
		case d.New != nil && len(d.Methods) == 0:
			err = fmt.Errorf("the definition of model %q has New without Methods", d.Name)
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
		return fmt.Errorf("the model %q: New must return a pointer to a struct", d.Name)
	}
	for _, m := range d.Methods {
		switch {
		case !slices.Contains([]string{"gfab", "fab", "em", "map", "vb", "cvb0", "greedy", "closed-form"}, m.Name):
			return fmt.Errorf("the model %q has the method %q; must be one of gfab, fab, em, map, vb, cvb0, greedy and "+
				"closed-form",
				d.Name, m.Name)
		case len(m.Criteria) == 0:
			return fmt.Errorf("the method %s of model %q has no criteria", m.Name, d.Name)
		}
	}
	return nil
}
