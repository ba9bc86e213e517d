// Package pruning decides which latent dimensions a model can do without.
//
// Algorithm 1 of Hayashi, Maeda and Fujimaki (2015), "paper G" throughout this
// module, drops the directions in which the curvature F_Ξ has an eigenvalue σ at
// or below a threshold δ: the [Eigenvalue] rule. Its default is δ = 1/N. The
// penalty of a direction in gFIC is ½ ln(Nσ), so below 1/N it would be a bonus
// that grows without bound as the dimension empties, where Laplace's method, from
// which the penalty comes, no longer applies.
//
// That rule alone is not enough. In Bayesian PCA the prior on z keeps
// E[ZᵀZ] of a useless direction at N − D, so F never becomes singular however
// small the loading gets. The criterion is maximised over the size of the model
// too, so a smaller model that scores higher is the better bound: the [Objective]
// rule projects a direction out, lets the smaller model settle for a few steps,
// and keeps it if the criterion rose.
//
// Both rules speak of [Directions] in the latent space. Dropping a direction is a
// linear projection onto the others, which for the top eigenvectors of F is the
// generic projection that paper G gives below its assumption A1:
//
//	degenerate, err := pruning.Eigenvalue{}.Apply(f, k, n) // f laplace.Blocks
//	...
//	s, p, err = model.Project(s, p, degenerate.Keep)
//
// The engine in package framework does this for every model.
package pruning
