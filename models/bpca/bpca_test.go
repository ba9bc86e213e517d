package bpca_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
)

var background = context.Background()

// factors draws X = ZWᵀ + E with W ~ U[0,1], D×K, and noise of standard deviation 0.5:
// the data of paper G, section 7. The paper does not give the noise; docs/theory/bpca.md,
// section 5, says why 0.5.
func factors(n, d, k int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	w := make([]float64, d*k)
	for i := range w {
		w[i] = rng.Float64()
	}
	x := make([]float64, n*d)
	z := make([]float64, k)
	for i := range n {
		for j := range z {
			z[j] = rng.NormFloat64()
		}
		for j := range d {
			v := 0.5 * rng.NormFloat64()
			for l, zl := range z {
				v += w[j*k+l] * zl
			}
			x[i*d+j] = v
		}
	}
	return x
}

func table(t testing.TB, x []float64, d int) *blocks.Table {
	src, err := blocks.FromSlice(x, len(x)/d, d)
	require.NoError(t, err)
	return src
}

func embedded(t testing.TB, name string) *blocks.Table {
	set, _ := data.Lookup(name)
	tab, err := data.Load(name)
	require.NoError(t, err)
	if set.Label != "" {
		tab, err = tab.Drop(set.Label)
		require.NoError(t, err)
	}
	x, _, d, err := tab.Matrix()
	require.NoError(t, err)
	return table(t, x, d)
}

func moments(t testing.TB, src framework.Source[blocks.Rows]) *lineargaussian.Moments {
	m, err := lineargaussian.Summarize(background, src, 0)
	require.NoError(t, err)
	return m
}

func solve(t testing.TB, m *lineargaussian.Moments) *bpca.Solutions {
	s, err := m.Spectrum()
	require.NoError(t, err)
	sol, err := bpca.Solve(s, 0)
	require.NoError(t, err)
	return sol
}

func fit(t testing.TB, m *lineargaussian.Moments, o framework.Options) *framework.Result[*bpca.Parameters, *lineargaussian.Statistics] {
	return fitFrom(t, bpca.Model{}, m, o)
}

func fitFrom(t testing.TB, model bpca.Model, m *lineargaussian.Moments, o framework.Options) *framework.Result[*bpca.Parameters, *lineargaussian.Statistics] {
	res, err := framework.Fit(background, bpca.Compressed{Model: model}, m.Source(), o)
	require.NoError(t, err)
	return res
}

var threeSets = map[string]func(testing.TB) *blocks.Table{
	"iris":      func(t testing.TB) *blocks.Table { return embedded(t, "iris") },
	"satellite": func(t testing.TB) *blocks.Table { return embedded(t, "satellite") },
	"factors":   func(t testing.TB) *blocks.Table { return table(t, factors(500, 12, 4, 1), 12) },
}

// TestEngineReachesTheClosedForm: gFAB and EM as iterations against the fixed points of
// docs/theory/bpca.md, for every K.
//
// EM from random loadings may end at a saddle point, the solution of K − 1 with a loading of
// length 0 beside it: at K = 35 of satellite's 36, where the last two eigenvalues are 10 %
// apart, from three or four starts of ten, and rounding decides from which. Then it has to be that
// solution, and nothing in between.
func TestEngineReachesTheClosedForm(t *testing.T) {
	for name, load := range threeSets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := moments(t, load(t))
			sol := solve(t, m)
			worst, saddles := 0.0, 0
			for k := 1; k < m.D; k++ {
				if (k-1)%tier.Of(7, 3, 1) != 0 {
					continue
				}
				for i, c := range []framework.Criterion{framework.GFIC, framework.BICEM, framework.GFIC, framework.BICEM} {
					method := bpca.MethodFor(c)
					res := fitFrom(t, bpca.Model{RandomStart: i < 2}, m, framework.Options{K: k, FixedK: true, Method: method, Tolerance: 1e-12, MaxIterations: 200000, Workers: 1})
					want, err := sol.Value(k, c)
					require.NoError(t, err)
					noise := sol.Noise(k)
					if i == 1 && k > 1 && math.Abs(res.Parameters.Noise/sol.Noise(k-1)-1) < 1e-4 {
						full, err := sol.Evaluation(k, method)
						require.NoError(t, err)
						below, err := sol.Evaluation(k-1, method)
						require.NoError(t, err)
						want -= full.LogLikelihood - below.LogLikelihood // the charge is that of K
						noise = sol.Noise(k - 1)
						saddles++
					}
					gap := math.Abs(res.Value-want) / math.Abs(want)
					worst = max(worst, gap)
					assert.Less(t, gap, 1e-8, "%s at K = %d after %d iterations", c.Name, k, res.Iterations)
					assert.Zero(t, res.Fall, "the objective rises in every iteration")
					assert.InEpsilon(t, noise, res.Parameters.Noise, 1e-4)
				}
			}
			assert.LessOrEqual(t, saddles, 1)
			t.Logf("largest relative difference over K = 1…%d: %.2g", m.D-1, worst)
		})
	}
}

