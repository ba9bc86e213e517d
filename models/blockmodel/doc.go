// Package blockmodel is the stochastic block model of a graph: the blocks of two nodes decide how edges between them
// are distributed,
//
//	z_i ~ π,  w_ij ~ p(·|θ_{z_i z_j}),
//
// for undirected, directed and bipartite graphs, whose edges are there or not ([Bernoulli]) or have weights that are
// counts ([Poisson]). The nodes of the two sets of a bipartite graph are in blocks of their own, of which there may be
// different numbers. There are no edges from a node to itself. All work is linear in edges: pairs of nodes without one
// enter by sums over blocks.
//
//	g, err := blockmodel.EdgeList{Nodes: 34, Edges: edges}.Graph()
//	found, err := blockmodel.Find(ctx, g, blockmodel.SearchOptions{})
//	found.K, found.Labels, found.Mean // blocks, the block of each node, probabilities of edges from block to block
//
// [Find] searches for the labels, and so the number of blocks, of the largest exact integrated likelihood (Côme &
// Latouche 2015), by moves of single nodes and merges of blocks. [Model] is the model of the engine, with a mean-field
// q: for gFAB, FAB and EM (Daudin, Picard & Robin 2008). docs/theory/blockmodel.md has the formulas, and what was
// measured.
package blockmodel
