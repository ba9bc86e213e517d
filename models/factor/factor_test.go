package factor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/lineargaussian"
)

func fit(t testing.TB, m factor.Model, src framework.Source[blocks.Rows], o framework.Options) *framework.Result[*factor.Parameters, *factor.Statistics] {
	res, err := framework.Fit(background, m, src, o)
	require.NoError(t, err)
	return res
}

func table(t testing.TB, x *mat.Dense) *blocks.Table {
	n, d := x.Dims()
	src, err := blocks.FromIncomplete(mat.DenseCopyOf(x).RawMatrix().Data, n, d)
	require.NoError(t, err)
	return src
}

// TestFixedPointsAreTheMaximumOfTheLikelihood: S = (N − D)·I at every fixed point of gFAB, and the loadings are those
// of maximum likelihood times (1 − D/N)^−½.
func TestFixedPointsAreTheMaximumOfTheLikelihood(t *testing.T) {
	src := table(t, draw(300, 9, 3, 3))
	m := moments(t, src)
	for name, st := range map[string]factor.Structure{"diagonal": {}, "isotropic": {Isotropic: true}, "two": {Blocks: [][]int{{0, 2, 4, 6}, {1, 3, 5, 7, 8}}}, "three": {Blocks: [][]int{{0, 3, 6}, {1, 4, 7}, {2, 5, 8}}}} {
		res, err := framework.Fit(background, factor.Compressed{Model: factor.Model{Structure: st}}, m.Source(), framework.Options{K: 3, FixedK: true, Tolerance: 1e-14, MaxIterations: 20000})
		require.NoError(t, err)
		for i := range 3 {
			for j := range 3 {
				want := 0.0
				if i == j {
					want = 300 - 9
				}
				assert.InDelta(t, want, res.Statistics.ZZ[i*3+j], 1e-4, "%s", name)
			}
		}
		rescaled, err := res.Parameters.Rescaled(res.Statistics)
		require.NoError(t, err)
		em, err := framework.FitFrom(background, factor.Compressed{Model: factor.Model{Structure: st}}, m.Source(), start[*lineargaussian.Moments](rescaled), framework.Options{K: 3, Method: framework.EM, Tolerance: 1e-13, MaxIterations: 20000})
		require.NoError(t, err)
		assert.InDeltaSlice(t, em.Parameters.Canonical().Loadings, rescaled.Canonical().Loadings, 1e-4, name)
	}
}

// start begins at p.
func start[B any](p *factor.Parameters) framework.Start[B, *factor.Parameters] {
	return func(_ ctx, _ framework.Source[B], _ int, _ *rand.Rand) (*factor.Parameters, error) {
		q := *p
		return framework.KeepAxes(&q, p.K, upTo(p.K)), nil
	}
}

// TestBlocksOfOneColumnAreFactorAnalysis: three structures, one model.
func TestBlocksOfOneColumnAreFactorAnalysis(t *testing.T) {
	m := moments(t, table(t, draw(200, 5, 1, 4)))
	var blocks [][]int
	for j := range 5 {
		blocks = append(blocks, []int{j})
	}
	o := framework.Options{K: 1, FixedK: true, Tolerance: 1e-13}
	a, err := framework.Fit(background, factor.Compressed{}, m.Source(), o)
	require.NoError(t, err)
	b, err := framework.Fit(background, factor.Compressed{Model: factor.Model{Structure: factor.Structure{Blocks: blocks}}}, m.Source(), o)
	require.NoError(t, err)
	assert.InEpsilon(t, a.Value, b.Value, 1e-11)
	assert.InDeltaSlice(t, a.Parameters.Noise, b.Parameters.Noise, 1e-5)
}

