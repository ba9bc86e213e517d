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

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/ranks"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/prior"
)

// A path's counts: of steps and ones in each of two states, and of moves.
type pathCounts struct{ steps, ones, start, moves [4]float64 }

func countsOf(x []float64, path int) (c pathCounts) {
	last := 0
	for t, v := range x {
		z := path >> t & 1
		c.steps[z]++
		c.ones[z] += v
		if t == 0 {
			c.start[z]++
		} else {
			c.moves[2*last+z]++
		}
		last = z
	}
	return c
}

// logEvidence is ln p(x, path) with all parameters integrated out under Dirichlet(½) priors.
func (c pathCounts) logEvidence() (sum float64) {
	half := prior.Dirichlet{Alpha: 0.5}.LogNorm(2)
	of := func(a, b float64) float64 { return prior.Concentrations{a + 0.5, b + 0.5}.LogNorm() - half }
	for z := range 2 {
		sum += of(c.ones[z], c.steps[z]-c.ones[z]) + of(c.moves[2*z], c.moves[2*z+1])
	}
	return sum + of(c.start[0], c.start[1])
}

// gfic is the criterion of a path, at its own parameters: a state that it does not visit is projected away.
func (c pathCounts) gfic(t testing.TB, m hmm.Model, p *hmm.Parameters, s *hmm.Statistics) float64 {
	t.Helper()
	n := c.steps[0] + c.steps[1]
	s.N, s.Sequences = n, 1
	copy(s.Nk, c.steps[:2])
	copy(s.Starts, c.start[:2])
	copy(s.Moves, c.moves[:])
	for z := range 2 {
		s.Classes.Sums[2*z], s.Classes.Sums[2*z+1] = c.steps[z], c.ones[z]
	}
	var err error
	for z := range 2 {
		if c.steps[z] == 0 {
			s, p, err = m.Keep(s, p, []int{1 - z})
			require.NoError(t, err)
			break
		}
	}
	q, err := m.Maximize(s, p, nil)
	require.NoError(t, err)
	var f laplace.Curvature
	f.Reset(n, false)
	require.NoError(t, m.Curvature(s, q, &f))
	e := framework.Evaluation{LogJoint: m.LogJoint(s, q), LogDet: f.LogDet(), Shape: m.Shape(q), N: n, Charges: m.Charges(s, q)}
	return framework.GFIC.Value(&e)
}

// gFIC less ln p(X), both by the sum over all paths, with q the exact posterior of the paths: it is bounded as T grows
// (paper G, section 4; docs/theory/hmm.md, section 8).
func TestCriterionAgainstTheExactEvidence(t *testing.T) {
	m := hmm.Model{Family: family.Bernoulli{}}
	pooled := &family.Pooled{N: 1, Parameters: []float64{0.5}, Sums: []float64{1, 0.5}, Anchor: []float64{}, Units: []float64{}}
	p := &hmm.Parameters{K: 2, D: 1, Start: []float64{0.5, 0.5}, Transitions: []float64{0.5, 0.5, 0.5, 0.5}, Components: []float64{0.5, 0.5}, Pooled: pooled}
	s := m.NewStatistics(p)
	all := []float64{0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1}
	var gaps []float64
	for _, n := range []int{6, 9, 12, 15} {
		x := all[:n]
		logs := make([]float64, 1<<n)
		for path := range logs {
			logs[path] = countsOf(x, path).logEvidence()
		}
		evidence, value := floats.LogSumExp(logs), 0.0
		for path, v := range logs {
			q := math.Exp(v - evidence)
			value += q * (countsOf(x, path).gfic(t, m, p, s) - (v - evidence))
		}
		gaps = append(gaps, value-evidence)
	}
	t.Log(gaps)
	for i, gap := range gaps {
		assert.Less(t, math.Abs(gap), 3.0)
		if i > 0 {
			assert.Less(t, math.Abs(gap), math.Abs(gaps[i-1])+0.02)
		}
	}
}

// evident fits by the evidence, from K = 8 where k is 0.
func evident(t testing.TB, m hmm.Model, src framework.Source[blocks.Sequences], k int) *framework.Result[*hmm.Parameters, *hmm.Statistics] {
	t.Helper()
	o := framework.Options{K: 8, Criterion: framework.Evidence, Restarts: 10, Seed: 1}
	if k > 0 {
		o.K, o.FixedK = k, true
	}
	res := fit(t, m, src, o)
	require.Zero(t, res.Fall, "the objective fell")
	return res
}

// The values by K are those of a derivation by hand in another program (docs/theory/evidence.md, "Held by tests").
func TestEvidenceOfEarthquakes(t *testing.T) {
	src, m := sequencesOf(t, earthquakes), hmm.Model{Family: family.Poisson{}}
	for i, want := range []float64{-395.82, -354.31, -352.28, -360.01, -366.88} {
		res := evident(t, m, src, i+1)
		t.Log(i+1, res.Value)
		assert.InDelta(t, want, res.Value, 0.01, "K = %d", i+1)
	}
	assert.Equal(t, 3, evident(t, m, src, 0).Shape.K)
}

