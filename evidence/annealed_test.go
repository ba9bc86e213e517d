package evidence_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/panics"
)

// normalMean is x ~ N(θ, 1), θ ~ N(0, prior²), whose tempered posterior can be drawn
// from: all error is that of annealing itself.
type normalMean struct {
	x     []float64
	prior float64
}

func (m normalMean) Draw(rng *rand.Rand) (float64, error) { return m.prior * rng.NormFloat64(), nil }

func (m normalMean) LogLikelihood(theta float64) float64 {
	sum := 0.0
	for _, x := range m.x {
		sum += (x - theta) * (x - theta)
	}
	return -sum/2 - float64(len(m.x))/2*math.Log(2*math.Pi)
}

func (m normalMean) Step(_ float64, t float64, rng *rand.Rand) (float64, error) {
	mean, deviation := m.posterior(t)
	return mean + deviation*rng.NormFloat64(), nil
}

func (m normalMean) posterior(t float64) (mean, deviation float64) {
	precision, sum := 1/(m.prior*m.prior)+t*float64(len(m.x)), 0.0
	for _, x := range m.x {
		sum += t * x
	}
	return sum / precision, 1 / math.Sqrt(precision)
}

// exact is ln N(x; 0, I + prior² 11ᵀ).
func (m normalMean) exact() float64 {
	n, v := float64(len(m.x)), m.prior*m.prior
	sum, squares := 0.0, 0.0
	for _, x := range m.x {
		sum += x
		squares += x * x
	}
	return -n/2*math.Log(2*math.Pi) - math.Log1p(n*v)/2 - squares/2 + v*sum*sum/(1+n*v)/2
}

func newNormalMean(n int) normalMean {
	rng := rand.New(rand.NewPCG(5, 6))
	m := normalMean{x: make([]float64, n), prior: 3}
	for i := range m.x {
		m.x[i] = 2 + rng.NormFloat64()
	}
	return m
}

// z-scores of estimates from many seeds against the exact value.
func scores(t *testing.T, seeds int, exact float64, run func(seed uint64) evidence.Estimate) (mean, rms float64) {
	for seed := range seeds {
		e := run(uint64(seed))
		z := (e.LogEvidence - exact) / e.StandardError
		require.Less(t, math.Abs(z), 4.5)
		mean += z / float64(seeds)
		rms += z * z / float64(seeds)
	}
	return mean, math.Sqrt(rms)
}

func TestNormalMeanMatchesClosedFormWithHonestError(t *testing.T) {
	m := newNormalMean(30)
	mean, rms := scores(t, 30, m.exact(), func(seed uint64) evidence.Estimate {
		e, err := evidence.AIS[float64](t.Context(), m, evidence.AISOptions{Temperatures: 40, Chains: 100, Seed: seed})
		require.NoError(t, err)
		require.InDelta(t, 0, e.LogEvidence-m.exact(), 0.5)
		require.Greater(t, e.EffectiveSampleSize, 20.0)
		require.LessOrEqual(t, e.EffectiveSampleSize, 100.0)
		require.Len(t, e.LogWeights, 100)
		return e
	})
	t.Logf("z-scores over 30 seeds: mean %.2f, rms %.2f", mean, rms)
	require.Less(t, math.Abs(mean), 4/math.Sqrt(30))
	require.Greater(t, rms, 0.6)
	require.Less(t, rms, 1.6)
}

func TestPathSamplingAgreesOnAFineGrid(t *testing.T) {
	m := newNormalMean(30)
	e, err := evidence.AIS[float64](t.Context(), m, evidence.AISOptions{Temperatures: 400, Chains: 200})
	require.NoError(t, err)
	t.Logf("exact %.4f, path %.4f ± %.4f, AIS %.4f ± %.4f", m.exact(), e.PathSampling, e.PathStandardError, e.LogEvidence, e.StandardError)
	require.InDelta(t, m.exact(), e.PathSampling, 4*e.PathStandardError)
	require.InDelta(t, m.exact(), e.LogEvidence, 4*e.StandardError)
	require.Less(t, e.PathStandardError, 0.05)
	require.Less(t, e.StandardError, 0.05)
}

// bernoulliMixture is K components over two bits, s = (Z, π, μ), moved by Gibbs sampling.
type bernoulliMixture struct {
	m    evidence.Mixture
	rows []int
}

type mixtureState struct {
	z       []int
	weights []float64 // K
	means   []float64 // K×2
}

func (g bernoulliMixture) Draw(rng *rand.Rand) (*mixtureState, error) {
	s := &mixtureState{z: make([]int, len(g.rows)/2), weights: make([]float64, g.m.K), means: make([]float64, 2*g.m.K)}
	g.parameters(s, 0, false, rng)
	g.assign(s, 0, rng)
	return s, nil
}