// TestIsotropicNoiseIsBPCA: one model has one value of every criterion, by its closed forms and where iterations of
// either package end, which is the maximum that the closed form has.
func TestIsotropicNoiseIsBPCA(t *testing.T) {
	iris, err := data.Load("iris")
	require.NoError(t, err)
	iris, err = iris.Drop("Species")
	require.NoError(t, err)
	x, n, d, err := iris.Matrix()
	require.NoError(t, err)
	flowers, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	criteria := []framework.Criterion{framework.GFIC, framework.FIC, framework.BIC, framework.BICEM, framework.AIC,
		framework.Evidence}
	for name, src := range map[string]*blocks.Table{
		"holzinger": holzinger(t), "iris": flowers, "drawn": table(t, draw(200, 6, 2, 4)),
	} {
		m := moments(t, src)
		spectrum, err := m.Spectrum()
		require.NoError(t, err)
		pca, err := bpca.Solve(spectrum, 0)
		require.NoError(t, err)
		isotropic := factor.Structure{Isotropic: true}
		s := solve(t, m, isotropic, 0)
		require.Equal(t, pca.Max(), s.Max())
		for _, c := range criteria {
			values, err := s.Values(c)
			require.NoError(t, err)
			for k := range values {
				want, err := pca.Value(k, c)
				require.NoError(t, err)
				assert.InEpsilon(t, want, values[k], 1e-12, "%s, %s at K = %d", name, c.Name, k)
			}
			k, _, err := s.Best(c)
			require.NoError(t, err)
			if k == 0 || c.Name == framework.Evidence.Name && k == s.Max() {
				continue
			}
			o := framework.Options{K: k, FixedK: true, Method: bpca.MethodFor(c), Tolerance: 1e-14, Also: criteria}
			one, err := framework.Fit(background, bpca.Compressed{}, m.Source(), o)
			require.NoError(t, err)
			other, err := framework.Fit(background, factor.Compressed{Model: factor.Model{Structure: isotropic}}, m.Source(), o)
			require.NoError(t, err)
			for i, score := range one.Scores {
				// of what the iterations do not climb, the first order tells where they stop
				assert.InEpsilon(t, score.Value, other.Scores[i].Value, 1e-8, "%s, %s of a fit", name, score.Criterion)
				if score.Criterion == c.Name {
					assert.InEpsilon(t, values[k], score.Value, 1e-9, "%s, %s: below the maximum", name, c.Name)
				}
			}
		}
		for _, find := range []func() error{
			func() error { _, err := pca.Value(1, framework.ICL); return err },
			func() error { _, err := s.Value(1, framework.ICL); return err },
		} {
			assert.ErrorContains(t, find(), "discrete latent variables")
		}
	}
}

// TestUnits: rescaled columns (factor analysis), blocks mapped by invertible matrices (CCA): the same K, and the
// value moves by the Jacobian.
func TestUnits(t *testing.T) {
	x := draw(200, 6, 2, 5)
	rng := rand.New(rand.NewPCG(5, 5))
	scale, maps := mat.NewDense(6, 6, nil), mat.NewDense(6, 6, nil)
	blocks := [][]int{{0, 2, 4}, {1, 3, 5}}
	for _, block := range blocks {
		for _, i := range block {
			scale.Set(i, i, math.Exp(3*rng.NormFloat64()))
			for _, j := range block {
				maps.Set(i, j, rng.NormFloat64())
			}
		}
	}
	for name, change := range map[string]*mat.Dense{"columns": scale, "blocks": maps} {
		st := factor.Structure{}
		if name == "blocks" {
			st.Blocks = blocks
		}
		var y mat.Dense
		y.Mul(x, change.T())
		logDet, _ := mat.LogDet(change)
		for _, c := range []framework.Criterion{framework.GFIC, framework.BIC, framework.SBIC} {
			a, b := solve(t, moments(t, table(t, x)), st, 0), solve(t, moments(t, table(t, &y)), st, 0)
			k, value, err := a.Best(c)
			require.NoError(t, err)
			other, changed, err := b.Best(c)
			require.NoError(t, err)
			assert.Equal(t, k, other)
			assert.Equal(t, 2, k)
			assert.InEpsilon(t, value-200*logDet, changed, 1e-9)
		}
	}
}

// TestNothingMissing: where no entry is missing, the sums about a center give the fit without one.
func TestNothingMissing(t *testing.T) {
	for name, st := range structures {
		m := factor.Model{Structure: st}
		src := table(t, draw(60, 5, 2, 1))
		for _, method := range []framework.Method{framework.GFAB, framework.EM} {
			o := framework.Options{K: 2, FixedK: true, Method: method, Tolerance: 1e-12, Also: []framework.Criterion{framework.BIC}}
			want := fit(t, m, src, o)
			got, err := framework.FitFrom(background, m, src, func(ctx ctx, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*factor.Parameters, error) {
				p, err := m.Init(ctx, src, k, rng)
				p.Center = append([]float64(nil), p.Mean...)
				return p, err
			}, o)
			require.NoError(t, err)
			assert.InEpsilon(t, want.Value, got.Value, 1e-9, name)
			assert.InEpsilon(t, want.Scores[1].Value, got.Scores[1].Value, 1e-9, name)
			assert.InDeltaSlice(t, want.Parameters.Mean, got.Parameters.Mean, 1e-8)
		}
	}
}

