package blockmodel

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/agreement"
	"github.com/latent-go/latent/internal/tier"
)

// truths are graphs whose number of blocks has to be found. Node i of a set is in block i mod K of it, so θ has a row for each block
// of the first set, and a column for each of the second.
var truths = []struct {
	name          string
	kind          Kind
	family        Family
	nodes, second int
	theta         [][]float64
	k             int
}{
	{"assortative, 4 blocks", Undirected, Bernoulli, 200, 0, [][]float64{
		{0.2, 0.05, 0.05, 0.05}, {0.05, 0.2, 0.05, 0.05}, {0.05, 0.05, 0.2, 0.05}, {0.05, 0.05, 0.05, 0.2}}, 4},
	// Two communities, two blocks whose nodes join those of the other alone, and a core that the communities lean on.
	{"mixed, 5 blocks", Undirected, Bernoulli, 1000, 0, [][]float64{
		{0.06, 0.01, 0.01, 0.01, 0.03}, {0.01, 0.06, 0.01, 0.01, 0.03}, {0.01, 0.01, 0.01, 0.06, 0.01}, {0.01, 0.01, 0.06, 0.01, 0.01}, {0.03, 0.03, 0.01, 0.01, 0.1}}, 5},
	{"bipartite, 2×2", Bipartite, Bernoulli, 100, 80, [][]float64{{0.3, 0.1}, {0.1, 0.3}}, 4},
	{"bipartite, 2×3", Bipartite, Bernoulli, 100, 150, [][]float64{{0.4, 0.1, 0.25}, {0.1, 0.4, 0.25}}, 5},
	{"Erdős–Rényi, 200 nodes", Undirected, Bernoulli, 200, 0, [][]float64{{0.05}}, 1},
	{"Erdős–Rényi, 500 nodes", Undirected, Bernoulli, 500, 0, [][]float64{{0.02}}, 1},
	{"directed, 3 blocks in a circle", Directed, Bernoulli, 150, 0, [][]float64{{0.05, 0.2, 0.05}, {0.05, 0.05, 0.2}, {0.2, 0.05, 0.05}}, 3},
	{"counts, 3 blocks", Undirected, Poisson, 150, 0, [][]float64{{0.5, 0.1, 0.1}, {0.1, 0.5, 0.1}, {0.1, 0.1, 0.1}}, 3},
	{"counts, one block", Undirected, Poisson, 150, 0, [][]float64{{0.2}}, 1},
}

// blocksOf are the blocks that the nodes of a graph of such a truth are in.
func blocksOf(nodes, second int, theta [][]float64) (labels []int) {
	for i := range nodes {
		labels = append(labels, i%len(theta))
	}
	for j := range second {
		labels = append(labels, len(theta)+j%len(theta[0]))
	}
	return labels
}

func TestNumberOfBlocks(t *testing.T) {
	graphs := tier.Of(1, 2, 20)
	for _, c := range truths {
		t.Run(c.name, func(t *testing.T) {
			found, least := map[int]int{}, 1.0
			for seed := range uint64(graphs) {
				g := draw(t, c.kind, c.family, c.nodes, c.second, c.theta, 100+seed)
				s, err := Find(context.Background(), g, SearchOptions{Starts: 2})
				require.NoError(t, err)
				found[s.K]++
				truth := blocksOf(c.nodes, c.second, c.theta)
				table := agreement.CrossTable(s.Labels, truth, nil, s.K, slices.Max(truth)+1)
				least = min(least, agreement.AdjustedRand(table))
			}
			t.Logf("blocks found: %v, least adjusted Rand index %.3f", found, least)
			assert.Equal(t, map[int]int{c.k: graphs}, found)
		})
	}
}

// gFAB from a spectral start of each kind and a random one finds them as well, where the contrast is such.
func TestGFABNumberOfBlocks(t *testing.T) {
	graphs := tier.Of(1, 1, 5)
	for _, c := range truths {
		if testing.Short() && c.nodes > 200 {
			continue
		}
		for seed := range uint64(graphs) {
			g := draw(t, c.kind, c.family, c.nodes, c.second, c.theta, 100+seed)
			res, err := framework.Fit(context.Background(), Model{}, g, framework.Options{K: BlocksEach * g.sides(), Restarts: 3, Tolerance: 1e-7})
			require.NoError(t, err)
			assert.Equal(t, c.k, res.Shape.K, c.name)
			assert.Zero(t, res.Fall, c.name)
		}
	}
}

