package family

import (
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/prior"
)

// isotropicPrior is, for each group of columns, a normal distribution of every mean and one
// inverse gamma distribution of their variance: μ_j|σ² ~ N(m_j, σ²/κ). The hyperparameters of
// one component are m (W numbers), κ, shape and rate of every group.
type isotropicPrior struct {
	isotropic
	before []float64 // hyperparameters
}

// group is what a group's hyperparameters describe: m, and the distribution of the first column.
func (q *isotropicPrior) group(h []float64, i int) (mean []float64, p prior.NormalInverseGamma) {
	h = at(h, i, q.width+3)
	return h[:q.width], prior.NormalInverseGamma{Mean: h[0], Kappa: h[q.width], Shape: h[q.width+1], Rate: h[q.width+2]}
}

func (q *isotropicPrior) Prior(h []float64) { copy(h, q.before) }

// Update counts W squares a row, and lets no rounding make their sum negative.
func (q *isotropicPrior) Update(sums, anchor, h []float64) {
	q.Prior(h)
	n, first, second := q.split(sums)
	for i, rows := range n {
		if !(rows > 0) {
			continue
		}
		m, p := q.group(h, i)
		kappa, scatter, between := p.Kappa+rows, second[i], 0.0
		for j := range m {
			a := i*q.width + j
			within := first[a] / rows
			scatter -= first[a] * within
			shift := anchor[a] + within - m[j]
			between += shift * shift
			m[j] += rows / kappa * shift
		}
		after := at(h, i, q.width+3)[q.width:]
		after[0] = kappa
		after[1] += rows * float64(q.width) / 2
		after[2] += (max(0, scatter) + p.Kappa*(rows/kappa)*between) / 2
	}
}

func (q *isotropicPrior) Expected(h, score []float64) error {
	c, m, half := q.split(score)
	for i := range c {
		mean, p := q.group(h, i)
		copy(q.isotropic.of(m, i), mean)
		c[i] = -float64(q.width) / 2 * (p.ExpectedLogVariance() + math.Log(2*math.Pi) + 1/p.Kappa)
		half[i] = p.ExpectedPrecision() / 2
	}
	return nil
}

func (q *isotropicPrior) Divergence(h, _ []float64) float64 {
	sum := 0.0
	for i := range q.groups {
		mean, p := q.group(h, i)
		mean0, p0 := q.group(q.before, i)
		sum += meanDivergence(q.width, p.Kappa, p0.Kappa, p.ExpectedPrecision()*distance(mean, mean0)) +
			p.Precision().Divergence(p0.Precision())
	}
	return sum
}

// Mode has the factor (σ²)^−½ of every column's mean in the joint density.
func (q *isotropicPrior) Mode(h, xi []float64) error {
	q.point(h, xi, func(p prior.NormalInverseGamma) float64 { return p.Rate / (p.Shape + 1 + float64(q.width)/2) })
	return nil
}

// Mean is m and rate/(shape−1), or rate/shape where that does not exist.
func (q *isotropicPrior) Mean(h, xi []float64) {
	q.point(h, xi, func(p prior.NormalInverseGamma) float64 {
		if p.Shape > 1 {
			return p.Rate / (p.Shape - 1)
		}
		return p.Rate / p.Shape
	})
}

// point puts the means m, and a variance of each group, into xi.
func (q *isotropicPrior) point(h, xi []float64, variance func(prior.NormalInverseGamma) float64) {
	mean, v := q.moments(xi)
	for i := range v {
		m, p := q.group(h, i)
		copy(q.isotropic.of(mean, i), m)
		v[i] = variance(p)
	}
}

// LogProb is that of the first column, with the means of the others given the variance.
func (q *isotropicPrior) LogProb(xi []float64) float64 {
	mean, variance := q.moments(xi)
	sum := 0.0
	for i, v := range variance {
		m := q.isotropic.of(mean, i)
		m0, p := q.group(q.before, i)
		first := p.LogProb(m[0], v)
		if math.IsInf(first, -1) {
			return first
		}
		sum += first + float64(q.width-1)/2*math.Log(p.Kappa/(2*math.Pi*v)) - p.Kappa*distance(m[1:], m0[1:])/(2*v)
	}
	return sum
}

func (q *isotropicPrior) Rand(h []float64, rng *rand.Rand, xi []float64) {
	mean, variance := q.moments(xi)
	for i := range variance {
		m, p := q.group(h, i)
		to := q.isotropic.of(mean, i)
		to[0], variance[i] = p.Rand(rng)
		for j := 1; j < q.width; j++ {
			to[j] = m[j] + math.Sqrt(variance[i]/p.Kappa)*rng.NormFloat64()
		}
	}
}
