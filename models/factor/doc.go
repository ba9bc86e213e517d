// Package factor is factor analysis and its relatives,
//
//	x = mean + W z + ε,   z ~ N(0, I_K),   ε ~ N(0, Ψ),
//
// with a variance of the noise for each column (factor analysis), one for all (probabilistic PCA), or a covariance
// matrix for each block of columns (two: probabilistic canonical correlation analysis, Bach & Jordan 2005; more:
// group factor analysis).
//
// [Solve] needs no iteration over rows: from one covariance matrix it has the maximum likelihood estimates, and with
// them gFIC, FIC, BIC, AIC and sBIC, of every K at once, because every fixed point of gFAB is the maximum of the
// likelihood but for the length of the loadings (docs/theory/factor.md). [Model] is fitted by package framework from
// rows, which may miss entries (NaN), and [Compressed] from their moments; both run EM, FAB and gFAB.
//
//	m, err := bpca.Summarize(ctx, table, 0)
//	all, err := factor.Solve(m, factor.Structure{}, 0)
//	k, value, err := all.Best(framework.GFIC)
//	p, err := all.Parameters(k)
//	z, err := p.Transform(rows)      // regression scores
//	law, err := p.Distribution(nil)  // of a row, a *distmv.Normal
//
// Package bpca has the statistics that all of these models share.
package factor
