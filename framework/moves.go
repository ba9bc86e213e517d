package framework

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// Split and merge moves (Ueda, Nakano, Ghahramani & Hinton 2000) lead out of local maxima. Where the
// best run has converged, its latent dimensions are divided one at a time, the most promising first.
// A division that raises the criterion stays, where K may grow; otherwise the dimension that is then
// missed least is left out, and the K as before has to come out higher.

const (
	// divisionsEach is the number of ways in which each latent dimension is divided.
	divisionsEach = 2
	// mostMerges is the number of dimensions that are left out in turn after a division.
	mostMerges = 3
	// patience is the number of steps before a climb may be given up after a merge: the neighbours of what was
	// left out take its rows over first.
	patience = 4
	// effort bounds the steps of moves from one state, in iterations of the run so far.
	effort = 2
	// thoroughRows is the number of rows, or of their observations, up to which every division is followed up. Passes
	// over more are dear, and differences that matter show in the gain: of more rows, only divisions that promise one
	// are.
	thoroughRows = 5000
)

// A division is a state with one of its latent dimensions divided in two.
type division[P any] struct {
	dimension int
	p         P
	gain      float64
}

// moves tries moves from the best state, which has converged, and reports whether one succeeded.
func (r *run[B, P, S]) moves(ctx context.Context) (moved bool, err error) {
	current := r.best()
	if !r.divisible(current.K) {
		return false, nil
	}
	divisions, err := r.divisions(ctx, current)
	if err != nil {
		return false, err
	}
	end := r.steps + effort*r.at.Iteration
	for i := r.at.Followed; i < len(divisions) && r.steps < end; i++ {
		d := divisions[i]
		if observationsOf(r.src) > thoroughRows && d.gain <= 0 {
			break
		}
		next, err := r.move(ctx, current, d)
		if err != nil {
			return false, err
		}
		if next != nil {
			r.mu.Lock()
			r.at.Followed = i + 1
			r.mu.Unlock()
			next.split = []Split{{K: current.K + 1, Dimension: d.dimension}}
			return true, r.commit(next)
		}
	}
	return false, nil
}

type divisionKey struct{}

// DivisionOf returns the number of the division, 0 or 1, of one latent dimension that a fit asks Split for; 0 outside
// of fits. Divisions of different kinds find what two of one kind miss.
func DivisionOf(ctx context.Context) int {
	n, _ := ctx.Value(divisionKey{}).(int)
	return n
}

// divisible reports whether moves have somewhere to go from k latent dimensions.
func (r *run[B, P, S]) divisible(k int) bool { return k > 1 || r.grows(k) }

// grows reports whether k latent dimensions may become one more.
func (r *run[B, P, S]) grows(k int) bool { return !r.options.FixedK && k < r.options.K }

// divisions are those of all latent dimensions of a state that can be divided, in descending order of
// what they promise.
func (r *run[B, P, S]) divisions(ctx context.Context, at *point[P, S]) ([]division[P], error) {
	var list []division[P]
	ctx = drawingOnce(ctx, r.src)
	for i := range at.K * divisionsEach {
		k := i / divisionsEach
		rng := rand.New(rand.NewPCG(r.options.Seed, r.stream<<32|uint64(r.at.Iteration)<<12|uint64(i)))
		of := context.WithValue(ctx, divisionKey{}, i%divisionsEach)
		p, gain, err := r.can.split(of, r.model.Shape, r.src, at.S, at.P, k, rng)
		if err == nil {
			list = append(list, division[P]{k, p, gain})
		} else if err = fatal(ctx, err); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b division[P]) int { return cmp.Compare(b.gain, a.gain) })
	return list, nil
}

// leastGain is what a move must gain, in nats: less says nothing about a model, and may be what another way to the same
// maximum leaves to the tolerance.
const leastGain = 0.01

// move follows a division up. It returns the state that is better than current, nil if none is.
func (r *run[B, P, S]) move(ctx context.Context, current *point[P, S], d division[P]) (*point[P, S], error) {
	defer r.discard(func(k int) bool { return k != current.K })
	step := max(leastGain, r.options.Tolerance*current.Evaluation.N)
	goal := summit{
		current.K, current.Value + step, current.Objective + step, patience, r.options.Prune.Objective.StepsOr(),
	}
	higher := goal
	higher.patience = 0
	if !r.grows(current.K) {
		higher.value = math.Inf(1)
	}
	next, end, _, err := r.climb(ctx, &point[P, S]{K: current.K + 1, P: d.p}, higher)
	if next != nil || err != nil || end.K != current.K+1 || isNil(end.S) {
		return next, err
	}
	at, relevance, order, err := r.canonical(end)
	if err != nil {
		return nil, fatal(ctx, err)
	}
	order = free(order, relevance)
	slices.Reverse(order)
	order = slices.DeleteFunc(order, func(k int) bool { return k == d.dimension || k == current.K })
	for _, k := range order[:min(mostMerges, len(order))] {
		from, err := r.project(at, []int{k}, "merge", relevance[k:k+1])
		if err != nil {
			return nil, fatal(ctx, err)
		}
		if next, _, _, err = r.climb(ctx, from, goal); next != nil || err != nil {
			return next, err
		}
	}
	return nil, nil
}

// A summit is what a climb is to surpass: the criterion and, where K comes out the same, the objective,
// because that is what steps ascend there.
type summit struct {
	k                int
	value, objective float64
	patience         int // steps before it may be given up
	most             int // steps
}

func (s summit) below(k int, value, objective float64) bool {
	return value > s.value && (k != s.k || objective > s.objective)
}

// climb makes steps from a point until they surpass the goal: reached is then the point, with what was
// dropped on the way. Else it is nil, end where the steps have led, and reach an optimistic
// estimate of the criterion that more of them would end at, +Inf where there is none. An error that
// need not end the fit only ends the climb.
func (r *run[B, P, S]) climb(
	ctx context.Context, from *point[P, S], goal summit,
) (reached, end *point[P, S], reach float64, err error) {
	pruned := from.pruned
	to := &point[P, S]{}
	var gain float64
	for step := range goal.most {
		r.steps++
		if err := r.step(ctx, from, to); err != nil {
			return nil, from, math.Inf(1), fatal(ctx, err)
		}
		pruned = append(pruned, to.pruned...)
		if goal.below(to.K, to.Value, to.Objective) {
			to.pruned = pruned
			return to, to, to.Value, nil
		}
		if step > 0 {
			last := gain
			if gain = to.Value - from.Value; gain <= 0 && step >= goal.patience {
				return nil, to, to.Value, nil
			}
			if ahead, ok := remaining(last, gain); step > 1 && ok && step >= goal.patience {
				if ahead = min(ahead, gain*float64(goal.most-step)); to.Value+ahead < goal.value {
					return nil, to, to.Value + ahead, nil
				}
			}
		}
		if from.K != to.K {
			from = &point[P, S]{}
		}
		from, to = to, from
	}
	return nil, from, math.Inf(1), nil
}
