package linalg_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
)

// spectra are symmetric matrices with these eigenvalues, and some that are made otherwise.
func spectra(n int) map[string]*mat.SymDense {
	made := map[string]*mat.SymDense{"diagonal": mat.NewSymDense(n, nil), "zero": mat.NewSymDense(n, nil), "second differences": mat.NewSymDense(n, nil), "graded": mat.NewSymDense(n, nil)}
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	for i := range n {
		made["diagonal"].SetSym(i, i, rng.NormFloat64())
		made["second differences"].SetSym(i, i, 2)
		if i > 0 {
			made["second differences"].SetSym(i-1, i, -1)
		}
		for j := i; j < n; j++ {
			made["graded"].SetSym(i, j, rng.NormFloat64()*math.Pow(10, -10*float64(i+j)/float64(n)))
		}
	}
	var qr mat.QR
	qr.Factorize(random(n, n))
	var q mat.Dense
	qr.QTo(&q)
	for name, value := range map[string]func(i int) float64{
		"factors and noise": func(i int) float64 {
			return map[bool]float64{true: 100 - float64(i), false: 1 + 0.1*rng.Float64()}[i < 5]
		},
		"all the same": func(int) float64 { return 3 },
		"three values": func(i int) float64 { return float64(i % 3) },
		"low rank":     func(i int) float64 { return max(0, 4-float64(i)) },
		"pairs":        func(i int) float64 { return float64(i/2) + 1e-14*float64(i%2) },
		"both signs":   func(i int) float64 { return math.Sin(float64(i)) },
		"tiny":         func(i int) float64 { return 1e-290 * float64(i) },
		"huge":         func(i int) float64 { return 1e300 * float64(i) / float64(n) },
		"wide range":   func(i int) float64 { return math.Pow(10, -float64(i)/5) },
	} {
		scaled := mat.DenseCopyOf(&q)
		for j := range n {
			for i := range n {
				scaled.Set(i, j, q.At(i, j)*value(j))
			}
		}
		var a mat.Dense
		a.Mul(scaled, q.T())
		made[name] = mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				made[name].SetSym(i, j, a.At(i, j))
			}
		}
	}
	return made
}

// TestSymmetricEigenAgreesWithMat: the values of gonum's method, and vectors of any number of
// them that are orthonormal and satisfy Av = λv.
func TestSymmetricEigenAgreesWithMat(t *testing.T) {
	orders := []int{1, 2, 3, 40, 128, 131, 193}
	if testing.Short() {
		orders = []int{2, 3, 40, 131}
	}
	for _, n := range orders {
		for name, a := range spectra(n) {
			name := fmt.Sprintf("%s of order %d", name, n)
			norm := mat.Norm(a, 1)
			var want mat.EigenSym
			require.True(t, want.Factorize(a, true), name)
			e, ok := linalg.NewSymmetricEigen(n, mat.DenseCopyOf(a).RawMatrix().Data)
			require.True(t, ok, name)
			for i, v := range e.Values {
				assert.InDelta(t, want.Values(nil)[n-1-i]/max(norm, 1e-320), v/max(norm, 1e-320), 1e-14*float64(n), "value %d of %s", i, name)
			}
			checkAxes(t, a, want.Values(nil), name)
			for _, k := range []int{1, 7, n / 2, n} {
				if k < 1 || k > n {
					continue
				}
				v := e.Vectors(k)
				checkVectors(t, a, e.Values[:k], v, fmt.Sprintf("%d vectors of %s", k, name))
			}
		}
	}
}

// checkAxes holds linalg.Axes, with memory of another order, to the ascending values, and its vectors to a.
func checkAxes(t *testing.T, a *mat.SymDense, ascending []float64, name string) {
	t.Helper()
	n := a.SymmetricDim()
	norm := max(mat.Norm(a, 1), 1e-320)
	var axes linalg.Axes
	require.True(t, axes.Find(5, random(5, 5).RawMatrix().Data, true))
	for _, vectors := range []bool{false, true} {
		rows := mat.DenseCopyOf(a)
		require.True(t, axes.Find(n, rows.RawMatrix().Data, vectors), name)
		require.Len(t, axes.Values, n)
		for i, v := range axes.Values {
			assert.InDelta(t, ascending[n-1-i]/norm, v/norm, 1e-14*float64(n), "axes of %s: value %d", name, i)
		}
		if vectors {
			checkVectors(t, a, axes.Values, mat.DenseCopyOf(rows.T()), "axes of "+name)
		}
	}
}

