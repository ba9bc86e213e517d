package command

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/sizes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/roles"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/prior"
)

// modelFlags say what is fitted and how.
type modelFlags struct {
	Model      string          `type:"model" group:"model" brief:"Model: ${models}." default:"${model}" enum:"${models}" help:"Model: ${titles}. latent help MODEL describes one."`
	Family     string          `group:"model" brief:"Family of the columns: gaussian, student-t, poisson, categorical, … Default: gaussian if all columns are measurements, else auto: each by its kind." placeholder:"NAME" help:"Family of the components of a mixture, or of the states of hmm: gaussian (full covariance), gaussian-tied, gaussian-diagonal, gaussian-spherical, poisson, exponential, gamma, lognormal, bernoulli, categorical, ordinal (numbers as ordered levels), multinomial, student-t (of all columns), factor-analysers (a factor analysis of all columns in each component), or auto: each column by its kind and values, measurements together if that is better; identifiers, dates and constant columns are left out. Default: gaussian if all columns are measurements, else auto."`
	Method     string          `group:"search" placeholder:"NAME" help:"Inference: gfab, fab, em, map, vb, cvb0, closed-form or greedy. gfab, fab, cvb0 and greedy find K in one fit; the others fit every K separately. latent help MODEL lists those of a model, its default first. Flags that the method does not use are rejected."`
	Weights    string          `group:"table" placeholder:"COL" help:"Frequency weights: leave this column out of the fit and weight the rows by it. blockmodel: the column of the weights of edges."`
	Prior      hyperparameters `group:"size" placeholder:"KEY=VALUE,…" help:"Prior of --method vb, map, cvb0 or greedy; latent help MODEL explains the keys. The prior of the evidence is worth so many rows: rows and, for full covariances of classes and states, covariance."`
	Temper     *float64        `group:"size" method:"vb" placeholder:"ALPHA" range:"(0,1]" help:"Power of the likelihood, positive and at most 1, in the tempered posterior of --method vb. Default: 1."`
	SizePrior  string          `group:"size" name:"size-prior" default:"uniform" enum:"uniform,geometric" help:"Prior of K where fits of every K are compared: uniform, or geometric (2^-K)."`
	Restarts   *int            `group:"search" aliases:"n-init" placeholder:"N" range:"[1,1000000]" help:"Independent starts, of which the best is kept. Default: 10 for mixtures and hmm of at most 5000 rows and 1,000,000 cells (3 with cvb0) and 2 for larger tables, 5 for features, else 1."`
	Seed       uint64          `group:"search" default:"1" help:"Seed of the starts."`
	Tol        *float64        `group:"search" placeholder:"NATS" range:"(0,inf)" help:"Stop when an iteration changes the criterion by less than this, in nats per row. Default: 1e-9."`
	MaxIter    *int            `group:"search" placeholder:"N" range:"[1,inf)" help:"Largest number of iterations. Default: 10000."`
	Accelerate bool            `group:"search" help:"Extrapolate iterations of a fit that converges slowly: fewer passes over the data, and perhaps another local maximum, or K."`
	Sample     int             `group:"large" placeholder:"ROWS" range:"[0,inf)" help:"Begin with a fit to about this many rows, drawn at random; fewer passes over all rows follow. For large tables; 30000 is a good number."`
	Online     int             `group:"large" placeholder:"ROWS" range:"[0,inf)" help:"Online EM: find K by a fit to a sample of about this many rows, and then read all rows once, in mini-batches of about as many. Little less exact than iterations over all rows, and a fraction of their time; 30000 is a good number. --sample gives the sample another size."`
	Workers    int             `group:"large" default:"0" range:"[0,inf)" help:"Goroutines; 0: one per processor. Results do not depend on it."`
	Format     string          `group:"output" brief:"Output: text or json." default:"text" enum:"text,json" help:"Output: text or json."`

	roles.Roles                // of the flags of that model alone
	kong.Plugins `group:"own"` // likewise, for the parser

	known      *registry
	from       *modelFile          // at which the fit begins; nil: as the model begins
	compares   bool                // the command has a place for a comparison of covariance structures
	compared   []fitted.Structure  // in one fit; nil: none are
	ordinary   bool                // they are those of the default
	comparedBy framework.Criterion // that they are compared by
	fixesK     bool                // --k is given
	byDefault  bool                // --method was not given
	anyFamily  bool                // neither --family nor --cov was
	covariance string              // the family that --cov names
	byTable    bool                // and the table decides which it is
	facts      *fitted.Facts       // of the table, where another process has found them out
	table      *fitted.Table       // that the model is bound to; nil: what the input has
	why        string              // why the table led to Method, and the default elsewhere; empty where it did not
}

