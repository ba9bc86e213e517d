package blockmodel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/laplace"
)

// Model is the stochastic block model for framework.Fit, whose source must be a [Graph].
type Model struct {
	// Labels are the blocks, from 0 to K−1, that q starts with. If nil, a fit starts as [Find] does.
	Labels []int
}

// BoundsLikelihood says that the objective is a lower bound of the likelihood, since q is a mean-field approximation.
func (Model) BoundsLikelihood() {}

// UpdatesInOrder says that a node's q depends on the other nodes' q, so that nodes are updated one after another.
func (Model) UpdatesInOrder() {}

// graphOf is the graph behind a source.
func graphOf(ctx context.Context, src framework.Source[Nodes]) (*Graph, error) {
	for b, err := range src.Blocks(ctx) {
		switch {
		case err != nil:
			return nil, err
		case b.graph == nil || b.graph.nodes != src.Rows():
			return nil, errors.New("blockmodel: the source must be all nodes of a Graph")
		}
		return b.graph, nil
	}
	return nil, errors.New("blockmodel: the source has no nodes")
}

// Init takes the labels of m, or else groups the nodes, and estimates the parameters from the labels.
func (m Model) Init(ctx context.Context, src framework.Source[Nodes], k int, rng *rand.Rand) (*Parameters, error) {
	g, err := graphOf(ctx, src)
	if err != nil {
		return nil, err
	}
	if err := g.checkK(k); err != nil {
		return nil, err
	}
	p := &Parameters{
		Kind:    g.kind,
		Family:  g.family,
		K:       k,
		Weights: make([]float64, k),
		Theta:   make([]float64, k*k),
		Unit:    g.family.unit(g.total, g.Pairs()),
	}
	if m.Labels != nil {
		err = m.given(g, p)
	} else {
		p.drawn(g, framework.StartOf(ctx), rng)
	}
	if err == nil && g.known != nil {
		p.Known, err = g.labelled(p.Start, k)
	}
	if err != nil {
		return nil, err
	}
	local, err := m.NewLocal(ctx, src, p, rng)
	if err != nil {
		return nil, err
	}
	s := m.NewStatistics(p)
	for b, err := range src.Blocks(ctx) {
		if err == nil {
			_, err = m.InferAt(b, p, local, s)
		}
		if err != nil {
			return nil, err
		}
	}
	start, err := m.Maximize(s, p, nil)
	if err == nil {
		start.Start, start.Hard = p.Start, p.Hard
	}
	return start, err
}

// drawn makes labels of a start; in a bipartite graph the blocks of the first set come first.
func (p *Parameters) drawn(g *Graph, start int, rng *rand.Rand) {
	p.Start = g.begin(start, p.K, rng)
	if g.kind != Bipartite {
		return
	}
	first := g.share(p.K, 0)
	p.Sides = slices.Concat(make([]int, first), slices.Repeat([]int{1}, p.K-first))
	for i := g.first; i < g.nodes; i++ {
		p.Start[i] += first
	}
}

// given takes the labels of the model.
func (m Model) given(g *Graph, p *Parameters) error {
	if len(m.Labels) != g.nodes {
		return fmt.Errorf("blockmodel: %d labels for %d nodes", len(m.Labels), g.nodes)
	}
	sides := slices.Repeat([]int{-1}, p.K)
	for i, l := range m.Labels {
		switch {
		case l < 0 || l >= p.K:
			return fmt.Errorf("blockmodel: the label of node %d is %d; labels of %d blocks must be from 0 "+
				"to %d", i, l, p.K, p.K-1)
		case sides[l] >= 0 && sides[l] != g.side(i):
			return fmt.Errorf("blockmodel: block %d has nodes of both sets of a bipartite graph", l)
		}
		sides[l] = g.side(i)
	}
	p.Start, p.Hard = m.Labels, true
	if g.kind == Bipartite {
		for l := range sides {
			sides[l] = max(0, sides[l])
		}
		p.Sides = sides
	}
	return nil
}

// labelWeight is q of the label that a node begins with; the rest is shared among all blocks.
const labelWeight = 0.9

// NewLocal returns q at the start's labels, or at labels drawn with the weights of the blocks as probabilities.
func (Model) NewLocal(
	ctx context.Context, src framework.Source[Nodes], p *Parameters, rng *rand.Rand,
) (optional.Local, error) {
	g, err := graphOf(ctx, src)
	if err != nil {
		return nil, err
	}
	q := &Posterior{K: p.K, Q: make([]float64, g.nodes*p.K), Totals: make([]float64, p.K)}
	open := make([]float64, p.K)
	for i := range g.nodes {
		row, blocks := q.Row(i), 0
		if p.Start != nil && p.Hard {
			row[p.Start[i]] = 1
			continue
		}
		for k := range row {
			if open[k] = 0; p.open(g, i, k) {
				open[k] = p.Weights[k]
				row[k] = 1 - labelWeight
				blocks++
			}
		}
		for k := range row {
			row[k] /= float64(blocks)
		}
		at := 0
		if p.Start != nil {
			at = p.Start[i]
		} else {
			at = categorical.Draw(open, rng)
		}
		row[at] += labelWeight
	}
	q.sum()
	return q, nil
}

// Prepare clears the sums.
func (Model) Prepare(_ *Parameters, _ *laplace.Tilt, s *Statistics) error {
	s.N, s.Base = 0, 0
	clear(s.Nodes)
	clear(s.Overlap)
	clear(s.Edges)
	return nil
}

// scores are what the logarithm of q_ik grows by with an edge to block l, and with every other node of l: K×K each.
type scores struct{ edge, pair []float64 }

func newScores(k int) scores { return scores{make([]float64, k*k), make([]float64, k*k)} }

