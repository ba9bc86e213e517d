package family

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/special"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// Gamma describes positive numbers: ln p(x|α,β) = α ln β − ln Γ(α) + (α−1) ln x − βx, with
// T = (x, ln x), η = (−β, α) and ln h = −ln x. Its coordinates are ln(α/β), the logarithm
// of the mean, and 1/α, the square of the coefficient of variation: as (μ, σ²) for a Gaussian. The Fisher information
// of a row is diag(α, α²(α²ψ′(α) − α)), and gFIC penalises components that collapse (docs/theory/mixtures.md, section
// 3).
//
// T has no anchor: if the standard deviation of the numbers is a fraction ε of their mean, log densities have an
// absolute error of about 1e-16/ε².
//
// The variance α/β² of a class has the floor of a Gaussian column, and estimates are exact maxima above it.
type Gamma struct {
	Floor float64 // that of normal.Family
}

// Name is "gamma".
func (Gamma) Name() string { return "gamma" }

// Columns is 1.
func (Gamma) Columns() int { return 1 }

// On makes the columns independent.
func (f Gamma) On(columns int) ([]Factor, error) { return Independent(f, columns) }

// Support describes the valid values.
func (Gamma) Support() string { return "finite positive numbers" }

// Statistics is 2: T(x) = (x, ln x).
func (Gamma) Statistics() int { return 2 }

// Observe takes a positive number.
func (Gamma) Observe(x, t []float64) (exposure, base float64, ok bool) {
	if !(x[0] > 0) || math.IsInf(x[0], 1) {
		return 0, 0, false
	}
	t[0], t[1] = x[0], math.Log(x[0])
	return 1, -t[1], true
}

// Parameters are the shape α and the rate β.
func (Gamma) Parameters() []string { return []string{"shape", "rate"} }

// Rate is β.
func (Gamma) Rate(xi []float64) float64 { return xi[1] }

// Free is 2.
func (Gamma) Free() int { return 2 }

// Estimate solves ln α − ψ(α) = s, the logarithm of the mean less the mean of the
// logarithms, and gives the distribution the mean of x.
func (Gamma) Estimate(n float64, t, xi []float64) error {
	mean, s := logGap(n, t)
	if !(s > roundingOf(mean)) {
		return fmt.Errorf("family: the numbers of a gamma distribution are equal to working precision: %w; lower K, "+
			"allow pruning, or take MAP", framework.ErrDegenerate)
	}
	w := special.GammaSpread(s)
	if xi[0], xi[1] = 1/w, 1/(w*mean); math.IsInf(xi[1], 1) {
		return fmt.Errorf("family: numbers around %v are too small for a gamma distribution's rate: rescale the column: %w",
			mean, framework.ErrDegenerate)
	}
	return nil
}

// logGap returns the mean of x, and its logarithm less the mean of ln x: half the squared
// coefficient of variation where that is small, and 0 if all x are equal.
func logGap(n float64, t []float64) (mean, s float64) {
	mean = t[0] / n
	return mean, math.Log(mean) - t[1]/n
}

// roundingOf is the gap below which nothing but rounding of the sums is left.
func roundingOf(mean float64) float64 { return 1e-12 * max(1, math.Abs(math.Log(mean))) }

// Natural is η = (−β, α), ψ = ln Γ(α) − α ln β; NaN if one is negative.
func (Gamma) Natural(xi, eta []float64) float64 {
	shape := max(xi[0], tiny)
	eta[0], eta[1] = -xi[1], xi[0]
	v, _ := math.Lgamma(shape)
	if xi[0] < 0 {
		return math.NaN()
	}
	return v - shape*logOfRate(xi[1])
}

// Expect is (α/β, ψ(α) − ln β).
func (Gamma) Expect(xi, t []float64) {
	shape, rate := max(xi[0], tiny), max(xi[1], tiny)
	t[0], t[1] = shape/rate, math.Log(shape)-math.Log(rate)-special.DigammaGap(shape)/shape
}

// Information is diag(α, α²(α²ψ′(α) − α)).
func (Gamma) Information(xi, diag []float64) {
	diag[0], diag[1] = xi[0], xi[0]*xi[0]*special.TrigammaGap(xi[0])
}

