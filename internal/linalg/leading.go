package linalg

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Spare is the number of directions that [Leading] follows beside those that it is asked for.
const Spare = 8

// Leading finds the k largest eigenvalues, descending, of a symmetric positive
// semi-definite operator A of order n, with their eigenvectors as the columns of an
// n×k matrix. apply writes A·x to dst, both n×b. It is a block Lanczos method from a
// random start with a fixed seed (Golub & Underwood 1977; its accuracy after few steps:
// Musco & Musco 2015), every block kept orthogonal to all earlier ones.
//
// It ends when each pair's residual ‖Av − θv‖ is at most tol·θ_1, so that every value
// is within tol·θ_1 of an eigenvalue of A. ok is false when that takes a subspace so
// large, more than limit directions, that a full decomposition is the better way; it
// stops as soon as the residuals fall too slowly, as where some of the k eigenvalues are not well
// separated from the next.
func Leading(
	n, k, limit int, apply func(dst, x *mat.Dense), tol float64,
) (values []float64, vectors *mat.Dense, ok bool) {
	if values, vectors, ok = LeadingFrom(nil, n, k, limit, apply, tol); !ok {
		return nil, nil, false
	}
	return values[:k], vectors.Slice(0, n, 0, k).(*mat.Dense), true
}

// LeadingFrom is Leading that begins at the columns of start, which are those that it found for an operator like this
// one, or nil. To the k pairs come [Spare] further ones of which no precision is asked.
func LeadingFrom(
	start *mat.Dense, n, k, limit int, apply func(dst, x *mat.Dense), tol float64,
) (values []float64, vectors *mat.Dense, ok bool) {
	b := min(n, k+Spare)
	limit = min(limit, n)
	if k < 1 || b > limit {
		return nil, nil, false
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	next := mat.NewDense(n, b, nil)
	for i := range next.RawMatrix().Data {
		next.RawMatrix().Data[i] = rng.NormFloat64()
	}
	if start != nil {
		next.Copy(start)
	}
	Orthonormalize(next)
	before := math.Inf(1)
	basis, image := mat.NewDense(n, limit, nil), mat.NewDense(n, limit, nil)
	for m := b; m <= limit; m += b {
		q, w := basis.Slice(0, n, 0, m).(*mat.Dense), image.Slice(0, n, 0, m).(*mat.Dense)
		q.Slice(0, n, m-b, m).(*mat.Dense).Copy(next)
		block := mat.NewDense(n, b, nil)
		apply(block, next)
		w.Slice(0, n, m-b, m).(*mat.Dense).Copy(block)

		t := product(true, q, w)
		small := make([]float64, m*m)
		for i := range m {
			for j := i; j < m; j++ {
				small[i*m+j] = (t.At(i, j) + t.At(j, i)) / 2
			}
		}
		eigen, found := NewSymmetricEigen(m, small)
		if !found {
			return nil, nil, false
		}
		values = make([]float64, k)
		for j := range k {
			values[j] = max(0, eigen.Values[j])
		}
		y := eigen.Vectors(k)
		vectors = product(false, q, y)
		residual := product(false, w, y)
		worst := 0.0
		for j := range k {
			sum := 0.0
			for i := range n {
				r := residual.At(i, j) - values[j]*vectors.At(i, j)
				sum += r * r
			}
			worst = max(worst, math.Sqrt(sum))
		}
		if worst <= tol*values[0] {
			for _, v := range eigen.Values[k:b] {
				values = append(values, max(0, v))
			}
			return values, product(false, q, eigen.Vectors(b)), true
		}
		if left := float64((limit - m) / b); left == 0 || m > 2*b && worst*math.Pow(worst/before, left) > tol*values[0] {
			break
		}
		before = worst
		for range 2 {
			block.Sub(block, product(false, q, product(true, q, block)))
			Orthonormalize(block)
		}
		next = block
	}
	return nil, nil, false
}

// product is a·b, or aᵀb.
func product(transA bool, a, b *mat.Dense) *mat.Dense {
	rows, inner := a.Dims()
	if transA {
		rows = inner
	}
	_, columns := b.Dims()
	c := mat.NewDense(rows, columns, nil)
	Mul(transA, false, 1, a.RawMatrix(), b.RawMatrix(), 0, c.RawMatrix())
	return c
}

// Orthonormalize replaces the columns of a, at most as many as its rows, by an
// orthonormal basis of their span (Householder QR).
func Orthonormalize(a *mat.Dense) {
	raw := a.RawMatrix()
	g := blas64.General{Rows: raw.Rows, Cols: raw.Cols, Stride: raw.Stride, Data: raw.Data}
	tau := make([]float64, raw.Cols)
	query := make([]float64, 1)
	lapack64.Geqrf(g, tau, query, -1)
	work := make([]float64, int(query[0]))
	lapack64.Geqrf(g, tau, work, len(work))
	lapack64.Orgqr(g, tau, query, -1)
	work = make([]float64, max(len(work), int(query[0])))
	lapack64.Orgqr(g, tau, work, len(work))
}
