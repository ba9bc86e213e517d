package hmm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// A posterior of the parameters given q(Z) is a Dirichlet distribution of the start and of each row of transitions, and
// the conjugate posterior of what is seen in each state. MAP takes its mode, variational Bayes keeps it (MacKay 1997;
// Beal 2003, chapter 3).

// ChainPrior is the prior of the start and transition probabilities. The zero value is flat.
type ChainPrior struct {
	Start prior.Dirichlet // prior of the first state's probabilities, if these are Free; the zero value is Dirichlet(1)
	// prior of each row of transitions, over the states that may follow; the zero value is Dirichlet(1)
	Rows prior.Dirichlet
	Stay float64 // added to the concentration of staying in a state: a sticky chain (Fox et al. 2011)
}

func (c ChainPrior) resolved() (ChainPrior, error) {
	for _, d := range []*prior.Dirichlet{&c.Start, &c.Rows} {
		if *d == (prior.Dirichlet{}) {
			d.Alpha = 1
		}
		if err := d.Check(); err != nil {
			return c, err
		}
	}
	if !(c.Stay >= 0) || math.IsInf(c.Stay, 1) {
		return c, fmt.Errorf("hmm: ChainPrior.Stay is %v; must be a non-negative finite number", c.Stay)
	}
	return c, nil
}

var errCovariates = errors.New("hmm: moves that depend on covariates have no conjugate prior: take Model")

// row are the concentrations of the states from first to end−1 after state k.
func (c ChainPrior) row(k, first, end int) prior.Concentrations {
	list := c.Rows.Concentrations(end - first)
	list[k-first] += c.Stay
	return list
}

// bayes is a plan with its priors.
type bayes struct {
	*family.Posterior
	chain ChainPrior
}

func newBayes(pl *family.Plan, p prior.Prior, chain ChainPrior) (*bayes, error) {
	chain, err := chain.resolved()
	if err != nil {
		return nil, err
	}
	of, err := pl.Posterior(p)
	return &bayes{of, chain}, err
}

// ---- Maximum a posteriori

// MAP is [Model] with parameters estimated at the mode of their posterior given q(Z). Its LogJoint includes ln p(Π),
// so that EM climbs to a mode of p(Π|X). The mode is that of the density of the reported parameters, in the table's
// units.
type MAP struct {
	Model
	// Prior is the prior of a state's parameters, [family.Priors] for a product of families; nil selects the family's
	// default.
	Prior prior.Prior
	Chain ChainPrior // concentrations must be at least 1
}

