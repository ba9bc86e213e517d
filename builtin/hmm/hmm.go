// Package hmm defines the hidden Markov model of package builtin, whose rows are the steps of sequences; the state of a
// step depends on the state of the step before. It has the model's settings, the results of its fits, predictions for
// sequences, and its model files.
package hmm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/prior"
)

// Definition returns the definition of hidden Markov models whose states have the given families; nil stands for the
// families of package family.
func Definition(of fitted.Families) fitted.Definition {
	if of == nil {
		of = families.Set{}
	}
	return fitted.Definition{Name: "hmm", Starts: 10, Title: "Hidden Markov model",
		About: "a hidden Markov model: rows are steps of sequences", Part: "state", Classes: true, Sequences: true,
		UnitKeys: fitted.UnitKeys,
		Example:  "geyser", Families: of, New: func() fitted.Settings { return new(Settings) },
		Load: func(f *fitted.File) (fitted.Model, error) { return load(of, f) }, Methods: methods(),
		Help: "latent select uses em, and gfab for the evidence. --prior of map and vb also takes start and transitions " +
			"(Dirichlet, of the first state and of each row) and stay (added for the same state). " + classes.AboutPrior}
}

// chainKeys are those of --prior that are about a chain.
var chainKeys = []string{"start", "transitions", "stay"}

func methods() []fitted.Method {
	swept, keys := []framework.Criterion{framework.Slope}, classes.Keys(chainKeys...)
	// a prior lets states without steps be, for which BICEM hardly charges
	likely := []framework.Criterion{framework.BIC, framework.BICEM, framework.GFIC, framework.FIC, framework.AIC,
		framework.ICL, framework.ELBO}
	return append(fitted.OfClasses(swept...),
		fitted.Method{Name: "map", Engine: framework.EM, Criteria: likely, Swept: swept, Prior: keys},
		fitted.Method{Name: "vb", Engine: framework.EM, Criteria: []framework.Criterion{framework.ELBO}, Prior: keys})
}

// Settings are the options of hidden Markov models.
type Settings struct {
	classes.ColumnSettings
	Start *string `json:"start,omitempty" placeholder:"NAME" help:"Initialisation of the states: kmeans, random (responsibilities), rows, scaled (k-means without whitening), hierarchical (Ward), seeded (k-means++ alone), or varied: kmeans, hierarchical, scaled and rows, then seeded and rows in turn. Default: varied. Instead, or after a comma, the distribution of the first state: free, uniform, stationary, or first (with --left-right), or gated (by --covariates). Default: free; gated with --covariates if there are several sequences."`
	classes.CovarianceSettings
	fitted.SequenceSettings
	classes.KnownSettings
	classes.RegressionSettings
	Covariates []string `json:"covariates,omitempty" placeholder:"COL" help:"Columns without gaps that the state of a row depends on, beside the state of the row before: log odds of moving to each other state against staying. The states do not describe them. Texts, and columns that are categorical by --columns, become indicators of all levels except the first. Requires --method gfab, fab or em; implies --accelerate."`
	LeftRight  *int     `json:"left_right,omitempty" placeholder:"STATES" range:"[1,inf)" help:"Moves lead to the same state or up to this many states further, never back. gfic charges little for such chains and finds many states: compare by bic, or give --k."`
}

// CovariateColumns returns the names of the covariates, whose columns come last in the table.
func (m *Settings) CovariateColumns() []string { return m.Covariates }

// GateColumns are the same, which have the families of columns of a gate.
func (m *Settings) GateColumns() []string { return m.Covariates }

