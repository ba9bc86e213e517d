// Package features is a model of binary latent features (Hayashi & Fujimaki 2013): a row is the sum of the loadings of
// those features that it has,
//
//	x = b + W z + ε,  z_k ~ Bernoulli(π_k),  ε ~ N(0, Ψ),
//
// each feature whatever the others are, and Ψ diagonal or isotropic. Where a mixture has one component a row, a row has
// any subset of K features: K of them make 2^K different rows.
//
//	m := features.Model{}
//	res, err := framework.Fit(ctx, m, table, framework.Options{K: 8, Restarts: 10})
//	res.Parameters.Loadings                            // what a feature adds to each column, D×K
//	q, err := m.Probabilities(rows, res.Parameters)    // that each feature is on, rows×K
//
// [Model] enumerates the 2^K states of a row, up to K = [MaxExact]. [MeanField] takes the features of a row for
// independent of one another given x, for more of them, and its likelihood is a lower bound.
//
// The offset b belongs to Ξ beside W, so that replacing a feature by its opposite, z → 1 − z, changes nothing, and gFIC
// recognises a feature that is always on, a copy or an opposite of another as redundant (docs/theory/features.md).
package features
