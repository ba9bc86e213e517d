package numeric

import (
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
)

// Axes is [Continuous] with latent dimensions that stand for themselves and do not mix: F has one block (S_kk/N) B_k
// each, with S_kk = Σ E[z_k²].
type Axes struct {
	Continuous
	noRotator
}

// noRotator takes Signal and Rotate away from [Axes], which must not be turned: where two embedded types have a method,
// it has none.
type noRotator struct{}

func (noRotator) Signal() {}
func (noRotator) Rotate() {}

// Prepare turns the tilt into a precision, P/S₀kk for dimension k.
func (m Axes) Prepare(p *ContinuousParameters, tilt *laplace.Tilt, s *Posteriors) error {
	m.empty(p, s)
	if tilt == nil {
		return nil
	}
	s.extra = mat.NewSymDense(p.K, nil)
	for k := range p.K {
		s.extra.SetSym(k, k, 2*tilt.Class(k)) // of a unit of data, which is z_k² = 1
	}
	return nil
}

// Maximize is that of [Continuous].
func (m Axes) Maximize(s *Posteriors, p, dst *ContinuousParameters) (*ContinuousParameters, error) {
	return m.maximize(s, p, dst, true)
}

// Shape counts K·P numbers of latent dimensions.
func (m Axes) Shape(p *ContinuousParameters) framework.Shape {
	s := m.Continuous.Shape(p)
	s.Free = 0
	return s
}

// Curvature adds (S_kk/N) B_k for each dimension. B_k is observed as B of [Continuous] is.
func (m Axes) Curvature(s *Posteriors, p *ContinuousParameters, f *laplace.Curvature) error {
	info, err := m.unitFree(s, p, f.CountOnly(), true)
	if err != nil {
		return err
	}
	for k := range s.K {
		f.Class(k, s.ZZ[k*s.K+k], info[k])
	}
	return nil
}

// Relevance is the information ξ_kᵀB_kξ_k that each dimension carries.
func (m Axes) Relevance(s *Posteriors, p *ContinuousParameters) ([]float64, error) {
	info, err := m.information(s, p, true)
	if err != nil {
		return nil, err
	}
	values := make([]float64, p.K)
	for k := range values {
		xi := mat.NewVecDense(len(p.Components)/p.K, p.Component(k))
		values[k] = mat.Inner(xi, info[k], xi)
	}
	return values, nil
}
