package framework_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/laplace"
)

// climbed says whether the objective never falls while K stays, but by rounding.
func climbed(t require.TestingT, objective []float64, k []int) {
	for i := 1; i < len(objective); i++ {
		if k[i] == k[i-1] {
			require.GreaterOrEqual(t, objective[i], objective[i-1]-1e-12*math.Abs(objective[i]), "iteration %d", i+1)
		}
	}
}

// TestAccelerationSavesMostOfTheIterationsOfACreepingFit and ends higher: where its own last step
// changes as little as the plain fit's.
func TestAccelerationSavesMostOfTheIterationsOfACreepingFit(t *testing.T) {
	for seed := range uint64(4) {
		src := table(mixed(400, seed))
		o := framework.Options{K: 5, Method: framework.EM, Seed: seed}
		plain := tempered(t, vague{}, src, o)
		o.Accelerate = true
		fast := tempered(t, vague{}, src, o)
		t.Logf("%d passes, %d plain", fast.Passes, plain.Passes)
		require.Equal(t, framework.Converged, plain.Status)
		require.Equal(t, framework.Converged, fast.Status)
		assert.Less(t, fast.Passes, plain.Passes/2, "seed %d", seed)
		assert.GreaterOrEqual(t, fast.Value, plain.Value-1e-9*400, "seed %d", seed)
		climbed(t, fast.Objective, fast.KTrace)
		assert.Zero(t, fast.Fall)
	}
}

// TestConvergenceOfAnAcceleratedFitIsThatOfAPlainOne: at its end, a plain fit has nothing left to do.
func TestConvergenceOfAnAcceleratedFitIsThatOfAPlainOne(t *testing.T) {
	src := table(mixed(400, 3))
	for _, tolerance := range []float64{1e-5, 1e-9} {
		o := framework.Options{K: 5, Method: framework.EM, Accelerate: true, Tolerance: tolerance}
		fast := tempered(t, vague{}, src, o)
		o.Accelerate, o.MaxIterations = false, 1
		next := tempered(t, resuming{from: fast.Parameters}, src, o)
		gain := next.Value - fast.Value
		assert.GreaterOrEqual(t, gain, -1e-9)
		assert.LessOrEqual(t, gain, tolerance*400)
	}
}

// resuming starts from given parameters.
type resuming struct {
	vague
	from *beliefs
}

func (m resuming) Init(context.Context, framework.Source[blocks.Rows], int, *rand.Rand) (*beliefs, error) {
	return m.from, nil
}

func TestAcceleratedObjectiveNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(20, 150).Draw(t, "n")
		x := rapid.SliceOfN(rapid.Float64Range(0, 30), n, n).Draw(t, "x")
		for i, v := range x {
			x[i] = math.Floor(v)
		}
		o := framework.Options{
			K:             rapid.IntRange(1, 6).Draw(t, "k"),
			Method:        rapid.SampledFrom([]framework.Method{framework.EM, framework.FAB, framework.GFAB}).Draw(t, "method"),
			Temper:        rapid.SampledFrom([]float64{1, 0.4}).Draw(t, "temper"),
			Seed:          rapid.Uint64().Draw(t, "seed"),
			MaxIterations: 500,
			Workers:       1,
			Accelerate:    true,
		}
		res, err := framework.Fit(background, vague{}, table(x), o)
		require.NoError(t, err)
		climbed(t, res.Objective, res.KTrace)
		require.Zero(t, res.Fall)
		require.Len(t, res.Objective, res.Iterations)
		require.GreaterOrEqual(t, res.Passes, res.Iterations)
	})
}

// TestAcceleratedFitHasTheSameBits for any number of workers, and when it is cancelled wherever it is.
func TestAcceleratedFitHasTheSameBits(t *testing.T) {
	src := chopped{table(mixed(333, 7))}
	for _, method := range []framework.Method{framework.EM, framework.GFAB} {
		o := framework.Options{K: 5, Method: method, Workers: 1, Restarts: 2, Accelerate: true, Tolerance: 1e-7}
		looks := &countdown{background, math.MaxInt}
		uninterrupted, err := framework.Fit(looks, vague{}, src, o)
		require.NoError(t, err)
		same := func(res *beliefsFit, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, uninterrupted.Parameters, res.Parameters)
			require.Equal(t, uninterrupted.Trace, res.Trace)
			require.Equal(t, uninterrupted.Objective, res.Objective)
			require.Equal(t, uninterrupted.Pruned, res.Pruned)
			require.Equal(t, uninterrupted.Restarts, res.Restarts)
		}
		o.Workers = 3
		same(framework.Fit(background, vague{}, src, o))
		total := math.MaxInt - looks.left
		require.Greater(t, total, 500)
		resumed, stops := 0, tier.Of(12, 60, 60)
		for at := 12; at < total; at += total / stops {
			o.Workers, o.Resume = 1, nil
			part, err := framework.Fit(&countdown{background, at}, vague{}, src, o)
			require.ErrorIs(t, err, context.Canceled)
			if part == nil {
				continue // before the first iteration ended
			}
			o.Resume, err = part.Checkpoint()
			require.NoError(t, err)
			same(framework.Fit(background, vague{}, src, o))
			resumed++
		}
		require.Greater(t, resumed, stops*5/6)
	}
}

