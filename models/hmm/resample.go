package hmm

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

// mostDrawn bounds the numbers that Resample draws: 2 GiB.
const mostDrawn = 1 << 28

// Resample draws sequences like those of src from p: as many, as long, with the same values missing, the same numbers
// of trials and the same covariates. A sequence of weight w becomes w sequences. It returns an error for weights that
// are not whole numbers, for a family that cannot sample, and for more than 2²⁸ numbers.
func (m Model) Resample(
	ctx context.Context, src framework.Source[blocks.Sequences], p *Parameters, rng *rand.Rand,
) (framework.Source[blocks.Sequences], error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	walk, err := m.walk(p)
	if err != nil {
		return nil, err
	}
	d := p.D + m.Structure.Covariates
	var x []float64
	var ends []int
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
		if b.Steps.D != d {
			return nil, fmt.Errorf("hmm: the table has %d columns, and the model %d", b.Steps.D, d)
		}
		for i := range b.Len() {
			first, end := b.Bounds(i)
			w := b.Weight(i)
			if w != math.Trunc(w) {
				return nil, fmt.Errorf("hmm: the weight of sequence %d is %v; must be a whole number, to draw "+
					"sequences", b.First+i+1, w)
			}
			if w*float64(d*(end-first)) > float64(mostDrawn-len(x)) {
				return nil, fmt.Errorf("hmm: the weights stand for more than %d numbers, too many to draw", mostDrawn)
			}
			for range int(w) {
				z := none
				for t := first; t < end; t++ {
					if err := walk.to(b.Steps, t); err != nil {
						return nil, err
					}
					z = categorical.Draw(walk.after(z), rng)
					x = append(x, b.Steps.Row(t)...)
					if err := pl.Resample(p.Component(z), rng, x[len(x)-d:][:p.D]); err != nil {
						return nil, err
					}
				}
				ends = append(ends, len(x)/d)
			}
		}
	}
	table, err := blocks.FromIncomplete(x, len(x)/d, d)
	if err != nil {
		return nil, err
	}
	return blocks.NewSequences(table, ends)
}

// StartAt returns the parameters after one iteration of EM from p. The description of all steps as one class, which
// sets units and scales priors, stays that of p.
func (m Model) StartAt(
	ctx context.Context, src framework.Source[blocks.Sequences], p *Parameters,
) (*Parameters, error) {
	return framework.EMStep(ctx, m, src, p, 1)
}

// StartAt returns the parameters after one iteration of EM from p.
func (m MAP) StartAt(
	ctx context.Context, src framework.Source[blocks.Sequences], p *Parameters,
) (*Parameters, error) {
	return framework.EMStep(ctx, m, src, p, 1)
}

// Permute moves state order[k] of p to position k. The states of a chain from left to right keep their order.
func (m Model) Permute(p *Parameters, order []int) (*Parameters, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	if m.Structure.LeftRight > 0 {
		order = slices.Sorted(slices.Values(order))
	}
	q := framework.KeepAxes(p, p.K, order)
	q.plan, q.bayes, q.observed, q.Gate = pl, p.bayes, p.observed.Keep(order), p.keepGates(order)
	return q, nil
}
