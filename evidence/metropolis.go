package evidence

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Metropolis is an [Annealed] model made of a prior and a likelihood over d
// continuous unknowns θ, moved by random walks. Its step sizes are fractions of the
// difference of two draws from the prior, so that units and correlations of the prior need no tuning. Each step tries
// several sizes, so that all temperatures are served.
//
// The functions are called from several goroutines at once and must not keep or
// change theta.
type Metropolis struct {
	DrawFunc          func(rng *rand.Rand) []float64 // an exact draw from the prior, in new memory
	LogPriorFunc      func(theta []float64) float64  // ln p(θ), nats, up to a constant
	LogLikelihoodFunc func(theta []float64) float64  // ln p(X|θ), nats, constants included

	// StepSizes are tried in order in every Step, each on all coordinates at once
	// and, for d > 1, on one chosen at random. Default 1, 1/3, …, 1/243: where the posterior is
	// much narrower than 1/243 of the prior, give smaller ones too.
	StepSizes []float64
}

// Point is a state of [Metropolis].
type Point struct {
	Theta []float64 // length d

	logPrior, logLikelihood float64
}

var defaultStepSizes = []float64{1, 1. / 3, 1. / 9, 1. / 27, 1. / 81, 1. / 243}

// Draw draws from the prior. It returns an error if the draw is empty or not finite, and if its log prior is not
// finite, because then the sampler and the density disagree.
func (m *Metropolis) Draw(rng *rand.Rand) (*Point, error) {
	theta, err := m.draw(rng)
	if err != nil {
		return nil, err
	}
	p := &Point{Theta: theta, logPrior: m.LogPriorFunc(theta)}
	if math.IsNaN(p.logPrior) || math.IsInf(p.logPrior, 0) {
		return nil, fmt.Errorf("log prior %v at the prior's own draw %v", p.logPrior, theta)
	}
	p.logLikelihood = m.LogLikelihoodFunc(theta)
	return p, nil
}

// LogLikelihood returns ln p(X|θ) in nats.
func (m *Metropolis) LogLikelihood(p *Point) float64 { return p.logLikelihood }

// Step makes one random walk proposal of each size on all coordinates and one on a
// single coordinate, by the Metropolis rule for p(θ) p(X|θ)^t. It returns an error if a log prior or log likelihood
// is NaN or +Inf; a proposal with −Inf is never accepted.
func (m *Metropolis) Step(p *Point, t float64, rng *rand.Rand) (*Point, error) {
	sizes := m.StepSizes
	if sizes == nil {
		sizes = defaultStepSizes
	}
	for _, size := range sizes {
		direction, err := m.direction(len(p.Theta), rng)
		if err != nil {
			return nil, err
		}
		if err := m.propose(p, size, direction, t, rng); err != nil {
			return nil, err
		}
		if len(direction) < 2 {
			continue
		}
		chosen := rng.IntN(len(direction))
		for i := range direction {
			if i != chosen {
				direction[i] = 0
			}
		}
		if err := m.propose(p, size, direction, t, rng); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (m *Metropolis) draw(rng *rand.Rand) ([]float64, error) {
	theta := m.DrawFunc(rng)
	if len(theta) == 0 {
		return nil, errors.New("the prior's draw is empty")
	}
	if slices.ContainsFunc(theta, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
		return nil, fmt.Errorf("the prior's draw %v is not finite", theta)
	}
	return theta, nil
}

// direction is the difference of two draws of the prior.
func (m *Metropolis) direction(d int, rng *rand.Rand) ([]float64, error) {
	u, err := m.draw(rng)
	if err != nil {
		return nil, err
	}
	v, err := m.draw(rng)
	if err != nil {
		return nil, err
	}
	if len(u) != d || len(v) != d {
		return nil, fmt.Errorf("the prior's draws have %d and %d coordinates, and %d before", len(u), len(v), d)
	}
	direction := make([]float64, d)
	for i := range direction {
		direction[i] = u[i] - v[i]
	}
	return direction, nil
}

// propose moves p by size·direction or stays. The sign is drawn anew each time: that makes
// the proposal symmetric for the direction given, so that one direction may serve
// twice.
func (m *Metropolis) propose(p *Point, size float64, direction []float64, t float64, rng *rand.Rand) error {
	if rng.Uint64()&1 == 0 {
		size = -size
	}
	bound := math.Log(1 - rng.Float64()) // ln of a number in (0, 1]
	theta := make([]float64, len(p.Theta))
	for i, v := range p.Theta {
		theta[i] = v + size*direction[i]
		if math.IsInf(theta[i], 0) || math.IsNaN(theta[i]) {
			return nil
		}
	}
	logPrior := m.LogPriorFunc(theta)
	if math.IsInf(logPrior, -1) {
		return nil
	}
	logLikelihood := m.LogLikelihoodFunc(theta)
	for _, v := range []float64{logPrior, logLikelihood} {
		if math.IsNaN(v) || math.IsInf(v, 1) {
			return fmt.Errorf("log prior %v and log likelihood %v at %v", logPrior, logLikelihood, theta)
		}
	}
	if math.IsInf(logLikelihood, -1) {
		return nil
	}
	if logPrior-p.logPrior+t*(logLikelihood-p.logLikelihood) >= bound {
		p.Theta, p.logPrior, p.logLikelihood = theta, logPrior, logLikelihood
	}
	return nil
}
