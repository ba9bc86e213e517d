package framework

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/drawing"
)

// DrawRows draws at most n of the rows of positive weight by their contents: the draw and its order do not depend on
// the order of the table's rows nor, apart from rounding, on the order and the units of its columns. So a fit that
// begins with rows drawn at random begins at the same place however a table is sorted.
//
// If there are more than n rows, equal rows become one row of the sum of their weights, and DrawRows draws without
// replacement by priorities: random numbers, seeded by the cells of a row, over an estimate of its frequency (Duffield,
// Lund & Thorup, Journal of the ACM 54(6), 2007). Frequent rows are certain to be drawn. Weights are proportional to
// the number of rows of the table that a row of the draw stands for: means over the draw are unbiased. DrawRows then
// reads the source twice, by [Survey], and needs 16 MiB and the memory of 2n rows or a few times as much.
func DrawRows(ctx context.Context, src Source[blocks.Rows], n int, rng *rand.Rand) (blocks.Rows, error) {
	seed := uint64(0)
	if src.Rows() > n {
		seed = rng.Uint64()
	}
	rows, _, err := drawRows(ctx, src, n, seed)
	return rows, err
}

// drawRows also returns the weight of the table.
func drawRows(ctx context.Context, src Source[blocks.Rows], n int, seed uint64) (blocks.Rows, float64, error) {
	some := src.Rows() > n
	seen, err := Survey(ctx, src, 1,
		func() (*drawing.Seen, error) { return drawing.NewSeen(some), nil },
		func(s *drawing.Seen, b blocks.Rows) error { return faulty(s.Add(b)) },
		func(into, from *drawing.Seen) error { return faulty(into.Merge(from)) })
	if errors.Is(err, errNoRows) {
		return blocks.Rows{}, 0, nil
	}
	if err != nil {
		return blocks.Rows{}, 0, err
	}
	d := drawing.NewDrawing(seen, n, seed)
	if some {
		drawn, err := Survey(ctx, src, 1,
			func() (*drawing.Drawn, error) { return d.Drawn(), nil }, (*drawing.Drawn).Add, (*drawing.Drawn).Merge)
		if err != nil {
			return blocks.Rows{}, 0, err
		}
		drawn.Weigh()
		seen.Taken = drawn.Rows
	}
	return seen.Block(), seen.Weight, nil
}

// faulty makes an error one of the source.
func faulty(err error) error {
	if err == nil {
		return nil
	}
	return &sourceError{err}
}
