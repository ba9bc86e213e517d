package framework

import (
	"errors"
	"fmt"
	"math"

	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/pruning"
)

// Method says how a fit infers q and Π. MAP and variational Bayes are models, not methods: their global step includes
// the prior.
type Method int

const (
	// GFAB tilts the local step by the curvature F and prunes (paper G,
	// Algorithm 1). It needs Curved, and Projector to prune.
	GFAB Method = iota
	// FAB tilts the local step by the counts and prunes (Fujimaki & Morinaga 2012).
	// It needs Curved, and Projector to prune. It differs from GFAB only in its criterion, FIC.
	FAB
	// EM changes neither the local step nor K. For a variational
	// model this is variational Bayes.
	EM
	// PrunedEM is EM that prunes by the criterion alone, for criteria that charge for parameters without a curvature:
	// [Collapsed], [BIC], and the ELBO of a variational model. It needs Projector.
	PrunedEM
)

var methodNames = [...]string{GFAB: "gfab", FAB: "fab", EM: "em", PrunedEM: "pruned-em"}

// tilts says whether the method tilts the local step.
func (m Method) tilts() bool { return m == GFAB || m == FAB }

func (m Method) String() string {
	if m < 0 || int(m) >= len(methodNames) {
		return fmt.Sprintf("Method(%d)", int(m))
	}
	return methodNames[m]
}

// Options say how to fit. The zero value of every field except K is its default.
type Options struct {
	K      int    // initial number of latent dimensions, and the largest unless K doubles. At least 1
	Method Method // GFAB

	// Temper is α in (0, 1], the power of the likelihood in the tempered posterior of an
	// [optional.Variational] model, p(X|Π)^α p(Π) up to a constant (Chérif-Abdellatif 2018, "paper C",
	// section 2; docs/theory/elbo.md). The bound becomes
	//
	//	α(E[ln p(X,Z|Π)] + H(q(Z))) − KL(q(Π)‖p(Π)),
	//
	// and N is everywhere α times the observations: the model sees rows of weight α. 0 stands for 1, the
	// posterior itself. Other values need statistics that are an [optional.Scaler].
	Temper float64

	// Criterion scores states, restarts and sizes. Its zero value is the method's own: for gFAB the evidence, or gFIC
	// for a model without a proper prior and for an [optional.Expander], whose steps do not climb the evidence; FIC for
	// FAB, BICEM for EM, ELBO for a variational model, and Collapsed for a variational model that is also a FixedPoint.
	Criterion Criterion
	// Also lists further criteria to report for the final state. They score the method's own estimates: BIC after gFAB is
	// not BIC at the maximum of the likelihood.
	Also []Criterion
	// AlsoAll reports every other criterion that needs at most one further pass and has a value.
	AlsoAll bool

	// DoubleTo is the bound, besides half the rows, up to which K doubles while the criterion, in the upper fifth of the K
	// tried, comes to within 10 nats of the highest: new runs then begin with twice as many. 0: K stays the largest.
	DoubleTo int

	FixedK bool // never lower K, even with gFAB and FAB
	Prune  pruning.Rules

	// Tolerance ends a fit when neither the criterion nor the objective changed by
	// more than Tolerance·N nats in an iteration. The change is relative to the observations N, not to the value,
	// which depends on the units of the data and may pass through zero. Default 1e-9.
	Tolerance float64
	// MaxIterations bounds the iterations of a run, default 10000.
	MaxIterations int

	// Accelerate extrapolates the last few iterations by Anderson's method. An iteration from the extrapolated point is
	// kept if the objective has not fallen; otherwise the engine makes one from the current state, at the cost of one
	// more pass. The objective stays as monotone as without extrapolation, and convergence is tested on an iteration
	// without extrapolation. A slowly converging fit takes a fraction of the passes. It may reach another local
	// maximum, and so another K, or an error where a component collapses. Accelerate needs statistics that are an
	// [optional.Scaler] and a model that is not an [optional.FixedPoint], costs about 30 evaluations of LogJoint per
	// iteration (docs/theory/gfab.md, section 6), and is always on for an [optional.Creeping] model.
	Accelerate bool

	// NoMoves leaves out the split and merge moves of an [optional.Splitter], which begin when the best of the runs has
	// converged. With moves, K stays at most that of the options; each move raises the criterion, and at the same K
	// also the objective, by more than the tolerance and by 0.01 nats. EM of a model without a prior makes no moves:
	// the highest maxima of a likelihood are spurious.
	NoMoves bool

	// Sample is the approximate number of rows, drawn at random, to which every run is first fitted, from its own start
	// and at the same K: they are of the same draw as those that the start looks at. That fit ends close to the end of a
	// fit to all rows; passes over all rows then decide. If the components are distinct, few such passes remain
	// (docs/guides/larger-than-memory.md); otherwise the fit may find another local maximum. Sample needs a [Source] of
	// [blocks.Rows], and does nothing if the source has less than twice as many rows or gives them by their entries. 0: no
	// sample.
	Sample int

	// Online is the approximate number of rows of a mini-batch of online EM (Cappé & Moulines, Journal of the Royal
	// Statistical Society B 71(3), 2009); 0: every iteration reads all rows. A fit to a sample of the rows, with the
	// weight of so many, finds K. From its parameters, one pass over all rows makes a global step after each mini-batch,
	// of the sums averaged so far; and then an iteration over all rows has the value, and ends the fit. The sample is of
	// Sample rows, by default of Online; tables of less than twice as many are fitted as usual. Online needs what Sample
	// needs, statistics that are an [optional.Scaler], and one process; a source that is not [optional.Divided] is read
	// whole for each mini-batch. The bits do not depend on Workers, and depend on the order of the rows.
	Online int

	// Restarts is the number of independent starts from each K, default 1; Fit returns the best. Two from each K are made
	// first, to a loose tolerance, and the others only from those K that these do not show to be too far behind. Runs
	// that are then more than 10 nats behind the best, with what is ahead, are given up; the others converge. If one
	// of at least four starts alone came to the best value, and K may double, starts from twice K follow, two at a time,
	// until another comes to the best value, or as many have been made.
	Restarts int
	Seed     uint64 // start r draws from the PCG stream (Seed, r)

	// Workers is the number of goroutines that read rows in a pass (a model's Init may use more); default one a
	// processor. Any number gives the same bits.
	Workers int
	Shards  int // partial sums of a pass, default DefaultShards; another number changes the rounding

	// Group shares the passes of the fit among processes that all make the fit. The outcome has the bits of one process
	// alone. Every process computes the beginning of a fit, such as Init, by itself, and also the passes of an
	// [optional.Coupled] model, whose q belongs to rows.
	Group Group

	// Recorder sees every iteration; it may be nil. Calls never overlap, but calls of different restarts are interleaved.
	// An error ends the fit.
	Recorder func(Event) error
	// a checkpoint to resume; with other rows or options than those of its fit, Fit returns a *CheckpointError
	Resume []byte
}

