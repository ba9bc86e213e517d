package blockmodel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/parallel"
)

// A descent is one start of a search, as far as it is. Single nodes move to the blocks where the likelihood is highest
// until no move gains: after the first pass only nodes are looked at whose neighbours have moved, until none is left,
// and the end is a pass over all in which none moves. Then two blocks become one, and so on down to the least number.
type descent struct {
	Label  []int // the block of each node after the last pass; nil before the first
	K      int
	Due    []bool // the nodes that the next pass looks at
	All    bool   // it looks at all
	Random []byte // the state of the generator
	Passes int
	Path   map[int]*Partition // those that nodes have settled at, by the number of blocks
	Work   Work
	Ended  bool
}

// pass looks at the nodes that are due and moves them. No block becomes empty where there are no more than least.
func (d *descent) pass(a *partition, rng *rand.Rand, least int) {
	for i := range d.Due {
		d.Due[i] = d.Due[i] || d.All
	}
	moves := 0
	for _, i := range rng.Perm(a.g.nodes) {
		if !d.Due[i] {
			continue
		}
		d.Due[i] = false
		if a.reconsider(i, a.k > least) {
			moves++
			a.mark(i, d.Due)
		}
	}
	d.Passes++
	settled := moves == 0 && d.All
	d.All = moves == 0
	if !settled {
		return
	}
	d.Path[a.k] = a.partition()
	if d.Ended = a.k <= least; d.Ended {
		return
	}
	k, l, ok := a.closest()
	if d.Ended = !ok; ok {
		a.merge(k, l)
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

// closest are the two blocks that the likelihood gains most by merging, or loses least; ok is false where there are
// none.
func (a *partition) closest() (k, l int, ok bool) {
	best := 0.0
	for i := range a.k {
		for j := i + 1; j < a.k; j++ {
			if a.side[i] != a.side[j] || a.known[i] != free && a.known[j] != free {
				continue
			}
			if v := a.merging(i, j); !ok || v > best {
				k, l, best, ok = i, j, v, true
			}
		}
	}
	return k, l, ok
}

// SearchOptions configure a search. The zero value of every field selects its default.
type SearchOptions struct {
	Prior Prior
	// K is the number of blocks of a start, in a bipartite graph of both sets together. By default K is 10 for each set,
	// and DoubleTo is half the number of nodes.
	K        int
	DoubleTo int  // K doubles, up to DoubleTo, while the best partition has more than K/2 blocks; 0: never
	FixedK   bool // the result has exactly K blocks
	// Starts is the number of independent starts, of which the best is kept; by default [DefaultStarts].
	Starts int
	Seed   uint64 // start r draws from the PCG stream (Seed, r)
	// Workers is the number of goroutines, by default one a processor. Any number gives the same bits.
	Workers int `json:"-"`

	// Recorder, if not nil, receives an event after every pass over the nodes: its iterations are passes, its value is
	// the exact integrated likelihood in nats.
	Recorder func(framework.Event) error `json:"-"`
	// Resume is the checkpoint of an event, from which the search continues. Find returns a *framework.CheckpointError
	// if the graph or the options differ from those of the checkpoint.
	Resume []byte `json:"-"`
}

// BlocksEach is the default number of blocks that a start gives each set of nodes.
const BlocksEach = 10

// DefaultStarts returns the default number of starts: 30, fewer for graphs of more than 16,000 edges, but at least
// one of each kind of start.
func DefaultStarts(edges int) int {
	return max(len(starts), min(30, 500_000/max(1, edges)))
}

// A Partition assigns each node of a graph to a block.
type Partition struct {
	K      int
	Labels []int     // the block of each node, from 0, in descending order of size; blocks of the first set come first
	Sides  []int     // for each block, the set of a bipartite graph that its nodes belong to: 0 or 1
	Known  []int     // for each block, the label of the nodes that are known to be in it; −1: there are none
	Sizes  []int     // number of nodes in each block
	Weight []float64 // K×K, total weight of the edges from block to block; symmetric unless the graph is directed
	Mean   []float64 // K×K, posterior mean of an edge's probability (Poisson: weight); 0 where no edge is possible
	Value  float64   // ln p(edges, labels), the exact integrated likelihood, in nats
}

// A Search is the result of Find: the best partition, the best for each number of blocks, and how each start ended.
type Search struct {
	*Partition
	// Path[k] is the best partition into k blocks that the search passed through; nil if it passed through none.
	Path   []*Partition
	Starts []Start
	Work   Work
}

// A Start describes how one start of a search ended.
type Start struct {
	Kmax  int // blocks at the beginning
	K     int // blocks of the best partition that it passed through
	Value float64
}

// Work counts what a search did: the visits to nodes, and the neighbours read in these visits.
type Work struct{ Nodes, Neighbours int }

// Find searches for the labels, and so for the number of blocks, with the largest exact integrated likelihood (Côme &
// Latouche 2015). From each start, nodes move one by one to the block that raises it most, until no move gains. Then
// the two blocks whose merger gains most, or loses least, are merged; both steps repeat down to one block, and the
// best partition passed through is kept. Starts alternate between k-means of the leading eigenvectors of the
// regularised Laplacian, k-means of those of the matrix of weights, and random labels.
func Find(ctx context.Context, g *Graph, o SearchOptions) (*Search, error) {
	p, err := o.Prior.resolved(g)
	if err != nil {
		return nil, err
	}
	least, most := g.Least(), g.nodes
	switch {
	case o.K < 0 || o.Starts < 0 || o.Workers < 0:
		return nil, fmt.Errorf("blockmodel: K %d, starts %d and workers %d must not be negative", o.K, o.Starts, o.Workers)
	case o.K > 0:
		if err := g.checkK(o.K); err != nil {
			return nil, err
		}
	}
	s := &search{
		g: g, prior: p, o: o, least: least, double: o.DoubleTo, at: searchProgress{Kmax: o.K, Path: map[int]*Partition{}},
	}
	if o.K == 0 {
		s.at.Kmax, s.double = min(most, max(least, BlocksEach*g.sides())), most/2
	}
	if o.FixedK {
		s.least, s.at.Kmax, s.double = o.K, min(most, 2*o.K), 0
	}
	if err := s.identify(); err != nil {
		return nil, err
	}
	for !s.at.Ended {
		if err := s.round(ctx); err != nil {
			return nil, err
		}
		if err := s.fold(); err != nil {
			return nil, err
		}
	}
	return s.found(), nil
}

// A search is one under way.
type search struct {
	g             *Graph
	prior         Prior
	o             SearchOptions
	least, double int
	id            framework.Search

	mu sync.Mutex // of at, which checkpoints keep
	at searchProgress

	recording sync.Mutex
	stopped   error // of the recorder
}

// searchProgress is how far a search has come.
type searchProgress struct {
	Kmax  int       // blocks that the starts under way began with
	Runs  []descent // these
	Ended bool
	// Of the starts before:
	Path   map[int]*Partition
	Starts []Start
	Work   Work
}

// identify makes checkpoints possible, and goes on from the one of the options.
func (s *search) identify() error {
	settings := s.o
	settings.Prior = s.prior
	if s.id = framework.NewSearch(settings, s.g); s.o.Resume == nil {
		return nil
	}
	return s.id.Resume(s.o.Resume, &s.at)
}

// round makes the starts from Kmax blocks down to the least number.
func (s *search) round(ctx context.Context) error {
	if s.at.Runs == nil {
		s.at.Runs = make([]descent, cmp.Or(s.o.Starts, DefaultStarts(s.g.Edges())))
	}
	return parallel.Do(len(s.at.Runs), cmp.Or(s.o.Workers, runtime.GOMAXPROCS(0)),
		func(i int) error { return s.descend(ctx, i) })
}

// descend makes a start from where it is to its end.
func (s *search) descend(ctx context.Context, i int) error {
	source := rand.NewPCG(s.o.Seed, uint64(i))
	rng := rand.New(source)
	d := s.at.Runs[i]
	var a *partition
	if d.Label == nil {
		a = newPartition(s.g, s.prior, s.g.begin(i, s.at.Kmax, rng))
		d.Due, d.All, d.Path = make([]bool, s.g.nodes), true, map[int]*Partition{}
	} else {
		if err := source.UnmarshalBinary(d.Random); err != nil {
			return err
		}
		a = resumedPartition(s.g, s.prior, d.Label, d.K)
		a.work = d.Work
	}
	for !d.Ended {
		if err := ctx.Err(); err != nil {
			return err
		}
		d.pass(a, rng, s.least)
		d.Work = a.work
		if s.o.Recorder == nil && !d.Ended {
			continue
		}
		if err := s.keep(i, d, a, source); err != nil {
			return err
		}
	}
	return nil
}

// keep takes over how far a start has come, and tells the recorder.
func (s *search) keep(i int, d descent, a *partition, source *rand.PCG) (err error) {
	d.K, d.Label, d.Due, d.Path = a.k, slices.Clone(a.label), slices.Clone(d.Due), maps.Clone(d.Path)
	if d.Random, err = source.MarshalBinary(); err != nil {
		return err
	}
	s.mu.Lock()
	s.at.Runs[i] = d
	s.mu.Unlock()
	if s.o.Recorder == nil {
		return nil
	}
	value := a.value()
	event := framework.Event{Restart: i, Iteration: d.Passes, K: a.k, Value: value, Objective: value, Change: math.NaN()}
	s.recording.Lock()
	defer s.recording.Unlock()
	if s.stopped == nil {
		s.stopped = s.o.Recorder(event.With(s.encode))
	}
	return s.stopped
}

// encode makes a checkpoint.
func (s *search) encode() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id.Checkpoint(s.at)
}

// fold adds the starts that have ended to those before, and doubles K where more than half of it is found.
func (s *search) fold() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.at
	for _, d := range at.Runs {
		at.Work.Nodes += d.Work.Nodes
		at.Work.Neighbours += d.Work.Neighbours
		start := Start{Kmax: at.Kmax, Value: math.Inf(-1)}
		for k := range at.Kmax + 1 {
			p := d.Path[k]
			if p == nil || s.o.FixedK && k != s.o.K {
				continue
			}
			if p.Value > start.Value {
				start.K, start.Value = k, p.Value
			}
			if at.Path[k] == nil || p.Value > at.Path[k].Value {
				at.Path[k] = p
			}
		}
		at.Starts = append(at.Starts, start)
	}
	best := s.found()
	if best.Partition == nil {
		return fmt.Errorf("blockmodel: no start leads to %d blocks: choose a smaller K", s.o.K)
	}
	at.Runs = nil
	if at.Ended = 2*best.K <= at.Kmax || at.Kmax >= s.double; !at.Ended {
		at.Kmax = min(2*at.Kmax, s.double)
	}
	return nil
}

// found is what the starts that have ended have found.
func (s *search) found() *Search {
	found := &Search{Path: make([]*Partition, s.at.Kmax+1), Starts: s.at.Starts, Work: s.at.Work}
	for k := range found.Path {
		p := s.at.Path[k]
		found.Path[k] = p
		if p != nil && (found.Partition == nil || p.Value > found.Value) {
			found.Partition = p
		}
	}
	return found
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
		p.Sides, p.Sizes, p.Known = append(p.Sides, a.side[k]), append(p.Sizes, a.size[k]), append(p.Known, a.known[k])
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

// Label returns the partition given by labels, which count from 0, with its exact integrated likelihood. It drops
// blocks without nodes. It returns an error for labels that do not match the graph, or what is known of its nodes, and
// for an invalid prior.
func Label(g *Graph, labels []int, p Prior) (*Partition, error) {
	p, err := p.resolved(g)
	if err != nil {
		return nil, err
	}
	if len(labels) != g.nodes {
		return nil, fmt.Errorf("blockmodel: %d labels for %d nodes", len(labels), g.nodes)
	}
	a := newPartition(g, p, labels)
	if _, err := g.labelled(a.label, a.k); err != nil {
		return nil, err
	}
	return a.partition(), nil
}
