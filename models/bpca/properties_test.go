package bpca_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	_ "github.com/latent-go/latent/internal/fixedseed"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
)

// anywhere returns parameters and the statistics of a local step there, far from any
// fixed point.
func anywhere(t testing.TB, n, d, k int) (*blocks.Table, *bpca.Parameters, *lineargaussian.Statistics, float64) {
	src := table(t, factors(n, d, 2, 9), d)
	rng := rand.New(rand.NewPCG(3, 3))
	p, err := bpca.Model{}.Init(background, src, k, rng)
	require.NoError(t, err)
	s, entropy, err := framework.LocalStep(background, bpca.Model{}, src, p, 1)
	require.NoError(t, err)
	return src, p, s, entropy
}

// TestCountsLeaveOutThePrecision: F is S/N ⊗ I times the precision, in units in which the mean
// column variance is 1 (paper G, eq. 5).
func TestCountsLeaveOutThePrecision(t *testing.T) {
	_, p, s, _ := anywhere(t, 60, 4, 3)
	var f laplace.Curvature
	f.Reset(s.N, false)
	require.NoError(t, bpca.Model{}.Curvature(s, p, &f))
	unit := s.SumSq / (s.N * float64(s.D))
	assert.InDelta(t, float64(p.D*p.K)*math.Log(unit/p.Noise), f.LogDet()-f.LogDetCounts(), 1e-9)
	var counts mat.SymDense
	counts.ScaleSym(1/s.N, mat.NewSymDense(s.K, s.ZZ))
	assert.InDelta(t, float64(p.D)*math.Log(mat.Det(&counts)), f.LogDetCounts(), 1e-9)
}

// TestKeptDirectionsAreThoseOfTheSignal rotates the latent space to the eigenvectors of the signal, where it
// is the diagonal matrix of the relevance, and keeps two directions: the residual is then that at their
// loadings.
func TestKeptDirectionsAreThoseOfTheSignal(t *testing.T) {
	m := bpca.Model{}
	_, start, s, _ := anywhere(t, 60, 5, 3)
	p, err := m.Maximize(s, start, nil)
	require.NoError(t, err)
	signal, err := m.Signal(s, p)
	require.NoError(t, err)
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(signal, true))
	var basis mat.Dense
	eigen.VectorsTo(&basis)
	rotated, q, err := m.Rotate(s, p, &basis)
	require.NoError(t, err)
	relevance, err := m.Relevance(rotated, q)
	require.NoError(t, err)
	assert.InDeltaSlice(t, eigen.Values(nil), relevance, 1e-10)
	diagonal, err := m.Signal(rotated, q)
	require.NoError(t, err)
	assert.True(t, mat.EqualApprox(mat.NewDiagDense(3, relevance), diagonal, 1e-10))
	assert.InEpsilon(t, m.LogJoint(s, p), m.LogJoint(rotated, q), 1e-12, "Wz is as it was")

	kept, small, err := m.Keep(rotated, q, []int{0, 2})
	require.NoError(t, err)
	for i := range 5 {
		assert.Equal(t, []float64{q.W().At(i, 0), q.W().At(i, 2)}, small.W().RawRowView(i))
	}
	anchor := mat.NewDense(5, 2, kept.Anchor)
	var cross, square mat.Dense
	cross.Mul(anchor.T(), mat.NewDense(5, 2, kept.XZ))
	square.Product(anchor, mat.NewDense(2, 2, kept.ZZ), anchor.T())
	assert.InEpsilon(t, s.SumSq-2*mat.Trace(&cross)+mat.Trace(&square), kept.Residual, 1e-12)
}

func TestMarginalLikelihoodIsThatOfTheNormal(t *testing.T) {
	src, p, _, _ := anywhere(t, 30, 6, 3)
	normal, err := p.Distribution(nil)
	require.NoError(t, err)
	x := mat.NewDense(30, 6, src.All().X)
	rows, err := p.LogProb(x)
	require.NoError(t, err)
	block, err := bpca.Model{}.LogProb(src.All(), p, nil)
	require.NoError(t, err)
	for i, got := range rows {
		assert.InEpsilon(t, normal.LogProb(x.RawRowView(i)), got, 1e-12)
		assert.InEpsilon(t, got, block[i], 1e-12)
	}
}

