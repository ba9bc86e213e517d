package framework

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// A point is a state (q, Π): parameters, and the statistics they were maximised
// from, which stand for q.
type point[P, S any] struct {
	K          int
	P          P
	S          S
	Evaluation Evaluation
	Value      float64
	Objective  float64

	Q       localBox // of a Coupled model
	f       *laplace.Curvature
	rotated bool         // its latent dimensions are not those of the iterations
	filled  bool         // S comes from NewStatistics, scratch included, and not from a checkpoint
	pruned  []Pruned     // dimensions dropped on the way to this point
	split   []Split      // dimensions divided on the way to it, by a move and not by an iteration
	from    *point[P, S] // where the step to this point began, if that was an extrapolation
}

// progress is all that a run must remember between two iterations; a checkpoint
// holds it and nothing else.
type progress[P, S any] struct {
	From       int // latent dimensions that the run began with
	Status     Status
	Err        string
	Iteration  int
	Passes     int
	Trace      []float64
	Objective  []float64
	KTrace     []int
	Pruned     []Pruned
	Split      []Split
	Fall       float64
	Streak     int      // iterations in a row with the objective below its best
	Change     float64  // of the last iteration, nats per row
	NextTrial  float64  // change below which the weakest dimension is tried again
	Tried      float64  // criterion at the last rejected trials at this K
	Short      float64  // nats by which the most promising of them fell short of it
	Failed     []failed // the last trial of each latent dimension alone at convergence; nil for none
	Polishing  bool     // the trials at the loose tolerance have failed: the strict one is next
	Moving     bool     // moves are made at convergence
	Expanding  bool     // parameter expansion has begun
	Expanded   bool     // the last iteration was expanded
	TrialsDue  bool     // the last iteration has not been followed by pruning trials
	Current    *point[P, S]
	BestBehind *point[P, S] // the best state where it is not Current
	// the converged state that the last move began at, and the run ends with where that leads nowhere
	Unmoved   *point[P, S]
	UnmovedAt int        // its iteration
	Followed  int        // divisions of it that have been followed up
	Settled   bool       // nothing changes any more, and no trial succeeds
	Met       []float64  // [Result].Met of this run
	Leapt     int        // the last iteration that began at an extrapolation, 0 for none
	Goal      float64    // that the run must be able to come to, in nats of the criterion, until it has passed
	Passed    bool       // it goes on beyond a loose tolerance
	Seeks     bool       // it began because one start alone had come to the best value
	Joined    int        // the run that went on from the maximum that this one came to, where its status is that
	Neighbour int        // latent dimensions of the fit of a selection whose best state it began at, 0: of none
	Path      path[P, S] // what extrapolations are made from
}

// failed is a trial that was rejected: the criterion that it had to surpass, and the nats by which it fell short.
type failed struct{ At, Short float64 }

// expected is what a trial that failed would fall short by now, negative where it may succeed: the criterion has moved
// by more than it fell short.
func (f failed) expected(value float64) float64 { return f.Short - math.Abs(value-f.At) }

// without are the trials of the latent dimensions that stay when some leave, none where it is not known which.
func without(list []failed, left []int) []failed {
	if left == nil || list == nil {
		return nil
	}
	var stay []failed
	for k, one := range list {
		if !slices.Contains(left, k) {
			stay = append(stay, one)
		}
	}
	return stay
}

// fallPatience is the number of iterations that the objective may stay below its
// best before the run ends.
const fallPatience = 50

// A run is one start of a fit: the one loop over iterations that there is.
type run[B, P any, S Statistics[S]] struct {
	model   Model[B, P, S]
	can     *capabilities[B, P, S]
	options Options
	index   int    // of the restart
	stream  uint64 // of random numbers: that of the start, were all starts from one K made before those from the next
	number  int    // of the model, where there are several
	start   int    // its number among those from as many latent dimensions
	workers int
	report  func(Event) error

	src, condensed Source[B] // for the start, and for iterations
	init           Start[B, P]
	ownStart       bool // which is the model's

	mu sync.Mutex // held while progress changes, and while it is encoded
	at progress[P, S]

	held bool  // the run waits where it would be polished
	err  error // that ended it

	folder *folder[B]
	shards map[int]*shardStats[S] // by K
	spare  []*point[P, S]

	extrapolation extrapolation
	steps         int // of climbs

	// The local step under way.
	p         P
	tilt      *laplace.Tilt
	sums      *shardStats[S]
	lead      leader[B, P, S]
	now, next optional.Local // of the first pass of a coupled model; now alone, of the second
	ownTilt   laplace.Tilt
	checkRows bool         // the pass is the first over the source
	seen      atomic.Int64 // rows of it that this process has read
}

