package framework

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/pruning"
)

// degenerate applies the eigenvalue rule to a point whose curvature is known. It
// returns the projection onto the directions that stay, or nil when all do.
func (r *run[B, P, S]) degenerate(p *point[P, S]) (*point[P, S], error) {
	if r.options.FixedK || r.options.Prune.Eigenvalue.Off || p.K == 1 {
		return nil, nil
	}
	f := p.f.full
	if r.options.Method == FAB {
		f = p.f.counts
	}
	verdict, err := r.options.Prune.Eigenvalue.Apply(f, p.K, p.S.Weight())
	if err != nil || len(verdict.Dropped) == 0 {
		return nil, err
	}
	return r.project(p, verdict.Keep, "eigenvalue", verdict.Dropped)
}

// project carries a point to the directions kept, curvature included.
func (r *run[B, P, S]) project(p *point[P, S], onto pruning.Directions, rule string, dropped []float64) (*point[P, S], error) {
	s, params, err := r.can.projector.Project(p.S, p.P, onto)
	if err != nil {
		return nil, fmt.Errorf("projecting from K = %d to %d: %w", p.K, onto.Len(), err)
	}
	if k := r.model.Shape(params).K; k != onto.Len() {
		return nil, fmt.Errorf("framework: Project of %s %w: it returned parameters of K = %d where %d directions were to be kept", r.can.name, ErrPromise, k, onto.Len())
	}
	smaller := &point[P, S]{K: onto.Len(), P: params, S: s}
	smaller.pruned = []Pruned{{K: onto.Len(), Rule: rule, Relevance: dropped}}
	return smaller, r.curvature(smaller)
}