func checkVectors(t *testing.T, a *mat.SymDense, values []float64, v *mat.Dense, name string) {
	t.Helper()
	n, k := v.Dims()
	require.Len(t, values, k)
	var products, residual mat.Dense
	products.Mul(v.T(), v)
	norm := max(mat.Norm(a, 1), 1e-320)
	scaled := mat.NewDense(n, n, nil)
	scaled.Apply(func(_, _ int, x float64) float64 { return x / norm }, a)
	residual.Mul(scaled, v)
	worst, orthogonal := 0.0, 0.0
	for j := range k {
		for i := range n {
			worst = max(worst, math.Abs(residual.At(i, j)-values[j]/norm*v.At(i, j)))
		}
		for i := range k {
			orthogonal = max(orthogonal, math.Abs(products.At(i, j)-map[bool]float64{true: 1}[i == j]))
		}
	}
	assert.LessOrEqual(t, worst, 1.1e-12, name)
	assert.LessOrEqual(t, orthogonal, 1.1e-12, name)
}

func TestSymmetricEigenOfWhatIsNotFinite(t *testing.T) {
	for _, wrong := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		a := random(130, 130)
		a.Set(3, 100, wrong)
		_, ok := linalg.NewSymmetricEigen(130, a.RawMatrix().Data)
		assert.False(t, ok)
	}
}

func BenchmarkSymmetricEigen(b *testing.B) {
	const n = 1000
	var s mat.SymDense
	s.SymOuterK(1, random(n, 2*n))
	work := make([]float64, n*n)
	decomposed := func() *linalg.SymmetricEigen {
		copy(work, s.RawSymmetric().Data)
		e, _ := linalg.NewSymmetricEigen(n, work)
		return e
	}
	b.Run("values", func(b *testing.B) {
		for b.Loop() {
			decomposed()
		}
	})
	b.Run("mat", func(b *testing.B) {
		for b.Loop() {
			var e mat.EigenSym
			e.Factorize(&s, false)
		}
	})
	for _, k := range []int{20, 200, 500, 1000} {
		b.Run(fmt.Sprintf("vectors=%d", k), func(b *testing.B) {
			e := decomposed()
			for b.Loop() {
				e.Vectors(k)
			}
		})
	}
}

// TestSymmetricEigenAtTheEndOfTheRange: entries next to the largest number have the values of the
// matrix divided by a power of two.
func TestSymmetricEigenAtTheEndOfTheRange(t *testing.T) {
	for _, n := range []int{20, 200} {
		one, huge := make([]float64, n*n), make([]float64, n*n)
		for i := range n {
			for j := i; j < n; j++ {
				one[i*n+j] = 1 / float64((2+i+j)*(1+j))
			}
		}
		one[n*n-1] = 1.5
		for i, v := range one {
			huge[i] = math.Ldexp(v, 1023)
		}
		want, ok := linalg.NewSymmetricEigen(n, one)
		require.True(t, ok)
		got, ok := linalg.NewSymmetricEigen(n, huge)
		require.True(t, ok)
		for i, v := range want.Values {
			require.InDelta(t, v, math.Ldexp(got.Values[i], -1023), 1e-13, "n = %d, value %d", n, i)
		}
	}
}

// TestEigenvectorsOfEntriesOfAllSizes: gonum's routine has vectors as long as 1e123 of one in a hundred such matrices.
func TestEigenvectorsOfEntriesOfAllSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 3, 8, 20, 127, 138} {
		for _, least := range []float64{-30, -120, -160, -200, -300} {
			for range max(2, 2000/(n*n)) {
				scales, a := make([]float64, n), mat.NewSymDense(n, nil)
				for i := range scales {
					scales[i] = math.Pow(10, least*rng.Float64()/2*float64(rng.IntN(2)))
				}
				for i := range n {
					for j := i; j < n; j++ {
						a.SetSym(i, j, rng.NormFloat64()*scales[i]*scales[j])
					}
				}
				e, ok := linalg.NewSymmetricEigen(n, slices.Clone(a.RawSymmetric().Data))
				require.True(t, ok)
				v := e.Vectors(n)
				var left, right, gram mat.Dense
				left.Mul(a, v)
				right.Mul(v, mat.NewDiagDense(n, e.Values))
				gram.Mul(v.T(), v)
				size := 1 + math.Max(e.Values[0], -e.Values[n-1])
				require.True(t, mat.EqualApprox(&left, &right, 1e-12*size), "%d, 1e%v", n, least)
				require.True(t, mat.EqualApprox(&gram, eye(n), 1e-10), "%d, 1e%v", n, least)
			}
		}
	}
}

func eye(n int) mat.Matrix {
	d := mat.NewDiagDense(n, nil)
	for i := range n {
		d.SetDiag(i, 1)
	}
	return d
}
