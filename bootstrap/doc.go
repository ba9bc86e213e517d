// Package bootstrap estimates by simulation how uncertain a fitted latent variable model is: standard errors and
// intervals of its parameters, and whether K latent dimensions are too few. It uses a model through the interfaces of
// package framework and those here alone, which say how to draw its rows and align its labels.
//
//	m := mixture.Model{Family: normal.Family{}}
//	res, err := framework.Fit(ctx, m, table, framework.Options{K: 2, Method: framework.EM})
//	e, err := bootstrap.StandardErrors(ctx, m, table, res.Parameters, (*mixture.Parameters).Vector,
//		bootstrap.Options{Draws: 200, Fit: framework.Options{Method: framework.EM}})
//
// e.Numbers[0].Error // standard error of the first component's weight
//
//	test, err := bootstrap.LikelihoodRatio(ctx, m, table, 1,
//		bootstrap.Options{Draws: 99, Fit: framework.Options{Restarts: 10}})
//
// test.PValue // p-value of one component against two
//
// [StandardErrors] refits the model to tables drawn from the fit (Efron 1979; McLachlan & Peel, Finite Mixture
// Models, 2000, section 2.16), or to the same rows under random weights (Rubin 1981; Newton & Raftery 1994). Refits
// start at the fitted parameters; it returns the standard deviation and percentiles of their estimates. An assignment
// of least cost (Kuhn 1955) gives each component of a refit the label of the fit's component with which it shares
// most rows. Without it, switched labels would count as variance (Stephens 2000).
//
// [LikelihoodRatio] is the test of McLachlan (1987, Applied Statistics 36, 318–324). The likelihood ratio of K
// against K + 1 components has no chi-squared distribution, because K components lie on the edge of the model with K
// + 1. The test therefore compares it with the likelihood ratios of tables drawn from the fit of K.
//
// Draw b takes its random numbers from the PCG stream (Seed, b): the bits do not depend on the number of workers. A
// draw whose refit fails is excluded and listed in Outcome.Failed. All log-likelihoods are in nats.
package bootstrap