func (g bernoulliMixture) LogLikelihood(s *mixtureState) float64 {
	sum := 0.0
	for i := range s.z {
		sum += g.logRow(s, i, s.z[i])
	}
	return sum
}

func (g bernoulliMixture) Step(s *mixtureState, t float64, rng *rand.Rand) (*mixtureState, error) {
	g.parameters(s, t, true, rng)
	g.assign(s, t, rng)
	return s, nil
}

func (g bernoulliMixture) logRow(s *mixtureState, i, k int) float64 {
	sum := 0.0
	for j := range 2 {
		mean := s.means[2*k+j]
		if g.rows[2*i+j] == 0 {
			mean = 1 - mean
		}
		sum += math.Log(mean)
	}
	return sum
}

// parameters draws π and μ given Z, or from the prior.
func (g bernoulliMixture) parameters(s *mixtureState, t float64, given bool, rng *rand.Rand) {
	size, ones := make([]float64, g.m.K), make([]float64, 2*g.m.K)
	if given {
		for i, k := range s.z {
			size[k]++
			ones[2*k] += float64(g.rows[2*i])
			ones[2*k+1] += float64(g.rows[2*i+1])
		}
	}
	total := 0.0
	for k := range size {
		s.weights[k] = distuv.Gamma{Alpha: g.m.Alpha + size[k], Beta: 1, Src: rng}.Rand()
		total += s.weights[k]
		for j := range 2 {
			n := ones[2*k+j]
			s.means[2*k+j] = distuv.Beta{Alpha: g.m.Beta + t*n, Beta: g.m.Beta + t*(size[k]-n), Src: rng}.Rand()
		}
	}
	for k := range s.weights {
		s.weights[k] /= total
	}
}

func (g bernoulliMixture) assign(s *mixtureState, t float64, rng *rand.Rand) {
	p := make([]float64, g.m.K)
	for i := range s.z {
		for k := range p {
			p[k] = s.weights[k] * math.Exp(t*g.logRow(s, i, k))
		}
		s.z[i] = categorical.Draw(p, rng)
	}
}

func TestMixtureByGibbsMatchesExactEvidence(t *testing.T) {
	for _, k := range []int{1, 2, 3} {
		m := evidence.Mixture{K: k, Levels: []int{2, 2}, Alpha: 1, Beta: 1}
		target := bernoulliMixture{m, binaryRows(30)}
		exact, err := m.LogEvidence(t.Context(), target.rows, nil)
		require.NoError(t, err)
		mean, rms := scores(t, 10, exact, func(seed uint64) evidence.Estimate {
			e, err := evidence.AIS[*mixtureState](t.Context(), target, evidence.AISOptions{Temperatures: 60, Chains: 50, Seed: seed})
			require.NoError(t, err)
			require.Less(t, e.StandardError, 0.25)
			return e
		})
		t.Logf("K = %d: z-scores over 10 seeds: mean %.2f, rms %.2f", k, mean, rms)
		require.Less(t, math.Abs(mean), 4/math.Sqrt(10))
		require.Greater(t, rms, 0.4)
		require.Less(t, rms, 1.8)
	}
}

func TestChainsGiveSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	target := bernoulliMixture{evidence.Mixture{K: 2, Alpha: 1, Beta: 1}, binaryRows(10)}
	var first evidence.Estimate
	for i, workers := range []int{1, 2, 9} {
		e, err := evidence.AIS[*mixtureState](t.Context(), target, evidence.AISOptions{Temperatures: 10, Chains: 8, Workers: workers})
		require.NoError(t, err)
		if i == 0 {
			first = e
		}
		require.Equal(t, first, e)
	}
	other, err := evidence.AIS[*mixtureState](t.Context(), target, evidence.AISOptions{Temperatures: 10, Chains: 8, Seed: 1})
	require.NoError(t, err)
	require.NotEqual(t, first.LogWeights, other.LogWeights)
}

func TestOwnScheduleOfOneStepIsImportanceSamplingFromThePrior(t *testing.T) {
	m := newNormalMean(2)
	e, err := evidence.AIS[float64](t.Context(), m, evidence.AISOptions{Schedule: []float64{0, 1}, Chains: 20, Seed: 7})
	require.NoError(t, err)
	for i, got := range e.LogWeights {
		theta, _ := m.Draw(rand.New(rand.NewPCG(7, uint64(i))))
		require.Equal(t, m.LogLikelihood(theta), got)
	}
}

// scripted is a target made of functions.
type scripted struct {
	draw, step func(rng *rand.Rand) (float64, error) // the state is its own ln L
}

func (s scripted) Draw(rng *rand.Rand) (float64, error) { return s.draw(rng) }
func (s scripted) LogLikelihood(v float64) float64      { return v }
func (s scripted) Step(_, _ float64, rng *rand.Rand) (float64, error) {
	return s.step(rng)
}

