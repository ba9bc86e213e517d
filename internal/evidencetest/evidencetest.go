// Package evidencetest has what tests of the evidence share.
package evidencetest

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/prior"
)

// Improper are priors that models whose evidence has prior.UnitInformation refuse.
var Improper = []prior.Prior{prior.UnitInformation{Rows: math.NaN()}, prior.UnitInformation{Rows: math.Inf(1)},
	prior.UnitInformation{Rows: -1}, prior.Jeffreys{}}

// Normal is a model whose coordinates are independent and normal about 0, with these standard deviations.
func Normal(deviations []float64, logLikelihood func(theta []float64) float64) *evidence.Metropolis {
	return &evidence.Metropolis{
		DrawFunc: func(rng *rand.Rand) []float64 {
			theta := slices.Clone(deviations)
			for i := range theta {
				theta[i] *= rng.NormFloat64()
			}
			return theta
		},
		LogPriorFunc: func(theta []float64) (sum float64) {
			for i, v := range theta {
				v /= deviations[i]
				sum -= v * v / 2
			}
			return sum
		},
		LogLikelihoodFunc: logLikelihood,
	}
}

// Sharper is a model with a prior that is worth so many rows, of coordinates from the given one on, where one row is
// normal about 0; nats are added to the log-likelihood.
func Sharper(m *evidence.Metropolis, rows float64, from int, nats float64) *evidence.Metropolis {
	wide := func(theta []float64) []float64 {
		to := slices.Clone(theta)
		floats.Scale(math.Sqrt(rows), to[from:])
		return to
	}
	return &evidence.Metropolis{
		DrawFunc: func(rng *rand.Rand) []float64 {
			theta := m.DrawFunc(rng)
			floats.Scale(1/math.Sqrt(rows), theta[from:])
			return theta
		},
		LogPriorFunc:      func(theta []float64) float64 { return m.LogPriorFunc(wide(theta)) },
		LogLikelihoodFunc: func(theta []float64) float64 { return m.LogLikelihoodFunc(theta) + nats },
	}
}

// MeanOut is the log-likelihood of n rows with a scatter about 0, where the mean has the prior N(0, I) and is
// integrated out; −Inf of a covariance that is none.
func MeanOut(n float64, scatter mat.Matrix, covariance *mat.SymDense) float64 {
	d := covariance.SymmetricDim()
	var chol, with mat.Cholesky
	var solved mat.Dense
	raised := mat.NewSymDense(d, nil)
	raised.CopySym(covariance)
	for j := range d {
		raised.SetSym(j, j, covariance.At(j, j)+n)
	}
	if !chol.Factorize(covariance) || !with.Factorize(raised) || chol.SolveTo(&solved, scatter) != nil {
		return math.Inf(-1)
	}
	return -(n*(chol.LogDet()+float64(d)*math.Log(2*math.Pi)) + mat.Trace(&solved) + with.LogDet() - chol.LogDet()) / 2
}
