// Package linalg wraps gonum's BLAS and LAPACK for flat row-major slices, for hot paths that must
// not allocate. Matrices go through blas64 and lapack64, so that
// a program which registers another backend there gets it here too; as long as it has not,
// products are those of package simd where the processor has the instructions.
//
// The build tag openblas registers the BLAS that CGO_LDFLAGS names (docs/guides/openblas.md).
package linalg

import (
	"fmt"
	"math"
	"runtime"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/parallel"
	"github.com/latent-go/latent/internal/simd"
)

// General is the rows×cols matrix in data.
func General(rows, cols int, data []float64) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: data}
}

// accelerated reports whether the products of package simd are used: there is assembly,
// and no backend has been registered.
func accelerated() bool { return simd.Accelerated() && ownBackend() }

// ownBackend reports whether no backend has been registered: gonum's is in place.
func ownBackend() bool {
	_, own := blas64.Implementation().(gonum.Implementation)
	return own
}

// Backend names what multiplies matrices.
func Backend() string {
	switch {
	case !ownBackend():
		return fmt.Sprintf("%T", blas64.Implementation())
	case simd.Accelerated():
		return simd.Instructions()
	}
	return "gonum"
}

// shared is the number of multiplications from which a product is distributed over
// goroutines.
const shared = 1 << 24

// Mul is c = alpha·op(a)·op(b) + beta·c, in several goroutines where it is large.
func Mul(transA, transB bool, alpha float64, a, b blas64.General, beta float64, c blas64.General) {
	k := a.Cols
	if transA {
		k = a.Rows
	}
	if k == 0 { // no sum has a term, and matrices without numbers are not for every backend
		for i := range c.Rows {
			row := c.Data[i*c.Stride:][:c.Cols]
			if beta == 0 {
				clear(row)
			} else {
				Scale(beta, row)
			}
		}
		return
	}
	if !accelerated() {
		blas64.Gemm(transpose(transA), transpose(transB), alpha, a, b, beta, c)
		return
	}
	workers := min(runtime.GOMAXPROCS(0), c.Rows*c.Cols*k/shared+1)
	if workers == 1 {
		mul(transA, transB, alpha, a, b, beta, c)
		return
	}
	mulShared(workers, transA, transB, alpha, a, b, beta, c)
}

// mulShared gives every worker some rows of c: each number is what it would be alone.
func mulShared(workers int, transA, transB bool, alpha float64, a, b blas64.General, beta float64, c blas64.General) {
	height := (c.Rows/workers + simd.Lanes) &^ (simd.Lanes - 1)
	_ = parallel.Do((c.Rows+height-1)/height, workers, func(i int) error {
		first := i * height
		rows := min(height, c.Rows-first)
		mul(transA, transB, alpha, part(a, transA, first, rows), b, beta, part(c, false, first, rows))
		return nil
	})
}

// part is some rows of op(a).
func part(a blas64.General, trans bool, first, rows int) blas64.General {
	if trans {
		return blas64.General{Rows: a.Rows, Cols: rows, Stride: a.Stride, Data: a.Data[first:]}
	}
	return blas64.General{Rows: rows, Cols: a.Cols, Stride: a.Stride, Data: a.Data[first*a.Stride:]}
}

func mul(transA, transB bool, alpha float64, a, b blas64.General, beta float64, c blas64.General) {
	m, k, l, n := a.Rows, a.Cols, b.Rows, b.Cols
	if transA {
		m, k = k, m
	}
	if transB {
		l, n = n, l
	}
	if m != c.Rows || k != l || n != c.Cols {
		panic(mismatch)
	}
	simd.Product(transA, transB, m, n, k, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, c.Data, c.Stride)
}

const mismatch = "linalg: matrices whose sizes do not go together"

// AddGram adds aᵀa to the upper triangle of c, in up to workers goroutines where it is
// large; below the diagonal anything may be left.
func AddGram(workers int, a blas64.General, c blas64.Symmetric) {
	if !accelerated() || c.Uplo != blas.Upper {
		blas64.Syrk(blas.Trans, 1, a, 1, c)
		return
	}
	if a.Cols != c.N {
		panic(mismatch)
	}
	if parts := min(workers, a.Rows*c.N*c.N/2/shared+1); parts > 1 {
		addGramShared(parts, a, c)
		return
	}
	gramRows(a, c, 0, c.N)
}

