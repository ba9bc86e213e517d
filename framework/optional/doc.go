// Package optional has the interfaces that a model of package framework, its statistics and its sources may implement:
// what they add to EM, from pruning to the evidence. framework.Model alone is enough for EM.
//
//	scoring      [Curved], [Proper], [ReplacesPrior], [LogProber], [Assigner], [LabelEntropy], [Charger], [Estimating],
//	             [Penalized], [Singular], [Symmetric], [Variational], [BoundedLikelihood]
//	pruning      [Projector], [Rotator], [Splitter]
//	local steps  [Coupled], [InOrder], [FixedPoint], [Expander], [Creeping]
//	collapsed    [Collapsible], [Labeller], [Coded]
//	statistics   [Scaler], [Follower]
//	sources      [Condenser], [Divided], [Measured]
//
// Type parameters are those of framework.Model: B is a block of rows, P the parameters, S the statistics. Src is
// framework.Source[B]. The guide docs/guides/new-model.md has a table of what each is for, and what is missing without
// it. Fits return an error if a method has the name of one of these and another signature (see [Misfit]).
package optional
