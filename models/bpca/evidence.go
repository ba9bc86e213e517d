package bpca

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/prior"
)

// The evidence of PCA (docs/theory/evidence.md, section 6): z integrates out in closed form, and Laplace's method takes
// the integral over mean, axes and variances at the maximum of the likelihood, which the steps of EM lead to. They
// follow the likelihood, without a tilt.

// CheckPrior returns an error unless Prior is nil or a valid prior.UnitInformation.
func (m Model) CheckPrior() error {
	_, err := prior.AsUnitInformation(m.Prior)
	return err
}

// MaximizePosterior is Maximize, because the prior enters only the integral about the maximum likelihood estimate. If
// a direction of z has no variance, its loadings become 0.
func (m Model) MaximizePosterior(s *lineargaussian.Statistics, p, dst *Parameters) (*Parameters, error) {
	q, err := m.Maximize(s, p, dst)
	if !errors.Is(err, framework.ErrDegenerate) {
		return q, err
	}
	t := lineargaussian.NewStatistics(s.K, s.D)
	t.Merge(s)
	t.Fill(t.ZZ)
	return m.Maximize(t, p, dst)
}

// LogModes returns 0: the evidence already includes the rotations and signs of the axes.
func (Model) LogModes(*Parameters) float64 { return 0 }

// integrate adds what the evidence differs by from E_q[ln p(X,Z|Π)] + H(q), at the best of all changes of the scale of
// z.
func integrate(s *lineargaussian.Statistics, p *Parameters, f *laplace.Curvature, worth float64) error {
	gain, w := s.Released(p.Loadings)
	q := Parameters{K: p.K, D: p.D, Loadings: w, Noise: p.Noise}
	var eigen mat.EigenSym
	if !eigen.Factorize(q.gram(math.Sqrt(p.Noise)), false) {
		return errors.New("bpca: the loadings are not finite")
	}
	values := eigen.Values(nil)
	for i, v := range values {
		values[i] = p.Noise * (1 + max(0, v))
	}
	f.About(gain+lineargaussian.Occam(s.N, worth, s.SumSq/(s.N*float64(s.D)), s.D, values, p.Noise), 0)
	return nil
}
