package framework

import (
	"context"
	"fmt"

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
	smaller := &point[P, S]{K: onto.Len(), P: params, S: s}
	smaller.pruned = append(p.pruned, Pruned{K: onto.Len(), Rule: rule, Relevance: dropped})
	return smaller, r.curvature(smaller)
}

// trials applies the objective rule where it is due, and says whether it led to a
// smaller model.
func (r *run[B, P, S]) trials(ctx context.Context) (pruned bool, err error) {
	rule, at := r.options.Prune.Objective, &r.at
	if r.options.FixedK || rule.Off || at.Current.K == 1 {
		return false, nil
	}
	converged := at.Change <= r.options.Tolerance
	if !converged && !(at.Change < at.NextTrial) {
		return false, nil
	}
	current := r.best()
	directions, err := r.can.projector.Relevance(current.S, current.P)
	if err != nil {
		return false, err
	}
	weakest := directions.Len() - 1
	for j := weakest; j >= 0; j-- {
		smaller, err := r.trial(ctx, current, directions, j)
		if err != nil {
			return false, err
		}
		if smaller != nil {
			return true, r.commit(smaller)
		}
		if !converged {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at.TrialsDue, at.NextTrial = false, at.Change/10
	return false, nil
}

// optimism is how many times the progress of a geometric series a trial is trusted
// to make yet. Its first steps shrink faster than its later ones, so the plain
// extrapolation would give up too early.
const optimism = 10

// trial projects direction j out of current and makes steps in the smaller model.
// It returns the smaller point once that scores higher, and nil when it will not.
func (r *run[B, P, S]) trial(ctx context.Context, current *point[P, S], directions pruning.Directions, j int) (*point[P, S], error) {
	from, err := r.project(current, directions.Without(j), "objective", directions.Values[j:j+1])
	if err != nil {
		return nil, ctx.Err() // a model that cannot do without j keeps it
	}
	pruned := from.pruned
	defer func() { delete(r.benches, from.K) }()
	goal := current.Value + r.options.Tolerance*current.Evaluation.N
	to := &point[P, S]{}
	var gain float64
	for step := range r.options.Prune.Objective.StepsOr() {
		if err := r.step(ctx, from, to); err != nil {
			return nil, ctx.Err()
		}
		pruned = append(pruned, to.pruned...)
		if to.Value > goal {
			to.pruned = pruned
			return to, nil
		}
		if step > 0 {
			last := gain
			gain = to.Value - from.Value
			if gain <= 0 {
				return nil, nil
			}
			if ratio := gain / last; step > 1 && ratio < 1 && to.Value+optimism*gain/(1-ratio) < goal {
				return nil, nil
			}
		}
		if from.K != to.K {
			from = &point[P, S]{}
		}
		from, to = to, from
	}
	return nil, nil
}
