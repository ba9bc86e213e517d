package features

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// Init starts with differences of random rows as loadings, because rows that differ by one feature differ by its
// loadings. It scales the loadings so that features and noise each have half of the variance. It returns an error for
// missing entries, for constant columns and for more than [MaxExact] features.
func (m Model) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	if k > MaxExact {
		return nil, fmt.Errorf("features: %d features have 2^%d states, and %d at most are enumerated: take MeanField",
			k, k, MaxExact)
	}
	return m.init(ctx, src, k, rng)
}

func (m Model) init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	if k < 1 {
		return nil, fmt.Errorf("features: K is %d; must be at least 1", k)
	}
	p, err := m.pool(ctx, src)
	if err != nil {
		return nil, err
	}
	rows, err := p.draw(ctx, src, rng)
	if err != nil {
		return nil, err
	}
	p.K, p.On, p.Loadings = k, slices.Repeat([]float64{0.5}, k), make([]float64, p.D*k)
	floats.Scale(0.5, p.Noise)
	for j, floor := range p.Floor {
		p.Noise[j] = max(p.Noise[j], floor)
	}
	for l := range k {
		one, other := rows.Row(rng.IntN(rows.N)), rows.Row(rng.IntN(rows.N))
		for j := range p.D {
			w := (one[j] - other[j]) / math.Sqrt(float64(k))
			p.Loadings[j*k+l] = w
			p.Offset[j] -= w / 2
		}
	}
	return p, nil
}

// draw draws rows, in order of their distance from the mean in units of the columns: which of them a start takes then
// depends neither on the order of the rows in the table nor on that of the columns.
func (p *Parameters) draw(
	ctx context.Context, src framework.Source[blocks.Rows], rng *rand.Rand,
) (blocks.Rows, error) {
	rows, err := family.DrawRows(ctx, src, p.D, rng)
	if err != nil {
		return rows, err
	}
	distance, order := make([]float64, rows.N), make([]int, rows.N)
	for i := range order {
		order[i] = i
		for j, x := range rows.Row(i) {
			x -= p.Center[j]
			distance[i] += x * x / p.UnitOf(j)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(distance[i], distance[j]), slices.Compare(rows.Row(i), rows.Row(j)))
	})
	sorted := make([]float64, 0, len(rows.X))
	for _, i := range order {
		sorted = append(sorted, rows.Row(i)...)
	}
	return blocks.Rows{N: rows.N, D: rows.D, Stride: rows.D, X: sorted}, nil
}

// pool are parameters without features: mean, variance and resolution of each column.
func (m Model) pool(ctx context.Context, src framework.Source[blocks.Rows]) (*Parameters, error) {
	if err := check(ctx, src); err != nil {
		return nil, err
	}
	pooled, _, err := family.Pool(ctx, src, normal.Family{Covariance: normal.Diagonal})
	if err != nil {
		return nil, err
	}
	d := len(pooled.Parameters) / 2 // means, and then variances
	p := &Parameters{
		D:         d,
		Isotropic: m.Isotropic,
		Center:    pooled.Parameters[:d],
		Unit:      pooled.Parameters[d:],
		Floor:     slices.Clone(pooled.Floor),
	}
	if m.Isotropic {
		p.Unit, p.Floor = []float64{floats.Sum(p.Unit) / float64(d)}, []float64{floats.Sum(p.Floor) / float64(d)}
	}
	for j, unit := range p.Unit {
		p.Floor[j] = max(p.Floor[j], leastNoise*unit)
	}
	p.Offset, p.Noise = slices.Clone(p.Center), slices.Clone(p.Unit)
	return p, nil
}

// leastNoise is the least share of a column's variance that is left to the noise: a thousandth of its standard
// deviation. The floor is higher where values are recorded in wide steps.
const leastNoise = 1e-6

// seen is what check knows of the columns.
type seen struct {
	First  []float64 // row of positive weight
	Varies []bool
}

// ofSeen names it.
type ofSeen struct{}

// check refuses missing entries and constant columns.
func check(ctx context.Context, src framework.Source[blocks.Rows]) error {
	q := framework.Ask(ofSeen{}, func() (*seen, error) { return new(seen), nil }, (*seen).add, (*seen).merge)
	if err := framework.SurveyAll(ctx, src, 0, q); err != nil {
		return err
	}
	all := q.Sum
	if all.First == nil {
		return fmt.Errorf("features: the source has no rows")
	}
	if j := slices.Index(all.Varies, false); j >= 0 {
		return fmt.Errorf("features: %w", blocks.FaultyColumn(j, blocks.ErrConstant))
	}
	return nil
}

func (s *seen) add(b blocks.Rows) error {
	for i := range b.N {
		if b.Weight(i) == 0 {
			continue
		}
		row := b.Row(i)
		for j, v := range row {
			if v-v != 0 {
				return fmt.Errorf("features: %w", blocks.NotFinite(b.First+i, j, v))
			}
		}
		if err := s.merge(&seen{First: row, Varies: make([]bool, len(row))}); err != nil {
			return err
		}
	}
	return nil
}

func (s *seen) merge(o *seen) error {
	switch {
	case o.First == nil:
		return nil
	case s.First == nil:
		s.First, s.Varies = slices.Clone(o.First), slices.Clone(o.Varies)
		return nil
	case len(s.First) != len(o.First):
		return fmt.Errorf("features: some rows have %d columns and others %d: all must have the same",
			len(s.First), len(o.First))
	}
	for j, v := range o.First {
		s.Varies[j] = s.Varies[j] || o.Varies[j] || v != s.First[j]
	}
	return nil
}
