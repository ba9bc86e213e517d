package prior

// Jeffreys is Jeffreys' prior, proportional to the root of the determinant of the
// Fisher information and so the same distribution in any coordinates (K, A.3). It has
// no hyperparameters.
//
// It is a distribution only where that root has a finite integral. So it has for a
// Bernoulli probability (Beta) and for the probabilities of a categorical variable (Dirichlet).
// For the rates of Poisson and exponential variables, λ^−½ and λ^−1, and for the
// parameters of a Gaussian it has not: their families return an error for it, as an
// improper prior gives a component no evidence and, once empty, no estimate.
type Jeffreys struct{}

// Check returns nil.
func (Jeffreys) Check() error { return nil }

// Beta is Jeffreys' prior of a Bernoulli probability, Beta(½, ½).
func (Jeffreys) Beta() Beta { return Beta{A: 0.5, B: 0.5} }

// Dirichlet is Jeffreys' prior of the probabilities of a categorical variable, Dir(½,…,½).
// Of mixture weights it is so only when the components are known and do not overlap,
// and is used by that name nonetheless.
func (Jeffreys) Dirichlet() Dirichlet { return Dirichlet{Alpha: 0.5} }
