package bpca_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/pruning"
)

// agree fits by gFAB from the largest K and compares with the closed form.
func agree(t *testing.T, x []float64, d int, tolerance float64, name string, randomStarts ...bool) {
	agreeUnder(t, pruning.Rules{}, x, d, tolerance, name, randomStarts...)
}

func agreeUnder(t *testing.T, rules pruning.Rules, x []float64, d int, tolerance float64, name string, randomStarts ...bool) {
	m := moments(t, table(t, x, d))
	best, value, err := solve(t, m).Best(framework.GFIC)
	require.NoError(t, err, name)
	for _, random := range append(randomStarts, false) {
		res, err := framework.Fit(background, bpca.Compressed{Model: bpca.Model{RandomStart: random}}, m.Source(), framework.Options{K: d - 1, Prune: rules})
		require.NoError(t, err, name)
		assert.Equal(t, best, res.Shape.K, "%s, random start %v", name, random)
		assert.InEpsilon(t, value, res.Value, tolerance, "%s, random start %v", name, random)
		assert.Equal(t, framework.Converged, res.Status, name)
		assert.Less(t, res.Iterations, 2000, name)
	}
}

// TestSmallNoiseIsNoObstacle: without parameter expansion EM needs about ‖w‖²/σ²
// iterations, and a residual found by subtraction loses as many digits.
func TestSmallNoiseIsNoObstacle(t *testing.T) {
	const n, d, k = 1000, 10, 3
	for _, sigma := range []float64{1, 0.1, 0.01, 1e-3, 1e-4} {
		rng := rand.New(rand.NewPCG(1, 1))
		w := make([]float64, d*k)
		for i := range w {
			w[i] = rng.NormFloat64()
		}
		x := make([]float64, n*d)
		for i := range n {
			z := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
			for j := range d {
				x[i*d+j] = sigma*rng.NormFloat64() + w[j*k]*z[0] + w[j*k+1]*z[1] + w[j*k+2]*z[2]
			}
		}
		agree(t, x, d, 1e-8, fmt.Sprint("noise ", sigma), true)
	}
}

// TestColumnsOfDifferentScales: the covariance's condition number goes up to 1e12, and the
// closed form itself keeps about 1e-16 of it.
func TestColumnsOfDifferentScales(t *testing.T) {
	const n, d = 300, 5
	for _, scale := range []float64{10, 100, 1e3, 1e4, 1e5} {
		rng := rand.New(rand.NewPCG(2, 1))
		x := make([]float64, n*d)
		for i := range n {
			z := rng.NormFloat64()
			row := x[i*d : (i+1)*d]
			row[0] = scale * rng.NormFloat64()
			for j := 1; j < 4; j++ {
				row[j] = z + 0.3*rng.NormFloat64()
			}
			row[4] = rng.Float64()
		}
		agree(t, x, d, max(1e-8, 1e-16*scale*scale), fmt.Sprint("first column times ", scale))
	}
}

// TestFewRowsMoreThanColumns: every direction has N − D observations behind it, at N = D + 1 just the one up
// to which the eigenvalue rule takes it for degenerate (docs/theory/bpca.md, section 2). A lower threshold
// leaves the choice to the objective, which finds the maximum of the closed form.
func TestFewRowsMoreThanColumns(t *testing.T) {
	x := factors(31, 30, 4, 1)
	agreeUnder(t, pruning.Rules{Eigenvalue: pruning.Eigenvalue{Observations: 0.5}}, x, 30, 1e-7, "N = D + 1", true)
	res := fit(t, moments(t, table(t, x, 30)), framework.Options{K: 29})
	assert.Equal(t, 1, res.Shape.K)
	assert.Equal(t, "eigenvalue", res.Pruned[0].Rule)
	agree(t, factors(12, 10, 2, 1), 10, 1e-7, "N = D + 2", true)
}

