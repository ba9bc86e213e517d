package pruning_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/pruning"
)

// spectrum returns a symmetric matrix with the given eigenvalues in a random basis.
func spectrum(values []float64, rng *rand.Rand) *mat.SymDense {
	n := len(values)
	g := mat.NewDense(n, n, nil)
	for i := range g.RawMatrix().Data {
		g.RawMatrix().Data[i] = rng.NormFloat64()
	}
	var qr mat.QR
	qr.Factorize(g)
	var q, scaled, product mat.Dense
	qr.QTo(&q)
	scaled.Mul(&q, mat.NewDiagDense(n, values))
	product.Mul(&scaled, q.T())
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, (product.At(i, j)+product.At(j, i))/2)
		}
	}
	return s
}

func kronecker(a mat.Symmetric, scale float64, d int) laplace.Blocks {
	return laplace.Blocks{laplace.Kronecker{A: laplace.NewDense(a), B: laplace.Scaled{Factor: scale, Of: laplace.Identity(d)}}}
}

func TestDirectionsAreOrderedAndKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 5), 1, 8).Draw(t, "values")
		d := pruning.FromAxes(values)
		require.Equal(t, len(values), d.Len())
		for j, axis := range d.Axes {
			assert.Equal(t, values[axis], d.Values[j])
			if j > 0 {
				assert.GreaterOrEqual(t, d.Values[j-1], d.Values[j])
			}
		}
		drop := rapid.IntRange(0, d.Len()-1).Draw(t, "drop")
		kept := d.Without(drop)
		assert.Equal(t, d.Len()-1, kept.Len())
		assert.NotContains(t, kept.Axes, d.Axes[drop])
		assert.ElementsMatch(t, append(kept.Axes, d.Axes[drop]), d.Axes)
	})
}

func TestEigenvaluesBecomeDirections(t *testing.T) {
	vectors := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	d := pruning.FromEigen([]float64{1, 9}, vectors)
	assert.Equal(t, []float64{9, 1}, d.Values)
	assert.Equal(t, []float64{2, 1, 4, 3}, d.Basis.RawMatrix().Data)
	assert.Equal(t, []float64{1, 3}, d.Without(0).Basis.RawMatrix().Data)
}

// TestProjectionKeepsTheTopEigenvectors is the generic projection of paper G below A1:
// V F Vᵀ is diagonal with the large eigenvalues, and what is left out was below δ.
func TestProjectionKeepsTheTopEigenvectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, scale = 1000, 2
	a := spectrum([]float64{3, 1e-4, 0.5, 2e-5, 1, 0}, rng)
	v, err := pruning.Eigenvalue{}.Apply(kronecker(a, scale, 7), 6, n)
	require.NoError(t, err)
	require.Equal(t, 3, v.Keep.Len())
	assert.InDeltaSlice(t, []float64{2e-4, 4e-5, 0}, v.Dropped, 1e-12)
	var av, vav mat.Dense
	av.Mul(a, v.Keep.Basis)
	vav.Mul(v.Keep.Basis.T(), &av)
	for i := range 3 {
		for j := range 3 {
			want := 0.0
			if i == j {
				want = []float64{3, 1, 0.5}[i]
			}
			assert.InDelta(t, want, vav.At(i, j), 1e-12)
		}
	}
}

func TestDeltaIsTheThreshold(t *testing.T) {
	f := laplace.Blocks{laplace.Diagonal{0.5, 0.5}, laplace.Diagonal{0.01, 0.01}, laplace.Diagonal{0.1, 0.1}}
	for _, c := range []struct {
		rule    pruning.Eigenvalue
		n       float64
		dropped []float64
		axes    []int
	}{
		{pruning.Eigenvalue{}, 1000, nil, nil},
		{pruning.Eigenvalue{}, 100, []float64{0.01}, []int{0, 2}}, // σ = δ goes too
		{pruning.Eigenvalue{Delta: 0.2}, 1000, []float64{0.1, 0.01}, []int{0}},
		{pruning.Eigenvalue{Delta: 9}, 1000, []float64{0.1, 0.01}, []int{0}}, // one always stays
		{pruning.Eigenvalue{Off: true, Delta: 9}, 1000, nil, nil},
	} {
		v, err := c.rule.Apply(f, 3, c.n)
		require.NoError(t, err)
		assert.InDeltaSlice(t, c.dropped, v.Dropped, 1e-12)
		assert.Equal(t, c.axes, v.Keep.Axes)
	}
}

// TestWholeDimensionsCountByTheirPenalty: the penalty ½ ln|N F_k| of a dimension changes
// sign where the geometric mean of its eigenvalues is 1/N.
func TestWholeDimensionsCountByTheirPenalty(t *testing.T) {
	f := laplace.Blocks{laplace.Diagonal{1, 1}, laplace.Diagonal{1e-4, 1}, laplace.Diagonal{1e-8, 1e-2}}
	d, err := pruning.CurvatureDirections(f, 3)
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{1, 1e-2, 1e-5}, d.Values, 1e-12)
}

func TestCurvatureOfAnotherShapeIsRefused(t *testing.T) {
	_, err := pruning.CurvatureDirections(laplace.Blocks{laplace.Identity(2), laplace.Identity(2)}, 3)
	assert.ErrorContains(t, err, "2 blocks")
	_, err = pruning.Eigenvalue{}.Apply(kronecker(mat.NewSymDense(2, []float64{1, 0, 0, 1}), 1, 3), 5, 10)
	assert.Error(t, err)
}

func TestSingularFactorsAreDegenerate(t *testing.T) {
	v, err := pruning.Eigenvalue{}.Apply(kronecker(mat.NewSymDense(2, []float64{1, 1, 1, 1}), 1, 3), 2, 100)
	require.NoError(t, err)
	assert.Equal(t, 1, v.Keep.Len())
	assert.Len(t, v.Dropped, 1)
}

func TestRegularCurvatureIsJudgedWithoutAllocating(t *testing.T) {
	f := kronecker(spectrum([]float64{1, 2, 3, 4}, rand.New(rand.NewPCG(1, 1))), 2, 5)
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		if v, err := (pruning.Eigenvalue{}).Apply(f, 4, 1000); err != nil || len(v.Dropped) > 0 {
			t.Fatal("nothing is degenerate")
		}
	}))
}
