package normal

import (
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/family"
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
func (g gaussian) Conjugate(p prior.Prior, w *family.Pooled) (family.FactorPrior, error) {
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
			return nil, fmt.Errorf("family: %s of %d columns: the NormalInverseWishart prior has %d means",
				g.Name(), g.d, len(p.Mean))
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

// Conjugate takes prior.NormalInverseGamma, the same for every column and in the user's units:
// μ_j|σ² ~ N(Mean, σ²/Kappa) for every column, and 1/σ² ~ Gamma(Shape, Rate) once a group. The
// default, prior.DataScaled, centres each mean at the column's own in the table; Nu, by default the number
// of columns of a group, W, counts the degrees of freedom of σ², W a row, and the sum of their
// squares is that of the columns' variances: Shape = Nu/2, Rate = Wσ²/2 with σ² of the table.
func (g isotropic) Conjugate(p prior.Prior, w *family.Pooled) (family.FactorPrior, error) {
	q := &isotropicPrior{g, make([]float64, g.Layout().Hyper)}
	mean, variance := g.moments(w.Parameters)
	for i, v := range variance {
		h := linalg.Row(q.before, i, g.width+3)
		var of prior.NormalInverseGamma
		switch p := p.(type) {
		case nil, prior.DataScaled:
			scaled, _ := p.(prior.DataScaled)
			if err := scaled.Check(); err != nil {
				return nil, err
			}
			if scaled.Nu == 0 {
				scaled.Nu = float64(g.width)
			}
			copy(h, g.of(mean, i))
			of = scaled.InverseGamma(h[0], float64(g.width)*v)
		case prior.NormalInverseGamma:
			linalg.Fill(h[:g.width], p.Mean)
			of = p
		default:
			return nil, wrongGaussianPrior(p, g.Name(), prior.DataScaled{}, prior.NormalInverseGamma{})
		}
		if err := usable(of, g.Name()); err != nil {
			return nil, err
		}
		copy(h[g.width:], []float64{of.Kappa, of.Shape, of.Rate})
	}
	return q, nil
}

func wrongGaussianPrior(p prior.Prior, name string, takes ...prior.Prior) error {
	if _, ok := p.(prior.Jeffreys); ok {
		return fmt.Errorf("family: Jeffreys' prior of a %s component is improper, so that an empty component has no "+
			"estimate: take %T or %T", name, takes[0], takes[1])
	}
	return family.WrongPrior(p, name, takes...)
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
		return fmt.Errorf("family: the prior of %s has hyperparameters beyond the range of float64: its constant is e^%v",
			name, logNorm)
	}
	return nil
}

// Units: with |S| the determinant of the table's covariance, a mean whitened by it has
// |S|^½ times the density, and a covariance |S|^((D+1)/2) times.
func (g gaussian) Units(w *family.Pooled) family.Units {
	_, all := g.split(w.Parameters, 0)
	logDet, err := precisionRoot(g.d, all, make([]float64, g.d*g.d))
	if err != nil {
		return family.Units{} // the table's estimate is regular
	}
	mean, covariance := logDet/2, float64(g.d+1)/2*logDet
	if g.tied {
		return family.Units{Class: mean, Shared: covariance}
	}
	return family.Units{Class: mean + covariance}
}

// Units: a mean has √v times the density in units of the standard deviation √v, and a
// variance v times.
func (g isotropic) Units(w *family.Pooled) (u family.Units) {
	_, variance := g.moments(w.Parameters)
	for _, v := range variance {
		u.Class += (float64(g.width)/2 + 1) * math.Log(v)
	}
	return u
}
