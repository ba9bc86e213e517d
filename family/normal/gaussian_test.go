package normal

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	_ "github.com/latent-go/latent/internal/fixedseed"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/laplace"
)

// normal is what the factors of a Gaussian can do.
type normal interface {
	family.SumFactor
	family.Anchored
	family.Sampler
	family.Describer
	family.ConjugateFactor
}

// formOf is the form of a factor's covariance.
func formOf(f family.Factor) Covariance {
	if g, ok := f.(isotropic); ok {
		return g.form
	}
	return f.(gaussian).form()
}

func gaussians(d int) []normal {
	return []normal{gaussian{d: d}, gaussian{d: d, tied: true}, diagonal(d), spherical(d)}
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func normals(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// covarianceOf has random axes and eigenvalues from a random one to that times the condition
// number, row-major.
func covarianceOf(rng *rand.Rand, d int, condition float64) []float64 {
	var qr mat.QR
	qr.Factorize(mat.NewDense(d, d, normals(rng, d*d)))
	var q, product mat.Dense
	qr.QTo(&q)
	scaled, least := mat.DenseCopyOf(&q), math.Exp(rng.NormFloat64())
	for i := range d {
		for j := range d {
			scaled.Set(i, j, least*scaled.At(i, j)*math.Pow(condition, float64(j)/float64(max(1, d-1))))
		}
	}
	product.Mul(scaled, q.T())
	c := product.RawMatrix().Data
	for i := range d {
		for j := range i {
			c[i*d+j] = c[j*d+i]
		}
	}
	return c
}

// parametersOf draws ξ, and returns the mean and the D×D covariance that it means.
func parametersOf(rng *rand.Rand, f family.Factor, d int, location, condition float64) (xi, mean, cov []float64) {
	mean, cov = normals(rng, d), make([]float64, d*d)
	for a := range mean {
		mean[a] += location
		cov[a*d+a] = math.Pow(condition, rng.Float64())
	}
	switch formOf(f) {
	case Full, Tied:
		cov = covarianceOf(rng, d, condition)
		xi = append(slices.Clone(mean), cov...)
	case Diagonal:
		xi = slices.Clone(mean)
		for a := range d {
			xi = append(xi, cov[a*d+a])
		}
	case Spherical:
		for a := range d {
			cov[a*d+a] = cov[0]
		}
		xi = append(slices.Clone(mean), cov[0])
	}
	return xi, mean, cov
}

func rowsOf(x []float64, d int) blocks.Rows {
	return blocks.Rows{N: len(x) / d, D: d, Stride: d, X: x}
}

// samples are n rows drawn from a component.
func samples(f normal, xi []float64, rng *rand.Rand, n int) []float64 {
	d := f.Layout().Columns
	x := make([]float64, n*d)
	for i := range n {
		f.Sample(xi, rng, x[i*d:(i+1)*d])
	}
	return x
}

// sumsOf are the sums of weighted rows about an anchor.
func sumsOf(t require.TestingT, f family.Factor, x, weights, anchor []float64) []float64 {
	l := f.Layout()
	var o family.Observed
	require.NoError(t, f.Observe(rowsOf(x, l.Columns), 0, 0, len(x)/l.Columns, &o))
	sums := make([]float64, l.Sums)
	padded := make([]float64, simd.Padded(o.N))
	copy(padded, weights)
	f.AddSums(&o, padded, family.Table{}, family.Table{K: 1, Stride: l.Anchor, Data: anchor}, family.Table{K: 1, Stride: l.Sums, Data: sums})
	return sums
}

// scoresOf are the rows' scores under one component.
func scoresOf(t require.TestingT, f family.Factor, x, score []float64) []float64 {
	l := f.Layout()
	var o family.Observed
	require.NoError(t, f.Observe(rowsOf(x, l.Columns), 0, 0, len(x)/l.Columns, &o))
	r := make([]float64, simd.Padded(o.N))
	f.AddScores(&o, family.Table{K: 1, Stride: l.Score, Data: score}, r)
	return r[:o.N]
}

func scoreOf(t require.TestingT, f family.Factor, xi []float64) []float64 {
	score := make([]float64, f.Layout().Score)
	require.NoError(t, f.Score(xi, score))
	return score
}

func finite(v []float64) bool { return floats.Norm(v, 1) < math.Inf(1) }

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// Without a floor.
func diagonal(d int) isotropic  { return isotropic{groups: d, width: 1, form: Diagonal} }
func spherical(d int) isotropic { return isotropic{groups: 1, width: d, form: Spherical} }

// pooledOf is the table of the rows as one component, in two passes.
func pooledOf(t require.TestingT, f normal, x []float64) *family.Pooled {
	l := f.Layout()
	w := &family.Pooled{Parameters: make([]float64, l.Params), Anchor: make([]float64, l.Anchor)}
	weights := ones(len(x) / l.Columns)
	f.Center(sumsOf(t, f, x, weights, w.Anchor), w.Anchor)
	w.Sums = sumsOf(t, f, x, weights, w.Anchor)
	require.NoError(t, f.Estimate(w.Sums, w.Anchor, nil, w.Parameters))
	return w
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// closeTo compares to a tolerance relative to numbers above 1.
func closeTo(t assert.TestingT, want, got, tolerance float64, what ...any) {
	assert.InDelta(t, want, got, tolerance*max(1, math.Abs(want)), what...)
}

func allClose(t assert.TestingT, want, got []float64, tolerance float64, what ...any) {
	if assert.Len(t, got, len(want), what...) {
		for i := range want {
			closeTo(t, want[i], got[i], tolerance, append(what, i)...)
		}
	}
}

func TestGaussianScoresAreLogDensities(t *testing.T) {
	rng := seeded(1)
	for _, location := range []float64{0, 1e8} {
		for _, condition := range []float64{1, 1e6} {
			for _, d := range []int{1, 2, 5} {
				for _, f := range gaussians(d) {
					xi, mean, cov := parametersOf(rng, f, d, location, condition)
					reference, ok := distmv.NewNormal(mean, mat.NewSymDense(d, cov), nil)
					require.True(t, ok)
					x := samples(f, xi, rng, 20)
					for i, got := range scoresOf(t, f, x, scoreOf(t, f, xi)) {
						closeTo(t, reference.LogProb(x[i*d:(i+1)*d]), got, 1e-10, f, location, condition)
					}
				}
			}
		}
	}
}

func TestGaussianTotalIsTheSumOfScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, n := rapid.IntRange(1, 5).Draw(t, "d"), rapid.IntRange(1, 20).Draw(t, "n")
		rng := seeded(rapid.Uint64().Draw(t, "seed"))
		location := rapid.SampledFrom([]float64{0, 1e8}).Draw(t, "location")
		for _, f := range gaussians(d) {
			xi, mean, _ := parametersOf(rng, f, d, location, 100)
			x, weights, anchor := samples(f, xi, rng, n), make([]float64, n), slices.Clone(mean)
			for i := range weights {
				weights[i] = rng.Float64()
			}
			for a := range anchor {
				anchor[a] += 3 * rng.NormFloat64()
			}
			want, score := 0.0, scoreOf(t, f, xi)
			for i, v := range scoresOf(t, f, x, score) {
				want += weights[i] * v
			}
			closeTo(t, want, f.Total(score, sumsOf(t, f, x, weights, anchor), anchor), 1e-11, f)
		}
	})
}