// TestClosedFormFollowsItsFormulas writes the formulas out a second time.
func TestClosedFormFollowsItsFormulas(t *testing.T) {
	m := moments(t, embedded(t, "iris"))
	s, err := m.Spectrum()
	require.NoError(t, err)
	sol := solve(t, m)
	n, d := m.N, float64(m.D)
	unit := 0.0
	for _, c := range s.Values {
		unit += c / d
	}
	for k := 1; k < m.D; k++ {
		kk := float64(k)
		tail, logs := 0.0, 0.0
		for i, c := range s.Values {
			if i < k {
				logs += math.Log(c / unit)
			} else {
				tail += c / unit
			}
		}
		noise := tail / (d - kk)
		ppca := -n / 2 * (logs + (d-kk)*math.Log(noise) + d + d*math.Log(2*math.Pi))
		jacobian := -n * d / 2 * math.Log(unit)
		charge := (d*kk + 1) / 2 * math.Log(n)
		gfic := ppca + kk/2*(d+(n-d)*math.Log(1-d/n)+d*math.Log(noise)) - charge + jacobian
		got, err := sol.Value(k, framework.GFIC)
		require.NoError(t, err)
		assert.InEpsilon(t, gfic, got, 1e-12)
		got, err = sol.Value(k, framework.BICEM)
		require.NoError(t, err)
		assert.InEpsilon(t, ppca-charge+jacobian, got, 1e-12)
	}
}

// TestClosedFormEvaluationIsThatOfItsParameters evaluates the closed form's parameters by
// the model's own local step.
func TestClosedFormEvaluationIsThatOfItsParameters(t *testing.T) {
	src := embedded(t, "iris")
	m := moments(t, src)
	sol := solve(t, m)
	for k := 1; k < m.D; k++ {
		for _, method := range []framework.Method{framework.EM, framework.GFAB} {
			e, err := sol.Evaluation(k, method)
			require.NoError(t, err)
			p, err := sol.Parameters(k, framework.EM)
			require.NoError(t, err)
			s, entropy, err := framework.LocalStep(background, bpca.Compressed{}, m.Source(), p, 1)
			require.NoError(t, err)
			assert.InEpsilon(t, e.LogLikelihood, bpca.Model{}.LogJoint(s, p)+entropy, 1e-11)
			rows, err := p.LogProb(mat.NewDense(150, 4, src.All().X))
			require.NoError(t, err)
			sum := 0.0
			for _, l := range rows {
				sum += l
			}
			assert.InEpsilon(t, e.LogLikelihood, sum, 1e-11)
			if method == framework.EM {
				assert.InEpsilon(t, e.LogJoint, bpca.Model{}.LogJoint(s, p), 1e-11)
				assert.InEpsilon(t, e.Entropy, entropy, 1e-11)
			}
		}
	}
}

// TestGFABFindsTheSizeOfThePapersData is section 7 of paper G: D = 30, K' = 10, ten seeds.
func TestGFABFindsTheSizeOfThePapersData(t *testing.T) {
	seeds := tier.Of[uint64](2, 2, 10)
	for _, n := range []int{100, 500, 1000, 2000} {
		t.Run(fmt.Sprint("N=", n), func(t *testing.T) {
			t.Parallel()
			var found []int
			right := 0
			for seed := range seeds {
				m := moments(t, table(t, factors(n, 30, 10, seed), 30))
				best, value, err := solve(t, m).Best(framework.GFIC)
				require.NoError(t, err)
				var res *framework.Result[*bpca.Parameters, *lineargaussian.Statistics]
				for _, random := range []bool{true, false} {
					res = fitFrom(t, bpca.Model{RandomStart: random}, m, framework.Options{K: 29, Seed: seed, Workers: 1})
					assert.Equal(t, best, res.Shape.K, "seed %d: gFAB ends where the closed form's gFIC is largest", seed)
					assert.InEpsilon(t, value, res.Value, 1e-8)
					assert.Zero(t, res.Fall)
					assert.Equal(t, framework.Converged, res.Status)
				}
				found = append(found, res.Shape.K)
				if res.Shape.K == 10 {
					right++
				}
				if n == 100 {
					assert.Less(t, res.Shape.K, 10)
				}
			}
			t.Logf("K found from 29: %v", found)
			switch {
			case n == 2000:
				assert.Equal(t, int(seeds), right)
			case n > 100:
				assert.GreaterOrEqual(t, right, int(seeds)-1)
			}
		})
	}
}

