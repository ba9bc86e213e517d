// Package laplace holds the curvature of a latent variable model, and the
// Laplace approximation that is built on it.
//
// The curvature F_Ξ is the Hessian of −ln p(X,Z|Π)/N with respect to the
// parameters Ξ of the latent dimensions (Hayashi, Maeda & Fujimaki 2015,
// section 2). The criterion gFIC charges a model ½ ln|F_Ξ| nats, and the local
// step of gFAB tilts each row by the derivative of that charge. In every model
// here F is block-diagonal, and a block is a product: a count, which q(Z) decides, times the
// information of an observation, which Π decides: N_k/N times a unit Fisher information, or
// S/N ⊗ λI (eq. 5). A [Curvature] consists of these factors, so that determinants, eigenvalues and tilts are exact,
// cost what the factors cost, and need no DK × DK matrix:
//
//	f.Reset(n, false)
//	f.Mixed(s, laplace.Scaled{Factor: lambda, Of: laplace.Identity(d)})
//	penalty := -f.LogDet() / 2                 // −½ ln|F|, nats
//
//	tilt.Set(f)
//	err := tilt.Precision(precision)           // + D·S⁻¹
//
// The tilt comes from the concavity of ln det: at the current F₀,
//
//	−½ ln|F| ≥ −½ ln|F₀| − ½ tr(F₀⁻¹F) + ½ dim F,   with equality at F = F₀,
//
// and the right side, Blocks.Tangent, is a sum over rows.
//
// LogEvidence is Laplace's method in full (Lemma 3, eq. 9; Tierney & Kadane
// 1986), with no O(1) term dropped: given h(Π) = ln p(X,Z,Π) and its maximum,
//
//	ln ∫ exp(h) dΠ ≈ h(Π̂) + (d/2) ln 2π − ½ ln|−∇²h(Π̂)|,
//
// whose error falls like 1/N. The Hessian may be analytic or, through
// gonum/diff/fd, numeric.
package laplace
