package mixture

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// A posterior of a mixture's parameters given q(Z) is a Dirichlet distribution of the
// weights and the conjugate posterior of each component. MAP takes its mode, variational
// Bayes keeps it.

// bayes is a plan with its priors.
type bayes struct {
	*family.Posterior
	alpha float64 // a of the weights' symmetric Dirichlet
}

func newBayes(pl *family.Plan, p prior.Prior, weights prior.Dirichlet) (*bayes, error) {
	if weights == (prior.Dirichlet{}) {
		weights.Alpha = 1
	}
	if err := weights.Check(); err != nil {
		return nil, err
	}
	of, err := pl.Posterior(p)
	return &bayes{of, weights.Alpha}, err
}

// ---- Maximum a posteriori

// MAP is [Model] with parameters estimated at the mode of their posterior given q(Z). Its LogJoint includes ln p(Π),
// so that EM climbs to a mode of p(Π|X). The mode is that of the density of the reported parameters, in standard
// units of the table: units do not move a mode, but they would change the cost of a component, which must not depend
// on the user's units.
type MAP struct {
	Model
	// Prior is the prior of a component's parameters, [family.Priors] for a product of families; nil selects the
	// family's default.
	Prior   prior.Prior
	Weights prior.Dirichlet // prior of the weights, Alpha at least 1; the zero value is Dirichlet(1), flat
}

// Init draws starting parameters as [Model] does.
func (m MAP) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	p, err := m.Model.Init(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	if p.bayes, err = m.bayes(p); err == nil && p.bayes.alpha < 1 {
		err = fmt.Errorf("mixture: the weights' posterior has no mode with Dirichlet(%v): take Alpha ≥ 1, or "+
			"variational Bayes", p.bayes.alpha)
	}
	return p, err
}

func (m MAP) bayes(p *Parameters) (*bayes, error) {
	if p.bayes != nil {
		return p.bayes, nil
	}
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	return newBayes(pl, m.Prior, m.Weights)
}

// Maximize returns the mode of the posterior given the statistics.
func (m MAP) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	b, err := m.bayes(p)
	if err != nil {
		return dst, err
	}
	dst = p.like(dst, b.Plan)
	dst.bayes = b
	for k, n := range s.Nk {
		dst.Weights[k] = (n + b.alpha - 1) / (s.N + float64(s.K)*(b.alpha-1))
	}
	s.hyper = linalg.Resize(s.hyper, s.K*b.Size().Hyper)
	b.Update(s.Classes, s.hyper)
	return dst, b.Mode(s.hyper, dst.Components)
}

// LogJoint returns E_q[ln p(X,Z|Π)] + ln p(Π).
func (m MAP) LogJoint(s *Statistics, p *Parameters) float64 {
	return m.Model.LogJoint(s, p) + m.LogPrior(p)
}

// LogPrior returns ln p(Π), with means, variances and rates in units of the table.
func (m MAP) LogPrior(p *Parameters) float64 {
	b, err := m.bayes(p)
	if err != nil {
		return 0
	}
	return prior.Dirichlet{Alpha: b.alpha}.Concentrations(p.K).LogProb(p.Weights) + b.LogPrior(p.Components)
}

// ---- Variational Bayes

// Posterior is q(Π) of a mixture of K components on D columns: the parameters of
// [Variational].
type Posterior struct {
	K          int            `json:"k" keep:"count"`
	D          int            `json:"d"`
	Weights    []float64      `json:"weights" keep:"rows"`    // concentrations of the weights' Dirichlet distribution, K
	Components []float64      `json:"components" keep:"rows"` // hyperparameters, K×H row-major
	Pooled     *family.Pooled `json:"pooled"`

	bayes *bayes
}

// Rescale gives the posterior the scale, and with it the prior, of another with the same columns.
func (p *Posterior) Rescale(of *Posterior) { p.Pooled, p.bayes = of.Pooled, nil }

// Variational gives the parameters of a mixture a posterior q(Π) = q(β) Π_k q(ξ_k), which the engine fits together
// with q(Z). Its local step scores with E[ln β_k] and E[ln p(x|ξ_k)], its global step adds the statistics to the
// prior, and LogJoint + H(q(Z)) is the evidence lower bound (paper K, chapter 4; docs/theory/mixtures.md, section 4).
type Variational struct {
	Family family.Family
	Start  family.Start
	// Prior is the prior of a component's parameters, [family.Priors] for a product of families; nil selects the
	// family's default.
	Prior   prior.Prior
	Weights prior.Dirichlet // prior of the weights; the zero value is Dirichlet(1), flat
}

func (m Variational) bayes(p *Posterior) (*bayes, error) {
	if p.bayes != nil {
		return p.bayes, nil
	}
	pl, err := family.NewPlan(m.Family, p.D)
	if err != nil {
		return nil, err
	}
	return newBayes(pl.Attach(p.Pooled), m.Prior, m.Weights)
}

