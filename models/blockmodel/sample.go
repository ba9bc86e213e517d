package blockmodel

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/internal/categorical"
)

// Sample draws a graph of so many nodes, and returns the block of each node too. second is the size of a bipartite
// graph's second set; nodes is then the size of the first. The time is linear in nodes and edges.
func (p *Parameters) Sample(nodes, second int, rng *rand.Rand) (list EdgeList, labels []int, err error) {
	list = EdgeList{Kind: p.Kind, Family: p.Family, Nodes: nodes, Second: second}
	if nodes < 1 || p.Kind == Bipartite && second < 1 || p.Kind != Bipartite && (nodes < 2 || second != 0) {
		return list, nil, fmt.Errorf("blockmodel: a %v graph of %d and %d nodes cannot be drawn", p.Kind, nodes, second)
	}
	members := make([][]int, p.K) // of each block, as they are numbered within their set
	weights := make([]float64, p.K)
	for i := range nodes + second {
		side, at := 0, i
		if i >= nodes {
			side, at = 1, i-nodes
		}
		for k, w := range p.Weights {
			if weights[k] = 0; p.side(k) == side {
				weights[k] = w
			}
		}
		k := categorical.Draw(weights, rng)
		labels = append(labels, k)
		members[k] = append(members[k], at)
	}
	for k, l := range p.cells {
		if p.Kind == Bipartite {
			k, l = l, k // from the first set to the second, which has the larger numbers
			if p.Sides[k] == 1 {
				k, l = l, k
			}
		}
		p.join(&list, members[k], members[l], k == l, p.Theta[k*p.K+l], rng)
	}
	return list, labels, nil
}

// join draws the edges between two blocks, skipping the pairs without one (Batagelj & Brandes 2005).
func (p *Parameters) join(list *EdgeList, from, to []int, same bool, theta float64, rng *rand.Rand) {
	pairs := len(from) * len(to)
	switch {
	case same && p.Kind == Directed:
		pairs -= len(from)
	case same:
		pairs = len(from) * (len(from) - 1) / 2
	}
	none := -theta // ln P(no edge)
	if p.Family == Bernoulli {
		none = math.Log1p(-theta)
	}
	if none == 0 {
		return
	}
	for at := -1; ; {
		skip := math.Floor(math.Log1p(-rng.Float64()) / none)
		if skip >= float64(pairs-1-at) {
			return
		}
		at += 1 + int(skip)
		i, j := at/max(1, len(to)), at%max(1, len(to))
		switch {
		case same && p.Kind == Directed:
			i, j = at/(len(from)-1), at%(len(from)-1)
			if j >= i {
				j++
			}
		case same:
			i = int((1 + math.Sqrt(1+8*float64(at))) / 2)
			for i*(i-1)/2 > at { // rounding
				i--
			}
			j = at - i*(i-1)/2
		}
		list.Edges = append(list.Edges, Edge{from[i], to[j], p.weight(theta, rng)})
	}
}

// weight draws the weight of an edge that is there.
func (p *Parameters) weight(theta float64, rng *rand.Rand) float64 {
	if p.Family == Bernoulli {
		return 1
	}
	if theta > 30 { // zeros are rare
		for {
			if w := (distuv.Poisson{Lambda: theta, Src: rng}).Rand(); w > 0 {
				return w
			}
		}
	}
	u, w := rng.Float64()*-math.Expm1(-theta), 1.0
	for q := theta * math.Exp(-theta); u > q && q > 0; q *= theta / w {
		u -= q
		w++
	}
	return w
}

// Parameters returns the posterior means of Π given the partition's labels.
func (a *Partition) Parameters(g *Graph, prior Prior) (*Parameters, error) {
	prior, err := prior.resolved(g)
	if err != nil {
		return nil, err
	}
	p := &Parameters{Kind: g.kind, Family: g.family, K: a.K, Theta: a.Mean, Unit: g.family.unit(g.total, g.Pairs())}
	if g.kind == Bipartite {
		p.Sides = a.Sides
	}
	if g.known != nil {
		p.Known = a.Known
	}
	blocks := [2]int{}
	for _, side := range a.Sides {
		blocks[side]++
	}
	for k, n := range a.Sizes {
		side := a.Sides[k]
		p.Weights = append(p.Weights, (prior.Alpha+float64(n))/(float64(blocks[side])*prior.Alpha+float64(g.members(side))))
	}
	return p, nil
}
