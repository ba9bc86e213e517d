package hmm_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/models/hmm"
)

// TestKnownStepsFromLeftToRightAreTheSumOverTheirPaths, of which codes name one state, or one of two.
func TestKnownStepsFromLeftToRightAreTheSumOverTheirPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	m := hmm.Model{Family: known.Family{Family: family.Poisson{}, Sets: [][]int{{0}, {1}, {0, 1}}},
		Structure: hmm.Structure{LeftRight: 3}}
	p := poissonChain(4, true, rng)
	free, labels := p.Components, []float64{-1, 1, -1, 0}
	p.D, p.Components = 2, nil
	for z, label := range labels {
		p.Components = append(p.Components, free[z], label)
	}
	nan := math.NaN()
	codes := [][]float64{{nan, 1, nan, 2, nan, 0}, {2, nan}, {nan, nan, nan, 2, 2}, {0}}
	none := make([]float64, 4)
	var x []float64
	var ends []int
	var want []enumeration
	for _, of := range codes {
		values := counts(len(of), rng)
		for t, code := range of {
			x = append(x, values[t], code)
		}
		ends = append(ends, len(x)/2)
		want = append(want, enumerateWhere(p, values, none, none, func(step, z int) bool {
			return math.IsNaN(of[step]) || labels[z] == of[step] || of[step] == 2 && labels[z] >= 0
		}))
	}
	src := stepsOf(t, x, 2, ends)
	s, entropy, err := framework.LocalStep(context.Background(), m, src, p, 1)
	require.NoError(t, err)
	reader, err := m.Reader(p)
	require.NoError(t, err)
	logProb, smoothed, err := reader.Score(src.All(), nil, nil)
	require.NoError(t, err)
	path, _, err := m.Viterbi(src.All(), p)
	require.NoError(t, err)
	total, starts, moves, first := 0.0, make([]float64, 4), make([]float64, 16), 0
	for i, e := range want {
		assert.InDelta(t, e.logDensity, logProb[i], 1e-9)
		assert.InDeltaSlice(t, e.smoothed, smoothed[first*4:ends[i]*4], 1e-9)
		assert.Equal(t, e.best, path[first:ends[i]])
		total += e.logDensity
		floats.Add(starts, e.starts)
		floats.Add(moves, e.moves)
		first = ends[i]
	}
	assert.InDelta(t, total, m.LogJoint(s, p)+entropy, 1e-9)
	assert.InDeltaSlice(t, starts, s.Starts, 1e-9)
	assert.InDeltaSlice(t, moves, s.Moves, 1e-9)
}

// TestKnownStepsThatNoPathHas are an error of fits and of all that reads a sequence, short or long.
func TestKnownStepsThatNoPathHas(t *testing.T) {
	m := hmm.Model{Family: known.Labelled(family.Poisson{}, 2)}
	p := &hmm.Parameters{K: 2, D: 2, Start: []float64{0.5, 0.5}, Transitions: []float64{0.5, 0.5, 0, 1},
		Components: []float64{1, 0, 5, 1}}
	for _, n := range []int{6, 3000} {
		x := make([]float64, 2*n)
		for i := range n {
			x[2*i+1] = math.NaN()
		}
		x[3], x[7] = 1, 0
		src := stepsOf(t, x, 2, nil)
		_, _, err := framework.LocalStep(context.Background(), m, src, p, 1)
		assert.ErrorContains(t, err, "no path through the states")
		_, err = m.LogProb(src.All(), p, nil)
		assert.ErrorContains(t, err, "no path through the states")
		_, _, err = m.Viterbi(src.All(), p)
		assert.ErrorContains(t, err, "no path through the states")
		_, err = m.Filter(src.All(), p)
		assert.ErrorContains(t, err, "the transitions allow no state")
	}
}

// passes says whether some path of a chain passes through the known steps, where labels are the states of the labels.
func passes(codes [][]float64, states []int, k int, c hmm.Structure) bool {
	for _, of := range codes {
		may := make([]bool, k)
		for z := range may {
			may[z] = z == 0 || c.Initial != hmm.FirstState
		}
		for t, code := range of {
			next := make([]bool, k)
			for z := range next {
				for from := max(0, z-c.LeftRight); from <= z && t > 0; from++ {
					next[z] = next[z] || may[from]
				}
				if t == 0 {
					next[z] = may[z]
				}
				next[z] = next[z] && (math.IsNaN(code) || states[int(code)] == z)
			}
			may = next
		}
		any := false
		for _, is := range may {
			any = any || is
		}
		if !any {
			return false
		}
	}
	return true
}

// someOrder says whether the labels can have states so that paths pass through all known steps.
func someOrder(codes [][]float64, states []int, labels, k int, c hmm.Structure) bool {
	if len(states) == labels {
		return passes(codes, states, k, c)
	}
	for z := range k {
		taken := false
		for _, other := range states {
			taken = taken || other == z
		}
		if !taken && someOrder(codes, append(states, z), labels, k, c) {
			return true
		}
	}
	return false
}

