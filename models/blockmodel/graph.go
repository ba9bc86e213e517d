package blockmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/latent-go/latent/framework/blocks"
)

// Kind says which nodes an edge may join.
type Kind int

const (
	Undirected Kind = iota // an edge joins two nodes
	Directed               // an edge leads from one node to another
	Bipartite              // an edge joins a node of one set and a node of another
)

var kindNames = [...]string{"undirected", "directed", "bipartite"}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// An Edge joins two nodes; in a directed graph it leads From one To the other. Nodes are numbered from 0. In a
// bipartite graph From is a node of the first set and To a node of the second set, each set numbered from 0.
type Edge struct {
	From, To int
	Weight   float64 // 0 or 1 under Bernoulli, a count under Poisson; a weight of 0 means no edge
}

// An EdgeList describes a graph by its edges, in any order.
type EdgeList struct {
	Kind   Kind
	Family Family
	Nodes  int // number of nodes, including those without an edge; in a bipartite graph, of the first set
	Second int // number of nodes of the second set; bipartite graphs only
	Edges  []Edge
	// Known lists for each node, those of a bipartite graph's second set last, the labels, from 0, that its block may
	// have; none: any block. A node with one label is in the block of that label, and each label is the only one of some
	// node. There may be further blocks, without labels. nil: nothing is known.
	Known [][]int
	// DropLoops drops edges from a node to itself. By default such an edge is an error: the model excludes it.
	DropLoops bool
}

// A Graph is a graph in compressed sparse rows. It is a [framework.Source] of its nodes; fits do not change it.
type Graph struct {
	kind    Kind
	family  Family
	nodes   int // all of them; those of the second set of a bipartite graph come last
	first   int // of the first set
	out, in Links
	total   float64   // sum of the weights
	base    []float64 // of each node, its share in −Σ ln w! of weights that are counts
	known   [][]int   // see EdgeList.Known
	sets    []int     // of each label, the set of the nodes that have it

	Loops int // edges from a node to itself that were dropped
	// edges between nodes that an earlier edge joins: ignored under Bernoulli, their weights added under Poisson
	Repeated int

	spectral spectra
}

// spectra are the embeddings of a graph that were asked for.
type spectra struct {
	sync.Mutex
	known map[embedding][]float64
}

// Links lists the neighbours of consecutive nodes.
type Links struct {
	Start   []int   // node i has the entries Start[i]−Start[0] to Start[i+1]−Start[0]−1
	Node    []int32 // ascending
	Weights []float64
}

// Of returns the neighbours of node i and the weights of the edges to them.
func (l Links) Of(i int) (nodes []int32, weights []float64) {
	from, to := l.Start[i]-l.Start[0], l.Start[i+1]-l.Start[0]
	return l.Node[from:to], l.Weights[from:to]
}

// Nodes is a block of consecutive nodes: the rows of the model.
type Nodes struct {
	First, N int
	Out      Links // the nodes that edges lead to; in a graph that is not directed, all neighbours
	In       Links // the nodes that edges come from; directed graphs only
	Known    [][]int
	graph    *Graph
}

// blockNodes is the number of nodes in a block.
const blockNodes = 512

