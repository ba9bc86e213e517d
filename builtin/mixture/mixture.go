// Package mixture defines the mixture models of package builtin, in which each row belongs to a component with its own
// distribution: their settings, the results of their fits, predictions for rows, and their model files. Mixtures of
// Bernoulli columns are a separate model.
package mixture

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// Definition returns the definition of mixtures of the given families; nil stands for the families of package family.
func Definition(of fitted.Families) fitted.Definition {
	if of == nil {
		of = families.Set{}
	}
	return fitted.Definition{Name: "mixture", Starts: 10, Title: "Mixture",
		About: "components, each with its own distribution", Part: "component", Classes: true, Joins: true, Compares: true,
		Float32: true, UnitKeys: fitted.UnitKeys,
		Example: "faithful", Families: of, Methods: methods(classes.Keys(weights)...),
		New: func() fitted.Settings { return new(Settings) }, Aliases: []fitted.Alias{{Name: "lca",
			About: "latent class analysis", Family: families.Categorical, Example: "housevotes84"}},
		Load: func(f *fitted.File) (fitted.Model, error) { return load(of, f) },
		Help: "latent fit uses cvb0 where cvb0 finds K in a table of codes and counts (to 1,000) of at most 1,000,000 " +
			"cells, otherwise gfab, and compares covariance structures of measured columns (--cov). latent select " +
			"uses em, and gfab for the evidence. " + classes.AboutPrior}
}

// Bernoulli returns the definition of mixtures of Bernoulli columns.
func Bernoulli() fitted.Definition {
	of := families.Only{families.Bernoulli}
	return fitted.Definition{Name: "bernmix", Starts: 10, Title: "Bernoulli mixture",
		About: "a mixture with Bernoulli columns only", Part: "component", Classes: true, Joins: true,
		UnitKeys: fitted.UnitKeys,
		Example:  "housevotes84", Families: of, Methods: methods("a", "b"),
		New:  func() fitted.Settings { return new(BernoulliSettings) },
		Load: func(f *fitted.File) (fitted.Model, error) { return load(of, f) },
		Help: "The method is chosen as for mixture. --prior of map, vb and cvb0: a (Dirichlet of the weights) and b " +
			"(beta(b, b) of the probabilities)."}
}

// methods are those of mixtures: what integrates the parameters out or counts labels takes a further pass.
func methods(keys ...string) []fitted.Method {
	swept := []framework.Criterion{framework.SBIC, framework.Slope}
	coded := []framework.Criterion{framework.ExactICL, framework.DNML}
	list := fitted.OfClasses(swept...)
	list = append(list,
		fitted.Method{Name: "map", Engine: framework.EM, Criteria: list[2].Criteria, Swept: swept, Prior: keys},
		fitted.Method{Name: "vb", Engine: framework.EM, Criteria: []framework.Criterion{framework.ELBO}, Prior: keys})
	for i := range list {
		list[i].Further = slices.Concat(list[i].Further, []framework.Criterion{framework.Collapsed}, coded)
	}
	return append(list, fitted.Method{Name: "cvb0", Engine: framework.PrunedEM, FindsK: true, Prior: keys,
		Criteria: []framework.Criterion{framework.Collapsed}, Further: coded})
}

// Settings are the options of mixtures.
type Settings struct {
	classes.ColumnSettings
	classes.StartSettings
	classes.CovarianceSettings
	Noise bool `json:"-" method:"gfab,fab,em" help:"Add noise to a mixture of Gaussians or t distributions: one more component, of the same density everywhere in the box that holds the table, for outliers."`
	classes.GateSettings
	classes.KnownSettings
}

// BernoulliSettings are the options of mixtures of Bernoulli columns.
type BernoulliSettings struct {
	classes.StartSettings
	classes.GateSettings
}

// weights is the key of the prior of the weights.
const weights = "weights"

