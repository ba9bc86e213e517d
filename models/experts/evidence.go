package experts

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// The evidence of a gate (docs/theory/evidence.md, "Gates"): γ is normal about 0, where all classes are equally likely,
// with the precision ½ in the coordinates t of gate.go, which is the most that a row can tell (Böhning's bound) and
// what one tells of two classes. A class that is left out leaves the prior of the others as it was. The integral is
// Laplace's.

// LogModes returns ln K!, less the orders of classes with labels (see [family.Known]).
func (m Model) LogModes(p *Parameters) float64 { return m.mixture().LogModes(p.Mixture) }

// CheckPrior returns an error if the family has no proper prior.
func (m Model) CheckPrior() error { return m.mixture().CheckPrior() }

// MaximizePosterior is Maximize under the evidence's priors, with ridge regression of the working responses.
func (m Model) MaximizePosterior(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	return m.maximize(s, p, dst, m.mixture().MaximizePosterior, m.worth()*aRow)
}

// aRow is Böhning's bound on the information of a row.
const aRow = 0.5

// worth is what the gate's prior is worth, in rows.
func (m Model) worth() float64 {
	unit, _ := m.ParameterPrior.(prior.UnitInformation)
	return unit.RowsOr()
}

// integral is the term of the gate.
func (m Model) integral(s *Statistics, p *Parameters) laplace.Term {
	n, free := p.width(), (p.K()-1)*p.width()
	t := laplace.Term{Size: free, Count: s.Observations(), Worth: m.worth()}
	if free == 0 {
		return t
	}
	precision := m.worth() * aRow
	t.Distance = precision / 2 * floats.Dot(p.Gate, p.Gate)
	var chol mat.Cholesky
	if !chol.Factorize(s.information(p.K(), n, precision)) {
		t.Information = math.NaN() // the engine reports it
		return t
	}
	// Of the log odds against the last class the prior has the precision (I − 11ᵀ/K)·precision.
	about := float64(free)*math.Log(precision) - float64(n)*math.Log(float64(p.K()))
	t.Information = (chol.LogDet() - about - float64(free)*math.Log1p(t.Count/t.Worth)) / 2
	return t
}

// information is that of the rows and the prior about the log odds against the last class, where classes are known.
func (s *Statistics) information(k, width int, precision float64) *mat.SymDense {
	info := mat.NewSymDense((k-1)*width, nil)
	add := func(a, b, j, l int, v float64) {
		if r, c := a*width+j, b*width+l; r <= c {
			info.SetSym(r, c, info.At(r, c)+v)
		}
	}
	for b := range k {
		for a := range b {
			of := s.overlap(triangle(b-1)+a, width)
			for j := range width {
				for l := range width {
					v := of[triangle(max(j, l))+min(j, l)]
					add(a, a, j, l, v)
					if b < k-1 {
						add(b, b, j, l, v)
						add(a, b, j, l, -v)
					}
				}
			}
		}
	}
	for a := range k - 1 {
		for j := range width {
			add(a, a, j, j, precision)
			for b := range k - 1 {
				add(a, b, j, j, -precision/float64(k))
			}
		}
	}
	return info
}

// overlap is Σ_n w_n π_na π_nb t_n t_nᵀ of the pair a < b, number b(b−1)/2 + a, its lower triangle.
func (s *Statistics) overlap(pair, width int) []float64 { return at(s.Overlap, pair, triangle(width)) }

// overlapOf keeps the pairs of some classes.
func (s *Statistics) overlapOf(dims []int, width int) []float64 {
	var kept []float64
	for b := range dims {
		for a := range b {
			low, high := min(dims[a], dims[b]), max(dims[a], dims[b])
			kept = append(kept, s.overlap(triangle(high-1)+low, width)...)
		}
	}
	return kept
}

// triangle is the number of entries of a symmetric matrix.
func triangle(n int) int { return n * (n + 1) / 2 }

// inform adds the rows last read to Overlap.
func (g *gate) inform(n int, w []float64) {
	padded, width, k := len(g.t)/g.p.width(), g.p.width(), g.p.K()
	pairs, products := triangle(k)-k, triangle(width)
	g.overlaps, g.products = linalg.Resize(g.overlaps, pairs*padded), linalg.Resize(g.products, products*padded)
	row := 0
	for b := range k {
		for a := range b {
			of := at(g.overlaps, row, padded)
			floats.MulTo(of, at(g.prior, a, padded), at(g.prior, b, padded))
			for i, v := range w {
				of[i] *= v
			}
			clear(of[n:])
			row++
		}
	}
	row = 0
	for j := range width {
		for l := range j + 1 {
			floats.MulTo(at(g.products, row, padded), at(g.t, j, padded), at(g.t, l, padded))
			row++
		}
	}
	linalg.MulSerial(false, true, 1, linalg.General(pairs, padded, g.overlaps),
		linalg.General(products, padded, g.products), 1, linalg.General(pairs, products, g.s.Overlap))
}
