package family

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// A Filler fills in the missing values of rows that belong to K classes: by their means given the row's other values,
// or by draws from their distribution given these (multiple imputation; Little & Rubin 2019, chapter 10). It may be
// used concurrently.
type Filler struct {
	plan    *Plan
	k       int
	classes []float64   // K×P
	joint   []*joint    // K×factors; nil of a factor with independent columns
	means   []float64   // K×D of independent columns; 0 of codes
	codes   [][]float64 // K×D, the probabilities of the codes; nil of other columns
}

// joint is the distribution of dependent columns, in units of their scales.
type joint struct {
	location, scale []float64
	law             *distmv.Normal
}

// Filler returns one for classes with the parameters ξ of one class after another, K×P. It returns an error if a
// class cannot draw whole rows, if a family lacks the distributions of its columns (see [Plan.Marginal]), and for
// families that take no gaps, such as those with noise.
func (p *Plan) Filler(classes []float64) (*Filler, error) {
	if err := p.Whole(); err != nil {
		return nil, err
	}
	d := p.size.Columns
	f := &Filler{plan: p, k: len(classes) / p.size.Params, classes: classes}
	f.means, f.codes = make([]float64, f.k*d), make([][]float64, f.k*d)
	for k := range f.k {
		for i := range p.parts {
			part := &p.parts[i]
			one, err := part.dependent(part.ofParams(f.class(k)))
			if err != nil {
				return nil, err
			}
			f.joint = append(f.joint, one)
			_, labels := part.Factor.(known)
			for j := range part.size.Columns {
				if one != nil || labels { // what is not known stays so
					break
				}
				if err := f.single(k, part.at.Columns+j); err != nil {
					return nil, err
				}
			}
		}
	}
	return f, nil
}

func (f *Filler) class(k int) []float64 { return linalg.Row(f.classes, k, f.plan.size.Params) }

// dependent is the distribution of the part's columns; nil if they are independent.
func (f *part) dependent(xi []float64) (*joint, error) {
	_, multivariate := f.Factor.(Multivariate)
	e, is := f.Factor.(Elliptical)
	if !is {
		if multivariate {
			return nil, fmt.Errorf(
				"family: filling gaps needs family.Elliptical (an Ellipse method), which %s does not implement", f.Name())
		}
		return nil, nil
	}
	location, matrix, normal := e.Ellipse(xi)
	d := len(location)
	if len(matrix) <= d {
		return nil, nil
	}
	if !normal || !multivariate {
		return nil, fmt.Errorf("family: %s needs complete rows, and fills no gaps", f.Name())
	}
	j, correlations := &joint{location: location}, mat.NewSymDense(d, nil)
	for a := range d {
		j.scale = append(j.scale, math.Sqrt(matrix[a*d+a]))
		for b := range a + 1 {
			correlations.SetSym(a, b, matrix[a*d+b]/j.scale[a]/j.scale[b])
		}
	}
	var ok bool
	if j.law, ok = distmv.NewNormal(make([]float64, d), correlations, nil); !ok {
		return nil, errSingular
	}
	return j, nil
}

var errSingular = errors.New("family: the covariance is singular to working precision: rescale the columns")

// single keeps the mean of an independent column in a class, or the probabilities of its codes.
func (f *Filler) single(k, column int) error {
	law, err := f.plan.Marginal(f.class(k), column, nil)
	if err != nil {
		return err
	}
	codes, place := 0, k*f.plan.size.Columns+column
	switch law := law.(type) {
	case distuv.Bernoulli:
		codes = 2
	case distuv.Categorical:
		codes = law.Len()
	case interface{ Mean() float64 }:
		f.means[place] = law.Mean()
	default:
		return fmt.Errorf("family: the distribution of column %d, a %T, has no mean to fill gaps with", column+1, law)
	}
	for code := range codes {
		less, atMost, err := f.plan.Below(f.class(k), column, float64(code))
		if err != nil {
			return err
		}
		f.codes[place] = append(f.codes[place], atMost-less)
	}
	return nil
}

