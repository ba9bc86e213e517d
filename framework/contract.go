package framework

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"

	"github.com/latent-go/latent/internal/panics"
)

// violated returns the error about a method that violated the contract of its interface.
func (c *capabilities[B, P, S]) violated(method, format string, args ...any) error {
	return fmt.Errorf("framework: %s of %s: %w: %s", method, c.name, ErrContract, fmt.Sprintf(format, args...))
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