// Move goes from (ln(α/β), 1/α).
func (Gamma) Move(xi, step, dst []float64) {
	mean := xi[0] / xi[1] * math.Exp(step[0])
	dst[0] = 1 / max(1/xi[0]+step[1], tiny)
	dst[1] = dst[0] / mean
}

// Deviations come from the variances α²/(n·(α²ψ′(α) − α)) of α and 1/(nα) of ln(α/β),
// which are independent.
func (Gamma) Deviations(xi []float64, n float64, dst []float64) {
	v := 1 / special.TrigammaGap(xi[0])
	dst[0], dst[1] = xi[0]*math.Sqrt(v/n), xi[1]*math.Sqrt((v+1/xi[0])/n)
}

// Sample draws a number; one below the range of float64 is returned as the smallest positive one.
func (Gamma) Sample(xi []float64, rng *rand.Rand, x []float64) {
	draw := distuv.Gamma{Alpha: max(xi[0], tiny), Beta: max(xi[1], tiny), Src: rng}.Rand()
	x[0] = max(draw, math.SmallestNonzeroFloat64)
}

// Conjugate takes a prior.Conjugate, whose Chi are means of x and of ln x; by default the
// one with the column's own means and Nu = 1, the weight of one row.
func (f Gamma) Conjugate(p prior.Prior, pooled []float64) (CellPrior, error) {
	if _, ok := p.(prior.Jeffreys); ok {
		return nil, improper(f, "prior.Conjugate")
	}
	otherwise := prior.Conjugate{Chi: make([]float64, 2), Nu: 1}
	f.Expect(pooled, otherwise.Chi)
	own, err := choose(p, f.Name(), otherwise)
	if err != nil {
		return nil, err
	}
	nu, tau, err := pseudoCounts(own, f)
	if err != nil {
		return nil, err
	}
	if mean, s := logGap(nu, tau); !(s > roundingOf(mean)) {
		return nil, noMean(own, f, "a positive number, and a number below its logarithm")
	}
	return gammaPrior{prior.NaturalShapeRate{Before: own}}, nil
}

// gammaPrior has the mode of (α, β), which are natural parameters, at the estimate from the pseudo-counts.
type gammaPrior struct{ prior.NaturalShapeRate }

func (gammaPrior) Mode(h, xi []float64) error { return Gamma{}.Estimate(h[0], h[1:], xi) }

// ---- Evidence

// gammaMode is the objective of the evidence in m = ln(α/β) and y = −ln α,
//
//	n(α ln α − ln Γ(α) − α(1 + s(m))) − (ν/2)[α₀(m−m₀)² + J₀(y−y₀)²],  s(m) = s + (e^δ − 1 − δ), δ = ln x̄ − m,
//
// with s = ln x̄ less the mean of ln x, J(α) = α²ψ′(α) − α the information about y, and e^−y₀ the table's shape α₀.
type gammaMode struct {
	n, log, gap                       float64 // ln x̄, s
	location, scale                   float64 // m₀, y₀
	locationPrecision, scalePrecision float64 // να₀, νJ₀
}

func newGammaMode(n float64, t []float64, of cellReference) gammaMode {
	shape := of.xi[0]
	g := gammaMode{n: n, location: math.Log(shape / of.xi[1]), scale: -math.Log(shape),
		locationPrecision: of.worth * shape, scalePrecision: of.worth * special.TrigammaGap(shape)}
	if n > 0 {
		mean, gap := logGap(n, t)
		g.log, g.gap = math.Log(mean), max(gap, roundingOf(mean))
	}
	return g
}

// gapAt is s(m).
func (g gammaMode) gapAt(m float64) float64 {
	delta := g.log - m
	return g.gap + max(0, math.Expm1(delta)-delta)
}

func (g gammaMode) value(m, y float64) float64 {
	shape := math.Exp(-y)
	lgamma, _ := math.Lgamma(shape)
	dm, dy := m-g.location, y-g.scale
	return g.n*(-y*shape-lgamma-shape*(1+g.gapAt(m))) - (g.locationPrecision*dm*dm+g.scalePrecision*dy*dy)/2
}

