package normal

import (
	"math/rand/v2"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/prior"
)

// isotropicPrior is [prior.IsotropicNormal] of each group of columns, W + 3 hyperparameters.
type isotropicPrior struct {
	isotropic
	before []float64 // hyperparameters
}

// group is the distribution that the hyperparameters of group i describe, in their memory.
func (q *isotropicPrior) group(h []float64, i int) prior.IsotropicNormal {
	return linalg.Row(h, i, q.width+3)
}

func (q *isotropicPrior) Prior(h []float64) { copy(h, q.before) }

// Update keeps sums of squares non-negative in spite of rounding.
func (q *isotropicPrior) Update(sums, anchor, h []float64) {
	q.Prior(h)
	n, first, second := q.split(sums)
	for i, rows := range n {
		if !(rows > 0) {
			continue
		}
		p, squares := q.group(h, i), second[i]
		for j := range q.width {
			a := i*q.width + j
			within := first[a] / rows
			squares -= first[a] * within
			p[j] = anchor[a] + within
		}
		q.group(q.before, i).Update(rows, max(0, squares), p)
	}
}

func (q *isotropicPrior) Expected(h, score []float64) error {
	c, m, half := q.split(score)
	for i := range c {
		p := q.group(h, i)
		copy(q.of(m, i), p)
		constant, precision := p.Expected()
		c[i], half[i] = constant, precision/2
	}
	return nil
}

func (q *isotropicPrior) Divergence(h, _ []float64) float64 {
	sum := 0.0
	for i := range q.groups {
		sum += q.group(h, i).Divergence(q.group(q.before, i))
	}
	return sum
}

func (q *isotropicPrior) Mode(h, xi []float64) error {
	q.point(h, xi, prior.IsotropicNormal.Mode)
	return nil
}

func (q *isotropicPrior) Mean(h, xi []float64) { q.point(h, xi, prior.IsotropicNormal.Expectation) }

// point puts the means, and a variance of each group, into xi.
func (q *isotropicPrior) point(h, xi []float64, variance func(prior.IsotropicNormal) float64) {
	mean, v := q.moments(xi)
	for i := range v {
		p := q.group(h, i)
		copy(q.of(mean, i), p)
		v[i] = variance(p)
	}
}

func (q *isotropicPrior) LogProb(xi []float64) float64 {
	mean, variance := q.moments(xi)
	sum := 0.0
	for i, v := range variance {
		sum += q.group(q.before, i).LogProb(q.of(mean, i), v)
	}
	return sum
}

func (q *isotropicPrior) Rand(h []float64, rng *rand.Rand, xi []float64) {
	mean, variance := q.moments(xi)
	for i := range variance {
		variance[i] = q.group(h, i).Rand(rng, q.of(mean, i))
	}
}
