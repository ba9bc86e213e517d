package laplace

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// surfaces have Hessians in closed form, most of them away from any stationary point.
var surfaces = map[string]struct {
	h     func(x []float64) float64
	x     []float64
	exact []float64
}{
	"Rosenbrock": {
		h:     func(x []float64) float64 { return -100*math.Pow(x[1]-x[0]*x[0], 2) - math.Pow(1-x[0], 2) },
		x:     []float64{-1.2, 1},
		exact: []float64{-1330, -480, -480, -200}, // −1200x² + 400y − 2, 400x, −200
	},
	"bilinear": {
		h:     func(x []float64) float64 { return x[0] * x[1] },
		x:     []float64{0, 3},
		exact: []float64{0, 1, 1, 0},
	},
	"exponential": {
		h:     func(x []float64) float64 { return -math.Exp(x[0]+2*x[1]) - 1e4 },
		x:     []float64{1, 0.5},
		exact: []float64{-math.Exp(2), -2 * math.Exp(2), -2 * math.Exp(2), -4 * math.Exp(2)},
	},
	// n = 100, mean 2, variance 1e-8, at the maximum.
	"normal likelihood in μ, σ": {
		h: func(x []float64) float64 { return -100*math.Log(x[1]) - 50*(1e-8+math.Pow(x[0]-2, 2))/(x[1]*x[1]) },
		x: []float64{2, 1e-4}, exact: []float64{-1e10, 0, 0, -2e10},
	},
	"linear": {
		h:     func(x []float64) float64 { return 5 + 3*x[0] },
		x:     []float64{2},
		exact: []float64{0},
	},
}

func TestNumericHessianMatchesAnalytic(t *testing.T) {
	for name, s := range surfaces {
		for _, concurrent := range []bool{false, true} {
			d := len(s.x)
			var got mat.SymDense
			Hessian(&got, s.h, s.x, &Options{Concurrent: concurrent})
			worst := 0.0
			for i := range d {
				for j := range d {
					unit := math.Sqrt(math.Abs(s.exact[i*d+i] * s.exact[j*d+j]))
					if unit == 0 {
						unit = 1
					}
					worst = max(worst, math.Abs(got.At(i, j)-s.exact[i*d+j])/unit)
				}
			}
			t.Logf("%s: relative error %.1e", name, worst)
			assert.Less(t, worst, 1e-7, name)
		}
	}
}

// Extrapolation pays: one step of central differences of the same size is worse by
// orders of magnitude where h is far from quadratic.
func TestExtrapolationImprovesHessian(t *testing.T) {
	h := func(x []float64) float64 { return -math.Cosh(3 * x[0]) }
	exact := -9 * math.Cosh(3*0.4)
	local := differentiate(h, []float64{0.4}, h([]float64{0.4}), new(Options))
	s := local.scale[0] * local.step * 2
	plain := (h([]float64{0.4 + s}) - 2*h([]float64{0.4}) + h([]float64{0.4 - s})) / (s * s)
	var got mat.SymDense
	Hessian(&got, h, []float64{0.4}, nil)
	t.Logf("plain %.1e, extrapolated %.1e", math.Abs(plain/exact-1), math.Abs(got.At(0, 0)/exact-1))
	assert.Less(t, math.Abs(got.At(0, 0)/exact-1), math.Abs(plain/exact-1)/100)
}

func TestNumericHessianIsSerialAndLeavesItsPointAlone(t *testing.T) {
	x, calls := []float64{0.3, -0.2, 4}, 0
	h := func(y []float64) float64 { // counts without a lock: -race would report calls at once
		calls++
		sum := 0.0
		for i := range y {
			sum -= y[i] * y[i]
			y[i] = math.NaN()
		}
		return sum
	}
	fresh := func(y []float64) float64 { return h(append([]float64(nil), y...)) }
	dst := mat.NewSymDense(3, nil)
	Hessian(dst, fresh, x, nil)
	assert.Equal(t, []float64{0.3, -0.2, 4}, x)
	assert.Less(t, calls, 4*9+8*3+10*3)
	assert.InDelta(t, -2, dst.At(1, 1), 1e-8)
}

func TestHessianDestinationMustFit(t *testing.T) {
	h := func(x []float64) float64 { return -x[0] * x[0] }
	assert.PanicsWithValue(t, badDst, func() { Hessian(mat.NewSymDense(2, nil), h, []float64{1}, nil) })
	assert.PanicsWithValue(t, badScale, func() { Hessian(new(mat.SymDense), h, []float64{1}, &Options{Scale: []float64{1, 2}}) })
	var empty mat.SymDense
	require.NotPanics(t, func() { Hessian(&empty, h, nil, nil) })
	assert.True(t, empty.IsEmpty())
}
