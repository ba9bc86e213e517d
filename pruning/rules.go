package pruning

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/laplace"
)

// Rules says how the engine prunes. The zero value is the default: both rules,
// each with its own defaults. A model whose global step has no maximum at a K is
// projected in any case, unless K is fixed.
type Rules struct {
	Eigenvalue Eigenvalue
	Objective  Objective
}

// Eigenvalue is the rule of Algorithm 1 (paper G, 4.1.3): a direction of F with
// σ ≤ δ is dropped.
type Eigenvalue struct {
	Off   bool
	Delta float64 // δ; 0 stands for 1/N
}

// Objective is the rule that a smaller model which scores higher is the better
// one. A trial projects directions out and makes local and global steps in the
// smaller model until the criterion has risen above that of the larger one, until
// the steps' own progress shows that it will not, or until Steps are made.
//
// While the fit goes along, the weakest few directions are tried when the change of
// an iteration is below Loose, and again whenever it has halved and the criterion has moved
// by as much as the best of them fell short; those of negative relevance in every such
// iteration. At convergence every
// direction is tried, weakest first, and then the weakest two, three, … together;
// the fit ends only when none of it helps.
type Objective struct {
	Off   bool
	Loose float64 // change per row, in nats, below which trials begin; 0 stands for 1e-4
	Steps int     // most steps of one trial; 0 stands for 100
}

// LooseOr returns Loose or its default.
func (o Objective) LooseOr() float64 {
	if o.Loose > 0 {
		return o.Loose
	}
	return 1e-4
}

// StepsOr returns Steps or its default.
func (o Objective) StepsOr() int {
	if o.Steps > 0 {
		return o.Steps
	}
	return 100
}

// Verdict is what the eigenvalue rule says of a curvature.
type Verdict struct {
	Dropped []float64  // eigenvalues of the directions that go; empty when none does
	Keep    Directions // what stays; only where something goes
}

// Apply judges the curvature f of a model with k latent dimensions and total row
// weight n. At least the strongest direction always stays. An f that has neither
// a block a latent dimension nor one Kronecker block with a k×k left factor is an
// error.
func (e Eigenvalue) Apply(f laplace.Blocks, k int, n float64) (Verdict, error) {
	delta := e.Delta
	if delta == 0 {
		delta = 1 / n
	}
	if e.Off || k == 1 || clearlyAbove(f, k, delta) {
		return Verdict{}, nil
	}
	d, err := CurvatureDirections(f, k)
	if err != nil {
		return Verdict{}, err
	}
	stay := d.Len()
	for stay > 1 && !(d.Values[stay-1] > delta) {
		stay--
	}
	if stay == d.Len() {
		return Verdict{}, nil
	}
	kept := make([]int, stay)
	for j := range kept {
		kept[j] = j
	}
	return Verdict{Keep: d.Keep(kept...), Dropped: d.Values[stay:]}, nil
}

// CurvatureDirections returns the k latent directions that a curvature singles
// out, each with its eigenvalue σ, largest first.
//
// For a Kronecker block A ⊗ B the directions are the eigenvectors of A: the
// projection onto the first K' of them is the generic linear projection of paper
// G below A1. Where every latent dimension has a block of its own the directions
// are the axes. Whole dimensions are dropped, never single parameters, so a
// dimension counts with the geometric mean of its eigenvalues: its penalty
// ½ ln|N F_k| is negative exactly where that mean is below 1/N.
func CurvatureDirections(f laplace.Blocks, k int) (Directions, error) {
	if len(f) == 1 {
		if block, ok := laplace.AsKronecker(f[0]); ok && block.A.SymmetricDim() == k {
			return kroneckerDirections(block)
		}
	}
	if len(f) != k {
		return Directions{}, fmt.Errorf("pruning: a curvature of %d blocks does not belong to %d latent dimensions: give one block each, or one Kronecker block with a %d×%d left factor", len(f), k, k, k)
	}
	sigma := make([]float64, k)
	for i, block := range f {
		sigma[i] = geometricMean(block)
	}
	return FromAxes(sigma), nil
}

func kroneckerDirections(block laplace.Kronecker) (Directions, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(block.A, true) {
		return Directions{}, fmt.Errorf("pruning: no eigenvalues of the curvature's %d×%d factor: it holds a NaN or an infinity", block.A.SymmetricDim(), block.A.SymmetricDim())
	}
	scale := geometricMean(block.B)
	sigma := eigen.Values(nil)
	for i := range sigma {
		sigma[i] = max(0, sigma[i]) * scale
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	return FromEigen(sigma, &vectors), nil
}

// clearlyAbove says, without allocating, that every direction is above delta: from
// the blocks themselves, or from the bound λ ≥ 1/tr(A⁻¹) on a Kronecker factor's
// smallest eigenvalue.
func clearlyAbove(f laplace.Blocks, k int, delta float64) bool {
	if len(f) == 1 {
		block, ok := laplace.AsKronecker(f[0])
		return ok && block.A.SymmetricDim() == k &&
			geometricMean(block.B)/block.A.InverseTrace(laplace.Identity(k)) > delta
	}
	for _, block := range f {
		if !(geometricMean(block) > delta) {
			return false
		}
	}
	return len(f) == k
}

// geometricMean of a block's eigenvalues; 1 for an empty block.
func geometricMean(b laplace.Block) float64 {
	n := b.SymmetricDim()
	if n == 0 {
		return 1
	}
	return math.Exp(b.LogDet() / float64(n))
}
