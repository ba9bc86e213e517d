package mixture

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/simd"
)

// Parameters are those of a mixture of K components on D columns.
type Parameters struct {
	K       int       `json:"k" keep:"count"`
	D       int       `json:"d"`
	Weights []float64 `json:"weights" keep:"weights"` // β, K, on the simplex
	// K×P: the parameters that [Model.Numbers] describes, in the table's units
	Components []float64      `json:"components" keep:"rows"`
	Pooled     *family.Pooled `json:"pooled"` // the table as one component
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
	if err := p.checkWeights(); err != nil {
		return err
	}
	pl, err := family.NewPlan(m.Family, p.D)
	if err != nil {
		return err
	}
	return pl.Attach(p.Pooled).Check(p.K, p.Components, p.Pooled)
}

func (p *Parameters) checkWeights() error {
	if p == nil || p.K < 1 || p.D < 1 {
		return errors.New("mixture: the parameters have no components or no columns")
	}
	if len(p.Weights) != p.K {
		return fmt.Errorf("mixture: %d weights for K = %d: give one for each component", len(p.Weights), p.K)
	}
	if !simd.Finite(p.Weights) {
		return errors.New("mixture: the weights are not finite")
	}
	sum := 0.0
	for k, w := range p.Weights {
		if w < 0 {
			return fmt.Errorf("mixture: the weight of component %d is %v; must be non-negative", k+1, w)
		}
		sum += w
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("mixture: the weights sum to %v; must sum to 1", sum)
	}
	return nil
}

// Component returns the parameters of component k, in the order that [Model.Numbers] describes.
func (p *Parameters) Component(k int) []float64 { return at(p.Components, k, len(p.Components)/p.K) }

// has returns an error if there is no component k.
func (p *Parameters) has(k int) error {
	if k < 0 || k >= p.K {
		return fmt.Errorf("mixture: there is no component %d: components are 0 to %d", k, p.K-1)
	}
	return nil
}

// keep returns the parameters of some components, in the order given.
func (p *Parameters) keep(dims []int, pl *family.Plan) *Parameters {
	q := framework.KeepAxes(p, p.K, dims)
	q.plan, q.observed = pl, p.observed.Keep(dims)
	return q
}

// Order lists the components by weight, the largest first.
func (p *Parameters) Order() []int {
	order := make([]int, p.K)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.Weights[j], p.Weights[i]) })
	return order
}

// Canonical orders the components by weight, the largest first.
func (m Model) Canonical(p *Parameters) (*Parameters, error) { return m.Permute(p, p.Order()) }
