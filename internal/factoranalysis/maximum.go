// Package factoranalysis maximises the likelihood of factor analysis, x ~ N(μ, Ψ + WWᵀ) with diagonal Ψ, given the
// covariance matrix of x: no pass over rows, and a few iterations of Newton's method.
package factoranalysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
)

const (
	iterations = 100
	halvings   = 40
	descent    = 1e-4 // share of the slope that a step must gain
	optimism   = 10   // times what Newton's method promises: no goal is given up within that
)

// Maximize moves psi (D) and w (D×K row-major) to a maximum of the likelihood of a covariance matrix c (D×D) above
// lower (D, positive): psi begins the search, w is only written to. It returns −½ [ln|Σ| + tr(Σ⁻¹C)] there, the
// log-likelihood of a row but for −(D/2) ln 2π. The search ends early where it is clear that this will not be above
// goal, −Inf for none. ok is false where c has no eigenvalues.
//
// Given ψ, with θ_1 ≥ … ≥ θ_D and ω_m the eigenvalues and vectors of Ψ^−½CΨ^−½, the best loadings are W = Ψ^½ Ω_K
// (Θ_K − I)₊^½ (Jöreskog 1967, Psychometrika 32), and what is left is a function of ln ψ, which begins at psi and
// goes down by Newton's method between its bounds (Clarke 1970, British Journal of Mathematical and Statistical
// Psychology 23). So a psi and w of before never had a higher likelihood, if psi was above lower.
//
// With a prior, nil for none, it is the likelihood of so many rows times the prior density that is maximised, and the
// value is theirs divided by N + ν.
func Maximize(c, lower, psi, w []float64, goal float64, prior *Prior) (value float64, ok bool) {
	if len(psi) >= Wide {
		return maximize(&leading{}, c, lower, psi, w, goal, prior)
	}
	return maximize(all{}, c, lower, psi, w, goal, prior)
}

func maximize(of spectrum, c, lower, psi, w []float64, goal float64, prior *Prior) (value float64, ok bool) {
	d := len(psi)
	s := &search{
		spectrum: of, d: d, k: len(w) / d, c: c, x: make([]float64, d), low: make([]float64, d),
		gradient: make([]float64, d), data: 1,
	}
	if prior != nil {
		s.prior = prior
		s.data = prior.N / (prior.N + prior.Worth)
	}
	for i, v := range psi {
		s.low[i] = math.Log(lower[i])
		if prior == nil {
			v = min(v, max(c[i*d+i], lower[i]))
		}
		s.x[i] = max(s.low[i], math.Log(v))
	}
	if !s.evaluate(s.x) {
		return math.NaN(), false
	}
	for range iterations {
		if !s.step(-2 * goal) {
			break
		}
	}
	for i, x := range s.x {
		psi[i] = math.Exp(x)
	}
	s.loadings(psi, w)
	return -s.value / 2, true
}

// A Prior is that of N rows' noise and factors: ln ψ_j about ln Middle_j, and ln(1 + l_k) of the squared lengths l_k of
// loadings in units of the noise about 0, are normal with the information of Worth rows, ν/2. Directions of loadings,
// in these units, are uniform.
type Prior struct {
	N, Worth float64
	Middle   []float64
}

// A spectrum is how a search uses the eigenvalues and vectors of Ψ^−½CΨ^−½: all of them, or of many columns the
// leading ones.
type spectrum interface {
	// decompose finds θ and Ω of a matrix whose upper triangle is given. Those of the last ψ are where it may begin.
	decompose(s *search, scaled []float64) bool
	// likelihood adds what the value is beside Σ ln ψ, and finds the gradient.
	likelihood(s *search)
	// hessian is H of [search.newton], D×D, of all coordinates.
	hessian(s *search, exact bool) []float64
	// solve replaces b by H⁻¹b; it reports false where H, whose upper triangle is in h, is not positive definite.
	solve(h, b []float64) bool
	// small are the gradients in ln ψ, of what a row contributes, at which the search ends, and from which on rounding
	// hides what a step gains, and the gradient judges.
	small() (still, near float64)
	// far is the gradient down to which the Hessian of a good fit takes steps that need no halving.
	far() float64
}

