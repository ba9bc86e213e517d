package hmm_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

func fit(t testing.TB, m hmm.Model, src framework.Source[blocks.Sequences], o framework.Options) *framework.Result[*hmm.Parameters, *hmm.Statistics] {
	t.Helper()
	res, err := framework.Fit(context.Background(), m, src, o)
	require.NoError(t, err)
	return res
}

// cut makes sequences of the steps of a test table.
func cut(t testing.TB, c conforming) (*blocks.SequenceTable, *blocks.Table) {
	t.Helper()
	raw := c.x.RawMatrix()
	table, err := blocks.FromIncomplete(raw.Data, raw.Rows, raw.Cols)
	require.NoError(t, err)
	src, err := blocks.NewSequences(table, c.ends)
	require.NoError(t, err)
	return src, table
}

func TestOneStateIsTheMixtureOfOneComponent(t *testing.T) {
	for _, c := range conformingCases() {
		src, table := cut(t, c)
		o := framework.Options{K: 1, Also: []framework.Criterion{framework.FIC, framework.BIC, framework.AIC, framework.ICL, framework.BICEM}}
		res := fit(t, hmm.Model{Family: c.family}, src, o)
		want, err := framework.Fit(context.Background(), mixture.Model{Family: c.family}, table, o)
		require.NoError(t, err)
		for i, score := range want.Scores {
			assert.InDelta(t, score.Value, res.Scores[i].Value, 1e-9*math.Abs(score.Value), "%s: %s", c.name, score.Criterion)
		}
		assert.InDeltaSlice(t, want.Parameters.Components, res.Parameters.Components, 1e-9)
	}
}

func TestEqualRowsAreTheMixture(t *testing.T) {
	for _, c := range conformingCases() {
		src, table := cut(t, c)
		mix := mixture.Model{Family: c.family}
		start, err := framework.Fit(context.Background(), mix, table, framework.Options{K: 3, Method: framework.EM, MaxIterations: 2})
		require.NoError(t, err)
		q := start.Parameters
		p := &hmm.Parameters{K: 3, D: q.D, Start: q.Weights, Transitions: slices.Repeat(q.Weights, 3), Components: q.Components, Pooled: q.Pooled}
		m := hmm.Model{Family: c.family}
		s, entropy, err := framework.LocalStep(context.Background(), m, src, p, 1)
		require.NoError(t, err)
		ms, mixed, err := framework.LocalStep(context.Background(), mix, table, q, 1)
		require.NoError(t, err)
		assert.InDelta(t, mixed, entropy, 1e-9)
		assert.InDelta(t, mix.LogJoint(ms, q), m.LogJoint(s, p), 1e-8)
		assert.InDeltaSlice(t, ms.Nk, s.Nk, 1e-9)
		assert.InDeltaSlice(t, ms.Classes.Sums, s.Classes.Sums, 1e-7*floats.Norm(ms.Classes.Sums, math.Inf(1)))
		smoothed, err := m.Responsibilities(src.All(), p, nil)
		require.NoError(t, err)
		want, err := mix.Responsibilities(table.All(), q, nil)
		require.NoError(t, err)
		assert.InDeltaSlice(t, want, smoothed, 1e-9)
	}
}

func TestSequencesOfOneStepAreAMixture(t *testing.T) {
	c := conformingCases()[0]
	rows := len(c.x.RawMatrix().Data) / 2
	ends := make([]int, rows)
	for i := range ends {
		ends[i] = i + 1
	}
	c.ends = ends
	src, table := cut(t, c)
	res := fit(t, hmm.Model{Family: c.family}, src, framework.Options{K: 5, Tolerance: 1e-12})
	want, err := framework.Fit(context.Background(), mixture.Model{Family: c.family}, table, framework.Options{K: 5, Tolerance: 1e-12})
	require.NoError(t, err)
	assert.Equal(t, want.Shape.K, res.Shape.K)
	assert.InDelta(t, want.Value, res.Value, 1e-6)
}

func TestViterbiIsTheBestOfAllPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	m := hmm.Model{Family: family.Poisson{}}
	for _, zeros := range []bool{false, true} {
		p := poissonChain(3, zeros, rng)
		lists := [][]float64{counts(8, rng), counts(1, rng), counts(7, rng)}
		lists[0][4] = math.NaN()
		states, logJoint, err := m.Viterbi(sequencesOf(t, lists...).All(), p)
		require.NoError(t, err)
		none := make([]float64, 3)
		for i, x := range lists {
			e := enumerate(p, x, none, none)
			assert.Equal(t, e.best, states[:len(x)])
			assert.InDelta(t, e.bestLog, logJoint[i], 1e-9)
			states = states[len(x):]
		}
	}
}

func TestViterbiGoesOverBorders(t *testing.T) {
	m := hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}}
	p, x := longChains()[0].draw(2500, rand.New(rand.NewPCG(15, 16)))
	states, logJoint, err := m.Viterbi(sequencesOf(t, x).All(), p)
	require.NoError(t, err)
	of := func(path []int) float64 {
		v := math.Log(p.Start[path[0]])
		for i, z := range path {
			if i > 0 {
				v += math.Log(p.Move(path[i-1], z))
			}
			xi := p.Component(z)
			v -= (math.Log(2*math.Pi*xi[1]) + (x[i]-xi[0])*(x[i]-xi[0])/xi[1]) / 2
		}
		return v
	}
	assert.InDelta(t, of(states), logJoint[0], 1e-8)
	for i := range states { // no single step is better elsewhere
		for k := range 3 {
			other := slices.Clone(states)
			other[i] = k
			require.LessOrEqual(t, of(other), logJoint[0]+1e-8)
		}
	}
}

func TestFilterAddsUpAndSmoothingEndsWithIt(t *testing.T) {
	c := conformingCases()[4]
	src, _ := cut(t, c)
	m := hmm.Model{Family: c.family}
	p := fit(t, m, src, framework.Options{K: 3, Method: framework.EM, MaxIterations: 5}).Parameters
	b := src.All()
	course, err := m.Filter(b, p)
	require.NoError(t, err)
	reader, err := m.Reader(p)
	require.NoError(t, err)
	logProb, smoothed, err := reader.Score(b, nil, nil)
	require.NoError(t, err)
	for i := range b.Len() {
		first, end := b.Bounds(i)
		assert.InDelta(t, logProb[i], floats.Sum(course.LogDensity[first:end]), 1e-9)
		assert.InDeltaSlice(t, smoothed[(end-1)*3:end*3], course.Filtered[(end-1)*3:end*3], 1e-9)
		online, err := m.Online(p)
		require.NoError(t, err)
		for step := first; step < end; step++ {
			ahead, err := online.Forecast(1)
			require.NoError(t, err)
			assert.InDeltaSlice(t, course.Predicted[step*3:(step+1)*3], ahead, 1e-12)
			log, err := online.Step(b.Steps.Row(step))
			require.NoError(t, err)
			assert.InDelta(t, course.LogDensity[step], log, 1e-12)
			assert.InDeltaSlice(t, course.Filtered[step*3:(step+1)*3], online.States(), 1e-12)
		}
	}
}

func TestForecastsTendToTheStationaryDistribution(t *testing.T) {
	p := poissonChain(3, false, rand.New(rand.NewPCG(17, 18)))
	m := hmm.Model{Family: family.Poisson{}}
	b := sequencesOf(t, []float64{3, 5, 8}, []float64{1}).All()
	none, err := m.Forecast(b, p, 0)
	require.NoError(t, err)
	assert.Empty(t, none)
	_, err = m.Forecast(b, p, -1)
	assert.ErrorContains(t, err, "a forecast of -1 steps")
	far, err := m.Forecast(b, p, 200)
	require.NoError(t, err)
	share, err := m.Stationary(p)
	require.NoError(t, err)
	assert.InDeltaSlice(t, share, far[199*3:200*3], 1e-12)
	assert.InDeltaSlice(t, share, far[399*3:], 1e-12)
	assert.InDelta(t, 1, floats.Sum(share), 1e-12)
	ahead := m.Mixture(p, far[:3]) // the density of the next count
	row := blocks.Rows{N: 1, D: 1, Stride: 1, X: []float64{4}}
	log, err := mixture.Model{Family: family.Poisson{}}.LogProb(row, ahead, nil)
	require.NoError(t, err)
	course, err := m.Filter(sequencesOf(t, []float64{3, 5, 8, 4}).All(), p)
	require.NoError(t, err)
	assert.InDelta(t, course.LogDensity[3], log[0], 1e-12)
}

