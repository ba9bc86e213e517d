package laplace

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// tiltOf linearises at f.
func tiltOf(f *Curvature) *Tilt {
	t := new(Tilt)
	t.Set(f)
	return t
}

// TestCurvatureIsTheProductOfItsFactors: ln|F| by the factors is that of the blocks, written
// out, and FIC's part is what is left without the information.
func TestCurvatureIsTheProductOfItsFactors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 11))
		const n = 50
		var f Curvature
		for range 2 { // memory is reused
			f.Reset(n, false)
			information := 0.0
			for k := range 3 {
				one, other := randomBlock(rng, 1+rng.IntN(3), 2), randomBlock(rng, 1+rng.IntN(3), 2)
				count := randomSPD(rng, 2)
				f.Class(k, 1+40*rng.Float64(), one)
				f.Matrix(k, count, other)
				information += one.LogDet() + 2*other.LogDet()
			}
			mixed := randomBlock(rng, 4, 2)
			f.Mixed(randomSPD(rng, 3), mixed)
			information += 3 * mixed.LogDet()
			blocks := f.Blocks()
			require.Len(t, blocks, f.Len())
			require.Equal(t, blocks.Dim(), f.Dim())
			requireClose(t, blocks.LogDet(), f.LogDet(), "ln|F|")
			requireClose(t, f.LogDet()-information, f.LogDetCounts(), "counts")
		}
	})
}

// TestTiltIsTheTraceOfARow: tr(F₀⁻¹F_n)/(2N) with the row's own F_n, whatever the information is.
func TestTiltIsTheTraceOfARow(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	const n = 200.
	one, two, three, four := randomBlock(rng, 3, 2), randomBlock(rng, 2, 2), randomBlock(rng, 2, 2), randomSPD(rng, 4)
	var f Curvature
	f.Reset(n, false)
	f.Class(0, 37, one)
	f.Class(0, 20, two)
	design, second := randomSPD(rng, 3), randomSPD(rng, 2)
	f.Matrix(1, design, two)
	f.Mixed(second, three)
	f.Unfactored(2, four)
	blocks, tilt := f.Blocks(), tiltOf(&f)
	trace := func(i int, row mat.Symmetric) float64 { return blocks[i].InverseTrace(row) / (2 * n) }

	requireClose(t, trace(0, one)+trace(1, two), tilt.Class(0), "class")
	requireClose(t, trace(1, two), tilt.Block(1), "block")
	assert.Equal(t, 20., tilt.Count(1))

	a := mat.NewVecDense(3, []float64{1, -2, 0.5})
	var aa mat.SymDense
	aa.SymOuterK(1, a)
	requireClose(t, trace(2, Kronecker{NewDense(&aa), two}), tilt.Quadratic(2, a.RawVector().Data), "quadratic")

	z := mat.NewVecDense(2, []float64{3, 1})
	var zz mat.SymDense
	zz.SymOuterK(1, z)
	precision := mat.NewSymDense(2, nil)
	require.NoError(t, tilt.Precision(precision))
	requireClose(t, trace(3, Kronecker{NewDense(&zz), three}), mat.Inner(z, precision, z)/2, "precision")
	again := mat.NewSymDense(2, nil)
	require.NoError(t, tilt.Precision(again, 3))
	assert.Equal(t, precision, again)

	row := randomSPD(rng, 4)
	requireClose(t, trace(4, row), tilt.Row(4, row), "row")
	assert.False(t, f.Factors())
	assert.Zero(t, tilt.Class(2))
}

// TestNoTiltIsNoPenalty: all methods of a nil tilt, which is EM's.
func TestNoTiltIsNoPenalty(t *testing.T) {
	var none *Tilt
	assert.Zero(t, none.Class(3))
	assert.Zero(t, none.Block(3))
	assert.Zero(t, none.Quadratic(3, []float64{1}))
	assert.Zero(t, none.Row(3, Identity(1)))
	dst := mat.NewSymDense(2, nil)
	require.NoError(t, none.Precision(dst))
	assert.Zero(t, mat.Norm(dst, 1))
}

