package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bpca"
)

// modelFlags say what is fitted and how.
type modelFlags struct {
	Model    string   `default:"bpca" enum:"bpca" help:"Model: bpca."`
	Family   string   `default:"gaussian" enum:"gaussian" help:"Family of the noise: gaussian."`
	Weights  string   `placeholder:"COL" help:"Frequency weights: take this column out of the data and weigh the rows by it."`
	Prior    prior    `placeholder:"KEY=VALUE,…" help:"Prior of --method vb: a_alpha, b_alpha, a_lambda, b_lambda (gamma shapes and rates), alpha (fixed; 1 is VB1), unit (standard deviation taken for 1)."`
	Restarts *int     `placeholder:"N" help:"Independent starts, of which the best is kept. Default: 1."`
	Seed     uint64   `default:"1" help:"Seed of the starts."`
	Tol      *float64 `placeholder:"NATS" help:"Stop when an iteration changes the criterion by less than this, in nats per row. Default: 1e-9."`
	MaxIter  *int     `placeholder:"N" help:"Iterations at most. Default: 10000."`
	Workers  int      `default:"0" help:"Goroutines; 0 is one a processor. Any number gives the same bits."`
	Format   string   `default:"text" enum:"text,json" help:"Output: text or json."`
}

const (
	methodVB         = "vb"
	methodClosedForm = "closed-form"
)

func (f *modelFlags) check(method string) error {
	switch restarts, tol, limit := f.restarts(), f.tolerance(), f.maxIterations(); {
	case method == methodClosedForm && (f.Restarts != nil || f.Tol != nil || f.MaxIter != nil):
		return misused("--tol, --max-iter and --restarts do not go with --method %s: closed-form has no iterations", method)
	case restarts < 1:
		return misused("--restarts is %d: it must be at least 1", restarts)
	case limit < 1:
		return misused("--max-iter is %d: it must be at least 1", limit)
	case f.Workers < 0:
		return misused("--workers is %d: it must not be negative", f.Workers)
	case !(tol > 0) || math.IsInf(tol, 0):
		return misused("--tol is %v: it must be positive and finite", tol)
	case f.Prior.given && method != methodVB:
		return misused("--prior goes with --method vb only, and the method is %s", method)
	}
	return nil
}

// The flags of iterations are pointers, to tell those given from those left out.

func (f *modelFlags) restarts() int { return valueOr(f.Restarts, 1) }

func (f *modelFlags) tolerance() float64 { return valueOr(f.Tol, framework.DefaultTolerance) }

func (f *modelFlags) maxIterations() int { return valueOr(f.MaxIter, framework.DefaultMaxIterations) }

func valueOr[T any](flag *T, otherwise T) T {
	if flag == nil {
		return otherwise
	}
	return *flag
}

// settings are what a model file keeps of the flags.
func (f *modelFlags) settings(method string) settings {
	kept := settings{Weights: f.Weights, Prior: f.Prior.text}
	if method != methodClosedForm {
		kept.Tolerance, kept.MaxIterations, kept.Restarts = f.tolerance(), f.maxIterations(), f.restarts()
	}
	return kept
}

// options are the engine's for K to begin with.
func (f *modelFlags) options(method string, k int) framework.Options {
	o := framework.Options{K: k, Method: framework.EM, Tolerance: f.tolerance(), MaxIterations: f.maxIterations(), Restarts: f.restarts(), Seed: f.Seed, Workers: f.Workers}
	if m, err := framework.MethodByName(method); err == nil {
		o.Method = m
	}
	return o
}

// prior is the value of --prior.
type prior struct {
	bpca.Prior
	given bool
	text  string // as it was given
}

// UnmarshalText reads KEY=VALUE,….
func (p *prior) UnmarshalText(text []byte) error {
	fields := map[string]*float64{"a_alpha": &p.AlphaShape, "b_alpha": &p.AlphaRate, "a_lambda": &p.LambdaShape,
		"b_lambda": &p.LambdaRate, "alpha": &p.FixedAlpha, "unit": &p.Unit}
	const keys = "a_alpha, b_alpha, a_lambda, b_lambda, alpha and unit"
	for item := range strings.SplitSeq(string(text), ",") {
		key, value, _ := strings.Cut(item, "=")
		key = strings.TrimSpace(key)
		field, ok := fields[key]
		if !ok {
			return fmt.Errorf("no key %q: the keys are %s", key, keys)
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%s=%s: the value must be a positive number", key, value)
		}
		if *field != 0 {
			return fmt.Errorf("%s is given twice", key)
		}
		*field, p.given, p.text = v, true, string(text)
	}
	if p.FixedAlpha != 0 && (p.AlphaShape != 0 || p.AlphaRate != 0) {
		return errors.New("alpha fixes what a_alpha and b_alpha are the prior of: give one or the other")
	}
	return nil
}

