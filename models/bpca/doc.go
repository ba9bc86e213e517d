// Package bpca is Bayesian principal component analysis,
//
//	x = mean + W z + ε,   z ~ N(0, I_K),   ε ~ N(0, λ⁻¹ I_D),
//
// as a latent variable model for package framework (Hayashi, Maeda and Fujimaki
// 2015, "paper G", section 2.1).
//
// [Model] is fitted from blocks of rows. [Compressed] is fitted from [lineargaussian.Moments], which one pass
// over the rows computes, so that an iteration's cost does not depend on N. Both run EM (probabilistic PCA), FAB and
// gFAB. [Variational] and [CompressedVariational] give W and λ a posterior (Bishop 1999). [Solve] needs no iteration:
// EM and gFAB have closed forms, and one eigendecomposition yields every criterion at every K.
//
//	m, err := lineargaussian.Summarize(ctx, src, 0)
//	res, err := framework.Fit(ctx, bpca.Compressed{}, m.Source(), framework.Options{K: m.D - 1})
//	p := res.Parameters.Canonical()  // orthogonal loadings, strongest first
//	z, cov, err := p.Transform(x)    // posterior of the latent variables
//	law, err := p.Distribution(nil)  // of x, a *distmv.Normal
//
// What PCA shares with factor analysis is in package lineargaussian. model.go follows the paper: start, local step,
// global step, curvature, projection. docs/theory/bpca.md derives the closed form.
package bpca