// TestMomentsOfManyColumns: one sum for all goroutines, against the definition; with means that
// dwarf the deviations, and weights.
func TestMomentsOfManyColumns(t *testing.T) {
	const n, d = 700, 300 // seven blocks
	x := factors(n, d, 5, 1)
	weights := make([]float64, n)
	total := 0.0
	for i := range n {
		weights[i] = float64(i % 3) // some are 0
		total += weights[i]
		for j := range d {
			x[i*d+j] = math.Ldexp(math.Round(math.Ldexp(x[i*d+j], 20)), -20) + float64(j+1)*1e6 // exact
		}
		x[i*d+7] = 1e8 / 3
	}
	src, err := table(t, x, d).WithWeights(weights)
	require.NoError(t, err)
	m, err := lineargaussian.Summarize(background, src, 1)
	require.NoError(t, err)
	assert.Equal(t, n, m.Rows)
	assert.Equal(t, total, m.N)
	centred := mat.NewDense(n, d, nil)
	for j := range d {
		mean := 0.0
		for i := range n {
			mean += weights[i] * (x[i*d+j] - x[j]) / total
		}
		assert.InDelta(t, x[j]+mean, m.Mean[j], 1e-7)
		for i := range n {
			centred.Set(i, j, math.Sqrt(weights[i])*(x[i*d+j]-x[j]-mean))
		}
	}
	var want mat.Dense
	want.Mul(centred.T(), centred)
	assert.True(t, mat.EqualApprox(&want, mat.NewDense(d, d, m.Scatter), 1e-8*want.At(0, 0)))
	for j := range d {
		assert.Zero(t, m.Scatter[7*d+j], "a constant column")
	}
	for _, workers := range []int{2, 5} {
		other, err := lineargaussian.Summarize(background, src, workers)
		require.NoError(t, err)
		assert.Equal(t, m.Mean, other.Mean)
		assert.Equal(t, m.Scatter, other.Scatter)
	}
	one := &lineargaussian.Moments{}
	require.NoError(t, one.Add(src.All()))
	assert.True(t, mat.EqualApprox(&want, mat.NewDense(d, d, one.Scatter), 1e-8*want.At(0, 0)))

	x[650*d+3] = math.MaxFloat64
	_, err = lineargaussian.Summarize(background, src, 0)
	assert.ErrorContains(t, err, "overflow")
}

// TestDependentColumnsArePruned: K = D − 1 leaves no noise where a column is the sum of
// others; the engine then goes to a smaller K instead of failing.
func TestDependentColumnsArePruned(t *testing.T) {
	x := factors(200, 6, 2, 1)
	for i := 0; i < len(x); i += 6 {
		x[i+5] = x[i] + x[i+1]
	}
	agree(t, x, 6, 1e-8, "a total", true)
	m := moments(t, table(t, x, 6))
	res := fit(t, m, framework.Options{K: 5})
	assert.Equal(t, "degenerate", res.Pruned[0].Rule)
	_, err := framework.Fit(background, bpca.Compressed{}, m.Source(), framework.Options{K: 5, FixedK: true})
	assert.ErrorIs(t, err, framework.ErrDegenerate)
	assert.ErrorContains(t, err, "lower K")
}

