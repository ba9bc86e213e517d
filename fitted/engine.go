package fitted

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
)

// A Problem is a model bound to a table, whatever its types of blocks, parameters and statistics. R is the type that
// describes a fit.
type Problem[R any] interface {
	// Fit is [framework.Fit]. If it is interrupted, it returns the fit so far with the error.
	Fit(ctx context.Context, o framework.Options) (*framework.Result[R, struct{}], error)
	// Select is [framework.Select].
	Select(ctx context.Context, ks []int, o framework.Options, criteria ...framework.Criterion) (*Selection[R], error)
}

// A Sharer is a [Problem] whose passes other processes can make, if Shared says so.
type Sharer interface {
	// Shared reports whether other processes can make the passes. They cannot for a fit to moments, which makes no
	// passes, and for an [optional.Coupled] model, which keeps the q of rows.
	Shared() bool
	Rows() int // of the table
	// Share is [framework.Share] with a state that encoding/gob has encoded.
	Share(ctx context.Context, state []byte, first, last, shards, workers int) ([]byte, error)
}

// A Tester is a [Problem] with a likelihood ratio test of K latent dimensions against K + 1, as
// [bootstrap.LikelihoodRatio] has it.
type Tester interface {
	Ratio(ctx context.Context, k int, o bootstrap.Options) (*bootstrap.Ratio, error)
}

// A Beginner is a [Problem] whose fits can begin at the parameters of a file.
type Beginner[R any] interface {
	// Begin has fits begin at the parameters of f, or at its posterior if it has one. Their K, which may be larger, is the
	// most to which moves may raise it. Starts after the first are the model's own, with the prior of f; starts says
	// whether it has those. It returns an error if the parameters are not those of the model.
	Begin(f *File) (starts bool, err error)
	// Begun describes where fits begin by the rows of the table, without a step, and has what a criterion scores there.
	Begun(ctx context.Context, by framework.Criterion, workers int) (R, framework.Evaluation, error)
}

// A Selection is the result of [framework.Select] with fits that have no Parameters. Open describes one of them.
type Selection[R any] struct {
	framework.Selection[R, struct{}]
	Open func(i int) (*framework.Result[R, struct{}], error)
}

// An Engine is the [Problem] of a model of package framework. It alone knows the model's types.
type Engine[R, B, P any, S framework.Statistics[S]] struct {
	Model  framework.Model[B, P, S]
	Source framework.Source[B]
	Found  func(p P, s S) (R, error) // describes a fit
	// Read returns the parameters of a file; nil if those are a P of encoding/json.
	Read func(f *File) (P, error)

	saved *File // at whose parameters fits begin; nil: as the model begins
}

// A thinner is a model that has another start where K is free, with fewer latent dimensions than are asked for.
type thinner[B, P any] interface {
	Thinned(ctx context.Context, src framework.Source[B], k int, rng *rand.Rand) (P, error)
}

// A rescaler is parameters that can have the scale, and with it the prior, of others of the same columns.
type rescaler[P any] interface{ Rescale(of P) }

// Fit fits the model. It makes the passes itself, unless [WithPasses] has set a Passes in ctx.
func (e *Engine[R, B, P, S]) Fit(ctx context.Context, o framework.Options) (*framework.Result[R, struct{}], error) {
	src := Passing[B, P](ctx, e.Source)
	var res *framework.Result[P, S]
	var err error
	if m, ok := e.Model.(thinner[B, P]); e.saved != nil {
		res, err = framework.FitFrom(ctx, e.Model, src, e.start, o)
	} else if ok && !o.FixedK {
		res, err = framework.FitFrom(ctx, e.Model, src, m.Thinned, o)
	} else {
		res, err = framework.Fit(ctx, e.Model, src, o)
	}
	if res == nil {
		return nil, err
	}
	found, fault := e.Found(res.Parameters, res.Statistics)
	if err == nil {
		err = fault
	}
	return With(res, found), err
}

// Begin has fits begin at the parameters of f.
func (e *Engine[R, B, P, S]) Begin(f *File) (starts bool, err error) {
	e.saved = f
	p, err := e.begin()
	_, starts = any(p).(rescaler[P])
	return starts, err
}

// start is at the saved parameters, and after that start the model's own at their scale.
func (e *Engine[R, B, P, S]) start(ctx context.Context, src framework.Source[B], k int, rng *rand.Rand) (P, error) {
	saved, err := e.begin()
	if framework.StartOf(ctx) == 0 || err != nil {
		return saved, err
	}
	p, err := e.Model.Init(ctx, src, k, rng)
	if at, is := any(p).(rescaler[P]); is && err == nil {
		at.Rescale(saved)
	}
	return p, err
}

// begin has the parameters at which fits begin, in new memory.
func (e *Engine[R, B, P, S]) begin() (p P, err error) {
	switch posterior := e.saved.Posterior; {
	case e.Read != nil:
		p, err = e.Read(e.saved)
	case len(posterior) > 0 && string(posterior) != "null":
		err = json.Unmarshal(posterior, &p)
	default:
		err = json.Unmarshal(e.saved.Params, &p)
	}
	if checked, is := e.Model.(interface{ Check(p P) error }); is && err == nil {
		err = checked.Check(p)
	}
	return p, err
}

