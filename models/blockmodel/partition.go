package blockmodel

import (
	"gonum.org/v1/gonum/floats"

	"math"
)

// A partition is a graph with a block for each node, and its exact integrated likelihood ln p(edges, labels), which
// changes of labels update: by O(K) numbers a change, once the neighbours of a node are counted.
type partition struct {
	g     *Graph
	prior Prior
	*evidence

	k     int
	label []int // of each node
	size  []int // of each block
	side  []int // of each block, the set that its nodes are of
	known []int // of each block, the label of its nodes that have one, or free
	// weights and values are of pairs of blocks, k×k: the weight of the edges between, and what it adds to the likelihood.
	// Where the graph is not directed they are symmetric, and the likelihood has those of a pair once.
	weights, values []float64
	out, in         []float64 // of a node, the weights of its edges to and from blocks
	work            Work
}

func emptyPartition(g *Graph, p Prior) *partition {
	return &partition{g: g, prior: p, evidence: newEvidence(g.family, p), label: make([]int, g.nodes)}
}

// resumedPartition counts the edges between k blocks whose numbers stay as they are, none of them without nodes.
func resumedPartition(g *Graph, p Prior, label []int, k int) *partition {
	a := emptyPartition(g, p)
	a.k, a.size, a.side = k, make([]int, k), make([]int, k)
	copy(a.label, label)
	for i, l := range label {
		a.size[l]++
		a.side[l] = g.side(i)
	}
	return a.counted()
}

// newPartition counts the edges between the blocks, numbered from 0. Blocks without nodes are left out.
func newPartition(g *Graph, p Prior, label []int) *partition {
	a := emptyPartition(g, p)
	number := map[[2]int]int{} // by side and label
	for i, l := range label {
		side := g.side(i)
		at, known := number[[2]int{side, l}]
		if !known {
			at = a.k
			number[[2]int{side, l}] = at
			a.size, a.side = append(a.size, 0), append(a.side, side)
			a.k++
		}
		a.label[i] = at
		a.size[at]++
	}
	return a.counted()
}

// counted makes the numbers of pairs of blocks of a new partition.
func (a *partition) counted() *partition {
	a.known, _ = a.g.labelled(a.label, a.k)
	a.count()
	return a
}

// count makes the numbers of pairs of blocks afresh.
func (a *partition) count() {
	k := a.k
	a.weights, a.values = make([]float64, k*k), make([]float64, k*k)
	a.out, a.in = make([]float64, k), make([]float64, k)
	for i, at := range a.label {
		nodes, weights := a.g.out.Of(i)
		for e, j := range nodes {
			l := a.label[j]
			if a.g.kind != Directed && l == at && int(j) < i {
				continue // the edge within a block was met at its other end
			}
			a.weights[at*k+l] += weights[e]
		}
	}
	for at := range k {
		a.refresh(at)
	}
}

// pairs is the number of pairs of nodes in two blocks, of the sizes n and m.
func (a *partition) pairs(k, l, n, m int) float64 {
	switch {
	case k != l && a.g.kind == Bipartite && a.side[k] == a.side[l], k == l && a.g.kind == Bipartite:
		return 0
	case k != l:
		return float64(n) * float64(m)
	case a.g.kind == Directed:
		return float64(n) * float64(n-1)
	}
	return float64(n) * float64(n-1) / 2
}

// refresh makes the values of the pairs that a block is in.
func (a *partition) refresh(k int) {
	for l := range a.k {
		v := a.of(a.weights[k*a.k+l], a.pairs(k, l, a.size[k], a.size[l]))
		a.values[k*a.k+l] = v
		if a.g.kind == Directed && l != k {
			v = a.of(a.weights[l*a.k+k], a.pairs(l, k, a.size[l], a.size[k]))
		}
		a.values[l*a.k+k] = v
	}
}

// around sums up the edges of a node by the blocks of its neighbours.
func (a *partition) around(i int) {
	clear(a.out)
	nodes, weights := a.g.out.Of(i)
	a.work.Nodes++
	a.work.Neighbours += len(nodes)
	for e, j := range nodes {
		a.out[a.label[j]] += weights[e]
	}
	if a.g.kind == Directed {
		clear(a.in)
		nodes, weights = a.g.in.Of(i)
		for e, j := range nodes {
			a.in[a.label[j]] += weights[e]
		}
	}
}

// shift adds the node whose edges are in out and in to a block, or with sign −1 takes it out.
func (a *partition) shift(i, k int, sign int) {
	s := float64(sign)
	for l, w := range a.out {
		switch {
		case a.g.kind == Directed:
			a.weights[k*a.k+l] += s * w
			a.weights[l*a.k+k] += s * a.in[l]
		case l == k:
			a.weights[k*a.k+k] += s * w
		default:
			a.weights[k*a.k+l] += s * w
			a.weights[l*a.k+k] += s * w
		}
	}
	a.size[k] += sign
	if sign > 0 {
		a.label[i] = k
	}
}

