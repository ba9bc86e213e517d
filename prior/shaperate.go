package prior

import (
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/internal/special"
)

// NaturalShapeRate is the conjugate prior of the shape α and the rate β of a gamma distribution. Its pseudo-counts h
// = (ν, τ₁, τ₂) count rows, the sum of x and the sum of ln x. The density of (α, β) is ∝ exp(−βτ₁ + ατ₂ − ν ln Γ(α) +
// να ln β). Given α, β is Gamma(να+1, τ₁); the integral over α is a numeric sum.
type NaturalShapeRate struct{ Before Conjugate }

// Prior puts the pseudo-counts of the prior into h.
func (p NaturalShapeRate) Prior(h []float64) { p.Before.Pseudo(h) }

// shapeDensity is the density of u = ln(α/mode). With s = ln(τ₁/ν) − τ₂/ν, which is
// positive, and δ for special.StirlingGap, that of ln α is exp of
//
//	−νsα + ((3+ν)/2) ln α + δ(να) − νδ(α) − ln τ₁ + ½ ln ν + ((1−ν)/2) ln 2π,
//
// the large parts of ln Γ(να+1) − ν ln Γ(α) having cancelled. Its derivative in ln α,
// −νsα + 2 − q(να) + νq(α) with q for special.DigammaGap, between ½ and 1, has one root. As
// |αq′(α)| < 0.12, each solution of it for the first α has at most a quarter of the error of
// the α that it puts into q.
type shapeDensity struct {
	nu, tau, logMean float64 // ν, τ₁, ln(τ₁/ν)
	mode             float64 // of ln α, as α
	decay            float64 // νsα at the mode, roughly the curvature there
	gaps             float64 // δ(να) − νδ(α) at the mode
}

func shapeOf(h []float64) shapeDensity {
	nu := h[0]
	logMean := math.Log(h[1] / nu)
	s := logMean - h[2]/nu
	s = max(s, 1e-15*max(1, math.Abs(logMean))) // numbers that are equal to the last bit
	mode := 0.0
	for next := (1.25 + 0.75*nu) / (nu * s); math.Abs(next-mode) > 1e-9*next; {
		mode = next
		next = (2 - special.DigammaGap(nu*mode) + nu*special.DigammaGap(mode)) / (nu * s)
	}
	return shapeDensity{
		nu, h[1], logMean, mode, nu * s * mode, special.StirlingGap(nu*mode) - nu*special.StirlingGap(mode),
	}
}

// log is the logarithm of the density of u, less that at the mode.
func (d shapeDensity) log(u float64) float64 {
	a := d.mode * math.Exp(u)
	return -d.decay*math.Expm1(u) + (3+d.nu)/2*u + (special.StirlingGap(d.nu*a) - d.nu*special.StirlingGap(a) - d.gaps)
}

// logPeak is the logarithm of the density of ln α at the mode, before it is normalised.
func (d shapeDensity) logPeak() float64 {
	return -d.decay + (3+d.nu)/2*math.Log(d.mode) + d.gaps - math.Log(d.tau) + math.Log(d.nu)/2 +
		(1-d.nu)*special.HalfLogTwoPi
}

// step is the distance of the nodes of a sum over u: for a function that is analytic in
// the strip |Im u| < π/2 the trapezoidal rule errs by exp(−π²/step), and for a Gaussian of
// that width by exp(−8π²).
func (d shapeDensity) step() float64 { return min(0.25, 0.5/math.Sqrt(d.decay)) }

// visit calls do with nodes u and the density there, that at the mode being 1, outward
// from the mode until it vanishes.
func (d shapeDensity) visit(do func(u, density float64)) {
	step := d.step()
	do(0, 1)
	for _, direction := range [2]float64{-step, step} {
		for i := 1.0; ; i++ {
			density := math.Exp(d.log(i * direction))
			if !(density > 1e-18) {
				break
			}
			do(i*direction, density)
		}
	}
}

// LogNorm returns the logarithm of the integral of the expression in the type's comment, in nats.
func (NaturalShapeRate) LogNorm(h []float64) float64 {
	d := shapeOf(h)
	sum := 0.0
	d.visit(func(_, density float64) { sum += density })
	return d.logPeak() + math.Log(sum*d.step())
}

// Expected puts E[(−β, α)] into eta and returns E[ψ]. Here ψ = ln Γ(α) − α ln β and E[ln β|α] = digamma(να+1) − ln
// τ₁, in which large terms cancel as in the density.
func (NaturalShapeRate) Expected(h, eta []float64) float64 {
	d := shapeOf(h)
	sum, shape, partition := 0.0, 0.0, 0.0
	d.visit(func(u, density float64) {
		a := d.mode * math.Exp(u)
		sum += density
		shape += density * a
		partition += density * (special.HalfLogTwoPi - math.Log(a)/2 + special.StirlingGap(a) -
			(1-special.DigammaGap(d.nu*a))/d.nu + a*(d.logMean-1))
	})
	eta[0], eta[1] = -(d.nu*shape/sum+1)/d.tau, shape/sum
	return partition / sum
}

// LogProb returns the log density at (α, β), in nats.
func (p NaturalShapeRate) LogProb(h, xi []float64) float64 {
	if !(xi[0] > 0 && xi[1] > 0) {
		return math.Inf(-1)
	}
	logGamma, _ := math.Lgamma(xi[0])
	return xi[0]*h[2] - xi[1]*h[1] - h[0]*(logGamma-xi[0]*math.Log(xi[1])) - p.LogNorm(h)
}

// Mean puts E[α] and E[β] into xi.
func (p NaturalShapeRate) Mean(h, xi []float64) {
	p.Expected(h, xi)
	xi[0], xi[1] = xi[1], -xi[0]
}

// Rand draws (α, β) into xi. It draws u, a function of α, by the ratio of uniforms (Kinderman & Monahan 1977) from a
// rectangle that contains {(r, v): r² ≤ density(v/r)}, then β given α. The rectangle's sides are computed at the
// nodes of the sum; between nodes u√density exceeds them by less than 1 part in 20.
func (NaturalShapeRate) Rand(h []float64, rng *rand.Rand, xi []float64) {
	d := shapeOf(h)
	low, high := 0.0, 0.0
	d.visit(func(u, density float64) {
		low, high = min(low, u*math.Sqrt(density)), max(high, u*math.Sqrt(density))
	})
	for {
		r := 1 - rng.Float64()
		u := 1.05 * (low + (high-low)*rng.Float64()) / r
		if 2*math.Log(r) <= d.log(u) {
			xi[0] = d.mode * math.Exp(u)
			xi[1] = Gamma{Shape: d.nu*xi[0] + 1, Rate: d.tau}.Rand(rng)
			return
		}
	}
}