// TestTransformIsTheConditionalNormal conditions the joint normal of (x, z).
func TestTransformIsTheConditionalNormal(t *testing.T) {
	src, p, _, _ := anywhere(t, 10, 5, 2)
	joint := mat.NewSymDense(7, nil) // x first, then z
	var ww mat.SymDense
	ww.SymOuterK(1, p.W())
	for i := range 5 {
		for j := i; j < 5; j++ {
			joint.SetSym(i, j, ww.At(i, j))
		}
		joint.SetSym(i, i, joint.At(i, i)+p.Noise)
		for k := range 2 {
			joint.SetSym(i, 5+k, p.W().At(i, k))
		}
	}
	joint.SetSym(5, 5, 1)
	joint.SetSym(6, 6, 1)
	normal, ok := distmv.NewNormal(append(append([]float64(nil), p.Mean...), 0, 0), joint, nil)
	require.True(t, ok)
	x := mat.NewDense(10, 5, src.All().X)
	mean, cov, err := p.Transform(x)
	require.NoError(t, err)
	for i := range 10 {
		given, ok := normal.ConditionNormal([]int{0, 1, 2, 3, 4}, x.RawRowView(i), nil)
		require.True(t, ok)
		assert.InDeltaSlice(t, given.Mean(nil), mean.RawRowView(i), 1e-10)
		var want mat.SymDense
		given.CovarianceMatrix(&want)
		assert.True(t, mat.EqualApprox(&want, cov, 1e-10))
	}
}

func TestInverseTransformUndoesTransformWithoutNoise(t *testing.T) {
	_, p, _, _ := anywhere(t, 10, 5, 2)
	p.Noise = 1e-12
	z := mat.NewDense(3, 2, []float64{1, -2, 0.5, 3, 0, 0})
	x, err := p.InverseTransform(z)
	require.NoError(t, err)
	back, _, err := p.Transform(x)
	require.NoError(t, err)
	assert.True(t, mat.EqualApprox(z, back, 1e-8))
	assert.InDeltaSlice(t, p.Mean, x.RawRowView(2), 1e-12)
}

func TestCanonicalFormIsUnique(t *testing.T) {
	_, p, _, _ := anywhere(t, 30, 6, 3)
	c := p.Canonical()
	var gram mat.Dense
	gram.Mul(c.W().T(), c.W())
	for i := range 3 {
		for j := range 3 {
			if i != j {
				assert.InDelta(t, 0, gram.At(i, j), 1e-12)
			} else if i > 0 {
				assert.Greater(t, gram.At(i-1, i-1), gram.At(i, i))
			}
		}
	}
	// Any rotation of p has the same canonical form, and x the same covariance.
	angle := 0.7
	r := mat.NewDense(3, 3, []float64{math.Cos(angle), -math.Sin(angle), 0, math.Sin(angle), math.Cos(angle), 0, 0, 0, -1})
	q := *p
	q.Loadings = make([]float64, 18)
	q.W().Mul(p.W(), r)
	assert.InDeltaSlice(t, c.Loadings, q.Canonical().Loadings, 1e-12)
	var a, b mat.SymDense
	a.SymOuterK(1, p.W())
	b.SymOuterK(1, c.W())
	assert.True(t, mat.EqualApprox(&a, &b, 1e-12))
	share := 0.0
	for _, v := range c.Explained() {
		share += v
	}
	assert.InDelta(t, 1-6*p.Noise/(mat.Trace(&a)+6*p.Noise), share, 1e-12)
}

// TestRefittedSampleRecoversTheModel: 40,000 draws; the standard error of an entry of the
// covariance is below 0.02, the margin 6 of them.
func TestRefittedSampleRecoversTheModel(t *testing.T) {
	m := moments(t, embedded(t, "iris"))
	truth, err := solve(t, m).Parameters(2, framework.EM)
	require.NoError(t, err)
	x, err := truth.Sample(40000, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	src, err := blocks.FromMatrix(x)
	require.NoError(t, err)
	fitted, err := solve(t, moments(t, src)).Parameters(2, framework.EM)
	require.NoError(t, err)
	assert.InDeltaSlice(t, truth.Mean, fitted.Mean, 0.12)
	assert.InDeltaSlice(t, truth.Loadings, fitted.Loadings, 0.12)
	assert.InEpsilon(t, truth.Noise, fitted.Noise, 0.02)
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, x, nil)
	assert.InDelta(t, truth.W().At(0, 0)*truth.W().At(1, 0)+truth.W().At(0, 1)*truth.W().At(1, 1), cov.At(0, 1), 0.12)
}