// Graph builds the graph. It returns an error if there are too few nodes for the model, and a [blocks.DataError]
// that names the first faulty edge.
func (l EdgeList) Graph() (*Graph, error) {
	g := &Graph{kind: l.Kind, family: l.Family, nodes: l.Nodes, first: l.Nodes}
	switch {
	case l.Kind < Undirected || l.Kind > Bipartite:
		return nil, fmt.Errorf("blockmodel: unknown graph %v: choose Undirected, Directed or Bipartite", l.Kind)
	case l.Family != Bernoulli && l.Family != Poisson:
		return nil, fmt.Errorf("blockmodel: unknown edges %v: choose Bernoulli or Poisson", l.Family)
	case l.Kind == Bipartite && (l.Nodes < 1 || l.Second < 1):
		return nil, fmt.Errorf("blockmodel: %d and %d nodes: a bipartite graph needs nodes in both sets", l.Nodes, l.Second)
	case l.Kind != Bipartite && l.Second != 0:
		return nil, fmt.Errorf("blockmodel: Second is %d; must be 0 unless the graph is bipartite", l.Second)
	case l.Kind != Bipartite && l.Nodes < 2:
		return nil, fmt.Errorf(
			"blockmodel: the number of nodes is %d; must be at least 2, for a pair of nodes", l.Nodes,
		)
	case l.Nodes+l.Second > math.MaxInt32:
		return nil, fmt.Errorf("blockmodel: the number of nodes is %d; must be at most %d", l.Nodes+l.Second, math.MaxInt32)
	}
	g.nodes += l.Second
	g.base = make([]float64, g.nodes)
	if err := g.takeKnown(l.Known); err != nil {
		return nil, err
	}
	edges, err := l.checked(g)
	if err != nil {
		return nil, err
	}
	if l.Kind == Directed {
		g.in = linksOf(edges, g.nodes, func(e Edge) (int, int) { return e.To, e.From })
		g.out = linksOf(edges, g.nodes, func(e Edge) (int, int) { return e.From, e.To })
		return g, nil
	}
	both := make([]Edge, 0, 2*len(edges))
	for _, e := range edges {
		both = append(both, e, Edge{e.To, e.From, e.Weight})
	}
	g.out = linksOf(both, g.nodes, func(e Edge) (int, int) { return e.From, e.To })
	return g, nil
}

