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
	axes := start.axes
	for range mostRounds {
		turned := 0.0
		for i := range d {
			for j := i + 1; j < d; j++ {
				cos, sin := m.plane(start.turned, i, j)
				if sin == 0 {
					continue
				}
				turn(axes, d, i, j, cos, sin)
				for k := range m.k {
					turnBoth(at(start.turned, k, d*d), d, i, j, cos, sin)
				}
				m.along(start.turned)
				turned = max(turned, math.Abs(sin))
			}
		}
		if turned < 1e-9 { // the likelihood is flat there, and has all its digits
			break
		}
	}
	for k, cov := range covs {
		assemble(axes, at(m.variance, k, d), cov)
	}
	return nil
}

// axesAt are axes D, D×D with an axis a column, and D_kᵀW_kD_k, K×D×D.
type axesAt struct{ axes, turned []float64 }

// startingAxes are the best of the axes before and those of the pooled scatter, and where all covariances are still the same, as at
// a start, those of each class.
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
	for _, c := range append(candidates, pooled, before) {
		e, ok := linalg.NewSymmetricEigen(d, c)
		if !ok {
			return best, singular()
		}
		one := axesAt{slices.Clone(e.Vectors(d).RawMatrix().Data), make([]float64, m.k*d*d)}
		for k := range m.k {
			product := make([]float64, d*d)
			linalg.MulSerial(false, false, 1, linalg.General(d, d, at(scatters, k, d*d)), linalg.General(d, d, one.axes), 0, linalg.General(d, d, product))
			linalg.MulSerial(true, false, 1, linalg.General(d, d, one.axes), linalg.General(d, d, product), 0, linalg.General(d, d, at(one.turned, k, d*d)))
		}
		m.along(one.turned)
		if loss := m.loss(); loss < lowest || best.axes == nil {
			best, lowest = one, loss
		}
	}
	m.along(best.turned)
	return best, nil
}

// along takes the diagonals of D_kᵀW_kD_k, and finds the variances.
func (m *maximum) along(turned []float64) {
	for k := range m.k {
		copy(at(m.scatter, k, m.d), diagonalOf(at(turned, k, m.d*m.d), m.d))
	}
	for i, v := range m.scatter {
		m.scatter[i] = max(0, v)
	}
	m.variances()
}

// loss is Σ_k n_k ln|Σ_k|: what is left of −2 times the objective at the variances given the axes.
func (m *maximum) loss() (sum float64) {
	for k, nk := range m.n {
		for _, v := range at(m.variance, k, m.d) {
			sum += nk * math.Log(v)
		}
	}
	return sum
}

// plane is the turn of axes i and j that minimises Σ_k (t_ii/σ²_ki + t_jj/σ²_kj), which is P cos 2θ + Q sin 2θ and a constant.
func (m *maximum) plane(turned []float64, i, j int) (cos, sin float64) {
	d, p, q := m.d, 0.0, 0.0
	for k := range m.k {
		t, v := at(turned, k, d*d), at(m.variance, k, d)
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
