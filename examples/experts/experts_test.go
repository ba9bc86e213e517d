package experts

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/lvmtest"
)

// Three lines, each where x is left, in the middle or right, which overlap: intercept, slope, standard deviation.
var truth = [][3]float64{{2, 3, 0.5}, {0, -2, 0.3}, {4, 0.5, 0.6}}

// draw draws (x, y) with p(z|x) ∝ exp(−(x − m_k)²), which is a softmax of linear functions.
func draw(n int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := mat.NewDense(n, 2, nil)
	for i := range n {
		v, weights := 6*rng.Float64()-3, make([]float64, 3)
		for k, m := range []float64{-2, 0, 2} {
			weights[k] = math.Exp(-(v - m) * (v - m))
		}
		u, k := rng.Float64()*floats.Sum(weights), 0
		for u > weights[k] {
			u, k = u-weights[k], k+1
		}
		x.SetRow(i, []float64{v, truth[k][0] + truth[k][1]*v + truth[k][2]*rng.NormFloat64()})
	}
	return x
}

func fit(t *testing.T, x *mat.Dense, o framework.Options) *framework.Result[*Parameters, *Statistics] {
	src, err := framework.FromMatrix(x)
	require.NoError(t, err)
	res, err := framework.Fit(context.Background(), Model{}, src, o)
	require.NoError(t, err)
	return res
}

// gFAB finds the experts, three of three, and the lines within four standard errors.
func TestExpertsAreFound(t *testing.T) {
	seeds := uint64(8)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		res := fit(t, draw(400, seed), framework.Options{K: 6, Restarts: 3, Tolerance: 1e-7})
		require.Equal(t, 3, res.Shape.K, "seed %d", seed)
		t.Logf("seed %d: gFIC %.3f, %d iterations", seed, res.Value, res.Iterations)
		assert.Zero(t, res.Fall)
		for _, want := range truth {
			worst := math.Inf(1)
			for k := range 3 {
				b, s := res.Parameters.Line(k)
				worst = min(worst, max(math.Abs(b[0]-want[0]), math.Abs(b[1]-want[1]), math.Abs(s-want[2])))
			}
			assert.Less(t, worst, 0.4)
		}
	}
}

func TestModel(t *testing.T) {
	x := draw(120, 1)
	latent := func(_ *Statistics, p *Parameters) (x []float64, at func([]float64) *Parameters) {
		for k, noise := range p.Noise {
			x = append(append(x, p.Lines[3*k:3*k+2]...), noise)
		}
		return x, func(x []float64) *Parameters {
			q := &Parameters{p.D, slices.Clone(p.Gate), slices.Clone(p.Lines), slices.Clone(p.Noise), p.Root}
			for k := range q.Noise {
				copy(q.Lines[3*k:], x[3*k:3*k+2])
				q.Noise[k] = x[3*k+2]
			}
			return q
		}
	}
	lvmtest.Test(t, lvmtest.Case[framework.Rows, *Parameters, *Statistics]{
		Model: Model{}, Data: lvmtest.Matrix(x), K: []int{1, 2, 3}, Latent: latent,
		Units: []lvmtest.Units[framework.Rows]{
			{Name: "x in other units", Data: lvmtest.Rescaled("", x, []float64{1000, 1}).Data},
			lvmtest.Rescaled("y in other units", x, []float64{1, 0.01}),
		},
		Free: func(s *Statistics, p *Parameters) ([]float64, func([]float64) *Parameters) {
			x, at := latent(s, p)
			n, last := len(x), len(p.Gate)-2
			return append(x, p.Gate[:last]...), func(v []float64) *Parameters { // the sum of the gates stays
				q := at(v[:n])
				for i, g := range v[n:] {
					q.Gate[last+i%2] -= g - q.Gate[i]
					q.Gate[i] = g
				}
				return q
			}
		},
		Symmetry: func(p *Parameters, rng *rand.Rand) *Parameters {
			q := &Parameters{D: p.D, Root: p.Root}
			for _, k := range rng.Perm(len(p.Noise)) {
				q.Gate, q.Lines, q.Noise = append(q.Gate, p.Gate[2*k:2*k+2]...), append(q.Lines, p.Lines[3*k:3*k+3]...), append(q.Noise, p.Noise[k])
			}
			return q
		},
		Sample: func(p *Parameters, n int, rng *rand.Rand) (lvmtest.Data[framework.Rows], error) {
			x := mat.NewDense(n, 2, nil)
			for i := range n {
				v := 6*rng.Float64() - 3
				a, _, logPrior, _ := p.posterior([]float64{v, 0}, nil)
				k, u := 0, rng.Float64()
				for ; k < len(p.Noise)-1 && u > math.Exp(logPrior[k]); k++ {
					u -= math.Exp(logPrior[k])
				}
				a[2] = -floats.Dot(p.Lines[3*k:3*k+2], a[:2]) + math.Sqrt(p.Noise[k])*rng.NormFloat64()
				x.SetRow(i, []float64{v, floats.Dot(p.Root[6:9], a)})
			}
			return lvmtest.Matrix(x), nil
		},
		SampleK: 2, SampleRows: 500,
		// The rows of the last expert go to the first, and its gate stays.
		Degenerate: func(s *Statistics, p *Parameters) (*Statistics, *Parameters, float64) {
			last := len(p.Noise) - 1
			floats.Add(s.Moments[:9], s.Moments[9*last:])
			clear(s.Moments[9*last:])
			s.Prior[last] = 0
			copy(p.Gate[2*last:], s.Gate[2*last:])
			return s, p, 0
		},
	})
}

// Lines that cross are told apart although x says nothing about which.
func TestGateMayKnowNothing(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 3))
		x := mat.NewDense(200, 2, nil)
		for i := range 200 {
			v := 4*rng.Float64() - 2
			x.SetRow(i, []float64{v, (1-2*float64(i%2))*2*v + 0.3*rng.NormFloat64()})
		}
		res := fit(t, x, framework.Options{K: 4, Restarts: 3, Tolerance: 1e-7})
		assert.Equal(t, 2, res.Shape.K)
		for k := range res.Shape.K {
			b, s := res.Parameters.Line(k)
			assert.InDelta(t, 2, math.Abs(b[1]), 0.15) // five standard errors
			assert.InDelta(t, 0.3, s, 0.1)
		}
	}
}

func TestTablesWithoutNoise(t *testing.T) {
	x := draw(50, 1)
	src, err := framework.FromMatrix(mat.NewDense(50, 1, slices.Repeat([]float64{7}, 50)))
	require.NoError(t, err)
	_, err = framework.Fit(context.Background(), Model{}, src, framework.Options{K: 1})
	assert.ErrorContains(t, err, "column 1 is constant")
	x.SetCol(1, slices.Repeat([]float64{0}, 50))
	for i := range 50 {
		x.Set(i, 1, 1-2*x.At(i, 0))
	}
	src, err = framework.FromMatrix(x)
	require.NoError(t, err)
	_, err = framework.Fit(context.Background(), Model{}, src, framework.Options{K: 1})
	assert.ErrorContains(t, err, "column 2")
}