// shardStats are the shards' statistics for one number of latent dimensions.
type shardStats[S Statistics[S]] struct {
	sums    []S
	made    []bool
	entropy []float64

	mu    sync.Mutex
	spare []S // those of merged shards, for others
	tree  tree
}

func newShardStats[S Statistics[S]](n int) *shardStats[S] {
	return &shardStats[S]{sums: make([]S, n), made: make([]bool, n), entropy: make([]float64, n)}
}

// merge adds one shard to another; the error is that of [mergeRoots], nil.
func (b *shardStats[S]) merge(into, from int) error {
	b.sums[into].Merge(b.sums[from])
	b.entropy[into] += b.entropy[from]
	return nil
}

// absorb merges one shard into another, and leaves its memory to those that begin later.
func (b *shardStats[S]) absorb(into, from int) error {
	_ = b.merge(into, from)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare, b.made[from] = append(b.spare, b.sums[from]), false
	return nil
}

// execute runs to the end, or to the first error.
func (r *run[B, P, S]) execute(ctx context.Context) error {
	r.open(ctx)
	defer r.folder.close()
	return ensembleOf(ctx).agree(ctx, ofRun, r.ended(ctx, r.loop(ctx)))
}

// ended records the error that ended a run, unless a checkpoint resumes it.
func (r *run[B, P, S]) ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, errRecorder) {
		return err
	}
	if r.at.Unmoved != nil && fatal(ctx, err) == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.at.back()
		r.at.Status = Converged
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at.Status, r.at.Err = Failed, err.Error()
	return err
}

// back makes the state that the last move began at the last one.
func (at *progress[P, S]) back() {
	n := at.UnmovedAt
	at.Current, at.BestBehind, at.Unmoved, at.Path = at.Unmoved, nil, nil, path[P, S]{}
	at.Failed = nil
	at.Iteration, at.Streak, at.Settled, at.Polishing = n, 0, true, true
	at.Trace, at.Objective, at.KTrace = at.Trace[:n], at.Objective[:n], at.KTrace[:n]
	at.Pruned = slices.DeleteFunc(at.Pruned, func(p Pruned) bool { return p.Iteration > n })
	at.Split = slices.DeleteFunc(at.Split, func(s Split) bool { return s.Iteration > n })
}

// open readies passes over the source.
func (r *run[B, P, S]) open(ctx context.Context) {
	all := allOf(r.options.Shards)
	if e := ensembleOf(ctx); e != nil && r.can.coupled == nil {
		all = all.share(e.rank, e.size)
	}
	r.openSpan(ctx, all)
}

func (r *run[B, P, S]) openSpan(ctx context.Context, of span) {
	r.folder = newFolder(ctx, r.condensed, of, max(1, r.workers), r.visit, func(shard int, used bool) {
		if r.next == nil {
			_ = r.sums.tree.ended(shard, used, r.sums.absorb)
		}
	})
	r.shards = map[int]*shardStats[S]{}
}

// starting is the context of the start.
func (r *run[B, P, S]) starting(ctx context.Context) context.Context {
	s := &surveys{
		Surveys: Surveys{K: r.options.K, Start: r.start, Seed: r.options.Seed, Stream: r.stream},
		shards:  r.options.Shards,
	}
	if r.options.Online == 0 && r.src.Rows() >= 2*r.options.Sample {
		s.Sample = r.options.Sample
	}
	if by, elsewhere := r.src.(Executor[P]); elsewhere && r.ownStart {
		s.step = func(ctx context.Context, q *Surveys, shards int) ([][]byte, error) {
			return by.Step(ctx, State[P]{Model: r.number, Surveys: q}, shards)
		}
	}
	return context.WithValue(context.WithValue(ctx, startKey{}, r.start), surveysKey{}, s)
}

