package blockmodel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/lvmtest"
)

// rows are the nodes of a graph for the suite, which asks for consecutive ones.
func rows(g *Graph) lvmtest.Data[Nodes] {
	return lvmtest.Data[Nodes]{Rows: g.Rows(), Block: func(rows []int, _ []float64, first int) Nodes { return g.Block(first, len(rows)) }}
}

// collapse leaves the last block of a set without nodes: they are those of the first block of the set.
func collapse(s *Statistics, p *Parameters) (*Statistics, *Parameters) {
	k := p.K
	last, to := k-1, 0
	for p.side(to) != p.side(last) {
		to++
	}
	move := func(v []float64) {
		for i := range k {
			if i != last && i != to {
				v[to*k+i] += v[last*k+i]
				v[i*k+to] += v[i*k+last]
			}
		}
		v[to*k+to] += v[last*k+last] + v[to*k+last] + v[last*k+to]
		for i := range k {
			v[last*k+i], v[i*k+last] = 0, 0
		}
	}
	s.Nodes[to] += s.Nodes[last]
	s.Nodes[last] = 0
	move(s.Overlap)
	move(s.Edges)
	q, err := Model{}.Maximize(s, p, nil)
	if err != nil {
		panic(err)
	}
	return s, q
}

func TestModel(t *testing.T) {
	two := [][]float64{{0.6, 0.1}, {0.2, 0.5}}
	counts := [][]float64{{2, 0.3}, {0.5, 3}}
	for _, c := range []struct {
		name   string
		kind   Kind
		family Family
		theta  [][]float64
		k      []int
		known  [][]int // of the first nodes
	}{
		{"undirected", Undirected, Bernoulli, two, []int{1, 2, 3}, nil},
		{"directed", Directed, Bernoulli, two, []int{1, 2, 3}, nil},
		{"bipartite", Bipartite, Bernoulli, two, []int{4, 5}, nil},
		{"counts", Undirected, Poisson, counts, []int{1, 2, 3}, nil},
		{"directed counts", Directed, Poisson, counts, []int{2}, nil},
		{"bipartite counts", Bipartite, Poisson, counts, []int{4}, nil},
		{"known", Undirected, Bernoulli, two, []int{2, 3}, [][]int{{0}, nil, {0}}},
		{"known of both sets", Bipartite, Poisson, counts, []int{4, 5}, [][]int{{0}, {1}, nil, {0, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			least := 1
			if c.kind == Bipartite {
				least = 2
			}
			g := draw(t, c.kind, c.family, 14, 16, c.theta, 3)
			if c.known != nil {
				require.NoError(t, g.takeKnown(append(c.known, make([][]int, g.nodes-len(c.known))...)))
			}
			lvmtest.Test(t, lvmtest.Case[Nodes, *Parameters, *Statistics]{
				Model: Model{}, Data: rows(g), K: c.k, Least: least, Unweighted: true,
				Degenerate: func(s *Statistics, p *Parameters) (*Statistics, *Parameters, float64) {
					s, q := collapse(s, p)
					own := 0.0
					for k, l := range q.cells {
						if k == p.K-1 || l == p.K-1 {
							own += q.Family.logPrior(q.Theta[k*p.K+l], q.Unit)
						}
					}
					return s, q, own
				},
				Free: func(_ *Statistics, p *Parameters) ([]float64, func([]float64) *Parameters) {
					var x []float64
					for k, w := range p.Weights { // the last block of a set has what is left
						if k+1 < p.K && p.side(k) == p.side(k+1) {
							x = append(x, w)
						}
					}
					for k, l := range p.cells {
						x = append(x, p.Theta[k*p.K+l])
					}
					return x, func(x []float64) *Parameters {
						q := copyOf(p)
						rest := [2]float64{1, 1}
						for k := range q.Weights {
							side := p.side(k)
							if q.Weights[k] = rest[side]; k+1 < p.K && p.side(k+1) == side {
								q.Weights[k], x = x[0], x[1:]
								rest[side] -= q.Weights[k]
							}
						}
						for k, l := range q.cells {
							q.set(k, l, x[0])
							x = x[1:]
						}
						return q
					}
				},
			})
		})
	}
}

// copyOf shares no parameters with p.
func copyOf(p *Parameters) *Parameters {
	return framework.KeepAxes(p, p.K, slices.Collect(func(yield func(int) bool) {
		for k := range p.K {
			yield(k)
		}
	}))
}

// draw draws a graph whose nodes are in two blocks by turns.
func draw(t *testing.T, kind Kind, f Family, n, second int, theta [][]float64, seed uint64) *Graph {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	list := EdgeList{Kind: kind, Family: f, Nodes: n}
	if kind == Bipartite {
		list.Second = second
	} else {
		second = n
	}
	for i := range n {
		for j := range second {
			if kind == Undirected && j >= i || kind == Directed && j == i {
				continue
			}
			k, l := i%len(theta), j%len(theta[0])
			if kind == Undirected && k > l {
				k, l = l, k
			}
			list.Edges = append(list.Edges, Edge{i, j, f.draw(theta[k][l], rng)})
		}
	}
	g, err := list.Graph()
	require.NoError(t, err)
	return g
}
