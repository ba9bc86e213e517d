package mixture

import (
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
)

// Model is a mixture Σ_k β_k p(x|ξ_k) whose parameters are estimated (paper G, section
// 2.1): β on the simplex is shared, D_Θ = K − 1, and ξ_k belongs to component k.
// [MAP] adds a prior to the estimates, [Variational] gives the parameters a posterior.
type Model struct {
	Family Family
	Start  Start // how a fit begins
}

func (m Model) plan(p *Parameters) (*plan, error) {
	if p.plan != nil && p.plan.columns == p.D {
		return p.plan, nil
	}
	pl, err := newPlan(m.Family, p.D)
	if err != nil {
		return nil, err
	}
	return pl.attach(p.Whole), nil
}

// mustPlan is plan where the parameters come from Init, which has made one.
func (m Model) mustPlan(p *Parameters) *plan {
	pl, err := m.plan(p)
	if err != nil {
		panic(err)
	}
	return pl
}

// ---- Start: Init, in start.go

// ---- Local step; the sums over rows are in statistics.go

// NewStatistics makes statistics for p.K components.
func (m Model) NewStatistics(p *Parameters) *Statistics { return newStatistics(m.mustPlan(p), p.K) }

// Prepare computes the scores ln β_k + ln p(x|ξ_k) as functions of a row's statistics.
// With a tilt they are lowered by D_ξ/(2N_k), column by column where values are missing
// (docs/theory/mixtures.md, section 2).
func (m Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	pl := m.mustPlan(p)
	s.restore(pl)
	s.clear()
	for k := range p.K {
		s.log[k] = logOf(p.Weights[k])
		if err := pl.natural(p.component(k, pl), at(s.score, k, pl.score)); err != nil {
			return fmt.Errorf("component %d: %w", k+1, err)
		}
	}
	s.tilted(tilt)
	return nil
}

// tilted sets the anchors and takes the tilt off the scores.
func (s *Statistics) tilted(tilt *laplace.Tilt) {
	for k := range s.K {
		score := at(s.score, k, s.plan.score)
		s.plan.locate(score, at(s.Anchor, k, s.plan.anchor))
		if tilt != nil {
			s.log[k] -= s.plan.penalise(tilt, k, score)
		}
	}
}

var nan = math.NaN()

// least stands for a probability of 0, so that no logarithm is infinite.
const least = 1e-300

func logOf(p float64) float64 { return math.Log(max(p, least)) }

// Infer adds the rows of a block.
func (Model) Infer(b framework.Rows, _ *Parameters, s *Statistics) (float64, error) {
	return infer(s, dense{b})
}

// ---- Global step

// Maximize is β_k = N_k/N and the maximum likelihood ξ_k of the rows weighted by q_nk.
func (m Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	pl := m.mustPlan(p)
	dst = p.like(dst, pl)
	for k, n := range s.Nk {
		if !(n > 0) {
			return dst, fmt.Errorf("mixture: component %d has lost all its rows: %w; lower K", k+1, framework.ErrDegenerate)
		}
		dst.Weights[k] = n / s.N
	}
	return dst, pl.estimate(s, dst.Components)
}

// like returns dst, or new memory, in the shape of p.
func (p *Parameters) like(dst *Parameters, pl *plan) *Parameters {
	if dst == nil {
		dst = &Parameters{Weights: make([]float64, p.K), Components: make([]float64, p.K*pl.params)}
	}
	dst.K, dst.D, dst.Whole, dst.plan = p.K, p.D, p.Whole, pl
	return dst
}

// LogJoint is E_q[ln p(X,Z|β,ξ)].
func (m Model) LogJoint(s *Statistics, p *Parameters) float64 {
	pl := m.mustPlan(p)
	s.restore(pl)
	sum := s.Base
	for k, n := range s.Nk {
		score := at(s.score, k, pl.score)
		if err := pl.natural(p.component(k, pl), score); err != nil {
			return nan // the engine reports it
		}
		sum += n*logOf(p.Weights[k]) + pl.total(score, at(s.Sums, k, pl.sums), at(s.Anchor, k, pl.anchor))
	}
	return sum
}

// Shape counts K − 1 weights, shared parameters such as a tied covariance, and D_ξ a
// component.
func (m Model) Shape(p *Parameters) framework.Shape {
	return m.shape(m.mustPlan(p), p.K)
}

func (Model) shape(pl *plan, k int) framework.Shape {
	return framework.Shape{K: k, Component: k * pl.free, Shared: k - 1 + pl.shared}
}

// ---- Curvature

// Curvature is F_ξk = (N_k/N)·I(ξ_k), with I the Fisher information of a row in the
// family's unit-free coordinates. FIC, which takes the counts alone, is Fujimaki and Morinaga's
// (paper G, eq. 1).
func (m Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	pl := m.mustPlan(p)
	for len(s.units) < s.K {
		s.units = append(s.units, nil)
	}
	for k, n := range s.Nk {
		s.units[k] = pl.curvature(f, k, at(s.Sums, k, pl.sums), n, p.component(k, pl), s.units[k])
	}
	return nil
}

// ---- Projection

// Relevance is what gFIC would lose at once, in nats, if a component were left out and its
// rows went to the others: the rows' log-likelihood less the component's share of the
// penalty. Negative values promise a gain; −Inf, a component whose estimate does not exist.
func (m Model) Relevance(s *Statistics, p *Parameters) ([]float64, error) {
	pl := m.mustPlan(p)
	values, xi := slices.Clone(s.Loss), make([]float64, pl.params)
	var f laplace.Curvature
	var units []laplace.Block
	for k, n := range s.Nk {
		one := &Statistics{K: 1, Sums: at(s.Sums, k, pl.sums), Anchor: at(s.Anchor, k, pl.anchor)}
		if !(n > 0) || pl.estimate(one, xi) != nil {
			values[k] = math.Inf(-1)
			continue
		}
		f.Reset(s.N, false)
		units = pl.curvature(&f, 0, one.Sums, n, xi, units)
		values[k] += s.N*math.Log1p(-min(n/s.N, 1-0x1p-53)) - f.LogDet()/2 - float64(pl.free+1)/2*math.Log(s.N)
	}
	return values, nil
}

// Keep keeps some components: the column of Z that belongs to a degenerate one is zero,
// and leaving it out changes nothing (paper G, section 2.1).
func (m Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	pl := m.mustPlan(p)
	s.restore(pl)
	return s.keep(dims), p.keep(dims, pl), nil
}

// ---- Judging rows

// LogProb is ln Σ_k β_k p(x_n|ξ_k) of each row, in nats.
func (m Model) LogProb(b framework.Rows, p *Parameters, dst []float64) ([]float64, error) {
	logProb, _, err := m.Judge(b, p, dst, nil)
	return logProb, err
}

// Responsibilities are p(z_n = k|x_n), rows×K.
func (m Model) Responsibilities(b framework.Rows, p *Parameters, dst []float64) ([]float64, error) {
	_, r, err := m.Judge(b, p, nil, dst)
	return r, err
}

// Judge gives both at the cost of one; the slices are overwritten from their beginnings, and
// grow where they are too short.
func (m Model) Judge(b framework.Rows, p *Parameters, logProb, r []float64) ([]float64, []float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, nil, err
	}
	return judge(s, dense{b}, logProb, r)
}
