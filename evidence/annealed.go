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

// Annealed is a model whose evidence ∫ p(s) L(s) ds is sought, L(s) = p(X|s). A state s
// holds all unknowns, latent variables included if L is conditional on them: for a mixture,
// s = (Z, Π) with L = p(X|Z,Π) keeps every conditional at a temperature conjugate, and Gibbs
// steps need no tuning.
//
// The methods are called from several goroutines at once, each with a random
// generator and states of its own. Their errors end the run.
type Annealed[S any] interface {
	// Draw makes an exact draw from the prior p(s).
	Draw(rng *rand.Rand) (S, error)
	// LogLikelihood returns ln L(s) in nats; −Inf is allowed at draws of the prior.
	LogLikelihood(s S) float64
	// Step moves s by a Markov kernel that leaves p(s) L(s)^t invariant, 0 < t ≤ 1. It
	// is asked only at states of positive likelihood, and may change s in place. The
	// better it mixes, the fewer temperatures do.
	Step(s S, t float64, rng *rand.Rand) (S, error)
}

// AISOptions configure annealing. The zero value of every field selects its default.
type AISOptions struct {
	// Temperatures is the number of steps n from prior to posterior, at t_j = (j/n)⁴ for
	// j = 0, …, n. The power puts most temperatures near 0, where ln L falls off over orders of
	// magnitude of t: like 1/t, times half the number of parameters, in a regular
	// model (Friel & Pettitt 2008). Default 256.
	Temperatures int
	// Schedule gives the temperatures themselves, strictly ascending, the first 0 and
	// the last 1.
	Schedule []float64
	Chains   int    // independent runs, at least 2; default 64
	Seed     uint64 // chain i draws from the PCG stream (Seed, i)
	Workers  int    // goroutines, default one a processor; any number gives the same bits
}

// Estimate is the result of annealed importance sampling, in nats.
type Estimate struct {
	// LogEvidence is ln of the mean weight w of the chains. The mean is unbiased for p(X|K),
	// so its log has a bias of about −StandardError²/2.
	LogEvidence float64
	// StandardError is the standard error of LogEvidence by the delta method, sd(w)/(mean(w) √chains). It is reliable if
	// the effective sample size is large. If a few chains carry all of the weight, the run may have missed other such
	// chains, and StandardError is too small.
	StandardError float64
	// EffectiveSampleSize is (Σw)²/Σw², between 1 and the number of chains. Below
	// some 10, take more temperatures or better steps rather than more chains.
	EffectiveSampleSize float64
	// LogWeights are ln w of the chains, in order.
	LogWeights []float64

	// PathSampling is a second estimate from the same chains: thermodynamic
	// integration, ∫₀¹ E_t[ln L] dt by the trapezoid rule over the temperatures (Gelman &
	// Meng 1998). It does not depend on a few large weights, but is biased by the grid and by chains that lag behind
	// their temperature. It is −Inf if a draw from the prior has likelihood 0.
	PathSampling float64
	// PathStandardError is the standard error of PathSampling over chains, without those
	// biases; +Inf where PathSampling is −Inf.
	PathStandardError float64
}

