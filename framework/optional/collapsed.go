package optional

// Collapsible adds framework.Collapsed and, with [Labeller], framework.ExactICL, to models with conjugate priors of the
// parameters: with Π integrated out, ln p(X,Z) is a function of the statistics of Z alone.
type Collapsible[B, P, S any] interface {
	// LogEvidence is ln p(X,Z) = ln ∫p(X,Z|Π)p(Π)dΠ at the statistics of Z, in nats. At the expected statistics under a q
	// it is E_q[ln p(X,Z)] to first order, and a lower bound of it, because ln Z is convex. p says which model it is.
	LogEvidence(s S, p P) (float64, error)
	// Spread returns a function that sums the second order over the rows of a block,
	//
	//	½ Σ_n tr(Cov_q[T(x_n,z_n)] ∇² ln p(X,Z)),
	//
	// weighted like the rows: ∇² at the statistics at, the covariance under q = p(z_n|x_n,p). It is nil if LogEvidence
	// includes the second order, as it must in a [Coupled] model, whose q is no function of p. Each goroutine asks for its
	// own function.
	Spread(at S, p P) (func(b B) (float64, error), error)
}

// Labeller is a model with discrete latent variables that can be set to their most probable values.
type Labeller[B, P, S any] interface {
	// InferLabels is framework.Model.Infer with all of q(z_n) at its largest value, the first of equal ones.
	InferLabels(b B, p P, s S) error
}

// Coded adds framework.DNML, for discrete data.
type Coded[P, S any] interface {
	// CodeLength is minus the length in nats of the decomposed normalised maximum likelihood code of (X, Z), at the
	// statistics of Z.
	CodeLength(s S, p P) (float64, error)
}