// population is gonum's covariance, divided by the weight.
func population(x, weights []float64, d int) (mean, cov []float64) {
	m := mat.NewDense(len(x)/d, d, x)
	var s mat.SymDense
	stat.CovarianceMatrix(&s, m, weights)
	s.ScaleSym((sum(weights)-1)/sum(weights), &s)
	for a := range d {
		mean = append(mean, stat.Mean(mat.Col(nil, a, m), weights))
	}
	return mean, mat.DenseCopyOf(&s).RawMatrix().Data
}

func TestGaussianEstimateIsTheWeightedCovariance(t *testing.T) {
	rng := seeded(2)
	const n = 50
	for _, d := range []int{1, 2, 6} {
		for _, f := range gaussians(d) {
			xi, mean, _ := parametersOf(rng, f, d, 0, 1e3)
			x, weights := samples(f, xi, rng, n), make([]float64, n)
			for i := range weights {
				weights[i] = 5 * rng.Float64()
			}
			got := make([]float64, len(xi))
			require.NoError(t, f.Estimate(sumsOf(t, f, x, weights, mean), mean, pooledOf(t, f, x), got))
			want, cov := population(x, weights, d)
			trace := 0.0
			for a := range d {
				trace += cov[a*d+a]
			}
			switch formOf(f) {
			case Full, Tied:
				want = append(want, cov...)
			case Diagonal:
				for a := range d {
					want = append(want, cov[a*d+a])
				}
			case Spherical:
				want = append(want, trace/float64(d))
			}
			allClose(t, want, got, 1e-12, f)
		}
	}
}

// Rows are multiples of 2⁻²⁰, which 10⁸ can be added to without rounding.
func TestGaussianEstimateFarFromZeroKeepsItsDigits(t *testing.T) {
	rng := seeded(3)
	const n, d, far = 200, 3, 1e8
	for _, f := range gaussians(d) {
		xi, mean, _ := parametersOf(rng, f, d, 0, 10)
		near := samples(f, xi, rng, n)
		moved, anchor := make([]float64, n*d), make([]float64, d)
		for i, v := range near {
			near[i] = math.Round(v*0x1p20) * 0x1p-20
			moved[i] = far + near[i]
		}
		for a, m := range mean {
			anchor[a] = far + math.Round(m*8)/8
		}
		w := pooledOf(t, f, moved)
		atZero, atFar := make([]float64, len(xi)), make([]float64, len(xi))
		require.NoError(t, f.Estimate(sumsOf(t, f, near, ones(n), mean), mean, pooledOf(t, f, near), atZero))
		require.NoError(t, f.Estimate(sumsOf(t, f, moved, ones(n), anchor), anchor, w, atFar))
		allClose(t, atZero[d:], atFar[d:], 1e-13, f)
		allClose(t, atZero[d:], w.Parameters[d:], 1e-13, f)
		for a := range d {
			assert.InDelta(t, far+atZero[a], atFar[a], 3e-8, f)
		}
	}
}

