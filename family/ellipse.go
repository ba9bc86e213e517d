package family

import "gonum.org/v1/gonum/mat"

// An elliptical factor has a density that falls with (x−m)ᵀS⁻¹(x−m) alone.
type elliptical interface {
	// ellipse is m, D, and S, D×D, up to a factor; nil where the density is another one.
	ellipse(xi []float64) (m, s []float64)
}

// Ellipse is the location m, D, and the scatter S, D×D, up to a factor, of a class with parameters ξ whose density falls
// with (x−m)ᵀS⁻¹(x−m) alone: of Gaussians with any covariance, of columns that are all normal, of t distributions, of
// factor analysers, and of these with noise. ok is false for other families.
func (p *Plan) Ellipse(xi []float64) (m []float64, s *mat.SymDense, ok bool) {
	d := p.size.Columns
	m, s = make([]float64, 0, d), mat.NewSymDense(d, nil)
	for i := range p.parts {
		part := &p.parts[i]
		f, is := part.Factor.(elliptical)
		if !is {
			return nil, nil, false
		}
		if _, heavy := part.Factor.(studentT); heavy && len(p.parts) > 1 {
			return nil, nil, false // the product of t distributions is none
		}
		location, scatter := f.ellipse(part.ofParams(xi))
		if location == nil {
			return nil, nil, false
		}
		first, n := len(m), len(location)
		for a := range n {
			for b := a; b < n; b++ {
				s.SetSym(first+a, first+b, scatter[a*n+b])
			}
		}
		m = append(m, location...)
	}
	return m, s, len(m) == d
}

func (g gaussian) ellipse(xi []float64) (m, s []float64) { return g.split(xi, 0) }

func (g isotropic) ellipse(xi []float64) (m, s []float64) {
	mean, variance := g.moments(xi)
	s = make([]float64, len(mean)*len(mean))
	for j := range mean {
		s[j*(len(mean)+1)] = variance[j/g.width]
	}
	return mean, s
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
