package blockmodel

import (
	"fmt"
	"slices"

	"github.com/latent-go/latent/internal/clusters"
)

// free is the label of a block that no label belongs to.
const free = -1

// A KnownError says why a node of a bipartite graph cannot have a label.
type KnownError struct {
	Node, Label int
	Reason      string // what follows the names of both
}

func (e *KnownError) Error() string {
	return fmt.Sprintf("blockmodel: node %d, of label %d, %s", e.Node, e.Label, e.Reason)
}

// takeKnown checks the labels of nodes, and takes them.
func (g *Graph) takeKnown(known [][]int) error {
	if known == nil {
		return nil
	}
	if len(known) != g.nodes {
		return fmt.Errorf("blockmodel: Known has the labels of %d nodes; must be %d", len(known), g.nodes)
	}
	for i, labels := range known {
		for _, label := range labels {
			if label < 0 || label >= g.nodes {
				return fmt.Errorf("blockmodel: node %d has label %d; labels are numbers from 0, below that of nodes", i, label)
			}
			for len(g.sets) <= label {
				g.sets = append(g.sets, free)
			}
		}
		if len(labels) != 1 {
			continue
		}
		if set := &g.sets[labels[0]]; *set == free {
			*set = g.side(i)
		} else if *set != g.side(i) {
			return &KnownError{i, labels[0], "is of another set than a node before it that is known to be in that block"}
		}
	}
	if label := slices.Index(g.sets, free); label >= 0 {
		return fmt.Errorf("blockmodel: label %d is the only one of no node: nothing tells its block from others", label)
	}
	for i, labels := range known {
		for _, label := range labels {
			if g.sets[label] != g.side(i) {
				return &KnownError{i, label, "cannot be in that block, which has nodes of the other set"}
			}
		}
	}
	g.known = known
	return nil
}

// fixed says whether the block of a node is known.
func (g *Graph) fixed(node int) bool { return g.known != nil && len(g.known[node]) == 1 }

// allows says whether a node may be in a block with a label.
func (g *Graph) allows(node, label int) bool {
	return g.known == nil || len(g.known[node]) == 0 || slices.Contains(g.known[node], label)
}

// Least returns the least number of blocks: one for each label, and at least one for each set of nodes.
func (g *Graph) Least() (n int) {
	for side := range g.sides() {
		n += g.leastOf(side)
	}
	return n
}

// leastOf is that of a set of nodes.
func (g *Graph) leastOf(side int) (n int) {
	for _, set := range g.sets {
		if set == side {
			n++
		}
	}
	return max(1, n)
}

// checkK says what is wrong with a number of blocks.
func (g *Graph) checkK(k int) error {
	switch least := g.Least(); {
	case k > g.nodes:
		return fmt.Errorf("blockmodel: K is %d; must be at most %d, the number of nodes", k, g.nodes)
	case k < least && least > g.sides():
		return fmt.Errorf("blockmodel: K is %d; must be at least %d, for the blocks that nodes are known to be in", k, least)
	case k < least:
		return fmt.Errorf("blockmodel: K is %d; must be at least 2: a bipartite graph needs a block of each set of nodes", k)
	}
	return nil
}

// pin moves the nodes of a start to blocks that they may be in: in each set of nodes, the first labels have the first
// blocks, which are those with most of the nodes that are known to have the label.
func (g *Graph) pin(block []int) {
	if g.known == nil {
		return
	}
	var n [2]int
	place := make([]int, len(g.sets))
	for label, set := range g.sets {
		place[label] = n[set]
		n[set]++
	}
	held := slices.Repeat([]int{free}, g.nodes)
	for i, labels := range g.known {
		if g.fixed(i) {
			held[i] = place[labels[0]]
		}
	}
	one := func(int) float64 { return 1 }
	clusters.Match(block[:g.first], held, n[0], one)
	clusters.Match(block[g.first:], held[g.first:], n[1], one)
	for i, labels := range g.known {
		if len(labels) > 0 && !slices.ContainsFunc(labels, func(label int) bool { return place[label] == block[i] }) {
			block[i] = place[labels[0]]
		}
	}
}

// labelled are the labels of k blocks, of which the nodes have one each.
func (g *Graph) labelled(block []int, k int) ([]int, error) {
	of := slices.Repeat([]int{free}, k)
	for i, labels := range g.known {
		if g.fixed(i) {
			of[block[i]] = labels[0]
		}
	}
	for i, labels := range g.known {
		if len(labels) > 0 && !slices.Contains(labels, of[block[i]]) {
			return of, fmt.Errorf("blockmodel: node %d cannot be in block %d, by what is known of nodes", i, block[i])
		}
	}
	for label := range g.sets {
		if at := slices.Index(of, label); at >= 0 && slices.Contains(of[at+1:], label) {
			return of, fmt.Errorf("blockmodel: nodes that are known to be in one block are in two, %d and %d", at,
				at+1+slices.Index(of[at+1:], label))
		}
	}
	return of, nil
}