func TestGaussianShardsMergeToTheSame(t *testing.T) {
	rng := seeded(4)
	const n, d = 60, 4
	for _, f := range gaussians(d) {
		xi, mean, _ := parametersOf(rng, f, d, 0, 10)
		x, weights := samples(f, xi, rng, n), normals(rng, n)
		all := sumsOf(t, f, x, weights, mean)
		for _, cut := range []int{1, 17, 59} {
			parts := sumsOf(t, f, x[:cut*d], weights[:cut], mean)
			for i, v := range sumsOf(t, f, x[cut*d:], weights[cut:], mean) {
				parts[i] += v
			}
			allClose(t, all, parts, 1e-12, f)
		}
	}
}

func TestPrecisionRootIsOfTheInverse(t *testing.T) {
	rng := seeded(5)
	for _, d := range []int{1, 2, 3, 8} {
		cov := covarianceOf(rng, d, 1e3)
		root := make([]float64, d*d)
		logDet, err := precisionRoot(d, cov, root)
		require.NoError(t, err)
		var precision mat.Dense
		r := mat.NewDense(d, d, root)
		precision.Mul(r.T(), r)
		var identity mat.Dense
		identity.Mul(&precision, mat.NewDense(d, d, cov))
		for a := range d {
			for c := range d {
				want := 0.0
				if a == c {
					want = 1
				}
				assert.InDelta(t, want, identity.At(a, c), 1e-11)
				if c < a {
					assert.Zero(t, r.At(a, c))
				}
			}
		}
		want, _ := mat.LogDet(mat.NewDense(d, d, cov))
		closeTo(t, want, logDet, 1e-12)
	}
	_, err := precisionRoot(2, []float64{1, 2, 2, 1}, make([]float64, 4))
	assert.ErrorIs(t, err, framework.ErrDegenerate)
}

// directSum writes blocks down as one matrix.
func directSum(blocks []laplace.Block) *mat.SymDense {
	n := 0
	for _, b := range blocks {
		n += b.SymmetricDim()
	}
	m, first := mat.NewSymDense(n, nil), 0
	for _, b := range blocks {
		size := b.SymmetricDim()
		for i := range size {
			for j := i; j < size; j++ {
				m.SetSym(first+i, first+j, b.At(i, j))
			}
		}
		first += size
	}
	return m
}

func TestGaussianInformationLogDetIsThatOfItsMatrix(t *testing.T) {
	rng := seeded(6)
	for _, d := range []int{1, 2, 4} {
		for _, f := range gaussians(d) {
			xi, _, _ := parametersOf(rng, f, d, 0, 10)
			all, _, _ := parametersOf(rng, f, d, 0, 10)
			blocks := f.Information(xi, &family.Pooled{Parameters: all}, nil)
			l, logDet := f.Layout(), 0.0
			require.Len(t, blocks, l.Cells)
			for _, b := range blocks {
				assert.Equal(t, l.Free, b.SymmetricDim(), f)
				logDet += b.LogDet()
			}
			want, sign := mat.LogDet(directSum(blocks))
			assert.Equal(t, 1.0, sign)
			closeTo(t, want, logDet, 1e-11, f)
		}
	}
}

// expectedLoss is −E[ln p(x|ξ)] + const for x with a mean and a covariance.
func expectedLoss(d int, mean, cov, mean0, cov0 []float64) float64 {
	root := make([]float64, d*d)
	logDet, err := precisionRoot(d, cov, root)
	if err != nil {
		return math.Inf(1)
	}
	r, trace := mat.NewDense(d, d, root), mat.Dense{}
	trace.Product(r, mat.NewDense(d, d, cov0), r.T())
	return (logDet + mat.Trace(&trace) + linalg.Mahalanobis(d, root, mean0, mean)) / 2
}