// trials applies the objective rule where it is due, and says whether it led to a
// smaller model.
func (r *run[B, P, S]) trials(ctx context.Context) (pruned bool, err error) {
	at := &r.at
	if !r.tries() {
		return false, nil
	}
	converged := r.settled()
	if !converged && !(at.Change < r.options.Prune.Objective.LooseOr()) {
		return false, nil
	}
	current := r.best()
	directions, err := r.can.projector.Relevance(current.S, current.P)
	if err != nil {
		return false, err
	}
	due := converged || at.Change < at.NextTrial && math.Abs(current.Value-at.Tried) >= at.Short
	if !due && !(directions.Values[directions.Len()-1] < 0) {
		return false, nil
	}
	ahead, ok := r.ahead()
	stand := current.Value + r.options.Tolerance*current.Evaluation.N
	short := math.Inf(1)
	for _, drop := range candidates(directions.Len(), converged) {
		goal := stand
		switch promised := directions.Values[drop[0]] < 0; {
		case converged || promised:
		case !due || !ok:
			short = 0
			continue
		default:
			goal += ahead
		}
		smaller, reach, err := r.trial(ctx, current, directions, drop, goal)
		if err != nil {
			return false, err
		}
		if smaller != nil {
			return true, r.commit(smaller)
		}
		short = min(short, max(0, stand-reach))
	}
	if !due {
		return false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at.TrialsDue, at.NextTrial = false, at.Change/2
	at.Tried, at.Short = current.Value, short
	return false, nil
}

// few is the number of directions tried on the way.
const few = 3

// candidates lists the sets of k directions that a trial drops: the weakest one; at
// convergence each one, weakest first, and then the weakest two, three, … together,
// because the criterion may have a maximum at a K that no single step down leads to.
func candidates(k int, converged bool) [][]int {
	var sets [][]int
	for j := k - 1; j >= 0 && (converged || len(sets) < few); j-- {
		sets = append(sets, []int{j})
	}
	if !converged {
		return sets
	}
	var weakest []int
	for j := k - 1; j >= 1; j-- {
		weakest = append(weakest, j)
		if len(weakest) > 1 {
			sets = append(sets, slices.Clone(weakest))
		}
	}
	return sets
}

// fatal returns the errors that end a fit even in a trial: those of the context and of
// the source, and a model that breaks a promise. Any other says that the model cannot do without the directions, and so
// keeps them.
func fatal(ctx context.Context, err error) error {
	var source *sourceError
	if ctx.Err() == nil && !errors.As(err, &source) && !errors.Is(err, ErrPromise) {
		return nil
	}
	return err
}

// escape answers a global step that has no maximum at this K (see [ErrDegenerate]) by
// projecting the weakest direction out; it returns nil where that cannot be done. at
// holds the statistics of the local step at p.
func (r *run[B, P, S]) escape(p P, at *point[P, S], err error) *point[P, S] {
	if !errors.Is(err, ErrDegenerate) || r.options.FixedK || at.K == 1 {
		return nil
	}
	state := &point[P, S]{K: at.K, P: p, S: at.S}
	directions, err := r.can.projector.Relevance(state.S, state.P)
	if err != nil {
		return nil
	}
	weakest := directions.Len() - 1
	smaller, err := r.project(state, directions.Without(weakest), "degenerate", directions.Values[weakest:])
	if err != nil {
		return nil
	}
	return smaller
}

// optimism is how many times the progress of a geometric series an iteration is trusted
// to make yet. First steps shrink faster than later ones, so the plain extrapolation
// would give up too early.
const optimism = 10

// remaining is an optimistic guess of what a series of gains has still to come, from its
// last two; ok is false while it shows no sign of ending.
func remaining(last, gain float64) (ahead float64, ok bool) {
	if gain <= 0 {
		return 0, true
	}
	if ratio := gain / last; ratio < 1 {
		return optimism * gain / (1 - ratio), true
	}
	return 0, false
}

// ahead guesses by how much the current state would still rise if K stayed: a trial on
// the way must beat where the larger model is going, not where it stands. Gains of
// extrapolated iterations are no series; there the way on that they have shown tells.
func (r *run[B, P, S]) ahead() (float64, bool) {
	n, k, o := len(r.at.KTrace), r.at.KTrace, r.at.Objective
	if n < 3 || k[n-1] != k[n-3] {
		return 0, false
	}
	if !r.plain(2) {
		return r.at.Path.ahead(&r.extrapolation)
	}
	return remaining(o[n-2]-o[n-3], o[n-1]-o[n-2])
}

// trial projects directions out of current and makes steps in the smaller model. It
// returns the smaller point once its criterion is above goal, and nil when it will not be;
// then reach is an optimistic guess of the criterion that more steps would end at, +Inf
// where there is none.
func (r *run[B, P, S]) trial(ctx context.Context, current *point[P, S], directions pruning.Directions, drop []int, goal float64) (smaller *point[P, S], reach float64, err error) {
	from, err := r.project(current, directions.Without(drop...), "objective", directions.Keep(drop...).Values)
	if err != nil {
		return nil, math.Inf(1), fatal(ctx, err)
	}
	pruned := from.pruned
	defer func() {
		for k := range r.benches {
			if k < current.K {
				delete(r.benches, k)
			}
		}
	}()
	to := &point[P, S]{}
	var gain float64
	for step := range r.options.Prune.Objective.StepsOr() {
		if err := r.step(ctx, from, to); err != nil {
			return nil, math.Inf(1), fatal(ctx, err)
		}
		pruned = append(pruned, to.pruned...)
		if to.Value > goal {
			to.pruned = pruned
			return to, to.Value, nil
		}
		if step > 0 {
			last := gain
			if gain = to.Value - from.Value; gain <= 0 {
				return nil, to.Value, nil
			}
			if ahead, ok := remaining(last, gain); step > 1 && ok && to.Value+ahead < goal {
				return nil, to.Value + ahead, nil
			}
		}
		if from.K != to.K {
			from = &point[P, S]{}
		}
		from, to = to, from
	}
	return nil, math.Inf(1), nil
}
