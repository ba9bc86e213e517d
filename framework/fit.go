package framework

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/parallel"
	"github.com/latent-go/latent/laplace"
)

// Fit infers q(Z) and Π of a model from the rows of src, and with gFAB or FAB, also the number of latent dimensions: it
// begins with o.K of them and drops those that the pruning rules allow.
//
// A cancelled context ends the fit between two blocks, an error of the recorder between
// two iterations: the best state so far is returned together with the error, and its
// Checkpoint resumes the fit to the bits of an uninterrupted one. Result.Restarts reports the error of a model in one
// of several restarts; Fit fails if all of them fail.
func Fit[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], o Options,
) (*Result[P, S], error) {
	if err := needed(ctx, m, src); err != nil {
		return nil, err
	}
	return fitFrom(ctx, m, src, nil, o)
}

// A Start gives the parameters, with k latent dimensions, with which a fit to src begins; if K is free, it may give
// fewer that it knows to suffice. The fit overwrites them.
type Start[B, P any] func(ctx context.Context, src Source[B], k int, rng *rand.Rand) (P, error)

// FitFrom is [Fit] with a start other than the model's Init.
func FitFrom[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], start Start[B, P], o Options,
) (*Result[P, S], error) {
	if err := needed(ctx, m, src); err != nil {
		return nil, err
	}
	if start == nil {
		return nil, errors.New("framework: the start is nil: Fit begins with the model's own")
	}
	return fitFrom(ctx, m, src, start, o)
}

// fitFrom begins with a start, nil for the model's own.
func fitFrom[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], start Start[B, P], o Options,
) (res *Result[P, S], err error) {
	ctx, leave, err := together(ctx, o.Group, taskOf(m, o), src.Rows())
	if err != nil {
		return nil, err
	}
	defer leave(&err)
	ctx = knowing(ctx, o.Workers)
	f, err := newFit(m, reading[B, P, S](ctx, m, src), start, o)
	if err != nil {
		return nil, err
	}
	f.infer(ctx)
	return f.result(ctx)
}

// condensing returns what iterations read in place of src (see [optional.Condenser]), found when it is
// first asked for, by one of several fits to src for all of them.
func condensing[B, P any, S Statistics[S]](ctx context.Context, m Model[B, P, S], src Source[B]) func() Source[B] {
	return sync.OnceValue(func() Source[B] {
		if _, some := src.(*batches[B]); some {
			return src
		}
		if can := capabilitiesOf(m); can.condenser != nil && can.coupled == nil { // a kept q belongs to rows
			return condensed(ctx, can.condenser, src)
		}
		return src
	})
}

// An origin is what several fits to one source share.
type origin[B any] struct {
	number      int // of the model, where there are several
	src         Source[B]
	condensed   func() Source[B]       // for iterations (see Condenser)
	fingerprint func() (string, error) // of src, found when it is first asked for
}

func reading[B, P any, S Statistics[S]](ctx context.Context, m Model[B, P, S], src Source[B]) origin[B] {
	return origin[B]{
		src:         src,
		condensed:   condensing(ctx, m, src),
		fingerprint: sync.OnceValues(func() (string, error) { return fingerprintOf(src) }),
	}
}

func newFit[B, P any, S Statistics[S]](
	m Model[B, P, S], from origin[B], start Start[B, P], o Options,
) (*fit[B, P, S], error) {
	if err := optional.Misfit[B, Source[B], P, S](m); err != nil {
		return nil, fmt.Errorf("framework: %w: %w", ErrContract, err)
	}
	own := start == nil
	if own {
		start = m.Init
	}
	can := capabilitiesOf(m)
	o, err := resolved(o, can)
	if err != nil {
		return nil, err
	}
	if from.src.Rows() < 1 {
		return nil, errNoRows
	}
	if err := can.checkOnline(from.src, o); err != nil {
		return nil, err
	}
	if o.Online > 0 && from.src.Rows() < 2*o.Sample { // the rows are few
		o.Online = 0
	}
	if o.Online > 0 {
		start = online(m, start, o)
		o.DoubleTo, o.Restarts = 0, 1 // those of the sample
	} else if o.Sample > 0 {
		if _, ok := from.src.(Source[blocks.Rows]); !ok {
			return nil, fmt.Errorf("framework: Sample is %d, and the source has no blocks of Rows to draw from: leave Sample 0",
				o.Sample)
		}
		start = sampled(m, start, o)
	}
	f := &fit[B, P, S]{
		origin: from, model: m, can: can, options: o, init: start, ownStart: own, stage: wholeSearch, goal: math.Inf(-1),
	}
	return f, f.start()
}

