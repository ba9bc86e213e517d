package optional

// LogProber gives the marginal log-likelihood ln p(x_n|Π) of each row of a block,
// in nats, in dst[:rows] (allocated when nil).
type LogProber[B, P any] interface {
	LogProb(b B, p P, dst []float64) ([]float64, error)
}

// Assigner marks a model with discrete latent variables: Responsibilities returns q(z_n = k) for each row, rows×K
// row-major. Criteria of classification, such as ICL, need it.
type Assigner[B, P any] interface {
	Responsibilities(b B, p P, dst []float64) ([]float64, error)
}

// LabelEntropy marks a model whose rows have labels that are not all of q(z_n), as in an [Assigner] with a position
// beside the label, or more than one of K, such as binary features: it gives the part of the entropy that is the
// labels', Σ_n w_n H(q(labels_n)) in nats, which ICL subtracts.
type LabelEntropy[S any] interface{ LabelEntropy(s S) float64 }

// BoundedLikelihood marks a model whose q is an approximation even at its best, such as a
// mean-field one: LogJoint + H(q) then bounds ln p(X|Π) from below and never reaches it. Criteria of the likelihood use
// the bound, and framework.Score.Bound says so.
type BoundedLikelihood interface{ BoundsLikelihood() }

// Variational marks a model whose parameters describe a posterior q(Π). Its LogJoint is E[ln p(X,Z,Π)] + H(q(Π)): with
// the entropy of q(Z) the evidence lower bound, so that no criterion may charge for parameters again.
type Variational interface{ BoundsEvidence() }

// Penalized marks a model that estimates the mode of Π under a prior (MAP): its LogJoint
// includes ln p(Π), which LogPrior returns, so that criteria of the likelihood can subtract it.
type Penalized[P any] interface{ LogPrior(p P) float64 }

// A Charge is a number of parameters with the N of their estimate: the criteria charge ½ ln N for each.
type Charge struct {
	Parameters int     // numbers
	Free       int     // identifiable ones, as BIC and AIC count them
	Latent     bool    // they belong to Ξ, for which gFIC and FIC charge by F
	N          float64 // observations of the estimate
}

// Charger is a model whose parameters are not all estimated from as many observations: the start of a hidden Markov
// model from the sequences, the rest from time steps. The sums over the charges are those of framework.Shape. Rows that
// say nothing of a parameter, as sequences of one step do of transitions, add nothing to its N. For other models N is
// that of the statistics.
type Charger[P, S any] interface {
	Charges(s S, p P) []Charge
}

// Estimating is a model whose parameters after FAB or gFAB become estimates by a transformation, such as one of
// loadings that the tilt lengthens. Criteria of the likelihood use these estimates; after EM the parameters are
// estimates.
type Estimating[P, S any] interface {
	// Estimates returns new parameters: p stays.
	Estimates(s S, p P) (P, error)
}

// Symmetric is a model that states how many modes of Π are equivalent, such as by the order of labels. An [Assigner]
// that is not Symmetric has K! orders.
type Symmetric[P any] interface {
	// LogModes returns the logarithm of their number in nats: 0 if the states have an order, or if the evidence already
	// counts the modes.
	LogModes(p P) float64
}

// Creeping is a model whose iterations, if Creeps says so, gain so little that the engine always extrapolates them (see
// [Options.Accelerate]): the rows retain little of the information of the complete data, for example about the degrees
// of freedom of t distributions.
type Creeping interface{ Creeps() bool }
