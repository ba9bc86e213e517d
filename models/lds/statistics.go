package lds

import (
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
)

// Statistics are expected second moments, sums over steps.
type Statistics struct {
	K       int
	N       float64   // steps
	Columns []float64 // of (x, 1, z) over the steps that show a column, x about Parameters.Center: D×(K+2)×(K+2)
	Moves   []float64 // of (z_t+1, z_t), 2K×2K
	Start   []float64 // of (1, z_1), (K+1)×(K+1)

	local local
}

// NewStatistics makes statistics of the size of p.
func (Model) NewStatistics(p *Parameters) *Statistics {
	k := p.K
	return &Statistics{K: k, Columns: make([]float64, p.D*(k+2)*(k+2)), Moves: make([]float64, 4*k*k),
		Start: make([]float64, (k+1)*(k+1))}
}

// Merge adds the sums of other sequences.
func (s *Statistics) Merge(o *Statistics) { framework.AddSums(s, o) }

// Observations is the number of steps.
func (s *Statistics) Observations() float64 { return s.N }

// Scale multiplies every sum (see [framework.Scaler]).
func (s *Statistics) Scale(factor float64) {
	s.N *= factor
	for _, sum := range [][]float64{s.Columns, s.Moves, s.Start} {
		linalg.Scale(factor, sum)
	}
}

// sequences is their number.
func (s *Statistics) sequences() float64 { return s.Start[0] }

// column is Σ E of (x, 1, z) of column j, whose second place on the diagonal counts its steps.
func (s *Statistics) column(j int) []float64 {
	size := (s.K + 2) * (s.K + 2)
	return s.Columns[j*size : (j+1)*size]
}

func (s *Statistics) seen(j int) float64 { return s.column(j)[s.K+3] }

// block is a copy of what is on rows and columns from first on of a matrix of n.
func block(list []float64, n, first int) *mat.SymDense {
	part := mat.NewSymDense(n-first, nil)
	for i := first; i < n; i++ {
		for j := i; j < n; j++ {
			part.SetSym(i-first, j-first, list[i*n+j])
		}
	}
	return part
}

// from is Σ E[zzᵀ] of steps that another follows, K×K.
func (s *Statistics) from() *mat.SymDense { return block(s.Moves, 2*s.K, s.K) }

// Covariance is that of z over the columns and the steps that show them, about its mean there, K×K.
func (s *Statistics) Covariance() *mat.SymDense {
	sum := mat.NewSymDense(s.K+1, nil)
	for columns, size := s.Columns, (s.K+2)*(s.K+2); len(columns) > 0; columns = columns[size:] {
		sum.AddSym(sum, block(columns, s.K+2, 1))
	}
	sum.ScaleSym(1/sum.At(0, 0), sum)
	cov := mat.NewSymDense(s.K, nil)
	mean := mat.NewVecDense(s.K, mat.Row(nil, 0, sum)[1:])
	cov.SymRankOne(sum.SliceSym(1, s.K+1), -1, mean)
	return cov
}

// second is Σ E[zzᵀ] of all steps, K×K.
func (s *Statistics) second() *mat.SymDense {
	sum := block(s.Start, s.K+1, 1)
	sum.AddSym(sum, mat.NewSymDense(2*s.K, s.Moves).SliceSym(0, s.K))
	return sum
}

// quadratic is rows·m·rowsᵀ.
func quadratic(rows mat.Matrix, m []float64) *mat.SymDense {
	var product mat.Dense
	_, n := rows.Dims()
	product.Product(rows, mat.NewDense(n, n, m), rows.T())
	return linalg.SymmetricPart(&product)
}

// innovations are Σ E[w wᵀ], w = z_t+1 − Az_t.
func (s *Statistics) innovations(p *Parameters) *mat.SymDense {
	rows := mat.NewDense(s.K, 2*s.K, nil)
	for i := range s.K {
		rows.Set(i, i, 1)
		for j := range s.K {
			rows.Set(i, s.K+j, -p.Dynamics[i*s.K+j])
		}
	}
	return quadratic(rows, s.Moves)
}

// starts are Σ E[(z_1 − m)(z_1 − m)ᵀ] for the mean m.
func (s *Statistics) starts(m []float64) *mat.SymDense {
	rows := mat.NewDense(s.K, s.K+1, nil)
	for i, v := range m {
		rows.Set(i, 0, -v)
		rows.Set(i, i+1, 1)
	}
	return quadratic(rows, s.Start)
}

// coefficients are those of column j in (1, z), less its center.
func (p *Parameters) coefficients(j int) []float64 {
	return append([]float64{p.Mean[j] - p.Center[j]}, p.Loadings[j*p.K:(j+1)*p.K]...)
}

// residual is Σ E[(x − d − Cz)²] of column j.
func (s *Statistics) residual(p *Parameters, j int) float64 {
	rows := mat.NewDense(1, s.K+2, append([]float64{-1}, p.coefficients(j)...))
	return quadratic(rows, s.column(j)).At(0, 0)
}

// mapped are the statistics of z' = to·z.
func (s *Statistics) mapped(to mat.Matrix) *Statistics {
	k, _ := to.Dims()
	beside := func(shared, copies int, list []float64) (mapped []float64) {
		n := shared + copies*s.K
		all := mat.NewDense(shared+copies*k, n, nil)
		for i := range shared {
			all.Set(i, i, 1)
		}
		for c := range copies {
			all.Slice(shared+c*k, shared+(c+1)*k, shared+c*s.K, shared+(c+1)*s.K).(*mat.Dense).Copy(to)
		}
		for ; len(list) > 0; list = list[n*n:] {
			q := quadratic(all, list[:n*n])
			mapped = append(mapped, mat.DenseCopyOf(q).RawMatrix().Data...)
		}
		return mapped
	}
	return &Statistics{K: k, N: s.N, Columns: beside(2, 1, s.Columns), Moves: beside(0, 2, s.Moves),
		Start: beside(1, 1, s.Start)}
}
