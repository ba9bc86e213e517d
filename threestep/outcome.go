package threestep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/framework/blocks"
)

// A Kind is what the values of an outcome are.
type Kind int

const (
	Continuous  Kind = iota // measurements: a mean and a standard deviation in each class, normal for ML
	Count                   // 0, 1, 2, …: a mean in each class, Poisson for ML
	Categorical             // codes of levels from 0: a share of each level in each class
)

// String returns the name in lower case.
func (k Kind) String() string { return [...]string{"continuous", "count", "categorical"}[k] }

// thing is one value.
func (k Kind) thing() string {
	return [...]string{"a finite number", "a count", "the code of a level"}[k]
}

// An Outcome is a column that may depend on the class.
type Outcome struct {
	Values []float64 // one a row; NaN is missing
	Kind   Kind
	Levels int // of Categorical, at least 2
}

// Distal are the numbers of an outcome in the classes, those of a class after those of the one before: mean and
// standard deviation of Continuous, the mean of Count, and a share for each level of Categorical.
type Distal struct {
	Estimates
	K       int
	Kind    Kind
	Rows    int     // rows with the outcome
	Left    int     // rows without
	Moved   float64 // of ML: the part of the rows whose class is another one given the outcome
	compare int     // numbers of a class that differ where the classes do
}

// Outcome estimates an outcome in each class. It returns an error for an outcome of one value, for values that the kind
// does not have, and if the correction has no estimate.
func (c *Classification) Outcome(ctx context.Context, o Outcome, how Correction) (*Distal, error) {
	s, err := c.statistics(o)
	if err != nil {
		return nil, err
	}
	d := &Distal{K: c.K, Kind: o.Kind, Rows: len(s.rows), Left: len(o.Values) - len(s.rows)}
	var means []float64
	var cov *mat.SymDense
	if how == ML {
		means, cov, err = s.likely(ctx, d)
	} else {
		means, cov, err = s.weighted(how)
	}
	if err != nil {
		return nil, err
	}
	var jacobian *mat.Dense
	d.Values, jacobian = s.report(means)
	d.ThirdStep = through(jacobian, cov)
	d.compare = 1
	if o.Kind == Categorical {
		d.compare = o.Levels - 1
	}
	return d, nil
}

// PerClass is how many numbers a class has.
func (d *Distal) PerClass() int { return len(d.Values) / d.K }

// Equal tests that the means, or the shares, are the same in all classes.
func (d *Distal) Equal() Test {
	classes := make([]int, d.K)
	for k := range classes {
		classes[k] = k
	}
	return d.among(classes)
}

// Same tests that they are the same in two classes, from 0.
func (d *Distal) Same(a, b int) Test { return d.among([]int{a, b}) }

func (d *Distal) among(classes []int) Test {
	c, n := mat.NewDense((len(classes)-1)*d.compare, len(d.Values), nil), d.PerClass()
	for i, k := range classes[1:] {
		for j := range d.compare {
			c.Set(i*d.compare+j, classes[0]*n+j, -1)
			c.Set(i*d.compare+j, k*n+j, 1)
		}
	}
	return d.Wald(c)
}

// statistics are what the third step sees of an outcome: S numbers T of each row that has it, whose means in a class
// say all of the class. They are z and z² of a measurement, standardised so that nothing cancels, a count itself, and
// indicators of the levels from the second on.
type statistics struct {
	*Classification
	Outcome
	rows         []int     // that have the outcome
	t            []float64 // rows×S
	size         int       // S
	centre, unit float64   // of measurements
}

var errUnvarying = errors.New("threestep: the outcome has one value: nothing differs between classes")