// The coordinates are those after the map to a table of covariance I: the mean, and the
// upper triangle of the covariance row by row, or variances in units of the table's.
func TestGaussianInformationIsTheHessianOfTheExpectedLoss(t *testing.T) {
	rng := seeded(7)
	for _, d := range []int{1, 2, 3} {
		for _, f := range gaussians(d) {
			xi, mean, cov := parametersOf(rng, f, d, 0, 4)
			w := &family.Pooled{}
			w.Parameters, _, _ = parametersOf(rng, f, d, 0, 4)
			_, tableRoot := w.Parameters[:d], make([]float64, d*d) // x = tableRoot·(white x)
			for a := range d {
				switch formOf(f) {
				case Diagonal:
					tableRoot[a*d+a] = math.Sqrt(w.Parameters[d+a])
				case Spherical:
					tableRoot[a*d+a] = math.Sqrt(w.Parameters[d])
				}
			}
			if _, ok := f.(gaussian); ok {
				var chol mat.Cholesky
				var lower mat.TriDense
				require.True(t, chol.Factorize(mat.NewSymDense(d, w.Parameters[d:])))
				chol.LTo(&lower)
				tableRoot = mat.DenseCopyOf(&lower).RawMatrix().Data
			}
			scale := mat.NewDense(d, d, tableRoot)
			var inverse, whiteCov, whiteMean mat.Dense
			require.NoError(t, inverse.Inverse(scale))
			whiteCov.Product(&inverse, mat.NewDense(d, d, cov), inverse.T())
			whiteMean.Mul(&inverse, mat.NewDense(d, 1, mean))
			m0, s0 := whiteMean.RawMatrix().Data, whiteCov.RawMatrix().Data
			at, read := coordinates(f, d, m0, s0)
			var hessian mat.SymDense
			laplace.Hessian(&hessian, func(v []float64) float64 {
				m, s := read(v)
				return expectedLoss(d, m, s, m0, s0)
			}, at, nil)
			got := directSum(f.Information(xi, w, nil))
			require.Equal(t, hessian.SymmetricDim(), got.SymmetricDim(), f)
			for i := range got.SymmetricDim() {
				for j := range got.SymmetricDim() {
					margin := 1e-6 * math.Sqrt(got.At(i, i)*got.At(j, j))
					assert.InDelta(t, hessian.At(i, j), got.At(i, j), margin, fmt.Sprint(f, d, i, j))
				}
			}
		}
	}
}

// coordinates are a family's, and how to read them as a mean and a covariance.
func coordinates(f family.Factor, d int, mean, cov []float64) (at []float64, read func([]float64) (m, s []float64)) {
	switch formOf(f) {
	case Diagonal:
		for a := range d {
			at = append(at, mean[a], cov[a*d+a])
		}
		return at, func(v []float64) (m, s []float64) {
			m, s = make([]float64, d), make([]float64, d*d)
			for a := range d {
				m[a], s[a*d+a] = v[2*a], v[2*a+1]
			}
			return m, s
		}
	case Spherical:
		return append(slices.Clone(mean), cov[0]), func(v []float64) (m, s []float64) {
			s = make([]float64, d*d)
			for a := range d {
				s[a*d+a] = v[d]
			}
			return v[:d], s
		}
	default:
		at = slices.Clone(mean)
		if formOf(f) == Tied {
			return at, func(v []float64) (m, s []float64) { return v, cov }
		}
	}
	for a := range d {
		at = append(at, cov[a*d+a:(a+1)*d]...)
	}
	return at, func(v []float64) (m, s []float64) {
		s = make([]float64, d*d)
		next := d
		for a := range d {
			for c := a; c < d; c++ {
				s[a*d+c], s[c*d+a] = v[next], v[next]
				next++
			}
		}
		return v[:d], s
	}
}

// The maps are those that each family allows: any invertible one, one scale a column, one
// scale.
func TestUnitsLeaveTheGaussianInformationAlone(t *testing.T) {
	rng := seeded(8)
	const d = 4
	for _, f := range gaussians(d) {
		a := mat.NewDense(d, d, nil)
		for i := range d {
			a.Set(i, i, 1000*math.Exp(5*rng.NormFloat64()))
			if formOf(f) == Spherical {
				a.Set(i, i, a.At(0, 0))
			}
		}
		if _, ok := f.(gaussian); ok {
			a.CloneFrom(mat.NewDense(d, d, normals(rng, d*d)))
		}
		moved := func(xi []float64) []float64 {
			mean, cov := xi[:d], make([]float64, d*d)
			for i := range d {
				switch formOf(f) {
				case Diagonal:
					cov[i*d+i] = xi[d+i]
				case Spherical:
					cov[i*d+i] = xi[d]
				}
			}
			if _, ok := f.(gaussian); ok {
				cov = xi[d:]
			}
			var m, s mat.Dense
			m.Mul(a, mat.NewDense(d, 1, mean))
			s.Product(a, mat.NewDense(d, d, cov), a.T())
			to := slices.Clone(m.RawMatrix().Data)
			switch formOf(f) {
			case Full, Tied:
				return append(to, s.RawMatrix().Data...)
			case Spherical:
				return append(to, s.At(0, 0))
			}
			for i := range d {
				to = append(to, s.At(i, i))
			}
			return to
		}
		xi, _, _ := parametersOf(rng, f, d, 0, 10)
		all, _, _ := parametersOf(rng, f, d, 0, 10)
		before := f.Information(xi, &family.Pooled{Parameters: all}, nil)
		after := f.Information(moved(xi), &family.Pooled{Parameters: moved(all)}, nil)
		for c := range before {
			closeTo(t, before[c].LogDet(), after[c].LogDet(), 1e-10, f)
		}
	}
}

