package family

import (
	"errors"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/variances"
)

// A flooredLaw is an [ExponentialFamily] of single numbers that could collapse onto equal ones: their variance has a
// floor, which is that of a Gaussian column (package normal).
type flooredLaw interface {
	ExponentialFamily
	// factor is that of the squared resolutions; 0: there is no floor.
	factor() (float64, error)
	// moments are mean and variance.
	moments(xi []float64) (mean, variance float64)
	// narrowest is an estimate for numbers that are equal; ok is false where sums belong to no numbers.
	narrowest(n float64, t, xi []float64) (ok bool)
	// bound moves the maximum of the likelihood, or of a density like it, to that with a variance of floor or more.
	bound(floor float64, xi []float64)
}

// floored is the law, if it has a floor.
func (l exponentialKernel) floored() (law flooredLaw, factor float64, err error) {
	law, ok := l.law.(flooredLaw)
	if !ok {
		return nil, 0, nil
	}
	if factor, err = law.factor(); !(factor > 0) {
		return nil, 0, err
	}
	return law, factor, nil
}

// estimate is the law's estimate of a cell, before Bound where there is a floor.
func (l exponentialKernel) estimate(n float64, t []float64, w *Pooled, xi []float64) error {
	err := l.law.Estimate(n, t, xi)
	if errors.Is(err, framework.ErrDegenerate) && (w == nil || len(w.Floor) > 0) {
		if law, _, _ := l.floored(); law != nil && law.narrowest(n, t, xi) {
			return nil
		}
	}
	return err
}

// Spread is nil if the law has no floor.
func (l exponentialKernel) Spread(params []float64) (variances []float64) {
	if law, _, _ := l.floored(); law != nil {
		for c := range l.cells {
			_, v := law.moments(l.params(params, c))
			variances = append(variances, v)
		}
	}
	return variances
}

func (l exponentialKernel) SetFloor(steps []float64, w *Pooled) error {
	law, factor, err := l.floored()
	if law == nil {
		return err
	}
	for c := range l.cells {
		xi := l.params(w.Parameters, c)
		mean, variance := law.moments(xi)
		if w.Floor[c], _, err = variances.FloorOf(c, factor, steps[c], mean, variance, variance); err != nil {
			return err
		}
		law.bound(w.Floor[c], xi)
	}
	return nil
}

// Bound is exact.
func (l exponentialKernel) Bound(w *Pooled, params Table) error {
	law, _, err := l.floored()
	if law == nil {
		return err
	}
	for k := range params.K {
		for c, floor := range w.Floor {
			law.bound(floor, l.params(params.Row(k, l.cells*l.p), c))
		}
	}
	return nil
}

// Doubts compares the law of all rows without a floor.
func (l exponentialKernel) Doubts(w *Pooled) (list []error) {
	law, _, _ := l.floored()
	if law == nil {
		return nil
	}
	e, t := l.split(w.Sums)
	xi := make([]float64, l.p)
	for c, n := range e {
		err := law.Estimate(n, l.cell(t, c), xi)
		_, v := law.moments(xi)
		switch {
		case err != nil:
			list = append(list, blocks.FaultyColumn(c, variances.ErrNoSpread))
		case !(v > w.Floor[c]):
			list = append(list, blocks.FaultyColumn(c, variances.ErrWithinStep))
		}
	}
	return list
}