// A fit is a set of runs that differ in their start.
type fit[B, P any, S Statistics[S]] struct {
	origin[B]
	model   Model[B, P, S]
	can     *capabilities[B, P, S]
	options Options
	init    Start[B, P]
	// ownStart is whether init is the model's, which workers elsewhere know.
	ownStart bool
	runs     []*run[B, P, S]
	stage    stage   // that infer goes to
	goal     float64 // that runs to begin must be able to come to, in nats of the criterion
	compared bool    // with fits of other models: what does not change the answer is left out

	adding      sync.Mutex // held while runs are added, and while another fit's checkpoint looks at which there are
	recording   sync.Mutex
	recorderErr error // ends all runs
}

func (f *fit[B, P, S]) start() error {
	saved := begun[P, S](f.firstStarts(), f.options.K)
	if f.options.Resume != nil {
		var err error
		if saved, err = f.decode(f.options.Resume); err != nil {
			return err
		}
	}
	for i := range saved {
		if at := &saved[i]; at.Status == IterationLimit && at.Iteration < f.options.MaxIterations {
			at.Status = Running // resumed with a higher limit
		}
	}
	f.add(saved)
	return nil
}

// add adds runs from where they are.
func (f *fit[B, P, S]) add(saved []progress[P, S]) {
	for _, at := range saved {
		o := f.options
		o.K = at.From
		if at.Current == nil { // a resumed fit may begin it
			at.Goal = max(at.Goal, f.goal)
		}
		start, before := len(f.beginning(at.From)), slices.Index(f.sizes(), at.From)
		if start == 0 {
			before = len(f.sizes())
		}
		r := &run[B, P, S]{
			model:     f.model,
			can:       f.can,
			options:   o,
			index:     len(f.runs),
			number:    f.number,
			start:     start,
			stream:    uint64(before*f.options.Restarts + start),
			src:       f.src,
			condensed: f.condensed(),
			init:      f.init,
			ownStart:  f.ownStart,
			report:    f.record,
			at:        at,
		}
		if at.Status == Failed {
			r.err = errors.New(at.Err)
		}
		f.adding.Lock()
		f.runs = append(f.runs, r)
		f.adding.Unlock()
	}
}

// due are the runs that have not come to their end, or to where the fit holds them back.
func (f *fit[B, P, S]) due() []*run[B, P, S] {
	return slices.DeleteFunc(slices.Clone(f.runs), func(r *run[B, P, S]) bool {
		return r.at.Status != Running || r.held && !r.at.Passed
	})
}

// firstStarts is the number of starts that each K has at once.
func (f *fit[B, P, S]) firstStarts() int { return min(firstStarts, f.options.Restarts) }

// begun are n runs that begin with k latent dimensions.
func begun[P, S any](n, k int) []progress[P, S] {
	return slices.Repeat([]progress[P, S]{{From: k, Goal: math.Inf(-1)}}, n)
}

// beginning are the runs that began with k latent dimensions.
func (f *fit[B, P, S]) beginning(k int) (list []*run[B, P, S]) {
	for _, r := range f.runs {
		if r.options.K == k {
			list = append(list, r)
		}
	}
	return list
}

// sizes are the numbers of latent dimensions that runs began with, in the order in which they did.
func (f *fit[B, P, S]) sizes() (list []int) {
	for _, r := range f.runs {
		if r.start == 0 {
			list = append(list, r.options.K)
		}
	}
	return list
}

