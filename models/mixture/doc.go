// Package mixture is the mixture Σ_k β_k p(x|ξ_k) of any family of package family: Gaussians,
// counts, times, codes and products of them over the columns of a table of mixed types (paper G,
// Hayashi, Maeda & Fujimaki 2015, sections 1 and 2.1; docs/theory/mixtures.md).
//
//	res, err := framework.Fit(ctx, mixture.Model{Family: family.Gaussian{}}, table, framework.Options{K: 20})
//	res.Shape.K, res.Parameters.Weights // components left, and how large they are
//	q, err := mixture.Model{Family: family.Gaussian{}}.Responsibilities(rows, res.Parameters, nil)
//
// finds the number of components in one pass by gFAB. [Model.Distribution] makes what was found a distribution of
// package distmv, its components normal distributions of gonum and the like, and takes and returns matrices. Other
// methods are options (framework.FAB, framework.EM) or other models over the same local step: [MAP] adds a prior to the
// estimates, [Variational] gives the parameters a posterior. Priors are package prior's, and swapping one is swapping a
// field.
//
// framework.FitBest compares several families in one fit, such as covariance structures, by the evidence (see the
// example "structures").
//
// Missing entries are NaN in a framework.FromIncomplete table. Families of independent columns
// integrate them out, and so do Gaussians with a covariance matrix; spherical ones refuse them. Rows of a
// framework.SparseTable cost what their entries cost, where the family has one statistic a column that
// is 0 at 0, such as family.Bernoulli and family.Poisson. Repeated rows of counts and codes are
// counted once in iterations ([Model.Condense]).
package mixture