// logMarginal is ln p(x) of counts under Poisson states, Dir(1) for start and transitions, and gamma(1, 1/x̄) for means, by the sum over all
// paths, in which the start may be stationary: then A is integrated over by quadrature, of two states.
func logMarginal(x []float64, k int, stationary bool) float64 {
	n, mean := len(x), floats.Sum(x)/float64(len(x))
	total := int(math.Pow(float64(k), float64(n)))
	logs := make([]float64, total)
	gamma := func(v float64) float64 { g, _ := math.Lgamma(v); return g }
	for i := range logs {
		steps, sums, moves := make([]float64, k), make([]float64, k), make([]float64, k*k)
		first, last := 0, 0
		for t, code := 0, i; t < n; t, code = t+1, code/k {
			z := code % k
			steps[z]++
			sums[z] += x[t]
			if t == 0 {
				first = z
			} else {
				moves[last*k+z]++
			}
			last = z
			logs[i] -= gamma(x[t] + 1)
		}
		for z := range k {
			logs[i] += -math.Log(mean) + gamma(1+sums[z]) - (1+sums[z])*math.Log(1/mean+steps[z])
		}
		if stationary {
			logs[i] += stationaryPath(moves, first)
			continue
		}
		logs[i] -= math.Log(float64(k))
		for z := range k {
			logs[i] += gamma(float64(k)) - gamma(float64(k)+floats.Sum(moves[z*k:][:k]))
			for _, v := range moves[z*k:][:k] {
				logs[i] += gamma(v + 1)
			}
		}
	}
	return floats.LogSumExp(logs)
}

// stationaryPath is ln ∫ π_first(A) Π a_kl^moves dA of two states by the midpoint rule.
func stationaryPath(moves []float64, first int) float64 {
	const points = 40
	sum := 0.0
	for i := range points {
		leave := (float64(i) + 0.5) / points
		for j := range points {
			enter := (float64(j) + 0.5) / points // of state 0, from 1
			start := enter / (leave + enter)
			if first == 1 {
				start = leave / (leave + enter)
			}
			sum += start * math.Pow(1-leave, moves[0]) * math.Pow(leave, moves[1]) * math.Pow(enter, moves[2]) * math.Pow(1-enter, moves[3])
		}
	}
	return math.Log(sum / points / points)
}

// The evidence and ln K!, for the labels, against the sum over all paths: never above, next to it where states are apart. A stationary start,
// one in eight steps here, is taken at the mode of A, which errs upwards.
func TestEvidenceIsBelowTheSumOverAllPaths(t *testing.T) {
	apart := []float64{1, 0, 2, 1, 40, 38, 45, 41, 2, 0, 1}
	for _, c := range []struct {
		name            string
		x               []float64
		k               int
		chain           hmm.Structure
		lowest, highest float64
	}{
		{"one state", apart, 1, hmm.Structure{}, -1e-9, 1e-9},
		{"8 steps apart", apart[:8], 2, hmm.Structure{}, -0.005, 1e-9},
		{"11 steps apart", apart, 2, hmm.Structure{}, -0.015, 1e-9},
		{"8 steps apart, stationary", apart[:8], 2, hmm.Structure{Initial: hmm.Stationary}, 0, 0.15},
		{"one state in truth", []float64{5, 3, 8, 4, 6, 5, 2, 7, 4, 5, 6}, 2, hmm.Structure{}, -2, 1e-9},
		{"three states", []float64{1, 0, 2, 45, 38, 400, 380, 0}, 3, hmm.Structure{}, -0.05, 1e-9},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := evident(t, hmm.Model{Family: family.Poisson{}, Structure: c.chain}, sequencesOf(t, c.x), c.k)
			labels, _ := math.Lgamma(float64(c.k) + 1)
			gap := res.Value + labels - logMarginal(c.x, c.k, c.chain.Initial == hmm.Stationary)
			t.Logf("%.4f", gap)
			assert.LessOrEqual(t, gap, c.highest)
			assert.Greater(t, gap, c.lowest)
		})
	}
}

// Of conjugate families the evidence is the bound of variational Bayes with the same priors, by other code.
func TestEvidenceIsTheBoundOfVariationalBayes(t *testing.T) {
	for _, c := range conformingCases() {
		if c.name != "Poisson" {
			continue
		}
		src, _ := cut(t, c)
		for _, chain := range []hmm.Structure{{}, {Initial: hmm.Uniform}, {LeftRight: 1, Initial: hmm.FirstState}} {
			res := evident(t, hmm.Model{Family: c.family, Structure: chain}, src, 3)
			vb, err := framework.Fit(context.Background(), hmm.Variational{Family: c.family, Structure: chain}, src,
				framework.Options{K: 3, Method: framework.EM, Restarts: 10, Seed: 1})
			require.NoError(t, err)
			assert.InDelta(t, vb.Value, res.Value, 1e-5)
		}
	}
}