// starting takes Start apart: how a fit begins, and what is assumed of the first state.
func (m *Settings) starting() (start family.Start, first hmm.Initial, err error) {
	wrong := func(reason string, args ...any) error {
		return &fitted.SettingError{Setting: "Start", Reason: *m.Start + fmt.Sprintf(reason, args...)}
	}
	start = family.Varied
	if len(m.Covariates) > 0 {
		first = hmm.Gated
	}
	if m.Start == nil {
		return start, first, nil
	}
	starts, firsts := 0, 0
	for name := range strings.SplitSeq(*m.Start, ",") {
		if way, unknown := family.StartByName(name); unknown == nil {
			if starts++; starts > 1 {
				return start, first, wrong(": name one initialisation")
			}
			start = way
			continue
		}
		one, unknown := hmm.InitialByName(name)
		if firsts++; firsts > 1 {
			return start, first, wrong(": name one distribution of the first state")
		}
		if first = one; unknown != nil {
			return start, first, wrong(": choose one of %s for the fit, and of free, uniform, stationary, first, gated for the "+
				"first state", classes.Starts)
		}
	}
	return start, first, nil
}

// checkResponse is about regressions in the states.
func (m *Settings) checkResponse(r fitted.Request) error {
	wrong := func(reason string) error { return &fitted.SettingError{Setting: "Response", Reason: reason} }
	switch {
	case m.Response == "" && m.About() != "":
		return &fitted.SettingError{Setting: m.About(), Reason: "requires --response, the column to explain by others"}
	case m.Response == "":
		return nil
	case r.Family != families.Gaussian && r.Family != families.Poisson:
		return wrong("requires --family gaussian or poisson, and the family is " + r.Family)
	case r.Method.Prior != nil:
		return wrong("requires --method gfab, fab or em: regressions have no conjugate prior")
	}
	return m.CheckRegression(r, &m.ColumnSettings)
}

// Check returns an error for a distribution of the first state that the chain cannot have, and for inconsistent priors.
func (m *Settings) Check(r fitted.Request) error {
	if err := m.CheckFloor(r); err != nil {
		return err
	}
	if err := m.checkResponse(r); err != nil {
		return err
	}
	_, first, err := m.starting()
	reason := ""
	switch {
	case err != nil:
		return err
	case m.LeftRight != nil && first == hmm.Stationary:
		reason = "stationary cannot be used with --left-right: a chain that never goes back ends in its last state"
	case len(m.Covariates) > 0 && m.LeftRight != nil:
		return &fitted.SettingError{Setting: "Covariates", Reason: "cannot be used with --left-right"}
	case len(m.Covariates) > 0 && first == hmm.Stationary:
		reason = "stationary cannot be used with --covariates: moves that depend on them have no stationary distribution"
	case len(m.Covariates) == 0 && first == hmm.Gated:
		reason = "gated requires --covariates, which the first state then depends on"
	case m.LeftRight == nil && first == hmm.FirstState:
		reason = "first requires --left-right: states have no order without it"
	case first == hmm.Stationary && r.Method.Prior != nil:
		reason = fmt.Sprintf("stationary cannot be used with --method %s: it has no conjugate prior", r.Method.Name)
	default:
		return classes.CheckPrior(r, chainKeys...)
	}
	return &fitted.SettingError{Setting: "Start", Reason: reason}
}

// role says what columns are besides regressors.
func (m *Settings) role() classes.Role {
	return classes.Role{Columns: m.Columns, Known: m.Known, Gate: m.Covariates}
}

// DescribeColumns returns the columns of a regression.
func (m *Settings) DescribeColumns(t *data.Named, r fitted.Request) ([]data.Column, error) {
	return m.ColumnsOf(t, r, m.role())
}