// Zucchini & MacDonald (2009, table 3.2) have 342.3183, 329.4603 and 327.8316 with a stationary start.
func TestStationaryStart(t *testing.T) {
	src := sequencesOf(t, earthquakes)
	for k, want := range []float64{391.9189, 342.3183, 329.4603, 327.8316} {
		m := hmm.Model{Family: family.Poisson{}, Structure: hmm.Structure{Initial: hmm.Stationary}}
		res := fit(t, m, src, framework.Options{K: k + 1, Method: framework.EM, Criterion: framework.AIC, Restarts: 12, Seed: 1})
		assert.InDelta(t, -want, res.Evaluation.LogLikelihood, 6e-5, "K = %d", k+1)
		share, err := m.Stationary(res.Parameters)
		require.NoError(t, err)
		assert.InDeltaSlice(t, share, res.Parameters.Start, 1e-12)
		assert.Equal(t, (k+1)*(k+1), res.Shape.Identifiable())
	}
}

func TestMovesThatAreImpossibleStaySo(t *testing.T) {
	c := longChains()[4]
	var lists [][]float64
	for i := range 12 {
		_, x := c.draw(300, rand.New(rand.NewPCG(uint64(i), 1)))
		lists = append(lists, x)
	}
	m := hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}, Structure: hmm.Structure{Initial: hmm.FirstState, LeftRight: 1}}
	for _, o := range []framework.Options{{K: 3, Method: framework.EM, Restarts: 4}, {K: 5, Restarts: 2}} {
		p := fit(t, m, sequencesOf(t, lists...), o).Parameters
		for i := range p.K {
			for j := range p.K {
				if j < i || j > i+1 {
					assert.Zero(t, p.Move(i, j))
				}
			}
			assert.InDelta(t, 1, floats.Sum(p.Transitions[i*p.K:(i+1)*p.K]), 1e-9)
		}
		assert.Equal(t, 1.0, p.Start[0])
	}
}

func TestPathsPassThroughStatesThatAreLeftOut(t *testing.T) {
	m := hmm.Model{Family: family.Poisson{}}
	p := &hmm.Parameters{K: 3, D: 1, Start: []float64{0.2, 0.5, 0.3}, Transitions: []float64{0.6, 0.4, 0, 0.1, 0.5, 0.4, 0, 0.3, 0.7}, Components: []float64{1, 2, 3}}
	_, q, err := m.Keep(m.NewStatistics(p), p, []int{0, 2})
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{0.6 + 0.4*0.1/0.5, 0.4 * 0.4 / 0.5, 0.3 * 0.1 / 0.5, 0.7 + 0.3*0.4/0.5}, q.Transitions, 1e-12)
	assert.InDeltaSlice(t, []float64{0.2 + 0.5*0.1/0.5, 0.3 + 0.5*0.4/0.5}, q.Start, 1e-12)
	assert.Equal(t, []float64{1, 3}, q.Components)
	p.Transitions = []float64{0.6, 0.4, 0, 0, 1, 0, 0, 0.3, 0.7} // that is never left
	_, q, err = m.Keep(m.NewStatistics(p), p, []int{0, 2})
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{1, 0, 0, 1}, q.Transitions, 1e-12)
}