const (
	methodGFAB       = "gfab"
	methodFAB        = "fab"
	methodEM         = "em"
	methodMAP        = "map"
	methodVB         = "vb"
	methodCVB0       = "cvb0"
	methodClosedForm = "closed-form"
	methodGreedy     = "greedy"
)

var methodNames = []string{
	methodGFAB, methodFAB, methodEM, methodMAP, methodVB, methodCVB0, methodClosedForm, methodGreedy,
}

// model is that of --model, with --gate.
func (f *modelFlags) model() model {
	if m := f.known.models[f.Model]; len(f.Gate()) == 0 {
		return m
	}
	return f.known.models[f.Model].gated()
}

// oneOf refuses a value that is not among the choices of the model; all are those of any.
func (f *modelFlags) oneOf(what, value string, choices, all []string) error {
	switch {
	case slices.Contains(choices, value):
		return nil
	case slices.Contains(all, value):
		choose := "choose one of "
		if len(choices) == 1 {
			choose = "its only one is "
		}
		return misused("--%s %s cannot be used with --model %s: %s%s", what, value, f.Model, choose,
			strings.Join(choices, ", "))
	}
	plural := map[string]string{"family": "families", "method": "methods"}[what]
	return misused("unknown %s %q: the %s are %s", what, value, plural, strings.Join(choices, ", "))
}

// check fills in what the model decides and refuses flags that do not go together. The
// method is the default one, which other flags do not change.
func (f *modelFlags) check(method string) error {
	// another flag has --model for its value
	if reflect.TypeOf(f.Flags()) != reflect.TypeOf(f.known.models[f.Model].settings()) {
		return misused("--model is %s, and a value of another flag begins with --model: write that as --FLAG=VALUE", f.Model)
	}
	if err := f.checkGate(); err != nil {
		return err
	}
	m := f.model()
	if f.byDefault = f.Method == ""; f.byDefault {
		f.Method = method
	}
	if err := f.oneOf("method", f.Method, m.methods, methodNames); err != nil {
		return err
	}
	if f.Family == familyAll {
		return misused("--family all requires latent select, which compares")
	}
	if err := f.takeCovariance(); err != nil {
		return err
	}
	switch f.anyFamily = f.Family == ""; {
	case m.Families == nil && !f.anyFamily:
		return misused("--family cannot be used with --model %s, which has no families", f.Model)
	case m.Families == nil:
	case f.anyFamily:
		f.Family = m.Families.Names(false)[0]
		if f.Described().Text != "" && f.Explained() == nil && slices.Contains(m.Families.Names(false), families.Auto) {
			f.Family = families.Auto
		}
	}
	if m.Families != nil {
		if err := f.oneOf("family", f.Family, m.Families.Names(false), families.Names()); err != nil {
			return err
		}
	}
	if err := cmp.Or(checkFamilies(f.Described(), m), f.checkTags()); err != nil {
		return err
	}
	if f.Described().Text != "" && f.Explained() == nil && m.Families.Joint(f.Family) {
		return misused("--columns cannot be used with --family %s, which describes all columns together: take auto "+
			"or gaussian-diagonal", f.Family)
	}
	if own, sets := f.Flags().(fitted.FamilySetter); sets {
		var err error
		if f.Family, err = own.SetFamily(f.Family); err != nil {
			return f.flagged(err)
		}
	}
	for _, one := range []struct {
		flag string
		rows int
	}{{"--sample", f.Sample}, {"--online", f.Online}} {
		if one.rows > 0 && (m.Pairs || m.Sequences) {
			return misused("%s %d requires a table of independent rows", one.flag, one.rows)
		}
	}
	if f.Online > 0 && f.MaxIter != nil {
		return misused("--max-iter cannot be used with --online, which makes one pass")
	}
	if err := f.checkOwn(); err != nil || f.byTable {
		return err
	}
	return f.checkMethod()
}

// request is what the flags ask of a fit.
func (f *modelFlags) request() fitted.Request {
	r := fitted.Request{Method: f.model().method(f.Method), Family: f.Family, Prior: f.Prior.values,
		Weighted: f.Weights != "", Accelerate: f.Accelerate, Workers: f.Workers, FixedK: f.fixesK,
		Families: f.model().Families, Facts: f.facts}
	if len(f.compared) > 0 {
		r.Comparison = &fitted.Comparison{Structures: f.compared, Usual: f.ordinary, By: f.comparedBy}
	}
	return r
}

