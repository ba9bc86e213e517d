// Package topics implements latent Dirichlet allocation (Blei, Ng & Jordan 2003): each token of a document has a
// topic, a topic is a distribution over words, and a document is a distribution over topics,
//
//	θ_d ~ Dirichlet(α, …, α),  φ_k ~ Dirichlet(β, …, β),  z_dn ~ θ_d,  w_dn ~ φ_{z_dn}.
//
// Documents are the rows of a blocks.SparseTable of counts, documents × words. θ and φ are integrated out, and q
// of the tokens comes from collapsed variational Bayes of order 0, CVB0 (Asuncion, Welling, Smyth & Teh 2009). One
// fit finds the number of topics, as that of the highest collapsed evidence:
//
//	res, err := framework.Fit(ctx, topics.Model{}, documents, framework.Options{K: 30, Method: framework.PrunedEM})
//	res.Parameters.TopWords(0, 10, 0.6)  // of the first topic
//	res.Local.(*topics.Tokens).Proportions(res.Parameters, nil) // θ of the documents
//
// There is no gFIC: a topic has as many parameters as there are words, about as many as it has tokens or more, so
// that Laplace's approximation does not apply (docs/theory/topics.md).
package topics