// karate is the graph of the embedded data set.
func karate(t *testing.T) *Graph {
	table, err := data.Load("karate")
	require.NoError(t, err)
	from, err := table.Column("from")
	require.NoError(t, err)
	to, err := table.Column("to")
	require.NoError(t, err)
	list := EdgeList{Nodes: 34}
	for i := range from {
		list.Edges = append(list.Edges, Edge{int(from[i]) - 1, int(to[i]) - 1, 1})
	}
	g, err := list.Graph()
	require.NoError(t, err)
	return g
}

// Zachary's club: with Jeffreys' priors the best number of blocks is 5, at −197.62 nats; the four that random starts mostly lead to
// have −198.68.
func TestKarate(t *testing.T) {
	g := karate(t)
	assert.Equal(t, 78, g.Edges())
	p, err := Prior{}.resolved(g)
	require.NoError(t, err)
	for seed := range uint64(3) {
		s, err := Find(context.Background(), g, SearchOptions{Seed: seed, Starts: 30})
		require.NoError(t, err)
		assert.Equal(t, 5, s.K)
		assert.InDelta(t, -197.6162, s.Value, 1e-4)
		assert.InDelta(t, naive(g, p, s.Labels), s.Value, 1e-9)
		assert.InDelta(t, -229.5935, s.Path[1].Value, 1e-4)
		assert.InDelta(t, -198.6772, s.Path[4].Value, 1e-4)
		assert.InDelta(t, naive(g, p, s.Path[4].Labels), s.Path[4].Value, 1e-9)
	}
	s, err := Find(context.Background(), g, SearchOptions{K: 4, FixedK: true})
	require.NoError(t, err)
	assert.Equal(t, 4, s.K)
	assert.InDelta(t, -198.6772, s.Value, 1e-4)
}

func TestSearchIsTheSameForAnyWorkers(t *testing.T) {
	g := draw(t, Undirected, Bernoulli, 80, 0, truths[0].theta, 5)
	one, err := Find(context.Background(), g, SearchOptions{Workers: 1, Starts: 4, Seed: 3})
	require.NoError(t, err)
	four, err := Find(context.Background(), g, SearchOptions{Workers: 4, Starts: 4, Seed: 3})
	require.NoError(t, err)
	assert.Equal(t, one, four)
}

// Other numbers for the nodes change the order of the labels alone.
func TestNumbersOfNodesDoNotMatter(t *testing.T) {
	for _, c := range append(truths[2:4:4], truths[0]) {
		g := draw(t, c.kind, c.family, c.nodes, c.second, c.theta, 7)
		rng := rand.New(rand.NewPCG(1, 1))
		order := rng.Perm(g.first)
		for _, i := range rng.Perm(g.nodes - g.first) {
			order = append(order, g.first+i)
		}
		list, weights := EdgeList{Kind: c.kind, Nodes: c.nodes, Second: c.second}, matrix(g)
		pairsOf(g, func(i, j int) {
			if w := weights[i][j]; w > 0 {
				e := Edge{order[i], order[j], w}
				if c.kind == Bipartite {
					e.To -= g.first
				}
				list.Edges = append(list.Edges, e)
			}
		})
		h, err := list.Graph()
		require.NoError(t, err)
		a, err := Find(context.Background(), g, SearchOptions{Starts: 2})
		require.NoError(t, err)
		b, err := Find(context.Background(), h, SearchOptions{Starts: 2})
		require.NoError(t, err)
		assert.InDelta(t, a.Value, b.Value, 1e-9, c.name)
		moved := make([]int, g.nodes)
		for i, at := range order {
			moved[i] = b.Labels[at]
		}
		assert.InDelta(t, 1, agreement.AdjustedRand(agreement.CrossTable(a.Labels, moved, nil, a.K, b.K)), 1e-12, c.name)
	}
}

// Of graphs of the same density of edges, nodes are looked at about as often in large ones as in small ones, and each time their
// neighbours.
func TestWorkIsLinearInEdges(t *testing.T) {
	var passes []float64
	for _, nodes := range []int{200, 400, 800} {
		n := float64(nodes)
		g := draw(t, Undirected, Bernoulli, nodes, 0, [][]float64{{16 / n, 4 / n}, {4 / n, 16 / n}}, 1)
		s, err := Find(context.Background(), g, SearchOptions{Starts: 2})
		require.NoError(t, err)
		assert.Equal(t, 2, s.K)
		mean := 2 * float64(g.Edges()) / n
		assert.InDelta(t, mean, float64(s.Work.Neighbours)/float64(s.Work.Nodes), 0.3*mean)
		passes = append(passes, float64(s.Work.Nodes)/n)
	}
	t.Logf("nodes looked at, over nodes: %.0f", passes)
	assert.Less(t, passes[2], 2.5*passes[0]) // work that is quadratic in nodes would be four times
}