func (c *Classification) statistics(o Outcome) (*statistics, error) {
	if len(o.Values) != len(c.weights) {
		return nil, fmt.Errorf("threestep: %d values of the outcome do not match %d rows", len(o.Values), len(c.weights))
	}
	s := &statistics{Classification: c, Outcome: o, size: 1}
	var values, weights []float64
	for i, v := range o.Values {
		whole := v >= 0 && v == math.Trunc(v)
		switch {
		case v != v || c.weights[i] == 0:
			continue
		case math.IsInf(v, 0) || o.Kind != Continuous && !whole || o.Kind == Categorical && v >= float64(o.Levels):
			return nil, fmt.Errorf("threestep: %w",
				blocks.FaultyRow(i, "has the outcome %v, which is not %s", v, o.Kind.thing()))
		}
		s.rows = append(s.rows, i)
		values, weights = append(values, v), append(weights, c.weights[i])
	}
	if len(values) == 0 || floats.Min(values) == floats.Max(values) {
		return nil, errUnvarying
	}
	switch o.Kind {
	case Continuous:
		s.size = 2
		s.centre, s.unit = stat.PopMeanStdDev(values, weights)
		for _, v := range values {
			z := (v - s.centre) / s.unit
			s.t = append(s.t, z, z*z)
		}
	case Count:
		s.t = values
	case Categorical:
		s.size = o.Levels - 1
		s.t = make([]float64, len(values)*s.size)
		for i, v := range values {
			if v > 0 {
				s.t[i*s.size+int(v)-1] = 1
			}
		}
	}
	return s, nil
}

// weighted are the means of T in each class, K×S, by the weights of the rows in it, and their covariance.
func (s *statistics) weighted(how Correction) (means []float64, cov *mat.SymDense, err error) {
	b, err := s.Weights(how)
	if err != nil {
		return nil, nil, err
	}
	total, means := make([]float64, s.K), make([]float64, s.K*s.size)
	for i, row := range s.rows {
		for k := range total {
			w := s.weights[row] * b[row*s.K+k]
			total[k] += w
			floats.AddScaled(means[k*s.size:(k+1)*s.size], w, s.t[i*s.size:(i+1)*s.size])
		}
	}
	for k, n := range total {
		if !(n > 0) {
			return nil, nil, fmt.Errorf("threestep: the weights of the rows with the outcome sum to %.3g in class %d: it has "+
				"too few of them", n, k+1)
		}
		floats.Scale(1/n, means[k*s.size:(k+1)*s.size])
	}
	cov = mat.NewSymDense(len(means), nil)
	influence := mat.NewVecDense(len(means), nil)
	for i, row := range s.rows {
		for j, m := range means {
			k := j / s.size
			influence.SetVec(j, b[row*s.K+k]/total[k]*(s.t[i*s.size+j%s.size]-m))
		}
		cov.SymRankOne(cov, s.weights[row], influence)
	}
	return means, cov, nil
}

// report are the numbers of a [Distal] of the means of T, and their derivatives by these.
func (s *statistics) report(means []float64) (values []float64, jacobian *mat.Dense) {
	per := map[Kind]int{Continuous: 2, Count: 1, Categorical: s.Levels}[s.Kind]
	values, jacobian = make([]float64, s.K*per), mat.NewDense(s.K*per, len(means), nil)
	for k := range s.K {
		m, v, at, from := means[k*s.size:(k+1)*s.size], values[k*per:(k+1)*per], k*per, k*s.size
		switch s.Kind {
		case Continuous:
			sd := math.Sqrt(m[1] - m[0]*m[0])
			v[0], v[1] = s.centre+s.unit*m[0], s.unit*sd
			jacobian.Set(at, from, s.unit)
			if sd > 0 {
				jacobian.Set(at+1, from, -s.unit*m[0]/sd)
				jacobian.Set(at+1, from+1, s.unit/(2*sd))
			}
		case Count:
			v[0] = m[0]
			jacobian.Set(at, from, 1)
		case Categorical:
			v[0] = 1 - floats.Sum(m)
			copy(v[1:], m)
			for l := range m {
				jacobian.Set(at, from+l, -1)
				jacobian.Set(at+1+l, from+l, 1)
			}
		}
	}
	return values, jacobian
}

// variances are the covariance matrices of T within each class, of the distribution of ML.
func (s *statistics) variances(means []float64) (list []*mat.SymDense) {
	for m := range slices.Chunk(means, s.size) {
		v := mat.NewSymDense(s.size, nil)
		switch s.Kind {
		case Continuous: // of z and z², normal
			variance := m[1] - m[0]*m[0]
			v.SetSym(0, 0, variance)
			v.SetSym(0, 1, 2*m[0]*variance)
			v.SetSym(1, 1, 4*m[0]*m[0]*variance+2*variance*variance)
		case Count:
			v.SetSym(0, 0, m[0])
		case Categorical:
			for a, p := range m {
				v.SetSym(a, a, p)
			}
			v.SymRankOne(v, -1, mat.NewVecDense(s.size, m))
		}
		list = append(list, v)
	}
	return list
}