// AIS estimates ln p(X|K) by annealed importance sampling (Neal 2001): each chain
// starts at a draw of the prior and is moved through p(s) L(s)^t as t goes from 0 to 1, its
// weight being Π_j L(s_j−1)^(t_j − t_j−1).
//
// It returns an error for bad options, for errors of the target, for a ln L that is NaN, +Inf,
// or −Inf after a step, if all chains start at likelihood 0, and the context's error.
func AIS[S any](ctx context.Context, target Annealed[S], o AISOptions) (Estimate, error) {
	schedule, chains, err := o.check()
	if err != nil {
		return Estimate{}, err
	}
	logWeights, paths := make([]float64, chains), make([]float64, chains)
	err = parallel.DoContext(ctx, chains, o.Workers, func(ctx context.Context, i int) error {
		rng := rand.New(rand.NewPCG(o.Seed, uint64(i)))
		var err error
		if logWeights[i], paths[i], err = anneal(ctx, target, schedule, rng); err != nil {
			return fmt.Errorf("evidence: chain %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return Estimate{}, err
	}
	return estimate(logWeights, paths)
}

func (o AISOptions) check() (schedule []float64, chains int, err error) {
	if o.Temperatures < 0 || o.Chains < 0 || o.Chains == 1 || o.Workers < 0 {
		return nil, 0, fmt.Errorf("evidence: %d temperatures, %d chains and %d workers must not be negative, and a "+
			"standard error needs 2 chains", o.Temperatures, o.Chains, o.Workers)
	}
	chains = o.Chains
	if chains == 0 {
		chains = 64
	}
	if schedule = o.Schedule; schedule == nil {
		return defaultSchedule(o.Temperatures), chains, nil
	}
	last := len(schedule) - 1
	if last < 1 || schedule[0] != 0 || schedule[last] != 1 {
		return nil, 0, errors.New("evidence: the schedule must begin with temperature 0 and end with 1")
	}
	for j, t := range schedule[1:] {
		if !(t > schedule[j]) {
			return nil, 0, fmt.Errorf("evidence: temperature %v at place %d of the schedule does not exceed the one before, %v",
				t, j+1, schedule[j])
		}
	}
	return schedule, chains, nil
}

func defaultSchedule(n int) []float64 {
	if n == 0 {
		n = 256
	}
	schedule := make([]float64, n+1)
	for j := range schedule {
		schedule[j] = math.Pow(float64(j)/float64(n), 4)
	}
	return schedule
}

// anneal runs one chain; path is its share of thermodynamic integration.
func anneal[S any](
	ctx context.Context, target Annealed[S], schedule []float64, rng *rand.Rand,
) (logWeight, path float64, err error) {
	s, err := target.Draw(rng)
	if err != nil {
		return 0, 0, fmt.Errorf("draw from the prior: %w", err)
	}
	value := target.LogLikelihood(s)
	if err := checkLogLikelihood(value); err != nil {
		return 0, 0, fmt.Errorf("draw from the prior: %w", err)
	}
	if math.IsInf(value, -1) {
		return value, value, nil // whatever happens later, the weight is 0
	}
	for j, t := range schedule[1:] {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		width := t - schedule[j]
		logWeight += width * value
		path += width / 2 * value
		if s, err = target.Step(s, t, rng); err != nil {
			return 0, 0, fmt.Errorf("step at temperature %g: %w", t, err)
		}
		value = target.LogLikelihood(s)
		if err = checkLogLikelihood(value); err == nil && math.IsInf(value, -1) {
			err = errors.New("a state of likelihood 0, which p(s)L(s)^t never visits")
		}
		if err != nil {
			return 0, 0, fmt.Errorf("step at temperature %g: %w", t, err)
		}
		path += width / 2 * value
	}
	return logWeight, path, nil
}

func checkLogLikelihood(value float64) error {
	if math.IsNaN(value) || math.IsInf(value, 1) {
		return fmt.Errorf("log likelihood %v", value)
	}
	return nil
}

func estimate(logWeights, paths []float64) (Estimate, error) {
	n := float64(len(logWeights))
	most := math.Inf(-1)
	for _, v := range logWeights {
		most = max(most, v)
	}
	if math.IsInf(most, -1) {
		return Estimate{}, fmt.Errorf("evidence: all %d chains began at likelihood 0: take more chains, or "+
			"a prior that covers the data", len(logWeights))
	}
	weights := make([]float64, len(logWeights))
	sum, squares := 0.0, 0.0
	for i, v := range logWeights {
		weights[i] = math.Exp(v - most)
		sum += weights[i]
		squares += weights[i] * weights[i]
	}
	mean, deviation := stat.MeanStdDev(weights, nil)
	e := Estimate{
		LogEvidence:         most + math.Log(mean),
		StandardError:       deviation / mean / math.Sqrt(n),
		EffectiveSampleSize: sum * sum / squares,
		LogWeights:          logWeights,
	}
	e.PathSampling, e.PathStandardError = stat.MeanStdDev(paths, nil)
	e.PathStandardError /= math.Sqrt(n)
	if math.IsInf(e.PathSampling, -1) {
		e.PathStandardError = math.Inf(1)
	}
	return e, nil
}
