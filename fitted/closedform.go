package fitted

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/framework"
)

// Solutions holds the solutions of a closed form for every K, from 1 to Max.
type Solutions[R any] interface {
	Max() int // the largest K that has a solution
	Value(k int, c framework.Criterion) (float64, error)
	// Evaluation evaluates the estimates to which a criterion refers.
	Evaluation(k int, of framework.Criterion) (framework.Evaluation, error)
	// Found describes the solution for k, chosen by a criterion; alone says that no other K was considered.
	Found(k int, by framework.Criterion, alone bool) (R, error)
}

// An Extender is a [Solutions] that can continue to kmax from its present Max. Bound.DoubleTo has no effect on other
// [Solutions].
type Extender interface {
	Extend(kmax int) error
}

// A ClosedForm is the [Problem] of a model with a closed form: it solves for every K up to kmax at once.
type ClosedForm[R any] func(kmax int) (Solutions[R], error)

// Fit solves for K.
func (f ClosedForm[R]) Fit(ctx context.Context, o framework.Options) (*framework.Result[R, struct{}], error) {
	s, err := f.Select(ctx, []int{o.K}, o, o.Criterion)
	if err != nil {
		return nil, err
	}
	return s.Open(0)
}

// beyond is the number of K that are tried beyond the best one: at least 3, and a quarter of it. What a further
// dimension explains falls with K, and what it costs hardly changes, so a criterion that has fallen as often does not
// rise again.
func beyond(best int) int { return max(3, best/4) }

// Select solves for every K of ks. Until it has tried so many K beyond the best by the first criterion that this has
// fallen for good, it raises the largest K, up to o.DoubleTo, and continues.
func (f ClosedForm[R]) Select(
	ctx context.Context, ks []int, o framework.Options, criteria ...framework.Criterion,
) (*Selection[R], error) {
	solutions, err := f(ks[len(ks)-1])
	if err != nil {
		return nil, err
	}
	for looked, best, highest := 0, 0, math.Inf(-1); ctx.Err() == nil; {
		largest := ks[len(ks)-1]
		for ; looked < len(ks) && ks[looked] <= solutions.Max(); looked++ {
			v, err := solutions.Value(ks[looked], criteria[0])
			if err != nil {
				return nil, err
			}
			if v > highest {
				best, highest = ks[looked], v
			}
		}
		more := min(best+beyond(best), o.DoubleTo)
		further, can := solutions.(Extender)
		if !can || more <= largest || largest > solutions.Max() {
			break
		}
		for k := largest + 1; k <= more; k++ {
			ks = append(ks, k)
		}
		if err := further.Extend(more); err != nil {
			return nil, err
		}
	}
	s := &Selection[R]{}
	s.K, s.Criteria = ks, criteria
	for _, k := range ks {
		if k > solutions.Max() {
			s.fail(fmt.Errorf("no solution at K = %d: no noise is left beyond K = %d", k, solutions.Max()))
			continue
		}
		row := make([]float64, len(criteria))
		for j, c := range criteria {
			if row[j], err = solutions.Value(k, c); err != nil {
				return nil, err
			}
		}
		e, err := solutions.Evaluation(k, framework.BIC)
		if err != nil {
			return nil, err
		}
		var none R
		s.add(row, Solved(none, criteria[0], row[0], e))
	}
	if s.Errs[0] != nil {
		return nil, s.Errs[0]
	}
	s.Open = func(i int) (*framework.Result[R, struct{}], error) {
		found, err := solutions.Found(ks[i], criteria[0], len(ks) == 1)
		if err != nil {
			return nil, err
		}
		e, err := solutions.Evaluation(ks[i], criteria[0])
		res := Solved(found, criteria[0], s.Values[i][0], e)
		for _, c := range []framework.Criterion{
			framework.Evidence, framework.GFIC, framework.FIC, framework.BICEM, framework.ELBO,
		} {
			if v, err := solutions.Value(ks[i], c); err == nil {
				res.Scores = append(res.Scores, framework.Score{Criterion: c.Name, Value: v})
			}
		}
		return res, err
	}
	return s, ctx.Err()
}

func (s *Selection[R]) add(values []float64, fit *framework.Result[R, struct{}]) {
	s.Values, s.Fits, s.Errs = append(s.Values, values), append(s.Fits, fit), append(s.Errs, nil)
}

// fail is a K without a fit.
func (s *Selection[R]) fail(err error) {
	row := slices.Repeat([]float64{math.NaN()}, len(s.Criteria))
	s.Values, s.Fits, s.Errs = append(s.Values, row), append(s.Fits, nil), append(s.Errs, err)
}

// Solved returns a closed form's outcome as a result: the description found, its value by criterion c, and BIC and
// AIC, which are NaN if e has no likelihood.
func Solved[R any](
	found R, c framework.Criterion, value float64, e framework.Evaluation,
) *framework.Result[R, struct{}] {
	f := &framework.Result[R, struct{}]{Parameters: found}
	f.Shape, f.N, f.Value, f.Criterion, f.Status, f.Evaluation = e.Shape, e.N, value, c.Name, framework.Solved, e
	for _, one := range []framework.Criterion{framework.BIC, framework.AIC} {
		f.Scores = append(f.Scores, framework.Score{Criterion: one.Name, Value: one.Value(&e)})
	}
	return f
}

// SelectionOf returns a selection of given fits and their values. For each nil fit there must be an error.
func SelectionOf[R any](
	ks []int, criteria []framework.Criterion, fits []*framework.Result[R, struct{}], errs ...error,
) *Selection[R] {
	s := &Selection[R]{Open: func(i int) (*framework.Result[R, struct{}], error) { return fits[i], nil }}
	s.K, s.Criteria = ks, criteria
	for i, fit := range fits {
		if fit == nil {
			s.fail(errs[i])
			continue
		}
		values, row := fit.Values(), make([]float64, len(criteria))
		values[fit.Criterion] = fit.Value
		for j, c := range criteria {
			value, has := values[c.Name]
			if row[j] = value; !has {
				row[j] = math.NaN()
			}
		}
		s.add(row, fit)
	}
	return s
}
