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
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/models/mixture"
)

// gatedStructures are a chain with constant first states, and one whose first states depend on the covariates, too.
func gatedStructures(covariates int) map[string]hmm.Structure {
	return map[string]hmm.Structure{
		"free": {Covariates: covariates}, "uniform": {Covariates: covariates, Initial: hmm.Uniform},
		"gated": {Covariates: covariates, Initial: hmm.Gated},
	}
}

// gatedChain are Poisson states of a chain with so many covariates, whose root is not the identity.
func gatedChain(k, covariates int, s hmm.Structure, rng *rand.Rand) *hmm.Parameters {
	p := poissonChain(k, false, rng)
	n := 1 + covariates
	p.Root = make([]float64, n*n)
	p.Root[0] = 1
	for j := 1; j < n; j++ {
		for l := range j {
			p.Root[j*n+l] = 0.3 * rng.NormFloat64()
		}
		p.Root[j*n+j] = 0.5 + rng.Float64()
	}
	sources := k
	if s.Initial == hmm.Gated {
		sources++
	}
	for range sources * k * n {
		p.Gate = append(p.Gate, rng.NormFloat64())
	}
	return p
}

// gateAt are the probabilities of the states after one, or of first states, by hand: L t = (1, covariates) is solved,
// and exp(γᵀt) is divided by its sum.
func gateAt(p *hmm.Parameters, source int, covariates []float64) []float64 {
	n := 1 + len(covariates)
	var t mat.VecDense
	if err := t.SolveVec(mat.NewDense(n, n, p.Root), mat.NewVecDense(n, append([]float64{1}, covariates...))); err != nil {
		panic(err)
	}
	out := make([]float64, p.K)
	for k := range out {
		for j := range n {
			out[k] += p.Gate[(source*p.K+k)*n+j] * t.AtVec(j)
		}
		out[k] = math.Exp(out[k])
	}
	floats.Scale(1/floats.Sum(out), out)
	return out
}

// gatedSequences are sequences of counts, NaN where missing, with covariates.
func gatedSequences(t testing.TB, lengths []int, covariates int, rng *rand.Rand) *blocks.SequenceTable {
	var x []float64
	var ends []int
	n := 0
	for _, length := range lengths {
		for range length {
			v := float64(rng.IntN(12))
			if rng.Float64() < 0.15 {
				v = math.NaN()
			}
			x = append(x, v)
			for range covariates {
				x = append(x, 1+rng.NormFloat64())
			}
		}
		n += length
		ends = append(ends, n)
	}
	return stepsOf(t, x, 1+covariates, ends)
}

// TestGatedLocalStepIsTheSumOverAllPaths: likelihood, entropy, smoothed states, the best path, filtered states, and the
// sums about logits.
func TestGatedLocalStepIsTheSumOverAllPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, structure := range gatedStructures(2) {
		t.Run(name, func(t *testing.T) {
			k := 3
			p := gatedChain(k, 2, structure, rng)
			src := gatedSequences(t, []int{1, 6, 2, 5}, 2, rng)
			weights := []float64{2, 0.5, 1, 3}
			weighted, err := src.WithWeights(weights)
			require.NoError(t, err)
			m := hmm.Model{Family: family.Poisson{}, Structure: structure}
			b := src.All()
			reader, err := m.Reader(p)
			require.NoError(t, err)
			logProb, smoothed, err := reader.Score(b, nil, nil)
			require.NoError(t, err)
			states, best, err := m.Viterbi(b, p)
			require.NoError(t, err)
			course, err := m.Filter(b, p)
			require.NoError(t, err)
			s, entropy, err := framework.LocalStep(context.Background(), m, weighted, p, 1)
			require.NoError(t, err)
			total, wantEntropy := 0.0, 0.0
			score := make([]float64, len(p.Gate)) // Σ w (q − π) of the logits, with t
			for i := range b.Len() {
				first, end := b.Bounds(i)
				e := enumerateGated(p, structure, b.Steps, first, end, weights[i], score)
				assert.InDelta(t, e.logDensity, logProb[i], 1e-9)
				for j, v := range e.smoothed {
					assert.InDelta(t, v, smoothed[first*k+j], 1e-9)
				}
				assert.Equal(t, e.best, states[first:end])
				assert.InDelta(t, e.bestLog, best[i], 1e-9)
				assert.InDelta(t, e.logDensity, floats.Sum(course.LogDensity[first:end]), 1e-9)
				for j, v := range e.smoothed[(end-first-1)*k:] { // at the end nothing follows
					assert.InDelta(t, v, course.Filtered[(end-1)*k+j], 1e-9)
				}
				total += weights[i] * e.logDensity
				wantEntropy += weights[i] * e.entropy
			}
			assert.InDelta(t, wantEntropy, entropy, 1e-9)
			assert.InDelta(t, total, m.LogJoint(s, p)+entropy, 1e-9, "the bound is exact at the gate of the local step")
			own := k * 3
			for i := range s.Gates {
				assert.InDeltaSlice(t, score[i*own:(i+1)*own], s.Gates[i].Score(p.Gate[i*own:(i+1)*own]), 1e-9)
			}
		})
	}
}

