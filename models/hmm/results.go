package hmm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/mixture"
)

// Label returns the label of state k, from 0, if the family is [known.Family]; [family.Free] if it has none.
func (m Model) Label(p *Parameters, k int) int { return known.Of(m.mustPlan(p)).Label(p.Component(k)) }

// Numbers describes the parameters of a state, in their order.
func (m Model) Numbers(p *Parameters) ([]family.Number, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	return pl.Numbers(), nil
}

// Steps returns the steps as a mixture that ignores their order, with the states as components, and its statistics.
// With these, package mixture applies to states, for example to compute standard errors given the states.
func (m Model) Steps(s *Statistics, p *Parameters) (*mixture.Statistics, *mixture.Parameters) {
	shares := make([]float64, p.K)
	for k, n := range s.Nk {
		shares[k] = n / s.N
	}
	return &mixture.Statistics{K: s.K, N: s.N, Nk: s.Nk, Loss: s.Loss, Classes: s.Classes}, m.Mixture(p, shares)
}

// Mixture returns the distribution of an observation if the states have the given probabilities (K), for example
// those of a forecast. Package mixture computes its density and draws from it.
func (m Model) Mixture(p *Parameters, states []float64) *mixture.Parameters {
	return &mixture.Parameters{K: p.K, D: p.D, Weights: states, Components: p.Components, Pooled: p.Pooled}
}

// TransitionErrors returns the standard errors √(a(1−a)/N⁻) of the transitions, K×K, given the states. They are too
// small if states overlap (package bootstrap computes better ones), and +Inf for a state that is never left.
func (m Model) TransitionErrors(s *Statistics, p *Parameters) []float64 {
	errs := make([]float64, p.K*p.K)
	for i := range p.K {
		for j := range p.K {
			if a := p.Move(i, j); a > 0 && a < 1 {
				errs[i*p.K+j] = math.Sqrt(a * (1 - a) / s.Left(i))
			}
		}
	}
	return errs
}

// Stationary returns the distribution of states that the transitions leave unchanged: the long-run share of the steps
// in each state, whatever the first state. It returns an error if the transitions leave more than one distribution
// unchanged.
func (m Model) Stationary(p *Parameters) ([]float64, error) {
	share := make([]float64, p.K)
	return share, stationary(share, p.Transitions)
}

// Durations returns the expected number of steps that the chain stays in each state: 1/(1 − a_kk), +Inf for a state
// that is never left. The numbers have geometric distributions, P(n) = a_kkⁿ⁻¹(1 − a_kk).
func (m Model) Durations(p *Parameters) []float64 {
	list := make([]float64, p.K)
	for k := range list {
		list[k] = 1 / (1 - p.Move(k, k))
	}
	return list
}

// Sample draws sequences of the given lengths. It returns their steps one after another, n×D row-major, and the state
// of each step.
func (m Model) Sample(p *Parameters, lengths []int, rng *rand.Rand) (x []float64, states []int, err error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, nil, err
	}
	if m.Structure.Covariates > 0 {
		return nil, nil, errors.New("hmm: the states depend on covariates: Resample draws steps that have them")
	}
	for _, n := range lengths {
		if n < 0 {
			return nil, nil, fmt.Errorf("hmm: a sequence of %d steps cannot be drawn", n)
		}
		from := p.Start
		for range n {
			z := categorical.Draw(from, rng)
			x = append(x, make([]float64, p.D)...)
			if err := pl.Sample(p.Component(z), rng, x[len(x)-p.D:]); err != nil {
				return nil, nil, err
			}
			states = append(states, z)
			from = at(p.Transitions, z, p.K)
		}
	}
	return x, states, nil
}

// A Course describes each step given itself and the steps before it in its sequence.
type Course struct {
	Predicted  []float64 // p(z_t|x_1…x_t−1), steps×K
	Filtered   []float64 // p(z_t|x_1…x_t), steps×K
	LogDensity []float64 // ln p(x_t|x_1…x_t−1) of each step, in nats; a sequence's steps sum to its LogProb
}

