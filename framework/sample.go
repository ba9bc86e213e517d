package framework

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework/blocks"
)

// sampleTolerance is the change, in nats per row, at which a fit to a sample ends: what the sample decides is known
// long before.
const sampleTolerance = 1e-6

// sampled is a start that goes on from another by a fit to a sample of the rows (see [Options].Sample), with as many
// latent dimensions.
func sampled[B, P any, S Statistics[S]](m Model[B, P, S], start Start[B, P], o Options) Start[B, P] {
	return func(ctx context.Context, src Source[B], k int, rng *rand.Rand) (P, error) {
		p, err := start(ctx, src, k, rng)
		rows, ok := any(src).(Source[blocks.Rows])
		if err != nil || !ok || src.Rows() < 2*o.Sample {
			return p, err
		}
		few, err := sampleOf(ctx, rows, o.Sample, rng)
		if few == nil || err != nil {
			return p, err
		}
		own := o.ofSample(k)
		own.FixedK, own.NoMoves = true, true
		res, err := FitFrom(ctx, m, any(few).(Source[B]), startAt[B](p), own)
		if err == nil && res.Shape.K == k {
			return res.Parameters, nil
		}
		if ctx.Err() != nil {
			return p, err
		}
		surveysOf(ctx).over = true
		return start(ctx, src, k, rng) // the sample has too little of something
	}
}

// ofSample are the options of a fit to a sample, from k latent dimensions, that are those of the fit to all rows.
func (o Options) ofSample(k int) Options {
	return Options{K: k, Method: o.Method, Criterion: o.Criterion, Temper: o.Temper, Accelerate: o.Accelerate,
		Tolerance: max(o.Tolerance, sampleTolerance), Workers: o.Workers, Shards: o.Shards}
}

// startAt is the start with given parameters.
func startAt[B, P any](p P) Start[B, P] {
	return func(context.Context, Source[B], int, *rand.Rand) (P, error) { return p, nil }
}

// sampleOf are some n rows at random, which have the weight of all, of those that the start under way has drawn if it
// has; nil if rows are given by their entries, which may be too wide for a table.
func sampleOf(ctx context.Context, src Source[blocks.Rows], n int, rng *rand.Rand) (*blocks.Table, error) {
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, &sourceError{err}
		}
		if b.Entries != nil {
			return nil, nil
		}
		break
	}
	d := &Draw{src: src, n: n, most: n}
	if s := surveysOf(ctx); s != nil && s.draw != nil && same(src, s.draw.src) {
		d = s.draw
	} else if src.Rows() > n {
		d.seed = rng.Uint64()
	}
	if _, err := d.Rows(ctx); err != nil {
		return nil, err
	}
	drawn := d.first(n)
	t, err := blocks.FromIncomplete(drawn.X, drawn.N, drawn.D)
	if err != nil {
		return nil, err
	}
	floats.Scale(d.seen.Sum.Weight/floats.Sum(drawn.Weights), drawn.Weights)
	return t.WithWeights(drawn.Weights)
}
