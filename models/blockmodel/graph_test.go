package blockmodel

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

func TestGraphIsItsEdges(t *testing.T) {
	list := EdgeList{Nodes: 4, Edges: []Edge{{2, 1, 1}, {0, 3, 1}, {1, 2, 1}, {0, 1, 1}, {3, 3, 1}, {0, 2, 0}}, DropLoops: true}
	g, err := list.Graph()
	require.NoError(t, err)
	assert.Equal(t, [][]float64{{0, 1, 0, 1}, {1, 0, 1, 0}, {0, 1, 0, 0}, {1, 0, 0, 0}}, matrix(g))
	assert.Equal(t, []int{3, 1, 1}, []int{g.Edges(), g.Repeated, g.Loops})
	assert.Equal(t, 0.5, g.Density())

	list.Kind = Directed
	g, err = list.Graph()
	require.NoError(t, err)
	assert.Equal(t, [][]float64{{0, 1, 0, 1}, {0, 0, 1, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}}, matrix(g))
	assert.Equal(t, []int{4, 0}, []int{g.Edges(), g.Repeated})
	assert.Equal(t, 12.0, g.Pairs())
	sources, _ := g.in.Of(1)
	assert.Equal(t, []int32{0, 2}, sources)

	list = EdgeList{Kind: Bipartite, Family: Poisson, Nodes: 2, Second: 3, Edges: []Edge{{0, 2, 4}, {1, 0, 1}, {0, 2, 3}}}
	g, err = list.Graph()
	require.NoError(t, err)
	assert.Equal(t, []float64{0, 0, 0, 0, 7}, matrix(g)[0])
	assert.Equal(t, []int{2, 1, 5, 2}, []int{g.Edges(), g.Repeated, g.Rows(), g.First()})
	assert.Equal(t, []float64{7, 0, 0, 0, 0}, matrix(g)[4])

	nodes := 0
	large, err := EdgeList{Nodes: 1300, Edges: []Edge{{0, 1299, 1}, {700, 3, 1}}}.Graph()
	require.NoError(t, err)
	for b, err := range large.Blocks(context.Background()) {
		require.NoError(t, err)
		assert.Equal(t, nodes, b.First)
		for i := range b.N {
			want, _ := large.out.Of(b.First + i)
			got, _ := b.Out.Of(i)
			assert.True(t, slices.Equal(want, got))
		}
		nodes += b.N
	}
	assert.Equal(t, 1300, nodes)
}

func TestBadGraphs(t *testing.T) {
	for _, c := range []struct {
		problem string
		row     int // of the edge that is faulty; −1: it is not one edge
		list    EdgeList
	}{
		{"the number of nodes is 1", -1, EdgeList{Nodes: 1}},
		{"needs nodes in both sets", -1, EdgeList{Kind: Bipartite, Nodes: 3}},
		{"Second is 2; must be 0 unless the graph is bipartite", -1, EdgeList{Nodes: 3, Second: 2}},
		{"Kind(7)", -1, EdgeList{Kind: 7, Nodes: 3}},
		{"Family(2)", -1, EdgeList{Family: 2, Nodes: 3}},
		{"row 2 is a loop", 1, EdgeList{Nodes: 3, Edges: []Edge{{0, 1, 1}, {1, 1, 1}}}},
		{"row 1 has an edge from node 3 of 3", 0, EdgeList{Nodes: 3, Edges: []Edge{{3, 1, 1}}}},
		{"row 1 has an edge to node -1", 0, EdgeList{Nodes: 3, Edges: []Edge{{1, -1, 1}}}},
		{"row 1 has an edge of weight 2: the weight must be 0 or 1", 0, EdgeList{Nodes: 3, Edges: []Edge{{0, 1, 2}}}},
		{"row 1 has an edge of weight 0.5: the weight must be a whole number", 0, EdgeList{Nodes: 3, Family: Poisson, Edges: []Edge{{0, 1, 0.5}}}},
		{"row 1 has an edge of weight NaN: the weight must be a whole number", 0, EdgeList{Nodes: 3, Family: Poisson, Edges: []Edge{{0, 1, math.NaN()}}}},
		{"row 1 has an edge of weight +Inf: the weight must be a whole number", 0, EdgeList{Nodes: 3, Family: Poisson, Edges: []Edge{{0, 1, math.Inf(1)}}}},
		{"sum to 2.199023255552e+12", -1, EdgeList{Nodes: 3, Family: Poisson, Edges: []Edge{{0, 1, 1 << 40}, {1, 0, 1 << 40}}}},
	} {
		_, err := c.list.Graph()
		require.ErrorContains(t, err, c.problem)
		var fault *blocks.DataError
		assert.Equal(t, c.row >= 0, errors.As(err, &fault))
		if fault != nil {
			assert.Equal(t, c.row, fault.Row)
		}
	}
}

