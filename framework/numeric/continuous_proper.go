package numeric

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// The evidence of a joint density (docs/theory/evidence.md): each ξ_k is normal about 0, and Θ about its
// value for the table without latent dimensions, with the information that a row has there. F is that of gFIC. Where it
// is an average over rows, or Ξ and Θ know of one another, the determinant of what is left out makes the value lower,
// never higher.

// A jointPrior is that of Ξ and Θ; nil for none.
type jointPrior struct {
	precision *mat.SymDense // of each ξ
	shared    *unitPrior
}

// CheckPrior says that Prior is improper, or none of unit information.
func (m Continuous) CheckPrior() error {
	_, err := prior.AsUnitInformation(m.Prior)
	return err
}

// worth is the number of rows that the prior is worth.
func (m Continuous) worth() float64 {
	unit, _ := m.Prior.(prior.UnitInformation)
	return unit.RowsOr()
}

// prior is that of the parameters, by the table that they were fitted to.
func (m Continuous) prior(p *ContinuousParameters) (*jointPrior, error) {
	c, root := m.must(p), p.Pooled.root()
	shared, err := c.shared.newUnitPrior(p.Pooled.Shared, p.Pooled.Information, m.worth())
	if err != nil {
		return nil, err
	}
	precision := mat.NewSymDense(c.component.free, nil)
	precision.SymOuterK(m.worth(), root.T())
	return &jointPrior{precision, shared}, nil
}

// distance is ½ Σ_k ξ_kᵀ(worth I₀)ξ_k, and that of Θ.
func (u *jointPrior) distance(xi, theta []float64) float64 {
	if u == nil {
		return 0
	}
	sum, n := u.shared.distance(theta), u.precision.SymmetricDim()
	for own := range slices.Chunk(xi, n) {
		v := mat.NewVecDense(n, own)
		sum += mat.Inner(v, u.precision, v) / 2
	}
	return sum
}

// descend takes the gradient of distance off dxi and dtheta: at ξ, and at the step t from theta.
func (u *jointPrior) descend(theta, xi, t, widths, dxi, dtheta []float64) {
	if u == nil {
		return
	}
	n := u.precision.SymmetricDim()
	slope := mat.NewVecDense(n, nil)
	for first := 0; first < len(dxi); first += n {
		slope.MulVec(u.precision, mat.NewVecDense(n, xi[first:first+n]))
		linalg.Axpy(-1, slope.RawVector().Data, dxi[first:first+n])
	}
	u.shared.descend(theta, t, widths, dtheta)
}

// curve adds the precision of Ξ to the first n places of dst.
func (u *jointPrior) curve(dst *mat.SymDense, n int) {
	if u == nil {
		return
	}
	size := u.precision.SymmetricDim()
	for first := 0; first < n; first += size {
		for i := range size {
			for j := i; j < size; j++ {
				dst.SetSym(first+i, first+j, dst.At(first+i, first+j)+u.precision.At(i, j))
			}
		}
	}
}

// MaximizePosterior searches as Maximize does, also where the density is a [JointEstimator].
func (m Continuous) MaximizePosterior(s *Posteriors, p, dst *ContinuousParameters) (*ContinuousParameters, error) {
	of, err := m.prior(p)
	if err != nil {
		return dst, err
	}
	return m.maximize(s, p, dst, of)
}

// LogModes is 0 where the latent dimensions mix, as the evidence has the volume of their rotations; else ln K!, of
// their order.
func (m Continuous) LogModes(p *ContinuousParameters) float64 {
	if !m.Axes {
		return 0
	}
	orders, _ := math.Lgamma(float64(p.K) + 1)
	return orders
}

// integrals adds the integrals under the prior. information are B or the B_k, each relative to I₀.
func (m Continuous) integrals(
	s *Posteriors, p *ContinuousParameters, information []laplace.Block, f *laplace.Curvature,
) error {
	of, err := m.prior(p)
	if err != nil {
		return err
	}
	worth := m.worth()
	if m.Axes {
		for k, b := range information {
			t := laplace.Term{Size: b.SymmetricDim(), Count: s.ZZ[k*(s.K+1)], Worth: worth,
				Distance: of.distance(p.Component(k), p.Pooled.Shared)}
			t.Information = -laplace.CountGap([]float64{t.Count / worth}, notNegative(b.Eigenvalues(nil)))
			f.Integrate(k, t.Count, t)
		}
	} else {
		count := mat.NewSymDense(s.K, slices.Clone(s.ZZ))
		count.ScaleSym(1/worth, count)
		f.Mixed(count, laplace.Identity(information[0].SymmetricDim()))
		signal, err := m.Signal(s, p)
		if err != nil {
			return err
		}
		gap := laplace.CountGap(eigenvalues(count), notNegative(information[0].Eigenvalues(nil)))
		f.About(gap+laplace.LogRotations(s.N, eigenvalues(signal)), of.distance(p.Components, p.Pooled.Shared))
	}
	about, err := m.aboutShared(s, p)
	if err != nil {
		return err
	}
	t, err := of.shared.term(p.Shared, s.N, worth, about)
	f.Shared(t)
	return err
}

func eigenvalues(a *mat.SymDense) []float64 {
	return notNegative(laplace.NewSpectral(a).Eigenvalues(nil))
}

// notNegative takes what rounding left below 0 for 0.
func notNegative(values []float64) []float64 {
	for i, v := range values {
		values[i] = max(0, v)
	}
	return values
}

// aboutShared is −∇² by Θ of Σ_n w_n E_q[ln p(x_n, z_n|Ξ, Θ)] at p, computed once.
func (m Continuous) aboutShared(s *Posteriors, p *ContinuousParameters) (_ *mat.SymDense, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := m.must(p); p.about == nil && c.shared.free > 0 {
		one := c.machine()
		defer one.recover(&err)
		rule, err := one.rule(p.K)
		if err != nil {
			return nil, err
		}
		p.about = one.aboutShared(s, rule, p.Components, p.Shared)
		if v, bad := notFinite(p.about); bad {
			return nil, fmt.Errorf("numeric: the second derivatives of LogJoint by the shared parameters hold %v at %v",
				v, p.Shared)
		}
	}
	return p.about, nil
}

// aboutShared is −∇² of the total by Θ, in steps from theta.
func (m *jointMachine) aboutShared(s *Posteriors, rule *points, xi, theta []float64) *mat.SymDense {
	if m.differentiable == nil {
		return m.shared.curvature(theta, func(trial []float64) float64 { return m.total(s, rule, xi, trial) })
	}
	about, trial := mat.NewSymDense(m.shared.free, nil), make([]float64, len(theta))
	dxi, dtheta := make([]float64, len(xi)), make([]float64, len(theta))
	gradientDifferences(about, func(dst, step, widths []float64) {
		m.shared.move(theta, step, trial)
		clear(dtheta)
		m.gradient(s, rule, xi, trial, dxi, dtheta)
		m.shared.chain(theta, step, dtheta, dst, widths)
	}, 1e-3/math.Sqrt(s.N))
	return about
}
