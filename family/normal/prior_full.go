package normal

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/prior"
)

// normalWishart is [prior.NormalInverseWishart] of a mean and a covariance matrix. The hyperparameters of one
// component are
//
//	κ, ν, the number of components that share Σ (1 where each has its own), m, Ψ (D×D)
type normalWishart struct {
	gaussian
	of   prior.NormalInverseWishart
	norm float64 // its LogNorm
}

func newNormalWishart(g gaussian, p prior.NormalInverseWishart) (*normalWishart, error) {
	logDet, err := p.LogDetScale()
	if err != nil {
		return nil, err
	}
	q := &normalWishart{g, p, p.LogNorm(logDet)}
	return q, representable(q.norm, g.Name())
}

// at is the distribution that hyperparameters describe, in their memory.
func (q *normalWishart) at(h []float64) prior.NormalInverseWishart {
	mean, scale := q.split(h, 3)
	return prior.NormalInverseWishart{Mean: mean, Kappa: h[0], Nu: h[1], Scale: scale}
}

func (q *normalWishart) Prior(h []float64) {
	h[0], h[1], h[2] = q.of.Kappa, q.of.Nu, 1
	mean, scale := q.split(h, 3)
	copy(mean, q.of.Mean)
	copy(scale, q.of.Scale)
}

// Update puts the mean and the scatter into the places of the posterior's m and Ψ.
func (q *normalWishart) Update(sums, anchor, h []float64) {
	n := sums[0]
	if !(n > 0) {
		q.Prior(h)
		return
	}
	d, p := q.d, q.at(h)
	first, second := q.split(sums, 1)
	for a := range d {
		p.Mean[a] = anchor[a] + first[a]/n
		for c := a; c < d; c++ {
			p.Scale[a*d+c] = second[a*d+c] - first[a]*(first[c]/n)
		}
	}
	linalg.Mirror(d, p.Scale)
	p = q.of.Update(n, p.Mean, p.Scale, p)
	h[0], h[1], h[2] = p.Kappa, p.Nu, 1
}

func (q *normalWishart) Expected(h, score []float64) (err error) {
	p := q.at(h)
	m, root := q.split(score, 1)
	copy(m, p.Mean)
	if score[0], err = p.Expected(root); err != nil {
		return fmt.Errorf("%w: %w", err, framework.ErrDegenerate)
	}
	return nil
}

// Divergence is that of the mean and of the covariance; components that share a covariance bear equal parts of its
// divergence.
func (q *normalWishart) Divergence(h, score []float64) float64 {
	_, root := q.split(score, 1)
	p := q.at(h)
	return p.MeanDivergence(root, q.of) + p.CovarianceDivergence(root, q.of, q.norm)/h[2]
}

func (q *normalWishart) Mode(h, xi []float64) error {
	mean, cov := q.split(xi, 0)
	q.at(h).Mode(h[2], mean, cov)
	return nil
}

func (q *normalWishart) Mean(h, xi []float64) { q.at(h).Expectation(q.split(xi, 0)) }

func (q *normalWishart) LogProb(xi []float64) float64 {
	mean, cov := q.split(xi, 0)
	v, err := q.of.LogProb(mean, cov)
	if err != nil {
		return math.Inf(-1) // newNormalWishart lets none through
	}
	return v
}

// Rand repeats draws that are beyond the range of float64 or singular to working precision, as happens with ν within a
// thousandth of D − 1, and returns the mode if no draw is usable.
func (q *normalWishart) Rand(h []float64, rng *rand.Rand, xi []float64) {
	mean, cov := q.split(xi, 0)
	scratch := make([]float64, len(cov))
	for range 100 {
		if _, _, err := q.at(h).Rand(rng, mean, cov); err != nil {
			continue
		}
		if _, err := precisionRoot(q.d, cov, scratch); err == nil {
			return
		}
	}
	_ = q.Mode(h, xi) // it always exists
}

// tiedNormalWishart is the prior where K components share Σ,
//
//	Σ ~ InverseWishart(Ψ, ν),   μ_k | Σ ~ N(m, Σ/κ), k = 1,…,K.
//
// The posterior is of the same form: κ and m are a component's own, ν and Ψ are shared. As of
// every [SharedPrior],
//
//   - Share follows Update of all components, and leaving some of them out: from then on the sum
//     of Divergence over the components holds that of Σ once, and Mode is the joint one;
//   - the sum of LogProb, here ln p(μ_k|Σ), lacks LogProbShared, ln p(Σ), of any one component;
//   - RandShared draws all components at once.
type tiedNormalWishart struct{ normalWishart }

// Share merges the shared hyperparameters: ν + N, and Ψ with the contributions of all components' rows. It only
// redivides hyperparameters that are already shared between the remaining components.
func (q *tiedNormalWishart) Share(hyper family.Table) {
	size := 3 + q.d + q.d*q.d
	h := hyper.Row(0, size)
	shared := q.at(h)
	for k := 1; k < hyper.K && h[2] == 1; k++ {
		shared = shared.Pool(q.at(hyper.Row(k, size)), q.of)
	}
	for k := range hyper.K {
		other := hyper.Row(k, size)
		other[1], other[2] = shared.Nu, float64(hyper.K)
		copy(q.at(other).Scale, shared.Scale)
	}
}

// LogProb is ln p(μ|Σ).
func (q *tiedNormalWishart) LogProb(xi []float64) float64 {
	mean, cov := q.split(xi, 0)
	root := make([]float64, len(cov))
	logDet, err := precisionRoot(q.d, cov, root)
	if err != nil {
		return math.Inf(-1)
	}
	return q.of.LogProbMean(mean, root, logDet)
}

// LogProbShared is ln p(Σ), the joint density less that of the mean.
func (q *tiedNormalWishart) LogProbShared(xi []float64) float64 {
	joint := q.normalWishart.LogProb(xi)
	if math.IsInf(joint, -1) {
		return joint
	}
	return joint - q.LogProb(xi)
}

// RandShared draws Σ once and the means given it.
func (q *tiedNormalWishart) RandShared(hyper family.Table, rng *rand.Rand, params family.Table) {
	d := q.d
	first := params.Row(0, d+d*d)
	q.Rand(hyper.Row(0, 3+d+d*d), rng, first)
	draw := make([]float64, d)
	for k := 1; k < params.K; k++ {
		h, xi := hyper.Row(k, 3+d+d*d), params.Row(k, d+d*d)
		copy(xi, h[3:3+d])
		copy(xi[d:], first[d:])
		q.Sample(xi, rng, draw)
		for a, x := range draw {
			xi[a] += (x - xi[a]) / math.Sqrt(h[0])
		}
	}
}
