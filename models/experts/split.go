package experts

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/logit"
	"github.com/latent-go/latent/models/mixture"
)

// Split divides class k by fitting a mixture of two components to its rows (see [optional.Splitter]). The halves
// start with the gate of class k, shifted by the logs of their shares.
func (m Model) Split(
	ctx context.Context, src framework.Source[blocks.Rows], s *Statistics, p *Parameters, k int, rng *rand.Rand,
) (*Parameters, float64, error) {
	own, err := m.columns(p.D)
	if err != nil {
		return nil, 0, err
	}
	rows, err := family.DrawRows(ctx, src, p.D, rng)
	if err != nil {
		return nil, 0, err
	}
	q, err := m.Responsibilities(rows, p, nil)
	if err != nil {
		return nil, 0, err
	}
	halves, gain, err := mixture.Halves(ctx, m.Family, rows.Columns(own), q, k, s.Observations(), rng)
	if err != nil {
		return nil, 0, err
	}
	grown := p.like(nil, m.mixture().Grown(p.Mixture, k, halves.Parameters))
	copy(grown.Gate, p.Gate)
	copy(grown.gate(p.K()), p.gate(k))
	for j, at := range []int{k, p.K()} {
		grown.gate(at)[0] += math.Log(halves.Parameters.Weights[j])
	}
	logit.Center(grown.Gate, grown.width())
	return grown, gain, nil
}

// Resample draws the family's columns of a table like src from p, given the gate's columns (see
// [mixture.Model.Resample]).
func (m Model) Resample(
	ctx context.Context, src framework.Source[blocks.Rows], p *Parameters, rng *rand.Rand,
) (framework.Source[blocks.Rows], error) {
	draw, err := m.drawer(p, rng)
	if err != nil {
		return nil, err
	}
	var prior []float64
	return mixture.Redraw(ctx, src, p.D, func(row []float64) error {
		one := blocks.Rows{N: 1, D: p.D, Stride: p.D, X: row}
		if prior, err = m.Prior(one, p, prior); err != nil {
			return err
		}
		_, err := draw(prior, row)
		return err
	})
}

// StartAt returns the parameters after one iteration of EM from p. The design of the gate, and the table described as
// one class, stay those of p.
func (m Model) StartAt(ctx context.Context, src framework.Source[blocks.Rows], p *Parameters) (*Parameters, error) {
	return framework.EMStep(ctx, m, src, p, 1)
}

var _ optional.Splitter[framework.Source[blocks.Rows], *Parameters, *Statistics] = Model{}
