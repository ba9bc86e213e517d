package threestep

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// An Assignment says how the second step assigns rows to classes.
type Assignment int

const (
	Modal        Assignment = iota // each row to its most probable class, the first of equals
	Proportional                   // each row to all classes, in parts of its probabilities
)

// A Correction says what the third step does about wrong assignments.
type Correction int

const (
	Uncorrected Correction = iota // nothing: the assignments are the classes
	BCH                           // weights by the inverse of the classification errors (Bolck, Croon & Hagenaars 2004)
	ML                            // maximum likelihood given the classification errors (Vermunt 2010)
)

// String returns the name in lower case.
func (c Correction) String() string { return [...]string{"uncorrected", "bch", "ml"}[c] }

// A Classification is the second step: rows assigned to classes, and how often that goes wrong.
type Classification struct {
	K        int
	N        float64    // sum of the rows' weights
	Sizes    []float64  // P(X = t), the mean probability of each class, K
	Assigned []float64  // P(W = s), the part of the rows assigned to each class, K
	Errors   *mat.Dense // D, K×K: P(W = s|X = t) in row t, column s

	weights []float64 // of the rows
	shares  []float64 // w_ns, rows×K
	how     Assignment
}

// Classify assigns rows to classes by their probabilities, rows×K, of rows with frequency weights, nil if each row
// counts once. It returns an error for fewer than two classes, numbers that are no probabilities, and a class to which
// no row is assigned.
func Classify(posteriors []float64, k int, weights []float64, how Assignment) (*Classification, error) {
	switch {
	case k < 2:
		return nil, errors.New("threestep: there is one class: nothing can differ between classes")
	case len(posteriors) == 0 || len(posteriors)%k != 0:
		return nil, fmt.Errorf("threestep: %d probabilities are no rows of %d classes", len(posteriors), k)
	}
	n := len(posteriors) / k
	c := &Classification{K: k, Sizes: make([]float64, k), Assigned: make([]float64, k), Errors: mat.NewDense(k, k, nil),
		weights: weights, shares: make([]float64, n*k), how: how}
	if weights == nil {
		c.weights = make([]float64, n)
		floats.AddConst(1, c.weights)
	}
	if len(c.weights) != n {
		return nil, fmt.Errorf("threestep: %d weights do not match %d rows", len(weights), n)
	}
	c.N = floats.Sum(c.weights)
	for i, w := range c.weights {
		p, shares := posteriors[i*k:(i+1)*k], c.shares[i*k:(i+1)*k]
		if sum := floats.Sum(p); !(floats.Min(p) >= 0 && math.Abs(sum-1) < 1e-6) || !(w >= 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("threestep: row %d of weight %v has the numbers %v; must be probabilities", i+1, w, p)
		}
		if copy(shares, p); how == Modal {
			at := floats.MaxIdx(p)
			clear(shares)
			shares[at] = 1
		}
		floats.AddScaled(c.Sizes, w/c.N, p)
		floats.AddScaled(c.Assigned, w/c.N, shares)
		for t, v := range p {
			floats.AddScaled(c.Errors.RawRowView(t), w*v/c.N, shares)
		}
	}
	for t, size := range c.Sizes {
		if !(size > 0) || !(c.Assigned[t] > 0) {
			return nil, fmt.Errorf("threestep: no row is assigned to class %d: fit fewer classes", t+1)
		}
		floats.Scale(1/size, c.Errors.RawRowView(t))
	}
	return c, nil
}

// worst is the condition of classification errors from which on their inverse says little.
const worst = 1e8

// Weights returns what each row counts in each class, rows×K: the parts in which it is assigned, or the weights of BCH,
// of which some may be negative. Each row's sum to 1. It returns an error for BCH if the errors have no inverse.
func (c *Classification) Weights(how Correction) ([]float64, error) {
	if how != BCH {
		return c.shares, nil
	}
	var inverse mat.Dense
	if err := inverse.Inverse(c.Errors); err != nil || mat.Cond(c.Errors, 1) > worst {
		return nil, errors.New("threestep: the classes overlap too much for BCH: their classification errors have no " +
			"inverse; fit fewer classes")
	}
	var b mat.Dense
	b.Mul(mat.NewDense(len(c.weights), c.K, c.shares), &inverse)
	return b.RawMatrix().Data, nil
}

// A record is a row as the likelihood of ML sees it: in a class that it is assigned to, with the part of it.
type record struct {
	row, class int
	weight     float64
}

// records are those of some rows; the records of a row follow one another.
func (c *Classification) records(rows []int) (list []record) {
	for _, i := range rows {
		for s, share := range c.shares[i*c.K : (i+1)*c.K] {
			if share > 0 {
				list = append(list, record{i, s, share * c.weights[i]})
			}
		}
	}
	return list
}

// logErrors is ln D_ts of an assigned class s, for every class t. 1e-300 stands for 0.
func (c *Classification) logErrors(s int, dst []float64) {
	for t := range dst {
		dst[t] = math.Log(max(c.Errors.At(t, s), 1e-300))
	}
}
