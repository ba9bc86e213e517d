package laplace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed"
)

// randomSPD draws GGᵀ + I/2 with Gaussian G: condition numbers up to about 100.
func randomSPD(rng *rand.Rand, n int) *mat.SymDense {
	if n == 0 {
		return new(mat.SymDense)
	}
	g := mat.NewDense(n, n, nil)
	g.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, g)
	var s mat.SymDense
	s.SymOuterK(1, g)
	for i := range n {
		s.SetSym(i, i, s.At(i, i)+0.5)
	}
	return &s
}

func randomDiagonal(rng *rand.Rand, n int) Diagonal {
	d := make(Diagonal, n)
	for i := range d {
		d[i] = math.Exp(rng.NormFloat64())
	}
	return d
}

// randomBlock draws a structure of about size n, nested to the given depth.
func randomBlock(rng *rand.Rand, n, depth int) Block {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rng.IntN(kinds) {
	case 0:
		return Identity(n)
	case 1:
		return randomDiagonal(rng, n)
	case 2:
		return NewDense(randomSPD(rng, n))
	case 3:
		return NewSpectral(randomSPD(rng, n))
	case 4:
		return Scaled{Factor: math.Exp(rng.NormFloat64()), Of: randomBlock(rng, n, depth-1)}
	default:
		return Kronecker{A: randomBlock(rng, 1+rng.IntN(3), depth-1), B: randomBlock(rng, n, depth-1)}
	}
}

// similar gives a block of the structure of b with other numbers.
func similar(rng *rand.Rand, b Block) Block {
	switch b := b.(type) {
	case Diagonal:
		return randomDiagonal(rng, len(b))
	case *Dense:
		return NewDense(randomSPD(rng, b.SymmetricDim()))
	case *Spectral:
		return NewSpectral(randomSPD(rng, b.SymmetricDim()))
	case Scaled:
		return Scaled{Factor: math.Exp(rng.NormFloat64()), Of: similar(rng, b.Of)}
	case Kronecker:
		return Kronecker{A: similar(rng, b.A), B: similar(rng, b.B)}
	}
	return b
}

// plain is b as a matrix of gonum's, by another way than Block.At.
func plain(b Block) *mat.Dense {
	n := b.SymmetricDim()
	out := mat.NewDense(n, n, nil)
	switch b := b.(type) {
	case Identity:
		for i := range n {
			out.Set(i, i, 1)
		}
	case Diagonal:
		out.Copy(mat.NewDiagDense(n, b))
	case *Dense:
		out.Copy(mat.NewSymDense(n, slices.Clone(b.entries)))
	case *Spectral:
		out.Product(b.vectors, mat.NewDiagDense(n, b.values), b.vectors.T())
	case Scaled:
		out.Scale(b.Factor, plain(b.Of))
	case Kronecker:
		out.Reset()
		out.Kronecker(plain(b.A), plain(b.B))
	}
	return out
}

func symmetric(m *mat.Dense) *mat.SymDense {
	n, _ := m.Dims()
	return mat.NewSymDense(n, m.RawMatrix().Data)
}

// requireClose holds two numbers to 1e-10, relative to the larger of 1 and them.
func requireClose(t require.TestingT, want, got float64, what string) {
	require.LessOrEqual(t, math.Abs(want-got), 1e-10*max(1, math.Abs(want)), "%s: want %v, got %v", what, want, got)
}

func TestBlocksMatchDenseLinearAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		block := randomBlock(rng, rapid.IntRange(1, 5).Draw(t, "n"), rapid.IntRange(0, 2).Draw(t, "depth"))
		full := symmetric(plain(block))
		n := full.SymmetricDim()
		require.True(t, mat.Equal(block.T(), block))
		require.True(t, mat.EqualApprox(full, block, 1e-12))

		var chol mat.Cholesky
		require.True(t, chol.Factorize(full))
		requireClose(t, chol.LogDet(), block.LogDet(), "LogDet")

		var eigen mat.EigenSym
		require.True(t, eigen.Factorize(full, false))
		want, got := eigen.Values(nil), block.Eigenvalues([]float64{7})
		require.Equal(t, 7.0, got[0], "appends")
		require.True(t, slices.IsSorted(got[1:]))
		for i, v := range want {
			require.InDelta(t, v, got[i+1], 1e-10*want[n-1])
		}

		// A trace against every kind of other matrix.
		other := similar(rng, block)
		random := randomSPD(rng, n)
		for _, g := range []mat.Symmetric{
			other, Scaled{3, other}, symmetric(plain(other)), NewDense(other), block,
			random, mat.NewDiagDense(n, randomDiagonal(rng, n)), randomDiagonal(rng, n), Identity(n),
		} {
			var solved mat.Dense
			require.NoError(t, chol.SolveTo(&solved, g))
			requireClose(t, mat.Trace(&solved), block.InverseTrace(g), fmt.Sprintf("InverseTrace of %T with %T", block, g))
		}
		requireClose(t, float64(n), block.InverseTrace(block), "tr(F⁻¹F)")
	})
}