// Check returns an error for inconsistent settings.
func (m *Settings) Check(r fitted.Request) error {
	if m.Noise && len(m.Gate) > 0 {
		return &fitted.SettingError{Setting: "Gate", Reason: "cannot be used with --noise"}
	}
	_, err := m.Starting()
	return cmp.Or(m.CheckFloor(r), err, classes.CheckPrior(r, weights))
}

// Check returns an error for inconsistent settings.
func (m *BernoulliSettings) Check(r fitted.Request) error {
	_, err := m.Starting()
	return cmp.Or(err, classes.CheckPrior(r, "a"))
}

// SetFamily adds the number of factors, and noise if it is set, to the name of a family. It returns a
// *[fitted.SettingError] if the family cannot have noise.
func (m *Settings) SetFamily(name string) (string, error) {
	name, err := m.CovarianceSettings.SetFamily(name)
	switch {
	case !m.Noise || err != nil:
		return name, err
	case !families.Joint(name) || name == families.Multinomial || strings.HasPrefix(name, families.Analysers):
		return name, &fitted.SettingError{Setting: "Noise", Reason: fmt.Sprintf("cannot be used with --family %s: it "+
			"requires a family of all columns together: gaussian with any --cov but diag, and student-t", name)}
	}
	return name + families.NoiseSuffix, nil
}

// Choose chooses cvb0 for a table of codes and counts without a gate, or reports what prevents it.
func (m *Settings) Choose(t *fitted.Table, r fitted.Request) fitted.Choice {
	return choose(m.Gate, t, r)
}

// Choose chooses cvb0 for a table of codes and counts without a gate, or reports what prevents it.
func (m *BernoulliSettings) Choose(t *fitted.Table, r fitted.Request) fitted.Choice {
	return choose(m.Gate, t, r)
}

// mostCells is the size of table up to which codes and counts have their parameters integrated out by default: it takes
// seconds there (docs/guides/criteria-and-priors.md).
const mostCells = 1_000_000

// integrable says whether all columns are codes or counts.
func integrable(columns []data.Column) bool {
	return !slices.ContainsFunc(columns[:families.Described(columns)], func(c data.Column) bool {
		return c.Family != families.Bernoulli && c.Family != families.Categorical && c.Family != families.Poisson &&
			c.Family != families.Indicators
	})
}

// choose chooses cvb0 for a table of codes and counts without a gate, or reports what prevents it.
func choose(gate []string, t *fitted.Table, r fitted.Request) fitted.Choice {
	if !integrable(t.Columns) || len(gate) > 0 {
		return fitted.Choice{}
	}
	what := "codes"
	if slices.ContainsFunc(t.Columns, func(c data.Column) bool { return c.Family == families.Poisson }) {
		what = "codes or counts"
	}
	switch {
	case largeCounts(t):
		return fitted.Choice{Method: "gfab", Why: fmt.Sprintf("there are counts above %d", largestCount),
			Elsewhere: "default for smaller counts: cvb0"}
	case t.Data.Rows()*len(t.Columns) > mostCells:
		return fitted.Choice{Method: "gfab", Why: fmt.Sprintf("a table of more than %d cells makes cvb0 slow", mostCells),
			Elsewhere: "gfab may keep components of a few rows; --method cvb0 integrates the parameters out"}
	case r.FixedK:
		return fitted.Choice{Method: "gfab", Why: "--k gives K",
			Elsewhere: "default where K of " + what + " is found: cvb0"}
	}
	return fitted.Choice{Method: "cvb0", Why: "the columns are " + what, Elsewhere: "default elsewhere: gfab"}
}

// largestCount is the count up to which cvb0 is the default: from about 10,000 on, the predictive probabilities of rows
// left out lose their digits, and its fits do not converge.
const largestCount = 1000

// largeCounts says whether a column of counts has larger ones.
func largeCounts(t *fitted.Table) bool {
	return slices.ContainsFunc(t.Columns, func(c data.Column) bool {
		if c.Family != families.Poisson {
			return false
		}
		values, err := t.Data.Column(c.Name) // that it has none is found out when they are fitted
		return err == nil && slices.ContainsFunc(values, func(v float64) bool { return v > largestCount })
	})
}

