package linalg_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

func random(n, m int) *mat.Dense {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(m)))
	x := mat.NewDense(n, m, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = rng.NormFloat64()
	}
	return x
}

func TestMulAgreesWithMat(t *testing.T) {
	a, b, c := random(3, 4), random(5, 4), random(3, 5)
	var want mat.Dense
	want.Mul(a, b.T())
	want.Scale(2, &want)
	want.Add(&want, c)
	linalg.Mul(false, true, 2, a.RawMatrix(), b.RawMatrix(), 1, c.RawMatrix())
	assert.True(t, mat.EqualApprox(&want, c, 1e-13))
}

func TestCholeskyAgreesWithMat(t *testing.T) {
	for n := range 7 {
		if n == 0 {
			continue
		}
		var s mat.SymDense
		s.SymOuterK(1, random(n, n+2))
		var want mat.Cholesky
		require.True(t, want.Factorize(&s))
		a := mat.DenseCopyOf(&s)
		chol, ok := linalg.NewCholesky(n, a.RawMatrix().Data)
		require.True(t, ok)
		assert.InDelta(t, want.LogDet(), chol.LogDet(), 1e-12)

		b := random(3, n)
		var solved mat.Dense
		require.NoError(t, want.SolveTo(&solved, b.T()))
		right := mat.DenseCopyOf(b)
		chol.SolveRight(right.RawMatrix())
		assert.True(t, mat.EqualApprox(solved.T(), right, 1e-8))

		half := mat.DenseCopyOf(b)
		chol.HalfSolveRight(half.RawMatrix())
		for i := range 3 {
			row := half.RawRowView(i)
			assert.InEpsilon(t, mat.Dot(b.RowView(i), right.RowView(i)), linalg.Dot(row, row), 1e-8)
		}

		var inverse mat.SymDense
		require.NoError(t, want.InverseTo(&inverse))
		assert.True(t, mat.EqualApprox(&inverse, mat.NewDense(n, n, chol.Invert()), 1e-8))
	}
	_, ok := linalg.NewCholesky(2, []float64{1, 2, 2, 1})
	assert.False(t, ok)
}

func TestMulSerialIsMul(t *testing.T) {
	for _, c := range []struct{ m, n, k int }{{1, 1, 1}, {3, 5, 4}, {300, 10, 7}, {10, 200, 256}, {129, 65, 3}, {5, 1, 300}} {
		for _, trans := range []struct{ a, b bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
			a, b := random(c.m, c.k), random(c.k, c.n)
			if trans.a {
				a = random(c.k, c.m)
			}
			if trans.b {
				b = random(c.n, c.k)
			}
			want, got := random(c.m, c.n), random(c.m, c.n)
			linalg.Mul(trans.a, trans.b, 2, a.RawMatrix(), b.RawMatrix(), 1, want.RawMatrix())
			linalg.MulSerial(trans.a, trans.b, 2, a.RawMatrix(), b.RawMatrix(), 1, got.RawMatrix())
			assert.True(t, mat.EqualApprox(want, got, 1e-11), "%v %v", c, trans)
		}
	}
}

func TestPrecisionRootIsOfTheInverse(t *testing.T) {
	for _, n := range []int{0, 1, 5, 63, 64, 150, 300} { // of one block, and of several
		a := random(n+1, n+3)
		var s, x, got mat.Dense
		one := mat.NewDense(n+1, n+1, nil)
		for i := range n + 1 {
			one.Set(i, i, 1)
		}
		s.Mul(a, a.T())
		sigma := s.RawMatrix().Data
		root := slices.Repeat([]float64{7}, len(sigma))
		logDet, ok := linalg.PrecisionRoot(n+1, sigma, root)
		require.True(t, ok)
		r := mat.NewDense(n+1, n+1, root)
		x.Mul(r, &s)
		got.Mul(&x, r.T()) // RΣRᵀ = I
		assert.True(t, mat.EqualApprox(one, &got, 1e-8), n)
		half := 0.0
		for i := range n + 1 {
			half -= math.Log(r.At(i, i))
			for c := range i {
				require.Zero(t, r.At(i, c))
			}
		}
		assert.InDelta(t, 2*half, logDet, 1e-9)

		sigma[n*(n+2)] = -1
		_, ok = linalg.PrecisionRoot(n+1, sigma, root)
		assert.False(t, ok)
	}
}

