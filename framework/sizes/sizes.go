// Package sizes chooses among numbers of latent dimensions, or among other models, by the values that fits have:
// priors, posteriors and credible sets, the singular BIC and the slope heuristic. It needs no model.
package sizes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Prior is ln π_K of a number of latent dimensions, in nats and up to a constant; −Inf
// rules a size out. Methods panic if it returns NaN or +Inf.
type Prior func(k int) float64

// Uniform is the uniform prior on sizes: π_K ∝ 1.
func Uniform(int) float64 { return 0 }

// Geometric halves with each further dimension: π_K = 2^−K on K = 1, 2, … (paper C,
// section 2).
func Geometric(k int) float64 { return -float64(k) * math.Ln2 }

// Posterior is the posterior of models given values that approximate or bound their
// log-evidence, in nats, on one set of data: q(m) ∝ p(m) exp(value_m), as a list that sums
// to 1. Values of the evidence are also comparable between structures, families and models of the same rows if the
// densities are of the same numbers: not those of x with those of ln x, nor of a response given other columns with
// those of all columns. logPrior is ln p(m) up to a constant, or nil for a uniform prior. A value or a log prior of
// −Inf rules a model out. It returns an error for an empty list, lists of different lengths, NaN, +Inf or an
// overflowing sum of the two, and if every model is ruled out.
func Posterior(values, logPrior []float64) ([]float64, error) {
	if len(values) == 0 {
		return nil, errors.New("framework: no models to choose from")
	}
	if logPrior != nil && len(logPrior) != len(values) {
		return nil, fmt.Errorf("framework: %d values, but %d log priors: give one of each for every model",
			len(values), len(logPrior))
	}
	q := slices.Clone(values)
	for i, v := range values {
		prior := 0.0
		if logPrior != nil {
			prior = logPrior[i]
		}
		q[i] += prior
		if math.IsNaN(q[i]) || math.IsInf(q[i], 1) {
			return nil, fmt.Errorf("framework: model %d has the value %v and log prior %v: refit it, or leave it out",
				i+1, v, prior)
		}
	}
	best := floats.Max(q)
	if math.IsInf(best, -1) {
		return nil, fmt.Errorf("framework: the values or log priors of all models (%d) are −Inf", len(q))
	}
	for i := range q {
		q[i] = math.Exp(q[i] - best)
	}
	floats.Scale(1/floats.Sum(q), q)
	return q, nil
}

// CredibleSet returns the indices, ascending, of the smallest set of models whose posterior probabilities (see
// [Posterior]) sum to at least mass in (0, 1]. Of equally probable models the first are taken.
func CredibleSet(posterior []float64, mass float64) []int {
	order := make([]int, len(posterior))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(posterior[b], posterior[a]) })
	sum := 0.0
	for n, i := range order {
		if sum += posterior[i]; sum >= mass {
			order = order[:n+1]
			break
		}
	}
	slices.Sort(order)
	return order
}

// SingularBIC is sBIC of nested models, each of which contains the models before it, given their maximal
// log-likelihoods in nats, N and learning coefficients learning(i, j) of model i at a truth in model j ≤ i. With L_ij =
// exp(l_i) N^−λ_ij it solves
//
//	L_i = Σ_{j≤i} L_ij L_j ÷ Σ_{j≤i} L_j
//
// from the smallest on, each a quadratic equation, and returns ln L_i. For regular models, whose λ_ij do not depend on
// j, it is BIC (Drton & Plummer 2017, "A Bayesian information criterion for singular models", eqs. 2.9 and 2.10).
func SingularBIC(logLikelihood []float64, n float64, learning func(i, j int) float64) []float64 {
	values := make([]float64, len(logLikelihood))
	for i, l := range logLikelihood {
		at := func(j int) float64 { return l - learning(i, j)*math.Log(n) }
		scale := at(i) // the equation is homogeneous: nothing underflows that matters
		for j, v := range values[:i] {
			scale = max(scale, v, (at(j)+v)/2)
		}
		b, c := -math.Exp(at(i)-scale), []float64{math.Inf(-1)} // of L²/scale² + bL/scale − Σ exp c
		for j, v := range values[:i] {
			b += math.Exp(v - scale)
			c = append(c, at(j)+v-2*scale)
		}
		product := floats.LogSumExp(c)
		root := math.Sqrt(b*b + 4*math.Exp(product))
		if b > 0 { // without cancellation
			values[i] = scale + math.Ln2 + product - math.Log(b+root)
		} else {
			values[i] = scale + math.Log((root-b)/2)
		}
	}
	return values
}

// SlopeHeuristic is l − 2sd of models with log-likelihoods l, in nats, and d parameters, where s, also returned, is the
// slope of l in d by least squares among the larger half of the models: beyond the truth, models gain by overfitting
// alone. The data calibrate the penalty, and a wrong family hardly matters. It returns an error for fewer than 3 sizes
// in that half, or if l does not rise there.
func SlopeHeuristic(logLikelihood, d []float64) (values []float64, slope float64, err error) {
	order := make([]int, len(d))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(d[i] - d[j]) })
	var x, y []float64
	for _, i := range order[len(order)/2:] {
		x, y = append(x, d[i]), append(y, logLikelihood[i])
	}
	if len(x) < 3 || x[0] == x[len(x)-1] {
		return nil, 0, errors.New(
			"framework: the slope heuristic fits a line to the larger half of the fits: compare 5 sizes or more",
		)
	}
	_, slope = stat.LinearRegression(x, y, nil, false)
	if !(slope > 0) {
		return nil, slope, fmt.Errorf("framework: the log-likelihood does not rise with K among the larger half of "+
			"the fits (slope %.3g): raise Restarts, or compare larger K", slope)
	}
	values = slices.Clone(logLikelihood)
	floats.AddScaled(values, -2*slope, d)
	return values, slope, nil
}
