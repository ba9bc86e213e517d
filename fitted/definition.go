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
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/prior"
	"github.com/latent-go/latent/report"
)

// A Definition is a model that a program knows: a value of --model, and what loads its files.
type Definition struct {
	Name    string // the name in flags and files: "mixture"
	Title   string // the name in the field: "Hidden Markov model"
	About   string // the text of --help; empty: the title
	Help    string // sentences that latent help NAME adds to the methods and flags; may be empty
	Part    string // the word for one latent dimension; empty: dimension
	Several bool   // a row has several latent dimensions, such as features, not one
	// Classes says that z is a class of each row, each with its own distribution of the columns: [Table].Family. A fit
	// finds a [Classifier].
	Classes bool
	Joins   bool // classes form groups: a fit finds a [Grouper]
	// Compares says that one fit can compare covariance structures: [Request].Comparison.
	Compares bool
	Aliases  []Alias
	Example  string   // the embedded data set of data.Datasets that shows the model; empty: none
	Families Families // the families of components or states; nil: the model has none
	Gaps     bool     // entries may be missing
	Float32  bool     // fits read rows block by block: numbers that a file has in float32 stay float32 in memory
	Pairs    bool     // rows are two names and an optional number: [Table].Pairs
	// Sequences says that rows follow one another: [Table].Sequences. The settings then embed [SequenceSettings].
	Sequences bool
	Starts    int      // independent starts by default, for up to 5000 rows (more: two for classes); 0: one
	Methods   []Method // values of --method, the default first
	// UnitKeys are the keys of [Request].Prior that replace the prior of the evidence, [UnitKeys] or the first of them;
	// nil: it is fixed.
	UnitKeys []string
	// New returns the settings of a fit.
	New func() Settings
	// Load builds a model from a file, and checks that its parts are consistent, since somebody may have changed the
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
	Engine   framework.Method      // the engine's method
	Criteria []framework.Criterion // criteria that compare its fits, its own first
	Further  []framework.Criterion // criteria computed on request only, because they take more passes over the rows
	Swept    []framework.Criterion // criteria computed on request only when fits of every K are compared
	// FindsK says that one fit finds K. With other methods every K is fitted, and the fits are compared.
	FindsK bool
	// ClosedForm says that the method has no iterations and no starts, and none of their options.
	ClosedForm bool
	// Search says how a search ends, such as "no move gains". A search has starts but no iterations. Empty for other
	// methods.
	Search    string
	Prior     []string // keys of [Request].Prior; nil: the method takes no prior
	Bootstrap bool     // the result of a fit is a [Bootstrapper]
}

// Iterates reports whether the method has iterations: it is neither a closed form nor a search.
func (m Method) Iterates() bool { return !m.ClosedForm && m.Search == "" }

