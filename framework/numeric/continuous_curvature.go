package numeric

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/pruning"
)

// ---- Curvature

// observe returns B = (1/K) Σ_kl (A⁻¹)_kl F_kl with A = S/N: the mean of the diagonal blocks of F after A has been turned into I, which is
// B itself where F = A ⊗ B, and does not depend on a rotation of z. With axes it returns B_k = F_kk/A_kk for each.
func (m *jointMachine) observe(s *Posteriors, rule *points, xi, theta []float64, axes bool, whole *Whole, fine bool) (list []*mat.SymDense, err error) {
	n, k := m.component.free, s.K
	if m.informer != nil && !axes {
		b := mat.NewSymDense(n, nil)
		m.enter("InformationJoint", -1, -1)
		m.informer.InformationJoint(Inferred{s.N, k, s}, xi, theta, b)
		if v, bad := notFinite(b); bad {
			return nil, m.broken("it holds %v", v)
		}
		m.leave()
		return []*mat.SymDense{b}, nil
	}
	directions, err := s.directions(axes)
	if err != nil {
		return nil, err
	}
	trial := make([]float64, len(xi))
	sum := mat.NewSymDense(n, nil)
	for a := range k {
		f := mat.NewSymDense(n, nil)
		curvatureOf(f, func(step []float64) float64 {
			copy(trial, xi)
			for b := range k {
				for i, v := range step {
					trial[b*n+i] += directions.At(b, a) * v
				}
			}
			return m.total(s, rule, trial, theta)
		}, m.component.widths(xi[:n], whole, s.N), s.N, fine)
		if v, bad := notFinite(f); bad {
			m.enter("LogJoint", -1, -1)
			return nil, m.broken("its second derivatives by the components hold %v at components %v, shared %v: a density with two finite derivatives is wanted", v, xi, theta)
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
	var chol mat.Cholesky
	if !chol.Factorize(s.second()) {
		return nil, fmt.Errorf("numeric: E[ZᵀZ] is singular at K = %d: allow pruning, or lower K", s.K)
	}
	var upper mat.TriDense
	chol.UTo(&upper)
	return u, u.Inverse(&upper)
}

// second is S/N.
func (s *Posteriors) second() *mat.SymDense {
	a := mat.NewSymDense(s.K, slices.Clone(s.ZZ))
	a.ScaleSym(1/s.N, a)
	return a
}

// information returns B or the B_k of p, from s where they have not been asked for yet.
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
	p.observed, err = one.observe(s, rule, p.Components, p.Shared, m.Axes, p.Whole, true)
	return p.observed, err
}

// Curvature is (S/N) ⊗ B, or (S_kk/N)·B_k block by block with Axes. B is observed when it is first asked for, from s,
// which has to be what p was maximised from; it belongs to the estimate p from then on.
func (m Continuous) Curvature(s *Posteriors, p *ContinuousParameters, dst laplace.Blocks) (laplace.Blocks, error) {
	info, err := m.information(s, p)
	if err != nil {
		return nil, err
	}
	var inverse mat.Dense
	if err := inverse.Inverse(p.Whole.root()); err != nil {
		return nil, fmt.Errorf("numeric: %w", err)
	}
	blocks := make([]laplace.Block, len(info))
	for i, b := range info {
		var half, full mat.Dense
		half.Mul(b, &inverse)
		full.Mul(inverse.T(), &half)
		unit := mat.NewSymDense(b.SymmetricDim(), nil)
		for r := range b.SymmetricDim() {
			for c := r; c < b.SymmetricDim(); c++ {
				unit.SetSym(r, c, (full.At(r, c)+full.At(c, r))/2)
			}
		}
		blocks[i] = laplace.NewDense(unit)
	}
	return m.blocks(s, blocks), nil
}

// Counts is (S/N) ⊗ I, or (S_kk/N)·I with Axes.
func (m Continuous) Counts(s *Posteriors, p *ContinuousParameters, dst laplace.Blocks) (laplace.Blocks, error) {
	unit := []laplace.Block{laplace.Identity(m.must(p).component.free)}
	if m.Axes {
		unit = slices.Repeat(unit, s.K)
	}
	return m.blocks(s, unit), nil
}

func (m Continuous) blocks(s *Posteriors, b []laplace.Block) (list laplace.Blocks) {
	if !m.Axes {
		return laplace.Blocks{&laplace.Kronecker{A: laplace.NewDense(s.second()), B: b[0]}}
	}
	for k := range s.K {
		list = append(list, &laplace.Scaled{Factor: s.ZZ[k*s.K+k] / s.N, Of: b[k]})
	}
	return list
}

// ---- Projection

// Relevance is the information that the latent directions carry, the eigenvalues of Ξ B Ξᵀ with their eigenvectors: the
// signal-to-noise ratios in a linear Gaussian model. With Axes it is ξ_kᵀB_kξ_k.
func (m Continuous) Relevance(s *Posteriors, p *ContinuousParameters) (pruning.Directions, error) {
	info, err := m.information(s, p)
	if err != nil {
		return pruning.Directions{}, err
	}
	xi := mat.NewDense(p.K, len(p.Components)/p.K, p.Components)
	if m.Axes {
		values := make([]float64, p.K)
		for k := range values {
			values[k] = mat.Inner(xi.RowView(k), info[k], xi.RowView(k))
		}
		return pruning.FromAxes(values), nil
	}
	var half, full mat.Dense
	half.Mul(xi, info[0])
	full.Mul(&half, xi.T())
	signal := mat.NewSymDense(p.K, nil)
	for i := range p.K {
		for j := i; j < p.K; j++ {
			signal.SetSym(i, j, (full.At(i, j)+full.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(signal, true) {
		return pruning.Directions{}, errors.New("numeric: the components are not finite")
	}
	values := eigen.Values(nil)
	for j := range values {
		values[j] = max(0, values[j])
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	return pruning.FromEigen(values, &vectors), nil
}

// Project is z̃ = Vᵀz, Ξ̃ = VᵀΞ for the directions in the columns of V.
func (m Continuous) Project(s *Posteriors, p *ContinuousParameters, onto pruning.Directions) (*Posteriors, *ContinuousParameters, error) {
	c := m.must(p)
	v := onto.Basis
	if v == nil {
		v = mat.NewDense(p.K, onto.Len(), nil)
		for j, k := range slices.Sorted(slices.Values(onto.Axes)) {
			v.Set(k, j, 1)
		}
	} else if m.Axes {
		return nil, nil, errors.New("numeric: a projection along Axes keeps latent dimensions, and does not mix them")
	}
	q := &ContinuousParameters{K: onto.Len(), D: p.D, Shared: slices.Clone(p.Shared), Whole: p.Whole, compiled: c}
	n := c.component.numbers
	q.Components = make([]float64, q.K*n)
	mat.NewDense(q.K, n, q.Components).Mul(v.T(), mat.NewDense(p.K, n, p.Components))
	if known := p.information(); known != nil && !m.Axes {
		q.observed = known
	} else if known != nil {
		for _, k := range slices.Sorted(slices.Values(onto.Axes)) {
			q.observed = append(q.observed, known[k])
		}
	}
	t, err := s.onto(v, c)
	return t, q, err
}
