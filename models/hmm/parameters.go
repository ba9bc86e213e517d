package hmm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/logit"
	"github.com/latent-go/latent/internal/simd"
)

// Parameters are those of a hidden Markov model with K states and D columns.
type Parameters struct {
	K           int       `json:"k" keep:"count"`
	D           int       `json:"d"`
	Start       []float64 `json:"start" keep:"rows"`       // probabilities of the first state, K
	Transitions []float64 `json:"transitions" keep:"both"` // K×K row-major: row k is what follows state k
	// K×P: the parameters that [Model.Numbers] describes, in the table's units
	Components []float64      `json:"components" keep:"rows"`
	Pooled     *family.Pooled `json:"pooled"` // all steps as one class
	// Gate holds the logits of moves that depend on covariates: γ of each state before, and then of first steps if they
	// depend on covariates too, K×P each, of t = L⁻¹a for a = (1, covariates), P numbers; Σ_k γ_k = 0. Start and
	// Transitions are then averages over the steps that the moves lead to. It is empty without covariates.
	Gate []float64 `json:"gate,omitempty"`
	// Root is L, P×P, lower triangular: LLᵀ = Σ aaᵀ/N over all steps; empty without covariates.
	Root logit.Root `json:"root,omitempty"`
	// Hyper holds the hyperparameters of conjugate posteriors, K×H, after a global step under the evidence's priors;
	// otherwise it is empty.
	Hyper []float64 `json:"-" keep:"rows"`

	plan     *family.Plan
	bayes    *bayes              // of MAP
	observed *family.Information // of the family, at this estimate
}

// Rescale gives the parameters the scale, and with it the prior, of others with the same columns.
func (p *Parameters) Rescale(of *Parameters) { p.Pooled, p.plan = of.Pooled, nil }

// Check returns an error for parameters that do not match the model, such as those of another file.
func (m Model) Check(p *Parameters) error {
	if p == nil || p.K < 1 || p.D < 1 {
		return errors.New("hmm: the parameters have no states or no columns")
	}
	pl, err := family.NewPlan(m.Family, p.D)
	if err != nil {
		return err
	}
	if len(p.Start) != p.K || len(p.Transitions) != p.K*p.K {
		return fmt.Errorf("hmm: %d probabilities of the first state and %d of transitions do not match K = %d",
			len(p.Start), len(p.Transitions), p.K)
	}
	if err := distribution("the start", p.Start); err != nil {
		return err
	}
	for k := range p.K {
		if err := distribution(fmt.Sprintf("row %d of the transitions", k+1), at(p.Transitions, k, p.K)); err != nil {
			return err
		}
	}
	if err := m.checkGate(p); err != nil {
		return err
	}
	return pl.Attach(p.Pooled).Check(p.K, p.Components, p.Pooled)
}

// checkGate checks the logits of parameters.
func (m Model) checkGate(p *Parameters) error {
	n := m.Structure.Covariates
	if want := m.Structure.sources(p.K) * p.K * m.Structure.width(); len(p.Gate) != want || !simd.Finite(p.Gate) {
		return fmt.Errorf("hmm: logits of %d numbers do not match K = %d and %d covariates", len(p.Gate), p.K, n)
	}
	if n > 0 {
		if err := p.Root.Check(n); err != nil {
			return fmt.Errorf("hmm: %w", err)
		}
	}
	return nil
}

// distribution checks probabilities.
func distribution(what string, p []float64) error {
	if !simd.Finite(p) || floats.Min(p) < 0 {
		return fmt.Errorf("hmm: %s holds %v, which is not a probability", what, p)
	}
	if sum := floats.Sum(p); math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("hmm: %s sums to %v; must sum to 1", what, sum)
	}
	return nil
}

// Component returns the parameters of state k, in the order that [Model.Numbers] describes.
func (p *Parameters) Component(k int) []float64 { return at(p.Components, k, len(p.Components)/p.K) }

// Move returns the probability of state j after state i.
func (p *Parameters) Move(i, j int) float64 { return p.Transitions[i*p.K+j] }

// like returns dst, or new memory, in the shape of p.
func (p *Parameters) like(dst *Parameters, pl *family.Plan) *Parameters {
	if dst == nil {
		dst = &Parameters{
			Start:       make([]float64, p.K),
			Transitions: make([]float64, p.K*p.K),
			Components:  make([]float64, p.K*pl.Size().Params),
			Gate:        make([]float64, len(p.Gate)),
		}
	}
	dst.Root = p.Root
	dst.K, dst.D, dst.Pooled, dst.plan, dst.observed = p.K, p.D, p.Pooled, pl, pl.Information()
	return dst
}

// keep returns the parameters of some states: a path goes through those left out as if nobody looked.
func (p *Parameters) keep(dims []int, pl *family.Plan) *Parameters {
	whole := &Parameters{K: p.K, Start: slices.Clone(p.Start), Transitions: slices.Clone(p.Transitions)}
	for k := range p.K {
		if !slices.Contains(dims, k) {
			whole.pass(k)
		}
	}
	q := framework.KeepAxes(p, p.K, dims)
	q.plan, q.bayes, q.observed, q.Gate = pl, p.bayes, p.observed.Keep(dims), p.keepGates(dims)
	for i, from := range dims {
		q.Start[i] = whole.Start[from]
		for j, to := range dims {
			q.Transitions[i*q.K+j] = whole.Move(from, to)
		}
		complete(at(q.Transitions, i, q.K), i)
	}
	complete(q.Start, 0)
	return q
}

// pass makes the probabilities those of a chain that is only seen outside of state k, which is not entered any more:
// from i to j it goes directly, or by way of k (Kemeny & Snell 1976, section 6.1).
func (p *Parameters) pass(k int) {
	out := 1 - p.Move(k, k)
	if !(out > 0) {
		return
	}
	for i := range p.K {
		in := p.Move(i, k)
		if i == k || in == 0 {
			continue
		}
		for j := range p.K {
			p.Transitions[i*p.K+j] += in * p.Move(k, j) / out
		}
		p.Transitions[i*p.K+k] = 0
	}
	first := p.Start[k]
	for j := range p.K {
		p.Start[j] += first * p.Move(k, j) / out
	}
	p.Start[k] = 0
	for i := range p.K { // nobody stays in a state that is not entered
		p.Transitions[i*p.K+k] = 0
	}
}

// complete makes probabilities sum to 1; place is the certain one where all are 0.
func complete(p []float64, place int) {
	if sum := floats.Sum(p); sum > 0 {
		floats.Scale(1/sum, p)
		return
	}
	p[place] = 1
}

// Canonical orders the states by how often they are visited, the most frequent first. The states of a chain from left
// to right keep their order.
func (m Model) Canonical(p *Parameters) (*Parameters, error) {
	share := occupancy(p)
	order := make([]int, p.K)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(share[j], share[i]) })
	return m.Permute(p, order)
}

// Vector returns the start, K numbers, the transitions, K×K, the numbers of LogOdds, and then the components, K×P.
func (p *Parameters) Vector() []float64 {
	return slices.Concat(p.Start, p.Transitions, p.LogOdds(), p.Components)
}