// mostShards and mostRestarts bound what a fit keeps from the first iteration on; no more goroutines than shards work.
const (
	mostShards   = 1 << 16
	mostRestarts = 1 << 20
)

// DefaultTolerance and DefaultMaxIterations are the defaults of [Options].
const (
	DefaultTolerance     = 1e-9
	DefaultMaxIterations = 10000
)

// resolved fills in the defaults and checks what the model can do.
func resolved[B, P any, S Statistics[S]](o Options, can *capabilities[B, P, S]) (Options, error) {
	if o.K < 1 {
		return o, fmt.Errorf("framework: K is %d; must be at least 1", o.K)
	}
	if math.IsNaN(o.Tolerance) || o.Tolerance < 0 || o.MaxIterations < 0 || o.Restarts < 0 || o.DoubleTo < 0 ||
		o.Workers < 0 || o.Shards < 0 || o.Sample < 0 || o.Online < 0 {
		return o, fmt.Errorf(
			"framework: tolerance %v, iterations %d, restarts %d, DoubleTo %d, workers %d, shards %d, sample %d and "+
				"Online %d must not be negative", o.Tolerance, o.MaxIterations, o.Restarts, o.DoubleTo, o.Workers, o.Shards,
			o.Sample, o.Online,
		)
	}
	switch {
	case o.Shards > mostShards:
		return o, fmt.Errorf("framework: Shards is %d; must be at most %d: each holds statistics", o.Shards, mostShards)
	case o.Workers > mostShards:
		return o, fmt.Errorf("framework: Workers is %d; must be at most %d", o.Workers, mostShards)
	case math.IsInf(o.Tolerance, 1):
		return o, errors.New("framework: Tolerance is +Inf; must be finite")
	case o.Restarts > mostRestarts:
		return o, fmt.Errorf("framework: Restarts is %d; must be at most %d", o.Restarts, mostRestarts)
	}
	if o.Tolerance == 0 {
		o.Tolerance = DefaultTolerance
	}
	o.MaxIterations = orDefault(o.MaxIterations, DefaultMaxIterations)
	o.Restarts = orDefault(o.Restarts, 1)
	o.Shards = orDefault(o.Shards, DefaultShards)
	o.Workers = workersOr(o.Workers)
	o.Sample = orDefault(o.Sample, o.Online)

	switch {
	case o.Method < GFAB || o.Method > PrunedEM:
		return o, fmt.Errorf("framework: unknown method %d: choose GFAB, FAB, EM or PrunedEM", int(o.Method))
	case o.Method == GFAB && can.curved == nil:
		return o, can.missing("gFAB", "Curved", "a Curvature method")
	case o.Method == FAB && can.curved == nil:
		return o, can.missing("FAB", "Curved", "a Curvature method")
	case o.Method == EM:
		o.FixedK = true
	}
	if o.Temper == 0 {
		o.Temper = 1
	}
	if err := can.tempers(o.Temper); err != nil {
		return o, err
	}
	o.Accelerate = o.Accelerate || can.creeps
	switch {
	case o.Accelerate && !can.scaler:
		return o, can.unscalable("Accelerate is set")
	case o.Accelerate && can.fixedPoint:
		return o, fmt.Errorf(
			"framework: Accelerate is set, and %s solves an equation for q: there is no ascent to extrapolate", can.name,
		)
	case o.Accelerate && can.coupled != nil:
		return o, fmt.Errorf("framework: Accelerate is set, and %s keeps its q, which cannot be extrapolated", can.name)
	case can.coupled != nil && can.rotator != nil:
		return o, fmt.Errorf("framework: %s is Coupled and a Rotator, and a kept q cannot be rotated: leave Rotate out",
			can.name)
	}
	if o.Criterion.empty() && o.Criterion.Name == "" {
		o.Criterion = can.own(o.Method)
	}
	for _, c := range append([]Criterion{o.Criterion}, o.Also...) {
		if err := can.supports(c); err != nil {
			return o, err
		}
		if c.Sweep != nil {
			return o, fmt.Errorf("framework: %s compares fits of several K: call Select", c.Name)
		}
		if o.Temper != 1 && c.Needs.passes() {
			return o, fmt.Errorf("framework: %s is undefined for a tempered posterior, and Temper is %v: leave one of the "+
				"two out",
				c.Name, o.Temper)
		}
	}
	if can.projector == nil && !o.FixedK {
		return o, can.missing("pruning", "Projector", "Relevance and Keep methods; or fix K")
	}
	return o, nil
}

