package family

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

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
		case len(scatter) != n || n == 0 || !normal && n < d:
			return nil, nil, false
		}
		m, variances = append(m, location...), append(variances, scatter...)
	}
	return m, mat.NewDiagDense(d, variances), len(m) == d
}

// Distances are the squared Mahalanobis distances of the rows of a block from classes, N×K, over the columns that are
// normal in every class: those of a row that are present, whose number is in columns (N). In its own class the distance
// of a row has the χ² distribution with so many degrees of freedom. classes has the parameters ξ of one class after the
// other, K×P. The block may have further columns at the end. squared is nil if no column is normal.
func (p *Plan) Distances(classes []float64, b blocks.Rows) (squared []float64, columns []int) {
	k := len(classes) / p.size.Params
	for i := range p.parts {
		part := &p.parts[i]
		e, is := part.Factor.(Elliptical)
		if !is {
			continue
		}
		for class := range k {
			m, s, normal := e.Ellipse(part.ofParams(linalg.Row(classes, class, p.size.Params)))
			if !normal {
				break
			}
			if squared == nil {
				squared, columns = make([]float64, b.N*k), make([]int, b.N)
			}
			of := distances{m: m, s: s}
			for row := range b.N {
				d, n := of.from(b.Row(row)[part.at.Columns:])
				if squared[row*k+class] += d; class == 0 {
					columns[row] += n
				}
			}
		}
	}
	return squared, columns
}

// distances are those from a normal distribution, with the root of the precision of the columns that a row has.
type distances struct {
	m, s    []float64
	present []int
	root, x []float64
	at      []float64 // m of the columns that are present
}

func (f *distances) from(row []float64) (squared float64, columns int) {
	d := len(f.m)
	if len(f.s) == d { // independent columns
		for j, m := range f.m {
			if v := row[j]; v == v {
				squared += (v - m) * (v - m) / f.s[j]
				columns++
			}
		}
		return squared, columns
	}
	same := 0 // columns as in the row before
	f.x = f.x[:0]
	for j := range d {
		if v := row[j]; v == v {
			if n := len(f.x); n < len(f.present) && f.present[n] == j {
				same++
			}
			f.x = append(f.x, v)
		}
	}
	if n := len(f.x); same < n || len(f.present) != n {
		f.present, f.at = f.present[:0], f.at[:0]
		for j := range d {
			if v := row[j]; v == v {
				f.present, f.at = append(f.present, j), append(f.at, f.m[j])
			}
		}
		covariance := make([]float64, n*n)
		for a, j := range f.present {
			for c, l := range f.present {
				covariance[a*n+c] = f.s[j*d+l]
			}
		}
		f.root = linalg.Resize(f.root, n*n)
		if _, ok := linalg.PrecisionRoot(n, covariance, f.root); !ok {
			linalg.Fill(f.root, math.NaN())
		}
	}
	return linalg.Mahalanobis(len(f.x), f.root, f.x, f.at), len(f.x)
}
