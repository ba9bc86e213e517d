// Package theorems holds the theorems of the four papers behind this module as tests, and
// nothing else. Each test states an inequality or a limit, measures it, and prints what
// it measured:
//
//	go test -v ./internal/theorems                         // seconds
//	go test -v -short ./internal/theorems                  // the small sizes alone
//	go test -v -tags exhaustive ./internal/theorems        // larger sizes, minutes
//
// Nothing is left to luck: data come in exact proportions or from fixed seeds, sums over Z are
// exact (by package evidence, or over sufficient statistics), integrals are closed
// forms or quadratures, but for the Rényi divergences of mixtures, 200 fixed draws each. A limit
// is compared with its value wherever that can be derived, so that a criterion with another sign
// or another multiple of ln N fails. Where a theorem needs more than its paper says, the
// test measures both sides of the condition, and docs/errata.md derives it. The numbers are
// in docs/theory/theorems.md.
//
// "Paper G" is Hayashi, Maeda & Fujimaki 2015 (gFIC), "K" Kaji 2011 (Bernoulli mixtures), "N"
// Nakajima, Sugiyama & Babacan 2011 (matrix factorisation), "C" Chérif-Abdellatif 2018
// (choosing by the ELBO).
//
//	G, Lemma 3         TestLemma3…; of the full formula by itself, laplace.TestEvidenceError…
//	G, Theorem 2       TestTheorem2…; where it fails, evidence.TestEmptyComponents…, TestConstantColumns…
//	G, Corollary 5     TestCorollary5…
//	G, Proposition 6   TestProposition6…
//	G, Proposition 7   TestProposition7…
//	G, Corollary 8     TestCorollary8…
//	G, Proposition 9   TestProposition9…
//	G, Proposition 10  TestProposition10…; on three bits, bernmix.TestExactEvidenceOfSeparatedProfiles
//	K, Theorem 5.1.1   TestTheorem511…; by hand, bernmix.TestFreeEnergyFollowsTheoremInScope, …OutOfScope
//	K, Theorem 5.1.2   TestTheorem512…; as a minimum, bernmix.TestPhaseMinimisesTheoremOverComponents
//	N, Theorem 1       TestTheorem1OfPaperN…
//	C, Theorem 1       TestTheorem1OfPaperC…
package theorems