// TestManyColumns goes past the sizes at which gonum's products stay in one goroutine.
func TestManyColumns(t *testing.T) {
	src := table(t, factors(600, 150, 5, 1), 150)
	m := moments(t, src)
	best, value, err := solve(t, m).Best(framework.GFIC)
	require.NoError(t, err)
	for _, workers := range []int{1, 2} {
		res, err := framework.Fit(background, bpca.Model{}, src, framework.Options{K: 12, Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, best, res.Shape.K)
		assert.InEpsilon(t, value, res.Value, 1e-8)
	}
}

// TestExpansionIsTheBestChangeOfZ compares the objective after the expansion with that
// after every other change of z, and checks that Wz has stayed as it was.
func TestExpansionIsTheBestChangeOfZ(t *testing.T) {
	for _, charged := range []bool{false, true} {
		_, start, s, entropy := anywhere(t, 60, 5, 2)
		p, err := bpca.Model{}.Maximize(s, start, nil)
		require.NoError(t, err)
		objective := func(s *lineargaussian.Statistics, p *bpca.Parameters, h float64) float64 {
			v := bpca.Model{}.LogJoint(s, p) + h
			if charged {
				var f laplace.Curvature
				f.Reset(s.N, true)
				require.NoError(t, bpca.Model{}.Curvature(s, p, &f))
				v -= f.LogDetCounts() / 2
			}
			return v
		}
		before, residual := objective(s, p, entropy), s.Residual
		q, gain, err := bpca.Model{}.Expand(s, p, charged)
		require.NoError(t, err)
		best := objective(s, q, entropy+gain)
		assert.Greater(t, best, before)
		assert.Equal(t, residual, s.Residual)
		again, err := bpca.Model{}.Maximize(s, q, nil)
		require.NoError(t, err)
		assert.InDeltaSlice(t, q.Loadings, again.Loadings, 1e-10, "the expanded W is that of the expanded z")
		assert.InEpsilon(t, q.Noise, again.Noise, 1e-10)

		for _, l := range [][]float64{{1.01, 0, 0, 1}, {1, 0.02, 0, 1}, {0.99, 0, 0.01, 1.02}} {
			change := mat.NewDense(2, 2, l)
			var inverse mat.Dense
			require.NoError(t, inverse.Inverse(change))
			moved, w := *s, *q
			w.Loadings, moved.Anchor = make([]float64, 10), make([]float64, 10)
			moved.XZ, moved.ZZ = make([]float64, 10), make([]float64, 4)
			w.W().Mul(q.W(), change)
			mat.NewDense(5, 2, moved.Anchor).Mul(mat.NewDense(5, 2, s.Anchor), change)
			mat.NewDense(5, 2, moved.XZ).Mul(mat.NewDense(5, 2, s.XZ), inverse.T())
			var half mat.Dense
			half.Mul(&inverse, mat.NewDense(2, 2, s.ZZ))
			mat.NewDense(2, 2, moved.ZZ).Mul(&half, inverse.T())
			assert.Less(t, objective(&moved, &w, entropy+gain-s.N*math.Log(math.Abs(mat.Det(change)))), best)
		}
	}
}

// TestRowsOfNoWeightAreNotThere puts a sentinel where no row is.
func TestRowsOfNoWeightAreNotThere(t *testing.T) {
	const d = 4
	x := factors(50, d, 1, 1)
	want := moments(t, table(t, x, d))
	for _, sentinel := range []float64{1e12, 1e30, 1e200, math.MaxFloat64} {
		y := append([]float64{sentinel, sentinel, -sentinel, 0}, x...)
		y = append(y, -sentinel, 0, sentinel, 1)
		w := make([]float64, 52)
		for i := 1; i < 51; i++ {
			w[i] = 1
		}
		src, err := table(t, y, d).WithWeights(w)
		require.NoError(t, err)
		got := moments(t, src)
		assert.InDeltaSlice(t, want.Mean, got.Mean, 1e-14)
		assert.InDeltaSlice(t, want.Scatter, got.Scatter, 1e-11)
		a, err := framework.Fit(background, bpca.Model{}, src, framework.Options{K: 2})
		require.NoError(t, err)
		b, err := framework.Fit(background, bpca.Model{}, table(t, x, d), framework.Options{K: 2})
		require.NoError(t, err)
		assert.InEpsilon(t, b.Value, a.Value, 1e-12)
	}
}

func TestEmptyBlocksAreNothing(t *testing.T) {
	src := table(t, factors(50, 4, 1, 1), 4)
	m := moments(t, src)
	require.NoError(t, m.Add(blocks.Rows{D: 4, Stride: 4}))
	assert.Equal(t, 50.0, m.N)
	_, p, s, _ := anywhere(t, 20, 4, 2)
	require.NoError(t, bpca.Model{}.Prepare(p, nil, s))
	h, err := bpca.Model{}.Infer(blocks.Rows{D: 4, Stride: 4}, p, s)
	require.NoError(t, err)
	assert.Zero(t, h)
}

func TestScalesNearTheEndsOfTheRange(t *testing.T) {
	x := factors(100, 5, 2, 1)
	plain := fit(t, moments(t, table(t, x, 5)), framework.Options{K: 4})
	for _, s := range []float64{1e-130, 1e130} {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = v * s
		}
		res := fit(t, moments(t, table(t, y, 5)), framework.Options{K: 4})
		assert.Equal(t, plain.Shape.K, res.Shape.K)
		assert.InEpsilon(t, plain.Value-100*5*math.Log(s), res.Value, 1e-11)
	}
	for _, s := range []float64{1e-150, 1e-157, 1e-165, 1e155} {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = v * s
		}
		m, err := lineargaussian.Summarize(background, table(t, y, 5), 0)
		if err == nil {
			_, err = m.Spectrum()
		}
		assert.Error(t, err, "scale %v", s)
	}
}

