// Package family provides the distributions of the rows of a class: of the components of a mixture, the states of a
// Markov chain or the leaves of a tree of gates. Families are Poisson, exponential, gamma, Bernoulli, categorical,
// ordinal and multinomial distributions, and a [Product] of families over the columns of a table of mixed types
// (docs/theory/mixtures.md). Package normal has Gaussians, t distributions, factor analysers and lognormals, package
// regress regressions of one column on the others; package known is for rows whose classes are known in part, and
// package fill fills their gaps.
//
// A model uses a family by a [Plan], which lays it out on the columns of a table, and by [Classes],
// the sums of K classes:
//
//	pooled, plan, draw, err := family.PoolAndDraw(ctx, table, normal.Family{}, rng) // the table as one class
//	classes, counts, err := plan.Begin(ctx, table, pooled, k, family.KMeans, draw, rng)
//	err = classes.Estimate(params)                    // global step: parameters of each class, K×P
//	err = classes.Prepare(params, tilt, constant)     // local step, once a shard
//	err = classes.Observe(block, first, n)            // some rows of a block
//	classes.AddJoints(r)                              // ln p(x_n|ξ_k) on top of what r holds
//	entropy := classes.Add(n, weights, r)             // sums of rows in the shares r
//
// The model assigns rows to classes. [Plan.Posterior] adds conjugate priors, for MAP and variational Bayes.
//
// A class is available as a distribution of gonum: [Plan.Distribution] of package distmv, [Plan.Marginal] of a column
// of package distuv; [Plan.Moments] gives mean and covariance.
//
// A new family is a type that implements [ExponentialFamily], as [Poisson] does in one
// file, or, if it is not an exponential family on independent columns, a [Factor].
package family
