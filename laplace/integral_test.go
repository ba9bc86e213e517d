package laplace_test

import (
	"bytes"
	"encoding/gob"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/laplace"
)

// The mean of normal rows of variance v, with a prior N(0, s): the integral is exact, and a term has it.
func TestTermIsTheIntegralOverANormalMean(t *testing.T) {
	for _, c := range []struct{ n, mean, v, s float64 }{{0, 0, 1, 2}, {1, 3, 0.5, 2}, {25, -1, 3, 0.1}} {
		mode := c.mean * c.n * c.s / (c.n*c.s + c.v)
		var f laplace.Curvature
		f.ResetPrior(c.n)
		f.Integrate(0, c.n, laplace.Term{Size: 1, Count: c.n, Distance: mode * mode / (2 * c.s),
			Information: (math.Log1p(c.n*c.s/c.v) - math.Log1p(c.n)) / 2})
		followed, information := f.Integral()
		atMode := -c.n / (2 * c.v) * (c.mean - mode) * (c.mean - mode)
		sum, step := 0.0, 1e-3
		for mu := -40.0; mu < 40; mu += step {
			sum += step * math.Exp(-c.n/(2*c.v)*(c.mean-mu)*(c.mean-mu)-mu*mu/(2*c.s)) / math.Sqrt(2*math.Pi*c.s)
		}
		assert.InDelta(t, math.Log(sum), atMode+followed+information, 1e-9)
	}
}

// The tilt of a class is the derivative of what its terms charge, of a matrix that of ½ ln|C + I|, and both travel.
func TestTiltOfAPriorIsTheDerivativeOfTheCharge(t *testing.T) {
	charge := func(n float64, count *mat.SymDense) (*laplace.Curvature, float64) {
		f := new(laplace.Curvature)
		f.ResetPrior(50)
		f.Integrate(0, n, laplace.Term{Size: 3, Count: n}, laplace.Term{Size: 4, Count: n, Worth: 2})
		f.Class(1, 50-n, laplace.Diagonal{2, 3})
		f.About(math.Log(6)/2, 0)
		f.Matrix(1, count, laplace.Identity(2))
		followed, information := f.Integral()
		assert.InDelta(t, 0, information, 1e-12)
		return f, -followed
	}
	count := mat.NewSymDense(2, []float64{7, 1, 1, 0})
	f, _ := charge(20, count)
	var tilt, sent laplace.Tilt
	tilt.Set(f)
	var buf bytes.Buffer
	require.NoError(t, gob.NewEncoder(&buf).Encode(&tilt))
	require.NoError(t, gob.NewDecoder(&buf).Decode(&sent))
	const h = 1e-3
	_, above := charge(20+h, count)
	_, below := charge(20-h, count)
	a := []float64{0.5, 2}
	moved := mat.NewSymDense(2, nil)
	moved.SymRankOne(count, h, mat.NewVecDense(2, a))
	_, along := charge(20, moved)
	moved.SymRankOne(count, -h, mat.NewVecDense(2, a))
	_, against := charge(20, moved)
	for _, one := range []*laplace.Tilt{&tilt, &sent} {
		assert.True(t, one.Prior())
		assert.InDelta(t, (above-below)/(2*h), one.Class(0)-one.Class(1), 1e-6)
		assert.InDelta(t, (along-against)/(2*h), one.Quadratic(2, a), 1e-4)
	}
}

// An empty class costs nothing, and a singular count has an inverse.
func TestPriorHasNoSingularCounts(t *testing.T) {
	var f laplace.Curvature
	f.ResetPrior(10)
	f.Integrate(0, 0, laplace.Term{Size: 5})
	f.Mixed(mat.NewSymDense(3, nil), laplace.Identity(4))
	followed, information := f.Integral()
	assert.Zero(t, followed)
	assert.Zero(t, information)
	var tilt laplace.Tilt
	tilt.Set(&f)
	precision := mat.NewSymDense(3, nil)
	require.NoError(t, tilt.Precision(precision))
	assert.Equal(t, 4.0, precision.At(1, 1))
	assert.Equal(t, 2.5, tilt.Class(0))
}

// What a block of a prior of one observation charges, where count and information do not factor: ½ ln|NB + I|, and what a prior about
// another point takes off.
func TestUnfactoredBlocksAndDistancesAreCharged(t *testing.T) {
	const n = 20.0
	block := mat.NewSymDense(2, []float64{3, 1, 1, 2})
	var f laplace.Curvature
	f.ResetPrior(n)
	f.Unfactored(0, block)
	f.About(2, 5)
	followed, information := f.Integral()
	assert.InDelta(t, -math.Log((3*n+1)*(2*n+1)-n*n)/2-5, followed, 1e-12)
	assert.InDelta(t, 2, information, 1e-12)

	f.ResetPrior(n)
	f.Matrix(0, block, laplace.Diagonal{2, 3, 4})
	followed, information = f.Integral()
	assert.InDelta(t, -1.5*math.Log(4*3-1), followed, 1e-12)
	assert.InDelta(t, -math.Log(24), information, 1e-12)
}

func TestLogVarianceModeIsWhereTheDerivativeVanishes(t *testing.T) {
	for _, c := range []struct{ n, w, worth float64 }{{10, 0.3, 1}, {10, 0.3, 4}, {1e6, 50, 0.5}, {3, 1e-8, 2}} {
		x := laplace.LogVarianceMode(c.n, c.w, c.worth)
		assert.InDelta(t, 0, c.n*(1-c.w*math.Exp(-x))+c.worth*x, 1e-6*c.n)
	}
	assert.InDelta(t, -5, laplace.LogVarianceMode(10, 0, 2), 0, "no variance at all")
}
