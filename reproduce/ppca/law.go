package ppca

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/models/bpca"
)

// Law is P_W = N(0, WWᵀ + σ²I) for W, D×K.
func Law(w mat.Matrix, noise float64) (*distmv.Normal, error) {
	d, k := w.Dims()
	p := bpca.Parameters{K: k, D: d, Mean: make([]float64, d), Loadings: mat.DenseCopyOf(w).RawMatrix().Data, Noise: noise}
	return p.Distribution(nil)
}

// Expect is the expectation under ρ of a function of the law P_W, in the manner of
// ∫ f(P_W) ρ(dW), from draws draws of rng, and its Monte-Carlo standard error. It needs two draws or
// more.
func (p *Posterior) Expect(
	f func(law *distmv.Normal) float64, draws int, rng *rand.Rand,
) (mean, stdErr float64, err error) {
	if err := p.Check(); err != nil {
		return 0, 0, err
	}
	if draws < 2 {
		return 0, 0, fmt.Errorf("ppca: %d draws: a standard error needs two or more", draws)
	}
	var w *mat.Dense
	squares := 0.0
	for t := range draws {
		w = p.Draw(rng, w)
		law, err := Law(w, p.Noise)
		if err != nil {
			return 0, 0, err
		}
		v := f(law)
		shift := v - mean
		mean += shift / float64(t+1)
		squares += shift * (v - mean)
	}
	n := float64(draws)
	return mean, math.Sqrt(squares / (n - 1) / n), nil
}

// ExpectedRenyi is ∫ D_α(P_W, truth) ρ(dW) in nats, what theorem 1 of paper C bounds for
// α in (0, 1), from draws draws of rng, with its Monte-Carlo standard error. D_α(P, R) =
// ln ∫ (dP/dR)^{α−1} dP / (α − 1), and at α = 1 its limit, the Kullback-Leibler divergence.
func (p *Posterior) ExpectedRenyi(
	alpha float64, truth *distmv.Normal, draws int, rng *rand.Rand,
) (mean, stdErr float64, err error) {
	if !(alpha > 0 && alpha <= 1) {
		return 0, 0, fmt.Errorf("ppca: the order of the Rényi divergence is %v: it is above 0 and at most 1", alpha)
	}
	if truth.Dim() != p.D {
		return 0, 0, fmt.Errorf("ppca: the truth has %d dimensions, and the posterior %d", truth.Dim(), p.D)
	}
	renyi := distmv.Renyi{Alpha: alpha}
	return p.Expect(func(law *distmv.Normal) float64 { return renyi.DistNormal(law, truth) }, draws, rng)
}
