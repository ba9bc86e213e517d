package numeric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/parallel"
	"github.com/latent-go/latent/internal/signatures"
	"github.com/latent-go/latent/internal/simd"
)

// A Density is the distribution of the rows of one component: all that [Family] needs. Several goroutines call its
// methods at once; the methods must not retain their slices.
type Density interface {
	// Layout describes the parameters for rows of the given number of columns: ξ_k of each component, and the shared Θ.
	Layout(columns int) Layout
	// LogProb is ln p(x|z=k, ξ_k, Θ) in nats; −Inf if x cannot come from the component, and for every x if the numbers
	// make no distribution. The numbers are in the order of the layout and within its ranges.
	LogProb(x, component, shared []float64) float64
}

// A density that also implements one of the following interfaces is fitted faster, and to the same answer.

// A Guesser gives the first point of the search for the numbers of the whole table, with which a fit begins. Without it
// Real numbers begin at 0, Positive ones and rates at 1, probabilities and simplices in their middle and matrices at
// the identity, which may be far away.
type Guesser interface {
	Guess(rows Weighted, component, shared []float64)
}

// Differentiable gives the gradient of LogProb.
type Differentiable interface {
	// Gradient puts the partial derivatives of LogProb by the numbers of the component and the shared ones
	// into dComponent and dShared. On a simplex and in a symmetric matrix it treats each number as free.
	Gradient(x, component, shared, dComponent, dShared []float64)
}

// An Estimator has the global step of one component in closed form.
type Estimator interface {
	// Estimate puts argmax_ξ Σ_n w_n ln p(x_n|ξ, Θ) into component, which holds the values so far. If the rows have no
	// such maximum, it returns an error that wraps [framework.ErrDegenerate].
	Estimate(rows Weighted, component, shared []float64) error
}

// An Informer has the information in closed form, for a density whose component has no Simplex, SPD or Ordered
// parameter.
type Informer interface {
	// Information puts −Σ_n w_n ∇² ln p(x_n|ξ, Θ), second derivatives by the numbers of the component but for Discrete
	// ones, into dst. The framework calls it at estimates inside the ranges of the numbers, where it may leave out terms
	// with the factor Σ_n w_n ∇ ln p(x_n|ξ, Θ) = 0; on the boundaries the framework differentiates.
	Information(rows Weighted, component, shared []float64, dst *mat.SymDense)
}

// Additive densities need only sums over the rows: the fit keeps neither rows nor responsibilities, and a global step
// costs the same for any number of rows.
type Additive interface {
	// Statistics is the length S of T(x) for rows of the given number of columns.
	Statistics(columns int) int
	// Observe puts T(x) into t, length S.
	Observe(x, t []float64)
	// LogTotal is Σ_n w_n ln p(x_n|ξ, Θ), from rows.N and rows.Sums alone.
	LogTotal(rows Weighted, component, shared []float64) float64
}

// A Batcher has the log densities of many rows in one call: what depends on the numbers alone is computed once a call,
// and what depends on a row alone once a step.
type Batcher interface {
	// Derived is how many values are computed once a row, such as 1 for the logarithm of a time, where rows have so many
	// columns.
	Derived(columns int) int
	// Derive puts them into d.
	Derive(x, d []float64)
	// LogProbs puts LogProb of each row into dst. rows are as many as dst is long, one after the other: the columns of a
	// row, and then what Derive has put.
	LogProbs(rows, component, shared, dst []float64)
}

// Exp puts the exponentials of src into dst, of the same length or the same slice, several at a time and to 1.5 units
// in the last place: what LogProbs of a [Batcher] may take.
func Exp(dst, src []float64) { simd.Exp(dst, src) }

// A Sampler density can be drawn from, as latent sample and bootstraps do.
type Sampler interface {
	// Sample draws a row of a component into x. rng is its only source of randomness.
	Sample(component, shared []float64, rng *rand.Rand, x []float64)
}

// Weighted are the rows of one component, each with its frequency weight times its responsibility: N, Sums, which are
// Σ_n w_n T(x_n) for an [Additive] density, and All, which yields nothing for such a density.
type Weighted = family.Weighted

// A machine is a density at work in one goroutine.
type machine struct {
	*compiled
	caller

	xi, theta, move []float64 // trial values
	dxi, dtheta     []float64
	batches         map[int]*batch // of the components, in the step under way
	logs            []float64
}

// A batch is the rows of a component as a [Batcher] takes them, and their weights.
type batch struct{ rows, weights []float64 }

// compiled is a density with its layout.
type compiled struct {
	density           Density
	name              string // its type
	columns           int
	component, shared *plan
	statistics        int // S, of Additive densities

	differentiable Differentiable
	estimator      Estimator
	informer       Informer
	additive       Additive
	batcher        Batcher
	derived        int // by the Batcher
}

// optionals are what a density may implement besides.
var optionals = []reflect.Type{
	reflect.TypeFor[Guesser](), reflect.TypeFor[Differentiable](), reflect.TypeFor[Estimator](),
	reflect.TypeFor[Informer](), reflect.TypeFor[Additive](), reflect.TypeFor[Batcher](), reflect.TypeFor[Sampler](),
}

