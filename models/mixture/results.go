package mixture

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/categorical"
)

// Labels returns the most probable component of each row, the first of equals, from responsibilities, rows×K.
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

// Sample draws n rows from the mixture, and returns them, n×D row-major, with the component of each.
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

// Means returns the mean of the response of each row in each component given the row's other columns, rows×K. The
// family must be a [regress.Family].
func (m Model) Means(b blocks.Rows, p *Parameters) ([]float64, error) {
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

// Label returns the label of component k, from 0, if the family is [known.Family]; [family.Free] if it has none.
func (m Model) Label(p *Parameters, k int) int { return known.Of(m.mustPlan(p)).Label(p.Component(k)) }

// Numbers describes the parameters of a component, in their order.
func (m Model) Numbers(p *Parameters) ([]family.Number, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	return pl.Numbers(), nil
}

// Doubts reports columns, or directions, in which the table's variance is at its floor (see [family.Plan.Doubts]).
func (m Model) Doubts(p *Parameters) ([]error, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	return pl.Doubts(), nil
}

// OnFloor returns, for each component, the columns whose variance in it is at the floor (see [normal.Family]),
// although it is above the floor in the table. Such a component may stand for repeated values rather than for a
// group.
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

// StandardErrors returns the standard errors of Parameters.Components, K×P, and of the weights, K. They are the
// square roots of the diagonal of (N F)⁻¹ for the reported parameters, where F is the Hessian of the complete data
// averaged under q (paper G, Proposition 9: the posterior of Π tends to N(Π̄, F⁻¹/N)). They ignore the uncertainty
// about Z, and are too small if components overlap; likewise the standard error of a weight is √(β(1−β)/N).
// [Parameters] that components share, such as a tied covariance, are estimated from all rows. The errors are NaN
// unless the family is a family.Deviator. s must be the statistics from which p was maximised.
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
	Rows                float64   // N_k, the expected number of rows
	Columns             [][]Value // for each column, the parameters of its marginal distribution
}

// A Value is a parameter of a component with its standard error (see [Model.StandardErrors]).
type Value struct {
	Name         string
	Value, Error float64
}

// Summarize describes all components, column by column. s must be the statistics from which p was maximised.
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

// Characteristic lists the columns of component k, the most characteristic first. A group of columns that a family
// describes together has one divergence; but for a Gaussian each column has the divergence of its marginal
// distribution. The column of [known.Family] is left out.
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
	if _, labels := m.Family.(known.Family); labels {
		divergence = divergence[:p.D-1]
	}
	list := make([]Contrast, len(divergence))
	for j, d := range divergence {
		list[j] = Contrast{j, d}
	}
	slices.SortStableFunc(list, func(a, b Contrast) int { return cmp.Compare(b.Divergence, a.Divergence) })
	return list, nil
}

var (
	_ optional.LogProber[blocks.Rows, *Parameters] = Model{}
	_ optional.Assigner[blocks.Rows, *Parameters]  = Model{}
	_ optional.Assigner[blocks.Rows, *Posterior]   = Variational{}
)

// Distances are the squared Mahalanobis distances of the rows of a block from the components: see
// [family.Plan.Distances].
func (m Model) Distances(b blocks.Rows, p *Parameters) (squared []float64, columns []int) {
	return m.mustPlan(p).Distances(p.Components, b)
}
