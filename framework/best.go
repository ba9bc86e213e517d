package framework

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/internal/parallel"
)

// A stage of FitBest says how far the search of a model went.
type stage int

const (
	someStarts  stage = iota // a few starts from each K, up to where their trials would be polished
	allStarts                // all starts of the options, likewise
	wholeSearch              // the search of Fit
)

func (s stage) String() string {
	return [...]string{"first starts", "all starts", "whole search"}[s]
}

const (
	// firstStarts is the number of starts that all models have: one of each kind (see [StartOf]).
	firstStarts = 2
	// withinReach is how far, in nats, a model may be behind the best after the first starts to have all of them: about
	// what further starts gain, where the values are close enough for that to decide (docs/theory/evidence.md).
	withinReach = 10
)

// Compared is the result of one model of [FitBest].
type Compared struct {
	K         int
	Value     float64 // of the criterion of the comparison, as far as the search went; NaN if there is none
	Behind    float64 // the best, in nats
	Converged bool    // to the tolerance at which trials are made, or closer
	Stage     string  // that the search ended at: first starts, all starts or whole search
	Whole     bool    // the search was that of [Fit]
	Err       error   // explains a missing value
}

// ErrSingle excludes a model from a comparison: the model has one latent dimension, while others show that there are
// more.
var ErrSingle = errors.New("one component, while other models have several")

// ErrSpare excludes a model from a comparison at a given K: the model is better without one of its latent dimensions,
// such as a component without rows, while others have a use for all of them.
var ErrSpare = errors.New("no use for all K components, while other models have")

// A Comparison is the best of several models.
type Comparison[P, S any] struct {
	*Result[P, S]            // of the best
	Model         int        // which of them, from 0
	Compared      []Compared // in the order of the models
}

// FitBest fits several models of one type to the same rows by the criterion of the options, and compares them by a
// criterion whose values are comparable, such as [Evidence] or [Completed]. It has three stages. Every model gets
// the first two starts from each K (or fewer, as in the options), at a loose tolerance. Models at most 10 nats
// behind the best then get all starts, or four from a K if these agree. The best of these gets the whole search,
// with the outcome of [Fit] but for runs that are given up or joined, unless the first starts alone doubled K
// further. The last model, which should have the most parameters, goes first; runs that cannot come near it end
// early. If K of the best model does not double, only K of models as near to it doubles. Of models that differ by at
// most 0.01 nats FitBest takes the first. It leaves out models that cannot be fitted and fails if none can.
//
// Checkpoints hold the whole comparison. The recorder sees the fits' events interleaved, each with its Model. A
// cancelled context or an error of the recorder ends the comparison: the best state so far is returned together with
// the error.
func FitBest[B, P any, S Statistics[S]](ctx context.Context, models []Model[B, P, S], src Source[B], by Criterion,
	o Options) (c *Comparison[P, S], err error) {
	if len(models) == 0 {
		return nil, errors.New("framework: no models to compare")
	}
	tasks := make([]string, len(models))
	for i, m := range models {
		if err := needed(ctx, m, src); err != nil {
			return nil, err
		}
		tasks[i] = taskOf(m, o)
	}
	ctx, leave, err := together(ctx, o.Group, tasks, src.Rows())
	if err != nil {
		return nil, err
	}
	defer leave(&err)
	ctx = knowing(ctx, o.Workers)
	r, err := newRace(ctx, models, src, by, o)
	if err != nil {
		return nil, err
	}
	for r.run(ctx) && r.pass() {
	}
	return r.result(ctx)
}

// A race is the fits of a comparison, nil if there is none.
type race[B, P any, S Statistics[S]] struct {
	sweep[B, P, S]
	by      Criterion
	stages  []stage // that each has come to: those at the last of them are in the race
	errs    []error // of fits that there are none of
	workers int
	group   bool
}

func newRace[B, P any, S Statistics[S]](ctx context.Context, models []Model[B, P, S], src Source[B], by Criterion,
	o Options) (*race[B, P, S], error) {
	n := len(models)
	r := &race[B, P, S]{by: by, stages: make([]stage, n), errs: make([]error, n)}
	r.workers, r.group = workersOr(o.Workers), o.Group != nil
	r.fits = make([]*fit[B, P, S], n)
	saved := make([][]byte, n)
	if o.Resume != nil {
		var err error
		if saved, err = r.decode(o.Resume); err != nil {
			return nil, err
		}
	}
	recorder := r.record(o.Recorder, r.encode)
	from := reading[B, P, S](ctx, models[0], src)
	for i, m := range models {
		one := o
		one.Resume = saved[i]
		if recorder != nil {
			one.Recorder = func(e Event) error {
				e.Model = i
				return recorder(e)
			}
		}
		from.number, from.condensed = i, condensing[B, P, S](ctx, m, src)
		f, err := newFit(m, from, nil, one)
		if err == nil {
			f.compared, err = true, f.comparable(by)
		}
		switch {
		case err == nil:
			r.fits[i] = f
		case saved[i] != nil:
			return nil, fmt.Errorf("framework: model %d: %w", i+1, err)
		default:
			r.errs[i] = err
		}
	}
	return r, nil
}

