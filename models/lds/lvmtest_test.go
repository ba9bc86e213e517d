package lds_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/lds"
)

// rowsOf are sequences for the suite.
func rowsOf(b blocks.Sequences) lvmtest.Data[blocks.Sequences] {
	return lvmtest.Sequences(mat.NewDense(b.Steps.N, b.Steps.D, b.Steps.X), b.Ends)
}

// clone is p with memory of its own.
func clone(p *lds.Parameters) *lds.Parameters {
	q := *p
	for _, list := range []*[]float64{&q.Loadings, &q.Mean, &q.Noise, &q.Dynamics, &q.Start, &q.Effects, &q.Drive} {
		*list = slices.Clone(*list)
	}
	return &q
}

// free are coordinates of Π, ln of the noise and of what the variance of the start has above the least.
func free(_ *lds.Statistics, p *lds.Parameters) ([]float64, func([]float64) *lds.Parameters) {
	x := slices.Concat(p.Loadings, p.Mean, p.Dynamics, p.Start, p.Effects, p.Drive)
	for _, r := range p.Noise {
		x = append(x, math.Log(r))
	}
	if p.Spread > 1 {
		x = append(x, math.Log(p.Spread-1))
	}
	return x, func(x []float64) *lds.Parameters {
		q := clone(p)
		for _, list := range [][]float64{q.Loadings, q.Mean, q.Dynamics, q.Start, q.Effects, q.Drive, q.Noise} {
			copy(list, x)
			x = x[len(list):]
		}
		for i, r := range q.Noise {
			q.Noise[i] = math.Exp(r)
		}
		if p.Spread > 1 {
			q.Spread = 1 + math.Exp(x[0])
		}
		return q
	}
}

// latent are the loadings in units of the noise, and A column by column.
func latent(_ *lds.Statistics, p *lds.Parameters) ([]float64, func([]float64) *lds.Parameters) {
	x := make([]float64, len(p.Loadings)+len(p.Dynamics))
	return x, func(x []float64) *lds.Parameters {
		q := clone(p)
		for j := range p.D {
			for i := range p.K {
				q.Loadings[j*p.K+i] += x[j*p.K+i] * math.Sqrt(p.NoiseOf(j))
			}
		}
		for i := range p.K {
			for j := range p.K {
				q.Dynamics[i*p.K+j] += x[p.D*p.K+j*p.K+i]
			}
		}
		return q
	}
}

// flattened has no z in the last dimension: N of w are 0 there.
func flattened(s *lds.Statistics, p *lds.Parameters) (*lds.Statistics, *lds.Parameters, float64) {
	k := p.K
	q, last := clone(p), k-1
	u := p.Inputs
	clear(q.Drive[last*u:])
	zero := func(list []float64, n int, places ...int) {
		for ; len(list) > 0; list = list[n*n:] {
			for i := range n {
				for _, at := range places {
					list[i*n+at], list[at*n+i] = 0, 0
				}
			}
		}
	}
	zero(s.Columns, k+2+u, k+1+u)
	zero(s.Moves, 2*k+u, last+u, 2*k-1+u)
	zero(s.Start, k+1, k)
	zero(q.Dynamics, k, last) // nothing comes from it, or goes to it
	q.Start[last] = 0
	return s, q, -s.N/2*math.Log(2*math.Pi) - s.Start[0]/2*math.Log(q.Spread)
}

// turned rotates the latent space.
func turned(p *lds.Parameters, rng *rand.Rand) *lds.Parameters {
	a := mat.NewDense(p.K, p.K, nil)
	a.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, a)
	var qr mat.QR
	var basis mat.Dense
	qr.Factorize(a)
	qr.QTo(&basis)
	m := lds.Model{}
	_, q, err := m.Rotate(m.NewStatistics(p), p, &basis)
	if err != nil {
		panic(err)
	}
	return q
}

func TestModel(t *testing.T) {
	gapped := tier.Of([]int{2}, []int{2}, []int{1, 2})
	for _, of := range []struct {
		name      string
		k         []int
		missing   float64
		isotropic bool
		inputs    int
	}{{"complete", []int{1, 2}, 0, false, 0}, {"missing", gapped, 0.15, false, 0}, {"isotropic", []int{2}, 0, true, 0},
		{"driven", gapped, 0.1, false, 2}} {
		t.Run(of.name, func(t *testing.T) {
			p := oscillating(3)
			if p.Spread = 20; of.inputs > 0 {
				p = driven(p)
			}
			var lengths []int
			for i := range 12 {
				lengths = append(lengths, 1+(7*i)%12)
			}
			b := sequences(p, 5, of.missing, lengths...)
			m := lds.Model{Isotropic: of.isotropic, Inputs: of.inputs}
			c := lvmtest.Case[blocks.Sequences, *lds.Parameters, *lds.Statistics]{Model: m, Data: rowsOf(b),
				K: of.k, Free: free, Latent: latent, Degenerate: flattened, Symmetry: turned}
			if of.name == "complete" {
				c.Sample = func(p *lds.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Sequences], error) {
					return rowsOf(sequences(p, rng.Uint64(), 0, slices.Repeat([]int{10}, n)...)), nil
				}
				c.SampleRows, c.SampleK = 60, 1
			}
			lvmtest.Test(t, c)
		})
	}
}
