package blockmodel

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
)

// Parameters are Π: the blocks' weights and, for each pair of blocks, the parameter of the edges between them.
type Parameters struct {
	Kind    Kind      `json:"kind"`
	Family  Family    `json:"family"`
	K       int       `json:"k" keep:"count"`
	Weights []float64 `json:"weights" keep:"rows"` // π (K), summing to 1; in a bipartite graph within each set
	Theta   []float64 `json:"theta" keep:"both"`   // Ξ: K×K, of the edge from block to block; symmetric unless directed, 0 within a set
	// for each block of a bipartite graph, the set its nodes belong to: 0 or 1
	Sides []int   `json:"sides,omitempty" keep:"rows"`
	Known []int   `json:"known,omitempty" keep:"rows"` // for each block, its label, −1 of none; nil: there are no labels
	Unit  float64 `json:"unit"`                        // pairs that make one observation
	Start []int   `json:"start,omitempty"`             // labels that q starts with, before the first global step
	Hard  bool    `json:"hard,omitempty"`              // q starts with probability 1 for each of these labels
}

// Check returns an error for inconsistent parameters, such as those of a damaged file.
func (p *Parameters) Check() error {
	switch {
	case p.Kind < Undirected || p.Kind > Bipartite || p.Family != Bernoulli && p.Family != Poisson:
		return fmt.Errorf("blockmodel: %v graphs of %v edges are unknown", p.Kind, p.Family)
	case p.K < 1 || len(p.Weights) != p.K || len(p.Theta)/p.K != p.K || len(p.Theta)%p.K != 0:
		return fmt.Errorf("blockmodel: %d weights and %d parameters do not match %d blocks",
			len(p.Weights), len(p.Theta), p.K)
	case p.Kind == Bipartite &&
		(len(p.Sides) != p.K || slices.ContainsFunc(p.Sides, func(side int) bool { return side != 0 && side != 1 })):
		return errors.New("blockmodel: the blocks of a bipartite graph must be of set 0 or 1")
	case p.Known != nil && (len(p.Known) != p.K || slices.Min(p.Known) < free):
		return errors.New("blockmodel: the labels of the blocks do not match them")
	case slices.ContainsFunc(p.Weights, func(w float64) bool { return !(w >= 0 && w <= 1) }):
		return errors.New("blockmodel: a weight of a block is not a probability")
	}
	for k, l := range p.cells {
		theta := p.Theta[k*p.K+l]
		if !(theta >= 0) || math.IsInf(theta, 1) || p.Family == Bernoulli && theta > 1 ||
			p.Kind != Directed && theta != p.Theta[l*p.K+k] {
			return fmt.Errorf("blockmodel: θ of blocks %d and %d is %v", k+1, l+1, theta)
		}
	}
	return nil
}

// side is the set that the nodes of a block are of.
func (p *Parameters) side(k int) int {
	if p.Kind != Bipartite {
		return 0
	}
	return p.Sides[k]
}

// label is that of a block.
func (p *Parameters) label(k int) int {
	if p.Known == nil {
		return free
	}
	return p.Known[k]
}

// open says whether a node may be in block k.
func (p *Parameters) open(g *Graph, node, k int) bool {
	return (p.Kind != Bipartite || p.Sides[k] == g.side(node)) && g.allows(node, p.label(k))
}

// cells yields the pairs of blocks that have a parameter, in the order of the blocks of the curvature.
func (p *Parameters) cells(yield func(k, l int) bool) {
	for k := range p.K {
		for l := range p.K {
			if p.Kind != Directed && l > k || p.Kind == Bipartite && p.Sides[k] == p.Sides[l] {
				continue
			}
			if !yield(k, l) {
				return
			}
		}
	}
}

// set is θ of a cell.
func (p *Parameters) set(k, l int, theta float64) {
	p.Theta[k*p.K+l] = theta
	if p.Kind != Directed {
		p.Theta[l*p.K+k] = theta
	}
}

// blocks are the numbers of blocks of each set of nodes.
func (p *Parameters) blocks() (n [2]int) {
	for k := range p.K {
		n[p.side(k)]++
	}
	return n
}

// Statistics are expected sums over nodes under q.
type Statistics struct {
	N       float64   // nodes
	Base    float64   // −Σ ln w! over the weights w of edges; 0 under Bernoulli
	Nodes   []float64 `keep:"rows"` // Σ_i q_ik
	Overlap []float64 `keep:"both"` // Σ_i q_ik q_il
	Edges   []float64 `keep:"both"` // Σ_ij q_ik w_ij q_jl, with i and j in both orders unless the graph is directed
}

// Observations returns the number of nodes.
func (s *Statistics) Observations() float64 { return s.N }

// Merge adds the sums of o.
func (s *Statistics) Merge(o *Statistics) { framework.AddSums(s, o) }

