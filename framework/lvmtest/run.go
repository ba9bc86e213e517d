package lvmtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/panics"
)

// An Outcome is the result of a check.
type Outcome struct {
	Check    string   // its name, such as "curvature"
	Equation string   // that it checks
	Skipped  string   // the reason for skipping it; empty if it ran
	Failures []string // where the equation fails, and by how much
	Notes    []string // what the check left out, and what it measured
}

// Name is the name of the subtest: check and equation.
func (o Outcome) Name() string { return o.Check + ": " + o.Equation }

// Test runs every check on the case as a subtest of t.
func Test[B, P any, S framework.Statistics[S]](t *testing.T, c Case[B, P, S]) {
	t.Helper()
	for _, check := range checks[B, P, S]() {
		t.Run(check.Name(), func(t *testing.T) {
			t.Helper()
			o := check.outcome(&c)
			for _, note := range o.Notes {
				t.Log(note)
			}
			if o.Skipped != "" {
				t.Skip(o.Skipped)
			}
			for _, failure := range o.Failures {
				t.Error(failure)
			}
		})
	}
}

// Check runs every check on the case and joins the failures, nil if there are none.
func Check[B, P any, S framework.Statistics[S]](c Case[B, P, S]) error {
	var errs []error
	for _, o := range Run(c) {
		for _, failure := range o.Failures {
			errs = append(errs, fmt.Errorf("%s: %s", o.Name(), failure))
		}
	}
	return errors.Join(errs...)
}

// Run runs every check on the case.
func Run[B, P any, S framework.Statistics[S]](c Case[B, P, S]) []Outcome {
	var list []Outcome
	for _, check := range checks[B, P, S]() {
		list = append(list, check.outcome(&c))
	}
	return list
}

// A check is that of one equation.
type check[B, P any, S framework.Statistics[S]] struct {
	Outcome
	hold func(r *run[B, P, S])
}

// A run is a check under way.
type run[B, P any, S framework.Statistics[S]] struct {
	*Case[B, P, S]
	out  *Outcome
	more int // failures that are not reported

	asked bool                  // whether the model has a prior
	prior optional.Proper[P, S] // see proper
	why   error
}

// ended ends a check from wherever it is.
type ended struct{}

// most is the number of failures that a check reports.
const most = 4

func (c check[B, P, S]) outcome(of *Case[B, P, S]) (o Outcome) {
	o = c.Outcome
	r := &run[B, P, S]{Case: of, out: &o}
	defer func() {
		switch p := recover().(type) {
		case nil, ended:
		default:
			o.Failures = append(o.Failures, describe(panics.Of(p)))
		}
		if r.more > 0 {
			o.Failures = append(o.Failures, fmt.Sprintf("and %d more", r.more))
		}
	}()
	if err := of.valid(); err != nil {
		r.fatalf("%v", err)
	}
	c.hold(r)
	return o
}

// describe is a panic with the method that the suite or the engine called, and the author's part of
// the stack; all of it where the author has no part.
func describe(p *panics.Panic) string {
	in := func(f runtime.Frame, pkg reflect.Type) bool { return strings.HasPrefix(f.Function, pkg.PkgPath()+".") }
	frames, engine := p.Frames, 0
	for i, f := range frames {
		if in(f, reflect.TypeFor[Outcome]()) {
			frames, engine = frames[:i], i
			break
		}
		if in(f, reflect.TypeFor[framework.Shape]()) {
			engine = i
		}
	}
	for i := engine - 1; i >= 0; i-- { // outwards of the engine there is only its goroutine
		if f := frames[i]; !in(f, reflect.TypeFor[framework.Shape]()) {
			return fmt.Sprintf("%s panicked: %v\n\n%s", f.Function[strings.LastIndex(f.Function, "/")+1:], p.Value,
				panics.Stack(frames[:i+1]))
		}
	}
	return fmt.Sprintf("panic: %v", p)
}

func (c *Case[B, P, S]) valid() error {
	switch {
	case c.Model == nil:
		return errors.New("Case.Model is nil")
	case c.Data.Rows < 4 || c.Data.Block == nil:
		return fmt.Errorf("Case.Data has %d rows: give 4 or more, and Block", c.Data.Rows)
	case c.Data.Observations != nil && len(c.Data.Observations) != c.Data.Rows:
		return fmt.Errorf("Case.Data has %d rows, and Observations of %d", c.Data.Rows, len(c.Data.Observations))
	case c.Tolerance < 0 || c.SampleRows < 0 || c.SampleK < 0:
		return errors.New("Case.Tolerance, SampleRows and SampleK must not be negative")
	}
	for _, k := range c.K {
		if k < 1 {
			return fmt.Errorf("Case.K holds %d: a model has at least 1 latent dimension", k)
		}
	}
	return nil
}

func (r *run[B, P, S]) errorf(format string, args ...any) {
	if len(r.out.Failures) == most {
		r.more++
		return
	}
	text := fmt.Sprintf(format, args...)
	if methods := about[r.out.Check]; methods != "" {
		text += " (" + methods + ")"
	}
	r.out.Failures = append(r.out.Failures, text)
}

func (r *run[B, P, S]) fatalf(format string, args ...any) {
	r.errorf(format, args...)
	panic(ended{})
}

func (r *run[B, P, S]) skipf(format string, args ...any) {
	r.out.Skipped = fmt.Sprintf(format, args...)
	panic(ended{})
}

func (r *run[B, P, S]) notef(format string, args ...any) {
	r.out.Notes = append(r.out.Notes, fmt.Sprintf(format, args...))
}

// able returns the model as one of the optional interfaces, or skips the check.
func able[I, B, P any, S framework.Statistics[S]](r *run[B, P, S], name string) I {
	m, ok := r.Model.(I)
	if !ok {
		r.skipf("%T is not optional.%s", r.Model, name)
	}
	return m
}

// deterministic skips the check where the global step is random.
func (r *run[B, P, S]) deterministic() {
	if r.Stochastic {
		r.skipf("Case.Stochastic is set: the global step is random")
	}
}

// ascends skips the check where q solves an equation, and maximises nothing.
func (r *run[B, P, S]) ascends() {
	if _, ok := r.Model.(optional.FixedPoint); ok {
		r.skipf("%T is optional.FixedPoint: its q need not be a maximum", r.Model)
	}
}

// given skips the check where the case does not give a function.
func (r *run[B, P, S]) given(ok bool, field string) {
	if !ok {
		r.skipf("Case.%s is not given", field)
	}
}

func (r *run[B, P, S]) ks() []int {
	if r.K == nil {
		return []int{1, 2, 3}
	}
	return r.K
}

func (r *run[B, P, S]) tolerance() float64 {
	if r.Tolerance == 0 {
		return 1e-9
	}
	return r.Tolerance
}

// numeric is the error of numeric derivatives, relative to the change over a nat.
func (r *run[B, P, S]) numeric() float64 { return 1e-6 * math.Sqrt(r.tolerance()/1e-9) }

// slack is what a log density that must not be larger than v may exceed it by.
func (r *run[B, P, S]) slack(v float64) float64 { return r.tolerance() * 1e-3 * (1 + math.Abs(v)) }

// near reports whether two numbers of a size are equal up to the tolerance.
func (r *run[B, P, S]) near(a, b, size float64) bool {
	return a == b || math.Abs(a-b) <= r.tolerance()*(size+math.Abs(a)) // NaN is near nothing
}

// rng draws the same numbers in every run of a check; what distinguishes the uses.
func (r *run[B, P, S]) rng(what uint64) *rand.Rand { return rand.New(rand.NewPCG(r.Seed, what)) }