// TestGFABEndsWhereTheClosedFormIsLargest: one pass from K = D − 1 on real data, whose
// spectra fall slowly, from several starts.
func TestGFABEndsWhereTheClosedFormIsLargest(t *testing.T) {
	for _, name := range []string{"iris", "satellite"} {
		m := moments(t, embedded(t, name))
		for method, c := range map[framework.Method]framework.Criterion{framework.GFAB: framework.GFIC, framework.FAB: framework.FIC} {
			best, value, err := solve(t, m).Best(c)
			require.NoError(t, err)
			for seed := range uint64(3) {
				res := fit(t, m, framework.Options{K: m.D - 1, Method: method, Seed: seed})
				assert.Equal(t, best, res.Shape.K, "%s by %v, seed %d", name, method, seed)
				assert.InEpsilon(t, value, res.Value, 1e-7)
			}
		}
	}
}

// TestUnitsChangeNothingButTheJacobian multiplies the data: same K, value shifted by
// −N·D·ln s.
func TestUnitsChangeNothingButTheJacobian(t *testing.T) {
	x := factors(500, 12, 4, 2)
	m := moments(t, table(t, x, 12))
	for _, method := range []framework.Method{framework.GFAB, framework.FAB} {
		plain := fit(t, m, framework.Options{K: 11, Method: method})
		for _, s := range []float64{1000, 0.001, 7e-7} {
			scaled := make([]float64, len(x))
			for i, v := range x {
				scaled[i] = v * s
			}
			res := fit(t, moments(t, table(t, scaled, 12)), framework.Options{K: 11, Method: method})
			assert.Equal(t, plain.Shape.K, res.Shape.K)
			assert.InEpsilon(t, plain.Value-500*12*math.Log(s), res.Value, 1e-9)
			assert.Equal(t, plain.Iterations, res.Iterations)
		}
	}
}

func TestLargeMeansLoseNothing(t *testing.T) {
	const d = 12
	x := factors(500, d, 4, 3)
	sd := make([]float64, d)
	for j := range d {
		for i := range 500 {
			sd[j] += x[i*d+j] * x[i*d+j] / 500
		}
	}
	shifted := make([]float64, len(x))
	centred := make([]float64, len(x))
	for i, v := range x {
		v /= math.Sqrt(sd[i%d])
		shifted[i] = v + 1e8*float64(1+i%d)/d
		centred[i] = shifted[i] - 1e8*float64(1+i%d)/d // what is left of v beside 1e8
	}
	for _, model := range []string{"moments", "rows"} {
		run := func(x []float64) *framework.Result[*bpca.Parameters, *lineargaussian.Statistics] {
			src := table(t, x, d)
			o := framework.Options{K: d - 1, Tolerance: 1e-13}
			if model == "moments" {
				return fit(t, moments(t, src), o)
			}
			res, err := framework.Fit(background, bpca.Model{}, src, o)
			require.NoError(t, err)
			return res
		}
		a, b := run(centred), run(shifted)
		require.Equal(t, a.Shape.K, b.Shape.K)
		assert.InDeltaSlice(t, a.Parameters.Canonical().Loadings, b.Parameters.Canonical().Loadings, 1e-6, model)
		assert.InEpsilon(t, a.Value, b.Value, 1e-9)
	}
}

