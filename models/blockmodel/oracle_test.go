package blockmodel

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
)

// everyKind are small graphs of every kind and family, of 7 nodes.
func everyKind(t *testing.T, seed uint64) map[string]*Graph {
	graphs := map[string]*Graph{}
	for kind := Undirected; kind <= Bipartite; kind++ {
		for f, theta := range map[Family][][]float64{Bernoulli: {{0.7, 0.1}, {0.2, 0.6}}, Poisson: {{1.5, 0.2}, {0.4, 2}}} {
			n, second := 7, 0
			if kind == Bipartite {
				n, second = 4, 3
			}
			graphs[fmt.Sprint(kind, " ", f)] = draw(t, kind, f, n, second, theta, seed)
		}
	}
	return graphs
}

// matrix is the graph as a matrix of weights, nodes×nodes.
func matrix(g *Graph) [][]float64 {
	w := make([][]float64, g.nodes)
	for i := range w {
		w[i] = make([]float64, g.nodes)
		nodes, weights := g.out.Of(i)
		for e, j := range nodes {
			w[i][j] = weights[e]
		}
	}
	return w
}

// pairsOf yields every pair of nodes that may have an edge, once.
func pairsOf(g *Graph, yield func(i, j int)) {
	for i := range g.nodes {
		for j := range g.nodes {
			if i == j || g.kind != Directed && j < i || g.kind == Bipartite && g.side(i) == g.side(j) {
				continue
			}
			yield(i, j)
		}
	}
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// naive is ln p(edges, labels) as a textbook has it, from the matrix, pair of nodes by pair of nodes.
func naive(g *Graph, p Prior, label []int) float64 {
	w := matrix(g)
	type cell struct{ weight, pairs float64 }
	cells := map[[2]int]cell{}
	value := 0.0
	pairsOf(g, func(i, j int) {
		k, l := label[i], label[j]
		if g.kind != Directed && k > l {
			k, l = l, k
		}
		c := cells[[2]int{k, l}]
		cells[[2]int{k, l}] = cell{c.weight + w[i][j], c.pairs + 1}
		if g.family == Poisson {
			value -= lgamma(w[i][j] + 1)
		}
	})
	for _, c := range cells {
		if g.family == Bernoulli {
			value += lgamma(p.A+c.weight) + lgamma(p.B+c.pairs-c.weight) - lgamma(p.A+p.B+c.pairs) - lgamma(p.A) - lgamma(p.B) + lgamma(p.A+p.B)
		} else {
			value += lgamma(p.A+c.weight) - lgamma(p.A) + p.A*math.Log(p.B) - (p.A+c.weight)*math.Log(p.B+c.pairs)
		}
	}
	for side := range g.sides() {
		sizes := map[int]float64{}
		for i, k := range label {
			if g.side(i) == side {
				sizes[k]++
			}
		}
		k := float64(len(sizes))
		value += lgamma(k*p.Alpha) - lgamma(k*p.Alpha+float64(g.members(side)))
		for _, n := range sizes {
			value += lgamma(p.Alpha+n) - lgamma(p.Alpha)
		}
	}
	return value
}

// randomLabels are labels below k, those of the two sets of a bipartite graph apart.
func randomLabels(g *Graph, k int, rng *rand.Rand) []int {
	label := make([]int, g.nodes)
	for i := range label {
		label[i] = rng.IntN(k) + k*g.side(i)
	}
	return label
}

// The likelihood that moves and merges keep up to date is that of the labels, by the naive formula.
func TestIncrementalLikelihoodIsTheNaiveOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for seed := range uint64(5) {
		for name, g := range everyKind(t, seed) {
			for _, p := range []Prior{{0.5, 0.5, 0.5}, {1, 1, 1}, {2, 0.3, 1.7}} {
				a := newPartition(g, p, randomLabels(g, 3, rng))
				assert.InDelta(t, naive(g, p, a.label), a.value(), 1e-9, name)
				for range 20 {
					before, from := a.value(), a.k
					if a.reconsider(rng.IntN(g.nodes), true) {
						assert.Greater(t, a.value(), before, name)
					} else {
						assert.InDelta(t, before, a.value(), 1e-9, name)
						assert.Equal(t, from, a.k)
					}
					assert.InDelta(t, naive(g, p, a.label), a.value(), 1e-9, name)
				}
				a = newPartition(g, p, randomLabels(g, 3, rng))
				for {
					k, l, ok := a.closest()
					if !ok {
						break
					}
					promised := a.value() + a.merging(k, l)
					a.merge(k, l)
					assert.InDelta(t, promised, a.value(), 1e-9, name)
					assert.InDelta(t, naive(g, p, a.label), a.value(), 1e-9, name)
				}
				assert.Equal(t, g.sides(), a.k)
			}
		}
	}
}

