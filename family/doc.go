// Package family says how the rows of a class are distributed: what the components of a mixture are
// made of, and as well the states of a Markov chain or the leaves of a tree of gates. Families are
// Gaussians with full, tied, diagonal or spherical covariances, [FactorAnalysers], Poisson, exponential, gamma,
// lognormal, Bernoulli, categorical, ordinal and multinomial distributions, a [Product] of them
// over the columns of a table of mixed types (docs/theory/mixtures.md), and a [Regression] of one column on the others.
//
// A model uses a family by a [Plan], which lays it out on the columns of a table, and by [Classes],
// the sums of K classes:
//
//	pooled, plan, err := family.Pool(ctx, table, family.Gaussian{}) // the table as one class: scales and defaults
//	classes, counts, err := plan.Begin(ctx, table, pooled, k, family.KMeans, rng)
//	err = classes.Estimate(params)                    // global step: parameters of each class, K×P
//	err = classes.Prepare(params, tilt, constant)     // local step, once a shard
//	err = classes.Observe(block, first, n)            // some rows of a block
//	classes.AddJoints(r)                              // ln p(x_n|ξ_k) on top of what r holds
//	entropy := classes.Add(n, weights, r)             // sums of rows in the shares r
//
// How rows are assigned to classes is the model's part. [Plan.Posterior] adds conjugate priors, for MAP
// and variational Bayes.
//
// To gonum a class is a distribution: [Plan.Distribution] is one of package distmv, [Plan.Marginal] of a column one of
// package distuv, and [Plan.Moments] are its mean and covariance.
//
// A new family is a type that implements [ExponentialFamily], as [Poisson] does in one
// file, or, for what is no exponential family on independent columns, a [Factor].
package family
