package blockmodel

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/prior"
)

// Family is the distribution of the edge between two nodes, given their blocks.
type Family int

const (
	Bernoulli Family = iota // there is an edge with probability θ_kl
	Poisson                 // the weight is a count of mean θ_kl
)

var familyNames = [...]string{"bernoulli", "poisson"}

func (f Family) String() string {
	if f < 0 || int(f) >= len(familyNames) {
		return fmt.Sprintf("Family(%d)", int(f))
	}
	return familyNames[f]
}

// In the engine θ has a prior, uniform under Bernoulli, and under Poisson exponential with the mean of all pairs of
// nodes. In the coordinates of the curvature, φ = 2 arcsin √θ or φ = 2 √(θ·unit), the information of an observation is
// 1, and the prior adds one unit: so ½ ln|F| charges ½ ln(units + 1) for θ_kl, which is never negative, where ½
// ln(pairs) would reward blocks of one node.

// unit is the number of pairs that make one observation: 1 under Bernoulli, and under Poisson those with an edge
// of weight 1 between them, on average.
func (f Family) unit(weight, pairs float64) float64 {
	if f == Bernoulli {
		return 1
	}
	return (pairs + 1) / (weight + 1)
}

// mode is the mode of φ, as θ, given the weight of the edges of so many pairs.
func (f Family) mode(weight, pairs, unit float64) float64 { return (weight + 0.5) / (pairs + unit) }

// logPrior is the log density of φ at θ, less a constant.
func (f Family) logPrior(theta, unit float64) float64 {
	if f == Bernoulli {
		return (math.Log(theta) + math.Log1p(-theta)) / 2
	}
	return math.Log(theta*unit)/2 - theta*unit
}

// natural returns what ln p(edge) grows by with the weight of the edge, and what it has for every pair:
// ln p = weight·slope + pair, but for the factorials of counts.
func (f Family) natural(theta float64) (slope, pair float64) {
	if f == Bernoulli {
		return math.Log(theta) - math.Log1p(-theta), math.Log1p(-theta)
	}
	return math.Log(theta), -theta
}

// draw draws the weight of an edge.
func (f Family) draw(theta float64, rng *rand.Rand) float64 {
	if f == Poisson {
		return distuv.Poisson{Lambda: theta, Src: rng}.Rand()
	}
	if rng.Float64() < theta {
		return 1
	}
	return 0
}

// A Prior is the prior under which the exact integrated likelihood is computed. Zero fields select the defaults.
type Prior struct {
	// Alpha is the concentration of the Dirichlet prior of the weights of the blocks: by default ½ (Jeffreys' prior).
	Alpha float64
	// A and B define the prior of an edge. Under Bernoulli its probability is Beta(A, B), by default ½ and ½ (Jeffreys'
	// prior). Under Poisson its mean weight is Gamma with shape A, by default 1, and rate B, by default such that the
	// prior's mean is the mean weight of all pairs.
	A, B float64
}

// resolved fills in the defaults for a graph and checks the prior.
func (p Prior) resolved(g *Graph) (Prior, error) {
	if p.Alpha == 0 {
		p.Alpha = 0.5
	}
	if p.A == 0 && p.B == 0 {
		p.A, p.B = 0.5, 0.5
		if g.family == Poisson {
			p.A, p.B = 1, g.family.unit(g.total, g.Pairs())
		}
	}
	if err := (prior.Dirichlet{Alpha: p.Alpha}).Check(); err != nil {
		return p, fmt.Errorf("blockmodel: Prior.Alpha: %w", err)
	}
	if err := (prior.Beta{A: p.A, B: p.B}).Check(); err != nil {
		return p, fmt.Errorf("blockmodel: Prior.A and Prior.B: %w", err)
	}
	return p, nil
}

// logNorm is the log of the integral of the prior times the likelihood of edges of so much weight between so many
// pairs.
func (p Prior) logNorm(f Family, weight, pairs float64) float64 {
	if f == Bernoulli {
		return prior.Beta{A: p.A + weight, B: p.B + pairs - weight}.LogNorm()
	}
	return prior.Gamma{Shape: p.A + weight, Rate: p.B + pairs}.LogNorm()
}

// mean is the posterior mean of θ.
func (p Prior) mean(f Family, weight, pairs float64) float64 {
	if f == Bernoulli {
		return prior.Beta{A: p.A + weight, B: p.B + pairs - weight}.Mean()
	}
	return prior.Gamma{Shape: p.A + weight, Rate: p.B + pairs}.Mean()
}
