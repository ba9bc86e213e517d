// Package pruning decides which latent dimensions a model does not need.
//
// Algorithm 1 of Hayashi, Maeda and Fujimaki (2015), "paper G" throughout this
// module, drops the directions in which the curvature F_Ξ has an eigenvalue at
// or below a threshold δ, by default 1/N: the [Eigenvalue] rule. F is a product: the observations behind a dimension,
// which q(Z) decides, times the information of each observation, which depends on the coordinates of Ξ. The rule
// tests the first factor alone: a dimension with at most one observation is degenerate. Its penalty in gFIC, ½ ln of
// its observations, would turn into a bonus that grows without bound as the dimension empties, and Laplace's method,
// from which the penalty comes, no longer applies.
//
// That rule alone is not enough. In Bayesian PCA the prior on z keeps
// E[ZᵀZ] of a useless direction at N − D, so that F never becomes singular, however small the loading gets. But the
// criterion is also maximised over the size of the model, so that a smaller model with a higher score is the better
// bound. The [Objective] rule therefore drops a dimension, makes a few steps in the smaller model, and keeps the
// smaller model if the criterion rose. Only degenerate dimensions are dropped without this test.
//
// If latent dimensions mix linearly, they are first rotated to the eigenvectors of their counts. Dropping axes is
// then the generic linear projection that paper G gives below its assumption A1:
//
//	verdict, err := pruning.Eigenvalue{}.Apply(f, k, true) // f *laplace.Curvature
//	...
//	s, p, err = model.Rotate(s, p, verdict.Basis)
//	s, p, err = model.Keep(s, p, others of verdict.Dropped)
//
// The engine in package framework does this for every model.
package pruning
