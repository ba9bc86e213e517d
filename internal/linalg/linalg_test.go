package linalg_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
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

func TestInvertFactorIsTheInverse(t *testing.T) {
	var s mat.SymDense
	s.SymOuterK(1, random(5, 8))
	a := mat.DenseCopyOf(&s)
	chol, ok := linalg.NewCholesky(5, a.RawMatrix().Data)
	require.True(t, ok)
	u := mat.NewTriDense(5, mat.Upper, append([]float64(nil), a.RawMatrix().Data...))
	inverse := mat.NewTriDense(5, mat.Upper, chol.InvertFactor())
	var one mat.Dense
	one.Mul(u, inverse)
	for i := range 5 {
		for j := range 5 {
			want := 0.0
			if i == j {
				want = 1
			}
			assert.InDelta(t, want, one.At(i, j), 1e-12)
		}
	}
}
