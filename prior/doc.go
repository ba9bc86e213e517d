// Package prior holds the conjugate priors of component parameters and of mixture
// weights, for maximum a posteriori estimates and variational Bayes (Kaji 2011,
// "paper K", sections 3 and 4, A.2 and A.3).
//
// A model has a field of type [Prior], and swapping a prior is swapping that field.
// A prior is a plain value. A family distinguishes priors by a type switch, and returns an error for one that is not
// conjugate to it:
//
//	mixture weights          Dirichlet, Concentrations, Jeffreys
//	Bernoulli                Beta, Jeffreys
//	Poisson, exponential     Gamma
//	Gaussian, one column     NormalInverseGamma, DataScaled
//	Gaussian, D columns      NormalInverseWishart, DataScaled
//	any exponential family   Conjugate
//
// The posterior is of the prior's own type, so that both estimators need only its
// methods. With ν successes and ν′ failures,
//
//	before := prior.Beta{A: 0.5, B: 0.5}
//	after := prior.Beta{A: before.A + ones, B: before.B + zeros}
//	lnP, lnQ := after.ExpectedLog()                // E[ln μ], E[ln(1−μ)]: eq. 4.3
//	evidence := after.LogNorm() - before.LogNorm() // ln ∫ p(X|μ) p(μ) dμ
//	mode, err := after.Mode()                      // the MAP estimate
//
// [NormalInverseWishart] and [IsotropicNormal] provide the expected log density of a row, the divergences and the
// modes that a Gaussian component needs from its posterior. [Natural], [NaturalDirichlet] and [NaturalShapeRate]
// describe a prior by its pseudo-counts in the natural parameters of a likelihood. Adding the number of rows and the
// sums of their statistics gives the posterior. That is all a family of a single observation needs from its prior.
//
// Every LogNorm is the log, in nats, of the integral of the density without its constant, which the type's comment
// gives. So log evidences and the terms of the variational free energy are differences of LogNorm, and expectations
// are its derivatives.
//
// Methods other than Check need a prior that passes Check; otherwise their results are arbitrary, and may be NaN. A
// dst argument may be nil; its memory is reused if its capacity suffices.
package prior
