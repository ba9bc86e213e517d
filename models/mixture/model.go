package mixture

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// Model is a mixture Σ_k β_k p(x|ξ_k) whose parameters are estimated (paper G, section
// 2.1): The weights β, on the simplex, are shared, D_Θ = K − 1; ξ_k belongs to component k. The family describes rows
// within a component. [MAP] adds a prior to the estimates, [Variational] gives the parameters a posterior.
type Model struct {
	Family family.Family
	Start  family.Start // how a fit starts
	// Prior is the prior under which the evidence is computed (see [framework.Evidence]): prior.UnitInformation or
	// conjugate priors of the families; nil selects the default.
	Prior prior.Prior
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

// Init draws starting parameters. It reads the source a few times: for the scale of the
// columns, to check every value, and for a sample.
func (m Model) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	w, pl, s, err := begin(ctx, src, m.Family, m.Start, k, rng)
	if err != nil {
		return nil, err
	}
	pl.WithPrior(m.Prior)
	return m.Maximize(s,
		&Parameters{K: k, D: pl.Size().Columns, Components: slices.Repeat(w.Parameters, k), Pooled: w, plan: pl}, nil)
}

// begin returns the statistics of a start.
func begin(
	ctx context.Context, src framework.Source[blocks.Rows], f family.Family, start family.Start, k int, rng *rand.Rand,
) (*family.Pooled, *family.Plan, *Statistics, error) {
	w, pl, draw, err := family.PoolAndDraw(ctx, src, f, rng)
	if err != nil {
		return nil, nil, nil, err
	}
	classes, counts, err := pl.Begin(ctx, src, w, k, start, draw, rng)
	if err != nil {
		return nil, nil, nil, err
	}
	s := newStatistics(pl, k)
	s.N, s.Nk, s.Classes = floats.Sum(counts), counts, classes
	return w, pl, s, nil
}

// ---- Local step; the sums over rows are in statistics.go

// NewStatistics allocates statistics for p.K components.
func (m Model) NewStatistics(p *Parameters) *Statistics { return newStatistics(m.mustPlan(p), p.K) }

// Prepare computes the scores ln β_k + ln p(x|ξ_k) as functions of a row's statistics.
// A tilt lowers them by D_ξ/(2N_k), column by column if values are missing (docs/theory/mixtures.md, section 2).
func (m Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	s.restore(m.mustPlan(p))
	s.clear()
	for k, w := range p.Weights {
		s.log[k] = logOf(w)
	}
	if tilt.Prior() {
		s.log = p.concentrations().ExpectedLog(s.log)
	}
	err := s.Classes.Prepare(p.Components, p.Hyper, tilt, s.tilt)
	s.lowered()
	return err
}

// logOf is the logarithm of a weight; 1e-300 stands for 0, so that it is not infinite.
func logOf(p float64) float64 { return math.Log(max(p, 1e-300)) }

// Infer adds the rows of a block.
func (Model) Infer(b blocks.Rows, _ *Parameters, s *Statistics) (float64, error) {
	return s.infer(b)
}

// ---- Global step

// Maximize sets β_k = N_k/N and ξ_k to the maximum likelihood estimates from the rows weighted by q_nk.
func (m Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	pl := m.mustPlan(p)
	dst = p.like(dst, pl)
	for k, n := range s.Nk {
		if !(n > 0) {
			return dst, &framework.DegenerateError{Dimension: k, Reason: errors.New("the component has lost all its rows")}
		}
		dst.Weights[k] = n / s.N
	}
	copy(dst.Components, p.Components)
	return dst, s.Classes.Estimate(dst.Components)
}

// like returns dst, or new memory, in the shape of p.
func (p *Parameters) like(dst *Parameters, pl *family.Plan) *Parameters {
	if dst == nil {
		dst = &Parameters{Weights: make([]float64, p.K), Components: make([]float64, p.K*pl.Size().Params)}
	}
	dst.K, dst.D, dst.Pooled, dst.plan, dst.observed = p.K, p.D, p.Pooled, pl, pl.Information()
	return dst
}

// LogJoint returns E_q[ln p(X,Z|β,ξ)].
func (m Model) LogJoint(s *Statistics, p *Parameters) float64 {
	sum := m.LogConditional(s, p)
	for k, n := range s.Nk {
		sum += n * logOf(p.Weights[k])
	}
	return sum
}

// Shape counts K − 1 weights, shared parameters such as a tied covariance, and D_ξ parameters for each component.
func (m Model) Shape(p *Parameters) framework.Shape {
	pl := m.mustPlan(p)
	s := shape(pl, p.K)
	numbers, free := pl.Counts(p.K, p.Components)
	if s.Component = numbers; free < numbers {
		s.Free = free + s.Shared
	}
	return s
}

func shape(pl *family.Plan, k int) framework.Shape {
	size := pl.Size()
	return framework.Shape{K: k, Component: k * size.Free, Shared: k - 1 + size.Shared}
}

