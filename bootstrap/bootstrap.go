package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/parallel"
)

// Scheme says how to make a draw.
type Scheme int

const (
	// Parametric draws new rows from the fitted model, which must be a [Resampler].
	Parametric Scheme = iota
	// Nonparametric draws rows of the table with replacement, as frequency weights (Efron 1979).
	Nonparametric
	// Bayesian gives the rows exponential weights (Rubin 1981), a row of weight w the sum of w such weights, so that no
	// row is left out. For a model with a likelihood it is the weighted likelihood bootstrap (Newton & Raftery 1994).
	Bayesian
)

var schemeNames = [...]string{Parametric: "parametric", Nonparametric: "nonparametric", Bayesian: "bayesian"}

func (s Scheme) String() string {
	if s < 0 || int(s) >= len(schemeNames) {
		return fmt.Sprintf("Scheme(%d)", int(s))
	}
	return schemeNames[s]
}

// Options say how many draws to make and how to fit each. Except for Draws, the zero value of every field selects its
// default.
type Options struct {
	Draws   int     // B: for standard errors at least 2, such as 200; for a test at least 1, such as 99 or 999
	Scheme  Scheme  // scheme of standard errors, by default Parametric; a test is always parametric
	Level   float64 // level of intervals, between 0 and 1; default 0.95
	Seed    uint64
	Workers int // concurrent draws; default one a processor. Any number gives the same bits

	Progress func(done int) // called after each draw with the number done, one call at a time; may be nil

	// Fit holds the options of every fit. This package sets its K, FixedK, Seed, Workers, Also, Recorder and Resume,
	// and, except for gFAB, its Criterion.
	Fit framework.Options
}

func (o Options) resolved(least int) (Options, error) {
	switch {
	case o.Draws < least:
		return o, fmt.Errorf("bootstrap: Draws is %d; must be at least %d", o.Draws, least)
	case o.Level != 0 && !(o.Level > 0 && o.Level < 1):
		return o, fmt.Errorf("bootstrap: Level is %v; must be between 0 and 1, such as 0.95", o.Level)
	case o.Workers < 0:
		return o, fmt.Errorf("bootstrap: Workers is %d; must not be negative", o.Workers)
	case o.Scheme < 0 || int(o.Scheme) >= len(schemeNames):
		return o, fmt.Errorf("bootstrap: unknown scheme %d: choose one of %s", int(o.Scheme),
			strings.Join(schemeNames[:], ", "))
	}
	if o.Level == 0 {
		o.Level = 0.95
	}
	return o, nil
}

// fit are the options of one fit at k.
func (o Options) fit(k int, seed uint64, workers int) framework.Options {
	f := o.Fit
	f.K, f.FixedK, f.Seed, f.Workers = k, true, seed, workers
	if f.Method != framework.GFAB { // whose criterion changes its steps
		f.Criterion = framework.Criterion{}
	}
	f.Also, f.Recorder, f.Resume = nil, nil, nil
	return f
}

// A Failure is a draw without estimates.
type Failure struct {
	Draw int // from 0
	Err  error
}

// An Outcome reports draws that failed or did not converge.
type Outcome struct {
	Failed      []Failure // left out
	Unconverged int       // number of draws, included, whose refit ended before convergence
}

// A refit is what came of a draw.
type refit[T any] struct {
	value     T
	converged bool
}

// draw makes all draws and returns those that succeeded, in order. A violated contract and the end of ctx end it.
func draw[T any](
	ctx context.Context, o Options, least int, one func(ctx context.Context, rng *rand.Rand) (refit[T], error),
) ([]T, Outcome, error) {
	refits, errs := make([]refit[T], o.Draws), make([]error, o.Draws)
	progress := parallel.Counter(o.Progress)
	err := parallel.DoContext(ctx, o.Draws, o.Workers, func(ctx context.Context, b int) error {
		refits[b], errs[b] = one(ctx, rand.New(rand.NewPCG(o.Seed, uint64(b))))
		if errors.Is(errs[b], framework.ErrContract) {
			return errs[b]
		}
		progress()
		return ctx.Err()
	})
	switch {
	case ctx.Err() != nil:
		return nil, Outcome{}, fmt.Errorf("bootstrap: cancelled: %w", ctx.Err())
	case err != nil:
		return nil, Outcome{}, err
	}
	var values []T
	var out Outcome
	for b, err := range errs {
		if err != nil {
			out.Failed = append(out.Failed, Failure{b, err})
			continue
		}
		values = append(values, refits[b].value)
		if !refits[b].converged {
			out.Unconverged++
		}
	}
	if len(values) < least {
		return nil, out, fmt.Errorf("bootstrap: %d of %d draws failed, the first: %w", len(out.Failed),
			o.Draws, out.Failed[0].Err)
	}
	return values, out, nil
}
