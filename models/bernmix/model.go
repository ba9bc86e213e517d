package bernmix

import (
	"fmt"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// EM returns the Bernoulli mixture with estimated parameters (paper K, A.1). It has a curvature,
// and so FAB, gFAB and their criteria: the coordinates are 2 arcsin √μ, in which the
// information of a row is 1 (docs/theory/mixtures.md, section 3).
func EM() mixture.Model { return mixture.Model{Family: family.Bernoulli{}} }

// MAP returns the mixture at the mode of π ~ Dir(a, …, a) and μ ~ Beta(b, b), both at least 1.
func MAP(a, b float64) mixture.MAP {
	return mixture.MAP{Model: EM(), Prior: prior.Beta{A: b, B: b}, Weights: prior.Dirichlet{Alpha: a}}
}

// VB returns the mixture with the variational posterior of paper K, eqs. 4.3 to 4.6, under π ~
// Dir(a, …, a) and μ ~ Beta(b, b), a and b positive. Its ELBO is −F̄, the free energy of
// eq. 5.3.
func VB(a, b float64) mixture.Variational {
	return mixture.Variational{
		Family: family.Bernoulli{}, Prior: prior.Beta{A: b, B: b}, Weights: prior.Dirichlet{Alpha: a},
	}
}

// Predictive is the distribution ∫p(x|θ)q(θ)dθ of a new row (paper K, 6.1.1): because q
// makes all parameters independent and p is linear in each, it is the Bernoulli mixture at
// their posterior means.
type Predictive struct {
	K, M          int
	Weights       []float64 // K
	Probabilities []float64 // K×M row-major: the probability of a 1

	point *mixture.Parameters
}

// Predict returns the predictive distribution of a variational posterior, or an error if m or p does not describe a
// Bernoulli mixture.
func Predict(m mixture.Variational, p *mixture.Posterior) (*Predictive, error) {
	if _, ok := m.Family.(family.Bernoulli); !ok {
		return nil, fmt.Errorf("bernmix: the model's family is %T, not Bernoulli", m.Family)
	}
	point, err := m.Point(p)
	if err != nil {
		return nil, err
	}
	return &Predictive{point.K, point.D, point.Weights, point.Components, point}, nil
}

// LogProb returns the log probability of each row, in nats, in dst if that is long enough.
func (p *Predictive) LogProb(b blocks.Rows, dst []float64) ([]float64, error) {
	return EM().LogProb(b, p.point, dst)
}

// GeneralisationError returns KL(p* ‖ p) in nats from a true Bernoulli mixture p* to the predictive distribution, by
// enumeration of {0,1}^M (paper K, 6.1.1). Arguments and errors are those of the function GeneralisationError.
func (p *Predictive) GeneralisationError(trueWeights, trueProbabilities []float64) (float64, error) {
	return GeneralisationError(trueWeights, trueProbabilities, p.Weights, p.Probabilities)
}
