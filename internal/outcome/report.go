package outcome

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/sizes"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/jsontext"
	"github.com/latent-go/latent/internal/roles"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/prior"
	"github.com/latent-go/latent/report"
)

// fitStatistics are what every fit has beside its criterion, in nats; NaN where the method has none.
type fitStatistics struct {
	LogLik  fitted.Number  `json:"loglik"` // ln p(X|Π)
	Df      fitted.Number  `json:"df"`     // free parameters, as BIC and AIC charge for them
	BIC     fitted.Number  `json:"bic"`
	AIC     fitted.Number  `json:"aic"`
	ICL     *fitted.Number `json:"icl,omitempty"` // of classes
	Entropy fitted.Number  `json:"entropy"`       // of z given X, of the labels where z is one
}

// statistics takes them from a fit's evaluation and the values of its criteria.
func statistics(e framework.Evaluation, values map[string]float64) fitStatistics {
	value := func(c framework.Criterion) fitted.Number {
		if v, ok := values[c.Name]; ok {
			return fitted.Number(v)
		}
		return fitted.Number(math.NaN())
	}
	s := fitStatistics{
		Df: fitted.Number(e.Shape.Identifiable()), BIC: value(framework.BIC), AIC: value(framework.AIC),
		Entropy: fitted.Number(e.Entropy),
	}
	s.LogLik = s.AIC + s.Df
	if icl, classes := values[framework.ICL.Name]; classes {
		value := fitted.Number(icl)
		s.ICL, s.Entropy = &value, s.BIC-value // as ICL takes it
	}
	return s
}

// Summary is what a fit found, how and by which settings: the part of a report that a
// model file keeps.
type Summary struct {
	headOfSummary
	fields any // of the model itself, a struct; nil: none
	restOfSummary
}

// MarshalJSON has the fields of the model among those of all models.
func (s Summary) MarshalJSON() ([]byte, error) {
	return jsontext.Object(s.headOfSummary, s.fields, s.restOfSummary)
}

type headOfSummary struct {
	Model     string        `json:"model"`
	Family    string        `json:"family"`
	Method    string        `json:"method"`
	Criterion string        `json:"criterion"`
	Value     fitted.Number `json:"value"`
	K         int           `json:"k"`
	KMax      int           `json:"kmax"`
	N         fitted.Number `json:"n"` // sum of the row weights
	fitStatistics
	Criteria   map[string]fitted.Number `json:"criteria"` // those that have a value, by name
	Warnings   []string                 `json:"warnings"`
	D          int                      `json:"d"`
	Rows       int                      `json:"rows"`
	Columns    []data.Column            `json:"columns"`
	Iterations int                      `json:"iterations"`
	Converged  bool                     `json:"converged"`
	Status     string                   `json:"status"`
	Seed       uint64                   `json:"seed"`
	Shape      size                     `json:"shape"`
}

type restOfSummary struct {
	Components    any             `json:"components,omitempty"` // mixtures
	fitted.Groups                 // likewise, without a gate
	Relative      *fitted.Number  `json:"relative_entropy,omitempty"` // likewise
	Gate          any             `json:"gate,omitempty"`             // with --gate
	Bootstrap     *Refits         `json:"bootstrap,omitempty"`        // with --bootstrap
	Begun         *Begun          `json:"from,omitempty"`             // with --from
	ByK           []SizeScore     `json:"by_k,omitempty"`
	Pruned        []Pruned        `json:"pruned"`
	Split         []Split         `json:"split"`
	Restarts      []restart       `json:"restarts"`
	Settings      Settings        `json:"settings"`
	Objective     []fitted.Number `json:"objective_trace"` // what the method ascends, after each iteration
	Params        json.RawMessage `json:"params"`
	Posterior     json.RawMessage `json:"posterior,omitempty"` // of vb
}

// CloseBy is how far from the best value a start has reached it too, in nats: starts end
// where the criterion hardly changes any more, and not in the same number.
const CloseBy = 0.01

// apart counts the starts that began at different points.
func (s *Summary) apart() int {
	n := 0
	for _, one := range s.Restarts {
		if one.Same == 0 {
			n++
		}
	}
	return n
}

// Reached counts those that came to the best value.
func (s *Summary) Reached() int {
	n := 0
	for _, one := range s.Restarts {
		if one.Same == 0 && math.Abs(float64(one.Value-s.Value)) <= max(CloseBy, 1e-9*math.Abs(float64(s.Value))) {
			n++
		}
	}
	return n
}

