package framework

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/latent-go/latent/framework/sizes"
	"github.com/latent-go/latent/internal/parallel"
)

// Selection is a table of criteria over numbers of latent dimensions.
type Selection[P, S any] struct {
	K        []int
	Criteria []Criterion
	Values   [][]float64     // Values[i][j] is criterion j at K[i]; NaN if the fit failed or Fits[i].Scores[j].Err is set
	Fits     []*Result[P, S] // nil if the fit failed
	Errs     []error         // nil if the fit succeeded

	checkpoint func() ([]byte, error)
}

// Checkpoint encodes all fits of the selection for [Options].Resume of the same call of [Select].
func (s *Selection[P, S]) Checkpoint() ([]byte, error) { return s.checkpoint() }

// Best returns the index into K of the largest value of criterion j; the smaller K wins a tie. It is −1 if there is no
// value.
func (s *Selection[P, S]) Best(j int) int { return s.BestUnder(j, sizes.Uniform) }

// BestUnder is [Selection.Best] with a prior on the size: K̂ = argmax_K L(K) − ln(1/π_K),
// where L is the value of criterion j (paper C, section 2; docs/theory/elbo.md). It is −1 if the prior rules out every
// size that has a value.
func (s *Selection[P, S]) BestUnder(j int, prior sizes.Prior) int {
	best, values := -1, s.under(j, prior)
	for i, v := range values {
		if v > math.Inf(-1) && (best < 0 || v > values[best] || v == values[best] && s.K[i] < s.K[best]) {
			best = i
		}
	}
	return best
}

// SizePosterior is the posterior of the size by criterion j, proportional to π_K exp(L(K)) for each entry of K and
// summing to 1 (see [sizes.Posterior]). It is valid for criteria that approximate or bound ln p(X|K), unlike AIC, and
// for the fitted sizes alone: a size without a value gets 0, as does one whose fit has a smaller size that is another
// entry. It returns an error if no size is left.
func (s *Selection[P, S]) SizePosterior(j int, prior sizes.Prior) ([]float64, error) {
	values := s.under(j, prior)
	for i, fit := range s.Fits {
		if fit != nil && fit.Shape.K < s.K[i] && slices.Contains(s.K, fit.Shape.K) {
			values[i] = math.Inf(-1)
		}
	}
	return sizes.Posterior(values, nil)
}

// under is criterion j plus the log prior, and −Inf where there is no value.
func (s *Selection[P, S]) under(j int, prior sizes.Prior) []float64 {
	values := make([]float64, len(s.K))
	for i, k := range s.K {
		values[i] = math.Inf(-1)
		if math.IsNaN(s.Values[i][j]) {
			continue
		}
		switch p := prior(k); {
		case math.IsNaN(p) || math.IsInf(p, 1):
			panic(fmt.Sprintf("framework: the log prior of K = %d is %v", k, p))
		case !math.IsInf(p, -1):
			values[i] = s.Values[i][j] + p
		}
	}
	return values
}

// Select fits the model at each number of latent dimensions in ks, held fixed, and scores every fit by the criteria
// (o.Criterion and o.Also by default). The fits run concurrently on the same source, o.Workers at a time. A failed fit
// leaves its row empty; Select fails if all fits fail. If the likelihood of an [optional.Splitter] without a prior
// falls as K grows, Select adds at most three runs by EM, which divide a latent dimension of the smaller fit; fits that
// climb the [Evidence] get runs from the best states with one latent dimension more and less. The recorder sees the
// events of the fits interleaved, one at a time; their checkpoints hold the whole selection. A cancelled context or an
// error of the recorder ends all fits: Select returns the selection without values, for its Checkpoint, together with
// the error.
func Select[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], ks []int, o Options, criteria ...Criterion,
) (s *Selection[P, S], err error) {
	if err := needed(ctx, m, src); err != nil {
		return nil, err
	}
	ctx, leave, err := together(ctx, o.Group, [2]any{ks, taskOf(m, o, criteria...)}, src.Rows())
	if err != nil {
		return nil, err
	}
	defer leave(&err)
	ctx = knowing(ctx, o.Workers)
	if len(ks) == 0 {
		return nil, errors.New("framework: no numbers of latent dimensions to select from")
	}
	for i, c := range criteria {
		if c.empty() {
			return nil, fmt.Errorf("framework: criterion %d of %d is empty: leave it out for the method's own", i+1,
				len(criteria))
		}
	}
	if len(criteria) > 0 {
		o.Criterion, o.Also = criteria[0], criteria[1:]
	}
	can := capabilitiesOf(m)
	if o.Criterion.empty() && o.Criterion.Name == "" {
		o.Criterion = can.own(o.Method)
	}
	asked := append([]Criterion{o.Criterion}, o.Also...)
	o, err = ofFits(o, asked, can.supports)
	if err != nil {
		return nil, err
	}
	workers := workersOr(o.Workers)
	concurrent := min(workers, len(ks))
	if o.Group != nil {
		concurrent = 1
	}
	o.Workers = max(1, workers/concurrent)

	s = &Selection[P, S]{
		K:        ks,
		Criteria: asked,
		Values:   make([][]float64, len(ks)),
		Fits:     make([]*Result[P, S], len(ks)),
		Errs:     make([]error, len(ks)),
	}
	fits := &sweep[B, P, S]{fits: make([]*fit[B, P, S], len(ks))}
	s.checkpoint = fits.encode
	o.Recorder = fits.record(o.Recorder, fits.encode)
	saved := make([][]byte, len(ks))
	if o.Resume != nil {
		if saved, err = decodeSweep(o.Resume, len(ks)); err != nil {
			return nil, err
		}
	}
	from := reading[B, P, S](ctx, m, src)
	for i, k := range ks {
		o := o
		o.K, o.Resume = k, saved[i]
		fits.fits[i], s.Errs[i] = newFit(m, from, nil, o)
		if s.Errs[i] != nil {
			if saved[i] != nil {
				return nil, fmt.Errorf("framework: the fit at K = %d: %w", k, s.Errs[i])
			}
			fits.fits[i] = nil
		}
	}
	_ = parallel.Do(len(ks), concurrent, func(i int) error {
		if f := fits.fits[i]; f != nil {
			f.infer(ctx)
		}
		return nil // the other fits go on
	})
	for _, further := range []func(context.Context, []int) error{fits.raise, fits.exchange} {
		if err := further(ctx, ks); err != nil && ctx.Err() == nil {
			return s, err
		}
	}
	_ = parallel.Do(len(ks), concurrent, func(i int) error {
		if f := fits.fits[i]; f != nil {
			s.Fits[i], s.Errs[i] = f.result(ctx)
		}
		return nil
	})
	if err := ctx.Err(); err != nil {
		return s, fmt.Errorf("framework: cancelled: %w", err)
	}
	for _, err := range s.Errs {
		if errors.Is(err, errRecorder) {
			return s, err
		}
	}
	var learning func(P, int) float64
	if can.singular != nil {
		learning = can.singular.LearningCoefficient
	}
	return s, s.collect(learning)
}