// addGramShared gives every worker some rows of c, of about as many numbers: the triangle from
// row i on has (N−i)²/2.
func addGramShared(parts int, a blas64.General, c blas64.Symmetric) {
	starts := []int{0}
	for first := 0; first < c.N; parts-- {
		rows := c.N - first
		if parts > 1 {
			share := float64(rows) * (1 - math.Sqrt(1-1/float64(parts)))
			rows = min(rows, (int(share)+simd.Lanes)&^(simd.Lanes-1))
		}
		first += rows
		starts = append(starts, first)
	}
	_ = parallel.Do(len(starts)-1, 0, func(i int) error {
		gramRows(a, c, starts[i], starts[i+1]-starts[i])
		return nil
	})
}

// RowGram writes a·aᵀ to the N×N matrix in c, both triangles.
func RowGram(a blas64.General, c []float64) {
	n := a.Rows
	// Stripes of rows from the diagonal on: a little more than half of the product.
	stripe := max(64, (n/8+simd.Lanes)&^(simd.Lanes-1))
	for first := 0; first < n; first += stripe {
		rows := min(stripe, n-first)
		Mul(false, true, 1, part(a, false, first, rows), part(a, false, first, n-first), 0,
			blas64.General{Rows: rows, Cols: n - first, Stride: n, Data: c[first*n+first:]})
	}
	Mirror(n, c)
}

// gramRows adds some rows of the upper triangle of aᵀa.
func gramRows(a blas64.General, c blas64.Symmetric, first, rows int) {
	own, rest := first*c.Stride+first, c.N-first-rows
	simd.Symmetric(rows, a.Rows, 1, a.Data[first:], a.Stride, c.Data[own:], c.Stride)
	if rest > 0 {
		simd.Product(true, false, rows, rest, a.Rows, 1, a.Data[first:], a.Stride, a.Data[first+rows:], a.Stride, 1,
			c.Data[own+rows:], c.Stride)
	}
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
	c.HalfSolveRight(b)
	c.HalfSolveTransRight(b)
}