// decide takes the method that suits the table, and says why, and where another one is the default.
func (f *modelFlags) decide(s *tables.Session, in *tables.Input, method, why, elsewhere string) {
	f.Method, f.why = method, fmt.Sprintf("%s (%s)", why, elsewhere)
	s.Note("%s: method %s, as %s", in.Name, method, f.why)
}

// by names the method in an error, and says where it comes from.
func (f *modelFlags) by() string {
	switch {
	case f.why != "":
		why, _, _ := strings.Cut(f.why, " (")
		return fmt.Sprintf("--method %s (the default here, as %s)", f.Method, why)
	case f.byDefault:
		return fmt.Sprintf("--method %s (the default of --model %s)", f.Method, f.Model)
	}
	return "--method " + f.Method
}

// checkMethod refuses the flags that the method has no use for.
func (f *modelFlags) checkMethod() error {
	const noSteps, noAscent = "has no iterations", "solves an equation for the labels and climbs nothing"
	climbs := func(m fitted.Method) bool { return m.Name != methodCVB0 }
	for _, one := range []struct {
		flag   string
		given  bool
		reason string
		has    func(m fitted.Method) bool
	}{
		{"--tol", f.Tol != nil, noSteps, fitted.Method.Iterates},
		{"--max-iter", f.MaxIter != nil, noSteps, fitted.Method.Iterates},
		{"--accelerate", f.Accelerate, noSteps, fitted.Method.Iterates},
		{"--accelerate", f.Accelerate, noAscent, climbs},
		{"--sample", f.Sample != 0, noSteps, fitted.Method.Iterates},
		{"--sample", f.Sample != 0, "takes each row out of counts that hold all rows", climbs},
		{"--online", f.Online != 0, noSteps, fitted.Method.Iterates},
		{"--online", f.Online != 0, noAscent, climbs},
		{"--restarts", f.Restarts != nil, "has no starts", func(m fitted.Method) bool { return !m.ClosedForm }},
	} {
		if !one.given || one.has(f.model().method(f.Method)) {
			continue
		}
		var others []string
		for _, m := range f.model().Methods {
			if one.has(m) && (climbs(m) || one.flag != "--accelerate") {
				others = append(others, m.Name)
			}
		}
		text := fmt.Sprintf("%s cannot be used with %s, which %s: leave it out", one.flag, f.by(), one.reason)
		if len(others) > 0 {
			text += ", or take --method " + strings.Join(others, " or ")
		}
		return misused("%s", text)
	}
	return f.checkPrior()
}

// checkPrior refuses --prior where the method has no place for it.
func (f *modelFlags) checkPrior() error {
	m := f.model()
	switch {
	case f.Prior.text == "":
		return nil
	case f.Prior.ofEvidence():
		switch {
		case m.UnitKeys == nil:
			return misused("--prior %s belongs to the evidence, whose prior --model %s fixes", f.Prior.text, f.Model)
		case !m.hasEvidence(f.Method):
			return misused("--prior %s belongs to the evidence, and cannot be used with --method %s", f.Prior.text, f.Method)
		}
		return f.Prior.among(m.UnitKeys...)
	case m.informed(f.Method):
		return nil
	}
	if !slices.ContainsFunc(m.methods, m.informed) {
		return misused("--prior cannot be used with --model %s, which has no prior", f.Model)
	}
	taking := slices.DeleteFunc(slices.Clone(m.methods), func(method string) bool { return !m.informed(method) })
	return misused("--prior requires --method %s, and the method is %s", strings.Join(taking, " or "),
		strings.TrimPrefix(f.by(), "--method "))
}

// The flags of iterations are pointers, so that those left out are nil.

// reading says how a column is read: as text where it is categorical, so that 01 and 1
// differ, and with an eye on codes where its values decide.
func (f *modelFlags) reading(name string) data.Reading {
	family := f.Described().Family[name]
	if family == "" && name != f.Weights && !slices.Contains(f.Aside(), name) {
		family = f.Family
	}
	switch family {
	case families.Categorical:
		return data.ReadAsText
	case families.Auto:
		return data.ReadAsCodes
	}
	return data.ReadByForm
}

// settle fills in what the table decides: how many starts there are, unless the model says it.
func (f *modelFlags) settle(starts, rows, cols int) {
	starts = cmp.Or(starts, f.model().starts(f.Method, rows, cols))
	if f.Restarts == nil && !f.model().method(f.Method).ClosedForm {
		f.Restarts = &starts
	}
}

