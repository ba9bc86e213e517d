package blocks

import (
	"context"
	"iter"
	"sync"
)

// A Reader reads the rows of a table in the blocks of [Table.Blocks]. Several goroutines may call it at a time.
type Reader interface {
	Rows() int
	// Part yields the blocks of shards first to last−1, in order: block i, from 0, belongs to shard i mod shards. The
	// blocks of sequences end where [Cut] says.
	Part(ctx context.Context, first, last, shards int) iter.Seq2[Rows, error]
	// All returns the numbers of all rows, in row-major order, and their weights; nil: all are 1.
	All(ctx context.Context) (x, weights []float64, err error)
}

// Read makes a Table of d columns whose rows r reads when they are asked for: a process that makes a part of the passes
// reads its own blocks alone.
func Read(r Reader, d int) *Table {
	return &Table{rows: r.Rows(), d: d, stride: d, later: &later{Reader: r}}
}

// Through is a table of d columns that of makes of the rows of t, in the memory of x or another, block by block where t
// is read when its rows are asked for. Its blocks have as many rows as those of t.
func (t *Table) Through(d int, of func(b Rows, x []float64) Rows) (*Table, error) {
	if t.later != nil {
		return Read(through{t, of}, d), nil
	}
	all := of(t.All(), nil)
	made, err := FromIncomplete(all.X, all.N, d)
	if err == nil {
		made.weights, made.height = t.weights, t.size()
	}
	return made, err
}

type through struct {
	*Table
	of func(b Rows, x []float64) Rows
}

func (t through) Part(ctx context.Context, first, last, shards int) iter.Seq2[Rows, error] {
	return func(yield func(Rows, error) bool) {
		for b, err := range t.Shards(ctx, first, last, shards) {
			if err == nil {
				b = t.of(b, nil)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

func (t through) All(ctx context.Context) (x, weights []float64, err error) {
	x, weights, err = t.later.All(ctx)
	if err != nil {
		return nil, nil, err
	}
	if t.weights != nil {
		weights = t.weights
	}
	return t.of(Rows{N: t.rows, D: t.d, Stride: t.d, X: x}, nil).X, weights, nil
}

// InMemory reports whether the numbers are there, and need not be read.
func (t *Table) InMemory() bool { return t.later == nil }

// IsFloat32 reports whether the table is one of [FromFloat32].
func (t *Table) IsFloat32() bool { return t.float32s != nil }

// A ReadError is the reason why rows of a table could not be read.
type ReadError struct{ Err error }

// Error is the text of the reason.
func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *ReadError) Unwrap() error { return e.Err }

// later is where the rows of a table come from.
type later struct {
	Reader
	once       sync.Once
	x, weights []float64
	err        error
}

// all are the numbers and weights of all rows, which are read once.
func (l *later) all() (x, weights []float64) {
	l.once.Do(func() { l.x, l.weights, l.err = l.All(context.Background()) })
	if l.err != nil {
		panic(&ReadError{l.err})
	}
	return l.x, l.weights
}

// read yields blocks as the reader has them.
func (t *Table) read(ctx context.Context, first, last, shards int) iter.Seq2[Rows, error] {
	return func(yield func(Rows, error) bool) {
		for b, err := range t.later.Part(ctx, first, last, shards) {
			if err == nil {
				b = t.weighted(b)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}