// Bind prepares the model for the rows.
func (m *Settings) Bind(_ context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	e, err := bindingOf(t, r, m, &m.StartSettings)
	if err != nil {
		return nil, err
	}
	e.floor = m.LeastVariance(r)
	if r.Comparison != nil {
		return e.comparing(r.Comparison)
	}
	return e.bind(m.Gate)
}

// Bind prepares the model for the rows.
func (m *BernoulliSettings) Bind(_ context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	e, err := bindingOf(t, r, m, &m.StartSettings)
	if err != nil {
		return nil, err
	}
	e.bernoulli = true
	return e.bind(m.Gate)
}

// A binding is a model at a table.
type binding struct {
	table     *fitted.Table
	request   fitted.Request
	family    family.Family
	start     family.Start
	floor     float64
	bernoulli bool // all columns are
}

func bindingOf(t *fitted.Table, r fitted.Request, of fitted.Settings, s *classes.StartSettings) (e binding, err error) {
	own := *t
	e = binding{table: &own, request: r, family: r.FamilyOf(t, of)}
	if own.Data, err = classes.DataOf(t); err == nil {
		e.start, err = s.Starting()
	}
	return e, err
}

// model estimates parameters.
func (e binding) model() mixture.Model {
	return mixture.Model{Family: e.family, Start: e.start, Prior: e.request.EvidencePrior()}
}

// bind readies a mixture, behind a gate of these columns, if any.
func (e binding) bind(gate []string) (b *fitted.Bound, err error) {
	b = classes.Bind(e.table, e.family, e.request, "component")
	if len(gate) > 0 {
		err = e.gated(b, design.GateOf(e.table.Columns, gate))
		return b, err
	}
	e.bound(b, e.table.Rows)
	b.Problem, err = e.problem()
	return b, err
}

// bound says where K begins where it is not given, of components of rows, and how far it may double.
func (e binding) bound(b *fitted.Bound, rows *blocks.Table) {
	b.Facts = e.request.Facts
	if b.Facts == nil {
		b.Facts = &fitted.Facts{Most: []int{mostComponents(rows, e.family)}}
		if noise, is := known.Inner(e.family).(normal.Noise); is {
			b.Facts.Low, b.Facts.High = noise.Low, noise.High
		}
	}
	b.KMax = max(b.KMin, b.Facts.Most[0])
	e.double(b)
}

// double says how far K may double where it is not given.
func (e binding) double(b *fitted.Bound) {
	if b.DoubleTo = 0; b.KMax == classes.MostByDefault {
		b.DoubleTo = classes.Doubling(e.table.Rows.Rows(), len(e.table.Columns))
	}
}

// gated readies a mixture behind a gate. Its rows are those of the classes with the columns of the gate behind.
func (e binding) gated(b *fitted.Bound, gate design.Gate) (err error) {
	rows := e.table.Rows.All()
	own, err := classes.TableOf(first(rows, gate.Own), rows.Weights)
	if err != nil {
		return err
	}
	e.bound(b, own)
	rows.Weights = nil
	seen, searches := e.table.Columns[:gate.Own], false
	b.Seen = append((&fitted.Table{Columns: seen}).Names(), gate.Names()...)
	b.Problem, searches, err = classes.GatedEngine(gate, rows, seen, e.table.Data, e.request.Family, e.model(),
		func(c *classes.Gated) (fitted.Found, error) {
			g := &scoring.Gated{Gate: gate}
			g.Model, g.Params = c.Experts()
			scores := gatedRows(g, e.request.Family, len(e.table.Columns))
			scores.Name(seen)
			return gatedFit{scores, c}, nil
		})
	b.Accelerate = !searches // a steep gate makes EM slow (docs/theory/experts.md, section 3)
	return err
}

// first are the first columns of rows.
func first(b blocks.Rows, d int) blocks.Rows {
	own := blocks.Rows{N: b.N, D: d, Stride: d}
	for i := range b.N {
		own.X = append(own.X, b.Row(i)[:d]...)
	}
	return own
}