// Filter runs through each sequence from its beginning, and describes each step given the steps up to it. [Online]
// does the same for a sequence that is still growing.
func (m Model) Filter(b blocks.Sequences, p *Parameters) (*Course, error) {
	r, err := m.Reader(p)
	if err != nil {
		return nil, err
	}
	c := new(Course)
	return c, r.Filter(b, c)
}

// Filter is Model.Filter. It overwrites the slices of c, and grows those that are too short.
func (r *Reader) Filter(b blocks.Sequences, c *Course) error {
	if err := b.Check(); err != nil {
		return err
	}
	s, p, n := r.s, r.p, b.Steps.N
	c.Predicted, c.Filtered = linalg.Resize(c.Predicted, n*p.K), linalg.Resize(c.Filtered, n*p.K)
	c.LogDensity = linalg.Resize(c.LogDensity, n)
	r.terms = linalg.Resize(r.terms, p.K)
	for i := range b.Len() {
		first, end := b.Bounds(i)
		for from := first; from < end; from += partSteps {
			if err := s.read(b.Steps, from, min(partSteps, end-from)); err != nil {
				return err
			}
			for t := range s.window.n {
				predicted := at(c.Predicted, from+t, p.K)
				var before []float64
				if from+t > first {
					before = at(c.Filtered, from+t-1, p.K)
				}
				s.predict(predicted, p, t, before)
				log, err := s.update(at(c.Filtered, from+t, p.K), predicted, t, r.terms)
				if err != nil {
					return &blocks.DataError{Row: b.Steps.First + from + t, Column: -1, Reason: err}
				}
				c.LogDensity[from+t] = log
			}
		}
	}
	return nil
}

var errUnforeseen = errors.New(
	"has probability 0 after the steps before it: the transitions allow no state that produces it",
)

// predict puts the distribution of the states of step t of the window into dst, given that of the step before; nil
// where there is none.
func (s *Statistics) predict(dst []float64, p *Parameters, t int, before []float64) {
	switch w, c := s.window, &s.chain; {
	case before == nil && c.startGated():
		copy(dst, c.starts(w, t))
	case before == nil:
		copy(dst, p.Start)
	case c.gated():
		c.advance(dst, before, w, t)
	default:
		p.step(dst, before)
	}
}

// update puts the filtered probabilities of step t of the window into dst, from the predicted ones, and returns ln
// p(x_t|x_1…x_t−1).
func (s *Statistics) update(dst, predicted []float64, t int, terms []float64) (float64, error) {
	for j, v := range predicted {
		terms[j] = math.Log(v) + s.window.scores[j*s.window.padded+t]
	}
	log := logSumExp(terms)
	if log-log != 0 {
		return 0, errUnforeseen
	}
	for j, v := range terms {
		dst[j] = math.Exp(v - log)
	}
	return log + s.Classes.BaseOf(t), nil
}

// Online filters and forecasts one sequence while it grows.
type Online struct {
	p        *Parameters
	s        *Statistics
	filtered []float64 // nil before the first step
	next     []float64
	terms    []float64
}

// Online returns an Online at the beginning of a sequence, for one goroutine.
func (m Model) Online(p *Parameters) (*Online, error) {
	if _, err := m.plan(p); err != nil {
		return nil, err
	}
	o := &Online{p: p, s: m.NewStatistics(p), next: make([]float64, p.K), terms: make([]float64, p.K)}
	return o, m.Prepare(p, nil, o.s)
}

