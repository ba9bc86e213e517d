package framework

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// dimensions are 0, …, k−1.
func dimensions(k int) []int {
	dims := make([]int, k)
	for i := range dims {
		dims[i] = i
	}
	return dims
}

// update makes the first pass of a coupled local step, from q of the point from to that of to.
func (r *run[B, P, S]) update(ctx context.Context, from, to *point[P, S]) error {
	if from.Q.q == nil {
		rng := rand.New(rand.NewPCG(r.options.Seed, r.stream+1<<32))
		q, err := r.can.coupled.NewLocal(ctx, r.condensed, from.P, rng)
		if err != nil {
			return err
		}
		if isNil(q) {
			return r.can.violated("NewLocal", "returned nil")
		}
		from.Q.q = q
	}
	if r.can.inOrder || to.Q.q == nil || to.K != from.K {
		to.Q.q = from.Q.q.Keep(dimensions(from.K))
	}
	return r.sweep(ctx, from.P, r.tiltAt(from), from.Q.q, to.Q.q)
}

// sweep updates every block once, from now to next, which holds a copy of now where blocks are
// updated in order.
func (r *run[B, P, S]) sweep(ctx context.Context, p P, tilt *laplace.Tilt, now, next optional.Local) error {
	if !r.can.inOrder {
		r.p, r.tilt, r.now, r.next = p, tilt, now, next
		defer func() { r.now, r.next = nil, nil }()
		used, err := r.folder.run(ctx)
		if err == nil && used == 0 {
			err = errNoRows
		}
		return err
	}
	return withoutFaults(func() error {
		for b, err := range r.condensed.Blocks(ctx) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return &sourceError{err}
			}
			if err := r.can.coupled.Update(b, p, tilt, next, next); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}

// posteriorSweeps bounds the updates that a coupled q gets to become the posterior that criteria
// about the likelihood are taken at.
const posteriorSweeps = 100

// settle updates a copy of q without a tilt until the bound converges, and returns the evaluation there.
func (r *run[B, P, S]) settle(
	ctx context.Context, p P, q optional.Local, k int, tolerance float64,
) (e Evaluation, err error) {
	now, next := q.Keep(dimensions(k)), q.Keep(dimensions(k))
	shards := newShardStats[S](r.options.Shards)
	for i := range posteriorSweeps {
		if err := r.sweep(ctx, p, nil, now, next); err != nil {
			return e, err
		}
		now, next = next, now
		if r.can.inOrder {
			next = now.Keep(dimensions(k))
		}
		entropy, err := r.local(ctx, p, nil, now, shards)
		if err != nil {
			return e, err
		}
		last := e.Bound()
		s := shards.sums[0]
		if e, err = r.can.evaluation(r.model, s, p, entropy); err != nil {
			return e, err
		}
		if i > 0 && e.Bound()-last <= tolerance*e.N {
			break
		}
	}
	return e, nil
}

// A localBox holds q in a checkpoint: as bytes, until a model gives its type.
type localBox struct {
	q   optional.Local
	raw []byte
}

// GobEncode encodes q by encoding/gob.
func (b localBox) GobEncode() ([]byte, error) {
	if b.q == nil {
		return b.raw, nil
	}
	var buf bytes.Buffer
	err := gob.NewEncoder(&buf).EncodeValue(reflect.ValueOf(b.q))
	return buf.Bytes(), err
}

// GobDecode keeps the bytes.
func (b *localBox) GobDecode(raw []byte) error {
	b.raw = append([]byte(nil), raw...)
	return nil
}

// thaw decodes the q of a resumed point: a new q of the model has its type.
func (r *run[B, P, S]) thaw(ctx context.Context, p *point[P, S]) error {
	if p == nil || len(p.Q.raw) == 0 {
		return nil
	}
	if r.can.coupled == nil {
		return errors.New("framework: the checkpoint holds a q, and the model does not implement optional.Coupled")
	}
	like, err := r.can.coupled.NewLocal(ctx, r.condensed, p.P, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return err
	}
	kind, pointer := reflect.TypeOf(like), false
	if kind.Kind() == reflect.Pointer {
		kind, pointer = kind.Elem(), true
	}
	value := reflect.New(kind)
	if err := gob.NewDecoder(bytes.NewReader(p.Q.raw)).DecodeValue(value); err != nil {
		return fmt.Errorf("framework: truncated checkpoint: q: %w", err)
	}
	if !pointer {
		value = value.Elem()
	}
	p.Q = localBox{q: value.Interface().(optional.Local)}
	return nil
}
