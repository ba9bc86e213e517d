// Package bernmix is the Bernoulli mixture of Kaji (2011), "paper K" throughout this
// module: M binary columns, independent within a component, with weights π ~ Dir(a, …, a)
// and probabilities μ ~ Beta(b, b).
//
// The model itself is package mixture's with the family Bernoulli. [EM], [MAP] and [VB]
// name its forms: EM is paper K's A.1 and also runs FAB and gFAB, VB its equations 4.3 to 4.6,
// whose ELBO is minus the free energy 5.3.
//
//	rows, err := blocks.FromSlice(x, n, m)                  // or FromOnes, for lists of ones
//	fit, err := framework.Fit(ctx, bernmix.VB(1e-4, 1e-4), rows, framework.Options{K: 20, Method: framework.EM})
//	predictive, err := bernmix.Predict(bernmix.VB(1e-4, 1e-4), fit.Parameters)
//
// For rows given as lists of their ones, use mixture.Sparse and its variants with blocks.SparseTable. Repeated
// rows cost nothing in iterations (in a SparseTable, once Distinct has merged them).
//
// This package holds the theory of a and b: the phase of variational Bayes
// ([Hyperparameters].Phase, Theorem 5.1.2), the coefficient of ln N of its free energy
// (Theorem 5.1.1), what section 7.2 recommends ([Recommend]), the posterior over models
// ([ModelPosterior], eq. 4.8) and the exact generalisation error ([GeneralisationError]).
// docs/errata.md lists the thesis's errors; the code uses the corrected forms.
package bernmix
