package bpca

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/prior"
)

// Prior is the prior of variational Bayesian PCA (Bishop 1999): rows of W are N(0, diag(α)⁻¹), α_k ~
// Gamma(AlphaShape, AlphaRate), λ ~ Gamma(LambdaShape, LambdaRate), for data divided by Unit.
type Prior struct {
	// FixedAlpha, if positive, is α itself: 1 gives "VB1" of paper G, section 7. If FixedAlpha is 0, α has a gamma
	// prior: "VB2".
	FixedAlpha              float64
	AlphaShape, AlphaRate   float64 // 0 stands for 0.01
	LambdaShape, LambdaRate float64 // 0 stands for 0.01
	// Unit is the standard deviation that counts as 1 in the prior, in the units of the data. 0 selects the root of the
	// mean column variance, so that the ELBO's choice of K does not depend on units. 1 leaves the data unscaled.
	Unit float64
}

func (pr Prior) resolved() (Prior, error) {
	for _, v := range []*float64{&pr.AlphaShape, &pr.AlphaRate, &pr.LambdaShape, &pr.LambdaRate} {
		if *v == 0 {
			*v = 0.01
		}
		if !(*v > 0) || math.IsInf(*v, 0) {
			return pr, fmt.Errorf("bpca: prior hyperparameter %v is not positive and finite", *v)
		}
	}
	if !(pr.FixedAlpha >= 0) || math.IsInf(pr.FixedAlpha, 0) || !(pr.Unit >= 0) || math.IsInf(pr.Unit, 0) {
		return pr, fmt.Errorf("bpca: prior with fixed alpha %v and unit %v: both must be finite and non-negative",
			pr.FixedAlpha, pr.Unit)
	}
	return pr, nil
}

// Variational is BPCA with a posterior q(W)q(λ)q(α) in place of estimates. The engine's EM is then variational Bayes,
// and its criterion is the ELBO.
type Variational struct {
	Prior       Prior
	RandomStart bool // see [Model]
}

// CompressedVariational is [Variational] fitted from [lineargaussian.Moments].
type CompressedVariational struct{ Variational }

// Posterior holds the hyperparameters of q(W) = Π_d N(w_d | Loadings_d, Cov), q(λ) = Gamma(Shape, Rate) and q(α_k) =
// Gamma(AlphaShape, AlphaRates[k]).
type Posterior struct {
	K          int       `json:"k"`
	D          int       `json:"d"`
	Mean       []float64 `json:"mean"`        // the mean of the data, length D
	Loadings   []float64 `json:"loadings"`    // E[W], D×K row-major
	Cov        []float64 `json:"cov"`         // K×K, covariance of each row of W
	Shape      float64   `json:"shape"`       // of q(λ)
	Rate       float64   `json:"rate"`        // of q(λ)
	AlphaShape float64   `json:"alpha_shape"` // of q(α_k); 0 when α is fixed
	AlphaRates []float64 `json:"alpha_rates"` // length K
	LogDetCov  float64   `json:"log_det_cov"` // ln|Cov|
	// UnitVariance is the variance that counts as 1 in the prior.
	UnitVariance float64 `json:"unit_variance"`
}

// Point returns the parameters at E[W] and 1/E[λ].
func (p *Posterior) Point() *Parameters {
	return &Parameters{K: p.K, D: p.D, Mean: p.Mean, Loadings: p.Loadings, Noise: p.Rate / p.Shape}
}

// BoundsEvidence marks the model as [optional.Variational].
func (Variational) BoundsEvidence() {}

