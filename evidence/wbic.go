package evidence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/internal/parallel"
)

// WBICOptions configure sampling. The zero value of every field selects its default.
type WBICOptions struct {
	Temperatures int    // steps from the prior to β, spaced by the same power as in AIS; default 64
	Draws        int    // steps at β over which each chain averages; default 256
	Chains       int    // independent chains, at least 2; default 64
	Seed         uint64 // chain i draws from the PCG stream (Seed, i)
	Workers      int    // goroutines, default one a processor; any number gives the same bits
}

// WBIC returns the widely applicable Bayesian information criterion of a target of n > e observations (Watanabe 2013,
// "A widely applicable Bayesian information criterion", definition 2), in nats, where larger is better as everywhere
// here:
//
//	E_β[ln p(X|s)],   p_β(s) ∝ p(s) p(X|s)^β,   β = 1/ln n:
//
// It needs one temperature of annealing in place of all. Its value is ln p(X) + O_p(√ln n), whether the model is
// regular or singular. The states s must be parameters alone, as in [Metropolis], and L(s) = p(X|s) must sum over
// latent variables, because these grow in number with n.
//
// It returns the mean over the chains and its Monte Carlo standard error, which does not include the bias of chains
// that have not reached their distribution. Its errors are those of [AIS].
func WBIC[S any](
	ctx context.Context, target Annealed[S], n float64, o WBICOptions,
) (value, standardError float64, err error) {
	if !(n > math.E) || math.IsInf(n, 1) {
		return 0, 0, fmt.Errorf(
			"evidence: WBIC of %v observations: must be more than e = 2.72, for a temperature 1/ln n below 1", n,
		)
	}
	if o.Temperatures < 0 || o.Draws < 0 || o.Chains < 0 || o.Chains == 1 || o.Workers < 0 {
		return 0, 0, fmt.Errorf("evidence: %d temperatures, %d draws, %d chains and %d workers must not be "+
			"negative, and a standard error needs 2 chains", o.Temperatures, o.Draws, o.Chains, o.Workers)
	}
	steps, draws, chains := or(o.Temperatures, 64), or(o.Draws, 256), or(o.Chains, 64)
	schedule := defaultSchedule(steps)
	for j := range schedule {
		schedule[j] /= math.Log(n)
	}
	means := make([]float64, chains)
	err = parallel.DoContext(ctx, chains, o.Workers, func(ctx context.Context, i int) error {
		rng := rand.New(rand.NewPCG(o.Seed, uint64(i)))
		var err error
		if means[i], err = meanAt(ctx, target, schedule, draws, rng); err != nil {
			return fmt.Errorf("evidence: chain %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	mean, deviation := stat.MeanStdDev(means, nil)
	return mean, deviation / math.Sqrt(float64(chains)), nil
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// meanAt is the mean of ln L over draws at the last temperature of the schedule.
func meanAt[S any](
	ctx context.Context, target Annealed[S], schedule []float64, draws int, rng *rand.Rand,
) (float64, error) {
	s, err := target.Draw(rng)
	if err != nil {
		return 0, fmt.Errorf("draw from the prior: %w", err)
	}
	if math.IsInf(target.LogLikelihood(s), -1) {
		return 0, errors.New("a draw of the prior has likelihood 0, where no step begins: take a prior that covers the data")
	}
	sum, last := 0.0, len(schedule)-1
	for j := 1; j <= last+draws; j++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		t := schedule[min(j, last)]
		if s, err = target.Step(s, t, rng); err != nil {
			return 0, fmt.Errorf("step at temperature %g: %w", t, err)
		}
		if j <= last {
			continue
		}
		value := target.LogLikelihood(s)
		if err := checkLogLikelihood(value); err != nil {
			return 0, fmt.Errorf("step at temperature %g: %w", t, err)
		}
		sum += value
	}
	return sum / float64(draws), nil
}
