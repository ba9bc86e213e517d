package hmm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/mixture"
)

// A state is divided by what is seen in it: a mixture of two that is fitted to its steps, as that of a component is. Which half follows
// which is left to the first local step.

// Split divides state k, as a [framework.Splitter] does, by a sample of pieces of the sequences.
func (m Model) Split(ctx context.Context, src framework.Source[framework.Sequences], s *Statistics, p *Parameters, k int, rng *rand.Rand) (*Parameters, float64, error) {
	if m.Structure.LeftRight > 0 {
		return nil, 0, errOrdered
	}
	b, err := pieces(ctx, src, p.D, rng)
	if err != nil {
		return nil, 0, err
	}
	q, err := m.Responsibilities(b, p, nil)
	if err != nil {
		return nil, 0, err
	}
	halves, gain, err := mixture.Halves(ctx, m.Family, b.Flat(), q, k, s.N, rng)
	if err != nil {
		return nil, 0, err
	}
	grown := m.grown(p, k, halves.Parameters.Weights)
	copy(grown.Component(k), halves.Parameters.Component(0))
	copy(grown.Component(p.K), halves.Parameters.Component(1))
	return grown, gain, m.Structure.begin(grown.Start, grown.Transitions)
}

var errOrdered = fmt.Errorf("hmm: a state of a chain from left to right has no second place to be divided into: %w", framework.ErrDegenerate)

// grown are the parameters with state k twice, as k and the last: what leads to k leads to them in the given shares.
func (m Model) grown(p *Parameters, k int, shares []float64) *Parameters {
	q := (&Parameters{K: p.K + 1, D: p.D, Pooled: p.Pooled}).like(nil, m.mustPlan(p))
	q.bayes = p.bayes
	copy(q.Components, p.Components)
	divide := func(dst, v []float64) {
		copy(dst, v)
		dst[k], dst[p.K] = v[k]*shares[0], v[k]*shares[1]
	}
	divide(q.Start, p.Start)
	for i := range q.K {
		from := i
		if i == p.K {
			from = k
		}
		divide(at(q.Transitions, i, q.K), at(p.Transitions, from, p.K))
	}
	return q
}

const (
	// pieceSteps is the number of steps up to which a piece of a sequence is looked at.
	pieceSteps = 256
	// sampleSteps is about how many steps a sample of pieces has.
	sampleSteps = 8192
)

// pieces draws pieces of sequences, without replacement, as many as have about sampleSteps steps; those of weight 0 are left out.
func pieces(ctx context.Context, src framework.Source[framework.Sequences], d int, rng *rand.Rand) (framework.Sequences, error) {
	out := framework.Sequences{Steps: framework.Rows{D: d, Stride: d}}
	count, steps := 0, 0
	each := func(visit func(b framework.Sequences, weight float64, first, end int)) error {
		for b, err := range src.Blocks(ctx) {
			if err != nil {
				return err
			}
			for i := range b.Len() {
				begin, end := b.Bounds(i)
				for first := begin; first < end && b.Weight(i) > 0; first += pieceSteps {
					visit(b, b.Weight(i), first, min(end, first+pieceSteps))
				}
			}
		}
		return ctx.Err()
	}
	if err := each(func(_ framework.Sequences, _ float64, first, end int) { count, steps = count+1, steps+end-first }); err != nil {
		return out, err
	}
	if count == 0 {
		return out, errors.New("hmm: the source has no sequences")
	}
	wanted := min(count, 1+int(float64(sampleSteps)*float64(count)/float64(steps)))
	err := each(func(b framework.Sequences, weight float64, first, end int) {
		if rng.IntN(count) < wanted { // Knuth's selection sampling
			for t := first; t < end; t++ {
				out.Steps.X = append(out.Steps.X, b.Steps.Row(t)...)
			}
			out.Steps.N += end - first
			out.Ends, out.Weights = append(out.Ends, out.Steps.N), append(out.Weights, weight)
			wanted--
		}
		count--
	})
	return out, err
}

var _ framework.Splitter[framework.Sequences, *Parameters, *Statistics] = Model{}
