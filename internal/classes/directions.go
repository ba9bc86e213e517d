package classes

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// newPlane takes two columns as they are, and finds directions of more. ok is false where the numbers allow none.
func (f *Components) newPlane(columns []int) (p plane, ok bool, err error) {
	d := len(columns)
	p = plane{columns: columns, centre: make([]float64, d), axes: mat.NewDense(d, 2, nil)}
	if d == 2 {
		for a, j := range columns {
			p.axes.Set(a, a, 1)
			p.names[a] = wording.Isolated(Axis(f.Columns[j]))
		}
		return p, true, nil
	}
	s, ok, err := f.standardised(&p)
	if !ok || err != nil {
		return p, false, err
	}
	directions, shares, ok := s.separating()
	what := "between " + f.Noun + "s"
	if f.Mixture.K == 1 {
		directions, shares, ok = s.leading()
		what = "of the variance"
	}
	for a := range directions {
		v := directions[a]
		if -floats.Min(v) > floats.Max(v) {
			floats.Scale(-1, v)
		}
		p.names[a] = fmt.Sprintf("direction %d (%s %s)", a+1, report.Percentage(shares[a]), what)
		p.directions = append(p.directions, v)
		p.axes.SetCol(a, floats.DivTo(make([]float64, d), v, s.unit))
	}
	return p, ok, nil
}

// standardised are the moments of the components in standard deviations of each column over the whole mixture.
type standardised struct {
	weights []float64
	unit    []float64 // the standard deviations
	means   [][]float64
	covs    []*mat.SymDense
	total   *mat.SymDense // the correlations of the mixture
}

// standardised takes the centre of the plane and the units of the columns off the components.
func (f *Components) standardised(p *plane) (s standardised, ok bool, err error) {
	d := len(p.columns)
	s = standardised{weights: f.Mixture.Weights, unit: make([]float64, d), total: mat.NewSymDense(d, nil)}
	for k, w := range s.weights {
		mean, cov, err := f.normal(k, p.columns)
		if err != nil {
			return s, false, err
		}
		s.means, s.covs = append(s.means, mean), append(s.covs, cov)
		floats.AddScaled(p.centre, w, mean)
	}
	for j := range d {
		for k, w := range s.weights {
			step := s.means[k][j] - p.centre[j]
			s.unit[j] += w * (s.covs[k].At(j, j) + step*step)
		}
		s.unit[j] = math.Sqrt(s.unit[j])
	}
	for k, w := range s.weights {
		floats.Sub(s.means[k], p.centre)
		floats.Div(s.means[k], s.unit)
		for i := range d {
			for j := range i + 1 {
				v := s.covs[k].At(i, j) / s.unit[i] / s.unit[j]
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return s, false, nil
				}
				s.covs[k].SetSym(i, j, v)
				s.total.SetSym(i, j, s.total.At(i, j)+w*(v+s.means[k][i]*s.means[k][j]))
			}
		}
	}
	return s, true, nil
}

// leading are the two directions of the largest variance, and their shares of it.
func (s standardised) leading() (directions [][]float64, shares []float64, ok bool) {
	return largest(s.total, float64(len(s.unit)))
}

// separating are the two directions along which most of the variance is between the components, and these shares: the
// discriminant directions, eigenvectors of B, the covariance of the means, with the mixture whitened. Where the means
// differ along fewer than two, the covariances decide by Σ_k β_k (S_k − S̄)², with S̄ their mean (Scrucca 2010,
// Statistics and Computing 20, section 3).
func (s standardised) separating() (directions [][]float64, shares []float64, ok bool) {
	const (
		little   = 1e-3 // of what is between the components, below which the covariances decide
		rounding = 1e-20
	)
	d := len(s.unit)
	var whole mat.Cholesky
	if !whole.Factorize(s.total) {
		return nil, nil, false
	}
	var l mat.TriDense
	whole.LTo(&l)
	between, within := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	for k, w := range s.weights {
		between.SymRankOne(between, w, mat.NewVecDense(d, s.means[k]))
		var part mat.SymDense
		part.ScaleSym(w, s.covs[k])
		within.AddSym(within, &part)
	}
	means, ok := whitened(&l, between)
	if !ok {
		return nil, nil, false
	}
	shapes := mat.NewSymDense(d, nil)
	for k, w := range s.weights {
		var part, square mat.SymDense
		part.ScaleSym(-1, within)
		part.AddSym(&part, s.covs[k])
		white, ok := whitened(&l, &part)
		if !ok {
			return nil, nil, false
		}
		square.SymOuterK(w, white)
		shapes.AddSym(shapes, &square)
	}
	kernel := mat.NewSymDense(d, nil)
	if trace := mat.Trace(shapes); trace > rounding { // else covariances are the same
		kernel.ScaleSym(little/trace, shapes)
	}
	kernel.AddSym(kernel, means)
	directions, _, ok = largest(kernel, 1)
	for a, v := range directions { // from the whitened columns back to standardised ones
		white, back := mat.NewVecDense(d, v), mat.NewVecDense(d, nil)
		if back.SolveVec(l.T(), white) != nil {
			return nil, nil, false
		}
		shares = append(shares, min(1, max(0, mat.Inner(white, means, white))))
		directions[a] = back.RawVector().Data
	}
	return directions, shares, ok
}

// whitened is L⁻¹ m L⁻ᵀ.
func whitened(l *mat.TriDense, m mat.Symmetric) (*mat.SymDense, bool) {
	var half, white mat.Dense
	if half.Solve(l, m) != nil || white.Solve(l, half.T()) != nil {
		return nil, false
	}
	d := m.SymmetricDim()
	sym := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			sym.SetSym(i, j, (white.At(i, j)+white.At(j, i))/2)
		}
	}
	return sym, true
}

// largest are the eigenvectors of the two largest eigenvalues, and these as shares of a whole.
func largest(m mat.Symmetric, whole float64) (vectors [][]float64, shares []float64, ok bool) {
	var eigen mat.EigenSym
	if !(whole > 0) || !eigen.Factorize(m, true) {
		return nil, nil, false
	}
	var all mat.Dense
	eigen.VectorsTo(&all)
	last := m.SymmetricDim() - 1
	for a := range 2 {
		vectors, shares = append(vectors, mat.Col(nil, last-a, &all)), append(shares, eigen.Values(nil)[last-a]/whole)
	}
	return vectors, shares, true
}

// weighed says which columns the directions are mostly made of.
func (f *Components) weighed(p plane) string {
	var texts []string
	for a, v := range p.directions {
		sizes := make([]float64, len(v))
		for i, c := range v {
			sizes[i] = math.Abs(c)
		}
		var parts []string
		for _, i := range wording.ByValue(sizes, wording.UpTo(0, len(v)-1))[:min(len(v), MostSaid)] {
			parts = append(parts, Called(f.Columns[p.columns[i]])+" "+report.Fixed(v[i], 2))
		}
		texts = append(texts, fmt.Sprintf("direction %d %s", a+1, wording.Enumerated(parts)))
	}
	return "Their largest weights, for a standard deviation of the column: " + strings.Join(texts, "; ") + "."
}
