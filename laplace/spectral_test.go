package laplace

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/mat"
)

// Units that are 10³² apart cost no digits: ln|DAD| = ln|A| + 2 ln|D|, of which a decomposition to within rounding of the
// largest eigenvalue knows nothing.
func TestSpectralKeepsSmallEigenvalues(t *testing.T) {
	a := randomSPD(rand.New(rand.NewPCG(28, 1)), 5)
	units := Diagonal{1e-8, 1e8, 1e-3, 1, 1e5}
	scaled := mat.NewSymDense(5, nil)
	for i := range 5 {
		for j := i; j < 5; j++ {
			scaled.SetSym(i, j, a.At(i, j)*units[i]*units[j])
		}
	}
	got := NewSpectral(scaled)
	assert.InDelta(t, NewDense(a).LogDet()+2*units.LogDet(), got.LogDet(), 1e-12)
	assert.InEpsilon(t, NewDense(scaled).InverseTrace(Identity(5)), got.InverseTrace(Identity(5)), 1e-12)
	for i := range 5 {
		for j := range 5 {
			assert.InDelta(t, scaled.At(i, j), got.At(i, j), 1e-12*math.Sqrt(scaled.At(i, i)*scaled.At(j, j)))
		}
	}
}

// A matrix that is singular, or indefinite but for rounding, is regular once its eigenvalues are raised, however small
// they are beside the largest.
func TestSpectralAtLeast(t *testing.T) {
	a := NewSpectral(mat.NewSymDense(2, []float64{1e17, 1e17, 1e17, 1e17}))
	assert.Equal(t, math.Inf(-1), a.LogDet())
	raised := a.AtLeast(0.5)
	assert.InDelta(t, math.Log(2e17)+math.Log(0.5), raised.LogDet(), 1e-12)
	assert.Equal(t, []float64{0.5, 2e17}, raised.Eigenvalues(nil))
	assert.Equal(t, math.Inf(-1), a.LogDet(), "the first is as it was")
	assert.Empty(t, NewSpectral(new(mat.SymDense)).Eigenvalues(nil))
}
