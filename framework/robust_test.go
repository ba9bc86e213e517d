package framework_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/panics"
	"github.com/latent-go/latent/pruning"
)

// passes is a source whose behaviour depends on the number of the pass.
type passes struct {
	chopped
	n  *int
	at func(pass int, yield func(blocks.Rows, error) bool, rest iter.Seq2[blocks.Rows, error])
}

func (p passes) Blocks(ctx context.Context) iter.Seq2[blocks.Rows, error] {
	list := p.chopped.Blocks(ctx)
	return func(yield func(blocks.Rows, error) bool) {
		*p.n++
		p.at(*p.n, yield, list)
	}
}

func TestQuietlyStoppedPassIsNotTakenForAWholeOne(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	src := passes{chopped{table(mixed(2000, 1))}, new(int), func(pass int, yield func(blocks.Rows, error) bool, rest iter.Seq2[blocks.Rows, error]) {
		seen := 0
		for b, err := range rest {
			if seen++; pass == 6 && seen == 11 {
				cancel()
				return // as sources do that look at the context themselves
			}
			if !yield(b, err) {
				return
			}
		}
	}}
	o := framework.Options{K: 3, Method: framework.EM, Workers: 1}
	part, err := framework.Fit(ctx, poisson{}, src, o)
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, part)
	assert.Equal(t, 2000.0, part.N)
	o.Resume, err = part.Checkpoint()
	require.NoError(t, err)
	resumed, err := framework.Fit(background, poisson{}, src, o)
	require.NoError(t, err)
	o.Resume = nil
	uninterrupted, err := framework.Fit(background, poisson{}, chopped{table(mixed(2000, 1))}, o)
	require.NoError(t, err)
	assert.Equal(t, uninterrupted.Trace, resumed.Trace)
}

func TestSourceThatLosesRowsIsRefused(t *testing.T) {
	src := passes{chopped{table(mixed(2000, 1))}, new(int), func(pass int, yield func(blocks.Rows, error) bool, rest iter.Seq2[blocks.Rows, error]) {
		seen := 0
		for b, err := range rest {
			if seen++; pass > 8 && seen > 20 || !yield(b, err) {
				return
			}
		}
	}}
	_, err := framework.Fit(background, poisson{}, src, framework.Options{K: 3, Method: framework.EM})
	assert.ErrorContains(t, err, "the same rows each time")
}

// TestSourceErrorEndsTheFitWhereverItHappens includes the trials of the pruning rule,
// which forgive a model but not a disk.
func TestSourceErrorEndsTheFitWhereverItHappens(t *testing.T) {
	tab := chopped{table(mixed(300, 3))}
	o := framework.Options{K: 5, Workers: 1, Tolerance: 1e-6}
	uninterrupted, err := framework.Fit(background, poisson{}, tab, o)
	require.NoError(t, err)
	require.Greater(t, uninterrupted.Passes, uninterrupted.Iterations, "there were trials")
	for bad := 1; bad <= uninterrupted.Passes; bad++ {
		src := passes{tab, new(int), func(pass int, yield func(blocks.Rows, error) bool, rest iter.Seq2[blocks.Rows, error]) {
			if pass > bad {
				yield(blocks.Rows{}, errDisk)
				return
			}
			rest(yield)
		}}
		_, err := framework.Fit(background, poisson{}, src, o)
		require.ErrorIs(t, err, errDisk, "from pass %d on", bad+1)
	}
}

func TestRecorderCallsNeverOverlap(t *testing.T) {
	var inside, calls atomic.Int32
	o := framework.Options{Method: framework.EM, Workers: 4, Restarts: 2, Recorder: func(framework.Event) error {
		if inside.Add(1) > 1 {
			return errors.New("called twice at a time")
		}
		calls.Add(1)
		for range 1000 {
			_ = rand.Uint64()
		}
		inside.Add(-1)
		return nil
	}}
	_, err := framework.Select(background, poisson{}, table(mixed(200, 1)), []int{1, 2, 3, 4}, o)
	require.NoError(t, err)
	assert.Greater(t, calls.Load(), int32(8))
}

// explosive panics in a row of its choice.
type explosive struct{ poisson }

func (explosive) Infer(b blocks.Rows, p *rates, s *counts) (float64, error) {
	if b.First > 500 {
		panic("boom")
	}
	return poisson{}.Infer(b, p, s)
}

// requirePanic holds what f panics with to a value, and to the stack of the method that panicked.
func requirePanic(t *testing.T, value any, method string, f func()) {
	t.Helper()
	defer func() {
		p, ok := recover().(*panics.Panic)
		require.True(t, ok)
		assert.Equal(t, value, p.Value)
		assert.Contains(t, fmt.Sprint(p), method)
	}()
	f()
}

func TestPanicOfAModelReachesTheCallerWithItsStack(t *testing.T) {
	src := chopped{table(mixed(1000, 1))}
	for _, workers := range []int{1, 2} {
		o := framework.Options{K: 2, Workers: workers, Restarts: 2}
		requirePanic(t, "boom", "explosive.Infer", func() { _, _ = framework.Fit(background, explosive{}, src, o) })
		requirePanic(t, "boom", "explosive.Infer", func() { _, _ = framework.Select(background, explosive{}, src, []int{1, 2}, o) })
	}
}