// cell is what there is between two blocks: the weight of the edges and the number of pairs of nodes.
func (s *Statistics) cell(p *Parameters, k, l int) (weight, pairs float64) {
	at := k*p.K + l
	weight, pairs = s.Edges[at], max(0, s.Nodes[k]*s.Nodes[l]-s.Overlap[at])
	if p.Kind != Directed && k == l {
		return weight / 2, pairs / 2
	}
	return weight, pairs
}

// members is the number of nodes of each set.
func (s *Statistics) members(p *Parameters) (n [2]float64) {
	for k, v := range s.Nodes {
		n[p.side(k)] += v
	}
	return n
}

// NewStatistics allocates statistics for p.K blocks.
func (Model) NewStatistics(p *Parameters) *Statistics {
	n := len(p.Theta)
	return &Statistics{Nodes: make([]float64, p.K), Overlap: make([]float64, n), Edges: make([]float64, n)}
}

// Maximize sets π_k = N_k/N and θ_kl to its posterior mode.
func (Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	if dst == nil {
		dst = &Parameters{Weights: make([]float64, p.K), Theta: make([]float64, p.K*p.K)}
	}
	*dst = Parameters{
		Kind: p.Kind, Family: p.Family, K: p.K, Weights: dst.Weights, Theta: dst.Theta, Sides: p.Sides,
		Known: p.Known, Unit: p.Unit,
	}
	all := s.members(p)
	for k, n := range s.Nodes {
		dst.Weights[k] = n / all[p.side(k)]
	}
	for k, l := range p.cells {
		weight, pairs := s.cell(p, k, l)
		dst.set(k, l, p.Family.mode(weight, pairs, p.Unit))
	}
	return dst, nil
}

// LogJoint returns E_q[ln p(X,Z|Π)] + ln p(Π).
func (m Model) LogJoint(s *Statistics, p *Parameters) float64 {
	value := m.LogPrior(p) + s.Base
	for k, n := range s.Nodes {
		if n > 0 {
			value += n * math.Log(p.Weights[k])
		}
	}
	for k, l := range p.cells {
		weight, pairs := s.cell(p, k, l)
		slope, pair := p.Family.natural(p.Theta[k*p.K+l])
		value += weight*slope + pairs*pair
	}
	return value
}

// LogPrior returns the log prior density of θ in the coordinates of the curvature, up to a constant for each
// parameter.
func (Model) LogPrior(p *Parameters) (value float64) {
	for k, l := range p.cells {
		value += p.Family.logPrior(p.Theta[k*p.K+l], p.Unit)
	}
	return value
}

// Shape counts θ as Ξ.
func (Model) Shape(p *Parameters) framework.Shape {
	shape := framework.Shape{K: p.K}
	for range p.cells {
		shape.Component++
	}
	for _, n := range p.blocks() {
		shape.Shared += max(0, n-1)
	}
	return shape
}

// errSide is about a graph whose blocks of one set of nodes would all go.
var errSide = errors.New("blockmodel: no block is left of one of the sets of nodes")

// Keep restricts s and p to the blocks dims. It returns an error unless these include a block of each set of nodes.
func (Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	kept := framework.KeepAxes(p, p.K, dims)
	if len(dims) < p.K {
		kept.Start = nil // labels of blocks that are not there any more
	}
	var sum [2]float64
	for k, w := range kept.Weights {
		sum[kept.side(k)] += w
	}
	n := kept.blocks()
	if p.Kind == Bipartite && (n[0] == 0 || n[1] == 0) {
		return nil, nil, errSide
	}
	for k := range kept.Weights {
		side := kept.side(k)
		if sum[side] > 0 {
			kept.Weights[k] /= sum[side]
		} else {
			kept.Weights[k] = 1 / float64(n[side])
		}
	}
	return framework.KeepAxes(s, p.K, dims), kept, nil
}

// Posterior is q(z_i) for all nodes i.
type Posterior struct {
	K      int       `keep:"count"`
	Q      []float64 `keep:"columns"` // nodes×K
	Totals []float64 `keep:"rows"`    // Σ_i q_ik
}

// Keep restricts q to the blocks dims. Nodes of dropped blocks are in no block until Update next reaches them.
func (q *Posterior) Keep(dims []int) optional.Local { return framework.KeepAxes(q, q.K, dims) }

// Row returns q(z_i), K probabilities, in the posterior's own memory.
func (q *Posterior) Row(i int) []float64 { return q.Q[i*q.K : (i+1)*q.K] }

// Labels returns the most probable block of each node.
func (q *Posterior) Labels() []int {
	labels := make([]int, len(q.Q)/q.K)
	for i := range labels {
		labels[i] = floats.MaxIdx(q.Row(i))
	}
	return labels
}

// sum makes the totals.
func (q *Posterior) sum() {
	clear(q.Totals)
	for i := range len(q.Q) / q.K {
		floats.Add(q.Totals, q.Row(i))
	}
}
