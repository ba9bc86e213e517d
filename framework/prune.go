package framework

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/laplace"
)

// degenerate applies the eigenvalue rule to a point whose curvature is known, and drops a dimension
// whose information is singular. It returns the projection onto the dimensions that stay, or nil when all do.
func (r *run[B, P, S]) degenerate(p *point[P, S]) (*point[P, S], error) {
	if r.options.FixedK || p.K == 1 || p.f == nil || r.options.climbs() {
		return nil, nil
	}
	rule := r.options.Prune.Eigenvalue
	verdict, err := rule.Apply(p.f, p.K, r.can.rotator != nil)
	if err != nil {
		return nil, err
	}
	if verdict.Dropped, err = r.removable(p, verdict.Dropped); err != nil {
		return nil, err
	}
	if len(verdict.Dropped) == 0 {
		if k, singular := p.f.Singular(); singular {
			return r.escape(p, &DegenerateError{Dimension: k, Reason: laplace.ErrSingular}), nil
		}
		return nil, nil
	}
	if verdict.Basis != nil {
		signal, err := r.can.rotator.Signal(p.S, p.P)
		if err != nil {
			return nil, err
		}
		if signal != nil {
			if p, err = r.rotate(p, verdict.Basis); err != nil {
				return nil, err
			}
		} else if verdict, err = rule.Apply(p.f, p.K, false); err != nil || len(verdict.Dropped) == 0 {
			return nil, err
		}
	}
	return r.project(p, verdict.Dropped, "eigenvalue", verdict.Observations)
}

// removable are those of some dimensions that need not stay (see [optional.Projector]).
func (r *run[B, P, S]) removable(p *point[P, S], dims []int) ([]int, error) {
	if len(dims) == 0 || r.can.rotator != nil {
		return dims, nil
	}
	relevance, err := r.can.relevance(p.S, p.P, p.K)
	return free(dims, relevance), err
}

// free are the dimensions whose relevance is finite: the others must stay.
func free(dims []int, relevance []float64) []int {
	return slices.DeleteFunc(slices.Clone(dims), func(k int) bool { return math.IsInf(relevance[k], 1) })
}

// rotate rotates the latent dimensions of a point to a basis.
func (r *run[B, P, S]) rotate(p *point[P, S], basis *mat.Dense) (*point[P, S], error) {
	s, params, err := r.can.rotator.Rotate(p.S, p.P, basis)
	if err == nil {
		err = r.can.given("Rotate", params)
	}
	if err != nil {
		return nil, fmt.Errorf("rotating %d latent dimensions: %w", p.K, err)
	}
	return &point[P, S]{K: p.K, P: params, S: s, Evaluation: p.Evaluation, Value: p.Value, rotated: true}, nil
}

// canonical returns a point whose latent dimensions are the principal axes of Signal, p itself where
// they do not mix, with the relevance of each, and the dimensions in descending order of it.
func (r *run[B, P, S]) canonical(p *point[P, S]) (at *point[P, S], relevance []float64, order []int, err error) {
	if at = p; r.can.rotator != nil {
		signal, err := r.can.rotator.Signal(p.S, p.P)
		if err != nil {
			return nil, nil, nil, err
		}
		if signal != nil {
			var eigen mat.EigenSym
			if !eigen.Factorize(signal, true) {
				return nil, nil, nil, r.can.violated("Signal", "returned an entry that is not finite")
			}
			var basis mat.Dense
			eigen.VectorsTo(&basis)
			if at, err = r.rotate(p, &basis); err != nil {
				return nil, nil, nil, err
			}
		}
	}
	if relevance, err = r.can.relevance(at.S, at.P, p.K); err != nil {
		return nil, nil, nil, err
	}
	order = dimensions(p.K)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(relevance[j], relevance[i]) })
	return at, relevance, order, nil
}

