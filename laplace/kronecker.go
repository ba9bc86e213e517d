package laplace

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Kronecker is A ⊗ B, of size n_A·n_B. A's index is the slow one, as in
// mat.Dense.Kronecker: row i of A and row j of B are row i·n_B + j.
type Kronecker struct {
	A, B Block
}

// Dims returns n, n.
func (k Kronecker) Dims() (r, c int) { return k.SymmetricDim(), k.SymmetricDim() }

// SymmetricDim returns n = n_A·n_B.
func (k Kronecker) SymmetricDim() int { return k.A.SymmetricDim() * k.B.SymmetricDim() }

// T returns the block itself.
func (k Kronecker) T() mat.Matrix { return k }

// At returns entry i, j, a product of one entry of A and one of B.
func (k Kronecker) At(i, j int) float64 {
	checkAccess(i, j, k.SymmetricDim())
	n := k.B.SymmetricDim()
	return k.A.At(i/n, j/n) * k.B.At(i%n, j%n)
}

// LogDet returns n_B ln|A| + n_A ln|B|.
func (k Kronecker) LogDet() float64 {
	na, nb := float64(k.A.SymmetricDim()), float64(k.B.SymmetricDim())
	return times(nb, k.A.LogDet()) + times(na, k.B.LogDet())
}

// Eigenvalues appends the products of the factors' eigenvalues in ascending
// order.
func (k Kronecker) Eigenvalues(dst []float64) []float64 {
	a, b := k.A.Eigenvalues(nil), k.B.Eigenvalues(nil)
	old := len(dst)
	dst = slices.Grow(dst, len(a)*len(b))
	for _, u := range a {
		for _, v := range b {
			dst = append(dst, u*v)
		}
	}
	slices.Sort(dst[old:])
	return dst
}

// InverseTrace returns tr(A⁻¹g_A)·tr(B⁻¹g_B) against g = g_A ⊗ g_B with factors
// of the same sizes, scaled or not. Any other g with n_B×n_B blocks g_ij is first traced over B, P_ij = tr(B⁻¹g_ij),
// so that tr((A⊗B)⁻¹g) = tr(A⁻¹P). Only the factors are inverted.
func (k Kronecker) InverseTrace(g mat.Symmetric) float64 {
	checkDim(k.SymmetricDim(), g)
	switch g := g.(type) {
	case *Scaled:
		return times(g.Factor, k.InverseTrace(g.Of))
	case *Kronecker:
		return k.InverseTrace(*g)
	case Scaled:
		return times(g.Factor, k.InverseTrace(g.Of))
	case Kronecker:
		if g.A.SymmetricDim() == k.A.SymmetricDim() && g.B.SymmetricDim() == k.B.SymmetricDim() {
			return times(k.A.InverseTrace(g.A), k.B.InverseTrace(g.B))
		}
	}
	if k.SymmetricDim() == 0 || math.IsInf(k.LogDet(), -1) {
		return singularTrace(g)
	}
	n := k.A.SymmetricDim()
	p := mat.NewSymDense(n, nil)
	c := &cell{g: g, n: k.B.SymmetricDim()}
	for i := range n {
		for j := i; j < n; j++ {
			c.i, c.j = i, j
			p.SetSym(i, j, k.B.InverseTrace(c))
		}
	}
	return k.A.InverseTrace(p)
}

// cell is the symmetric part of the n×n block i, j of g: a trace against a
// symmetric matrix sees no other part.
type cell struct {
	g       mat.Symmetric
	i, j, n int
}

func (c *cell) Dims() (rows, cols int) { return c.n, c.n }
func (c *cell) SymmetricDim() int      { return c.n }
func (c *cell) T() mat.Matrix          { return c }
func (c *cell) At(r, s int) float64 {
	return (c.g.At(c.i*c.n+r, c.j*c.n+s) + c.g.At(c.i*c.n+s, c.j*c.n+r)) / 2
}