// last is the last of sizes.
func (f *fit[B, P, S]) last() int {
	list := f.sizes()
	return list[len(list)-1]
}

// highest is the highest criterion of the runs from least to most latent dimensions, -Inf where there is none.
func (f *fit[B, P, S]) highest(least, most int) float64 {
	top := math.Inf(-1)
	for _, r := range f.runs {
		if k := r.options.K; least <= k && k <= most && r.at.Iteration > 0 && r.at.Status != Failed {
			top = max(top, r.best().Value)
		}
	}
	return top
}

// grows reports whether more latent dimensions than were tried may be better, and are allowed: the criterion has not
// fallen by what further starts gain (withinReach) in the upper fifth of the numbers tried. How many of them the best
// run keeps does not tell that: of a model that is not the data's own, the criterion may have several maxima over K.
func (f *fit[B, P, S]) grows() bool {
	best, k := f.best(), f.last()
	if best < 0 || f.options.FixedK || k < f.options.K || f.twice(k) == k {
		return false
	}
	lower, least := 4*k/5, f.runs[best].best().Value-withinReach
	return slices.ContainsFunc(f.runs, func(r *run[B, P, S]) bool {
		return len(r.at.Met) > lower+1 && slices.Max(r.at.Met[lower+1:]) >= least
	})
}

// double adds runs from twice as many latent dimensions.
func (f *fit[B, P, S]) double() { f.add(begun[P, S](f.firstStarts(), f.twice(f.last()))) }

// twice is how many latent dimensions come after k, k itself where the options or the data do not bear more.
func (f *fit[B, P, S]) twice(k int) int {
	return max(k, min(2*k, f.options.DoubleTo, observationsOf(f.src)/2))
}

// leastStarts is the number of starts that a doubling of K has where all of fewer end below the best fit before it.
const leastStarts = 3

// fallsBack reports whether the runs from k latent dimensions all end below those from fewer, which as good a fit as
// theirs with empty dimensions does not, and are so few that another start may do better.
func (f *fit[B, P, S]) fallsBack(k int) bool {
	here := f.beginning(k)
	if len(here) == len(f.runs) || max(len(here), f.options.Restarts) >= leastStarts {
		return false
	}
	best := f.runs[f.best()].best()
	least := f.options.Tolerance*best.Evaluation.N + leastGain
	return !slices.ContainsFunc(here, func(r *run[B, P, S]) bool {
		return r.at.Iteration > 0 && r.at.Status != Failed && r.best().Value >= best.Value-least
	})
}

// collapse is how many times fewer latent dimensions than they began with have fits begin once more, with that many
// times fewer.
const collapse = 4

// collapses reports whether the best of the runs, the last of which begin with k latent dimensions, has so few that
// others must begin with fewer: where a fit removes what each step of q leaves empty, many dimensions that share little
// data lose it all to one, which as many as there are in truth do not (15 short documents of three topics end as one
// topic from 20, and as three from 5). A dimension that leaves by a trial has been compared.
func (f *fit[B, P, S]) collapses(best, k int) bool {
	return !f.options.FixedK && !f.options.Method.tilts() && k <= f.options.K && k > 2 && collapse*best < k
}

// infer makes the runs: a few from each K, with twice as many latent dimensions while more may be better (see grows),
// with fewer where nearly all are lost; then the others from those K that may come to the best; and then it polishes
// those that may be the best, and makes the moves of the best. It goes as far as the stage.
func (f *fit[B, P, S]) infer(ctx context.Context) {
	for _, r := range f.runs {
		if r.folder == nil && r.err == nil { // it may be resumed
			r.err = r.ended(ctx, r.wake(ctx))
		}
	}
	for f.execute(ctx, f.due()); len(f.due()) == 0 && f.extend(); {
		f.execute(ctx, f.due())
	}
}