// mustBayes is bayes where the posterior comes from Init.
func (m Variational) mustBayes(p *Posterior) *bayes {
	b, err := m.bayes(p)
	if err != nil {
		panic(err)
	}
	return b
}

// Init starts as [Model] does. Variances have no floor, because the prior keeps their posteriors away from 0. It
// returns an error for constant and dependent columns, from which the prior alone would create evidence.
func (m Variational) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Posterior, error) {
	w, pl, s, err := begin(ctx, src, family.WithFloor(m.Family, family.NoFloor), m.Start, k, rng)
	if err != nil {
		return nil, err
	}
	p := &Posterior{K: k, D: pl.Size().Columns, Pooled: w}
	if p.bayes, err = newBayes(pl, m.Prior, m.Weights); err != nil {
		return nil, err
	}
	return m.Maximize(s, p, nil)
}

// NewStatistics allocates statistics for p.K components.
func (m Variational) NewStatistics(p *Posterior) *Statistics {
	return newStatistics(m.mustBayes(p).Plan, p.K)
}

// Prepare computes the expected log probabilities.
func (m Variational) Prepare(p *Posterior, tilt *laplace.Tilt, s *Statistics) error {
	b := m.mustBayes(p)
	s.restore(b.Plan)
	s.clear()
	s.log = prior.Concentrations(p.Weights).ExpectedLog(s.log)
	err := b.Prepare(s.Classes, p.Components, tilt, s.tilt)
	s.lowered()
	return err
}

// Infer adds the rows of a block.
func (Variational) Infer(b blocks.Rows, _ *Posterior, s *Statistics) (float64, error) {
	return s.infer(b)
}

// Maximize updates the posterior: it adds the statistics to the prior.
func (m Variational) Maximize(s *Statistics, p, dst *Posterior) (*Posterior, error) {
	b := m.mustBayes(p)
	if dst == nil {
		dst = &Posterior{Weights: make([]float64, p.K), Components: make([]float64, p.K*b.Size().Hyper)}
	}
	dst.K, dst.D, dst.Pooled, dst.bayes = p.K, p.D, p.Pooled, b
	for k, n := range s.Nk {
		dst.Weights[k] = b.alpha + n
	}
	b.Update(s.Classes, dst.Components)
	return dst, nil
}

// LogJoint returns E[ln p(X,Z,Π)] + H(q(Π)) = E[ln p(X,Z|Π)] − KL(q(Π)‖p(Π)).
func (m Variational) LogJoint(s *Statistics, p *Posterior) float64 {
	b := m.mustBayes(p)
	s.restore(b.Plan)
	c := prior.Concentrations(p.Weights)
	s.log = c.ExpectedLog(s.log)
	sum := b.LogJoint(s.Classes, p.Components) + c.LogNorm() - prior.Dirichlet{Alpha: b.alpha}.LogNorm(p.K)
	for k, n := range s.Nk {
		sum += (n - c[k] + b.alpha) * s.log[k]
	}
	return sum
}

// Shape counts as [Model.Shape] does, but no criterion of this model charges by it.
func (m Variational) Shape(p *Posterior) framework.Shape { return shape(m.mustBayes(p).Plan, p.K) }

// BoundsEvidence marks the model as optional.Variational.
func (Variational) BoundsEvidence() {}

// LabelEntropy returns the entropy of the labels alone, without that of the family's own latent variables, in nats.
func (Variational) LabelEntropy(s *Statistics) float64 { return s.Labels }

// Responsibilities returns q(z_n = k) of each row, rows×K.
func (m Variational) Responsibilities(b blocks.Rows, p *Posterior, dst []float64) ([]float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, err
	}
	_, r, err := s.score(b, nil, dst)
	return r, err
}

// Point returns the posterior mean of the parameters. For families whose density is linear in the parameters, such as
// Bernoulli and categorical ones, the mixture at the mean is the predictive distribution ∫p(x|Π)q(Π)dΠ.
func (m Variational) Point(p *Posterior) (*Parameters, error) {
	b, err := m.bayes(p)
	if err != nil {
		return nil, err
	}
	q := &Parameters{
		K:          p.K,
		D:          p.D,
		Weights:    prior.Concentrations(p.Weights).Mean(nil),
		Components: make([]float64, p.K*b.Size().Params),
		Pooled:     p.Pooled,
		plan:       b.Plan,
	}
	b.Mean(p.Components, q.Components)
	return q, nil
}

// Condense returns [Model.Condense].
func (m Variational) Condense(
	ctx context.Context, src framework.Source[blocks.Rows],
) framework.Source[blocks.Rows] {
	return condense(ctx, m.Family, src)
}