// Begun describes where fits begin.
func (e *Engine[R, B, P, S]) Begun(ctx context.Context, by framework.Criterion, workers int) (
	found R, at framework.Evaluation, err error) {
	p, err := e.begin()
	if err != nil {
		return found, at, err
	}
	s, _, err := framework.LocalStep(ctx, e.Model, e.Source, p, workers)
	if err == nil {
		at, err = framework.Evaluate(ctx, e.Model, e.Source, p, workers)
	}
	if err == nil && by.Needs.Collapsed {
		at.Collapsed, err = framework.CollapsedEvidence(ctx, e.Model, e.Source, p, workers)
	}
	if err == nil {
		found, err = e.Found(p, s)
	}
	return found, at, err
}

// Select fits the model for every K of ks.
func (e *Engine[R, B, P, S]) Select(
	ctx context.Context, ks []int, o framework.Options, criteria ...framework.Criterion,
) (*Selection[R], error) {
	sel, err := framework.Select(ctx, e.Model, Passing[B, P](ctx, e.Source), ks, o, criteria...)
	if err != nil {
		return nil, err
	}
	return Selected(sel, func(r *framework.Result[P, S]) (R, error) { return e.Found(r.Parameters, r.Statistics) }), nil
}

// Shared reports whether other processes can make the passes.
func (e *Engine[R, B, P, S]) Shared() bool {
	_, coupled := any(e.Model).(optional.Coupled[B, framework.Source[B], P, S])
	_, single := e.Source.(blocks.Single[B])
	return !coupled && !single
}

// Ratio tests K against K + 1.
func (e *Engine[R, B, P, S]) Ratio(ctx context.Context, k int, o bootstrap.Options) (*bootstrap.Ratio, error) {
	return bootstrap.LikelihoodRatio(ctx, e.Model, e.Source, k, o)
}

// Rows is the number of rows.
func (e *Engine[R, B, P, S]) Rows() int { return e.Source.Rows() }

// Share makes one share of a pass (see Sharer).
func (e *Engine[R, B, P, S]) Share(
	ctx context.Context, state []byte, first, last, shards, workers int,
) ([]byte, error) {
	var at framework.State[P]
	if err := gob.NewDecoder(bytes.NewReader(state)).Decode(&at); err != nil {
		return nil, err
	}
	return framework.Share(ctx, e.Model, e.Source, at, first, last, shards, workers)
}

// Selected returns sel with fits that found describes when they are opened.
func Selected[R, P, S any](
	sel *framework.Selection[P, S], found func(fit *framework.Result[P, S]) (R, error),
) *Selection[R] {
	s := &Selection[R]{}
	s.K, s.Criteria, s.Values, s.Errs = sel.K, sel.Criteria, sel.Values, sel.Errs
	for _, fit := range sel.Fits {
		var none R
		if fit == nil {
			s.Fits = append(s.Fits, nil)
		} else {
			s.Fits = append(s.Fits, With(fit, none))
		}
	}
	s.Open = func(i int) (*framework.Result[R, struct{}], error) {
		what, err := found(sel.Fits[i])
		return With(sel.Fits[i], what), err
	}
	return s
}

// With returns the outcome of a fit with its description in place of the parameters.
func With[R, P, S any](res *framework.Result[P, S], found R) *framework.Result[R, struct{}] {
	f := &framework.Result[R, struct{}]{Parameters: found}
	f.Shape, f.N, f.Value, f.Criterion = res.Shape, res.N, res.Value, res.Criterion
	f.Status, f.Iterations, f.Evaluation, f.Scores = res.Status, res.Iterations, res.Evaluation, res.Scores
	f.Met, f.Trace, f.Objective, f.KTrace = res.Met, res.Trace, res.Objective, res.KTrace
	f.Pruned, f.Split, f.Restarts = res.Pruned, res.Split, res.Restarts
	return f
}

// ---- Passes that are made elsewhere

// A Passes makes a pass in other processes, as Step of a [framework.Executor] does, with a state encoded by
// encoding/gob.
type Passes interface {
	Make(ctx context.Context, state []byte, shards int) ([][]byte, error)
}

type passesKey struct{}

// WithPasses returns a context in which p makes the passes of fits.
func WithPasses(ctx context.Context, p Passes) context.Context {
	return context.WithValue(ctx, passesKey{}, p)
}

// Passing returns src for a model with parameters P. If [WithPasses] has set a Passes in ctx, it makes the passes
// over the returned source.
func Passing[B, P any](ctx context.Context, src framework.Source[B]) framework.Source[B] {
	passes, elsewhere := ctx.Value(passesKey{}).(Passes)
	if !elsewhere {
		return src
	}
	return framework.Elsewhere[B, P](src, remote[P]{passes})
}

// A remote makes passes of parameters of some type.
type remote[P any] struct{ Passes }

// Step makes a pass.
func (r remote[P]) Step(ctx context.Context, at framework.State[P], shards int) ([][]byte, error) {
	var state bytes.Buffer
	if err := gob.NewEncoder(&state).Encode(at); err != nil {
		return nil, fmt.Errorf("the parameters cannot be sent: %w", err)
	}
	return r.Make(ctx, state.Bytes(), shards)
}
