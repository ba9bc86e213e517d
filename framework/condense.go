package framework

import (
	"context"
	"encoding/gob"
	"reflect"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
)

// Condense is [blocks.Table.Distinct] of a source if that pays (see [Condensed]). It returns any other source
// unchanged, also one that it cannot read: the next reader gets the error.
func Condense(ctx context.Context, src Source[blocks.Rows]) Source[blocks.Rows] {
	if t, pays := blocks.Condensed(ctx, src.Blocks(ctx), src.Rows()); pays {
		return t
	}
	return src
}

// How a model condenses a source.
const (
	unchanged = iota
	toFew     // to few rows, which follow
	toMany    // which each process finds by itself
)

// condensed is what a model condenses a source to. Of the processes of a group the first one reads the rows, and the
// others hear what it has found.
func condensed[B any](ctx context.Context, c optional.Condenser[Source[B]], src Source[B]) Source[B] {
	together := ensembleOf(ctx)
	if together == nil {
		return c.Condense(ctx, src)
	}
	found, m := src, message{Kind: ofCondensing}
	var encode func(enc *gob.Encoder) error
	if together.rank == 0 {
		found = c.Condense(ctx, src)
		t, is := any(found).(*blocks.Table)
		switch {
		case reflect.ValueOf(found).Comparable() && any(found) == any(src):
		case is && t.Rows() < src.Rows():
			m.Condensed = toFew
			encode = func(enc *gob.Encoder) error { return enc.Encode(t.All()) }
		default:
			m.Condensed = toMany
		}
	}
	replies, err := together.exchange(ctx, m, encode)
	if err != nil || together.rank == 0 {
		return found // and the next exchange has the error
	}
	switch replies[0].Condensed {
	case toMany:
		return c.Condense(ctx, src)
	case toFew:
		var rows blocks.Rows
		err := replies[0].sums.Decode(&rows)
		var t *blocks.Table
		if err == nil {
			t, err = blocks.FromIncomplete(rows.X, rows.N, rows.D)
		}
		if err == nil {
			t, err = t.WithWeights(rows.Weights)
		}
		if err == nil {
			return any(t).(Source[B])
		}
		_ = together.breaks(err) // likewise
	}
	return src
}
