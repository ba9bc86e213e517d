// Package pruning decides which latent dimensions a model can do without.
//
// Algorithm 1 of Hayashi, Maeda and Fujimaki (2015), "paper G" throughout this
// module, drops the directions in which the curvature F_Ξ has an eigenvalue at
// or below a threshold δ, by default 1/N: the [Eigenvalue] rule. F is a product of what
// q(Z) decides, the observations behind a dimension, and of the information that each of them
// carries, which depends on the coordinates of Ξ. The rule tests the first factor alone: a
// dimension with at most one observation is degenerate, because its penalty in gFIC, ½ ln of
// the units, would be a bonus that grows without bound as it empties, where Laplace's
// method, from which the penalty comes, no longer applies.
//
// That rule alone is not enough. In Bayesian PCA the prior on z keeps
// E[ZᵀZ] of a useless direction at N − D, so F never becomes singular however
// small the loading gets. The criterion is maximised over the size of the model
// too, so a smaller model that scores higher is the better bound: the [Objective]
// rule drops a dimension, makes a few steps in the smaller model, and keeps it if the criterion
// rose. Every removal but that of a degenerate dimension is decided this way.
//
// Where latent dimensions mix linearly, they are rotated to the eigenvectors of their counts
// first: dropping axes is then the generic linear projection that paper G gives below its
// assumption A1:
//
//	verdict, err := pruning.Eigenvalue{}.Apply(f, k, true) // f *laplace.Curvature
//	...
//	s, p, err = model.Rotate(s, p, verdict.Basis)
//	s, p, err = model.Keep(s, p, others of verdict.Dropped)
//
// The engine in package framework does this for every model.
package pruning
