package blockmodel

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/laplace"
)

// planted is a graph of n nodes, node i in block i mod k, with one probability of an edge within blocks and another between.
func planted(n, k int, within, between float64, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range i {
			p := between
			if i%k == j%k {
				p = within
			}
			if rng.Float64() < p {
				x.Set(i, j, 1)
				x.Set(j, i, 1)
			}
		}
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

// gFAB finds the number of blocks, and θ, whether the nodes of a block keep together or apart.
func TestPlantedBlocksAreFound(t *testing.T) {
	for _, c := range []struct {
		n, k            int
		within, between float64
	}{{40, 4, 0.8, 0.1}, {60, 3, 0.6, 0.1}, {100, 4, 0.1, 0.5}, {120, 5, 0.5, 0.05}, {80, 1, 0.3, 0.3}} {
		res := fit(t, planted(c.n, c.k, c.within, c.between, 1), framework.Options{K: 8, Restarts: 5})
		assert.Equal(t, c.k, res.Shape.K, "%+v", c)
		assert.Zero(t, res.Fall, "%+v", c)
		for i, theta := range res.Parameters.Theta {
			want := c.between
			if i%(res.Shape.K+1) == 0 {
				want = c.within
			}
			assert.InDelta(t, want, theta, 0.15, "%+v", c) // 2.5 standard errors of θ of a block of 10 nodes
		}
	}
}

// However few nodes a block has, it is never paid for.
func TestNoBlockIsRewarded(t *testing.T) {
	s := Model{}.NewStatistics(&Parameters{Weights: make([]float64, 2), Theta: make([]float64, 4)})
	q := &Posterior{K: 2, Q: []float64{1, 0, 1, 0, 0.9, 0.1}}
	x := planted(3, 1, 1, 1, 1)
	_, err := Model{}.InferAt(framework.Rows{N: 3, D: 3, Stride: 3, X: x.RawMatrix().Data}, &Parameters{Weights: make([]float64, 2)}, q, s)
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{2.9, 0.1}, s.Nodes, 1e-12)
	assert.InDeltaSlice(t, []float64{2.8, 0.1, 0.1, 0}, s.Pairs, 1e-12)
	assert.InDeltaSlice(t, s.Pairs, s.Edges, 1e-12)
	var f laplace.Curvature
	f.Reset(s.N, false)
	require.NoError(t, Model{}.Curvature(s, nil, &f))
	assert.InDelta(t, math.Log(3.8)+math.Log(1.2)+math.Log(1), f.LogDet()+3*math.Log(s.N), 1e-12)
}

func TestModel(t *testing.T) {
	lvmtest.Test(t, lvmtest.Case[framework.Rows, *Parameters, *Statistics]{
		Model: Model{}, Data: lvmtest.Matrix(planted(30, 2, 0.7, 0.1, 1)), K: []int{1, 2, 3}, Unweighted: true,
		Degenerate: func(s *Statistics, p *Parameters) (*Statistics, *Parameters, float64) { // the last block without nodes
			k := len(s.Nodes)
			s.Nodes[0] += s.Nodes[k-1]
			s.Nodes[k-1] = 0
			for i := range s.Pairs {
				if i/k == k-1 || i%k == k-1 {
					s.Pairs[i], s.Edges[i] = 0, 0
				}
			}
			q, err := Model{}.Maximize(s, p, nil)
			require.NoError(t, err)
			return s, q, -float64(k) * math.Ln2 // the prior at θ = ½
		},
	})
}

func TestBadGraphs(t *testing.T) {
	for problem, x := range map[string]*mat.Dense{
		"an adjacency matrix":   mat.NewDense(3, 2, nil),
		"row 1, column 2 is 2":  mat.NewDense(2, 2, []float64{0, 2, 2, 0}),
		"the other way it is 0": mat.NewDense(2, 2, []float64{0, 1, 0, 0}),
	} {
		src, err := framework.FromMatrix(x)
		require.NoError(t, err)
		_, err = framework.Fit(context.Background(), Model{}, src, framework.Options{K: 1})
		assert.ErrorContains(t, err, problem)
	}
}
