// Package mixture is the mixture Σ_k β_k p(x|ξ_k) of any exponential family: Gaussian with
// full, tied, diagonal or spherical covariances, Poisson, exponential, gamma, Bernoulli,
// categorical, multinomial, and a [Product] of them over the columns of a table of mixed
// types (paper G, Hayashi, Maeda & Fujimaki 2015, sections 1 and 2.1; docs/theory/mixtures.md).
//
//	res, err := framework.Fit(ctx, mixture.Model{Family: mixture.Gaussian{}}, table, framework.Options{K: 20})
//	res.Shape.K, res.Parameters.Weights // components left, and how large they are
//	q, err := mixture.Model{Family: mixture.Gaussian{}}.Responsibilities(rows, res.Parameters, nil)
//
// finds the number of components in one pass by gFAB. Other methods are options
// (framework.FAB, framework.EM) or other models over the same local step: [MAP] adds a prior
// to the estimates, [Variational] gives the parameters a posterior. Priors are package
// prior's, and swapping one is swapping a field.
//
// Missing entries are NaN in a framework.FromIncomplete table. Families of independent
// columns integrate them out; full, tied and spherical Gaussians refuse them. Sparse rows
// take [Sparse], [SparseMAP] or [SparseVariational]. Repeated rows of counts and codes are
// counted once in iterations ([Model.Condense]).
//
// A family of one's own is a type that satisfies [ExponentialFamily], such as [Poisson] does
// in one file.
package mixture
