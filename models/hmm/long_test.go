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

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/hmm"
)

// A textbook is forward and backward by logarithms, without parts: the posterior of one sequence of one Gaussian
// column. Each step is normalised, so that long sequences do not lose digits. lower and leave (K) are the tilt, as of
// enumerate.
func textbook(p *hmm.Parameters, x, lower, leave []float64) (logDensity float64, smoothed, moves []float64) {
	k, n := p.K, len(x)
	score, before, after := make([]float64, n*k), make([]float64, n*k), make([]float64, n*k)
	row := func(v []float64, t int) []float64 { return v[t*k : (t+1)*k] }
	for t, v := range x {
		for j := range k {
			xi := p.Component(j)
			score[t*k+j] = distuv.Normal{Mu: xi[0], Sigma: math.Sqrt(xi[1])}.LogProb(v) - lower[j]
		}
	}
	terms := make([]float64, k)
	for t := range n {
		for j := range k {
			v := math.Log(p.Start[j])
			if t > 0 {
				for i := range k {
					terms[i] = before[(t-1)*k+i] + math.Log(p.Move(i, j)) - leave[i]
				}
				v = sumOfExp(terms)
			}
			before[t*k+j] = v + score[t*k+j]
		}
		total := sumOfExp(row(before, t))
		floats.AddConst(-total, row(before, t))
		logDensity += total
	}
	for t := n - 2; t >= 0; t-- {
		for i := range k {
			for j := range k {
				terms[j] = math.Log(p.Move(i, j)) - leave[i] + score[(t+1)*k+j] + after[(t+1)*k+j]
			}
			after[t*k+i] = sumOfExp(terms)
		}
		floats.AddConst(-floats.Max(row(after, t)), row(after, t))
	}
	smoothed, moves = make([]float64, n*k), make([]float64, k*k)
	joint := make([]float64, k*k)
	for t := range n {
		floats.AddTo(terms, row(before, t), row(after, t))
		total := sumOfExp(terms)
		for j, v := range terms {
			smoothed[t*k+j] = math.Exp(v - total)
		}
		if t == 0 {
			continue
		}
		for i := range k {
			for j := range k {
				joint[i*k+j] = before[(t-1)*k+i] + math.Log(p.Move(i, j)) - leave[i] + score[t*k+j] + after[t*k+j]
			}
		}
		total = sumOfExp(joint)
		for i, v := range joint {
			moves[i] += math.Exp(v - total)
		}
	}
	return logDensity, smoothed, moves
}

// sumOfExp is floats.LogSumExp with −Inf where all are.
func sumOfExp(v []float64) float64 {
	if math.IsInf(floats.Max(v), -1) {
		return math.Inf(-1)
	}
	return floats.LogSumExp(v)
}

// A long chain is one that is hard for scaled numbers, or for the borders between parts, in some way.
type longChain struct {
	name             string
	start, moves     []float64
	means, variances []float64
	shift            float64 // of the steps from half of them on
}

func longChains() []longChain {
	return []longChain{
		{name: "mixing", start: []float64{0.2, 0.3, 0.5}, moves: []float64{0.9, 0.05, 0.05, 0.1, 0.8, 0.1, 0.2, 0.2, 0.6}, means: []float64{-1, 0, 2}, variances: []float64{1, 0.5, 1}},
		{name: "far apart", start: []float64{0.2, 0.3, 0.5}, moves: []float64{0.9, 0.05, 0.05, 0.1, 0.8, 0.1, 0.2, 0.2, 0.6}, means: []float64{-100, 0, 200}, variances: []float64{1, 0.5, 1}},
		{name: "hardly forgotten", start: []float64{0.5, 0.5}, moves: []float64{0.99999, 0.00001, 0.00001, 0.99999}, means: []float64{0, 0.01}, variances: []float64{1, 1.01}},
		{name: "a clock", start: []float64{0.5, 0.3, 0.2}, moves: []float64{0, 1, 0, 0, 0, 1, 1, 0, 0}, means: []float64{0, 0.1, 0.2}, variances: []float64{1, 1, 1}},
		{name: "left to right", start: []float64{1, 0, 0}, moves: []float64{0.999, 0.001, 0, 0, 0.999, 0.001, 0, 0, 1}, means: []float64{0, 30, 70}, variances: []float64{1, 1, 1}},
		{name: "a surprise", start: []float64{1, 0}, moves: []float64{0.999, 0.001, 0, 1}, means: []float64{0, 1}, variances: []float64{1, 1}, shift: 30},
		{name: "the wrong state", start: []float64{1, 0}, moves: []float64{1, 0, 0.5, 0.5}, means: []float64{0, 60}, variances: []float64{1, 1}, shift: 60},
		{name: "a wrong state at times", start: []float64{1, 0, 0}, moves: []float64{0.5, 0.5, 0, 0.3, 0.7, 0, 0.5, 0, 0.5}, means: []float64{0, 1, 60}, variances: []float64{1, 1, 1}, shift: 60},
		{name: "one state", start: []float64{1}, moves: []float64{1}, means: []float64{0}, variances: []float64{1}},
	}
}