func TestCheckRefusesDamagedParameters(t *testing.T) {
	_, p, _, _ := anywhere(t, 30, 6, 3)
	q := *p
	require.NoError(t, q.Check())
	q.Noise = -1
	assert.Error(t, q.Check())
	q = *p
	q.K = 4
	assert.Error(t, q.Check())
}

// ---- Variational Bayes

func TestELBONeverFalls(t *testing.T) {
	m := moments(t, table(t, factors(200, 8, 3, 1), 8))
	for _, prior := range []bpca.Prior{{}, {FixedAlpha: 1}, {Unit: 1}, {AlphaShape: 2, AlphaRate: 3, LambdaShape: 1, LambdaRate: 5}} {
		for seed := range uint64(3) {
			res, err := framework.Fit(background, bpca.CompressedVariational{bpca.Variational{Prior: prior}}, m.Source(),
				framework.Options{K: 6, Method: framework.EM, Seed: seed, MaxIterations: 500})
			require.NoError(t, err)
			assert.Equal(t, "ELBO", res.Criterion)
			assert.Zero(t, res.Fall)
			for i := 1; i < len(res.Trace); i++ {
				assert.GreaterOrEqual(t, res.Trace[i], res.Trace[i-1]-1e-12*math.Abs(res.Trace[i]))
			}
		}
	}
}

// TestELBOIsTheExpectationItClaimsToBe estimates E_q[ln p(X,Z,W,λ,α) − ln q] by drawing
// from q and adding up log densities of gonum's distributions. The difference must stay
// within four standard errors, with a fixed seed.
func TestELBOIsTheExpectationItClaimsToBe(t *testing.T) {
	const n, d, k = 12, 3, 2
	x := factors(n, d, 1, 3)
	src := table(t, x, d)
	for _, prior := range []bpca.Prior{{AlphaShape: 2, AlphaRate: 1.5, LambdaShape: 3, LambdaRate: 2, Unit: 1.7}, {FixedAlpha: 0.8, LambdaShape: 3, LambdaRate: 2}} {
		model := bpca.Variational{Prior: prior}
		res, err := framework.Fit(background, model, src, framework.Options{K: k, Method: framework.EM, MaxIterations: 7})
		require.NoError(t, err)
		q := res.Parameters
		// The bound belongs to q(Z) of the last local step: repeat that step at the
		// parameters before it.
		before, err := framework.Fit(background, model, src, framework.Options{K: k, Method: framework.EM, MaxIterations: 6})
		require.NoError(t, err)
		mean, cov := posteriorOf(before.Parameters, x)
		rng := rand.New(rand.NewPCG(5, 5))
		const draws = 10000
		values := make([]float64, draws)
		for i := range values {
			values[i] = logRatio(t, prior, q, mean, cov, x, n, d, k, rng)
		}
		got, sd := stat.MeanStdDev(values, nil)
		assert.InDelta(t, res.Value, got, 4*sd/math.Sqrt(draws))
		assert.Less(t, sd/math.Sqrt(draws), 0.1, "the comparison is sharp")
	}
}

