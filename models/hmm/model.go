package hmm

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// Model is a hidden Markov model with estimated parameters: the state z_t of a step depends on the previous state
// alone, and x_t on z_t alone (Rabiner 1989). ξ_k of state k holds its family's parameters and its row of transition
// probabilities; the probabilities of the first state are shared. [MAP] adds a prior to the estimates, [Variational]
// gives the parameters a posterior.
type Model struct {
	Family    family.Family
	Structure Structure
	Start     family.Start // how a fit starts; chains from left to right start with segments of the sequences
	// Prior is the prior of a state's parameters under which the evidence is computed (see [framework.Evidence]):
	// prior.UnitInformation or conjugate priors of the families; nil selects the default.
	Prior prior.Prior
	// Workers is the number of goroutines inside a long sequence; 0: one a processor. Any number gives the same bits.
	Workers int
}

func (m Model) plan(p *Parameters) (*family.Plan, error) {
	if p.plan != nil && p.plan.Size().Columns == p.D {
		return p.plan, nil
	}
	pl, err := family.NewPlan(m.Family, p.D)
	if err != nil {
		return nil, err
	}
	return pl.Attach(p.Pooled).WithPrior(m.Prior), nil
}

// mustPlan is plan where the parameters come from Init, which has made one.
func (m Model) mustPlan(p *Parameters) *family.Plan {
	pl, err := m.plan(p)
	if err != nil {
		panic(err)
	}
	return pl
}

// Creeps reports whether EM converges slowly for the family.
func (m Model) Creeps() bool { return family.Creeps(m.Family) }

// ---- Start

// Init draws starting parameters: the states like the components of a mixture, and transition probabilities that do
// not depend on the previous state, so that the first local step finds how states follow one another.
func (m Model) Init(
	ctx context.Context, src framework.Source[blocks.Sequences], k int, rng *rand.Rand,
) (*Parameters, error) {
	w, pl, classes, counts, err := begin(ctx, src, m.Family, m.Structure, m.Start, k, rng)
	if err != nil {
		return nil, err
	}
	p := &Parameters{K: k, D: pl.Size().Columns, Pooled: w, plan: pl.WithPrior(m.Prior)}
	q := p.like(nil, pl)
	m.Structure.equalRows(q.Start, q.Transitions, counts)
	if err := m.Structure.beginGates(ctx, src, q); err != nil {
		return nil, err
	}
	if err := m.Structure.begin(q.Start, q.Transitions); err != nil {
		return nil, err
	}
	for j := range k {
		copy(q.Component(j), w.Parameters)
	}
	return q, classes.Estimate(q.Components)
}

// begin returns all steps as one class, and the sums of a start with the steps of each state.
func begin(ctx context.Context, src framework.Source[blocks.Sequences], f family.Family, chain Structure,
	start family.Start, k int, rng *rand.Rand) (*family.Pooled, *family.Plan, *family.Classes, []float64, error) {
	if err := chain.check(); err != nil {
		return nil, nil, nil, nil, err
	}
	steps, _, err := chain.steps(ctx, src)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	if chain.LeftRight > 0 {
		w, pl, err := family.Pool(ctx, steps, f)
		if err != nil {
			return nil, nil, nil, nil, err
		}
		classes, counts, err := chain.segments(ctx, src, pl, w, k, rng)
		return w, pl, classes, counts, err
	}
	w, pl, draw, err := family.PoolAndDraw(ctx, steps, f, rng)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	classes, counts, err := pl.Begin(ctx, steps, w, k, start, draw, rng)
	// states that look the same may be followed by others
	if _, alike := errors.AsType[*family.TooFewRowsError](err); alike && k <= steps.Rows() {
		classes, counts, err = atRandom(ctx, steps, pl, w, k, rng)
	}
	return w, pl, classes, counts, err
}

// atRandom are the sums of a start in which each step has random probabilities of the states.
func atRandom(
	ctx context.Context, steps framework.Source[blocks.Rows], pl *family.Plan, w *family.Pooled, k int, rng *rand.Rand,
) (*family.Classes, []float64, error) {
	rows, err := family.DrawRows(ctx, steps, pl.Size().Columns, rng)
	if err != nil {
		return nil, nil, err
	}
	r := make([]float64, rows.N*k)
	for i := range rows.N {
		row := at(r, i, k)
		for j := range row {
			row[j] = rng.ExpFloat64()
		}
		floats.Scale(rows.Weight(i)/floats.Sum(row), row)
	}
	return sumsOf(pl, w, rows, k, r)
}