// Products large enough for several goroutines have the bits of those in one.
func TestMulSharedOutIsMulSerial(t *testing.T) {
	for _, trans := range [][2]bool{{false, false}, {true, false}, {false, true}} {
		const n = 300
		a, b := random(n, n).RawMatrix(), random(n, n+1).RawMatrix()
		if trans[1] {
			b = random(n+1, n).RawMatrix()
		}
		one, many := random(n, n+1).RawMatrix(), random(n, n+1).RawMatrix()
		linalg.MulSerial(trans[0], trans[1], -2, a, b, 0.5, one)
		before := runtime.GOMAXPROCS(3)
		linalg.Mul(trans[0], trans[1], -2, a, b, 0.5, many)
		runtime.GOMAXPROCS(before)
		for i := range one.Data {
			require.InDelta(t, one.Data[i], many.Data[i], 1e-11)
			if simd.Accelerated() {
				require.Equal(t, one.Data[i], many.Data[i])
			}
		}
	}
}

func TestAddGramAgreesWithMat(t *testing.T) {
	for _, n := range []int{1, 9, 40} {
		a := random(33, n)
		var want mat.SymDense
		want.SymOuterK(1, a.T())
		c := make([]float64, n*n)
		linalg.AddGram(1, a.RawMatrix(), blas64.Symmetric{N: n, Stride: n, Data: c, Uplo: blas.Upper})
		linalg.Mirror(n, c)
		assert.True(t, mat.EqualApprox(&want, mat.NewDense(n, n, c), 1e-12))
	}
}

func TestRowGramAgreesWithMat(t *testing.T) {
	for _, n := range []int{1, 9, 64, 150} {
		a := random(n, 33)
		var want mat.SymDense
		want.SymOuterK(1, a)
		c := make([]float64, n*n)
		linalg.RowGram(a.RawMatrix(), c)
		assert.True(t, mat.EqualApprox(&want, mat.NewDense(n, n, c), 1e-12))
	}
}

// A triangle large enough for several goroutines has the bits of one in one.
func TestAddGramSharedOutIsThatOfOne(t *testing.T) {
	const n, k = 610, 300
	a := random(k, n)
	one := make([]float64, n*n)
	linalg.AddGram(1, a.RawMatrix(), blas64.Symmetric{N: n, Stride: n, Data: one, Uplo: blas.Upper})
	for _, workers := range []int{2, 3, 4} {
		many := make([]float64, n*n)
		linalg.AddGram(workers, a.RawMatrix(), blas64.Symmetric{N: n, Stride: n, Data: many, Uplo: blas.Upper})
		for i := range n {
			require.Equal(t, one[i*n+i:(i+1)*n], many[i*n+i:(i+1)*n])
		}
	}
}

// counting is a backend that somebody has registered.
type counting struct {
	blas.Float64
	products, updates int
}

func (c *counting) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, x []float64, ldc int) {
	c.products++
	c.Float64.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, x, ldc)
}

func (c *counting) Dsyrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, x []float64, ldc int) {
	c.updates++
	c.Float64.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, x, ldc)
}

func TestARegisteredBackendIsUsed(t *testing.T) {
	before := blas64.Implementation()
	backend := &counting{Float64: before}
	blas64.Use(backend)
	defer blas64.Use(before)
	a, c := random(3, 3).RawMatrix(), random(3, 3).RawMatrix()
	linalg.Mul(false, false, 1, a, a, 0, c)
	linalg.MulSerial(false, false, 1, a, a, 0, c)
	linalg.AddGram(1, a, blas64.Symmetric{N: 3, Stride: 3, Data: c.Data, Uplo: blas.Upper})
	assert.Equal(t, 2, backend.products)
	assert.Equal(t, 1, backend.updates)
	assert.Equal(t, "*linalg_test.counting", linalg.Backend())
}

func TestMulOfSizesThatDoNotGoTogetherPanics(t *testing.T) {
	assert.Panics(t, func() {
		linalg.Mul(false, false, 1, random(3, 4).RawMatrix(), random(3, 4).RawMatrix(), 0, random(3, 4).RawMatrix())
	})
	assert.Panics(t, func() {
		linalg.AddGram(1, random(3, 4).RawMatrix(), blas64.Symmetric{N: 3, Stride: 3, Data: make([]float64, 9), Uplo: blas.Upper})
	})
}

func TestProductsOfNoTermsAreZeros(t *testing.T) {
	for _, trans := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		a, b := linalg.General(3, 0, nil), linalg.General(0, 2, nil)
		if trans[0] {
			a = linalg.General(0, 3, nil)
		}
		if trans[1] {
			b = linalg.General(2, 0, nil)
		}
		c := linalg.General(3, 2, []float64{1, 2, 3, 4, 5, math.Inf(1)})
		linalg.MulSerial(trans[0], trans[1], 1, a, b, 2, c)
		require.Equal(t, []float64{2, 4, 6, 8, 10, math.Inf(1)}, c.Data)
		linalg.MulSerial(trans[0], trans[1], 1, a, b, 0, c)
		require.Equal(t, make([]float64, 6), c.Data)
	}
}
