package prior_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/prior"
)

// positiveDefinite is a random d×d matrix, row-major.
func positiveDefinite(rng *rand.Rand, d int) []float64 {
	half := mat.NewDense(d, d+2, normalVariables(rng, d*(d+2)))
	var product mat.Dense
	product.Mul(half, half.T())
	return product.RawMatrix().Data
}

func normalVariables(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

func randomWishart(rng *rand.Rand, d int) prior.NormalInverseWishart {
	return prior.NormalInverseWishart{
		Mean: normalVariables(rng, d), Kappa: 0.2 + 3*rng.Float64(),
		Nu: float64(d) + 5*rng.Float64(), Scale: positiveDefinite(rng, d),
	}
}

func logNorm(t testing.TB, p prior.NormalInverseWishart) float64 {
	logDet, err := p.LogDetScale()
	require.NoError(t, err)
	return p.LogNorm(logDet)
}

func TestWishartOfOneColumnIsTheInverseGamma(t *testing.T) {
	for _, g := range normals {
		w := prior.NormalInverseWishart{Mean: []float64{g.Mean}, Kappa: g.Kappa, Nu: 2 * g.Shape, Scale: []float64{2 * g.Rate}}
		require.NoError(t, w.Check())
		logDet, err := w.LogDetScale()
		require.NoError(t, err)
		closeTo(t, g.LogNorm(), w.LogNorm(logDet), 1e-13, g)
		closeTo(t, -g.Precision().ExpectedLog(), w.ExpectedLogDet(logDet), 1e-13, g)
		mean, variance := g.Mode()
		assert.Equal(t, w.Mean[0], mean)
		closeTo(t, variance, w.Scale[0]/w.ModeDivisor(), 1e-15, g)
		got, err := w.LogProb([]float64{mean + 0.1}, []float64{2 * variance})
		require.NoError(t, err)
		closeTo(t, g.LogProb(mean+0.1, 2*variance), got, 1e-12, g)

		g, w = g.Update(2.5, 1, 3), w.Update(2.5, []float64{1}, []float64{3}, w)
		assert.InEpsilonSlice(t, []float64{g.Mean, g.Kappa, 2 * g.Shape, 2 * g.Rate}, []float64{w.Mean[0], w.Kappa, w.Nu, w.Scale[0]}, 1e-14)
	}
}

// A normal density times that of Σ⁻¹ under gonum's Wishart distribution, with the
// Jacobian |Σ|^−(D+1).
func TestNormalInverseWishartIsANormalTimesAnInverseWishart(t *testing.T) {
	rng := generator(60)
	for _, d := range []int{1, 2, 3, 6} {
		p := randomWishart(rng, d)
		covariance := mat.NewSymDense(d, positiveDefinite(rng, d))
		mean := normalVariables(rng, d)

		var factor, scaleFactor mat.Cholesky
		require.True(t, factor.Factorize(covariance))
		require.True(t, scaleFactor.Factorize(mat.NewSymDense(d, p.Scale)))
		var precision, unit, spread mat.SymDense
		require.NoError(t, factor.InverseTo(&precision))
		require.NoError(t, scaleFactor.InverseTo(&unit))
		wishart, ok := distmat.NewWishart(&unit, p.Nu, nil)
		require.True(t, ok)
		spread.ScaleSym(1/p.Kappa, covariance)
		normal, ok := distmv.NewNormal(p.Mean, &spread, nil)
		require.True(t, ok)
		want := normal.LogProb(mean) + wishart.LogProbSym(&precision) - float64(d+1)*factor.LogDet()

		got, err := p.LogProb(mean, covariance.RawSymmetric().Data)
		require.NoError(t, err)
		closeTo(t, want, got, 1e-11, d)
	}
}

// In two dimensions the integral over Σ = LLᵀ, with dΣ = 4 l₁₁² l₂₂ dL, and over the
// mean, ∫ exp(−½Kappa(μ−m)ᵀΣ⁻¹(μ−m)) dμ = 2π|Σ|^½/Kappa.
func TestNormalInverseWishartLogNormIsTheIntegral(t *testing.T) {
	p := prior.NormalInverseWishart{Mean: []float64{1, -1}, Kappa: 3, Nu: 9, Scale: []float64{2, 0.6, 0.6, 1}}
	want := logNorm(t, p)
	mass := integral(func(u float64) float64 {
		return integral(func(v float64) float64 {
			a, c := math.Exp(u), math.Exp(v)
			logDet := 2 * (u + v)
			return integral(func(b float64) float64 {
				det := a * a * c * c
				precision := []float64{(b*b + c*c) / det, -a * b / det, -a * b / det, a * a / det}
				value := p.LogKernel(p.Mean, precision, logDet) + math.Log(2*math.Pi/p.Kappa) + logDet/2
				return math.Exp(value-want) * 4 * a * a * c * a * c // da = a du, dc = c dv
			}, a*(0.3-6*c), a*(0.3+6*c), 40) // given a and c, b ~ N(aΨ₁₂/Ψ₁₁, a²c²/Ψ₁₁)
		}, -4, 4, 80)
	}, -4, 4, 80)
	closeTo(t, 0, math.Log(mass), 1e-8, p)
}

// ln p(X) is also the sum of the predictive Student's t densities of each row given
// those before it.
func TestNormalInverseWishartLogNormsDifferByTheEvidence(t *testing.T) {
	rng := generator(61)
	for _, d := range []int{1, 2, 5} {
		const n = 7
		p := randomWishart(rng, d)
		x := mat.NewDense(n, d, normalVariables(rng, n*d))

		mean, scatter := make([]float64, d), mat.NewSymDense(d, nil)
		for j := range d {
			mean[j] = stat.Mean(mat.Col(nil, j, x), nil)
		}
		stat.CovarianceMatrix(scatter, x, nil)
		scatter.ScaleSym(n-1, scatter)
		full := mat.DenseCopyOf(scatter).RawMatrix().Data
		after := p.Update(n, mean, full, prior.NormalInverseWishart{})
		require.NoError(t, after.Check())
		evidence := logNorm(t, after) - logNorm(t, p) - n*float64(d)/2*math.Log(2*math.Pi)

		sum, step := 0.0, p
		for i := range n {
			freedom := step.Nu - float64(d) + 1
			spread := mat.NewSymDense(d, slices.Clone(step.Scale))
			spread.ScaleSym((step.Kappa+1)/(step.Kappa*freedom), spread)
			student, ok := distmv.NewStudentsT(step.Mean, spread, freedom, nil)
			require.True(t, ok)
			sum += student.LogProb(x.RawRowView(i))
			step = step.Update(1, x.RawRowView(i), make([]float64, d*d), prior.NormalInverseWishart{})
		}
		closeTo(t, sum, evidence, 1e-11, d)
		assert.InDeltaSlice(t, after.Scale, step.Scale, 1e-11)
		assert.InDeltaSlice(t, after.Mean, step.Mean, 1e-13)
		assert.InDeltaSlice(t, []float64{after.Kappa, after.Nu}, []float64{step.Kappa, step.Nu}, 1e-13)
	}
}

func TestNormalInverseWishartExpectedLogDetIsADerivativeOfLogNorm(t *testing.T) {
	rng := generator(62)
	for _, d := range []int{1, 2, 7} {
		p := randomWishart(rng, d)
		p.Nu++ // from its bound, for the step
		logDet, err := p.LogDetScale()
		require.NoError(t, err)
		slope := central(func(nu float64) float64 { q := p; q.Nu = nu; return q.LogNorm(logDet) }, p.Nu)
		closeTo(t, p.ExpectedLogDet(logDet), -2*slope, 1e-8, d)
	}
}

func TestNormalInverseWishartModeIsWhereTheJointDensityIsGreatest(t *testing.T) {
	rng := generator(63)
	for _, d := range []int{1, 2, 5} {
		p := randomWishart(rng, d)
		mode := slices.Clone(p.Scale)
		floats.Scale(1/p.ModeDivisor(), mode)
		peak, err := p.LogProb(p.Mean, mode)
		require.NoError(t, err)
		for range 50 {
			mean, covariance := slices.Clone(p.Mean), slices.Clone(mode)
			step := math.Pow(10, -3*rng.Float64())
			floats.AddScaled(covariance, step/float64(d), positiveDefinite(rng, d))
			floats.Scale(1+step*(rng.Float64()-1), covariance)
			lower, err := p.LogProb(mean, covariance)
			require.NoError(t, err)
			assert.Greater(t, peak, lower)
			floats.AddScaled(mean, step, normalVariables(rng, d))
			lower, err = p.LogProb(mean, mode)
			require.NoError(t, err)
			assert.Greater(t, peak, lower)
		}
	}
}

// Besides the moments, E[LogKernel] of another distribution of the type.
func TestNormalInverseWishartDrawsHaveTheMoments(t *testing.T) {
	const n, d = 20000, 3
	rng := generator(64)
	p, other := randomWishart(rng, d), randomWishart(rng, d)
	p.Nu = d + 6 // so that Σ has a variance
	logDetScale, err := p.LogDetScale()
	require.NoError(t, err)
	expectedPrecision := mat.NewSymDense(d, nil)
	var factor mat.Cholesky
	require.True(t, factor.Factorize(mat.NewSymDense(d, p.Scale)))
	require.NoError(t, factor.InverseTo(expectedPrecision))
	expectedPrecision.ScaleSym(p.Nu, expectedPrecision)
	kernel := other.LogKernel(p.Mean, mat.DenseCopyOf(expectedPrecision).RawMatrix().Data, p.ExpectedLogDet(logDetScale)) -
		d*other.Kappa/p.Kappa/2

	var logs, kernels, distances []float64
	covariances, precisions, means := make([][]float64, d*d), make([][]float64, d*d), make([][]float64, d)
	mean, covariance := make([]float64, d), make([]float64, d*d)
	for range n {
		mean, covariance, err = p.Rand(rng, mean, covariance)
		require.NoError(t, err)
		require.True(t, factor.Factorize(mat.NewSymDense(d, covariance)))
		var inverse mat.SymDense
		require.NoError(t, factor.InverseTo(&inverse))
		precision := mat.DenseCopyOf(&inverse).RawMatrix().Data
		logs = append(logs, factor.LogDet())
		kernels = append(kernels, other.LogKernel(mean, precision, factor.LogDet()))
		shift := mat.NewVecDense(d, nil)
		for i := range d {
			means[i] = append(means[i], mean[i])
			shift.SetVec(i, mean[i]-p.Mean[i])
		}
		distances = append(distances, p.Kappa*mat.Inner(shift, &inverse, shift))
		for i := range d * d {
			covariances[i] = append(covariances[i], covariance[i])
			precisions[i] = append(precisions[i], precision[i])
		}
	}
	meanIs(t, p.ExpectedLogDet(logDetScale), logs, "ln|Σ|")
	meanIs(t, kernel, kernels, "LogKernel")
	meanIs(t, d, distances, "κ(μ−m)ᵀΣ⁻¹(μ−m)")
	for i := range d * d {
		meanIs(t, p.Scale[i]/(p.Nu-d-1), covariances[i], "Σ")
		meanIs(t, expectedPrecision.At(i/d, i%d), precisions[i], "Σ⁻¹")
	}
	for i := range d {
		meanIs(t, p.Mean[i], means[i], "μ")
	}
}

func TestNormalInverseWishartUpdateReusesTheDestination(t *testing.T) {
	rng := generator(65)
	const d = 4
	p := randomWishart(rng, d)
	mean, scatter := normalVariables(rng, d), positiveDefinite(rng, d)
	want := p.Update(3.5, mean, scatter, prior.NormalInverseWishart{})
	precision := positiveDefinite(rng, d)

	dst := p.Update(1, mean, scatter, prior.NormalInverseWishart{})
	memory := &dst.Scale[0]
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		dst = p.Update(3.5, mean, scatter, dst)
		dst.LogNorm(1)
		dst.ExpectedLogDet(1)
		dst.LogKernel(mean, precision, 1)
	}))
	assert.Same(t, memory, &dst.Scale[0])
	assert.Equal(t, want, dst)

	assert.Equal(t, p, p.Update(0, []float64{nan, nan, nan, nan}, slices.Repeat([]float64{nan}, d*d), dst))
	assert.Equal(t, want, p.Update(3.5, mean, scatter, p)) // in place
	assert.Panics(t, func() { p.Update(1, mean[1:], scatter, dst) })
	assert.Panics(t, func() { p.LogKernel(mean, scatter[1:], 0) })
}

