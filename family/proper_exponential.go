package family

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// Exponential families whose parameters have no conjugate prior (docs/theory/evidence.md, section 4). Their prior is
// the likelihood of an average row of the table, p(ξ) ∝ exp(η·t̄ − ψ): its mode is the table's fit, its information
// there is that of a row, and with it the posterior mode is the maximum of the likelihood with one row more.

// A unitLaw has a unit-information prior of its own, in place of a conjugate one.
type unitLaw interface {
	ExponentialFamily
	// posteriorMode moves xi, the parameters before, to or towards the mode of n ≥ 0 rows with the sums t. of is the
	// cell's part of the reference, and floor the least variance, 0 for none.
	posteriorMode(n float64, t, xi []float64, of cellReference, floor float64)
	// unitTerms passes the terms of n ≥ 0 rows to add.
	unitTerms(n float64, t, xi []float64, of cellReference, add func(laplace.Term))
}

// cellReference is what the prior of a cell is about.
type cellReference struct {
	xi    []float64 // the table's fit
	worth float64   // rows
}

func (of *Reference) cell(l exponentialKernel, c int) cellReference {
	return cellReference{l.params(of.Pooled.reference(), c), of.Prior.RowsOr()}
}

// integrates says that the parameters are integrated out exactly, under p or the default.
func (l exponentialKernel) integrates(p prior.Prior) bool {
	_, conjugated := l.law.(ConjugateFamily)
	_, unit := l.law.(unitLaw)
	return conjugated && (p != nil || !unit)
}

// gained is the Information of one parameter of which n rows have ratio times the information of the prior's: −½ ln(1 +
// n·ratio/worth) less the charge of a [laplace.Term] of size 1.
func gained(n, worth, ratio float64) float64 {
	return (math.Log1p(n/worth*ratio) - math.Log1p(n/worth)) / 2
}

// MaximizePosterior is the estimate with the prior's rows.
func (l exponentialKernel) MaximizePosterior(sums, _, params Table, of *Reference) error {
	unit, own := l.law.(unitLaw)
	worth, with := of.Prior.RowsOr(), make([]float64, l.s)
	exposures, totals := l.split(of.Pooled.Sums)
	for k := range params.K {
		e, t := l.split(sums.Row(k, l.cells*(1+l.s)))
		for c, n := range e {
			xi := l.params(params.Row(k, l.cells*l.p), c)
			switch {
			case own:
				floor := 0.0
				if len(of.Pooled.Floor) > 0 {
					floor = of.Pooled.Floor[c]
				}
				unit.posteriorMode(n, l.cell(t, c), xi, of.cell(l, c), floor)
			case !(n > 0):
				copy(xi, l.params(of.Pooled.reference(), c))
			default:
				floats.AddScaledTo(with, l.cell(t, c), worth/exposures[c], l.cell(totals, c))
				if err := l.law.Estimate(n+worth, with, xi); err != nil {
					return ClassError(k, l.unestimated(c, err))
				}
			}
		}
	}
	return nil
}

// Integrals are of each cell. The distance is the loss of an average row of the table under the class's parameters.
func (l exponentialKernel) Integrals(
	sums, _, params Table, of *Reference, add func(class, cell int, t laplace.Term),
) error {
	unit, own := l.law.(unitLaw)
	worth, free := of.Prior.RowsOr(), l.law.Free()
	exposures, totals := l.split(of.Pooled.Sums)
	eta, before := make([]float64, l.s), make([]float64, l.s)
	info, unitInfo := make([]float64, free), make([]float64, free)
	for k := range params.K {
		e, t := l.split(sums.Row(k, l.cells*(1+l.s)))
		for c, n := range e {
			xi, all := l.params(params.Row(k, l.cells*l.p), c), l.params(of.Pooled.reference(), c)
			if own {
				unit.unitTerms(n, l.cell(t, c), xi, of.cell(l, c), func(t laplace.Term) { add(k, c, t) })
				continue
			}
			psi := l.law.Natural(xi, eta) - l.law.Natural(all, before)
			floats.Sub(before, eta)
			l.law.Information(xi, info)
			l.law.Information(all, unitInfo)
			term := laplace.Term{
				Size: free, Count: n, Worth: worth, Distance: worth * (linalg.Dot(before, l.cell(totals, c))/exposures[c] + psi),
			}
			for i, v := range info {
				term.Information += math.Log(v/unitInfo[i]) / 2
			}
			add(k, c, term)
		}
	}
	return nil
}

// ---- Locations and scales with a floor

// raise moves a location and a logarithm of a scale, which have the maximum of value at or near to, to where it is
// largest above the floor least(location), which falls by 2 where the location rises by 1 or is constant. Nothing is
// lower than from, where that is above the floor.
func raise(value func(location, scale float64) float64, least func(location float64) float64, from, to *[2]float64) {
	if to[1] >= least(to[0]) {
		return
	}
	m, y := to[0], to[1]
	on := func(m float64) float64 { return max(y, least(m)) }
	to[0] = highest(func(m float64) float64 { return value(m, on(m)) }, min(m, from[0]), max(from[0], m+(least(m)-y)/2))
	to[1] = on(to[0])
	if from[1] >= least(from[0]) && value(from[0], from[1]) > value(to[0], to[1]) {
		*to = *from
	}
}

// highest is where f has its maximum between a and b, by golden sections.
func highest(f func(x float64) float64, a, b float64) float64 {
	const part = 0.6180339887498949
	low, high := b-part*(b-a), a+part*(b-a)
	left, right := f(low), f(high)
	for range 80 {
		if left >= right {
			b, high, right = high, low, left
			low = b - part*(b-a)
			left = f(low)
		} else {
			a, low, left = low, high, right
			high = a + part*(b-a)
			right = f(high)
		}
	}
	return (a + b) / 2
}

// crossing is where a falling function crosses 0 between a and b.
func crossing(f func(x float64) float64, a, b float64) float64 {
	for range 64 {
		if middle := a + (b-a)/2; f(middle) > 0 {
			a = middle
		} else {
			b = middle
		}
	}
	return a + (b-a)/2
}
