// Package hmm is the hidden Markov model: sequences whose steps have the states of a Markov chain, with any family of
// package family for the observations in a state (Baum, Petrie, Soules & Weiss 1970; Rabiner 1989; factorized
// asymptotic Bayes for it, Fujimaki & Hayashi 2012; docs/theory/hmm.md).
//
//	src, err := framework.NewSequences(table, ends) // rows in order; nil: one sequence
//	m := hmm.Model{Family: family.Poisson{}}
//	res, err := framework.Fit(ctx, m, src, framework.Options{K: 8})
//	res.Shape.K, res.Parameters.Transitions // states left, and how they follow one another
//
// finds the number of states in one pass by gFAB. [MAP] adds a prior to the estimates, [Variational] gives the
// parameters a posterior. Missing entries are NaN, as in package mixture; a step may miss all of its values. Forward
// and backward are exact, in memory that does not grow with the length of a sequence, and parallel inside long ones,
// with the same bits for any number of workers.
package hmm
