package bernmix

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework/sizes"
)

// ModelPosterior returns the variational posterior of models m, which may differ in K, a and
// b: q̃(m) ∝ p(m) exp(−F̄(m)), summing to 1 (paper K, section 4.2; eq. 4.8 prints p(m) times a free energy without
// the exponential). freeEnergies are F̄ in nats, minus the ELBO, of one set of data. It is [sizes.Posterior]
// in the paper's terms.
func ModelPosterior(freeEnergies, logPrior []float64) ([]float64, error) {
	values := make([]float64, len(freeEnergies))
	floats.SubTo(values, values, freeEnergies)
	q, err := sizes.Posterior(values, logPrior)
	if err != nil {
		return nil, fmt.Errorf("bernmix: %w (a value is minus a free energy)", err)
	}
	return q, nil
}
