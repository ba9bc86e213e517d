// Package huber estimates location and scatter of a table, which rows far out do not move.
//
// What a unit-information prior is about must not be what one wrong cell makes of it: a value of 10⁶ among ones has a
// share of 10¹²/N of the variance. Location m and scatter S of the table are those of Huber's (1964) M-estimator,
//
//	m = Σ u_n x_n/Σ u_n,   S = Σ u_n (x_n−m)(x_n−m)ᵀ/N,   u_n = min(1, c/d_n²),   d_n² = (x_n−m)ᵀS⁻¹(x_n−m),
//
// which is equivariant as the structure of the covariance is: to affine maps where S is a matrix, to units of columns,
// to rotations. c is far beyond what rows of one or of several groups have, so that both are mean and covariance
// wherever no row is that far; and r wild rows add less than a share r·c/(N − r·c) to the scatter, whatever they hold.
package huber

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/linalg"
)

// Furthest is c of n rows in so many columns: about 7 standard deviations of √χ², and less where the rows are so few
// that one of them cannot be that far.
func Furthest(columns int, n float64) float64 {
	root := math.Sqrt(float64(columns))
	return min((root+5)*(root+5), max(n/4, (root+2.5)*(root+2.5)))
}

// A Scatter is location and scatter of some columns.
type Scatter struct {
	Matrix    bool      // the columns have a covariance matrix, not one variance
	Mean, Cov []float64 // D; D² or 1
	Far       float64   // c

	root    linalg.Cholesky
	reduced bool // to variances: see Reduce
}

// Reduce leaves only the variances of a singular matrix, as that of no more rows than columns is, but for constant
// columns, and reports whether it did: a prior about the matrix itself would expect every class to have no scatter
// where so few rows have none, and charge nothing for a density without bound.
func (s *Scatter) Reduce() bool {
	const least = 1e-10 // of a column's variance
	if !s.Matrix {
		return false
	}
	width, root := len(s.Mean), slices.Clone(s.Cov)
	for a := range width {
		if v := &root[a*(width+1)]; *v == 0 {
			*v = 1
		}
	}
	_, whole := linalg.NewCholesky(width, root)
	for a := range width {
		whole = whole && root[a*(width+1)]*root[a*(width+1)] > least*s.Cov[a*(width+1)]
	}
	if s.reduced = !whole; s.reduced {
		s.dropCovariances()
	}
	return s.reduced
}

// dropCovariances leaves only the variances.
func (s *Scatter) dropCovariances() {
	for at := range s.Cov {
		if at%(len(s.Mean)+1) != 0 {
			s.Cov[at] = 0
		}
	}
}

// Ready factorises the scatter; false if there is none. Directions without scatter are given some, as no row lies far
// out in them.
func (s *Scatter) Ready() (ok bool) {
	if !s.Matrix {
		return s.Cov[0] > 0
	}
	width, some := len(s.Mean), append([]float64(nil), s.Cov...)
	if s.root, ok = linalg.NewCholesky(width, some); ok {
		return true
	}
	const least = 1e-9
	copy(some, s.Cov)
	for a := range width {
		if v := &some[a*(width+1)]; *v > 0 {
			ok, *v = true, *v*(1+least)
		} else {
			*v = 1
		}
	}
	if ok {
		s.root, ok = linalg.NewCholesky(width, some)
	}
	return ok
}

// Sums are the sums over rows that lead to the next scatter.
type Sums struct {
	N, Weight    float64 // Σ w_n, Σ w_n u_n
	Beyond       float64 // Σ w_n of rows beyond c
	First, Cross []float64
	row, half    []float64
}

// Sums are empty.
func (s *Scatter) Sums() *Sums {
	return &Sums{
		First: make([]float64, len(s.Mean)),
		Cross: make([]float64, len(s.Cov)),
		row:   make([]float64, len(s.Mean)),
		half:  make([]float64, len(s.Mean)),
	}
}

// Add adds a row with a weight if it has all columns.
func (t *Sums) Add(s *Scatter, x []float64, w float64) {
	floats.SubTo(t.row, x, s.Mean)
	square, width := floats.Dot(t.row, t.row), len(s.Mean)
	if square-square != 0 || w == 0 {
		return
	}
	distance := square / s.Cov[0]
	if s.Matrix {
		copy(t.half, t.row)
		s.root.HalfSolveRight(linalg.General(1, width, t.half))
		distance = floats.Dot(t.half, t.half)
	}
	t.N += w
	if distance > s.Far {
		t.Beyond += w
		w *= s.Far / distance
	}
	t.Weight += w
	floats.AddScaled(t.First, w, t.row)
	if !s.Matrix {
		t.Cross[0] += w * square / float64(width)
		return
	}
	for a, v := range t.row {
		floats.AddScaled(t.Cross[a*width+a:(a+1)*width], w*v, t.row[a:])
	}
}

// Merge adds the sums of other rows.
func (t *Sums) Merge(o *Sums) {
	t.N += o.N
	t.Weight += o.Weight
	t.Beyond += o.Beyond
	floats.Add(t.First, o.First)
	floats.Add(t.Cross, o.Cross)
}

// Move takes location and scatter of the sums, and returns the largest relative change of a variance.
func (s *Scatter) Move(t *Sums) (change float64) {
	width, size := len(s.Mean), 1
	shift := make([]float64, width)
	floats.ScaleTo(shift, 1/t.Weight, t.First)
	floats.Add(s.Mean, shift)
	if s.Matrix {
		size = width
	}
	for a := range size {
		for b := a; b < size; b++ {
			square := shift[a] * shift[b]
			if !s.Matrix {
				square = floats.Dot(shift, shift) / float64(width)
			}
			next := (t.Cross[a*size+b] - t.Weight*square) / t.N
			if a == b {
				change = max(change, math.Abs(next/s.Cov[a*size+a]-1))
			}
			s.Cov[a*size+b], s.Cov[b*size+a] = next, next
		}
	}
	if s.reduced {
		s.dropCovariances()
	}
	return change
}