// A node goes where the likelihood of the whole graph is highest.
func TestReconsiderFindsTheBestBlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	for name, g := range everyKind(t, 7) {
		p, err := Prior{}.resolved(g)
		require.NoError(t, err)
		for range 30 {
			a := newPartition(g, p, randomLabels(g, 3, rng))
			i, best := rng.IntN(g.nodes), math.Inf(-1)
			for k := range a.k {
				if a.side[k] == g.side(i) {
					label := slices.Clone(a.label)
					label[i] = k
					best = max(best, naive(g, p, label))
				}
			}
			a.reconsider(i, true)
			assert.InDelta(t, best, a.value(), 1e-7, name)
		}
	}
}

// labellings yields every partition of n nodes, as labels from 0 in order of first appearance.
func labellings(n int, yield func(label []int)) {
	label := make([]int, n)
	var next func(i, k int)
	next = func(i, k int) {
		if i == n {
			yield(label)
			return
		}
		for l := range k + 1 {
			label[i] = l
			next(i+1, max(k, l+1))
		}
	}
	next(0, 0)
}

// somethingKnown says what is known of the nodes of everyKind: two labels of some nodes of the first set, each alone,
// one node that has one of both, and in bipartite graphs a label of the second set.
func somethingKnown(g *Graph) [][]int {
	known := make([][]int, g.nodes)
	known[0], known[1], known[3] = []int{0}, []int{1}, []int{1, 0}
	if known[2] = []int{0}; g.kind == Bipartite {
		known[2], known[6] = nil, []int{2}
	}
	return known
}

// obeys says whether the blocks of nodes are those that are known, pair of nodes by pair of nodes.
func obeys(known [][]int, block []int) bool {
	for i, labels := range known {
		among := len(labels) < 2
		for j, others := range known {
			if len(others) == 1 {
				among = among || block[i] == block[j] && slices.Contains(labels, others[0])
				if len(labels) == 1 && (block[i] == block[j]) != (labels[0] == others[0]) {
					return false
				}
			}
		}
		if !among {
			return false
		}
	}
	return true
}

// Of all labels of 7 nodes, those found are the best; of those that what is known allows, if something is.
func TestSearchFindsTheBestOfAllLabels(t *testing.T) {
	for seed := range uint64(6) {
		for name, g := range everyKind(t, 10+seed/2) {
			p, err := Prior{}.resolved(g)
			require.NoError(t, err)
			if seed%2 == 1 {
				require.NoError(t, g.takeKnown(somethingKnown(g)))
			}
			best, ways := math.Inf(-1), 0
			naive := func(g *Graph, p Prior, label []int) float64 {
				if !obeys(g.known, label) {
					return math.Inf(-1)
				}
				ways++
				return naive(g, p, label)
			}
			labellings(g.first, func(first []int) {
				if g.kind != Bipartite {
					best = max(best, naive(g, p, first))
					return
				}
				labellings(g.nodes-g.first, func(second []int) {
					label := slices.Clone(first)
					for _, l := range second {
						label = append(label, l+g.first)
					}
					best = max(best, naive(g, p, label))
				})
			})
			found, err := Find(context.Background(), g, SearchOptions{})
			require.NoError(t, err)
			assert.Greater(t, ways, 1, name)
			assert.InDelta(t, best, found.Value, 1e-9, name)
			assert.InDelta(t, best, naive(g, p, found.Labels), 1e-9, name)
		}
	}
}

// logJoint is ln p(edges, labels|Π) + ln p(Π), pair of nodes by pair of nodes.
func logJoint(g *Graph, p *Parameters, label []int) float64 {
	w, value := matrix(g), Model{}.LogPrior(p)
	for _, k := range label {
		value += math.Log(p.Weights[k])
	}
	pairsOf(g, func(i, j int) {
		theta := p.Theta[label[i]*p.K+label[j]]
		switch {
		case g.family == Poisson:
			value += w[i][j]*math.Log(theta) - theta - lgamma(w[i][j]+1)
		case w[i][j] == 1:
			value += math.Log(theta)
		default:
			value += math.Log1p(-theta)
		}
	})
	return value
}

// words yields every label of every node that its set allows, and how probable they are under q.
func words(g *Graph, p *Parameters, q *Posterior, yield func(label []int, probability float64)) {
	label := make([]int, g.nodes)
	var next func(i int, probability float64)
	next = func(i int, probability float64) {
		if i == g.nodes {
			yield(label, probability)
			return
		}
		for k := range p.K {
			known := g.known != nil && len(g.known[i]) > 0
			if p.side(k) == g.side(i) && (!known || slices.Contains(g.known[i], p.Known[k])) {
				label[i] = k
				next(i+1, probability*q.Row(i)[k])
			}
		}
	}
	next(0, 1)
}

