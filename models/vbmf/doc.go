// Package vbmf is variational Bayesian matrix factorisation,
//
//	Y = BAᵀ + E,   B is L×H with rows N(0, C_B),   A is M×H with rows N(0, C_A),   E_lm ~ N(0, σ²),
//
// whose best rank, noise level and posterior need no iteration (Nakajima, Sugiyama and
// Babacan 2011, "paper N").
//
//	t, err := framework.FromMatrix(y)                     // L×M
//	s, err := vbmf.Solve(ctx, t, vbmf.Options{})          // σ², C_A and C_B estimated
//	s.Rank, s.Noise, s.FreeEnergy                         // −s.FreeEnergy bounds ln p(Y)
//	u := s.Mean()                                         // E[BAᵀ], the denoised Y
//
// [Solve] is the global minimum of the free energy: every singular value of Y is either
// dropped or shrunk by a formula. Noise and priors may be given or estimated; priors
// that are correlated across the factors go through [SolveCorrelated]. shrink.go has the
// formulas of one singular value, noise.go the search for σ², which finds each local
// minimum of the free energy exactly once.
//
// [Iterative] is the same model as rows and latent variables for package framework: the
// matrix-wise algorithm that the closed form replaces, and the column-wise one. [Compare]
// returns its rank as probabilistic PCA together with that of gFAB.
//
// The derivations are in docs/theory/vbmf.md.
package vbmf
