package linalg

import (
	"math"

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
	defer Mirror(d, cov)
	for a := range d {
		row, v := cov[a*d:a*d+a], cov[a*d+a]
		rest := v - Dot(row, row)
		if !(rest > dependence*v) {
			return a, false
		}
		root := math.Sqrt(rest)
		for c := a + 1; c < d; c++ {
			cov[c*d+a] = (cov[a*d+c] - Dot(cov[c*d:c*d+a], row)) / root
		}
	}
	return 0, true
}
