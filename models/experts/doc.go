// Package experts is a mixture whose class probabilities depend on covariates: a gate, softmax(γ_kᵀa) of some columns
// of a table, in front of any family of package family on the others (docs/theory/experts.md),
//
//	p(x|a) = Σ_k π_k(a) p(x|ξ_k),  π_k(a) ∝ exp(γ_kᵀa),  a = (1, columns of the gate).
//
// With families of codes it is latent class regression, a latent class model with concomitant variables (Dayton &
// Macready 1988; Bandeen-Roche et al. 1997); with regressions it is a mixture of experts (Jacobs et al. 1991; Eto,
// Fujimaki, Morinaga & Tamano 2014).
//
//	// Classes by age and income, answers in the other columns.
//	m := experts.Model{Family: family.Bernoulli{}, Gate: []int{0, 1}}
//	res, err := framework.Fit(ctx, m, table, framework.Options{K: 8})
//	gate, err := m.Coefficients(table.All(), res.Parameters) // log odds against the first class, with standard errors
//
// Columns of the family may be missing where it allows that, those of the gate must not be.
package experts
