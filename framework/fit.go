package framework

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Fit infers q(Z) and Π of a model from the rows of src, and with gFAB or FAB the
// number of latent dimensions too: it begins with o.K of them and drops what the
// pruning rules allow.
//
// A cancelled context ends the fit between two blocks: the best state so far is
// returned together with the context's error, and its Checkpoint resumes the fit to
// the same bits as if nothing had happened. An error of a model in one of several
// restarts is reported in Result.Restarts; Fit fails when all of them do.
func Fit[B, P any, S Statistics[S]](ctx context.Context, m Model[B, P, S], src Source[B], o Options) (*Result[P, S], error) {
	can := abilitiesOf(m)
	o, err := resolved(o, can)
	if err != nil {
		return nil, err
	}
	if src.Rows() < 1 {
		return nil, errNoRows
	}
	f := &fit[B, P, S]{model: m, can: can, options: o, src: src}
	if err := f.start(); err != nil {
		return nil, err
	}
	errs := f.execute(ctx)
	return f.result(ctx, errs)
}

// A fit is a set of runs that differ in their start.
type fit[B, P any, S Statistics[S]] struct {
	model   Model[B, P, S]
	can     abilities[B, P, S]
	options Options
	src     Source[B]
	runs    []*run[B, P, S]

	recording   sync.Mutex
	recorderErr error // ends all runs
}

func (f *fit[B, P, S]) start() error {
	saved := make([]progress[P, S], f.options.Restarts)
	if f.options.Resume != nil {
		if err := f.decode(f.options.Resume, &saved); err != nil {
			return err
		}
	}
	f.runs = make([]*run[B, P, S], f.options.Restarts)
	for i := range f.runs {
		f.runs[i] = &run[B, P, S]{model: f.model, can: f.can, options: f.options, index: i, src: f.src, report: f.record, at: saved[i]}
	}
	return nil
}

// execute makes all runs, as many at a time as there are workers, and returns the
// error of each.
func (f *fit[B, P, S]) execute(ctx context.Context) []error {
	errs := make([]error, len(f.runs))
	abreast := min(f.options.Workers, len(f.runs))
	var group errgroup.Group
	group.SetLimit(abreast)
	for i, r := range f.runs {
		r.workers = max(1, f.options.Workers/abreast)
		group.Go(func() error {
			if r.at.Status == Running {
				errs[i] = r.execute(ctx)
			} else if r.at.Status == Failed {
				errs[i] = errors.New(r.at.Err)
			}
			return nil
		})
	}
	_ = group.Wait() // the runs' errors are in errs
	return errs
}

func (f *fit[B, P, S]) record(e Event) error {
	if f.options.Recorder == nil {
		return nil
	}
	f.recording.Lock()
	defer f.recording.Unlock()
	e.snapshot = f.encode
	if f.recorderErr == nil {
		f.recorderErr = f.options.Recorder.Record(e)
	}
	return f.recorderErr
}

func (f *fit[B, P, S]) result(ctx context.Context, errs []error) (*Result[P, S], error) {
	if f.recorderErr != nil {
		return nil, errors.Join(errs...)
	}
	res := &Result[P, S]{Method: f.options.Method, Criterion: f.options.Criterion.Name, Best: -1}
	cancelled := false
	for i, r := range f.runs {
		report := Restart{Status: r.at.Status, Iterations: r.at.Iteration, Err: errs[i]}
		if report.Status == Running {
			report.Status, cancelled = Cancelled, true
		}
		if r.at.Iteration > 0 {
			best := r.best()
			report.K, report.Value = best.K, best.Value
			if report.Status != Failed && (res.Best < 0 || best.Value > f.runs[res.Best].best().Value) {
				res.Best = i
			}
		}
		res.Restarts = append(res.Restarts, report)
	}
	if err := ctx.Err(); cancelled {
		res.checkpoint = f.encode
		if res.Best < 0 {
			return nil, fmt.Errorf("framework: cancelled before the first iteration ended: %w", err)
		}
		if err := f.fill(ctx, res); err != nil {
			return nil, err
		}
		res.Status = Cancelled
		return res, fmt.Errorf("framework: cancelled: %w", err)
	}
	if res.Best < 0 {
		return nil, errors.Join(errs...)
	}
	return res, f.fill(ctx, res)
}