// TestMissingEntriesFindTheFactors: 20 % of the entries missing at random, three factors of twelve columns.
func TestMissingEntriesFindTheFactors(t *testing.T) {
	t.Parallel()
	gaps := pierced(draw(400, 12, 3, 7), 0.2, nil, 7)
	res := fit(t, factor.Model{}, table(t, gaps), framework.Options{K: 5, Tolerance: 1e-7})
	assert.Equal(t, 3, res.Shape.K)
	assert.Zero(t, res.Fall)
	t.Logf("K = %d, %.3f, %d iterations, %v", res.Shape.K, res.Value, res.Iterations, res.Status)
}

// TestOrderOfColumnsWithGaps: BIC charges for a rotation less by the same N, whichever column comes first.
func TestOrderOfColumnsWithGaps(t *testing.T) {
	gaps := draw(80, 5, 2, 3)
	for i := range 30 {
		gaps.Set(i, 0, math.NaN())
	}
	var turned mat.Dense
	turned.CloneFrom(gaps)
	for i := range 80 {
		for j := range 5 {
			turned.Set(i, j, gaps.At(i, 4-j))
		}
	}
	o := framework.Options{K: 2, FixedK: true, Method: framework.EM, Tolerance: 1e-12, Also: []framework.Criterion{framework.BIC}}
	want, got := fit(t, factor.Model{}, table(t, gaps), o), fit(t, factor.Model{}, table(t, &turned), o)
	assert.InDelta(t, want.Scores[1].Value, got.Scores[1].Value, 1e-6) // 0.24 apart where the first column is charged less
}

// TestScores holds scores and filled entries to the joint normal distribution of x and z.
func TestScores(t *testing.T) {
	for name, st := range structures {
		x := draw(60, 5, 2, 1)
		p := fit(t, factor.Model{Structure: st}, table(t, x), framework.Options{K: 2, FixedK: true, Method: framework.EM}).Parameters
		gaps := pierced(x, 0.3, st.Blocks, 3)
		rows := table(t, gaps).All()
		z, err := p.Transform(rows)
		require.NoError(t, err)
		full, err := p.Fill(rows)
		require.NoError(t, err)
		logProb, err := p.LogProb(rows)
		require.NoError(t, err)
		var cov mat.SymDense
		cov.SymOuterK(1, p.W())
		for i := range 5 {
			for j := i; j < 5; j++ {
				cov.SetSym(i, j, cov.At(i, j)+noiseAt(p, i, j))
			}
		}
		law, err := p.Distribution(nil)
		require.NoError(t, err)
		var ours mat.SymDense
		law.CovarianceMatrix(&ours)
		assert.InDeltaSlice(t, cov.RawSymmetric().Data, ours.RawSymmetric().Data, 1e-12, name)
		assert.Equal(t, p.Mean, law.Mean(nil))
		for i := range 60 {
			var show []int
			for j := range 5 {
				if v := gaps.At(i, j); v == v {
					show = append(show, j)
				}
			}
			m := len(show)
			own, w, residual := mat.NewSymDense(m, nil), mat.NewDense(m, 2, nil), mat.NewVecDense(m, nil)
			mean, values := make([]float64, m), make([]float64, m)
			for a, r := range show {
				mean[a], values[a] = p.Mean[r], gaps.At(i, r)
				residual.SetVec(a, values[a]-mean[a])
				w.SetRow(a, p.W().RawRowView(r))
				for b := a; b < m; b++ {
					own.SetSym(a, b, cov.At(r, show[b]))
				}
			}
			normal, ok := distmv.NewNormal(mean, own, nil)
			require.True(t, ok)
			assert.InDelta(t, normal.LogProb(values), logProb[i], 1e-9, name)
			var solved, want mat.VecDense
			require.NoError(t, solved.SolveVec(own, residual))
			want.MulVec(w.T(), &solved)
			assert.InDeltaSlice(t, want.RawVector().Data, z.RawRowView(i), 1e-8, name)
			for j := range 5 {
				if v := gaps.At(i, j); v == v {
					assert.Equal(t, v, full.At(i, j))
				} else {
					assert.InDelta(t, p.Mean[j]+mat.Dot(p.W().RowView(j), &want), full.At(i, j), 1e-8)
				}
			}
		}
	}
}

