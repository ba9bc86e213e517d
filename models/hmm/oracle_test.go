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
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/hmm"
)

// An enumeration is the posterior of the paths of Poisson sequences by the sum over all of them.
type enumeration struct {
	logDensity, entropy float64
	smoothed            []float64 // T×K
	starts, moves       []float64
	best                []int // the most probable path
	bestLog             float64
}

// paths returns each of the kⁿ paths by its number, in memory of its own, and how many there are.
func paths(k, n int) (at func(number int) []int, total int) {
	path := make([]int, n)
	return func(number int) []int {
		for t := range path {
			path[t] = number % k
			number /= k
		}
		return path
	}, int(math.Pow(float64(k), float64(n)))
}

// enumerate goes over all K^T paths of one sequence. lower (K) is what a step in a state loses, leave (K) what it loses
// besides where it is not the last.
func enumerate(p *hmm.Parameters, x, lower, leave []float64) enumeration {
	return enumerateWhere(p, x, lower, leave, func(int, int) bool { return true })
}

// enumerateWhere goes over the paths that are in states where they may be.
func enumerateWhere(p *hmm.Parameters, x, lower, leave []float64, may func(step, state int) bool) enumeration {
	k, n := p.K, len(x)
	e := enumeration{smoothed: make([]float64, n*k), starts: make([]float64, k), moves: make([]float64, k*k), bestLog: math.Inf(-1)}
	at, total := paths(k, n)
	logs := make([]float64, total)
	for i := range logs {
		v := 0.0
		path := at(i)
		for t, z := range path {
			if t == 0 {
				v += math.Log(p.Start[z])
			} else {
				v += math.Log(p.Move(path[t-1], z)) - leave[path[t-1]]
			}
			if !math.IsNaN(x[t]) {
				v += distuv.Poisson{Lambda: p.Component(z)[0]}.LogProb(x[t]) - lower[z]
			}
			if !may(t, z) {
				v = math.Inf(-1)
			}
		}
		logs[i] = v
		if v > e.bestLog {
			e.bestLog, e.best = v, slices.Clone(at(i))
		}
	}
	e.logDensity = floats.LogSumExp(logs)
	for i, v := range logs {
		q := math.Exp(v - e.logDensity)
		if q > 0 {
			e.entropy -= q * (v - e.logDensity)
		}
		path := at(i)
		for t, z := range path {
			e.smoothed[t*k+z] += q
			if t == 0 {
				e.starts[z] += q
			} else {
				e.moves[path[t-1]*k+z] += q
			}
		}
	}
	return e
}

// sequencesOf makes a source of one column.
func sequencesOf(t testing.TB, lists ...[]float64) *blocks.SequenceTable {
	t.Helper()
	var x []float64
	var ends []int
	for _, list := range lists {
		x = append(x, list...)
		ends = append(ends, len(x))
	}
	return stepsOf(t, x, 1, ends)
}

// stepsOf is a source of sequences of d columns.
func stepsOf(t testing.TB, x []float64, d int, ends []int) *blocks.SequenceTable {
	t.Helper()
	rows, err := blocks.FromIncomplete(x, len(x)/d, d)
	require.NoError(t, err)
	src, err := blocks.NewSequences(rows, ends)
	require.NoError(t, err)
	return src
}

// poissonChain are parameters at random, with structural zeros on request.
func poissonChain(k int, zeros bool, rng *rand.Rand) *hmm.Parameters {
	draw := func(from int) []float64 {
		p := make([]float64, k)
		for i := from; i < k; i++ {
			p[i] = rng.ExpFloat64()
		}
		floats.Scale(1/floats.Sum(p), p)
		return p
	}
	p := &hmm.Parameters{K: k, D: 1, Start: draw(0)}
	for i := range k {
		from := 0
		if zeros {
			from = i
		}
		p.Transitions = append(p.Transitions, draw(from)...)
		p.Components = append(p.Components, 1+9*rng.Float64())
	}
	return p
}