type (
	estimated = fitted.Engine[fitted.Found, blocks.Rows, *mixture.Parameters, *mixture.Statistics]
	inferred  = fitted.Engine[fitted.Found, blocks.Rows, *mixture.Posterior, *mixture.Statistics]
)

// problem makes the model of the method.
func (e binding) problem() (fitted.Problem[fitted.Found], error) {
	prior, of, err := e.priors()
	if err != nil {
		return nil, err
	}
	method := e.request.Method.Name
	if method != "vb" && method != "cvb0" {
		made := e.estimated()
		if method == "map" {
			made.Model = mixture.MAP{Model: e.model(), Prior: of, Weights: prior}
		}
		return made, nil
	}
	variational := mixture.Variational{Family: e.family, Start: e.start, Prior: of, Weights: prior}
	var model framework.Model[blocks.Rows, *mixture.Posterior, *mixture.Statistics] = variational
	if method == "cvb0" {
		model = mixture.CVB0{Variational: variational}
	}
	return &inferred{Model: model, Source: e.table.Rows,
		Found: func(q *mixture.Posterior, s *mixture.Statistics) (fitted.Found, error) {
			p, err := variational.Point(q)
			if err != nil {
				return nil, err
			}
			return e.found(p, q, s)
		}}, nil
}

// estimated is the engine of estimated parameters.
func (e binding) estimated() *estimated {
	made := &estimated{Model: e.model(), Source: e.table.Rows}
	made.Found = func(p *mixture.Parameters, s *mixture.Statistics) (fitted.Found, error) {
		found, err := e.found(p, nil, s)
		if err != nil {
			return nil, err
		}
		if e.request.Method.Name == "map" {
			found.Warnings = append(found.Warnings, found.Emptied(e.weightsKey())...)
		}
		found.Draw = func(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error) {
			return found.DrawRows(ctx, made.Model, e.table.Rows, o)
		}
		return found, nil
	}
	return made
}

// found describes a fit, of vb and cvb0 at a posterior.
func (e binding) found(p *mixture.Parameters, q *mixture.Posterior, s *mixture.Statistics) (*fit, error) {
	c, err := classes.NewComponents(e.model(), e.request.Family, e.table.Columns, e.table.Data, p, q, s)
	if err != nil {
		return nil, err
	}
	c.JoinOver(e.table.Rows)
	q, _ = c.Posterior().(*mixture.Posterior)
	scores := rowsOf(mixture.Model{Family: e.family}, e.request.Family, c.Mixture, q)
	scores.Name(e.table.Columns)
	return &fit{scores, c}, nil
}

// What fits find: what scores rows, and what is said of it.
type (
	fit struct {
		plain
		*classes.Components
	}
	gatedFit struct {
		conditional
		*classes.Gated
	}
	plain interface {
		fitted.Model
		fitted.Sampler
		fitted.Distancer
	}
	conditional interface {
		fitted.Model
		fitted.Prior
		fitted.ConditionalSampler
		fitted.Distancer
	}
)

// weightsKey is the key of the prior of the weights.
func (e binding) weightsKey() string {
	if e.bernoulli {
		return "a"
	}
	return weights
}

// priors are those of the weights and of the families; nil stands for their defaults.
func (e binding) priors() (own prior.Dirichlet, of prior.Prior, err error) {
	own.Alpha = e.request.Prior[e.weightsKey()]
	if !e.bernoulli {
		of, err = classes.Prior(e.request, e.family, weights)
	} else if b := e.request.Prior["b"]; b != 0 {
		of = prior.Beta{A: b, B: b}
	}
	return own, of, err
}

// ---- Files

