package command

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/jsontext"
	"github.com/latent-go/latent/internal/roles"
	"github.com/latent-go/latent/internal/tables"
)

// fitStatistics are what every fit has beside its criterion, in nats; NaN where the method has none.
type fitStatistics struct {
	LogLik  number  `json:"loglik"` // ln p(X|Π)
	Df      number  `json:"df"`     // free parameters, as BIC and AIC charge for them
	BIC     number  `json:"bic"`
	AIC     number  `json:"aic"`
	ICL     *number `json:"icl,omitempty"` // of classes
	Entropy number  `json:"entropy"`       // of z given X, of the labels where z is one
}

// statistics takes them from a fit's evaluation and the values of its criteria.
func statistics(e framework.Evaluation, values map[string]float64) fitStatistics {
	value := func(c framework.Criterion) number {
		if v, ok := values[c.Name]; ok {
			return number(v)
		}
		return number(math.NaN())
	}
	s := fitStatistics{
		Df: number(e.Shape.Identifiable()), BIC: value(framework.BIC), AIC: value(framework.AIC), Entropy: number(e.Entropy),
	}
	s.LogLik = s.AIC + s.Df
	if icl, classes := values[framework.ICL.Name]; classes {
		value := number(icl)
		s.ICL, s.Entropy = &value, s.BIC-value // as ICL takes it
	}
	return s
}

// summary is what a fit found, how and by which settings: the part of a report that a
// model file keeps.
type summary struct {
	headOfSummary
	fields any // of the model itself, a struct; nil: none
	restOfSummary
}

// MarshalJSON has the fields of the model among those of all models.
func (s summary) MarshalJSON() ([]byte, error) {
	return jsontext.Object(s.headOfSummary, s.fields, s.restOfSummary)
}

type headOfSummary struct {
	Model     string `json:"model"`
	Family    string `json:"family"`
	Method    string `json:"method"`
	Criterion string `json:"criterion"`
	Value     number `json:"value"`
	K         int    `json:"k"`
	KMax      int    `json:"kmax"`
	N         number `json:"n"` // sum of the row weights
	fitStatistics
	Criteria   map[string]number `json:"criteria"` // those that have a value, by name
	Warnings   []string          `json:"warnings"`
	D          int               `json:"d"`
	Rows       int               `json:"rows"`
	Columns    []data.Column     `json:"columns"`
	Iterations int               `json:"iterations"`
	Converged  bool              `json:"converged"`
	Status     string            `json:"status"`
	Seed       uint64            `json:"seed"`
	Shape      size              `json:"shape"`
}

type restOfSummary struct {
	Components    any             `json:"components,omitempty"` // mixtures
	fitted.Groups                 // likewise, without a gate
	Relative      *number         `json:"relative_entropy,omitempty"` // likewise
	Gate          any             `json:"gate,omitempty"`             // with --gate
	Bootstrap     *refits         `json:"bootstrap,omitempty"`        // with --bootstrap
	ByK           []sizeScore     `json:"by_k,omitempty"`
	Pruned        []pruned        `json:"pruned"`
	Split         []split         `json:"split"`
	Restarts      []restart       `json:"restarts"`
	Settings      settings        `json:"settings"`
	Objective     []number        `json:"objective_trace"` // what the method ascends, after each iteration
	Params        json.RawMessage `json:"params"`
	Posterior     json.RawMessage `json:"posterior,omitempty"` // of vb
}

// closeBy is how far from the best value a start has reached it too, in nats: starts end
// where the criterion hardly changes any more, and not in the same number.
const closeBy = 0.01

// apart counts the starts that began at different points.
func (s *summary) apart() int {
	n := 0
	for _, one := range s.Restarts {
		if one.Same == 0 {
			n++
		}
	}
	return n
}

// reached counts those that came to the best value.
func (s *summary) reached() int {
	n := 0
	for _, one := range s.Restarts {
		if one.Same == 0 && math.Abs(float64(one.Value-s.Value)) <= max(closeBy, 1e-9*math.Abs(float64(s.Value))) {
			n++
		}
	}
	return n
}

// A report is the object that --format json writes.
type fitReport struct {
	summary
	*evidenceView // with criterion evidence
	headOfReport
	restOfReport
	found      fitted.Found
	said       *fitted.Description // once it is wanted
	classes    []*fitted.Class
	kind       fitted.Definition
	what, why  string // the model's parts, and the method where the table decided
	listStarts bool   // their number was asked for
	advice     string // for a fit that did not converge
}

