// Package blockmodel is the stochastic block model of an undirected graph: the blocks of two nodes decide with what
// probability there is an edge between them,
//
//	z_i ~ π,  a_ij ~ Bernoulli(θ_{z_i z_j}),  i < j.
//
// A row is a node, and its columns are the nodes: the adjacency matrix. The posterior of a node depends on that of all
// others, so the model is [framework.Coupled] and [framework.InOrder]: a mean-field q, node after node.
//
// θ has a uniform prior, and is estimated by its mode in φ = 2 arcsin √θ, where the information of a pair of nodes is 1.
// There the prior's density is √(θ(1 − θ)), worth half an edge and half a gap. So ½ ln|F| charges ½ ln(P_kl + 1) for
// θ_kl, which is never negative, where ½ ln P_kl would reward blocks of one node.
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
	"github.com/latent-go/latent/laplace"
)

// Parameters are Π.
type Parameters struct {
	Weights []float64 `keep:"weights"` // π, K
	Theta   []float64 `keep:"both"`    // θ, K×K symmetric: Ξ
	Start   bool      // before the first estimate, while an Update leaves q as it was drawn
}

// Statistics are sums over nodes. A pair of nodes in blocks k and l counts half in (k, l) and half in (l, k).
type Statistics struct {
	N            float64
	Nodes        []float64 `keep:"rows"` // Σ_i q_ik
	Edges, Pairs []float64 `keep:"both"` // ½ Σ_i≠j q_ik q_jl, of pairs with an edge and of all
}

// Weight is the number of nodes.
func (s *Statistics) Weight() float64 { return s.N }

// Merge adds sums.
func (s *Statistics) Merge(o *Statistics) { framework.AddSums(s, o) }

// share is the part of a pair of blocks that cell i of a K×K matrix holds: (k, l) and (l, k) have one half each.
func share(i, k int) float64 {
	if i%(k+1) == 0 {
		return 1
	}
	return 0.5
}

// Posterior is q(z_i), of all nodes.
type Posterior struct {
	K int       `keep:"count"`
	Q []float64 `keep:"columns"` // nodes×K
}

// Keep keeps some blocks. The nodes of the others are in none until the next Update comes to them.
func (q *Posterior) Keep(dims []int) framework.Local { return framework.KeepAxes(q, q.K, dims) }

func (q *Posterior) row(i int) []float64 { return q.Q[i*q.K : (i+1)*q.K] }

// around are the expected numbers of nodes in each block beside node i, of its neighbours and of all.
func (q *Posterior) around(b framework.Rows, i int) (edges, pairs []float64) {
	edges, pairs = make([]float64, q.K), make([]float64, q.K)
	for j, a := range b.Row(i) {
		if j != b.First+i {
			floats.AddScaled(edges, a, q.row(j))
			floats.Add(pairs, q.row(j))
		}
	}
	return edges, pairs
}

// Model is the model as the engine sees it.
type Model struct{}

// BoundsLikelihood says that q is a mean-field one.
func (Model) BoundsLikelihood() {}

// UpdatesInOrder says that the q of a node depends on that of others.
func (Model) UpdatesInOrder() {}

// Init has nothing to say yet: what a block is, the first q decides.
func (Model) Init(_ context.Context, _ framework.Source[framework.Rows], k int, _ *rand.Rand) (*Parameters, error) {
	return &Parameters{slices.Repeat([]float64{1 / float64(k)}, k), slices.Repeat([]float64{0.5}, k*k), true}, nil
}

// NewLocal draws K nodes, and puts each node to the one whose neighbours are most like its own.
func (Model) NewLocal(ctx context.Context, src framework.Source[framework.Rows], p *Parameters, rng *rand.Rand) (framework.Local, error) {
	var rows [][]float64
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		if b.D != src.Rows() || b.Weights != nil {
			return nil, fmt.Errorf("blockmodel: %d rows of %d columns: an adjacency matrix without weights is needed", src.Rows(), b.D)
		}
		for i := range b.N {
			rows = append(rows, b.Row(i))
		}
	}
	q := &Posterior{len(p.Weights), slices.Repeat(p.Weights, len(rows))}
	distances := make([]float64, min(q.K, len(rows)))
	seeds := rng.Perm(len(rows))[:len(distances)]
	for i, row := range rows {
		for j, a := range row {
			if a != 0 && a != 1 || a != rows[j][i] {
				return nil, fmt.Errorf("blockmodel: row %d, column %d is %v, and the other way it is %v: both are 0 or 1", i+1, j+1, a, rows[j][i])
			}
		}
		for l, seed := range seeds {
			distances[l] = floats.Distance(row, rows[seed], 1)
		}
		floats.Scale(0.1, q.row(i))
		q.row(i)[floats.MinIdx(distances)] += 0.9
	}
	return q, nil
}

// NewStatistics makes room for K blocks.
func (Model) NewStatistics(p *Parameters) *Statistics {
	n := len(p.Theta)
	return &Statistics{Nodes: make([]float64, len(p.Weights)), Edges: make([]float64, n), Pairs: make([]float64, n)}
}