// Every family and structure: the objective never falls, and the mode is a fixed point of the global step.
func TestEvidenceNeverFalls(t *testing.T) {
	for _, c := range conformingCases() {
		src, _ := cut(t, c)
		for _, chain := range []hmm.Structure{{}, {Initial: hmm.Stationary}, {LeftRight: 2}, {LeftRight: 1, Initial: hmm.FirstState}} {
			m := hmm.Model{Family: c.family, Structure: chain}
			res := fit(t, m, src, framework.Options{K: 4, Criterion: framework.Evidence, Seed: 1})
			assert.Zero(t, res.Fall, "%s %+v", c.name, chain)
			assert.Less(t, res.Value, res.Evaluation.Bound())
			next, err := m.MaximizePosterior(res.Statistics, res.Parameters, nil)
			require.NoError(t, err)
			for j, v := range res.Parameters.Vector() {
				assert.InDelta(t, v, next.Vector()[j], 1e-4*math.Max(1, math.Abs(v)), "%s %+v", c.name, chain)
			}
		}
	}
}

// A state that sequences end in and never leave costs its emissions, its place in the start and that others may lead to it, and
// nothing for its own row of transitions: no tangent goes on below some count.
func TestEvidenceOfAStateThatIsNeverLeft(t *testing.T) {
	var lists [][]float64
	for range 12 {
		lists = append(lists, []float64{2, 1, 3, 60})
	}
	res := evident(t, hmm.Model{Family: family.Poisson{}}, sequencesOf(t, lists...), 2)
	m, s, p := hmm.Model{Family: family.Poisson{}}, res.Statistics, res.Parameters
	last := 0
	if p.Component(1)[0] > p.Component(0)[0] {
		last = 1
	}
	require.Less(t, s.Left(last), 1e-9)
	flat := prior.Dirichlet{Alpha: 1}.LogNorm(2)
	want := prior.Concentrations{1 + 12, 1}.LogNorm() + prior.Concentrations{1 + 24, 1 + 12}.LogNorm() - 2*flat
	for _, class := range [][2]float64{{36, 72}, {12, 720}} { // steps and their sum
		mean := 792. / 48
		g, _ := math.Lgamma(1 + class[1])
		want += -math.Log(mean) + g - (1+class[1])*math.Log(1/mean+class[0])
	}
	for _, v := range slices.Concat(lists...) {
		g, _ := math.Lgamma(v + 1)
		want -= g
	}
	assert.InDelta(t, want, res.Value, 1e-6)
	relevance, err := m.Relevance(s, p)
	require.NoError(t, err)
	assert.Greater(t, floats.Min(relevance), 0.0)
}

// One process, three of them, and a fit that goes on from a checkpoint have the same bits.
func TestEvidenceHasTheSameBitsInProcessesAndAfterAResume(t *testing.T) {
	c := conformingCases()[3]
	src, _ := cut(t, c)
	m, o := hmm.Model{Family: c.family}, framework.Options{K: 6, Criterion: framework.Evidence, Restarts: 2, Seed: 1}
	whole := fit(t, m, src, o)
	same := func(res *framework.Result[*hmm.Parameters, *hmm.Statistics]) {
		require.Equal(t, whole.Trace, res.Trace)
		require.Equal(t, whole.Parameters.Vector(), res.Parameters.Vector())
	}
	results := make([]*framework.Result[*hmm.Parameters, *hmm.Statistics], 3)
	for rank, err := range ranks.Each(3, func(r ranks.Rank) (err error) {
		o := o
		o.Group = r
		rank, _ := r.Rank()
		results[rank], err = framework.Fit(context.Background(), m, src, o)
		return err
	}) {
		require.NoError(t, err, "process %d", rank)
		same(results[rank])
	}
	cut := o
	cut.MaxIterations = 4
	saved, err := fit(t, m, src, cut).Checkpoint()
	require.NoError(t, err)
	o.Resume = saved
	same(fit(t, m, src, o))
}

// Starts that had not begun at a checkpoint are given up where they are in a fit that was not interrupted.
func TestStartsThatHadNotBegunResumeWithTheirGoal(t *testing.T) {
	const n = 600
	rng, x, level := rand.New(rand.NewPCG(1, 1)), make([]float64, n), 0.0
	for i := range x {
		if rng.Float64() < 0.03 {
			level = float64(rng.IntN(8))
		}
		x[i] = level + 0.7*rng.NormFloat64()
	}
	rows, err := blocks.FromSlice(x, n, 1)
	require.NoError(t, err)
	src, err := blocks.NewSequences(rows, nil)
	require.NoError(t, err)
	m, o := hmm.Model{Family: normal.Family{}}, framework.Options{K: 4, Seed: 1, Restarts: 10, Workers: 1}
	whole := fit(t, m, src, o)
	var saved []byte
	o.Recorder = func(e framework.Event) (err error) {
		if e.Restart == 2 && saved == nil {
			saved, err = e.Checkpoint()
		}
		return err
	}
	fit(t, m, src, o)
	require.NotNil(t, saved)
	o.Recorder, o.Resume = nil, saved
	require.Equal(t, whole.Restarts, fit(t, m, src, o).Restarts)
}
