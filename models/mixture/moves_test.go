package mixture_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// clusters are rows about so many places on a line, four standard deviations apart.
func clusters(t *testing.T, n, k int) *blocks.Table {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	x := make([]float64, n)
	for i := range x {
		x[i] = 4*float64(i%k) + rng.NormFloat64()
	}
	return source(t, x, n, 1)
}

// TestMovesRaiseTheCriterion of fits that end in local maxima without them, whatever the number of workers, and where
// they are resumed in the middle of a move.
func TestMovesRaiseTheCriterion(t *testing.T) {
	src := clusters(t, 600, 6)
	m := mixture.MAP{Model: mixture.Model{Family: normal.Family{Covariance: normal.Tied}, Start: family.RandomRows}, Prior: prior.DataScaled{Kappa: 0.01}}
	moved := 0
	for seed := range uint64(12) {
		o := framework.Options{K: 6, Method: framework.EM, Seed: seed, Workers: 1, NoMoves: true, MaxIterations: 3000}
		plain, err := framework.Fit(t.Context(), m, src, o)
		if err != nil {
			continue
		}
		o.NoMoves = false
		res := fit(t, m, src, o)
		assert.GreaterOrEqual(t, res.Value, plain.Value)
		for _, s := range res.Split {
			assert.Greater(t, s.After, s.Before)
			assert.Equal(t, 7, s.K)
		}
		assert.Len(t, res.Pruned, len(res.Split), "K is fixed")
		if len(res.Split) == 0 {
			continue
		}
		moved++
		o.Workers = 3
		again := fit(t, m, src, o)
		assert.Equal(t, res.Trace, again.Trace)

		stop := errors.New("stop")
		o.Recorder = func(e framework.Event) error {
			if e.Iteration == res.Split[0].Iteration {
				return stop
			}
			return nil
		}
		part, err := framework.Fit(t.Context(), m, src, o)
		require.ErrorIs(t, err, stop)
		o.Recorder = nil
		o.Resume, err = part.Checkpoint()
		require.NoError(t, err)
		resumed := fit(t, m, src, o)
		assert.Equal(t, res.Trace, resumed.Trace)
		assert.Equal(t, res.Split, resumed.Split)
	}
	assert.Positive(t, moved)

	bare := fit(t, m.Model, src, framework.Options{K: 6, Method: framework.EM, Seed: 2})
	assert.Empty(t, bare.Split, "the likelihood alone")
}

// TestKDoublesByItself from 2 to what six clusters need, and no further.
func TestKDoublesByItself(t *testing.T) {
	src, m := clusters(t, 1200, 6), mixture.Model{Family: normal.Family{}}
	o := framework.Options{K: 2, Restarts: 2, DoubleTo: 100}
	res := fit(t, m, src, o)
	assert.Equal(t, 6, res.Shape.K)
	var from []int
	for _, r := range res.Restarts {
		from = append(from, r.From)
	}
	assert.Equal(t, []int{2, 2, 4, 4, 8, 8}, from)
	o.DoubleTo = 4
	assert.Equal(t, 4, fit(t, m, src, o).Shape.K)
}

// TestKDoublesUntilMoreIsClearlyWorse: spheres for two uniform squares, best with four each, where 9 and 10 are hardly
// worse, and 17 to 20 are.
func TestKDoublesUntilMoreIsClearlyWorse(t *testing.T) {
	const n, clear = 600, 10
	rng := rand.New(rand.NewPCG(1, 4))
	x := make([]float64, 2*n)
	for i := range x {
		x[i] = 2 * rng.Float64()
		if i%4 == 0 {
			x[i] += 2.5
		}
	}
	src, err := blocks.FromSlice(x, n, 2)
	require.NoError(t, err)
	res := fit(t, mixture.Model{Family: normal.Family{Covariance: normal.EII}}, src,
		framework.Options{K: 10, Restarts: 2, DoubleTo: 100})
	assert.Equal(t, 8, res.Shape.K)
	assert.Equal(t, 20, res.Restarts[len(res.Restarts)-1].From)
	assert.Greater(t, slices.Max(res.Met[9:11]), res.Value-clear)
	assert.Less(t, slices.Max(res.Met[17:]), res.Value-clear)
}

// TestStartsThatAreTheSame count once: one component begins in one way only.
func TestStartsThatAreTheSame(t *testing.T) {
	src := clusters(t, 300, 2)
	for k, want := range map[int][]int{1: {0, 0, 0, 0}, 4: {0, 1, 2, 3}} {
		var same []int
		for _, r := range fit(t, mixture.Model{Family: normal.Family{}}, src, framework.Options{K: k, Restarts: 4}).Restarts {
			same = append(same, r.Same)
		}
		assert.Equal(t, want, same, "K = %d", k)
	}
}
