// Package features is a model of binary latent features: row x is the sum of those columns of W that are switched on,
//
//	x = b + W z + e,  z_k ~ Bernoulli(π_k),  e ~ N(0, ψI),
//
// each whatever the others are (Hayashi and Fujimaki 2013). q(z_n) = Π_k q(z_nk) is kept from one iteration to the next:
// a [framework.Coupled]. In all arrays b is feature 0, which is always on. Then a feature that is always on, that copies
// another or is its opposite is a linear function of the rest, and the eigenvalue rule sees it.
package features

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
)

// Parameters are Π: Ξ = (b, W), the others are shared.
type Parameters struct {
	On    []float64 `keep:"rows+1"`    // π, 1 + K; π_0 = 1
	W     []float64 `keep:"columns+1"` // (b, W), D×(1 + K) row-major
	Noise float64   // ψ
	Unit  float64   // mean variance of the table's columns: W²/Unit is unit-free
}

// Statistics are sums over rows.
type Statistics struct {
	N  float64
	XX float64   // Σ |x|²
	XZ []float64 `keep:"columns+1"` // Σ x E[z]ᵀ, D×(1 + K)
	ZZ []float64 `keep:"both+1"`    // Σ E[z zᵀ], (1 + K)×(1 + K)
}

// Weight is N.
func (s *Statistics) Weight() float64 { return s.N }

// Merge adds sums.
func (s *Statistics) Merge(o *Statistics) { framework.AddSums(s, o) }

// Posterior is q(Z): the probability that a feature is on in a row.
type Posterior struct {
	K  int       `keep:"count"`
	On []float64 `keep:"columns+1"` // rows×(1 + K)
}

// Keep keeps some features.
func (q *Posterior) Keep(dims []int) framework.Local { return framework.KeepAxes(q, q.K, dims) }

func (q *Posterior) row(n int) []float64 { return q.On[n*(1+q.K) : (n+1)*(1+q.K)] }

// Model is the model as the engine sees it.
type Model struct{}

// BoundsLikelihood says that q is a mean-field one.
func (Model) BoundsLikelihood() {}