// HalfSolveTransRight overwrites b, of n columns, with b·U⁻ᵀ: what SolveRight does after HalfSolveRight.
func (c Cholesky) HalfSolveTransRight(b blas64.General) {
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

// PrecisionRoot puts R, upper triangular with RᵀR = Σ⁻¹, into root (n×n) and returns ln|Σ|, of
// which the upper triangle counts. ok is false when Σ is not positive definite. It allocates nothing.
func PrecisionRoot(n int, covariance, root []float64) (logDet float64, ok bool) {
	for a := range n {
		copy(root[a*n+a:(a+1)*n], covariance[a*n+a:(a+1)*n])
	}
	return precisionRoot(General(n, n, root))
}

// rootBlock is the order up to which LAPACK's factorisation is as fast as products of matrices, and rootStripe the
// number of rows or columns of these that are computed together: the rest of the triangle, which is 0 or not needed, is
// left out.
const (
	rootBlock  = 64
	rootStripe = 48
)

// precisionRoot is PrecisionRoot in place. Σ = (A B; Bᵀ C) has R = (R₁ −R₁WᵀR₂; 0 R₂) with R₂ that of C, W = R₂Bᵀ
// and R₁ that of A − WᵀW: all but small blocks are products.
func precisionRoot(m blas64.General) (logDet float64, ok bool) {
	n := m.Rows
	if n <= rootBlock {
		return smallRoot(m)
	}
	p := n / 2
	q := n - p
	block := func(row, column, rows, columns int) blas64.General {
		return blas64.General{Rows: rows, Cols: columns, Stride: m.Stride, Data: m.Data[row*m.Stride+column:]}
	}
	right, below := block(0, p, p, q), block(p, 0, q, p)
	lastDet, ok := precisionRoot(block(p, p, q, q))
	if !ok {
		return 0, false
	}
	for i := 0; i < q; i += rootStripe { // W
		s := min(rootStripe, q-i)
		MulSerial(false, true, 1, block(p+i, p+i, s, q-i), block(0, p+i, p, q-i), 0, block(p+i, 0, s, p))
	}
	for i := 0; i < p; i += rootStripe {
		s := min(rootStripe, p-i)
		MulSerial(true, false, -1, block(p, i, q, s), block(p, i, q, p-i), 1, block(i, i, s, p-i))
	}
	firstDet, ok := precisionRoot(block(0, 0, p, p))
	if !ok {
		return 0, false
	}
	for i := 0; i < q; i += rootStripe {
		s := min(rootStripe, q-i)
		MulSerial(true, false, -1, block(p, 0, i+s, p), block(p, p+i, i+s, s), 0, block(0, p+i, p, s))
	}
	for i := 0; i < p; i += rootStripe { // (R₁·right)ᵀ
		s := min(rootStripe, p-i)
		MulSerial(true, true, 1, block(i, p, p-i, q), block(i, i, s, p-i), 0, block(p, i, q, s))
	}
	for a := range p {
		for c := range q {
			right.Data[a*m.Stride+c] = below.Data[c*m.Stride+a]
		}
	}
	for c := range q {
		clear(below.Data[c*m.Stride:][:p])
	}
	return firstDet + lastDet, true
}

// smallRoot is precisionRoot by one factorisation. With J the reversal of rows, JΣJ = UᵀU gives
// Σ⁻¹ = (J U⁻¹ J)(J U⁻ᵀ J), whose second factor is upper triangular.
func smallRoot(m blas64.General) (logDet float64, ok bool) {
	reverse(m)
	u, ok := lapack64.Potrf(blas64.Symmetric{N: m.Rows, Stride: max(1, m.Stride), Data: m.Data, Uplo: blas.Upper})
	if !ok {
		return 0, false
	}
	for a := range m.Rows {
		logDet += math.Log(m.Data[a*m.Stride+a])
	}
	lapack64.Trtri(u)
	reverse(m)
	for a := range m.Rows {
		clear(m.Data[a*m.Stride:][:a])
	}
	return 2 * logDet, true
}

// reverse puts J M J's transpose into the upper triangle: (a, c) changes places with (n−1−c, n−1−a).
func reverse(m blas64.General) {
	n := m.Rows
	for a := range n {
		for c := a; c < n-1-a; c++ {
			i, j := a*m.Stride+c, (n-1-c)*m.Stride+n-1-a
			m.Data[i], m.Data[j] = m.Data[j], m.Data[i]
		}
	}
}

// Mahalanobis is the squared Mahalanobis distance ‖R(x−m)‖² with R (n×n) of [PrecisionRoot].
func Mahalanobis(n int, root, x, m []float64) float64 {
	sum := 0.0
	for a := range n {
		z := 0.0
		for c := a; c < n; c++ {
			z += root[a*n+c] * (x[c] - m[c])
		}
		sum += z * z
	}
	return sum
}

// Selection is the matrix that takes k numbers to those of some places, in their order.
func Selection(places []int, k int) *mat.Dense {
	to := mat.NewDense(len(places), k, nil)
	for i, place := range places {
		to.Set(i, place, 1)
	}
	return to
}

// Mirror copies the upper triangle of the n×n matrix in a to the lower one.
func Mirror(n int, a []float64) {
	for i := range n {
		for j := range i {
			a[i*n+j] = a[j*n+i]
		}
	}
}

// vectors are gonum's whatever is registered: a call to C costs more than most of them take.
var vectors gonum.Implementation

// long is the length of a vector from which on the instructions of package simd are worth their call.
const long = 64

// Dot is the inner product of two slices of one length.
func Dot(a, b []float64) float64 {
	if len(a) >= long {
		return simd.Dot(a, b)
	}
	return vectors.Ddot(len(a), a, 1, b, 1)
}

// Axpy adds alpha·x to y.
func Axpy(alpha float64, x, y []float64) {
	if len(x) >= long {
		simd.AddTimes(alpha, x, y)
		return
	}
	vectors.Daxpy(len(x), alpha, x, 1, y, 1)
}

// Scale multiplies x by alpha.
func Scale(alpha float64, x []float64) { vectors.Dscal(len(x), alpha, x, 1) }

// MulSerial is [Mul] in the calling goroutine, for passes whose rows are distributed over
// goroutines already. gonum's own product gets it in tiles so small that it starts none, which it
// does from four tiles of 64×64; whoever registers a backend has to limit it to one thread.
func MulSerial(transA, transB bool, alpha float64, a, b blas64.General, beta float64, c blas64.General) {
	switch {
	case accelerated():
		mul(transA, transB, alpha, a, b, beta, c)
		return
	case !ownBackend():
		blas64.Gemm(transpose(transA), transpose(transB), alpha, a, b, beta, c)
		return
	}
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
			Mul(transA, transB, alpha, ai, bj, beta,
				blas64.General{Rows: m, Cols: n, Stride: c.Stride, Data: c.Data[i*c.Stride+j:]})
		}
	}
}

// Entry is entry i of a vector, 0 if it is nil.
func Entry(v []float64, i int) float64 {
	if v == nil {
		return 0
	}
	return v[i]
}

// Row is row i of a row-major matrix of n columns.
func Row(v []float64, i, n int) []float64 { return v[i*n : (i+1)*n] }

// Fill sets all numbers of s to v, by copies of twice as many each time.
func Fill(s []float64, v float64) {
	for n := copy(s, []float64{v}); n < len(s); n *= 2 {
		copy(s[n:], s[:n])
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
