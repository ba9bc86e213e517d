package experts

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/logit"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// Model is a mixture with a gate. Class k has the parameters ξ_k. The classes share the gate: D_Θ = (K−1)P for P − 1
// columns and an intercept.
type Model struct {
	Family family.Family
	// Gate lists the columns, from 0, on which ln(π_k/π_l) depends linearly. Without columns the model is a mixture with
	// constant weights.
	Gate []int
	// Columns lists the family's columns, from 0; nil selects all columns outside Gate. A column may be in both.
	Columns []int
	Start   family.Start // how a fit starts
	// ParameterPrior is the prior under which the evidence is computed (see [framework.Evidence]), as for
	// [mixture.Model]. The gate's prior is worth as many rows as prior.UnitInformation's Rows.
	ParameterPrior prior.Prior
}

// mixture is what is behind the gate.
func (m Model) mixture() mixture.Model {
	return mixture.Model{Family: m.Family, Start: m.Start, Prior: m.ParameterPrior}
}

// ---- Start

// Init draws starting parameters: the classes of a mixture, and a gate whose slopes are 0.
func (m Model) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	d, err := width(ctx, src)
	if err != nil {
		return nil, err
	}
	own, err := m.columns(d)
	if err != nil {
		return nil, err
	}
	root, err := logit.RootOf(ctx, src, m.Gate, "the gate", "columns of the gate")
	if err != nil {
		return nil, err
	}
	mix, err := m.mixture().Init(ctx, framework.ColumnsOf(src, own), k, rng)
	if err != nil {
		return nil, shift(err, own)
	}
	p := (&Parameters{D: d, Root: root}).like(nil, mix)
	for j, w := range mix.Weights {
		p.gate(j)[0] = math.Log(w)
	}
	logit.Center(p.Gate, p.width())
	return p, nil
}

// ---- Local step; the gate's part of it is in gate.go

// NewStatistics allocates statistics for the classes of p.
func (m Model) NewStatistics(p *Parameters) *Statistics {
	return newStatistics(m.mixture().NewStatistics(p.Mixture), p)
}

// Prepare computes the scores of the classes. With a tilt, a row of class k loses D_ξ/(2N_k) as in a mixture: the
// gate's part of F does not depend on z.
func (m Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	if s.rows.family == nil {
		own, err := m.columns(p.D)
		if err != nil {
			return err
		}
		s.rows.columns, s.rows.family = m.Gate, own
	}
	s.rows.p, s.rows.s = p, s
	s.Sums.Clear()
	return m.mixture().Prepare(p.Mixture, tilt, s.Mixture)
}

// Infer adds the rows of a block.
func (m Model) Infer(b blocks.Rows, _ *Parameters, s *Statistics) (float64, error) {
	of, err := s.rows.of(b)
	if err != nil {
		return 0, err
	}
	entropy, err := s.Mixture.InferGiven(of, &s.rows)
	return entropy, shift(err, s.rows.family)
}

// ---- Global step

// Maximize returns the maximum likelihood ξ_k of the rows weighted by q_nk, and the gate at the maximum of the bound
// on its likelihood: the regression of working responses on the columns (docs/theory/experts.md, section 2).
func (m Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	return m.maximize(s, p, dst, m.mixture().Maximize, 0)
}

type globalStep func(s *mixture.Statistics, p, dst *mixture.Parameters) (*mixture.Parameters, error)

// maximize is the global step of classes that have one, and of a gate about 0 with some precision.
func (m Model) maximize(s *Statistics, p, dst *Parameters, classes globalStep, precision float64) (*Parameters, error) {
	var mix *mixture.Parameters
	if dst != nil {
		mix = dst.Mixture
	}
	mix, err := classes(s.Mixture, p.Mixture, mix)
	if err != nil {
		return dst, err
	}
	dst = p.like(dst, mix)
	return dst, s.Sums.Maximize(dst.Gate, precision)
}

// LogJoint returns E_q[ln p(X,Z|γ,ξ)] with a lower bound in place of the gate's part. The bound is exact at the gate
// of the local step.
func (m Model) LogJoint(s *Statistics, p *Parameters) float64 {
	return m.mixture().LogConditional(s.Mixture, p.Mixture) + s.Sums.Value(p.Gate)
}

// Shape counts the (K−1)P parameters of the gate, the family's shared parameters, such as a tied covariance, and D_ξ
// for each class.
func (m Model) Shape(p *Parameters) framework.Shape {
	shape := m.mixture().Shape(p.Mixture)
	more := (shape.K - 1) * (p.width() - 1)
	shape.Shared += more
	if shape.Free > 0 {
		shape.Free += more
	}
	return shape
}

// ---- Curvature

// Curvature adds the curvature of a mixture. Under a prior it also adds the gate's part; this does not depend on z.
func (m Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	if f.Prior() {
		f.Shared(s.Sums.Integral(p.Gate, s.Observations(), m.worth()))
	}
	return m.mixture().CurvatureGiven(s.Mixture, p.Mixture, f)
}

