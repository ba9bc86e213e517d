// Package blockmodel is the stochastic block model of a graph: the blocks of two nodes decide how edges between them
// are distributed,
//
//	z_i ~ π,  w_ij ~ p(·|θ_{z_i z_j}),
//
// for undirected, directed and bipartite graphs, whose edges are either present or absent ([Bernoulli]) or have
// counts as weights ([Poisson]). In a bipartite graph each set of nodes has its own blocks, and the two numbers of
// blocks may differ. Edges from a node to itself are excluded. All work is linear in the number of edges, because
// pairs of nodes without an edge enter by sums over blocks.
//
//	g, err := blockmodel.EdgeList{Nodes: 34, Edges: edges}.Graph()
//	found, err := blockmodel.Find(ctx, g, blockmodel.SearchOptions{})
//	found.K, found.Labels, found.Mean // blocks, the block of each node, probabilities of edges from block to block
//
// [Find] searches for the labels, and so the number of blocks, with the largest exact integrated likelihood (Côme &
// Latouche 2015): it moves single nodes and merges blocks. [Model] is for the engine's methods gFAB, FAB and EM, with
// a mean-field q (Daudin, Picard & Robin 2008). docs/theory/blockmodel.md has the formulas and the measurements.
package blockmodel