// extend readies the runs that come next, and reports whether there are any.
func (f *fit[B, P, S]) extend() bool {
	best := f.best()
	if f.stage == wholeSearch && best >= 0 {
		k := f.last()
		switch r := f.runs[best]; {
		case f.collapses(r.best().K, k):
			f.add(begun[P, S](f.firstStarts(), max(2, k/collapse)))
			return true
		case f.grows():
			f.double()
			return true
		case !f.options.FixedK && k >= f.options.K && f.fallsBack(k):
			f.add(begun[P, S](1, k))
			return true
		}
	}
	switch {
	case f.stage > someStarts && f.further():
	case f.stage < wholeSearch || best < 0:
		return false
	case f.pass():
	case f.seeks(f.last()) && f.lone(best):
	case f.moves() && f.runs[best].settles() && !f.runs[best].at.Moving:
		r := f.runs[best]
		r.mu.Lock()
		r.at.Status, r.at.Moving, r.at.Settled = Running, true, true
		r.mu.Unlock()
	case f.lone(best):
	default:
		return false
	}
	return true
}

// spreads is how many standard deviations, of starts from one K, further starts may exceed the first ones by: the best
// of ten exceeds the better of two by two with a probability of 5 %.
const spreads = 2

// reach is how far the first starts may be behind what further ones come to, in nats: by how they spread, from each K.
func (f *fit[B, P, S]) reach() float64 {
	var squares, degrees float64
	for _, k := range f.sizes() {
		var values []float64
		for _, r := range f.beginning(k)[:f.firstStarts()] {
			if r.at.Iteration > 0 && r.at.Status != Failed && r.at.Status != GivenUp {
				values = append(values, r.best().Value)
			}
		}
		if n := float64(len(values)); n > 1 {
			_, variance := stat.PopMeanVariance(values, nil)
			squares, degrees = squares+n*variance, degrees+n-1
		}
	}
	return max(withinReach, spreads*math.Sqrt(squares/max(1, degrees)))
}

// further adds the starts that are left from each K whose first ones are not too far behind the best run, and reports
// whether there are any.
func (f *fit[B, P, S]) further() (any bool) {
	least := math.Inf(-1)
	if best := f.best(); best >= 0 {
		highest := f.runs[best].best().Value
		f.goal, least = max(f.goal, highest-withinReach), highest-f.reach()
	}
	for _, k := range f.sizes() {
		made := len(f.beginning(k))
		if left := f.options.Restarts - made; left > 0 && f.highest(k, k) >= least && !f.seeks(k) {
			if f.compared && (made >= enoughStarts && f.agree(k) || f.outdone(k)) {
				continue
			} else if f.compared && made < enoughStarts {
				left = min(left, enoughStarts-made)
			}
			f.add(begun[P, S](left, k))
			any = true
		}
	}
	return any
}

// lone adds starts if one alone came to the best run's maximum: others may be higher, and those from twice as many
// latent dimensions find them more often than further ones from as many (docs/decisions/engine.md). A few are made at a
// time, until two come to the best, or there are all that the options allow, however far the first are behind. It
// reports whether there are any.
func (f *fit[B, P, S]) lone(best int) bool {
	k := f.last()
	if k == f.options.K {
		k = f.twice(k)
	}
	left := f.options.Restarts - len(f.beginning(k))
	if f.options.FixedK || k <= f.options.K || f.options.Restarts < enoughStarts || left <= 0 ||
		slices.ContainsFunc(f.runs, func(r *run[B, P, S]) bool {
			joined := r.at.Status == Joined && r.at.Joined == best
			return joined || r.settles() && r != f.runs[best] && r.meets(f.runs[best])
		}) {
		return false
	}
	some := begun[P, S](min(left, f.firstStarts()), k)
	for i := range some {
		some[i].Seeks = true
	}
	f.add(some)
	return true
}

// seeks reports whether runs from k latent dimensions began as those of lone.
func (f *fit[B, P, S]) seeks(k int) bool {
	return slices.ContainsFunc(f.beginning(k), func(r *run[B, P, S]) bool { return r.at.Seeks })
}

// enoughStarts is the number of starts from one K after which, where all agree, a comparison makes no others: of 83
// such searches six further starts brought five more than .3 nats, and at most 3.1 (docs/decisions/engine.md).
const enoughStarts = 4

