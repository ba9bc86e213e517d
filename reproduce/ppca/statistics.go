package ppca

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/lineargaussian"
)

// Statistics are the second moments of the rows about 0, which are sufficient.
type Statistics struct {
	D       int
	N       float64   // sum of the row weights
	Squares []float64 // D×D, Σ_n w_n x_n x_nᵀ

	block  lineargaussian.Moments // scratch of addRows
	rooted bool
	root   lineargaussian.Root // of Squares, where rooted
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

// addRows adds Σ w x xᵀ over a block.
func (s *Statistics) addRows(b blocks.Rows) error {
	s.block.Reset()
	if err := s.block.Add(b); err != nil {
		return err
	}
	return s.addMoments(&s.block)
}

var errOverflow = errors.New(
	"ppca: the sums of squares of the entries overflow: divide the data by a large number, and σ² and s² by its square",
)

// addMoments adds scatter + N·mean·meanᵀ.
func (s *Statistics) addMoments(m *lineargaussian.Moments) error {
	if s.D == 0 {
		s.D, s.Squares = m.D, make([]float64, m.D*m.D)
	}
	d := m.D
	if d != s.D {
		return fmt.Errorf("ppca: some rows have %d columns and others, or the model, %d: all must have the same", d, s.D)
	}
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

// rootOf returns R, of at most D rows, with RᵀR = Squares. It stands in for the rows, which have the same products.
func (s *Statistics) rootOf() blas64.General {
	if !s.rooted {
		s.root.Of(s.D, s.Squares)
		s.rooted = true
	}
	return s.root.General
}
