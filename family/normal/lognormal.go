package normal

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/prior"
)

// Lognormal describes positive numbers whose logarithms have a Gaussian distribution ([Family]) with a diagonal
// covariance: ln p(x|μ,σ²) = ln N(ln x|μ,σ²) − ln x. The parameters are the mean and the variance of ln x, the
// coordinates, the prior and its default those of a Gaussian column of logarithms, and criteria differ from those of
// that column only by the Jacobian Σ ln x: they are comparable with those of gamma and Gaussian columns.
//
// The standard deviation of ln x in a class has a floor: a step Δ between values is Δ/x in ln x, so that
// σ² ≥ (Δ/e^μ)²/12, and no floor is below 1e-10 of the column's variance. Estimates and modes are exact maxima above
// it.
type Lognormal struct {
	// Floor is that of [Family]: the factor of (Δ/e^μ)²/12, 0 for 1, negative for no floor.
	Floor float64
}

// WithFloor returns the family with another Floor.
func (Lognormal) WithFloor(floor float64) family.Family { return Lognormal{floor} }

// Name is "lognormal".
func (Lognormal) Name() string { return "lognormal" }

// Columns is 1.
func (Lognormal) Columns() int { return 1 }

// On makes the columns independent.
func (f Lognormal) On(columns int) ([]family.Factor, error) {
	list, err := Family{Covariance: Diagonal, Floor: f.Floor}.On(columns)
	if err != nil {
		return nil, fmt.Errorf("family: %s needs 1 column or more, and the table has %d", f.Name(), columns)
	}
	return []family.Factor{lognormal{list[0].(isotropic)}}, nil
}

// lognormal is a diagonal Gaussian that observes logarithms: o.X and all sums are of them, and o.Base is −Σ ln x.
type lognormal struct{ isotropic }

func (lognormal) Name() string { return Lognormal{}.Name() }

// Join joins only other columns of logarithms.
func (g lognormal) Join(next family.Factor) (family.Factor, bool) {
	other, ok := next.(lognormal)
	if !ok {
		return nil, false
	}
	joined, ok := g.isotropic.Join(other.isotropic)
	if !ok {
		return nil, false
	}
	return lognormal{joined.(isotropic)}, true
}

func (g lognormal) Observe(b blocks.Rows, at, first, n int, o *family.Observed) error {
	base, d := o.Base, g.columns()
	if err := g.isotropic.Observe(b, at, first, n, o); err != nil {
		return err
	}
	o.Base = linalg.Resize(base, n)
	clear(o.Base)
	for j := range d {
		for i, v := range o.X[j*o.Padded():][:n] {
			switch {
			case v <= 0:
				reason := fmt.Errorf("%w of %s: finite positive numbers", family.ErrSupport, g.Name())
				return &blocks.DataError{Row: b.First + first + i, Column: at + j, Value: v, Reason: reason}
			case v == v:
				v = math.Log(v)
				o.X[j*o.Padded()+i] = v
				o.Base[i] -= v
			}
		}
	}
	return nil
}

// Spread is in the units of x, at the geometric mean.
func (g lognormal) Spread(params []float64) []float64 {
	spread := g.isotropic.Spread(params)
	mean, _ := g.moments(params)
	for j := range spread {
		spread[j] *= math.Exp(2 * mean[j])
	}
	return spread
}

// SetFloor puts the floor at the geometric mean of the table into w: the floor of a class is [lognormal.least]. A
// constant column has a step as large as its value.
func (g lognormal) SetFloor(steps []float64, w *family.Pooled) error {
	if g.floor == 0 {
		return nil
	}
	mean, variance := g.moments(w.Parameters)
	for j, step := range steps {
		step /= math.Exp(mean[j])
		if math.IsInf(step, 1) || variances.Constant(max(1, math.Abs(mean[j])), variance[j]) {
			w.Floor[j], variance[j] = 1, 1
			continue
		}
		floor, v, err := variances.FloorOf(j, g.floor, step, mean[j], variance[j], variance[j])
		if err != nil {
			return err
		}
		w.Floor[j], variance[j] = floor, max(v, floor)
	}
	return nil
}

// least is the least variance of ln x in a class with mean mu: a step of x is e^(μ₀−μ) times as large as at the mean μ₀
// of the table.
func (g lognormal) least(w *family.Pooled, j int, mu float64) float64 {
	mean, variance := g.moments(w.Parameters)
	finest := variances.Finest * variance[j]
	if !(w.Floor[j] > finest) {
		return finest
	}
	return max(finest, w.Floor[j]*math.Exp(2*(mean[j]-mu)))
}

// Bound moves mean and variance to the maximum of the likelihood above the floor.
func (g lognormal) Bound(w *family.Pooled, params family.Table) error {
	if g.floor == 0 {
		return nil
	}
	for k := range params.K {
		mean, variance := g.moments(params.Row(k, 2*g.columns()))
		for j := range mean {
			if !(variance[j] > -w.Floor[j]) { // of extrapolated sums, which belong to no rows
				return variances.Collapsed(j)
			}
			g.bound(w, j, 1, &mean[j], &variance[j])
		}
	}
	return nil
}

