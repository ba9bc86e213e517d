package linalg

import (
	"math"

	"github.com/latent-go/latent/internal/simd"
)

// An Axes is memory for decompositions of symmetric matrices, one after another: for small matrices, of which
// [NewSymmetricEigen] would mostly allocate.
type Axes struct {
	Values []float64 // descending

	e    SymmetricEigen
	work []float64
}

// Find decomposes the n×n matrix in a, whose upper triangle counts, and puts the vectors into the rows of a where
// they are wanted; else a is work space. ok is as for [NewSymmetricEigen].
func (x *Axes) Find(n int, a []float64, vectors bool) (ok bool) {
	e := &x.e
	e.n, e.scale = n, 1
	if !e.normalize(a) {
		return false
	}
	if n >= small {
		e.reflectors = a
		e.tridiagonalize()
	} else {
		x.reflect(a)
	}
	underflow(e.offDiagonal)
	x.Values = append(x.Values[:0], e.diagonal...)
	if !vectors {
		a = nil
	}
	x.accumulate(a)
	if !x.rotate(a) {
		return false
	}
	x.sort(a)
	Scale(e.scale, x.Values)
	return true
}

// reflect is tridiagonalize of a small matrix: one reflection after the other.
func (x *Axes) reflect(a []float64) {
	e, n := &x.e, x.e.n
	e.diagonal, e.offDiagonal, e.tau = Resize(e.diagonal, n), Resize(e.offDiagonal, n-1), Resize(e.tau, max(0, n-2))
	x.work = Resize(x.work, n)
	for j := range n - 2 {
		v, y := a[j*n+j+1:(j+1)*n], x.work[j+1:n]
		e.diagonal[j] = a[j*n+j]
		e.offDiagonal[j], e.tau[j] = reflector(v)
		if e.tau[j] == 0 {
			continue
		}
		clear(y)
		for r, f := range v {
			row := a[(j+1+r)*n+j+1+r : (j+2+r)*n]
			y[r] += row[0]*f + dot(row[1:], v[r+1:])
			axpy(f, row[1:], y[r+1:])
		}
		along := 0.0
		for r, f := range v {
			y[r] *= e.tau[j]
			along += f * y[r]
		}
		along *= e.tau[j] / 2
		for r, f := range v {
			y[r] -= along * f
		}
		for r, f := range v {
			row := a[(j+1+r)*n+j+1+r : (j+2+r)*n]
			axpy(-f, y[r:], row)
			axpy(-y[r], v[r:], row)
		}
	}
	if n > 1 {
		e.diagonal[n-2], e.offDiagonal[n-2] = a[(n-2)*n+n-2], a[(n-1)*n-1]
	}
	e.diagonal[n-1] = a[n*n-1]
}

// reflector makes of x the vector v, v₀ = 1, and τ with (I − τvvᵀ)x = βe₀ (Golub & Van Loan, algorithm 5.1.1).
func reflector(x []float64) (beta, tau float64) {
	rest := 0.0
	for _, v := range x[1:] {
		rest += v * v
	}
	alpha := x[0]
	x[0] = 1
	if rest == 0 {
		return alpha, 0
	}
	beta = -math.Copysign(math.Sqrt(alpha*alpha+rest), alpha)
	for i := 1; i < len(x); i++ {
		x[i] /= alpha - beta
	}
	return beta, (beta - alpha) / beta
}

// accumulate puts the product of the reflections, transposed, in their place, where a is not nil.
func (x *Axes) accumulate(a []float64) {
	n := x.e.n
	if a == nil {
		return
	}
	for r := max(0, n-2); r < n; r++ {
		clear(a[r*n+max(0, n-2) : (r+1)*n])
		a[r*n+r] = 1
	}
	for j := n - 3; j >= 0; j-- {
		v, tau := a[j*n+j+1:(j+1)*n], x.e.tau[j]
		for r := j + 1; r < n && tau != 0; r++ {
			row := a[r*n+j+1 : (r+1)*n]
			axpy(-tau*dot(v, row), v, row)
		}
		clear(v)
		a[j*n+j] = 1
		for r := j + 1; r < n; r++ {
			a[r*n+j] = 0
		}
	}
}

// rotate makes T diagonal by the implicit QL method (Golub & Van Loan, section 8.3.3), and the rows of a, nil for
// none, its vectors.
func (x *Axes) rotate(a []float64) (ok bool) {
	n, d, e := x.e.n, x.Values, x.e.offDiagonal
	const patience, most = 20, 60 // steps a value
	for l := range n {
		for steps := 0; ; steps++ {
			least := 0.0 // what is below it is as good as 0
			if steps > patience {
				least = 0x1p-53
			}
			m := l
			for ; m < n-1; m++ {
				if beside := math.Abs(d[m]) + math.Abs(d[m+1]); math.Abs(e[m])+beside == beside || math.Abs(e[m]) <= least {
					break
				}
			}
			if m == l {
				break
			}
			if steps == most {
				return false
			}
			g := (d[l+1] - d[l]) / (2 * e[l])
			g = d[m] - d[l] + e[l]/(g+math.Copysign(math.Sqrt(g*g+1), g))
			s, c, p := 1.0, 1.0, 0.0
			i := m - 1
			for ; i >= l; i-- {
				f, b := s*e[i], c*e[i]
				r := math.Sqrt(f*f + g*g)
				if i+1 < n-1 {
					e[i+1] = r
				}
				if r == 0 {
					d[i+1] -= p
					break
				}
				s, c = f/r, g/r
				g = d[i+1] - p
				r = (d[i]-g)*s + 2*c*b
				p = s * r
				d[i+1] = g + p
				g = c*r - b
				if a != nil {
					turn(a[i*n:(i+1)*n], a[(i+1)*n:(i+2)*n], c, s)
				}
			}
			if i < l {
				d[l] -= p
				e[l] = g
			}
			if m < n-1 {
				e[m] = 0
			}
		}
	}
	return true
}

// dot, axpy and turn are Dot, Axpy and simd.Rotate, which take longer than a loop for short vectors.

func dot(x, y []float64) (sum float64) {
	if len(x) >= simd.Lanes {
		return Dot(x, y)
	}
	y = y[:len(x)]
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

func axpy(alpha float64, x, y []float64) {
	if len(x) >= simd.Lanes {
		Axpy(alpha, x, y)
		return
	}
	y = y[:len(x)]
	for i, v := range x {
		y[i] += alpha * v
	}
}

func turn(v, w []float64, c, s float64) {
	if len(v) >= simd.Lanes {
		simd.Rotate(v, w, c, s)
		return
	}
	w = w[:len(v)]
	for i, x := range v {
		y := w[i]
		v[i], w[i] = c*x-s*y, s*x+c*y
	}
}

// sort orders values and vectors.
func (x *Axes) sort(a []float64) {
	n := x.e.n
	for i := range n {
		top := i
		for j := i + 1; j < n; j++ {
			if x.Values[j] > x.Values[top] {
				top = j
			}
		}
		if top == i {
			continue
		}
		x.Values[i], x.Values[top] = x.Values[top], x.Values[i]
		if a == nil {
			continue
		}
		v, w := a[i*n:(i+1)*n], a[top*n:(top+1)*n]
		for c, f := range v {
			v[c], w[c] = w[c], f
		}
	}
}