func TestSegmentsFindTheOrderOfStates(t *testing.T) {
	truth := &hmm.Parameters{K: 4, D: 1, Start: []float64{1, 0, 0, 0}, Components: []float64{0, 1, 3, 1, 0, 1, -3, 1},
		Transitions: []float64{0.95, 0.05, 0, 0, 0, 0.9, 0.1, 0, 0, 0, 0.95, 0.05, 0, 0, 0, 1}}
	m := hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}, Structure: hmm.Structure{Initial: hmm.FirstState, LeftRight: 1}}
	lengths := slices.Repeat([]int{70}, 30)
	x, _, err := m.Sample(truth, lengths, rand.New(rand.NewPCG(23, 24)))
	require.NoError(t, err)
	var lists [][]float64
	for i := range lengths {
		lists = append(lists, x[i*70:(i+1)*70])
	}
	p := fit(t, m, sequencesOf(t, lists...), framework.Options{K: 4, Method: framework.EM, Tolerance: 1e-7}).Parameters
	for k := range 4 { // the first and the third look the same, and only their place tells them apart
		assert.InDelta(t, truth.Component(k)[0], p.Component(k)[0], 0.3)
		assert.InDelta(t, truth.Move(k, k), p.Move(k, k), 0.06) // 3 standard errors of 30 leavings
	}
	res := fit(t, m, sequencesOf(t, lists...), framework.Options{K: 7, Tolerance: 1e-7})
	assert.Equal(t, 4, res.Shape.K)
}

func TestSequencesOfWeightZeroDoNotCount(t *testing.T) {
	c := conformingCases()[0]
	src, _ := cut(t, c)
	m := hmm.Model{Family: c.family}
	p := fit(t, m, src, framework.Options{K: 2, Method: framework.EM, MaxIterations: 3}).Parameters
	b := src.All()
	b.Weights = make([]float64, b.Len())
	var without blocks.Sequences
	without.Steps = blocks.Rows{D: 2, Stride: 2}
	for i := range b.Len() {
		if b.Weights[i] = float64(i % 3); i%3 == 0 {
			continue
		}
		first, end := b.Bounds(i)
		for step := first; step < end; step++ {
			without.Steps.X = append(without.Steps.X, b.Steps.Row(step)...)
			without.Steps.N++
		}
		without.Ends, without.Weights = append(without.Ends, without.Steps.N), append(without.Weights, b.Weights[i])
	}
	step := func(b blocks.Sequences) (*hmm.Statistics, float64) {
		s, entropy, err := framework.LocalStep(context.Background(), m, blocks.Single[blocks.Sequences]{Block: b, Count: b.Len()}, p, 1)
		require.NoError(t, err)
		return s, entropy
	}
	s, entropy := step(b)
	want, other := step(without)
	assert.InDelta(t, other, entropy, 1e-9)
	assert.InDelta(t, want.N, s.N, 1e-9)
	assert.InDeltaSlice(t, want.Moves, s.Moves, 1e-9)
	assert.InDeltaSlice(t, want.Classes.Sums, s.Classes.Sums, 1e-7)
}

func TestStickyChainsStay(t *testing.T) {
	src := sequencesOf(t, earthquakes)
	stay := func(kappa float64) float64 {
		m := hmm.MAP{Model: hmm.Model{Family: family.Poisson{}}, Chain: hmm.ChainPrior{Stay: kappa}}
		res, err := framework.Fit(context.Background(), m, src, framework.Options{K: 2, Method: framework.EM, Restarts: 4})
		require.NoError(t, err)
		return res.Parameters.Move(0, 0) * res.Parameters.Move(1, 1)
	}
	assert.Greater(t, stay(50), stay(0)+0.02)
}

func TestVariationalBayesLeavesStatesOut(t *testing.T) {
	m := hmm.Variational{Family: family.Poisson{}, Chain: hmm.ChainPrior{Rows: prior.Dirichlet{Alpha: 0.5}}}
	res, err := framework.Fit(context.Background(), m, sequencesOf(t, earthquakes), framework.Options{K: 6, Method: framework.PrunedEM, Restarts: 4, Seed: 3})
	require.NoError(t, err)
	assert.Equal(t, 3, res.Shape.K)
	point, err := m.Point(res.Parameters)
	require.NoError(t, err)
	require.NoError(t, hmm.Model{Family: family.Poisson{}}.Check(point))
	t.Log(res.Value, point.Components)
}