// outdone reports whether starts from more latent dimensions than k have come about as far: they find what those from k
// do, which may have too few.
func (f *fit[B, P, S]) outdone(k int) bool {
	return f.highest(k+1, math.MaxInt) >= f.highest(k, k)-polished
}

// agree reports whether the starts from k latent dimensions all came to the same maximum, of fewer dimensions.
func (f *fit[B, P, S]) agree(k int) bool {
	list := f.beginning(k)
	return !slices.ContainsFunc(list, func(r *run[B, P, S]) bool {
		ended := r.at.Status == Failed || r.at.Status == GivenUp || r.at.Iteration == 0
		return ended || r.best().K == k || !r.meets(list[0])
	})
}

// meets reports whether two runs cannot be told apart: their K is equal, and what is ahead of one of them as much as
// they differ by.
func (r *run[B, P, S]) meets(other *run[B, P, S]) bool {
	a, b := r.best(), other.best()
	if r.can.fixedPoint || a.K != b.K {
		return false
	}
	return math.Abs(a.Value-b.Value) <= max(leastGain, r.left(), other.left())
}

// settles reports whether a run has ended at a maximum.
func (r *run[B, P, S]) settles() bool { return r.at.Status == Converged || r.at.Status == Falling }

// left is what is ahead of a run, or as optimistically by the change of its last iteration, where the gains decrease no
// more.
func (r *run[B, P, S]) left() float64 {
	if ahead, ok := r.ahead(); ok {
		return ahead
	}
	return optimism * r.at.Change * r.best().Evaluation.N
}

// polished is how far behind the best with what is ahead a run of a comparison may be, in nats, to go on to the strict
// tolerance: to there none of 90 runs gained more than what was ahead, or fell by more than .011.
const polished = 1

// pass lets the held runs go on that may be the best, ends the others, and reports whether any goes on. Of a model
// that ascends nothing it is not known what is ahead.
func (f *fit[B, P, S]) pass() (any bool) {
	first, reach := f.runs[f.best()], float64(withinReach)
	if f.compared {
		reach = polished
	}
	highest := first.best().Value
	for _, r := range f.runs {
		if r.at.Status != Running || r.at.Passed {
			continue
		}
		ahead, ok := r.ahead()
		if f.compared {
			ahead, ok = r.left(), true
		}
		joins := f.compared && r != first && r.meets(first)
		r.mu.Lock()
		switch {
		case ok && !f.can.fixedPoint && r.best().Value+ahead < highest-reach && !joins:
			r.at.Status = GivenUp
		case joins:
			r.at.Status, r.at.Joined = Joined, first.index
		default:
			r.at.Passed, any = true, true
		}
		r.mu.Unlock()
	}
	return any
}

// moves reports whether the best run may move. EM of the likelihood alone stays at the maximum that its starts found:
// the highest ones of a likelihood are those of components with a few close rows (docs/reproductions/calibration).
func (f *fit[B, P, S]) moves() bool {
	return f.can.splitter != nil && !f.options.NoMoves && !f.bare()
}

// bare reports whether the fit ascends the likelihood alone.
func (f *fit[B, P, S]) bare() bool {
	return f.options.Method == EM && !f.can.variational && f.can.penalized == nil
}

// best is the index of the run with the highest criterion, -1 where there is none. Those that have joined another do
// not count: it may fall by rounding on its way.
func (f *fit[B, P, S]) best() int {
	best := -1
	for i, r := range f.runs {
		counts := r.at.Iteration > 0 && r.at.Status != Failed && r.at.Status != Joined
		if counts && (best < 0 || r.best().Value > f.runs[best].best().Value) {
			best = i
		}
	}
	return best
}