func counts(n int, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(rng.IntN(14))
	}
	return x
}

func TestLocalStepIsTheSumOverAllPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := hmm.Model{Family: family.Poisson{}}
	for _, k := range []int{1, 2, 3, 5} {
		for _, zeros := range []bool{false, true} {
			p := poissonChain(k, zeros, rng)
			lists := [][]float64{counts(5, rng), counts(1, rng), counts(6, rng), counts(2, rng)}
			lists[2][3] = math.NaN()
			src, err := sequencesOf(t, lists...).WithWeights([]float64{1, 2, 0.5, 3})
			require.NoError(t, err)
			s, entropy, err := framework.LocalStep(context.Background(), m, src, p, 1)
			require.NoError(t, err)
			smoothed, err := m.Responsibilities(src.All(), p, nil)
			require.NoError(t, err)
			logProb, err := m.LogProb(src.All(), p, nil)
			require.NoError(t, err)
			none := make([]float64, k)
			var h, joint float64
			starts, moves := make([]float64, k), make([]float64, k*k)
			row := 0
			for i, x := range lists {
				e, w := enumerate(p, x, none, none), src.All().Weight(i)
				assert.InDelta(t, e.logDensity, logProb[i], 1e-9)
				assert.InDeltaSlice(t, e.smoothed, smoothed[row:row+len(x)*k], 1e-9)
				row += len(x) * k
				h += w * e.entropy
				joint += w * (e.logDensity - e.entropy)
				floats.AddScaled(starts, w, e.starts)
				floats.AddScaled(moves, w, e.moves)
			}
			assert.InDelta(t, h, entropy, 1e-9)
			assert.InDelta(t, joint, m.LogJoint(s, p), 1e-9)
			assert.InDeltaSlice(t, starts, s.Starts, 1e-9)
			assert.InDeltaSlice(t, moves, s.Moves, 1e-9)
			assert.InDelta(t, 6.5, s.Sequences, 1e-12)
			assert.InDelta(t, 5+2+3+6, s.N, 1e-12)
		}
	}
}

func TestTiltLowersStepsAndMoves(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	m := hmm.Model{Family: family.Poisson{}}
	p := poissonChain(3, false, rng)
	lists := [][]float64{counts(7, rng), counts(8, rng), counts(4, rng), counts(8, rng), counts(7, rng), counts(6, rng), counts(8, rng), counts(8, rng), counts(8, rng), counts(8, rng)}
	src := sequencesOf(t, lists...)
	p.Pooled = &family.Pooled{N: 72, Parameters: []float64{6}, Sums: []float64{72, 432}, Anchor: []float64{}, Units: []float64{}}
	s, _, err := framework.LocalStep(context.Background(), m, src, p, 1)
	require.NoError(t, err)
	var f laplace.Curvature
	f.Reset(s.Observations(), true)
	require.NoError(t, m.Curvature(s, p, &f))
	var tilt laplace.Tilt
	tilt.Set(&f)
	lower, leave := make([]float64, 3), make([]float64, 3)
	for k := range 3 {
		lower[k], leave[k] = 1/(2*s.Nk[k]), 2/(2*s.Left(k))
		require.Greater(t, s.Left(k), math.E)
	}
	u := m.NewStatistics(p)
	require.NoError(t, m.Prepare(p, &tilt, u))
	entropy, err := m.Infer(src.All(), p, u)
	require.NoError(t, err)
	var h float64
	nk := make([]float64, 3)
	moves := make([]float64, 9)
	for _, x := range lists {
		e := enumerate(p, x, lower, leave)
		h += e.entropy
		floats.Add(moves, e.moves)
		for i, v := range e.smoothed {
			nk[i%3] += v
		}
	}
	assert.InDelta(t, h, entropy, 1e-9)
	assert.InDeltaSlice(t, nk, u.Nk, 1e-9)
	assert.InDeltaSlice(t, moves, u.Moves, 1e-9)
}