// posteriorMode is a conditional maximum: the mean, then the shape, and both where they are on the floor of the
// variance.
func (f Gamma) posteriorMode(n float64, t, xi []float64, of cellReference, floor float64) {
	g := newGammaMode(n, t, of)
	from := [2]float64{math.Log(xi[0] / xi[1]), -math.Log(xi[0])}
	to := [2]float64{g.location, g.scale}
	if n > 0 {
		shape := xi[0]
		to[0] = special.Crossing(func(m float64) float64 {
			return n*shape*math.Expm1(g.log-m) - g.locationPrecision*(m-g.location)
		}, min(g.log, g.location), max(g.log, g.location))
		gap := g.gapAt(to[0])
		to[1] = special.Crossing(func(y float64) float64 {
			shape := math.Exp(-y)
			return n*(shape*gap-special.DigammaGap(shape)) - g.scalePrecision*(y-g.scale)
		}, max(g.scale-n/g.scalePrecision, min(g.scale, math.Log(gap))), max(g.scale, math.Log(2*gap)))
	}
	if floor > 0 {
		least := math.Log(floor)
		variances.Raise(g.value, func(m float64) float64 { return least - 2*m }, &from, &to)
	}
	xi[0] = math.Exp(-to[1])
	xi[1] = xi[0] / math.Exp(to[0])
}

// unitTerms are those of m and y, which are independent.
func (Gamma) unitTerms(n float64, t, xi []float64, of cellReference, add func(laplace.Term)) {
	g := newGammaMode(n, t, of)
	m, y := math.Log(xi[0]/xi[1]), -math.Log(xi[0])
	location, scale := xi[0], special.TrigammaGap(xi[0])
	if n > 0 {
		location *= math.Exp(g.log - m) // observed: the prior moves m away from ln x̄
	}
	for _, p := range []struct{ shift, precision, information float64 }{
		{m - g.location, g.locationPrecision, location}, {y - g.scale, g.scalePrecision, scale}} {
		add(laplace.Term{Size: 1, Count: n, Worth: of.worth, Distance: p.precision / 2 * p.shift * p.shift,
			Information: laplace.Gained(n, of.worth, of.worth*p.information/p.precision)})
	}
}

// WithFloor returns the family with another Floor.
func (Gamma) WithFloor(floor float64) Family { return Gamma{floor} }

func (f Gamma) factor() (float64, error) { return variances.FloorFactor(f.Name(), f.Floor) }

func (Gamma) moments(xi []float64) (mean, variance float64) {
	mean = xi[0] / xi[1]
	return mean, mean * (mean / xi[0])
}

func (Gamma) narrowest(n float64, t, xi []float64) (ok bool) {
	mean, s := logGap(n, t)
	if !(math.Abs(s) <= roundingOf(mean)) {
		return false
	}
	w := special.GammaSpread(roundingOf(mean))
	xi[0], xi[1] = 1/w, 1/(w*mean)
	return xi[1] < math.MaxFloat64
}

// bound goes along α/β² = floor from mean x̄ of the estimate to r·x̄, with s = ln α − ψ(α) of the estimate and α =
// (r·x̄)²/floor:
//
//	ln α − ψ(α) − s − ln r + ½(1 − 1/r) = 0,
//
// of which the left side falls from above 0 at r = 1.
func (f Gamma) bound(floor float64, xi []float64) {
	mean, variance := f.moments(xi)
	if variance >= floor*(1-1e-12) || !(floor > 0) {
		return
	}
	gap := func(shape float64) float64 { return special.DigammaGap(shape) / shape }
	s, most := gap(xi[0]), mean*(mean/floor)
	low, high := 0., 1. // ln r
	above := func(u float64) bool {
		return gap(most*math.Exp(2*u))-s-u-math.Expm1(-u)/2 > 0
	}
	for above(high) {
		low, high = high, 2*high
	}
	for range 60 {
		if middle := (low + high) / 2; above(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	mean *= math.Exp(low)
	xi[0] = mean * (mean / floor)
	xi[1] = xi[0] / mean
}
