package numeric

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

var kinds = map[string]Parameter{
	"Real":        Real("v", 2),
	"Positive":    Positive("v", 2),
	"Rate":        Rate("v", 2),
	"Probability": Probability("v", 2),
	"Simplex":     Simplex("v", 4),
	"SPD":         SPD("v", 3),
	"Interval":    Interval("v", 2, -1, 3),
	"Ordered":     Ordered("v", 3),
	"Discrete":    Discrete("v", 2),
}

// drawn draws values in the range of a kind: where a random step leads from the neutral point.
func drawn(t *rapid.T, k kind, label string) []float64 {
	v, dst, step := make([]float64, k.numbers()), make([]float64, k.numbers()), make([]float64, k.free())
	k.neutral(v)
	for i := range step {
		step[i] = rapid.Float64Range(-1, 1).Draw(t, label)
	}
	k.move(v, step, dst)
	return dst
}

// Every step stays in the range, and a step of 0 moves nothing.
func TestMoveStaysInRange(t *testing.T) {
	for name, p := range kinds {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			v := drawn(t, p.kind, "v")
			require.NoError(t, p.kind.check(v))
			dst, step := make([]float64, len(v)), make([]float64, p.kind.free())
			p.kind.move(v, step, dst)
			assert.InDeltaSlice(t, v, dst, 1e-12)
			for i := range step {
				step[i] = rapid.Float64Range(-20, 20).Draw(t, "step")
			}
			p.kind.move(v, step, dst)
			if name != "SPD" || condition(dst, 3) < 1e12 {
				assert.NoError(t, p.kind.check(dst))
			}
		}))
	}
}

func condition(v []float64, n int) float64 {
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(n, v)) {
		return math.Inf(1)
	}
	return chol.Cond()
}

// coordinates are those of the curvature, written down a second time: φ of values v, for the values unit of
// the whole table.
func coordinates(k kind, v, unit []float64) []float64 {
	var phi []float64
	switch k := k.(type) {
	case realKind:
		return v
	case positiveKind:
		for i, x := range v {
			phi = append(phi, x/unit[i])
		}
	case rateKind:
		for _, x := range v {
			phi = append(phi, 2*math.Sqrt(x))
		}
	case intervalKind:
		for _, x := range v {
			phi = append(phi, 2*math.Asin(math.Sqrt((x-k.low)/(k.high-k.low))))
		}
	case orderedKind:
		phi = append(phi, v[0])
		for i := 1; i < len(v); i++ {
			phi = append(phi, (v[i]-v[i-1])/(unit[i]-unit[i-1]))
		}
	case spdKind:
		// U⁻ᵀVU⁻¹ with unit = UᵀU.
		var chol mat.Cholesky
		chol.Factorize(mat.NewSymDense(int(k), unit))
		var u mat.TriDense
		chol.UTo(&u)
		var inverse, half, full mat.Dense
		_ = inverse.Inverse(&u)
		half.Mul(mat.NewDense(int(k), int(k), v), &inverse)
		full.Mul(inverse.T(), &half)
		for r := range int(k) {
			for c := range r + 1 {
				phi = append(phi, full.At(r, c))
			}
		}
	}
	return phi
}

func TestSlopeIsTheDerivativeOfTheCoordinates(t *testing.T) {
	for name, p := range kinds {
		if name == "Simplex" || name == "Discrete" {
			continue // its coordinates are those of the step, or none
		}
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			v, unit := drawn(t, p.kind, "v"), drawn(t, p.kind, "unit")
			n := p.kind.free()
			got, want := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
			p.kind.slope(v, unit, &window{got, 0})
			fd.Jacobian(want, func(y, step []float64) {
				dst := make([]float64, len(v))
				p.kind.move(v, step, dst)
				copy(y, coordinates(p.kind, dst, unit))
			}, make([]float64, n), &fd.JacobianSettings{Formula: fd.Central})
			assert.True(t, mat.EqualApprox(want, got, 1e-6), "%v %v", mat.Formatted(want), mat.Formatted(got))
		}))
	}
}