// ---- Projection

// Relevance returns, for each class, the immediate loss of gFIC in nats if its rows went to the other classes, less
// the charge for the class; −Inf for a class without an estimate.
func (m Model) Relevance(s *Statistics, p *Parameters) ([]float64, error) {
	values := m.mixture().Worth(s.Mixture, p.Mixture)
	floats.Add(values, s.Vacated)
	floats.AddConst(-float64(p.width())/2*math.Log(s.Observations()), values)
	return values, nil
}

// Keep restricts s and p to the classes dims. The probabilities of dropped classes are divided among the others in
// proportion, which is the softmax over dims.
func (m Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	t, q := framework.KeepAxes(s, p.K(), dims), framework.KeepAxes(p, p.K(), dims)
	var err error
	t.Sums = s.Sums.Keep(dims)
	t.Mixture, q.Mixture, err = m.mixture().Keep(s.Mixture, p.Mixture, dims)
	return t, q, err
}

// ---- Scores of rows

// LogProb returns ln p(x_n|a_n) of each row, in nats: the family's columns given the gate's.
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

// Responsibilities returns p(z_n = k|x_n, a_n), rows×K. As of LogProb, what depends on p is computed at every call.
func (m Model) Responsibilities(b blocks.Rows, p *Parameters, dst []float64) ([]float64, error) {
	score, err := m.Scorer(p)
	if err != nil {
		return nil, err
	}
	_, r, err := score(b, nil, dst)
	return r, err
}

// Scorer returns a function that computes LogProb and Responsibilities, at the cost of one, for one block after
// another, in one goroutine. What depends on p alone is computed once. The function overwrites the slices from their
// beginnings, and grows those that are too short.
func (m Model) Scorer(
	p *Parameters,
) (func(b blocks.Rows, logProb, r []float64) ([]float64, []float64, error), error) {
	s := m.NewStatistics(p)
	return func(b blocks.Rows, logProb, r []float64) ([]float64, []float64, error) {
		of, err := s.rows.of(b)
		if err != nil {
			return nil, nil, err
		}
		logProb, r, err = s.Mixture.ScoreGiven(of, &s.rows, logProb, r)
		return logProb, r, shift(err, s.rows.family)
	}, m.Prepare(p, nil, s)
}

// LabelEntropy returns the entropy of the classes alone, without that of the family's own latent variables, in nats.
func (Model) LabelEntropy(s *Statistics) float64 { return s.Mixture.Labels }

// Condense merges equal rows into one row with their weight (see [optional.Condenser]), unless a column of the
// family is continuous.
func (m Model) Condense(ctx context.Context, src framework.Source[blocks.Rows]) framework.Source[blocks.Rows] {
	return m.mixture().Condense(ctx, src)
}

// ---- Statistics

// Statistics are the sums of a local step: those of a mixture, and those of the bound of the gate.
type Statistics struct {
	Mixture *mixture.Statistics
	logit.Sums

	rows gate
}

func newStatistics(mix *mixture.Statistics, p *Parameters) *Statistics {
	return &Statistics{Mixture: mix, Sums: logit.NewSums(p.K(), p.width())}
}

// Follow empties s and readies it for the local step that lead is ready for (see [optional.Follower]).
func (s *Statistics) Follow(lead *Statistics) {
	s.rows.family, s.rows.columns, s.rows.p, s.rows.s = lead.rows.family, lead.rows.columns, lead.rows.p, s
	s.Sums.Clear()
	s.Mixture.Follow(lead.Mixture)
}

// Observations returns N, the sum of the row weights.
func (s *Statistics) Observations() float64 { return s.Mixture.N }

// Merge adds the sums of another shard, or of another local step with as many classes.
func (s *Statistics) Merge(o *Statistics) {
	s.Mixture.Merge(o.Mixture)
	s.Sums.Merge(&o.Sums)
}

// Scale multiplies the weight of all rows by factor (see [optional.Scaler]).
func (s *Statistics) Scale(factor float64) {
	s.Mixture.Scale(factor)
	s.Sums.Scale(factor)
}

// at cuts row k out of a matrix of n columns.
func at(v []float64, k, n int) []float64 { return v[k*n : (k+1)*n] }

var (
	_ framework.Model[blocks.Rows, *Parameters, *Statistics] = Model{}
	_ optional.Curved[*Parameters, *Statistics]              = Model{}
	_ optional.Proper[*Parameters, *Statistics]              = Model{}
	_ optional.Projector[*Parameters, *Statistics]           = Model{}
	_ optional.LogProber[blocks.Rows, *Parameters]           = Model{}
	_ optional.Assigner[blocks.Rows, *Parameters]            = Model{}
	_ optional.LabelEntropy[*Statistics]                     = Model{}
	_ optional.Condenser[framework.Source[blocks.Rows]]      = Model{}
	_ optional.Scaler                                        = (*Statistics)(nil)
)