// A report is the object that --format json writes.
type Report struct {
	Summary
	*Evidence // with criterion evidence
	headOfReport
	restOfReport
	found          fitted.Found
	said           *fitted.Description // once it is wanted
	classes        []*fitted.Class
	kind           fitted.Definition
	what, why      string    // the model's parts, and the method where the table decided
	program, saved string    // for hints
	listStarts     bool      // their number was asked for
	passed         SizeScore // the best that the search did not keep; K is 0 if it kept that
	advice         string    // for a fit that did not converge
}

// MarshalJSON has what JSON has beyond the summary after it.
func (r Report) MarshalJSON() ([]byte, error) {
	return jsontext.Object(r.Summary, r.Evidence, r.headOfReport, r.shown, r.restOfReport)
}

type headOfReport struct {
	Seconds fitted.Number `json:"seconds"`
	shown   any           // of the model itself, a struct; nil: none
}

type restOfReport struct {
	Covariances []fitted.Matrix   `json:"covariances,omitempty"` // of mixtures of Gaussians with correlated columns
	Compared    []fitted.Compared `json:"compared,omitempty"`    // covariance structures, the best first
	ComparedBy  string            `json:"compared_by,omitempty"` // the criterion of that
	Agreement   *Agreement        `json:"agreement,omitempty"`   // with --label
	// the criterion after each iteration; it may dip a little on the way, see docs/theory/gfab.md, section 4
	Trace  []fitted.Number `json:"trace"`
	KTrace []int           `json:"k_trace"`
}

// Settings are what it takes, with method, criterion, kmax and seed, to make the fit again.
type Settings struct {
	General
	roles.Roles
	Reading
}

// General are those of all models.
type General struct {
	Tolerance     float64 `json:"tol,omitempty"` // of iterations, which the closed form has not
	MaxIterations int     `json:"max_iter,omitempty"`
	Restarts      int     `json:"restarts,omitempty"` // asked for
	FixedK        bool    `json:"fixed_k,omitempty"`  // by --k
	Weights       string  `json:"weights,omitempty"`  // their column
	Prior         string  `json:"prior,omitempty"`    // as it was given
}

// Reading are further ones of all models, and say how the table was read.
type Reading struct {
	Temper     float64 `json:"temper,omitempty"`
	Accelerate bool    `json:"accelerate,omitempty"`
	Sample     int     `json:"sample,omitempty"`
	Online     int     `json:"online,omitempty"`
	SizePrior  string  `json:"size_prior,omitempty"`
	tables.Spelt
}

type size struct {
	K         int `json:"k"`
	Component int `json:"component"`
	Shared    int `json:"shared"`
}

// A SizeScore is a value of the criterion by K.
type SizeScore struct {
	K         int           `json:"k"`
	Value     fitted.Number `json:"value"`
	Converged bool          `json:"converged"`
}

// Pruned is a step that left latent dimensions out.
type Pruned struct {
	Iteration int             `json:"iteration"`
	K         int             `json:"k"` // latent dimensions left
	Rule      string          `json:"rule"`
	Dropped   []int           `json:"dropped"`   // from 1, as they were numbered; null where directions were dropped
	Relevance []fitted.Number `json:"relevance"` // of those dropped; observations by the rule eigenvalue
	Before    fitted.Number   `json:"before"`    // the criterion
	After     fitted.Number   `json:"after"`
}

// Split is a move that divided a latent dimension and led higher; what it then left out is pruned in the same
// iteration.
type Split struct {
	Iteration int           `json:"iteration"`
	K         int           `json:"k"`       // latent dimensions with it
	Divided   int           `json:"divided"` // from 1, as they were numbered
	Before    fitted.Number `json:"before"`  // the criterion
	After     fitted.Number `json:"after"`
}

type restart struct {
	KMax       int           `json:"kmax"`           // that it began with
	Same       int           `json:"same,omitempty"` // the start, from 1, that began at the same point before it
	K          int           `json:"k"`
	Value      fitted.Number `json:"value"`
	Iterations int           `json:"iterations"`
	Status     string        `json:"status"`
	Error      string        `json:"error,omitempty"`
}

// Asked says how the fit was asked for that a report is of.
type Asked struct {
	Kind           fitted.Definition // of the model
	Family, Method string
	Criterion      framework.Criterion // that the fit is judged by
	Seed           uint64
	KMax           int
	ByK            []SizeScore // of all K that were fitted; nil: one fit found its K
	Columns        []data.Column
	Settings       Settings
	What, Why      string              // the model's parts, and the method where the table decided
	ListStarts     bool                // their number was asked for
	Tolerance      float64             // nats a row
	ComparedBy     framework.Criterion // of covariance structures
	Prior          prior.Prior         // of the evidence; nil: the default
	SizePrior      sizes.Prior
	Groups         *int // of components
	Workers        int
	Program, Saved string // the command and the file of the model, for hints; Saved may be empty
}

