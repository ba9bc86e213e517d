package lvmtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/laplace"
)

// toy is a mixture of gamma distributions of shape 5 of one column, with every optional
// interface: the right model that each mutant breaks in one way. The coordinate of a
// component is its rate, a natural parameter, times a twentieth of the mean of the table.
type toy struct{}

const shape = 5

type rates struct {
	Weights []float64 `keep:"weights"`
	Rates   []float64 `keep:"rows"`
	Unit    float64   // a twentieth of the mean of the table
	Steps   int       // global steps made, by which some mutants count time

	Lossy bool `json:"-"` // of a mutant
}

// MarshalJSON is that of the fields, rounded for a mutant.
func (p *rates) MarshalJSON() ([]byte, error) {
	type plain rates
	q := plain(*p)
	if p.Lossy {
		q.Rates = slices.Clone(q.Rates)
		for k, v := range q.Rates {
			q.Rates[k] = float64(float32(v))
		}
	}
	return json.Marshal(q)
}

type sums struct {
	N   float64
	Nk  []float64 `keep:"rows"` // Σ q_nk
	Sum []float64 `keep:"rows"` // Σ q_nk x_n
	Log float64   // Σ ln h(x_n)
	H   float64   // Σ H(q_n)

	information []laplace.Block

	score, q []float64
	tilted   bool
	whole    bool             // of a mutant: not encoded
	late     float64          // of a mutant: not yet in Log
	follow   func(lead *sums) // of a mutant
	unlogged []*unloggedBlock
	asked    int  // of a mutant: times that its curvature was
	constant bool // of a mutant: Scale forgets Log
	alone    bool // of a mutant: Merge forgets Log
	absolute bool // of a mutant: Scale takes no negative factor
}

func (s *sums) Observations() float64 { return s.N }

func (s *sums) Merge(o *sums) {
	s.N += o.N
	s.H += o.H
	if !s.alone {
		s.Log += o.Log
		s.late += o.late
	}
	for k := range s.Nk {
		s.Nk[k] += o.Nk[k]
		s.Sum[k] += o.Sum[k]
	}
}

// Scale makes the rows weigh factor times as much.
func (s *sums) Follow(lead *sums) {
	s.N, s.Log, s.late, s.H, s.tilted = 0, 0, 0, 0, lead.tilted
	s.whole = lead.whole
	clear(s.Nk)
	clear(s.Sum)
	copy(s.score, lead.score)
	if s.follow != nil {
		s.follow(lead)
	}
}

func (s *sums) Scale(factor float64) {
	s.N *= factor
	s.H *= factor
	if !s.constant {
		s.Log *= factor
		s.late *= factor
	}
	for k := range s.Nk {
		s.Nk[k] *= factor
		if s.absolute {
			s.Sum[k] *= math.Abs(factor)
		} else {
			s.Sum[k] *= factor
		}
	}
}

func (toy) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*rates, error) {
	n, sum := 0.0, 0.0
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range b.N {
			n += b.Weight(i)
			sum += b.Weight(i) * b.Row(i)[0]
		}
	}
	p := &rates{Unit: sum / n / 20}
	for i := range k {
		p.Weights = append(p.Weights, 1/float64(k))
		p.Rates = append(p.Rates, shape*n/sum*math.Pow(4, float64(i)-float64(k-1)/2+rng.Float64()-0.5))
	}
	return p, nil
}

func (toy) NewStatistics(p *rates) *sums {
	k := len(p.Rates)
	return &sums{Nk: make([]float64, k), Sum: make([]float64, k), score: make([]float64, k), q: make([]float64, k)}
}

func (toy) Prepare(p *rates, tilt *laplace.Tilt, s *sums) error {
	s.N, s.Log, s.late, s.H, s.tilted = 0, 0, 0, 0, tilt != nil
	clear(s.Nk)
	clear(s.Sum)
	for k := range s.score {
		s.score[k] = math.Log(p.Weights[k]) + shape*math.Log(p.Rates[k]) - tilt.Class(k)
	}
	return nil
}

// base is ln h(x) = (α−1) ln x − ln Γ(α).
func base(x float64) float64 { return (shape-1)*math.Log(x) - math.Log(24) }

func (toy) Infer(b blocks.Rows, p *rates, s *sums) (entropy float64, err error) {
	for i := range b.N {
		x, w := b.Row(i)[0], b.Weight(i)
		if !(x > 0) {
			return 0, fmt.Errorf("row %d is %v: a gamma variable is positive", b.First+i+1, x)
		}
		s.posterior(x, p)
		entropy += s.add(s.q, x, w)
	}
	return entropy, nil
}