// Bind prepares the model for the sequences.
func (m *Settings) Bind(ctx context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	start, first, err := m.starting()
	if err != nil {
		return nil, err
	}
	gate, g := design.GateOf(t.Columns, m.Covariates), (*design.Regression)(nil)
	var rows family.Family
	if m.Response == "" {
		rows = r.FamilyOf(t, m)
	} else if g, err = m.Design(t.Columns, r, m.role()); err != nil {
		return nil, err
	} else {
		gate, rows = g.Gated(t.Columns, m.Covariates), g.Family(m.LeastVariance(r))
	}
	seen := gate.Described(t.Columns)
	if m.Start == nil && t.Sequences.Rows() == 1 { // nothing tells what one first state depends on
		first = hmm.Free
	}
	structure := hmm.Structure{Initial: first, Covariates: len(gate.Names())}
	if m.LeftRight != nil {
		structure.LeftRight = *m.LeftRight
	}
	e := binding{table: t, request: r, gate: gate, columns: seen, steps: t.Sequences,
		base: hmm.Model{Family: rows, Structure: structure, Start: start, Workers: r.Workers,
			Prior: r.EvidencePrior()}}
	if e.data, err = classes.DataOf(t); err != nil {
		return nil, err
	}
	b := classes.Bind(t, rows, r, "state")
	if gate.Changes() {
		if e.steps, err = gatedSteps(t, gate); err != nil {
			return nil, err
		}
	}
	err = e.base.CheckOrder(ctx, e.steps, gate.Width)
	if fault, is := errors.AsType[*hmm.OrderError](err); is {
		labels := classes.Labels(seen)
		return nil, errors.New("--known: " + fault.Text(func(label int) string { return fmt.Sprintf("%q", labels[label]) },
			func(row int) int { return e.data.Origin(row) + 1 }))
	}
	if err != nil {
		return nil, err
	}
	if g != nil {
		b.What = g.About()
	}
	if gate.Changes() {
		b.Seen = append((&fitted.Table{Columns: seen}).Names(), gate.Names()...)
	}
	if structure.Covariates > 0 {
		plan, err := family.NewPlan(rows, gate.Width)
		if err != nil {
			return nil, err
		}
		b.What += ", moves by " + wording.Quoted(m.Covariates)
		b.Accelerate = !plan.Searches() // steep logits make EM slow (docs/theory/experts.md, section 3)
	}
	b.KMax = classes.MostByRows(t.Rows, rows) // steps that look alike may be in states that others follow
	// each state of a chain from left to right, passed once, takes a piece of the series: criteria find them without end
	if b.KMax = max(b.KMin, b.KMax); b.KMax == classes.MostByDefault && m.LeftRight == nil {
		b.DoubleTo = classes.Doubling(t.Rows.Dims())
	}
	b.Problem, err = e.problem()
	return b, err
}

// gatedSteps are the sequences of a table as a model with covariates sees them.
func gatedSteps(t *fitted.Table, gate design.Gate) (*blocks.SequenceTable, error) {
	all := t.Sequences.All()
	rows, err := classes.TableOf(gate.Rows(all.Steps, nil), nil)
	if err != nil {
		return nil, err
	}
	return classes.SequencesOf(rows, all.Ends, all.Weights)
}

// A binding is a model at a table.
type binding struct {
	table   *fitted.Table
	data    *data.Named
	request fitted.Request
	base    hmm.Model
	gate    design.Gate           // of covariates
	columns []data.Column         // that states describe
	steps   *blocks.SequenceTable // as the model sees them
}