// parameters are those of the chain, and draws of n steps.
func (c longChain) draw(n int, rng *rand.Rand) (*hmm.Parameters, []float64) {
	p := &hmm.Parameters{K: len(c.start), D: 1, Start: c.start, Transitions: c.moves}
	for j, v := range c.means {
		p.Components = append(p.Components, v, c.variances[j])
	}
	x, _, err := hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}}.Sample(p, []int{n}, rng)
	if err != nil {
		panic(err)
	}
	for t := n / 2; t < n; t++ {
		x[t] += c.shift
	}
	return p, x
}

func TestLongSequencesAreThoseOfOnePart(t *testing.T) {
	for _, c := range longChains() {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			const n = 3*1024 + 77
			p, x := c.draw(n, rng)
			short := x[n/2-4 : n/2+5]
			src, err := sequencesOf(t, short, x, short).WithWeights([]float64{1, 2, 3})
			require.NoError(t, err)
			m := hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}}
			none := make([]float64, p.K)
			long, smoothed, _ := textbook(p, x, none, none)
			few, smoothedFew, _ := textbook(p, short, none, none)
			reader, err := m.Reader(p)
			require.NoError(t, err)
			logProb, q, err := reader.Score(src.All(), nil, nil)
			require.NoError(t, err)
			assert.InDeltaSlice(t, []float64{few, long, few}, logProb, 1e-9*math.Abs(long))
			assert.InDeltaSlice(t, slices.Concat(smoothedFew, smoothed, smoothedFew), q, 1e-8)
			tilt, lower, leave := tiltOf(p.K)
			for range 2 {
				s := m.NewStatistics(p)
				require.NoError(t, m.Prepare(p, tilt, s))
				entropy, err := m.Infer(src.All(), p, s)
				require.NoError(t, err)
				long, _, moves := textbook(p, x, lower, leave)
				few, _, movesFew := textbook(p, short, lower, leave)
				total := m.LogJoint(s, p) + entropy
				for k := range p.K {
					total -= s.Nk[k]*lower[k] + s.Left(k)*leave[k]
				}
				assert.InDelta(t, 2*long+4*few, total, 1e-9*math.Abs(long))
				for i := range moves {
					assert.InDelta(t, 2*moves[i]+4*movesFew[i], s.Moves[i], 1e-8*n)
				}
				assert.InDelta(t, 2*n+36, s.N, 1e-9)
				assert.InDelta(t, 6, floats.Sum(s.Starts), 1e-9)
				tilt, lower, leave = nil, none, none
			}
		})
	}
}

// tiltOf is a strong tilt of k states of one Gaussian column, and what steps lose by it: each, and each that is not the
// last.
func tiltOf(k int) (tilt *laplace.Tilt, lower, leave []float64) {
	var f laplace.Curvature
	f.Reset(100, true)
	for j := range k {
		f.Class(j, float64(3+j), laplace.Identity(0))
		f.Class(j, float64(3+j), laplace.Identity(2))
		lower = append(lower, 1/float64(3+j))
	}
	for j := range k {
		f.Class(j, 4/float64(1+j*j), laplace.Identity(k-1))
		leave = append(leave, float64(k-1)/(2*max(4/float64(1+j*j), math.E)))
	}
	tilt = new(laplace.Tilt)
	tilt.Set(&f)
	return tilt, lower, leave
}

func TestWorkersDoNotChangeBitsOfALongSequence(t *testing.T) {
	p, x := longChains()[0].draw(40_000, rand.New(rand.NewPCG(7, 8)))
	src := sequencesOf(t, x)
	var first *hmm.Statistics
	for _, workers := range []int{1, 2, 3, 16} {
		m := hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}, Workers: workers}
		s, entropy, err := framework.LocalStep(context.Background(), m, src, p, 1)
		require.NoError(t, err)
		if s.Labels = entropy; first == nil {
			first = s
			continue
		}
		assert.Equal(t, first.Moves, s.Moves)
		assert.Equal(t, first.Nk, s.Nk)
		assert.Equal(t, first.Labels, s.Labels)
		assert.Equal(t, first.Classes.Sums, s.Classes.Sums)
	}
}
