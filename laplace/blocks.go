package laplace

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

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

// Smallest returns the smallest eigenvalue of F, from the factors' alone; +Inf
// if F is empty. The eigenvalue rule of pruning compares it with 1/N.
func (b Blocks) Smallest() float64 {
	smallest := math.Inf(1)
	for _, block := range b {
		low, _ := extremes(block)
		smallest = min(smallest, low)
	}
	return smallest
}

// extremes gives the smallest and the largest eigenvalue; +Inf and −Inf of an
// empty block.
func extremes(b Block) (low, high float64) {
	if b.SymmetricDim() == 0 {
		return math.Inf(1), math.Inf(-1)
	}
	switch b := b.(type) {
	case *Scaled:
		return extremes(*b)
	case *Kronecker:
		return extremes(*b)
	case Scaled:
		low, high = extremes(b.Of)
		return b.Factor * low, b.Factor * high
	case Kronecker:
		// Rounding may have left a factor slightly indefinite: then the least
		// product can be any of the four.
		al, ah := extremes(b.A)
		bl, bh := extremes(b.B)
		return min(al*bl, al*bh, ah*bl, ah*bh), max(al*bl, al*bh, ah*bl, ah*bh)
	}
	values := b.Eigenvalues(nil)
	return values[0], values[len(values)-1]
}

// InverseTrace returns tr(F⁻¹g), block by block. It panics if g does not have the
// same number of blocks of the same sizes.
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

// Tilt is the penalty of gFAB's local step: the tangent of −½ ln|F| at F₀ is a sum
// over rows, in which row n's log joint is lowered by tr(F₀⁻¹F_n)/(2N), where
// F_n = −∇²ln p(x_n,z_n|Π). A nil *Tilt is no penalty: plain EM.
type Tilt struct {
	F Blocks  // F₀, per row: the average of F_n under the q before
	N float64 // rows
}

// Penalty returns tr(F_i⁻¹row)/(2N) in nats, where F_i is block i of F and row is
// the same block of one row's F_n. It is 0 for a nil tilt, and +Inf where the row
// needs a direction that F₀ has lost.
func (t *Tilt) Penalty(i int, row mat.Symmetric) float64 {
	if t == nil {
		return 0
	}
	return t.F[i].InverseTrace(row) / (2 * t.N)
}