// add adds a row under a q, and returns its entropy.
func (s *sums) add(q []float64, x, w float64) (entropy float64) {
	s.N += w
	s.Log += w * base(x)
	for k, q := range q {
		s.Nk[k] += w * q
		s.Sum[k] += w * q * x
		if q > 0 {
			entropy -= w * q * math.Log(q)
		}
	}
	s.H += entropy
	return entropy
}

// posterior puts q(z) of a row into s.q and returns ln p(x).
func (s *sums) posterior(x float64, p *rates) float64 {
	for k := range s.q {
		s.q[k] = s.score[k] - p.Rates[k]*x
	}
	return softmax(s.q) + base(x)
}

// softmax makes probabilities of their logarithms and returns that of the sum.
func softmax(q []float64) float64 {
	top, sum := slices.Max(q), 0.0
	for k, v := range q {
		q[k] = math.Exp(v - top)
		sum += q[k]
	}
	for k := range q {
		q[k] /= sum
	}
	return top + math.Log(sum)
}

func (toy) Maximize(s *sums, p, dst *rates) (*rates, error) {
	if dst == nil {
		dst = &rates{Weights: make([]float64, len(s.Nk)), Rates: make([]float64, len(s.Nk))}
	}
	dst.Unit, dst.Steps, dst.Lossy = p.Unit, p.Steps+1, p.Lossy
	for k, nk := range s.Nk {
		if !(nk > 0) {
			return dst, fmt.Errorf("component %d has lost all its rows: %w", k+1, framework.ErrDegenerate)
		}
		dst.Weights[k], dst.Rates[k] = nk/s.N, shape*nk/s.Sum[k]
	}
	return dst, nil
}

func (toy) LogJoint(s *sums, p *rates) float64 {
	v := s.Log + s.late
	for k, nk := range s.Nk {
		if nk > 0 {
			v += nk*(math.Log(p.Weights[k])+shape*math.Log(p.Rates[k])) - p.Rates[k]*s.Sum[k]
		}
	}
	return v
}

func (toy) Shape(p *rates) framework.Shape {
	k := len(p.Rates)
	return framework.Shape{K: k, Component: k, Shared: k - 1}
}

func (toy) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	for k, nk := range s.Nk {
		f.Class(k, nk, s.unit(k, p))
	}
	return nil
}

// unit is the information of a row of a component.
func (s *sums) unit(k int, p *rates) laplace.Block {
	if k == len(s.information) {
		s.information = append(s.information, laplace.Diagonal{0})
	}
	s.information[k].(laplace.Diagonal)[0] = shape * math.Pow(p.Rates[k]*p.Unit, -2)
	return s.information[k]
}

func (toy) Charges(s *sums, p *rates) []optional.Charge {
	k := len(p.Rates)
	return []optional.Charge{{Parameters: k, Free: k, Latent: true, N: s.N}, {Parameters: k - 1, Free: k - 1, N: s.N}}
}

func (toy) LabelEntropy(s *sums) float64 { return s.H }

func (toy) Relevance(s *sums, p *rates) ([]float64, error) { return slices.Clone(s.Nk), nil }

func (toy) Keep(s *sums, p *rates, dims []int) (*sums, *rates, error) {
	t := framework.KeepAxes(s, len(s.Nk), dims)
	t.whole = s.whole
	return t, framework.KeepAxes(p, len(p.Rates), dims), nil
}

// Split makes a slower and a faster half.
func (toy) Split(_ context.Context, _ framework.Source[blocks.Rows], _ *sums, p *rates, k int, _ *rand.Rand) (*rates, float64, error) {
	q := *p
	q.Weights, q.Rates = append(slices.Clone(p.Weights), p.Weights[k]/2), append(slices.Clone(p.Rates), p.Rates[k]/1.3)
	q.Weights[k] /= 2
	q.Rates[k] *= 1.3
	return &q, 0, nil
}

// Expand has nothing to move.
func (toy) Expand(s *sums, p *rates, charged bool) (*rates, float64, error) { return p, 0, nil }

func (m toy) LogProb(b blocks.Rows, p *rates, dst []float64) ([]float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, err
	}
	dst = dst[:0]
	for i := range b.N {
		dst = append(dst, s.posterior(b.Row(i)[0], p))
	}
	return dst, nil
}