// fittingCriteria are those by which a method's fits can be judged, its own first.
func fittingCriteria(method string) []framework.Criterion {
	switch method {
	case methodVB:
		return []framework.Criterion{framework.ELBO}
	case framework.FAB.String():
		return []framework.Criterion{framework.FIC, framework.GFIC, framework.BICEM, framework.BIC, framework.AIC, framework.ELBO}
	case framework.EM.String():
		return []framework.Criterion{framework.BICEM, framework.GFIC, framework.FIC, framework.BIC, framework.AIC, framework.ELBO}
	}
	return []framework.Criterion{framework.GFIC, framework.FIC, framework.BICEM, framework.BIC, framework.AIC, framework.ELBO}
}

// criterion finds the criterion of that name for a method; the empty name is the
// method's own.
func criterion(flag, name, method string) (framework.Criterion, error) {
	fitting := fittingCriteria(method)
	if name == "" {
		return fitting[0], nil
	}
	if _, err := framework.CriterionByName(name); err != nil {
		return framework.Criterion{}, misused("%s: %w", flag, err)
	}
	var names []string
	for _, c := range fitting {
		if strings.EqualFold(c.Name, name) {
			return c, nil
		}
		names = append(names, strings.ToLower(c.Name))
	}
	return framework.Criterion{}, misused("%s %s does not go with --method %s; choose one of %s", flag, name, method, strings.Join(names, ", "))
}

// checkSize refuses K beyond what the columns allow. What is wrong with the data
// themselves, the model says.
func checkSize(k, d int) error {
	if d > 1 && k >= d {
		return fmt.Errorf("no noise is left over at K = %d with D = %d columns: choose K from 1 to %d", k, d, d-1)
	}
	return nil
}

// largest is the default of kmax, which must leave noise over: D columns have rank D, and
// N centred rows N − 1.
func largest(s *sample) int {
	n, d := s.Dims()
	return max(1, min(d-1, n-2))
}

// fitted is the outcome of a fit, whatever the model's parameters are.
type fitted struct {
	framework.Result[*bpca.Parameters, *bpca.Statistics]
	status    string
	posterior *bpca.Posterior // of vb
}

// scores are the criteria over K, and the fits behind them.
type scores struct {
	framework.Selection[*bpca.Parameters, *bpca.Statistics]
	ends []ending // of the fits
	fit  func(i int) (*fitted, error)
}

// An ending says how a fit ended.
type ending struct {
	status    string
	converged bool
	err       error // why it has no values, or lacks one of them
}

const statusNone = "failed"

// remark notes which of the fits compared did not get to their end.
func (all *scores) remark(s *session, in *sample) {
	var open, failed []string
	var reason error
	for i, end := range all.ends {
		k := strconv.Itoa(all.K[i])
		switch {
		case end.status == statusNone:
			failed = append(failed, k)
			if reason == nil {
				reason = end.err
			}
		case !end.converged:
			open = append(open, k)
		}
	}
	if len(open) > 0 {
		s.note("%d of the %d fits did not converge: raise --max-iter (K = %s)", len(open), len(all.K), strings.Join(open, ", "))
	}
	if len(failed) > 0 {
		s.note("%d of the %d fits failed (K = %s): %s", len(failed), len(all.K), strings.Join(failed, ", "), oneLine(in.nameColumn(reason)))
	}
}

// An engine fits one model to one data set.
type engine interface {
	fit(ctx context.Context, o framework.Options) (*fitted, error)
	score(ctx context.Context, ks []int, o framework.Options, criteria []framework.Criterion) (*scores, error)
}

// newEngine chooses how the rows reach the model: through their D×D moments, which
// makes an iteration free of N, or block by block where there are more columns than rows.
func newEngine(ctx context.Context, s *sample, f *modelFlags, method string) (engine, error) {
	if method == methodClosedForm {
		spectrum, err := bpca.Decompose(ctx, s.Table, f.Workers)
		return closedForm{spectrum}, err
	}
	variational := bpca.Variational{Prior: f.Prior.Prior}
	if n, d := s.Dims(); d > n {
		if method == methodVB {
			return &iterated[framework.Rows, *bpca.Posterior]{variational, s.Table}, nil
		}
		return &iterated[framework.Rows, *bpca.Parameters]{bpca.Model{}, s.Table}, nil
	}
	moments, err := bpca.Summarize(ctx, s.Table, f.Workers)
	if err != nil {
		return nil, err
	}
	if method == methodVB {
		return &iterated[*bpca.Moments, *bpca.Posterior]{bpca.CompressedVariational{Variational: variational}, moments.Source()}, nil
	}
	return &iterated[*bpca.Moments, *bpca.Parameters]{bpca.Compressed{}, moments.Source()}, nil
}

