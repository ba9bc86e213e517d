package laplace

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func randomBlocks(rng *rand.Rand, count int) Blocks {
	blocks := make(Blocks, count)
	for i := range blocks {
		blocks[i] = randomBlock(rng, 1+rng.IntN(4), 2)
	}
	return blocks
}

func TestBlocksAreOneBlockDiagonalMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
		blocks := randomBlocks(rng, rapid.IntRange(1, 4).Draw(t, "count"))
		other := make(Blocks, len(blocks))
		for i, block := range blocks {
			other[i] = similar(rng, block)
		}
		full, fullOther := blockDiagonal(blocks), blockDiagonal(other)
		require.Equal(t, full.SymmetricDim(), blocks.Dim())
		requireClose(t, full.LogDet(), blocks.LogDet(), "LogDet")
		requireClose(t, full.InverseTrace(fullOther), blocks.InverseTrace(other), "InverseTrace")
		want, got := full.Eigenvalues(nil), blocks.Eigenvalues(nil)
		require.True(t, slices.IsSorted(got))
		for i := range want {
			require.InDelta(t, want[i], got[i], 1e-10*want[len(want)-1])
		}
		require.InDelta(t, got[0], blocks.Smallest(), 1e-10*got[0])
	})
}

func blockDiagonal(blocks Blocks) *Dense {
	full, at := mat.NewSymDense(blocks.Dim(), nil), 0
	for _, block := range blocks {
		n := block.SymmetricDim()
		for i := range n {
			for j := range n {
				full.SetSym(at+i, at+j, block.At(i, j))
			}
		}
		at += n
	}
	return NewDense(full)
}

// −½ ln|F| is convex, so its tangent at F₀ minorises it: gFAB's local step rests on it.
func TestTangentMinorisesLogDeterminant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 8))
		at := randomBlocks(rng, rapid.IntRange(1, 3).Draw(t, "count"))
		requireClose(t, -at.LogDet()/2, at.Tangent(at), "equality at F₀")

		far, near := make(Blocks, len(at)), make(Blocks, len(at))
		const step = 1e-4
		for i, block := range at {
			far[i] = similar(rng, block)
			var mix mat.SymDense
			mix.ScaleSym(step, randomSPD(rng, block.SymmetricDim()))
			mix.AddSym(&mix, symmetric(plain(block)))
			near[i] = NewDense(&mix)
		}
		require.LessOrEqual(t, at.Tangent(far), -far.LogDet()/2+1e-10)

		// Near F₀ the gap is of second order: with Δ = F − F₀ at most ¼ tr((F₀⁻¹Δ)²).
		gap := -near.LogDet()/2 - at.Tangent(near)
		change := at.InverseTrace(near) - float64(at.Dim())
		require.GreaterOrEqual(t, gap, -1e-10)
		require.LessOrEqual(t, gap, change*change/4+1e-10)
	})
}

func TestPenaltiesOfRowsAddUpToTangent(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	const rows = 40
	at := Blocks{randomDiagonal(rng, 3), NewDense(randomSPD(rng, 4)), Kronecker{NewDense(randomSPD(rng, 2)), Identity(3)}}
	tilt := &Tilt{F: at, N: rows}
	sums := Blocks{make(Diagonal, 3), nil, nil}
	dense, factor := mat.NewSymDense(4, nil), mat.NewSymDense(2, nil)
	penalty := 0.0
	for range rows {
		d, s, a := randomDiagonal(rng, 3), randomSPD(rng, 4), randomSPD(rng, 2)
		for i, v := range d {
			sums[0].(Diagonal)[i] += v / rows
		}
		s2, a2 := new(mat.SymDense), new(mat.SymDense)
		s2.ScaleSym(1./rows, s)
		a2.ScaleSym(1./rows, a)
		dense.AddSym(dense, s2)
		factor.AddSym(factor, a2)
		penalty += tilt.Penalty(0, d) + tilt.Penalty(1, s) + tilt.Penalty(2, Kronecker{NewDense(a), Identity(3)})
	}
	sums[1], sums[2] = NewDense(dense), Kronecker{NewDense(factor), Identity(3)}
	requireClose(t, (float64(at.Dim())-at.LogDet())/2-penalty, at.Tangent(sums), "sum over rows")
}

// Two tilts known in closed form: D_ξ/(2N_k) for a mixture component whose rows
// have the component's unit information, and ½D z'S₀⁻¹z for BPCA (S₀ summed over rows).
func TestKnownTilts(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	const n, nk, d = 200., 37., 5
	unit := NewDense(randomSPD(rng, d))
	mixture := &Tilt{F: Blocks{Scaled{nk / n, unit}}, N: n}
	requireClose(t, d/(2*nk), mixture.Penalty(0, unit), "mixture")

	const lambda = 1.7
	s := randomSPD(rng, 3)
	z := mat.NewVecDense(3, []float64{1, -2, 0.5})
	var zz mat.SymDense
	zz.SymOuterK(1, z)
	bpca := &Tilt{F: Blocks{Scaled{lambda / n, Kronecker{NewDense(s), Identity(d)}}}, N: n}
	got := bpca.Penalty(0, Scaled{lambda, Kronecker{NewDense(&zz), Identity(d)}})
	requireClose(t, d*NewDense(s).InverseTrace(&zz)/2, got, "BPCA")

	var none *Tilt
	assert.Zero(t, none.Penalty(3, Identity(1)))
	lost := &Tilt{F: Blocks{Scaled{0, unit}}, N: n}
	assert.Equal(t, math.Inf(1), lost.Penalty(0, unit))
}

func TestPointersAreTheirBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	a, b, g := NewDense(randomSPD(rng, 3)), Diagonal{1, 2}, NewDense(randomSPD(rng, 3))
	k, s := Kronecker{a, &Scaled{2, b}}, Scaled{3, g}
	for _, pair := range [][2]Block{{k, &k}, {s, &s}} {
		assert.Equal(t, Blocks{pair[0]}.Smallest(), Blocks{pair[1]}.Smallest())
		assert.Equal(t, k.InverseTrace(Kronecker{g, b}), (&k).InverseTrace(&Kronecker{g, b}))
	}
	assert.Equal(t, a.InverseTrace(s), a.InverseTrace(&s))
	assert.InEpsilon(t, k.InverseTrace(Kronecker{g, b})*3, k.InverseTrace(&Scaled{3, &Kronecker{g, b}}), 1e-14)
	for _, block := range []Block{k, &k} {
		_, ok := AsKronecker(block)
		assert.True(t, ok)
	}
	_, ok := AsKronecker(a)
	assert.False(t, ok)
}
