package data

import (
	"math"
	"slices"
)

// A histogram is a sorted column without its missing values.
type histogram struct {
	values, weights []float64 // the different values, and how many rows have each
	n               float64
	mean, variance  float64
}

// newHistogram sorts the values that are not missing.
func newHistogram(x []float64) *histogram {
	sorted := slices.DeleteFunc(slices.Clone(x), math.IsNaN)
	slices.Sort(sorted)
	h := &histogram{n: float64(len(sorted))}
	for _, v := range sorted {
		if last := len(h.values) - 1; last >= 0 && h.values[last] == v {
			h.weights[last]++
			continue
		}
		h.values, h.weights = append(h.values, v), append(h.weights, 1)
	}
	h.mean, h.variance = h.moments()
	return h
}

// moments are the mean and the variance.
func (h *histogram) moments() (mean, variance float64) {
	for i, v := range h.values {
		mean += h.weights[i] / h.n * v
	}
	for i, v := range h.values {
		variance += h.weights[i] / h.n * (v - mean) * (v - mean)
	}
	return mean, variance
}

// thinned has at most so many values: the middles of as many parts of equal weight.
func (h *histogram) thinned(most int) *histogram {
	if len(h.values) <= most {
		return h
	}
	t := *h
	t.values, t.weights = nil, nil
	sum, part := 0.0, h.n/float64(most)
	for i, v := range h.values {
		sum += h.weights[i]
		for float64(len(t.values)) < float64(most) && (float64(len(t.values))+0.5)*part <= sum {
			t.values, t.weights = append(t.values, v), append(t.weights, part)
		}
	}
	return &t
}

// skewness is the third standardised moment of f of the values.
func (h *histogram) skewness(f func(float64) float64) float64 {
	mean, square, cube := 0.0, 0.0, 0.0
	for i, v := range h.values {
		mean += h.weights[i] / h.n * f(v)
	}
	for i, v := range h.values {
		d := f(v) - mean
		square += h.weights[i] / h.n * d * d
		cube += h.weights[i] / h.n * d * d * d
	}
	return cube / math.Pow(square, 1.5)
}

// mostClasses is how many classes a column by itself is described by: enough for means that differ from class to
// class, and too few for any shape.
const mostClasses = 3

// A law is a distribution that the classes of one column may have.
type law struct {
	free  int                                     // parameters of a class
	log   func(x, mean, variance float64) float64 // ln p but for the base
	base  func(x float64) float64                 // nil: 0
	least float64                                 // variance of a class
}

// poisson has the counts in a class vary as their mean.
var poisson = law{1, func(x, mean, _ float64) float64 { return x*math.Log(mean) - mean }, func(x float64) float64 {
	v, _ := math.Lgamma(x + 1)
	return -v
}, 0}

// rounded is a normal variable rounded to whole numbers: a probability, as that of a count is.
var rounded = law{2, func(x, mean, variance float64) float64 {
	sd := math.Sqrt(2 * variance)
	far := math.Abs(x - mean) // the side on which the difference does not cancel
	if p := math.Erfc((far-0.5)/sd) - math.Erfc((far+0.5)/sd); p > 1e-300 {
		return math.Log(p) - math.Ln2
	}
	return normal(0).log(x, mean, variance)
}, nil, 1. / 12}

// normal has classes of no less than the variance.
func normal(least float64) law {
	return law{2, func(x, mean, variance float64) float64 {
		d := x - mean
		return -0.5 * (d*d/variance + math.Log(2*math.Pi*variance))
	}, nil, least}
}

// saturated is ln p of the share of each value, less what BIC charges for them.
func (h *histogram) saturated() float64 {
	sum := 0.0
	for _, w := range h.weights {
		sum += w * math.Log(w/h.n)
	}
	return sum - float64(len(h.weights)-1)/2*math.Log(h.n)
}

// score is the log-likelihood of the law less what BIC charges, with classes added as long as it rises.
func (h *histogram) score(l law) (best float64, classes int) {
	best = math.Inf(-1)
	for more := 1; more <= min(mostClasses, len(h.values)); more++ {
		free := more*(l.free+1) - 1
		score := h.fit(l, more) - float64(free)/2*math.Log(h.n)
		if score <= best {
			break
		}
		best, classes = score, more
	}
	if l.base != nil {
		for i, v := range h.values {
			best += h.weights[i] * l.base(v)
		}
	}
	return best, classes
}

// fit is the log-likelihood, but for the base, of a mixture of the law after EM from classes of equal weight, low to
// high.
func (h *histogram) fit(l law, classes int) float64 {
	weight, mean, variance := make([]float64, classes), make([]float64, classes), make([]float64, classes)
	q := make([]float64, len(h.values)*classes)
	sum := 0.0
	for i, w := range h.weights {
		q[i*classes+min(classes-1, int((sum+w/2)/h.n*float64(classes)))] = w
		sum += w
	}
	const steps = 60
	value := math.Inf(-1)
	for range steps {
		h.update(l, q, weight, mean, variance)
		before := value
		if value = h.classify(l, q, weight, mean, variance); value-before < 0.01 {
			break
		}
	}
	return value
}

// update puts the moments of the classes, whose shares of the rows are q, into weight, mean and variance. Those of
// a class without rows are the table's.
func (h *histogram) update(l law, q, weight, mean, variance []float64) {
	classes := len(weight)
	for k := range classes {
		n, first, second := 0.0, 0.0, 0.0
		for i, v := range h.values {
			n += q[i*classes+k]
			first += q[i*classes+k] * v
		}
		weight[k] = n / h.n
		if mean[k] = first / n; !(n > 0) {
			mean[k], variance[k] = h.mean, max(l.least, h.variance)
			continue
		}
		for i, v := range h.values {
			second += q[i*classes+k] * (v - mean[k]) * (v - mean[k])
		}
		variance[k] = max(l.least, second/n)
	}
}

// classify shares the rows out among the classes and returns the log-likelihood.
func (h *histogram) classify(l law, q, weight, mean, variance []float64) float64 {
	classes, value := len(weight), 0.0
	for i, v := range h.values {
		row, top := q[i*classes:][:classes], math.Inf(-1)
		for k := range row {
			row[k] = math.Log(weight[k]) + l.log(v, max(mean[k], 1e-300), variance[k])
			top = max(top, row[k])
		}
		sum := 0.0
		for k := range row {
			row[k] = math.Exp(row[k] - top)
			sum += row[k]
		}
		for k := range row {
			row[k] *= h.weights[i] / sum
		}
		value += h.weights[i] * (top + math.Log(sum))
	}
	return value
}
