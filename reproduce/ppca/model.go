package ppca

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/lineargaussian"
)

// Model is probabilistic PCA with a Gaussian variational posterior of its loadings, fitted
// from blocks of rows. Its "parameters" are a [Posterior], and its method framework.EM: an
// iteration is Steps steps of Adam, and the criterion is the evidence lower bound.
type Model struct {
	Noise         float64 // σ², the known variance of the noise, in squared units of the data; positive
	PriorVariance float64 // s², of every entry of W; positive
	Diagonal      bool    // the columns' covariances are diagonal; default full

	// Seed is that of the draws that estimate the bound. They are the same for every K, every
	// restart and every iteration (common random numbers), so that differences of bounds vary less
	// than the bounds. Adam's draws have the engine's seed.
	Seed uint64
	// Pairs is the number of pairs of draws, W = m ± Σ^½ε, that estimate the bound; default
	// DefaultPairs. A standard error falls with its root.
	Pairs int

	StepPairs int     // pairs of draws in a step of Adam; default DefaultStepPairs
	Steps     int     // steps of Adam in an iteration of the engine; default DefaultSteps
	Rate      float64 // the first step's length in posterior standard deviations; default DefaultRate
}

// Defaults of [Model].
const (
	DefaultPairs     = 256
	DefaultStepPairs = 8
	DefaultSteps     = 50
	DefaultRate      = 0.1
)

// Compressed is [Model] fitted from [lineargaussian.Moments]: the same numbers, to rounding, at a cost
// per iteration that does not depend on the number of rows.
type Compressed struct{ Model }

func (m Model) resolved() (Model, error) {
	for _, v := range [...]struct {
		name  string
		value float64
	}{{"Noise (σ²)", m.Noise}, {"PriorVariance (s²)", m.PriorVariance}} {
		if !(v.value > 0) || math.IsInf(v.value, 0) {
			return m, fmt.Errorf("ppca: %s is %v: it is a variance, positive and finite, in squared units of the data",
				v.name, v.value)
		}
	}
	if m.Pairs < 0 || m.Pairs == 1 || m.Pairs == 2 || m.StepPairs < 0 || m.Steps < 0 ||
		!(m.Rate >= 0) || math.IsInf(m.Rate, 0) {
		return m, fmt.Errorf("ppca: Pairs %d, StepPairs %d, Steps %d and Rate %v: none is negative, and a standard "+
			"error needs three pairs or more", m.Pairs, m.StepPairs, m.Steps, m.Rate)
	}
	for _, v := range [...]struct {
		value *int
		or    int
	}{{&m.Pairs, DefaultPairs}, {&m.StepPairs, DefaultStepPairs}, {&m.Steps, DefaultSteps}} {
		if *v.value == 0 {
			*v.value = v.or
		}
	}
	if m.Rate == 0 {
		m.Rate = DefaultRate
	}
	return m, nil
}

// BoundsEvidence marks the model as [optional.Variational].
func (Model) BoundsEvidence() {}

// ---- Start

// Init starts at the mode of the posterior of W, which is the solution of Tipping & Bishop
// (1999) for the given σ² shrunk towards 0 by the prior, with the covariances of a Laplace
// approximation there. It needs 1 ≤ k ≤ D; a missing or non-finite entry is an error that
// names its row and column. rng seeds Adam's draws.
func (m Model) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Posterior, error) {
	moments, err := lineargaussian.Summarize(ctx, src, 0)
	return m.begin(moments, err, k, rng)
}

// Init is that of [Model], from moments.
func (c Compressed) Init(
	ctx context.Context, src framework.Source[*lineargaussian.Moments], k int, rng *rand.Rand,
) (*Posterior, error) {
	moments, err := lineargaussian.Pool(ctx, src)
	return c.begin(moments, err, k, rng)
}

// begin starts from moments that were found without an error.
func (m Model) begin(moments *lineargaussian.Moments, err error, k int, rng *rand.Rand) (*Posterior, error) {
	if err != nil {
		return nil, err
	}
	s := &Statistics{}
	if err := s.addMoments(moments); err != nil {
		return nil, err
	}
	return m.start(s, k, rng)
}

// ---- Local step: the data enter through their second moments

// NewStatistics makes statistics of p.D columns.
func (Model) NewStatistics(p *Posterior) *Statistics {
	return &Statistics{D: p.D, Squares: make([]float64, p.D*p.D)}
}

// Prepare empties s. Z is integrated out, so there is no q(z) to prepare.
func (Model) Prepare(p *Posterior, tilt *laplace.Tilt, s *Statistics) error {
	if tilt != nil {
		return errors.New("ppca: a variational model has no curvature to tilt by")
	}
	s.reset()
	return nil
}

// Infer adds the second moments of the rows of a block. Its entropy is 0.
func (Model) Infer(b blocks.Rows, p *Posterior, s *Statistics) (float64, error) {
	return 0, s.addRows(b)
}

// Infer adds all rows that the moments stand for.
func (Compressed) Infer(b *lineargaussian.Moments, p *Posterior, s *Statistics) (float64, error) {
	return 0, s.addMoments(b)
}

// ---- Global step

// Maximize makes Steps steps of Adam on fresh draws and averages the iterates; see step.
func (m Model) Maximize(s *Statistics, p, dst *Posterior) (*Posterior, error) {
	m, err := m.resolved()
	if err != nil {
		return nil, err
	}
	dst = p.copyTo(dst)
	dst.begin()
	for range m.Steps {
		if !s.step(dst, m.StepPairs, m.Rate) {
			return dst, fmt.Errorf(
				"ppca: step %d at K = %d: WᵀW + σ²I is not positive definite, or the bound is not finite: the "+
					"loadings dwarf the noise, or the data are near the end of the range; rescale them, or give a larger σ²",
				dst.Optimizer.Steps, p.K,
			)
		}
	}
	return dst, nil
}

// LogJoint is the evidence lower bound at p, from the draws of Seed.
func (m Model) LogJoint(s *Statistics, p *Posterior) float64 {
	b, err := m.Bound(s, p)
	if err != nil {
		return math.NaN() // the engine reports it
	}
	return b.Value
}

// Shape counts W, up to rotation for BIC's sake; σ² is known. W is integrated out, so the
// bound charges for it by itself.
func (Model) Shape(p *Posterior) framework.Shape {
	return framework.Shape{K: p.K, Component: p.D * p.K, Free: p.D*p.K - p.K*(p.K-1)/2}
}