// Without data the posterior is the prior, and the bound 0.
func TestBoundOfNothingIsZero(t *testing.T) {
	src := sequencesOf(t, earthquakes)
	for _, structure := range []hmm.Structure{{}, {Initial: hmm.Uniform}, {LeftRight: 1}, {LeftRight: 2, Initial: hmm.FirstState}} {
		m := hmm.Variational{Family: family.Poisson{}, Structure: structure, Chain: hmm.ChainPrior{Start: prior.Dirichlet{Alpha: 0.3}, Rows: prior.Dirichlet{Alpha: 0.7}, Stay: 3}}
		p, err := m.Init(context.Background(), src, 3, rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, err)
		q, err := m.Maximize(m.NewStatistics(p), p, nil)
		require.NoError(t, err)
		assert.InDelta(t, 0, m.LogJoint(m.NewStatistics(p), q), 1e-9)
	}
}

func TestPseudoResidualsOfTheModelAreNormal(t *testing.T) {
	m := hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}}
	p, x := longChains()[0].draw(5000, rand.New(rand.NewPCG(19, 20)))
	x[7] = math.NaN()
	r, err := m.PseudoResiduals(sequencesOf(t, x).All(), p)
	require.NoError(t, err)
	assert.True(t, math.IsNaN(r[7]))
	r = slices.Delete(r, 7, 8)
	mean, sd := stat.MeanStdDev(r, nil)
	assert.InDelta(t, 0, mean, 5/math.Sqrt(5000))
	assert.InDelta(t, 1, sd, 5/math.Sqrt(2*5000))
	assert.InDelta(t, 0, stat.Correlation(r[1:], r[:len(r)-1], nil), 5/math.Sqrt(5000))
	assert.Greater(t, stat.Correlation(x[9:], x[8:len(x)-1], nil), 0.3)
}

func TestBootstrapOfTransitions(t *testing.T) {
	c := conformingCases()[0]
	src, _ := cut(t, c)
	m := hmm.Model{Family: c.family}
	res := fit(t, m, src, framework.Options{K: 3, Method: framework.EM, Restarts: 3})
	e, err := bootstrap.StandardErrors(context.Background(), m, src, res.Parameters, (*hmm.Parameters).Vector, bootstrap.Options{Draws: 30, Seed: 1, Fit: framework.Options{Method: framework.EM}})
	require.NoError(t, err)
	require.Empty(t, e.Failed)
	simple := m.TransitionErrors(res.Statistics, res.Parameters)
	for i, v := range simple {
		assert.InDelta(t, v, e.Numbers[3+i].Error, 0.6*v, "transition %d", i)
	}
}

