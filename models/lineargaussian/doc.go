// Package lineargaussian is what models of the form
//
//	x = mean + W z + ε,   z ~ N(0, I_K),   ε ~ N(0, Ψ),
//
// have in common: Bayesian PCA (package bpca), factor analysis (package factor), the factorisation of matrices (package
// vbmf). What makes each of them a model, its noise, its prior and what it charges, is in these packages.
//
// [Moments] are the sums over complete rows from which a fit needs no further pass, [Columns] those of each column by
// itself, and a [Spectrum] the eigenvalues from which closed forms are read off. [Statistics] are the sums of a local
// step: [Statistics.Condition] prepares the posterior of z, [Statistics.Add] and [Statistics.AddMoments] sum it over
// rows, and [Statistics.Regress], [Statistics.Posterior], [Statistics.Expand], [Statistics.Mapped]
// are the steps that models take with the sums.
package lineargaussian