// noiseAt is an entry of Ψ.
func noiseAt(p *factor.Parameters, i, j int) float64 {
	switch {
	case p.Isotropic && i == j:
		return p.Noise[0]
	case p.Blocks == nil && i == j && !p.Isotropic:
		return p.Noise[i]
	}
	at := 0
	for _, b := range p.Blocks {
		for r, a := range b {
			for c, other := range b {
				if a == i && other == j {
					return p.Noise[at+r*len(b)+c]
				}
			}
		}
		at += len(b) * len(b)
	}
	return 0
}

// TestBartlettScoresAreUnbiased: of the mean of x given z they return z.
func TestBartlettScoresAreUnbiased(t *testing.T) {
	p := fit(t, factor.Model{}, table(t, draw(200, 6, 2, 1)), framework.Options{K: 2, FixedK: true, Method: framework.EM}).Parameters
	z := mat.NewDense(2, 2, []float64{1, -2, 0.3, 0.1})
	x, err := p.InverseTransform(z)
	require.NoError(t, err)
	x.Set(1, 3, math.NaN())
	got, err := p.Bartlett(table(t, x).All())
	require.NoError(t, err)
	assert.InDeltaSlice(t, z.RawMatrix().Data, got.RawMatrix().Data, 1e-9)
	for j := 1; j < 6; j++ {
		x.Set(1, j, math.NaN())
	}
	_, err = p.Bartlett(table(t, x).All())
	assert.ErrorContains(t, err, "too few values for Bartlett's scores of 2 factors")
}

// TestStandardErrors: those of the bootstrap are near the spread of the estimates over tables drawn from the truth.
func TestStandardErrors(t *testing.T) {
	t.Parallel()
	const n = 400
	truth := &factor.Parameters{K: 1, D: 4, Mean: make([]float64, 4), Loadings: []float64{.8, .7, .6, .5}, Noise: []float64{.36, .51, .64, .75}, Unit: []float64{1, 1, 1, 1}}
	target := truth.W()
	numbers := func(p *factor.Parameters) []float64 {
		w, err := p.AlignedTo(target)
		require.NoError(t, err)
		return w.RawMatrix().Data
	}
	spread := mat.NewDense(60, 4, nil)
	var first *blocks.Table
	for i := range 60 {
		x, err := truth.Sample(n, rand.New(rand.NewPCG(3, uint64(i))))
		require.NoError(t, err)
		src := table(t, x)
		if i == 0 {
			first = src
		}
		p, err := solve(t, moments(t, src), factor.Structure{}, 1).Parameters(1)
		require.NoError(t, err)
		spread.SetRow(i, numbers(p))
	}
	p, err := solve(t, moments(t, first), factor.Structure{}, 1).Parameters(1)
	require.NoError(t, err)
	e, err := bootstrap.StandardErrors(background, factor.Model{}, first, p, numbers, bootstrap.Options{Draws: 60, Fit: framework.Options{Method: framework.EM, Tolerance: 1e-8}})
	require.NoError(t, err)
	for j := range 4 {
		sum, mean := 0.0, 0.0
		for i := range 60 {
			mean += spread.At(i, j) / 60
		}
		for i := range 60 {
			sum += math.Pow(spread.At(i, j)-mean, 2) / 59
		}
		assert.InEpsilon(t, math.Sqrt(sum), e.Numbers[j].Error, 0.4, "column %d", j)
	}
}

