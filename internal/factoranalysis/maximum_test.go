package factoranalysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// The covariance matrix of columns x1 to x9 of HolzingerSwineford1939 (R's lavaan 0.6-14), divided by N.
var school = []float64{
	1.3583698455, 0.4073713302, 0.5798993223, 0.5048349962, 0.4406155374, 0.4548081306, 0.0847654345, 0.2638376844, 0.4583385471,
	0.4073713302, 1.3817838655, 0.4510639369, 0.2089233703, 0.2110910752, 0.2475445713, -0.0967510176, 0.1096593857, 0.2440094509,
	0.5798993223, 0.4510639369, 1.2748648608, 0.2081696129, 0.1122962909, 0.2441089815, 0.0883418380, 0.2123226427, 0.3738525709,
	0.5048349962, 0.2089233703, 0.2081696129, 1.3506645079, 1.0977527816, 0.8955157094, 0.2197425898, 0.1255933500, 0.2433627372,
	0.4406155374, 0.2110910752, 0.1122962909, 1.0977527816, 1.6597857640, 1.0145240421, 0.1429995481, 0.1806052086, 0.2952413297,
	0.4548081306, 0.2475445713, 0.2441089815, 0.8955157094, 1.0145240421, 1.1963583780, 0.1440783892, 0.1654310049, 0.2359969494,
	0.0847654345, -0.0967510176, 0.0883418380, 0.2197425898, 0.1429995481, 0.1440783892, 1.1831394643, 0.5352452212, 0.3732972192,
	0.2638376844, 0.1096593857, 0.2123226427, 0.1255933500, 0.1806052086, 0.1654310049, 0.5352452212, 1.0219828148, 0.4573165598,
	0.4583385471, 0.2440094509, 0.3738525709, 0.2433627372, 0.2952413297, 0.2359969494, 0.3732972192, 0.4573165598, 1.0150038700,
}

// share are the bounds of factanal: a share of the variances.
func share(c []float64, d int, of float64) []float64 {
	low := make([]float64, d)
	for i := range low {
		low[i] = of * c[i*d+i]
	}
	return low
}

// logLikelihood is −½ [ln|Σ| + tr(Σ⁻¹C)].
func logLikelihood(t *testing.T, c, psi, w []float64) float64 {
	d := len(psi)
	k := len(w) / d
	sigma := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			v := 0.0
			for m := range k {
				v += w[i*k+m] * w[j*k+m]
			}
			if i == j {
				v += psi[i]
			}
			sigma.SetSym(i, j, v)
		}
	}
	var chol mat.Cholesky
	require.True(t, chol.Factorize(sigma))
	var solved mat.Dense
	require.NoError(t, chol.SolveTo(&solved, mat.NewDense(d, d, slices.Clone(c))))
	return -(chol.LogDet() + mat.Trace(&solved)) / 2
}

// factanal of R 4.2.2, with its bound of 0.005, 20 starts: uniquenesses, and its criterion, which is
// ln|Σ| + tr(Σ⁻¹C) − ln|C| − D.
func TestMaximumIsThatOfFactanal(t *testing.T) {
	const d = 9
	var chol mat.Cholesky
	require.True(t, chol.Factorize(mat.NewSymDense(d, slices.Clone(school))))
	for k, want := range []struct {
		criterion    float64
		uniquenesses []float64
	}{
		1: {1.03742246, []float64{0.808208, 0.951422, 0.950370, 0.281437, 0.292535, 0.297623, 0.967429, 0.959526, 0.905872}},
		2: {0.43291135, []float64{0.672829, 0.905571, 0.783054, 0.273981, 0.264465, 0.301788, 0.802078, 0.629701, 0.457932}},
		3: {0.07606889, []float64{0.512528, 0.748736, 0.542775, 0.279194, 0.242876, 0.305215, 0.502207, 0.468550, 0.543246}},
		4: {0.01725037, []float64{0.521970, 0.769249, 0.501047, 0.262693, 0.198312, 0.314255, 0.005000, 0.555856, 0.458796}},
	} {
		if k == 0 {
			continue
		}
		psi, w := share(school, d, 0.5), make([]float64, d*k)
		value, ok := Maximize(school, share(school, d, 0.005), psi, w, math.Inf(-1), nil)
		require.True(t, ok)
		assert.InDelta(t, -(want.criterion+chol.LogDet()+d)/2, value, 1e-7, "K = %d", k)
		assert.InDelta(t, logLikelihood(t, school, psi, w), value, 1e-12)
		for i, u := range want.uniquenesses {
			assert.InDelta(t, u, psi[i]/school[i*d+i], 3e-4, "K = %d, column %d", k, i+1)
		}
	}
}

// wishart is the covariance of n rows of K factors, and their noise.
func wishart(d, k, n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	w := make([]float64, d*k)
	for i := range w {
		w[i] = rng.NormFloat64()
	}
	c := make([]float64, d*d)
	x, z := make([]float64, d), make([]float64, k)
	for range n {
		for m := range z {
			z[m] = rng.NormFloat64()
		}
		for i := range x {
			x[i] = rng.NormFloat64() * (0.5 + float64(i%3))
			for m, v := range z {
				x[i] += w[i*k+m] * v
			}
		}
		for i := range d {
			for j := range d {
				c[i*d+j] += x[i] * x[j] / float64(n)
			}
		}
	}
	return c
}