// enumerateGated goes over all paths of the steps from first to end−1, and adds what they say about the logits to score.
func enumerateGated(p *hmm.Parameters, structure hmm.Structure, b blocks.Rows, first, end int, weight float64, score []float64) enumeration {
	k, n := p.K, end-first
	e := enumeration{smoothed: make([]float64, n*k), bestLog: math.Inf(-1)}
	at, total := paths(k, n)
	logs := make([]float64, total)
	row := func(t, before int) (source int, probabilities []float64) {
		if t > 0 {
			return before, gateAt(p, before, b.Row(first + t)[1:])
		}
		if structure.Initial == hmm.Gated {
			return k, gateAt(p, k, b.Row(first)[1:])
		}
		return -1, p.Start
	}
	for i := range logs {
		v, before := 0.0, 0
		for t, z := range at(i) {
			_, a := row(t, before)
			v += math.Log(a[z])
			if x := b.Row(first + t)[0]; x == x {
				v += distuv.Poisson{Lambda: p.Component(z)[0]}.LogProb(x)
			}
			before = z
		}
		logs[i] = v
		if v > e.bestLog {
			e.bestLog, e.best = v, slices.Clone(at(i))
		}
	}
	e.logDensity = floats.LogSumExp(logs)
	width := len(p.Root) / 3
	for i, v := range logs {
		q, before := math.Exp(v-e.logDensity), 0
		e.entropy -= q * (v - e.logDensity)
		for t, z := range at(i) {
			e.smoothed[t*k+z] += q
			source, a := row(t, before)
			before = z
			if source < 0 {
				continue
			}
			var of mat.VecDense
			_ = of.SolveVec(mat.NewDense(width, width, p.Root), mat.NewVecDense(width, append([]float64{1}, b.Row(first + t)[1:]...)))
			for j := range k {
				pull := -a[j]
				if j == z {
					pull++
				}
				for l := range width {
					score[(source*k+j)*width+l] += weight * q * pull * of.AtVec(l)
				}
			}
		}
	}
	return e
}

