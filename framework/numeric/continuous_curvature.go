package numeric

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
)

// ---- Curvature

// observe returns B = (1/K) Σ_kl (A⁻¹)_kl F_kl with A = S/N: the mean of the diagonal blocks of F after A has been
// turned into I, which is B itself where F = A ⊗ B, and does not depend on a rotation of z. With axes it returns B_k =
// F_kk/A_kk for each.
func (m *jointMachine) observe(
	s *Posteriors, rule *points, xi, theta []float64, axes bool, pooled *pooledTable, fine bool,
) (list []*mat.SymDense, err error) {
	n, k := m.component.free, s.K
	if m.informer != nil && !axes {
		b := mat.NewSymDense(n, nil)
		m.enter("InformationJoint", -1, -1)
		m.informer.InformationJoint(Inferred{s.N, k, s, rule}, xi, theta, b)
		if v, bad := notFinite(b); bad {
			return nil, m.violated("returned an entry %v", v)
		}
		m.leave()
		return []*mat.SymDense{b}, nil
	}
	directions, err := s.directions(axes)
	if err != nil {
		return nil, err
	}
	trial, dxi, dtheta := make([]float64, len(xi)), make([]float64, len(xi)), make([]float64, len(theta))
	sum := mat.NewSymDense(n, nil)
	for a := range k {
		f := mat.NewSymDense(n, nil)
		at := func(step []float64) {
			copy(trial, xi)
			for b := range k {
				linalg.Axpy(directions.At(b, a), step, trial[b*n:(b+1)*n])
			}
		}
		if m.differentiable != nil {
			gradientDifferences(f, func(dst, step, _ []float64) {
				at(step)
				clear(dxi)
				m.gradient(s, rule, trial, theta, dxi, dtheta)
				clear(dst)
				for b := range k {
					linalg.Axpy(directions.At(b, a), dxi[b*n:(b+1)*n], dst)
				}
			}, 1e-3/math.Sqrt(s.N))
		} else {
			curvatureOf(f, func(step []float64) float64 {
				at(step)
				return m.total(s, rule, trial, theta)
			}, m.component.widths(xi[:n], pooled, s.N), s.N, fine)
		}
		if v, bad := notFinite(f); bad {
			m.enter("LogJoint", -1, -1)
			return nil, m.violated("the second derivatives by the components hold %v at components %v, shared %v; "+
				"the density must have two finite derivatives", v, xi, theta)
		}
		f.ScaleSym(1/s.N, f)
		list = append(list, f)
		sum.AddSym(sum, f)
	}
	if axes {
		return list, nil
	}
	sum.ScaleSym(1/float64(k), sum)
	return []*mat.SymDense{sum}, nil
}

func notFinite(a *mat.SymDense) (float64, bool) {
	for i := range a.SymmetricDim() {
		for j := range i + 1 {
			if v := a.At(i, j); v-v != 0 {
				return v, true
			}
		}
	}
	return 0, false
}

// directions are the columns of U with UUᵀ = (S/N)⁻¹, or of its diagonal part.
func (s *Posteriors) directions(axes bool) (*mat.Dense, error) {
	u := mat.NewDense(s.K, s.K, nil)
	if axes {
		for k := range s.K {
			u.Set(k, k, math.Sqrt(s.N/s.ZZ[k*s.K+k]))
		}
		return u, nil
	}
	second := mat.NewSymDense(s.K, slices.Clone(s.ZZ))
	second.ScaleSym(1/s.N, second)
	var chol mat.Cholesky
	if !chol.Factorize(second) {
		return nil, fmt.Errorf("numeric: E[ZᵀZ] at K = %d: %w: allow pruning, or lower K", s.K, laplace.ErrSingular)
	}
	var upper mat.TriDense
	chol.UTo(&upper)
	return u, u.Inverse(&upper)
}

// information returns B, or with Axes the B_k, of p, from s where they have not been asked for yet.
func (m Continuous) information(s *Posteriors, p *ContinuousParameters) (_ []*mat.SymDense, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.observed != nil {
		return p.observed, nil
	}
	one := m.must(p).machine()
	defer one.recover(&err)
	rule, err := one.rule(p.K)
	if err != nil {
		return nil, err
	}
	p.observed, err = one.observe(s, rule, p.Components, p.Shared, m.Axes, p.Pooled, true)
	return p.observed, err
}

