package laplace

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Spectral is a symmetric matrix stored as its eigendecomposition V·diag(λ)·Vᵀ. If eigenvalues are many orders of
// magnitude apart, a dense matrix loses the small ones to rounding. Here each keeps its digits, and so does ln|F|.
type Spectral struct {
	values  []float64  // ascending
	vectors *mat.Dense // in columns
}

// NewSpectral decomposes a by Jacobi's method, which finds the small eigenvalues of a positive definite matrix to as
// many digits as the matrix has when it is scaled to a unit diagonal (Demmel & Veselić 1992). Entries must be finite.
func NewSpectral(a mat.Symmetric) *Spectral {
	n := a.SymmetricDim()
	s := &Spectral{values: make([]float64, n)}
	if n == 0 {
		return s
	}
	work, vectors := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	work.Copy(a)
	for i := range n {
		vectors.Set(i, i, 1)
	}
	for range sweeps {
		if !sweep(work, vectors) {
			break
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(work.At(i, i), work.At(j, j)) })
	s.vectors = mat.NewDense(n, n, nil)
	for to, from := range order {
		s.values[to] = work.At(from, from)
		for i := range n {
			s.vectors.Set(i, to, vectors.At(i, from))
		}
	}
	return s
}

// sweeps bounds those of Jacobi's method, which converges quadratically after a few.
const sweeps = 60

// sweep rotates each pair of coordinates whose off-diagonal entry is not negligible beside the diagonal ones, and
// reports whether there was one.
func sweep(a, vectors *mat.Dense) (rotated bool) {
	n, _ := a.Dims()
	for p := range n {
		for q := p + 1; q < n; q++ {
			off, one, two := a.At(p, q), a.At(p, p), a.At(q, q)
			if math.Abs(off) <= eps*math.Sqrt(math.Abs(one))*math.Sqrt(math.Abs(two)) {
				continue
			}
			rotated = true
			cot := (two - one) / (2 * off) // of twice the angle
			tan := math.Copysign(1/(math.Abs(cot)+math.Hypot(1, cot)), cot)
			cos := 1 / math.Hypot(1, tan)
			sin := tan * cos
			for i := range n {
				x, y := vectors.At(i, p), vectors.At(i, q)
				vectors.Set(i, p, cos*x-sin*y)
				vectors.Set(i, q, sin*x+cos*y)
				if i == p || i == q {
					continue
				}
				x, y = a.At(i, p), a.At(i, q)
				set(a, i, p, cos*x-sin*y)
				set(a, i, q, sin*x+cos*y)
			}
			a.Set(p, p, one-tan*off)
			a.Set(q, q, two+tan*off)
			set(a, p, q, 0)
		}
	}
	return rotated
}

func set(a *mat.Dense, i, j int, v float64) {
	a.Set(i, j, v)
	a.Set(j, i, v)
}

// AtLeast returns the matrix with every eigenvalue below least raised to it.
func (s *Spectral) AtLeast(least float64) *Spectral {
	raised := &Spectral{values: slices.Clone(s.values), vectors: s.vectors}
	for i, v := range raised.values {
		raised.values[i] = max(v, least)
	}
	return raised
}

// Dims returns n, n.
func (s *Spectral) Dims() (r, c int) { return len(s.values), len(s.values) }

// SymmetricDim returns n.
func (s *Spectral) SymmetricDim() int { return len(s.values) }

// T returns the block itself.
func (s *Spectral) T() mat.Matrix { return s }

// At returns entry i, j, in O(n).
func (s *Spectral) At(i, j int) float64 {
	checkAccess(i, j, len(s.values))
	sum := 0.0
	for k, v := range s.values {
		sum += v * s.vectors.At(i, k) * s.vectors.At(j, k)
	}
	return sum
}

// LogDet returns Σ_i ln λ_i; −Inf if an eigenvalue is not positive.
func (s *Spectral) LogDet() float64 { return Diagonal(s.values).LogDet() }

// Eigenvalues appends the eigenvalues.
func (s *Spectral) Eigenvalues(dst []float64) []float64 { return append(dst, s.values...) }

// InverseTrace returns Σ_i v_iᵀgv_i/λ_i, with 0/0 = 0.
func (s *Spectral) InverseTrace(g mat.Symmetric) float64 {
	checkDim(len(s.values), g)
	turned := make(Diagonal, len(s.values))
	for i := range turned {
		v := s.vectors.ColView(i)
		turned[i] = mat.Inner(v, g, v)
	}
	return Diagonal(s.values).InverseTrace(turned)
}