// iterated runs the engine of package framework.
type iterated[B, P any] struct {
	model  framework.Model[B, P, *bpca.Statistics]
	source framework.Source[B]
}

func (e *iterated[B, P]) fit(ctx context.Context, o framework.Options) (*fitted, error) {
	res, err := framework.Fit(ctx, e.model, e.source, o)
	if res == nil {
		return nil, err
	}
	return convert(res), err
}

func (e *iterated[B, P]) score(ctx context.Context, ks []int, o framework.Options, criteria []framework.Criterion) (*scores, error) {
	sel, err := framework.Select(ctx, e.model, e.source, ks, o, criteria...)
	if err != nil {
		return nil, err
	}
	s := &scores{fit: func(i int) (*fitted, error) { return convert(sel.Fits[i]), nil }}
	s.K, s.Criteria, s.Values, s.Errs = sel.K, sel.Criteria, sel.Values, sel.Errs
	for i, fit := range sel.Fits {
		if fit == nil {
			s.ends = append(s.ends, ending{status: statusNone, err: sel.Errs[i]})
			continue
		}
		end := ending{status: fit.Status.String(), converged: fit.Status == framework.Converged}
		for _, score := range fit.Scores {
			end.err = errors.Join(end.err, score.Err)
		}
		s.ends = append(s.ends, end)
	}
	return s, nil
}

// convert takes the parameters in canonical rotation out of a result.
func convert[P any](res *framework.Result[P, *bpca.Statistics]) *fitted {
	f := &fitted{status: res.Status.String()}
	f.Shape, f.N, f.Value, f.Status, f.Iterations = res.Shape, res.N, res.Value, res.Status, res.Iterations
	f.Trace, f.Objective, f.KTrace, f.Pruned, f.Restarts, f.Criterion = res.Trace, res.Objective, res.KTrace, res.Pruned, res.Restarts, res.Criterion
	switch p := any(res.Parameters).(type) {
	case *bpca.Parameters:
		f.Parameters = p.Canonical()
	case *bpca.Posterior:
		f.Parameters, f.posterior = p.Point().Canonical(), p
	}
	return f
}

// closedForm reads all K off one spectrum.
type closedForm struct{ spectrum *bpca.Spectrum }

func (e closedForm) fit(ctx context.Context, o framework.Options) (*fitted, error) {
	s, err := e.score(ctx, []int{o.K}, o, []framework.Criterion{o.Criterion})
	if err != nil {
		return nil, err
	}
	return s.fit(0)
}

func (e closedForm) score(_ context.Context, ks []int, _ framework.Options, criteria []framework.Criterion) (*scores, error) {
	solutions, err := bpca.Solve(e.spectrum, ks[len(ks)-1])
	if err != nil {
		return nil, err
	}
	if ks[0] > solutions.Max() {
		return nil, noSolution(ks[0], solutions)
	}
	s := &scores{}
	s.K, s.Criteria = ks, criteria
	for _, k := range ks {
		row, end := make([]float64, len(criteria)), ending{status: statusClosedForm, converged: true}
		if k > solutions.Max() {
			end = ending{status: statusNone, err: noSolution(k, solutions)}
		}
		for j, c := range criteria {
			if row[j] = math.NaN(); end.err != nil {
				continue
			}
			if row[j], err = solutions.Value(k, c); err != nil {
				return nil, err
			}
		}
		s.Values, s.ends, s.Errs = append(s.Values, row), append(s.ends, end), append(s.Errs, end.err)
	}
	s.fit = func(i int) (*fitted, error) {
		method := bpca.MethodFor(criteria[0])
		p, err := solutions.Parameters(ks[i], method)
		if err != nil {
			return nil, err
		}
		e, err := solutions.Evaluation(ks[i], method)
		f := &fitted{status: statusClosedForm}
		f.Parameters, f.Shape, f.N, f.Value, f.Criterion, f.Status = p, e.Shape, e.N, s.Values[i][0], criteria[0].Name, framework.Converged
		return f, err
	}
	return s, nil
}

const statusClosedForm = "closed form"

func noSolution(k int, s *bpca.Solutions) error {
	return fmt.Errorf("no solution at K = %d: the rows lie in a space of few dimensions, and no noise is left beyond K = %d", k, s.Max())
}

// upTo lists the integers from first to last.
func upTo(first, last int) []int {
	var ks []int
	for k := first; k <= last; k++ {
		ks = append(ks, k)
	}
	return ks
}

// explain turns an error of the library into what the user of the command can do, after
// the name of the data.
func explain(err error, s *sample) error {
	var usage usageError
	switch {
	case errors.Is(err, errInterrupted) || errors.As(err, &usage):
		return err
	case errors.Is(err, bpca.ErrTooFewRows):
		err = fmt.Errorf("%w (--method em or --method vb)", err)
	}
	return fmt.Errorf("%s: %w", s.name, s.nameColumn(err))
}
