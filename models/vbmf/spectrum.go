package vbmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// A Spectrum holds all that Solve needs of an L×M matrix Y, except its singular vectors.
type Spectrum struct {
	L, M   int
	Values []float64 // singular values, descending: all min(L, M), or the leading ones
	Energy float64   // ‖Y‖², the sum of the squares of all singular values

	// Of a spectrum made by Decompose.
	y       mat.Dense              // Y, or Yᵀ where L > M: as many rows as the smaller side
	gram    *mat.Dense             // YYᵀ, when it was formed
	eigen   *linalg.SymmetricEigen // of gram, scaled
	vectors *mat.Dense             // left singular vectors of y, when they were found
}

// Decompose computes the singular values of the L×M table: all of them, or only the leading maxRank if that is less
// work (0 selects all).
//
// If it computes all, they are square roots of the eigenvalues of YYᵀ or YᵀY, whichever has order n = min(L, M).
// Errors of the squares are about n·ε·γ_1²: negligible if Y has noise. If Y has too little noise, [Spectrum.Solve]
// recomputes the small values from the part of Y that is orthogonal to the large ones, to a relative accuracy of
// about n·ε·γ_1/γ. Leading values come from a block Lanczos method, which stops at residuals of 1e-10·γ_1². The
// residual bounds the error of the squares, and if the values are well separated, the error is about the residual
// squared.
//
// It returns an error for a table with missing values or row weights, and if squares overflow or vanish.
func Decompose(ctx context.Context, t *blocks.Table, maxRank int) (*Spectrum, error) {
	rows, err := matrixOf(t)
	if err != nil {
		return nil, err
	}
	l, m := t.Dims()
	if err := checkMaxRank(maxRank, l, m); err != nil {
		return nil, err
	}
	s := &Spectrum{L: l, M: m}
	largest := 0.0
	for i := range l {
		row := rows.Row(i)
		for _, v := range row {
			largest = max(largest, math.Abs(v))
		}
		s.Energy += linalg.Dot(row, row)
	}
	if tiny := largest > 0 && largest < 1e-140; tiny || math.IsInf(s.Energy*float64(max(l, m)), 0) {
		return nil, fmt.Errorf(
			"vbmf: the largest entry is %.3g, and squares beyond 1e±280 are out of range: divide the matrix by its largest "+
				"entry", largest,
		)
	}
	s.y.SetRawMatrix(blas64.General{Rows: l, Cols: m, Stride: rows.Stride, Data: rows.X})
	if l > m {
		s.y.SetRawMatrix(mat.DenseCopyOf(s.y.T()).RawMatrix())
	}
	if s.Energy == 0 {
		s.Values = make([]float64, min(l, m))
		return s, nil
	}
	if n := min(l, m); maxRank > 0 && n >= 200 && 16*maxRank <= n {
		if s.lead(maxRank) {
			return s, ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s, s.all()
}

// matrixOf rejects tables that are no matrix: with missing entries, or rows that have weights.
func matrixOf(t *blocks.Table) (blocks.Rows, error) {
	rows := t.All()
	if rows.N < 1 || rows.D < 1 {
		return rows, fmt.Errorf("vbmf: a %d×%d matrix has nothing to factorise", rows.N, rows.D)
	}
	if rows.Weights != nil {
		return rows, errors.New(
			"vbmf: rows of a matrix have no weights: repeat them, or multiply each by the square root of its weight",
		)
	}
	for i := range rows.N {
		for j, v := range rows.Row(i) {
			if math.IsNaN(v) {
				return rows, fmt.Errorf("vbmf: %w", blocks.NotFinite(i, j, v))
			}
		}
	}
	return rows, nil
}

// order is the smaller side of Y.
func (s *Spectrum) order() int { return min(s.L, s.M) }

// lead finds the k leading singular values with their vectors. Where they are not few, the
// products are formed first: they take little longer than the steps would without them, and all values
// need them if some of the k are not well separated, so that a failed attempt costs little.
func (s *Spectrum) lead(k int) bool {
	if s.order() < 32*(k+8) {
		s.multiply()
	}
	apply := func(dst, x *mat.Dense) {
		of, by := s.gram, x
		if of == nil {
			of, by = &s.y, times(true, &s.y, false, x)
		}
		linalg.Mul(false, false, 1, of.RawMatrix(), by.RawMatrix(), 0, dst.RawMatrix())
	}
	values, vectors, ok := linalg.Leading(s.order(), k, s.order()/3, apply, 1e-10)
	if !ok {
		return false
	}
	s.Values, s.vectors = roots(values), vectors
	return true
}

// all finds all singular values.
func (s *Spectrum) all() error {
	s.multiply()
	values, eigen, err := decompose(s.gram)
	s.Values, s.eigen = roots(values), eigen
	return err
}

// multiply forms the products of the rows of y.
func (s *Spectrum) multiply() {
	if s.gram == nil {
		s.gram = mat.NewDense(s.order(), s.order(), nil)
		linalg.RowGram(s.y.RawMatrix(), s.gram.RawMatrix().Data)
	}
}

// times is op(a)·op(b).
func times(transA bool, a *mat.Dense, transB bool, b *mat.Dense) *mat.Dense {
	rows, _ := a.Dims()
	_, columns := b.Dims()
	if transA {
		_, rows = a.Dims()
	}
	if transB {
		columns, _ = b.Dims()
	}
	c := mat.NewDense(rows, columns, nil)
	linalg.Mul(transA, transB, 1, a.RawMatrix(), b.RawMatrix(), 0, c.RawMatrix())
	return c
}

// errEigen should not happen: the squares of the entries are within range.
var errEigen = errors.New("vbmf: the singular values were not found: divide the matrix by its largest entry first")

// decompose is the eigen-decomposition of a, with its eigenvalues, descending.
func decompose(a *mat.Dense) ([]float64, *linalg.SymmetricEigen, error) {
	n, _ := a.Dims()
	eigen, ok := linalg.NewSymmetricEigen(n, mat.DenseCopyOf(a).RawMatrix().Data)
	if !ok {
		return nil, nil, errEigen
	}
	return slices.Clone(eigen.Values), eigen, nil
}

// resolution is the part of the largest eigenvalue of a product below which eigenvalues
// are found anew.
const resolution = 1e-5

// refine finds the vectors too and resolves small singular values: those whose squares
// are below resolution of the largest are found from the product of what Y leaves
// orthogonal to the others, and so on.
func (s *Spectrum) refine() error {
	squares, eigen, err := decompose(s.gram)
	if err != nil {
		return err
	}
	n := len(squares)
	v := eigen.Vectors(n)
	floor := squares[0] * 1e-32
	for t := next(squares, 0); t < n && squares[t] >= 0; {
		rest := v.Slice(0, n, t, n).(*mat.Dense)
		w := times(true, rest, false, &s.y)
		small, eigen, err := decompose(times(false, w, true, w))
		if err != nil {
			return err
		}
		rest.Copy(times(false, rest, false, eigen.Vectors(n-t)))
		copy(squares[t:], small)
		if squares[t] <= floor {
			break
		}
		t = next(squares, t)
	}
	s.Values, s.vectors = roots(squares), v
	return nil
}

// next is the first place whose value is below resolution of the one at t.
func next(squares []float64, t int) int {
	top := squares[t]
	for t < len(squares) && squares[t] >= resolution*top {
		t++
	}
	return t
}

func roots(squares []float64) []float64 {
	values := make([]float64, len(squares))
	for i, v := range squares {
		values[i] = math.Sqrt(max(0, v))
	}
	return values
}

// coarse reports whether the values at or above the noise are less than exact.
func (s *Spectrum) coarse(noise float64) bool {
	return s.gram != nil && s.vectors == nil && noise*float64(max(s.L, s.M)) < resolution*s.Values[0]*s.Values[0]
}

// triplets are the leading r singular vectors of Y, L×r and M×r row-major, each pair
// with the sign that makes the entry of the right one that is largest in magnitude
// positive.
func (s *Spectrum) triplets(r int) (left, right *mat.Dense, err error) {
	n := s.order()
	switch {
	case s.vectors != nil:
	case n >= 200:
		s.vectors = s.eigen.Vectors(r)
	default:
		if err := s.refine(); err != nil {
			return nil, nil, err
		}
	}
	near := mat.DenseCopyOf(s.vectors.Slice(0, n, 0, r))
	other := times(true, &s.y, false, near)
	left, right = near, other
	if s.L > s.M {
		left, right = other, near
	}
	for j := range r {
		length := mat.Norm(other.ColView(j), 2)
		top := 0.0
		for i := range s.M {
			if v := right.At(i, j); math.Abs(v) > math.Abs(top) {
				top = v
			}
		}
		sign := math.Copysign(1, top)
		for i := range max(s.L, s.M) {
			other.Set(i, j, sign*other.At(i, j)/length)
		}
		for i := range n {
			near.Set(i, j, sign*near.At(i, j))
		}
	}
	return left, right, nil
}
