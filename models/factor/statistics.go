package factor

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/lineargaussian"
)

// Statistics are the expected statistics of a local step: those that all linear-Gaussian models share, and the
// squares and products of the data from which the noise is estimated.
//
// If entries are missing, x is centred at Parameters.Center, and a sum is over the rows that show a column (XZ and X)
// or a part (Seen, Z and PartZZ). A part is a set of columns with noise of their own. ZZ sums over all rows; SumSq,
// Anchor and Residual are not used.
type Statistics struct {
	lineargaussian.Statistics
	XX     []float64 // the entries of Σ w (x − mean)(x − mean)ᵀ that Ψ has; the diagonal if Ψ is isotropic
	Seen   []float64 // rows of each part, G; this and the fields below only if entries are missing
	X      []float64 // Σ w (x − center), D
	Z      []float64 // Σ w E[z], G×K
	PartZZ []float64 // Σ w E[zzᵀ], G×K×K

	local localStep
}

// Merge adds the sums of o.
func (s *Statistics) Merge(o *Statistics) {
	s.Statistics.Merge(&o.Statistics)
	for i, sum := range s.sums() {
		floats.Add(*sum, *o.sums()[i])
	}
}

// Scale multiplies the weight of all rows by factor (see [optional.Scaler]).
func (s *Statistics) Scale(factor float64) {
	s.Statistics.Scale(factor)
	for _, sum := range s.sums() {
		linalg.Scale(factor, *sum)
	}
}

func (s *Statistics) sums() []*[]float64 {
	return []*[]float64{&s.XX, &s.Seen, &s.X, &s.Z, &s.PartZZ}
}

// incomplete reports whether entries are missing.
func (s *Statistics) incomplete() bool { return len(s.Seen) > 0 }

// counts are the rows of each part, or the number that all have.
func (s *Statistics) counts() []float64 {
	if s.incomplete() {
		return s.Seen
	}
	return []float64{s.N}
}

// partZZ is S of the rows that show part g, sharing memory.
func (s *Statistics) partZZ(g int) *mat.SymDense {
	if !s.incomplete() {
		return mat.NewSymDense(s.K, s.ZZ)
	}
	size := s.K * s.K
	return mat.NewSymDense(s.K, s.PartZZ[g*size:(g+1)*size])
}

// design is Σ (1, z)(1, z)ᵀ of the rows that show part g.
func (s *Statistics) design(g int) *mat.SymDense {
	a := mat.NewSymDense(s.K+1, nil)
	a.SetSym(0, 0, s.N)
	if s.incomplete() {
		a.SetSym(0, 0, s.Seen[g])
	}
	if s.K == 0 {
		return a
	}
	zz := s.partZZ(g)
	for i := range s.K {
		if s.incomplete() {
			a.SetSym(0, i+1, s.Z[g*s.K+i])
		}
		for j := i; j < s.K; j++ {
			a.SetSym(i+1, j+1, zz.At(i, j))
		}
	}
	return a
}

// products appends Σ x_j (1, z) of column j.
func (s *Statistics) products(dst []float64, j int) []float64 {
	mean := 0.
	if s.incomplete() {
		mean = s.X[j]
	}
	return append(append(dst, mean), s.XZ[j*s.K:(j+1)*s.K]...)
}

// coefficients appends (mean_j − center_j, w_j).
func (p *Parameters) coefficients(dst []float64, j int) []float64 {
	mean := 0.
	if p.Center != nil {
		mean = p.Mean[j] - p.Center[j]
	}
	return append(append(dst, mean), p.Loadings[j*p.K:(j+1)*p.K]...)
}

// residuals are Σ E(x − mean − Wz)(x − mean − Wz)ᵀ where XX has entries, Σ E‖x − mean − Wz‖² where Ψ is isotropic and
// nothing is missing: then lineargaussian sums it without cancellation.
func (s *Statistics) residuals(p *Parameters) []float64 {
	if p.Isotropic && !s.incomplete() {
		return []float64{s.ResidualAt(p.Loadings)}
	}
	list := make([]float64, 0, len(s.XX))
	design, n := s.design(0), s.K+1
	var a, products, fitted []float64 // of the columns of a part, n each; fitted is design·a
	of := func(v []float64, i int) []float64 { return v[i*n : (i+1)*n] }
	for g, part := range p.parts(p.D) {
		if s.incomplete() {
			design = s.design(g)
		}
		a, products, fitted = a[:0], products[:0], slices.Grow(fitted[:0], len(part)*n)[:len(part)*n]
		for i, j := range part {
			a, products = p.coefficients(a, j), s.products(products, j)
			blas64.Symv(1, design.RawSymmetric(), blas64.Vector{N: n, Data: of(a, i), Inc: 1}, 0,
				blas64.Vector{N: n, Data: of(fitted, i), Inc: 1})
		}
		for i := range part {
			for l := range part {
				list = append(list, s.XX[len(list)]-linalg.Dot(of(a, l), of(products, i))-
					linalg.Dot(of(a, i), of(products, l))+linalg.Dot(of(a, i), of(fitted, l)))
			}
		}
	}
	return list
}

// regress writes the loadings that maximise E[ln p(X|Z)], and the means with them where entries are missing, to p.
func (s *Statistics) regress(p *Parameters) error {
	if !s.incomplete() {
		return s.Regress(p.Loadings)
	}
	for g, part := range p.parts(p.D) {
		var chol mat.Cholesky
		if !chol.Factorize(s.design(g)) {
			return fmt.Errorf("factor: E[zzᵀ] of the rows that show column %d is singular at K = %d: %w; allow "+
				"pruning, or lower K", part[0]+1, s.K, framework.ErrDegenerate)
		}
		for _, j := range part {
			a := mat.NewVecDense(s.K+1, nil)
			if err := chol.SolveVecTo(a, mat.NewVecDense(s.K+1, s.products(nil, j))); err != nil {
				return fmt.Errorf("factor: E[zzᵀ] of the rows that show column %d is singular at K = %d: %w; allow "+
					"pruning, or lower K", j+1, s.K, framework.ErrDegenerate)
			}
			p.Mean[j] = p.Center[j] + a.AtVec(0)
			copy(p.Loadings[j*p.K:(j+1)*p.K], a.RawVector().Data[1:])
		}
	}
	return nil
}

// mapped are the statistics of z' = to·z for a matrix of orthonormal rows.
func (s *Statistics) mapped(to mat.Matrix) *Statistics {
	t := &Statistics{Statistics: *s.Mapped(to), XX: slices.Clone(s.XX), Seen: slices.Clone(s.Seen), X: slices.Clone(s.X)}
	for g := range s.Seen {
		var z mat.VecDense
		var zz mat.Dense
		z.MulVec(to, mat.NewVecDense(s.K, s.Z[g*s.K:(g+1)*s.K]))
		zz.Product(to, s.partZZ(g), to.T())
		t.Z, t.PartZZ = append(t.Z, z.RawVector().Data...), append(t.PartZZ, zz.RawMatrix().Data...)
	}
	return t
}