func TestScalingMovesDeterminantAndTraceByItsPower(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for range 50 {
		block := randomBlock(rng, 4, 2)
		g := randomSPD(rng, block.SymmetricDim())
		for _, factor := range []float64{1e-150, 0.3, 1, 1e150} {
			scaled := Scaled{factor, block}
			n := float64(block.SymmetricDim())
			requireClose(t, block.LogDet()+n*math.Log(factor), scaled.LogDet(), "LogDet")
			require.InEpsilon(t, block.InverseTrace(g)/factor, scaled.InverseTrace(g), 1e-12)
			requireClose(t, block.InverseTrace(g), scaled.InverseTrace(Scaled{factor, NewDense(g)}), "both scaled")
		}
	}
}

func TestExtremeMagnitudesDoNotOverflow(t *testing.T) {
	spd := randomSPD(rand.New(rand.NewPCG(4, 4)), 6)
	base := NewDense(spd)
	units := []float64{1e-75, 1e75, 1e-70, 1, 1e60, 1e-30}
	mixed := mat.NewSymDense(6, nil)
	want := base.LogDet()
	for i, u := range units {
		want += 2 * math.Log(u)
		for j, v := range units {
			mixed.SetSym(i, j, spd.At(i, j)*u*v)
		}
	}
	dense := NewDense(mixed)
	requireClose(t, want, dense.LogDet(), "coordinates in units of their own")
	requireClose(t, 6, dense.InverseTrace(dense), "tr(F⁻¹F)")

	large, small := Diagonal{1e150, 1e150, 1e150}, Diagonal{1e-150, 1e-150}
	requireClose(t, 3*math.Log(1e150), large.LogDet(), "large")
	requireClose(t, 2*math.Log(1e-150), small.LogDet(), "small")
	for _, factors := range []Kronecker{{large, small}, {large, large}, {small, small}, {dense, large}, {NewDense(large), NewDense(small)}} {
		na, nb := float64(factors.A.SymmetricDim()), float64(factors.B.SymmetricDim())
		requireClose(t, nb*factors.A.LogDet()+na*factors.B.LogDet(), factors.LogDet(), "Kronecker")
		requireClose(t, na*nb, factors.InverseTrace(factors), "tr(F⁻¹F)")
	}
}

func TestSingularBlocksHaveNoDeterminantAndNoInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	// Gram matrices of rank n − 1, singular up to rounding alone.
	gram := func(n int, scale float64) *mat.SymDense {
		g := mat.NewDense(n, n-1, nil)
		g.Apply(func(i, _ int, _ float64) float64 { return scale * rng.NormFloat64() }, g)
		var s mat.SymDense
		s.SymOuterK(1, g)
		return &s
	}
	blocks := map[string]Block{
		"zero on the diagonal": Diagonal{1, 0, 2},
		"negative entry":       Diagonal{1, -1, 2},
		"zero matrix":          NewDense(mat.NewSymDense(3, nil)),
		"indefinite":           NewDense(mat.NewSymDense(2, []float64{1, 2, 2, 1})),
		"negative definite":    NewDense(mat.NewSymDense(2, []float64{-1, 0, 0, -1})),
		"zero factor":          Scaled{0, Identity(3)},
		"singular left":        Kronecker{Diagonal{1, 0}, Identity(2)},
		"singular right":       Kronecker{NewDense(randomSPD(rng, 3)), Diagonal{1, 0}},
		"nested":               Scaled{2, Kronecker{Identity(2), Scaled{1, Diagonal{0}}}},
	}
	for n := 2; n < 9; n++ {
		blocks[fmt.Sprintf("rank %d of %d", n-1, n)] = NewDense(gram(n, 1))
		blocks[fmt.Sprintf("rank %d of %d, small", n-1, n)] = NewDense(gram(n, 1e-75))
		blocks[fmt.Sprintf("rank %d of %d, large", n-1, n)] = NewDense(gram(n, 1e75))
	}
	for name, block := range blocks {
		n := block.SymmetricDim()
		assert.Equal(t, math.Inf(-1), block.LogDet(), name)
		assert.Equal(t, math.Inf(1), block.InverseTrace(randomSPD(rng, n)), name)
		assert.Equal(t, math.Inf(1), block.InverseTrace(Identity(n)), name)
		assert.Zero(t, block.InverseTrace(mat.NewSymDense(n, nil)), "%s: g = 0", name)
		assert.Zero(t, block.InverseTrace(Scaled{0, Identity(n)}), "%s: g = 0", name)
		assert.Len(t, block.Eigenvalues(nil), n)
		assert.False(t, slices.ContainsFunc(Blocks{block, Identity(2)}.Eigenvalues(nil), math.IsNaN), name)
		if dense, ok := block.(*Dense); ok {
			var inverse mat.SymDense
			assert.ErrorIs(t, dense.InverseTo(&inverse), ErrSingular)
			assert.True(t, inverse.IsEmpty())
		}
	}
}