// The inverse of n times the information, in the user's own units.
func TestGaussianDeviationsAreThoseOfTheInverseInformation(t *testing.T) {
	rng := seeded(9)
	const d, n = 3, 40
	for _, f := range gaussians(d) {
		l := f.Layout()
		xi, _, _ := parametersOf(rng, f, d, 0, 10)
		unit := make([]float64, l.Params)
		switch formOf(f) {
		case Full, Tied:
			for a := range d {
				unit[d+a*d+a] = 1
			}
		default:
			for i := d; i < len(unit); i++ {
				unit[i] = 1
			}
		}
		var inverse mat.Dense
		free := f // of what all share
		if g, ok := f.(gaussian); ok {
			free = gaussian{d: g.d}
		}
		require.NoError(t, inverse.Inverse(directSum(free.Information(xi, &family.Pooled{Parameters: unit}, nil))))
		deviation := func(i int) float64 { return math.Sqrt(inverse.At(i, i) / n) }
		want := make([]float64, l.Params)
		for a := range d {
			want[a] = deviation(a)
		}
		switch formOf(f) {
		case Full, Tied:
			for a, next := 0, d; a < d; a++ {
				for c := a; c < d; c++ {
					want[d+a*d+c], want[d+c*d+a] = deviation(next), deviation(next)
					next++
				}
			}
		case Diagonal:
			for a := range d {
				want[a], want[d+a] = deviation(2*a), deviation(2*a+1)
			}
		case Spherical:
			want[d] = deviation(d)
		}
		sums, got := make([]float64, l.Sums), make([]float64, l.Params)
		for c := range l.Cells {
			sums[c] = n
		}
		f.Deviations(xi, sums, sums[0], got)
		allClose(t, want, got, 1e-11, fmt.Sprint(f))
	}
}

// Five standard errors: one of 40 numbers exceeds them by chance once in 40 000 seeds.
func TestGaussianSamplesGiveTheParametersBack(t *testing.T) {
	rng := seeded(10)
	const d, n = 3, 20000
	for _, f := range gaussians(d) {
		l := f.Layout()
		xi, mean, _ := parametersOf(rng, f, d, 5, 10)
		x := samples(f, xi, rng, n)
		sums, got, errors := sumsOf(t, f, x, ones(n), mean), make([]float64, l.Params), make([]float64, l.Params)
		require.NoError(t, f.Estimate(sums, mean, pooledOf(t, f, x), got))
		untied := f
		if g, ok := f.(gaussian); ok {
			untied = gaussian{d: g.d}
		}
		untied.Deviations(xi, sums, sums[0], errors)
		for i := range xi {
			assert.InDelta(t, xi[i], got[i], 5*errors[i], fmt.Sprint(f, i))
		}
	}
}

// TestDiagonalIntegratesMissingEntriesOut compares with each column by itself; the first has no gaps.
func TestDiagonalIntegratesMissingEntriesOut(t *testing.T) {
	rng := seeded(11)
	const d, n = 4, 30
	f := diagonal(d)
	xi, mean, _ := parametersOf(rng, f, d, 0, 10)
	x, weights := samples(f, xi, rng, n), make([]float64, n)
	for i := range x {
		if i%d > 0 && rng.Float64() < 0.4 {
			x[i] = math.NaN()
		}
	}
	for i := range weights {
		weights[i] = rng.Float64()
	}
	score, sums := scoreOf(t, f, xi), sumsOf(t, f, x, weights, mean)
	scores, want := scoresOf(t, f, x, score), make([]float64, n)
	got := make([]float64, 2*d)
	require.NoError(t, f.Estimate(sums, mean, &family.Pooled{Parameters: xi}, got))
	for a := range d {
		one := diagonal(1)
		var present, kept []float64
		own := scoreOf(t, one, []float64{xi[a], xi[d+a]})
		for i := range n {
			if v := x[i*d+a]; v == v {
				present, kept = append(present, v), append(kept, weights[i])
				want[i] += scoresOf(t, one, []float64{v}, own)[0]
			}
		}
		alone := sumsOf(t, one, present, kept, mean[a:a+1])
		allClose(t, alone, []float64{sums[a], sums[d+a], sums[2*d+a]}, 1e-13)
		m, cov := population(present, kept, 1)
		allClose(t, append(m, cov...), []float64{got[a], got[d+a]}, 1e-12)
	}
	allClose(t, want, scores, 1e-13)
	total := 0.0
	for i, v := range scores {
		total += weights[i] * v
	}
	closeTo(t, total, f.Total(score, sums, mean), 1e-12)
}

