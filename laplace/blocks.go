package laplace

import "slices"

// Blocks is a block-diagonal curvature F.
type Blocks []Block

// Dim returns the size of F, the number of parameters D_Ξ.
func (b Blocks) Dim() int {
	n := 0
	for _, block := range b {
		n += block.SymmetricDim()
	}
	return n
}

// LogDet returns ln|F| in nats; −Inf if a block is singular.
func (b Blocks) LogDet() float64 {
	sum := 0.0
	for _, block := range b {
		sum += block.LogDet()
	}
	return sum
}

// Eigenvalues appends the eigenvalues of all blocks to dst, ascending over all.
func (b Blocks) Eigenvalues(dst []float64) []float64 {
	old := len(dst)
	for _, block := range b {
		dst = block.Eigenvalues(dst)
	}
	slices.Sort(dst[old:])
	return dst
}

// InverseTrace returns tr(F⁻¹g), block by block. It panics unless g has as many blocks, of the same sizes.
func (b Blocks) InverseTrace(g Blocks) float64 {
	if len(b) != len(g) {
		panic(badBlocks)
	}
	sum := 0.0
	for i, block := range b {
		sum += block.InverseTrace(g[i])
	}
	return sum
}

// Tangent returns −½ ln|F₀| − ½ tr(F₀⁻¹f) + ½ dim at F₀ = b, in nats: the tangent
// of −½ ln|f|, which lies below it everywhere and touches it at f = F₀, because
// ln det is concave.
func (b Blocks) Tangent(f Blocks) float64 {
	return (float64(b.Dim()) - b.LogDet() - b.InverseTrace(f)) / 2
}