func TestSearchRefuses(t *testing.T) {
	g := draw(t, Bipartite, Bernoulli, 6, 5, [][]float64{{0.5}}, 1)
	for problem, o := range map[string]SearchOptions{
		"K is 1; must be at least 2: a bipartite graph":    {K: 1},
		"K is 12; must be at most 11, the number of nodes": {K: 12},
		"must not be negative":                             {Starts: -1},
		"Prior.Alpha":                                      {Prior: Prior{Alpha: -1}},
		"Prior.A and Prior.B":                              {Prior: Prior{A: 1, B: -2}},
	} {
		_, err := Find(context.Background(), g, o)
		assert.ErrorContains(t, err, problem)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Find(ctx, g, SearchOptions{})
	assert.ErrorIs(t, err, context.Canceled)
}

// gFAB from the labels that were found stays there.
func TestGFABFromTheLabelsFound(t *testing.T) {
	for _, c := range append(truths[2:4:4], truths[0]) {
		g := draw(t, c.kind, c.family, c.nodes, c.second, c.theta, 3)
		s, err := Find(context.Background(), g, SearchOptions{Starts: 2})
		require.NoError(t, err)
		res, err := framework.Fit(context.Background(), Model{Labels: s.Labels}, g, framework.Options{K: s.K, FixedK: true, Also: []framework.Criterion{framework.BIC}})
		require.NoError(t, err)
		assert.Zero(t, res.Fall)
		labels := res.Local.(*Posterior).Labels()
		assert.Greater(t, agreement.AdjustedRand(agreement.CrossTable(s.Labels, labels, nil, s.K, s.K)), 0.95, c.name)
		t.Log(c.name, s.Value, res.Scores)
	}
}

// TestASearchGoesOnToTheSameBits from the end of any pass, of graphs whose starts double, and refuses what is another search's.
func TestASearchGoesOnToTheSameBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for kind := Undirected; kind <= Bipartite; kind++ {
		list := EdgeList{Kind: kind, Nodes: 30}
		if kind == Bipartite {
			list.Second = 30
		}
		for range 150 {
			if i, j := rng.IntN(30), rng.IntN(30); i != j && (i%3 == j%3 || rng.IntN(4) == 0) {
				list.Edges = append(list.Edges, Edge{From: i, To: j, Weight: 1})
			}
		}
		g, err := list.Graph()
		require.NoError(t, err)
		var saved [][]byte
		o := SearchOptions{K: 4, DoubleTo: 16, Starts: 3, Seed: 5, Workers: 2}
		whole, err := Find(context.Background(), g, o)
		require.NoError(t, err)
		o.Recorder = func(e framework.Event) error {
			checkpoint, err := e.Checkpoint()
			saved = append(saved, checkpoint)
			return err
		}
		watched, err := Find(context.Background(), g, o)
		require.NoError(t, err)
		require.Equal(t, whole, watched)
		require.Greater(t, len(saved), 10)
		o.Recorder = nil
		for i := 0; i < len(saved); i += 7 {
			o.Resume = saved[i]
			again, err := Find(context.Background(), g, o)
			require.NoError(t, err)
			require.Equal(t, whole, again, "checkpoint %d", i)
		}
		o.Seed = 6
		var refused *framework.CheckpointError
		_, err = Find(context.Background(), g, o)
		require.ErrorAs(t, err, &refused)
		require.ErrorContains(t, err, "belongs to another fit")
		o.Seed, o.Resume = 5, slices.Clone(saved[3])
		o.Resume[len(o.Resume)/2] ^= 1
		_, err = Find(context.Background(), g, o)
		require.ErrorAs(t, err, &refused)
		list.Edges = list.Edges[1:]
		g, err = list.Graph()
		require.NoError(t, err)
		o.Resume = saved[3]
		_, err = Find(context.Background(), g, o)
		require.ErrorContains(t, err, "belongs to a fit to other rows")
		stop := errors.New("stop")
		o.Resume, o.Recorder = nil, func(framework.Event) error { return stop }
		_, err = Find(context.Background(), g, o)
		require.ErrorIs(t, err, stop)
	}
}
