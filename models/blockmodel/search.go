package blockmodel

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/latent-go/latent/internal/parallel"
)

// swap moves single nodes to the blocks where the likelihood is highest until no move gains. After the first pass only nodes are
// looked at whose neighbours have moved, until none is left; the end is a pass over all in which none moves. No block becomes empty
// where there are no more than least.
func (a *partition) swap(ctx context.Context, rng *rand.Rand, least int) error {
	due := make([]bool, a.g.nodes)
	for all := true; ; {
		for i := range due {
			due[i] = due[i] || all
		}
		moves := 0
		for _, i := range rng.Perm(a.g.nodes) {
			if !due[i] {
				continue
			}
			due[i] = false
			if a.reconsider(i, a.k > least) {
				moves++
				a.mark(i, due)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if moves == 0 && all {
			return nil
		}
		all = moves == 0
	}
}

// mark marks the neighbours of a node.
func (a *partition) mark(i int, due []bool) {
	nodes, _ := a.g.out.Of(i)
	for _, j := range nodes {
		due[j] = true
	}
	if a.g.kind == Directed {
		nodes, _ = a.g.in.Of(i)
		for _, j := range nodes {
			due[j] = true
		}
	}
}

// closest are the two blocks that the likelihood gains most by merging, or loses least; ok is false where there are none.
func (a *partition) closest() (k, l int, ok bool) {
	best := 0.0
	for i := range a.k {
		for j := i + 1; j < a.k; j++ {
			if a.side[i] != a.side[j] {
				continue
			}
			if v := a.merging(i, j); !ok || v > best {
				k, l, best, ok = i, j, v, true
			}
		}
	}
	return k, l, ok
}

// descend merges blocks down to the least number, and nodes settle after each merge. It passes every partition that it settles at to
// visit.
func (a *partition) descend(ctx context.Context, rng *rand.Rand, least int, visit func(a *partition)) error {
	for {
		if err := a.swap(ctx, rng, least); err != nil {
			return err
		}
		visit(a)
		if a.k <= least {
			return nil
		}
		k, l, ok := a.closest()
		if !ok {
			return nil
		}
		a.merge(k, l)
	}
}

// SearchOptions say how to search. The zero value of every field is its default.
type SearchOptions struct {
	Prior Prior
	// K is the number of blocks that starts begin with, those of both sets of a bipartite graph together. By default it is 10 for
	// each set, and DoubleTo half the nodes.
	K        int
	DoubleTo int  // while more than half of K are found, K doubles, up to so many; 0: it stays
	FixedK   bool // exactly K blocks
	// Starts are the independent starts, of which the best is kept: [DefaultStarts] by default.
	Starts  int
	Seed    uint64 // start r draws from the PCG stream (Seed, r)
	Workers int    // goroutines, one a processor by default; any number gives the same bits
}

// BlocksEach is the number of blocks of a set of nodes that starts begin with by default.
const BlocksEach = 10

// DefaultStarts is the number of starts by default: 30, and fewer of graphs of more than 16,000 edges, but one of each kind.
func DefaultStarts(edges int) int {
	return max(len(starts), min(30, 500_000/max(1, edges)))
}

// A Partition is a block for each node of a graph.
type Partition struct {
	K      int
	Labels []int     // of each node, from 0; larger blocks have smaller numbers, and those of the first set come first
	Sides  []int     // of each block, 0 or 1: the set of a bipartite graph that its nodes are of
	Sizes  []int     // nodes of each block
	Weight []float64 // K×K, of the edges from block to block; symmetric where the graph is not directed
	Mean   []float64 // K×K, the posterior mean of the probability or of the weight of an edge; 0 where there can be none
	Value  float64   // ln p(edges, labels), the exact integrated likelihood, in nats
}

// A Search is what a search found.
type Search struct {
	*Partition
	// Path are the best partitions that were found on the way into each number of blocks, by that number; nil where there is none.
	Path   []*Partition
	Starts []Start
	Work   Work
}

// A Start is how one start of a search ended.
type Start struct {
	Kmax  int // blocks that it began with
	K     int // of the best partition on its way
	Value float64
}

// Work is what a search did: the nodes that were looked at, again and again, and their neighbours.
type Work struct{ Nodes, Neighbours int }

// Find searches for the labels, and so for the number of blocks, of the largest exact integrated likelihood (Côme & Latouche 2015):
// from each start nodes move to the block where it is highest, one by one, until none gains; then the two blocks whose merging gains
// most, or loses least, become one, and so on down to one block. The best partition on the way is kept. Starts are by turns
// k-means of the leading eigenvectors of the regularised Laplacian, of the matrix of weights, and random labels.
func Find(ctx context.Context, g *Graph, o SearchOptions) (*Search, error) {
	p, err := o.Prior.resolved(g)
	if err != nil {
		return nil, err
	}
	least, most := g.sides(), g.nodes
	switch {
	case o.K < 0 || o.Starts < 0 || o.Workers < 0:
		return nil, fmt.Errorf("blockmodel: K %d, starts %d and workers %d must not be negative", o.K, o.Starts, o.Workers)
	case o.K > 0 && o.K < least:
		return nil, fmt.Errorf("blockmodel: K is %d: a bipartite graph has one block at least of each set of nodes", o.K)
	case o.K > most:
		return nil, fmt.Errorf("blockmodel: K is %d: a graph of %d nodes has no more blocks than these", o.K, most)
	}
	k, double := o.K, o.DoubleTo
	if k == 0 {
		k, double = min(most, BlocksEach*least), most/2
	}
	if o.FixedK {
		least, k, double = o.K, min(most, 2*o.K), 0
	}
	s := new(Search)
	for {
		if err := s.search(ctx, g, p, o, k, least); err != nil {
			return nil, err
		}
		if s.Partition == nil {
			return nil, fmt.Errorf("blockmodel: no start leads to %d blocks: choose a smaller K", o.K)
		}
		if 2*s.K <= k || k >= double {
			return s, nil
		}
		k = min(2*k, double)
	}
}

// search makes the starts from kmax blocks down to the least number.
func (s *Search) search(ctx context.Context, g *Graph, p Prior, o SearchOptions, kmax, least int) error {
	starts := cmp.Or(o.Starts, DefaultStarts(g.Edges()))
	paths, works := make([][]*Partition, starts), make([]Work, starts)
	err := parallel.Do(starts, cmp.Or(o.Workers, runtime.GOMAXPROCS(0)), func(i int) error {
		rng := rand.New(rand.NewPCG(o.Seed, uint64(i)))
		a := newPartition(g, p, g.begin(i, kmax, rng))
		paths[i] = make([]*Partition, kmax+1)
		err := a.descend(ctx, rng, least, func(a *partition) { paths[i][a.k] = a.partition() })
		works[i] = a.work
		return err
	})
	if err != nil {
		return err
	}
	s.Path = append(s.Path, make([]*Partition, kmax+1-len(s.Path))...)
	for i, path := range paths {
		s.Work.Nodes += works[i].Nodes
		s.Work.Neighbours += works[i].Neighbours
		start := Start{Kmax: kmax, Value: math.Inf(-1)}
		for k, at := range path {
			if at == nil || o.FixedK && k != o.K {
				continue
			}
			if at.Value > start.Value {
				start.K, start.Value = k, at.Value
			}
			if s.Path[k] == nil || at.Value > s.Path[k].Value {
				s.Path[k] = at
			}
			if s.Partition == nil || at.Value > s.Value {
				s.Partition = at
			}
		}
		s.Starts = append(s.Starts, start)
	}
	return nil
}

// partition is what there is to see from outside, with the blocks in order.
func (a *partition) partition() *Partition {
	order := make([]int, a.k)
	for k := range order {
		order[k] = k
	}
	first := make([]int, a.k)
	for i := len(a.label) - 1; i >= 0; i-- {
		first[a.label[i]] = i
	}
	slices.SortFunc(order, func(k, l int) int {
		return cmp.Or(cmp.Compare(a.side[k], a.side[l]), cmp.Compare(a.size[l], a.size[k]), cmp.Compare(first[k], first[l]))
	})
	p := &Partition{K: a.k, Labels: make([]int, len(a.label)), Value: a.value()}
	place := make([]int, a.k)
	for at, k := range order {
		place[k] = at
		p.Sides, p.Sizes = append(p.Sides, a.side[k]), append(p.Sizes, a.size[k])
		for _, l := range order {
			w, pairs := a.weights[k*a.k+l], a.pairs(k, l, a.size[k], a.size[l])
			p.Weight = append(p.Weight, w)
			if a.g.kind == Bipartite && pairs == 0 {
				p.Mean = append(p.Mean, 0)
				continue
			}
			p.Mean = append(p.Mean, a.prior.mean(a.g.family, w, pairs))
		}
	}
	for i, k := range a.label {
		p.Labels[i] = place[k]
	}
	return p
}

// Label is the partition of given labels, from 0, with its exact integrated likelihood. Blocks without nodes are left out.
func Label(g *Graph, labels []int, p Prior) (*Partition, error) {
	p, err := p.resolved(g)
	if err != nil {
		return nil, err
	}
	if len(labels) != g.nodes {
		return nil, fmt.Errorf("blockmodel: %d labels for %d nodes", len(labels), g.nodes)
	}
	return newPartition(g, p, labels).partition(), nil
}