// posteriorOf is q(z) at the variational parameters, by its definition.
func posteriorOf(q *bpca.Posterior, x []float64) (mean *mat.Dense, cov *mat.SymDense) {
	w := mat.NewDense(q.D, q.K, q.Loadings)
	lambda := q.Shape / q.Rate
	precision := mat.NewSymDense(q.K, nil)
	precision.SymOuterK(lambda, w.T())
	for i := range q.K {
		for j := i; j < q.K; j++ {
			v := precision.At(i, j) + lambda*float64(q.D)*q.Cov[i*q.K+j]
			if i == j {
				v++
			}
			precision.SetSym(i, j, v)
		}
	}
	var chol mat.Cholesky
	chol.Factorize(precision)
	cov = mat.NewSymDense(q.K, nil)
	if err := chol.InverseTo(cov); err != nil {
		panic(err)
	}
	n := len(x) / q.D
	y := mat.NewDense(n, q.D, nil)
	for i := range n {
		for j := range q.D {
			y.Set(i, j, x[i*q.D+j]-q.Mean[j])
		}
	}
	mean = mat.NewDense(n, q.K, nil)
	var yw mat.Dense
	yw.Mul(y, w)
	mean.Mul(&yw, cov)
	mean.Scale(lambda, mean)
	return mean, cov
}

// logRatio draws once from q and returns ln p(X,Z,W,λ,α) − ln q(Z,W,λ,α).
func logRatio(t *testing.T, prior bpca.Prior, q *bpca.Posterior, mean *mat.Dense, cov *mat.SymDense, x []float64, n, d, k int, rng *rand.Rand) float64 {
	gamma := func(shape, rate float64) (v, logDensity float64) {
		// Marsaglia & Tsang for shape ≥ 1.
		dd := shape - 1.0/3
		for {
			z := rng.NormFloat64()
			u := math.Pow(1+z/math.Sqrt(9*dd), 3)
			if u > 0 && math.Log(rng.Float64()) < z*z/2+dd-dd*u+dd*math.Log(u) {
				v = dd * u / rate
				return v, gammaLogDensity(v, shape, rate)
			}
		}
	}
	total := 0.0
	lambda, logq := gamma(q.Shape, q.Rate)
	total += gammaLogDensity(lambda, prior.LambdaShape, prior.LambdaRate*q.UnitVariance) - logq
	alpha := make([]float64, k)
	for i := range alpha {
		alpha[i] = prior.FixedAlpha
		if prior.FixedAlpha == 0 {
			alpha[i], logq = gamma(q.AlphaShape, q.AlphaRates[i])
			total += gammaLogDensity(alpha[i], prior.AlphaShape, prior.AlphaRate) - logq
		}
	}
	draw := func(mu []float64, sigma *mat.SymDense) ([]float64, float64) {
		normal, ok := distmv.NewNormal(mu, sigma, rng)
		require.True(t, ok)
		v := normal.Rand(nil)
		return v, normal.LogProb(v)
	}
	w := make([][]float64, d)
	for j := range w {
		w[j], logq = draw(q.Loadings[j*k:(j+1)*k], mat.NewSymDense(k, q.Cov))
		total -= logq
		for i, v := range w[j] {
			total += 0.5 * (math.Log(alpha[i]/(2*math.Pi*q.UnitVariance)) - alpha[i]/q.UnitVariance*v*v)
		}
	}
	for i := range n {
		z, logq := draw(mean.RawRowView(i), cov)
		total -= logq
		for _, v := range z {
			total -= 0.5 * (math.Log(2*math.Pi) + v*v)
		}
		for j := range d {
			r := x[i*d+j] - q.Mean[j]
			for l := range k {
				r -= w[j][l] * z[l]
			}
			total += 0.5 * (math.Log(lambda/(2*math.Pi)) - lambda*r*r)
		}
	}
	return total
}

func gammaLogDensity(v, shape, rate float64) float64 {
	lg, _ := math.Lgamma(shape)
	return shape*math.Log(rate) - lg + (shape-1)*math.Log(v) - rate*v
}

func TestVariationalChoiceDoesNotDependOnUnits(t *testing.T) {
	x := factors(300, 6, 2, 1)
	scaled := make([]float64, len(x))
	for i, v := range x {
		scaled[i] = 1000 * v
	}
	ks := []int{1, 2, 3, 4}
	var values [2][]float64
	var chosen [2]int
	for i, data := range [][]float64{x, scaled} {
		sel, err := framework.Select(background, bpca.CompressedVariational{}, moments(t, table(t, data, 6)).Source(), ks, framework.Options{Method: framework.EM})
		require.NoError(t, err)
		for j := range ks {
			values[i] = append(values[i], sel.Values[j][0])
		}
		chosen[i] = sel.K[sel.Best(0)]
	}
	assert.Equal(t, chosen[0], chosen[1])
	for j := range ks {
		assert.InEpsilon(t, values[0][j]-300*6*math.Log(1000), values[1][j], 1e-8)
	}
}

