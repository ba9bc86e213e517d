package lvmtest

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// Calls of the model, each of which ends the check with the name of the method where the method
// fails, or returns what it must not.

// must ends the check where a method of the model failed.
func (r *run[B, P, S]) must(err error, method, where string) {
	if err != nil {
		r.fatalf("%s: %s: %v", where, method, err)
	}
}

// there ends the check where a method returned nil and no error.
func (r *run[B, P, S]) there(v any, method, where string) {
	x := reflect.ValueOf(v)
	switch x.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		if !x.IsNil() {
			return
		}
	case reflect.Invalid:
	default:
		return
	}
	r.fatalf("%s: %s returns nil and no error", where, method)
}

// number ends the check where a method returned NaN.
func (r *run[B, P, S]) number(v float64, method, where string) float64 {
	if math.IsNaN(v) {
		r.fatalf("%s: %s is NaN", where, method)
	}
	return v
}

// numbersOf ends the check where a method did not return n numbers.
func (r *run[B, P, S]) numbersOf(v []float64, n int, method, where string) []float64 {
	if len(v) != n {
		r.fatalf("%s: %s returns %d numbers, not %d", where, method, len(v), n)
	}
	if i := slices.IndexFunc(v, math.IsNaN); i >= 0 {
		r.fatalf("%s: number %d of %s is NaN", where, i+1, method)
	}
	return v
}

func (r *run[B, P, S]) init(k int, src *source[B], seed uint64) P {
	where := fmt.Sprintf("K = %d", k)
	p, err := r.Model.Init(context.Background(), src, k, r.rng(seed))
	r.must(err, "Init", where)
	r.there(p, "Init", where)
	return p
}

func (r *run[B, P, S]) newStatistics(where string, p P) S {
	s := r.Model.NewStatistics(p)
	r.there(s, "NewStatistics", where)
	return s
}

func (r *run[B, P, S]) maximize(where string, s S, p P) P {
	var none P
	return r.maximizeIn(where, s, p, none)
}

func (r *run[B, P, S]) maximizeIn(where string, s S, p, dst P) P {
	q, err := r.Model.Maximize(s, p, dst)
	r.must(err, "Maximize", where)
	r.there(q, "Maximize", where)
	return q
}

// curved reports whether the model is [optional.Curved].
func (r *run[B, P, S]) curved() bool {
	_, ok := r.Model.(optional.Curved[P, S])
	return ok
}

// curvatureOf is F, with or without the information.
func (r *run[B, P, S]) curvatureOf(where string, s S, p P, countOnly bool) *laplace.Curvature {
	f := new(laplace.Curvature)
	r.fillCurvature(where, s, p, countOnly, f)
	return f
}

// fillCurvature puts it into f, memory reused.
func (r *run[B, P, S]) fillCurvature(where string, s S, p P, countOnly bool, f *laplace.Curvature) {
	f.Reset(s.Observations(), countOnly)
	r.must(r.Model.(optional.Curved[P, S]).Curvature(s, p, f), "Curvature", where)
	if f.Len() == 0 {
		r.fatalf("%s: Curvature adds no blocks", where)
	}
	r.number(f.LogDetCounts(), "ln|Count| of Curvature", where)
	if !countOnly {
		r.number(f.LogDet(), "ln|F| of Curvature", where)
	}
}

// tilted is the tilt at F.
func tilted(f *laplace.Curvature) *laplace.Tilt {
	t := new(laplace.Tilt)
	t.Set(f)
	return t
}

// relevances are Relevance, nil if the model does not prune.
func (r *run[B, P, S]) relevances(where string, s S, p P) []float64 {
	m, ok := r.Model.(optional.Projector[P, S])
	if !ok {
		return nil
	}
	values, err := m.Relevance(s, p)
	r.must(err, "Relevance", where)
	return r.numbersOf(values, r.Model.Shape(p).K, "Relevance", where)
}

// kept is Keep, and checks the number of dimensions that it leaves.
func (r *run[B, P, S]) kept(m optional.Projector[P, S], where string, s S, p P, dims []int) (S, P) {
	t, q, err := m.Keep(s, p, slices.Clone(dims))
	r.must(err, "Keep", where)
	r.there(t, "Keep", where)
	r.there(q, "Keep", where)
	if got := r.Model.Shape(q).K; got != len(dims) {
		r.fatalf("%s: Keep of %d latent dimensions leaves K = %d", where, len(dims), got)
	}
	if !r.near(s.Observations(), t.Observations(), 0) {
		r.errorf("%s: Keep changes N from %v to %v", where, s.Observations(), t.Observations())
	}
	return t, q
}

// rotated is Rotate.
func (r *run[B, P, S]) rotated(m optional.Rotator[P, S], where string, s S, p P, basis *mat.Dense) (S, P) {
	t, q, err := m.Rotate(s, p, mat.DenseCopyOf(basis))
	r.must(err, "Rotate", where)
	r.there(t, "Rotate", where)
	r.there(q, "Rotate", where)
	return t, q
}

// signal is Signal, K×K.
func (r *run[B, P, S]) signal(m optional.Rotator[P, S], where string, s S, p P) *mat.SymDense {
	signal, err := m.Signal(s, p)
	r.must(err, "Signal", where)
	r.there(signal, "Signal", where)
	if n, k := signal.SymmetricDim(), r.Model.Shape(p).K; n != k {
		r.fatalf("%s: Signal is of size %d for %d latent dimensions", where, n, k)
	}
	return signal
}

// labelEntropy is the part of the entropy of q that is the labels'.
func (r *run[B, P, S]) labelEntropy(where string, s S, entropy float64) float64 {
	if m, ok := r.Model.(optional.LabelEntropy[S]); ok {
		return r.number(m.LabelEntropy(s), "LabelEntropy", where)
	}
	return entropy
}

// charged are Charges, nil if all parameters are estimated from as much.
func (r *run[B, P, S]) charged(where string, s S, p P) []optional.Charge {
	m, ok := r.Model.(optional.Charger[P, S])
	if !ok {
		return nil
	}
	charges := m.Charges(s, p)
	if len(charges) == 0 {
		r.fatalf("%s: Charges returns none", where)
	}
	return charges
}