// project drops latent dimensions of a point, curvature included. relevance is that of each of
// them.
func (r *run[B, P, S]) project(p *point[P, S], drop []int, rule string, relevance []float64) (*point[P, S], error) {
	dims := slices.DeleteFunc(dimensions(p.K), func(k int) bool { return slices.Contains(drop, k) })
	s, params, err := r.can.keep(r.model.Shape, p.S, p.P, dims)
	if err != nil {
		return nil, fmt.Errorf("projecting from K = %d to %d: %w", p.K, len(dims), err)
	}
	smaller := &point[P, S]{K: len(dims), P: params, S: s}
	if p.Q.q != nil {
		smaller.Q.q = p.Q.q.Keep(dims)
	}
	smaller.pruned = []Pruned{{K: len(dims), Rule: rule, Relevance: relevance}}
	if !p.rotated {
		smaller.pruned[0].Dimensions = slices.Clone(drop)
	}
	return smaller, r.curvature(smaller)
}

// trials applies the objective rule where it is due, and reports whether it led to a
// smaller model.
func (r *run[B, P, S]) trials(ctx context.Context) (pruned bool, err error) {
	at := &r.at
	if !r.tries() {
		return false, nil
	}
	converged := r.settled()
	if !converged && (at.Polishing || !(at.Change < r.options.Prune.Objective.TrialToleranceOr())) {
		return false, nil
	}
	current := r.best()
	moved := math.Abs(current.Value-at.Tried) >= at.Short
	due := converged && (moved || !at.Polishing) || at.Change < at.NextTrial && moved
	if !due && r.can.rotator != nil { // whose relevance guarantees nothing
		return false, nil
	}
	canonical, relevance, order, err := r.canonical(current)
	if err != nil {
		return false, err
	}
	if !due && !(relevance[order[current.K-1]] < 0) {
		return false, nil
	}
	ahead, ok := r.ahead()
	stand := current.Value + r.options.Tolerance*current.Evaluation.N
	if pruned, err := r.together(ctx, canonical, relevance, order, stand); pruned || err != nil {
		return pruned, err
	}
	short := math.Inf(1)
	var failures []failed // of each dimension alone
	if converged && r.can.rotator == nil {
		if failures = at.Failed; failures == nil {
			failures = make([]failed, current.K)
		}
	}
	for _, drop := range candidates(free(order, relevance), current.K, converged) {
		goal := stand
		if failures != nil {
			expected, unclear := 0.0, 0.0 // nats that it will fall short by
			if len(drop) > 1 {
				unclear = withinReach
			}
			for _, k := range drop {
				expected += failures[k].expected(current.Value)
			}
			if expected > unclear {
				short = min(short, expected)
				continue
			}
		}
		switch guaranteed := relevance[drop[0]] < 0; {
		case converged && due || guaranteed:
		case !due || !ok:
			short = 0
			continue
		default:
			goal += ahead
		}
		r.mu.Lock()
		at.Failed = failures
		r.mu.Unlock()
		smaller, reach, err := r.trial(ctx, canonical, drop, relevance, goal, r.trialSteps())
		if err != nil {
			return false, err
		}
		if smaller != nil {
			return true, r.commit(smaller)
		}
		fell := max(0, stand-reach)
		short = min(short, fell)
		if len(drop) == 1 && failures != nil {
			failures[drop[0]] = failed{current.Value, fell}
		}
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

// independent is the part of what dimensions promise to gain by leaving, each alone, that they must gain together.
const independent = 0.5

// together drops at once the weaker half of the dimensions whose relevance promises a gain, where one step gains about
// what they promise: so it is where they are empty, and not where they stand in for one another. The evidence, which
// has no eigenvalue rule, would else lose them one after the other.
func (r *run[B, P, S]) together(ctx context.Context, p *point[P, S], relevance []float64, order []int, stand float64) (
	pruned bool, err error) {
	promising := 0
	for promising < p.K && relevance[order[p.K-1-promising]] < 0 {
		promising++
	}
	if promising < 3 || !r.options.climbs() {
		return false, nil
	}
	drop := slices.Clone(order[p.K-(promising+1)/2:])
	slices.Reverse(drop)
	for _, k := range drop {
		stand -= independent * relevance[k]
	}
	smaller, _, err := r.trial(ctx, p, drop, relevance, stand, 1)
	if smaller == nil {
		return false, err
	}
	return true, r.commit(smaller)
}

// maxTrials is the number of dimensions tried before convergence.
const maxTrials = 3

// enRoute bounds the steps of a trial before convergence.
const enRoute = 15

// candidates lists the sets of dimensions that a trial drops, given the order by descending relevance of those of the k
// that need not stay: the weakest one; at convergence each one, weakest first, and then the weakest two, three, …
// together, because the criterion may have a maximum at a K that no single step down leads to.
func candidates(order []int, k int, converged bool) [][]int {
	var sets [][]int
	weakest := slices.Clone(order)
	slices.Reverse(weakest)
	for j, k := range weakest {
		if !converged && j == maxTrials {
			break
		}
		sets = append(sets, []int{k})
	}
	if !converged {
		return sets
	}
	for n := 2; n <= min(len(weakest), k-1); n++ {
		sets = append(sets, slices.Clone(weakest[:n]))
	}
	return sets
}

// fatal returns the errors that end a fit even in a trial: those of the context and of
// the source, and a model that violates its contract. Any other only rejects the
// trial.
func fatal(ctx context.Context, err error) error {
	var source *sourceError
	if ctx.Err() == nil && !errors.As(err, &source) && !errors.Is(err, ErrContract) {
		return nil
	}
	return err
}

// escape answers a step that does not exist at this K (see [ErrDegenerate]) by dropping a dimension
// of the state: the one that the error names, otherwise the weakest. It returns nil if that is
// impossible, as at the start, where there is no q yet.
func (r *run[B, P, S]) escape(state *point[P, S], err error) *point[P, S] {
	singular := errors.Is(err, ErrDegenerate) || errors.Is(err, laplace.ErrSingular)
	if !singular || r.options.FixedK || state.K == 1 || isNil(state.S) {
		return nil
	}
	var named *DegenerateError
	if errors.As(err, &named) && named.Dimension >= 0 && named.Dimension < state.K {
		if dims, failed := r.removable(state, []int{named.Dimension}); failed != nil || len(dims) == 0 {
			return nil
		}
		smaller, err := r.project(state, []int{named.Dimension}, "degenerate", []float64{math.NaN()})
		if err == nil {
			return smaller
		}
	}
	canonical, relevance, order, err := r.canonical(state)
	if err != nil {
		return nil
	}
	weakest := order[state.K-1]
	if math.IsInf(relevance[weakest], 1) {
		return nil
	}
	smaller, err := r.project(canonical, []int{weakest}, "degenerate", []float64{relevance[weakest]})
	if err != nil {
		return nil
	}
	return smaller
}

// optimism is how many times the progress of a geometric series an iteration is trusted
// to make yet. First steps shrink faster than later ones, so the plain extrapolation
// would give up too early.
const optimism = 10

// remaining is an optimistic estimate of the rest of a series of gains, from its last two; ok is
// false unless they decrease.
func remaining(last, gain float64) (ahead float64, ok bool) {
	if gain <= 0 {
		return 0, true
	}
	if ratio := gain / last; ratio < 1 {
		return optimism * gain / (1 - ratio), true
	}
	return 0, false
}

// ahead estimates how much the current state would still gain at this K: a trial before
// convergence must beat the limit of the larger model, not its current value. Gains of extrapolated
// iterations are no series; there the estimate is that of the extrapolation.
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

// trialSteps bounds the steps of a trial.
func (r *run[B, P, S]) trialSteps() int {
	most := r.options.Prune.Objective.StepsOr()
	if !r.settled() {
		most = min(most, enRoute)
	}
	return most
}

// trial drops dimensions of current and makes so many steps in the smaller model at most (see climb).
func (r *run[B, P, S]) trial(
	ctx context.Context, current *point[P, S], drop []int, relevance []float64, goal float64, most int,
) (
	smaller *point[P, S], reach float64, err error) {
	of := make([]float64, len(drop))
	for i, k := range drop {
		of[i] = relevance[k]
	}
	from, err := r.project(current, drop, "objective", of)
	if err != nil {
		return nil, math.Inf(1), fatal(ctx, err)
	}
	defer r.discard(func(k int) bool { return k < current.K })
	smaller, _, reach, err = r.climb(ctx, from, summit{k: current.K, value: goal, most: most})
	return smaller, reach, err
}

// discard frees the shards of other numbers of latent dimensions.
func (r *run[B, P, S]) discard(of func(k int) bool) {
	maps.DeleteFunc(r.shards, func(k int, _ *shardStats[S]) bool { return of(k) })
}
