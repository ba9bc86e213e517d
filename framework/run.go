package framework

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

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
	Streak     int     // iterations in a row with the objective below its best
	Change     float64 // of the last iteration, nats per row
	NextTrial  float64 // change below which the weakest dimension is tried again
	Tried      float64 // criterion at the last rejected trials at this K
	Short      float64 // nats by which the most promising of them fell short of it
	Polishing  bool    // the trials at the loose tolerance have failed: the strict one is next
	Moving     bool    // moves are made at convergence
	Expanding  bool    // parameter expansion has begun
	Expanded   bool    // the last iteration was expanded
	TrialsDue  bool    // the last iteration has not been followed by pruning trials
	Current    *point[P, S]
	BestBehind *point[P, S] // the best state where it is not Current
	Unmoved    *point[P, S] // the converged state that the last move began at, and the run ends with where that leads nowhere
	UnmovedAt  int          // its iteration
	Followed   int          // divisions of it that have been followed up
	Settled    bool         // nothing changes any more, and no trial succeeds
	Leapt      int          // the last iteration that began at an extrapolation, 0 for none
	Path       path[P, S]   // what extrapolations are made from
}

// fallPatience is the number of iterations that the objective may stay below its
// best before the run ends.
const fallPatience = 50

// A run is one start of a fit: the one loop over iterations that there is.
type run[B, P any, S Statistics[S]] struct {
	model   Model[B, P, S]
	can     *capabilities[B, P, S]
	options Options
	index   int // of the restart
	workers int
	report  func(Event) error

	src, condensed Source[B] // for the start, and for iterations
	init           Start[B, P]

	mu sync.Mutex // held while progress changes, and while it is encoded
	at progress[P, S]

	folder *folder[B]
	shards map[int]*shardStats[S] // by K
	spare  []*point[P, S]

	extrapolation extrapolation
	steps         int // of climbs

	// The local step under way.
	p         P
	tilt      *laplace.Tilt
	sums      *shardStats[S]
	now, next Local // of the first pass of a coupled model; now alone, of the second
	ownTilt   laplace.Tilt
	checkRows bool // the pass is the first over the source
}

// shardStats are the shards' statistics for one number of latent dimensions.
type shardStats[S any] struct {
	sums    []S
	made    []bool
	entropy []float64
}

func newShardStats[S any](n int) *shardStats[S] {
	return &shardStats[S]{make([]S, n), make([]bool, n), make([]float64, n)}
}

// execute runs to the end, or to the first error.
func (r *run[B, P, S]) execute(ctx context.Context) error {
	r.open(ctx)
	defer r.folder.close()
	return r.ended(ctx, r.loop(ctx))
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
	at.Iteration, at.Streak, at.Settled, at.Polishing = n, 0, true, true
	at.Trace, at.Objective, at.KTrace = at.Trace[:n], at.Objective[:n], at.KTrace[:n]
	at.Pruned = slices.DeleteFunc(at.Pruned, func(p Pruned) bool { return p.Iteration > n })
	at.Split = slices.DeleteFunc(at.Split, func(s Split) bool { return s.Iteration > n })
}

// open readies passes over the source.
func (r *run[B, P, S]) open(ctx context.Context) {
	r.folder = newFolder(r.condensed.Blocks(ctx), r.options.Shards, max(1, r.workers), r.visit)
	r.shards = map[int]*shardStats[S]{}
}

func (r *run[B, P, S]) loop(ctx context.Context) error {
	if r.at.Current == nil {
		rng := rand.New(rand.NewPCG(r.options.Seed, uint64(r.index)))
		p, err := r.init(context.WithValue(ctx, startKey{}, r.index), r.src, r.options.K, rng)
		if err == nil {
			err = r.can.given("Init", p)
		}
		if err != nil {
			return err
		}
		start := &point[P, S]{K: r.options.K, P: p, Value: math.Inf(-1), Objective: math.Inf(-1)}
		r.mu.Lock()
		r.at.Current, r.at.NextTrial = start, r.options.Prune.Objective.TrialToleranceOr()
		r.mu.Unlock()
	}
	for r.at.Status == Running {
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
	}
	return nil
}

