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
	return cellReference{l.params(of.Pooled.Center(), c), of.Prior.RowsOr()}
}

// integrates says that the parameters are integrated out exactly, under p or the default.
func (l exponentialKernel) integrates(p prior.Prior) bool {
	_, conjugated := l.law.(ConjugateFamily)
	_, unit := l.law.(unitLaw)
	return conjugated && (p != nil || !unit)
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
				copy(xi, l.params(of.Pooled.Center(), c))
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
			xi, all := l.params(params.Row(k, l.cells*l.p), c), l.params(of.Pooled.Center(), c)
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
