package framework

import (
	"context"
	"fmt"
	"iter"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
)

// A Source yields the rows of a data set in blocks, any number of times and always in the same
// order. B is the type of a block: [blocks.Rows] for a row-major table, or any other type for which a model makes
// statistics.
//
// The engine calls Blocks once per run and ranges over the sequence once per pass: open files inside the sequence.
// Several goroutines may do so at the same time (restarts and [Select] do). A block belongs to its reader until the
// iteration ends: a source that reads from disk returns fresh memory for each. Passes over a table of
// [blocks.FromFloat32] alone get blocks whose numbers are there until the next one, and keep [blocks.Rows.Kept] of
// them.
type Source[B any] interface {
	// Rows is the number of rows, each counted once whatever its weight. A fit to blocks of another number of
	// [blocks.Rows] or [blocks.Sequences] is an error.
	Rows() int
	// Blocks yields the blocks in order. It yields nothing after an error.
	Blocks(ctx context.Context) iter.Seq2[B, error]
}

// ColumnsOf is a source of some columns of another source's rows (see [blocks.Rows.Columns]).
func ColumnsOf(src Source[blocks.Rows], columns []int) Source[blocks.Rows] {
	return someColumns{src, columns}
}

type someColumns struct {
	Source[blocks.Rows]
	columns []int
}

func (s someColumns) here() (Source[blocks.Rows], bool) {
	src, away := here(s.Source)
	return someColumns{src, s.columns}, away
}

func (s someColumns) named() any { return [2]any{nameOf(s.Source), fmt.Sprint(s.columns)} }

// Part has the columns of a part of the rows.
func (s someColumns) Part(ctx context.Context, first, last, shards int) iter.Seq2[blocks.Rows, error] {
	return s.of(partOf(ctx, s.Source, span{first, last, shards}))
}

func (s someColumns) Blocks(ctx context.Context) iter.Seq2[blocks.Rows, error] {
	return s.of(s.Source.Blocks(ctx))
}

func (s someColumns) of(list iter.Seq2[blocks.Rows, error]) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		for b, err := range list {
			if err == nil {
				b = b.Columns(s.columns)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// observationsOf is the number of observations in a source.
func observationsOf[B any](src Source[B]) int {
	if m, ok := src.(optional.Measured); ok {
		return m.Observations()
	}
	return src.Rows()
}

// StepsOf is the source of all steps of sequences as independent rows, each with the weight of its sequence, for Init
// of a model of sequences. It reads src once if src is not [optional.Measured].
func StepsOf(ctx context.Context, src Source[blocks.Sequences]) (Source[blocks.Rows], error) {
	s := steps{src: src}
	if m, ok := src.(optional.Measured); ok {
		s.n = m.Observations()
		return s, nil
	}
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		s.n += b.Steps.N
	}
	return s, ctx.Err()
}

type steps struct {
	src Source[blocks.Sequences]
	n   int
}

func (s steps) Rows() int { return s.n }

func (s steps) here() (Source[blocks.Rows], bool) {
	src, away := here(s.src)
	return steps{src, s.n}, away
}

// Part are the steps of a part of the sequences.
func (s steps) Part(ctx context.Context, first, last, shards int) iter.Seq2[blocks.Rows, error] {
	return flat(partOf(ctx, s.src, span{first, last, shards}))
}

func (s steps) Blocks(ctx context.Context) iter.Seq2[blocks.Rows, error] {
	return flat(s.src.Blocks(ctx))
}

func flat(list iter.Seq2[blocks.Sequences, error]) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		for b, err := range list {
			if !yield(b.Flat(), err) {
				return
			}
		}
	}
}
