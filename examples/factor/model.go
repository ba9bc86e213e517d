package factor

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
)

// Parameters are Π of factor analysis, x = mean + Wz + ε: W is Ξ, ψ is shared, and the mean is that of the table.
type Parameters struct {
	D                 int
	Mean, Unit, Noise []float64 // mean and variance of each column, and ψ, that of ε
	W                 []float64 `keep:"columns"` // loadings, D×K row-major
}

func (p *Parameters) loadings() *mat.Dense { return mat.NewDense(p.D, len(p.W)/p.D, p.W) }

// scaled is WᵀΨ⁻¹.
func (p *Parameters) scaled() *mat.Dense {
	w := mat.DenseCopyOf(p.loadings().T())
	w.Apply(func(_, j int, v float64) float64 { return v / p.Noise[j] }, w)
	return w
}

// Statistics are Σ (x − mean)(x − mean)ᵀ and what q(z) = N(Gain (x − mean), Cov) is: all other sums follow from them.
// Of symmetric matrices they hold the upper triangle.
type Statistics struct {
	N    float64
	XX   []float64 // D×D
	Gain []float64 `keep:"rows"` // K×D
	Cov  []float64 `keep:"both"` // K×K
}

// Observations is N.
func (s *Statistics) Observations() float64 { return s.N }

// Merge adds sums of the same local step.
func (s *Statistics) Merge(o *Statistics) {
	s.N += o.N
	floats.Add(s.XX, o.XX)
}

// moments returns Σ x E[z]ᵀ, D×K, and S = Σ E[zzᵀ], K×K.
func (s *Statistics) moments(p *Parameters) (*mat.Dense, *mat.SymDense) {
	var xz, zz mat.Dense
	gain := mat.NewDense(len(p.W)/p.D, p.D, s.Gain)
	xz.Mul(mat.NewSymDense(p.D, s.XX), gain.T())
	zz.Mul(gain, &xz)
	floats.AddScaled(zz.RawMatrix().Data, s.N, s.Cov)
	return &xz, mat.NewSymDense(zz.RawMatrix().Rows, zz.RawMatrix().Data)
}

// Model is factor analysis with its own steps.
type Model struct{}

// Init draws loadings.
func (Model) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	pooled, _, err := family.Pool(ctx, src, normal.Family{Covariance: normal.Diagonal})
	if err != nil {
		return nil, err
	}
	v, d := pooled.Parameters, len(pooled.Parameters)/2
	p := &Parameters{d, v[:d], v[d:], floats.ScaleTo(make([]float64, d), 0.5, v[d:]), make([]float64, d*k)}
	for i := range p.W {
		p.W[i] = rng.NormFloat64() * math.Sqrt(p.Noise[i/k]/float64(k))
	}
	return p, nil
}

// NewStatistics makes room for D columns and K factors.
func (Model) NewStatistics(p *Parameters) *Statistics {
	k := len(p.W) / p.D
	return &Statistics{XX: make([]float64, p.D*p.D), Gain: make([]float64, k*p.D), Cov: make([]float64, k*k)}
}

// Prepare finds q(z) = N(ΣWᵀΨ⁻¹(x − mean), Σ), Σ⁻¹ = WᵀΨ⁻¹W + I. The tilt adds D S₀⁻¹ to that.
func (m Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	*s = *m.NewStatistics(p)
	precision, _ := m.Signal(s, p)
	k := precision.SymmetricDim()
	precision.AddSym(precision, laplace.Identity(k))
	var chol mat.Cholesky
	if tilt.Precision(precision) != nil || !chol.Factorize(precision) || chol.InverseTo(mat.NewSymDense(k, s.Cov)) != nil {
		return laplace.ErrSingular
	}
	return chol.SolveTo(mat.NewDense(k, p.D, s.Gain), p.scaled())
}

// Infer adds rows, and returns the entropy.
func (Model) Infer(b blocks.Rows, p *Parameters, s *Statistics) (entropy float64, err error) {
	xx, cov := mat.NewSymDense(p.D, s.XX), mat.NewSymDense(len(p.W)/p.D, s.Cov)
	logDet, _ := mat.LogDet(cov)
	for i := range b.N {
		w, x := b.Weight(i), floats.SubTo(make([]float64, p.D), b.Row(i), p.Mean)
		xx.SymRankOne(xx, w, mat.NewVecDense(p.D, x))
		s.N, entropy = s.N+w, entropy+w/2*(float64(cov.SymmetricDim())*(1+math.Log(2*math.Pi))+logDet)
	}
	return entropy, nil
}

