package family

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/linalg"
)

// commonAxes is EVE and VVE: axes D that all classes share. Given the variances, D minimises Σ_k tr(D diag(σ²_k)⁻¹ Dᵀ W_k),
// which Browne & McNicholas (2014, Advances in Data Analysis and Classification 8) lower by majorisation, and Flury & Gautschi
// (1986, SIAM J. Sci. Stat. Comput. 7) plane by plane, as here: in a plane of two axes the minimum has a closed form, and no
// majorant is as close. The variances follow after each turn.
func (m *maximum) commonAxes(scatters []float64, covs [][]float64) error {
	start, err := m.startingAxes(scatters, covs)
	if err != nil {
		return err
	}
	d := m.d
	for range mostRounds {
		turned := 0.0
		for i := range d {
			for j := i + 1; j < d; j++ {
				if cos, sin := m.plane(start.scatters(), i, j); sin != 0 && m.turn(start, i, j, cos, sin) {
					turned = max(turned, math.Abs(sin))
				}
			}
		}
		if turned < 1e-9 { // the likelihood is flat there, and has all its digits
			break
		}
	}
	for k, cov := range covs {
		assemble(start.axes, at(m.variance, k, d), cov)
	}
	return nil
}

// axesAt are axes D, D×D with an axis a column, and along them K scatters DᵀW_kD and, with a floor, DᵀFD and DᵀSD.
type axesAt struct {
	axes    []float64
	turned  [][]float64
	bounded bool
}

// scatters are those of the classes.
func (a axesAt) scatters() [][]float64 {
	if a.bounded {
		return a.turned[:len(a.turned)-2]
	}
	return a.turned
}

// startingAxes are the best of the axes before and those of the pooled scatter, with a floor also of that raised by it, and where all
// covariances are still the same, as at a start, those of each class.
func (m *maximum) startingAxes(scatters []float64, covs [][]float64) (best axesAt, err error) {
	d := m.d
	candidates := make([][]float64, 0, m.k+2)
	before, pooled, equal := make([]float64, d*d), make([]float64, d*d), true
	for _, cov := range covs {
		equal = equal && slices.Equal(cov, covs[0])
	}
	for k, cov := range covs {
		floats.AddScaled(before, float64(k+1)/geometricMean(diagonalOf(cov, d)), cov) // unequal shares: no two axes are as long
		floats.Add(pooled, at(scatters, k, d*d))
		if equal {
			candidates = append(candidates, slices.Clone(at(scatters, k, d*d)))
		}
	}
	lowest := math.Inf(1)
	try := func(c []float64) (ok bool) {
		one, ok := m.axesOf(c, scatters)
		if !ok {
			return false
		}
		m.commonAlong(one)
		if loss := m.loss(); loss < lowest || best.axes == nil {
			best, lowest = one, loss
		}
		return true
	}
	for _, c := range append(candidates, slices.Clone(pooled), before) {
		if !try(c) {
			return best, singular()
		}
	}
	m.commonAlong(best)
	if m.onFloor() {
		if !try(m.lifted(pooled, floats.Sum(m.n))) {
			return best, singular()
		}
		m.commonAlong(best)
	}
	return best, nil
}

// axesOf are the eigenvectors of a symmetric matrix, which is scratch then, the longest axis first.
func (m *maximum) axesOf(a, scatters []float64) (of axesAt, ok bool) {
	e, ok := linalg.NewSymmetricEigen(m.d, a)
	if !ok {
		return of, false
	}
	of.axes, of.bounded = slices.Clone(e.Vectors(m.d).RawMatrix().Data), m.floor != nil
	for k := range m.k {
		of.turned = append(of.turned, slices.Clone(at(scatters, k, m.d*m.d)))
	}
	if of.bounded {
		floor, spread := m.scales()
		of.turned = append(of.turned, floor, spread)
	}
	for _, a := range of.turned {
		m.turned(a, of.axes)
	}
	return of, true
}

// commonAlong takes the diagonals of DᵀW_kD of all classes, and finds the variances.
func (m *maximum) commonAlong(of axesAt) {
	if of.bounded {
		m.leastOf(of.turned[m.k], of.turned[m.k+1], m.least)
	}
	for k, w := range of.scatters() {
		copy(at(m.scatter, k, m.d), diagonalOf(w, m.d))
		copy(at(m.least, k, m.d), m.least)
	}
	for i, v := range m.scatter {
		m.scatter[i] = max(0, v)
	}
	m.variances()
}

// plane is the turn of axes i and j that minimises Σ_k (t_ii/σ²_ki + t_jj/σ²_kj), which is P cos 2θ + Q sin 2θ and a constant.
func (m *maximum) plane(scatters [][]float64, i, j int) (cos, sin float64) {
	d, p, q := m.d, 0.0, 0.0
	for k, t := range scatters {
		v := at(m.variance, k, d)
		g := 1/v[i] - 1/v[j]
		p += g * (t[i*d+i] - t[j*d+j]) / 2
		q += g * t[i*d+j]
	}
	if q == 0 && !(p > 0) || math.IsNaN(p+q) {
		return 1, 0
	}
	sin, cos = math.Sincos(math.Atan2(-q, -p) / 2)
	return cos, sin
}

// turn turns axes i and j and finds the variances; not so where that is worse, as it can be on the floor.
func (m *maximum) turn(of axesAt, i, j int, cos, sin float64) (better bool) {
	loss, bounded := m.loss(), m.onFloor()
	turnAll := func(sin float64) {
		turn(of.axes, m.d, i, j, cos, sin)
		for _, a := range of.turned {
			turnBoth(a, m.d, i, j, cos, sin)
		}
		m.commonAlong(of)
	}
	if turnAll(sin); (bounded || m.onFloor()) && m.loss() > loss {
		turnAll(-sin)
		return false
	}
	return true
}

// turn turns columns i and j of a matrix: i becomes cos·i + sin·j.
func turn(a []float64, d, i, j int, cos, sin float64) {
	for r := range d {
		x, y := a[r*d+i], a[r*d+j]
		a[r*d+i], a[r*d+j] = cos*x+sin*y, cos*y-sin*x
	}
}

// turnBoth turns columns and rows.
func turnBoth(a []float64, d, i, j int, cos, sin float64) {
	turn(a, d, i, j, cos, sin)
	for c := range d {
		x, y := a[i*d+c], a[j*d+c]
		a[i*d+c], a[j*d+c] = cos*x+sin*y, cos*y-sin*x
	}
}

// diagonalOf is the diagonal of a D×D matrix.
func diagonalOf(a []float64, d int) []float64 {
	v := make([]float64, d)
	for j := range v {
		v[j] = a[j*d+j]
	}
	return v
}
