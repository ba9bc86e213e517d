package framework

import (
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/framework/blocks"
)

// Survey is [Fold] for the start of a fit, such as Init of a model: where passes are made elsewhere (see [Executor]),
// so is this one, if there are more than 10,000 rows, or steps of sequences, and Init reads none for it; outside a
// start, or over rows that Init has drawn, Survey is then Fold. The processes of a [Group] share every Survey of so
// many rows, and each reads its own blocks. Accumulators are what encoding/gob writes, and accumulator makes those that
// it reads into. The number of partial sums is that of the fit.
//
// A worker makes the start itself up to the survey that it is asked for, with the sums of earlier surveys in place of
// rows: a start asks for the same surveys, in the same order, whenever it has the same sums.
func Survey[B, A any](ctx context.Context, src Source[B], workers int, accumulator func() (A, error),
	visit func(a A, b B) error, merge func(into, from A) error) (A, error) {
	q := Ask(nil, accumulator, visit, merge)
	err := SurveyAll(ctx, src, workers, q)
	return q.Sum, err
}

// SurveyAll is [Survey] of several sums, which one pass makes. Over more than 10,000 rows it makes only those that the
// fit does not know by their names (see [Ask]), and reads nothing if it knows all. If workers is 0, they are those of
// the fit.
func SurveyAll[B any](ctx context.Context, src Source[B], workers int, all ...Question[B]) (err error) {
	s, shards := surveysOf(ctx), DefaultShards
	if s != nil {
		shards = s.shards
	}
	local, away := here(src)
	if observationsOf(src) <= fewRows {
		return foldAll(ctx, local, shards, workers, all)
	}
	together, open := ensembleOf(ctx), all
	away = away && together == nil && s.elsewhere()
	if away && s.answer != nil {
		return answered(ctx, s, local, workers, all)
	}
	if k := knownIn(ctx); k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if open, err = recall(k, local, all); err != nil {
			return err
		}
		workers = cmp.Or(workers, k.workers)
		defer func() {
			if err == nil {
				err = keep(k, local, open)
			}
		}()
	}
	switch {
	case len(open) == 0:
	case together != nil:
		m, encode := share(ctx, local, allOf(shards).share(together.rank, together.size), workers, open)
		var parts []reply
		if parts, err = together.exchange(ctx, m, encode); err == nil {
			err = gathered(parts, shards, open)
		}
	case away:
		var parts []reply
		if parts, err = asked(ctx, s, all, open); err == nil {
			err = gathered(parts, shards, open)
		}
	default:
		err = foldAll(ctx, local, shards, workers, open)
	}
	if err != nil || !away {
		return err
	}
	for _, q := range all {
		text, err := q.text()
		if err != nil {
			return err
		}
		s.Sums = append(s.Sums, text)
	}
	return nil
}

// asked are shares of the open ones among all questions of a survey, from workers.
func asked[B any](ctx context.Context, s *surveys, all, open []Question[B]) ([]reply, error) {
	q := s.Surveys
	q.Of, q.Sums = kinds(open), slices.Clone(s.Sums)
	for _, one := range all {
		var text []byte
		if !slices.Contains(open, one) {
			var err error
			if text, err = one.text(); err != nil {
				return nil, err
			}
		}
		q.Sums = append(q.Sums, text)
	}
	texts, err := s.step(ctx, &q, s.shards)
	if err != nil {
		return nil, &sourceError{err}
	}
	return readAlike(texts)
}

// answered has a worker make what is asked for of a survey, if anything.
func answered[B any](ctx context.Context, s *surveys, src Source[B], workers int, all []Question[B]) error {
	known := s.Sums[s.asked:]
	if len(known) < len(all) {
		return errOtherStart
	}
	var open []Question[B]
	for i, q := range all {
		if len(known[i]) == 0 {
			open = append(open, q)
		} else if err := q.know(known[i]); err != nil {
			return err
		}
	}
	if s.asked += len(all); len(open) == 0 {
		return nil
	}
	if of := kinds(open); of != s.Of {
		return fmt.Errorf("framework: a survey of a start is of %s here, and of %s there", of, s.Of)
	}
	if err := s.answer(func(of span) (message, func(*gob.Encoder) error) {
		return share(ctx, src, of, workers, open)
	}); err != nil {
		return err
	}
	return errSurveyed
}

// fewRows are as many as the driver reads by itself: a pass elsewhere takes longer.
const fewRows = 10_000

// Surveys are those of a start: what a worker needs to make it as far as the driver has.
type Surveys struct {
	K            int
	Start        int // see [StartOf]
	Seed, Stream uint64
	Sample       int      // rows that are drawn, too, after the model's Init or by its own draw; 0 for none
	Sums         [][]byte // of the surveys before, and of the one asked for: empty where a sum is to be made
	Of           string   // types of these
}

// surveys are those of a start under way, or of what else a fit asks for.
type surveys struct {
	Surveys
	shards int // of the fit
	asked  int
	draw   *Draw // the last one
	over   bool  // what follows depends on more than a worker knows
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

var errOtherStart = errors.New("framework: a start here does not ask for the sums that it asks for there")

// elsewhere reports whether surveys are made by workers, of which this may be one.
func (s *surveys) elsewhere() bool { return s != nil && !s.over && (s.answer != nil || s.step != nil) }

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
func share[B any](
	ctx context.Context, src Source[B], of span, workers int, all []Question[B],
) (m message, encode func(*gob.Encoder) error) {
	m.Kind = ofPass
	used, at, err := foldSpan(ctx, src, of, workers, all)
	for i := 0; i < len(all) && err == nil; i++ {
		err = of.merge(used, all[i].merge)
	}
	if err != nil {
		m.Failure = failureOf(err, at)
		return m, nil
	}
	m.Roots = of.roots(used)
	return m, func(enc *gob.Encoder) error {
		for _, q := range all {
			if err := writeShards(q.at, m.Roots)(enc); err != nil {
				return err
			}
		}
		return nil
	}
}

// gathered merges the shares of a survey.
func gathered[B any](parts []reply, shards int, all []Question[B]) error {
	for _, q := range all {
		q.begin(shards)
		has, err := readShards(parts, shards, func(_, _, i int) (any, error) {
			err := q.fresh(i)
			return q.at(i), err
		})
		if err == nil {
			err = mergeRoots(shards, has, q.merge)
		}
		if err != nil {
			return err
		}
		q.end()
	}
	return nil
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
		src, rng := Elsewhere[B, P](src, nil), rand.New(rand.NewPCG(q.Seed, q.Stream))
		_, err = m.Init(ctx, src, q.K, rng)
		if rows, ok := src.(Source[blocks.Rows]); ok && q.Sample > 0 && err == nil {
			_, err = sampleOf(ctx, rows, q.Sample, rng)
		}
		return err
	})
	if text != nil {
		return text, nil
	}
	if err == nil {
		err = errOtherStart
	}
	return message{
		Kind: ofPass, Credential: credential{Machine: machine()}, Failure: failureOf(err, 0),
	}.encoded(nil)
}