// LearningCoefficient returns the bound ½ min(jr + j − 1 + (i−j)(r+1)/2, ri + i − 1) for i components of r = D_ξ
// parameters if the truth has j, plus half the number of shared parameters other than weights (see
// [optional.Singular]; Drton & Plummer 2017, section 4.2).
func (m Model) LearningCoefficient(p *Parameters, truth int) float64 {
	pl := m.mustPlan(p)
	_, free := pl.Counts(p.K, p.Components)
	i, j, r := float64(p.K), float64(truth), float64(free)/float64(p.K)
	return (min(j*r+j-1+(i-j)*(r+1)/2, i*r+i-1) + float64(pl.Size().Shared)) / 2
}

// ---- Curvature

// Curvature adds F_ξk = (N_k/N)·I(ξ_k), where I is the Fisher information of a row in the family's unit-free
// coordinates. With the counts alone, FIC is that of Fujimaki and Morinaga (paper G, eq. 1).
func (m Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	if f.Prior() {
		f.Exact(s.weights(p))
	}
	return m.CurvatureGiven(s, p, f)
}

// ---- Projection

// Relevance returns, for each component, the immediate loss of gFIC in nats if its rows went to the other components:
// the loss of log-likelihood less the component's share of the penalty. A negative value means that removing the
// component is a gain; −Inf, that it has no estimate.
func (m Model) Relevance(s *Statistics, p *Parameters) ([]float64, error) {
	values, weight := m.Worth(s, p), math.Log(s.N)/2
	if s.Classes.Proper {
		weight = math.Log((s.N + float64(s.K) - 1) / max(1, float64(s.K)-1)) // what one without rows costs
	}
	for k, n := range s.Nk {
		values[k] += s.N*math.Log1p(-min(n/s.N, 1-0x1p-53)) - weight
	}
	return values, nil
}

// Keep restricts s and p to the components dims. Dropping a degenerate component changes nothing, because its column
// of Z is zero (paper G, section 2.1).
func (m Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	pl := m.mustPlan(p)
	s.restore(pl)
	return s.keep(dims), p.keep(dims, pl), nil
}

// ---- Scores of rows

// LogProb returns ln Σ_k β_k p(x_n|ξ_k) of each row, in nats.
//
// It computes at every call what depends on p alone, such as roots of covariances, which takes a hundred times as long
// as one row does: rows that come one by one are for a Scorer, or for a model of package fitted, whose Score any number
// of goroutines may call.
func (m Model) LogProb(b blocks.Rows, p *Parameters, dst []float64) ([]float64, error) {
	score, err := m.Scorer(p)
	if err != nil {
		return nil, err
	}
	logProb, _, err := score(b, dst, nil)
	return logProb, err
}

// Responsibilities returns p(z_n = k|x_n), rows×K. As of LogProb, what depends on p is computed at every call.
func (m Model) Responsibilities(b blocks.Rows, p *Parameters, dst []float64) ([]float64, error) {
	score, err := m.Scorer(p)
	if err != nil {
		return nil, err
	}
	_, r, err := score(b, nil, dst)
	return r, err
}

// LabelEntropy returns the entropy of the labels alone, without that of the family's own latent variables, in nats.
func (Model) LabelEntropy(s *Statistics) float64 { return s.Labels }

// Scorer returns a function that computes LogProb and Responsibilities, at the cost of one, for one block after
// another, in one goroutine. What depends on p alone is computed once. The function overwrites the slices from their
// beginnings, and grows those that are too short.
func (m Model) Scorer(
	p *Parameters,
) (func(b blocks.Rows, logProb, r []float64) ([]float64, []float64, error), error) {
	s := m.NewStatistics(p)
	return s.score, m.Prepare(p, nil, s)
}

// NoiseProbability returns the probability that each row of a block is noise, computed from the rows' log densities
// (LogProb), in dst, which grows if it is too short. It returns nil unless the family is a [normal.Noise], of rows with
// known classes or without.
func (m Model) NoiseProbability(b blocks.Rows, logProb []float64, p *Parameters, dst []float64) []float64 {
	noise, ok := known.Inner(m.Family).(normal.Noise)
	if !ok {
		return nil
	}
	dst = linalg.Resize(dst, len(logProb))
	if _, labels := m.Family.(known.Family); !labels {
		joint := noise.LogJoint(p.Component(0), p.D)
		for i, l := range logProb {
			dst[i] = min(1, math.Exp(joint-l))
		}
		return dst
	}
	codes, at := m.mustPlan(p).Labeller()
	joint := noise.LogJoint(p.Component(0)[:at.Params], p.D-1)
	for i, l := range logProb {
		share, code := 1.0, b.Row(i)[at.Columns]
		if code == code { // of noise in the classes that the row may be in
			share = 0
			for k, w := range p.Weights {
				if codes.Allows(code, m.Label(p, k)) {
					share += w
				}
			}
		}
		dst[i] = min(1, share*math.Exp(joint-l))
	}
	return dst
}

// Condense merges equal rows into one row with their weight (see [optional.Condenser]), unless a column has a family
// of continuous values, whose rows are hardly ever equal.
func (m Model) Condense(ctx context.Context, src framework.Source[blocks.Rows]) framework.Source[blocks.Rows] {
	return condense(ctx, m.Family, src)
}

func condense(
	ctx context.Context, f family.Family, src framework.Source[blocks.Rows],
) framework.Source[blocks.Rows] {
	if !family.Repeats(f) {
		return src
	}
	return framework.Condense(ctx, src)
}
