package laplace

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

const eps = 0x1p-52

var errEigen = errors.New("laplace: no eigenvalues: the block has entries that are not finite")

// Dense is a symmetric matrix without structure. Set factorises and inverts it, so that reading does not change it.
// The zero value is the empty block. Do not call Set while others read.
//
// A matrix counts as singular if the others determine some coordinate to within rounding: 1/(F_jj F⁻¹_jj) ≤ 16n·2⁻⁵².
// This test depends neither on the units nor on the order of the coordinates.
type Dense struct {
	n       int
	entries []float64 // row-major, upper triangle
	inverse []float64 // likewise; meaningless unless definite
	logDet  float64
}

// NewDense returns a block that holds a copy of a.
func NewDense(a mat.Symmetric) *Dense {
	d := new(Dense)
	d.Set(a)
	return d
}

// Set copies the upper triangle of a and factorises it, O(n³). It allocates only to grow, except for gonum's parallel
// products, which it uses for n > 64.
func (d *Dense) Set(a mat.Symmetric) {
	n := a.SymmetricDim()
	if cap(d.entries) < n*n {
		d.entries = make([]float64, n*n)
		d.inverse = make([]float64, n*n)
	}
	d.n, d.entries, d.inverse = n, d.entries[:n*n], d.inverse[:n*n]
	raw, fast := upper(a)
	for i := range n {
		row := d.entries[i*n : (i+1)*n]
		if fast {
			copy(row[i:], raw.Data[i*raw.Stride+i:i*raw.Stride+n])
			continue
		}
		for j := i; j < n; j++ {
			row[j] = a.At(i, j)
		}
	}
	d.factorize()
}

// factorize leaves the inverse and the log-determinant.
func (d *Dense) factorize() {
	n := d.n
	d.logDet = math.Inf(-1)
	if !d.finite() {
		d.logDet = math.NaN()
		return
	}
	copy(d.inverse, d.entries)
	t, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: d.inverse, Uplo: blas.Upper})
	if !ok {
		return
	}
	sum := 0.0
	for i := range n {
		sum += 2 * math.Log(d.inverse[i*n+i])
	}
	lapack64.Potri(t)
	for i := range n {
		if 1/d.inverse[i*n+i] <= 16*float64(n)*eps*d.entries[i*n+i] {
			return
		}
	}
	d.logDet = sum
}

func (d *Dense) definite() bool { return !math.IsNaN(d.logDet) && !math.IsInf(d.logDet, -1) }

func (d *Dense) finite() bool {
	sum := 0.0
	for i := range d.n {
		for _, v := range d.entries[i*d.n+i : (i+1)*d.n] {
			sum += 0 * v // NaN if v is infinite or NaN
		}
	}
	return sum == 0
}

// Dims returns n, n.
func (d *Dense) Dims() (r, c int) { return d.n, d.n }

// SymmetricDim returns n.
func (d *Dense) SymmetricDim() int { return d.n }

// T returns the block itself.
func (d *Dense) T() mat.Matrix { return d }

// At returns entry i, j.
func (d *Dense) At(i, j int) float64 {
	checkAccess(i, j, d.n)
	return d.entries[min(i, j)*d.n+max(i, j)]
}

// RawSymmetric returns the block's own upper triangle, which must not be changed.
func (d *Dense) RawSymmetric() blas64.Symmetric {
	return blas64.Symmetric{N: d.n, Stride: max(d.n, 1), Data: d.entries, Uplo: blas.Upper}
}

// LogDet returns ln|F|, in O(1); NaN only if an entry is not finite.
func (d *Dense) LogDet() float64 { return d.logDet }

// InverseTrace returns tr(F⁻¹g) = Σ_ij F⁻¹_ij g_ij, in O(n²), without
// allocation.
func (d *Dense) InverseTrace(g mat.Symmetric) float64 {
	checkDim(d.n, g)
	switch {
	case math.IsNaN(d.logDet):
		return math.NaN()
	case !d.definite():
		return singularTrace(g)
	}
	n, sum := d.n, 0.0
	switch g := g.(type) {
	case *Scaled:
		return times(g.Factor, d.InverseTrace(g.Of))
	case Scaled:
		return times(g.Factor, d.InverseTrace(g.Of))
	case Identity, Diagonal:
		for i := range n {
			sum += d.inverse[i*n+i] * g.At(i, i)
		}
		return sum
	}
	raw, fast := upper(g)
	for i := range n {
		row, off := d.inverse[i*n:(i+1)*n], 0.0
		if fast {
			other := raw.Data[i*raw.Stride : i*raw.Stride+n]
			for j := i + 1; j < n; j++ {
				off += row[j] * other[j]
			}
		} else {
			for j := i + 1; j < n; j++ {
				off += row[j] * g.At(i, j)
			}
		}
		sum += row[i]*g.At(i, i) + 2*off
	}
	return sum
}

// InverseTo puts F⁻¹ into dst, which must be empty or n×n. It returns
// ErrSingular, and does not change dst, if F is not positive definite.
func (d *Dense) InverseTo(dst *mat.SymDense) error {
	if !d.definite() {
		return ErrSingular
	}
	sizeTo(dst, d.n)
	for i := range d.n {
		for j := i; j < d.n; j++ {
			dst.SetSym(i, j, d.inverse[i*d.n+j])
		}
	}
	return nil
}

// Eigenvalues appends the eigenvalues in ascending order (NaN if an entry is not
// finite), in O(n³).
func (d *Dense) Eigenvalues(dst []float64) []float64 {
	values, _, err := d.Eigen()
	if err != nil {
		for range d.n {
			dst = append(dst, math.NaN())
		}
	}
	return append(dst, values...)
}

// Eigen returns the eigenvalues in ascending order and the orthonormal
// eigenvectors, n×n, in columns of the same order. It fails only if an entry is
// not finite.
func (d *Dense) Eigen() (values []float64, vectors *mat.Dense, err error) {
	if !d.finite() {
		return nil, nil, errEigen
	}
	if d.n == 0 {
		return nil, new(mat.Dense), nil
	}
	values = make([]float64, d.n)
	data := slices.Clone(d.entries) // others may be reading the block
	a := blas64.Symmetric{N: d.n, Stride: d.n, Data: data, Uplo: blas.Upper}
	// Always with vectors: for eigenvalues alone, Syev of gonum 0.17 panics on
	// entries around 1e±150 (Dsterf calls Dlascl with a wrong leading dimension).
	work := []float64{0}
	lapack64.Syev(lapack.EVCompute, a, values, work, -1)
	work = make([]float64, int(work[0]))
	if !lapack64.Syev(lapack.EVCompute, a, values, work, len(work)) {
		return nil, nil, errEigen
	}
	return values, mat.NewDense(d.n, d.n, data), nil
}

// upper gives the flat upper triangle of a matrix that has one.
func upper(a mat.Symmetric) (blas64.Symmetric, bool) {
	if r, ok := a.(mat.RawSymmetricer); ok {
		raw := r.RawSymmetric()
		return raw, raw.Uplo == blas.Upper
	}
	return blas64.Symmetric{}, false
}

// sizeTo makes an empty dst n×n, and panics at any other size.
func sizeTo(dst *mat.SymDense, n int) {
	switch {
	case dst.SymmetricDim() == n:
	case dst.IsEmpty():
		dst.ReuseAsSym(n)
	default:
		panic(badDst)
	}
}