// TestAnyScaleHasTheSameFit: products of three numbers of the data's scale, and of two variances, leave the range of float64, and
// must not be met.
func TestAnyScaleHasTheSameFit(t *testing.T) {
	x := factors(60, 5, 2, 1)
	for name, fitAt := range map[string]func(src *blocks.Table) (value float64, k int){
		"EM": func(src *blocks.Table) (float64, int) {
			res := fitTable(t, bpca.Model{}, src, framework.Options{K: 2, FixedK: true, Method: framework.EM})
			return res.Value, res.Shape.K
		},
		"VB": func(src *blocks.Table) (float64, int) {
			res := fitTable(t, bpca.Variational{}, src, framework.Options{K: 4, Method: framework.EM, Criterion: framework.ELBO})
			return res.Value, res.Shape.K
		},
		"gFAB": func(src *blocks.Table) (float64, int) {
			res := fitTable(t, bpca.Model{}, src, framework.Options{K: 4})
			return res.Value, res.Shape.K
		},
	} {
		plain, k := fitAt(table(t, x, 5))
		for _, exponent := range []int{-460, -400, -350, -200, 200, 400, 460} {
			y := make([]float64, len(x))
			for i, v := range x {
				y[i] = math.Ldexp(v, exponent)
			}
			value, found := fitAt(table(t, y, 5))
			assert.Equal(t, k, found, "%s, 2^%d", name, exponent)
			assert.InEpsilon(t, plain, value+60*5*float64(exponent)*math.Ln2, 1e-8, "%s, 2^%d", name, exponent)
		}
	}
}

func fitTable[P any, S framework.Statistics[S]](t *testing.T, m framework.Model[blocks.Rows, P, S], src *blocks.Table, o framework.Options) *framework.Result[P, S] {
	t.Helper()
	res, err := framework.Fit(background, m, src, o)
	require.NoError(t, err)
	return res
}

func TestTiltOfAnotherModelIsAMisuse(t *testing.T) {
	_, p, s, _ := anywhere(t, 20, 4, 2)
	var f laplace.Curvature
	f.Reset(20, false)
	f.Mixed(laplace.Identity(8), laplace.Identity(4))
	var tilt laplace.Tilt
	tilt.Set(&f)
	assert.Panics(t, func() { _ = bpca.Model{}.Prepare(p, &tilt, s) })
}

func TestCanonicalFormOfExtremeLoadings(t *testing.T) {
	for _, v := range []float64{0, 5e-324, 1e-200, 1e200, math.MaxFloat64} {
		p := &bpca.Parameters{K: 2, D: 3, Mean: make([]float64, 3), Noise: 1, Loadings: []float64{v, 0, 0, v / 2, 0, 0}}
		require.NoError(t, p.Check())
		assert.InDeltaSlice(t, p.Loadings, p.Canonical().Loadings, 1e-15*v)
	}
}

// TestLikelihoodAgreesWithScikitLearn: sklearn.decomposition.PCA 1.2.1 (numpy 1.24.2) on the
// four columns of iris, svd_solver "full": noise_variance_ and score × 150. It divides the
// scatter by N − 1 where maximum likelihood divides by N.
func TestLikelihoodAgreesWithScikitLearn(t *testing.T) {
	src := embedded(t, "iris")
	sol := solve(t, moments(t, src))
	for k, want := range map[int][2]float64{
		1: {0.1149051136483341, -470.6761547662548},
		2: {0.05102229650818443, -404.9694766013496},
		3: {0.023835092973449434, -379.92132656750806},
	} {
		p, err := sol.Parameters(k, framework.EM)
		require.NoError(t, err)
		for i := range p.Loadings {
			p.Loadings[i] *= math.Sqrt(150.0 / 149)
		}
		p.Noise *= 150.0 / 149
		assert.InEpsilon(t, want[0], p.Noise, 1e-12)
		rows, err := p.LogProb(mat.NewDense(150, 4, src.All().X))
		require.NoError(t, err)
		sum := 0.0
		for _, l := range rows {
			sum += l
		}
		assert.InEpsilon(t, want[1], sum, 1e-12)
	}
}