// search is the state of a minimisation of ln|Σ| + tr(Σ⁻¹C) in x = ln ψ.
type search struct {
	spectrum
	d, k int
	c    []float64
	low  []float64

	x        []float64
	value    float64
	theta    []float64
	omega    *mat.Dense
	kept     int       // loadings that are not 0
	strength []float64 // 1 + l of those
	gradient []float64

	prior *Prior
	data  float64 // share of the data in the value, N/(N + ν)
}

// evaluate goes to x where that has a value.
func (s *search) evaluate(x []float64) bool {
	d := s.d
	scaled := make([]float64, d*d)
	for i := range d {
		for j := i; j < d; j++ {
			scaled[i*d+j] = s.c[i*d+j] * math.Exp(-(x[i]+x[j])/2)
		}
	}
	if !finite(scaled) {
		return false
	}
	if !s.decompose(s, scaled) {
		return false
	}
	s.kept = 0
	for s.kept < s.k && s.theta[s.kept] > 1 {
		s.kept++
	}
	s.strength = append(s.strength[:0], s.theta[:s.kept]...)
	s.value = floats.Sum(x)
	copy(s.x, x)
	s.likelihood(s)
	if s.prior != nil {
		s.pull()
	}
	return true
}

// pull changes value and gradient from those of the likelihood to those with the prior, whose mode of the strength of a
// factor is nearer 1.
func (s *search) pull() {
	n, worth, square := s.prior.N, s.prior.Worth, 0.0
	for m, theta := range s.theta[:s.kept] {
		t := laplace.LogVarianceMode(n, theta, worth)
		s.strength[m] = math.Exp(t)
		s.value += t + theta/s.strength[m] - 1 - math.Log(theta)
		square += t * t
		for i := range s.gradient {
			s.gradient[i] += (1 - theta/s.strength[m]) * s.omega.At(i, m) * s.omega.At(i, m)
		}
	}
	for i, x := range s.x {
		shift := x - math.Log(s.prior.Middle[i])
		square += shift * shift
		s.gradient[i] = s.data*s.gradient[i] + (1-s.data)*shift
	}
	s.value = s.data*s.value + (1-s.data)/2*square
}

func finite(v []float64) bool {
	sum := floats.Sum(v)
	return sum-sum == 0
}

// step makes one step of Newton's method among the coordinates that are not held by their bounds. It reports false
// where there is none left to make, or where it is clear that the likelihood will not reach the goal.
func (s *search) step(goal float64) bool {
	free, steepest := s.free()
	still, near := s.small()
	if steepest < still {
		return false
	}
	from, value, gradient := slices.Clone(s.x), s.value, slices.Clone(s.gradient)
	to := make([]float64, s.d)
	for _, exact := range []bool{true, false} {
		if exact && steepest > s.far() {
			continue
		}
		direction, promise := s.newton(free, exact)
		if direction == nil {
			continue
		}
		if value-optimism*promise > goal {
			return false
		}
		for size, try := 1.0, 0; try < halvings; size, try = size/2, try+1 {
			copy(to, from)
			slope := 0.0
			for a, i := range free {
				to[i] = max(s.low[i], from[i]+size*direction[a])
				slope += gradient[i] * (to[i] - from[i])
			}
			if !(slope < 0 && s.evaluate(to)) {
				continue
			}
			if steepest < near {
				if _, left := s.free(); left < steepest/2 {
					return true
				}
				break
			}
			if s.value <= value+descent*slope {
				return true
			}
		}
		s.evaluate(from)
	}
	return false
}

// free are the coordinates that their bounds do not hold, and the largest of their gradient.
func (s *search) free() (list []int, steepest float64) {
	for i, g := range s.gradient {
		if s.x[i] > s.low[i] || g < 0 {
			list = append(list, i)
			steepest = max(steepest, math.Abs(g))
		}
	}
	return list, steepest
}

