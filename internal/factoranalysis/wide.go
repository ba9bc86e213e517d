package factoranalysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
)

// Wide is the number of columns from which a search needs the leading eigenvalues alone, no decomposition where they
// are few, and no factorisation of a Hessian: an iteration is a few products of D² numbers with a vector for each
// factor.
const Wide = 100

const apart = 1e-8 // residual of an eigenvector, of the largest eigenvalue

// leading has the leading eigenvalues and vectors, with some to spare, of which no precision is asked.
type leading struct {
	scaled []float64 // Ψ^−½CΨ^−½
}

func (l *leading) decompose(s *search, scaled []float64) bool {
	d := s.d
	linalg.Mirror(d, scaled)
	l.scaled = scaled
	if 16*s.k <= d {
		theta, omega, ok := linalg.LeadingFrom(s.omega, d, s.k, d/2, func(dst, x *mat.Dense) {
			linalg.Mul(false, false, 1, linalg.General(d, d, scaled), x.RawMatrix(), 0, dst.RawMatrix())
		}, apart)
		if ok {
			s.theta, s.omega = theta, omega
			return true
		}
	}
	eigen, ok := linalg.NewSymmetricEigen(d, slices.Clone(scaled))
	if ok {
		count := min(d, s.k+linalg.Spare)
		s.theta, s.omega = eigen.Values[:count], eigen.Vectors(count)
	}
	return ok
}

// likelihood takes the trace, the diagonal and the factors alone: the sum over what no factor explains is that over all
// less that over the factors.
func (l *leading) likelihood(s *search) {
	for _, v := range s.strength {
		s.value += 1 + math.Log(v) - v
	}
	for i := range s.d {
		v := l.scaled[i*(s.d+1)]
		s.value += v
		s.gradient[i] = 1 - v
		for m, w := range s.omega.RawRowView(i)[:s.kept] {
			s.gradient[i] += (s.theta[m] - 1) * w * w
		}
	}
}

// hessian is nearly H, from the factors and the spare eigenvectors m. With Q = Σ ω_nω_nᵀ over the factors,
// which is I − P, and T = Ψ^−½CΨ^−½ − Σ θ_n ω_nω_nᵀ, it is
//
//	T∘P + Q∘(P − T) + Σ_mn (1 − θ_m) 2θ_m/(θ_n − θ_m) (ω_mω_mᵀ)∘(ω_nω_nᵀ),
//
// where the sum over all other m is left out: their θ_m is near 1, or small beside θ_n.
func (l *leading) hessian(s *search, exact bool) []float64 {
	d, kept := s.d, s.kept
	_, all := s.omega.Dims()
	factors := linalg.General(d, kept, mat.DenseCopyOf(s.omega).RawMatrix().Data)
	factors.Stride = all
	q, h := make([]float64, d*d), slices.Clone(l.scaled)
	linalg.Mul(false, true, 1, factors, factors, 0, linalg.General(d, d, q))
	if !exact {
		for i, v := range q {
			q[i] = v * v
			if i%(d+1) == 0 {
				q[i] = (1 - v) * (1 - v)
			}
		}
		return q
	}
	pairs := kept * (all - kept)
	one, other := linalg.General(d, pairs, make([]float64, d*pairs)), linalg.General(d, pairs, make([]float64, d*pairs))
	for i := range d {
		row := s.omega.RawRowView(i)
		at := i * pairs
		for m := kept; m < all; m++ {
			for n, v := range row[:kept] {
				one.Data[at] = v * row[m]
				other.Data[at] = v * row[m] * (1 - s.theta[m]) * 2 * s.theta[m] / (s.theta[n] - s.theta[m])
				at++
			}
		}
	}
	weighed := mat.DenseCopyOf(s.omega).RawMatrix()
	for i := range weighed.Data {
		weighed.Data[i] *= s.theta[i%all]
	}
	weighed.Cols = kept
	linalg.Mul(false, true, -1, factors, weighed, 1, linalg.General(d, d, h))
	for i, t := range h {
		h[i] = -q[i] * (2*t + q[i])
		if i%(d+1) == 0 {
			h[i] += t + q[i]
		}
	}
	linalg.Mul(false, true, 1, one, other, 1, linalg.General(d, d, h))
	return h
}

// solve is approximate: by conjugate gradients in units of the diagonal. It reports false where it meets a direction
// of negative curvature.
func (*leading) solve(h, b []float64) bool {
	const enough, most = 1e-6, 50 // of the squared residual; iterations
	n := len(b)
	linalg.Mirror(n, h)
	r, z, p, q := slices.Clone(b), make([]float64, n), make([]float64, n), make([]float64, n)
	clear(b)
	first, before := 0.0, 1.0
	for i := range most {
		for j, v := range r {
			if !(h[j*(n+1)] > 0) {
				return false
			}
			z[j] = v / h[j*(n+1)]
		}
		rest := linalg.Dot(r, z)
		if i == 0 {
			first = rest
		}
		if rest <= enough*first {
			break
		}
		floats.AddScaledTo(p, z, rest/before, p)
		before = rest
		for j := range q {
			q[j] = linalg.Dot(h[j*n:(j+1)*n], p)
		}
		curvature := linalg.Dot(p, q)
		if !(curvature > 0) {
			return false
		}
		linalg.Axpy(rest/curvature, p, b)
		linalg.Axpy(-rest/curvature, q, r)
	}
	return true
}

func (*leading) small() (still, near float64) { return 1e-5, 1e-4 }

func (*leading) far() float64 { return 0.3 }
