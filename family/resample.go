package family

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// A ConditionalSampler draws an observation of an [ExponentialFamily], or a row of a class, given a part of another
// observation, such as its number of trials. Other [Sampler]s take nothing as given.
type ConditionalSampler interface {
	// SampleGiven replaces the observed x by a draw.
	SampleGiven(xi []float64, rng *rand.Rand, x []float64)
}

// Resample replaces a row by a draw from a class with parameters ξ. Missing values, NaN, stay missing, and the parts
// that a family takes as given stay unchanged. It returns the errors of [Plan.Sample].
func (p *Plan) Resample(xi []float64, rng *rand.Rand, row []float64) error {
	drawn := make([]float64, len(row))
	if err := p.Sample(xi, rng, drawn); err != nil {
		return err
	}
	for i := range p.parts {
		f := &p.parts[i]
		if s, ok := f.Factor.(ConditionalSampler); ok {
			of := drawn[f.at.Columns:][:f.size.Columns]
			copy(of, row[f.at.Columns:])
			s.SampleGiven(f.ofParams(xi), rng, of)
		}
	}
	for j, v := range row {
		if !math.IsNaN(v) {
			row[j] = drawn[j]
		}
	}
	return nil
}

// Whole returns an error if a class cannot draw whole rows: a family takes a part of the row as given, such as a number
// of trials, or is not a [Sampler].
func (p *Plan) Whole() error {
	for i := range p.parts {
		var ability any = p.parts[i].Factor
		if kernel, ok := ability.(sampledKernel); ok {
			ability = kernel.Sampler
		}
		if _, ok := ability.(ConditionalSampler); ok {
			return fmt.Errorf("family: %s cannot be drawn from: it takes a part of the row as given",
				p.parts[i].Name())
		}
		if _, ok := ability.(Sampler); !ok {
			return notDrawn(p.parts[i].Name())
		}
	}
	return nil
}

func notDrawn(name string) error {
	return fmt.Errorf("family: %s cannot be drawn from: it does not implement family.Sampler (a Sample method)", name)
}

// Mean is the mean of the response of a row given its other columns, in a class with parameters ξ. It returns an error
// if no family is a [Predictor].
func (p *Plan) Mean(xi, row []float64) (float64, error) {
	for i := range p.parts {
		f := &p.parts[i]
		if r, ok := f.Factor.(Predictor); ok {
			return r.Mean(f.ofParams(xi), row[f.at.Columns:][:f.size.Columns]), nil
		}
	}
	return nan, errors.New("family: no column is a response: a regression has one")
}

// SampleGiven draws each cell.
func (l sampledKernel) SampleGiven(xi []float64, rng *rand.Rand, x []float64) {
	given, ok := l.Sampler.(ConditionalSampler)
	if !ok {
		l.Sample(xi, rng, x)
		return
	}
	for c := range l.cells {
		given.SampleGiven(l.params(xi, c), rng, x[c*l.width:(c+1)*l.width])
	}
}

// SampleGiven draws as many trials as x has: the count of each category is binomial given those before.
func (f Multinomial) SampleGiven(xi []float64, rng *rand.Rand, x []float64) {
	trials, rest := floats.Sum(x), floats.Sum(xi)
	for l, p := range xi {
		x[l] = 0
		switch {
		case !(trials > 0 && p > 0): // none, or missing
			continue
		case p >= rest || l == len(xi)-1:
			x[l] = trials
		default:
			x[l] = distuv.Binomial{N: trials, P: p / rest, Src: rng}.Rand()
		}
		trials -= x[l]
		rest -= p
	}
}