// The few rows with a value in the second column hardly belong to the component.
func TestDiagonalCountsSmallExposuresWithoutCancellation(t *testing.T) {
	f, nan := diagonal(2), math.NaN()
	x := []float64{1, nan, 2, nan, 4, 5, 3, 7, 8, nan}
	weights := []float64{0.3, 0.7, 1e-20, 3e-20, 0.1}
	sums := sumsOf(t, f, x, weights, []float64{0, 0})
	assert.InEpsilon(t, 4e-20, sums[1], 1e-14)
	xi := make([]float64, 4)
	require.NoError(t, f.Estimate(sums, []float64{0, 0}, &family.Pooled{Parameters: []float64{0, 0, 1, 1}}, xi))
	assert.InEpsilon(t, 6.5, xi[1], 1e-12)
	assert.InEpsilon(t, 0.75, xi[3], 1e-12)

	empty := sumsOf(t, f, []float64{1, nan, 3, nan}, ones(2), []float64{0, 0})
	assert.Zero(t, empty[1])
	require.NoError(t, f.Estimate(empty, []float64{0, 0}, &family.Pooled{Parameters: []float64{0, 7, 1, 9}}, xi))
	assert.Equal(t, []float64{2, 7, 1, 9}, xi)
}

func TestGaussianRefusesConstantColumns(t *testing.T) {
	rng := seeded(12)
	const n = 5000
	for _, value := range []float64{0, 0.1, 1. / 3, -1e8 / 3, 1e-200} {
		for _, f := range gaussians(2) {
			x := make([]float64, 2*n)
			for i := range n {
				x[2*i], x[2*i+1] = rng.NormFloat64(), value
				if formOf(f) == Spherical {
					x[2*i] = value
				}
			}
			anchor, xi := []float64{0, 0}, make([]float64, f.Layout().Params)
			f.Center(sumsOf(t, f, x, ones(n), anchor), anchor)
			err := f.Estimate(sumsOf(t, f, x, ones(n), anchor), anchor, nil, xi)
			assert.ErrorContains(t, err, "is constant", "%v of %v", f, value)
		}
	}
	assert.True(t, variances.Constant(0.1, 1e-35)) // what sums over many rows leave
	assert.True(t, variances.Constant(0.1, -1e-35))
	for _, f := range gaussians(1) { // as close to constant as numbers of this size get
		x := make([]float64, n)
		for i := range x {
			x[i] = 1e15 + float64(i%2)
		}
		closeTo(t, 0.25, pooledOf(t, f, x).Parameters[1], 1e-10, f)
	}
}

func TestGaussianRefusesDependentColumns(t *testing.T) {
	rng := seeded(13)
	const n, d = 40, 3
	for _, scale := range []float64{1, 1e-9, 1e9} {
		x := normals(rng, n*d)
		for i := range n {
			x[i*d+2] = scale * (x[i*d] - 2*x[i*d+1])
		}
		g, xi := gaussian{d: d}, make([]float64, d+d*d)
		anchor := make([]float64, d)
		sums := sumsOf(t, g, x, ones(n), anchor)
		err := g.Estimate(sums, anchor, nil, xi)
		assert.ErrorContains(t, err, "linear combination")
		var fault *blocks.DataError
		require.ErrorAs(t, err, &fault)
		assert.Equal(t, 2, fault.Column)

		unit := append(slices.Clone(anchor), 1, 0, 0, 0, 1, 0, 0, 0, scale*scale)
		assert.ErrorIs(t, g.Estimate(sums, anchor, &family.Pooled{Parameters: unit}, xi), framework.ErrDegenerate)
	}
}

func TestGaussianComponentsThatCollapseAreDegenerate(t *testing.T) {
	rng := seeded(14)
	const d, n = 2, 30
	for _, f := range gaussians(d) {
		w := pooledOf(t, f, normals(rng, n*d))
		x := slices.Repeat([]float64{0.3, -0.7}, n) // the same row many times
		xi := make([]float64, f.Layout().Params)
		anchor := []float64{0.1, 0}
		sums := sumsOf(t, f, x, ones(n), anchor)
		if g, ok := f.(gaussian); ok && g.tied {
			two := append(slices.Clone(xi), xi...)
			far := sumsOf(t, f, slices.Repeat([]float64{3, 2}, n), ones(n), anchor)
			for a := range d { // rounding that leaves them positive
				sums[1+d+a*d+a] *= 1 + 1e-14
				far[1+d+a*d+a] *= 1 + 1e-14
			}
			require.NoError(t, g.Estimate(sums, anchor, w, two[:len(xi)]))
			require.NoError(t, g.Estimate(far, anchor, w, two[len(xi):]))
			assert.ErrorIs(t, g.Share(family.Table{K: 2, Stride: len(sums), Data: append(sums, far...)}, family.Table{}, family.Table{K: 2, Stride: len(xi), Data: two}, nil), framework.ErrDegenerate)
			continue
		}
		assert.ErrorIs(t, f.Estimate(sums, anchor, w, xi), framework.ErrDegenerate, f)
		clear(sums)
		if formOf(f) != Diagonal {
			assert.ErrorIs(t, f.Estimate(sums, anchor, w, xi), framework.ErrDegenerate, f)
		}
	}
}