func TestMomentsCanGrowBetweenFits(t *testing.T) {
	x := factors(400, 5, 2, 1)
	m := moments(t, table(t, x[:1000], 5))
	first := fit(t, m, framework.Options{K: 3})
	require.NoError(t, m.Add(table(t, x[1000:], 5).All()))
	second := fit(t, m, framework.Options{K: 3})
	whole := fit(t, moments(t, table(t, x, 5)), framework.Options{K: 3})
	assert.NotEqual(t, first.Value, second.Value)
	assert.InEpsilon(t, whole.Value, second.Value, 1e-12)
}

// TestTinyNoiseIsExpandedBeforeItConverges: EM alone converges so slowly here that its second
// iteration changes less than the tolerance.
func TestTinyNoiseIsExpandedBeforeItConverges(t *testing.T) {
	for _, n := range []int{12, 200} {
		rng := rand.New(rand.NewPCG(4, 4))
		x := make([]float64, 2*n)
		for i := range n {
			z := rng.NormFloat64()
			x[2*i], x[2*i+1] = z+1e-4*rng.NormFloat64(), 0.7*z+1e-4*rng.NormFloat64()
		}
		m := moments(t, table(t, x, 2))
		for method, c := range map[framework.Method]framework.Criterion{framework.GFAB: framework.GFIC, framework.FAB: framework.FIC, framework.EM: framework.BICEM} {
			want, err := solve(t, m).Value(1, c)
			require.NoError(t, err)
			assert.InEpsilon(t, want, fit(t, m, framework.Options{K: 1, Method: method}).Value, 1e-6, "%v, N = %d", method, n)
		}
	}
}

func TestSmallColumnsBesideALargeOneCount(t *testing.T) {
	const n, d = 400, 100
	x := factors(n, d, 1, 1)
	for i := 0; i < len(x); i += d {
		x[i] *= 1e7
	}
	src := table(t, x, d)
	o := framework.Options{K: 1, FixedK: true}
	rows, err := framework.Fit(background, bpca.Model{}, src, o)
	require.NoError(t, err)
	assert.InEpsilon(t, rows.Value, fit(t, moments(t, src), o).Value, 1e-9)
}

func TestRowsOfDifferentWidthsAreRefused(t *testing.T) {
	a, b := table(t, factors(30, 3, 1, 1), 3).All(), table(t, factors(30, 4, 1, 1), 4).All()
	for _, blocks := range [][]blocks.Rows{{a, b}, {b, a}} {
		src := blockSource(blocks)
		_, err := lineargaussian.Summarize(background, src, 1)
		assert.ErrorContains(t, err, "columns")
		_, err = framework.Fit(background, bpca.Model{}, src, framework.Options{K: 1})
		assert.ErrorContains(t, err, "columns")
	}
}

type blockSource []blocks.Rows

func (s blockSource) Rows() int { return 60 }
func (s blockSource) Blocks(context.Context) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		for _, b := range s {
			if !yield(b, nil) {
				return
			}
		}
	}
}

// TestStatisticsMergeInAnyGrouping includes an empty sum, and pieces of other loadings.
func TestStatisticsMergeInAnyGrouping(t *testing.T) {
	src, p, s, _ := anywhere(t, 60, 5, 2)
	empty := bpca.Model{}.NewStatistics(p)
	empty.Merge(s)
	assert.InEpsilon(t, bpca.Model{}.LogJoint(s, p), bpca.Model{}.LogJoint(empty, p), 1e-13)

	q, err := bpca.Model{}.Maximize(s, p, nil)
	require.NoError(t, err)
	other, _, err := framework.LocalStep(background, bpca.Model{}, src, q, 1)
	require.NoError(t, err)
	want := bpca.Model{}.LogJoint(s, p) + bpca.Model{}.LogJoint(other, p)
	s.Merge(other)
	assert.InEpsilon(t, want, bpca.Model{}.LogJoint(s, p), 1e-12)
}