// MarshalJSON has what JSON has beyond the summary after it.
func (r fitReport) MarshalJSON() ([]byte, error) {
	return jsontext.Object(r.summary, r.evidenceView, r.headOfReport, r.shown, r.restOfReport)
}

type headOfReport struct {
	Seconds number `json:"seconds"`
	shown   any    // of the model itself, a struct; nil: none
}

type restOfReport struct {
	Covariances []fitted.Matrix   `json:"covariances,omitempty"` // of mixtures of Gaussians with correlated columns
	Compared    []fitted.Compared `json:"compared,omitempty"`    // covariance structures, the best first
	ComparedBy  string            `json:"compared_by,omitempty"` // the criterion of that
	Agreement   *agreementTable   `json:"agreement,omitempty"`   // with --label
	// the criterion after each iteration; it may dip a little on the way, see docs/theory/gfab.md, section 4
	Trace  []number `json:"trace"`
	KTrace []int    `json:"k_trace"`
}

// settings are what it takes, with method, criterion, kmax and seed, to make the fit again.
type settings struct {
	generalSettings
	roles.Roles
	readingSettings
}

// generalSettings are those of all models.
type generalSettings struct {
	Tolerance     float64 `json:"tol,omitempty"` // of iterations, which the closed form has not
	MaxIterations int     `json:"max_iter,omitempty"`
	Restarts      int     `json:"restarts,omitempty"` // asked for
	FixedK        bool    `json:"fixed_k,omitempty"`  // by --k
	Weights       string  `json:"weights,omitempty"`  // their column
	Prior         string  `json:"prior,omitempty"`    // as it was given
}

// readingSettings are further ones of all models, and say how the table was read.
type readingSettings struct {
	Temper     float64 `json:"temper,omitempty"`
	Accelerate bool    `json:"accelerate,omitempty"`
	Sample     int     `json:"sample,omitempty"`
	SizePrior  string  `json:"size_prior,omitempty"`
	tables.Spelt
}

type size struct {
	K         int `json:"k"`
	Component int `json:"component"`
	Shared    int `json:"shared"`
}

type sizeScore struct {
	K         int    `json:"k"`
	Value     number `json:"value"`
	Converged bool   `json:"converged"`
}

type pruned struct {
	Iteration int      `json:"iteration"`
	K         int      `json:"k"` // latent dimensions left
	Rule      string   `json:"rule"`
	Dropped   []int    `json:"dropped"`   // from 1, as they were numbered; null where directions were dropped
	Relevance []number `json:"relevance"` // of those dropped; observations by the rule eigenvalue
	Before    number   `json:"before"`    // the criterion
	After     number   `json:"after"`
}

// split is a move that divided a latent dimension and led higher; what it then left out is pruned in the same
// iteration.
type split struct {
	Iteration int    `json:"iteration"`
	K         int    `json:"k"`       // latent dimensions with it
	Divided   int    `json:"divided"` // from 1, as they were numbered
	Before    number `json:"before"`  // the criterion
	After     number `json:"after"`
}

type restart struct {
	KMax       int    `json:"kmax"`           // that it began with
	Same       int    `json:"same,omitempty"` // the start, from 1, that began at the same point before it
	K          int    `json:"k"`
	Value      number `json:"value"`
	Iterations int    `json:"iterations"`
	Status     string `json:"status"`
	Error      string `json:"error,omitempty"`
}