// equalRows makes every row of the transitions, and the start, the share of steps in each state, among those that may
// follow.
func (c Structure) equalRows(start, transitions, counts []float64) {
	k := len(start)
	copy(start, counts)
	complete(start, 0)
	for i := range k {
		row := at(transitions, i, k)
		clear(row)
		first, end := c.span(i, k)
		copy(row[first:end], counts[first:end])
		complete(row, i)
	}
}

// ---- Local step; forward and backward are in chain.go, the sums in window.go and long.go

// NewStatistics allocates statistics for p.K states.
func (m Model) NewStatistics(p *Parameters) *Statistics {
	s := newStatistics(m.mustPlan(p), p.K)
	s.gated(m.Structure.gates(p, s))
	return s
}

// Prepare computes what each step and move adds to the log probability of a path. With a tilt a step in state k loses
// D_ξ/(2N_k), and the move after it loses D_a/(2N⁻_k), where D_a is the number of parameters in the row of
// transitions and N⁻_k the number of moves from k.
func (m Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	s.reset(m.mustPlan(p), m.workers())
	s.gated(m.Structure.gates(p, s))
	logOf(s.chain.logStart, p.Start)
	logOf(s.chain.logMove, p.Transitions)
	if err := s.Classes.Prepare(p.Components, p.Hyper, tilt, s.tilt); err != nil {
		return err
	}
	if tilt.Prior() {
		m.Structure.expect(p, tilt, s)
	} else {
		m.Structure.tilt(tilt, s)
	}
	s.chain.set(s.leaving)
	return nil
}

