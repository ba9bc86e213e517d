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
// reads the source twice, seldom three times, by [SurveyAll], and needs 16 MiB and the memory of 2n rows or a few times
// as much. All divisions of a state by an [optional.Splitter] get the same rows.
func DrawRows(ctx context.Context, src Source[blocks.Rows], n int, rng *rand.Rand) (blocks.Rows, error) {
	d := NewDraw(ctx, src, n, rng)
	if all, _ := ctx.Value(drawnKey{}).(*drawn); all != nil && same(src, all.src) {
		return all.rows(n, func() (blocks.Rows, error) { return d.Rows(ctx) })
	}
	return d.Rows(ctx)
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

// same reports whether two sources are one.
func same(src Source[blocks.Rows], other any) bool {
	a, _ := here(src)
	if of, is := other.(Source[blocks.Rows]); is {
		other, _ = here(of)
	}
	return reflect.TypeOf(a) == reflect.TypeOf(other) && reflect.ValueOf(a).Comparable() && any(a) == other
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

// A Draw is [DrawRows] under way, whose surveys may have other sums, too.
type Draw struct {
	src     Source[blocks.Rows]
	n, most int // rows to be returned, and to be drawn: the sample of a fit may be more, and is of the same draw
	seed    uint64
	seen    *Asked[blocks.Rows, *drawing.Seen]
	of      *drawing.Drawing
	drawn   *Asked[blocks.Rows, *drawing.Drawn] // nil if all rows are taken
}

// NewDraw begins a draw of at most n rows.
func NewDraw(ctx context.Context, src Source[blocks.Rows], n int, rng *rand.Rand) *Draw {
	d := &Draw{src: src, n: n, most: n}
	if src.Rows() > n {
		d.seed = rng.Uint64()
		if s := surveysOf(ctx); s != nil {
			s.draw, d.most = d, max(n, s.Sample)
		}
	}
	return d
}

// Names of the sums of a draw.
type (
	ofSeen  struct{ some bool }
	ofDrawn struct {
		most int
		seed uint64
		free bool // of a bound that is guessed
	}
)

// Next returns what the next survey has to sum up, one sum or none; none if d is nil.
func (d *Draw) Next() []Question[blocks.Rows] {
	switch {
	case d == nil:
		return nil
	case d.seen == nil:
		some := d.src.Rows() > d.n
		d.seen = Ask(ofSeen{some},
			func() (*drawing.Seen, error) { return drawing.NewSeen(some), nil },
			func(s *drawing.Seen, b blocks.Rows) error { return faulty(s.Add(b)) },
			func(into, from *drawing.Seen) error { return faulty(into.Merge(from)) })
		return []Question[blocks.Rows]{d.seen}
	case d.of == nil:
		d.of = drawing.NewDrawing(d.seen.Sum, d.most, d.seed)
		if d.src.Rows() <= d.n {
			return nil
		}
	case d.drawn == nil || !d.of.Again(d.drawn.Sum):
		return nil
	}
	d.drawn = Ask(ofDrawn{d.most, d.seed, d.drawn != nil},
		func() (*drawing.Drawn, error) { return d.of.Drawn(), nil }, (*drawing.Drawn).Add, (*drawing.Drawn).Merge)
	return []Question[blocks.Rows]{d.drawn}
}

// Rows makes the surveys that are left, and returns the rows.
func (d *Draw) Rows(ctx context.Context) (blocks.Rows, error) {
	for next := d.Next(); next != nil; next = d.Next() {
		if err := SurveyAll(ctx, d.src, 0, next...); errors.Is(err, errNoRows) {
			return blocks.Rows{}, nil
		} else if err != nil {
			return blocks.Rows{}, err
		}
	}
	return d.first(d.n), nil
}

// first are at most n of the rows that are drawn.
func (d *Draw) first(n int) blocks.Rows {
	if d.drawn != nil {
		d.seen.Sum.Taken = d.drawn.Sum.First(n)
	}
	return d.seen.Sum.Block()
}

// faulty makes an error one of the source.
func faulty(err error) error {
	if err == nil {
		return nil
	}
	return &sourceError{err}
}
