package framework

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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

	f      curvatures
	filled bool         // S comes from NewStatistics, scratch included, and not from a checkpoint
	pruned []Pruned     // directions dropped on the way to this point
	from   *point[P, S] // where the step to this point began, if that was an extrapolation
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
	Fall       float64
	Streak     int     // iterations in a row with the objective below its best
	Change     float64 // of the last iteration, nats per row
	NextTrial  float64 // change below which the weakest direction is tried again
	Tried      float64 // criterion when directions were last tried in vain at this K
	Short      float64 // nats by which the most promising of them fell short of it
	Expanding  bool    // parameter expansion has begun
	Expanded   bool    // the last iteration was expanded
	TrialsDue  bool    // the last iteration has not been followed by pruning trials
	Current    *point[P, S]
	BestBehind *point[P, S] // the best state where it is not Current
	Leapt      int          // the last iteration that began at an extrapolation, 0 for none
	Path       path[P, S]   // what extrapolations are made from
}

// fallPatience is the number of iterations that the objective may stay below its
// best before the run ends.
const fallPatience = 50

// A run is one start of a fit: the one loop over iterations that there is.
type run[B, P any, S Statistics[S]] struct {
	model   Model[B, P, S]
	can     abilities[B, P, S]
	options Options
	index   int // of the restart
	workers int
	report  func(Event) error

	src, condensed Source[B] // for the start, and for iterations

	mu sync.Mutex // held while progress changes, and while it is encoded
	at progress[P, S]

	folder  *folder[B]
	benches map[int]*bench[S]
	spare   []*point[P, S]

	extrapolation extrapolation

	// The local step under way.
	p     P
	tilt  *laplace.Tilt
	bench *bench[S]
	lean  laplace.Tilt
}

// A bench holds the shards' statistics for one number of latent dimensions.
type bench[S any] struct {
	shards  []S
	made    []bool
	entropy []float64
}