// Init draws starting parameters as [Model] does.
func (m MAP) Init(
	ctx context.Context, src framework.Source[blocks.Sequences], k int, rng *rand.Rand,
) (*Parameters, error) {
	if m.Structure.Covariates > 0 {
		return nil, errCovariates
	}
	if m.Structure.Initial == Stationary {
		return nil, errors.New(
			"hmm: a prior of the transitions has no closed form beside a stationary start: choose another Initial",
		)
	}
	p, err := m.Model.Init(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	if p.bayes, err = m.bayes(p); err == nil && min(p.bayes.chain.Start.Alpha, p.bayes.chain.Rows.Alpha) < 1 {
		err = fmt.Errorf("hmm: the posterior of the chain has no mode with %+v: take concentrations of at least 1, "+
			"or variational Bayes", p.bayes.chain)
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
	return newBayes(pl, m.Prior, m.Chain)
}

// Maximize returns the mode of the posterior given the statistics.
func (m MAP) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	b, err := m.bayes(p)
	if err != nil {
		return dst, err
	}
	dst = p.like(dst, b.Plan)
	dst.bayes = b
	if err := m.mode(s, b, p, dst); err != nil {
		return dst, err
	}
	s.hyper = linalg.Resize(s.hyper, s.K*b.Size().Hyper)
	b.Update(s.Classes, s.hyper)
	return dst, b.Mode(s.hyper, dst.Components)
}

// mode puts the chain of greatest density into dst: that of greatest likelihood, with the prior's counts besides.
func (m MAP) mode(s *Statistics, b *bayes, p, dst *Parameters) error {
	s.counts = append(s.counts[:0], s.Moves...)
	for k := range s.K {
		first, end := m.Structure.span(k, s.K)
		row := at(s.counts, k, s.K)
		for j := first; j < end; j++ {
			row[j] += b.chain.Rows.Alpha - 1
		}
		row[k] += b.chain.Stay
	}
	if err := estimateTransitions(dst.Transitions, s.counts, p.Transitions, s.K); err != nil {
		return err
	}
	if m.Structure.Initial != Free {
		return m.Structure.begin(dst.Start, dst.Transitions)
	}
	for k, n := range s.Starts {
		dst.Start[k] = n + b.chain.Start.Alpha - 1
	}
	complete(dst.Start, 0)
	return nil
}

// LogJoint returns E_q[ln p(X,Z|Π)] + ln p(Π).
func (m MAP) LogJoint(s *Statistics, p *Parameters) float64 {
	return m.Model.LogJoint(s, p) + m.LogPrior(p)
}

// LogPrior returns ln p(Π) in nats, for means, variances and rates in the table's units.
func (m MAP) LogPrior(p *Parameters) float64 {
	b, err := m.bayes(p)
	if err != nil {
		return 0
	}
	sum := b.LogPrior(p.Components)
	if m.Structure.Initial == Free {
		sum += b.chain.Start.Concentrations(p.K).LogProb(p.Start)
	}
	for k := range p.K {
		first, end := m.Structure.span(k, p.K)
		sum += b.chain.row(k, first, end).LogProb(at(p.Transitions, k, p.K)[first:end])
	}
	return sum
}

// Infer adds the sequences of a block.
func (m MAP) Infer(b blocks.Sequences, p *Parameters, s *Statistics) (float64, error) {
	return m.Model.Infer(b, p, s)
}

// ---- Variational Bayes

// Posterior is q(Π) of a hidden Markov model with K states and D columns: the parameters of [Variational].
type Posterior struct {
	K int `json:"k" keep:"count"`
	D int `json:"d"`
	// concentrations of the first state, K; used if Initial is Free
	Start       []float64      `json:"start" keep:"rows"`
	Transitions []float64      `json:"transitions" keep:"both"` // concentrations of each row, K×K; 0 for impossible moves
	Components  []float64      `json:"components" keep:"rows"`  // hyperparameters, K×H row-major
	Pooled      *family.Pooled `json:"pooled"`

	bayes *bayes
}

// Rescale gives the posterior the scale, and with it the prior, of another with the same columns.
func (p *Posterior) Rescale(of *Posterior) { p.Pooled, p.bayes = of.Pooled, nil }

// Variational gives the parameters a posterior q(Π) = q(π) Π_k q(a_k) q(ξ_k), which the engine fits together with
// q(Z). Forward and backward recursions use exp(E[ln π]), exp(E[ln a]) and E[ln p(x|ξ_k)], and LogJoint + H(q(Z)) is
// the evidence lower bound. Redundant states lose their steps, and [framework.PrunedEM] drops them.
type Variational struct {
	Family    family.Family
	Structure Structure // Stationary has no conjugate prior
	Start     family.Start
	// Prior is the prior of a state's parameters, [family.Priors] for a product of families; nil selects the family's
	// default.
	Prior   prior.Prior
	Chain   ChainPrior
	Workers int // as in [Model]
}

func (m Variational) bayes(p *Posterior) (*bayes, error) {
	if p.bayes != nil {
		return p.bayes, nil
	}
	pl, err := family.NewPlan(m.Family, p.D)
	if err != nil {
		return nil, err
	}
	return newBayes(pl.Attach(p.Pooled), m.Prior, m.Chain)
}

// mustBayes is bayes where the posterior comes from Init.
func (m Variational) mustBayes(p *Posterior) *bayes {
	b, err := m.bayes(p)
	if err != nil {
		panic(err)
	}
	return b
}

// Init starts as [Model] does. Variances have no floor, because the prior keeps their posteriors away from 0.
func (m Variational) Init(
	ctx context.Context, src framework.Source[blocks.Sequences], k int, rng *rand.Rand,
) (*Posterior, error) {
	if m.Structure.Covariates > 0 {
		return nil, errCovariates
	}
	if m.Structure.Initial == Stationary {
		return nil, errors.New("hmm: a stationary start has no conjugate prior: choose another Initial")
	}
	w, pl, classes, counts, err := begin(ctx, src, family.WithFloor(m.Family, family.NoFloor), m.Structure, m.Start, k,
		rng)
	if err != nil {
		return nil, err
	}
	b, err := newBayes(pl, m.Prior, m.Chain)
	if err != nil {
		return nil, err
	}
	p := &Posterior{K: k, D: pl.Size().Columns, Pooled: w, bayes: b}
	s := newStatistics(pl, k)
	s.Classes, s.Nk = classes, counts
	m.Structure.equalRows(s.Starts, s.Moves, counts)
	for i := range k {
		linalg.Scale(counts[i], at(s.Moves, i, k))
	}
	return m.Maximize(s, p, nil)
}

// NewStatistics allocates statistics for p.K states.
func (m Variational) NewStatistics(p *Posterior) *Statistics {
	return newStatistics(m.mustBayes(p).Plan, p.K)
}

// Prepare computes the expected log probabilities of steps and moves.
func (m Variational) Prepare(p *Posterior, tilt *laplace.Tilt, s *Statistics) error {
	b := m.mustBayes(p)
	s.reset(b.Plan, Model{Workers: m.Workers}.workers())
	m.expected(p, s.chain.logStart, s.chain.logMove)
	if err := b.Prepare(s.Classes, p.Components, tilt, s.tilt); err != nil {
		return err
	}
	m.Structure.tilt(tilt, s)
	s.chain.set(s.leaving)
	return nil
}

// expected puts E[ln π] and E[ln a] into start and moves, −Inf of what is impossible.
func (m Variational) expected(p *Posterior, start, moves []float64) {
	linalg.Fill(moves, math.Inf(-1))
	for k := range p.K {
		first, end := m.Structure.span(k, p.K)
		prior.Concentrations(at(p.Transitions, k, p.K)[first:end]).ExpectedLog(at(moves, k, p.K)[first:end])
	}
	if m.Structure.Initial == Free {
		prior.Concentrations(p.Start).ExpectedLog(start)
		return
	}
	_ = m.Structure.begin(start, nil) // which errs for a stationary one alone
	logOf(start, start)
}

// Infer adds the sequences of a block.
func (Variational) Infer(b blocks.Sequences, _ *Posterior, s *Statistics) (float64, error) {
	return s.infer(b)
}

// Maximize updates the posterior: it adds the statistics to the prior.
func (m Variational) Maximize(s *Statistics, p, dst *Posterior) (*Posterior, error) {
	b := m.mustBayes(p)
	if dst == nil {
		dst = &Posterior{
			Start: make([]float64, p.K), Transitions: make([]float64, p.K*p.K), Components: make([]float64, p.K*b.Size().Hyper),
		}
	}
	dst.K, dst.D, dst.Pooled, dst.bayes = p.K, p.D, p.Pooled, b
	for k, n := range s.Starts {
		dst.Start[k] = b.chain.Start.Alpha + n
		first, end := m.Structure.span(k, p.K)
		row := at(dst.Transitions, k, p.K)
		for j := first; j < end; j++ {
			row[j] = b.chain.Rows.Alpha + s.Moves[k*p.K+j]
		}
		row[k] += b.chain.Stay
	}
	b.Update(s.Classes, dst.Components)
	return dst, nil
}

// LogJoint returns E[ln p(X,Z,Π)] + H(q(Π)) = E[ln p(X,Z|Π)] − KL(q(Π)‖p(Π)).
func (m Variational) LogJoint(s *Statistics, p *Posterior) float64 {
	b := m.mustBayes(p)
	s.restore(b.Plan)
	s.expectedStart, s.expectedMoves = linalg.Resize(s.expectedStart, p.K), linalg.Resize(s.expectedMoves, p.K*p.K)
	m.expected(p, s.expectedStart, s.expectedMoves)
	sum := b.LogJoint(s.Classes, p.Components)
	if m.Structure.Initial == Free {
		sum += gained(s.Starts, p.Start, s.expectedStart, b.chain.Start.Alpha) - b.chain.Start.LogNorm(p.K)
	} else {
		for k, n := range s.Starts {
			sum += times(n, s.expectedStart[k])
		}
	}
	for k := range p.K {
		first, end := m.Structure.span(k, p.K)
		of := func(v []float64) []float64 { return at(v, k, p.K)[first:end] }
		sum += gained(of(s.Moves), of(p.Transitions), of(s.expectedMoves), b.chain.Rows.Alpha) +
			b.chain.Stay*s.expectedMoves[k*p.K+k]
		sum -= b.chain.logNorm(end - first)
	}
	return sum
}

// gained is Σ (n + alpha − c) E[ln p] + ln Z(c) for Dirichlet concentrations c.
func gained(n, c, expected []float64, alpha float64) float64 {
	sum := prior.Concentrations(c).LogNorm()
	for i, e := range expected {
		sum += (n[i] + alpha - c[i]) * e
	}
	return sum
}

// logNorm is the logarithm of the prior's norm, of a row of so many states.
func (c ChainPrior) logNorm(n int) float64 {
	if c.Stay == 0 {
		return c.Rows.LogNorm(n)
	}
	return c.row(0, 0, n).LogNorm()
}

// Shape counts as [Model.Shape] does, but no criterion of this model charges by it.
func (m Variational) Shape(p *Posterior) framework.Shape {
	pl := m.mustBayes(p).Plan
	return m.Structure.shape(pl, p.K, p.K*pl.Size().Free)
}

// BoundsEvidence marks the model as optional.Variational.
func (Variational) BoundsEvidence() {}

// LabelEntropy returns the entropy of the paths alone, without that of the family's own latent variables, in nats.
func (Variational) LabelEntropy(s *Statistics) float64 { return s.Labels }

// Relevance returns the expected number of steps in each state.
func (m Variational) Relevance(s *Statistics, p *Posterior) ([]float64, error) {
	values := slices.Clone(s.Nk)
	known.Of(m.mustBayes(p).Plan).FixPosterior(p.Components, values)
	return values, nil
}

// Keep restricts the chain to the states dims, as Model's Keep does.
func (m Variational) Keep(s *Statistics, p *Posterior, dims []int) (*Statistics, *Posterior, error) {
	b := m.mustBayes(p)
	s.restore(b.Plan)
	q := framework.KeepAxes(p, p.K, dims)
	q.bayes = b
	return s.keep(dims), q, nil
}

// Responsibilities returns q(z_t = k) of each step, steps×K.
func (m Variational) Responsibilities(b blocks.Sequences, p *Posterior, dst []float64) ([]float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, err
	}
	_, smoothed, err := s.score(b, nil, dst)
	return smoothed, err
}

// Point returns the posterior mean of the parameters.
func (m Variational) Point(p *Posterior) (*Parameters, error) {
	b, err := m.bayes(p)
	if err != nil {
		return nil, err
	}
	q := (&Parameters{K: p.K, D: p.D, Pooled: p.Pooled}).like(nil, b.Plan)
	b.Mean(p.Components, q.Components)
	for k := range p.K {
		copy(at(q.Transitions, k, p.K), at(p.Transitions, k, p.K))
		complete(at(q.Transitions, k, p.K), k)
	}
	copy(q.Start, p.Start)
	complete(q.Start, 0)
	if m.Structure.Initial == Free {
		return q, nil
	}
	return q, m.Structure.begin(q.Start, q.Transitions)
}

var (
	_ framework.Model[blocks.Sequences, *Parameters, *Statistics] = MAP{}
	_ optional.Penalized[*Parameters]                             = MAP{}
	_ framework.Model[blocks.Sequences, *Posterior, *Statistics]  = Variational{}
	_ optional.Variational                                        = Variational{}
	_ optional.Projector[*Posterior, *Statistics]                 = Variational{}
	_ optional.Assigner[blocks.Sequences, *Posterior]             = Variational{}
)
