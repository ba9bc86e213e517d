// Package geometric is a mixture of geometric distributions of counts, written twice: as a log density ([Density]) for
// package numeric, and as a model with its own steps ([Model]). docs/guides/new-model.md walks through it.
//
//	p(x|z=k) = p_k (1 − p_k)ˣ,  x = 0, 1, 2, …
package geometric

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/laplace"
)

// Density is the geometric distribution, ξ = p.
type Density struct{}

// Layout has one number a component.
func (Density) Layout(int) numeric.Layout {
	return numeric.Layout{Columns: 1, Component: []numeric.Parameter{numeric.Probability("p", 1).In(coordinate)}}
}

// LogProb is ln p(x|p); −Inf where x is no count.
func (Density) LogProb(x, p, _ []float64) float64 {
	if x[0] < 0 || x[0] != math.Trunc(x[0]) {
		return math.Inf(-1)
	}
	if x[0] == 0 {
		return math.Log(p[0])
	}
	return math.Log(p[0]) + x[0]*math.Log1p(-p[0])
}

// coordinate is dφ/dp where the information 1/(p²(1 − p)) of a row becomes 1.
func coordinate(p, _ float64) float64 { return 1 / (p * math.Sqrt(1-p)) }

// Parameters are Π: weights β (shared) and probabilities p (of the components).
type Parameters struct {
	Weights []float64 `keep:"weights"`
	P       []float64 `keep:"rows"`
}

// Statistics are sums over rows, of each component: Σ q_nk and Σ q_nk x_n.
type Statistics struct {
	N       float64
	Nk, Sum []float64 `keep:"rows"`

	score, rest, q []float64 // scratch: ln β_k p_k, ln(1 − p_k), q of a row
}

// Observations is N.
func (s *Statistics) Observations() float64 { return s.N }

// Merge adds sums.
func (s *Statistics) Merge(o *Statistics) {
	s.N += o.N
	for k := range s.Nk {
		s.Nk[k] += o.Nk[k]
		s.Sum[k] += o.Sum[k]
	}
}

// Model is the mixture as the engine sees it.
type Model struct{}

// Init spreads the means of the components about the mean of the table.
func (Model) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	n, sum := 0.0, 0.0
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range b.N {
			if x := b.Row(i)[0]; !(x >= 0) || x != math.Trunc(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("geometric: row %d is %v: a count is needed", b.First+i+1, x)
			}
			n, sum = n+b.Weight(i), sum+b.Weight(i)*b.Row(i)[0]
		}
	}
	p := &Parameters{}
	for i := range k {
		mean := sum / n * math.Exp2(2*float64(i)-float64(k-1)+rng.NormFloat64()/4)
		p.Weights, p.P = append(p.Weights, 1/float64(k)), append(p.P, 1/(1+mean))
	}
	return p, nil
}

// NewStatistics makes room for K components.
func (Model) NewStatistics(p *Parameters) *Statistics {
	k := len(p.P)
	list := func() []float64 { return make([]float64, k) }
	return &Statistics{Nk: list(), Sum: list(), score: list(), rest: list(), q: list()}
}

// Prepare computes what does not depend on the rows. The tilt lowers the score of component k by 1/(2N_k).
func (Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	s.N = 0
	clear(s.Nk)
	clear(s.Sum)
	for k := range p.P {
		s.score[k] = math.Log(p.Weights[k]) + math.Log(p.P[k]) - tilt.Class(k)
		s.rest[k] = math.Log1p(-p.P[k])
	}
	return nil
}

// Infer adds rows under q(z_n) = p(z|x_n, Π), and returns the entropy.
func (Model) Infer(b blocks.Rows, p *Parameters, s *Statistics) (entropy float64, err error) {
	for i := range b.N {
		x, w := b.Row(i)[0], b.Weight(i)
		s.posterior(x)
		s.N += w
		for k, q := range s.q {
			s.Nk[k] += w * q
			s.Sum[k] += w * q * x
			if q > 0 {
				entropy -= w * q * math.Log(q)
			}
		}
	}
	return entropy, nil
}

// posterior puts q into s.q.
func (s *Statistics) posterior(x float64) {
	top, sum := math.Inf(-1), 0.0
	for k := range s.q {
		if s.q[k] = s.score[k]; x > 0 { // 0·ln 0 is 0
			s.q[k] += x * s.rest[k]
		}
		top = max(top, s.q[k])
	}
	for k, v := range s.q {
		s.q[k] = math.Exp(v - top)
		sum += s.q[k]
	}
	for k := range s.q {
		s.q[k] /= sum
	}
}

// Responsibilities are p(z=k|x) of each row, rows×K: with them rows have labels.
func (m Model) Responsibilities(b blocks.Rows, p *Parameters, dst []float64) ([]float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, err
	}
	dst = dst[:0]
	for i := range b.N {
		s.posterior(b.Row(i)[0])
		dst = append(dst, s.q...)
	}
	return dst, nil
}

// Maximize is β_k = N_k/N and p_k = N_k/(N_k + Σ q_nk x_n).
func (Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	if dst == nil {
		dst = &Parameters{Weights: make([]float64, len(s.Nk)), P: make([]float64, len(s.Nk))}
	}
	for k, nk := range s.Nk {
		if !(nk > 0) {
			return dst, &framework.DegenerateError{
				Dimension: k, Reason: errors.New("geometric: the component has lost its rows"),
			}
		}
		dst.Weights[k], dst.P[k] = nk/s.N, nk/(nk+s.Sum[k])
	}
	return dst, nil
}

// LogJoint is E_q[ln p(X,Z|Π)].
func (Model) LogJoint(s *Statistics, p *Parameters) (value float64) {
	for k, nk := range s.Nk {
		if nk > 0 {
			value += nk * (math.Log(p.Weights[k]) + math.Log(p.P[k]))
		}
		if s.Sum[k] > 0 {
			value += s.Sum[k] * math.Log1p(-p.P[k])
		}
	}
	return value
}

// Shape counts K probabilities, and K − 1 weights that all share.
func (Model) Shape(p *Parameters) framework.Shape {
	k := len(p.P)
	return framework.Shape{K: k, Component: k, Shared: k - 1}
}

// Curvature adds N_k rows for each component, in the coordinate in which the information of a row is 1.
func (Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	for k, nk := range s.Nk {
		f.Class(k, nk, laplace.Identity(1))
	}
	return nil
}

// Relevance is the number of rows.
func (Model) Relevance(s *Statistics, p *Parameters) ([]float64, error) {
	return slices.Clone(s.Nk), nil
}

// Keep keeps some components; they share the weight of the others out.
func (Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	k := len(p.P)
	return framework.KeepAxes(s, k, dims), framework.KeepAxes(p, k, dims), nil
}
