package prior

// Jeffreys is Jeffreys' prior, proportional to the square root of the determinant of the Fisher information, and so
// the same distribution in all coordinates (K, A.3). It has no hyperparameters.
//
// It is a distribution only if that root has a finite integral. This holds for a Bernoulli probability (Beta) and for
// the probabilities of a categorical variable (Dirichlet). It does not hold for the rates of Poisson and exponential
// variables, λ^−½ and λ^−1, nor for the parameters of a Gaussian: their families return an error, because under an
// improper prior a component has no evidence and, once empty, no estimate.
type Jeffreys struct{}

// Check returns nil.
func (Jeffreys) Check() error { return nil }

// Beta returns Jeffreys' prior of a Bernoulli probability, Beta(½, ½).
func (Jeffreys) Beta() Beta { return Beta{A: 0.5, B: 0.5} }

// Dirichlet returns Jeffreys' prior of the probabilities of a categorical variable, Dir(½,…,½).
// For mixture weights it is Jeffreys' prior only if the components are known and do not overlap, but it always goes
// by that name.
func (Jeffreys) Dirichlet() Dirichlet { return Dirichlet{Alpha: 0.5} }