// Step takes the next step, D numbers, NaN if missing, and its covariates, and returns ln p(x_t|x_1…x_t−1). If it
// returns an error, the step is not taken.
func (o *Online) Step(x []float64) (logDensity float64, err error) {
	d := o.p.D + len(o.s.chain.gates.columns)
	if len(x) != d {
		return 0, fmt.Errorf("hmm: a step of %d numbers does not match a model of %d columns", len(x), d)
	}
	if err := o.s.read(blocks.Rows{N: 1, D: d, Stride: d, X: x}, 0, 1); err != nil {
		return 0, err
	}
	o.s.predict(o.next, o.p, 0, o.filtered)
	filtered := linalg.Resize(o.filtered, o.p.K)
	if logDensity, err = o.s.update(filtered, o.next, 0, o.terms); err == nil {
		o.filtered = filtered
	}
	return logDensity, err
}

// predict is the distribution of the next state.
func (o *Online) predict(dst []float64) {
	if o.filtered == nil {
		copy(dst, o.p.Start)
		return
	}
	o.p.step(dst, o.filtered)
}

// States returns p(z_t|x_1…x_t) after the last step, K probabilities; nil before the first step.
func (o *Online) States() []float64 { return append([]float64(nil), o.filtered...) }

// Forecast returns the distribution of the states of the next h steps, h×K: none for h = 0. [Model.Mixture] turns a
// row into a distribution of x. It returns an error if the states depend on covariates.
func (o *Online) Forecast(h int) ([]float64, error) {
	if h < 0 {
		return nil, fmt.Errorf("hmm: a forecast of %d steps; must not be negative", h)
	}
	if len(o.p.Gate) > 0 {
		return nil, errors.New("hmm: a forecast needs the covariates of the steps to come: give such steps, with all else " +
			"missing, to Filter")
	}
	list := make([]float64, h*o.p.K)
	for i := range h {
		if i == 0 {
			o.predict(at(list, 0, o.p.K))
		} else {
			o.p.step(at(list, i, o.p.K), at(list, i-1, o.p.K))
		}
	}
	return list, nil
}

// Forecast returns the distribution of the states in the h steps after the end of each sequence: h×K numbers for one
// sequence after another.
func (m Model) Forecast(b blocks.Sequences, p *Parameters, h int) ([]float64, error) {
	course, err := m.Filter(b, p)
	if err != nil {
		return nil, err
	}
	var all []float64
	for i := range b.Len() {
		_, end := b.Bounds(i)
		one, err := (&Online{p: p, filtered: at(course.Filtered, end-1, p.K)}).Forecast(h)
		if err != nil {
			return nil, err
		}
		all = append(all, one...)
	}
	return all, nil
}

// PseudoResiduals returns Φ⁻¹(P(X_t ≤ x_t|x_1…x_t−1)) for each step and column, steps×D. If the model is right, they
// are standard normal and independent from step to step (Zucchini & MacDonald 2009, section 6.2.3). In a discrete
// column P is taken at the middle of the jump, and the residuals are only roughly normal. They are NaN for missing
// values, otherwise between −37 and 8.3. It returns an error if a family has no distribution function.
func (m Model) PseudoResiduals(b blocks.Sequences, p *Parameters) ([]float64, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	course, err := m.Filter(b, p)
	if err != nil {
		return nil, err
	}
	residuals := make([]float64, b.Steps.N*p.D)
	for t := range b.Steps.N {
		for j, x := range b.Steps.Row(t)[:p.D] {
			u := 0.0
			for k, v := range at(course.Predicted, t, p.K) {
				less, atMost, err := pl.Below(p.Component(k), j, x)
				if err != nil {
					return nil, err
				}
				u += v * (less + atMost) / 2
			}
			residuals[t*p.D+j] = math.NaN()
			if x == x {
				residuals[t*p.D+j] = distuv.UnitNormal.Quantile(min(1-0x1p-53, max(1e-300, u)))
			}
		}
	}
	return residuals, nil
}

// Distances are the squared Mahalanobis distances of steps from the states: see [family.Plan.Distances].
func (m Model) Distances(steps blocks.Rows, p *Parameters) (squared []float64, columns []int) {
	return m.mustPlan(p).Distances(p.Components, m.seen(steps))
}