// New says what a fit found.
func New(s *tables.Session, in *tables.Input, f *Fit, a Asked) (*Report, error) {
	r, err := fitOnly(f, in, a.Criterion)
	if err != nil {
		return nil, err
	}
	r.Model, r.Family, r.Method, r.Seed, r.ByK = a.Kind.Name, a.Family, a.Method, a.Seed, a.ByK
	r.Columns, r.Settings, r.kind, r.what, r.why = a.Columns, a.Settings, a.Kind, a.What, a.Why
	if !a.Settings.FixedK && r.method().Search != "" { // it went through all K below
		for k, v := range f.Met {
			if !math.IsInf(v, -1) {
				r.ByK = append(r.ByK, SizeScore{k, fitted.Number(v), true})
			}
		}
	}
	r.KMax = max(a.KMax, r.KMax)
	if len(a.ByK) > 0 {
		r.KMax = max(r.KMax, a.ByK[len(a.ByK)-1].K)
	}
	r.takeWinner(a.ComparedBy, in)
	r.program, r.saved = a.Program, a.Saved
	r.listStarts, r.advice = a.ListStarts, advice(f.Status, a.Tolerance, f.Value, f.N)
	if err := r.certainty(f, a.Prior, a.SizePrior); err != nil {
		return nil, err
	}
	if in.Known != nil {
		assigned, err := r.found.(fitted.Classifier).Classify()
		if err != nil {
			return nil, err
		}
		r.Agreement = AgreementOf(in, assigned, r.K)
	}
	if err := r.assign(s, a.Workers); err != nil {
		return nil, Interrupted(err, f)
	}
	if err := cmp.Or(r.group(s, in, a.Groups), r.noteThin(s, in)); err != nil {
		return nil, err
	}
	if d, is := r.found.(fitted.Doubtful); is {
		for _, doubt := range faults.Together(d.Doubts()) {
			s.Note("%s: %s", in.Name, in.Render(doubt))
		}
	}
	if r.passed.K > 0 {
		s.Note("K = %d is %s: latent %s%s fits each K", r.K, r.passing(), r.selecting(), r.scoring())
	}
	if slices.ContainsFunc(f.Scores, func(one framework.Score) bool { return one.Bound }) {
		s.Note(NoteBound)
	}
	return r, nil
}

// Close has the model say what it found, for a page or in words, and takes the remarks so far for warnings.
func (r *Report) Close(s *tables.Session, page, words bool) error {
	if _, printed := r.found.(fitted.Printer); page || words && !printed {
		if err := r.describe(); err != nil {
			return err
		}
	}
	r.Warnings = append(r.Warnings, s.Notes...)
	if !r.Converged {
		r.Warnings = append(r.Warnings, r.ending())
	}
	if r.agreeing() != "" && r.alone() {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("1 of %d starts reached the best value (to %v nats): %s", r.apart(), CloseBy, r.moreStarts()))
	}
	return nil
}

// ClassTable has the numbers of the classes as a table.
func (r *Report) ClassTable() report.Table { return r.found.(fitted.Classifier).Table() }

// fitOnly has what a fit says by itself.
func fitOnly(f *Fit, in *tables.Input, c framework.Criterion) (*Report, error) {
	found := f.Parameters
	k := f.Shape.K
	if s, is := found.(fitted.Sized); is {
		k = s.Size()
	}
	r := &Report{Summary: Summary{headOfSummary: headOfSummary{
		Criterion: strings.ToLower(c.Name), Value: fitted.Number(f.Value),
		K: k, N: fitted.Number(f.N), D: in.Cols(), Rows: in.Rows(),
		Iterations: f.Iterations, Converged: ended(f.Status), Status: f.status,
		Shape: size{f.Shape.K, f.Shape.Component, f.Shape.Shared},
	}, restOfSummary: restOfSummary{
		Pruned: []Pruned{}, Split: []Split{}, Restarts: []restart{}, Objective: fitted.Numbers(f.Objective),
	}}, restOfReport: restOfReport{
		Trace: fitted.Numbers(f.Trace), KTrace: append([]int{}, f.KTrace...),
	}, found: found}
	r.setScores(f)
	if c, is := found.(fitted.Classifier); is {
		r.Components, r.classes, r.Covariances = c.ComponentList(), c.Classes(), c.Covariances()
		relative := relativeEntropy(r.Entropy, r.classes)
		r.Relative = &relative
	}
	for _, p := range f.Pruned {
		one := Pruned{
			Iteration: p.Iteration,
			K:         p.K,
			Rule:      p.Rule,
			Relevance: fitted.Numbers(p.Relevance),
			Before:    fitted.Number(p.Before),
			After:     fitted.Number(p.After),
		}
		for _, k := range p.Dimensions {
			one.Dropped = append(one.Dropped, k+1)
		}
		r.Pruned = append(r.Pruned, one)
	}
	for _, one := range f.Split {
		r.Split = append(r.Split, Split{one.Iteration, one.K, one.Dimension + 1, fitted.Number(one.Before),
			fitted.Number(one.After)})
	}
	for _, one := range f.Restarts {
		entry := restart{
			KMax: one.From, K: one.K, Value: fitted.Number(one.Value), Iterations: one.Iterations, Status: one.Status.String(),
		}
		if one.Same != len(r.Restarts) {
			entry.Same = one.Same + 1
		}
		r.KMax = max(r.KMax, one.From)
		if one.Err != nil {
			entry.Error, entry.Value = in.Render(one.Err), fitted.Number(math.NaN())
		}
		r.Restarts = append(r.Restarts, entry)
	}
	if g, is := found.(fitted.Gated); is {
		r.Gate = g.Gate()
	}
	if s, is := found.(fitted.Shown); is {
		r.shown = s.Shown()
	}
	if i, is := found.(fitted.Inferred); is {
		if q := i.Posterior(); q != nil {
			var err error
			if r.Posterior, err = jsontext.Encode(q); err != nil {
				return nil, err
			}
		}
	}
	return r, r.take()
}