func TestRowsAndMomentsAgree(t *testing.T) {
	src := table(t, factors(700, 9, 3, 4), 9)
	weights := make([]float64, 700)
	for i := range weights {
		weights[i] = float64(i % 3)
	}
	weighted, err := src.WithWeights(weights)
	require.NoError(t, err)
	for _, s := range []*blocks.Table{src, weighted} {
		for _, method := range []framework.Method{framework.EM, framework.FAB, framework.GFAB} {
			o := framework.Options{K: 6, Method: method, Also: []framework.Criterion{framework.BIC, framework.AIC, framework.GFIC, framework.FIC, framework.ELBO}}
			rows, err := framework.Fit(background, bpca.Model{}, s, o)
			require.NoError(t, err)
			compressed := fit(t, moments(t, s), o)
			require.Equal(t, compressed.Shape, rows.Shape)
			assert.Equal(t, compressed.Iterations, rows.Iterations)
			assert.InDeltaSlice(t, compressed.Parameters.Canonical().Loadings, rows.Parameters.Canonical().Loadings, 1e-8)
			for j := range rows.Scores {
				assert.InEpsilon(t, compressed.Scores[j].Value, rows.Scores[j].Value, 1e-11)
			}
		}
		rows, err := framework.Fit(background, bpca.Variational{}, s, framework.Options{K: 5, Method: framework.EM, MaxIterations: 300})
		require.NoError(t, err)
		compressed, err := framework.Fit(background, bpca.CompressedVariational{}, moments(t, s).Source(), framework.Options{K: 5, Method: framework.EM, MaxIterations: 300})
		require.NoError(t, err)
		assert.InEpsilon(t, compressed.Value, rows.Value, 1e-10)
	}
}

func TestWeightsAreRepeatedRows(t *testing.T) {
	const d = 6
	x := factors(120, d, 2, 5)
	var repeated []float64
	weights := make([]float64, 120)
	for i := range weights {
		weights[i] = float64((i * 7) % 4)
		for range int(weights[i]) {
			repeated = append(repeated, x[i*d:(i+1)*d]...)
		}
	}
	a, err := table(t, x, d).WithWeights(weights)
	require.NoError(t, err)
	b := table(t, repeated, d)
	ma, mb := moments(t, a), moments(t, b)
	assert.InDeltaSlice(t, mb.Mean, ma.Mean, 1e-13)
	assert.InDeltaSlice(t, mb.Scatter, ma.Scatter, 1e-10)
	assert.Equal(t, mb.N, ma.N)
	ra, rb := fit(t, ma, framework.Options{K: 5}), fit(t, mb, framework.Options{K: 5})
	assert.Equal(t, rb.Shape, ra.Shape)
	assert.InEpsilon(t, rb.Value, ra.Value, 1e-11)
	assert.Equal(t, rb.N, ra.N)
	da, err := lineargaussian.Decompose(background, a, 0)
	require.NoError(t, err)
	db, err := lineargaussian.Decompose(background, b, 0)
	require.NoError(t, err)
	assert.InDeltaSlice(t, db.Values, da.Values, 1e-12)
}

func TestSameBitsForAnyNumberOfWorkersAndAfterAResume(t *testing.T) {
	// 18 blocks a pass at D = 9: more than one for some shards.
	src := table(t, factors(65000, 9, 3, 6), 9)
	m1, err := lineargaussian.Summarize(background, src, 1)
	require.NoError(t, err)
	fitRows := func(ctx context.Context, o framework.Options) (*framework.Result[*bpca.Parameters, *lineargaussian.Statistics], error) {
		o.K, o.MaxIterations = 6, 12
		return framework.Fit(ctx, bpca.Model{}, src, o)
	}
	one, err := fitRows(background, framework.Options{Workers: 1})
	require.NoError(t, err)
	for _, workers := range []int{2, 7} {
		m, err := lineargaussian.Summarize(background, src, workers)
		require.NoError(t, err)
		assert.Equal(t, m1.Scatter, m.Scatter)
		assert.Equal(t, m1.Mean, m.Mean)
		other, err := fitRows(background, framework.Options{Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, one.Parameters, other.Parameters)
		assert.Equal(t, one.Trace, other.Trace)
	}
	ctx, cancel := context.WithCancel(background)
	part, err := fitRows(ctx, framework.Options{Workers: 2, Recorder: func(e framework.Event) error {
		if e.Iteration == 5 {
			cancel()
		}
		return nil
	}})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 5, part.Iterations)
	assert.Equal(t, framework.Cancelled, part.Status)
	checkpoint, err := part.Checkpoint()
	require.NoError(t, err)
	resumed, err := fitRows(background, framework.Options{Workers: 7, Resume: checkpoint})
	require.NoError(t, err)
	assert.Equal(t, one.Parameters, resumed.Parameters)
	assert.Equal(t, one.Trace, resumed.Trace)
	assert.Equal(t, one.Value, resumed.Value)
}

// TestResumeKeepsTheBitsThroughPruning interrupts a gFAB fit, and a variational
// one, at several iterations.
func TestResumeKeepsTheBitsThroughPruning(t *testing.T) {
	m := moments(t, table(t, factors(300, 8, 3, 7), 8))
	interrupted(t, bpca.Compressed{}, m, framework.Options{K: 7})
	interrupted(t, bpca.CompressedVariational{}, m, framework.Options{K: 4, Method: framework.EM, MaxIterations: 50})
}

