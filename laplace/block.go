package laplace

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Programmer's errors, as in gonum: wrong sizes panic with one of these.
const (
	badDim    = "laplace: matrix and block differ in size"
	badBlocks = "laplace: different numbers of blocks"
	badDst    = "laplace: destination has the wrong size"
	badScale  = "laplace: scale and point differ in length"
)

// ErrSingular reports that a block has no inverse because it is not positive definite to working precision.
var ErrSingular = errors.New("laplace: block is not positive definite")

// Block is one symmetric positive semidefinite diagonal block of F, n×n. Every block is a gonum matrix. It may be
// read concurrently.
type Block interface {
	mat.Symmetric

	// LogDet returns ln|F| in nats: 0 for an empty block, −Inf for one that is
	// singular or not positive definite, never NaN for finite entries.
	LogDet() float64

	// Eigenvalues appends the n eigenvalues of F to dst, ascending, and returns
	// the longer slice, as append does (pass dst[:0] to reuse memory). They
	// are exact for the structure: products for a Kronecker block.
	Eigenvalues(dst []float64) []float64

	// InverseTrace returns tr(F⁻¹g) for a positive semidefinite g of the same
	// size, and panics at another size. A singular F gives +Inf, unless g = 0;
	// a direction in which both F and g vanish contributes 0 if the structure shows it (a zero on a Diagonal, a factor
	// of a pair of Kroneckers).
	InverseTrace(g mat.Symmetric) float64
}

// Identity is the n×n identity matrix, without storage.
type Identity int

// Dims returns n, n.
func (n Identity) Dims() (r, c int) { return int(n), int(n) }

// SymmetricDim returns n.
func (n Identity) SymmetricDim() int { return int(n) }

// T returns the block itself.
func (n Identity) T() mat.Matrix { return n }

// At returns 1 on the diagonal and 0 elsewhere.
func (n Identity) At(i, j int) float64 {
	checkAccess(i, j, int(n))
	if i == j {
		return 1
	}
	return 0
}

// LogDet returns 0.
func (n Identity) LogDet() float64 { return 0 }

// Eigenvalues appends n ones.
func (n Identity) Eigenvalues(dst []float64) []float64 {
	for range int(n) {
		dst = append(dst, 1)
	}
	return dst
}

// InverseTrace returns tr(g).
func (n Identity) InverseTrace(g mat.Symmetric) float64 {
	checkDim(int(n), g)
	return trace(g)
}

// Diagonal is the diagonal matrix of its entries.
type Diagonal []float64

// Dims returns n, n.
func (d Diagonal) Dims() (r, c int) { return len(d), len(d) }

// SymmetricDim returns n.
func (d Diagonal) SymmetricDim() int { return len(d) }

// T returns the block itself.
func (d Diagonal) T() mat.Matrix { return d }

// At returns entry i, j.
func (d Diagonal) At(i, j int) float64 {
	checkAccess(i, j, len(d))
	if i == j {
		return d[i]
	}
	return 0
}

// LogDet returns Σ_i ln d_i; −Inf if an entry is not positive.
func (d Diagonal) LogDet() float64 {
	sum := 0.0
	for _, v := range d {
		sum += math.Log(max(v, 0))
	}
	return sum
}

// Eigenvalues appends the entries in ascending order.
func (d Diagonal) Eigenvalues(dst []float64) []float64 {
	old := len(dst)
	dst = append(dst, d...)
	slices.Sort(dst[old:])
	return dst
}

// InverseTrace returns Σ_i g_ii/d_i, with 0/0 = 0.
func (d Diagonal) InverseTrace(g mat.Symmetric) float64 {
	checkDim(len(d), g)
	sum := 0.0
	for i, v := range d {
		if gi := g.At(i, i); gi != 0 {
			sum += gi / max(v, 0)
		}
	}
	return sum
}

// Scaled is Factor·Of with Factor ≥ 0: N_k/N times a unit Fisher information.
type Scaled struct {
	Factor float64
	Of     Block
}

// Dims returns n, n.
func (s Scaled) Dims() (r, c int) { return s.Of.Dims() }

// SymmetricDim returns n.
func (s Scaled) SymmetricDim() int { return s.Of.SymmetricDim() }

// T returns the block itself.
func (s Scaled) T() mat.Matrix { return s }

// At returns Factor times the entry i, j of Of.
func (s Scaled) At(i, j int) float64 { return s.Factor * s.Of.At(i, j) }

// LogDet returns n ln Factor + ln|Of|.
func (s Scaled) LogDet() float64 {
	return times(float64(s.SymmetricDim()), math.Log(max(s.Factor, 0))) + s.Of.LogDet()
}

// Eigenvalues appends Factor times the eigenvalues of Of.
func (s Scaled) Eigenvalues(dst []float64) []float64 {
	old := len(dst)
	dst = s.Of.Eigenvalues(dst)
	for i := range dst[old:] {
		dst[old+i] *= s.Factor
	}
	return dst
}

// InverseTrace returns tr(Of⁻¹g)/Factor.
func (s Scaled) InverseTrace(g mat.Symmetric) float64 {
	checkDim(s.SymmetricDim(), g)
	if s.Factor <= 0 {
		return singularTrace(g)
	}
	return s.Of.InverseTrace(g) / s.Factor
}

func checkDim(n int, g mat.Symmetric) {
	if g.SymmetricDim() != n {
		panic(badDim)
	}
}

func checkAccess(i, j, n int) {
	if uint(i) >= uint(n) {
		panic(mat.ErrRowAccess)
	}
	if uint(j) >= uint(n) {
		panic(mat.ErrColAccess)
	}
}

func trace(g mat.Symmetric) float64 {
	sum := 0.0
	for i := range g.SymmetricDim() {
		sum += g.At(i, i)
	}
	return sum
}

// singularTrace is tr(F⁻¹g) for a singular F: a positive semidefinite g is zero
// when its trace is.
func singularTrace(g mat.Symmetric) float64 {
	if trace(g) == 0 {
		return 0
	}
	return math.Inf(1)
}

// times is a·b in which zero wins over infinity: no copies of a singular block
// have determinant 1, and a zero matrix has no trace, whatever divides it.
func times(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return a * b
}
