// Package features is a model of binary latent features (Hayashi & Fujimaki 2013). A row is the sum of the loadings
// of the features that it has,
//
//	x = b + W z + ε,  z_k ~ Bernoulli(π_k),  ε ~ N(0, Ψ),
//
// where the features are independent, and Ψ is diagonal or isotropic. In a mixture a row belongs to one component.
// Here it has any subset of K features, so that K features make 2^K kinds of rows.
//
//	m := features.Model{}
//	res, err := framework.Fit(ctx, m, table, framework.Options{K: 8, Restarts: 10})
//	res.Parameters.Loadings                            // what a feature adds to each column, D×K
//
// q, err := m.Probabilities(rows, res.Parameters) // probability that each feature is on, rows×K
//
// [Model] enumerates the 2^K states of a row, up to K = [MaxExact]. For more features, [MeanField] assumes that the
// features of a row are independent given x; its likelihood is a lower bound.
//
// The offset b belongs to Ξ beside W, so that replacing a feature by its opposite, z → 1 − z, changes nothing. So
// gFIC recognises a feature as redundant if it is always on, or if it is a copy or the opposite of another
// (docs/theory/features.md).
package features
