package laplace

import (
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

		distant, near := make(Blocks, len(at)), make(Blocks, len(at))
		const step = 1e-4
		for i, block := range at {
			distant[i] = similar(rng, block)
			var mix mat.SymDense
			mix.ScaleSym(step, randomSPD(rng, block.SymmetricDim()))
			mix.AddSym(&mix, symmetric(plain(block)))
			near[i] = NewDense(&mix)
		}
		require.LessOrEqual(t, at.Tangent(distant), -distant.LogDet()/2+1e-10)

		// Near F₀ the gap is of second order: with Δ = F − F₀ at most ¼ tr((F₀⁻¹Δ)²).
		gap := -near.LogDet()/2 - at.Tangent(near)
		change := at.InverseTrace(near) - float64(at.Dim())
		require.GreaterOrEqual(t, gap, -1e-10)
		require.LessOrEqual(t, gap, change*change/4+1e-10)
	})
}

func TestPointersAreTheirBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	a, b, g := NewDense(randomSPD(rng, 3)), Diagonal{1, 2}, NewDense(randomSPD(rng, 3))
	k, s := Kronecker{a, &Scaled{2, b}}, Scaled{3, g}
	for _, pair := range [][2]Block{{k, &k}, {s, &s}} {
		assert.Equal(t, pair[0].Eigenvalues(nil), pair[1].Eigenvalues(nil))
		assert.Equal(t, k.InverseTrace(Kronecker{g, b}), (&k).InverseTrace(&Kronecker{g, b}))
	}
	assert.Equal(t, a.InverseTrace(s), a.InverseTrace(&s))
	assert.InEpsilon(t, k.InverseTrace(Kronecker{g, b})*3, k.InverseTrace(&Scaled{3, &Kronecker{g, b}}), 1e-14)
}
