package simd

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// reference multiplies matrices where there is no assembly for it here.
var reference gonum.Implementation

// Product is c = alpha·op(a)·op(b) + beta·c, all row-major with the given distances between
// rows: op(a), the transpose of a where transA is true, is m×k, op(b) is k×n and c m×n.
// Each number of c is summed in the order of k, in parts of 256, so that it does not
// depend on the others: the rows of c may be distributed over goroutines.
func Product(transA, transB bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int) {
	x, y := operand{a, lda, 1}, operand{b, ldb, 1}
	if transA {
		x = operand{a, 1, lda}
	}
	if transB {
		y = operand{b, 1, ldb}
	}
	x.check("a", m, k)
	y.check("b", k, n)
	operand{c, ldc, 1}.check("c", m, n)
	if ldc < n {
		panic("simd: rows of c overlap")
	}
	switch {
	case m == 0 || n == 0:
	case k == 0:
		scaleRows(c, ldc, m, n, beta)
	case level == portable:
		reference.Dgemm(transposed(transA), transposed(transB), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	default:
		product(m, n, k, alpha, x, y, beta, c, ldc, false)
	}
}

// Symmetric adds alpha·aᵀa to the upper triangle of c, n×n, for a of k rows and n columns.
// What is below the diagonal of c is arbitrary afterwards.
func Symmetric(n, k int, alpha float64, a []float64, lda int, c []float64, ldc int) {
	operand{a, lda, 1}.check("a", k, n)
	operand{c, ldc, 1}.check("c", n, n)
	if ldc < n {
		panic("simd: rows of c overlap")
	}
	switch {
	case n == 0 || k == 0:
	case level == portable:
		reference.Dsyrk(blas.Upper, blas.Trans, n, k, alpha, a, lda, 1, c, ldc)
	default:
		product(n, n, k, alpha, operand{a, 1, lda}, operand{a, lda, 1}, 1, c, ldc, true)
	}
}

func transposed(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

// operand is a matrix with these distances between its rows and between its columns.
type operand struct {
	data        []float64
	row, column int
}

func (o operand) check(what string, rows, columns int) {
	if rows < 0 || columns < 0 || o.row < 1 || o.column < 1 {
		panic("simd: " + what + " has a negative size")
	}
	if rows > 0 && columns > 0 {
		need(what, o.data, (rows-1)*o.row+(columns-1)*o.column+1)
	}
}

func scaleRows(c []float64, ldc, m, n int, beta float64) {
	if beta == 1 || n == 0 {
		return
	}
	for i := range m {
		row := c[i*ldc:][:n]
		if beta == 0 {
			clear(row) // also of what is not a number
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}
