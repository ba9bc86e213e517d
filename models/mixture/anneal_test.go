package mixture_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// TestAnnealingEstimatesTheEvidence of Gaussian mixtures: against the sum over all 2⁹
// assignments of nine numbers, with each component's evidence in closed form.
func TestAnnealingEstimatesTheEvidence(t *testing.T) {
	x := []float64{-1.3, -0.2, 0.4, -0.9, 3.1, 2.2, 4.0, 3.3, 2.7}
	niw := prior.NormalInverseGamma{Mean: 1, Kappa: 0.5, Shape: 2, Rate: 1.5}
	const alpha = 0.8
	var terms []float64
	for code := range 1 << len(x) {
		var part [2][]float64
		for i, v := range x {
			part[code>>i&1] = append(part[code>>i&1], v)
		}
		term := prior.Concentrations{alpha + float64(len(part[0])), alpha + float64(len(part[1]))}.LogNorm() - prior.Dirichlet{Alpha: alpha}.LogNorm(2)
		for _, rows := range part {
			n := float64(len(rows))
			if n == 0 {
				continue
			}
			mean, squares := floats.Sum(rows)/n, 0.0
			for _, v := range rows {
				squares += (v - mean) * (v - mean)
			}
			term += niw.Update(n, mean, squares).LogNorm() - niw.LogNorm() - n/2*math.Log(2*math.Pi)
		}
		terms = append(terms, term)
	}
	exact := floats.LogSumExp(terms)

	m := mixture.Variational{Family: normal.Family{Covariance: normal.Diagonal}, Prior: niw, Weights: prior.Dirichlet{Alpha: alpha}}
	src := source(t, x, len(x), 1)
	target, err := mixture.NewAnnealer(context.Background(), m, src, 2)
	require.NoError(t, err)
	estimate, err := evidence.AIS(context.Background(), target, evidence.AISOptions{Seed: 2, Temperatures: 500})
	require.NoError(t, err)
	vb := fit(t, m, src, framework.Options{K: 2, Method: framework.EM, Restarts: 10})
	t.Logf("exact %.4f, annealed %.4f ± %.4f, variational bound %.4f", exact, estimate.LogEvidence, estimate.StandardError, vb.Value)
	assert.InDelta(t, exact, estimate.LogEvidence, 4*estimate.StandardError)
	assert.Less(t, estimate.StandardError, 0.1)
	assert.Less(t, vb.Value, exact)
}

// TestOneComponentsBoundIsItsEvidence: with K = 1 nothing is factorised, so that the ELBO is
// ln p(X), which annealing estimates, in every family.
func TestOneComponentsBoundIsItsEvidence(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const n = 25
	for _, c := range []struct {
		family family.Family
		d      int
		draw   func() float64
	}{
		{normal.Family{}, 2, rng.NormFloat64},
		{normal.Family{Covariance: normal.Tied}, 2, rng.NormFloat64},
		{normal.Family{Covariance: normal.Diagonal}, 2, rng.NormFloat64},
		{normal.Family{Covariance: normal.Spherical}, 2, rng.NormFloat64},
		{family.Poisson{}, 2, func() float64 { return float64(rng.IntN(7)) }},
		{family.Exponential{}, 1, rng.ExpFloat64},
		{family.Gamma{}, 1, func() float64 { return rng.ExpFloat64() + rng.ExpFloat64() }},
		{family.Bernoulli{}, 3, func() float64 { return float64(rng.IntN(2)) }},
		{family.Categorical{Levels: 3}, 2, func() float64 { return float64(rng.IntN(3)) }},
	} {
		var x []float64
		for range n * c.d {
			x = append(x, c.draw())
		}
		src, m := source(t, x, n, c.d), mixture.Variational{Family: c.family}
		bound := fit(t, m, src, framework.Options{K: 1, Method: framework.EM})
		target, err := mixture.NewAnnealer(context.Background(), m, src, 1)
		require.NoError(t, err)
		estimate, err := evidence.AIS(context.Background(), target, evidence.AISOptions{Seed: 1, Temperatures: 300})
		require.NoError(t, err)
		t.Logf("%s: ELBO %.4f, annealed %.4f ± %.4f", c.family.Name(), bound.Value, estimate.LogEvidence, estimate.StandardError)
		assert.InDelta(t, bound.Value, estimate.LogEvidence, 4*estimate.StandardError, c.family.Name())
		assert.Less(t, estimate.StandardError, 0.2, c.family.Name())
	}
}
