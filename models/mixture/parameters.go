package mixture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Parameters of a mixture of K components on D columns.
type Parameters struct {
	K          int       `json:"k"`
	D          int       `json:"d"`
	Weights    []float64 `json:"weights"`    // β, K, on the simplex
	Components []float64 `json:"components"` // K×P row-major: what [Model.Numbers] describes, in the user's units
	Whole      *Whole    `json:"whole"`      // the table as one component

	plan  *plan
	bayes *bayes // of MAP
}

// Whole is the table as one component: the scale of its columns, which the unit-free
// coordinates of the curvature and the default priors are taken from.
type Whole struct {
	N          float64   `json:"n"`
	Parameters []float64 `json:"parameters"` // P
	Sums       []float64 `json:"sums"`       // sufficient statistics of all rows, about Anchor
	Anchor     []float64 `json:"anchor"`
}

// Check says whether parameters that come from elsewhere can be those of the model.
func (m Model) Check(p *Parameters) error {
	if p == nil || p.K < 1 || p.D < 1 {
		return fmt.Errorf("mixture: parameters without components or columns")
	}
	pl, err := newPlan(m.Family, p.D)
	if err != nil {
		return err
	}
	if len(p.Weights) != p.K || len(p.Components) != p.K*pl.params {
		return fmt.Errorf("mixture: %d weights and %d numbers of components do not belong to K = %d with %d numbers each", len(p.Weights), len(p.Components), p.K, pl.params)
	}
	if p.Whole == nil || !(p.Whole.N > 0) || len(p.Whole.Parameters) != pl.params || len(p.Whole.Sums) != pl.sums || len(p.Whole.Anchor) != pl.anchor {
		return fmt.Errorf("mixture: the parameters do not hold the table as one component")
	}
	if !finite(p.Weights) || !finite(p.Components) {
		return fmt.Errorf("mixture: parameters are not finite")
	}
	sum := 0.0
	for k, w := range p.Weights {
		if w < 0 {
			return fmt.Errorf("mixture: the weight of component %d is %v", k+1, w)
		}
		sum += w
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("mixture: the weights sum to %v", sum)
	}
	score := make([]float64, pl.score)
	for k := range p.K {
		if err := pl.natural(p.component(k, pl), score); err != nil {
			return fmt.Errorf("component %d: %w", k+1, err)
		}
		if !finite(score) || !pl.symmetric(p.component(k, pl)) {
			return fmt.Errorf("mixture: the parameters of component %d are outside their range", k+1)
		}
	}
	return nil
}

// symmetric says whether the covariances among a component's numbers are symmetric.
func (p *plan) symmetric(xi []float64) bool {
	for i := range p.parts {
		f := &p.parts[i]
		g, ok := f.factor.(gaussian)
		if !ok {
			continue
		}
		_, cov := g.split(f.ofParams(xi), 0)
		for a := range g.d {
			for c := range a {
				if math.Abs(cov[a*g.d+c]-cov[c*g.d+a]) > 1e-9*math.Sqrt(cov[a*g.d+a]*cov[c*g.d+c]) {
					return false
				}
			}
		}
	}
	return true
}

func (p *Parameters) component(k int, pl *plan) []float64 { return at(p.Components, k, pl.params) }

// keep returns the parameters of some components, in the order given.
func (p *Parameters) keep(axes []int, pl *plan) *Parameters {
	q := &Parameters{K: len(axes), D: p.D, Whole: p.Whole, plan: pl}
	total := 0.0
	for _, k := range axes {
		q.Weights = append(q.Weights, p.Weights[k])
		q.Components = append(q.Components, p.component(k, pl)...)
		total += p.Weights[k]
	}
	for j := range q.Weights {
		if total > 0 {
			q.Weights[j] /= total
		} else {
			q.Weights[j] = 1 / float64(q.K)
		}
	}
	return q
}

// Canonical orders the components by weight, the largest first.
func (m Model) Canonical(p *Parameters) (*Parameters, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	order := make([]int, p.K)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.Weights[j], p.Weights[i]) })
	q := p.keep(order, pl)
	for j, k := range order {
		q.Weights[j] = p.Weights[k] // the same bits
	}
	return q, nil
}
