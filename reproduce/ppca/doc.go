// Package ppca chooses the rank of probabilistic PCA,
//
//	x_n ~ N(0, WWᵀ + σ²I_D),   columns of W ~ N(0, s²I_D),   σ² known,
//
// by the evidence lower bound with the latent variables integrated out (Chérif-Abdellatif
// 2018, "paper C", section 4 and appendix C). The variational posterior is
// ρ = ⊗_j N(m_j, Σ_j) over the columns of W, with full or diagonal covariances; its bound
//
//	L(ρ) = E_ρ[ln p(X|W)] − KL(ρ ‖ prior)
//
// is maximised by Adam on reparameterised draws W = m + Σ^½ε, and estimated from separate draws,
// which are the same for every K.
//
// The rows are used as they are: the model has no mean, so centre them first unless their
// mean is 0.
//
//	m := ppca.Model{Noise: 0.5, PriorVariance: 1}
//	o := framework.Options{Method: framework.EM, Tolerance: 1e-6}
//	sel, err := framework.Select(ctx, m, src, []int{1, 2, 3, 4}, o)
//	best := sel.Fits[sel.Best(0)]                     // K̂ under equal weights of the ranks
//	bound, err := m.Bound(best.Statistics, best.Parameters) // with its standard error
//
// [Model] is fitted from blocks of rows and [Compressed] from [lineargaussian.Moments], which make
// the cost of an iteration independent of the number of rows. A tempered posterior, ln p(X|W) times α ∈ (0, 1], is that
// of rows of weight α. docs/theory/elbo-ppca.md has the derivations and what was measured.
package ppca