func (f *modelFlags) restarts() int { return valueOr(f.Restarts, 1) }

func (f *modelFlags) tolerance() float64 { return valueOr(f.Tol, framework.DefaultTolerance) }

func (f *modelFlags) maxIterations() int { return valueOr(f.MaxIter, framework.DefaultMaxIterations) }

func valueOr[T any](flag *T, otherwise T) T {
	if flag == nil {
		return otherwise
	}
	return *flag
}

// settings are what a model file keeps of the flags.
func (f *modelFlags) settings() outcome.Settings {
	kept := outcome.Settings{Roles: f.Roles}
	kept.Weights, kept.Prior = f.Weights, f.Prior.text
	kept.Temper, kept.Accelerate, kept.Sample = valueOr(f.Temper, 0), f.Accelerate, f.Sample
	kept.Online = f.Online
	if f.SizePrior != sizePriors[0] {
		kept.SizePrior = f.SizePrior
	}
	m := f.model().method(f.Method)
	if m.Iterates() {
		kept.Tolerance, kept.MaxIterations = f.tolerance(), f.maxIterations()
	}
	if !m.ClosedForm {
		kept.Restarts = f.restarts()
	}
	return kept
}

// options are the engine's for K to begin with.
func (f *modelFlags) options(k int) framework.Options {
	return framework.Options{
		K:             k,
		Method:        f.model().method(f.Method).Engine,
		Tolerance:     f.tolerance(),
		MaxIterations: f.maxIterations(),
		Restarts:      f.restarts(),
		Seed:          f.Seed,
		Workers:       f.Workers,
		Temper:        valueOr(f.Temper, 0),
		Accelerate:    f.Accelerate,
		Sample:        f.Sample,
		Online:        f.Online,
	}
}

// sizePriors are the values of --size-prior, the default first.
var sizePriors = []string{"uniform", "geometric"}

func (f *modelFlags) sizePrior() sizes.Prior {
	if f.SizePrior == sizePriors[1] {
		return sizes.Geometric
	}
	return sizes.Uniform
}

// criterion finds the criterion of that name for the method; the empty name is the
// method's own.
func (f *modelFlags) criterion(flag, name string) (framework.Criterion, error) {
	if name == "" {
		return f.model().criteria(f.Method)[0], nil
	}
	if _, err := framework.CriterionByName(name); err != nil {
		return framework.Criterion{}, misused("%s: %w", flag, err)
	}
	scoring := func(method string) []framework.Criterion {
		own := f.model().criteria(method)
		if f.model().method(method).Search != "" && flag == "--criterion" {
			return own[:1] // what it searches by
		}
		return append(own, f.model().further(method, flag == "--criteria")...)
	}
	named := func(c framework.Criterion) bool { return strings.EqualFold(c.Name, name) }
	var names []string
	for _, c := range scoring(f.Method) {
		if named(c) {
			return c, nil
		}
		names = append(names, strings.ToLower(c.Name))
	}
	others := slices.DeleteFunc(slices.Clone(f.model().methods),
		func(method string) bool { return !slices.ContainsFunc(scoring(method), named) })
	choose, elsewhere := "choose one of ", ""
	if len(names) == 1 {
		choose = "choose "
	}
	if len(others) > 0 {
		elsewhere = ", or --method " + strings.Join(others, " or ")
	}
	return framework.Criterion{}, misused("%s %s cannot be used with --model %s and %s; %s%s%s", flag, name, f.Model,
		f.by(), choose, strings.Join(names, ", "), elsewhere)
}

// usual is the criterion where none is named: the method's own, or the next where the columns have no evidence.
func (f *modelFlags) usual(t *task) framework.Criterion {
	list := f.model().criteria(f.Method)
	if list[0].Name == framework.Evidence.Name && t.Compares != nil && !t.Compares(list[0]) {
		return list[1]
	}
	return list[0]
}

// also are the criteria of every JSON, where the method has them, beside those asked for.
func (f *modelFlags) also(asked []framework.Criterion) (list []framework.Criterion) {
	for _, one := range f.model().criteria(f.Method) {
		same := func(c framework.Criterion) bool { return c.Name == one.Name }
		if slices.ContainsFunc([]framework.Criterion{framework.BIC, framework.AIC, framework.ICL}, same) &&
			!slices.ContainsFunc(asked, same) {
			list = append(list, one)
		}
	}
	return list
}