// TestHeywoodCase: three columns whose correlations no noise explains. The second has a noise below the floor.
func TestHeywoodCase(t *testing.T) {
	c := mat.NewSymDense(3, []float64{1, .9, .2, .9, 1, .6, .2, .6, 1})
	s := solve(t, factor.Moments(c, 100), factor.Structure{}, 1)
	p, err := s.Parameters(1)
	require.NoError(t, err)
	assert.Equal(t, []int{1}, p.Heywood())
	assert.InEpsilon(t, factor.Floor, p.Uniquenesses()[1], 1e-12)
	values, err := s.Values(framework.GFIC)
	require.NoError(t, err)
	assert.False(t, math.IsInf(values[1], 0))
}

// TestBadInput: one clear line each.
func TestBadInput(t *testing.T) {
	x := draw(20, 5, 1, 1)
	change := func(f func(x *mat.Dense)) *mat.Dense {
		y := mat.DenseCopyOf(x)
		f(y)
		return y
	}
	nan := math.NaN()
	row := func(y *mat.Dense) { y.SetRow(3, []float64{nan, nan, nan, nan, nan}) }
	column := func(v func(i int) float64) func(*mat.Dense) {
		return func(y *mat.Dense) {
			for i := range 20 {
				y.Set(i, 2, v(i))
			}
		}
	}
	for want, c := range map[string]struct {
		st factor.Structure
		x  *mat.Dense
		k  int
	}{
		"more rows than columns (N = 5, D = 5)":                         {x: mat.DenseCopyOf(x.Slice(0, 5, 0, 5))},
		"column 3 is constant":                                          {x: change(column(func(int) float64 { return 7 }))},
		"column 3 repeats column 1, up to scale: drop one of the two":   {x: change(column(func(i int) float64 { return 3 - 2*x.At(i, 0) }))},
		"block 1 names column 2 twice":                                  {x: x, st: factor.Structure{Blocks: [][]int{{1, 1}, {0, 2, 3, 4}}}},
		"column 5 is in no block":                                       {x: x, st: factor.Structure{Blocks: [][]int{{1, 0}, {2, 3}}}},
		"row 4 has no value at all: drop it":                            {x: change(row)},
		"column 3 has no value at all: drop it":                         {x: change(column(func(int) float64 { return nan }))},
		"column 3 has no more entries than the table has columns":       {x: change(column(func(i int) float64 { return map[bool]float64{true: float64(i * i), false: nan}[i < 5] }))},
		"row 1 misses 1 of the 2 columns of block 2":                    {x: change(func(y *mat.Dense) { y.Set(0, 2, nan) }), st: factor.Structure{Blocks: [][]int{{0, 1, 4}, {2, 3}}}},
		"K = 5 with D = 5 columns: choose K from 1 to 4":                {x: x, k: 5},
		"block 1: factor: the columns of a block depend on one another": {x: change(column(func(i int) float64 { return x.At(i, 0) + x.At(i, 1) })), st: factor.Structure{Blocks: [][]int{{0, 1, 2}, {3, 4}}}},
		"isotropic noise has no blocks":                                 {x: x, st: factor.Structure{Isotropic: true, Blocks: [][]int{{0, 1}, {2, 3, 4}}}},
		"one block has all columns and leaves nothing to the factors":   {x: x, st: factor.Structure{Blocks: [][]int{{0, 1, 2, 3, 4}}}},
		"block 2 names column 9 of 5":                                   {x: x, st: factor.Structure{Blocks: [][]int{{0, 1, 2, 3, 4}, {8}}}},
	} {
		_, err := framework.Fit(background, factor.Model{Structure: c.st}, table(t, c.x), framework.Options{K: max(1, c.k)})
		assert.ErrorContains(t, err, want)
	}
	_, err := factor.Solve(moments(t, table(t, x)), factor.Structure{}, 3)
	assert.ErrorIs(t, err, factor.ErrUnidentified)
	// EM goes on where gFIC does not exist.
	res := fit(t, factor.Model{}, table(t, mat.DenseCopyOf(x.Slice(0, 5, 0, 5))), framework.Options{K: 1, Method: framework.EM, MaxIterations: 50, Also: []framework.Criterion{framework.BIC}})
	assert.NoError(t, res.Scores[1].Err)
}

// mutant is the model with one thing wrong.
type mutant struct {
	factor.Model
	name string
}