func compile(density Density, columns int) (c *compiled, err error) {
	if density == nil {
		return nil, fmt.Errorf("numeric: the family has no Density")
	}
	c = &compiled{
		density: density, name: fmt.Sprintf("%T", density), columns: columns, component: &plan{}, shared: &plan{},
	}
	m := c.machine()
	defer m.recover(&err)
	m.enter("Layout", -1, -1)
	layout := density.Layout(columns)
	m.leave()
	if c.component, c.shared, err = plans(m.of, layout, columns); err != nil {
		return nil, err
	}
	if err := signatures.Misfit(density, optionals...); err != nil {
		return nil, fmt.Errorf("numeric: %w", err)
	}
	c.differentiable, _ = density.(Differentiable)
	c.estimator, _ = density.(Estimator)
	c.informer, _ = density.(Informer)
	c.additive, _ = density.(Additive)
	if c.additive != nil {
		m.enter("Statistics", -1, -1)
		c.statistics = c.additive.Statistics(columns)
		m.leave()
		if c.statistics < 0 {
			return nil, fmt.Errorf("numeric: Statistics of %T returned %d; must be a non-negative length", density, c.statistics)
		}
	}
	if c.batcher, _ = density.(Batcher); c.batcher != nil {
		m.enter("Derived", -1, -1)
		c.derived = c.batcher.Derived(columns)
		m.leave()
		if c.derived < 0 {
			return nil, fmt.Errorf("numeric: Derived of %T returned %d; must be a non-negative length", density, c.derived)
		}
	}
	if c.informer != nil {
		for _, q := range c.component.list {
			if _, real := q.kind.(realKind); !real && !scalar(q.kind) && q.kind.free() > 0 {
				return nil, fmt.Errorf("numeric: Information of %T cannot be used with the parameter %q: leave the "+
					"method out, so that the framework differentiates", density, q.Name)
			}
		}
	}
	return c, nil
}

func (c *compiled) machine() *machine {
	return &machine{
		compiled: c,
		caller:   caller{of: c.name},
		xi:       make([]float64, c.component.numbers),
		theta:    make([]float64, c.shared.numbers),
	}
}

// each calls do for the components 0, …, n−1, several at a time, with a machine of its own for each, and returns the
// error of the first that fails. A component sees nothing of the others, so that the order does not show in the bits.
func (c *compiled) each(n int, do func(m *machine, k int) error) error {
	return parallel.Do(n, 0, func(k int) (err error) {
		m := c.machine()
		defer m.recover(&err)
		return do(m, k)
	})
}

// observe puts T(x) into t.
func (m *machine) observe(x []float64, row int, t []float64) {
	m.enter("Observe", row, -1)
	m.additive.Observe(x, t)
	m.leave()
}

// logProb is LogProb at a row, which may be NaN: for searches, which step back from there.
func (m *machine) logProb(x []float64, row, k int, xi, theta []float64) float64 {
	m.enter("LogProb", row, k)
	v := m.density.LogProb(x, xi, theta)
	m.leave()
	return v
}

// checked is LogProb, and an error unless it is a log density: below +Inf.
func (m *machine) checked(x []float64, row, k int, xi, theta []float64) (float64, error) {
	v := m.logProb(x, row, k, xi, theta)
	if math.IsNaN(v) || math.IsInf(v, 1) {
		m.enter("LogProb", row, k)
		return v, m.violated(
			"returned %v for the row %v with component %v and shared %v; must be a number or −Inf", v, x, xi, theta,
		)
	}
	return v, nil
}

// total is Σ_n w_n ln p(x_n|ξ, Θ) over the rows of component k.
func (m *machine) total(w Weighted, xi, theta []float64) float64 {
	if m.additive != nil {
		m.enter("LogTotal", -1, w.Class)
		v := m.additive.LogTotal(w, xi, theta)
		m.leave()
		return v
	}
	if m.batcher != nil {
		b := m.batch(w)
		m.logs = resized(m.logs, len(b.weights))
		m.logProbs(b.rows, w.Class, xi, theta, m.logs)
		return linalg.Dot(b.weights, m.logs)
	}
	sum := 0.0
	w.Each(func(row int, x []float64, q float64) bool {
		sum += q * m.logProb(x, row, w.Class, xi, theta)
		return true
	})
	return sum
}

// batch is made the first time that it is asked for: a machine sees one set of rows of each component.
func (m *machine) batch(w Weighted) *batch {
	if b := m.batches[w.Class]; b != nil {
		return b
	}
	n := 0
	w.Each(func(int, []float64, float64) bool {
		n++
		return true
	})
	b := &batch{make([]float64, 0, n*(m.columns+m.derived)), make([]float64, 0, n)}
	w.Each(func(row int, x []float64, q float64) bool {
		b.weights = append(b.weights, q)
		b.rows = m.derive(x, row, b.rows)
		return true
	})
	if m.batches == nil {
		m.batches = map[int]*batch{}
	}
	m.batches[w.Class] = b
	return b
}

// derive appends a row, and what is computed once of it, to rows.
func (m *machine) derive(x []float64, row int, rows []float64) []float64 {
	rows = append(rows, x...)
	at := len(rows)
	for range m.derived {
		rows = append(rows, 0)
	}
	m.enter("Derive", row, -1)
	m.batcher.Derive(x, rows[at:])
	m.leave()
	return rows
}

func (m *machine) logProbs(rows []float64, k int, xi, theta, dst []float64) {
	m.enter("LogProbs", -1, k)
	m.batcher.LogProbs(rows, xi, theta, dst)
	m.leave()
}

// gradient adds the gradient of total to dxi and dtheta.
func (m *machine) gradient(w Weighted, xi, theta, dxi, dtheta []float64) {
	m.dxi, m.dtheta = resized(m.dxi, len(xi)), resized(m.dtheta, len(theta))
	w.Each(func(row int, x []float64, q float64) bool {
		m.enter("Gradient", row, w.Class)
		m.differentiable.Gradient(x, xi, theta, m.dxi, m.dtheta)
		m.leave()
		linalg.Axpy(q, m.dxi, dxi)
		linalg.Axpy(q, m.dtheta, dtheta)
		return true
	})
}

func resized(v []float64, n int) []float64 {
	if cap(v) < n {
		return make([]float64, n)
	}
	return v[:n]
}