func orDefault(n, other int) int {
	if n == 0 {
		return other
	}
	return n
}

// Status says why a run ended.
type Status int

const (
	// Running is the status of a run that has not ended.
	Running Status = iota
	// Converged: the criterion and the objective changed by less than the
	// tolerance, and no smaller model scored higher.
	Converged
	// IterationLimit: MaxIterations were made.
	IterationLimit
	// Falling: the objective stayed below its best for too many iterations, or until nothing changed; Fit returns the best
	// state.
	Falling
	// Cancelled: the context or the recorder ended the run; Fit returns the best state so far.
	Cancelled
	// Failed: a step returned an error.
	Failed
	// Solved: by a closed form, without iterations. No run of the engine has this status.
	Solved
	// GivenUp: at a loose tolerance the run was too far behind the best one to become it.
	GivenUp
	// Joined: at a loose tolerance the run could not be told apart from the best one, which alone went on.
	Joined
	// OnePass: one pass in mini-batches was made (see [Options].Online).
	OnePass
)

var statusNames = [...]string{
	"running", "converged", "iteration limit reached", "objective falling", "cancelled", "failed", "closed form",
	"given up", "joined", "one pass in mini-batches",
}

func (s Status) String() string {
	if s < 0 || int(s) >= len(statusNames) {
		return fmt.Sprintf("Status(%d)", int(s))
	}
	return statusNames[s]
}

