// Package evidence computes the reference for criteria such as gFIC: the marginal likelihood ln p(X|K) itself,
// exactly if that is possible, otherwise by sampling, with a standard error. All values are in nats.
//
// [Mixture] is a mixture of Bernoulli or categorical columns with conjugate priors
// (Kaji 2011, section 3.2). Its evidence is a finite sum, computed exactly:
//
//	m := evidence.Mixture{K: 2, Levels: []int{2, 2}, Alpha: 1, Beta: 0.5}
//	value, err := m.LogEvidence(ctx, rows, counts)           // ln p(X|K), exact
//	gfic, value, err := m.ExactGFIC(ctx, rows, counts)       // gFIC at q* = p(Z|X,K)
//	_, means, err := m.Expect(ctx, rows, counts, dim, f)     // E[f(Z)] under q*
//
// so that Theorem 2 of Hayashi, Maeda and Fujimaki 2015 ("paper G"),
// ln p(X|K) = gFIC + O(1), can be measured.
//
// [AIS] is annealed importance sampling (Neal 2001), for any model that can draw from
// its prior and move at a temperature; [Metropolis] needs only a prior and a
// likelihood:
//
//	estimate, err := evidence.AIS(ctx, target, evidence.AISOptions{Chains: 100, Seed: 1})
//	fmt.Println(estimate.LogEvidence, "±", estimate.StandardError)
//
// [WBIC] uses a single temperature of the same annealing. It is cheaper, and correct to O(√ln n).
//
// Everything runs on all processors and gives the same bits on any number of them.
package evidence
