// Package vbmf is variational Bayesian matrix factorisation,
//
//	Y = BAᵀ + E,   B is L×H with rows N(0, C_B),   A is M×H with rows N(0, C_A),   E_lm ~ N(0, σ²),
//
// whose optimal rank, noise variance and posterior need no iteration (Nakajima, Sugiyama and Babacan 2011, "paper
// N").
//
//	t, err := blocks.FromMatrix(y)                     // L×M
//	s, err := vbmf.Solve(ctx, t, vbmf.Options{})          // σ², C_A and C_B estimated
//	s.Rank, s.Noise, s.FreeEnergy                         // −s.FreeEnergy bounds ln p(Y)
//	u := s.Mean()                                         // E[BAᵀ], the denoised Y
//
// [Solve] computes the global minimum of the free energy, in which every singular value of Y is either dropped or
// shrunk by a formula. Noise and priors may be given or estimated; [SolveCorrelated] handles priors that are
// correlated across the factors. shrink.go has the formulas for one singular value; noise.go has the search for σ²,
// which finds each local minimum of the free energy exactly once.
//
// [Iterative] is the same model for package framework, in terms of rows and latent variables. It runs the matrix-wise
// algorithm, which the closed form replaces, or the column-wise one. [Compare] returns the rank that this model finds
// and those that gFIC and BIC choose for probabilistic PCA.
//
// The derivations are in docs/theory/vbmf.md.
package vbmf
