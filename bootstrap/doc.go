// Package bootstrap finds by simulation how sure the estimates of a latent variable model are: standard errors and
// intervals of its parameters, and whether K latent dimensions are too few. It knows nothing of a model but the
// interfaces of package framework and those here, which say how its rows are drawn and its labels aligned.
//
//	m := mixture.Model{Family: family.Gaussian{}}
//	res, err := framework.Fit(ctx, m, table, framework.Options{K: 2, Method: framework.EM})
//	e, err := bootstrap.StandardErrors(ctx, m, table, res.Parameters, (*mixture.Parameters).Vector,
//		bootstrap.Options{Draws: 200, Fit: framework.Options{Method: framework.EM}})
//	e.Numbers[0].Error // of the first component's weight
//	test, err := bootstrap.LikelihoodRatio(ctx, m, table, 1,
//		bootstrap.Options{Draws: 99, Fit: framework.Options{Restarts: 10}})
//	test.PValue // of one component against two
//
// [StandardErrors] refits tables drawn from the fit (Efron 1979; McLachlan & Peel, Finite Mixture Models, 2000, section
// 2.16), or the same rows under random weights (Rubin 1981; Newton & Raftery 1994), from the fitted parameters, and
// takes the standard deviation and percentiles of the estimates. Components of a refit have the labels of those of the
// fit that they share most rows with, by the assignment of least cost (Kuhn 1955): without it, labels that switch would
// count as variance (Stephens 2000).
//
// [LikelihoodRatio] is the test of McLachlan 1987 (Applied Statistics 36, 318–324): the likelihood ratio of K against
// K + 1 components has no chi-squared distribution, because K components lie on the edge of the model with K + 1. It is
// compared with those of tables drawn from the fit of K.
//
// Draw b takes its random numbers from the PCG stream (Seed, b): the bits do not depend on the number of workers. A
// draw whose refit fails is left out and listed. All log-likelihoods are in nats.
package bootstrap