// hyperparameters are the value of --prior. Which keys there are, the model knows.
type hyperparameters struct {
	keys   []string // as they were given
	values map[string]float64
	text   string
}

// MarshalText is the text as it was given.
func (h hyperparameters) MarshalText() ([]byte, error) { return []byte(h.text), nil }

// UnmarshalText reads KEY=VALUE,….
func (h *hyperparameters) UnmarshalText(text []byte) error {
	*h = hyperparameters{values: map[string]float64{}, text: string(text)}
	for item := range strings.SplitSeq(h.text, ",") {
		key, value, ok := strings.Cut(item, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return fmt.Errorf("%q: write KEY=VALUE,…", item)
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%s=%s: the value must be a positive number", key, value)
		}
		if _, twice := h.values[key]; twice {
			return fmt.Errorf("%s is given twice", key)
		}
		h.keys, h.values[key] = append(h.keys, key), v
	}
	return nil
}

// among refuses keys that are not known.
func (h *hyperparameters) among(known ...string) error {
	for _, key := range h.keys {
		if !slices.Contains(known, key) {
			return misused("--prior: no key %q: the keys are %s", key, enumerated(known))
		}
	}
	return nil
}

func (h *hyperparameters) ofEvidence() bool { return h.unit() != nil }

// unit is the prior of the evidence, nil where none was given.
func (h *hyperparameters) unit() prior.Prior { return fitted.Request{Prior: h.values}.EvidencePrior() }

// usedBy refuses the prior of the evidence where fits do not climb it.
func (h *hyperparameters) usedBy(c framework.Criterion) error {
	if c.Name == framework.Evidence.Name || !h.ofEvidence() {
		return nil
	}
	return misused("--prior %s belongs to the evidence, and fits use %s: leave one out", h.text, strings.ToLower(c.Name))
}

// flag is a parameter of a prior as it was given.
func (h *hyperparameters) flag(e *prior.ParameterError) string {
	key := strings.ToLower(e.Name[strings.LastIndex(e.Name, ".")+1:])
	if sum := strings.Contains(e.Name, " + "); sum || !h.has(key) {
		return "--prior " + h.text
	}
	return fmt.Sprintf("--prior %s=%v", key, h.values[key])
}

func (h *hyperparameters) has(key string) bool { return h.values[key] != 0 }

// checkFamilies refuses families that the model has not of one column. Settings judge those of a model that has none,
// such as a regression.
func checkFamilies(c *columnFamilies, m model) error {
	for _, name := range c.Names {
		if list := m.Families.Names(true); len(list) > 0 && !slices.Contains(list, c.Family[name]) {
			return misused("--columns: no family %q of one column: choose one of %s", c.Family[name], strings.Join(list, ", "))
		}
	}
	return nil
}

// Kind is the definition of the model.
func (f *modelFlags) Kind() fitted.Definition { return f.model().Definition }

// PriorFlag says a parameter of the prior as it was given; nil where none was.
func (f *modelFlags) PriorFlag() func(e *prior.ParameterError) string {
	if f.Prior.text == "" {
		return nil
	}
	return f.Prior.flag
}

// OneFamily says whether all columns have one family, by the model or as they are described together.
func (f *modelFlags) OneFamily() bool {
	of := f.model().Families
	return families.Joint(f.Family) || of != nil && len(of.Names(false)) == 1
}

// checkGroups refuses --groups of models whose components are not joined.
func (c *fitCommand) checkGroups() error {
	if c.Groups != nil && !c.model().mixes {
		return misused("--groups requires a mixture without --gate, whose components are joined")
	}
	return nil
}

// checkBootstrap refuses --bootstrap where it makes no sense.
func (f *modelFlags) checkBootstrap(draws *int, testing bool) error {
	switch {
	case draws == nil:
		return nil
	case !f.model().Classes && (testing || !f.model().method(f.Method).Bootstrap):
		return misused("--bootstrap requires a mixture: %s model has no components", wording.A(f.Model))
	case f.Method == methodVB || f.Method == methodCVB0:
		return misused("--bootstrap cannot be used with %s, which has a posterior of the parameters: leave it out, "+
			"or take --method gfab or em", f.by())
	}
	return nil
}

// drawing are the options of a bootstrap whose fits have the options o.
func (f *modelFlags) drawing(draws int, o framework.Options) bootstrap.Options {
	return bootstrap.Options{Draws: draws, Level: outcome.Level, Seed: f.Seed, Workers: f.Workers, Fit: o}
}
