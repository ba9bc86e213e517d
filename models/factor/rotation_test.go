package factor

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// Three factors of the columns x1 to x9 of HolzingerSwineford1939 (R's lavaan 0.6-14): factanal of R 4.2.2 without
// rotation, and its loadings after varimax(eps = 1e-14), promax() and GPArotation 2022.10-2's oblimin(eps = 1e-12).
var (
	schoolLoadings = mat.NewDense(9, 3, []float64{
		0.4880470731, 0.3135243053, 0.3885672435,
		0.2444727428, 0.1731295961, 0.4018997861,
		0.2724388427, 0.4070552810, 0.4661638292,
		0.8345223184, -0.1528091961, -0.0320750505,
		0.8390429992, -0.2090968780, -0.0969950552,
		0.8233690850, -0.1288215024, 0.0158925715,
		0.2287812991, 0.4845305938, -0.4589996005,
		0.2697117519, 0.6217289262, -0.2686245342,
		0.3764729439, 0.5607570570, 0.0239358843,
	})
	schoolVarimax = mat.NewDense(9, 3, []float64{
		0.2770033507, 0.1515061669, 0.6227254318,
		0.1045246061, -0.0266077271, 0.4895210441,
		0.0336608521, 0.1303625722, 0.6626448424,
		0.8268799928, 0.0989052273, 0.1652095421,
		0.8609757083, 0.0913732875, 0.0865705012,
		0.8011274075, 0.0885841644, 0.2124427597,
		0.0904420860, 0.6959350701, -0.0727050185,
		0.0505962750, 0.7090263229, 0.1617779888,
		0.1315562996, 0.5237473173, 0.4063680212,
	})
	schoolPromax = mat.NewDense(9, 3, []float64{
		0.1456521297, 0.0087925784, 0.6239079644,
		0.0068518880, -0.1364904640, 0.5282361094,
		-0.1220881354, -0.0015711956, 0.7161169014,
		0.8410017614, 0.0020883443, 0.0183330263,
		0.8955868096, 0.0074709843, -0.0746623244,
		0.8039644690, -0.0162683588, 0.0768712095,
		0.0471947588, 0.7367132464, -0.1774014108,
		-0.0483861407, 0.7057792903, 0.0894342650,
		0.0021108845, 0.4550034049, 0.3676922146,
	})
	schoolPromaxCorrelations = mat.NewDense(3, 3, []float64{
		1, 0.2395023483, 0.3993777568,
		0.2395023483, 1, 0.3390386083,
		0.3993777568, 0.3390386083, 1,
	})
	schoolOblimin = mat.NewDense(9, 3, []float64{
		0.1910354336, 0.0309363554, 0.6020399256,
		0.0436891117, -0.1166239986, 0.5054299774,
		-0.0694954435, 0.0230703506, 0.6893236887,
		0.8404730741, 0.0053082637, 0.0217611015,
		0.8882076543, 0.0075575397, -0.0674343875,
		0.8075616861, -0.0109305908, 0.0775064493,
		0.0435886424, 0.7230976908, -0.1515938634,
		-0.0326724948, 0.7015023513, 0.1042306624,
		0.0348252195, 0.4631739607, 0.3660632652,
	})
	schoolObliminCorrelations = mat.NewDense(3, 3, []float64{
		1, 0.2164389011, 0.3257721065,
		0.2164389011, 1, 0.2704780652,
		0.3257721065, 0.2704780652, 1,
	})
)

// rotations by their names.
var rotations = map[string]func(mat.Matrix) (*Rotated, error){
	"varimax":   Varimax,
	"promax":    func(a mat.Matrix) (*Rotated, error) { return Promax(a, 0) },
	"quartimin": func(a mat.Matrix) (*Rotated, error) { return Oblimin(a, 0) },
	"oblimin":   func(a mat.Matrix) (*Rotated, error) { return Oblimin(a, -0.5) },
}

// near compares to 1e-6; of R's factors, in its order, columns are matched and signs ignored.
func near(t *testing.T, want, got mat.Matrix, order []int, squared bool) {
	t.Helper()
	r, c := want.Dims()
	for i := range r {
		for j := range c {
			row := i
			if squared {
				row = order[i]
			}
			assert.InDelta(t, math.Abs(want.At(row, order[j])), math.Abs(got.At(i, j)), 1e-6, "row %d, factor %d", i+1, j+1)
		}
	}
}

