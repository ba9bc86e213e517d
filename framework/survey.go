package framework

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/framework/blocks"
)

// Survey is [Fold] for the start of a fit, such as Init of a model: where passes are made elsewhere (see [Executor]),
// so is this one, if rows are more than 10,000, and Init reads none for it; outside a start, or over rows that Init has
// drawn, Survey is then Fold. The processes of a [Group] share every Survey of so many rows, and each reads its own
// blocks. Accumulators are what encoding/gob writes, and accumulator makes those that it reads into. The number of
// partial sums is that of the fit.
//
// A worker makes the start itself up to the survey that it is asked for, with the sums of earlier surveys in place of
// rows: a start asks for the same surveys, in the same order, whenever it has the same sums.
func Survey[B, A any](ctx context.Context, src Source[B], workers int, accumulator func() (A, error),
	visit func(a A, b B) error, merge func(into, from A) error) (none A, err error) {
	s, shards := surveysOf(ctx), DefaultShards
	if s != nil {
		shards = s.shards
	}
	local, away := here(src)
	together := ensembleOf(ctx)
	switch {
	case together != nil && src.Rows() > fewRows:
		of := allOf(shards).share(together.rank, together.size)
		m, encode := share(ctx, local, of, workers, accumulator, visit, merge)
		parts, err := together.exchange(ctx, m, encode)
		if err != nil {
			return none, err
		}
		return gathered(parts, shards, accumulator, merge)
	case s == nil || !away || s.over || s.answer == nil && s.step == nil || src.Rows() <= fewRows:
		return fold(ctx, local, shards, workers, accumulator, visit, merge)
	case s.asked < len(s.Sums):
		a, err := accumulator()
		if err == nil {
			err = gob.NewDecoder(bytes.NewReader(s.Sums[s.asked])).Decode(&a)
		}
		s.asked++
		return a, err
	case s.answer != nil:
		if of := fmt.Sprintf("%T", none); of != s.Of {
			return none, fmt.Errorf("framework: survey %d of a start is of %s here, and of %s there", s.asked+1, of, s.Of)
		}
		if err := s.answer(func(of span) (message, func(*gob.Encoder) error) {
			return share(ctx, local, of, workers, accumulator, visit, merge)
		}); err != nil {
			return none, err
		}
		return none, errSurveyed
	}
	s.Of = fmt.Sprintf("%T", none)
	texts, err := s.step(ctx, &s.Surveys, shards)
	if err != nil {
		return none, &sourceError{err}
	}
	parts, err := readAlike(texts)
	if err != nil {
		return none, err
	}
	a, err := gathered(parts, shards, accumulator, merge)
	if err != nil {
		return none, err
	}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(&a); err != nil {
		return none, fmt.Errorf("framework: cannot encode the sums: %w", err)
	}
	s.Sums = append(s.Sums, text.Bytes())
	s.asked++
	return a, nil
}

// fewRows are as many as the driver reads by itself: a pass elsewhere takes longer.
const fewRows = 10_000

// Surveys are those of a start: what a worker needs to make it as far as the driver has.
type Surveys struct {
	K            int
	Start        int // see [StartOf]
	Seed, Stream uint64
	Sample       int      // rows that are to be drawn; 0: the model's Init is made
	Sums         [][]byte // of the surveys before
	Of           string   // type of the sums asked for
}

// surveys are those of a start under way, or of what else a fit asks for.
type surveys struct {
	Surveys
	shards int // of the fit
	asked  int
	over   bool // what follows depends on more than a worker knows
	// step asks for sums, in the driver whose start is the model's own.
	step func(ctx context.Context, q *Surveys, shards int) ([][]byte, error)
	// answer takes what was asked for, in a worker.
	answer func(share func(of span) (message, func(*gob.Encoder) error)) error
}

type surveysKey struct{}

// asking is the context in which surveys have so many partial sums, and are not made elsewhere.
func asking(ctx context.Context, shards int) context.Context {
	return context.WithValue(ctx, surveysKey{}, &surveys{shards: shards})
}

// surveysOf are those of the fit under way, nil if there is none.
func surveysOf(ctx context.Context) *surveys {
	s, _ := ctx.Value(surveysKey{}).(*surveys)
	return s
}

// errSurveyed ends a start in a worker, which has what it was asked for.
var errSurveyed = errors.New("framework: the sums that a worker was asked for are made")

// here is the source whose rows a process can read, and whether passes over it are made elsewhere.
func here[B any](src Source[B]) (local Source[B], away bool) {
	if e, ok := src.(interface{ here() (Source[B], bool) }); ok {
		return e.here()
	}
	return src, false
}

// share makes a share of a survey.
func share[B, A any](ctx context.Context, src Source[B], of span, workers int, accumulator func() (A, error),
	visit func(a A, b B) error, merge func(into, from A) error) (m message, encode func(*gob.Encoder) error) {
	m.Kind = ofPass
	sums, used, at, err := foldSpan(ctx, src, of, workers, accumulator, visit)
	if err == nil {
		err = of.merge(used, func(into, from int) error { return merge(sums[into], sums[from]) })
	}
	if err != nil {
		m.Failure = failureOf(err, at)
		return m, nil
	}
	m.Roots = of.roots(used)
	return m, writeShards(sums, m.Roots)
}

// gathered merges the shares of a survey.
func gathered[A any](
	parts []reply, shards int, accumulator func() (A, error), merge func(into, from A) error,
) (none A, err error) {
	sums := make([]A, shards)
	has, err := readShards(parts, shards, func(_, _, i int) (_ any, err error) {
		sums[i], err = accumulator()
		return &sums[i], err
	})
	if err != nil {
		return none, err
	}
	err = mergeRoots(shards, has, func(into, from int) error { return merge(sums[into], sums[from]) })
	return sums[0], err
}

// surveyed makes a share of a survey that a start of the model asks for.
func surveyed[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], q Surveys, of span,
) ([]byte, error) {
	var text []byte
	s := &surveys{Surveys: q, shards: of.shards}
	s.answer = func(share func(of span) (message, func(*gob.Encoder) error)) (err error) {
		if text == nil {
			part, encode := share(of)
			part.Credential.Machine = machine()
			text, err = part.encoded(encode)
		}
		return err
	}
	ctx = context.WithValue(context.WithValue(ctx, startKey{}, q.Start), surveysKey{}, s)
	err := quietly("the start", func() (err error) {
		src := Elsewhere[B, P](src, nil)
		if rows, ok := src.(Source[blocks.Rows]); ok && q.Sample > 0 {
			_, err = sampleOf(ctx, rows, q.Sample, q.Seed)
		} else {
			_, err = m.Init(ctx, src, q.K, rand.New(rand.NewPCG(q.Seed, q.Stream)))
		}
		return err
	})
	if text != nil {
		return text, nil
	}
	if err == nil {
		err = errors.New("framework: a start here does not ask for the sums that it asks for there")
	}
	return message{
		Kind: ofPass, Credential: credential{Machine: machine()}, Failure: failureOf(err, 0),
	}.encoded(nil)
}