// Maximize is W = Σ x E[z]ᵀ S⁻¹ and ψ_j = Σ E(x_j − w_jᵀz)²/N, but no less than 0.005 of the column's variance: the
// likelihood may be highest where the factors leave a column no noise at all (a Heywood case).
func (Model) Maximize(s *Statistics, p, _ *Parameters) (*Parameters, error) {
	var chol mat.Cholesky
	var w mat.Dense
	xz, zz := s.moments(p)
	if !chol.Factorize(zz) || chol.SolveTo(&w, xz.T()) != nil {
		return p, fmt.Errorf("factor: E[ZᵀZ] is singular: %w", framework.ErrDegenerate)
	}
	to := &Parameters{p.D, p.Mean, p.Unit, make([]float64, p.D), mat.DenseCopyOf(w.T()).RawMatrix().Data}
	for j, unit := range p.Unit {
		to.Noise[j] = max((s.XX[j*(p.D+1)]-mat.Dot(w.ColView(j), xz.RowView(j)))/s.N, 0.005*unit)
	}
	return to, nil
}

// LogJoint is E_q[ln p(X,Z|Π)].
func (Model) LogJoint(s *Statistics, p *Parameters) float64 {
	xz, zz := s.moments(p)
	value := s.N*float64(zz.SymmetricDim())*math.Log(2*math.Pi) + mat.Trace(zz)
	for j, noise := range p.Noise {
		w := p.loadings().RowView(j)
		residual := s.XX[j*(p.D+1)] - 2*mat.Dot(w, xz.RowView(j)) + mat.Inner(w, zz, w)
		value += s.N*math.Log(2*math.Pi*noise) + residual/noise
	}
	return -value / 2
}

// Shape counts W and ψ; BIC and AIC take the rotation of W off, and count the mean.
func (Model) Shape(p *Parameters) framework.Shape {
	d, k := p.loadings().Dims()
	return framework.Shape{K: k, Component: d * k, Shared: d, Free: d*k - k*(k-1)/2 + 2*d}
}

// Curvature adds S ⊗ I_D: of loadings in units of the noise, w_j/√ψ_j, the information is constant, and gFIC is FIC. In
// units of the columns it would be infinite in a Heywood case. For N ≤ D there is none.
func (Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	if s.N <= float64(p.D) {
		return fmt.Errorf("factor: gFIC and FIC need more rows than the %d columns", p.D)
	}
	_, zz := s.moments(p)
	f.Mixed(zz, laplace.Identity(p.D))
	return nil
}

// LogProb is ln N(x; mean, WWᵀ + Ψ).
func (Model) LogProb(b blocks.Rows, p *Parameters, dst []float64) ([]float64, error) {
	var cov mat.SymDense
	cov.SymOuterK(1, p.loadings())
	cov.AddSym(&cov, mat.NewDiagDense(p.D, p.Noise))
	normal, ok := distmv.NewNormal(p.Mean, &cov, nil)
	if !ok {
		return nil, laplace.ErrSingular
	}
	for i := range b.N {
		dst = append(dst[:i], normal.LogProb(b.Row(i)))
	}
	return dst, nil
}

// Signal is WᵀΨ⁻¹W.
func (Model) Signal(_ *Statistics, p *Parameters) (*mat.SymDense, error) {
	var product mat.Dense
	product.Mul(p.scaled(), p.loadings())
	return mat.NewSymDense(product.RawMatrix().Rows, product.RawMatrix().Data), nil
}

// Rotate is z → Vᵀz, W → WV.
func (Model) Rotate(s *Statistics, p *Parameters, basis *mat.Dense) (*Statistics, *Parameters, error) {
	var w, gain, cov mat.Dense
	k := len(p.W) / p.D
	w.Mul(p.loadings(), basis)
	gain.Mul(basis.T(), mat.NewDense(k, p.D, s.Gain))
	cov.Product(basis.T(), mat.NewSymDense(k, s.Cov), basis)
	return &Statistics{s.N, append([]float64(nil), s.XX...), gain.RawMatrix().Data, cov.RawMatrix().Data},
		&Parameters{p.D, p.Mean, p.Unit, p.Noise, w.RawMatrix().Data}, nil
}

// Relevance is the signal of each factor.
func (m Model) Relevance(s *Statistics, p *Parameters) (values []float64, err error) {
	signal, err := m.Signal(s, p)
	for k := range signal.SymmetricDim() {
		values = append(values, signal.At(k, k))
	}
	return values, err
}

// Keep keeps some factors.
func (Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	return framework.KeepAxes(s, len(p.W)/p.D, dims), framework.KeepAxes(p, len(p.W)/p.D, dims), nil
}