func (m Model) workers() int {
	if m.Workers > 0 {
		return m.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// tilt is what leaving a state loses.
func (c Structure) tilt(tilt *laplace.Tilt, s *Statistics) {
	clear(s.leaving)
	if tilt == nil {
		return
	}
	first := s.K * s.plan.Blocks()
	for k := range s.K {
		count := tilt.Count(first + k)
		s.leaving[k] = tilt.Block(first+k) * count / max(count, leastLeavings) // the derivative of ½ ln(leavings)
	}
}

// Infer adds the sequences of a block.
func (Model) Infer(b blocks.Sequences, _ *Parameters, s *Statistics) (float64, error) {
	return s.infer(b)
}

// ---- Global step

// Maximize sets π_k to the share of sequences that start in state k, a_kl to the share of moves from k that lead to
// l, and the family's parameters to the maximum likelihood estimates from the steps, weighted by their probabilities
// of state k.
func (m Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	pl := m.mustPlan(p)
	dst = p.like(dst, pl)
	if err := s.occupied(); err != nil {
		return dst, err
	}
	if err := m.Structure.estimate(s, p, dst); err != nil {
		return dst, err
	}
	copy(dst.Components, p.Components)
	return dst, s.Classes.Estimate(dst.Components)
}

// occupied returns an error if a state has no step.
func (s *Statistics) occupied() error {
	for k, n := range s.Nk {
		if !(n > 0) {
			return &framework.DegenerateError{Dimension: k, Reason: errors.New("the state has lost all its steps")}
		}
	}
	return nil
}

// estimate puts the chain of greatest likelihood into dst.
func (c Structure) estimate(s *Statistics, p, dst *Parameters) error {
	if c.Covariates > 0 {
		return c.estimateGates(s, p, dst, 0, 0)
	}
	if err := estimateTransitions(dst.Transitions, s.Moves, p.Transitions, s.K); err != nil {
		return err
	}
	switch c.Initial {
	case Free:
		copy(dst.Start, s.Starts)
		complete(dst.Start, 0)
		return nil
	case Stationary:
		return estimateStationary(s, s.Moves, p, dst)
	}
	return c.begin(dst.Start, nil)
}

// LogJoint returns E_q[ln p(X,Z|π,A,ξ)]. The part of moves that depend on covariates is a lower bound, which is exact
// for the parameters of the local step.
func (m Model) LogJoint(s *Statistics, p *Parameters) float64 {
	s.restore(m.mustPlan(p))
	return s.Classes.LogJoint(p.Components) + m.Structure.logChain(s, p)
}

// logChain is E_q[ln p(Z|π,A)] for ξ = moves.
func (s *Statistics) logChain(moves, start, transitions []float64) float64 {
	return multinomial(multinomial(0, s.Starts, start), moves, transitions)
}

// multinomial is sum + Σ n ln p.
func multinomial(sum float64, n, p []float64) float64 {
	for i, v := range n {
		sum += times(v, math.Log(max(p[i], leastProbability)))
	}
	return sum
}

// leastProbability stands for 0 where a logarithm must be finite.
const leastProbability = 1e-300

// Shape counts, for every state, the family's parameters and the free probabilities of the row of transitions. Shared
// are the start and parameters such as a tied covariance.
func (m Model) Shape(p *Parameters) framework.Shape {
	numbers, free := m.mustPlan(p).Counts(p.K, p.Components)
	shape := m.Structure.shape(m.mustPlan(p), p.K, numbers)
	if free < numbers {
		shape.Free = shape.Total() - numbers + free
	}
	return shape
}

// shape is that of k states, of which the family has so many numbers.
func (c Structure) shape(pl *family.Plan, k, numbers int) framework.Shape {
	shape := framework.Shape{K: k, Component: numbers, Shared: c.starts(k) + pl.Size().Shared}
	for i := range k {
		shape.Component += c.free(i, k)
	}
	return shape
}

// Charges lists what BIC charges: ½ ln N for each parameter, where N is the number of steps for the family's
// parameters, the number of steps that are not the last of their sequence for transitions, and the number of
// sequences for the start.
func (m Model) Charges(s *Statistics, p *Parameters) []optional.Charge {
	pl := m.mustPlan(p)
	numbers, free := pl.Counts(p.K, p.Components)
	return m.Structure.charges(s, numbers, free, pl.Size().Shared)
}

// charges are those of so many numbers of the family, of which some are free, and of those that states share.
func (c Structure) charges(s *Statistics, numbers, free, shared int) []optional.Charge {
	moves := 0
	for i := range s.K {
		moves += c.free(i, s.K)
	}
	of := func(parameters int, latent bool, n float64) optional.Charge {
		return optional.Charge{Parameters: parameters, Free: parameters, Latent: latent, N: n}
	}
	own := optional.Charge{Parameters: numbers, Free: free, Latent: true, N: s.N}
	return append(s.charges[:0], own, of(shared, false, s.N),
		of(moves, true, max(1, s.N-s.Sequences)), of(c.starts(s.K), false, s.Sequences))
}

// ---- Curvature

// Curvature adds, for each state, the family's block F_ξk = (N_k/N)·I(ξ_k), and then for each row of transitions
// (N⁻_k/N)·I. The latter uses the coordinates 2√a, in which the information about probabilities is constant
// (docs/theory/hmm.md, section 2).
func (m Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	s.restore(m.mustPlan(p))
	if f.Prior() {
		err := s.Classes.Integrals(f, s.Nk, p.Components, p.Hyper)
		m.Structure.integrals(s, p, f, m.worth())
		return err
	}
	if err := s.Classes.Curvature(f, s.Nk, p.Components, p.observed); err != nil {
		return err
	}
	for k := range s.K {
		// the information about logits differs from step to step: they are charged by the count alone, like gates
		f.Class(k, leavings(s.Left(k)), laplace.Identity(m.Structure.free(k, s.K)))
	}
	return nil
}

// ---- Projection

// Relevance returns, for each state, the approximate loss of gFIC in nats if its steps went to the other states: the
// loss of log-likelihood, computed as if the steps' states were independent given the rest, less the state's share of
// the penalty. It is −Inf for a state without an estimate, and +Inf for one that steps are known to be in.
func (m Model) Relevance(s *Statistics, p *Parameters) ([]float64, error) {
	s.restore(m.mustPlan(p))
	values := slices.Clone(s.Loss)
	if s.Classes.Proper {
		costs, err := s.Classes.Costs(s.Nk, p.Components, p.Hyper)
		if err != nil {
			return slices.Repeat([]float64{math.Inf(-1)}, s.K), nil
		}
		for k, cost := range costs {
			values[k] += m.Structure.redirected(s, p, k) - cost - m.Structure.worth(s, k)
		}
		known.Of(s.plan).Fix(p.Components, values)
		return values, nil
	}
	for k, n := range s.Nk {
		charge, err := s.Classes.Charge(k, n, p.Components, p.observed)
		if err != nil {
			values[k] = math.Inf(-1)
			continue
		}
		values[k] += m.Structure.redirected(s, p, k) - charge - m.Structure.share(s, k)
	}
	known.Of(s.plan).Fix(p.Components, values)
	return values, nil
}

// redirected is what the paths of the other states gain where the probability of state k is theirs: Σ n ln(1 − p_k),
// negative.
func (c Structure) redirected(s *Statistics, p *Parameters, k int) (sum float64) {
	const least = 0x1p-53
	if c.Initial != Gated {
		sum = s.Sequences * math.Log(max(least, 1-p.Start[k]))
	}
	for i := range s.Gates {
		if i != k {
			sum += s.Gates[i].Vacated[k]
		}
	}
	for i := range s.K {
		if i != k && c.Covariates == 0 {
			sum += s.Left(i) * math.Log(max(least, 1-p.Move(i, k)))
		}
	}
	return sum
}

// share is what gFIC charges for the transitions from and to state k, and for beginning in it.
func (c Structure) share(s *Statistics, k int) (sum float64) {
	switch c.Initial {
	case Free:
		sum = math.Log(s.Sequences) / 2
	case Gated:
		sum = float64(c.width()) * math.Log(s.Sequences) / 2
	}
	for i := range s.K {
		count := float64(c.width()) * math.Log(leavings(s.Left(i))) / 2
		first, end := c.span(i, s.K)
		switch {
		case i == k:
			sum += float64(end-first-1) * count
		case first <= k && k < end && end-first > 1:
			sum += count
		}
	}
	return sum
}

// Keep restricts the chain to the states dims. Dropped states are marginalised: a path passes through them
// unobserved, so that moves from left to right stay possible. Dropping states that are not visited changes nothing.
func (m Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	pl := m.mustPlan(p)
	s.restore(pl)
	q := p.keep(dims, pl)
	return s.keep(dims), q, m.Structure.begin(q.Start, q.Transitions)
}

// ---- Scores of sequences

// LogProb returns ln p(x_n1, …, x_nT|Π) of each sequence, in nats.
//
// It computes at every call what depends on p alone, such as roots of covariances: short sequences that come one by one
// are for a Reader, or for a model of package fitted, whose Score any number of goroutines may call.
func (m Model) LogProb(b blocks.Sequences, p *Parameters, dst []float64) ([]float64, error) {
	r, err := m.Reader(p)
	if err != nil {
		return nil, err
	}
	logProb, _, err := r.Score(b, dst, nil)
	return logProb, err
}

// Responsibilities returns p(z_t = k|x) of each step given its whole sequence, steps×K.
func (m Model) Responsibilities(b blocks.Sequences, p *Parameters, dst []float64) ([]float64, error) {
	r, err := m.Reader(p)
	if err != nil {
		return nil, err
	}
	_, smoothed, err := r.Score(b, nil, dst)
	return smoothed, err
}

// LabelEntropy returns the entropy of the paths alone, without that of the family's own latent variables, in nats.
func (Model) LabelEntropy(s *Statistics) float64 { return s.Labels }

// A Reader computes Score, and Viterbi and Filter of [Model], for one block of sequences after another, in one
// goroutine. It computes their common parts once, and allocates nothing for sequences of up to 1,024 steps if the
// slices are large enough.
type Reader struct {
	p *Parameters
	s *Statistics

	best, borders []float64 // of Viterbi: the best ways to the states of the steps of a part, and of each part's last
	origin        []int32   // where they come from
	terms         []float64 // of Filter
}

// Reader returns a Reader of the states of p.
func (m Model) Reader(p *Parameters) (*Reader, error) {
	r := &Reader{p: p, s: m.NewStatistics(p)}
	return r, m.Prepare(p, nil, r.s)
}

// Score returns LogProb and Responsibilities of [Model] at the cost of one. It overwrites the slices from their
// beginnings, and grows those that are too short.
func (r *Reader) Score(b blocks.Sequences, logProb, smoothed []float64) ([]float64, []float64, error) {
	return r.s.score(b, logProb, smoothed)
}

// score puts the log density of each sequence and the smoothed probabilities of each step into two slices.
func (s *Statistics) score(b blocks.Sequences, logProb, smoothed []float64) ([]float64, []float64, error) {
	if err := b.Check(); err != nil {
		return nil, nil, err
	}
	b.Weights = nil
	if s.kept == nil {
		s.kept = new(sink)
	}
	*s.kept = sink{k: s.K, logProb: logProb[:0], smoothed: linalg.Resize(smoothed, b.Steps.N*s.K)}
	s.sink = s.kept
	defer func() { s.sink = nil }()
	_, err := s.infer(b)
	return s.sink.logProb, s.sink.smoothed, err
}

var (
	_ framework.Model[blocks.Sequences, *Parameters, *Statistics] = Model{}
	_ optional.Curved[*Parameters, *Statistics]                   = Model{}
	_ optional.Proper[*Parameters, *Statistics]                   = Model{}
	_ optional.Projector[*Parameters, *Statistics]                = Model{}
	_ optional.Charger[*Parameters, *Statistics]                  = Model{}
	_ optional.LabelEntropy[*Statistics]                          = Model{}
	_ optional.LogProber[blocks.Sequences, *Parameters]           = Model{}
	_ optional.Assigner[blocks.Sequences, *Parameters]            = Model{}
	_ optional.Scaler                                             = (*Statistics)(nil)
)
