// Package factor implements factor analysis and its relatives,
//
//	x = mean + W z + ε,   z ~ N(0, I_K),   ε ~ N(0, Ψ),
//
// where the noise has one variance for each column (factor analysis), one variance for all (probabilistic PCA), or a
// covariance matrix for each block of columns. Two blocks make probabilistic canonical correlation analysis (Bach &
// Jordan 2005), more make group factor analysis.
//
// [Solve] needs no iteration over rows. From one covariance matrix it computes, for every K, the maximum likelihood
// estimates and gFIC, FIC, BIC, AIC and sBIC. It can, because a fixed point of gFAB differs from the maximum of the
// likelihood only in the length of the loadings (docs/theory/factor.md). Package framework fits [Model] to rows, in
// which entries may be missing (NaN), and [Compressed] to their moments, by EM, FAB or gFAB.
//
//	m, err := lineargaussian.Summarize(ctx, table, 0)
//	all, err := factor.Solve(m, factor.Structure{}, 0)
//	k, value, err := all.Best(framework.GFIC)
//	p, err := all.Parameters(k)
//	z, err := p.Transform(rows)      // regression scores
//	law, err := p.Distribution(nil)  // of a row, a *distmv.Normal
//
// Package lineargaussian has the statistics that all of these models share.
package factor
