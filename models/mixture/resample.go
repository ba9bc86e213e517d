package mixture

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
)

// What package bootstrap asks of a model.

// mostDrawn bounds the numbers of a table that Resample draws: 2 GiB.
const mostDrawn = 1 << 28

// Resample draws a table like src from p: as many rows, with the same values missing and the same numbers of trials.
// A row of weight w becomes w rows. It returns an error for weights that are not whole numbers, for a family that
// cannot sample, and for more than 2²⁸ numbers.
func (m Model) Resample(
	ctx context.Context, src framework.Source[blocks.Rows], p *Parameters, rng *rand.Rand,
) (framework.Source[blocks.Rows], error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	return Redraw(ctx, src, p.D, func(row []float64) error {
		return pl.Resample(p.Component(categorical.Draw(p.Weights, rng)), rng, row)
	})
}

// Redraw returns a table like src, with d columns. It calls draw for each row, w times for a row of weight w. Its
// errors are those of [Model.Resample].
func Redraw(
	ctx context.Context, src framework.Source[blocks.Rows], d int, draw func(row []float64) error,
) (framework.Source[blocks.Rows], error) {
	var x []float64
	for b, err := range src.Blocks(ctx) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = b.Check()
		}
		if err != nil {
			return nil, err
		}
		if b.D != d {
			return nil, fmt.Errorf("mixture: the table has %d columns, and the model %d", b.D, d)
		}
		for i := range b.N {
			w := b.Weight(i)
			if w != math.Trunc(w) {
				return nil, fmt.Errorf("mixture: the weight of %w",
					blocks.FaultyRow(b.First+i, "is %v; must be a whole number, to draw rows", w))
			}
			if w*float64(d) > float64(mostDrawn-len(x)) {
				return nil, fmt.Errorf("mixture: the weights stand for more than %d rows of %d columns, too many to draw",
					mostDrawn/d, d)
			}
			for range int(w) {
				x = append(x, b.Row(i)...)
				if err := draw(x[len(x)-d:]); err != nil {
					return nil, err
				}
			}
		}
	}
	return blocks.FromIncomplete(x, len(x)/d, d)
}

// StartAt returns the parameters after one iteration of EM from p. The description of the table as one component,
// which sets units and scales priors, stays that of p.
func (m Model) StartAt(ctx context.Context, src framework.Source[blocks.Rows], p *Parameters) (*Parameters, error) {
	return framework.EMStep(ctx, m, src, p, 1)
}

// StartAt returns the parameters after one iteration of EM from p.
func (m MAP) StartAt(ctx context.Context, src framework.Source[blocks.Rows], p *Parameters) (*Parameters, error) {
	return framework.EMStep(ctx, m, src, p, 1)
}

// Permute moves component order[k] of p to position k.
func (m Model) Permute(p *Parameters, order []int) (*Parameters, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	q := p.keep(order, pl)
	for j, k := range order {
		q.Weights[j] = p.Weights[k] // the same bits
	}
	return q, nil
}

// Vector returns the weights, K numbers, and then the components, K×P.
func (p *Parameters) Vector() []float64 { return slices.Concat(p.Weights, p.Components) }