// A guarded model knows extrapolated statistics, and parameters made of them.
type guarded struct {
	inner vague
	trap  trap
}

// trap is what goes wrong at an extrapolation.
type trap int

const (
	noMaximum trap = iota
	nan
	distant
	noRow
	lower
)

type guardedBeliefs struct {
	*beliefs
	Extrapolated bool
}

type scaled struct {
	Measured *measured
	Scaled   bool
}

func (s *scaled) Observations() float64 { return s.Measured.Observations() }
func (s *scaled) Merge(o *scaled)       { s.Measured.Merge(o.Measured) }
func (s *scaled) Scale(f float64)       { s.Scaled = true; s.Measured.Scale(f) }
func (guarded) BoundsEvidence()         {}

func (m guarded) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*guardedBeliefs, error) {
	p, err := m.inner.Init(ctx, src, k, rng)
	return &guardedBeliefs{p, false}, err
}

func (m guarded) NewStatistics(p *guardedBeliefs) *scaled {
	return &scaled{m.inner.NewStatistics(p.beliefs), false}
}

func (m guarded) Prepare(p *guardedBeliefs, tilt *laplace.Tilt, s *scaled) error {
	s.Scaled = false
	return m.inner.Prepare(p.beliefs, tilt, s.Measured)
}

var errTrap = errors.New("statistics that no rows have")

func (m guarded) Infer(b blocks.Rows, p *guardedBeliefs, s *scaled) (float64, error) {
	h, err := m.inner.Infer(b, p.beliefs, s.Measured)
	switch {
	case p.Extrapolated && m.trap == noRow:
		return 0, errTrap
	case p.Extrapolated && m.trap == lower:
		h -= 1000
	}
	return h, err
}

func (m guarded) Maximize(s *scaled, p, _ *guardedBeliefs) (*guardedBeliefs, error) {
	q, err := m.inner.Maximize(s.Measured, p.beliefs, nil)
	if s.Scaled {
		switch m.trap {
		case noMaximum:
			return nil, errTrap
		case nan:
			q.Rates[0] = math.NaN()
		case distant:
			q.Shapes[0] *= 10
		}
	}
	return &guardedBeliefs{q, s.Scaled}, err
}

func (m guarded) LogJoint(s *scaled, p *guardedBeliefs) float64 {
	return m.inner.LogJoint(s.Measured, p.beliefs)
}

func (m guarded) Shape(p *guardedBeliefs) framework.Shape { return m.inner.Shape(p.beliefs) }

// TestBadExtrapolationChangesNothing but the number of passes, where it was only seen by making one.
func TestBadExtrapolationChangesNothing(t *testing.T) {
	src := table(mixed(400, 1))
	o := framework.Options{K: 4, Method: framework.EM}
	plain := tempered(t, vague{}, src, o)
	for trap, tried := range map[trap]bool{noMaximum: false, nan: false, distant: false, noRow: true, lower: true} {
		o.Accelerate = true
		res, err := framework.Fit(background, guarded{trap: trap}, src, o)
		require.NoError(t, err)
		assert.Equal(t, plain.Objective, res.Objective, "trap %d", trap)
		assert.Equal(t, plain.Parameters, res.Parameters.beliefs)
		assert.Equal(t, framework.Converged, res.Status)
		if tried {
			assert.Greater(t, res.Passes, res.Iterations, "trap %d", trap)
		} else {
			assert.Equal(t, res.Iterations, res.Passes, "trap %d", trap)
		}
	}
}

func TestAccelerationNeedsScaler(t *testing.T) {
	_, err := framework.Fit(background, poisson{}, table(mixed(50, 1)), framework.Options{K: 2, Accelerate: true})
	assert.EqualError(t, err, "framework: Accelerate is set, and the statistics of framework_test.poisson, *framework_test.counts, do not implement optional.Scaler (a Scale method)")
}

// counting counts the scores that a fit asks for.
type counting struct {
	vague
	scores *int
}

func (c counting) LogJoint(s *measured, p *beliefs) float64 {
	*c.scores++
	return c.vague.LogJoint(s, p)
}

// TestAnExtrapolationScoresEachPairOnce: also where a step ends that the next one begins at. Both would be 32 scores an
// iteration here.
func TestAnExtrapolationScoresEachPairOnce(t *testing.T) {
	scores := 0
	o := framework.Options{K: 5, Method: framework.EM, Accelerate: true}
	res, err := framework.Fit(background, counting{scores: &scores}, table(mixed(400, 1)), o)
	require.NoError(t, err)
	require.Greater(t, res.Iterations, 50)
	assert.Less(t, float64(scores)/float64(res.Iterations), 28.0)
}
