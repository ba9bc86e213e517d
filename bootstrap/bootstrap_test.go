package bootstrap_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/mixture"
)

var (
	gaussians  = mixture.Model{Family: normal.Family{Covariance: normal.Diagonal}}
	tied       = mixture.Model{Family: normal.Family{Covariance: normal.Tied}} // no component collapses onto a row
	bernoullis = mixture.Model{Family: family.Bernoulli{}}
	em         = framework.Options{Method: framework.EM, Tolerance: 1e-7}
)

// column draws n numbers, as many of each mean as of the others, with standard deviation 1.
func column(t *testing.T, n int, rng *rand.Rand, means ...float64) *blocks.Table {
	t.Helper()
	x := make([]float64, n)
	for i := range x {
		x[i] = means[i%len(means)] + rng.NormFloat64()
	}
	table, err := blocks.FromSlice(x, n, 1)
	require.NoError(t, err)
	return table
}

func pcg(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// fitted are the parameters of an EM fit.
func fitted(t *testing.T, m mixture.Model, src framework.Source[blocks.Rows], k int) *mixture.Parameters {
	t.Helper()
	o := em
	o.K, o.Restarts = k, 3
	res, err := framework.Fit(t.Context(), m, src, o)
	require.NoError(t, err)
	p, err := m.Canonical(res.Parameters)
	require.NoError(t, err)
	return p
}

// The standard deviation of 400 draws has an error of 3.5 %: the margin is more than three times that.
const draws, margin = 400, 0.12

func TestErrorOfAGaussianMeanIsSDOverRootN(t *testing.T) {
	src := column(t, 200, pcg(1), 5)
	p := fitted(t, gaussians, src, 1)
	mean, variance := p.Components[0], p.Components[1]
	for _, scheme := range []bootstrap.Scheme{bootstrap.Parametric, bootstrap.Nonparametric, bootstrap.Bayesian} {
		e, err := bootstrap.StandardErrors(t.Context(), gaussians, src, p, (*mixture.Parameters).Vector, bootstrap.Options{Draws: draws, Scheme: scheme, Fit: em})
		require.NoError(t, err)
		require.Len(t, e.Numbers, 3)
		want := math.Sqrt(variance / 200)
		got := e.Numbers[1]
		assert.Equal(t, mean, got.Estimate)
		assert.InEpsilon(t, want, got.Error, margin, scheme)
		assert.InDelta(t, mean, got.Mean, 4*want/math.Sqrt(draws), scheme)
		assert.InDelta(t, mean-1.96*want, got.Low, 0.5*want, scheme)
		assert.InDelta(t, mean+1.96*want, got.High, 0.5*want, scheme)
		assert.Equal(t, bootstrap.Number{Estimate: 1, Mean: 1, Low: 1, High: 1}, e.Numbers[0], "one component has all the weight")
		rows, columns := e.Draws.Dims()
		assert.Equal(t, []int{draws, 3}, []int{rows, columns})
		assert.Empty(t, e.Failed)
	}
}

func TestErrorOfABernoulliProbability(t *testing.T) {
	src, err := blocks.FromSlice([]float64{1, 0}, 2, 1)
	require.NoError(t, err)
	src, err = src.WithWeights([]float64{60, 140})
	require.NoError(t, err)
	p := fitted(t, bernoullis, src, 1)
	for _, scheme := range []bootstrap.Scheme{bootstrap.Parametric, bootstrap.Nonparametric, bootstrap.Bayesian} {
		e, err := bootstrap.StandardErrors(t.Context(), bernoullis, src, p, (*mixture.Parameters).Vector, bootstrap.Options{Draws: draws, Scheme: scheme, Fit: em})
		require.NoError(t, err)
		assert.InEpsilon(t, math.Sqrt(0.3*0.7/200), e.Numbers[1].Error, margin, scheme)
	}
}

// TestErrorsOfOverlappingComponentsAreThoseOfTheObservedInformation, which complete-data standard errors are not.
func TestErrorsOfOverlappingComponentsAreThoseOfTheObservedInformation(t *testing.T) {
	src := column(t, 6000, pcg(2), 0, 0, 3)
	p := fitted(t, gaussians, src, 2)
	free := append([]float64{p.Weights[0]}, p.Components...)
	var hessian mat.SymDense
	fd.Hessian(&hessian, func(v []float64) float64 {
		logProb, err := gaussians.LogProb(src.All(), &mixture.Parameters{K: 2, D: 1, Weights: []float64{v[0], 1 - v[0]}, Components: v[1:], Pooled: p.Pooled}, nil)
		require.NoError(t, err)
		return -floats.Sum(logProb)
	}, free, nil)
	var covariance mat.Dense
	require.NoError(t, covariance.Inverse(&hessian))

	e, err := bootstrap.StandardErrors(t.Context(), gaussians, src, p, func(p *mixture.Parameters) []float64 { return append([]float64{p.Weights[0]}, p.Components...) },
		bootstrap.Options{Draws: draws, Fit: em})
	require.NoError(t, err)
	for i, number := range e.Numbers {
		assert.InEpsilon(t, math.Sqrt(covariance.At(i, i)), number.Error, margin, "number %d", i)
	}
}

// exchanged starts refits with the components in the other order.
type exchanged struct{ mixture.Model }

func (m exchanged) StartAt(ctx context.Context, src framework.Source[blocks.Rows], p *mixture.Parameters) (*mixture.Parameters, error) {
	p, err := m.Model.StartAt(ctx, src, p)
	if err != nil {
		return nil, err
	}
	return m.Permute(p, []int{1, 0})
}

func TestLabelsThatSwitchAreNoVariance(t *testing.T) {
	src := column(t, 150, pcg(3), 0, 0, 4)
	p := fitted(t, gaussians, src, 2)
	o := bootstrap.Options{Draws: 10, Fit: em}
	want, err := bootstrap.StandardErrors(t.Context(), gaussians, src, p, (*mixture.Parameters).Vector, o)
	require.NoError(t, err)
	got, err := bootstrap.StandardErrors(t.Context(), exchanged{gaussians}, src, p, (*mixture.Parameters).Vector, o)
	require.NoError(t, err)
	for i, number := range want.Numbers {
		assert.InDelta(t, number.Error, got.Numbers[i].Error, 1e-6, "number %d", i)
		assert.InDelta(t, number.Mean, got.Numbers[i].Mean, 1e-6, "number %d", i)
	}
}

func TestSameBitsForAnyNumberOfWorkers(t *testing.T) {
	src := column(t, 60, pcg(4), 0, 3)
	p := fitted(t, gaussians, src, 2)
	var all []*bootstrap.Estimates
	var tests []*bootstrap.Ratio
	for _, workers := range []int{1, 3} {
		o := bootstrap.Options{Draws: 7, Seed: 5, Workers: workers, Fit: em}
		e, err := bootstrap.StandardErrors(t.Context(), gaussians, src, p, (*mixture.Parameters).Vector, o)
		require.NoError(t, err)
		r, err := bootstrap.LikelihoodRatio(t.Context(), tied, src, 1, o)
		require.NoError(t, err)
		all, tests = append(all, e), append(tests, r)
	}
	assert.Equal(t, all[0], all[1])
	assert.Equal(t, tests[0], tests[1])
	assert.Len(t, tests[0].Null, 7)
}

// TestPValuesOfATrueNullHypothesisAreUniform: the mean of 20, of standard deviation 0.29, has an error of 0.065, and is
// within three times that.
func TestPValuesOfATrueNullHypothesisAreUniform(t *testing.T) {
	var values []float64
	for i := range uint64(20) {
		o := em
		o.Restarts = 2
		r, err := bootstrap.LikelihoodRatio(t.Context(), tied, column(t, 50, pcg(100+i), 0), 1, bootstrap.Options{Draws: 9, Seed: i, Fit: o})
		require.NoError(t, err)
		values = append(values, r.PValue)
	}
	slices.Sort(values)
	t.Log(values)
	assert.InDelta(t, 0.55, stat.Mean(values, nil), 0.2) // of 0.1, 0.2, …, 1
	assert.LessOrEqual(t, values[0], 0.3)
	assert.GreaterOrEqual(t, values[19], 0.8)
}

func TestClearClustersHaveTheLeastPValue(t *testing.T) {
	src := column(t, 80, pcg(6), 0, 6)
	o := em
	o.Restarts = 2
	one, err := bootstrap.LikelihoodRatio(t.Context(), tied, src, 1, bootstrap.Options{Draws: 19, Fit: o})
	require.NoError(t, err)
	assert.Equal(t, 1./20, one.PValue)
	assert.Greater(t, one.Statistic, 2*slices.Max(one.Null))
	two, err := bootstrap.LikelihoodRatio(t.Context(), tied, src, 2, bootstrap.Options{Draws: 19, Fit: o})
	require.NoError(t, err)
	assert.Greater(t, two.PValue, 0.1)
}

// faulty fails to draw, or draws what the model then refuses.
type faulty struct {
	mixture.Model
	fails func(rng *rand.Rand) error
}

func (m faulty) Resample(ctx context.Context, src framework.Source[blocks.Rows], p *mixture.Parameters, rng *rand.Rand) (framework.Source[blocks.Rows], error) {
	if err := m.fails(rng); err != nil {
		return nil, err
	}
	return m.Model.Resample(ctx, src, p, rng)
}

func TestDrawsThatFailAreListedAndLeftOut(t *testing.T) {
	src := column(t, 40, pcg(7), 0)
	p := fitted(t, gaussians, src, 1)
	mine := errors.New("mine")
	some := faulty{gaussians, func(rng *rand.Rand) error {
		if rng.Float64() < 0.3 {
			return mine
		}
		return nil
	}}
	o := bootstrap.Options{Draws: 20, Fit: em}
	e, err := bootstrap.StandardErrors(t.Context(), some, src, p, (*mixture.Parameters).Vector, o)
	require.NoError(t, err)
	rows, _ := e.Draws.Dims()
	assert.Equal(t, 20, rows+len(e.Failed))
	require.NotEmpty(t, e.Failed)
	assert.ErrorIs(t, e.Failed[0].Err, mine)
	r, err := bootstrap.LikelihoodRatio(t.Context(), some, src, 1, o)
	require.NoError(t, err)
	assert.Len(t, r.Null, 20-len(r.Failed))
	assert.NotEmpty(t, r.Failed)

	all := faulty{gaussians, func(*rand.Rand) error { return mine }}
	_, err = bootstrap.StandardErrors(t.Context(), all, src, p, (*mixture.Parameters).Vector, o)
	assert.EqualError(t, err, "bootstrap: 20 of 20 draws failed, the first: mine")
	contract := faulty{gaussians, func(*rand.Rand) error { return fmt.Errorf("mine: %w", framework.ErrContract) }}
	_, err = bootstrap.LikelihoodRatio(t.Context(), contract, src, 1, o)
	assert.EqualError(t, err, "mine: contract violated")
}

func TestUnconvergedRefitsAreCounted(t *testing.T) {
	src := column(t, 40, pcg(8), 0, 2)
	o := em
	o.MaxIterations = 1
	var done []int
	e, err := bootstrap.StandardErrors(t.Context(), gaussians, src, fitted(t, gaussians, src, 2), (*mixture.Parameters).Vector,
		bootstrap.Options{Draws: 3, Fit: o, Progress: func(n int) { done = append(done, n) }})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2, 3}, done)
	assert.Equal(t, 3, e.Unconverged)
}