// ---- Bad input

func TestBadInputIsRefused(t *testing.T) {
	good := factors(50, 4, 1, 1)
	with := func(change func(x []float64)) []float64 {
		x := append([]float64(nil), good...)
		change(x)
		return x
	}
	constant := with(func(x []float64) {
		for i := 2; i < len(x); i += 4 {
			x[i] = 0.1
		}
	})
	for name, c := range map[string]struct {
		x       []float64
		d, k    int
		message string
	}{
		"one row":         {good[:4], 4, 1, "1 row"},
		"one column":      {good[:20], 1, 1, "at least two"},
		"constant column": {constant, 4, 1, "column 3 is constant"},
		"K too large":     {good, 4, 4, "choose K from 1 to 3"},
		"N ≤ D":           {good[:16], 4, 1, "BICEM"},
		"overflow":        {with(func(x []float64) { x[5] = 1e200 }), 4, 1, "overflow"},
		"no noise": {with(func(x []float64) {
			for i := 0; i < len(x); i += 4 {
				x[i+1], x[i+2], x[i+3] = 2*x[i], -x[i], x[i]
			}
		}), 4, 2, "leaves no noise"},
	} {
		src := table(t, c.x, c.d)
		_, err := framework.Fit(background, bpca.Model{}, src, framework.Options{K: c.k, FixedK: true})
		assert.ErrorContains(t, err, c.message, "rows: %s", name)
		m, err := lineargaussian.Summarize(background, src, 0)
		if err == nil {
			_, err = framework.Fit(background, bpca.Compressed{}, m.Source(), framework.Options{K: c.k, FixedK: true})
		}
		assert.ErrorContains(t, err, c.message, "moments: %s", name)
	}
	_, err := blocks.FromSlice(with(func(x []float64) { x[9] = math.NaN() }), 50, 4)
	assert.ErrorContains(t, err, "row 3, column 2 is NaN")
	_, err = blocks.FromSlice(with(func(x []float64) { x[11] = math.Inf(-1) }), 50, 4)
	assert.ErrorContains(t, err, "row 3, column 4 is -Inf")
}

func TestClosedFormRefusesWhatHasNoAnswer(t *testing.T) {
	wide := table(t, factors(5, 8, 2, 1), 8)
	s, err := lineargaussian.Decompose(background, wide, 0)
	require.NoError(t, err)
	_, err = bpca.Solve(s, 8)
	assert.ErrorContains(t, err, "choose K from 1 to 7")
	sol, err := bpca.Solve(s, 7)
	require.NoError(t, err)
	assert.Equal(t, 3, sol.Max(), "five centred rows span four dimensions")
	_, _, err = sol.Best(framework.GFIC)
	assert.ErrorIs(t, err, lineargaussian.ErrTooFewRows)
	_, _, err = sol.Best(framework.ICL)
	assert.Error(t, err)
	_, _, err = sol.Best(framework.BICEM)
	assert.NoError(t, err)
	_, err = sol.Parameters(4, framework.EM)
	assert.Error(t, err)
}

func TestGramSideAgreesWithMoments(t *testing.T) {
	wide := table(t, factors(6, 9, 2, 1), 9)
	gram, err := lineargaussian.Decompose(background, wide, 0)
	require.NoError(t, err)
	full, err := moments(t, wide).Spectrum()
	require.NoError(t, err)
	assert.InDeltaSlice(t, full.Values[:5], gram.Values[:5], 1e-12)
	a, err := bpca.Solve(gram, 4)
	require.NoError(t, err)
	b, err := bpca.Solve(full, 4)
	require.NoError(t, err)
	for k := 1; k <= 4; k++ {
		pa, err := a.Parameters(k, framework.EM)
		require.NoError(t, err)
		pb, err := b.Parameters(k, framework.EM)
		require.NoError(t, err)
		assert.InDeltaSlice(t, pb.Loadings, pa.Loadings, 1e-9)
		va, _ := a.Value(k, framework.BICEM)
		vb, _ := b.Value(k, framework.BICEM)
		assert.InEpsilon(t, vb, va, 1e-10)
	}
	res, err := framework.Fit(background, bpca.Model{}, wide, framework.Options{K: 2, Method: framework.EM, Tolerance: 1e-13})
	require.NoError(t, err)
	want, _ := a.Value(2, framework.BICEM)
	assert.InEpsilon(t, want, res.Value, 1e-8)
}