func (r *run[B, P, S]) loop(ctx context.Context) error {
	ctx = asking(ctx, r.options.Shards)
	if r.at.Current == nil {
		rng := rand.New(rand.NewPCG(r.options.Seed, r.stream))
		var p P
		err := quietly("the start", func() (err error) {
			p, err = r.init(r.starting(ctx), r.src, r.options.K, rng)
			return err
		})
		if err == nil {
			err = r.can.given("Init", p)
		}
		if err != nil {
			return err
		}
		k := r.options.K
		if !r.options.FixedK {
			k = r.model.Shape(p).K // a start may know that fewer are enough
		}
		start := &point[P, S]{K: k, P: p, Value: math.Inf(-1), Objective: math.Inf(-1)}
		r.mu.Lock()
		r.at.Current, r.at.NextTrial = start, r.options.Prune.Objective.TrialToleranceOr()
		r.mu.Unlock()
	}
	for r.at.Status == Running && !r.held {
		if r.hopeless() {
			r.end(GivenUp)
			break
		}
		if r.at.Settled {
			if err := r.conclude(ctx); err != nil {
				return err
			}
			continue
		}
		if r.at.TrialsDue {
			if r.tries() && r.at.Iteration >= r.options.MaxIterations {
				r.end(IterationLimit) // a trial that succeeds is an iteration; a resumed fit makes it
				break
			}
			pruned, err := r.trials(ctx)
			if err != nil {
				return err
			}
			if pruned {
				continue
			}
			if r.settled() {
				r.mu.Lock()
				r.at.Settled = true
				r.mu.Unlock()
				continue
			}
		}
		if r.at.Iteration >= r.options.MaxIterations {
			r.end(IterationLimit)
			break
		}
		next := r.free()
		if err := r.iterate(ctx, next); err != nil {
			return err
		}
		if err := r.commit(next); err != nil {
			return err
		}
		if r.options.Online > 0 {
			r.end(OnePass)
		}
	}
	return nil
}

// conclude answers convergence, after trials that have failed: that at the loose tolerance by the strict one, unless
// the run is held back, and that by moves, where they are due. Else the run ends.
func (r *run[B, P, S]) conclude(ctx context.Context) error {
	at := &r.at
	loose := r.tolerance() > r.options.Tolerance || !at.Polishing && at.Change > r.options.Tolerance
	if loose && at.Streak < fallPatience {
		if !at.Passed {
			r.held = true
			return nil
		}
		r.mu.Lock()
		at.Polishing, at.Settled, at.TrialsDue = true, false, false
		r.mu.Unlock()
		return nil
	}
	if at.Moving {
		if at.Iteration >= r.options.MaxIterations {
			r.end(IterationLimit)
			return nil
		}
		r.mu.Lock()
		if at.Unmoved != nil && !r.rises() {
			at.back()
			clear(r.shards) // of another K, perhaps, as are spare points
			r.spare = nil
		} else {
			at.Unmoved, at.Followed = nil, 0
		}
		r.mu.Unlock()
		if moved, err := r.moves(ctx); moved || err != nil {
			return err
		}
	}
	if r.behind(at.Current) {
		r.end(Falling)
	} else {
		r.end(Converged)
	}
	return nil
}

// rises reports whether the last move has led higher than the state that it began at: what dropped out since, such as
// a dimension without data, may have taken the gain along.
func (r *run[B, P, S]) rises() bool {
	return r.best().Value > r.at.Unmoved.Value+r.options.Tolerance*r.at.Unmoved.Evaluation.N
}

// hopeless reports whether a run that has not passed, once trials begin, can be seen not to come to its goal, whatever
// latent dimensions it drops: its criterion, and its bound, without any charge for parameters, are below that even with
// what is ahead.
func (r *run[B, P, S]) hopeless() bool {
	at := &r.at
	if at.Passed || r.can.fixedPoint || at.Iteration == 0 || !(at.Change <= r.options.Prune.Objective.TrialToleranceOr()) {
		return false
	}
	ahead, ok := r.ahead()
	best := r.best()
	return ok && max(best.Value, best.Evaluation.Bound())+ahead < at.Goal
}

// looseTolerance is the change, in nats per observation, at which trials of the objective rule take a
// state for converged. The survivor goes on to the tolerance of the options.
const looseTolerance = 1e-5

// tolerance is that of the present stage of the run.
func (r *run[B, P, S]) tolerance() float64 {
	if r.at.Polishing || !r.tries() && r.at.Passed {
		return r.options.Tolerance
	}
	return max(r.options.Tolerance, looseTolerance)
}

// wake readies the points of a resumed run.
func (r *run[B, P, S]) wake(ctx context.Context) error {
	for _, p := range []*point[P, S]{r.at.Current, r.at.BestBehind, r.at.Unmoved} {
		if err := r.thaw(ctx, p); err != nil {
			return err
		}
	}
	if r.at.Current == nil || r.at.Iteration == 0 {
		return nil
	}
	return r.curvature(r.at.Current)
}

// settled reports whether a run has ended at this K: nothing changes any more, not even by parameter
// expansion, or the objective has long been below its best. Only plain iterations count.
func (r *run[B, P, S]) settled() bool {
	still := r.at.Change <= r.tolerance() && r.plain(1) && (r.can.expander == nil || r.at.Expanded)
	return still || r.at.Streak >= fallPatience
}

// tries reports whether the objective rule has something to try.
func (r *run[B, P, S]) tries() bool {
	return !r.options.FixedK && !r.options.Prune.Objective.Off && r.at.Current.K > 1
}

func (r *run[B, P, S]) end(s Status) {
	r.mu.Lock()
	r.at.Status = s
	r.mu.Unlock()
}