// take has the parameters, and fields of the model itself.
func (r *Report) take() (err error) {
	if e, is := r.found.(fitted.Extended); is {
		r.fields = e.Fields()
	}
	r.Params, err = jsontext.Encode(r.found.Params())
	return err
}

// describe has the model say what it found.
func (r *Report) describe() (err error) {
	r.said = new(fitted.Description)
	if d, is := r.found.(fitted.Describer); is {
		if r.said, err = d.Describe(); err != nil {
			return err
		}
	}
	return nil
}

// method is that of the fit.
func (r *Report) method() fitted.Method {
	m, _ := r.kind.MethodNamed(r.Method)
	return m
}

// mixes says whether the rows are independent and their classes have one set of weights.
func (r *Report) mixes() bool { return r.kind.Joins && len(r.Settings.Gate()) == 0 }

// responds says whether a column is explained by others.
func (r *Report) responds() bool { return r.Settings.Explained() != nil }

// assign counts the rows that are assigned to each component.
func (r *Report) assign(ctx context.Context, workers int) error {
	if r.classes == nil {
		return nil
	}
	counts, err := r.found.(fitted.Classifier).Count(ctx, workers)
	for k, n := range counts {
		r.classes[k].Assigned = fitted.Number(n)
	}
	return err
}

// relativeEntropy is 1 − H/(N ln K) of the labels, by Ramaswamy, DeSarbo, Reibstein & Robinson (1993), Marketing Sci.
// 12, p. 103: 1 where every row is sure of its component, 0 where all are as probable. It does not exist for one
// component.
func relativeEntropy(entropy fitted.Number, list []*fitted.Class) fitted.Number {
	var n fitted.Number
	for _, c := range list {
		n += c.Rows
	}
	if len(list) == 1 {
		return fitted.Number(math.NaN())
	}
	// rounded, the entropy of sure rows may be below 0
	return min(1, 1-entropy/(n*fitted.Number(math.Log(float64(len(list))))))
}

// setScores takes the statistics from a fit, and why one of its criteria has no value.
func (r *Report) setScores(f *Fit) {
	r.Warnings, r.Criteria = []string{}, map[string]fitted.Number{strings.ToLower(f.Criterion): fitted.Number(f.Value)}
	values := map[string]float64{}
	for name, value := range f.Values() {
		r.Criteria[strings.ToLower(name)] = fitted.Number(value)
	}
	for _, score := range f.Scores {
		if values[score.Criterion] = score.Value; score.Err != nil {
			values[score.Criterion] = math.NaN()
			r.Warnings = append(r.Warnings, faults.OneLine(score.Err))
		}
	}
	r.fitStatistics = statistics(f.Evaluation, values)
}

// Column lists criterion j over K.
func (s *Scores) Column(j int) []SizeScore {
	list := make([]SizeScore, len(s.K))
	for i, k := range s.K {
		list[i] = SizeScore{k, fitted.Number(s.Values[i][j]), s.Ends[i].Converged}
	}
	return list
}

// MarshalJSON has the settings of the model among those of all models.
func (s Settings) MarshalJSON() ([]byte, error) {
	return jsontext.Object(s.General, s.Flags(), s.Reading)
}

// UnmarshalJSON reads those of a model where it is known which.
func (s *Settings) UnmarshalJSON(text []byte) error {
	for _, part := range []any{&s.General, s.Flags(), &s.Reading} {
		if part == nil {
			continue
		}
		if err := json.Unmarshal(text, part); err != nil {
			return err
		}
	}
	return nil
}