// bound minimises ln σ² + (v + r(μ−m)²)/σ² where σ² ≥ least(μ), from the minimum without that, (m, v): with δ = μ − m
// on σ² = φe^(−2μ)
//
//	e^2δ (v + r(δ² + δ)) = φe^(−2m),
//
// whose left side rises and is convex in δ ≥ 0. Where the floor does not depend on μ any more, the best is where that
// begins.
func (g lognormal) bound(w *family.Pooled, j int, r float64, mean, variance *float64) {
	m, v := *mean, max(0, *variance)
	least := g.least(w, j, m)
	if *variance >= least {
		return
	}
	shift := 0.0
	if fixed := g.least(w, j, math.Inf(1)); least > fixed {
		shift = min(raisedMean(least, v, r), math.Log(least/fixed)/2)
	}
	*mean = m + shift
	*variance = g.least(w, j, *mean)
}

// raisedMean solves e^2δ (v + r(δ² + δ)) = q > v for δ > 0, by Newton's method from above.
func raisedMean(q, v, r float64) (delta float64) {
	if delta = q / r; delta > 1 {
		delta = math.Log(delta)/2 + 1
	}
	for range 100 {
		inner := v + r*(delta*delta+delta)
		step := (inner - q*math.Exp(-2*delta)) / (2*inner + r*(2*delta+1))
		delta -= step
		if !(step > 1e-15*delta) {
			break
		}
	}
	return max(0, delta)
}

// Conjugate is that of the logarithms.
func (g lognormal) Conjugate(p prior.Prior, w *family.Pooled) (family.FactorPrior, error) {
	of, err := g.isotropic.Conjugate(p, w)
	if err != nil || g.floor == 0 || len(w.Floor) == 0 {
		return of, err
	}
	return &lognormalPrior{of.(*isotropicPrior), g, w}, nil
}

// lognormalPrior has modes above the floor.
type lognormalPrior struct {
	*isotropicPrior
	law    lognormal
	pooled *family.Pooled
}

func (q *lognormalPrior) Mode(h, xi []float64) error {
	err := q.isotropicPrior.Mode(h, xi)
	mean, variance := q.moments(xi)
	for j := range mean {
		p := q.group(h, j) // m, κ, a and b of (2a+3) ln σ² + (2b + κ(μ−m)²)/σ²
		q.law.bound(q.pooled, j, p[1]/(2*p[2]+3), &mean[j], &variance[j])
	}
	return err
}

// MaximizePosterior is that of a Gaussian column of logarithms, and above the floor that of mean and variance together.
func (g lognormal) MaximizePosterior(sums, anchors, params family.Table, of *family.Reference) error {
	d := g.columns()
	from := make([]float64, 0, params.K*2*d)
	for k := range params.K {
		from = append(from, params.Row(k, 2*d)...)
	}
	if err := g.isotropic.MaximizePosterior(sums, anchors, params, of); err != nil || g.floor == 0 ||
		len(of.Pooled.Floor) == 0 {
		return err
	}
	before, _ := g.moments(of.Pooled.Center())
	for k := range params.K {
		mean, variance := g.moments(params.Row(k, 2*d))
		n, first, second := g.split(sums.Row(k, 3*d))
		for j, anchor := range anchors.Row(k, d) {
			scale, worth := g.scaleOf(of, j), of.Prior.RowsOr()
			centre := math.Log(scale)
			value := func(m, y float64) float64 {
				shift, dm, dy := m-anchor, m-before[j], y-centre
				scatter := second[j] + shift*(n[j]*shift-2*first[j])
				return -(n[j]*y + scatter*math.Exp(-y) + worth*(dm*dm/scale+dy*dy/2)) / 2
			}
			least := func(m float64) float64 { return math.Log(g.least(of.Pooled, j, m)) }
			start, to := [2]float64{from[k*2*d+j], math.Log(from[k*2*d+d+j])}, [2]float64{mean[j], math.Log(variance[j])}
			variances.Raise(value, least, &start, &to)
			mean[j], variance[j] = to[0], max(math.Exp(to[1]), g.least(of.Pooled, j, to[0]))
		}
	}
	return nil
}

// Features are the logarithms.
func (g lognormal) Features(o *family.Observed, dst []float64, width, at int) {
	for j := range g.columns() {
		for i, v := range o.X[j*o.Padded():][:o.N] {
			dst[i*width+at+j] = v
		}
	}
}

// Numbers are those of the logarithms.
func (g lognormal) Numbers() []family.Number {
	list := g.isotropic.Numbers()
	for i := range list {
		list[i].Name = "log " + list[i].Name
	}
	return list
}

// Sample draws positive numbers within the range of float64.
func (g lognormal) Sample(xi []float64, rng *rand.Rand, x []float64) {
	g.isotropic.Sample(xi, rng, x)
	for j := range g.columns() {
		x[j] = min(math.MaxFloat64, max(math.SmallestNonzeroFloat64, math.Exp(x[j])))
	}
}
