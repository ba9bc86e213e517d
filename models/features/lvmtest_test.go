package features

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
)

type suite = lvmtest.Case[blocks.Rows, *Parameters, *Statistics]

// free are b, W, the logits of π and ln Ψ.
func free(_ *Statistics, p *Parameters) ([]float64, func([]float64) *Parameters) {
	list := slices.Concat(p.Offset, p.Loadings)
	for _, on := range p.On {
		list = append(list, math.Log(on/(1-on)))
	}
	for _, v := range p.Noise {
		list = append(list, math.Log(v))
	}
	return list, func(v []float64) *Parameters {
		q := p.clone()
		for _, part := range [][]float64{q.Offset, q.Loadings, q.On, q.Noise} {
			copy(part, v)
			v = v[len(part):]
		}
		for k, logit := range q.On {
			q.On[k] = 1 / (1 + math.Exp(-logit))
		}
		for j, log := range q.Noise {
			q.Noise[j] = math.Exp(log)
		}
		return q
	}
}

// latent are b and the loadings of one feature after another, in units of the columns.
func latent(_ *Statistics, p *Parameters) ([]float64, func([]float64) *Parameters) {
	unit := func(j int) float64 { return math.Sqrt(p.Unit[min(j, len(p.Unit)-1)]) }
	var list []float64
	for j, b := range p.Offset {
		list = append(list, b/unit(j))
	}
	for k := range p.K {
		for j := range p.D {
			list = append(list, p.Loadings[j*p.K+k]/unit(j))
		}
	}
	return list, func(v []float64) *Parameters {
		q := p.clone()
		for j := range p.D {
			q.Offset[j] = v[j] * unit(j)
			for k := range p.K {
				q.Loadings[j*p.K+k] = v[(k+1)*p.D+j] * unit(j)
			}
		}
		return q
	}
}

// neverOn makes the last feature one that no row has.
func neverOn(m Model, t *testing.T) func(*Statistics, *Parameters) (*Statistics, *Parameters, float64) {
	return func(s *Statistics, p *Parameters) (*Statistics, *Parameters, float64) {
		n := s.K + 1
		for l := range n {
			s.ZZ[l*n+s.K], s.ZZ[s.K*n+l] = 0, 0
		}
		for j := range p.D {
			s.XZ[j*n+s.K] = 0
		}
		s.Doubt[s.K-1] = 0
		q, err := m.Maximize(s, p, nil)
		require.NoError(t, err)
		return s, q, 0
	}
}

// another form has features in another order, and some replaced by their opposites.
func anotherForm(p *Parameters, rng *rand.Rand) *Parameters {
	q := p.permuted(rng.Perm(p.K))
	for k := range p.K {
		if rng.IntN(2) == 0 {
			q = q.Flipped(k)
		}
	}
	return q
}

func rows(t *testing.T, p *Parameters, n int, rng *rand.Rand) *mat.Dense {
	x, err := p.Sample(n, rng)
	require.NoError(t, err)
	return x
}

// example are parameters with k features of twice the noise, in d columns of different units.
func example(k, d int, isotropic bool, rng *rand.Rand) *Parameters {
	p := &Parameters{K: k, D: d, Isotropic: isotropic}
	for l := range k {
		p.On = append(p.On, 0.3+0.1*float64(l%3))
	}
	for j := range d {
		unit := 1.0
		if !isotropic {
			unit = math.Pow(3, float64(j%3))
			p.Noise = append(p.Noise, unit*unit*(0.5+0.2*float64(j%4)))
		}
		p.Offset = append(p.Offset, 10*unit*float64(j%2))
		for range k {
			p.Loadings = append(p.Loadings, 1.5*unit*rng.NormFloat64())
		}
	}
	if isotropic {
		p.Noise = []float64{0.8}
	}
	return p
}

func TestModelHoldsToTheTheory(t *testing.T) {
	for _, m := range []Model{{}, {Isotropic: true}} {
		rng := rand.New(rand.NewPCG(3, 1))
		x := rows(t, example(3, 5, m.Isotropic, rng), 100, rng)
		c := suite{
			Model: m, Data: lvmtest.Matrix(x), K: tier.Sizes(), Free: free, Latent: latent, Symmetry: anotherForm,
			Units:      []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("table times 1000", x, slices.Repeat([]float64{1000}, 5))},
			Degenerate: neverOn(m, t),
			Sample: func(p *Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
				x, err := p.Sample(n, rng)
				return lvmtest.Matrix(x), err
			},
			SampleK: 1, NoAllocations: true,
		}
		if !m.Isotropic {
			c.Units = append(c.Units, lvmtest.Rescaled("columns", x, []float64{1000, 1, 0.1, 2, 50}))
		}
		lvmtest.Test(t, c)
	}
}

func TestMeanFieldHoldsToTheTheory(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	x := rows(t, example(3, 5, false, rng), 100, rng)
	lvmtest.Test(t, suite{
		Model: MeanField{}, Data: lvmtest.Matrix(x), K: tier.Sizes(), Free: free, Latent: latent,
		Units:      []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("columns", x, []float64{1000, 1, 0.1, 2, 50})},
		Degenerate: neverOn(Model{}, t),
	})
}
