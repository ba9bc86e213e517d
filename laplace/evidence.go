package laplace

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

var (
	// ErrNotStationary is wrapped by LogEvidence's error if h still rises at the given mode.
	ErrNotStationary = errors.New("laplace: the mode is not a stationary point")
	// ErrNotMaximum is wrapped by it if −∇²h is not positive definite.
	ErrNotMaximum = errors.New("laplace: the mode is not a strict maximum")
)

// Options say how to differentiate h. nil and the zero value select the defaults.
type Options struct {
	// Hessian puts the d×d Hessian of h (not of −h) at theta into dst. If nil, it
	// is computed numerically by the function Hessian.
	Hessian func(dst *mat.SymDense, theta []float64)

	// Tolerance bounds the Newton decrement gᵀ(−∇²h)⁻¹g at the mode. Half of the decrement is what h could still gain,
	// in nats. Default 1e-4.
	Tolerance float64

	// Scale holds, for each coordinate, the distance over which h changes by about
	// one nat. The default finds it from h.
	Scale []float64

	// Concurrent lets numeric derivatives call h from several goroutines at once;
	// the last bits of the result may then differ from run to run.
	Concurrent bool
}

// LogEvidence approximates ln ∫ exp(h(θ)) dθ, in nats, by Laplace's method at the
// maximum of h, the mode, a point of d ≥ 1 coordinates:
//
//	h(θ̂) + (d/2) ln 2π − ½ ln|−∇²h(θ̂)|
//
// With h = ln p(X,Z,Π) as a function of Π, prior included, that is eq. 9 of
// Hayashi et al. 2015, where F = −∇²h/N; the error falls like 1/N if h grows
// like N. It is exact if h is quadratic.
//
// The approximation depends on the coordinates. Transform constrained coordinates and add the log of the Jacobian to
// h; for σ = exp(θ) this is θ = ln σ.
//
// It returns an error if h or its derivatives are not finite at the mode. The error wraps ErrNotMaximum if −∇²h is
// not positive definite (to its numerical accuracy), and ErrNotStationary if the Newton decrement exceeds the
// tolerance.
func LogEvidence(h func(theta []float64) float64, mode []float64, o *Options) (float64, error) {
	if o == nil {
		o = new(Options)
	}
	d := len(mode)
	if d == 0 {
		return math.NaN(), errors.New("laplace: empty mode")
	}
	for i, v := range mode {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return math.NaN(), fmt.Errorf("laplace: coordinate %d of the mode is %v", i, v)
		}
	}
	peak := h(mode)
	if math.IsNaN(peak) || math.IsInf(peak, 0) {
		return math.NaN(), fmt.Errorf("laplace: h is %v at the mode", peak)
	}

	// All that follows is in coordinates t, θ = mode + scale·t, in which −∇²h has a
	// diagonal near 1 whatever the units of θ.
	local := differentiate(h, mode, peak, o)
	hessian := mat.NewSymDense(d, nil)
	noise := 0.0
	if o.Hessian != nil {
		local.analytic(hessian, o.Hessian)
	} else {
		local.hessian(hessian)
		noise = local.noise()
	}
	hessian.ScaleSym(-1, hessian)
	curvature := NewDense(hessian)

	if err := strictMaximum(curvature, noise); err != nil {
		return math.NaN(), err
	}
	tolerance := o.Tolerance
	if tolerance == 0 {
		tolerance = 1e-4
	}
	slope := mat.NewVecDense(d, local.gradient())
	var outer mat.SymDense
	outer.SymOuterK(1, slope)
	if decrement := curvature.InverseTrace(&outer); !(decrement <= tolerance) {
		return math.NaN(), fmt.Errorf("%w: Newton decrement %.3g exceeds %.3g (maximise h further)",
			ErrNotStationary, decrement, tolerance)
	}

	value := peak + float64(d)/2*math.Log(2*math.Pi) - curvature.LogDet()/2
	for _, s := range local.scale {
		value += math.Log(s)
	}
	return value, nil
}

// strictMaximum checks that the scaled curvature −∇²h is positive definite, its
// entries being known to within noise.
func strictMaximum(curvature *Dense, noise float64) error {
	values, vectors, err := curvature.Eigen()
	if err != nil {
		return errors.New("laplace: the Hessian of h is not finite at the mode")
	}
	if values[0] > float64(len(values))*noise && !math.IsInf(curvature.LogDet(), -1) {
		return nil
	}
	direction := mat.Col(nil, 0, vectors)
	for i, v := range direction {
		direction[i] = math.Abs(v)
	}
	return fmt.Errorf("%w: the smallest eigenvalue of −∇²h, in units of the scale, is %.3g, mostly along coordinate "+
		"%d (all: %.3g)",
		ErrNotMaximum, values[0], floats.MaxIdx(direction), values)
}