// Init starts from the same draw as [Model]; q(W) has the covariance that one row implies.
func (v Variational) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Posterior, error) {
	p, unit, err := Model{RandomStart: v.RandomStart}.begin(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	return v.start(p, unit)
}

// Init starts as [Variational] does, from moments.
func (v CompressedVariational) Init(
	ctx context.Context, src framework.Source[*lineargaussian.Moments], k int, rng *rand.Rand,
) (*Posterior, error) {
	p, unit, err := Compressed{Model{RandomStart: v.RandomStart}}.begin(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	return v.start(p, unit)
}

// start makes a posterior of starting parameters; unit is the mean column variance.
func (v Variational) start(p *Parameters, unit float64) (*Posterior, error) {
	prior, err := v.Prior.resolved()
	if err != nil {
		return nil, err
	}
	if prior.Unit > 0 {
		unit = prior.Unit * prior.Unit
	}
	q := &Posterior{K: p.K, D: p.D, Mean: p.Mean, Loadings: p.Loadings, UnitVariance: unit,
		Cov: make([]float64, p.K*p.K), Shape: 1, Rate: p.Noise, AlphaRates: make([]float64, p.K)}
	alpha := prior.FixedAlpha
	if alpha == 0 {
		alpha, q.AlphaShape = 1, prior.AlphaShape+float64(p.D)/2
	}
	for k := range p.K {
		q.Cov[k*p.K+k] = p.Noise / float64(p.D)
		q.AlphaRates[k] = q.AlphaShape / alpha
	}
	q.LogDetCov = float64(p.K) * math.Log(p.Noise/float64(p.D))
	return q, nil
}

// NewStatistics allocates statistics for p.K latent dimensions.
func (Variational) NewStatistics(p *Posterior) *lineargaussian.Statistics {
	return lineargaussian.NewStatistics(p.K, p.D)
}

// Prepare sets up q(z): Σ⁻¹ = I + E[λ]E[WᵀW], μ_n = E[λ]Σ E[W]ᵀ(x_n − mean).
func (Variational) Prepare(p *Posterior, tilt *laplace.Tilt, s *lineargaussian.Statistics) error {
	if tilt != nil {
		return errors.New("bpca: a variational model has no curvature to tilt by")
	}
	w, lambda := p.Loadings, p.Shape/p.Rate
	information := s.Information(w, w, lambda)
	linalg.Axpy(lambda*float64(p.D), p.Cov, information)
	return s.Condition(p.Mean, w, w, lambda, information, nil, nil)
}

// Infer adds the rows of a block.
func (Variational) Infer(b blocks.Rows, p *Posterior, s *lineargaussian.Statistics) (float64, error) {
	return s.Add(b)
}

// Infer adds all rows that the moments stand for.
func (CompressedVariational) Infer(
	m *lineargaussian.Moments, p *Posterior, s *lineargaussian.Statistics,
) (float64, error) {
	return s.AddMoments(m)
}

// Maximize updates q(W), then q(α), then q(λ), each to its optimum given the others.
func (v Variational) Maximize(s *lineargaussian.Statistics, p, dst *Posterior) (*Posterior, error) {
	prior, err := v.Prior.resolved()
	if err != nil {
		return nil, err
	}
	k, d := p.K, p.D
	if dst == nil {
		dst = &Posterior{Loadings: make([]float64, d*k), Cov: make([]float64, k*k), AlphaRates: make([]float64, k)}
	}
	dst.K, dst.D, dst.Mean, dst.AlphaShape = k, d, p.Mean, p.AlphaShape
	unit := prior.Unit * prior.Unit
	if unit == 0 {
		unit = s.SumSq / (s.N * float64(d))
	}
	dst.UnitVariance = unit

	// q(W): precision E[diag α]/unit + E[λ]S.
	for i := range k {
		dst.AlphaRates[i] = v.alpha(prior, p, i) / unit
	}
	if dst.LogDetCov, err = s.Posterior(p.Shape/p.Rate, dst.AlphaRates, dst.Loadings, dst.Cov); err != nil {
		return dst, err
	}

	// q(α).
	for i := range k {
		dst.AlphaRates[i] = prior.AlphaRate + 0.5*lineargaussian.ExpectedSquare(dst.Loadings, dst.Cov, k, i)/unit
	}

	// q(λ).
	dst.Shape = prior.LambdaShape + s.N*float64(d)/2
	dst.Rate = prior.LambdaRate*unit + s.ExpectedResidual(dst.Loadings, dst.Cov)/2
	return dst, nil
}

// alpha is E[α_k].
func (v Variational) alpha(prior Prior, p *Posterior, k int) float64 {
	if prior.FixedAlpha > 0 {
		return prior.FixedAlpha
	}
	return p.AlphaShape / p.AlphaRates[k]
}

// LogJoint returns E[ln p(X,Z,W,λ,α)] + H(q(W)) + H(q(λ)) + H(q(α)).
func (v Variational) LogJoint(s *lineargaussian.Statistics, p *Posterior) float64 {
	given, err := v.Prior.resolved()
	if err != nil {
		panic(err) // Init rejects it
	}
	d, lambda := float64(p.D), prior.Gamma{Shape: p.Shape, Rate: p.Rate}
	value := s.LogJoint(s.ExpectedResidual(p.Loadings, p.Cov), lambda.Mean(), lambda.ExpectedLog())
	value += d * lineargaussian.GaussianEntropy(p.K, p.LogDetCov)
	value -= lambda.Divergence(prior.Gamma{Shape: given.LambdaShape, Rate: given.LambdaRate * p.UnitVariance})
	for k := range p.K {
		alpha, logAlpha := given.FixedAlpha, math.Log(given.FixedAlpha)
		if given.FixedAlpha == 0 {
			q := prior.Gamma{Shape: p.AlphaShape, Rate: p.AlphaRates[k]}
			alpha, logAlpha = q.Mean(), q.ExpectedLog()
			value -= q.Divergence(prior.Gamma{Shape: given.AlphaShape, Rate: given.AlphaRate})
		}
		square := lineargaussian.ExpectedSquare(p.Loadings, p.Cov, p.K, k)
		value += 0.5 * (d*(logAlpha-math.Log(2*math.Pi*p.UnitVariance)) - alpha*square/p.UnitVariance)
	}
	return value
}

// Shape counts W and λ as [Model] does; they are integrated out, so the ELBO charges for
// them by itself.
func (Variational) Shape(p *Posterior) framework.Shape { return shape(p.K, p.D) }