// load takes the parameters out of a model file, and the families of its columns.
func load(of fitted.Families, f *fitted.File) (fitted.Model, error) {
	var s struct{ Gate []string }
	if f.Settings != nil {
		if err := json.Unmarshal(f.Settings, &s); err != nil {
			return nil, err
		}
	}
	further := []string{families.Known}
	if len(s.Gate) > 0 {
		further = append(further, families.Gate)
	}
	if err := classes.CheckColumns(of, f.Family, f.Columns, further...); err != nil {
		return nil, err
	}
	if len(s.Gate) > 0 {
		return loadGated(of, f, s.Gate)
	}
	var p *mixture.Parameters
	if err := json.Unmarshal(f.Params, &p); err != nil {
		return nil, err
	}
	if p == nil {
		return nil, errors.New("no parameters")
	}
	if err := f.Matches(p.K, p.D); err != nil {
		return nil, err
	}
	model := mixture.Model{Family: of.OfRows(f.Family, f.Columns)}
	if err := model.Check(p); err != nil {
		return nil, err
	}
	var q *mixture.Posterior
	if f.Posterior != nil {
		if err := json.Unmarshal(f.Posterior, &q); err != nil {
			return nil, err
		}
		if err := (mixture.Variational{Family: model.Family}).Check(q); err != nil {
			return nil, err
		}
		if err := f.Matches(q.K, q.D); err != nil {
			return nil, err
		}
	}
	c := rowsOf(model, f.Family, p, q)
	c.Name(f.Columns)
	return c, c.Grouped(f.Groups)
}

// rowsOf scores rows, by the predictive distribution of a posterior where there is one.
func rowsOf(model mixture.Model, name string, p *mixture.Parameters, q *mixture.Posterior) scoring.Plain {
	c := scoring.NewComponents(model, p, families.NeedsComplete(name))
	if q != nil {
		variational := mixture.Variational{Family: model.Family}
		if err := variational.Collapses(q); err != nil {
			c.Says.Note = "predictions use the posterior means: " + err.Error()
		} else {
			c.Ready = func() (scoring.Of, error) { return variational.Predictor(q) }
		}
	}
	return scoring.Plain{Components: c}
}

// loadGated takes the parameters of a mixture with a gate out of a model file.
func loadGated(of fitted.Families, f *fitted.File, names []string) (fitted.Model, error) {
	if err := scoring.CheckGate(f.Columns, names); err != nil {
		return nil, err
	}
	gate := design.GateOf(f.Columns, names)
	g, err := scoring.ReadGated(f, gate, mixture.Model{Family: of.OfRows(f.Family, f.Columns[:gate.Own])})
	if err != nil {
		return nil, err
	}
	c := gatedRows(g, f.Family, len(f.Columns))
	c.Name(f.Columns[:gate.Own])
	return c, nil
}

// gatedRows scores rows of so many columns behind a gate.
func gatedRows(g *scoring.Gated, name string, columns int) *scoring.Gated {
	g.Components = scoring.NewComponents(mixture.Model{Family: g.Model.Family}, g.Params.Mixture,
		families.NeedsComplete(name))
	g.Takes.Given = columns - g.Gate.Own
	g.Ready = g.Scorer
	return g
}

// mostComponents is the default of kmax: as [classes.MostByRows] has it, and no more components than there are
// different rows of positive weight. To a multinomial family, rows are the same that are proportional.
func mostComponents(table *blocks.Table, of family.Family) int {
	most := classes.MostByRows(table, of)
	_, shares := of.(family.Multinomial)
	same := func(a, b []float64) bool {
		one, other := 1., 1.
		if shares {
			one, other = floats.Sum(b), floats.Sum(a) // counts have exact products
		}
		return slices.EqualFunc(a, b, func(x, y float64) bool { return x*one == y*other || x != x && y != y })
	}
	_, d := table.Dims()
	if _, labels := of.(known.Family); labels {
		d--
	}
	var seen [][]float64
	for b := range table.Lent() {
		for i := 0; i < b.N && len(seen) < most; i++ {
			row := b.Row(i)[:d]
			if b.Weight(i) > 0 && !slices.ContainsFunc(seen, func(other []float64) bool { return same(row, other) }) {
				seen = append(seen, slices.Clone(row))
			}
		}
		if len(seen) == most {
			break
		}
	}
	return max(1, len(seen))
}