// TestTiedCovarianceIsThatOfTheDeviations: of each row from the mean of its own component.
func TestTiedCovarianceIsThatOfTheDeviations(t *testing.T) {
	rng := seeded(15)
	const d, n, k = 3, 40, 2
	g := gaussian{d: d, tied: true}
	l := g.Layout()
	x := normals(rng, n*d)
	w, anchor := pooledOf(t, g, x), make([]float64, d)
	sums, params, rest := make([]float64, k*l.Sums), make([]float64, k*l.Params), slices.Clone(x)
	for j := range k {
		weights := make([]float64, n)
		for i := j; i < n; i += k {
			weights[i] = 1
		}
		own := sumsOf(t, g, x, weights, anchor)
		copy(sums[j*l.Sums:], own)
		require.NoError(t, g.Estimate(own, anchor, w, params[j*l.Params:(j+1)*l.Params]))
		for i := j; i < n; i += k {
			for a := range d {
				rest[i*d+a] -= params[j*l.Params+a]
			}
		}
	}
	require.NoError(t, g.Share(family.Table{K: k, Stride: l.Sums, Data: sums}, family.Table{}, family.Table{K: k, Stride: l.Params, Data: params}, nil))
	_, want := population(rest, ones(n), d)
	for j := range k {
		allClose(t, want, params[j*l.Params+d:(j+1)*l.Params], 1e-13)
	}
}

func TestGaussianAddsTheWholeTable(t *testing.T) {
	rng := seeded(16)
	const d, n = 3, 50
	for _, f := range gaussians(d) {
		xi, mean, _ := parametersOf(rng, f, d, 3, 10)
		x := samples(f, xi, rng, n)
		w := pooledOf(t, f, x)
		want, got := sumsOf(t, f, x, slices.Repeat([]float64{0.1}, n), mean), make([]float64, f.Layout().Sums)
		f.AddPooled(0.1*n, w, mean, got)
		allClose(t, want, got, 1e-12, f)
	}
}

func TestGaussianWhitens(t *testing.T) {
	rng := seeded(17)
	const d, n, width, at = 3, 80, 5, 1
	g := gaussian{d: d}
	xi, _, _ := parametersOf(rng, g, d, 100, 1e4)
	x := samples(g, xi, rng, n)
	var o family.Observed
	require.NoError(t, g.Observe(rowsOf(x, d), 0, 0, n, &o))
	dst, white := make([]float64, n*width), []float64(nil)
	g.Whiten(&o, pooledOf(t, g, x), dst, width, at)
	for i := range n {
		white = append(white, dst[i*width+at:i*width+at+d]...)
		assert.Zero(t, dst[i*width])
		assert.Zero(t, dst[i*width+at+d])
	}
	mean, cov := population(white, ones(n), d)
	allClose(t, make([]float64, d), mean, 1e-11)
	allClose(t, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, cov, 1e-10)
}

func TestGaussianRefusesRowsThatAreNotFinite(t *testing.T) {
	for _, f := range gaussians(2) {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			var o family.Observed
			b := blocks.Rows{First: 10, N: 2, D: 3, Stride: 3, X: []float64{0, 1, 2, 0, 1, bad}}
			err := f.Observe(b, 1, 0, 2, &o)
			if formOf(f) != Spherical && math.IsNaN(bad) {
				assert.NoError(t, err)
				assert.False(t, o.Complete)
				continue
			}
			var fault *blocks.DataError
			require.ErrorAs(t, err, &fault, f)
			assert.Equal(t, 2, fault.Column)
			assert.ErrorContains(t, err, "row 12")
		}
	}
}

func TestGaussianLoopsDoNotAllocate(t *testing.T) {
	rng := seeded(18)
	const d, n, k = 4, 20, 2
	for _, f := range gaussians(d) {
		l := f.Layout()
		xi, mean, _ := parametersOf(rng, f, d, 0, 10)
		x := samples(f, xi, rng, n)
		w := pooledOf(t, f, x)
		score, anchors := slices.Repeat(scoreOf(t, f, xi), k), slices.Repeat(mean, k)
		sums, params, r := make([]float64, k*l.Sums), make([]float64, k*l.Params), make([]float64, simd.Padded(n)*k)
		blocks := f.Information(xi, w, nil)
		var o family.Observed
		run := func() {
			if f.Observe(rowsOf(x, d), 0, 0, n, &o) != nil {
				panic("rows")
			}
			f.AddScores(&o, family.Table{K: k, Stride: l.Score, Data: score}, r)
			for i := range r {
				r[i] = 0.5
			}
			f.AddSums(&o, r, family.Table{K: k, Stride: l.Score, Data: score}, family.Table{K: k, Stride: l.Anchor, Data: anchors}, family.Table{K: k, Stride: l.Sums, Data: sums})
			for j := range k {
				own := params[j*l.Params : (j+1)*l.Params]
				if f.Estimate(sums[j*l.Sums:(j+1)*l.Sums], anchors, w, own) != nil || f.Score(own, score[:l.Score]) != nil {
					panic("estimate")
				}
			}
			if p, ok := f.(family.Sharer); ok && p.Share(family.Table{K: k, Stride: l.Sums, Data: sums}, family.Table{}, family.Table{K: k, Stride: l.Params, Data: params}, nil) != nil {
				panic("pool")
			}
			f.Total(score[:l.Score], sums[:l.Sums], anchors)
			blocks = f.Information(xi, w, blocks[:0])
		}
		run()
		assert.Zero(t, testing.AllocsPerRun(20, run), "%T", f)
	}
}

