package pruning_test

import (
	"math"
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

// mixing is the curvature of latent dimensions that mix, with the counts s.
func mixing(s mat.Symmetric, information laplace.Block) *laplace.Curvature {
	f := new(laplace.Curvature)
	f.Reset(1000, false)
	f.Mixed(s, information)
	return f
}

// classes is the curvature of dimensions with some blocks each.
func classes(counts ...[]float64) *laplace.Curvature {
	f := new(laplace.Curvature)
	f.Reset(1000, false)
	for k, list := range counts {
		for _, n := range list {
			f.Class(k, n, laplace.Scaled{Factor: 1e-9, Of: laplace.Identity(2)})
		}
	}
	return f
}

// TestDirectionsOfDegenerateData is the generic projection of paper G below A1: in the
// basis the counts are diagonal, and the dimensions that go have at most one observation.
func TestDirectionsOfDegenerateData(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	want := []float64{0, 0.02, 0.1, 500, 1000, 3000}
	s := spectrum([]float64{3000, 0.1, 500, 0.02, 1000, 0}, rng)
	v, err := pruning.Eigenvalue{}.Apply(mixing(s, laplace.Identity(7)), 6, true)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 2}, v.Dropped)
	assert.InDeltaSlice(t, want[:3], v.Observations, 1e-9)
	var sv, vsv mat.Dense
	sv.Mul(s, v.Basis)
	vsv.Mul(v.Basis.T(), &sv)
	for i := range 6 {
		for j := range 6 {
			expected := 0.0
			if i == j {
				expected = want[i]
			}
			assert.InDelta(t, expected, vsv.At(i, j), 1e-8)
		}
	}
}

func TestUnitsAreTheThreshold(t *testing.T) {
	f := classes([]float64{500}, []float64{1}, []float64{10})
	for _, c := range []struct {
		rule         pruning.Eigenvalue
		dropped      []int
		observations []float64
	}{
		{pruning.Eigenvalue{}, []int{1}, []float64{1}}, // one observation goes, too
		{pruning.Eigenvalue{Observations: 0.5}, nil, nil},
		{pruning.Eigenvalue{Observations: 20}, []int{1, 2}, []float64{1, 10}},
		{pruning.Eigenvalue{Observations: 9000}, []int{1, 2}, []float64{1, 10}}, // one always stays
		{pruning.Eigenvalue{Off: true, Observations: 9000}, nil, nil},
	} {
		v, err := c.rule.Apply(f, 3, false)
		require.NoError(t, err)
		assert.Equal(t, c.dropped, v.Dropped)
		assert.InDeltaSlice(t, c.observations, v.Observations, 1e-12)
		assert.Nil(t, v.Basis)
	}
}

// TestInformationIsNotJudged: it depends on the author's coordinates; where it vanishes, real
// dimensions would go.
func TestInformationIsNotJudged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.Float64Range(-300, 300).Draw(t, "exponent of the information")
		unit := laplace.Diagonal{math.Pow(10, scale), math.Pow(10, scale/2)}
		f := new(laplace.Curvature)
		f.Reset(100, false)
		f.Class(0, 60, unit)
		f.Class(1, 39.5, unit)
		f.Class(2, 0.5, unit)
		v, err := pruning.Eigenvalue{}.Apply(f, 3, false)
		require.NoError(t, err)
		require.Equal(t, []int{2}, v.Dropped)
	})
}

// TestSeveralBlocksCountByTheirPenalty: the penalty ½ Σ ln Count of a dimension changes sign
// where the geometric mean of its counts is 1.
func TestSeveralBlocksCountByTheirPenalty(t *testing.T) {
	v, err := pruning.Eigenvalue{}.Apply(classes([]float64{100}, []float64{0.01, 101}, []float64{0.01, 99}), 3, false)
	require.NoError(t, err)
	assert.Equal(t, []int{2}, v.Dropped)
}

// TestDimensionsThatOthersAccountFor: binary features do not rotate; a duplicate goes, one at a
// time, and so does one that is always on beside an intercept.
func TestDimensionsThatOthersAccountFor(t *testing.T) {
	z := mat.NewDense(40, 4, nil) // 1, z₁, z₂ = z₁, z₃
	for i := range 40 {
		z.SetRow(i, []float64{1, float64(i % 2), float64(i % 2), float64(i / 20)})
	}
	gram := func(z mat.Matrix) *mat.SymDense {
		var s mat.SymDense
		s.SymOuterK(1, z.T())
		return &s
	}
	v, err := pruning.Eigenvalue{}.Apply(mixing(gram(z), laplace.Identity(2)), 3, false)
	require.NoError(t, err)
	require.Len(t, v.Dropped, 1)
	assert.Less(t, v.Dropped[0], 2)
	assert.Nil(t, v.Basis)
	for i := range 40 {
		z.Set(i, 2, 1-1e-3*float64(i/39)) // always on but for a trifle
	}
	v, err = pruning.Eigenvalue{}.Apply(mixing(gram(z), laplace.Identity(2)), 3, false)
	require.NoError(t, err)
	assert.Equal(t, []int{1}, v.Dropped)
}

func TestCountsThatAreNoNumbersAreRefused(t *testing.T) {
	s := mat.NewSymDense(2, []float64{1, math.NaN(), math.NaN(), 1})
	_, err := pruning.Eigenvalue{}.Apply(mixing(s, laplace.Identity(3)), 2, true)
	assert.ErrorContains(t, err, "NaN")
}

func TestSingularCountsAreDegenerate(t *testing.T) {
	s := mat.NewSymDense(2, []float64{9, 9, 9, 9})
	v, err := pruning.Eigenvalue{}.Apply(mixing(s, laplace.Identity(3)), 2, true)
	require.NoError(t, err)
	assert.Equal(t, []int{0}, v.Dropped)
}

func TestRegularCurvatureIsJudgedWithoutAllocating(t *testing.T) {
	mixed := mixing(spectrum([]float64{10, 20, 30, 40}, rand.New(rand.NewPCG(1, 1))), laplace.Identity(5))
	own := classes([]float64{3}, []float64{4})
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		for _, f := range []*laplace.Curvature{mixed, own} {
			k := 4
			if f == own {
				k = 2
			}
			if v, err := (pruning.Eigenvalue{}).Apply(f, k, true); err != nil || len(v.Dropped) > 0 {
				t.Fatal("nothing is degenerate")
			}
		}
	}))
}

// TestExactlyTheDirectionsUpToTheThresholdGo: however near it they are, and however many there are.
func TestExactlyTheDirectionsUpToTheThresholdGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		const least = 1e-3
		factors := rapid.SliceOfN(rapid.SampledFrom([]float64{0.3, 0.9, 0.999, 1.001, 1.1, 3, 1e3, 1e6}), 2, 8).Draw(t, "multiples of the threshold")
		values, gone := make([]float64, len(factors)), 0
		for i, f := range factors {
			values[i] = least * f
			if f < 1 {
				gone++
			}
		}
		v, err := pruning.Eigenvalue{Observations: least}.Apply(mixing(spectrum(values, rng), laplace.Identity(3)), len(values), true)
		require.NoError(t, err)
		require.Len(t, v.Dropped, min(gone, len(values)-1), "%v times the threshold", factors)
	})
}