// commit makes next the current state and reports the iteration.
func (r *run[B, P, S]) commit(next *point[P, S]) error {
	return r.report(r.advance(next))
}

func (r *run[B, P, S]) advance(next *point[P, S]) Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, last := &r.at, r.at.Current
	n := next.Evaluation.N
	at.Iteration++
	at.Trace = append(at.Trace, next.Value)
	at.Objective = append(at.Objective, next.Objective)
	at.KTrace = append(at.KTrace, next.K)
	at.Change, at.TrialsDue, at.Settled = math.NaN(), false, false
	if next.K == last.K && at.Iteration > 1 {
		dv, do := next.Value-last.Value, next.Objective-last.Objective
		at.Change, at.TrialsDue = max(math.Abs(dv), math.Abs(do))/n, true
		at.Expanded = at.Expanding
		at.Expanding = at.Expanding || at.Change < expandBelow || at.Iteration >= expandAfter
		if -do > rounding*math.Abs(next.Objective) {
			at.Fall = max(at.Fall, -do)
		}
	}
	for _, p := range next.pruned {
		p.Iteration, p.Before, p.After = at.Iteration, last.Value, next.Value
		if at.BestBehind != nil {
			p.Before = at.BestBehind.Value
		}
		at.Pruned = append(at.Pruned, p)
		at.Failed = without(at.Failed, p.Dimensions)
	}
	for _, one := range next.split {
		one.Iteration, one.Before, one.After = at.Iteration, r.best().Value, next.Value
		at.Split = append(at.Split, one)
		at.Failed = nil
	}
	r.remember(next)
	r.rank(next)
	next.pruned, next.split = nil, nil
	return Event{Restart: r.index, Iteration: at.Iteration, K: next.K, Value: next.Value, Objective: next.Objective,
		Change: at.Change, Dropped: last.K - next.K}
}

// Parameter expansion begins when an iteration has changed less than expandBelow nats per
// row, or after expandAfter iterations. While the objective still rises fast, it would
// shrink directions that an early estimate takes for noise to 0, from where they hardly return.
const (
	expandBelow = 1e-4
	expandAfter = 1000
)

// rounding is the relative size of a fall that summation alone can cause, and illRounding that of one where a matrix is
// nearly singular: the digits that inverses of such matrices have, of covariances of columns that follow from others.
const (
	rounding    = 1e-12
	illRounding = 1e-9
)

// rank decides between the new state and the best one. At equal K the objective
// decides, because that is what the steps ascend; a smaller K is only ever entered
// when its criterion is higher, or when the eigenvalue rule or a global step without a
// maximum has made the larger model's value meaningless. Objectives of mini-batches do not compare.
func (r *run[B, P, S]) rank(next *point[P, S]) {
	at, last, best := &r.at, r.at.Current, r.best()
	at.Current = next
	if next.K != last.K || next.split != nil {
		at.Polishing = false
	}
	if next.split != nil {
		at.Unmoved, at.UnmovedAt = best, at.Iteration-1
	}
	switch {
	case next.K != last.K:
		at.BestBehind, at.Streak = nil, 0
		at.NextTrial, at.Short = r.options.Prune.Objective.TrialToleranceOr(), 0
		clear(r.shards)
		r.spare = nil
		return
	case r.can.fixedPoint || r.batches() != nil || next.Objective >= best.Objective-rounding*math.Abs(best.Objective):
		at.BestBehind, at.Streak = nil, 0
	default:
		at.BestBehind = best
		if r.behind(next) {
			at.Streak++
		}
	}
	r.recycle(last)
	r.recycle(best)
}

// behind reports whether p has an objective below the best by more than the tolerance, and than rounding can cause.
func (r *run[B, P, S]) behind(p *point[P, S]) bool {
	best := r.best().Objective
	return best-p.Objective > max(r.options.Tolerance*p.Evaluation.N, illRounding*math.Abs(best))
}

// best is the best state so far.
func (r *run[B, P, S]) best() *point[P, S] {
	if r.at.BestBehind != nil {
		return r.at.BestBehind
	}
	return r.at.Current
}

// meet remembers the value of a state, of a trial or a move too.
func (r *run[B, P, S]) meet(k int, value float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.at.Met) <= k {
		r.at.Met = append(r.at.Met, math.Inf(-1))
	}
	r.at.Met[k] = max(r.at.Met[k], value)
}

// free returns a point whose memory may be overwritten.
func (r *run[B, P, S]) free() *point[P, S] {
	n := len(r.spare)
	if n == 0 {
		return &point[P, S]{}
	}
	p := r.spare[n-1]
	r.spare = r.spare[:n-1]
	return p
}