// newReport makes the summary of a fit.
func newReport(f *outcome, in *tables.Input, c framework.Criterion) (*fitReport, error) {
	found := f.Parameters
	k := f.Shape.K
	if s, is := found.(fitted.Sized); is {
		k = s.Size()
	}
	r := &fitReport{summary: summary{headOfSummary: headOfSummary{
		Criterion: strings.ToLower(c.Name), Value: number(f.Value),
		K: k, N: number(f.N), D: in.Cols(), Rows: in.Rows(),
		Iterations: f.Iterations, Converged: ended(f.Status), Status: f.status,
		Shape: size{f.Shape.K, f.Shape.Component, f.Shape.Shared},
	}, restOfSummary: restOfSummary{
		Pruned: []pruned{}, Split: []split{}, Restarts: []restart{}, Objective: numbers(f.Objective),
	}}, restOfReport: restOfReport{
		Trace: numbers(f.Trace), KTrace: append([]int{}, f.KTrace...),
	}, found: found}
	r.setScores(f)
	if c, is := found.(fitted.Classifier); is {
		r.Components, r.classes, r.Covariances = c.ComponentList(), c.Classes(), c.Covariances()
		relative := relativeEntropy(r.Entropy, r.classes)
		r.Relative = &relative
	}
	for _, p := range f.Pruned {
		one := pruned{
			Iteration: p.Iteration,
			K:         p.K,
			Rule:      p.Rule,
			Relevance: numbers(p.Relevance),
			Before:    number(p.Before),
			After:     number(p.After),
		}
		for _, k := range p.Dimensions {
			one.Dropped = append(one.Dropped, k+1)
		}
		r.Pruned = append(r.Pruned, one)
	}
	for _, one := range f.Split {
		r.Split = append(r.Split, split{one.Iteration, one.K, one.Dimension + 1, number(one.Before), number(one.After)})
	}
	for _, one := range f.Restarts {
		entry := restart{
			KMax: one.From, K: one.K, Value: number(one.Value), Iterations: one.Iterations, Status: one.Status.String(),
		}
		if one.Same != len(r.Restarts) {
			entry.Same = one.Same + 1
		}
		r.KMax = max(r.KMax, one.From)
		if one.Err != nil {
			entry.Error, entry.Value = in.Render(one.Err), number(math.NaN())
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
			if r.Posterior, err = encode(q); err != nil {
				return nil, err
			}
		}
	}
	return r, r.take()
}

// take has the parameters, and fields of the model itself.
func (r *fitReport) take() (err error) {
	if e, is := r.found.(fitted.Extended); is {
		r.fields = e.Fields()
	}
	r.Params, err = encode(r.found.Params())
	return err
}

// describe has the model say what it found.
func (r *fitReport) describe() (err error) {
	r.said = new(fitted.Description)
	if d, is := r.found.(fitted.Describer); is {
		if r.said, err = d.Describe(); err != nil {
			return err
		}
	}
	return nil
}

// method is that of the fit.
func (r *fitReport) method() fitted.Method {
	m, _ := r.kind.MethodNamed(r.Method)
	return m
}

// mixes says whether the rows are independent and their classes have one set of weights.
func (r *fitReport) mixes() bool { return r.kind.Joins && len(r.Settings.Gate()) == 0 }

// responds says whether a column is explained by others.
func (r *fitReport) responds() bool { return r.Settings.Explained() != nil }

// assign counts the rows that are assigned to each component.
func (r *fitReport) assign(ctx context.Context, workers int) error {
	if r.classes == nil {
		return nil
	}
	counts, err := r.found.(fitted.Classifier).Count(ctx, workers)
	for k, n := range counts {
		r.classes[k].Assigned = number(n)
	}
	return err
}

// relativeEntropy is 1 − H/(N ln K) of the labels, by Ramaswamy, DeSarbo, Reibstein & Robinson (1993), Marketing Sci.
// 12, p. 103: 1 where every row is sure of its component, 0 where all are as probable. It does not exist for one
// component.
func relativeEntropy(entropy number, list []*fitted.Class) number {
	var n number
	for _, c := range list {
		n += c.Rows
	}
	if len(list) == 1 {
		return number(math.NaN())
	}
	return min(1, 1-entropy/(n*number(math.Log(float64(len(list)))))) // rounded, the entropy of sure rows may be below 0
}

// setScores takes the statistics from a fit, and why one of its criteria has no value.
func (r *fitReport) setScores(f *outcome) {
	r.Warnings, r.Criteria = []string{}, map[string]number{strings.ToLower(f.Criterion): number(f.Value)}
	values := map[string]float64{}
	for name, value := range f.Values() {
		r.Criteria[strings.ToLower(name)] = number(value)
	}
	for _, score := range f.Scores {
		if values[score.Criterion] = score.Value; score.Err != nil {
			values[score.Criterion] = math.NaN()
			r.Warnings = append(r.Warnings, oneLine(score.Err))
		}
	}
	r.fitStatistics = statistics(f.Evaluation, values)
}

// column lists criterion j over K.
func (s *scores) column(j int) []sizeScore {
	list := make([]sizeScore, len(s.K))
	for i, k := range s.K {
		list[i] = sizeScore{k, number(s.Values[i][j]), s.ends[i].converged}
	}
	return list
}
