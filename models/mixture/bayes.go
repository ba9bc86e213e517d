package mixture

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// A posterior of a mixture's parameters given q(Z) is a Dirichlet distribution of the
// weights and the conjugate posterior of each component. MAP takes its mode, variational
// Bayes keeps it.

// bayes is a plan with its priors.
type bayes struct {
	*plan
	alpha  float64 // a of the weights' symmetric Dirichlet
	priors []conjugate
	units  units
}

// units say what the density of a component's parameters, and of what the components share,
// gains in nats when they are measured in units of the table.
type units struct{ component, shared float64 }

// measured factors have parameters with units.
type measured interface{ units(w *whole) units }

func newBayes(pl *plan, p prior.Prior, weights prior.Dirichlet) (*bayes, error) {
	if weights == (prior.Dirichlet{}) {
		weights.Alpha = 1
	}
	if err := weights.Check(); err != nil {
		return nil, err
	}
	if p != nil {
		if err := p.Check(); err != nil {
			return nil, err
		}
	}
	list, err := pl.conjugates(p)
	b := &bayes{plan: pl, alpha: weights.Alpha, priors: list}
	for i := range pl.parts {
		if f, ok := pl.parts[i].factor.(measured); ok {
			u := f.units(pl.parts[i].whole)
			b.units.component += u.component
			b.units.shared += u.shared
		}
	}
	return b, err
}

// pooledPrior is a conjugate with hyperparameters that all components share.
type pooledPrior interface {
	// pool makes the shared hyperparameters one, from each component's own update.
	pool(hyper table)
	// logProbShared is the log prior density of the shared parameters, which logProb
	// leaves out.
	logProbShared(xi []float64) float64
	// randShared draws the parameters of all components at once.
	randShared(hyper table, rng *rand.Rand, params table)
}

// update puts the posterior hyperparameters of every component into h, K×H.
func (b *bayes) update(s *Statistics, h []float64) {
	for i := range b.parts {
		f := &b.parts[i]
		for k := range s.K {
			b.priors[i].update(f.ofSums(at(s.Sums, k, b.sums)), f.ofAnchor(at(s.Anchor, k, b.anchor)), f.ofHyper(at(h, k, b.hyper)))
		}
		if p, ok := b.priors[i].(pooledPrior); ok {
			p.pool(table{s.K, b.hyper, h[f.at.hyper:]})
		}
	}
}

// each calls do for every factor of a component with its prior.
func (b *bayes) each(do func(f *part, c conjugate) error) error {
	for i := range b.parts {
		if err := do(&b.parts[i], b.priors[i]); err != nil {
			return shift(err, b.parts[i].at.columns)
		}
	}
	return nil
}

// ---- Maximum a posteriori

// MAP is [Model] with the parameters estimated at the mode of their posterior given q(Z):
// its LogJoint holds ln p(Π), so that EM climbs to a mode of p(Π|X). Modes are those of
// the density of the parameters as they are reported, in units of the table: these change
// no mode, but what a component costs, which must not depend on the user's units.
type MAP struct {
	Model
	Prior   prior.Prior     // of a component's parameters, [Priors] for a product of families; nil for the family's default
	Weights prior.Dirichlet // of the weights, Alpha at least 1; the zero value is Dirichlet(1), flat
}