func (m mutant) Prepare(p *factor.Parameters, tilt *laplace.Tilt, s *factor.Statistics) error {
	switch m.name {
	case "no tilt":
		tilt = nil
	case "noise of the first column for all":
		q := *p
		q.Noise = append([]float64(nil), p.Noise...)
		for j := range q.Noise {
			q.Noise[j] = p.Noise[0]
		}
		p = &q
	}
	return m.Model.Prepare(p, tilt, s)
}

func (m mutant) Infer(b blocks.Rows, p *factor.Parameters, s *factor.Statistics) (float64, error) {
	h, err := m.Model.Infer(b, p, s)
	switch m.name {
	case "entropy":
		h *= 1.001
	case "squares of weight 1":
		if b.Weights != nil {
			b.Weights = nil
			t := m.NewStatistics(p)
			if err := m.Model.Prepare(p, nil, t); err != nil {
				return 0, err
			}
			if _, err := m.Model.Infer(b, p, t); err != nil {
				return 0, err
			}
			copy(s.XX, t.XX)
		}
	}
	return h, err
}

func (m mutant) Maximize(s *factor.Statistics, p, dst *factor.Parameters) (*factor.Parameters, error) {
	dst, err := m.Model.Maximize(s, p, dst)
	if err == nil && m.name == "noise divided by N − 1" {
		for j := range dst.Noise {
			dst.Noise[j] *= s.N / (s.N - 1)
		}
	}
	return dst, err
}

func (m mutant) Curvature(s *factor.Statistics, p *factor.Parameters, f *laplace.Curvature) error {
	if m.name == "information in units of the columns" {
		f.Mixed(mat.NewSymDense(s.K, s.ZZ), laplace.Scaled{Factor: 1 / p.Noise[0], Of: laplace.Identity(s.D)})
		return nil
	}
	return m.Model.Curvature(s, p, f)
}

func (m mutant) Rotate(s *factor.Statistics, p *factor.Parameters, basis *mat.Dense) (*factor.Statistics, *factor.Parameters, error) {
	t, q, err := m.Model.Rotate(s, p, basis)
	if m.name == "rotation of the loadings alone" {
		copy(t.XZ, s.XZ)
	}
	return t, q, err
}

func (m mutant) Keep(s *factor.Statistics, p *factor.Parameters, dims []int) (*factor.Statistics, *factor.Parameters, error) {
	t, q, err := m.Model.Keep(s, p, dims)
	if m.name == "first factors kept" {
		_, q, err = m.Model.Keep(s, p, upTo(len(dims)))
	}
	return t, q, err
}

func (m mutant) Expand(s *factor.Statistics, p *factor.Parameters, charged bool) (*factor.Parameters, float64, error) {
	p, h, err := m.Model.Expand(s, p, charged && m.name != "expansion without the charge")
	return p, h, err
}

// TestMutantsAreCaught: each mistake in the kernel fails the suite, with and without missing entries.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	tier.Leave(t, "TestEveryCheckHasAMutantThatItAloneCatches of framework/lvmtest")
	x := draw(40, 5, 2, 1)
	check := func(name string, x *mat.Dense) error {
		c := suite(mutant{name: name}, factor.Structure{}, x, asRows)
		c.K, c.Units, c.Sample = []int{2}, nil, nil
		return lvmtest.Check(c)
	}
	gaps := pierced(x, 0.2, nil, 1)
	assert.NoError(t, check("", x))
	assert.NoError(t, check("", gaps))
	for _, name := range []string{"no tilt", "noise of the first column for all", "entropy", "squares of weight 1", "noise divided by N − 1", "information in units of the columns",
		"rotation of the loadings alone", "first factors kept", "expansion without the charge"} {
		assert.Error(t, check(name, x), name)
		assert.Error(t, check(name, gaps), "%s, with missing entries", name)
	}
}

func ExampleSolve() {
	m := factor.Moments(mat.NewSymDense(4, []float64{1, .56, .48, .40, .56, 1, .42, .35, .48, .42, 1, .30, .40, .35, .30, 1}), 200)
	all, err := factor.Solve(m, factor.Structure{}, 0)
	if err != nil {
		panic(err)
	}
	k, _, _ := all.Best(framework.GFIC)
	p, _ := all.Parameters(k)
	fmt.Printf("K = %d, loadings %.2f\n", k, mat.Col(nil, 0, p.Standardized()))
	// Output: K = 1, loadings [0.80 0.70 0.60 0.50]
}