// execute makes runs, as many at a time as there are workers.
func (f *fit[B, P, S]) execute(ctx context.Context, runs []*run[B, P, S]) {
	concurrent := min(f.options.Workers, len(runs))
	if ensembleOf(ctx) != nil {
		concurrent = 1 // the processes exchange what belongs to one pass at a time
	}
	_ = parallel.Do(len(runs), concurrent, func(i int) error {
		r := runs[i]
		r.workers, r.held = max(1, f.options.Workers/concurrent), false
		if r.at.Current == nil {
			r.mu.Lock()
			r.at.Goal = max(r.at.Goal, f.goal)
			// nothing competes with a single run
			r.at.Passed = r.at.Passed || f.stage == wholeSearch && f.options.Restarts == 1 && f.options.DoubleTo <= f.options.K
			r.mu.Unlock()
		}
		if r.err == nil && r.at.Status == Running {
			r.err = r.execute(ctx)
		}
		return nil // the other runs go on
	})
}

// errRecorder marks the error of a recorder.
var errRecorder = errors.New("recorder")

type startKey struct{}

// StartOf returns the number of the start, from 0, that a fit asks Init for, among starts from as many latent
// dimensions; 0 outside of fits. Starts of different kinds find what several of one kind miss.
func StartOf(ctx context.Context) int {
	n, _ := ctx.Value(startKey{}).(int)
	return n
}

func (f *fit[B, P, S]) record(e Event) error {
	if f.options.Recorder == nil {
		return nil
	}
	f.recording.Lock()
	defer f.recording.Unlock()
	e.snapshot = f.encode
	if f.recorderErr == nil {
		if err := quietly("the Recorder", func() error { return f.options.Recorder(e) }); err != nil {
			f.recorderErr = fmt.Errorf("framework: stopped by the %w: %w", errRecorder, err)
		}
	}
	return f.recorderErr
}

func (f *fit[B, P, S]) result(ctx context.Context) (*Result[P, S], error) {
	res := &Result[P, S]{
		Method:     f.options.Method,
		Temper:     f.options.Temper,
		Criterion:  f.options.Criterion.Name,
		Best:       f.best(),
		checkpoint: f.encode,
	}
	stopped := false
	for i, r := range f.runs {
		for k, v := range r.at.Met {
			for len(res.Met) <= k {
				res.Met = append(res.Met, math.Inf(-1))
			}
			res.Met[k] = max(res.Met[k], v)
		}
		report := Restart{From: r.options.K, Status: r.at.Status, Iterations: r.at.Iteration, Err: r.err}
		if report.Status == Running {
			report.Status, stopped = Cancelled, true
		}
		if r.at.Iteration > 0 {
			best := r.best()
			report.K, report.Value = best.K, best.Value
		}
		if r.at.Status == Joined {
			report.Value = f.runs[r.at.Joined].best().Value
		}
		report.Same = f.same(i)
		res.Restarts = append(res.Restarts, report)
	}
	if res.Best >= 0 {
		f.fill(res)
	}
	if stopped {
		return f.stopped(ctx, res)
	}
	if res.Best < 0 {
		return nil, f.failure()
	}
	if err := f.score(ctx, res); err != nil {
		if ctx.Err() != nil {
			return f.stopped(ctx, res)
		}
		return nil, err
	}
	return res, nil
}

// same is the first run that began at the same point as run i, up to the order of labels: the criterion after the
// first iteration tells.
func (f *fit[B, P, S]) same(i int) int {
	return slices.IndexFunc(f.runs[:i+1], func(r *run[B, P, S]) bool {
		if r == f.runs[i] {
			return true
		}
		a, b := r.at.Trace, f.runs[i].at.Trace
		return len(a) > 0 && len(b) > 0 && math.Abs(a[0]-b[0]) <= rounding*math.Abs(a[0])
	})
}

// failure joins the errors of the runs, equal ones once.
func (f *fit[B, P, S]) failure() error {
	var errs []error
	seen := map[string]bool{}
	for _, r := range f.runs {
		if r.err != nil && !seen[r.err.Error()] {
			errs, seen[r.err.Error()] = append(errs, r.err), true
		}
	}
	return errors.Join(errs...)
}

