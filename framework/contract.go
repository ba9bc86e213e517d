package framework

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"

	"github.com/latent-go/latent/internal/optional"
	"github.com/latent-go/latent/internal/panics"
)

// violated returns the error about a method that violated the contract of its interface.
func (c *capabilities[B, P, S]) violated(method, format string, args ...any) error {
	return fmt.Errorf("framework: %s of %s: %w: %s", method, c.name, ErrContract, fmt.Sprintf(format, args...))
}

// optionals are the interfaces that a model may implement besides Model.
func optionals[B, P any, S Statistics[S]]() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[Curved[P, S]](), reflect.TypeFor[Projector[P, S]](), reflect.TypeFor[Proper[P, S]](),
		reflect.TypeFor[LogProber[B, P]](), reflect.TypeFor[Assigner[B, P]](), reflect.TypeFor[Charger[P, S]](),
		reflect.TypeFor[Rotator[P, S]](), reflect.TypeFor[Splitter[B, P, S]](), reflect.TypeFor[Coupled[B, P, S]](),
		reflect.TypeFor[InOrder](), reflect.TypeFor[Expander[P, S]](), reflect.TypeFor[Estimating[P, S]](),
		reflect.TypeFor[Penalized[P]](), reflect.TypeFor[ReplacesPrior](), reflect.TypeFor[Variational](),
		reflect.TypeFor[BoundedLikelihood](), reflect.TypeFor[FixedPoint](), reflect.TypeFor[LabelEntropy[S]](),
		reflect.TypeFor[Condenser[B]](), reflect.TypeFor[Creeping](), reflect.TypeFor[Symmetric[P]](),
		reflect.TypeFor[Collapsible[B, P, S]](), reflect.TypeFor[Labeller[B, P, S]](), reflect.TypeFor[Coded[P, S]](),
		reflect.TypeFor[Singular[P]](),
	}
}

// ofSums are the interfaces that statistics may implement besides Statistics.
func ofSums[S any]() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[Scaler](), reflect.TypeFor[Follower[S]]()}
}

// Interfaces names the optional interfaces that a model and its statistics implement.
func Interfaces[B, P any, S Statistics[S]](m Model[B, P, S]) []string {
	var s S
	return append(optional.Names(m, optionals[B, P, S]()...), optional.Names(s, ofSums[S]()...)...)
}

// misfit is an error about a method of a model, or of its statistics, that has the name of one of an optional interface
// and another signature or receiver: it would never be called.
func misfit[B, P any, S Statistics[S]](m Model[B, P, S]) error {
	var s S
	err := optional.Misfit(m, optionals[B, P, S]()...)
	if err == nil {
		err = optional.Misfit(s, ofSums[S]()...)
	}
	if err != nil {
		return fmt.Errorf("framework: %w: %w", ErrContract, err)
	}
	return nil
}

// needed checks that nothing that a fit needs is nil.
func needed[B, P any, S Statistics[S]](ctx context.Context, m Model[B, P, S], src Source[B]) error {
	switch {
	case ctx == nil:
		return errors.New("framework: the context is nil: pass context.Background()")
	case m == nil:
		return errors.New("framework: the model is nil")
	case isNil(src):
		return errors.New("framework: the source of rows is nil: check the error of the function that made it")
	}
	return nil
}

// quietly makes an error of a panic in a function of the caller's that is no method of a model, with the place.
func quietly(what string, call func() error) (err error) {
	defer func() {
		if p := panics.Of(recover()); p != nil {
			place := ""
			if len(p.Frames) > 0 {
				place = fmt.Sprintf(" (%s:%d)", filepath.Base(p.Frames[0].File), p.Frames[0].Line)
			}
			err = fmt.Errorf("framework: %s panicked: %v%s", what, p.Value, place)
		}
	}()
	return call()
}

// given checks that parameters are not nil.
func (c *capabilities[B, P, S]) given(method string, p P) error {
	if c.nilable && isNil(p) {
		return c.violated(method, "returned nil parameters and no error")
	}
	return nil
}

// number checks that a method did not return NaN.
func (c *capabilities[B, P, S]) number(method string, v float64) error {
	if math.IsNaN(v) {
		return c.violated(method, "returned NaN")
	}
	return nil
}

// relevance asks for the relevance of k dimensions.
func (c *capabilities[B, P, S]) relevance(s S, p P, k int) ([]float64, error) {
	values, err := c.projector.Relevance(s, p)
	if err != nil {
		return nil, err
	}
	if len(values) != k {
		return nil, c.violated("Relevance", "returned %d numbers for %d latent dimensions", len(values), k)
	}
	for i, v := range values {
		if math.IsNaN(v) {
			return nil, c.violated("Relevance", "the relevance of latent dimension %d is NaN", i+1)
		}
	}
	return values, nil
}

// keep keeps some dimensions.
func (c *capabilities[B, P, S]) keep(shape func(P) Shape, s S, p P, dims []int) (S, P, error) {
	t, q, err := c.projector.Keep(s, p, dims)
	if err != nil {
		return t, q, err
	}
	if err := c.given("Keep", q); err != nil {
		return t, q, err
	}
	if isNil(t) {
		return t, q, c.violated("Keep", "returned nil statistics and no error")
	}
	if k := shape(q).K; k != len(dims) {
		return t, q, c.violated("Keep",
			"returned parameters of K = %d; must keep %d latent dimensions", k, len(dims))
	}
	return t, q, nil
}

// split divides a dimension.
func (c *capabilities[B, P, S]) split(
	ctx context.Context, shape func(P) Shape, src Source[B], s S, p P, k int, rng *rand.Rand,
) (P, float64, error) {
	q, gain, err := c.splitter.Split(ctx, src, s, p, k, rng)
	if err == nil {
		err = c.given("Split", q)
	}
	if err == nil {
		err = c.number("Split", gain)
	}
	if err != nil {
		return q, gain, err
	}
	if before, after := shape(p).K, shape(q).K; after != before+1 {
		return q, gain, c.violated("Split",
			"returned parameters of K = %d; must divide one of %d latent dimensions into two", after, before)
	}
	return q, gain, nil
}

// nilable reports whether values of a type may be nil.
func nilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface, reflect.Func, reflect.Chan:
		return true
	}
	return false
}

// isNil reports whether a value is nil, or a nil pointer in an interface.
func isNil(v any) bool {
	return v == nil || nilable(reflect.TypeOf(v)) && reflect.ValueOf(v).IsNil()
}