// ofFits are the options of single fits where some of the criteria are of a sweep: these take the likelihood of each.
func ofFits(o Options, asked []Criterion, supports func(Criterion) error) (Options, error) {
	o.FixedK = true
	var single []Criterion
	for _, c := range asked {
		if c.Sweep == nil {
			single = append(single, c)
		} else if err := supports(c); err != nil {
			return o, err
		}
	}
	if len(single) < len(asked) {
		single = append(single, BIC)
	}
	o.Criterion, o.Also = single[0], single[1:]
	return o, nil
}

// collect fills in the table.
func (s *Selection[P, S]) collect(learning func(p P, truth int) float64) error {
	failed := 0
	for i := range s.K {
		s.Values[i] = make([]float64, len(s.Criteria))
		if s.Errs[i] != nil {
			s.Fits[i] = nil
			failed++
		}
		single := 0
		for j, c := range s.Criteria {
			s.Values[i][j] = math.NaN()
			if s.Fits[i] == nil || c.Sweep != nil {
				continue
			}
			if score := s.Fits[i].Scores[single]; score.Err == nil {
				s.Values[i][j] = score.Value
			}
			single++
		}
	}
	if failed == len(s.K) {
		return s.Errs[0]
	}
	for j, c := range s.Criteria {
		if c.Sweep != nil {
			s.sweep(j, learning)
		}
	}
	return nil
}

// A sweep is the fits of a selection, nil if there is none.
type sweep[B, P any, S Statistics[S]] struct {
	fits []*fit[B, P, S]
	mu   sync.Mutex
}

// record serialises the calls of the fits to one recorder, whose checkpoints are those of all.
func (w *sweep[B, P, S]) record(r func(Event) error, checkpoint func() ([]byte, error)) func(Event) error {
	if r == nil {
		return nil
	}
	return func(e Event) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		e.snapshot = checkpoint
		return r(e)
	}
}

func (w *sweep[B, P, S]) encode() ([]byte, error) { return seal(ofSelection, w.write) }

// write encodes the fits.
func (w *sweep[B, P, S]) write(enc *gob.Encoder) error {
	all := make([][]byte, len(w.fits))
	for i, f := range w.fits {
		if f == nil {
			continue
		}
		var err error
		if all[i], err = f.encode(); err != nil {
			return err
		}
	}
	return enc.Encode(all)
}

// decodeSweep returns the checkpoints of single fits, nil if there was none.
func decodeSweep(checkpoint []byte, fits int) (all [][]byte, err error) {
	if err := unseal(ofSelection, checkpoint, func(dec *gob.Decoder) error { return dec.Decode(&all) }); err != nil {
		return nil, err
	}
	return present(all, fits)
}

// present are the checkpoints of so many fits, nil if there was none.
func present(all [][]byte, fits int) ([][]byte, error) {
	if len(all) != fits {
		return nil, refuse("holds %d fits; this call makes %d", len(all), fits)
	}
	for i, one := range all {
		if len(one) == 0 { // as gob writes nil
			all[i] = nil
		}
	}
	return all, nil
}