// Prepare empties the sums.
func (m Model) Prepare(p *Parameters, _ *laplace.Tilt, s *Statistics) error {
	*s = *m.NewStatistics(p)
	return nil
}

// Update is q_ik ∝ π_k Π_l (θ_kl/(1 − θ_kl))^edges_l (1 − θ_kl)^pairs_l, less the tilt of each pair of nodes.
func (Model) Update(b framework.Rows, p *Parameters, tilt *laplace.Tilt, _, next framework.Local) error {
	if p.Start {
		return nil
	}
	q, k := next.(*Posterior), len(p.Weights)
	odds, gap, block := make([]float64, k*k), make([]float64, k*k), 0
	for l := range k {
		for m := range l + 1 {
			theta, cost := p.Theta[l*k+m], tilt.Block(block)
			for _, i := range []int{l*k + m, m*k + l} {
				odds[i], gap[i] = math.Log(theta/(1-theta)), math.Log1p(-theta)-cost
			}
			block++
		}
	}
	for i := range b.N {
		edges, pairs := q.around(b, i)
		row := q.row(b.First + i)
		for l, w := range p.Weights {
			row[l] = math.Log(w) + floats.Dot(edges, odds[l*k:(l+1)*k]) + floats.Dot(pairs, gap[l*k:(l+1)*k])
		}
		floats.AddConst(-floats.LogSumExp(row), row)
		for l, v := range row {
			row[l] = math.Exp(v)
		}
	}
	return nil
}

// InferAt adds nodes under q, and returns the entropy.
func (Model) InferAt(b framework.Rows, p *Parameters, local framework.Local, s *Statistics) (entropy float64, err error) {
	q, k := local.(*Posterior), len(p.Weights)
	for i := range b.N {
		edges, pairs := q.around(b, i)
		row := q.row(b.First + i)
		s.N++
		for l, v := range row {
			s.Nodes[l] += v
			floats.AddScaled(s.Edges[l*k:(l+1)*k], v/2, edges)
			floats.AddScaled(s.Pairs[l*k:(l+1)*k], v/2, pairs)
		}
		entropy += stat.Entropy(row)
	}
	return entropy, nil
}

// Infer is an error: there is no block of a node without the others.
func (Model) Infer(framework.Rows, *Parameters, *Statistics) (float64, error) {
	return 0, errors.New("blockmodel: the block of a node depends on those of all others: fit the whole graph")
}

// Maximize is π_k = N_k/N and the mode θ_kl = (edges + ½)/(pairs + 1).
func (Model) Maximize(s *Statistics, _, _ *Parameters) (*Parameters, error) {
	to := &Parameters{Weights: slices.Clone(s.Nodes)}
	floats.Scale(1/s.N, to.Weights)
	for i, pairs := range s.Pairs {
		prior := share(i, len(s.Nodes))
		to.Theta = append(to.Theta, (s.Edges[i]+prior/2)/(pairs+prior))
	}
	return to, nil
}

// LogJoint is E_q[ln p(X,Z|Π)] + ln p(Π).
func (m Model) LogJoint(s *Statistics, p *Parameters) float64 {
	value := m.LogPrior(p)
	for l, n := range s.Nodes {
		if n > 0 {
			value += n * math.Log(p.Weights[l])
		}
	}
	for i, theta := range p.Theta {
		value += s.Edges[i]*math.Log(theta) + (s.Pairs[i]-s.Edges[i])*math.Log1p(-theta)
	}
	return value
}

// LogPrior is Σ ½ ln θ(1 − θ).
func (Model) LogPrior(p *Parameters) (value float64) {
	for i, theta := range p.Theta {
		value += share(i, len(p.Weights)) / 2 * math.Log(theta*(1-theta))
	}
	return value
}

// Shape counts θ as Ξ.
func (Model) Shape(p *Parameters) framework.Shape {
	k := len(p.Weights)
	return framework.Shape{K: k, Component: k * (k + 1) / 2, Shared: k - 1}
}

// Curvature adds P_kl + 1 pairs of nodes for each θ, as data of the smaller of its two blocks.
func (Model) Curvature(s *Statistics, _ *Parameters, f *laplace.Curvature) error {
	n := len(s.Nodes)
	for k := range n {
		for l := range k + 1 {
			smaller, i := k, k*n+l
			if s.Nodes[l] < s.Nodes[k] {
				smaller = l
			}
			f.Class(smaller, s.Pairs[i]/share(i, n)+1, laplace.Identity(1))
		}
	}
	return nil
}

// Relevance is the number of nodes.
func (Model) Relevance(s *Statistics, _ *Parameters) ([]float64, error) { return s.Nodes, nil }

// Keep keeps some blocks.
func (Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	return framework.KeepAxes(s, len(p.Weights), dims), framework.KeepAxes(p, len(p.Weights), dims), nil
}
