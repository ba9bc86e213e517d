// Package linalg spells gonum's BLAS and LAPACK on flat row-major slices, for hot
// paths that must not allocate. Everything goes through blas64 and lapack64, so that
// a program which registers another backend there gets it here too.
package linalg

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// General is the rows×cols matrix in data.
func General(rows, cols int, data []float64) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: data}
}

// Mul is c = alpha·op(a)·op(b) + beta·c.
func Mul(transA, transB bool, alpha float64, a, b blas64.General, beta float64, c blas64.General) {
	blas64.Gemm(transpose(transA), transpose(transB), alpha, a, b, beta, c)
}

func transpose(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

// A Cholesky is the upper factor U of a symmetric positive definite A = UᵀU of
// order n, in the memory that held A.
type Cholesky struct {
	n int
	u []float64
}

// NewCholesky factorises the n×n matrix in a, whose upper triangle counts, in place.
// ok is false when it is not positive definite.
func NewCholesky(n int, a []float64) (c Cholesky, ok bool) {
	_, ok = lapack64.Potrf(blas64.Symmetric{N: n, Stride: max(1, n), Data: a, Uplo: blas.Upper})
	return Cholesky{n, a}, ok
}

func (c Cholesky) triangular() blas64.Triangular {
	return blas64.Triangular{N: c.n, Stride: max(1, c.n), Data: c.u, Uplo: blas.Upper, Diag: blas.NonUnit}
}

// LogDet is ln|A|.
func (c Cholesky) LogDet() float64 {
	sum := 0.0
	for i := range c.n {
		sum += math.Log(c.u[i*c.n+i])
	}
	return 2 * sum
}

// SolveRight overwrites b, of n columns, with b·A⁻¹.
func (c Cholesky) SolveRight(b blas64.General) {
	blas64.Trsm(blas.Right, blas.NoTrans, 1, c.triangular(), b)
	blas64.Trsm(blas.Right, blas.Trans, 1, c.triangular(), b)
}

// HalfSolveRight overwrites b, of n columns, with b·U⁻¹, whose rows' squared norms
// are bᵢᵀA⁻¹bᵢ.
func (c Cholesky) HalfSolveRight(b blas64.General) {
	blas64.Trsm(blas.Right, blas.NoTrans, 1, c.triangular(), b)
}

// MulTransRight overwrites b, of n columns, with alpha·b·Uᵀ.
func (c Cholesky) MulTransRight(alpha float64, b blas64.General) {
	blas64.Trmm(blas.Right, blas.Trans, alpha, c.triangular(), b)
}

// Invert overwrites the factor with the full symmetric A⁻¹ and returns it.
func (c Cholesky) Invert() []float64 {
	lapack64.Potri(c.triangular())
	Mirror(c.n, c.u)
	return c.u
}

// InvertFactor overwrites U with U⁻¹ and returns it; what is below the diagonal stays.
func (c Cholesky) InvertFactor() []float64 {
	lapack64.Trtri(c.triangular())
	return c.u
}

// Mirror copies the upper triangle of the n×n matrix in a to the lower one.
func Mirror(n int, a []float64) {
	for i := range n {
		for j := range i {
			a[i*n+j] = a[j*n+i]
		}
	}
}

// Dot is the inner product of two slices of one length.
func Dot(a, b []float64) float64 {
	return blas64.Dot(blas64.Vector{N: len(a), Inc: 1, Data: a}, blas64.Vector{N: len(b), Inc: 1, Data: b})
}

// Axpy adds alpha·x to y.
func Axpy(alpha float64, x, y []float64) {
	blas64.Axpy(alpha, blas64.Vector{N: len(x), Inc: 1, Data: x}, blas64.Vector{N: len(y), Inc: 1, Data: y})
}

// Scale multiplies x by alpha.
func Scale(alpha float64, x []float64) {
	blas64.Scal(alpha, blas64.Vector{N: len(x), Inc: 1, Data: x})
}

// MulSerial is [Mul] in tiles so small that the backend does each in the calling goroutine:
// for passes whose rows are shared out among goroutines already. gonum's own begins to
// start goroutines at four tiles of 64×64.
func MulSerial(transA, transB bool, alpha float64, a, b blas64.General, beta float64, c blas64.General) {
	const rows, cols = 128, 64
	for i := 0; i < c.Rows; i += rows {
		m := min(rows, c.Rows-i)
		ai := a
		if transA {
			ai.Cols, ai.Data = m, a.Data[i:]
		} else {
			ai.Rows, ai.Data = m, a.Data[i*a.Stride:]
		}
		for j := 0; j < c.Cols; j += cols {
			n := min(cols, c.Cols-j)
			bj := b
			if transB {
				bj.Rows, bj.Data = n, b.Data[j*b.Stride:]
			} else {
				bj.Cols, bj.Data = n, b.Data[j:]
			}
			Mul(transA, transB, alpha, ai, bj, beta, blas64.General{Rows: m, Cols: n, Stride: c.Stride, Data: c.Data[i*c.Stride+j:]})
		}
	}
}

// Resize returns a slice of length n, in the memory of s where it suffices. Its
// contents are arbitrary.
func Resize(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