// problem makes the model of the method.
func (e binding) problem() (fitted.Problem[fitted.Found], error) {
	of, err := classes.Prior(e.request, e.base.Family, chainKeys...)
	if err != nil {
		return nil, err
	}
	v := e.request.Prior
	chained := hmm.ChainPrior{
		Start: prior.Dirichlet{Alpha: v["start"]}, Rows: prior.Dirichlet{Alpha: v["transitions"]}, Stay: v["stay"],
	}
	if e.request.Method.Name == "vb" {
		variational := hmm.Variational{Family: e.base.Family, Structure: e.base.Structure, Start: e.base.Start,
			Workers: e.base.Workers, Prior: of, Chain: chained}
		return &fitted.Engine[fitted.Found, blocks.Sequences, *hmm.Posterior, *hmm.Statistics]{
			Model: variational, Source: e.steps,
			Found: func(q *hmm.Posterior, s *hmm.Statistics) (fitted.Found, error) {
				p, err := variational.Point(q)
				if err != nil {
					return nil, err
				}
				f, err := e.found(p, s)
				if err != nil {
					return nil, err
				}
				_, f.posterior, err = variational.Keep(s, q, f.places)
				return f, err
			}}, nil
	}
	made := &fitted.Engine[fitted.Found, blocks.Sequences, *hmm.Parameters, *hmm.Statistics]{
		Model: e.base, Source: e.steps, Read: parametersOf}
	if e.request.Method.Name == "map" {
		made.Model = hmm.MAP{Model: e.base, Prior: of, Chain: chained}
	}
	made.Found = func(p *hmm.Parameters, s *hmm.Statistics) (fitted.Found, error) {
		f, err := e.found(p, s)
		if err != nil {
			return nil, err
		}
		f.Draw = func(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error) {
			return f.drawSteps(ctx, made.Model, e.steps, o)
		}
		return f, nil
	}
	return made, nil
}

// found is a fit: what scores rows, and what is said of it.
type found struct {
	*states
	*chain
}

// found describes a fit.
func (e binding) found(p *hmm.Parameters, s *hmm.Statistics) (*found, error) {
	c, err := newChain(e.base, e.request.Family, e.columns, e.data, e.steps, p, s)
	if err != nil {
		return nil, err
	}
	if err := c.takeGates(e); err != nil {
		return nil, err
	}
	rows, err := newStates(e.base, c.params, e.request.Family, e.columns, e.gate)
	return &found{rows, c}, err
}

// drawSteps adds standard errors of what is seen in the states, and of the transitions.
func (c *chain) drawSteps(
	ctx context.Context, m framework.Model[blocks.Sequences, *hmm.Parameters, *hmm.Statistics],
	src framework.Source[blocks.Sequences], o bootstrap.Options,
) (bootstrap.Outcome, error) {
	e, err := classes.DrawnComponents(ctx, c.Components, m, src, c.params, (*hmm.Parameters).Vector, o)
	if err != nil {
		return bootstrap.Outcome{}, err
	}
	for _, move := range e.Numbers[c.params.K:][:c.params.K*c.params.K] {
		e, interval := classes.Drawn(move)
		c.moveErrors, c.moveIntervals = append(c.moveErrors, e), append(c.moveIntervals, interval)
	}
	draws := e.Numbers[c.params.K*(1+c.params.K):]
	for _, g := range c.gates {
		g.Attach(draws)
		draws = draws[len(g.LogOdds)*len(g.Columns):]
	}
	return e.Outcome, nil
}

// ---- Rows

// states are a hidden Markov model, whose rows are the steps of sequences.
type states struct {
	scoring.Rows
	model   hmm.Model
	params  *hmm.Parameters
	plan    *family.Plan  // of regressions
	columns []data.Column // that states describe
	gate    design.Gate   // of covariates, and of regressors
}