// TestTiedScoresAreThoseOfEachClass where rows are whitened once for all, far from the origin too.
func TestTiedScoresAreThoseOfEachClass(t *testing.T) {
	rng := seeded(16)
	const d, n, k = minColumns + 3, 37, 3
	for _, far := range []float64{0, 1e6} {
		xi, mean, cov := parametersOf(rng, gaussian{d: d}, d, far, 1)
		x := samples(gaussian{d: d}, xi, rng, n)
		scores := family.Table{K: k, Stride: 1 + d + d*d}
		var want []float64
		for range k {
			for a := range d {
				xi[a] = mean[a] + rng.NormFloat64()
			}
			copy(xi[d:], cov)
			score := scoreOf(t, gaussian{d: d}, xi)
			scores.Data = append(scores.Data, score...)
			want = append(want, scoresOf(t, gaussian{d: d}, x, score)...)
		}
		o, r := &family.Observed{}, make([]float64, k*family.Padded(n))
		require.NoError(t, gaussian{d: d}.Observe(blocks.Rows{N: n, D: d, Stride: d, X: x}, 0, 0, n, o))
		gaussian{d: d, tied: true}.AddScores(o, scores, r)
		for j := range k {
			allClose(t, want[j*n:(j+1)*n], linalg.Row(r, j, family.Padded(n))[:n], 1e-9, far)
		}
	}
}

// TestTiedScoresShareTheRoot with the bits of a score of its own, and only where covariances are equal.
func TestTiedScoresShareTheRoot(t *testing.T) {
	const d = 4
	g := gaussian{d: d, tied: true}
	one, _, cov := parametersOf(seeded(18), g, d, 1, 10)
	two := append(normals(seeded(19), d), cov...)
	got := make([]float64, 1+d+d*d)
	require.True(t, g.ScoreAs(two, one, scoreOf(t, g, one), got))
	assert.Equal(t, scoreOf(t, g, two), got)
	two[d]++
	assert.False(t, g.ScoreAs(two, one, scoreOf(t, g, one), got))
	assert.False(t, gaussian{d: d}.ScoreAs(one, one, scoreOf(t, g, one), got))
}

// TestTiedSumsAreThoseOfAllClasses: counts and first moments of each class, and the second moments of all together,
// also where the classes are so far apart that a common anchor would leave no digits.
func TestTiedSumsAreThoseOfAllClasses(t *testing.T) {
	const d, n, k = minColumns + 3, 37, 4
	for _, far := range []float64{0, 1, 1e9} {
		rng := seeded(20)
		g := gaussian{d: d, tied: true}
		l := g.Layout()
		x, anchors, r := normals(rng, n*d), normals(rng, k*d), make([]float64, k*family.Padded(n))
		for j := range k {
			floats.AddConst(far*float64(j/2), anchors[j*d:(j+1)*d])
		}
		for i := range n { // rows of two classes each, but for some without weight
			floats.AddConst(far*float64(i%2), x[i*d:(i+1)*d])
			if w := rng.Float64(); i%5 > 0 {
				r[i%2*2*family.Padded(n)+i], r[(i%2*2+1)*family.Padded(n)+i] = w, 1.5-w
			}
		}
		o, sums := &family.Observed{}, make([]float64, k*l.Sums)
		require.NoError(t, g.Observe(blocks.Rows{N: n, D: d, Stride: d, X: x}, 0, 0, n, o))
		g.AddSums(o, r, family.Table{K: k}, family.Table{K: k, Stride: d, Data: anchors}, family.Table{K: k, Stride: l.Sums, Data: sums})
		want, got := make([]float64, d*d), make([]float64, d*d)
		for j := range k {
			own := sumsOf(t, g, x, r[j*family.Padded(n):][:n], anchors[j*d:(j+1)*d])
			allClose(t, own[:1+d], sums[j*l.Sums:][:1+d], 1e-6, far)
			floats.Add(want, own[1+d:1+d+d*d])
			floats.Add(got, sums[j*l.Sums+1+d:][:d*d])
		}
		for a := range d {
			for c := a; c < d; c++ {
				assert.InDelta(t, want[a*d+c], got[a*d+c], 1e-5*max(1, far/1e9), far)
			}
		}
	}
}