func (m toy) Responsibilities(b blocks.Rows, p *rates, dst []float64) ([]float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, err
	}
	dst = dst[:0]
	for i := range b.N {
		s.posterior(b.Row(i)[0], p)
		dst = append(dst, s.q...)
	}
	return dst, nil
}

// draw makes rows of the mixture, in ascending order.
func draw(p *rates, n int, rng *rand.Rand) *mat.Dense {
	x := make([]float64, n)
	for i := range x {
		k := categorical.Draw(p.Weights, rng)
		for range shape {
			x[i] += rng.ExpFloat64() / p.Rates[k]
		}
	}
	slices.Sort(x)
	return mat.NewDense(n, 1, x)
}

type toyCase = lvmtest.Case[blocks.Rows, *rates, *sums]

// right is the case of a model that has every interface and of an author who gives every
// function.
func right(m framework.Model[blocks.Rows, *rates, *sums]) toyCase {
	truth := &rates{Weights: []float64{0.3, 0.4, 0.3}, Rates: []float64{0.2, 1, 5}}
	x := draw(truth, 60, rand.New(rand.NewPCG(1, 1)))
	return toyCase{
		Model: m, Data: lvmtest.Matrix(x),
		Free: func(_ *sums, p *rates) ([]float64, func([]float64) *rates) {
			k := len(p.Rates)
			var v []float64 // ln rates, and the logits of the weights
			for _, rate := range p.Rates {
				v = append(v, math.Log(rate))
			}
			for _, w := range p.Weights[1:] {
				v = append(v, math.Log(w/p.Weights[0]))
			}
			return v, func(v []float64) *rates {
				q := &rates{Rates: make([]float64, k), Weights: make([]float64, k), Unit: p.Unit, Steps: p.Steps}
				total := 1.0
				for _, logit := range v[k:] {
					total += math.Exp(logit)
				}
				q.Weights[0] = 1 / total
				for i := range k {
					if q.Rates[i] = math.Exp(v[i]); i > 0 {
						q.Weights[i] = math.Exp(v[k+i-1]) / total
					}
				}
				return q
			}
		},
		Latent: func(_ *sums, p *rates) ([]float64, func([]float64) *rates) {
			v := make([]float64, len(p.Rates))
			for k, rate := range p.Rates {
				v[k] = rate * p.Unit
			}
			return v, func(v []float64) *rates {
				q := *p
				q.Rates = make([]float64, len(v))
				for k := range v {
					q.Rates[k] = v[k] / p.Unit
				}
				return &q
			}
		},
		Symmetry: func(p *rates, rng *rand.Rand) *rates {
			q := *p
			q.Weights, q.Rates = nil, nil
			for _, k := range rng.Perm(len(p.Rates)) {
				q.Weights, q.Rates = append(q.Weights, p.Weights[k]), append(q.Rates, p.Rates[k])
			}
			return &q
		},
		Units: []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("times 1000", x, []float64{1000})},
		Degenerate: func(s *sums, p *rates) (*sums, *rates, float64) {
			s.Nk[0], s.Sum[0] = 0, 0
			rest := 1 - p.Weights[0]
			p.Weights[0] = 0
			for k := range p.Weights {
				p.Weights[k] /= rest
			}
			return s, p, 0
		},
		Sample: func(p *rates, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
			return lvmtest.Matrix(draw(p, n, rng)), nil
		},
		K:             tier.Sizes(),
		SampleRows:    500,
		NoAllocations: true,
	}
}

// penalized is the mode under a Dirichlet prior on the weights, which are none of Ξ.
type penalized struct {
	toy
	steep float64 // of a mutant: factor of the curvature
}

func (m penalized) Maximize(s *sums, p, dst *rates) (*rates, error) {
	dst, err := m.toy.Maximize(s, p, dst)
	for k, nk := range s.Nk {
		dst.Weights[k] = (nk + 1) / (s.N + float64(len(s.Nk)))
	}
	return dst, err
}

func (penalized) LogPrior(p *rates) (sum float64) {
	for _, w := range p.Weights {
		sum += math.Log(w)
	}
	return sum
}

func (m penalized) LogJoint(s *sums, p *rates) float64 { return m.toy.LogJoint(s, p) + m.LogPrior(p) }

func (m penalized) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	q := *p
	q.Unit /= math.Sqrt(m.steep)
	return m.toy.Curvature(s, &q, f)
}

// penalizedCase has no degenerate Z, where the prior is none.
func penalizedCase(steep float64) toyCase {
	c := right(penalized{steep: steep})
	c.Degenerate = nil
	return c
}
