package family

import "gonum.org/v1/gonum/mat"

// An Elliptical factor has a density that falls with (x−m)ᵀS⁻¹(x−m) alone.
type Elliptical interface {
	// Ellipse is m, D, and S up to a factor: D×D, or the D numbers on its diagonal if it has no others; nil if the density
	// is another one. Only of normal densities is a product elliptical, too.
	Ellipse(xi []float64) (m, s []float64, normal bool)
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
		f, is := part.Factor.(Elliptical)
		if !is {
			return nil, nil, false
		}
		location, scatter, normal := f.Ellipse(part.ofParams(xi))
		n := len(location)
		switch {
		case n == d && len(scatter) > d: // the only part
			return location, mat.NewSymDense(d, scatter), true
		case len(scatter) != n || n == 0 || !normal && d > 1:
			return nil, nil, false
		}
		m, variances = append(m, location...), append(variances, scatter...)
	}
	return m, mat.NewDiagDense(d, variances), len(m) == d
}
