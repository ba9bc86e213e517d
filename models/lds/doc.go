// Package lds implements linear dynamical systems, also called linear-Gaussian state space models: the columns of a
// sequence are linear in a few latent numbers, which follow a vector autoregression (Kalman 1960; Rauch, Tung &
// Striebel 1965; Ghahramani & Hinton 1996; docs/theory/lds.md).
//
//	src, err := framework.NewSequences(table, ends) // rows in order; nil: one sequence
//	res, err := framework.Fit(ctx, lds.Model{}, src, framework.Options{K: 8})
//
// finds the number of latent dimensions in one pass by gFAB. Missing entries are NaN; a step may miss all of its
// values. With Inputs the last columns are known inputs, of what is observed and of the latent numbers.
package lds