// Init draws W from a normal distribution, so that all features together make the variance of the table.
func (Model) Init(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (*Parameters, error) {
	pooled, _, err := family.Pool(ctx, src, family.Gaussian{Covariance: family.Spherical})
	if err != nil {
		return nil, err
	}
	d := len(pooled.Parameters) - 1 // means, and the variance
	unit := pooled.Parameters[d]
	p := &Parameters{On: append([]float64{1}, slices.Repeat([]float64{0.5}, k)...), Noise: unit, Unit: unit}
	for _, mean := range pooled.Parameters[:d] {
		p.W = append(p.W, mean)
		for range k {
			p.W = append(p.W, rng.NormFloat64()*math.Sqrt(unit/float64(k)))
		}
	}
	return p, nil
}

// NewLocal begins where every feature is as likely on as the parameters say.
func (Model) NewLocal(_ context.Context, src framework.Source[framework.Rows], p *Parameters, _ *rand.Rand) (framework.Local, error) {
	return begin(src.Rows(), p), nil
}

func begin(rows int, p *Parameters) *Posterior {
	return &Posterior{len(p.On) - 1, slices.Repeat(p.On, rows)}
}

// NewStatistics makes room for D columns and K features.
func (Model) NewStatistics(p *Parameters) *Statistics {
	return &Statistics{XZ: make([]float64, len(p.W)), ZZ: make([]float64, len(p.On)*len(p.On))}
}

// Prepare empties the sums.
func (m Model) Prepare(p *Parameters, _ *laplace.Tilt, s *Statistics) error {
	*s = *m.NewStatistics(p)
	return nil
}

// rounds is the number of times that an Update goes through the features of a row.
const rounds = 3

// Update is coordinate ascent. ln p(x, z) is zᵀ(Wᵀx/ψ + logit π) − ½ zᵀAz with A = WᵀW/ψ; the tilt adds D S₀⁻¹ to A.
func (Model) Update(b framework.Rows, p *Parameters, tilt *laplace.Tilt, now, next framework.Local) error {
	k, w := len(p.On), mat.NewDense(b.D, len(p.On), p.W)
	var a mat.SymDense
	a.SymOuterK(1/p.Noise, w.T())
	if err := tilt.Precision(&a); err != nil {
		return err
	}
	var linear mat.Dense
	for i := range b.N {
		linear.Mul(mat.NewDense(1, b.D, b.Row(i)), w)
		z := next.(*Posterior).row(b.First + i)
		copy(z, now.(*Posterior).row(b.First+i))
		for range rounds {
			for l := 1; l < k; l++ {
				v := linear.At(0, l)/p.Noise + math.Log(p.On[l]/(1-p.On[l])) + a.At(l, l)*(z[l]-0.5)
				for m, zm := range z {
					v -= a.At(l, m) * zm
				}
				z[l] = 1 / (1 + math.Exp(-v))
			}
		}
	}
	return nil
}

// InferAt adds rows under q, and returns the entropy.
func (Model) InferAt(b framework.Rows, p *Parameters, q framework.Local, s *Statistics) (entropy float64, err error) {
	for i := range b.N {
		w, z, k := b.Weight(i), q.(*Posterior).row(b.First+i), len(p.On)
		s.N += w
		for d, x := range b.Row(i) {
			s.XX += w * x * x
			floats.AddScaled(s.XZ[d*k:(d+1)*k], w*x, z)
		}
		for l, v := range z {
			floats.AddScaled(s.ZZ[l*k:(l+1)*k], w*v, z)
			s.ZZ[l*k+l] += w * v * (1 - v)
			entropy += w * stat.Entropy([]float64{v, 1 - v})
		}
	}
	return entropy, nil
}

// Infer finds q of rows that are not part of a fit.
func (m Model) Infer(b framework.Rows, p *Parameters, s *Statistics) (float64, error) {
	b.First = 0
	q := begin(b.N, p)
	for range 20 {
		_ = m.Update(b, p, nil, q, q) // only a tilt can fail
	}
	return m.InferAt(b, p, q, s)
}

// Maximize is the regression of x on z. Where many W are a maximum, as features depend on others, it is the shortest.
func (Model) Maximize(s *Statistics, p, _ *Parameters) (*Parameters, error) {
	k, d := len(p.On), len(s.XZ)/len(p.On)
	var svd mat.SVD
	var w mat.Dense
	svd.Factorize(mat.NewDense(k, k, s.ZZ), mat.SVDThin)
	svd.SolveTo(&w, mat.NewDense(d, k, s.XZ).T(), svd.Rank(1e-12))
	to := &Parameters{On: slices.Clone(s.ZZ[:k]), W: mat.DenseCopyOf(w.T()).RawMatrix().Data, Unit: p.Unit}
	floats.Scale(1/s.N, to.On)
	to.Noise = (s.XX - floats.Dot(to.W, s.XZ)) / (s.N * float64(d))
	if !(to.Noise > 1e-12*s.XX/s.N) {
		return to, fmt.Errorf("features: the features leave no noise: %w", framework.ErrDegenerate)
	}
	return to, nil
}

// LogJoint is E_q[ln p(X,Z|Π)].
func (Model) LogJoint(s *Statistics, p *Parameters) float64 {
	d, k := len(p.W)/len(p.On), len(p.On)
	var wzz mat.Dense
	wzz.Mul(mat.NewDense(d, k, p.W), mat.NewDense(k, k, s.ZZ))
	rest := s.XX - 2*floats.Dot(p.W, s.XZ) + floats.Dot(p.W, wzz.RawMatrix().Data)
	value := -(s.N*float64(d)*math.Log(2*math.Pi*p.Noise) + rest/p.Noise) / 2
	for l, on := range p.On {
		f := s.ZZ[l] / s.N
		value -= s.N * stat.CrossEntropy([]float64{f, 1 - f}, []float64{on, 1 - on})
	}
	return value
}

// Shape counts b and W as Ξ.
func (Model) Shape(p *Parameters) framework.Shape {
	return framework.Shape{K: len(p.On) - 1, Component: len(p.W), Shared: len(p.On)}
}

// Curvature adds S ⊗ I/ψ with S = Σ E[zzᵀ].
func (Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	f.Mixed(mat.NewSymDense(len(p.On), s.ZZ), laplace.Scaled{Factor: p.Unit / p.Noise, Of: laplace.Identity(len(p.W) / len(p.On))})
	return nil
}

// Relevance is the variance of z_k.
func (Model) Relevance(_ *Statistics, p *Parameters) (values []float64, err error) {
	for _, on := range p.On[1:] {
		values = append(values, on*(1-on))
	}
	return values, nil
}

// Keep keeps some features. The regression on them takes up what the others held of them, which is all where these were
// linear functions of them.
func (m Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	s, p = framework.KeepAxes(s, len(p.On)-1, dims), framework.KeepAxes(p, len(p.On)-1, dims)
	q, err := m.Maximize(s, p, nil)
	return s, q, err
}