// The gradient vanishes, or points below a bound, and no start is left by less than the value that it had.
func TestMaximumIsStationaryAndNoLowerThanItsStart(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d, k := 6+rng.IntN(10), rng.IntN(5)
		n := []int{8, 40, 1000}[seed%3]
		t.Run(fmt.Sprintf("%d: %d of %d columns, %d rows", seed, k, d, n), func(t *testing.T) {
			c := wishart(d, 3, n, seed)
			low, psi := share(c, d, 0.005), share(c, d, 0.3)
			w := make([]float64, d*k)
			for i := range psi {
				psi[i] *= 0.1 + 1.5*rng.Float64()
			}
			start := slices.Clone(psi)
			value, ok := Maximize(c, low, psi, w, math.Inf(-1), nil)
			require.True(t, ok)
			require.GreaterOrEqual(t, value, logLikelihood(t, c, start, make([]float64, d*k))-1e-12)
			for i := range d {
				const h = 1e-5
				at := func(step float64) float64 {
					moved := slices.Clone(psi)
					moved[i] *= math.Exp(step)
					return logLikelihood(t, c, moved, w)
				}
				slope := (at(h) - at(-h)) / (2 * h)
				if psi[i] > low[i]*(1+1e-12) {
					assert.InDelta(t, 0, slope, 1e-7, "ψ_%d", i+1)
				} else {
					assert.LessOrEqual(t, slope, 1e-7, "ψ_%d at its bound", i+1)
				}
				for m := range k {
					at := func(step float64) float64 {
						moved := slices.Clone(w)
						moved[i*k+m] += step
						return logLikelihood(t, c, psi, moved)
					}
					assert.InDelta(t, 0, (at(h)-at(-h))/(2*h)*math.Sqrt(c[i*d+i]), 1e-6, "loading %d, %d", i+1, m+1)
				}
			}
			again, _ := Maximize(c, low, psi, w, math.Inf(-1), nil)
			assert.InDelta(t, value, again, 1e-12, "a maximum stays")
		})
	}
}

func TestDegenerateCovariances(t *testing.T) {
	const d = 4
	one := []float64{2, 2, 0, 1, 2, 2, 0, 1, 0, 0, 0, 0, 1, 1, 0, 3} // a duplicate and a constant column
	low := []float64{0.01, 0.01, 1e-6, 0.01}
	psi, w := []float64{1, 1, 1, 1}, make([]float64, d*2)
	value, ok := Maximize(one, low, psi, w, math.Inf(-1), nil)
	require.True(t, ok)
	assert.False(t, math.IsNaN(value) || math.IsInf(value, 0))
	assert.InDelta(t, 1e-6, psi[2], 1e-15)
	assert.InDelta(t, 0, w[4]*w[4]+w[5]*w[5], 1e-15)
	diagonal := []float64{1, 0, 0, 2}
	psi, w = []float64{0.3, 0.3}, make([]float64, 2)
	_, ok = Maximize(diagonal, []float64{0.01, 0.01}, psi, w, math.Inf(-1), nil)
	require.True(t, ok)
	assert.InDeltaSlice(t, []float64{1, 2}, []float64{psi[0] + w[0]*w[0], psi[1] + w[1]*w[1]}, 1e-9)
	_, ok = Maximize([]float64{math.NaN(), 0, 0, 1}, []float64{1, 1}, []float64{1, 1}, nil, math.Inf(-1), nil)
	assert.False(t, ok)
}

func BenchmarkMaximize(b *testing.B) {
	for _, size := range [][2]int{{10, 3}, {15, 4}, {30, 5}, {100, 10}} {
		d, k := size[0], size[1]
		b.Run(fmt.Sprintf("D=%d K=%d", d, k), func(b *testing.B) {
			c := wishart(d, k, 20*d, 1)
			low := share(c, d, 0.005)
			w := make([]float64, d*k)
			for b.Loop() {
				Maximize(c, low, share(c, d, 0.5), w, math.Inf(-1), nil)
			}
		})
	}
}

// Found by the hostile tables of models/mixture: one time in a hundred LAPACK's eigenvectors of such blocks were as long as
// 1e60.
func TestTinyCovariances(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		d := 3 + rng.IntN(3)
		v, c := make([]float64, d), make([]float64, d*d)
		for i := range v {
			v[i] = math.Pow(10, -75*rng.Float64()) * (rng.Float64() - 0.5)
		}
		for i := range d {
			for j := range d {
				c[i*d+j] = v[i] * v[j]
			}
		}
		low, psi, w := make([]float64, d), make([]float64, d), make([]float64, d)
		for i := range d {
			low[i], psi[i] = 0.1, 1
		}
		_, ok := Maximize(c, low, psi, w, math.Inf(-1), nil)
		require.True(t, ok)
		for _, x := range w {
			require.LessOrEqual(t, math.Abs(x), 0.5, "seed %d", seed)
		}
	}
}