func TestRotationsAgreeWithR(t *testing.T) {
	for name, want := range map[string]struct{ loadings, correlations *mat.Dense }{
		"varimax":   {schoolVarimax, mat.NewDense(3, 3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1})},
		"promax":    {schoolPromax, schoolPromaxCorrelations},
		"quartimin": {schoolOblimin, schoolObliminCorrelations},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := rotations[name](schoolLoadings)
			require.NoError(t, err)
			order := []int{0, 1, 2} // those of R have the sums of squares of their own order
			square := func(j int) float64 { return mat.Dot(want.loadings.ColView(j), want.loadings.ColView(j)) }
			if square(1) < square(2) {
				order = []int{0, 2, 1}
			}
			near(t, want.loadings, r.Loadings, order, false)
			near(t, want.correlations, r.Correlations, order, true)
		})
	}
}

// The communalities, and all of Λ Φ Λᵀ, are those of the loadings as they were, the factors have variance 1, and
// sums of squares and signs are in order.
func TestRotationsKeepTheCovariance(t *testing.T) {
	for name, rotate := range rotations {
		for _, dims := range [][2]int{{9, 1}, {9, 2}, {20, 5}, {3, 3}} {
			a := randomLoadings(dims[0], dims[1], 3)
			r, err := rotate(a)
			require.NoError(t, err, name)
			var before, half, after, product mat.Dense
			before.Mul(a, a.T())
			half.Mul(r.Loadings, r.Correlations)
			after.Mul(&half, r.Loadings.T())
			assert.True(t, mat.EqualApprox(&before, &after, 1e-9), "%s %v", name, dims)
			product.Mul(a, r.Basis)
			assert.True(t, mat.EqualApprox(&product, r.Loadings, 1e-9), "%s %v", name, dims)
			last := math.Inf(1)
			for j := range dims[1] {
				assert.InDelta(t, 1, r.Correlations.At(j, j), 1e-9, "%s %v", name, dims)
				square := mat.Dot(r.Loadings.ColView(j), r.Loadings.ColView(j))
				assert.LessOrEqual(t, square, last, "%s %v", name, dims)
				last = square
				assert.GreaterOrEqual(t, mat.Sum(r.Loadings.ColView(j)), 0., "%s %v", name, dims)
			}
		}
	}
}

// Loadings of simple structure come back, whatever rotation hides them.
func TestRotationsFindSimpleStructure(t *testing.T) {
	simple := mat.NewDense(9, 3, nil)
	for i := range 9 {
		simple.Set(i, i/3, []float64{0.9, 0.8, 0.7}[i/3])
	}
	for name, rotate := range rotations {
		for seed := range uint64(5) {
			var a mat.Dense
			a.Mul(simple, randomBasis(3, seed))
			r, err := rotate(&a)
			require.NoError(t, err, name)
			assert.True(t, mat.EqualApprox(simple, r.Loadings, 1e-5), "%s\n%v", name, mat.Formatted(r.Loadings))
		}
	}
}

// Nothing depends on the axes that the loadings come in.
func TestRotationsForgetTheirAxes(t *testing.T) {
	for name, rotate := range rotations {
		want, err := rotate(schoolLoadings)
		require.NoError(t, err, name)
		for seed := range uint64(5) {
			var a mat.Dense
			a.Mul(schoolLoadings, randomBasis(3, seed))
			r, err := rotate(&a)
			require.NoError(t, err, name)
			assert.True(t, mat.EqualApprox(want.Loadings, r.Loadings, 1e-5), "%s, seed %d", name, seed)
			assert.True(t, mat.EqualApprox(want.Correlations, r.Correlations, 1e-5), "%s, seed %d", name, seed)
		}
	}
}