func TestNormalisedWeightsAreRefused(t *testing.T) {
	w := make([]float64, 100)
	for i := range w {
		w[i] = 0.01
	}
	_, err := table(mixed(100, 1)).WithWeights(w)
	assert.ErrorContains(t, err, "multiply")
}

func TestRecorderErrorKeepsTheBestState(t *testing.T) {
	src := table(mixed(300, 2))
	uninterrupted, err := framework.Fit(background, poisson{}, src, framework.Options{K: 5})
	require.NoError(t, err)
	enough := errors.New("enough")
	o := framework.Options{K: 5, Recorder: func(e framework.Event) error {
		if e.Iteration == 4 {
			return enough
		}
		return nil
	}}
	part, err := framework.Fit(background, poisson{}, src, o)
	require.ErrorIs(t, err, enough)
	require.Equal(t, 4, part.Iterations)
	assert.Equal(t, framework.Cancelled, part.Status)
	o.Recorder = nil
	o.Resume, err = part.Checkpoint()
	require.NoError(t, err)
	resumed, err := framework.Fit(background, poisson{}, src, o)
	require.NoError(t, err)
	assert.Equal(t, uninterrupted.Trace, resumed.Trace)
	assert.Equal(t, uninterrupted.Pruned, resumed.Pruned)
}

func TestIterationLimitCanBeRaised(t *testing.T) {
	src := table(mixed(300, 2))
	o := framework.Options{K: 5, Restarts: 2}
	uninterrupted, err := framework.Fit(background, poisson{}, src, o)
	require.NoError(t, err)
	o.MaxIterations = 6
	first, err := framework.Fit(background, poisson{}, src, o)
	require.NoError(t, err)
	require.Equal(t, framework.IterationLimit, first.Status)
	o.MaxIterations = 0
	o.Resume, err = first.Checkpoint()
	require.NoError(t, err)
	second, err := framework.Fit(background, poisson{}, src, o)
	require.NoError(t, err)
	assert.Equal(t, uninterrupted.Trace, second.Trace)
	assert.Equal(t, uninterrupted.Restarts, second.Restarts)
}

func TestCheckpointBelongsToItsRules(t *testing.T) {
	src := table(mixed(300, 2))
	o := framework.Options{K: 5, MaxIterations: 6}
	first, err := framework.Fit(background, poisson{}, src, o)
	require.NoError(t, err)
	o.Resume, err = first.Checkpoint()
	require.NoError(t, err)
	o.Prune = pruning.Rules{Eigenvalue: pruning.Eigenvalue{Observations: 0.1}}
	_, err = framework.Fit(background, poisson{}, src, o)
	assert.ErrorContains(t, err, "another fit")
}

func TestCancelledScoringStillGivesTheFit(t *testing.T) {
	src := table(mixed(300, 2))
	o := framework.Options{K: 3, Method: framework.EM, Workers: 1, Also: []framework.Criterion{framework.BIC}}
	uninterrupted, err := framework.Fit(background, poisson{}, src, o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(background)
	n := new(int)
	last := passes{chopped{src}, n, func(pass int, yield func(blocks.Rows, error) bool, rest iter.Seq2[blocks.Rows, error]) {
		if pass == uninterrupted.Passes+2 { // after the start's pass and the iterations'
			cancel()
		}
		rest(yield)
	}}
	part, err := framework.Fit(ctx, poisson{}, last, o)
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, part)
	assert.Equal(t, framework.Cancelled, part.Status)
	require.Len(t, part.Scores, 1)
	assert.Equal(t, "BICEM", part.Scores[0].Criterion)
	_, err = part.Checkpoint()
	assert.NoError(t, err)
}

// wobbling makes a global step that misses its maximum by a little, differently each
// time, as a model's whose F depends on Π in a way that its steps do not follow.
type wobbling struct {
	poisson
	rng *rand.Rand
}

func (w wobbling) Maximize(s *counts, p, dst *rates) (*rates, error) {
	out, err := w.poisson.Maximize(s, p, dst)
	for k := range out.Rates {
		out.Rates[k] *= 1 + 0.02*w.rng.Float64()
	}
	return out, err
}

func TestFallingObjectiveDoesNotSkipThePruning(t *testing.T) {
	for seed := range uint64(4) {
		res, err := framework.Fit(background, wobbling{rng: rand.New(rand.NewPCG(seed, 1))}, table(mixed(3000, seed)), framework.Options{K: 8, Seed: seed})
		require.NoError(t, err)
		assert.Equal(t, 3, res.Shape.K, "seed %d: %v", seed, res.Status)
	}
}

// dividing counts how often a fit asks for divisions, of which there are none.
type dividing struct {
	wobbling
	asked *int
}

func (d dividing) Split(
	context.Context, framework.Source[blocks.Rows], *counts, *rates, int, *rand.Rand,
) (*rates, float64, error) {
	*d.asked++
	return nil, 0, errors.New("nothing to divide")
}