// TestTinyHostileTablesNeverGiveNaN fits whatever rapid makes up: an error or finite
// numbers, never a panic.
func TestTinyHostileTablesNeverGiveNaN(t *testing.T) {
	entry := rapid.OneOf(rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, 1, -1, 1e8, 1e-8, 1e150, 1e-150, 1e308, 5e-324}))
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 7).Draw(t, "n"), rapid.IntRange(1, 5).Draw(t, "d")
		x := rapid.SliceOfN(entry, n*d, n*d).Draw(t, "x")
		w := rapid.SliceOfN(rapid.SampledFrom([]float64{1, 0, 2.5, 1e-9}), n, n).Draw(t, "w")
		src, err := blocks.FromSlice(x, n, d)
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "weighted") {
			if src, err = src.WithWeights(w); err != nil {
				return
			}
		}
		o := framework.Options{K: rapid.IntRange(1, 5).Draw(t, "k"), Method: rapid.SampledFrom([]framework.Method{framework.EM, framework.FAB, framework.GFAB}).Draw(t, "method"), MaxIterations: 200, Workers: 1, Also: []framework.Criterion{framework.BIC}}
		if res, err := framework.Fit(background, bpca.Model{}, src, o); err == nil {
			require.NoError(t, res.Parameters.Check())
			for _, s := range res.Scores {
				require.False(t, math.IsNaN(s.Value) || math.IsInf(s.Value, 0), "%v", s)
			}
		}
		o.Also, o.Method = nil, framework.EM
		if res, err := framework.Fit(background, bpca.Variational{}, src, o); err == nil {
			require.False(t, math.IsNaN(res.Value) || math.IsInf(res.Value, 0))
			require.NoError(t, res.Parameters.Point().Check())
		}
		if s, err := lineargaussian.Decompose(background, src, 1); err == nil {
			if sol, err := bpca.Solve(s, 0); err == nil {
				for k := 1; k <= sol.Max(); k++ {
					v, err := sol.Value(k, framework.BICEM)
					require.NoError(t, err)
					require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
				}
			}
		}
	})
}

// ---- Cost