// stage is the present one.
func (r *race[B, P, S]) stage() stage { return slices.Max(r.stages) }

// run has the fits that are in the race go on to the end of the stage, and reports whether they came there.
func (r *race[B, P, S]) run(ctx context.Context) bool {
	var in []*fit[B, P, S]
	for i, f := range r.fits {
		if f != nil && r.stages[i] == r.stage() {
			in = append(in, f)
		}
	}
	if len(in) == 0 {
		return true
	}
	concurrent := min(r.workers, len(in))
	if r.group {
		concurrent = 1
	}
	infer := func(some []*fit[B, P, S]) (goes bool) {
		goal := math.Inf(-1)
		values := r.values()
		if best := first(values); best >= 0 {
			goal = values[best] - withinReach
		}
		_ = parallel.Do(len(some), min(concurrent, len(some)), func(i int) error {
			f := some[i]
			f.stage, f.goal, f.options.Workers = r.stage(), goal, max(1, r.workers/min(concurrent, len(some)))
			f.infer(ctx)
			return nil // the other fits go on
		})
		stopped := slices.ContainsFunc(some, func(f *fit[B, P, S]) bool { return f.recorderErr != nil })
		return ctx.Err() == nil && !stopped
	}
	for goes := true; goes; goes = r.grow(in) {
		// The last has most parameters, and what it comes to shows which of the others need not go on.
		last := len(in) - 1
		if !infer(in[last:]) || last > 0 && !infer(in[:last]) {
			return false
		}
	}
	return true
}

// grow has K of those fits double that may be better with more, and reports whether there are any. Where the best does
// not, those that are too far behind do not either: with many latent dimensions of its own, a simple model only comes
// near to one that has few. Nor do those that the last doubling has brought less than they are behind: the next one
// brings less still, as the likelihood rises more slowly and the charge for parameters doubles.
func (r *race[B, P, S]) grow(in []*fit[B, P, S]) (any bool) {
	values := r.values()
	best := first(values)
	if best < 0 || r.stage() == wholeSearch {
		return false
	}
	least := values[best] - withinReach
	if r.fits[best].grows() {
		least = math.Inf(-1)
	}
	for _, f := range in {
		if v := r.valueOf(f); f.grows() && v >= least && v+f.doubled() >= values[best]-f.reach() {
			f.double()
			any = true
		}
	}
	return any
}

// doubled is what the last doubling of K has brought, in nats of the criterion; +Inf where there was none.
func (f *fit[B, P, S]) doubled() float64 {
	k := f.last()
	return max(0, f.highest(k, k)-f.highest(0, k-1))
}

// pass takes those that are not too far behind to the next stage, and reports whether any fit goes on.
func (r *race[B, P, S]) pass() bool {
	values := r.values()
	best, stage, in := first(values), r.stage(), 0
	if best < 0 || stage == wholeSearch {
		return false
	}
	if r.stages[best] < stage { // more starts, of a higher criterion of their own, have brought the others below it
		r.stages[best] = stage
		return true
	}
	least := values[best] - withinReach
	for i := range r.fits {
		if r.stages[i] == stage && values[i] >= least {
			in++
		}
	}
	for i := range r.fits {
		switch {
		case r.stages[i] != stage || !(values[i] >= least):
		case i == best && (in == 1 || stage == allStarts):
			r.stages[i] = wholeSearch
		case stage == someStarts:
			r.stages[i] = allStarts
		}
	}
	return true
}

// values are what the models are compared by, as far as their fits are, NaN if there is none, if a single latent
// dimension stands first by the entropy of the labels alone, or if K is given, and others alone have a use for it.
func (r *race[B, P, S]) values() []float64 {
	v, k := slices.Repeat([]float64{math.NaN()}, len(r.fits)), make([]int, len(r.fits))
	several, highest, sizes := math.Inf(-1), math.Inf(-1), 0
	for i, f := range r.fits {
		if f == nil || f.best() < 0 {
			continue
		}
		best := f.runs[f.best()].best()
		v[i], k[i] = r.by.Value(&best.Evaluation), best.K
		if k[i] > 1 {
			several = max(several, v[i])
		}
		plain := v[i]
		if r.by.Needs.Assigner {
			plain += best.Evaluation.LabelEntropy
		}
		if plain > highest {
			highest, sizes = plain, k[i]
		}
	}
	spare := make([]bool, len(v))
	for i, f := range r.fits {
		spare[i] = k[i] > 0 && f.spares()
	}
	used := slices.ContainsFunc(dimensions(len(v)), func(i int) bool { return k[i] > 0 && !spare[i] })
	for i := range v {
		if sizes > 1 && k[i] == 1 && v[i] > several || used && spare[i] {
			v[i] = math.NaN()
		}
	}
	return v
}

