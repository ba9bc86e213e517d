package family

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Multivariate factor has a distribution of all its columns in package distmv, such as the normal one.
type Multivariate interface {
	// Distribution is the distribution of a class with parameters ξ, drawing from src (nil: the global generator); nil if
	// there is none. It returns an error if ξ has no density in floating point, for example with a singular covariance.
	Distribution(xi []float64, src rand.Source) (distmv.RandLogProber, error)
}

// A Univariate [Factor], or [ExponentialFamily] of one column, has the marginal distributions of its columns in package
// distuv.
type Univariate interface {
	// Marginal is the distribution of a column, counted from the first, in a class with parameters ξ.
	Marginal(xi []float64, column int, src rand.Source) distuv.RandLogProber
}

// Distribution is the distribution of a row in a class with parameters ξ as a type of package distmv: a *distmv.Normal
// of a Gaussian with any covariance and of factor analysers, a *distmv.StudentsT of a t distribution. It is nil for
// families that package distmv lacks. src may be nil, for the global generator. It returns an error if ξ has no density
// in floating point.
func (p *Plan) Distribution(xi []float64, src rand.Source) (distmv.RandLogProber, error) {
	if p.described() != 1 {
		return nil, nil
	}
	m, ok := p.parts[0].Factor.(Multivariate)
	if !ok {
		return nil, nil
	}
	return m.Distribution(p.parts[0].ofParams(xi), src)
}

// Marginal is the distribution of a column of the table in a class with parameters ξ as a type of package distuv:
// Normal, LogNormal, StudentsT, Poisson, Exponential, Gamma, Bernoulli or Categorical. src may be nil, for the global
// generator. It returns an error if the family of the column is not [Univariate].
func (p *Plan) Marginal(xi []float64, column int, src rand.Source) (distuv.RandLogProber, error) {
	u, xi, within, name, err := ofColumn[Univariate](p, xi, column)
	if err != nil {
		return nil, err
	}
	if u == nil {
		return nil, fmt.Errorf(
			"family: a distribution of package distuv needs family.Univariate (a Marginal method), which %s does not "+
				"implement", name,
		)
	}
	return u.Marginal(xi, within, src), nil
}

// Moments are the mean, D, and the covariance, D×D, of a row in a class with parameters ξ, in units of the data. It
// returns an error for families without moments, such as categories and regressions.
func (p *Plan) Moments(xi []float64) (mean []float64, covariance *mat.SymDense, err error) {
	mean, covariance = make([]float64, p.size.Columns), mat.NewSymDense(p.size.Columns, nil)
	for i := range p.parts {
		part := &p.parts[i]
		first, columns := part.at.Columns, part.size.Columns
		block, err := part.joint(part.ofParams(xi), mean[first:][:columns])
		if err != nil {
			return nil, nil, err
		}
		for a := range columns {
			if block == nil { // independent columns
				if mean[first+a], err = p.variance(xi, first+a, covariance); err != nil {
					return nil, nil, err
				}
				continue
			}
			for b := a; b < columns; b++ {
				covariance.SetSym(first+a, first+b, block.At(a, b))
			}
		}
	}
	return mean, covariance, nil
}

// joint puts the means of the part's columns into mean and returns their covariance; nil if package distmv lacks the
// family.
func (f *part) joint(xi, mean []float64) (*mat.SymDense, error) {
	m, ok := f.Factor.(Multivariate)
	if !ok {
		return nil, nil
	}
	law, err := m.Distribution(xi, nil)
	if law == nil || err != nil {
		return nil, err
	}
	moments, ok := law.(interface {
		Mean([]float64) []float64
		CovarianceMatrix(*mat.SymDense)
	})
	if !ok {
		return nil, fmt.Errorf("family: the distribution of %s gives no mean and covariance", f.Name())
	}
	if t, ok := law.(*distmv.StudentsT); ok && t.Nu() <= 2 {
		return nil, fmt.Errorf("family: a t distribution of %v degrees of freedom has no covariance; must be above 2",
			t.Nu())
	}
	var covariance mat.SymDense
	moments.Mean(mean)
	moments.CovarianceMatrix(&covariance)
	return &covariance, nil
}

// variance sets that of a column and returns its mean.
func (p *Plan) variance(xi []float64, column int, covariance *mat.SymDense) (mean float64, err error) {
	law, err := p.Marginal(xi, column, nil)
	if err != nil {
		return 0, err
	}
	moments, ok := law.(interface {
		Mean() float64
		Variance() float64
	})
	if !ok {
		return 0, fmt.Errorf("family: column %d holds categories, which have no mean and no variance", column+1)
	}
	covariance.SetSym(column, column, moments.Variance())
	return moments.Mean(), nil
}

// Marginal is a distuv.Poisson.
func (Poisson) Marginal(xi []float64, _ int, src rand.Source) distuv.RandLogProber {
	return distuv.Poisson{Lambda: max(xi[0], tiny), Src: src}
}

// Marginal is a distuv.Exponential.
func (Exponential) Marginal(xi []float64, _ int, src rand.Source) distuv.RandLogProber {
	return distuv.Exponential{Rate: max(xi[0], tiny), Src: src}
}

// Marginal is a distuv.Gamma.
func (Gamma) Marginal(xi []float64, _ int, src rand.Source) distuv.RandLogProber {
	return distuv.Gamma{Alpha: max(xi[0], tiny), Beta: max(xi[1], tiny), Src: src}
}

// Marginal is a distuv.Bernoulli.
func (Bernoulli) Marginal(xi []float64, _ int, src rand.Source) distuv.RandLogProber {
	return distuv.Bernoulli{P: xi[0], Src: src}
}

// Marginal is a distuv.Categorical over the codes.
func (Categorical) Marginal(xi []float64, _ int, src rand.Source) distuv.RandLogProber {
	return distuv.NewCategorical(xi, src)
}

// Marginal is a distuv.Categorical over the levels.
func (f Ordinal) Marginal(xi []float64, _ int, src rand.Source) distuv.RandLogProber {
	p := make([]float64, f.Levels)
	for level := range p {
		less, atMost := f.Below(xi, 0, float64(level))
		p[level] = atMost - less
	}
	return distuv.NewCategorical(p, src)
}
