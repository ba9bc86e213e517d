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

	"github.com/latent-go/latent/internal/linalg"
)

// With leading eigenvalues alone the search ends at the same maximum as with all of them, in few evaluations, with and
// without a prior.
func TestLeadingEigenvaluesFindTheSameMaximum(t *testing.T) {
	const d = 40
	for _, n := range []int{30, 400} {
		for k := range 5 {
			c := wishart(d, 3, n, 5)
			for _, prior := range []*Prior{nil, {N: float64(n), Worth: 2, Middle: share(c, d, 1)}} {
				t.Run(fmt.Sprintf("%d rows, %d factors, prior %v", n, k, prior != nil), func(t *testing.T) {
					low := share(c, d, 0.005)
					values, noise := [2]float64{}, [2][]float64{share(c, d, 0.3), share(c, d, 0.3)}
					for way, of := range []spectrum{all{}, &leading{}} {
						var ok bool
						w := make([]float64, d*k)
						values[way], ok = maximize(of, c, low, noise[way], w, math.Inf(-1), prior)
						require.True(t, ok)
						if prior == nil {
							require.InDelta(t, logLikelihood(t, c, noise[way], w), values[way], 1e-9)
						}
					}
					assert.InDelta(t, values[0], values[1], 1e-8)
					for i, v := range noise[0] {
						assert.InEpsilon(t, v, noise[1][i], 1e-3)
					}
				})
			}
		}
	}
}

// Where all eigenvectors are at hand nothing is left out of the Hessian of wide tables, and conjugate gradients solve
// it; a direction of negative curvature is reported.
func TestHessianOfWideTables(t *testing.T) {
	const d, k = 12, 3
	c := wishart(d, 4, 60, 3)
	s := &search{
		spectrum: all{}, d: d, k: k, c: c, x: make([]float64, d), low: make([]float64, d), gradient: make([]float64, d), data: 1,
	}
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, d)
	for i := range x {
		x[i] = math.Log(c[i*(d+1)] * (0.3 + 0.3*rng.Float64()))
	}
	require.True(t, s.evaluate(x))
	value, gradient := s.value, slices.Clone(s.gradient)
	for _, exact := range []bool{true, false} {
		want := s.hessian(s, exact)
		wide := *s
		wide.spectrum, wide.gradient = &leading{}, make([]float64, d)
		require.True(t, wide.evaluate(slices.Clone(x)))
		assert.InDelta(t, value, wide.value, 1e-11)
		assert.InDeltaSlice(t, gradient, wide.gradient, 1e-11)
		wide.theta, wide.omega = s.theta, s.omega
		got := wide.hessian(&wide, exact)
		linalg.Mirror(d, want)
		for i := range d {
			for j := i; j < d; j++ {
				require.InDelta(t, want[i*d+j], got[i*d+j], 1e-10, "%d, %d, %v", i, j, exact)
			}
		}
	}
	h, b := make([]float64, d*d), make([]float64, d)
	for i := range d {
		b[i] = rng.NormFloat64()
		for j := i; j < d; j++ {
			h[i*d+j] = rng.NormFloat64() / d
		}
		h[i*(d+1)] = 1 + rng.Float64()
	}
	solved := slices.Clone(b)
	require.True(t, (*leading)(nil).solve(h, solved))
	var back mat.VecDense
	back.MulVec(mat.NewDense(d, d, h), mat.NewVecDense(d, solved))
	assert.InDeltaSlice(t, b, back.RawVector().Data, 1e-2)
	h[1] = 3
	assert.False(t, (*leading)(nil).solve(h, slices.Clone(b)))
	h[1], h[0] = 0, -1
	assert.False(t, (*leading)(nil).solve(h, b))
}