func TestNormalInverseWishartOutOfItsSupport(t *testing.T) {
	rng := generator(66)
	p := prior.NormalInverseWishart{Mean: []float64{0, 0}, Kappa: 1, Nu: 3, Scale: []float64{1, 0, 0, 1}}
	value, err := p.LogProb(p.Mean, []float64{1, 2, 2, 1})
	require.NoError(t, err)
	assert.Equal(t, -inf, value)

	p.Nu = 1 + 1e-9
	_, _, err = p.Rand(rng, nil, nil)
	assert.ErrorContains(t, err, "raise Nu")

	p.Scale = []float64{1, 1, 1, 1}
	_, err = p.LogProb(p.Mean, []float64{1, 0, 0, 1})
	assert.ErrorContains(t, err, "not positive definite")
	_, _, err = p.Rand(rng, nil, nil)
	assert.ErrorContains(t, err, "not positive definite")
}

// The predictive distribution of some columns is that of the margin, an inverse Wishart distribution of its own.
func TestPredictiveDistributionWithoutColumns(t *testing.T) {
	scale := mat.NewSymDense(4, []float64{5, 1, -2, 0.5, 1, 3, 0.3, 0.2, -2, 0.3, 6, -1, 0.5, 0.2, -1, 2})
	student := func(columns ...int) (p prior.NormalInverseWishart, s prior.Student, root []float64) {
		part := func(kappa, nu, own float64) prior.NormalInverseWishart {
			q := prior.NormalInverseWishart{Kappa: kappa, Nu: nu - 4 + float64(len(columns))}
			for a, i := range columns {
				q.Mean = append(q.Mean, float64(i))
				for b, j := range columns {
					v := own * scale.At(i, j)
					if a == b {
						v++
					}
					q.Scale = append(q.Scale, v)
				}
			}
			return q
		}
		before := part(1, 6, 0)
		logDet, err := before.LogDetScale()
		require.NoError(t, err)
		p = part(9, 14, 1)
		root = make([]float64, len(columns)*len(columns))
		_, err = p.Expected(root)
		require.NoError(t, err)
		return p, p.Student(root, before, before.LogNorm(logDet)), root
	}
	p, whole, r := student(0, 1, 2, 3)
	root := mat.NewDense(4, 4, r)
	var precision mat.Dense
	precision.Mul(root.T(), root)
	for _, c := range [][2][]int{{{1, 3}, {0, 2}}, {{0}, {1, 2, 3}}, {{1, 2, 3}, {0}}} {
		left, missing := c[0], c[1]
		block := mat.NewDense(len(missing), len(missing), nil)
		for a, i := range missing {
			for b, j := range missing {
				block.Set(a, b, precision.At(i, j))
			}
		}
		logDet, _ := mat.LogDet(block)
		got := p.Without(whole, len(missing), logDet)
		_, want, _ := student(left...)
		for _, distance := range []float64{0, 0.03, 1, 40} {
			require.InDelta(t, want.LogPredictive(distance, 0), got.LogPredictive(distance, 0), 1e-12, "%v", left)
			require.InDelta(t, want.Curvature(distance), got.Curvature(distance), 1e-12, "%v", left)
		}
		require.InDelta(t, want.LogPredictive(0.02, 0.5), got.LogPredictive(0.02, 0.5), 1e-12)
	}
}