func always(v float64, err error) func(*rand.Rand) (float64, error) {
	return func(*rand.Rand) (float64, error) { return v, err }
}

func TestFailuresOfTheTargetAreErrors(t *testing.T) {
	mine := errors.New("mine")
	for _, c := range []struct {
		target scripted
		want   string
	}{
		{scripted{always(0, mine), always(0, nil)}, "draw from the prior: mine"},
		{scripted{always(0, nil), always(0, mine)}, "step at temperature"},
		{scripted{always(math.NaN(), nil), always(0, nil)}, "log likelihood NaN"},
		{scripted{always(math.Inf(1), nil), always(0, nil)}, "log likelihood +Inf"},
		{scripted{always(0, nil), always(math.NaN(), nil)}, "log likelihood NaN"},
		{scripted{always(0, nil), always(math.Inf(-1), nil)}, "state of likelihood 0"},
		{scripted{always(math.Inf(-1), nil), always(0, nil)}, "all 64 chains began at likelihood 0"},
	} {
		_, err := evidence.AIS[float64](t.Context(), c.target, evidence.AISOptions{})
		require.ErrorContains(t, err, c.want)
		require.True(t, strings.HasPrefix(err.Error(), "evidence: "))
	}
	_, err := evidence.AIS[float64](t.Context(), scripted{always(0, mine), nil}, evidence.AISOptions{})
	require.ErrorIs(t, err, mine)
	requirePanic(t, mine, func() {
		_, _ = evidence.AIS[float64](t.Context(), scripted{func(*rand.Rand) (float64, error) { panic(mine) }, nil}, evidence.AISOptions{})
	})
}

// requirePanic holds what f panics with to a value, and to a stack that shows where the author's code did.
func requirePanic(t *testing.T, value any, f func()) {
	t.Helper()
	defer func() {
		p, ok := recover().(*panics.Panic)
		require.True(t, ok)
		require.Equal(t, value, p.Value)
		require.Contains(t, p.Error(), t.Name())
	}()
	f()
}

// A likelihood that is 1 on a quarter of the prior and 0 elsewhere: evidence ¼.
func TestDrawsOfLikelihoodZeroCountAsWeightZero(t *testing.T) {
	target := scripted{func(rng *rand.Rand) (float64, error) {
		if rng.Float64() < 0.25 {
			return 0, nil
		}
		return math.Inf(-1), nil
	}, always(0, nil)}
	e, err := evidence.AIS[float64](t.Context(), target, evidence.AISOptions{Temperatures: 3, Chains: 4000})
	require.NoError(t, err)
	require.InDelta(t, math.Log(0.25), e.LogEvidence, 4*e.StandardError)
	require.InEpsilon(t, math.Sqrt(3./4000), e.StandardError, 0.1, "√((1−p)/(pC))")
	require.True(t, math.IsInf(e.PathSampling, -1) && math.IsInf(e.PathStandardError, 1))
}

func TestHugeLogLikelihoodsNeitherOverflowNorVanish(t *testing.T) {
	for _, v := range []float64{-1e300, -1e5, 0, 1e5, 1e300} {
		e, err := evidence.AIS[float64](t.Context(), scripted{always(v, nil), always(v, nil)}, evidence.AISOptions{Chains: 3})
		require.NoError(t, err)
		requireClose(t, v, e.LogEvidence, 1e-12, "constant likelihood")
		requireClose(t, v, e.PathSampling, 1e-12, "constant likelihood")
		require.Zero(t, e.StandardError)
		require.InDelta(t, 3, e.EffectiveSampleSize, 1e-12)
	}
}

func TestWrongOptionsAreErrors(t *testing.T) {
	m := newNormalMean(2)
	for _, o := range []evidence.AISOptions{
		{Chains: 1}, {Chains: -1}, {Temperatures: -1}, {Workers: -1},
		{Schedule: []float64{}}, {Schedule: []float64{0}}, {Schedule: []float64{0.1, 1}}, {Schedule: []float64{0, 0.9}},
		{Schedule: []float64{0, 0.5, 0.5, 1}}, {Schedule: []float64{0, math.NaN(), 1}}, {Schedule: []float64{0, 2, 1}},
	} {
		_, err := evidence.AIS[float64](t.Context(), m, o)
		require.ErrorContains(t, err, "evidence: ", "%+v", o)
	}
}

func TestCancelledChainsStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	target := scripted{always(0, nil), func(*rand.Rand) (float64, error) { cancel(); return 0, nil }}
	_, err := evidence.AIS[float64](ctx, target, evidence.AISOptions{Temperatures: 1 << 18})
	require.ErrorIs(t, err, context.Canceled)
}
