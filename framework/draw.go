package framework

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"

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
// reads the source twice, seldom three times, by [Survey], and needs 16 MiB and the memory of 2n rows or a few times as
// much. All divisions of a state by an [optional.Splitter] get the same rows.
func DrawRows(ctx context.Context, src Source[blocks.Rows], n int, rng *rand.Rand) (blocks.Rows, error) {
	seed := uint64(0)
	if src.Rows() > n {
		seed = rng.Uint64()
	}
	draw := func() (rows blocks.Rows, err error) {
		rows, _, err = drawRows(ctx, src, n, seed)
		return rows, err
	}
	if d, _ := ctx.Value(drawnKey{}).(*drawn); d != nil && d.of(src) {
		return d.rows(n, draw)
	}
	return draw()
}

// drawn are rows of a source that all divisions of a state share: each looks at the same sample, which is drawn once.
type drawn struct {
	src  any
	lock sync.Mutex
	made map[int]blocks.Rows // by the number of rows
}

type drawnKey struct{}

// drawingOnce has draws of the source made once.
func drawingOnce(ctx context.Context, src any) context.Context {
	return context.WithValue(ctx, drawnKey{}, &drawn{src: src, made: map[int]blocks.Rows{}})
}

// of reports whether a source is that of the fit.
func (d *drawn) of(src any) bool {
	return reflect.TypeOf(src) == reflect.TypeOf(d.src) && reflect.ValueOf(src).Comparable() && src == d.src
}

// rows returns a copy of the draw of n rows.
func (d *drawn) rows(n int, draw func() (blocks.Rows, error)) (blocks.Rows, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	rows, has := d.made[n]
	if !has {
		var err error
		if rows, err = draw(); err != nil {
			return rows, err
		}
		d.made[n] = rows
	}
	rows.X, rows.Weights = slices.Clone(rows.X), slices.Clone(rows.Weights)
	return rows, nil
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
		var drawn *drawing.Drawn
		for drawn == nil || d.Again(drawn) {
			drawn, err = Survey(ctx, src, 1,
				func() (*drawing.Drawn, error) { return d.Drawn(), nil }, (*drawing.Drawn).Add, (*drawing.Drawn).Merge)
			if err != nil {
				return blocks.Rows{}, 0, err
			}
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