// TestMovesFollowAFallingObjective: where the steps do not quite ascend the objective, a fit ends at the best state all
// the same, and moves lead out of it as out of one that has converged.
func TestMovesFollowAFallingObjective(t *testing.T) {
	asked := 0
	m := dividing{wobbling{rng: rand.New(rand.NewPCG(1, 1))}, &asked}
	res, err := framework.Fit(background, m, table(mixed(3000, 1)), framework.Options{K: 3})
	require.NoError(t, err)
	require.Equal(t, framework.Falling, res.Status)
	assert.Positive(t, asked)
}

func TestEvaluateScoresOtherRows(t *testing.T) {
	res, err := framework.Fit(background, poisson{}, table(mixed(500, 1)), framework.Options{K: 3, Method: framework.EM, Tolerance: 1e-13})
	require.NoError(t, err)
	same, err := framework.Evaluate(background, poisson{}, table(mixed(500, 1)), res.Parameters, 1)
	require.NoError(t, err)
	assert.InEpsilon(t, res.Value, framework.BICEM.Value(&same), 1e-9)
	assert.InEpsilon(t, same.Bound(), same.LogLikelihood, 1e-15)
	other, err := framework.Evaluate(background, poisson{}, table(mixed(500, 2)), res.Parameters, 2)
	require.NoError(t, err)
	assert.NotEqual(t, same.LogLikelihood, other.LogLikelihood)
}

func TestUnknownValuesHaveNames(t *testing.T) {
	assert.Equal(t, "Method(17)", fmt.Sprint(framework.Method(17)))
	assert.Equal(t, "Status(-1)", fmt.Sprint(framework.Status(-1)))
}

func TestIterationLimitIsNeverExceeded(t *testing.T) {
	src := table(mixed(300, 2))
	uninterrupted, err := framework.Fit(background, poisson{}, src, framework.Options{K: 5})
	require.NoError(t, err)
	for limit := 1; limit < uninterrupted.Iterations; limit += 3 {
		o := framework.Options{K: 5, MaxIterations: limit}
		part, err := framework.Fit(background, poisson{}, src, o)
		require.NoError(t, err)
		require.Equal(t, limit, part.Iterations)
		o.MaxIterations = 0
		o.Resume, err = part.Checkpoint()
		require.NoError(t, err)
		resumed, err := framework.Fit(background, poisson{}, src, o)
		require.NoError(t, err)
		require.Equal(t, uninterrupted.Trace, resumed.Trace, "limit %d", limit)
	}
}

func TestWeightsBeyondTheRangeAreRefusedForWhatTheyAre(t *testing.T) {
	for text, w := range map[string][]float64{
		"sum to 0":                       {0, 0},
		"sum to more than float64 holds": {1e308, 1e308},
		"weight of row 2 is -1":          {1, -1},
	} {
		_, err := table([]float64{1, 2}).WithWeights(w)
		assert.ErrorContains(t, err, text)
	}
}

// TestFoldFailsAtTheFirstBlock: whether by an error or a panic, and for any number of workers.
func TestFoldFailsAtTheFirstBlock(t *testing.T) {
	src := chopped{table(mixed(1000, 1))}
	fold := func(workers int, visit func(b blocks.Rows) error) error {
		_, err := framework.Fold(background, src, workers, func() (*int, error) { return new(int), nil },
			func(_ *int, b blocks.Rows) error { return visit(b) }, func(_, _ *int) error { return nil })
		return err
	}
	for _, workers := range []int{1, 2, 5} {
		err := fold(workers, func(b blocks.Rows) error {
			if b.First > 500 {
				panic("boom")
			}
			if b.First > 300 {
				return fmt.Errorf("row %d", b.First)
			}
			return nil
		})
		assert.EqualError(t, err, fold(1, func(b blocks.Rows) error {
			if b.First > 300 {
				return fmt.Errorf("row %d", b.First)
			}
			return nil
		}).Error())
	}
	requirePanic(t, "boom", "explode", func() { _ = fold(3, explode) })
}

func explode(blocks.Rows) error { panic("boom") }

// A miscounted source says that it has other rows than it yields.
type miscounted struct {
	framework.Source[blocks.Rows]
	says int
}

func (m miscounted) Rows() int { return m.says }

func TestSourcesThatYieldOtherRowsThanTheySayAreRefused(t *testing.T) {
	rows := chopped{table(mixed(2000, 1))}
	for _, says := range []int{1000, 1999, 2001, 3000} {
		src := miscounted{rows, says}
		want := fmt.Sprintf("framework: the source has yielded 2000 rows, and its Rows is %d: they must be equal", says)
		_, err := framework.Fit(background, poisson{}, src, framework.Options{K: 3})
		assert.EqualError(t, err, want)
		_, err = framework.Fit(background, poisson{},
			framework.Elsewhere[blocks.Rows](src, cluster{rows, new(int)}), framework.Options{K: 3})
		assert.EqualError(t, err, want, "elsewhere")
	}
}
