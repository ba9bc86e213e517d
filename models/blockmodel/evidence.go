package blockmodel

import (
	"math"

	"github.com/latent-go/latent/internal/special"
)

// An evidence is ln ∫p(edges|θ)p(θ)dθ of the edges between two blocks, as a function of their weight and of the number
// of pairs: what [Prior].logNorm gives, without its prior's, and several times as fast, because searches spend their
// time here.
type evidence struct {
	family Family
	prior  Prior
	none   float64
	// known is what the weight alone decides, of small ones: ln Γ(A + weight) or, under Bernoulli, what is left of it
	// without the part that would cancel.
	known []float64
}

// tableSize is the number of weights whose part of the evidence is tabled.
const tableSize = 1 << 12

func newEvidence(f Family, p Prior) *evidence {
	e := &evidence{family: f, prior: p, none: p.logNorm(f, 0, 0), known: make([]float64, tableSize)}
	for w := range e.known {
		e.known[w] = e.weigh(p.A + float64(w))
	}
	return e
}

// weigh is the part of x = A + weight alone.
func (e *evidence) weigh(x float64) float64 {
	if e.family == Poisson {
		v, _ := math.Lgamma(x)
		return v
	}
	return (x-0.5)*math.Log(x) + special.StirlingGap(x)
}

// of is the evidence of edges of a weight, a whole number, between so many pairs. By Stirling's formula with its
// remainder δ,
//
//	ln B(x, y) = (x − ½) ln x + δ(x) − x ln s + (y − ½) ln(1 − x/s) + δ(y) − δ(s) + ½ ln 2π,  s = x + y.
func (e *evidence) of(weight, pairs float64) float64 {
	if pairs == 0 {
		return 0
	}
	x := e.prior.A + weight
	var own float64
	if weight < tableSize {
		own = e.known[int(weight)]
	} else {
		own = e.weigh(x)
	}
	if e.family == Poisson {
		return own - x*math.Log(e.prior.B+pairs) - e.none
	}
	y := e.prior.B + pairs - weight
	s := x + y
	return own - x*math.Log(s) + (y-0.5)*math.Log1p(-x/s) + special.StirlingGap(y) - special.StirlingGap(s) +
		special.HalfLogTwoPi - e.none
}