// Event is one iteration of one run, as [Options].Recorder sees it.
type Event struct {
	Model     int // index among the models that [FitBest] compares, from 0
	Restart   int
	Iteration int     // from 1
	K         int     // latent dimensions after the iteration
	Value     float64 // the criterion
	Objective float64 // the objective of the method at fixed K
	Change    float64 // the larger of the two changes, in nats per row; NaN in the first iteration and after pruning
	Dropped   int     // latent dimensions pruned in this iteration; -1 where a split has added one

	snapshot func() ([]byte, error)
}

// Checkpoint encodes the current state of the fit or the selection, with all restarts, for [Options].Resume. Call it
// from Recorder, or after the fit.
func (e Event) Checkpoint() ([]byte, error) { return e.snapshot() }

// With returns the event with another checkpoint, for searches outside the engine and for several fits with one
// checkpoint.
func (e Event) With(checkpoint func() ([]byte, error)) Event {
	e.snapshot = checkpoint
	return e
}

// Pruned records which latent dimensions a run dropped, and when.
type Pruned struct {
	Iteration int
	K         int // latent dimensions left
	// "eigenvalue"; "objective"; "merge", after a split; or "degenerate", if a step did not exist with them
	Rule       string
	Dimensions []int     // the dropped ones, from 0, by their numbers before; nil if directions were dropped
	Relevance  []float64 // of each: observations in the first rule, otherwise Relevance; NaN if an error named it
	Before     float64   // the criterion of the best state before; −Inf if there was none
	After      float64   // the criterion after the iteration
}

// Split records which latent dimension of an [optional.Splitter] a move divided, and when. The dimensions that the move
// then left out are Pruned in the same iteration.
type Split struct {
	Iteration int
	K         int     // latent dimensions with it
	Dimension int     // from 0
	Before    float64 // the criterion before
	After     float64 // the criterion after the steps of the move
}

// Score is the value of a criterion, or the reason that it has none.
type Score struct {
	Criterion string
	Value     float64
	Bound     bool // the criterion uses a lower bound instead of ln p(X|Π) (see [optional.BoundedLikelihood])
	Err       error
}

// Restart reports one run of a fit. Value is the criterion of the iterations, with the bound instead of the
// log-likelihood.
type Restart struct {
	From       int // initial latent dimensions (see [Options].DoubleTo)
	K          int
	Value      float64
	Iterations int
	Status     Status
	Err        error
	// the first run from the same point, up to the order of labels: its own index if there is no earlier one
	Same int
}

// Result is a fitted model: the best state of the best run.
type Result[P, S any] struct {
	Parameters P
	Statistics S              // of the last local step, times Temper; Parameters are their maximum
	Local      optional.Local // q of an [optional.Coupled] model, otherwise nil
	Shape      Shape
	N          float64 // observations, with weights, times Temper
	Temper     float64 // of [Options], 1 if nothing is tempered
	Method     Method
	Criterion  string
	Value      float64 // of the criterion
	Evaluation Evaluation
	Scores     []Score // Criterion, then Options.Also and AlsoAll; for a cancelled fit, Criterion alone

	Status     Status
	Iterations int
	Passes     int       // local passes over the data, trials and interrupted ones included
	Trace      []float64 // criterion after each iteration
	Objective  []float64 // objective after each iteration: never falls at the same K if F factors
	// Met holds, for each K from 0, the highest criterion of the states of runs, trials and moves; −Inf if there were
	// none. At K other than that of the result these states may not have converged: by [Evidence] the values are lower
	// bounds.
	Met    []float64
	KTrace []int // latent dimensions after each iteration
	Pruned []Pruned
	Split  []Split
	// Fall is the largest fall of the objective in one iteration, in nats; 0 if the objective never fell by more than
	// rounding.
	Fall float64

	Best     int       // index of the best run
	Restarts []Restart // all runs

	checkpoint func() ([]byte, error)
}

// Values are the values of the criteria, in nats, by name, without criteria that have no value (see [Options].AlsoAll).
func (r *Result[P, S]) Values() map[string]float64 {
	values := make(map[string]float64, len(r.Scores))
	for _, one := range r.Scores {
		if one.Err == nil && one.Value-one.Value == 0 {
			values[one.Criterion] = one.Value
		}
	}
	return values
}

// Checkpoint encodes the fit for [Options].Resume: an interrupted fit resumes to the same bits, and runs that ended at
// MaxIterations resume if that is now higher. It returns an error if encoding/gob cannot encode P or S.
func (r *Result[P, S]) Checkpoint() ([]byte, error) { return r.checkpoint() }
