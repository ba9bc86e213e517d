package laplace

import "gonum.org/v1/gonum/mat"

// DirectSum is a block that is itself block-diagonal, for the parameters of one latent dimension in independent
// groups.
type DirectSum []Block

// Dims returns n, n.
func (d DirectSum) Dims() (r, c int) { n := d.SymmetricDim(); return n, n }

// SymmetricDim returns the sum of the parts' sizes.
func (d DirectSum) SymmetricDim() int { return Blocks(d).Dim() }

// T returns the block itself.
func (d DirectSum) T() mat.Matrix { return d }

// At returns entry i, j: 0 between parts.
func (d DirectSum) At(i, j int) float64 {
	checkAccess(i, j, d.SymmetricDim())
	for _, part := range d {
		n := part.SymmetricDim()
		if i < n && j < n {
			return part.At(i, j)
		}
		if i < n || j < n {
			return 0
		}
		i, j = i-n, j-n
	}
	panic(badDim)
}

// LogDet returns the sum over the parts; −Inf if a part is singular.
func (d DirectSum) LogDet() float64 { return Blocks(d).LogDet() }

// Eigenvalues appends the eigenvalues of all parts, ascending over all.
func (d DirectSum) Eigenvalues(dst []float64) []float64 { return Blocks(d).Eigenvalues(dst) }

// InverseTrace returns tr(F⁻¹g), the sum over the parts with the diagonal blocks of g.
func (d DirectSum) InverseTrace(g mat.Symmetric) float64 {
	checkDim(d.SymmetricDim(), g)
	if other, ok := g.(DirectSum); ok && len(other) == len(d) {
		return Blocks(d).InverseTrace(Blocks(other))
	}
	sum, at := 0.0, 0
	for _, part := range d {
		n := part.SymmetricDim()
		sum += part.InverseTrace(window{g, at, n})
		at += n
	}
	return sum
}

// window is a diagonal block of a symmetric matrix.
type window struct {
	of    mat.Symmetric
	at, n int
}

func (w window) Dims() (r, c int)    { return w.n, w.n }
func (w window) SymmetricDim() int   { return w.n }
func (w window) T() mat.Matrix       { return w }
func (w window) At(i, j int) float64 { return w.of.At(w.at+i, w.at+j) }