func TestLostDirectionThatRowDoesNotUseCostsNothing(t *testing.T) {
	f := Diagonal{2, 0}
	assert.Equal(t, 1.5, f.InverseTrace(Diagonal{3, 0}))
	assert.Equal(t, 3.0, Kronecker{f, Identity(2)}.InverseTrace(Kronecker{Diagonal{3, 0}, Identity(2)}))
	assert.Equal(t, math.Inf(1), Kronecker{f, Identity(2)}.InverseTrace(Kronecker{Diagonal{3, 1}, Identity(2)}))
}

func TestEmptyBlocksAreNeutral(t *testing.T) {
	var zero Dense
	empty := Blocks{
		Identity(0), Diagonal{}, Diagonal(nil), &zero, NewDense(Identity(0)), Scaled{0, Identity(0)},
		Kronecker{Identity(0), Diagonal{0}}, Kronecker{Diagonal{0}, &zero},
	}
	for _, block := range empty {
		assert.Zero(t, block.SymmetricDim())
		assert.Zero(t, block.LogDet(), "%T", block)
		assert.Empty(t, block.Eigenvalues(nil))
		assert.Zero(t, block.InverseTrace(Identity(0)))
		assert.Zero(t, block.InverseTrace(block))
	}
	assert.Zero(t, empty.Dim())
	assert.Zero(t, empty.InverseTrace(empty))
	full := Blocks{Diagonal{2, 3}}
	assert.Equal(t, full.LogDet(), append(full, empty...).LogDet())
	assert.Equal(t, full.Eigenvalues(nil), append(full, empty...).Eigenvalues(nil))
	var inverse mat.SymDense
	assert.NoError(t, zero.InverseTo(&inverse))
	values, vectors, err := zero.Eigen()
	assert.NoError(t, err)
	assert.Empty(t, values)
	assert.True(t, vectors.IsEmpty())
}

func TestNaNIsPassedOn(t *testing.T) {
	nan := math.NaN()
	for _, block := range []Block{
		Diagonal{1, nan}, NewDense(mat.NewSymDense(2, []float64{1, nan, nan, 1})),
		NewDense(mat.NewSymDense(2, []float64{math.Inf(1), 0, 0, 1})), Scaled{nan, Identity(2)},
		Kronecker{Diagonal{nan}, Identity(2)},
	} {
		if dense, ok := block.(*Dense); ok {
			_, _, err := dense.Eigen()
			assert.Error(t, err)
			assert.Error(t, dense.InverseTo(new(mat.SymDense)))
		}
		assert.True(t, math.IsNaN(block.LogDet()), "%T", block)
		assert.True(t, math.IsNaN(block.InverseTrace(Identity(2))), "%T", block)
		assert.True(t, slices.ContainsFunc(Blocks{block}.Eigenvalues(nil), math.IsNaN), "%T", block)
	}
}

func TestWrongSizesPanicByName(t *testing.T) {
	three := Identity(3)
	for _, block := range []Block{Identity(2), Diagonal{1, 1}, NewDense(Identity(2)), Scaled{1, Identity(2)}, Kronecker{Identity(2), Identity(1)}} {
		assert.PanicsWithValue(t, badDim, func() { block.InverseTrace(three) })
		assert.PanicsWithValue(t, mat.ErrRowAccess, func() { block.At(2, 0) })
		assert.PanicsWithValue(t, mat.ErrRowAccess, func() { block.At(-1, 0) })
		assert.PanicsWithValue(t, mat.ErrColAccess, func() { block.At(0, 2) })
		assert.PanicsWithValue(t, badDim, func() { Blocks{block}.InverseTrace(Blocks{three}) })
	}
	assert.PanicsWithValue(t, badBlocks, func() { Blocks{three}.InverseTrace(Blocks{three, three}) })
	assert.PanicsWithValue(t, badDst, func() { _ = NewDense(three).InverseTo(mat.NewSymDense(2, nil)) })
}

// Run under -race: reading must not touch the block.
func TestBlocksAreReadFromManyGoroutines(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	dense := NewDense(randomSPD(rng, 5))
	blocks := Blocks{dense, Kronecker{dense, Identity(3)}, Scaled{2, dense}, Diagonal{1, 2}}
	var f Curvature
	f.Reset(10, false)
	f.Matrix(0, dense, blocks[1])
	var tilt Tilt
	tilt.Set(&f)
	row := []float64{1, 2, 3, 4, 5}
	want := tilt.Quadratic(0, row)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				assert.Equal(t, want, tilt.Quadratic(0, row))
				assert.Equal(t, dense.At(1, 2), blocks[1].At(3, 6))
				blocks.LogDet()
				blocks.Eigenvalues(nil)
				var inverse mat.SymDense
				assert.NoError(t, dense.InverseTo(&inverse))
			}
		})
	}
	group.Wait()
}