// TestGatesWithoutSlopesAreTheChain: iterations, likelihood and criteria of logits that see a constant are those of the
// chain whose moves are constant.
func TestGatesWithoutSlopesAreTheChain(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	k := 3
	plain := poissonChain(k, false, rng)
	plain.Components = []float64{1, 8, 25}
	src, err := hmm.Model{Family: family.Poisson{}, Structure: hmm.Structure{Covariates: 1}}.Resample(
		context.Background(), gatedSequences(t, []int{200, 1, 150, 40}, 1, rng), gatedOf(plain), rng)
	require.NoError(t, err)
	b := src.(*blocks.SequenceTable).All()
	var x []float64
	for i := range b.Steps.N {
		x = append(x, b.Steps.Row(i)[0])
		b.Steps.Row(i)[1] = 0 // t = (1, 0)
	}
	table, err := blocks.FromIncomplete(x, len(x), 1)
	require.NoError(t, err)
	alone, err := blocks.NewSequences(table, b.Ends)
	require.NoError(t, err)
	m := hmm.Model{Family: family.Poisson{}}
	with := hmm.Model{Family: family.Poisson{}, Structure: hmm.Structure{Covariates: 1}}
	p, q := plain, gatedOf(plain)
	ctx := context.Background()
	value := func(m hmm.Model, src framework.Source[blocks.Sequences], p *hmm.Parameters) float64 {
		s, h, err := framework.LocalStep(ctx, m, src, p, 1)
		require.NoError(t, err)
		return m.LogJoint(s, p) + h
	}
	assert.InDelta(t, value(m, alone, p), value(with, src, q), 1e-10)
	for range 400 {
		p, err = framework.EMStep(ctx, m, alone, p, 1)
		require.NoError(t, err)
		q, err = framework.EMStep(ctx, with, src, q, 1)
		require.NoError(t, err)
	}
	assert.InDelta(t, value(m, alone, p), value(with, src, q), 1e-10*math.Abs(value(m, alone, p)))
	assert.InDeltaSlice(t, p.Components, q.Components, 1e-6)
	assert.InDeltaSlice(t, p.Transitions, q.Transitions, 1e-6)
}

// gatedOf are the logits of constant moves, for a covariate that is 0.
func gatedOf(p *hmm.Parameters) *hmm.Parameters {
	q := *p
	q.Root = []float64{1, 0, 0, 1}
	for i := range p.K {
		for j := range p.K {
			q.Gate = append(q.Gate, math.Log(p.Move(i, j)), 0)
		}
	}
	return &q
}

// TestEqualGatesAreTheGatedMixture: where the state before does not matter, the chain is package experts.
func TestEqualGatesAreTheGatedMixture(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	structure := hmm.Structure{Covariates: 2, Initial: hmm.Gated}
	p := gatedChain(3, 2, structure, rng)
	own := 3 * 3
	for i := 1; i <= 3; i++ {
		copy(p.Gate[i*own:(i+1)*own], p.Gate[:own])
	}
	src := gatedSequences(t, []int{7, 1, 12}, 2, rng)
	reader, err := hmm.Model{Family: family.Poisson{}, Structure: structure}.Reader(p)
	require.NoError(t, err)
	logProb, smoothed, err := reader.Score(src.All(), nil, nil)
	require.NoError(t, err)
	mix := &experts.Parameters{D: 3, Gate: p.Gate[:own], Root: p.Root, Mixture: &mixture.Parameters{
		K: 3, D: 1, Weights: []float64{0.2, 0.3, 0.5}, Components: p.Components, Pooled: p.Pooled}}
	score, err := experts.Model{Family: family.Poisson{}, Gate: []int{1, 2}}.Scorer(mix)
	require.NoError(t, err)
	rows, r, err := score(src.All().Steps, nil, nil)
	require.NoError(t, err)
	assert.InDelta(t, floats.Sum(rows), floats.Sum(logProb), 1e-9)
	assert.InDeltaSlice(t, r, smoothed, 1e-9)
}

// TestLongGatedSequences: parts, windows and workers change nothing, also where scaled numbers fail.
func TestLongGatedSequences(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for name, structure := range gatedStructures(1) {
		p := gatedChain(3, 1, structure, rng)
		for _, steep := range []float64{1, 60} { // logits so steep that some moves are impossible in float64
			q := *p
			q.Gate = slices.Clone(p.Gate)
			floats.Scale(steep, q.Gate)
			src := gatedSequences(t, []int{3000, 4, 2100, 1500}, 1, rng)
			b := src.All()
			var want *hmm.Statistics
			for _, workers := range []int{1, 3} {
				m := hmm.Model{Family: family.Poisson{}, Structure: structure, Workers: workers}
				s, h, err := framework.LocalStep(context.Background(), m, src, &q, 1)
				require.NoError(t, err)
				if want == nil {
					want = s
				}
				assert.Equal(t, want.Gates, s.Gates, name)
				course, err := m.Filter(b, &q)
				require.NoError(t, err)
				total := floats.Sum(course.LogDensity)
				assert.InDelta(t, total, m.LogJoint(s, &q)+h, 1e-9*math.Abs(total), "%s, %v", name, steep)
				smoothed, err := m.Responsibilities(b, &q, nil)
				require.NoError(t, err)
				for i := range b.Len() { // where nothing follows, filtered is smoothed
					_, end := b.Bounds(i)
					assert.InDeltaSlice(t, course.Filtered[(end-1)*3:end*3], smoothed[(end-1)*3:end*3], 1e-9)
				}
				left := 0.0
				for i := range 3 {
					left += s.Left(i)
				}
				assert.InDelta(t, float64(b.Steps.N-b.Len()), left, 1e-6)
			}
		}
	}
}