// stopped returns what there is of a fit that the context or the recorder ended.
func (f *fit[B, P, S]) stopped(ctx context.Context, res *Result[P, S]) (*Result[P, S], error) {
	err := f.recorderErr
	if err == nil {
		err = ctx.Err()
		if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) { // that of another process
			err = cause
		}
		err = fmt.Errorf("framework: cancelled: %w", err)
	}
	if res.Best < 0 {
		return nil, fmt.Errorf("%w (before the first iteration ended)", err)
	}
	res.Status = Cancelled
	res.Scores = []Score{{Criterion: res.Criterion, Value: res.Value}}
	return res, err
}

// fill copies the best run's outcome into the result.
func (f *fit[B, P, S]) fill(res *Result[P, S]) {
	r := f.runs[res.Best]
	best := r.best()
	res.Parameters, res.Statistics, res.Local = best.P, best.S, best.Q.q
	res.Shape, res.N, res.Evaluation, res.Value = best.Evaluation.Shape, best.Evaluation.N, best.Evaluation, best.Value
	res.Status, res.Iterations, res.Passes = res.Restarts[res.Best].Status, r.at.Iteration, r.at.Passes
	res.Trace, res.Objective, res.KTrace, res.Pruned, res.Fall = r.at.Trace, r.at.Objective,
		r.at.KTrace, r.at.Pruned, r.at.Fall
	res.Split = r.at.Split
	res.Met[best.K] = best.Value // which others at this K, lower by what the steps follow, may exceed by little
}

// score evaluates all criteria asked for. Those about the likelihood are
// taken at the posterior p(Z|X,Π̂), where the bound is the log-likelihood itself, or at the best q
// of a model that keeps it.
func (f *fit[B, P, S]) score(ctx context.Context, res *Result[P, S]) (err error) {
	ctx = asking(ctx, f.options.Shards)
	criteria := append([]Criterion{f.options.Criterion}, f.options.Also...)
	asked := len(criteria)
	if f.options.AlsoAll {
		criteria = append(criteria, f.can.others(criteria)...)
	}
	var needs Needs
	for _, c := range criteria {
		needs = needs.or(c.Needs)
	}
	var posterior Evaluation
	if needs.Likelihood {
		if posterior, err = f.posterior(ctx, res); err != nil {
			return err
		}
		res.Evaluation.LogLikelihood = posterior.LogLikelihood
	}
	collapsedErr, labelledErr, codeErr := f.collapse(ctx, needs, res.Statistics, res.Parameters, &res.Evaluation)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	posterior.Collapsed, posterior.LabelEvidence = res.Evaluation.Collapsed, res.Evaluation.LabelEvidence
	posterior.CodeLength = res.Evaluation.CodeLength
	var curvature laplace.Curvature
	var curvatureErr error
	if needs.Curvature {
		curvatureErr = f.can.curvature(res.Statistics, res.Parameters, !needs.Information, &curvature)
		res.Evaluation.charge(&curvature)
	}
	var evidenceErr error
	if needs.Prior && !f.options.climbs() {
		e := &res.Evaluation
		e.Evidence, evidenceErr = f.can.evidenceOf(f.model, res.Statistics, res.Parameters, e.Entropy)
	}
	if f.options.Criterion.Needs.Prior {
		if res.Evaluation.LogModes, err = logModes(ctx, f.model, f.condensed(), res.Parameters,
			f.options.Workers); err != nil {
			return err
		}
	}
	for i, c := range criteria {
		e, s := res.Evaluation, Score{Criterion: c.Name}
		if c.Needs.Likelihood {
			e, s.Bound = posterior, f.can.bounded
		}
		if c.Needs.Curvature {
			s.Err = curvatureErr
		}
		switch {
		case c.Needs.Collapsed:
			s.Err = collapsedErr
		case c.Needs.Labeller:
			s.Err = labelledErr
		case c.Needs.Code:
			s.Err = codeErr
		case c.Needs.Prior:
			s.Err = evidenceErr
		}
		if s.Err == nil {
			if s.Value = c.Value(&e); s.Value-s.Value != 0 {
				s.Err = fmt.Errorf("framework: %s is %v at K = %d: a latent dimension has lost its data, or F does "+
					"not factor; lower K, or take gFIC", c.Name, s.Value, e.Shape.K)
			}
		}
		if i < asked || s.Err == nil {
			res.Scores = append(res.Scores, s)
		}
	}
	res.Value = res.Scores[0].Value
	return res.Scores[0].Err
}