// gain is what the likelihood of the edges grows by when the node whose edges are in out and in joins a block.
func (a *partition) gain(k int) (sum float64) {
	n := a.size[k] + 1
	for l, w := range a.out {
		switch at, back := k*a.k+l, l*a.k+k; {
		case a.g.kind == Directed && l != k:
			sum += a.of(a.weights[at]+w, a.pairs(k, l, n, a.size[l])) - a.values[at]
			sum += a.of(a.weights[back]+a.in[l], a.pairs(l, k, a.size[l], n)) - a.values[back]
		case a.g.kind == Directed:
			sum += a.of(a.weights[at]+w+a.in[k], a.pairs(k, k, n, n)) - a.values[at]
		case l == k:
			sum += a.of(a.weights[at]+w, a.pairs(k, k, n, n)) - a.values[at]
		default:
			sum += a.of(a.weights[at]+w, a.pairs(k, l, n, a.size[l])) - a.values[at]
		}
	}
	return sum + math.Log(a.prior.Alpha+float64(n-1))
}

// blocksOf is the number of blocks of a set of nodes.
func (a *partition) blocksOf(side int) (n int) {
	for _, s := range a.side {
		if s == side {
			n++
		}
	}
	return n
}

// labels is ln p(labels) of a set of nodes in k blocks, less what the sizes decide.
func (a *partition) labels(side, k int) float64 {
	if k == 0 {
		return 0
	}
	total := float64(k) * a.prior.Alpha
	all, _ := math.Lgamma(total)
	with, _ := math.Lgamma(total + float64(a.g.members(side)))
	one, _ := math.Lgamma(a.prior.Alpha)
	return all - with - float64(k)*one
}

// logSize is what the size of a block adds to ln p(labels).
func (a *partition) logSize(n int) float64 {
	v, _ := math.Lgamma(a.prior.Alpha + float64(n))
	return v
}

// value is ln p(edges, labels).
func (a *partition) value() float64 {
	sum := floats.Sum(a.g.base)
	for k := range a.k {
		for l := range a.k {
			if l >= k || a.g.kind == Directed {
				sum += a.values[k*a.k+l]
			}
		}
		sum += a.logSize(a.size[k])
	}
	for side := range a.g.sides() {
		sum += a.labels(side, a.blocksOf(side))
	}
	return sum
}

// leastGain is what a change of labels has to gain, in nats: more than the rounding errors of what it is computed from.
const leastGain = 1e-7

// reconsider moves a node to the block where the likelihood is highest, and reports whether it moved. A block is left
// empty only where empties allows it.
func (a *partition) reconsider(i int, empties bool) (moved bool) {
	from := a.label[i]
	last := a.size[from] == 1
	side := a.side[from]
	blocks := a.blocksOf(side)
	if blocks == 1 || last && !empties || a.g.fixed(i) {
		return false
	}
	a.around(i)
	a.shift(i, from, -1)
	a.refresh(from)
	without := 0.0 // what the empty block that is left behind changes
	if last {
		without = a.labels(side, blocks-1) - a.labels(side, blocks) - a.logSize(0)
	}
	best, most := from, a.gain(from)+leastGain
	for k := range a.k {
		if k == from || a.side[k] != side || !a.g.allows(i, a.known[k]) {
			continue
		}
		if v := a.gain(k) + without; v > most {
			best, most = k, v
		}
	}
	a.shift(i, best, 1)
	a.refresh(best)
	if best != from && last {
		a.drop(from)
	}
	return best != from
}

// drop leaves out an empty block: the last one takes its number.
func (a *partition) drop(k int) {
	last := a.k - 1
	for i, l := range a.label {
		if l == last {
			a.label[i] = k
		}
	}
	a.size[k], a.side[k], a.known[k] = a.size[last], a.side[last], a.known[last]
	a.size, a.side, a.known = a.size[:last], a.side[:last], a.known[:last]
	a.k--
	a.count()
}

// merging is what the likelihood grows by when blocks k and l become one.
func (a *partition) merging(k, l int) float64 {
	n := a.size[k] + a.size[l]
	at := func(i, j int) int { return i*a.k + j }
	within := a.weights[at(k, k)] + a.weights[at(l, l)] + a.weights[at(k, l)]
	sum := -a.values[at(k, k)] - a.values[at(l, l)] - a.values[at(k, l)]
	if a.g.kind == Directed {
		within += a.weights[at(l, k)]
		sum -= a.values[at(l, k)]
	}
	sum += a.of(within, a.pairs(k, k, n, n))
	for m := range a.k {
		if m == k || m == l {
			continue
		}
		sum += a.of(a.weights[at(k, m)]+a.weights[at(l, m)], a.pairs(k, m, n, a.size[m])) -
			a.values[at(k, m)] - a.values[at(l, m)]
		if a.g.kind == Directed {
			sum += a.of(a.weights[at(m, k)]+a.weights[at(m, l)], a.pairs(m, k, a.size[m], n)) -
				a.values[at(m, k)] - a.values[at(m, l)]
		}
	}
	blocks := a.blocksOf(a.side[k])
	return sum + a.logSize(n) - a.logSize(a.size[k]) - a.logSize(a.size[l]) + a.labels(a.side[k], blocks-1) -
		a.labels(a.side[k], blocks)
}

// merge makes one block of k and l.
func (a *partition) merge(k, l int) {
	for i, at := range a.label {
		if at == l {
			a.label[i] = k
		}
	}
	a.size[k] += a.size[l]
	a.known[k] = max(a.known[k], a.known[l])
	a.size[l] = 0
	a.drop(l)
}