// At a minimum over T with columns of length 1 the gradient is along those columns. It is taken numerically.
func TestObliminIsStationary(t *testing.T) {
	for _, gamma := range []float64{0, -0.5, -3} {
		a := randomLoadings(12, 4, 8)
		r, err := Oblimin(a, gamma)
		require.NoError(t, err)
		criterion := func(basis *mat.Dense) float64 {
			var l mat.Dense
			l.Mul(a, basis)
			sum := 0.0
			for j := range 4 {
				for k := range 4 {
					var both, one, other float64
					for i := range 12 {
						x, y := l.At(i, j)*l.At(i, j), l.At(i, k)*l.At(i, k)
						both, one, other = both+x*y, one+x, other+y
					}
					if j != k {
						sum += both - gamma/12*one*other
					}
				}
			}
			return sum / 4
		}
		var transform mat.Dense // T: Basis = T⁻ᵀ
		require.NoError(t, transform.Inverse(r.Basis.T()))
		at := criterion(r.Basis)
		for j := range 4 {
			for seed := range uint64(4) {
				rng := rand.New(rand.NewPCG(seed, 5))
				slope := func(h float64) float64 {
					moved, basis := mat.DenseCopyOf(&transform), mat.Dense{}
					column := moved.ColView(j).(*mat.VecDense)
					for i := range 4 {
						column.SetVec(i, column.AtVec(i)+h*(rng.Float64()-0.5))
					}
					column.ScaleVec(1/mat.Norm(column, 2), column)
					require.NoError(t, basis.Inverse(moved.T()))
					return criterion(&basis) - at
				}
				assert.InDelta(t, 0, slope(1e-6), 1e-9*at)
				assert.GreaterOrEqual(t, slope(1e-2), -1e-12*at, "a minimum")
			}
		}
	}
}

func TestRotationsOfBadLoadings(t *testing.T) {
	withNaN := mat.DenseCopyOf(schoolLoadings)
	withNaN.Set(2, 1, math.NaN())
	collinear := mat.NewDense(4, 2, []float64{1, 2, 2, 4, 3, 6, -1, -2})
	for name, rotate := range rotations {
		_, err := rotate(nil)
		assert.ErrorContains(t, err, "no loadings", name)
		_, err = rotate(&mat.Dense{})
		assert.ErrorContains(t, err, "one factor or more", name)
		_, err = rotate(withNaN)
		assert.ErrorContains(t, err, "the loading of column 3 on factor 2 is NaN", name)
		one, err := rotate(mat.NewDense(3, 1, []float64{-1, -2, 0.5}))
		require.NoError(t, err, name)
		assert.InDeltaSlice(t, []float64{1, 2, -0.5}, one.Loadings.RawMatrix().Data, 1e-12, name)
		huge := mat.DenseCopyOf(schoolLoadings)
		huge.Scale(1e120, huge)
		big, err := rotate(huge)
		require.NoError(t, err, name)
		assert.Less(t, mat.Max(big.Loadings), 1e121, name)
		gap := mat.DenseCopyOf(schoolLoadings)
		gap.SetRow(4, []float64{0, 0, 0})
		r, err := rotate(gap)
		require.NoError(t, err, name)
		assert.InDeltaSlice(t, []float64{0, 0, 0}, r.Loadings.RawRowView(4), 1e-12, name)
		r, err = rotate(collinear)
		if name == "varimax" {
			require.NoError(t, err)
			assert.InDelta(t, mat.Norm(collinear, 2), mat.Norm(r.Loadings, 2), 1e-9)
			continue
		}
		assert.ErrorContains(t, err, "the loadings of 2 have rank 1", name)
		_, err = rotate(mat.NewDense(4, 2, nil))
		assert.ErrorContains(t, err, "rank 0", name)
	}
	for _, power := range []float64{math.NaN(), 0.5, -1, math.Inf(1)} {
		_, err := Promax(schoolLoadings, power)
		assert.ErrorContains(t, err, "power")
	}
	for _, gamma := range []float64{math.NaN(), 0.5, math.Inf(-1)} {
		_, err := Oblimin(schoolLoadings, gamma)
		assert.ErrorContains(t, err, "γ")
	}
}

func randomLoadings(d, k int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 0))
	a := mat.NewDense(d, k, nil)
	for i := range d {
		for j := range k {
			a.Set(i, j, rng.NormFloat64())
		}
	}
	return a
}

func randomBasis(k int, seed uint64) *mat.Dense {
	var qr mat.QR
	qr.Factorize(randomLoadings(k, k, seed+100))
	var q mat.Dense
	qr.QTo(&q)
	return &q
}
