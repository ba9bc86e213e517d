package ppca

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/lineargaussian"
)

// Statistics are the second moments of the rows about 0, which are sufficient.
type Statistics struct {
	D       int
	N       float64   // sum of the row weights
	Squares []float64 // D×D, Σ_n w_n x_n x_nᵀ

	tile []float64 // scratch of addRows, weighted rows

	rooted bool
	root   []float64 // rank×D, RᵀR = Squares, where rooted
	work   *workspace
}

// Observations is N.
func (s *Statistics) Observations() float64 { return s.N }

// Merge adds the sums of other rows.
func (s *Statistics) Merge(o *Statistics) {
	s.N += o.N
	linalg.Axpy(1, o.Squares, s.Squares)
	s.rooted = false
}

// Scale gives every row factor times its weight. With factor = α the bound of a statistic is
// that of the tempered posterior, α E_ρ[ln p(X|W)] − KL.
func (s *Statistics) Scale(factor float64) {
	s.N *= factor
	linalg.Scale(factor, s.Squares)
	s.rooted = false
}

func (s *Statistics) reset() {
	s.N, s.rooted = 0, false
	clear(s.Squares)
}

// merge is Merge for statistics that may have seen different columns.
func merge(into, from *Statistics) error {
	if err := into.columns(from.D); err != nil {
		return err
	}
	into.Merge(from)
	return nil
}

// columns sets or checks the number of columns.
func (s *Statistics) columns(d int) error {
	if s.D == 0 {
		s.D, s.Squares = d, make([]float64, d*d)
	}
	if d != s.D {
		return fmt.Errorf("ppca: some rows have %d columns and others, or the model, %d: all must have the same", d, s.D)
	}
	return nil
}

// tileRows is the number of rows that are weighted at a time.
const tileRows = 128

// addRows adds Σ w x xᵀ over a block.
func (s *Statistics) addRows(b framework.Rows) error {
	if err := s.columns(b.D); err != nil {
		return err
	}
	d := b.D
	if b.Weights == nil {
		s.N += float64(b.N)
		s.addSquares(blas64.General{Rows: b.N, Cols: d, Stride: b.Stride, Data: b.X})
	} else {
		s.tile = linalg.Resize(s.tile, tileRows*d)
		n := 0
		for i := range b.N {
			w := b.Weight(i)
			if w == 0 {
				continue
			}
			s.N += w
			root := math.Sqrt(w)
			for j, v := range b.Row(i) {
				s.tile[n*d+j] = root * v
			}
			if n++; n == tileRows {
				s.addSquares(linalg.General(n, d, s.tile))
				n = 0
			}
		}
		s.addSquares(linalg.General(n, d, s.tile))
	}
	linalg.Mirror(d, s.Squares)
	s.rooted = false
	for j := range d {
		if v := s.Squares[j*d+j]; v-v != 0 {
			return badEntry(b)
		}
	}
	return nil
}

// addSquares adds xᵀx to the upper triangle of Squares.
func (s *Statistics) addSquares(x blas64.General) {
	if x.Rows > 0 {
		blas64.Syrk(blas.Trans, 1, x, 1, s.squares())
	}
}

func (s *Statistics) squares() blas64.Symmetric {
	return blas64.Symmetric{N: s.D, Stride: s.D, Data: s.Squares, Uplo: blas.Upper}
}

// badEntry returns the error about the first entry of a block that is not finite, or about squares
// that overflow.
func badEntry(b framework.Rows) error {
	for i := range b.N {
		for j, v := range b.Row(i) {
			if v-v != 0 {
				return fmt.Errorf("ppca: %w", framework.NotFinite(b.First+i, j, v))
			}
		}
	}
	return errOverflow
}

var errOverflow = errors.New(
	"ppca: the sums of squares of the entries overflow: divide the data by a large number, and σ² and s² by its square",
)

// addMoments adds scatter + N·mean·meanᵀ.
func (s *Statistics) addMoments(m *lineargaussian.Moments) error {
	if err := s.columns(m.D); err != nil {
		return err
	}
	d := m.D
	s.N += m.N
	linalg.Axpy(1, m.Scatter, s.Squares)
	for i := range d {
		linalg.Axpy(m.N*m.Mean[i], m.Mean, s.Squares[i*d:(i+1)*d])
	}
	s.rooted = false
	for j := range d {
		if v := s.Squares[j*d+j]; v-v != 0 {
			return errOverflow
		}
	}
	return nil
}

// rootOf returns R, of at most D rows, with RᵀR = Squares: the pivoted Cholesky factor. It
// stands in for the rows, which have the same products.
func (s *Statistics) rootOf() blas64.General {
	d := s.D
	if !s.rooted {
		w := s.workspace()
		w.factor, w.pivots, w.scratch = linalg.Resize(w.factor, d*d), resizeInts(w.pivots, d), linalg.Resize(w.scratch, 2*d)
		copy(w.factor, s.Squares)
		_, rank, _ := lapack64.Pstrf(blas64.Symmetric{N: d, Stride: d, Data: w.factor, Uplo: blas.Upper}, w.pivots, 0,
			w.scratch)
		s.root = linalg.Resize(s.root, d*d)[:rank*d]
		clear(s.root)
		for i := range rank {
			for j := i; j < d; j++ {
				s.root[i*d+w.pivots[j]] = w.factor[i*d+j]
			}
		}
		s.rooted = true
	}
	return linalg.General(len(s.root)/d, d, s.root)
}

func resizeInts(s []int, n int) []int {
	if cap(s) < n {
		return make([]int, n)
	}
	return s[:n]
}
