// Package framework infers, prunes and scores any latent variable model that
// satisfies a few small interfaces.
//
// Rows are independent given the parameters, so inference is a fold over blocks of
// rows:
//
//	rows → [local step: q, tilted by the curvature] → statistics ⊕ … → [global step: parameters, curvature] → …
//
// A [Model] supplies the two steps. With them alone [Fit] runs EM, which on a model of variational parameters is
// variational Bayes. A model that also gives its [optional.Curved] curvature gets gFIC and the gFAB algorithm of
// Hayashi, Maeda and Fujimaki (2015), "paper G": one pass from a K that is large enough, during which the rules of
// package pruning remove the latent dimensions that the data do not need, by means of an [optional.Projector]. With an
// [optional.Proper] prior gFAB climbs the evidence instead of gFIC.
//
//	src, err := blocks.FromMatrix(x)               // rows × columns
//	res, err := framework.Fit(ctx, mixture.Model{Family: normal.Family{}}, src, framework.Options{K: 20})
//	res.Shape.K, res.Value, res.Parameters            // dimensions left, the evidence, estimates
//
// A [Criterion] is a value, set by an option: [Evidence], [GFIC], [FIC],
// [BICEM], [BIC], [AIC], [ICL], [ELBO]. [Select] tabulates criteria over a range of K, and
// chooses among them under a prior on K too. [Options].Temper takes the likelihood of a
// variational model to a power.
//
// The same seed gives the same bits for any number of workers. A cancelled fit returns its best state and a checkpoint
// that resumes to the same bits. Weights of rows are frequencies; for a model that is an [optional.Condenser], repeated
// rows are counted once. After the first iteration the engine allocates nothing.
//
// Models are the packages below models: mixture, experts, hmm, bpca, factor, vbmf, lds, features, topics, blockmodel
// and bernmix; package family provides the distributions of their classes, and package data reads tables. Package
// numeric makes a model from a log density, and one call of package lvmtest tests a model of your own. Package
// bootstrap computes standard errors and tests K.
//
// The derivations are in docs/theory/gfab.md and elbo.md, the reasons for the shape of the
// interfaces in docs/decisions/engine.md.
package framework
