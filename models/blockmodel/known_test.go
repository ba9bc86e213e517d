package blockmodel

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/tier"
)

// TestKnownBlocksAreFound in graphs whose four blocks are too much alike to be found: with the labels of a fifth of the
// nodes they are, and most other nodes are put where they belong. Other numbers of the labels change nothing.
func TestKnownBlocksAreFound(t *testing.T) {
	const n = 200
	theta := [][]float64{{.2, .08, .08, .08}, {.08, .2, .08, .08}, {.08, .08, .2, .08}, {.08, .08, .08, .2}}
	graphs := tier.Of(1, 3, 10)
	found := map[string]int{}
	for seed := range uint64(graphs) {
		g := draw(t, Undirected, Bernoulli, n, 0, theta, 500+seed)
		s, err := Find(context.Background(), g, SearchOptions{Starts: 6})
		require.NoError(t, err)
		if s.K == len(theta) {
			found["without labels"]++
		}
		known := make([][]int, n)
		for i := range known {
			if i/4%5 == 0 {
				known[i] = []int{(i + 1) % 4}
			}
		}
		require.NoError(t, g.takeKnown(known))
		right := func(block, of []int) bool {
			sum, all := 0, 0
			for i, k := range block {
				if known[i] != nil {
					assert.Equal(t, known[i][0], of[k])
					continue
				}
				if all++; of[k] == (i+1)%4 {
					sum++
				}
			}
			return len(of) == len(theta) && float64(sum) > 0.75*float64(all)
		}
		s, err = Find(context.Background(), g, SearchOptions{Starts: 6})
		require.NoError(t, err)
		if right(s.Labels, s.Known) {
			found["greedy"]++
		}
		res, err := framework.Fit(context.Background(), Model{}, g,
			framework.Options{K: 8, Restarts: 3, Criterion: framework.Evidence})
		require.NoError(t, err)
		if right(res.Local.(*Posterior).Labels(), res.Parameters.Known) {
			found["gfab"]++
		}
	}
	t.Log(found, "of", graphs)
	assert.Zero(t, found["without labels"])
	assert.GreaterOrEqual(t, found["greedy"], graphs-graphs/10)
	assert.GreaterOrEqual(t, found["gfab"], graphs-graphs/10)
}

// The two factions of the karate club, of which the leaders are known and one member each who is friends with few: 33
// of the 34 members are in theirs. Without labels, two blocks are the leaders with some friends, and all others.
func TestKnownFactionsOfKarate(t *testing.T) {
	g := karate(t)
	known := make([][]int, g.nodes)
	known[0], known[11], known[33], known[9] = []int{0}, []int{0}, []int{1}, []int{1}
	first := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22} // Mr Hi's after the split
	right := func(block, of []int) (n int) {
		for i, k := range block {
			if (of[k] == 0) == slices.Contains(first, i+1) {
				n++
			}
		}
		return n
	}
	s, err := Find(context.Background(), g, SearchOptions{K: 2, FixedK: true})
	require.NoError(t, err)
	assert.Less(t, right(s.Labels, []int{0, 1}), 25)
	require.NoError(t, g.takeKnown(known))
	s, err = Find(context.Background(), g, SearchOptions{K: 2, FixedK: true})
	require.NoError(t, err)
	assert.Equal(t, 33, right(s.Labels, s.Known))
	res, err := framework.Fit(context.Background(), Model{}, g,
		framework.Options{K: 2, FixedK: true, Restarts: 10, Criterion: framework.Evidence})
	require.NoError(t, err)
	assert.Equal(t, 33, right(res.Local.(*Posterior).Labels(), res.Parameters.Known))
	assert.Zero(t, Model{}.LogModes(res.Parameters))
	p, err := s.Parameters(g, Prior{})
	require.NoError(t, err)
	assert.Equal(t, s.Known, p.Known)

	_, err = Label(g, slices.Repeat([]int{0}, g.nodes), Prior{})
	assert.EqualError(t, err, "blockmodel: node 0 cannot be in block 0, by what is known of nodes")
	for _, o := range []SearchOptions{{K: 1}, {K: 1, FixedK: true}} {
		_, err = Find(context.Background(), g, o)
		assert.ErrorContains(t, err, "K is 1; must be at least 2, for the blocks that nodes are known to be in")
	}
}

func TestBadKnownLabels(t *testing.T) {
	for _, c := range []struct {
		problem string
		known   [][]int
	}{
		{"the labels of 2 nodes; must be 4", [][]int{{0}, {1}}},
		{"node 1 has label -1", [][]int{{0}, {-1}, nil, nil}},
		{"label 1 is the only one of no node", [][]int{{0}, {0, 1}, nil, nil}},
		{"node 3, of label 0, is of another set than a node", [][]int{{0}, nil, nil, {0}}},
		{"node 1, of label 1, cannot be in that block, which has nodes of the other set", [][]int{{0}, {0, 1}, nil, {1}}},
	} {
		_, err := EdgeList{Kind: Bipartite, Nodes: 2, Second: 2, Known: c.known}.Graph()
		assert.ErrorContains(t, err, c.problem)
	}
}
