package framework

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/latent-go/latent/internal/wire"
)

// A Question is a sum over the blocks of a source that [SurveyAll] makes, perhaps with others: an [Asked].
type Question[B any] interface {
	// named is the name of the sum, nil for none, and kind its type.
	named() any
	kind() string
	begin(shards int)
	// fresh makes the empty sum of a shard, and at is a pointer to it.
	fresh(shard int) error
	at(shard int) any
	add(shard int, first bool, b B) error
	merge(into, from int) error
	end()
	// text is the sum as bytes, and know takes it from there.
	text() ([]byte, error)
	know(text []byte) error
}

// An Asked is a [Question] whose sum is an A. It is asked once.
type Asked[B, A any] struct {
	Sum A // when the survey is made

	of          any
	accumulator func() (A, error)
	visit       func(a A, b B) error
	merging     func(into, from A) error
	sums        []A // of shards
	written     []byte
}

// Ask describes a sum over blocks, as [Fold] does. of names it, unless it is nil: in one call of [Fit], [FitBest] or
// [Select], two sums over a source whose names are equal are the same, and the second is not made again.
func Ask[B, A any](of any, accumulator func() (A, error), visit func(a A, b B) error,
	merge func(into, from A) error) *Asked[B, A] {
	return &Asked[B, A]{of: of, accumulator: accumulator, visit: visit, merging: merge}
}

func (q *Asked[B, A]) named() any { return q.of }

func (q *Asked[B, A]) kind() string { return reflect.TypeFor[A]().String() }

// kinds are the types of sums.
func kinds[B any](all []Question[B]) string {
	names := make([]string, len(all))
	for i, q := range all {
		names[i] = q.kind()
	}
	return strings.Join(names, ", ")
}

func (q *Asked[B, A]) begin(shards int) { q.sums = make([]A, shards) }

func (q *Asked[B, A]) fresh(shard int) (err error) {
	q.sums[shard], err = q.accumulator()
	return err
}

func (q *Asked[B, A]) at(shard int) any { return &q.sums[shard] }

func (q *Asked[B, A]) add(shard int, first bool, b B) error {
	if first {
		if err := q.fresh(shard); err != nil {
			return err
		}
	}
	return q.visit(q.sums[shard], b)
}

func (q *Asked[B, A]) merge(into, from int) error { return q.merging(q.sums[into], q.sums[from]) }

func (q *Asked[B, A]) end() { q.Sum, q.sums = q.sums[0], nil }

func (q *Asked[B, A]) text() ([]byte, error) {
	if q.written == nil {
		var text bytes.Buffer
		if err := gob.NewEncoder(&text).Encode(&q.Sum); err != nil {
			return nil, fmt.Errorf("framework: cannot encode the sums: %w", err)
		}
		q.written = text.Bytes()
	}
	return q.written, nil
}

func (q *Asked[B, A]) know(text []byte) (err error) {
	q.written = text
	if q.Sum, err = q.accumulator(); err == nil {
		err = wire.Decode(text, &q.Sum)
	}
	return err
}

// known are the sums of the surveys of a fit that have names, for its other starts and models. The processes of a group
// ask for the same sums in the same order, and so know the same ones.
type known struct {
	workers int        // of the fit
	mu      sync.Mutex // held while sums with names are asked for: others wait for what they need, too
	texts   map[sum][]byte
	size    int // of all texts
}

// A sum is one by its name over a source.
type sum struct{ src, of any }

// sumOf is the sum that a question asks for.
func sumOf[B any](src Source[B], q Question[B]) sum { return sum{nameOf(src), q.named()} }

// nameOf is a source by what it is made of.
func nameOf[B any](src Source[B]) any {
	if s, is := src.(interface{ named() any }); is {
		return s.named()
	}
	return src
}

// mostKnown bounds the bytes of all sums: those beyond are made anew.
const mostKnown = 1 << 27

type knownKey struct{}

// knowing is the context of a fit, in which sums that have a name are made once.
func knowing(ctx context.Context, workers int) context.Context {
	return context.WithValue(ctx, knownKey{}, &known{workers: workers, texts: map[sum][]byte{}})
}

// knownIn are the sums of the fit under way, nil if there is none.
func knownIn(ctx context.Context) *known {
	k, _ := ctx.Value(knownKey{}).(*known)
	return k
}

// holds reports whether the sum may be known.
func (of sum) holds() bool { return of.of != nil && reflect.ValueOf(of).Comparable() }

// recall answers the questions whose sums are known, and returns the others.
func recall[B any](k *known, src Source[B], all []Question[B]) (open []Question[B], err error) {
	for _, q := range all {
		if of := sumOf(src, q); of.holds() && k.texts[of] != nil {
			if err := q.know(k.texts[of]); err != nil {
				return nil, err
			}
			continue
		}
		open = append(open, q)
	}
	return open, nil
}

// keep adds sums that were made.
func keep[B any](k *known, src Source[B], made []Question[B]) error {
	for _, q := range made {
		of := sumOf(src, q)
		if !of.holds() {
			continue
		}
		text, err := q.text()
		if err != nil {
			return err
		}
		if k.size+len(text) <= mostKnown {
			k.texts[of] = text
			k.size += len(text)
		}
	}
	return nil
}