// TestGateErrorsAreThoseOfTheLikelihood by second differences of ln p itself, of all logits.
func TestGateErrorsAreThoseOfTheLikelihood(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	structure := hmm.Structure{Covariates: 1, Initial: hmm.Gated}
	truth := gatedChain(2, 1, structure, rng)
	truth.Components = []float64{3, 9}
	m := hmm.Model{Family: family.Poisson{}, Structure: structure}
	src, err := m.Resample(context.Background(), gatedSequences(t, slices.Repeat([]int{40}, 60), 1, rng), truth, rng)
	require.NoError(t, err)
	res := fit(t, m, src, framework.Options{K: 2, Method: framework.EM, Accelerate: true, Tolerance: 1e-10})
	p := res.Parameters
	list, err := m.Coefficients(context.Background(), src, p)
	require.NoError(t, err)
	value := func(delta []float64) float64 { // of the log odds, in the table's units
		q := *p
		q.Gate = slices.Clone(p.Gate)
		for i := range 3 {
			// odds b₀ + b₁x are γᵀt with t = (1, (x − L₂₁)/L₂₂); against state 2 after state 2
			place := []int{2, 0, 2}[i]
			q.Gate[i*4+place] += delta[2*i] + delta[2*i+1]*p.Root[2]
			q.Gate[i*4+place+1] += delta[2*i+1] * p.Root[3]
		}
		logs, err := m.LogProb(src.(*blocks.SequenceTable).All(), &q, nil)
		require.NoError(t, err)
		return floats.Sum(logs)
	}
	const h = 1e-3
	info := mat.NewSymDense(6, nil)
	for a := range 6 {
		for b := a; b < 6; b++ {
			sum := 0.0
			for _, s := range [][2]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
				delta := make([]float64, 6)
				delta[a] += s[0] * h
				delta[b] += s[1] * h
				sum += s[0] * s[1] * value(delta)
			}
			info.SetSym(a, b, -sum/(4*h*h))
		}
	}
	var chol mat.Cholesky
	require.True(t, chol.Factorize(info))
	var cov mat.SymDense
	require.NoError(t, chol.InverseTo(&cov))
	for i, of := range list {
		for j, c := range of {
			assert.InEpsilon(t, math.Sqrt(cov.At(2*i+j, 2*i+j)), c.Error, 2e-3)
		}
	}
}

// TestGatedChainsConform: the equations of framework/lvmtest.
func TestGatedChainsConform(t *testing.T) {
	for name, lengths := range map[string][]int{"short": lengths(40), "long": {1100, 30, 1060, 5, 8, 3, 9, 2, 14, 6}} {
		x, ends := drawn(lengths, 3, func(z int, rng *rand.Rand) []float64 {
			return append(gaussianState(z, rng), 2+rng.NormFloat64())
		}, 0)
		for start, structure := range gatedStructures(1) {
			if start == "uniform" || name == "long" && start == "free" {
				continue // which differ from the others in their first steps alone
			}
			t.Run(name+" "+start, func(t *testing.T) {
				m := hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}, Structure: structure, Workers: 1}
				lvmtest.Test(t, hmmCase{Model: m, Data: lvmtest.Sequences(x, ends), K: []int{2}, NoAllocations: true,
					Symmetry: func(p *hmm.Parameters, rng *rand.Rand) *hmm.Parameters {
						q, err := m.Permute(p, rng.Perm(p.K))
						if err != nil {
							panic(err)
						}
						return q
					}})
			})
		}
	}
}
