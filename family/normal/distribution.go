package normal

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
)

// normalBelow is the distribution function of a normal variable.
func normalBelow(mean, variance, x float64) (less, atMost float64) {
	p := distuv.UnitNormal.CDF((x - mean) / math.Sqrt(variance))
	return p, p
}

// Below is that of the marginal distribution.
func (g gaussian) Below(xi []float64, column int, x float64) (less, atMost float64) {
	mean, cov := g.split(xi, 0)
	return normalBelow(mean[column], cov[column*(g.d+1)], x)
}

// Below is that of the marginal distribution, with the factors integrated out.
func (f analyser) Below(xi []float64, column int, x float64) (less, atMost float64) {
	return f.gaussian.Below(f.normal(xi), column, x)
}

// Below is that of a normal variable.
func (g isotropic) Below(xi []float64, column int, x float64) (less, atMost float64) {
	mean, variance := g.moments(xi)
	return normalBelow(mean[column], variance[column/g.width], x)
}

// Below is that of the logarithm.
func (g lognormal) Below(xi []float64, column int, x float64) (less, atMost float64) {
	if !(x > 0) {
		return 0, 0
	}
	return g.isotropic.Below(xi, column, math.Log(x))
}

// Below is that of the marginal distribution.
func (f studentT) Below(xi []float64, column int, x float64) (less, atMost float64) {
	last := len(xi) - 1
	mean, cov := f.split(xi[:last], 0)
	p := distuv.StudentsT{Mu: mean[column], Sigma: math.Sqrt(cov[column*(f.d+1)]), Nu: xi[last]}.CDF(x)
	return p, p
}

var errSingular = errors.New(
	"family: the covariance is singular to working precision: rescale the columns, or raise the floor",
)

// Distribution is a *distmv.Normal.
func (g gaussian) Distribution(xi []float64, src rand.Source) (distmv.RandLogProber, error) {
	mean, cov := g.split(xi, 0)
	law, ok := distmv.NewNormal(mean, mat.NewSymDense(g.d, cov), src)
	if !ok {
		return nil, errSingular
	}
	return law, nil
}

// Marginal is a distuv.Normal.
func (g gaussian) Marginal(xi []float64, column int, src rand.Source) distuv.RandLogProber {
	mean, cov := g.split(xi, 0)
	return distuv.Normal{Mu: mean[column], Sigma: math.Sqrt(cov[column*(g.d+1)]), Src: src}
}

// Distribution is a *distmv.Normal.
func (f analyser) Distribution(xi []float64, src rand.Source) (distmv.RandLogProber, error) {
	return f.gaussian.Distribution(f.normal(xi), src)
}

// Marginal is a distuv.Normal.
func (f analyser) Marginal(xi []float64, column int, src rand.Source) distuv.RandLogProber {
	return f.gaussian.Marginal(f.normal(xi), column, src)
}

// Distribution is a *distmv.StudentsT.
func (f studentT) Distribution(xi []float64, src rand.Source) (distmv.RandLogProber, error) {
	last := len(xi) - 1
	location, scale := f.split(xi[:last], 0)
	law, ok := distmv.NewStudentsT(location, mat.NewSymDense(f.d, scale), xi[last], src)
	if !ok {
		return nil, errSingular
	}
	return law, nil
}

// Marginal is a distuv.StudentsT.
func (f studentT) Marginal(xi []float64, column int, src rand.Source) distuv.RandLogProber {
	location, scale := f.split(xi[:len(xi)-1], 0)
	return distuv.StudentsT{Mu: location[column], Sigma: math.Sqrt(scale[column*(f.d+1)]), Nu: xi[len(xi)-1], Src: src}
}

// Distribution is a *distmv.Normal.
func (g isotropic) Distribution(xi []float64, src rand.Source) (distmv.RandLogProber, error) {
	mean, variance := g.moments(xi)
	cov := mat.NewSymDense(len(mean), nil)
	for j := range mean {
		cov.SetSym(j, j, variance[j/g.width])
	}
	law, ok := distmv.NewNormal(mean, cov, src)
	if !ok {
		return nil, errSingular
	}
	return law, nil
}

// Marginal is a distuv.Normal.
func (g isotropic) Marginal(xi []float64, column int, src rand.Source) distuv.RandLogProber {
	mean, variance := g.moments(xi)
	return distuv.Normal{Mu: mean[column], Sigma: math.Sqrt(variance[column/g.width]), Src: src}
}

// Distribution is nil.
func (lognormal) Distribution([]float64, rand.Source) (distmv.RandLogProber, error) { return nil, nil }

// Marginal is a distuv.LogNormal.
func (g lognormal) Marginal(xi []float64, column int, src rand.Source) distuv.RandLogProber {
	mean, variance := g.moments(xi)
	return distuv.LogNormal{Mu: mean[column], Sigma: math.Sqrt(variance[column/g.width]), Src: src}
}

// Ellipse has the covariance for a scatter.
func (g gaussian) Ellipse(xi []float64) (m, s []float64, normal bool) {
	m, s = g.split(xi, 0)
	return m, s, true
}

// Ellipse has the variances for a scatter.
func (g isotropic) Ellipse(xi []float64) (m, s []float64, normal bool) {
	m, variance := g.moments(xi)
	for j := range m {
		s = append(s, variance[j/g.width])
	}
	return m, s, true
}

// Ellipse is none: that of logarithms is none in the columns.
func (lognormal) Ellipse([]float64) (m, s []float64, normal bool) { return nil, nil, false }

// Ellipse has the scale matrix for a scatter.
func (f studentT) Ellipse(xi []float64) (m, s []float64, normal bool) {
	m, s = f.split(xi[:len(xi)-1], 0)
	return m, s, false
}

// Ellipse has the covariance for a scatter.
func (f analyser) Ellipse(xi []float64) (m, s []float64, normal bool) {
	return f.gaussian.Ellipse(f.normal(xi))
}

// Ellipse is that of the family. With noise the density is not normal.
func (f noisy) Ellipse(xi []float64) (m, s []float64, normal bool) {
	if of, ok := f.inner.(family.Elliptical); ok {
		m, s, _ = of.Ellipse(f.params(xi))
	}
	return m, s, false
}