// set is that of a cell.
func (s scores) set(p *Parameters, k, l int, edge, pair float64) {
	s.edge[k*p.K+l], s.pair[k*p.K+l] = edge, pair
	if p.Kind != Directed {
		s.edge[l*p.K+k], s.pair[l*p.K+k] = edge, pair
	}
}

// scores are ln π and those of parameters: every pair of nodes loses the tilt of its blocks.
func (p *Parameters) scores(tilt *laplace.Tilt) (logWeights []float64, s scores) {
	if tilt.Prior() {
		return p.expectations(tilt)
	}
	s, block := newScores(p.K), 0
	for k, l := range p.cells {
		slope, pair := p.Family.natural(p.Theta[k*p.K+l])
		s.set(p, k, l, slope, pair-tilt.Block(block)/p.Unit)
		block++
	}
	for _, w := range p.Weights {
		logWeights = append(logWeights, math.Log(w))
	}
	return logWeights, s
}

// around adds up q of the neighbours of a node, times the weights of the edges.
func (q *Posterior) around(l Links, i int, dst []float64) {
	clear(dst)
	nodes, weights := l.Of(i)
	for e, j := range nodes {
		floats.AddScaled(dst, weights[e], q.Row(int(j)))
	}
}

// Update sets ln q_ik = ln π_k + Σ_l (edges_l·slope_kl + others_l·pair_kl) + constant for the nodes i of b. Under q,
// edges_l is the weight of the edges from i to block l, and others_l the number of other nodes in block l; a directed
// graph adds the edges from l to i. This maximises the objective over q(z_i) while the other nodes' q stay fixed.
func (Model) Update(b Nodes, p *Parameters, tilt *laplace.Tilt, _, next optional.Local) error {
	q, k := next.(*Posterior), p.K
	if b.First == 0 {
		q.sum() // so that rounding errors do not add up
	}
	logWeights, s := p.scores(tilt)
	out, in, others := make([]float64, k), make([]float64, k), make([]float64, k)
	for i := range b.N {
		row := q.Row(b.First + i)
		q.around(b.Out, i, out)
		if p.Kind == Directed {
			q.around(b.In, i, in)
		}
		floats.SubTo(others, q.Totals, row)
		copy(q.Totals, others)
		for l := range row {
			if !p.open(b.graph, b.First+i, l) {
				row[l] = math.Inf(-1)
				continue
			}
			edge, pair := s.edge[l*k:(l+1)*k], s.pair[l*k:(l+1)*k]
			row[l] = logWeights[l] + floats.Dot(out, edge) + floats.Dot(others, pair)
			if p.Kind == Directed {
				for m := range row {
					row[l] += in[m]*s.edge[m*k+l] + others[m]*s.pair[m*k+l]
				}
			}
		}
		floats.AddConst(-floats.LogSumExp(row), row)
		for l, v := range row {
			row[l] = math.Exp(v)
		}
		floats.Add(q.Totals, row)
	}
	return nil
}

// InferAt adds the nodes' expected statistics under q to s and returns the entropy of q, in nats.
func (Model) InferAt(b Nodes, p *Parameters, local optional.Local, s *Statistics) (entropy float64, err error) {
	q, k := local.(*Posterior), p.K
	around := make([]float64, k)
	for i := range b.N {
		row := q.Row(b.First + i)
		q.around(b.Out, i, around)
		s.N++
		s.Base += b.graph.base[b.First+i]
		for l, v := range row {
			s.Nodes[l] += v
			floats.AddScaled(s.Overlap[l*k:(l+1)*k], v, row)
			floats.AddScaled(s.Edges[l*k:(l+1)*k], v, around)
		}
		entropy += stat.Entropy(row)
	}
	return entropy, nil
}

// Infer returns an error: nodes cannot be inferred one block at a time, because the q of each depends on the others.
func (Model) Infer(Nodes, *Parameters, *Statistics) (float64, error) {
	return 0, errors.New("blockmodel: the block of a node depends on those of all others: fit the whole graph")
}

// Curvature adds, for each θ_kl, the number of its pairs in observations plus one unit for the prior, as data of the
// smaller of the two blocks. A unit's information is 1. So a block's penalty is never negative, however few nodes it
// has.
func (m Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	if f.Prior() {
		m.integrals(s, p, f)
		return nil
	}
	for k, l := range p.cells {
		smaller := k
		if s.Nodes[l] < s.Nodes[k] {
			smaller = l
		}
		_, pairs := s.cell(p, k, l)
		f.Class(smaller, pairs/p.Unit+1, laplace.Identity(1))
	}
	return nil
}

// Charges returns what BIC charges (Daudin, Picard & Robin 2008): for θ by the number of pairs of nodes, for the
// weights of blocks by the number of nodes.
func (m Model) Charges(s *Statistics, p *Parameters) []optional.Charge {
	pairs, cells := 0.0, 0
	for k, l := range p.cells {
		_, n := s.cell(p, k, l)
		pairs += n
		cells++
	}
	charges := []optional.Charge{{Parameters: cells, Free: cells, Latent: true, N: pairs}}
	members, blocks := s.members(p), p.blocks()
	for side, n := range blocks {
		if n > 1 {
			charges = append(charges, optional.Charge{Parameters: n - 1, Free: n - 1, N: members[side]})
		}
	}
	return charges
}

// Relevance returns the expected number of nodes of each block; +Inf for the only block of a set of nodes, and for one
// that nodes are known to be in.
func (Model) Relevance(s *Statistics, p *Parameters) ([]float64, error) {
	n, relevance := p.blocks(), slices.Clone(s.Nodes)
	for k := range relevance {
		if p.Kind == Bipartite && n[p.side(k)] == 1 || p.label(k) != free {
			relevance[k] = math.Inf(1)
		}
	}
	return relevance, nil
}