// newton is −H⁻¹g of the free coordinates, and how far the quadratic function falls with it; nil where H is not
// positive definite. With P = Σ ω_mω_mᵀ and T = Σ θ_m ω_mω_mᵀ over what no factor explains, and n over the factors,
//
//	H = T∘P + Σ_mn (1 − θ_m)(θ_n + θ_m)/(θ_n − θ_m) (ω_mω_mᵀ)∘(ω_nω_nᵀ),
//
// and near a good fit, where θ_m = 1, that is P∘P, which is never indefinite and is taken where exact is false. With a
// prior, that of ln ψ is added, and its part in the strengths left out.
func (s *search) newton(free []int, exact bool) (direction []float64, promise float64) {
	n, whole := len(free), s.hessian(s, exact)
	h := make([]float64, n*n)
	direction = make([]float64, n)
	for a, i := range free {
		direction[a] = -s.gradient[i]
		for b := a; b < n; b++ {
			h[a*n+b] = s.data * whole[i*s.d+free[b]]
		}
		h[a*n+a] += 1 - s.data
		if !exact {
			h[a*n+a] += 1e-8
		}
	}
	if !s.solve(h, direction) {
		return nil, 0
	}
	for a, i := range free {
		promise -= s.gradient[i] * direction[a] / 2
	}
	const longest = 5 // in ln ψ: the curvature does not reach further
	if norm := floats.Norm(direction, math.Inf(1)); norm > longest {
		linalg.Scale(longest/norm, direction)
	}
	return direction, promise
}

// loadings are those of ψ, each factor with the sign that makes their sum positive.
func (s *search) loadings(psi, w []float64) {
	clear(w)
	for m := range s.kept {
		sum := 0.0
		for i, v := range psi {
			w[i*s.k+m] = math.Sqrt(v*(s.strength[m]-1)) * s.omega.At(i, m)
			sum += w[i*s.k+m]
		}
		if sum < 0 {
			for i := range psi {
				w[i*s.k+m] = -w[i*s.k+m]
			}
		}
	}
}

// all has every eigenvalue and vector, and factorises the Hessian.
type all struct{}

func (all) decompose(s *search, scaled []float64) bool {
	eigen, ok := linalg.NewSymmetricEigen(s.d, scaled)
	if ok {
		s.theta, s.omega = eigen.Values, eigen.Vectors(s.d)
	}
	return ok
}

func (all) likelihood(s *search) {
	for m, v := range s.theta {
		if m < s.kept {
			v = 1 + math.Log(v)
		}
		s.value += v
	}
	for i := range s.d { // Σ (1 − θ_m) ω²_im over what no factor explains
		row := s.omega.RawRowView(i)[s.kept:]
		s.gradient[i] = 0
		for m, v := range row {
			s.gradient[i] += (1 - s.theta[s.kept+m]) * v * v
		}
	}
}

func (all) hessian(s *search, exact bool) []float64 {
	d, kept := s.d, s.kept
	rest := d - kept
	u, scaled := make([]float64, d*rest), make([]float64, d*rest)
	for i := range d {
		row := s.omega.RawRowView(i)[kept:]
		copy(u[i*rest:], row)
		for m, v := range row {
			scaled[i*rest+m] = s.theta[kept+m] * v
		}
	}
	p, h := make([]float64, d*d), make([]float64, d*d)
	linalg.MulSerial(false, true, 1, linalg.General(d, rest, u), linalg.General(d, rest, u), 0, linalg.General(d, d, p))
	if !exact {
		floats.MulTo(h, p, p)
		return h
	}
	linalg.MulSerial(false, true, 1, linalg.General(d, rest, scaled), linalg.General(d, rest, u), 0,
		linalg.General(d, d, h))
	floats.Mul(h, p)
	if kept == 0 {
		return h
	}
	pairs := kept * rest
	b, weighed := make([]float64, d*pairs), make([]float64, d*pairs)
	for i := range d {
		row := s.omega.RawRowView(i)
		for n, x := range row[:kept] {
			for m, y := range row[kept:] {
				one, other := s.theta[n], s.theta[kept+m]
				at := i*pairs + n*rest + m
				b[at] = x * y
				weighed[at] = (1 - other) * (one + other) / (one - other) * b[at]
			}
		}
	}
	linalg.MulSerial(false, true, 1, linalg.General(d, pairs, weighed), linalg.General(d, pairs, b), 1,
		linalg.General(d, d, h))
	return h
}

func (all) solve(h, b []float64) bool {
	chol, ok := linalg.NewCholesky(len(b), h)
	if ok {
		chol.SolveRight(linalg.General(1, len(b), b))
	}
	return ok
}

func (all) small() (still, near float64) { return 1e-13, 1e-6 }

func (all) far() float64 { return math.Inf(1) }