// execute runs to the end, or to the first error.
func (r *run[B, P, S]) execute(ctx context.Context) error {
	r.folder = newFolder(r.condensed.Blocks(ctx), r.options.Shards, r.workers, r.visit)
	defer r.folder.close()
	r.benches = map[int]*bench[S]{}
	err := r.loop(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, errRecorder) {
		return err // still Running: a checkpoint goes on from here
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at.Status, r.at.Err = Failed, err.Error()
	return err
}

func (r *run[B, P, S]) loop(ctx context.Context) error {
	if r.at.Current == nil {
		rng := rand.New(rand.NewPCG(r.options.Seed, uint64(r.index)))
		p, err := r.model.Init(ctx, r.src, r.options.K, rng)
		if err != nil {
			return err
		}
		start := &point[P, S]{K: r.options.K, P: p, Value: math.Inf(-1), Objective: math.Inf(-1)}
		r.mu.Lock()
		r.at.Current, r.at.NextTrial = start, r.options.Prune.Objective.LooseOr()
		r.mu.Unlock()
	} else if r.at.Iteration > 0 {
		if err := r.curvature(r.at.Current); err != nil {
			return err
		}
	}
	for r.at.Status == Running {
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
				if r.behind(r.at.Current) {
					r.end(Falling)
				} else {
					r.end(Converged)
				}
				break
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

// settled says that going on at this K is in vain: nothing changes any more, not even by
// parameter expansion, or the objective has long been below its best. Only a plain iteration tells.
func (r *run[B, P, S]) settled() bool {
	still := r.at.Change <= r.options.Tolerance && r.plain(1) && (r.can.expander == nil || r.at.Expanded)
	return still || r.at.Streak >= fallPatience
}

// tries says that the objective rule has something to try.
func (r *run[B, P, S]) tries() bool {
	return !r.options.FixedK && !r.options.Prune.Objective.Off && r.at.Current.K > 1
}

func (r *run[B, P, S]) end(s Status) {
	r.mu.Lock()
	r.at.Status = s
	r.mu.Unlock()
}

// step makes one iteration: local step at from, global step, eigenvalue rule,
// evaluation. from stays as it is; to is overwritten.
func (r *run[B, P, S]) step(ctx context.Context, from, to *point[P, S]) error {
	r.mu.Lock()
	r.at.Passes++
	r.mu.Unlock()
	bench := r.benchFor(from)
	entropy, err := r.local(ctx, from.P, r.tiltAt(from), bench)
	if err != nil {
		return err
	}
	to.K, to.pruned = from.K, nil
	to.S, bench.shards[0] = bench.shards[0], to.S
	to.filled, bench.made[0] = true, to.filled
	if err := r.checkWeight(to.S.Weight()); err != nil {
		return err
	}
	entropy = temper(r.options.Temper, to.S, entropy)
	if to.P, err = r.model.Maximize(to.S, from.P, to.P); err != nil {
		if smaller := r.escape(from.P, to, err); smaller != nil {
			return r.stepSmaller(ctx, smaller, to)
		}
		return fmt.Errorf("global step at K = %d: %w", from.K, err)
	}
	if r.can.expander != nil && r.at.Expanding {
		var gain float64
		if to.P, gain, err = r.can.expander.Expand(to.S, to.P, r.options.Method != EM); err != nil {
			return fmt.Errorf("parameter expansion at K = %d: %w", from.K, err)
		}
		entropy += gain
	}
	if err := r.curvature(to); err != nil {
		return err
	}
	if smaller, err := r.degenerate(to); err != nil {
		return err
	} else if smaller != nil {
		return r.stepSmaller(ctx, smaller, to)
	}
	return r.evaluate(to, entropy)
}

// stepSmaller makes the step from a projection instead.
func (r *run[B, P, S]) stepSmaller(ctx context.Context, smaller, to *point[P, S]) error {
	*to = point[P, S]{}
	if err := r.step(ctx, smaller, to); err != nil {
		return err
	}
	to.pruned = append(smaller.pruned, to.pruned...)
	return nil
}

// checkWeight holds the source to its promise of the same rows in every pass.
func (r *run[B, P, S]) checkWeight(n float64) error {
	if last := r.at.Current.Evaluation.N / r.options.Temper; r.at.Iteration > 0 && math.Abs(n-last) > 1e-9*last {
		return &sourceError{fmt.Errorf("framework: the source gave rows of total weight %.12g in one pass and %.12g in the next: it must give the same rows each time", last, n)}
	}
	if !(n > 0) {
		return &sourceError{fmt.Errorf("framework: the rows have total weight %v", n)}
	}
	return nil
}

// temper raises what a local step found to the power alpha: q(z_n) stays as it is, because
// alpha multiplies both terms that it weighs against one another, and the rows' sums count
// for less beside the prior. It returns the tempered entropy.
func temper[S any](alpha float64, s S, entropy float64) float64 {
	if alpha == 1 {
		return entropy
	}
	any(s).(Scaler).Scale(alpha)
	return alpha * entropy
}

// local folds one local step over the source into the bench's first shard and
// returns the entropy of q.
func (r *run[B, P, S]) local(ctx context.Context, p P, tilt *laplace.Tilt, b *bench[S]) (float64, error) {
	r.p, r.tilt, r.bench = p, tilt, b
	used, err := r.folder.run(ctx)
	if err != nil {
		return 0, err
	}
	if used == 0 {
		return 0, errNoRows
	}
	entropy := b.entropy[0]
	for i := 1; i < used; i++ {
		b.shards[0].Merge(b.shards[i])
		entropy += b.entropy[i]
	}
	return entropy, nil
}

// visit adds one block to its shard.
func (r *run[B, P, S]) visit(shard int, first bool, block B) error {
	b := r.bench
	if first {
		if !b.made[shard] {
			b.shards[shard], b.made[shard] = r.model.NewStatistics(r.p), true
		}
		b.entropy[shard] = 0
		if err := r.model.Prepare(r.p, r.tilt, b.shards[shard]); err != nil {
			return err
		}
	}
	h, err := r.model.Infer(block, r.p, b.shards[shard])
	b.entropy[shard] += h
	return err
}

func (r *run[B, P, S]) benchFor(p *point[P, S]) *bench[S] {
	b := r.benches[p.K]
	if b == nil {
		n := r.options.Shards
		b = &bench[S]{make([]S, n), make([]bool, n), make([]float64, n)}
		r.benches[p.K] = b
	}
	return b
}

// tiltAt linearises the penalty at a point (docs/theory/gfab.md, section 3); nil at the start and for EM.
func (r *run[B, P, S]) tiltAt(p *point[P, S]) *laplace.Tilt {
	switch {
	case r.options.Method == GFAB && p.f.full != nil:
		r.lean.F = p.f.full
	case r.options.Method == FAB && p.f.counts != nil:
		r.lean.F = p.f.counts
	default:
		return nil
	}
	r.lean.N = p.S.Weight()
	return &r.lean
}

// curvature computes the forms of F that the method and the criterion need.
func (r *run[B, P, S]) curvature(p *point[P, S]) (err error) {
	needs := r.options.Criterion.Needs
	if r.options.Method == GFAB || needs&NeedsCurvature != 0 {
		if p.f.full, err = r.can.curved.Curvature(p.S, p.P, p.f.full); err != nil {
			return err
		}
	}
	if r.can.counted != nil && (r.options.Method != EM || needs&NeedsCounts != 0) {
		if p.f.counts, err = r.can.counted.Counts(p.S, p.P, p.f.counts); err != nil {
			return err
		}
	}
	return nil
}

// evaluate fills in the value of a point and its objective: what the method
// ascends while K stays.
func (r *run[B, P, S]) evaluate(p *point[P, S], entropy float64) error {
	e := &p.Evaluation // in place: a copy passed to the criterion would be allocated
	*e = Evaluation{
		LogJoint: r.model.LogJoint(p.S, p.P),
		Entropy:  entropy,
		Shape:    r.model.Shape(p.P),
		N:        p.S.Weight(),
	}
	e.LogLikelihood = r.can.logLikelihood(e, p.P)
	if p.f.full != nil {
		e.LogDet = p.f.full.LogDet()
	}
	if p.f.counts != nil {
		e.LogDetCounts = p.f.counts.LogDet()
	}
	p.Value = r.options.Criterion.Value(e)
	switch {
	case r.options.Method == EM:
		p.Objective = e.Bound()
	case p.f.counts != nil:
		p.Objective = e.Bound() - e.LogDetCounts/2
	default:
		p.Objective = e.Bound() - e.LogDet/2
	}
	if bad := firstNonFinite(p.Value, p.Objective); bad != 0 {
		return fmt.Errorf("%s is %v at K = %d (log joint %v, entropy %v, ln|F| %v): the model is degenerate there; lower K, allow pruning, or rescale the data",
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
	at.Change, at.TrialsDue = math.NaN(), false
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
		p.Iteration = at.Iteration
		at.Pruned = append(at.Pruned, p)
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
// take directions that look like noise beside an early estimate of it to 0, from where
// they hardly return.
const (
	expandBelow = 1e-4
	expandAfter = 1000
)

// rounding is the relative size of a fall that summation alone can cause.
const rounding = 1e-12

// rank decides between the new state and the best one. At equal K the objective
// decides, because that is what the steps ascend; a smaller K is only ever entered
// when its criterion is higher, or when the eigenvalue rule or a global step without a
// maximum has said that the larger model's value means nothing.
func (r *run[B, P, S]) rank(next *point[P, S]) {
	at, last, best := &r.at, r.at.Current, r.best()
	at.Current = next
	switch {
	case next.K != last.K:
		at.BestBehind, at.Streak = nil, 0
		at.NextTrial, at.Short = r.options.Prune.Objective.LooseOr(), 0
		clear(r.benches)
		r.spare = nil
		return
	case next.Objective >= best.Objective-rounding*math.Abs(best.Objective):
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

// behind says whether p has an objective below the best by more than the tolerance.
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