// The steps of a simplex are orthonormal on the sphere of radius 2: the Fisher information of a draw is I.
func TestSimplexHasUnitInformation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := simplexKind(4)
		p := drawn(t, k, "p")
		info := mat.NewSymDense(3, nil)
		fd.Hessian(info, func(step []float64) float64 {
			dst := make([]float64, 4)
			k.move(p, step, dst)
			sum := 0.0
			for i, x := range p {
				if x > 0 {
					sum -= x * math.Log(dst[i])
				}
			}
			return sum
		}, make([]float64, 3), &fd.Settings{Formula: fd.Central, Step: 1e-4})
		if least := min(p[0], p[1], p[2], p[3]); least > 1e-3 {
			assert.True(t, mat.EqualApprox(mat.NewSymDense(3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}), info, 1e-3), "%v at %v", mat.Formatted(info), p)
		}
	})
}

// The boundaries of a range can be left, and numbers next to them are put onto them.
func TestEdges(t *testing.T) {
	p, err := newPlan("component", []Parameter{Rate("r", 1), Probability("p", 2), Simplex("s", 3)})
	require.NoError(t, err)
	v := []float64{0, 0, 1, 0, 0.25, 0.75}
	steps := p.boundarySteps(v, 0.01, 0, p.free)
	require.Len(t, steps, 4)
	for i, number := range []int{0, 1, 2, 3} {
		dst := make([]float64, len(v))
		p.move(v, scaledBy(0.1, steps[i]), dst)
		assert.Greater(t, math.Abs(dst[number]-v[number]), 1e-3)
		for j := range v[:3] {
			if j != number {
				assert.InDelta(t, v[j], dst[j], 1e-15)
			}
		}
		require.NoError(t, p.check(dst))
	}
	near := []float64{1e-16, 1e-15, 1 - 1e-15, 1e-18, 0.25, 0.75}
	assert.True(t, p.snap(near, 1e-6))
	assert.Equal(t, v, near)
	assert.False(t, p.snap([]float64{0.1, 0.1, 0.9, 0.2, 0.2, 0.6}, 1e-6))
}

func scaledBy(f float64, v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = f * x
	}
	return out
}

// Second differences find the widths that they need, from wrong ones.
func TestCurvatureOf(t *testing.T) {
	f := func(x []float64) float64 { return -math.Cosh(1000*x[0])*3 - x[1]*x[1]/2e6 + x[0]*x[1]/10 }
	want := []float64{3e6, -0.1, -0.1, 1e-6}
	inf := math.Inf(1)
	for _, fine := range []bool{false, true} {
		dst := mat.NewSymDense(2, nil)
		curvatureOf(dst, f, &widths{[]float64{1, 1}, []float64{inf, inf}}, 10, fine)
		for i, w := range want {
			assert.InEpsilon(t, w, dst.At(i/2, i%2), 1e-2, "%v", i)
		}
	}
}

// climb finds the top of a hill that is far away and curved.
func TestClimb(t *testing.T) {
	rosenbrock := func(x []float64) float64 {
		return -100*(x[1]-x[0]*x[0])*(x[1]-x[0]*x[0]) - (1-x[0])*(1-x[0])
	}
	at := []float64{-1.2, 1}
	g := objective{n: 1}
	g.dim = 2
	g.value = func(t []float64) float64 { return rosenbrock([]float64{at[0] + t[0], at[1] + t[1]}) }
	g.curvature = func(dst *mat.SymDense) { curvatureOf(dst, g.value, nil, 0, false) }
	g.move = func(t []float64) { at[0], at[1] = at[0]+t[0], at[1]+t[1] }
	g.boundarySteps = func(float64) [][]float64 { return nil }
	g.snap = func(float64) {}
	g.search(true)
	assert.InDeltaSlice(t, []float64{1, 1}, at, 1e-6)
}
