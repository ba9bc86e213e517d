package mixture

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/categorical"
)

// Labels assigns each row to its most probable component, the first of equals, from
// responsibilities rows×K.
func Labels(responsibilities []float64, k int) []int {
	labels := make([]int, len(responsibilities)/k)
	for i := range labels {
		row := at(responsibilities, i, k)
		for j, q := range row {
			if q > row[labels[i]] {
				labels[i] = j
			}
		}
	}
	return labels
}

// Sample draws n rows from the mixture, n×D row-major, and the component of each.
func (m Model) Sample(p *Parameters, n int, rng *rand.Rand) (x []float64, labels []int, err error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, nil, err
	}
	x, labels = make([]float64, n*p.D), make([]int, n)
	for i := range labels {
		labels[i] = categorical.Draw(p.Weights, rng)
		if err := pl.Sample(p.Component(labels[i]), rng, at(x, i, p.D)); err != nil {
			return nil, nil, err
		}
	}
	return x, labels, nil
}

// Means are those of the response of each row in each component given its other columns, rows×K, where the family is a
// [family.Regression].
func (m Model) Means(b framework.Rows, p *Parameters) ([]float64, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	means := make([]float64, 0, b.N*p.K)
	for i := range b.N {
		for k := range p.K {
			mean, err := pl.Mean(p.Component(k), b.Row(i))
			if err != nil {
				return nil, err
			}
			means = append(means, mean)
		}
	}
	return means, nil
}

// Numbers describes the numbers of a component, in their order.
func (m Model) Numbers(p *Parameters) ([]family.Number, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	return pl.Numbers(), nil
}

// Doubts are about columns, or directions, of the table that hold nothing but the floor of their variance (see
// [family.Plan.Doubts]).
func (m Model) Doubts(p *Parameters) ([]error, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	return pl.Doubts(), nil
}

// OnFloor are, of each component, the columns whose variance there is the least that is allowed (see
// [family.Gaussian]), though the table has more: the component may stand for repeated values rather than for a group.
func (m Model) OnFloor(p *Parameters) ([][]int, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	list := make([][]int, p.K)
	for k := range list {
		list[k] = pl.OnFloor(p.Component(k))
	}
	return list, nil
}

// StandardErrors are those of the numbers of [Parameters].Components, K×P, and of the
// weights, K. They come from F, the Hessian of the complete data averaged under q (paper G,
// Proposition 9: the posterior of Π tends to N(Π̄, F⁻¹/N)): the square roots of the
// diagonal of (N F)⁻¹ in the parameters as they are reported. They ignore the
// uncertainty about Z, and are too small where components overlap; in the same sense, a
// weight's is √(β(1−β)/N). What the components share, a tied covariance, is estimated from all
// rows. Families that are no family.Deviator have NaN. s are the statistics that p was maximised from.
func (m Model) StandardErrors(s *Statistics, p *Parameters) (components, weights []float64, err error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, nil, err
	}
	s.restore(pl)
	components, weights = make([]float64, len(p.Components)), make([]float64, p.K)
	known := p.observed
	for k := range p.K {
		weights[k] = math.Sqrt(p.Weights[k] * max(0, 1-p.Weights[k]) / s.N) // a sum may round to above 1
		if err := s.Classes.Deviations(k, p.Components, known, s.N, at(components, k, pl.Size().Params)); err != nil {
			return nil, nil, err
		}
	}
	return components, weights, nil
}

// A Summary describes a component.
type Summary struct {
	Weight, WeightError float64
	Rows                float64   // N_k, the expected number of its rows
	Columns             [][]Value // of each column, its numbers: the marginal distribution
}

// A Value is a number of a component with its standard error (see [Model.StandardErrors]).
type Value struct {
	Name         string
	Value, Error float64
}

// Summarize describes all components, column by column. s are the statistics that p was
// maximised from.
func (m Model) Summarize(s *Statistics, p *Parameters) ([]Summary, error) {
	errs, weightErrs, err := m.StandardErrors(s, p)
	if err != nil {
		return nil, err
	}
	numbers, err := m.Numbers(p)
	if err != nil {
		return nil, err
	}
	list := make([]Summary, p.K)
	for k := range list {
		list[k] = Summary{p.Weights[k], weightErrs[k], s.Nk[k], make([][]Value, p.D)}
		for i, n := range numbers {
			if strings.HasSuffix(n.Name, "covariance") {
				continue
			}
			value := Value{n.Name, p.Components[k*len(numbers)+i], errs[k*len(numbers)+i]}
			for j := n.From; j <= n.To; j++ {
				list[k].Columns[j] = append(list[k].Columns[j], value)
			}
		}
	}
	return list, nil
}

// A Contrast says how much a column of a component differs from the same column of the
// table: the Kullback–Leibler divergence of the column's distribution in the component
// from that in the table, in nats a row.
type Contrast struct {
	Column     int
	Divergence float64
}

// Characteristic lists the columns of component k, the most characteristic first. A group
// of columns that a family describes together has one divergence, except that each column
// of a Gaussian has that of its marginal distribution.
func (m Model) Characteristic(p *Parameters, k int) ([]Contrast, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	if err := p.has(k); err != nil {
		return nil, err
	}
	divergence := make([]float64, p.D)
	pl.Contrast(p.Component(k), p.Pooled, divergence)
	list := make([]Contrast, len(divergence))
	for j, d := range divergence {
		list[j] = Contrast{j, d}
	}
	slices.SortStableFunc(list, func(a, b Contrast) int { return cmp.Compare(b.Divergence, a.Divergence) })
	return list, nil
}

var (
	_ framework.LogProber[framework.Rows, *Parameters] = Model{}
	_ framework.Assigner[framework.Rows, *Parameters]  = Model{}
	_ framework.Assigner[framework.Rows, *Posterior]   = Variational{}
)
