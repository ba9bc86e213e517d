package framework

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
)

// Selection is a table of criteria over numbers of latent dimensions.
type Selection[P, S any] struct {
	K        []int
	Criteria []Criterion
	Values   [][]float64     // Values[i][j] is criterion j at K[i]; NaN where the fit failed, or Fits[i].Scores[j].Err says why
	Fits     []*Result[P, S] // nil where the fit failed
	Errs     []error         // nil where the fit succeeded
}

// Best returns the index into K of the largest value of criterion j; the smaller K
// wins a tie.
func (s *Selection[P, S]) Best(j int) int {
	best := -1
	for i, row := range s.Values {
		if !math.IsNaN(row[j]) && (best < 0 || row[j] > s.Values[best][j] || row[j] == s.Values[best][j] && s.K[i] < s.K[best]) {
			best = i
		}
	}
	return best
}

// Select fits the model at each number of latent dimensions in ks, held fixed, and
// scores every fit by the criteria (those of o.Criterion and o.Also when none are
// given). The fits run side by side on the same source, o.Workers at a time. A fit that
// fails leaves its row empty; Select fails when all do, or when ctx is cancelled. The
// recorder sees the fits' events interleaved, one at a time; their checkpoints are those of
// single fits.
func Select[B, P any, S Statistics[S]](ctx context.Context, m Model[B, P, S], src Source[B], ks []int, o Options, criteria ...Criterion) (*Selection[P, S], error) {
	if len(ks) == 0 {
		return nil, errors.New("framework: no numbers of latent dimensions to select from")
	}
	if o.Resume != nil {
		return nil, errors.New("framework: Select does not resume: a checkpoint belongs to one fit")
	}
	if len(criteria) > 0 {
		o.Criterion, o.Also = criteria[0], criteria[1:]
	}
	o.FixedK = true
	workers := workersOr(o.Workers)
	abreast := min(workers, len(ks))
	o.Workers = max(1, workers/abreast)

	s := &Selection[P, S]{K: ks, Values: make([][]float64, len(ks)), Fits: make([]*Result[P, S], len(ks)), Errs: make([]error, len(ks))}
	o.Recorder = lock(o.Recorder)
	parallel(len(ks), abreast, func(i int) {
		o := o
		o.K = ks[i]
		s.Fits[i], s.Errs[i] = Fit(ctx, m, src, o)
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("framework: cancelled: %w", err)
	}
	return s, s.collect(o, abilitiesOf(m))
}

func (s *Selection[P, S]) collect(o Options, can interface{ own(Method) Criterion }) error {
	if o.Criterion.Value == nil {
		o.Criterion = can.own(o.Method)
	}
	s.Criteria = append([]Criterion{o.Criterion}, o.Also...)
	failed := 0
	for i := range s.K {
		s.Values[i] = make([]float64, len(s.Criteria))
		for j := range s.Values[i] {
			s.Values[i][j] = math.NaN()
			if s.Errs[i] == nil && s.Fits[i].Scores[j].Err == nil {
				s.Values[i][j] = s.Fits[i].Scores[j].Value
			}
		}
		if s.Errs[i] != nil {
			s.Fits[i] = nil
			failed++
		}
	}
	if failed == len(s.K) {
		return s.Errs[0]
	}
	return nil
}

// lock makes the calls of several fits to one recorder follow one another.
func lock(r Recorder) Recorder {
	if r == nil {
		return nil
	}
	var mu sync.Mutex
	return RecorderFunc(func(e Event) error {
		mu.Lock()
		defer mu.Unlock()
		return r.Record(e)
	})
}
