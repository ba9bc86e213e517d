package lds

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
)

// Statistics are expected second moments, summed over steps.
type Statistics struct {
	K      int
	Inputs int
	N      float64 // steps
	// second moments of (x, 1, u, z) over the steps that show a column, with x centred at Parameters.Center and inputs u
	Columns []float64
	Moves   []float64 // second moments of (u_t+1, z_t+1, z_t)
	Start   []float64 // second moments of (1, z_1), (K+1)×(K+1)

	local local
}

// NewStatistics allocates statistics for the K, D and Inputs of p.
func (Model) NewStatistics(p *Parameters) *Statistics {
	k, n, m := p.K, p.K+p.Inputs+2, 2*p.K+p.Inputs
	return &Statistics{K: k, Inputs: p.Inputs, Columns: make([]float64, p.D*n*n), Moves: make([]float64, m*m),
		Start: make([]float64, (k+1)*(k+1))}
}

// Merge adds the sums of o.
func (s *Statistics) Merge(o *Statistics) { framework.AddSums(s, o) }

// Observations returns the number of steps.
func (s *Statistics) Observations() float64 { return s.N }

// Scale multiplies every sum by factor (see [optional.Scaler]).
func (s *Statistics) Scale(factor float64) {
	s.N *= factor
	for _, sum := range [][]float64{s.Columns, s.Moves, s.Start} {
		linalg.Scale(factor, sum)
	}
}

// sequences is their number.
func (s *Statistics) sequences() float64 { return s.Start[0] }

// width is the number of (x, 1, u, z).
func (s *Statistics) width() int { return s.K + s.Inputs + 2 }

// column is Σ E of (x, 1, u, z) of column j, whose second place on the diagonal counts its steps.
func (s *Statistics) column(j int) []float64 {
	size := s.width() * s.width()
	return s.Columns[j*size : (j+1)*size]
}

func (s *Statistics) seen(j int) float64 { return s.column(j)[s.width()+1] }

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
func (s *Statistics) from() *mat.SymDense { return block(s.Moves, 2*s.K+s.Inputs, s.K+s.Inputs) }

// before is Σ E of (u_t+1, z_t), what z_t+1 is regressed on, and its products with z_t+1, K rows.
func (s *Statistics) before() (squares *mat.SymDense, products []float64) {
	u, m := s.Inputs, 2*s.K+s.Inputs
	all := mat.NewSymDense(m, s.Moves)
	squares = mat.NewSymDense(u+s.K, nil)
	place := func(i int) int { // of (u, z_t) in (u, z_t+1, z_t)
		if i < u {
			return i
		}
		return i + s.K
	}
	for i := range u + s.K {
		for j := i; j < u+s.K; j++ {
			squares.SetSym(i, j, all.At(place(i), place(j)))
		}
	}
	for i := range s.K {
		for j := range u + s.K {
			products = append(products, s.Moves[(u+i)*m+place(j)])
		}
	}
	return squares, products
}

// Covariance returns the covariance of z, K×K, over the columns and the steps that show them, about the mean of z in
// these steps.
func (s *Statistics) Covariance() *mat.SymDense {
	n := s.width()
	sum := mat.NewSymDense(n-1, nil)
	for columns := s.Columns; len(columns) > 0; columns = columns[n*n:] {
		sum.AddSym(sum, block(columns, n, 1))
	}
	sum.ScaleSym(1/sum.At(0, 0), sum)
	cov := mat.NewSymDense(s.K, nil)
	mean := mat.NewVecDense(s.K, mat.Row(nil, 0, sum)[1+s.Inputs:])
	cov.SymRankOne(sum.SliceSym(1+s.Inputs, n-1), -1, mean)
	return cov
}

// second is Σ E[zzᵀ] of all steps, K×K.
func (s *Statistics) second() *mat.SymDense {
	sum := block(s.Start, s.K+1, 1)
	sum.AddSym(sum, mat.NewSymDense(2*s.K+s.Inputs, s.Moves).SliceSym(s.Inputs, s.Inputs+s.K))
	return sum
}

// quadratic is rows·m·rowsᵀ.
func quadratic(rows mat.Matrix, m []float64) *mat.SymDense {
	var product mat.Dense
	_, n := rows.Dims()
	product.Product(rows, mat.NewDense(n, n, m), rows.T())
	return linalg.SymmetricPart(&product)
}

// innovations are Σ E[w wᵀ], w = z_t+1 − Az_t − Bu_t+1.
func (s *Statistics) innovations(p *Parameters) *mat.SymDense {
	u := s.Inputs
	rows := mat.NewDense(s.K, 2*s.K+u, nil)
	for i := range s.K {
		rows.Set(i, u+i, 1)
		linalg.Axpy(-1, p.Drive[i*u:(i+1)*u], rows.RawRowView(i)[:u])
		linalg.Axpy(-1, p.Dynamics[i*s.K:(i+1)*s.K], rows.RawRowView(i)[u+s.K:])
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

// coefficients are those of column j in (1, u, z), less its center.
func (p *Parameters) coefficients(j int) []float64 {
	return slices.Concat([]float64{p.Mean[j] - p.Center[j]}, p.Effects[j*p.Inputs:(j+1)*p.Inputs],
		p.Loadings[j*p.K:(j+1)*p.K])
}

// residual is Σ E[(x − d − Du − Cz)²] of column j.
func (s *Statistics) residual(p *Parameters, j int) float64 {
	rows := mat.NewDense(1, s.width(), append([]float64{-1}, p.coefficients(j)...))
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
	return &Statistics{K: k, Inputs: s.Inputs, N: s.N, Columns: beside(2+s.Inputs, 1, s.Columns),
		Moves: beside(s.Inputs, 2, s.Moves), Start: beside(1, 1, s.Start)}
}
