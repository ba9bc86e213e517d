package blockmodel

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
)

// gFAB finds the number of blocks, and θ, whether the nodes of a block keep together or apart.
func TestGFABFindsPlantedBlocks(t *testing.T) {
	for _, c := range []struct {
		n, k            int
		within, between float64
	}{{40, 4, 0.8, 0.1}, {60, 3, 0.6, 0.1}, {100, 4, 0.1, 0.5}, {120, 5, 0.5, 0.05}, {80, 1, 0.3, 0.3}} {
		theta := make([][]float64, c.k)
		for k := range theta {
			theta[k] = make([]float64, c.k)
			for l := range theta[k] {
				if theta[k][l] = c.between; k == l {
					theta[k][l] = c.within
				}
			}
		}
		g := draw(t, Undirected, Bernoulli, c.n, 0, theta, 1)
		res, err := framework.Fit(context.Background(), Model{}, g, framework.Options{K: 8, Restarts: 5})
		require.NoError(t, err)
		require.Equal(t, c.k, res.Shape.K, "%+v", c)
		assert.Zero(t, res.Fall, "%+v", c)
		for k := range c.k {
			for l := range c.k {
				assert.InDelta(t, theta[k][l], res.Parameters.Theta[res.Parameters.K*k+l], 0.15, "%+v", c) // 2.5 standard errors of θ of a block of 10 nodes
			}
		}
	}
}

// The same bits for any number of workers; a fit that was interrupted goes on to the same end.
func TestFitIsTheSameForAnyWorkersAndFromACheckpoint(t *testing.T) {
	for _, c := range truths[:3] {
		g := draw(t, c.kind, c.family, c.nodes/2, c.second/2, c.theta, 5)
		o := framework.Options{K: 6, Restarts: 2, Workers: 1, MaxIterations: 40}
		one, err := framework.Fit(context.Background(), Model{}, g, o)
		require.NoError(t, err)
		o.Workers = 3
		three, err := framework.Fit(context.Background(), Model{}, g, o)
		require.NoError(t, err)
		assert.Equal(t, one.Parameters, three.Parameters)
		assert.Equal(t, one.Trace, three.Trace)

		o.MaxIterations = 5
		short, err := framework.Fit(context.Background(), Model{}, g, o)
		require.NoError(t, err)
		checkpoint, err := short.Checkpoint()
		require.NoError(t, err)
		o.MaxIterations, o.Resume = 40, checkpoint
		resumed, err := framework.Fit(context.Background(), Model{}, g, o)
		require.NoError(t, err)
		assert.Equal(t, one.Trace, resumed.Trace)
		assert.Equal(t, one.Parameters, resumed.Parameters)

		o.Resume = nil
		other := draw(t, c.kind, c.family, c.nodes/2, c.second/2, c.theta, 6)
		o.Resume = checkpoint
		_, err = framework.Fit(context.Background(), Model{}, other, o)
		assert.Error(t, err, "the graph is another one")
	}
}

func TestFitRefuses(t *testing.T) {
	g := draw(t, Bipartite, Bernoulli, 6, 5, [][]float64{{0.5}}, 1)
	for problem, c := range map[string]struct {
		m Model
		k int
	}{
		"a block of each set":                     {Model{}, 1},
		"must be at most 11, the number of nodes": {Model{}, 12},
		"3 labels for 11 nodes":                   {Model{Labels: []int{0, 1, 0}}, 2},
		"nodes of both sets":                      {Model{Labels: make([]int, 11)}, 2},
		"the label of node 0 is 7; labels of 2 b": {Model{Labels: []int{7, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}}, 2},
	} {
		_, err := framework.Fit(context.Background(), c.m, g, framework.Options{K: c.k})
		assert.ErrorContains(t, err, problem)
	}
}
