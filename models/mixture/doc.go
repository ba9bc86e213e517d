// Package mixture implements mixtures Σ_k β_k p(x|ξ_k) of any family of package family: Gaussians, counts, times,
// codes, and products of them over the columns of a table of mixed types (paper G, Hayashi, Maeda & Fujimaki 2015,
// sections 1 and 2.1; docs/theory/mixtures.md).
//
//	res, err := framework.Fit(ctx, mixture.Model{Family: normal.Family{}}, table, framework.Options{K: 20})
//
// res.Shape.K, res.Parameters.Weights // the number of components kept, and their weights
//
//	q, err := mixture.Model{Family: normal.Family{}}.Responsibilities(rows, res.Parameters, nil)
//
// finds the number of components in one pass by gFAB. [Model.Distribution] returns the fit as a distribution of
// package distmv, with gonum's distributions as components and matrices as arguments. Other methods are options
// (framework.FAB, framework.EM) or other models with the same local step: [MAP] adds a prior to the estimates,
// [Variational] gives the parameters a posterior. Priors come from package prior and are fields of the model.
//
// framework.FitBest compares several families in one fit, such as covariance structures, by the evidence (see the
// example "structures").
//
// Missing entries are NaN in a blocks.FromIncomplete table. Families of independent columns integrate them out,
// and so do Gaussians with a covariance matrix; spherical Gaussians return an error. The cost of a row of a
// blocks.SparseTable is proportional to its entries if the family has one statistic for each column that is 0 at
// 0, as family.Bernoulli and family.Poisson have. Repeated rows of counts and codes are counted once in iterations
// ([Model.Condense]).
package mixture