// unitFree returns the information in unit-free coordinates, R⁻ᵀBR⁻¹, or where only its size matters the identity.
func (m Continuous) unitFree(s *Posteriors, p *ContinuousParameters, size bool) (blocks []laplace.Block, err error) {
	if size {
		return slices.Repeat([]laplace.Block{laplace.Identity(m.must(p).component.free)}, s.K), nil
	}
	info, err := m.information(s, p)
	if err != nil {
		return nil, err
	}
	var inverse mat.Dense
	if err := inverse.Inverse(p.Pooled.root()); err != nil {
		return nil, fmt.Errorf("numeric: %w", err)
	}
	for _, b := range info {
		blocks = append(blocks, laplace.NewDense(congruent(&inverse, b)))
	}
	return blocks, nil
}

// congruent is aᵀba.
func congruent(a mat.Matrix, b mat.Symmetric) *mat.SymDense {
	var half, full mat.Dense
	half.Mul(b, a)
	full.Mul(a.T(), &half)
	return linalg.SymmetricPart(&full)
}

// Curvature adds (S/N) ⊗ B, or with Axes (S_kk/N) B_k for each dimension. The first call computes B from s, from which
// p must have been maximised; later calls reuse it.
func (m Continuous) Curvature(s *Posteriors, p *ContinuousParameters, f *laplace.Curvature) error {
	info, err := m.unitFree(s, p, f.CountOnly())
	if err != nil {
		return err
	}
	if f.Prior() {
		return m.integrals(s, p, info, f)
	}
	if m.Axes {
		for k := range s.K {
			f.Class(k, s.ZZ[k*s.K+k], info[k])
		}
		return nil
	}
	f.Mixed(mat.NewSymDense(s.K, s.ZZ), info[0])
	return nil
}

// ---- Projection

// Signal is the information that the latent dimensions carry, Ξ B Ξᵀ: the signal-to-noise ratios in a linear Gaussian
// model. It is nil with Axes, because the dimensions then cannot be rotated.
func (m Continuous) Signal(s *Posteriors, p *ContinuousParameters) (*mat.SymDense, error) {
	if m.Axes {
		return nil, nil
	}
	info, err := m.information(s, p)
	if err != nil {
		return nil, err
	}
	return congruent(mat.NewDense(p.K, len(p.Components)/p.K, p.Components).T(), info[0]), nil
}

// Relevance is the information ξ_kᵀBξ_k that each dimension carries.
func (m Continuous) Relevance(s *Posteriors, p *ContinuousParameters) ([]float64, error) {
	info, err := m.information(s, p)
	if err != nil {
		return nil, err
	}
	values := make([]float64, p.K)
	for k := range values {
		xi := mat.NewVecDense(len(p.Components)/p.K, p.Component(k))
		values[k] = mat.Inner(xi, info[k%len(info)], xi)
	}
	return values, nil
}

// Rotate is z̃ = Vᵀz, Ξ̃ = VᵀΞ.
func (m Continuous) Rotate(
	s *Posteriors, p *ContinuousParameters, basis *mat.Dense,
) (*Posteriors, *ContinuousParameters, error) {
	q := &ContinuousParameters{
		K:          p.K,
		D:          p.D,
		Components: make([]float64, len(p.Components)),
		Shared:     slices.Clone(p.Shared),
		Pooled:     p.Pooled,
		compiled:   m.must(p),
		observed:   p.information(),
	}
	n := q.compiled.component.numbers
	mat.NewDense(q.K, n, q.Components).Mul(basis.T(), mat.NewDense(p.K, n, p.Components))
	t, err := s.onto(basis, q.compiled)
	return t, q, err
}

// Keep keeps some latent dimensions, with their curvature if known.
func (m Continuous) Keep(
	s *Posteriors, p *ContinuousParameters, dims []int,
) (*Posteriors, *ContinuousParameters, error) {
	q := framework.KeepAxes(p, p.K, dims)
	q.compiled, q.observed = m.must(p), p.information()
	if len(q.observed) > 1 { // of Axes: each dimension's own
		q.observed = kept(q.observed, dims)
	}
	v := mat.NewDense(p.K, len(dims), nil)
	for j, k := range dims {
		v.Set(k, j, 1)
	}
	t, err := s.onto(v, q.compiled)
	return t, q, err
}

// kept are some of a list; nil of nil.
func kept(list []*mat.SymDense, dims []int) (some []*mat.SymDense) {
	if list == nil {
		return nil
	}
	for _, k := range dims {
		some = append(some, list[k])
	}
	return some
}
