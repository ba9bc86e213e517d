// Package lvmtest tests implementations of [framework.Model], as testing/fstest does
// those of io/fs.FS: an author makes one call, and the suite holds the model to the
// equations that the engine, the criteria and the pruning rules rest on
// (docs/theory/gfab.md; "paper G" is Hayashi, Maeda & Fujimaki 2015).
//
//	func TestModel(t *testing.T) {
//		lvmtest.Test(t, lvmtest.Case[framework.Rows, *Parameters, *Statistics]{
//			Model: Model{},
//			Data:  lvmtest.Matrix(x),
//			K:     []int{1, 2, 3},
//		})
//	}
//
// Every check is a subtest that has its equation in its name, and says on failure at
// which K and in which state by how much the equation misses. A check that needs an
// interface which the model does not implement, or a function which the [Case] does not
// give, is skipped and says so. [Check] returns the failures as an error instead, and
// [Run] the outcome of every check.
//
// With Model and Data alone the suite checks the local and the global step by comparison,
// sums over rows, memory, convergence, encoding and determinism. More of the [Case] gives
// more:
//
//	Free         the gradient of the global step, D_Π
//	Latent       the curvature, against a numeric Hessian
//	Symmetry     labels and rotations
//	Units        changes of units, and K under them
//	Degenerate   the projection (paper G, eq. 3)
//	Sample       whether a fit to rows from the model gives the model back
//
// The states are those of a fit's beginning, where nothing is stationary yet, and some
// iterations on. q(Z) is not visible through the interfaces, so that it is known by its
// statistics: that a local step is a maximum shows in that the q of other parameters,
// of reweighted rows and of other tilts are no better. Data should be tiny (a hundred
// rows will do) and such that every K in Case.K can be fitted without a degenerate
// dimension.
package lvmtest