// A graph without edges, and one with all, are one block.
func TestGraphsWithoutContrast(t *testing.T) {
	for _, family := range []Family{Bernoulli, Poisson} {
		for _, theta := range []float64{0, 1} {
			list := EdgeList{Family: family, Nodes: 30}
			for i := range 30 {
				for j := range i {
					list.Edges = append(list.Edges, Edge{i, j, theta})
				}
			}
			g, err := list.Graph()
			require.NoError(t, err)
			s, err := Find(context.Background(), g, SearchOptions{})
			require.NoError(t, err)
			assert.Equal(t, 1, s.K)
			res, err := framework.Fit(context.Background(), Model{}, g, framework.Options{K: 4, Restarts: 3})
			require.NoError(t, err)
			assert.Equal(t, 1, res.Shape.K)
		}
	}
}

// A graph drawn from parameters has their edges, to four standard errors, and gives them back.
func TestSampleHasTheParameters(t *testing.T) {
	for _, p := range []*Parameters{
		{Family: Bernoulli, K: 2, Weights: []float64{0.4, 0.6}, Theta: []float64{0.3, 0.02, 0.02, 0.1}},
		{Family: Bernoulli, Kind: Directed, K: 2, Weights: []float64{0.4, 0.6}, Theta: []float64{0.3, 0.02, 0.15, 1}},
		{Family: Poisson, K: 2, Weights: []float64{0.5, 0.5}, Theta: []float64{1.3, 0.2, 0.2, 40}},
		{Family: Bernoulli, Kind: Bipartite, K: 3, Weights: []float64{1, 0.3, 0.7}, Theta: []float64{0, 0.3, 0.1, 0.3, 0, 0, 0.1, 0, 0}, Sides: []int{0, 1, 1}},
	} {
		second := 0
		if p.Kind == Bipartite {
			second = 150
		}
		list, labels, err := p.Sample(200, second, rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, err)
		g, err := list.Graph()
		require.NoError(t, err)
		assert.Zero(t, g.Repeated)
		prior, err := Prior{}.resolved(g)
		require.NoError(t, err)
		a := newPartition(g, prior, labels)
		for k := range a.k {
			for l := range a.k {
				first, other := slices.Index(a.label, k), slices.Index(a.label, l)
				pairs, theta := a.pairs(k, l, a.size[k], a.size[l]), p.Theta[labels[first]*p.K+labels[other]]
				variance := theta
				if p.Family == Bernoulli {
					variance *= 1 - theta
				}
				assert.InDelta(t, theta*pairs, a.weights[k*a.k+l], 4*math.Sqrt(pairs*variance), "%v %d %d", p.Kind, k, l)
			}
		}
		again, _, err := p.Sample(200, second, rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, err)
		assert.Equal(t, list, again)
	}
	_, _, err := (&Parameters{Kind: Bipartite}).Sample(3, 0, nil)
	assert.ErrorContains(t, err, "cannot be drawn")
}

// Of a partition, parameters are the posterior means.
func TestParametersOfAPartition(t *testing.T) {
	g := draw(t, Bipartite, Bernoulli, 40, 30, [][]float64{{0.9, 0.1}, {0.1, 0.8}}, 2)
	s, err := Find(context.Background(), g, SearchOptions{})
	require.NoError(t, err)
	p, err := s.Parameters(g, Prior{})
	require.NoError(t, err)
	assert.Equal(t, []int{0, 0, 1, 1}, p.Sides)
	assert.InDeltaSlice(t, []float64{0.5, 0.5, 0.5, 0.5}, p.Weights, 1e-12)
	assert.InDelta(t, (s.Weight[0*4+2]+0.5)/(20*15+1), p.Theta[0*4+2], 1e-12)
	assert.Zero(t, p.Theta[1])
}
