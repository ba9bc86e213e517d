package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
)

// A Ratio is the bootstrap likelihood ratio test of K latent dimensions against K + 1.
type Ratio struct {
	K         int       // K of the null hypothesis
	Statistic float64   // T = 2(ln p(X|Π̂_K+1) − ln p(X|Π̂_K)), in nats; below 0 if no start of K + 1 was good enough
	PValue    float64   // (1 + #{T* ≥ T})/(1 + B) over the B draws that succeeded
	Null      []float64 // T* of these draws, in their order
	Outcome
}

// LikelihoodRatio tests k latent dimensions against k + 1 with o.Draws tables drawn from the fit of k to src; m must
// be a [Resampler]. Every fit, to src and to the draws, runs EM at fixed K from the starts of o.Fit. p-values are
// valid whichever maxima these starts find; more Restarts in o.Fit make the test more powerful.
//
// It returns an error if m has no likelihood or is not a Resampler, for invalid options, if a fit to src fails, if
// ctx ends, and if no draw succeeds.
func LikelihoodRatio[B, P any, S framework.Statistics[S]](
	ctx context.Context, m framework.Model[B, P, S], src framework.Source[B], k int, o Options,
) (*Ratio, error) {
	o, err := o.resolved(1)
	if err != nil {
		return nil, err
	}
	if o.Scheme != Parametric {
		return nil, fmt.Errorf("bootstrap: the likelihood ratio test needs tables of K dimensions, which the %v "+
			"scheme does not draw: take Parametric", o.Scheme)
	}
	o.Fit.Method = framework.EM
	if _, ok := m.(Resampler[B, P]); !ok { // said before any fit
		_, err := newResampling(ctx, m, src, *new(P), Parametric)
		return nil, err
	}
	null, statistic, err := ratio(ctx, m, src, k, o, o.Fit.Seed, o.Workers)
	if err != nil {
		return nil, err
	}
	resample, err := newResampling(ctx, m, src, null, Parametric)
	if err != nil {
		return nil, err
	}
	draws, outcome, err := draw(ctx, o, 1, func(ctx context.Context, rng *rand.Rand) (r refit[float64], err error) {
		drawn, err := resample(ctx, rng)
		if err != nil {
			return r, err
		}
		_, r, err = ratio(ctx, m, drawn, k, o, rng.Uint64(), 1)
		return r, err
	})
	if err != nil {
		return nil, err
	}
	test := &Ratio{K: k, Statistic: statistic.value, Null: draws, Outcome: outcome}
	reached := 0
	for _, t := range draws {
		if t >= test.Statistic {
			reached++
		}
	}
	test.PValue = float64(1+reached) / float64(1+len(draws))
	return test, nil
}

// ratio fits k and k + 1 latent dimensions to src and returns the parameters of k and the statistic.
func ratio[B, P any, S framework.Statistics[S]](
	ctx context.Context, m framework.Model[B, P, S], src framework.Source[B], k int, o Options, seed uint64, workers int,
) (null P, t refit[float64], err error) {
	t.converged = true
	for i, sign := range []float64{-2, 2} {
		f := o.fit(k+i, seed, workers)
		f.Also = []framework.Criterion{framework.BIC} // which takes the likelihood
		res, err := framework.Fit(ctx, m, src, f)
		if err == nil {
			err = errors.Join(res.Scores[1].Err, ctx.Err())
		}
		if err != nil {
			return null, t, fmt.Errorf("bootstrap: the fit at K = %d: %w", k+i, err)
		}
		if i == 0 {
			null = res.Parameters
		}
		t.value += sign * res.Evaluation.LogLikelihood
		t.converged = t.converged && res.Status == framework.Converged
	}
	return null, t, nil
}