func TestBadInputIsOneClearError(t *testing.T) {
	src := column(t, 20, pcg(9), 0)
	weighted, err := src.WithWeights(floats.Span(make([]float64, 20), 0.5, 1.5))
	require.NoError(t, err)
	p := fitted(t, gaussians, src, 1)
	vector := (*mixture.Parameters).Vector
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, one := range map[string]struct {
		ctx     context.Context
		src     *blocks.Table
		numbers func(*mixture.Parameters) []float64
		o       bootstrap.Options
		want    string
	}{
		"no draws":       {o: bootstrap.Options{}, want: "bootstrap: Draws is 0; must be at least 2"},
		"one draw":       {o: bootstrap.Options{Draws: 1}, want: "bootstrap: Draws is 1; must be at least 2"},
		"level":          {o: bootstrap.Options{Draws: 5, Level: 1.5}, want: "bootstrap: Level is 1.5; must be between 0 and 1, such as 0.95"},
		"workers":        {o: bootstrap.Options{Draws: 5, Workers: -1}, want: "bootstrap: Workers is -1; must not be negative"},
		"scheme":         {o: bootstrap.Options{Draws: 5, Scheme: 7}, want: "bootstrap: unknown scheme 7: choose one of parametric, nonparametric, bayesian"},
		"weights":        {src: weighted, o: bootstrap.Options{Draws: 5}, want: "bootstrap: 5 of 5 draws failed, the first: mixture: the weight of row 1 is 0.5; must be a whole number, to draw rows"},
		"NaN":            {numbers: func(*mixture.Parameters) []float64 { return []float64{math.NaN()} }, o: bootstrap.Options{Draws: 5, Fit: em}, want: "bootstrap: 5 of 5 draws failed, the first: bootstrap: number 1 of a refit is NaN"},
		"cancelled":      {ctx: ended, o: bootstrap.Options{Draws: 5}, want: "bootstrap: cancelled: context canceled"},
		"options of Fit": {o: bootstrap.Options{Draws: 5, Fit: framework.Options{MaxIterations: -1}}, want: "bootstrap: 5 of 5 draws failed, the first: framework: tolerance 0, iterations -1, restarts 1, DoubleTo 0, workers 1, shards 0, sample 0 and Online 0 must not be negative"},
	} {
		if one.ctx == nil {
			one.ctx = t.Context()
		}
		if one.src == nil {
			one.src = src
		}
		if one.numbers == nil {
			one.numbers = vector
		}
		_, err := bootstrap.StandardErrors(one.ctx, gaussians, one.src, p, one.numbers, one.o)
		assert.EqualError(t, err, one.want, name)
	}

	variational := mixture.Variational{Family: normal.Family{}}
	_, err = bootstrap.LikelihoodRatio(t.Context(), variational, src, 1, bootstrap.Options{Draws: 5})
	assert.EqualError(t, err, "bootstrap: mixture.Variational cannot be drawn from: it does not implement bootstrap.Resampler (a Resample method)")
	_, err = bootstrap.LikelihoodRatio(t.Context(), tied, src, 1, bootstrap.Options{})
	assert.EqualError(t, err, "bootstrap: Draws is 0; must be at least 1")
	_, err = bootstrap.LikelihoodRatio(t.Context(), tied, src, 1, bootstrap.Options{Draws: 5, Scheme: bootstrap.Bayesian})
	assert.ErrorContains(t, err, "take Parametric")
	_, err = bootstrap.LikelihoodRatio(t.Context(), tied, src, 0, bootstrap.Options{Draws: 5})
	assert.EqualError(t, err, "bootstrap: the fit at K = 0: framework: K is 0; must be at least 1")
}

