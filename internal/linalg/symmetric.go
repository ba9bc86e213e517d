package linalg

import "gonum.org/v1/gonum/mat"

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