// TestOrdersOfKnownStates: a chain is found if and only if one of all orders of the labels lets paths pass through the
// known steps, and then all starts begin with such a one.
func TestOrdersOfKnownStates(t *testing.T) {
	found, refused := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		labels := 1 + rng.IntN(4)
		m := hmm.Model{Family: known.Labelled(normal.Family{}, labels), Structure: hmm.Structure{LeftRight: 1 + rng.IntN(2)}}
		if rng.IntN(2) == 0 {
			m.Structure.Initial = hmm.FirstState
		}
		var x []float64
		var ends []int
		var codes [][]float64
		seen := make([]bool, labels)
		for range 1 + rng.IntN(4) {
			var of []float64
			code, ordered := rng.IntN(labels), rng.IntN(8) > 0
			for range 2 + rng.IntN(6) {
				if rng.IntN(3) == 0 && ordered { // mostly as 0, 1, 2, 3 lead on
					code = min(labels-1, code+1+rng.IntN(2))
				} else if !ordered {
					code = rng.IntN(labels)
				}
				v := math.NaN()
				if rng.IntN(2) == 0 {
					v, seen[code] = float64(code), true
				}
				of = append(of, v)
				x = append(x, rng.NormFloat64(), v)
			}
			codes, ends = append(codes, of), append(ends, len(x)/2)
		}
		for label, is := range seen {
			if !is {
				codes, x = append(codes, []float64{float64(label)}), append(x, rng.NormFloat64(), float64(label))
				ends = append(ends, len(x)/2)
			}
		}
		src := stepsOf(t, x, 2, ends)
		err := m.CheckOrder(context.Background(), src, 2)
		possible := someOrder(codes, nil, labels, labels, m.Structure)
		require.Equal(t, possible, err == nil, "seed %d: %v", seed, err)
		require.Equal(t, possible, someOrder(codes, nil, labels, labels+1, m.Structure), "further states do not help")
		if !possible {
			refused++
			var fault *hmm.OrderError
			require.True(t, errors.As(err, &fault))
			for i, row := range fault.Rows {
				assert.Equal(t, float64(fault.Labels[i+1]), x[2*row+1])
			}
			continue
		}
		found++
		for k := labels; k <= labels+2; k++ {
			_, err := framework.Fit(context.Background(), m, src, framework.Options{K: k, Method: framework.EM, Restarts: 3,
				MaxIterations: 2})
			var degenerate *framework.DegenerateError
			require.True(t, err == nil || errors.As(err, &degenerate), "seed %d, K = %d: %v", seed, k, err)
		}
	}
	assert.Greater(t, min(found, refused), 50)
}

// stages are sequences of a chain of three states from left to right, and the true states; of the steps that pick has,
// the state is known.
func stages(t testing.TB, rng *rand.Rand, pick float64) (*blocks.SequenceTable, []int) {
	var x []float64
	var truth, ends []int
	for range 25 {
		z := 0
		for range 30 {
			label := math.NaN()
			if rng.Float64() < pick {
				label = float64(2 - z) // labels in another order than states
			}
			x, truth = append(x, []float64{0, 1, 0}[z]+rng.NormFloat64(), label), append(truth, z)
			if z < 2 && rng.Float64() < 0.1 {
				z++
			}
		}
		ends = append(ends, len(truth))
	}
	return stepsOf(t, x, 2, ends), truth
}

// TestKnownStagesAreFound in 10 tables of chains from left to right, whose first and last state look the same, at least
// in 9: K, the order of the labels, the means, and four of five steps.
func TestKnownStagesAreFound(t *testing.T) {
	found := 0
	for seed := range uint64(10) {
		src, truth := stages(t, rand.New(rand.NewPCG(seed, 8)), 0.1)
		m := hmm.Model{Family: known.Labelled(normal.Family{}, 3),
			Structure: hmm.Structure{LeftRight: 1, Initial: hmm.FirstState}}
		res, err := framework.Fit(context.Background(), m, src, framework.Options{K: 6, Restarts: 2, Criterion: framework.Evidence})
		require.NoError(t, err)
		p := res.Parameters
		close := p.K == 3
		for k := 0; k < p.K && close; k++ {
			close = m.Label(p, k) == 2-k && math.Abs(p.Component(k)[0]-[]float64{0, 1, 0}[k]) < 0.3
		}
		path, _, err := m.Viterbi(src.All(), p)
		require.NoError(t, err)
		right := 0
		for i, z := range path {
			if z == truth[i] {
				right++
			}
		}
		if close && right*5 > len(truth)*4 {
			found++
		}
	}
	assert.GreaterOrEqual(t, found, 9)
}

// TestKnownStagesConform with two labels and three states.
func TestKnownStagesConform(t *testing.T) {
	i := 0
	x, ends := drawn(lengths(30), 3, func(z int, rng *rand.Rand) []float64 {
		label := math.NaN()
		if i++; i%30 == 11 {
			label = 0
		}
		return append(gaussianState(z, rng), label)
	}, 0)
	m := hmm.Model{Family: known.Labelled(normal.Family{Covariance: normal.Diagonal}, 1), Structure: hmm.Structure{LeftRight: 2}}
	lvmtest.Test(t, hmmCase{Model: m, Data: lvmtest.Sequences(x, ends), K: []int{2, 3}, Least: 1, NoAllocations: true,
		Symmetry: func(p *hmm.Parameters, _ *rand.Rand) *hmm.Parameters { return p }})
}

// TestManyKnownStates of which each second one is known right after the one before it: few orders of so many do.
func TestManyKnownStates(t *testing.T) {
	const labels = 40
	var x []float64
	var ends []int
	for label := range labels {
		x = append(x, float64(label), float64(label))
		if label%2 == 1 {
			ends = append(ends, label+1)
		}
	}
	m := hmm.Model{Family: known.Labelled(normal.Family{}, labels), Structure: hmm.Structure{LeftRight: 1}}
	require.NoError(t, m.CheckOrder(context.Background(), stepsOf(t, x, 2, ends), 2))
}
