// Package fill fills in the missing values of rows that belong to classes: by their means given the row's other values,
// or by draws from their distribution given these (multiple imputation; Little & Rubin 2019, chapter 10).
package fill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/linalg"
)

// A Filler fills in the missing values of rows that belong to K classes. It may be used concurrently.
type Filler struct {
	plan    *family.Plan
	parts   []part // that describe the rows
	k       int
	classes []float64   // K×P
	joint   []*joint    // K×parts; nil of a part with independent columns
	means   []float64   // K×D of independent columns; 0 of codes
	codes   [][]float64 // K×D, the probabilities of the codes; nil of other columns
}

// part is a factor of the plan with its columns.
type part struct {
	family.Factor
	first, columns int
	params, width  int // where its ξ begins, and its length
}

// exclusive is how many neighbouring columns of the part have one 1 among them; 0 of other families.
func (f *part) exclusive() int {
	if groups, is := f.Factor.(interface{ Exclusive() int }); is {
		return groups.Exclusive()
	}
	return 0
}

func (f *part) of(xi []float64) []float64 { return xi[f.params:][:f.width] }

// joint is the normal distribution of dependent columns: their correlations, in units of their scales.
type joint struct {
	location, scale []float64
	correlations    *mat.SymDense
}

// New returns a Filler for classes of a plan with the parameters ξ of one class after another, K×P. It returns an error
// if a class cannot draw whole rows, if a family lacks the distributions of its columns (see [family.Plan.Marginal]),
// and for families that take no gaps, such as those with noise. What is not known of a row's class stays missing.
func New(p *family.Plan, classes []float64) (*Filler, error) {
	if err := p.Whole(); err != nil {
		return nil, err
	}
	d := p.Size().Columns
	f := &Filler{plan: p, k: len(classes) / p.Size().Params, classes: classes}
	for factor, at := range p.Factors() {
		if _, labels := factor.(family.Labeller); !labels {
			size := factor.Layout()
			f.parts = append(f.parts, part{factor, at.Columns, size.Columns, at.Params, size.Params})
		}
	}
	f.means, f.codes = make([]float64, f.k*d), make([][]float64, f.k*d)
	for k := range f.k {
		for i := range f.parts {
			part := &f.parts[i]
			one, err := part.dependent(part.of(f.class(k)))
			if err != nil {
				return nil, err
			}
			f.joint = append(f.joint, one)
			if one != nil {
				continue
			}
			for j := range part.columns {
				if err := f.single(k, part.first+j); err != nil {
					return nil, err
				}
			}
		}
	}
	return f, nil
}

func (f *Filler) class(k int) []float64 { return linalg.Row(f.classes, k, f.plan.Size().Params) }