func TestMomentsTakeNoMemoryWorthTheName(t *testing.T) {
	const n, d = 100000, 30
	src := table(t, make([]float64, n*d), d)
	for i := range src.All().X {
		src.All().X[i] = float64(i % 7)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := lineargaussian.Summarize(background, src, 2)
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	assert.Less(t, float64(after.TotalAlloc-before.TotalAlloc), 0.1*8*n*d, "bytes allocated in the pass, in all")
}

func TestIterationsAllocateNothing(t *testing.T) {
	src := table(t, factors(2000, 12, 4, 1), 12)
	m := moments(t, src)
	for name, run := range map[string]func(o framework.Options) error{
		"rows": func(o framework.Options) error { _, err := framework.Fit(background, bpca.Model{}, src, o); return err },
		"moments": func(o framework.Options) error {
			_, err := framework.Fit(background, bpca.Compressed{}, m.Source(), o)
			return err
		},
		"variational": func(o framework.Options) error {
			o.Method = framework.EM
			_, err := framework.Fit(background, bpca.CompressedVariational{}, m.Source(), o)
			return err
		},
	} {
		count := func(iterations int) float64 {
			o := framework.Options{K: 9, FixedK: true, Workers: 1, MaxIterations: iterations, Tolerance: 1e-300}
			return testing.AllocsPerRun(3, func() { require.NoError(t, run(o)) })
		}
		// Only the traces grow, by doubling.
		assert.Less(t, count(220)-count(20), 20.0, name)
	}
}

// TestAccelerationOfVariationalBayes, where the precisions of columns converge slowly. How many passes it takes depends on the rounding
// of the moments, 166 to 1022 over eight orders of the rows beside 6777 without: so four orders together.
func TestAccelerationOfVariationalBayes(t *testing.T) {
	table := embedded(t, "satellite")
	rows, d := table.Dims()
	x := slices.Clone(table.All().X)
	plainPasses, fastPasses := 0, 0
	for range 4 {
		src, err := blocks.FromSlice(x, rows, d)
		require.NoError(t, err)
		m := moments(t, src)
		o := framework.Options{K: 10, Method: framework.EM}
		plain, err := framework.Fit(background, bpca.CompressedVariational{}, m.Source(), o)
		require.NoError(t, err)
		o.Accelerate = true
		fast, err := framework.Fit(background, bpca.CompressedVariational{}, m.Source(), o)
		require.NoError(t, err)
		t.Logf("%d passes, %d plain", fast.Passes, plain.Passes)
		require.Equal(t, framework.Converged, plain.Status)
		require.Equal(t, framework.Converged, fast.Status)
		assert.Greater(t, fast.Value, plain.Value)
		assert.Zero(t, fast.Fall)
		plainPasses, fastPasses = plainPasses+plain.Passes, fastPasses+fast.Passes
		x = append(x[701*d:], x[:701*d]...)
	}
	assert.Less(t, fastPasses, plainPasses/8)
}

// TestAcceleratedFitEndsAtTheClosedForm: by EM, whose step has an expansion, and by gFAB from all columns
// but one, where pruning, and not slow convergence, takes most passes.
func TestAcceleratedFitEndsAtTheClosedForm(t *testing.T) {
	m := moments(t, embedded(t, "satellite"))
	solutions := solve(t, m)
	o := framework.Options{K: 10, Method: framework.EM, Accelerate: true}
	likelihood, err := solutions.Value(10, framework.BICEM)
	require.NoError(t, err)
	assert.InEpsilon(t, likelihood, fit(t, m, o).Value, 1e-10)

	best, value, err := solutions.Best(framework.GFIC)
	require.NoError(t, err)
	o = framework.Options{K: m.D - 1}
	plain := fit(t, m, o)
	o.Accelerate = true
	fast := fit(t, m, o)
	t.Logf("%d passes, %d plain", fast.Passes, plain.Passes)
	assert.Equal(t, best, fast.Shape.K)
	assert.InEpsilon(t, value, fast.Value, 1e-9)
	assert.Less(t, fast.Passes, plain.Passes+plain.Passes/5)
	assert.Zero(t, fast.Fall)
}

// TestFreeParametersAreTheDimensionOfTheModel: the distribution N(μ, WWᵀ + σ²I) moves in as
// many directions as its parameters have free ones, the rank of the derivatives of (μ, Σ).
func TestFreeParametersAreTheDimensionOfTheModel(t *testing.T) {
	for d := 2; d <= 6; d++ {
		for k := 1; k < d; k++ {
			p := &bpca.Parameters{K: k, D: d, Mean: make([]float64, d), Noise: 1, Loadings: make([]float64, d*k)}
			rng := rand.New(rand.NewPCG(uint64(d), uint64(k)))
			for i := range p.Loadings {
				p.Loadings[i] = rng.NormFloat64()
			}
			jacobian := mat.NewDense(d*k+1+d, d+d*d, nil)
			for j := range d {
				jacobian.Set(d*k, d+j*d+j, 1) // ∂Σ/∂σ²
				jacobian.Set(d*k+1+j, j, 1)   // ∂μ/∂μ
				for h := range k {            // ∂Σ/∂W_jh = e_j w_hᵀ + w_h e_jᵀ
					for i := range d {
						w := p.W().At(i, h)
						jacobian.Set(j*k+h, d+j*d+i, jacobian.At(j*k+h, d+j*d+i)+w)
						jacobian.Set(j*k+h, d+i*d+j, jacobian.At(j*k+h, d+i*d+j)+w)
					}
				}
			}
			var svd mat.SVD
			require.True(t, svd.Factorize(jacobian, mat.SVDNone))
			assert.Equal(t, svd.Rank(1e-10), bpca.Model{}.Shape(p).Free, "D = %d, K = %d", d, k)
		}
	}
}
