// Package topics is latent Dirichlet allocation (Blei, Ng & Jordan 2003): each token of a document has a topic, topics
// are distributions over words, and documents over topics,
//
//	θ_d ~ Dirichlet(α, …, α),  φ_k ~ Dirichlet(β, …, β),  z_dn ~ θ_d,  w_dn ~ φ_{z_dn}.
//
// Documents are rows of a framework.SparseTable, documents × words, of counts. θ and φ are integrated out, and q of the
// tokens is that of collapsed variational Bayes of order 0 (Asuncion, Welling, Smyth & Teh 2009). The number of topics
// is that of the highest collapsed evidence, from one fit:
//
//	res, err := framework.Fit(ctx, topics.Model{}, documents, framework.Options{K: 30, Method: framework.PrunedEM})
//	res.Parameters.TopWords(0, 10, 0.6)  // of the first topic
//	res.Local.(*topics.Tokens).Proportions(res.Parameters, nil) // θ of the documents
//
// There is no gFIC: a topic has as many numbers as there are words, of the order of its tokens or more, and Laplace's
// approximation does not apply (docs/theory/topics.md).
package topics
