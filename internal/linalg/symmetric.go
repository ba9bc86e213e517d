package linalg

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// SymmetricPart is (A + Aᵀ)/2 of a square matrix: what rounding has left of one that is symmetric.
func SymmetricPart(a *mat.Dense) *mat.SymDense {
	n, _ := a.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	return s
}

// dependence is the share of a column's variance that must be left when the columns before it are known: below,
// whether a Cholesky factorisation succeeds is a matter of rounding.
const dependence = 1e-11

// Undetermined factorises a covariance matrix of d columns, whose strictly lower triangle is scratch meanwhile, and
// looks at the share of each column's variance that those before it do not determine: units do not matter to it. It
// returns the first column of which none is left.
func Undetermined(d int, cov []float64) (column int, ok bool) {
	return eliminate(d, cov, nil, 0, dependence)
}

// Above reports whether Σ − times·diag(floor) is positive definite; the strictly lower triangle of Σ is scratch
// meanwhile.
func Above(d int, cov, floor []float64, times float64) bool {
	_, ok := eliminate(d, cov, floor, times, 0)
	return ok
}

// panel is the number of columns that [eliminate] takes at a time.
const panel = 16

// eliminate makes the Cholesky factor of Σ − times·diag(floor) without its diagonal, in the lower triangle, as far as
// more than a share of each diagonal number is left.
func eliminate(d int, cov, floor []float64, times, share float64) (column int, ok bool) {
	defer Mirror(d, cov)
	var roots [panel]float64
	for first := 0; first < d; first += panel {
		end := min(first+panel, d)
		for a := first; a < end; a++ {
			row, v := cov[a*d:a*d+a], cov[a*d+a]-times*Entry(floor, a)
			rest := v - Dot(row, row)
			if !(rest > share*v) {
				return a, false
			}
			root := math.Sqrt(rest)
			roots[a-first] = root
			for c := a + 1; c < end; c++ {
				cov[c*d+a] = (cov[a*d+c] - Dot(cov[c*d:c*d+a], row)) / root
			}
		}
		part := func(row, column, rows, columns int) blas64.General {
			return blas64.General{Rows: rows, Cols: columns, Stride: d, Data: cov[row*d+column:]}
		}
		for c := end; c < d; c++ {
			for a := first; a < end; a++ {
				cov[c*d+a] = cov[a*d+c]
			}
		}
		if first > 0 && end < d {
			MulSerial(false, true, -1, part(end, 0, d-end, first), part(first, 0, end-first, first), 1,
				part(end, first, d-end, end-first))
		}
		for c := end; c < d; c++ {
			row := cov[c*d+first : c*d+end]
			for i, root := range roots[:end-first] {
				v, at := row[i], (first+i)*d+first
				for j, w := range cov[at : at+i] {
					v -= row[j] * w
				}
				row[i] = v / root
			}
		}
	}
	return 0, true
}
