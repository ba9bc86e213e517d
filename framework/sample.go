package framework

import (
	"context"
	"math/rand/v2"
)

// sampleTolerance is the change, in nats per row, at which a fit to a sample ends: what the sample decides is known
// long before.
const sampleTolerance = 1e-6

// sampled is a start that goes on from another by a fit to a sample of the rows (see [Options].Sample), with as many
// latent dimensions.
func sampled[B, P any, S Statistics[S]](m Model[B, P, S], start Start[B, P], o Options) Start[B, P] {
	return func(ctx context.Context, src Source[B], k int, rng *rand.Rand) (P, error) {
		p, err := start(ctx, src, k, rng)
		rows, ok := any(src).(Source[Rows])
		if err != nil || !ok || src.Rows() < 2*o.Sample {
			return p, err
		}
		few, err := draw(ctx, rows, o.Sample, rng)
		if few == nil || err != nil {
			return p, err
		}
		own := Options{K: k, Method: o.Method, Criterion: o.Criterion, FixedK: true, Temper: o.Temper, NoMoves: true,
			Accelerate: o.Accelerate,
			Tolerance:  max(o.Tolerance, sampleTolerance), Workers: o.Workers, Shards: o.Shards}
		res, err := FitFrom(ctx, m, any(few).(Source[B]),
			func(context.Context, Source[B], int, *rand.Rand) (P, error) { return p, nil }, own)
		if err == nil && res.Shape.K == k {
			return res.Parameters, nil
		}
		if ctx.Err() != nil {
			return p, err
		}
		return start(ctx, src, k, rng) // the sample has too little of something
	}
}

// draw takes one row at random of every few that follow one another, so that n or somewhat more are left, and gives it
// the weight of all of them; nil where rows are given by their entries, which may be too wide for a table.
func draw(ctx context.Context, src Source[Rows], n int, rng *rand.Rand) (*Table, error) {
	of := src.Rows() / n
	var x, weights []float64
	seen, d, take, sum := 0, 0, rng.IntN(of), 0.0
	var row []float64
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, &sourceError{err}
		}
		if err := b.Check(); err != nil {
			return nil, &sourceError{err}
		}
		if b.Entries != nil {
			return nil, nil
		}
		d = b.D
		for i := range b.N {
			sum += b.Weight(i)
			if seen%of == take {
				row = append(row[:0], b.Row(i)...)
			}
			if seen++; seen%of == 0 {
				x, weights = append(x, row...), append(weights, sum)
				take, sum = rng.IntN(of), 0
			}
		}
	}
	t, err := FromIncomplete(x, len(weights), d)
	if err != nil {
		return nil, err
	}
	return t.WithWeights(weights)
}