func newStates(
	m hmm.Model, p *hmm.Parameters, name string, columns []data.Column, gate design.Gate,
) (*states, error) {
	c := &states{model: m, params: p, columns: columns, gate: gate}
	c.Takes = fitted.Input{Gaps: !families.NeedsComplete(name), Sequence: true, Given: gate.Given()}
	c.Says = fitted.Layout{
		First: []string{"state", "probability"},
		List:  "responsibilities",
		Items: wording.Numbered("p", p.K),
		Last:  []string{"log_predictive"},
	}
	c.Takes.Known, c.Says.Classes = scoring.NameClasses(c.Says.Items, columns,
		func(k int) int { return m.Label(p, k) })
	if g := gate.Seen; g != nil {
		c.Takes.Gaps, c.Takes.Optional, c.Takes.Known = true, g.First(), g.Known()
		c.Says.First = append(c.Says.First, "mean")
		var err error
		if c.plan, err = family.NewPlan(m.Family, p.D); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// seen are rows as the model sees them, in x, which is overwritten and grows.
func (c *states) seen(b blocks.Rows, x []float64) blocks.Rows {
	if !c.gate.Changes() {
		return b
	}
	return c.gate.Rows(b, x)
}

// parametersOf are those of a file, whose transitions are a list of rows.
func parametersOf(f *fitted.File) (*hmm.Parameters, error) {
	p, _, err := readParameters(f)
	return p, err
}

// readParameters also returns the design of regressions; nil if there is none.
func readParameters(f *fitted.File) (*hmm.Parameters, *design.Regression, error) {
	var read struct {
		*hmm.Parameters
		Transitions [][]float64        `json:"transitions"`
		Regression  *design.Regression `json:"regression"`
	}
	if err := json.Unmarshal(f.Params, &read); err != nil {
		return nil, nil, err
	}
	p := read.Parameters
	if p == nil {
		return nil, nil, errors.New("no parameters")
	}
	p.Transitions = slices.Concat(read.Transitions...)
	return p, read.Regression, nil
}

// load takes the parameters out of a model file, and the families of its columns.
func load(of fitted.Families, f *fitted.File) (fitted.Model, error) {
	p, g, err := readParameters(f)
	if err != nil {
		return nil, err
	}
	s := struct {
		Covariates []string
		Floor      *float64
	}{}
	if f.Settings != nil {
		if err := json.Unmarshal(f.Settings, &s); err != nil {
			return nil, err
		}
	}
	if err := scoring.CheckGate(f.Columns, s.Covariates); err != nil {
		return nil, err
	}
	gate := design.GateOf(f.Columns, s.Covariates)
	var rows family.Family
	if g != nil {
		if err := g.Check(f.Columns, p.D); err != nil {
			return nil, err
		}
		gate, rows = g.Gated(f.Columns, s.Covariates), g.Family(*cmp.Or(s.Floor, new(1.0)))
	} else if err := classes.CheckColumns(of, f.Family, f.Columns, families.Known, families.Gate); err != nil {
		return nil, err
	} else {
		rows = of.OfRows(f.Family, f.Columns[:gate.Own])
	}
	if err := f.Matches(p.K, p.D+len(f.Columns)-gate.Width); err != nil {
		return nil, err
	}
	m := hmm.Model{Family: rows}
	if m.Structure.Covariates = len(gate.Names()); len(p.Gate) > p.K*p.K*(1+m.Structure.Covariates) {
		m.Structure.Initial = hmm.Gated
	}
	c, err := newStates(m, p, f.Family, gate.Described(f.Columns), gate)
	if err != nil {
		return nil, err
	}
	return c, m.Check(p)
}

// NewScorer returns a [fitted.SequenceScorer]. It says of each step its state on the most probable path and the
// probability of that, given all of the sequence; the probability of each state; and ln p(x_t|x_1…x_t−1).
func (c *states) NewScorer() (fitted.Scorer, error) {
	r, err := c.model.Reader(c.params)
	return &steps{states: c, r: r}, err
}

type steps struct {
	*states
	r                 *hmm.Reader
	x                 []float64
	path, ends        []int
	logProb, smoothed []float64
	course            hmm.Course
}

// Score takes the rows of a block for one sequence.
func (c *steps) Score(b blocks.Rows, dst []float64) error {
	c.ends = append(c.ends[:0], b.N)
	return c.ScoreSequences(blocks.Sequences{Steps: b, Ends: c.ends}, dst)
}

func (c *steps) ScoreSequences(b blocks.Sequences, dst []float64) (err error) {
	g := c.gate.Seen
	if g != nil {
		if err := g.Complete(b.Steps); err != nil {
			return err
		}
	}
	given := b.Steps
	if b.Steps = c.seen(b.Steps, c.x); c.gate.Changes() {
		c.x = b.Steps.X
	}
	if c.path, c.logProb, err = c.r.Viterbi(b, c.path, c.logProb); err != nil {
		return err
	}
	if c.logProb, c.smoothed, err = c.r.Score(b, c.logProb, c.smoothed); err != nil {
		return err
	}
	if err = c.r.Filter(b, &c.course); err != nil {
		return err
	}
	k, width := c.params.K, c.Says.Width()
	for t, z := range c.path {
		own, row := c.smoothed[t*k:(t+1)*k], dst[t*width:(t+1)*width]
		row[0], row[1], row[width-1] = float64(z+1), own[z], c.course.LogDensity[t]
		copy(row[len(c.Says.First):], own)
		if g == nil {
			continue
		}
		if g.Free(given.Row(t)) { // the probabilities of the states sum to 1, up to rounding
			row[width-1] = 0
		}
		row[2] = 0
		for j := range k {
			mean, err := c.plan.Mean(c.params.Component(j), b.Steps.Row(t)[:c.params.D])
			if err != nil {
				return err
			}
			row[2] += c.course.Predicted[t*k+j] * mean
		}
	}
	return nil
}

// Refit implements [fitted.Refitter].
func (c *states) Refit(ctx context.Context, r fitted.Refitting) (*bootstrap.Estimates, error) {
	r.Rows, r.Fit.Accelerate = c.seen(r.Rows, nil), r.Fit.Accelerate || len(c.gate.Columns) > 0
	return fitted.RefitSequences(ctx, c.model, c.params, r)
}

// Fill fills the gaps of a sequence in.
func (c *states) Fill(b blocks.Rows, rng *rand.Rand) ([]float64, error) {
	if c.gate.Seen != nil {
		return nil, errors.New("gaps of a regression are not filled in: predict has the mean of the response")
	}
	x, err := c.model.Fill(blocks.Sequences{Steps: c.seen(b, nil), Ends: []int{b.N}}, c.params, rng)
	if err != nil || len(c.gate.Columns) == 0 {
		return x, err
	}
	return c.gate.Behind(b, x), nil
}

// NewSampler draws the steps of one sequence.
func (c *states) NewSampler(rng *rand.Rand) func(n int) (x []float64, labels []int, err error) {
	one, k := *c.params, c.params.K // which starts where the steps before ended
	return func(n int) ([]float64, []int, error) {
		x, states, err := c.model.Sample(&one, []int{n}, rng)
		if err == nil && n > 0 {
			from := states[n-1]
			one.Start = one.Transitions[from*k : (from+1)*k]
		}
		return x, states, err
	}
}

// SampleSequences draws sequences of the given lengths.
func (c *states) SampleSequences(lengths []int, rng *rand.Rand) ([]float64, error) {
	x, _, err := c.model.Sample(c.params, lengths, rng)
	return x, err
}

// PseudoResiduals are those of the chain.
func (c *states) PseudoResiduals(b blocks.Sequences) ([]float64, error) {
	b.Steps = c.seen(b.Steps, nil)
	return c.model.PseudoResiduals(b, c.params)
}

// Distances are those of steps from the states.
func (c *states) Distances(b blocks.Rows) (squared []float64, columns []int) {
	return c.model.Distances(c.seen(b, nil), c.params)
}

// Forecast is what is expected after each sequence.
func (c *states) Forecast(b blocks.Sequences, h int) (list []fitted.Forecast, err error) {
	if c.gate.Seen != nil {
		return nil, errors.New("a forecast needs the regressors of the steps to come: predict rows that have them, with a " +
			"missing response")
	}
	ahead, err := c.model.Forecast(b, c.params, h)
	if err != nil {
		return nil, err
	}
	numbers, err := c.model.Numbers(c.params)
	for of := range slices.Chunk(ahead, c.params.K) {
		list = append(list, classes.Expectation(c.columns, numbers, of, c.params.Component))
	}
	return list, err
}
