package ranks

import (
	"bytes"
	"context"
	"encoding/gob"
	"iter"
	"sync"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/wire"
)

// A Driver counts what a fit whose passes others make reads by itself.
type Driver struct {
	Whole, Blocks   int // readings that come to the last block, and the blocks of all, before the first pass
	Surveys, Passes int // of the workers

	mu sync.Mutex // starts are made at the same time
}

// Apart is a source whose passes and surveys are made elsewhere, in three shares, by what workers get as bytes. They
// have the models of the fit. The rows that they read are not the driver's.
func Apart[B, P any, S framework.Statistics[S]](
	src framework.Source[B], models ...framework.Model[B, P, S],
) (framework.Source[B], *Driver) {
	d := new(Driver)
	counted, w := framework.Source[B](read[B]{src, d}), workers[B, P, S]{models, src, d}
	if m, ok := src.(optional.Measured); ok {
		counted = measuredRead[B]{read[B]{src, d}, m}
	}
	return framework.Elsewhere[B](counted, w), d
}

// A read source counts.
type read[B any] struct {
	framework.Source[B]
	*Driver
}

// A measuredRead is one of a source that is measured.
type measuredRead[B any] struct {
	read[B]
	optional.Measured
}

func (r read[B]) Blocks(ctx context.Context) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		for b, err := range r.Source.Blocks(ctx) {
			r.count(&r.Driver.Blocks)
			if !yield(b, err) {
				return
			}
		}
		r.count(&r.Whole)
	}
}

func (d *Driver) count(of *int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if read := of == &d.Whole || of == &d.Blocks; !read || d.Passes == 0 {
		*of++
	}
}

type workers[B, P any, S framework.Statistics[S]] struct {
	models []framework.Model[B, P, S]
	src    framework.Source[B]
	*Driver
}

// Step makes the shares.
func (w workers[B, P, S]) Step(ctx context.Context, at framework.State[P], shards int) ([][]byte, error) {
	if at.Surveys != nil {
		w.count(&w.Surveys)
	} else {
		w.count(&w.Passes)
	}
	return Shares(ctx, w.models[at.Model], w.src, at, shards, 3, 2)
}

// Shares makes a pass in n shares, one after the other, each by so many workers, from the state that it gets as bytes.
func Shares[B, P any, S framework.Statistics[S]](
	ctx context.Context, m framework.Model[B, P, S], src framework.Source[B], at framework.State[P],
	shards, n, workers int,
) (parts [][]byte, err error) {
	for i := range n {
		var text bytes.Buffer
		if err := gob.NewEncoder(&text).Encode(at); err != nil {
			return nil, err
		}
		var there framework.State[P]
		if err := wire.Decode(text.Bytes(), &there); err != nil {
			return nil, err
		}
		part, err := framework.Share(ctx, m, src, there, shards*i/n, shards*(i+1)/n, shards, workers)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}
