package bernmix

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// ModelPosterior is the variational posterior of models m, which may differ in K, a and
// b: q̃(m) ∝ p(m) exp(−F̄(m)), as a list that sums to 1 (paper K, section 4.2; eq. 4.8
// prints p(m) times a free energy without the exponential). freeEnergies are F̄ in nats,
// minus the ELBO, of one set of data; logPrior is ln p(m) up to a constant, or nil where
// all models are alike beforehand. A free energy of +Inf or a log prior of −Inf rules a
// model out. It errs for an empty list, lists of two lengths, NaN or the other infinity,
// values whose sum overflows, and where every model is ruled out.
func ModelPosterior(freeEnergies, logPrior []float64) ([]float64, error) {
	if len(freeEnergies) == 0 {
		return nil, fmt.Errorf("bernmix: no models to choose from")
	}
	if logPrior != nil && len(logPrior) != len(freeEnergies) {
		return nil, fmt.Errorf("bernmix: %d free energies and %d log priors: one of each is needed per model", len(freeEnergies), len(logPrior))
	}
	q := make([]float64, len(freeEnergies))
	for i, f := range freeEnergies {
		prior := 0.0
		if logPrior != nil {
			prior = logPrior[i]
		}
		q[i] = prior - f
		if math.IsNaN(q[i]) || math.IsInf(q[i], 1) {
			return nil, fmt.Errorf("bernmix: model %d has free energy %v and log prior %v: refit it, or leave it out", i+1, f, prior)
		}
	}
	best := floats.Max(q)
	if math.IsInf(best, -1) {
		return nil, fmt.Errorf("bernmix: every one of %d models is ruled out by its free energy or its prior", len(q))
	}
	for i := range q {
		q[i] = math.Exp(q[i] - best)
	}
	floats.Scale(1/floats.Sum(q), q)
	return q, nil
}
