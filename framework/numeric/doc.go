// Package numeric makes a working model from a log density alone.
//
// For discrete latent variables the author writes ln p(x|z=k, ξ_k, Θ) of a row in one component, and lists its numbers
// and their ranges:
//
//	type poisson struct{}
//
//	func (poisson) Layout(columns int) numeric.Layout {
//		return numeric.Layout{Component: []numeric.Parameter{numeric.Rate("rate", 1)}}
//	}
//
//	func (poisson) LogProb(x, component, shared []float64) float64 {
//		rate := component[0] // non-negative, 0 included
//		if x[0] == 0 {
//			return -rate
//		}
//		lgamma, _ := math.Lgamma(x[0] + 1)
//		return x[0]*math.Log(rate) - rate - lgamma
//	}
//
//	m := mixture.Model{Family: numeric.Family{Density: poisson{}}}
//	res, err := framework.Fit(ctx, m, table, framework.Options{K: 10})
//
// The framework keeps the weights, enumerates z, searches for the global step in unconstrained coordinates,
// differentiates numerically, and prunes: EM, FAB, gFAB, all criteria and framework.Select work as for a model written
// by hand. For continuous latent variables the author writes ln p(x, z|Ξ, Θ): [Continuous].
//
// Then each optional interface that the density implements ([Guesser], [Differentiable], [Estimator], [Informer],
// [Additive], [Batcher]; for continuous z [Inferrer], [JointDifferentiable], [JointEstimator], [JointInformer]) makes
// the fit faster and does not change its result. The packages under examples do so step by step. If an author's method
// violates its contract, the error names the method, the row and the component.
//
// docs/decisions/numeric.md explains what the coordinates of the parameters mean for gFIC, the criterion of Hayashi,
// Maeda and Fujimaki (2015), eqs. 2 and 16.
package numeric
