package framework_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
)

// poisson is a mixture of Poisson distributions of one column, the smallest model with
// discrete latent variables. Its component parameter is taken in the coordinate √rate,
// whose unit Fisher information is 4.
type poisson struct{}

type rates struct {
	Weights []float64 `keep:"weights"`
	Rates   []float64 `keep:"rows"`
}

type counts struct {
	N     float64
	Nk    []float64 `keep:"rows"` // Σ q_nk
	Sum   []float64 `keep:"rows"` // Σ q_nk x_n
	Const float64   // Σ ln x_n!

	score []float64
	lower []float64 // penalty of each component
	q     []float64
}

func (s *counts) Observations() float64 { return s.N }

func (s *counts) Merge(o *counts) {
	s.N += o.N
	s.Const += o.Const
	for k := range s.Nk {
		s.Nk[k] += o.Nk[k]
		s.Sum[k] += o.Sum[k]
	}
}

func (poisson) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*rates, error) {
	mean, err := framework.Fold(ctx, src, 1,
		func() (*[2]float64, error) { return new([2]float64), nil },
		func(a *[2]float64, b blocks.Rows) error {
			for i := range b.N {
				a[0] += b.Weight(i)
				a[1] += b.Weight(i) * b.Row(i)[0]
			}
			return nil
		},
		func(into, from *[2]float64) error { into[0] += from[0]; into[1] += from[1]; return nil })
	if err != nil {
		return nil, err
	}
	p := &rates{make([]float64, k), make([]float64, k)}
	for i := range k {
		p.Weights[i], p.Rates[i] = 1/float64(k), 2*mean[1]/mean[0]*rng.Float64()
	}
	return p, nil
}

func (poisson) NewStatistics(p *rates) *counts {
	k := len(p.Rates)
	return &counts{Nk: make([]float64, k), Sum: make([]float64, k)}
}

func (poisson) Prepare(p *rates, tilt *laplace.Tilt, s *counts) error {
	k := len(p.Rates)
	if s.score == nil {
		s.score, s.lower, s.q = make([]float64, k), make([]float64, k), make([]float64, k)
	}
	s.N, s.Const = 0, 0
	clear(s.Nk)
	clear(s.Sum)
	for i := range k {
		s.score[i] = math.Log(p.Weights[i]) - p.Rates[i]
		s.lower[i] = tilt.Class(i)
	}
	return nil
}

func (m poisson) Infer(b blocks.Rows, p *rates, s *counts) (entropy float64, err error) {
	for i := range b.N {
		x, w := b.Row(i)[0], b.Weight(i)
		if x < 0 || x != math.Trunc(x) {
			return 0, fmt.Errorf("row %d is %v: a count is 0, 1, 2, …", b.First+i+1, x)
		}
		m.responsibilities(x, p, s)
		s.N += w
		lg, _ := math.Lgamma(x + 1)
		s.Const += w * lg
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

func (poisson) responsibilities(x float64, p *rates, s *counts) {
	top := math.Inf(-1)
	for k := range s.q {
		s.q[k] = s.score[k] + x*math.Log(p.Rates[k]) - s.lower[k]
		top = max(top, s.q[k])
	}
	sum := 0.0
	for k := range s.q {
		s.q[k] = math.Exp(s.q[k] - top)
		sum += s.q[k]
	}
	for k := range s.q {
		s.q[k] /= sum
	}
}

func (poisson) Maximize(s *counts, p, dst *rates) (*rates, error) {
	if dst == nil {
		dst = &rates{make([]float64, len(s.Nk)), make([]float64, len(s.Nk))}
	}
	for k, nk := range s.Nk {
		if nk == 0 {
			return dst, errors.New("a component has lost all its rows")
		}
		dst.Weights[k], dst.Rates[k] = nk/s.N, max(s.Sum[k]/nk, 1e-300)
	}
	return dst, nil
}

func (poisson) LogJoint(s *counts, p *rates) float64 {
	v := -s.Const
	for k, nk := range s.Nk {
		v += nk*(math.Log(p.Weights[k])-p.Rates[k]) + s.Sum[k]*math.Log(p.Rates[k])
	}
	return v
}

func (poisson) Shape(p *rates) framework.Shape {
	k := len(p.Rates)
	return framework.Shape{K: k, Component: k, Shared: k - 1}
}

var unitInformation laplace.Block = laplace.Diagonal{4}

func (poisson) Curvature(s *counts, p *rates, f *laplace.Curvature) error {
	for k, nk := range s.Nk {
		f.Class(k, nk, unitInformation)
	}
	return nil
}

func (poisson) Relevance(s *counts, p *rates) ([]float64, error) { return s.Nk, nil }

func (poisson) Keep(s *counts, p *rates, dims []int) (*counts, *rates, error) {
	k := len(p.Rates)
	return framework.KeepAxes(s, k, dims), framework.KeepAxes(p, k, dims), nil
}

func (m poisson) Responsibilities(b blocks.Rows, p *rates, dst []float64) ([]float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, err
	}
	for i := range b.N {
		m.responsibilities(b.Row(i)[0], p, s)
		dst = append(dst, s.q...)
	}
	return dst, nil
}

// mixed draws n counts from three Poisson distributions with rates 2, 15 and 50.
func mixed(n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 99))
	x := make([]float64, n)
	for i := range x {
		rate := []float64{2, 15, 50}[rng.IntN(3)]
		for t := rng.ExpFloat64(); t < rate; t += rng.ExpFloat64() {
			x[i]++
		}
	}
	return x
}

func table(x []float64) *blocks.Table {
	t, err := blocks.FromSlice(x, len(x), 1)
	if err != nil {
		panic(err)
	}
	return t
}