func TestBadInput(t *testing.T) {
	m := hmm.Model{Family: family.Poisson{}}
	ctx := context.Background()
	src := sequencesOf(t, []float64{1, 4, math.NaN(), 3}, []float64{math.NaN()}, []float64{9})
	res := fit(t, m, src, framework.Options{K: 2, Method: framework.EM})
	assert.Equal(t, 2, res.Shape.K)
	for name, c := range map[string]struct {
		m    hmm.Model
		want string
	}{
		"stationary from left to right": {hmm.Model{Family: family.Poisson{}, Structure: hmm.Structure{LeftRight: 1, Initial: hmm.Stationary}}, "its last state"},
		"a first state of none":         {hmm.Model{Family: family.Poisson{}, Structure: hmm.Structure{Initial: hmm.FirstState}}, "set LeftRight"},
		"a negative span":               {hmm.Model{Family: family.Poisson{}, Structure: hmm.Structure{LeftRight: -1}}, "must not be negative"},
		"an unknown start":              {hmm.Model{Family: family.Poisson{}, Structure: hmm.Structure{Initial: 9}}, "Initial(9)"},
		"no family":                     {hmm.Model{}, "no family"},
	} {
		_, err := framework.Fit(ctx, c.m, src, framework.Options{K: 2})
		assert.ErrorContains(t, err, c.want, name)
	}
	_, err := framework.Fit(ctx, m, sequencesOf(t, []float64{1, -4}), framework.Options{K: 1})
	assert.ErrorContains(t, err, "row 2, column 1 is -4")
	m = hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}}
	const far = 1e160 // whose square is beyond float64
	p := &hmm.Parameters{K: 2, D: 1, Start: []float64{1, 0}, Transitions: []float64{0, 1, 0, 1}, Components: []float64{0, 1, far, 1}}
	_, err = m.LogProb(sequencesOf(t, []float64{0, far}, []float64{far, far}).All(), p, nil)
	assert.ErrorContains(t, err, "row 3")
	_, _, err = m.Viterbi(sequencesOf(t, []float64{0, far}, []float64{far, far}).All(), p)
	assert.ErrorContains(t, err, "row 3 begins a sequence of probability 0")
	_, err = m.Filter(sequencesOf(t, []float64{0, far}, []float64{far, far}).All(), p)
	assert.ErrorContains(t, err, "row 3")
	_, err = m.Stationary(&hmm.Parameters{K: 2, Transitions: []float64{1, 0, 0, 1}})
	assert.ErrorContains(t, err, "no single stationary distribution")
	assert.Error(t, m.Check(p))
	_, err = m.LogProb(blocks.Sequences{Steps: blocks.Rows{N: 1, D: 1, Stride: 1, X: []float64{1}}}, p, nil)
	assert.ErrorContains(t, err, "end after step 0 of 1")
	online, err := m.Online(p)
	require.NoError(t, err)
	_, err = online.Step([]float64{1, 2})
	assert.ErrorContains(t, err, "2 numbers")
	_, err = online.Forecast(-1)
	assert.Error(t, err)
}

// A state that is only seen at the ends of sequences is never left: its row of transitions costs nothing.
func TestAStateThatIsNeverLeft(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	var lists [][]float64
	for range 60 {
		var x []float64
		for len(x) == 0 || rng.Float64() < 0.8 {
			x = append(x, distuv.Poisson{Lambda: 4, Src: rng}.Rand())
		}
		lists = append(lists, append(x, distuv.Poisson{Lambda: 70, Src: rng}.Rand()))
	}
	res := fit(t, hmm.Model{Family: family.Poisson{}}, sequencesOf(t, lists...), framework.Options{K: 4, Restarts: 2})
	assert.Equal(t, 2, res.Shape.K)
	last := floats.MaxIdx(res.Parameters.Components)
	assert.InDelta(t, 60, res.Statistics.Nk[last], 1e-6)
	assert.InDelta(t, 0, res.Statistics.Left(last), 1e-6)
}

// TestMoreStatesThanValues finds the three states of a series of two values: those that look alike are told apart by what follows them.
func TestMoreStatesThanValues(t *testing.T) {
	table, err := blocks.FromSlice(slices.Repeat([]float64{1, 0, 0}, 40), 120, 1)
	require.NoError(t, err)
	src, err := blocks.NewSequences(table, []int{120})
	require.NoError(t, err)
	for _, f := range []family.Family{family.Bernoulli{}, family.Categorical{Levels: 2}} {
		res := fit(t, hmm.Model{Family: f}, src, framework.Options{K: 3, FixedK: true, Criterion: framework.GFIC, Also: []framework.Criterion{framework.BIC}})
		require.Equal(t, 3, res.Shape.K)
		require.InDelta(t, 0, res.Evaluation.LogLikelihood, 1e-6, "the series is certain")
		_, err := hmm.Variational{Family: f}.Init(context.Background(), src, 3, rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, err)
	}
	_, err = hmm.Model{Family: family.Bernoulli{}}.Init(context.Background(), src, 121, rand.New(rand.NewPCG(1, 1)))
	require.ErrorContains(t, err, "choose K up to")
}
