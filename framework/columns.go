package framework

import (
	"context"
	"iter"
)

// Columns are the given columns of the rows, from 0, in that order; a column may be given twice. They share the memory
// of b if they are adjacent; otherwise they have their own memory.
func (b Rows) Columns(columns []int) Rows {
	to := Rows{First: b.First, N: b.N, D: len(columns), Stride: len(columns), Weights: b.Weights}
	if b.Entries == nil && b.N > 0 && consecutive(columns) {
		to.X, to.Stride = b.X[columns[0]:(b.N-1)*b.Stride+columns[0]+to.D], b.Stride
		return to
	}
	to.X = make([]float64, b.N*to.D)
	for i := range b.N {
		row := b.Row(i)
		for j, c := range columns {
			to.X[i*to.D+j] = row[c]
		}
	}
	return to
}

func consecutive(columns []int) bool {
	for j, c := range columns {
		if c != columns[0]+j {
			return false
		}
	}
	return len(columns) > 0
}

// ColumnsOf is a source of some columns of another source's rows (see [Rows.Columns]).
func ColumnsOf(src Source[Rows], columns []int) Source[Rows] { return someColumns{src, columns} }

type someColumns struct {
	Source[Rows]
	columns []int
}

func (s someColumns) here() (Source[Rows], bool) {
	src, away := here(s.Source)
	return someColumns{src, s.columns}, away
}

// Part has the columns of a part of the rows.
func (s someColumns) Part(ctx context.Context, first, last, shards int) iter.Seq2[Rows, error] {
	return s.of(partOf(ctx, s.Source, span{first, last, shards}))
}

func (s someColumns) Blocks(ctx context.Context) iter.Seq2[Rows, error] {
	return s.of(s.Source.Blocks(ctx))
}

func (s someColumns) of(blocks iter.Seq2[Rows, error]) iter.Seq2[Rows, error] {
	return func(yield func(Rows, error) bool) {
		for b, err := range blocks {
			if err == nil {
				b = b.Columns(s.columns)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}