// checked lists the edges, each pair of nodes once, as nodes of g.
func (l EdgeList) checked(g *Graph) ([]Edge, error) {
	edges := make([]Edge, 0, len(l.Edges))
	for i, e := range l.Edges {
		if err := l.fault(e); err != nil {
			return nil, fmt.Errorf("blockmodel: %w", blocks.FaultyRow(i, "%w", err))
		}
		if l.Kind == Bipartite {
			e.To += g.first
		} else if e.From == e.To {
			if !l.DropLoops {
				return nil, fmt.Errorf("blockmodel: %w", blocks.FaultyRow(i, "%w", ErrLoop))
			}
			g.Loops++
			continue
		}
		if e.Weight == 0 {
			continue
		}
		if l.Kind == Undirected && e.From > e.To {
			e.From, e.To = e.To, e.From
		}
		edges = append(edges, e)
	}
	slices.SortFunc(edges, func(a, b Edge) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	single := edges[:0]
	for _, e := range edges {
		if n := len(single); n > 0 && single[n-1].From == e.From && single[n-1].To == e.To {
			g.Repeated++
			if l.Family == Poisson {
				single[n-1].Weight += e.Weight
			}
			continue
		}
		single = append(single, e)
	}
	for i, e := range single {
		if !(e.Weight <= mostWeight) {
			return nil, fmt.Errorf("blockmodel: the weights of the edges between two nodes sum to %v; must be at most %g",
				single[i].Weight, float64(mostWeight))
		}
		g.total += e.Weight
		if l.Family == Poisson {
			v, _ := math.Lgamma(e.Weight + 1)
			g.base[e.From] -= v / 2
			g.base[e.To] -= v / 2
		}
	}
	if g.total > mostTotal {
		return nil, fmt.Errorf("blockmodel: the weights sum to %v; must be at most %g, so that sums of counts are exact",
			g.total, float64(mostTotal))
	}
	return single, nil
}

const (
	mostWeight = 1 << 40
	mostTotal  = 1 << 53
)

// Reasons that a [blocks.DataError] about an edge wraps.
var (
	ErrLoop    = errors.New("is a loop, an edge from a node to itself, which the model excludes: drop it")
	ErrBinary  = errors.New("the weight must be 0 or 1; counts need the family Poisson")
	ErrCounted = errors.New("the weight must be a whole number from 0 to 2⁴⁰")
)

// fault is what is wrong with an edge.
func (l EdgeList) fault(e Edge) error {
	second := l.Nodes
	if l.Kind == Bipartite {
		second = l.Second
	}
	switch w := e.Weight; {
	case e.From < 0 || e.From >= l.Nodes:
		return fmt.Errorf("has an edge from node %d of %d, numbered from 0", e.From, l.Nodes)
	case e.To < 0 || e.To >= second:
		return fmt.Errorf("has an edge to node %d of %d, numbered from 0", e.To, second)
	case l.Family == Bernoulli && w != 0 && w != 1:
		return fmt.Errorf("has an edge of weight %v: %w", w, ErrBinary)
	case !(w >= 0 && w <= mostWeight) || w != math.Floor(w):
		return fmt.Errorf("has an edge of weight %v: %w", w, ErrCounted)
	}
	return nil
}

// linksOf lists the neighbours of each node by counting; edges are in ascending order of at least one of their ends.
func linksOf(edges []Edge, nodes int, ends func(e Edge) (at, neighbour int)) Links {
	l := Links{Start: make([]int, nodes+1), Node: make([]int32, len(edges)), Weights: make([]float64, len(edges))}
	for _, e := range edges {
		at, _ := ends(e)
		l.Start[at+1]++
	}
	for i := range nodes {
		l.Start[i+1] += l.Start[i]
	}
	next := slices.Clone(l.Start)
	for _, e := range edges {
		at, neighbour := ends(e)
		l.Node[next[at]], l.Weights[next[at]] = int32(neighbour), e.Weight
		next[at]++
	}
	return l
}

// Kind returns the kind of graph.
func (g *Graph) Kind() Kind { return g.kind }

// Family returns the family of the edges' distribution.
func (g *Graph) Family() Family { return g.family }

// Rows returns the number of nodes. In a bipartite graph those of the second set come after those of the first.
func (g *Graph) Rows() int { return g.nodes }

// First returns the number of nodes of a bipartite graph's first set; of another graph, the number of all nodes.
func (g *Graph) First() int { return g.first }

// Edges returns the number of pairs of nodes that an edge joins.
func (g *Graph) Edges() int {
	if g.kind == Directed {
		return len(g.out.Node)
	}
	return len(g.out.Node) / 2
}

// Pairs returns the number of pairs of nodes that could have an edge between them.
func (g *Graph) Pairs() float64 {
	n, m := float64(g.first), float64(g.nodes-g.first)
	switch g.kind {
	case Directed:
		return n * (n - 1)
	case Bipartite:
		return n * m
	}
	return n * (n - 1) / 2
}

// Density returns the mean weight over all pairs of nodes that Pairs counts.
func (g *Graph) Density() float64 { return g.total / g.Pairs() }

// side is the set that a node of a bipartite graph belongs to, 0 or 1; 0 in others.
func (g *Graph) side(node int) int {
	if node < g.first {
		return 0
	}
	return 1
}

// sides is the number of sets of nodes.
func (g *Graph) sides() int {
	if g.kind == Bipartite {
		return 2
	}
	return 1
}

// members is the number of nodes of a set.
func (g *Graph) members(side int) int {
	if side == 0 {
		return g.first
	}
	return g.nodes - g.first
}

// Block returns a block of n consecutive nodes.
func (g *Graph) Block(first, n int) Nodes {
	b := Nodes{First: first, N: n, Out: g.out.part(first, n), graph: g}
	if g.kind == Directed {
		b.In = g.in.part(first, n)
	}
	if g.known != nil {
		b.Known = g.known[first : first+n]
	}
	return b
}

// part is the links of n consecutive nodes, in the same memory.
func (l Links) part(first, n int) Links {
	from, to := l.Start[first], l.Start[first+n]
	return Links{Start: l.Start[first : first+n+1], Node: l.Node[from:to], Weights: l.Weights[from:to]}
}

// Blocks yields the nodes in blocks.
func (g *Graph) Blocks(context.Context) iter.Seq2[Nodes, error] {
	return func(yield func(Nodes, error) bool) {
		for first := 0; first < g.nodes; first += blockNodes {
			if !yield(g.Block(first, min(blockNodes, g.nodes-first)), nil) {
				return
			}
		}
	}
}
