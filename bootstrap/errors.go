package bootstrap

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/framework"
)

// A Starter is a model whose refits can start at the fitted parameters, so that they find the fit's maximum, and
// sooner. Refits of other models start as Options.Fit says.
type Starter[B, P any] interface {
	// StartAt returns parameters near p, in new memory, from which to start a fit to src. It does not change p, and is
	// called concurrently.
	StartAt(ctx context.Context, src framework.Source[B], p P) (P, error)
}

// A Number is one number of a fit, with its distribution over the draws.
type Number struct {
	Estimate  float64 // of the fit
	Mean      float64 // mean of the draws; Mean − Estimate estimates the bias
	Error     float64 // standard deviation of the draws
	Low, High float64 // percentile interval (Efron 1981): quantiles (1 ∓ Level)/2 of the draws
}

// Estimates holds numbers of a fit with their standard errors.
type Estimates struct {
	Numbers []Number
	Draws   *mat.Dense // one row for each draw that succeeded
	Outcome
}

// StandardErrors draws o.Draws tables like src, refits m to each at the K of p, and describes how the numbers of the
// refits vary. A refit starts at p if m is a [Starter]. numbers computes the numbers of interest from parameters,
// always the same count, for example the parameters themselves. If they depend on the order of the labels, m must be
// a [Permuter]. If the latent space of m can be rotated, they must not depend on the rotation. A draw with a number
// that is not finite fails.
//
// It returns an error if m does not support the scheme, for invalid options, if ctx ends, and if fewer than two draws
// succeed.
func StandardErrors[B, P any, S framework.Statistics[S]](
	ctx context.Context, m framework.Model[B, P, S], src framework.Source[B], p P, numbers func(P) []float64, o Options,
) (*Estimates, error) {
	o, err := o.resolved(2)
	if err != nil {
		return nil, err
	}
	resample, err := newResampling(ctx, m, src, p, o.Scheme)
	if err != nil {
		return nil, err
	}
	labels, err := newAligner(ctx, m, src, p)
	if err != nil {
		return nil, err
	}
	estimates, k, start := numbers(p), m.Shape(p).K, framework.Start[B, P](m.Init)
	if s, ok := m.(Starter[B, P]); ok {
		o.Fit.Restarts = 1
		start = func(ctx context.Context, src framework.Source[B], _ int, _ *rand.Rand) (P, error) {
			return s.StartAt(ctx, src, p)
		}
	}
	draws, outcome, err := draw(ctx, o, 2, func(ctx context.Context, rng *rand.Rand) (r refit[[]float64], err error) {
		drawn, err := resample(ctx, rng)
		if err != nil {
			return r, err
		}
		f := o.fit(k, rng.Uint64(), 1)
		f.NoMoves = true // they would leave the maximum that the errors are of
		res, err := framework.FitFrom(ctx, m, drawn, start, f)
		if err != nil {
			return r, err
		}
		aligned, err := labels.align(ctx, res.Parameters)
		if err != nil {
			return r, err
		}
		r = refit[[]float64]{numbers(aligned), res.Status == framework.Converged}
		return r, checkNumbers(r.value, len(estimates))
	})
	if err != nil {
		return nil, err
	}
	e := &Estimates{Draws: mat.NewDense(len(draws), len(estimates), slices.Concat(draws...)), Outcome: outcome}
	for i, estimate := range estimates {
		e.Numbers = append(e.Numbers, describe(estimate, mat.Col(nil, i, e.Draws), o.Level))
	}
	return e, nil
}

func checkNumbers(v []float64, n int) error {
	if len(v) != n {
		return fmt.Errorf("bootstrap: a refit has %d numbers, the fit %d", len(v), n)
	}
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("bootstrap: number %d of a refit is %v", i+1, x)
		}
	}
	return nil
}

// describe summarises the draws of a number.
func describe(estimate float64, draws []float64, level float64) Number {
	slices.Sort(draws)
	mean, sd := stat.MeanStdDev(draws, nil)
	quantile := func(p float64) float64 { return stat.Quantile(p, stat.LinInterp, draws, nil) }
	return Number{estimate, mean, sd, quantile((1 - level) / 2), quantile((1 + level) / 2)}
}
