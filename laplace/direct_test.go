package laplace_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/laplace"
)

// TestDirectSumIsItsDenseMatrix: entries, log-determinant, eigenvalues and inverse traces.
func TestDirectSumIsItsDenseMatrix(t *testing.T) {
	sum := laplace.DirectSum{
		laplace.Diagonal{2, 0.5},
		&laplace.Scaled{Factor: 3, Of: laplace.Identity(1)},
		laplace.NewDense(mat.NewSymDense(2, []float64{2, 1, 1, 3})),
	}
	dense := laplace.NewDense(sum)
	assert.Equal(t, 5, sum.SymmetricDim())
	assert.InDelta(t, 1, sum.At(3, 4), 0)
	assert.InDelta(t, 0, sum.At(0, 3), 0)
	assert.InDelta(t, dense.LogDet(), sum.LogDet(), 1e-13)
	assert.InDeltaSlice(t, dense.Eigenvalues(nil), sum.Eigenvalues(nil), 1e-13)
	g := mat.NewSymDense(5, nil)
	for i := range 5 {
		for j := i; j < 5; j++ {
			g.SetSym(i, j, math.Exp(-math.Abs(float64(i-j)))*float64(1+i)*float64(1+j))
		}
	}
	assert.InDelta(t, dense.InverseTrace(g), sum.InverseTrace(g), 1e-12)
	assert.InDelta(t, 5, sum.InverseTrace(sum), 1e-13)
	assert.Panics(t, func() { sum.At(5, 0) })
	assert.Panics(t, func() { sum.InverseTrace(laplace.Identity(4)) })
	assert.True(t, math.IsInf(laplace.DirectSum{laplace.Identity(2), laplace.Diagonal{0}}.LogDet(), -1))
}