func TestACheckpointKnowsItsMoments(t *testing.T) {
	x := factors(300, 8, 3, 7)
	fit := func(o framework.Options) (*framework.Result[*bpca.Parameters, *lineargaussian.Statistics], error) {
		return framework.Fit(background, bpca.Compressed{}, moments(t, table(t, x, 8)).Source(), o)
	}
	res, err := fit(framework.Options{K: 3, MaxIterations: 4})
	require.NoError(t, err)
	o := framework.Options{K: 3}
	o.Resume, err = res.Checkpoint()
	require.NoError(t, err)
	_, err = fit(o)
	require.NoError(t, err)
	x[5] += 1e-9
	_, err = fit(o)
	require.ErrorContains(t, err, "fit to other rows")
}

func interrupted[P any, M framework.Model[*lineargaussian.Moments, P, *lineargaussian.Statistics]](t *testing.T, model M, m *lineargaussian.Moments, o framework.Options) {
	uninterrupted, err := framework.Fit[*lineargaussian.Moments, P, *lineargaussian.Statistics](background, model, m.Source(), o)
	require.NoError(t, err)
	for _, at := range []int{1, 5, uninterrupted.Iterations / 2, uninterrupted.Iterations - 1} {
		ctx, cancel := context.WithCancel(background)
		o.Resume, o.Recorder = nil, func(e framework.Event) error {
			if e.Iteration == at {
				cancel()
			}
			return nil
		}
		part, err := framework.Fit[*lineargaussian.Moments, P, *lineargaussian.Statistics](ctx, model, m.Source(), o)
		require.ErrorIs(t, err, context.Canceled)
		o.Recorder = nil
		o.Resume, err = part.Checkpoint()
		require.NoError(t, err)
		resumed, err := framework.Fit[*lineargaussian.Moments, P, *lineargaussian.Statistics](background, model, m.Source(), o)
		require.NoError(t, err)
		assert.Equal(t, uninterrupted.Parameters, resumed.Parameters, "at iteration %d of %d", at, uninterrupted.Iterations)
		assert.Equal(t, uninterrupted.Trace, resumed.Trace)
		assert.Equal(t, uninterrupted.KTrace, resumed.KTrace)
	}
}

func TestEigenvalueRuleAloneLeavesEveryDimension(t *testing.T) {
	m := moments(t, table(t, factors(500, 12, 4, 8), 12))
	o := framework.Options{K: 11}
	o.Prune.Objective.Off = true
	assert.Equal(t, 11, fit(t, m, o).Shape.K, "E[ZᵀZ] of a useless direction stays at N − D (docs/theory/gfab.md, section 5)")
	o.Prune.Objective.Off = false
	assert.Equal(t, 4, fit(t, m, o).Shape.K)
}

func TestFittedCurvatureIsWhatTheClosedFormSays(t *testing.T) {
	m := moments(t, table(t, factors(500, 12, 4, 8), 12))
	res := fit(t, m, framework.Options{K: 4, FixedK: true, Tolerance: 1e-14})
	for i := range 4 {
		for j := range 4 {
			want := 0.0
			if i == j {
				want = m.N - float64(m.D)
			}
			assert.InDelta(t, want, res.Statistics.ZZ[i*4+j], 1e-3)
		}
	}
}

// TestPrunedDirectionsHaveNoUnits: a direction goes with its signal-to-noise ratio, which is the
// same in any units.
func TestPrunedDirectionsHaveNoUnits(t *testing.T) {
	x := factors(500, 12, 4, 2)
	options := framework.Options{K: 11, Method: framework.GFAB}
	plain := fit(t, moments(t, table(t, x, 12)), options)
	require.NotEmpty(t, plain.Pruned)
	byRelevance := 0
	for _, s := range []float64{1000, 0.001} {
		scaled := make([]float64, len(x))
		for i, v := range x {
			scaled[i] = v * s
		}
		res := fit(t, moments(t, table(t, scaled, 12)), options)
		require.Len(t, res.Pruned, len(plain.Pruned))
		for i, p := range plain.Pruned {
			assert.InEpsilonSlice(t, p.Relevance, res.Pruned[i].Relevance, 1e-6)
			if p.Rule == "objective" {
				byRelevance++
			}
		}
	}
	assert.Positive(t, byRelevance)
}