// given is the distribution of a row's missing values given the others, in units of the scales; nil if all are missing.
func (j *joint) given(row []float64, src rand.Source) (*distmv.Normal, error) {
	var observed []int
	var values []float64
	for a, v := range row {
		if v == v {
			observed, values = append(observed, a), append(values, (v-j.location[a])/j.scale[a])
		}
	}
	if len(observed) == 0 {
		return nil, nil
	}
	law, ok := j.law.ConditionNormal(observed, values, src)
	if !ok {
		return nil, errSingular
	}
	return law, nil
}

// put adds numbers in units of the scales, times a weight, to the missing values of a row; nil: only the locations.
func (j *joint) put(missing []int, numbers []float64, weight float64, row []float64) {
	for i, a := range missing {
		v := j.location[a]
		if numbers != nil {
			v += j.scale[a] * numbers[i]
		}
		row[a] += weight * v
	}
}

// Fill returns the rows of a block, n×D, with each missing value replaced by its mean given the row's other values,
// Σ_k q_nk E[x_nj|x_n, k], and by the most probable code in a column of codes. q has the probabilities of the classes
// given the values that are present, n×K.
func (f *Filler) Fill(b blocks.Rows, q []float64) ([]float64, error) {
	return f.each(b, func(i, l int, own []float64, missing []int, row []float64) error {
		for k, share := range linalg.Row(q, i, f.k) {
			j := f.joint[k*len(f.plan.parts)+l]
			if j == nil || share == 0 {
				continue
			}
			law, err := j.given(own, nil)
			if err != nil {
				return err
			}
			var means []float64
			if law != nil {
				means = law.Mean(nil)
			}
			j.put(missing, means, share, row)
		}
		for _, j := range missing {
			row[j] += f.independent(linalg.Row(q, i, f.k), f.plan.parts[l].at.Columns+j)
		}
		return nil
	})
}

// independent is the mean of a column over the classes in which it is independent, or its most probable code.
func (f *Filler) independent(q []float64, column int) (mean float64) {
	var codes []float64
	for k, share := range q {
		place := k*f.plan.size.Columns + column
		mean += share * f.means[place]
		if own := f.codes[place]; own != nil {
			codes = slices.Grow(codes, len(own))[:len(own)] // of zeros at first
			linalg.Axpy(share, own, codes)
		}
	}
	if codes != nil {
		return float64(floats.MaxIdx(codes))
	}
	return mean
}

// Impute returns the rows of a block, n×D, with their missing values drawn from the distribution given the row's class
// and its other values. classes has one class a row, from 0.
func (f *Filler) Impute(b blocks.Rows, classes []int, rng *rand.Rand) ([]float64, error) {
	drawn := make([]float64, b.D)
	return f.each(b, func(i, l int, own []float64, missing []int, row []float64) error {
		k, part := classes[i], &f.plan.parts[l]
		if j := f.joint[k*len(f.plan.parts)+l]; j != nil {
			if law, err := j.given(own, rng); law != nil || err != nil {
				if err == nil {
					j.put(missing, law.Rand(nil), 1, row)
				}
				return err
			}
		}
		of := drawn[:part.size.Columns]
		part.Factor.(Sampler).Sample(part.ofParams(f.class(k)), rng, of) // as Whole has found
		for _, j := range missing {
			row[j] = of[j]
		}
		return nil
	})
}

// each calls visit with factor l's values of every row i of a block that lacks some of them, with their places, and
// with the same values of the copy, where 0 stands for those that are missing.
func (f *Filler) each(
	b blocks.Rows, visit func(i, l int, own []float64, missing []int, row []float64) error,
) ([]float64, error) {
	x, missing := make([]float64, 0, b.N*b.D), []int(nil)
	for i := range b.N {
		x = append(x, b.Row(i)...)
		for l := range f.plan.described() {
			first, columns := f.plan.parts[l].at.Columns, f.plan.parts[l].size.Columns
			own, row := b.Row(i)[first:first+columns], x[i*b.D:][first:first+columns]
			missing = missing[:0]
			for j, v := range own {
				if v != v {
					missing, row[j] = append(missing, j), 0
				}
			}
			if len(missing) == 0 {
				continue
			}
			if err := visit(i, l, own, missing, row); err != nil {
				return nil, blocks.FaultyRow(b.First+i, "cannot be filled in: %v", err)
			}
		}
	}
	return x, nil
}
