package normal

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/variances"
)

// The floor of a structure, Σ_k ⪰ F = diag(floor), has an exact maximum where axes lie along the columns, where F =
// f·I, and where the orientation is that of EEE, VEE or VVV. Axes in between make the constraint on the variances a
// matrix inequality; within it lies a box, of σ²_kj ≥ c_j(D_k), for which the maximum given the axes is exact:
//
//	c_j = Σ_l |G_jl| √(s_j/s_l), G = DᵀFD, s_j = d_jᵀSd_j with S the covariance of the table.
//
// (diag(c) ⪰ G: scaled by √s it is diagonally dominant. Where D is I or F is f·I, c_j is G_jj.) Axes are those of the
// maximum without a floor, unless others are better with it: with those before among them no global step lowers the
// likelihood.

// setLeast puts the least variances along axes, D×D with an axis a column, into least.
func (m *maximum) setLeast(axes, least []float64) {
	if m.floor == nil {
		return
	}
	m.g, m.s = linalg.Resize(m.g, m.d*m.d), linalg.Resize(m.s, m.d*m.d)
	m.scales(axes, m.g, m.s)
	m.leastOf(m.g, m.s, least)
}

// scales puts DᵀFD and DᵀSD, D×D, into floor and spread.
func (m *maximum) scales(axes, floor, spread []float64) {
	clear(floor)
	m.addFloor(floor, 1)
	copy(spread, m.spread)
	m.turned(floor, axes)
	m.turned(spread, axes)
}

// leastOf puts c_j into least, given G and DᵀSD.
func (m *maximum) leastOf(g, spread, least []float64) {
	m.inverse = diagonalOf(spread, linalg.Resize(m.inverse, m.d)) // 1/√s
	for j, v := range m.inverse {
		m.inverse[j] = 1 / math.Sqrt(v)
	}
	for j, s := range m.inverse {
		sum := 0.0
		for l, v := range linalg.Row(g, j, m.d) {
			sum += math.Abs(v) * m.inverse[l]
		}
		least[j] = sum / s
	}
}

// turned replaces a symmetric matrix A by DᵀAD.
func (m *maximum) turned(a, axes []float64) {
	m.half = linalg.Resize(m.half, m.d*m.d)
	product(m.d, false, false, a, axes, m.half)
	product(m.d, true, false, axes, m.half, a)
}

// onFloor says whether some variance is at its least.
func (m *maximum) onFloor() bool {
	for i, v := range m.variance {
		if m.floor != nil && !(v > m.least[i]*(1+1e-12)) {
			return true
		}
	}
	return false
}

// lowest is the least variance along axis j given the volumes: λ_k a_j ≥ c_kj.
func (m *maximum) lowest(j int) (a float64) {
	for k, level := range m.level {
		a = max(a, m.least[k*m.d+j]/level)
	}
	return a
}

// levelled finds the variances of EV above their least ones: σ²_kj = max(c_kj, w_kj/θ_k) with one ln|Σ_k| = v in all
// classes, that of Σ_k θ_k(v) = n, or the lowest that all can have. ln θ_k falls in v and is convex, so that Newton's
// method for their logarithm from below rises to it.
func (m *maximum) levelled(n float64) {
	d, v := m.d, math.Inf(-1)
	for k, nk := range m.n {
		lowest, free := 0.0, 0.0
		for j, c := range linalg.Row(m.least, k, d) {
			w := &m.scatter[k*d+j]
			*w = max(*w, 1e-14*nk*c) // a class without extent has any volume
			lowest += math.Log(c)
			free += math.Log(m.variance[k*d+j])
		}
		v = max(v, lowest)
		if free > v { // without a floor
			v = free
		}
	}
	for range mostRounds {
		sum, slope := 0.0, 0.0
		for k := range m.k {
			theta, free := m.multiplier(k, v)
			m.level[k] = theta
			sum += theta
			slope += theta / free
		}
		step := math.Log(sum/n) * sum / slope
		if !(step > 1e-15*max(1, math.Abs(v))) {
			break
		}
		v += step
	}
	for i, c := range m.least {
		m.variance[i] = max(c, m.scatter[i]/m.level[i/d])
	}
}

// multiplier is θ with Σ_j ln max(c_j, w_j/θ) = v of class k, and the number of variances above their least.
func (m *maximum) multiplier(k int, v float64) (theta, free float64) {
	for {
		sum, count := -v, 0.0
		for j, w := range linalg.Row(m.scatter, k, m.d) {
			if c := m.least[k*m.d+j]; w > theta*c {
				sum += math.Log(w)
				count++
			} else {
				sum += math.Log(c)
			}
		}
		next := 0.0
		if count > 0 {
			next = math.Exp(sum / count)
		}
		if !(next > theta) {
			return theta, max(1, free)
		}
		theta, free = next, count
	}
}