// spares reports whether the best state has, at a given K, latent dimensions that it would be better without.
func (f *fit[B, P, S]) spares() bool {
	if !f.options.FixedK || f.can.projector == nil {
		return false
	}
	best := f.runs[f.best()].best()
	relevance, err := f.can.relevance(best.S, best.P, best.K)
	return err == nil && slices.Min(relevance) < 0
}

func (r *race[B, P, S]) valueOf(f *fit[B, P, S]) float64 {
	if at := f.best(); at >= 0 {
		return r.by.Value(&f.runs[at].best().Evaluation)
	}
	return math.NaN()
}

// comparable returns why the states of a fit have no value of a criterion, or nil.
func (f *fit[B, P, S]) comparable(by Criterion) error {
	if by.Value == nil || by.Needs.passes() {
		return fmt.Errorf("framework: models cannot be compared by %q, which needs additional passes: "+
			"choose Evidence, Completed, BIC or ICL", by.Name)
	}
	own := f.options.Criterion.Needs
	own.Estimates, own.Likelihood, own.Assigner = true, true, true // each state has these, whatever its criterion
	if own.or(by.Needs) != own {
		return fmt.Errorf("framework: a comparison by %s needs values that a fit by %s does not evaluate: "+
			"fit by the criterion of the comparison", by.Name, f.options.Criterion.Name)
	}
	return f.can.supports(by)
}

// first is the first of those values that are as good as the highest, -1 where there is none.
func first(values []float64) int {
	highest := math.Inf(-1)
	for _, v := range values {
		if v > highest {
			highest = v
		}
	}
	return slices.IndexFunc(values, func(v float64) bool { return v >= highest-leastGain && v > math.Inf(-1) })
}

// result is that of the best.
func (r *race[B, P, S]) result(ctx context.Context) (*Comparison[P, S], error) {
	best := slices.Index(r.stages, wholeSearch)
	if best < 0 {
		best = first(r.values()) // of what was stopped, if anything
	}
	var failures []error
	for i, f := range r.fits {
		if f == nil {
			failures = append(failures, r.errs[i])
		} else if best < 0 {
			err := f.failure()
			if err == nil {
				_, err = f.result(ctx)
			}
			failures = append(failures, err)
		} else if f.recorderErr != nil {
			r.fits[best].recorderErr = f.recorderErr
		}
	}
	if best < 0 {
		return nil, errors.Join(failures...)
	}
	c := &Comparison[P, S]{Model: best, Compared: make([]Compared, len(r.fits))}
	var err error
	r.fits[best].options.Workers = r.workers
	if c.Result, err = r.fits[best].result(ctx); c.Result == nil {
		return nil, err
	}
	c.checkpoint = r.encode
	values := r.values()
	values[best] = r.by.Value(&c.Evaluation)
	for i, f := range r.fits {
		one := &c.Compared[i]
		one.Value, one.Err = values[i], r.errs[i]
		one.Stage, one.Whole = r.stages[i].String(), r.stages[i] == wholeSearch
		switch one.Behind = values[best] - one.Value; {
		case f == nil:
		case math.IsNaN(one.Value) && !math.IsNaN(r.valueOf(f)):
			at := f.runs[f.best()].best()
			if one.K, one.Err = at.K, ErrSingle; f.options.FixedK {
				one.Err = ErrSpare
			}
		case math.IsNaN(one.Value):
			one.Err = f.failure()
		default:
			at := f.runs[f.best()]
			one.K, one.Converged = at.best().K, at.at.Status == Converged || at.at.Status == Running && at.at.Settled
		}
	}
	return c, err
}

func (r *race[B, P, S]) encode() ([]byte, error) {
	return seal(ofComparison, func(enc *gob.Encoder) error {
		return errors.Join(enc.Encode(r.stages), r.sweep.write(enc))
	})
}

// decode takes the stages from a checkpoint, and returns the checkpoints of single fits, nil if there was none.
func (r *race[B, P, S]) decode(checkpoint []byte) (saved [][]byte, err error) {
	var stages []stage
	if err := unseal(ofComparison, checkpoint, func(dec *gob.Decoder) error {
		return errors.Join(dec.Decode(&stages), dec.Decode(&saved))
	}); err != nil {
		return nil, err
	}
	if len(stages) != len(r.fits) {
		return nil, refuse("holds %d models; this comparison has %d", len(stages), len(r.fits))
	}
	r.stages = stages
	return present(saved, len(stages))
}