// conclude answers convergence, after trials that have failed: that at the loose tolerance by the strict one, and
// that by moves, where they are due. Else the run ends.
func (r *run[B, P, S]) conclude(ctx context.Context) error {
	at := &r.at
	if r.tolerance() > r.options.Tolerance && at.Streak < fallPatience {
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

// looseTolerance is the change, in nats per unit of data, at which trials of the objective rule take a
// state for converged. The survivor goes on to the tolerance of the options.
const looseTolerance = 1e-5

// tolerance is that of the present stage of the run.
func (r *run[B, P, S]) tolerance() float64 {
	if r.at.Polishing || !r.tries() {
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

// step makes one iteration: local step at from, global step, eigenvalue rule,
// evaluation. from is not changed; to is overwritten.
func (r *run[B, P, S]) step(ctx context.Context, from, to *point[P, S]) error {
	r.mu.Lock()
	r.at.Passes++
	r.mu.Unlock()
	if r.can.coupled != nil {
		if err := r.update(ctx, from, to); err != nil {
			return r.stepWithout(ctx, from, to, fmt.Errorf("local step at K = %d: %w", from.K, err))
		}
	}
	shards := r.shardsFor(from)
	entropy, err := r.local(ctx, from.P, r.tiltAt(from), to.Q.q, shards)
	if err != nil {
		return r.stepWithout(ctx, from, to, err)
	}
	to.K, to.pruned = from.K, nil
	to.S, shards.sums[0] = shards.sums[0], to.S
	to.filled, shards.made[0] = true, to.filled
	if err := r.checkWeight(to.S.Weight()); err != nil {
		return err
	}
	entropy = temper(r.options.Temper, to.S, entropy)
	if to.P, err = r.model.Maximize(to.S, from.P, to.P); err != nil {
		at := &point[P, S]{K: from.K, P: from.P, S: to.S, Q: to.Q}
		return r.stepWithout(ctx, at, to, fmt.Errorf("global step at K = %d: %w", from.K, err))
	}
	if err := r.can.given("Maximize", to.P); err != nil {
		return err
	}
	if r.can.expander != nil && r.at.Expanding {
		var gain float64
		if to.P, gain, err = r.can.expander.Expand(to.S, to.P, r.options.Method.tilts()); err != nil {
			return fmt.Errorf("parameter expansion at K = %d: %w", from.K, err)
		}
		entropy += gain
	}
	if err := r.curvature(to); err != nil {
		return r.stepWithout(ctx, &point[P, S]{K: to.K, P: to.P, S: to.S, Q: to.Q}, to, err)
	}
	if smaller, err := r.degenerate(to); err != nil {
		return err
	} else if smaller != nil {
		return r.stepFrom(ctx, smaller, to)
	}
	return r.evaluate(to, entropy)
}

// stepWithout answers [ErrDegenerate] by a step from the state without one of its latent dimensions;
// it returns any other error.
func (r *run[B, P, S]) stepWithout(ctx context.Context, state, to *point[P, S], err error) error {
	smaller := r.escape(state, err)
	if smaller == nil {
		return err
	}
	return r.stepFrom(ctx, smaller, to)
}

// stepFrom makes the step from a projection instead.
func (r *run[B, P, S]) stepFrom(ctx context.Context, smaller, to *point[P, S]) error {
	*to = point[P, S]{}
	if err := r.step(ctx, smaller, to); err != nil {
		return err
	}
	to.pruned = append(smaller.pruned, to.pruned...)
	return nil
}

// checkWeight checks that the source gives the same rows in every pass.
func (r *run[B, P, S]) checkWeight(n float64) error {
	if last := r.at.Current.Evaluation.N / r.options.Temper; r.at.Iteration > 0 && math.Abs(n-last) > 1e-9*last {
		return &sourceError{fmt.Errorf("framework: the source gave rows of total weight %.12g in one pass and %.12g in the next: it must give the same rows each time", last, n)}
	}
	if !(n > 0) {
		return &sourceError{fmt.Errorf("framework: the rows have total weight %v", n)}
	}
	return nil
}

// temper raises a local step's likelihood to the power alpha: q(z_n) stays, because alpha
// multiplies both terms of its objective, and the rows' sums weigh less against the prior. It
// returns the tempered entropy.
func temper[S any](alpha float64, s S, entropy float64) float64 {
	if alpha == 1 {
		return entropy
	}
	any(s).(Scaler).Scale(alpha)
	return alpha * entropy
}

// local folds one local step over the source into the first shard and returns the entropy of
// q, which is given for coupled models.
func (r *run[B, P, S]) local(ctx context.Context, p P, tilt *laplace.Tilt, q Local, b *shardStats[S]) (float64, error) {
	r.p, r.tilt, r.sums, r.now = p, tilt, b, q
	r.checkRows = r.at.Iteration == 0
	used, err := r.folder.run(ctx)
	r.now = nil
	if err != nil {
		return 0, err
	}
	if used == 0 {
		return 0, errNoRows
	}
	entropy := b.entropy[0]
	for i := 1; i < used; i++ {
		b.sums[0].Merge(b.sums[i])
		entropy += b.entropy[i]
	}
	return entropy, nil
}

// visit adds one block to its shard, or updates its q.
func (r *run[B, P, S]) visit(shard int, first bool, block B) error {
	if r.next != nil {
		return r.can.coupled.Update(block, r.p, r.tilt, r.now, r.next)
	}
	b := r.sums
	if r.checkRows {
		if rows, ok := any(block).(interface{ Check() error }); ok {
			if err := rows.Check(); err != nil {
				return &sourceError{err}
			}
		}
	}
	if first {
		if !b.made[shard] {
			b.sums[shard], b.made[shard] = r.model.NewStatistics(r.p), true
		}
		b.entropy[shard] = 0
		if err := r.model.Prepare(r.p, r.tilt, b.sums[shard]); err != nil {
			return err
		}
	}
	var (
		h   float64
		err error
	)
	if r.now != nil {
		h, err = r.can.coupled.InferAt(block, r.p, r.now, b.sums[shard])
	} else {
		h, err = r.model.Infer(block, r.p, b.sums[shard])
	}
	b.entropy[shard] += h
	return err
}

func (r *run[B, P, S]) shardsFor(p *point[P, S]) *shardStats[S] {
	b := r.shards[p.K]
	if b == nil {
		b = newShardStats[S](r.options.Shards)
		r.shards[p.K] = b
	}
	return b
}

// tiltAt linearises the penalty at a point (docs/theory/gfab.md, section 3); nil at the start and for EM.
func (r *run[B, P, S]) tiltAt(p *point[P, S]) *laplace.Tilt {
	if !r.options.Method.tilts() || p.f == nil {
		return nil
	}
	r.ownTilt.Set(p.f)
	return &r.ownTilt
}

// curvature computes F where the method or the criterion needs it.
func (r *run[B, P, S]) curvature(p *point[P, S]) (err error) {
	needs := r.options.Criterion.Needs
	if !r.options.Method.tilts() && needs&NeedsCurvature == 0 {
		return nil
	}
	if p.f == nil {
		p.f = new(laplace.Curvature)
	}
	return r.can.curvature(p.S, p.P, needs&NeedsInformation == 0, p.f)
}

// evaluate fills in the value of a point and its objective: what the method
// ascends while K stays.
func (r *run[B, P, S]) evaluate(p *point[P, S], entropy float64) (err error) {
	e := &p.Evaluation // in place: a copy passed to the criterion would be allocated
	if *e, err = r.can.evaluation(r.model, p.S, p.P, entropy); err != nil {
		return err
	}
	if p.f != nil {
		e.charge(p.f)
	}
	if err := r.can.integrate(r.options.Criterion.Needs, p.S, p.P, e); err != nil {
		return err
	}
	p.Value = r.options.Criterion.Value(e)
	p.Objective = e.Bound()
	if r.options.Method.tilts() {
		p.Objective -= p.f.LogDetCounts() / 2
	}
	if bad := firstNonFinite(p.Value, p.Objective); bad != 0 {
		return fmt.Errorf("%s is %v at K = %d (log joint %v, entropy %v, ln|F| %v): a latent dimension has lost its data; lower K, allow pruning, or rescale the data",
			r.options.Criterion.Name, bad, p.K, e.LogJoint, e.Entropy, e.LogDet)
	}
	return nil
}

func firstNonFinite(values ...float64) float64 {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return v
		}
	}
	return 0
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
	}
	for _, one := range next.split {
		one.Iteration, one.Before, one.After = at.Iteration, r.best().Value, next.Value
		at.Split = append(at.Split, one)
	}
	next.pruned = nil
	dropped := last.K - next.K
	r.remember(next)
	r.rank(next)
	return Event{Restart: r.index, Iteration: at.Iteration, K: next.K, Value: next.Value, Objective: next.Objective,
		Change: at.Change, Dropped: dropped}
}

// Parameter expansion begins when an iteration has changed less than expandBelow nats per
// row, or after expandAfter iterations. While the objective still rises fast, it would
// shrink directions that an early estimate takes for noise to 0, from where they hardly return.
const (
	expandBelow = 1e-4
	expandAfter = 1000
)

// rounding is the relative size of a fall that summation alone can cause.
const rounding = 1e-12

// rank decides between the new state and the best one. At equal K the objective
// decides, because that is what the steps ascend; a smaller K is only ever entered
// when its criterion is higher, or when the eigenvalue rule or a global step without a
// maximum has made the larger model's value meaningless.
func (r *run[B, P, S]) rank(next *point[P, S]) {
	at, last, best := &r.at, r.at.Current, r.best()
	at.Current = next
	if next.K != last.K || next.split != nil {
		at.Polishing = false
	}
	if next.split != nil {
		at.Unmoved, at.UnmovedAt = best, at.Iteration-1
	}
	next.split = nil
	switch {
	case next.K != last.K:
		at.BestBehind, at.Streak = nil, 0
		at.NextTrial, at.Short = r.options.Prune.Objective.TrialToleranceOr(), 0
		clear(r.shards)
		r.spare = nil
		return
	case r.can.fixedPoint || next.Objective >= best.Objective-rounding*math.Abs(best.Objective):
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

// behind reports whether p has an objective below the best by more than the tolerance.
func (r *run[B, P, S]) behind(p *point[P, S]) bool {
	return r.best().Objective-p.Objective > r.options.Tolerance*p.Evaluation.N
}

// best is the best state so far.
func (r *run[B, P, S]) best() *point[P, S] {
	if r.at.BestBehind != nil {
		return r.at.BestBehind
	}
	return r.at.Current
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
