package bpca

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/prior"
)

// Model is Bayesian PCA as paper G treats it (section 2.1), fitted from blocks of
// rows. Its parameters are estimated; [Variational] gives them a posterior.
type Model struct {
	// RandomStart starts from random loadings. By default a fit starts near the
	// leading eigenvectors, found by one random subspace iteration: from a random start, directions
	// much weaker than the strongest stay at the noise level for many iterations, and gFAB may
	// prune them before they grow. From a random start EM may end at a saddle point, the solution with one dimension
	// less (docs/theory/bpca.md, section 2); restarts help.
	RandomStart bool
	// Prior is the prior under which the evidence is computed: a prior.UnitInformation, or nil for the default.
	Prior prior.Prior `json:",omitempty"`
}

// Compressed is [Model] fitted from [lineargaussian.Moments]. It returns the same numbers up to rounding, at a cost
// per iteration that does not depend on the number of rows.
type Compressed struct{ Model }

// ---- Start: Init, in start.go

// ---- Local step; the sums over rows are in statistics.go

// NewStatistics allocates statistics for p.K latent dimensions.
func (Model) NewStatistics(p *Parameters) *lineargaussian.Statistics {
	return lineargaussian.NewStatistics(p.K, p.D)
}

// Prepare computes q's covariance and gain: Σ⁻¹ = λWᵀW + I + D·S₀⁻¹, the last term
// with a tilt only, and μ_n = λΣWᵀ(x_n − mean) (docs/theory/bpca.md, section 1).
func (Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *lineargaussian.Statistics) error {
	w := p.Loadings
	return s.Condition(p.Mean, w, w, 1/p.Noise, s.Information(w, w, 1/p.Noise), nil, tilt)
}

// Infer adds the rows of a block.
func (Model) Infer(b blocks.Rows, p *Parameters, s *lineargaussian.Statistics) (float64, error) {
	return s.Add(b)
}

// Infer adds all rows that the moments stand for.
func (Compressed) Infer(m *lineargaussian.Moments, p *Parameters, s *lineargaussian.Statistics) (float64, error) {
	return s.AddMoments(m)
}

// ---- Global step

// Maximize sets W = XᵀM S⁻¹ and 1/λ = Σ E‖x − mean − Wz‖²/(ND).
func (Model) Maximize(s *lineargaussian.Statistics, p, dst *Parameters) (*Parameters, error) {
	if dst == nil {
		dst = &Parameters{Loadings: make([]float64, p.D*p.K)}
	}
	dst.K, dst.D, dst.Mean = p.K, p.D, p.Mean
	if err := s.Regress(dst.Loadings); err != nil {
		return dst, err
	}
	dst.Noise = s.ResidualAt(dst.Loadings) / (s.N * float64(p.D))
	if unit := s.SumSq / (s.N * float64(p.D)); !(dst.Noise > vanishing*unit) {
		return dst, noNoise(p.K)
	}
	return dst, nil
}

// vanishing is the share of the total variance below which noise is rounding.
const vanishing = 1e-13

func noNoise(k int) error {
	return fmt.Errorf("bpca: K = %d leaves no noise above rounding: %w; the rows lie in a space of that dimension, "+
		"or a few entries dwarf all others; lower K, or drop columns that depend on others", k, framework.ErrDegenerate)
}

// Expand calls Statistics.Expand at the loadings of p.
func (Model) Expand(s *lineargaussian.Statistics, p *Parameters, charged bool) (*Parameters, float64, error) {
	entropy, err := s.Expand(p.Loadings, charged)
	return p, entropy, err
}

// LogJoint returns E_q[ln p(X,Z|W,λ)].
func (Model) LogJoint(s *lineargaussian.Statistics, p *Parameters) float64 {
	return s.LogJoint(s.ResidualAt(p.Loadings), 1/p.Noise, -math.Log(p.Noise))
}

// Shape counts the parameters W and λ. The count for BIC and AIC adds the mean and subtracts the rotation of W.
func (Model) Shape(p *Parameters) framework.Shape { return shape(p.K, p.D) }

func shape(k, d int) framework.Shape {
	return framework.Shape{K: k, Component: d * k, Shared: 1, Free: d*k - k*(k-1)/2 + 1 + d}
}

// Estimates returns p with the loadings of [lineargaussian.Statistics.Rescaled], because gFAB's and FAB's own
// loadings are longer than the maximum likelihood estimates.
func (Model) Estimates(s *lineargaussian.Statistics, p *Parameters) (*Parameters, error) {
	w, err := s.Rescaled(p.Loadings)
	if err != nil {
		return nil, err
	}
	q := *p
	q.Loadings = w
	return &q, nil
}

// ---- Curvature

// Curvature is F_W = (λ/N)·S ⊗ I_D (paper G, eq. 5; the left factor is that of the
// latent dimensions), for data scaled to a mean column variance of 1. It does not exist for N ≤ D (see
// [lineargaussian.ErrTooFewRows]); the evidence does.
func (m Model) Curvature(s *lineargaussian.Statistics, p *Parameters, f *laplace.Curvature) error {
	if f.Prior() {
		unit, err := prior.AsUnitInformation(m.Prior)
		if err != nil {
			return err
		}
		return integrate(s, p, f, unit.RowsOr())
	}
	return s.Curvature(s.SumSq/(s.N*float64(s.D))/p.Noise, f)
}

// ---- Projection

// Signal returns λWᵀW (K×K).
func (Model) Signal(_ *lineargaussian.Statistics, p *Parameters) (*mat.SymDense, error) {
	return p.gram(math.Sqrt(p.Noise)), nil
}

// Relevance returns the signal-to-noise ratio λ‖w_k‖² of each latent dimension.
func (Model) Relevance(_ *lineargaussian.Statistics, p *Parameters) ([]float64, error) {
	return p.signalToNoise(), nil
}

// Rotate replaces Z by ZV and W by WV for the orthonormal basis V (K×K), which leaves Wz unchanged.
func (Model) Rotate(
	s *lineargaussian.Statistics, p *Parameters, basis *mat.Dense,
) (*lineargaussian.Statistics, *Parameters, error) {
	q := &Parameters{K: p.K, D: p.D, Mean: p.Mean, Loadings: make([]float64, p.D*p.K), Noise: p.Noise}
	q.W().Mul(p.W(), basis)
	return s.Mapped(basis.T()), q, nil
}

// Keep restricts Z and W to the columns dims.
func (Model) Keep(
	s *lineargaussian.Statistics, p *Parameters, dims []int,
) (*lineargaussian.Statistics, *Parameters, error) {
	return s.Mapped(linalg.Selection(dims, s.K)), framework.KeepAxes(p, p.K, dims), nil
}