// loss is −2 times the objective: Σ_k n_k ln|Σ_k| + tr Σ_k⁻¹W_k.
func (m *maximum) loss() (sum float64) {
	for k, nk := range m.n {
		for j, v := range linalg.Row(m.variance, k, m.d) {
			sum += nk*math.Log(v) + m.scatter[k*m.d+j]/v
		}
	}
	return sum
}

// improve replaces axes of classes by others where that is better above the floor: those of W_k, those before, and
// those of W_k + n_kF.
func (m *maximum) improve(axes, scatters []float64, covs [][]float64) error {
	d := m.d
	candidates := [3][]float64{slices.Clone(axes), slices.Clone(axes), slices.Clone(axes)}
	for k, cov := range covs {
		raised := slices.Clone(linalg.Row(scatters, k, d*d))
		m.addFloor(raised, m.n[k])
		if !eigenvectors(d, cov, linalg.Row(candidates[1], k, d*d)) ||
			!eigenvectors(d, raised, linalg.Row(candidates[2], k, d*d)) {
			return family.ClassError(k, variances.Singular())
		}
	}
	start, along, least, lowest := slices.Clone(m.variance), [3][]float64{}, [3][]float64{}, math.Inf(1)
	all := 0
	for i, of := range candidates {
		for k := range m.k {
			m.along(k, linalg.Row(of, k, d*d), linalg.Row(scatters, k, d*d))
		}
		along[i], least[i] = slices.Clone(m.scatter), slices.Clone(m.least)
		copy(m.variance, start)
		m.variances()
		if loss := m.loss(); loss < lowest {
			all, lowest = i, loss
		}
	}
	use := func(i, k int) {
		copy(linalg.Row(m.scatter, k, d), linalg.Row(along[i], k, d))
		copy(linalg.Row(m.least, k, d), linalg.Row(least[i], k, d))
	}
	chosen := make([]int, m.k)
	for k := range chosen {
		chosen[k] = all
		use(all, k)
	}
	for k := range chosen {
		for i := range candidates {
			use(i, k)
			copy(m.variance, start)
			if m.variances(); m.loss() < lowest {
				chosen[k], lowest = i, m.loss()
			}
		}
		use(chosen[k], k)
		copy(linalg.Row(axes, k, d*d), linalg.Row(candidates[chosen[k]], k, d*d))
	}
	copy(m.variance, start)
	m.variances()
	return nil
}

// addFloor makes W + nF of W, along whose axes what has no extent is separated by its floor.
func (m *maximum) addFloor(scatter []float64, n float64) {
	for a, f := range m.floor {
		scatter[a*m.d+a] += n * f
	}
}

// eigenvectors puts the eigenvectors of a symmetric matrix, that of the largest eigenvalue first, into the columns of
// dst.
func eigenvectors(d int, a, dst []float64) (ok bool) {
	e, ok := linalg.NewSymmetricEigen(d, slices.Clone(a))
	if ok {
		copy(dst, e.Vectors(d).RawMatrix().Data)
	}
	return ok
}

// along takes the diagonal of DᵀWD of class k, with its least variances, along axes D.
func (m *maximum) along(k int, axes, scatter []float64) {
	w := slices.Clone(scatter)
	m.turned(w, axes)
	for j, v := range diagonalOf(w, linalg.Row(m.scatter, k, m.d)) {
		m.scatter[k*m.d+j] = max(0, v)
	}
	m.setLeast(axes, linalg.Row(m.least, k, m.d))
}

// raise moves the shared covariance C of VEE, of Σ_k = λ_k C, to its maximum among λ_k C ⪰ F.
func (m *maximum) raise(shared []float64) (ok bool) {
	floor, g := floats.ScaleTo(make([]float64, m.d), 1/floats.Min(m.level), m.floor), gaussian{d: m.d}
	return linalg.Above(m.d, shared, floor, 1) || g.raise(shared, floor)
}

// lift moves volumes of VEE to where λ_k C ⪰ F.
func (m *maximum) lift(shared []float64) {
	g := gaussian{d: m.d}
	if linalg.Above(m.d, shared, m.floor, 1/floats.Min(m.level)) {
		return
	}
	root := make([]float64, m.d*m.d)
	if _, ok := linalg.PrecisionRoot(m.d, shared, root); !ok {
		return
	}
	if near, ok := g.inMetric(root, m.floor); ok {
		for k, level := range m.level {
			m.level[k] = max(level, near.values[0])
		}
	}
}