// dependent is the distribution of the part's columns; nil if they are independent.
func (f *part) dependent(xi []float64) (*joint, error) {
	_, multivariate := f.Factor.(family.Multivariate)
	e, is := f.Factor.(family.Elliptical)
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
	j := &joint{location: location, correlations: mat.NewSymDense(d, nil)}
	for a := range d {
		j.scale = append(j.scale, math.Sqrt(matrix[a*d+a]))
		for b := range a + 1 {
			j.correlations.SetSym(a, b, matrix[a*d+b]/j.scale[a]/j.scale[b])
		}
	}
	var root mat.Cholesky
	if !root.Factorize(j.correlations) {
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
	codes, place := 0, k*f.plan.Size().Columns+column
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

// conditional is the distribution of the missing values of a row given those that are present, in units of the scales.
type conditional struct {
	slopes *mat.Dense // present×missing, the coefficients of the regressions of the missing values
	root   mat.TriDense
}

// given conditions on the present columns.
func (j *joint) given(present, missing []int) (*conditional, error) {
	o, m := len(present), len(missing)
	among, rest, across := mat.NewSymDense(o, nil), mat.NewSymDense(m, nil), mat.NewDense(o, m, nil)
	for a, p := range present {
		for b, q := range present[:a+1] {
			among.SetSym(a, b, j.correlations.At(p, q))
		}
		for b, q := range missing {
			across.Set(a, b, j.correlations.At(p, q))
		}
	}
	c := &conditional{slopes: new(mat.Dense)}
	var root mat.Cholesky
	if !root.Factorize(among) || root.SolveTo(c.slopes, across) != nil {
		return nil, errSingular
	}
	var explained mat.Dense
	explained.Mul(across.T(), c.slopes)
	for a, p := range missing {
		for b, q := range missing[:a+1] {
			rest.SetSym(a, b, j.correlations.At(p, q)-explained.At(a, b))
		}
	}
	if !root.Factorize(rest) {
		return nil, errSingular
	}
	root.LTo(&c.root)
	return c, nil
}

// Fill returns the rows of a block, n×D, with each missing value replaced by its mean given the row's other values,
// Σ_k q_nk E[x_nj|x_n, k], and by the most probable code in a column of codes. q has the probabilities of the classes
// given the values that are present, n×K.
func (f *Filler) Fill(b blocks.Rows, q []float64) ([]float64, error) {
	return f.each(b, func(g *gap, i int) error {
		own := linalg.Row(q, i, f.k)
		for k, share := range own {
			if j := g.joint(k); j != nil && share != 0 {
				if err := g.add(k, share, nil); err != nil {
					return err
				}
			}
		}
		if width := g.part.exclusive(); width > 0 {
			g.choose(width, func(column int) (p float64) {
				for k, share := range own {
					p += share * f.codes[k*b.D+g.part.first+column][1]
				}
				return p
			}, floats.MaxIdx)
			return nil
		}
		for _, j := range g.missing {
			g.to[j] += f.independent(own, g.part.first+j)
		}
		return nil
	})
}

// independent is the mean of a column over the classes in which it is independent, or its most probable code.
func (f *Filler) independent(q []float64, column int) (mean float64) {
	var codes []float64
	for k, share := range q {
		place := k*f.plan.Size().Columns + column
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
	return f.each(b, func(g *gap, i int) error {
		k := classes[i]
		if g.joint(k) != nil && len(g.present) > 0 {
			return g.add(k, 1, rng)
		}
		if width := g.part.exclusive(); width > 0 {
			g.choose(width, func(column int) float64 { return f.codes[k*b.D+g.part.first+column][1] },
				func(p []float64) int { return max(0, categorical.Draw(p, rng)) })
			return nil
		}
		of := drawn[:g.part.columns]
		g.part.Factor.(family.Sampler).Sample(g.part.of(f.class(k)), rng, of) // as Whole has found
		for _, j := range g.missing {
			g.to[j] = of[j]
		}
		return nil
	})
}

// gap is what a row lacks of a part's columns.
type gap struct {
	filler *Filler
	l      int // the number of the part
	part   *part

	values, to       []float64 // the row, and its copy in which 0 stands for what is missing
	missing, present []int     // columns

	key            []byte // of the missing columns
	given          []map[string]*conditional
	numbers        int // of those that are there
	y, mean, noise []float64
}

// mostNumbers bounds the conditional distributions that are kept for rows with the same gaps.
const mostNumbers = 1 << 20

func (g *gap) joint(k int) *joint { return g.filler.joint[k*len(g.filler.parts)+g.l] }

// choose puts 1 into one of the missing columns of each group of which no other is 1, by their probabilities.
func (g *gap) choose(width int, probability func(column int) float64, one func(p []float64) int) {
	for rest := g.missing; len(rest) > 0; {
		first := rest[0] / width * width
		n := len(rest)
		if i := slices.IndexFunc(rest, func(j int) bool { return j >= first+width }); i >= 0 {
			n = i
		}
		group := rest[:n]
		rest = rest[n:]
		if slices.Contains(g.values[first:first+width], 1) {
			continue
		}
		g.mean = g.mean[:0]
		for _, j := range group {
			g.mean = append(g.mean, probability(j))
		}
		g.to[group[one(g.mean)]] = 1
	}
}

// conditional is the distribution of what is missing in class k.
func (g *gap) conditional(k int) (*conditional, error) {
	place := k*len(g.filler.parts) + g.l
	if c := g.given[place][string(g.key)]; c != nil {
		return c, nil
	}
	c, err := g.joint(k).given(g.present, g.missing)
	if err != nil {
		return nil, err
	}
	size := len(g.missing) * (len(g.present) + len(g.missing))
	if g.numbers += size; g.numbers > mostNumbers {
		clear(g.given)
		g.numbers = size
	}
	if g.given[place] == nil {
		g.given[place] = map[string]*conditional{}
	}
	g.given[place][string(g.key)] = c
	return c, nil
}

// add adds the share of class k to what is missing: of the means, or of a draw if rng is not nil.
func (g *gap) add(k int, share float64, rng *rand.Rand) error {
	j, m := g.joint(k), len(g.missing)
	g.mean = linalg.Resize(g.mean, m)
	clear(g.mean)
	if len(g.present) > 0 {
		c, err := g.conditional(k)
		if err != nil {
			return err
		}
		g.y = g.y[:0]
		for _, a := range g.present {
			g.y = append(g.y, (g.values[a]-j.location[a])/j.scale[a])
		}
		mean := mat.NewVecDense(m, g.mean)
		mean.MulVec(c.slopes.T(), mat.NewVecDense(len(g.y), g.y))
		if rng != nil {
			g.noise = linalg.Resize(g.noise, m)
			for a := range g.noise {
				g.noise[a] = rng.NormFloat64()
			}
			noise := mat.NewVecDense(m, g.noise)
			noise.MulVec(&c.root, noise)
			mean.AddVec(mean, noise)
		}
	}
	for i, a := range g.missing {
		g.to[a] += share * (j.location[a] + j.scale[a]*g.mean[i])
	}
	return nil
}

// each visits every row i of a block in which a part lacks values, and returns the copy of the rows.
func (f *Filler) each(b blocks.Rows, visit func(g *gap, i int) error) ([]float64, error) {
	x, g := make([]float64, 0, b.N*b.D), &gap{filler: f, given: make([]map[string]*conditional, len(f.joint))}
	for i := range b.N {
		x = append(x, b.Row(i)...)
		for l := range f.parts {
			g.l, g.part = l, &f.parts[l]
			g.values, g.to = b.Row(i)[g.part.first:][:g.part.columns], x[i*b.D:][g.part.first:][:g.part.columns]
			g.missing, g.present, g.key = g.missing[:0], g.present[:0], g.key[:0]
			for j, v := range g.values {
				if v == v {
					g.present = append(g.present, j)
					continue
				}
				g.missing, g.to[j] = append(g.missing, j), 0
				g.key = binary.AppendUvarint(g.key, uint64(j))
			}
			if len(g.missing) == 0 {
				continue
			}
			if err := visit(g, i); err != nil {
				return nil, blocks.FaultyRow(b.First+i, "cannot be filled in: %v", err)
			}
		}
	}
	return x, nil
}
