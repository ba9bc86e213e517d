package laplace

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

func TestDenseInverseAndEigenvectorsReproduceTheMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 1))
	for _, n := range []int{1, 2, 7, 30, 100} {
		a := randomSPD(rng, n)
		dense := NewDense(a)

		var inverse mat.SymDense
		require.NoError(t, dense.InverseTo(&inverse))
		var identity mat.Dense
		identity.Mul(a, &inverse)
		require.True(t, mat.EqualApprox(Identity(n), &identity, 1e-9), "n = %d", n)

		values, vectors, err := dense.Eigen()
		require.NoError(t, err)
		require.Equal(t, values, dense.Eigenvalues(nil), "n = %d", n)
		var product, scaled mat.Dense
		product.Mul(a, vectors)
		scaled.Mul(vectors, mat.NewDiagDense(n, values))
		require.True(t, mat.EqualApprox(&product, &scaled, 1e-10*values[n-1]), "n = %d", n)
	}
}

func TestDenseIsIndependentOfItsSource(t *testing.T) {
	a := mat.NewSymDense(2, []float64{2, 1, 1, 2})
	dense := NewDense(a)
	logDet := dense.LogDet()
	a.SetSym(0, 0, 9)
	assert.Equal(t, 2.0, dense.At(0, 0))
	assert.Equal(t, logDet, dense.LogDet())

	// Other sizes, views with a stride, other kinds of source, and back.
	rng := rand.New(rand.NewPCG(11, 1))
	big := randomSPD(rng, 6)
	for _, source := range []mat.Symmetric{big, big.SliceSym(1, 4), randomDiagonal(rng, 5), dense, Identity(0), big} {
		want := NewDense(source)
		dense.Set(source)
		assert.True(t, mat.Equal(source, dense))
		assert.Equal(t, want.LogDet(), dense.LogDet())
		assert.InDelta(t, float64(dense.SymmetricDim()), dense.InverseTrace(dense), 1e-9)
	}
}

func TestDenseDoesNotAllocateAtConstantSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	const n = 20
	a, g := randomSPD(rng, n), NewDense(randomSPD(rng, n))
	dense := NewDense(a)
	var row Block = Kronecker{g, Identity(4)}
	f := Blocks{dense, Kronecker{dense, Identity(4)}, Scaled{2, Kronecker{dense, Identity(4)}}}
	sum := 0.0
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		dense.Set(a)
		dense.Set(g)
		sum += dense.LogDet() + dense.InverseTrace(g) + dense.InverseTrace(a)
		sum += f.LogDet() + f[0].InverseTrace(g) + f[1].InverseTrace(row) + f[2].InverseTrace(row)
	}))
}

func TestEigenvaluesOfExtremeMagnitude(t *testing.T) {
	base := randomSPD(rand.New(rand.NewPCG(16, 1)), 5)
	want := NewDense(base).Eigenvalues(nil)
	for _, unit := range []float64{1e-150, 1e-140, 1e150, 1e153} {
		var scaled mat.SymDense
		scaled.ScaleSym(unit, base)
		got := NewDense(&scaled).Eigenvalues(nil)
		for i, v := range want {
			assert.InEpsilon(t, v*unit, got[i], 1e-12)
		}
	}
	// A tiny block beside a large one.
	mixed := mat.NewSymDense(4, nil)
	for i := range 2 {
		for j := range 2 {
			mixed.SetSym(i, j, base.At(i, j))
			mixed.SetSym(i+2, j+2, 1e-140*base.At(i, j))
		}
	}
	assert.NotPanics(t, func() { assert.Len(t, NewDense(mixed).Eigenvalues(nil), 4) })
}

func BenchmarkDenseSet(b *testing.B) {
	const n = 30
	a := randomSPD(rand.New(rand.NewPCG(13, 1)), n)
	dense := NewDense(a)
	b.ReportAllocs()
	for b.Loop() {
		dense.Set(a)
	}
}

func BenchmarkInverseTrace(b *testing.B) {
	const n, d = 30, 30
	rng := rand.New(rand.NewPCG(14, 1))
	dense, other := NewDense(randomSPD(rng, n)), NewDense(randomSPD(rng, n))
	full := NewDense(randomSPD(rng, n*d))
	for name, c := range map[string]struct {
		f Block
		g mat.Symmetric
	}{
		"Dense":              {dense, other},
		"Kronecker":          {Kronecker{dense, Identity(d)}, Kronecker{other, Identity(d)}},
		"KroneckerWithDense": {Kronecker{dense, Identity(d)}, full},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.f.InverseTrace(c.g)
			}
		})
	}
}
