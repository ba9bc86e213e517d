package family

import (
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/prior"
)

// The conjugate priors of a Gaussian class: a normal distribution of the mean given
// the covariance, and an inverse Wishart or inverse gamma distribution of the covariance
// (package prior has the densities). With data-scaled priors, the default, the posterior
// follows every change of units that the family's coordinates follow.
//
// Reported posterior means of a covariance, Ψ/(ν−D−1), exist only for ν > D + 1; below
// that Ψ/ν stands in, the inverse of the mean precision.

// Conjugate takes prior.NormalInverseWishart or prior.DataScaled, the default. A tied
// covariance has one inverse Wishart distribution, whatever the number of components.
func (g gaussian) Conjugate(p prior.Prior, w *Pooled) (FactorPrior, error) {
	var niw prior.NormalInverseWishart
	mean, cov := g.split(w.Parameters, 0)
	switch p := p.(type) {
	case nil:
		return g.Conjugate(prior.DataScaled{}, w)
	case prior.DataScaled:
		var err error
		if niw, err = p.Wishart(mean, cov); err != nil {
			return nil, err
		}
	case prior.NormalInverseWishart:
		if err := p.Check(); err != nil {
			return nil, err
		}
		if len(p.Mean) != g.d {
			return nil, fmt.Errorf("family: %s of %d columns: the NormalInverseWishart prior has %d means", g.Name(), g.d, len(p.Mean))
		}
		niw = prior.NormalInverseWishart{Mean: slices.Clone(p.Mean), Kappa: p.Kappa, Nu: p.Nu, Scale: slices.Clone(p.Scale)}
	default:
		return nil, wrongGaussianPrior(p, g.Name(), prior.DataScaled{}, prior.NormalInverseWishart{})
	}
	linalg.Mirror(g.d, niw.Scale) // Check lets rounding pass
	q, err := newNormalWishart(g, niw)
	if err != nil {
		return nil, err
	}
	if g.tied {
		return &tiedNormalWishart{*q}, nil
	}
	return q, nil
}

// Conjugate takes prior.NormalInverseGamma, the same for every column and in the user's
// units, or prior.DataScaled, the default, which is scaled by each column.
func (g diagonal) Conjugate(p prior.Prior, w *Pooled) (FactorPrior, error) {
	q := &diagonalPrior{diagonal: g, of: make([]prior.NormalInverseGamma, g.d)}
	for a := range q.of {
		switch p := p.(type) {
		case nil:
			q.of[a] = prior.DataScaled{}.InverseGamma(w.Parameters[a], w.Parameters[g.d+a])
		case prior.DataScaled:
			if err := p.Check(); err != nil {
				return nil, err
			}
			q.of[a] = p.InverseGamma(w.Parameters[a], w.Parameters[g.d+a])
		case prior.NormalInverseGamma:
			q.of[a] = p
		default:
			return nil, wrongGaussianPrior(p, g.Name(), prior.DataScaled{}, prior.NormalInverseGamma{})
		}
		if err := usable(q.of[a], g.Name()); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// Conjugate takes prior.NormalInverseGamma: μ_j|σ² ~ N(Mean, σ²/Kappa) for every column,
// and 1/σ² ~ Gamma(Shape, Rate) once. prior.DataScaled, the default, centres each column's
// mean at its own in the table; Nu, by default the number of columns, counts the degrees
// of freedom of σ², D a row, and the sum of their squares is the sum of the columns'
// variances: Shape = Nu/2, Rate = Dσ²/2 with σ² of the table.
func (g spherical) Conjugate(p prior.Prior, w *Pooled) (FactorPrior, error) {
	q := &sphericalPrior{spherical: g, centre: slices.Clone(w.Parameters[:g.d])}
	switch p := p.(type) {
	case nil:
		return g.Conjugate(prior.DataScaled{}, w)
	case prior.DataScaled:
		if err := p.Check(); err != nil {
			return nil, err
		}
		if p.Nu == 0 {
			p.Nu = float64(g.d)
		}
		q.of = p.InverseGamma(0, float64(g.d)*w.Parameters[g.d])
	case prior.NormalInverseGamma:
		q.of = p
		for a := range q.centre {
			q.centre[a] = p.Mean
		}
	default:
		return nil, wrongGaussianPrior(p, g.Name(), prior.DataScaled{}, prior.NormalInverseGamma{})
	}
	return q, usable(q.of, g.Name())
}

func wrongGaussianPrior(p prior.Prior, name string, takes ...prior.Prior) error {
	if _, ok := p.(prior.Jeffreys); ok {
		return fmt.Errorf("family: Jeffreys' prior of a %s component is improper, so that an empty one has no estimate: take %T or %T", name, takes[0], takes[1])
	}
	return wrongPrior(p, name, takes...)
}

// usable is Check, and that the density has a constant in the range of float64.
func usable(p prior.NormalInverseGamma, name string) error {
	if err := p.Check(); err != nil {
		return err
	}
	return representable(p.LogNorm(), name)
}

func representable(logNorm float64, name string) error {
	if logNorm-logNorm != 0 {
		return fmt.Errorf("family: the prior of %s has hyperparameters beyond the range of float64: its constant is e^%v", name, logNorm)
	}
	return nil
}

// meanDivergence is KL between the normal distributions of a mean of d columns, on the
// average over the covariance, where quad = E[(m−m₀)ᵀΣ⁻¹(m−m₀)].
func meanDivergence(d int, kappa, kappa0, quad float64) float64 {
	ratio := kappa0 / kappa
	return (float64(d)*(ratio-1-math.Log(ratio)) + kappa0*quad) / 2
}

// Units: with |S| the determinant of the table's covariance, a mean whitened by it has
// |S|^½ times the density, and a covariance |S|^((D+1)/2) times.
func (g gaussian) Units(w *Pooled) Units {
	_, all := g.split(w.Parameters, 0)
	logDet, err := precisionRoot(g.d, all, make([]float64, g.d*g.d))
	if err != nil {
		return Units{} // the table's estimate is regular
	}
	mean, covariance := logDet/2, float64(g.d+1)/2*logDet
	if g.tied {
		return Units{mean, covariance}
	}
	return Units{Class: mean + covariance}
}

// Units: a mean has √v times the density in units of the standard deviation √v, and a
// variance v times.
func (g diagonal) Units(w *Pooled) (u Units) {
	for _, v := range w.Parameters[g.d : 2*g.d] {
		u.Class += 1.5 * math.Log(v)
	}
	return u
}

func (g spherical) Units(w *Pooled) Units {
	return Units{Class: (float64(g.d)/2 + 1) * math.Log(w.Parameters[g.d])}
}
