// Package lds implements linear dynamical systems, also called linear-Gaussian state space models: the columns of a
// sequence are linear in a few latent numbers, which follow a vector autoregression (Kalman 1960; Rauch, Tung &
// Striebel 1965; Ghahramani & Hinton 1996; docs/theory/lds.md).
//
//	src, err := blocks.NewSequences(table, ends) // rows in order; nil: one sequence
//	res, err := framework.Fit(ctx, lds.Model{}, src, framework.Options{K: 8})
//	res.Shape.K, res.Parameters.Dynamics // the number of latent dimensions, and A of z_t = Az_t−1 + w_t
//
// finds the number of latent dimensions in one pass by gFAB. Missing entries are NaN; all values of a step may be
// missing. With Inputs the last columns are known inputs, which act on the other columns and on the latent numbers.
package lds