// TestModelsOtherThanMixtures: the noise of PCA, of which no axis has to be aligned.
func TestModelsOtherThanMixtures(t *testing.T) {
	rng := pcg(10)
	truth := &bpca.Parameters{K: 1, D: 4, Mean: make([]float64, 4), Loadings: []float64{2, 2, 2, 2}, Noise: 1}
	x, err := truth.Sample(200, rng)
	require.NoError(t, err)
	src, err := blocks.FromMatrix(x)
	require.NoError(t, err)
	o := em
	o.K = 1
	res, err := framework.Fit(t.Context(), bpca.Model{}, src, o)
	require.NoError(t, err)
	e, err := bootstrap.StandardErrors(t.Context(), bpca.Model{}, src, res.Parameters, func(p *bpca.Parameters) []float64 { return []float64{p.Noise} }, bootstrap.Options{Draws: 200, Fit: em})
	require.NoError(t, err)
	assert.InEpsilon(t, res.Parameters.Noise*math.Sqrt(2./(200*3)), e.Numbers[0].Error, 0.2) // noise of 3 directions in 200 rows
	r, err := bootstrap.LikelihoodRatio(t.Context(), bpca.Model{}, src, 1, bootstrap.Options{Draws: 9, Fit: em})
	require.NoError(t, err)
	assert.Greater(t, r.PValue, 0.1)
}