// posterior evaluates the result at p(Z|X,Π̂), Π̂ the estimates.
func (f *fit[B, P, S]) posterior(ctx context.Context, res *Result[P, S]) (Evaluation, error) {
	r := f.runs[res.Best]
	r.workers = f.options.Workers
	r.open(ctx)
	defer r.folder.close()
	if f.can.coupled == nil {
		p, sums := res.Parameters, newShardStats[S](f.options.Shards)
		if f.can.estimating != nil {
			var err error
			if p, err = f.can.estimating.Estimates(res.Statistics, p); err != nil {
				return Evaluation{}, err
			}
		}
		entropy, err := r.local(ctx, p, nil, nil, sums)
		if err != nil {
			return Evaluation{}, err
		}
		return f.can.evaluationAt(f.model, sums.sums[0], p, temper(f.options.Temper, sums.sums[0], entropy))
	}
	return r.settle(ctx, res.Parameters, res.Local, res.Shape.K, f.options.Tolerance)
}

// Evaluate returns the quantities that criteria score at given parameters, with q the model's own posterior p(Z|X,p),
// for the rows of the fit or others. It includes log-determinants if the model is [optional.Curved], and the evidence
// of that q, with the parameters integrated out, if it is [optional.Proper]; NaN where they do not exist. Nothing is
// tempered.
func Evaluate[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], p P, workers int,
) (Evaluation, error) {
	s, entropy, err := LocalStep(ctx, m, src, p, workers)
	if err != nil {
		return Evaluation{}, err
	}
	can := capabilitiesOf(m)
	e, err := can.evaluationAt(m, s, p, entropy)
	if err != nil {
		return Evaluation{}, err
	}
	e.Evidence = math.NaN()
	if can.supportsPrior("the evidence") == nil {
		if v, err := can.evidenceOf(m, s, p, entropy); err == nil {
			e.Evidence = v
		}
	}
	return e, nil
}

// evaluationAt is what criteria score, with the log-determinants where they exist, otherwise NaN.
func (c *capabilities[B, P, S]) evaluationAt(m Model[B, P, S], s S, p P, entropy float64) (Evaluation, error) {
	e, err := c.evaluation(m, s, p, entropy)
	if err != nil {
		return Evaluation{}, err
	}
	e.LogDet, e.LogDetCounts = math.NaN(), math.NaN()
	if c.curved != nil {
		var f laplace.Curvature
		if c.curvature(s, p, false, &f) == nil {
			e.charge(&f)
		}
	}
	return e, nil
}

// EMStep makes one iteration of EM from the parameters p: [LocalStep], and the global step.
func EMStep[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], p P, workers int,
) (P, error) {
	var next P
	s, _, err := LocalStep(ctx, m, src, p, workers)
	if err != nil {
		return next, err
	}
	return m.Maximize(s, p, next)
}

// LocalStep makes one local step without a tilt at the parameters p: the expected
// statistics under p(Z|X,p) and its entropy. If the model's local step is exact, LogJoint of the statistics plus the
// entropy is ln p(X|p).
func LocalStep[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], p P, workers int,
) (S, float64, error) {
	type partial struct {
		s       S
		entropy float64
	}
	var none S
	if err := needed(ctx, m, src); err != nil {
		return none, 0, err
	}
	var lead leader[B, P, S]
	sum, err := Fold(ctx, src, workers,
		func() (*partial, error) {
			a := &partial{s: m.NewStatistics(p)}
			return a, lead.prepare(m, p, nil, a.s)
		},
		func(a *partial, b B) error {
			h, err := m.Infer(b, p, a.s)
			a.entropy += h
			return err
		},
		func(into, from *partial) error {
			into.s.Merge(from.s)
			into.entropy += from.entropy
			return nil
		})
	if err != nil {
		return none, 0, err
	}
	return sum.s, sum.entropy, nil
}
