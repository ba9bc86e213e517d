// Package lvmtest tests implementations of [framework.Model], as testing/fstest does
// those of io/fs.FS: an author makes one call, and the suite checks the model against the
// equations that the engine, the criteria and the pruning rules rest on
// (docs/theory/gfab.md; "paper G" is Hayashi, Maeda & Fujimaki 2015).
//
//	func TestModel(t *testing.T) {
//		lvmtest.Test(t, lvmtest.Case[blocks.Rows, *Parameters, *Statistics]{
//			Model: Model{},
//			Data:  lvmtest.Matrix(x),
//		})
//	}
//
// Every check is a subtest with its equation in its name; a failure names K, the state and the error of the equation. A
// check is skipped with a note if it needs an interface that the model does not implement, or a function that the
// [Case] does not give. If a method panics, or returns nil, NaN or a slice of another length without an error, the
// suite names it, with the author's part of the stack. [Check] returns the failures as an error instead, and [Run] the
// outcome of every check.
//
// With Model and Data alone the suite checks the local and the global step by comparison,
// sums over rows, memory, convergence, encoding and determinism, at K = 1, 2 and 3; that the global step leads to one
// maximum from any parameters, that Keep keeps what it is asked for, that Shape.Free is the rank of the rows' scores,
// that no row is charged for what it says nothing of, and, where the likelihood says that the model knows no units,
// that nothing else does. What a density of package numeric has besides its log density is compared with that. Failures
// name the method. With testing's -v the suite lists the optional interfaces that it found. [Matrix] and [Sequences]
// make Data of a table. Other fields of the [Case] add checks:
//
//	Free               all of the gradient of the global step, D_Π, and that no parameter too many is counted free
//	Latent             the curvature, against a numeric Hessian
//	Symmetry           labels and rotations
//	Units              other changes of units, and of blocks that are no Rows and no Sequences
//	Degenerate         the projection (paper G, eq. 3), and the order of the relevances
//	Sample             whether a fit to rows from the model gives the model back
//	Data.Observations  N, where a row is more than one observation
//
// So does every optional interface that the model implements:
//
//	Proper                       the step under the prior, the local step that goes with it, the evidence of fits
//	Curved, Projector, Rotator   curvature, counts, the tilted local step, projection, rotation
//	Splitter                     division, its units, and that the halves differ
//	Charger                      that the charges add up to Shape
//	Coupled                      Update, InferAt, and that q can be copied and encoded
//	LogProber, Assigner          the likelihood, which BoundedLikelihood makes a bound; the labels
//	Expander, Scaler             parameter expansion; tempering, extrapolation and online EM
//	Follower                     that statistics follow others as Prepare readies them
//	FixedPoint                   that a local step need not be a maximum, nor a fit ascend
//
// The states are those of a fit's beginning, where nothing is stationary yet, and after some iterations. Unless the
// model is Coupled, the interfaces show q(Z) only by its statistics: a local step passes as a maximum if the q of other
// parameters, of reweighted rows and of other tilts are no better. The suite passes the q of a Coupled model from one
// step to the next, as a fit does; an Update need not be a maximum, but must not lower the objective. Data should be
// tiny (a hundred rows suffice) and allow every K in Case.K without a degenerate dimension.
package lvmtest
