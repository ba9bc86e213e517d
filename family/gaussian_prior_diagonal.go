package family

import (
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/prior"
)

// diagonalPrior is a normal–inverse gamma distribution for each column. The
// hyperparameters of one component are m, κ, shape and rate of every column.
type diagonalPrior struct {
	diagonal
	of []prior.NormalInverseGamma
}

// column is the distribution that a column's hyperparameters describe.
func (*diagonalPrior) column(h []float64, a int) prior.NormalInverseGamma {
	return prior.NormalInverseGamma{Mean: h[4*a], Kappa: h[4*a+1], Shape: h[4*a+2], Rate: h[4*a+3]}
}

func (q *diagonalPrior) setColumn(h []float64, a int, p prior.NormalInverseGamma) {
	h[4*a], h[4*a+1], h[4*a+2], h[4*a+3] = p.Mean, p.Kappa, p.Shape, p.Rate
}

func (q *diagonalPrior) Prior(h []float64) {
	for a, p := range q.of {
		q.setColumn(h, a, p)
	}
}

// Update lets no rounding make a sum of squares negative.
func (q *diagonalPrior) Update(sums, anchor, h []float64) {
	n, first, second := thirds(sums, q.d)
	for a, p := range q.of {
		if n[a] > 0 {
			shift := first[a] / n[a]
			p = p.Update(n[a], anchor[a]+shift, max(0, second[a]-first[a]*shift))
		}
		q.setColumn(h, a, p)
	}
}

func (q *diagonalPrior) Expected(h, score []float64) error {
	c, m, precision := thirds(score, q.d)
	for a := range q.d {
		p := q.column(h, a)
		m[a], precision[a] = p.Mean, p.ExpectedPrecision()/2
		c[a] = -(p.ExpectedLogVariance() + math.Log(2*math.Pi) + 1/p.Kappa) / 2
	}
	return nil
}

func (q *diagonalPrior) Divergence(h, _ []float64) float64 {
	sum := 0.0
	for a, p0 := range q.of {
		p := q.column(h, a)
		shift := p.Mean - p0.Mean
		sum += meanDivergence(1, p.Kappa, p0.Kappa, p.ExpectedPrecision()*shift*shift) +
			prior.Gamma{Shape: p.Shape, Rate: p.Rate}.Divergence(prior.Gamma{Shape: p0.Shape, Rate: p0.Rate})
	}
	return sum
}

func (q *diagonalPrior) Mode(h, xi []float64) error {
	for a := range q.d {
		xi[a], xi[q.d+a] = q.column(h, a).Mode()
	}
	return nil
}

// Mean is m and rate/(shape−1), or rate/shape where that does not exist.
func (q *diagonalPrior) Mean(h, xi []float64) {
	for a := range q.d {
		p := q.column(h, a)
		xi[a], xi[q.d+a] = p.Mean, meanVariance(p.Shape, p.Rate)
	}
}

func meanVariance(shape, rate float64) float64 {
	if shape > 1 {
		return rate / (shape - 1)
	}
	return rate / shape
}

func (q *diagonalPrior) LogProb(xi []float64) float64 {
	sum := 0.0
	for a, p := range q.of {
		sum += p.LogProb(xi[a], xi[q.d+a])
	}
	return sum
}

func (q *diagonalPrior) Rand(h []float64, rng *rand.Rand, xi []float64) {
	for a := range q.d {
		xi[a], xi[q.d+a] = q.column(h, a).Rand(rng)
	}
}

// sphericalPrior is a normal distribution for the mean of each column and one inverse
// gamma distribution for their variance. The hyperparameters of one component are κ,
// shape, rate and m.
type sphericalPrior struct {
	spherical
	centre []float64
	of     prior.NormalInverseGamma // of any column; its Mean does not count
}

// precision is the distribution of 1/σ² that hyperparameters describe.
func (*sphericalPrior) precision(h []float64) prior.Gamma {
	return prior.Gamma{Shape: h[1], Rate: h[2]}
}

func (q *sphericalPrior) Prior(h []float64) {
	h[0], h[1], h[2] = q.of.Kappa, q.of.Shape, q.of.Rate
	copy(h[3:], q.centre)
}

// Update counts D squares a row.
func (q *sphericalPrior) Update(sums, anchor, h []float64) {
	q.Prior(h)
	n := sums[0]
	if !(n > 0) {
		return
	}
	h[0] += n
	h[1] += n * float64(q.d) / 2
	scatter, between := sums[1+q.d], 0.0
	for a, m := range q.centre {
		within := sums[1+a] / n
		scatter -= sums[1+a] * within
		shift := anchor[a] + within - m
		between += shift * shift
		h[3+a] = m + n/h[0]*shift
	}
	h[2] += (max(0, scatter) + q.of.Kappa*(n/h[0])*between) / 2
}

func (q *sphericalPrior) Expected(h, score []float64) error {
	tau := q.precision(h)
	copy(score[1:], h[3:3+q.d])
	score[0] = float64(q.d) / 2 * (tau.ExpectedLog() - math.Log(2*math.Pi) - 1/h[0])
	score[1+q.d] = tau.Mean() / 2
	return nil
}

func (q *sphericalPrior) Divergence(h, _ []float64) float64 {
	tau := q.precision(h)
	quad := tau.Mean() * distance(h[3:3+q.d], q.centre)
	return meanDivergence(q.d, h[0], q.of.Kappa, quad) + tau.Divergence(prior.Gamma{Shape: q.of.Shape, Rate: q.of.Rate})
}

// Mode has the factor (σ²)^−½ of every column's mean in the joint density.
func (q *sphericalPrior) Mode(h, xi []float64) error {
	copy(xi, h[3:3+q.d])
	xi[q.d] = h[2] / (h[1] + 1 + float64(q.d)/2)
	return nil
}

// Mean is that of diagonal columns.
func (q *sphericalPrior) Mean(h, xi []float64) {
	copy(xi, h[3:3+q.d])
	xi[q.d] = meanVariance(h[1], h[2])
}

// LogProb is that of a column at its mean, with the means of the others and the distances.
func (q *sphericalPrior) LogProb(xi []float64) float64 {
	v, kappa := xi[q.d], q.of.Kappa
	first := q.of.LogProb(q.of.Mean, v)
	if math.IsInf(first, -1) {
		return first
	}
	return first + float64(q.d-1)/2*math.Log(kappa/(2*math.Pi*v)) - kappa*distance(xi[:q.d], q.centre)/(2*v)
}

func (q *sphericalPrior) Rand(h []float64, rng *rand.Rand, xi []float64) {
	_, v := prior.NormalInverseGamma{Kappa: 1, Shape: h[1], Rate: h[2]}.Rand(rng)
	xi[q.d] = v
	for a := range q.d {
		xi[a] = h[3+a] + math.Sqrt(v/h[0])*rng.NormFloat64()
	}
}
