package lineargaussian

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// A Spectrum is the eigendecomposition C = VΛVᵀ of a table's covariance matrix: all that the closed form needs.
type Spectrum struct {
	N      float64   // sum of the row weights
	D      int       // columns
	Mean   []float64 // length D
	Values []float64 // eigenvalues c_1 ≥ c_2 ≥ …; those beyond the last sum to Rest
	Rest   float64   // sum of the other eigenvalues; 0 in a full spectrum

	// Vectors are computed on demand.
	eigen *linalg.SymmetricEigen // of the scatter, or of the products of rows
	rows  *mat.Dense             // N×D, centred, when it is of these
	mu    sync.Mutex
	found *mat.Dense // leading vectors, as columns
}

// Spectrum decomposes the covariance of the moments.
func (m *Moments) Spectrum() (*Spectrum, error) {
	if err := CheckData(m.Rows, m.N, m.Variances()); err != nil {
		return nil, err
	}
	s := &Spectrum{N: m.N, D: m.D, Mean: m.Mean}
	return s, s.decompose(m.D, slices.Clone(m.Scatter))
}

// LeadingSpectrum computes the k largest eigenvalues only, for closed forms up to K = k. For k much less than D this
// is a small part of the work of Spectrum. Errors are below 1e-10·c_1, and much smaller for well separated
// eigenvalues. If the block Lanczos method does not converge, LeadingSpectrum computes the full spectrum.
func (m *Moments) LeadingSpectrum(k int) (*Spectrum, error) {
	if err := CheckData(m.Rows, m.N, m.Variances()); err != nil {
		return nil, err
	}
	if k < 1 || k > m.D {
		return nil, fmt.Errorf("lineargaussian: %d leading eigenvalues of %d columns: choose 1 to %d", k, m.D, m.D)
	}
	scatter := mat.NewDense(m.D, m.D, m.Scatter)
	values, vectors, ok := linalg.Leading(m.D, k, m.D/2, func(dst, x *mat.Dense) {
		linalg.Mul(false, false, 1, scatter.RawMatrix(), x.RawMatrix(), 0, dst.RawMatrix())
	}, 1e-10)
	if !ok {
		return m.Spectrum()
	}
	s := &Spectrum{N: m.N, D: m.D, Mean: m.Mean, Values: values, Rest: mat.Trace(scatter) / m.N, found: vectors}
	for i, c := range values {
		values[i] = c / m.N
		s.Rest -= values[i]
	}
	s.Rest = max(0, s.Rest)
	return s, nil
}

// Decompose computes the spectrum of a table in memory: from its D×D moments, or from the N×N inner products of its
// rows if there are fewer rows than columns.
func Decompose(ctx context.Context, t *blocks.Table, workers int) (*Spectrum, error) {
	n, d := t.Dims()
	if n >= d {
		m, err := Summarize(ctx, t, workers)
		if err != nil {
			return nil, err
		}
		return m.Spectrum()
	}
	c, err := SummarizeColumns(ctx, t)
	if err == nil {
		err = cmp.Or(c.Complete(), CheckData(c.Rows, c.N, c.Variances()))
	}
	if err != nil {
		return nil, err
	}
	s, all := &Spectrum{N: c.N, D: d, Mean: c.Mean, rows: mat.NewDense(n, d, nil)}, t.All()
	for i := range n {
		centre(s.rows.RawRowView(i), all.Row(i), c.Mean, math.Sqrt(all.Weight(i)))
	}
	gram := make([]float64, n*n)
	linalg.RowGram(s.rows.RawMatrix(), gram)
	return s, s.decompose(n, gram)
}

// decompose finds the values, from the scatter matrix or from the products of rows, of order n.
func (s *Spectrum) decompose(n int, a []float64) error {
	var ok bool
	if s.eigen, ok = linalg.NewSymmetricEigen(n, a); !ok {
		return errors.New("lineargaussian: no eigenvalues of the covariance: the data overflow; divide them by a large " +
			"number first")
	}
	s.Values = slices.Clone(s.eigen.Values)
	for i, c := range s.Values {
		s.Values[i] = max(0, c) / s.N
	}
	return nil
}

// Vectors returns the eigenvectors of the k largest eigenvalues, as the columns of a D×k matrix.
// A few cost a small part of the time that all cost. It returns an error unless 1 ≤ k ≤ len(Values), and for a
// spectrum that this package has not computed.
func (s *Spectrum) Vectors(k int) (mat.Matrix, error) {
	if k < 1 || k > len(s.Values) {
		return nil, fmt.Errorf("lineargaussian: vectors of %d eigenvalues: choose 1 to %d", k, len(s.Values))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	has := 0
	if s.found != nil {
		_, has = s.found.Dims()
	}
	if k > has {
		if s.eigen == nil {
			return nil, errors.New("lineargaussian: eigenvalues alone have no vectors: decompose moments or a table")
		}
		s.find(min(max(k, 2*has), len(s.Values)))
	}
	return s.found.Slice(0, s.D, 0, k), nil
}

// find finds the k leading vectors.
func (s *Spectrum) find(k int) {
	u := s.eigen.Vectors(k)
	if s.found = u; s.rows == nil {
		return
	}
	s.found = mat.NewDense(s.D, k, nil)
	linalg.Mul(true, false, 1, s.rows.RawMatrix(), u.RawMatrix(), 0, s.found.RawMatrix())
	for j := range k {
		if length := mat.Norm(s.found.ColView(j), 2); length > 0 {
			for i := range s.D {
				s.found.Set(i, j, s.found.At(i, j)/length)
			}
		}
	}
}