// Integrates reports whether values of c bound or estimate ln p(X|K) with the parameters integrated out under a prior,
// so that their exponentials compare K: the evidence and the collapsed evidence; as the method's own criterion, the
// ELBO, and exact ICL, which is that bound for the most probable labels.
func (m Method) Integrates(c framework.Criterion) bool {
	switch c.Name {
	case framework.Evidence.Name, framework.Collapsed.Name:
		return true
	case framework.ELBO.Name, framework.ExactICL.Name:
		return m.Criteria[0].Name == c.Name
	}
	return false
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
	if _, is := m.(optional.Variational); is {
		return []Method{{Name: "vb", Engine: framework.EM, Criteria: []framework.Criterion{framework.ELBO}}}
	}
	_, curved := m.(optional.Curved[P, S])
	_, projects := m.(optional.Projector[P, S])
	_, expands := m.(optional.Expander[P, S])
	_, assigns := m.(optional.Assigner[B, P])
	_, labels := m.(optional.LabelEntropy[S])
	proper, is := m.(optional.Proper[P, S])
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
// method start with its own and end with BIC, AIC and those of last. All three methods have the further criteria.
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

// ByEvidence returns the methods of [Estimating], with the evidence as gfab's own criterion and as a further
// criterion of the other methods.
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

// Settings are a model's own options, beyond those of all models. The value is a pointer to a struct, plain Go to a
// library user. Its exported fields are the model's flags (tags of kong) and the fields of "settings" in JSON and in
// files (tags of encoding/json).
type Settings interface {
	// Check returns an error for inconsistent settings, a *[SettingError] if one setting causes it. It is called before
	// any data are read.
	Check(r Request) error
	// Bind prepares the model for a table.
	Bind(ctx context.Context, t *Table, r Request) (*Bound, error)
}

// NoiseSettings are settings for a model with normal noise, to embed in its own settings.
type NoiseSettings struct {
	Noise *string `json:"noise,omitempty" placeholder:"NAME" enum:"diagonal,isotropic" help:"Variances of the noise: diagonal, one for each column, or isotropic, one for all. Default: diagonal."`
}

// Isotropic reports whether the noise has one variance.
func (s NoiseSettings) Isotropic() bool { return s.Noise != nil && *s.Noise == "isotropic" }

// SequenceSettings are settings for a model of sequences, to embed in its own settings.
type SequenceSettings struct {
	Sequence string `json:"sequence,omitempty" placeholder:"COL" help:"The column that says which sequence a row belongs to; rows of one sequence follow one another. Default: the table is one sequence."`
}

// SequenceColumn returns the column that says which sequence a row belongs to; "" if the table is one sequence.
func (s SequenceSettings) SequenceColumn() string { return s.Sequence }

// An Explainer is settings of a model that explains a column by others.
type Explainer interface {
	Explained() Explained
}

// Explained says which column a model explains by which.
type Explained struct {
	Response string   // empty: the settings ask for no such column, and the model describes its columns as others do
	Over     string   // the column of what a response is counted over, such as trials; empty: none
	By       []string // nil: all other columns
	Powers   []string // those of By that have powers
}

// A Conditioner is settings of a model that describes columns given others. The setting Covariates names these. They
// are numbers, and come last in the table.
type Conditioner interface {
	CovariateColumns() []string
}

// A ColumnDescriber is settings of a model that says itself what the columns of its table are; if they are an
// [Explainer], where they have a response.
type ColumnDescriber interface {
	// DescribeColumns returns families and levels of all columns; the command makes codes of the levels.
	DescribeColumns(t *data.Named, r Request) ([]data.Column, error)
}

// A Request holds what is requested of a fit besides the settings of the model.
type Request struct {
	Method Method
	// family of the components, or of what the model has in their place; empty: the model has none
	Family   string
	Prior    map[string]float64 // the given hyperparameters, positive numbers, by the keys of the method
	Weighted bool               // the rows have weights
	// iterations are extrapolated; a model that does not support this returns an error
	Accelerate bool
	Workers    int // goroutines for Bind's own computations; 0: one a processor
	FixedK     bool
	Families   Families    // of the definition; nil: those of package family
	Comparison *Comparison // of a model that compares; nil: no structures are compared
	// Facts are those of another process's [Bound] to the same table; nil: Bind finds them out. With them Bind need not
	// read the rows, which may be read when they are asked for (see [blocks.Read]).
	Facts *Facts
}

// Facts are what Bind finds out about the rows of a table, as far as the model asks.
type Facts struct {
	Structures    []Structure // of the comparison, those that the table allows
	Most          []int       // at how many components a fit starts unless K is given, by structure
	Low, High     []float64   // the ranges of the columns, of a family with noise
	Shown         int         // the smallest number of entries of a column
	Weight        float64     // of all rows, whose moments follow
	Mean, Scatter []float64   // of the columns, length D, and D×D about the mean
}

// UnitKeys are the numbers of rows that priors of the evidence are worth (see [prior.UnitInformation]).
var UnitKeys = []string{"rows", "covariance"}

// UnitInformation returns the prior of the evidence that the request gives, and whether it gives one.
func (r Request) UnitInformation() (_ prior.UnitInformation, given bool) {
	rows, covariance := r.Prior[UnitKeys[0]], r.Prior[UnitKeys[1]]
	return prior.UnitInformation{Rows: rows, Covariance: covariance}, rows != 0 || covariance != 0
}

// EvidencePrior returns it for the field Prior of a model; nil if none is given.
func (r Request) EvidencePrior() prior.Prior {
	if unit, given := r.UnitInformation(); given {
		return unit
	}
	return nil
}

// A Chooser is a Settings of a model whose default method depends on the table.
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

// A Table is the data to which a model is fitted.
type Table struct {
	Columns []data.Column
	Rows    *blocks.Table // numbers, with NaN for missing ones if Definition.Gaps allows them, and the rows' weights
	Pairs   *Pairs        // for models of pairs, in place of Rows

	// Family is that of the rows, of models of classes; nil: see [Request.FamilyOf].
	Family family.Family
	Data   *data.Named // the table as it was read, which descriptions show; nil: Rows

	Sequences *blocks.SequenceTable // for models of sequences, the same rows with the weights of whole sequences
}

// Names returns the names of the columns.
func (t *Table) Names() []string {
	names := make([]string, len(t.Columns))
	for j, c := range t.Columns {
		names[j] = c.Name
	}
	return names
}

// Pairs are rows of two names and an optional number, such as the edges of a graph, or documents, words and counts.
type Pairs struct {
	Names   [2][]string // the distinct names of each column, sorted
	Index   [2][]int    // for each row, the indices of its two names
	Numbers []float64   // for each row, finite and not negative; nil: none

	// Known has for some names what is known of their class: its name, or several with vertical bars between them, of
	// which it is one. nil: nothing is known.
	Known map[string]string
}

// Number returns the number of a row, or 1 if there are no numbers.
func (p *Pairs) Number(row int) float64 {
	if p.Numbers == nil {
		return 1
	}
	return p.Numbers[row]
}

// A SettingError names a setting by its field, so that the command can write the flag. It may also name a field of a
// [Request] or of framework.Options.
type SettingError struct {
	Setting string // the field
	Reason  string // what is wrong: "is 60: at most 50 components" or "cannot be used with …"
}

func (e *SettingError) Error() string { return e.Setting + e.Cause() }

// Cause returns the reason as it follows the name of the setting. A reason may begin with a colon.
func (e *SettingError) Cause() string {
	if strings.HasPrefix(e.Reason, ":") {
		return e.Reason
	}
	return " " + e.Reason
}

// A Bound is a model bound to a table, ready to fit.
type Bound struct {
	Problem[Found]
	What string // the model's parts for people, such as "gaussian noise"; empty: the title
	Data string // what the pairs make up, such as "3 documents of 5 different words"
	// the K at which a fit starts unless it is given; 0: 10, or fewer if there are fewer rows
	KMax     int
	KMin     int // the least K that the table allows, such as the number of known classes; 0: 1
	DoubleTo int // the limit to which K may double if no K is given; 0: K does not double
	Starts   int // default number of independent starts; 0: that of the definition
	// returns an error for a K that the columns do not allow; nil: K is at most the number of rows
	CheckK   func(k int) error
	Compares func(c framework.Criterion) bool // whether a criterion compares fits to this table; nil: all do
	Notes    []string                         // remarks about the table
	Seen     []string                         // what errors call the columns of rows that a model sees; nil: as the table
	// Accelerate asks for iterations that are extrapolated, whether or not the request does.
	Accelerate bool
	Facts      *Facts // nil: none
}

// Found is the result of a fit: a model that is ready for rows, and its parameters.
type Found interface {
	Model
	Params() any // "params" in JSON and in files, by encoding/json
}

// What a Found may have beside.
type (
	// A Describer describes what a fit found, for text and page.
	Describer interface {
		Describe() (*Description, error)
	}
	// A Doubtful fit returns reasons to doubt it, which become warnings.
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
	// An Extended model adds the fields of a struct to the top level of JSON and files.
	Extended interface {
		Fields() any
	}
	// A Shown model adds the fields of a struct to JSON that model files do not have.
	Shown interface {
		Shown() any
	}
	// A Bootstrapper adds standard errors to its description. It draws tables from the fit and refits each.
	Bootstrapper interface {
		Bootstrap(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error)
	}
)

// A Description is what a model reports about its fit. It serves two outputs: the page shows all of it; text shows
// the sentences of Finding, the facts, and the tables of sections that are not Long.
type Description struct {
	Finding  report.Section // shown first: a text, and an item for each latent dimension
	Omitted  string         // a sentence about dimensions without an item; may be empty
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

// Check returns an error for definitions that cannot be used.
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
