package family

import "gonum.org/v1/gonum/mat"

// An elliptical factor has a density that falls with (x−m)ᵀS⁻¹(x−m) alone.
type elliptical interface {
	// ellipse is m, D, and S up to a factor: D×D, or the D numbers on its diagonal where it has no others; nil if the
	// density is another one.
	ellipse(xi []float64) (m, s []float64)
}

// Ellipse is the location m, D, and the scatter S, D×D, up to a factor, of a class with parameters ξ whose density
// falls with (x−m)ᵀS⁻¹(x−m) alone: of Gaussians with any covariance, of columns that are all normal, of t
// distributions, of factor analysers, and of these with noise. S is a *mat.DiagDense if the columns are independent,
// otherwise a *mat.SymDense. ok is false for other families.
func (p *Plan) Ellipse(xi []float64) (m []float64, s mat.Symmetric, ok bool) {
	d := p.size.Columns
	variances := make([]float64, 0, d)
	for i := range p.parts {
		part := &p.parts[i]
		f, is := part.Factor.(elliptical)
		if !is {
			return nil, nil, false
		}
		location, scatter := f.ellipse(part.ofParams(xi))
		n := len(location)
		switch {
		case n == d && len(scatter) > d: // the only part
			return location, mat.NewSymDense(d, scatter), true
		case len(scatter) != n || n == 0:
			return nil, nil, false
		}
		if _, heavy := f.(studentT); heavy && d > 1 {
			return nil, nil, false // the product of t distributions is none
		}
		m, variances = append(m, location...), append(variances, scatter...)
	}
	return m, mat.NewDiagDense(d, variances), len(m) == d
}

func (g gaussian) ellipse(xi []float64) (m, s []float64) { return g.split(xi, 0) }

func (g isotropic) ellipse(xi []float64) (m, s []float64) {
	m, variance := g.moments(xi)
	for j := range m {
		s = append(s, variance[j/g.width])
	}
	return m, s
}

// That of logarithms is none in the columns.
func (lognormal) ellipse([]float64) (m, s []float64) { return nil, nil }

func (f studentT) ellipse(xi []float64) (m, s []float64) { return f.split(xi[:len(xi)-1], 0) }

func (f analyser) ellipse(xi []float64) (m, s []float64) { return f.gaussian.ellipse(f.normal(xi)) }

func (f noisy) ellipse(xi []float64) (m, s []float64) {
	if of, ok := f.inner.(elliptical); ok {
		return of.ellipse(f.params(xi))
	}
	return nil, nil
}
