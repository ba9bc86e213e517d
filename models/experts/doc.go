// Package experts is a mixture whose class probabilities depend on covariates: a gate, softmax(γ_kᵀa) of some columns
// of a table, is combined with any family of package family on the others (docs/theory/experts.md),
//
//	p(x|a) = Σ_k π_k(a) p(x|ξ_k),  π_k(a) ∝ exp(γ_kᵀa),  a = (1, columns of the gate).
//
// With categorical families this is latent class regression, a latent class model with concomitant variables (Dayton
// & Macready 1988; Bandeen-Roche et al. 1997). With regressions it is a mixture of experts (Jacobs et al. 1991; Eto,
// Fujimaki, Morinaga & Tamano 2014).
//
//	// Classes by age and income, answers in the other columns.
//	m := experts.Model{Family: family.Bernoulli{}, Gate: []int{0, 1}}
//	res, err := framework.Fit(ctx, m, table, framework.Options{K: 8})
//	gate, err := m.Coefficients(table.All(), res.Parameters) // log odds against the first class, with standard errors
//
// Values in the family's columns may be missing if the family allows it. Values in the gate's columns must not be
// missing.
package experts