// Statistics under q are expectations over all labels, the bound is one of ln p(edges|Π), the sum over them, and with a tilt each
// node's q is the maximum of the bound less the tangent of ½ ln|F|.
func TestLocalStepIsTheSumOverAllLabels(t *testing.T) {
	graphs := everyKind(t, 4)
	for name, g := range everyKind(t, 4) {
		require.NoError(t, g.takeKnown(somethingKnown(g)))
		graphs[name+", known"] = g
	}
	for name, g := range graphs {
		m, k := Model{}, 2*g.sides()
		if g.known != nil {
			k = g.Least() + 1
		}
		rng := rand.New(rand.NewPCG(9, 2))
		p, err := m.Init(context.Background(), g, k, rng)
		require.NoError(t, err)
		p.Start = nil
		local, err := m.NewLocal(context.Background(), g, p, rng)
		require.NoError(t, err)
		q, block := local.(*Posterior), g.Block(0, g.nodes)
		infer := func() (s *Statistics, entropy float64) {
			s = m.NewStatistics(p)
			entropy, err := m.InferAt(block, p, q, s)
			require.NoError(t, err)
			return s, entropy
		}
		evidence, last := math.Inf(-1), math.Inf(-1)
		for range 3 {
			s, entropy := infer()
			expected := 0.0
			evidence = math.Inf(-1)
			words(g, p, q, func(label []int, probability float64) {
				v := logJoint(g, p, label)
				expected += probability * v
				evidence = max(evidence, v) + math.Log1p(math.Exp(-math.Abs(evidence-v)))
			})
			assert.InDelta(t, expected, m.LogJoint(s, p), 1e-9, name)
			bound := m.LogJoint(s, p) + entropy
			assert.LessOrEqual(t, bound, evidence+1e-9, name)
			assert.GreaterOrEqual(t, bound, last-1e-9, name)
			last = bound
			require.NoError(t, m.Update(block, p, nil, q, q))
		}

		var f laplace.Curvature
		s, _ := infer()
		f.Reset(s.N, false)
		require.NoError(t, m.Curvature(s, p, &f))
		tilt := new(laplace.Tilt)
		tilt.Set(&f)
		require.NoError(t, m.Update(block, p, tilt, q, q))
		objective := func() float64 {
			s, entropy := infer()
			value, i := m.LogJoint(s, p)+entropy, 0
			for k, l := range p.cells {
				_, pairs := s.cell(p, k, l)
				value -= (pairs/p.Unit + 1) / (2 * tilt.Count(i))
				i++
			}
			return value
		}
		node := g.nodes - 1 // the last to be updated
		best, row := objective(), slices.Clone(q.Row(node))
		for range 20 {
			for k := range row {
				q.Row(node)[k] = row[k] * math.Exp(0.3*rng.NormFloat64())
			}
			sum := 0.0
			for _, v := range q.Row(node) {
				sum += v
			}
			for k := range row {
				q.Row(node)[k] /= sum
			}
			assert.LessOrEqual(t, objective(), best+1e-9, name)
		}
	}
}

// In φ the second derivative of −ln p is the count: that of the pairs in observations, and one for the prior.
func TestCountsAreSecondDerivatives(t *testing.T) {
	for name, g := range everyKind(t, 5) {
		m := Model{}
		rng := rand.New(rand.NewPCG(9, 2))
		p, err := m.Init(context.Background(), g, 2*g.sides(), rng)
		require.NoError(t, err)
		q, err := m.NewLocal(context.Background(), g, p, rng)
		require.NoError(t, err)
		s := m.NewStatistics(p)
		_, err = m.InferAt(g.Block(0, g.nodes), p, q, s)
		require.NoError(t, err)
		p, err = m.Maximize(s, p, nil)
		require.NoError(t, err)
		var f laplace.Curvature
		f.Reset(s.N, false)
		require.NoError(t, m.Curvature(s, p, &f))
		var tilt laplace.Tilt
		tilt.Set(&f)
		i := 0
		for k, l := range p.cells {
			theta := p.Theta[k*p.K+l]
			at := func(shift float64) float64 {
				moved := framework.KeepAxes(p, p.K, []int{0, 1, 2, 3}[:p.K])
				if p.Family == Bernoulli {
					moved.set(k, l, math.Pow(math.Sin(math.Asin(math.Sqrt(theta))+shift/2), 2))
				} else {
					phi := 2*math.Sqrt(theta*p.Unit) + shift
					moved.set(k, l, phi*phi/4/p.Unit)
				}
				return m.LogJoint(s, moved)
			}
			const h = 1e-3
			assert.InEpsilon(t, tilt.Count(i), -(at(h)-2*at(0)+at(-h))/(h*h), 1e-4, name)
			assert.GreaterOrEqual(t, tilt.Count(i), 1.0, name)
			i++
		}
	}
}