// Init draws starting parameters as [Model] does.
func (m MAP) Init(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (*Parameters, error) {
	p, err := m.Model.Init(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	return m.begin(p)
}

// begin gives starting parameters their prior.
func (m MAP) begin(p *Parameters) (*Parameters, error) {
	var err error
	p.bayes, err = m.bayes(p)
	if err == nil && p.bayes.alpha < 1 {
		err = fmt.Errorf("mixture: the weights' posterior has no mode with Dirichlet(%v): take Alpha ≥ 1, or variational Bayes", p.bayes.alpha)
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

// Maximize is the mode of the posterior given the statistics.
func (m MAP) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	b, err := m.bayes(p)
	if err != nil {
		return dst, err
	}
	dst = p.like(dst, b.plan)
	dst.bayes = b
	s.hyper = linalg.Resize(s.hyper, s.K*b.hyper)
	b.update(s, s.hyper)
	for k, n := range s.Nk {
		dst.Weights[k] = (n + b.alpha - 1) / (s.N + float64(s.K)*(b.alpha-1))
		err := b.each(func(f *part, c conjugate) error {
			return c.mode(f.ofHyper(at(s.hyper, k, b.hyper)), f.ofParams(dst.component(k, b.plan)))
		})
		if err != nil {
			return dst, fmt.Errorf("component %d: %w", k+1, err)
		}
	}
	return dst, nil
}

// LogJoint is E_q[ln p(X,Z|Π)] + ln p(Π).
func (m MAP) LogJoint(s *Statistics, p *Parameters) float64 {
	return m.Model.LogJoint(s, p) + m.LogPrior(p)
}

// LogPrior is ln p(Π), with means, variances and rates in units of the table.
func (m MAP) LogPrior(p *Parameters) float64 {
	b, err := m.bayes(p)
	if err != nil {
		return 0
	}
	sum := prior.Concentrations(uniform(b.alpha, p.K)).LogProb(p.Weights)
	sum += float64(p.K)*b.units.component + b.units.shared
	for k := range p.K {
		_ = b.each(func(f *part, c conjugate) error {
			xi := f.ofParams(p.component(k, b.plan))
			sum += c.logProb(xi)
			if shared, ok := c.(pooledPrior); ok && k == 0 {
				sum += shared.logProbShared(xi)
			}
			return nil
		})
	}
	return sum
}

func uniform(v float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// ---- Variational Bayes

// Posterior is q(Π) of a mixture of K components on D columns: the parameters of
// [Variational].
type Posterior struct {
	K          int       `json:"k"`
	D          int       `json:"d"`
	Weights    []float64 `json:"weights"`    // concentrations of the weights' Dirichlet distribution, K
	Components []float64 `json:"components"` // hyperparameters, K×H row-major
	Whole      *Whole    `json:"whole"`

	bayes *bayes
}

// Variational gives the parameters of a mixture a posterior q(Π) = q(β) Π_k q(ξ_k), found
// together with q(Z) by the same engine: its local step scores with E[ln β_k] and
// E[ln p(x|ξ_k)], its global step adds the statistics to the prior, and LogJoint + H(q(Z))
// is the evidence lower bound (paper K, chapter 4; docs/theory/mixtures.md, section 4).
type Variational struct {
	Family  Family
	Start   Start
	Prior   prior.Prior     // of a component's parameters, [Priors] for a product of families; nil for the family's default
	Weights prior.Dirichlet // of the weights; the zero value is Dirichlet(1), flat
}

func (m Variational) model() Model { return Model{m.Family, m.Start} }

func (m Variational) bayes(p *Posterior) (*bayes, error) {
	if p.bayes != nil {
		return p.bayes, nil
	}
	pl, err := newPlan(m.Family, p.D)
	if err != nil {
		return nil, err
	}
	return newBayes(pl.attach(p.Whole), m.Prior, m.Weights)
}

// mustBayes is bayes where the posterior comes from Init.
func (m Variational) mustBayes(p *Posterior) *bayes {
	b, err := m.bayes(p)
	if err != nil {
		panic(err)
	}
	return b
}

// Init starts as [Model] does.
func (m Variational) Init(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (*Posterior, error) {
	return initVariational(ctx, m, src, denseOf, k, rng)
}

func initVariational[B any, D block](ctx context.Context, m Variational, src framework.Source[B], as func(B) D, k int, rng *rand.Rand) (*Posterior, error) {
	w, pl, err := summarize(ctx, m.model(), src, as)
	if err != nil {
		return nil, err
	}
	s, err := begin(ctx, m.model(), src, as, w, pl, k, rng)
	if err != nil {
		return nil, err
	}
	p := &Posterior{K: k, D: pl.columns, Whole: w}
	if p.bayes, err = newBayes(pl, m.Prior, m.Weights); err != nil {
		return nil, err
	}
	return m.Maximize(s, p, nil)
}

// NewStatistics makes statistics for p.K components.
func (m Variational) NewStatistics(p *Posterior) *Statistics {
	return newStatistics(m.mustBayes(p).plan, p.K)
}

// Prepare computes the expected scores.
func (m Variational) Prepare(p *Posterior, tilt *laplace.Tilt, s *Statistics) error {
	b := m.mustBayes(p)
	s.restore(b.plan)
	s.clear()
	if err := b.expect(p, s); err != nil {
		return err
	}
	s.tilted(tilt)
	return nil
}

// expect puts E[ln β_k] and the expected scores into the scratch memory of s.
func (b *bayes) expect(p *Posterior, s *Statistics) error {
	s.log = prior.Concentrations(p.Weights).ExpectedLog(s.log)
	for k := range p.K {
		err := b.each(func(f *part, c conjugate) error {
			return c.expected(f.ofHyper(at(p.Components, k, b.hyper)), f.ofScore(at(s.score, k, b.score)))
		})
		if err != nil {
			return fmt.Errorf("component %d: %w", k+1, err)
		}
	}
	return nil
}

// Infer adds the rows of a block.
func (Variational) Infer(rows framework.Rows, _ *Posterior, s *Statistics) (float64, error) {
	return infer(s, dense{rows})
}

// Maximize adds the statistics to the prior.
func (m Variational) Maximize(s *Statistics, p, dst *Posterior) (*Posterior, error) {
	b := m.mustBayes(p)
	if dst == nil {
		dst = &Posterior{Weights: make([]float64, p.K), Components: make([]float64, p.K*b.hyper)}
	}
	dst.K, dst.D, dst.Whole, dst.bayes = p.K, p.D, p.Whole, b
	for k, n := range s.Nk {
		dst.Weights[k] = b.alpha + n
	}
	b.update(s, dst.Components)
	return dst, nil
}

// LogJoint is E[ln p(X,Z,Π)] + H(q(Π)) = E[ln p(X,Z|Π)] − KL(q(Π)‖p(Π)).
func (m Variational) LogJoint(s *Statistics, p *Posterior) float64 {
	b := m.mustBayes(p)
	s.restore(b.plan)
	if err := b.expect(p, s); err != nil {
		return nan // the engine reports it
	}
	c := prior.Concentrations(p.Weights)
	sum := s.Base + c.LogNorm() - prior.Dirichlet{Alpha: b.alpha}.LogNorm(p.K)
	for k, n := range s.Nk {
		score := at(s.score, k, b.score)
		sum += (n-c[k]+b.alpha)*s.log[k] + b.total(score, at(s.Sums, k, b.sums), at(s.Anchor, k, b.anchor))
		_ = b.each(func(f *part, c conjugate) error {
			sum -= c.divergence(f.ofHyper(at(p.Components, k, b.hyper)), f.ofScore(score))
			return nil
		})
	}
	return sum
}

// Shape counts as [Model.Shape] does; no criterion for this model charges for it.
func (m Variational) Shape(p *Posterior) framework.Shape {
	return m.model().shape(m.mustBayes(p).plan, p.K)
}

// BoundsEvidence marks the model as variational.
func (Variational) BoundsEvidence() {}

// Responsibilities are q(z_n = k) of each row, rows×K.
func (m Variational) Responsibilities(rows framework.Rows, p *Posterior, dst []float64) ([]float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, err
	}
	_, r, err := judge(s, dense{rows}, nil, dst)
	return r, err
}

// Point is the posterior mean of the parameters. For families whose density is linear in
// them, such as Bernoulli and categorical ones, the mixture at the mean is the predictive
// distribution ∫p(x|Π)q(Π)dΠ.
func (m Variational) Point(p *Posterior) (*Parameters, error) {
	b, err := m.bayes(p)
	if err != nil {
		return nil, err
	}
	q := &Parameters{K: p.K, D: p.D, Weights: prior.Concentrations(p.Weights).Mean(nil), Components: make([]float64, p.K*b.params), Whole: p.Whole, plan: b.plan}
	for k := range p.K {
		_ = b.each(func(f *part, c conjugate) error {
			c.mean(f.ofHyper(at(p.Components, k, b.hyper)), f.ofParams(q.component(k, b.plan)))
			return nil
		})
	}
	return q, nil
}
