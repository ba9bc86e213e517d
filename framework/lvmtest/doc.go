// Package lvmtest tests implementations of [framework.Model], as testing/fstest does
// those of io/fs.FS: an author makes one call, and the suite checks the model against the
// equations that the engine, the criteria and the pruning rules rest on
// (docs/theory/gfab.md; "paper G" is Hayashi, Maeda & Fujimaki 2015).
//
//	func TestModel(t *testing.T) {
//		lvmtest.Test(t, lvmtest.Case[framework.Rows, *Parameters, *Statistics]{
//			Model: Model{},
//			Data:  lvmtest.Matrix(x),
//		})
//	}
//
// Every check is a subtest that has its equation in its name, and says on failure at
// which K and in which state by how much the equation misses. A check that needs an
// interface which the model does not implement, or a function which the [Case] does not
// give, is skipped and says so. A method that panics, or returns nil, NaN or a slice of another
// length and no error, is named, with the author's part of the stack. [Check] returns the
// failures as an error instead, and [Run] the outcome of every check.
//
// With Model and Data alone the suite checks the local and the global step by comparison,
// sums over rows, memory, convergence, encoding and determinism, at K = 1, 2 and 3; that Keep keeps
// what it is asked for, that Shape.Free is the rank of the rows' scores, and, where the likelihood
// says that the model knows no units, that nothing else does. What a density of package numeric has
// besides its log density is compared with that, and the failure names the method. With testing's -v
// the suite lists the optional interfaces that it found. More of the [Case] gives more:
//
//	Free         the gradient of the global step, D_Π, and that no parameter too many is counted free
//	Latent       the curvature, against a numeric Hessian
//	Symmetry     labels and rotations
//	Units        other changes of units, and of blocks that are no Rows and no Sequences
//	Degenerate   the projection (paper G, eq. 3), and the order of the relevances
//	Sample       whether a fit to rows from the model gives the model back
//	Data.Sizes   N, where a row is more than one unit of data
//
// So does every optional interface that the model implements:
//
//	Proper                       the step under the prior, the local step that goes with it, the evidence of fits
//	Curved, Projector, Rotator   curvature, counts, the tilted local step, projection, rotation
//	Splitter                     division, its units, and that the halves differ
//	Charger                        that the charges add up to Shape
//	Coupled                      Update, InferAt, and that q can be copied and encoded
//	LogProber, Assigner          the likelihood, which BoundedLikelihood makes a bound; the labels
//	Expander, Scaler             parameter expansion, tempering and extrapolation
//	FixedPoint                   that a local step need not be a maximum, nor a fit ascend
//
// The states are those of a fit's beginning, where nothing is stationary yet, and some
// iterations on. Unless the model is Coupled, q(Z) is not visible through the interfaces, so that
// it is known by its statistics: that a local step is a maximum shows in that the q of other
// parameters, of reweighted rows and of other tilts are no better. The q of a Coupled model goes
// from one step of the suite to the next as it does in a fit; an Update need not be a maximum, but
// must not lower anything. Data should be tiny (a hundred rows will do) and such that every K in
// Case.K can be fitted without a degenerate dimension.
package lvmtest