// fill copies the best run's outcome into the result and scores it.
func (f *fit[B, P, S]) fill(ctx context.Context, res *Result[P, S]) error {
	r := f.runs[res.Best]
	best := r.best()
	res.Parameters, res.Statistics = best.P, best.S
	res.Shape, res.N, res.Evaluation, res.Value = best.Evaluation.Shape, best.Evaluation.N, best.Evaluation, best.Value
	res.Status, res.Iterations, res.Passes = res.Restarts[res.Best].Status, r.at.Iteration, r.at.Passes
	res.Trace, res.Objective, res.KTrace, res.Pruned, res.Fall = r.at.Trace, r.at.Objective, r.at.KTrace, r.at.Pruned, r.at.Fall

	wanted := append([]Criterion{f.options.Criterion}, f.options.Also...)
	res.Scores = make([]Score, len(wanted))
	if ctx.Err() != nil {
		res.Scores = []Score{{res.Criterion, res.Value}}
		return nil
	}
	posterior, err := f.posterior(ctx, best, wanted)
	if err != nil {
		return err
	}
	if err := f.completeCurvature(best, wanted); err != nil {
		return err
	}
	res.Evaluation = best.Evaluation
	for i, c := range wanted {
		e := best.Evaluation
		if c.Needs&NeedsLikelihood != 0 {
			e = posterior
		}
		res.Scores[i] = Score{c.Name, c.Value(&e)}
	}
	res.Value = res.Scores[0].Value
	return nil
}

// posterior evaluates the model at the best parameters and their own posterior
// p(Z|X,Π), where the bound is the log-likelihood itself.
func (f *fit[B, P, S]) posterior(ctx context.Context, best *point[P, S], wanted []Criterion) (Evaluation, error) {
	e := best.Evaluation
	for _, c := range wanted {
		if c.Needs&NeedsLikelihood == 0 {
			continue
		}
		s, entropy, err := LocalStep(ctx, f.model, f.src, best.P, f.options.Workers)
		if err != nil {
			return e, err
		}
		e.LogJoint, e.Entropy = f.model.LogJoint(s, best.P), entropy
		e.LogLikelihood = e.Bound()
		best.Evaluation.LogLikelihood = e.LogLikelihood
		break
	}
	return e, nil
}

// completeCurvature computes what the further criteria need and the fit did not.
func (f *fit[B, P, S]) completeCurvature(best *point[P, S], wanted []Criterion) error {
	var needs Needs
	for _, c := range wanted {
		needs |= c.Needs
	}
	if needs&NeedsCurvature != 0 {
		blocks, err := f.can.curved.Curvature(best.S, best.P, nil)
		if err != nil {
			return err
		}
		best.Evaluation.LogDet = blocks.LogDet()
	}
	if needs&NeedsCounts != 0 {
		blocks, err := f.can.counted.Counts(best.S, best.P, nil)
		if err != nil {
			return err
		}
		best.Evaluation.LogDetCounts = blocks.LogDet()
	}
	return nil
}

// LocalStep makes one local step without a tilt at the parameters p: the expected
// statistics under p(Z|X,p) and its entropy. LogJoint of the statistics plus the
// entropy is ln p(X|p) where the model's local step is exact.
func LocalStep[B, P any, S Statistics[S]](ctx context.Context, m Model[B, P, S], src Source[B], p P, workers int) (S, float64, error) {
	type partial struct {
		s       S
		entropy float64
	}
	sum, err := Fold(ctx, src, workers,
		func() (*partial, error) {
			a := &partial{s: m.NewStatistics(p)}
			return a, m.Prepare(p, nil, a.s)
		},
		func(a *partial, b B) error {
			h, err := m.Infer(b, p, a.s)
			a.entropy += h
			return err
		},
		func(into, from *partial) {
			into.s.Merge(from.s)
			into.entropy += from.entropy
		})
	if err != nil {
		var none S
		return none, 0, err
	}
	return sum.s, sum.entropy, nil
}
