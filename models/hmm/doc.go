// Package hmm implements hidden Markov models: the steps of a sequence are in the states of a Markov chain, and any
// family of package family describes the observations in a state (Baum, Petrie, Soules & Weiss 1970; Rabiner 1989;
// factorized asymptotic Bayes for it, Fujimaki & Hayashi 2012; docs/theory/hmm.md).
//
//	src, err := blocks.NewSequences(table, ends) // rows in order; nil: one sequence
//	m := hmm.Model{Family: family.Poisson{}}
//	res, err := framework.Fit(ctx, m, src, framework.Options{K: 8})
//
// res.Shape.K, res.Parameters.Transitions // the number of states kept, and the transition probabilities
//
// finds the number of states in one pass by gFAB. [MAP] adds a prior to the estimates, [Variational] gives the
// parameters a posterior. Missing entries are NaN, as in package mixture; all values of a step may be missing.
// Forward and backward recursions are exact, their memory does not grow with the length of a sequence, and they run
// in parallel inside long sequences, with the same bits for any number of workers.
package hmm