func TestLostCounts(t *testing.T) {
	var f Curvature
	f.Reset(10, false)
	f.Class(0, 0, Identity(2))
	f.Class(0, 3, Identity(0))
	f.Matrix(1, mat.NewSymDense(2, []float64{1, 1, 1, 1}), Identity(1))
	f.Mixed(mat.NewSymDense(2, nil), Identity(2))
	tilt := tiltOf(&f)
	assert.Equal(t, math.Inf(1), tilt.Class(0))
	assert.Zero(t, tilt.Block(1), "no parameters, no penalty")
	assert.Equal(t, math.Inf(1), tilt.Quadratic(2, []float64{0, 1}))
	assert.Zero(t, tilt.Quadratic(2, []float64{0, 0}))
	assert.ErrorIs(t, tilt.Precision(mat.NewSymDense(2, nil)), ErrSingular)
	assert.Equal(t, math.Inf(-1), f.LogDet())
	assert.Zero(t, f.Observations(0))
	assert.Equal(t, math.Inf(1), f.Observations(7), "no block of its own")
}

// TestPenaltiesOfRowsAddUpToTheTangent is what gFAB's local step rests on.
func TestPenaltiesOfRowsAddUpToTheTangent(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	const rows = 40
	information := randomBlock(rng, 3, 2)
	var at, sum Curvature
	at.Reset(rows, false)
	at.Class(0, 17, information)
	at.Mixed(randomSPD(rng, 2), information)
	tilt := tiltOf(&at)
	precision := mat.NewSymDense(2, nil)
	require.NoError(t, tilt.Precision(precision))
	second, count, penalty := mat.NewSymDense(2, nil), 0.0, 0.0
	for range rows {
		q, z := rng.Float64(), mat.NewVecDense(2, []float64{rng.NormFloat64(), rng.NormFloat64()})
		count += q
		second.SymRankOne(second, 1, z)
		penalty += q*tilt.Class(0) + mat.Inner(z, precision, z)/2
	}
	sum.Reset(rows, false)
	sum.Class(0, count, information)
	sum.Mixed(second, information)
	f0 := at.Blocks()
	requireClose(t, (float64(at.Dim())-at.LogDet())/2-penalty, f0.Tangent(sum.Blocks()), "sum over rows")
}

// TestSweptRowsAreNoLatentDimensions: with an intercept, what is left of Σ z̃z̃ᵀ is the scatter
// of z about its mean.
func TestSweptRowsAreNoLatentDimensions(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	const rows = 30
	z, augmented := mat.NewDense(rows, 2, nil), mat.NewDense(rows, 3, nil)
	for i := range rows {
		augmented.Set(i, 0, 1)
		for j := range 2 {
			v := rng.NormFloat64() + 3
			z.Set(i, j, v)
			augmented.Set(i, 1+j, v)
		}
	}
	var gram mat.SymDense
	gram.SymOuterK(1, augmented.T())
	var f Curvature
	f.Reset(rows, false)
	f.Mixed(&gram, Identity(5))
	s, err := f.MixedObservations(2)
	require.NoError(t, err)
	for i := range 2 {
		for j := range 2 {
			want := 0.0
			for r := range rows {
				want += (z.At(r, i) - mat.Sum(z.ColView(i))/rows) * (z.At(r, j) - mat.Sum(z.ColView(j))/rows)
			}
			assert.InDelta(t, want, s.At(i, j), 1e-9)
		}
	}
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(s, false))
	least := eigen.Values(nil)[0]
	assert.False(t, f.MixedAbove(2, least*1.0001))
	assert.True(t, f.MixedAbove(2, least/2.0001))
}

func TestReusedCurvatureDoesNotAllocate(t *testing.T) {
	var f Curvature
	var tilt Tilt
	unit, s := Scaled{2, Identity(3)}, mat.NewSymDense(2, []float64{2, 1, 1, 2})
	boxed := Block(unit)
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		f.Reset(10, false)
		f.Class(0, 3, boxed)
		f.Class(1, 4, boxed)
		f.Mixed(s, boxed)
		tilt.Set(&f)
		if f.LogDet() > 100 || tilt.Class(1) < 0 {
			t.Fatal("numbers")
		}
	}))
}

// A block without information is named; counts of 0 are not its fault.
func TestSingularBlocksAreNamed(t *testing.T) {
	var f Curvature
	f.Reset(10, false)
	f.Class(0, 4, Identity(2))
	f.Class(1, 0, Identity(2))
	_, found := f.Singular()
	assert.False(t, found)
	f.Class(2, 6, Diagonal{1, 0})
	k, found := f.Singular()
	assert.True(t, found)
	assert.Equal(t, 2, k)
}
