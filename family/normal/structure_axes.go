package normal

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/variances"
)

const fewRounds = 3

// commonAxes is EVE and VVE: axes D that all classes share. Given the variances, D minimises Σ_k tr(D diag(σ²_k)⁻¹ Dᵀ
// W_k), which Browne & McNicholas (2014, Advances in Data Analysis and Classification 8) lower by majorisation, and
// Flury & Gautschi (1986, SIAM J. Sci. Stat. Comput. 7) plane by plane, as here: in a plane of two axes the minimum has
// a closed form, and no majorant is as close. The variances follow after each turn.
//
// From the axes before, a step makes only fewRounds where there is more to gain elsewhere: given other parameters that
// are not at their maximum, or on the floor, where turns are slow. The next step goes on.
func (m *maximum) commonAxes(scatters []float64, covs [][]float64) error {
	start, err := m.startingAxes(scatters, covs)
	if err != nil {
		return err
	}
	rounds, slow := mostRounds, 0
	if start.kept && m.conditional {
		rounds = fewRounds
	}
	for range rounds {
		loss := m.loss()
		most, ok := m.turnFreely(start)
		if !ok {
			if slow++; start.kept && slow > fewRounds {
				break
			}
			most = m.turnAboveFloor(start)
		}
		if after := m.loss(); most < 1e-9 || !ok && loss-after <= 1e-12*math.Abs(after) {
			break // the likelihood is flat there, and has all its digits
		}
	}
	for k, cov := range covs {
		assemble(start.axes, linalg.Row(m.variance, k, m.d), cov)
	}
	return nil
}

// turnFreely turns the axes of every plane once, and returns the sine of the largest angle. It leaves everything as it
// was and says so where a variance is, or comes to be, at its least. Without a floor σ²_ki is t_ii/f_k, with f_k = n_k
// of VVE, and of EVE |W_k|^(1/D), up to a factor of all classes: a turn changes no more than rows and columns i and j.
func (m *maximum) turnFreely(of axesAt) (most float64, ok bool) {
	if m.onFloor() || !(floats.Min(m.scatter) > 0) {
		return 0, false
	}
	d, scatters, before := m.d, of.scatters(), of.clone()
	weights, volumes := slices.Clone(m.n), m.form == EVE
	for k := 0; volumes && k < m.k; k++ {
		weights[k] = geometricMean(linalg.Row(m.scatter, k, d))
	}
	for i := range d {
		for j := i + 1; j < d; j++ {
			p, q := 0.0, 0.0
			for k, t := range scatters {
				g := weights[k] * (1/t[i*d+i] - 1/t[j*d+j])
				p += g * (t[i*d+i] - t[j*d+j]) / 2
				q += g * t[i*d+j]
			}
			cos, sin := leastAngle(p, q)
			if sin == 0 {
				continue
			}
			most = max(most, math.Abs(sin))
			turn(of.axes, d, i, j, cos, sin)
			for k, t := range scatters {
				volume := t[i*d+i] * t[j*d+j]
				turnBoth(t, d, i, j, cos, sin)
				if volumes {
					weights[k] *= math.Pow(t[i*d+i]*t[j*d+j]/volume, 1/float64(d))
				}
			}
		}
	}
	if of.bounded {
		floor, spread := m.scales()
		m.turned(floor, of.axes)
		m.turned(spread, of.axes)
		copy(of.turned[m.k], floor)
		copy(of.turned[m.k+1], spread)
	}
	if m.commonAlong(of); !m.onFloor() {
		return most, true
	}
	of.restore(before)
	m.commonAlong(of)
	return 0, false
}

// turnAboveFloor turns the axes of every plane once, and returns the sine of the largest angle. The variances follow
// after all turns, or, where the floor makes that worse, after each.
func (m *maximum) turnAboveFloor(of axesAt) (most float64) {
	loss, before := m.loss(), of.clone()
	for i := range m.d {
		for j := i + 1; j < m.d; j++ {
			if cos, sin := m.plane(of.scatters(), i, j); sin != 0 {
				of.turn(m.d, i, j, cos, sin)
				most = max(most, math.Abs(sin))
			}
		}
	}
	if m.commonAlong(of); m.loss() <= loss {
		return most
	}
	of.restore(before)
	m.commonAlong(of)
	most = 0
	for i := range m.d {
		for j := i + 1; j < m.d; j++ {
			if cos, sin := m.plane(of.scatters(), i, j); sin != 0 && m.turn(of, i, j, cos, sin) {
				most = max(most, math.Abs(sin))
			}
		}
	}
	return most
}

// axesAt are axes D, D×D with an axis a column, and along them K scatters DᵀW_kD and, with a floor, DᵀFD and DᵀSD.
type axesAt struct {
	axes    []float64
	turned  [][]float64
	bounded bool
	kept    bool // they are those before
}

// scatters are those of the classes.
func (a axesAt) scatters() [][]float64 {
	if a.bounded {
		return a.turned[:len(a.turned)-2]
	}
	return a.turned
}

func (a axesAt) clone() axesAt {
	c := axesAt{axes: slices.Clone(a.axes), bounded: a.bounded}
	for _, t := range a.turned {
		c.turned = append(c.turned, slices.Clone(t))
	}
	return c
}

// restore takes over what a clone has.
func (a axesAt) restore(c axesAt) {
	copy(a.axes, c.axes)
	for k, t := range c.turned {
		copy(a.turned[k], t)
	}
}

// turn turns axes i and j, and what lies along them.
func (a axesAt) turn(d, i, j int, cos, sin float64) {
	turn(a.axes, d, i, j, cos, sin)
	for _, t := range a.turned {
		turnBoth(t, d, i, j, cos, sin)
	}
}

// startingAxes are the best of the axes before and those of the pooled scatter, with a floor also of that raised by it,
// and where all covariances are still the same, as at a start, those of each class.
func (m *maximum) startingAxes(scatters []float64, covs [][]float64) (best axesAt, err error) {
	d := m.d
	candidates := make([][]float64, 0, m.k+2)
	before, pooled, equal := make([]float64, d*d), make([]float64, d*d), true
	for _, cov := range covs {
		equal = equal && slices.Equal(cov, covs[0])
	}
	for k, cov := range covs {
		// unequal shares: no two axes are as long
		floats.AddScaled(before, float64(k+1)/geometricMean(diagonalOf(cov, d)), cov)
		floats.Add(pooled, linalg.Row(scatters, k, d*d))
		if equal {
			candidates = append(candidates, slices.Clone(linalg.Row(scatters, k, d*d)))
		}
	}
	lowest := math.Inf(1)
	try := func(c []float64, kept bool) (ok bool) {
		one, ok := m.axesOf(c, scatters)
		one.kept = kept
		if !ok {
			return false
		}
		m.commonAlong(one)
		if loss := m.loss(); loss < lowest || best.axes == nil {
			best, lowest = one, loss
		}
		return true
	}
	for i, c := range append(candidates, before, slices.Clone(pooled)) {
		if !try(c, i == len(candidates)) {
			return best, variances.Singular()
		}
	}
	m.commonAlong(best)
	if m.onFloor() {
		if !try(m.lifted(pooled, floats.Sum(m.n)), false) {
			return best, variances.Singular()
		}
		m.commonAlong(best)
	}
	return best, nil
}

// axesOf are the eigenvectors of a symmetric matrix, which is scratch then, in the order of the spread along them.
func (m *maximum) axesOf(a, scatters []float64) (of axesAt, ok bool) {
	e, ok := linalg.NewSymmetricEigen(m.d, a)
	if !ok {
		return of, false
	}
	of.axes, of.bounded = slices.Clone(e.Vectors(m.d).RawMatrix().Data), m.floor != nil
	pooled := make([]float64, m.d*m.d)
	for k := range m.k {
		of.turned = append(of.turned, slices.Clone(linalg.Row(scatters, k, m.d*m.d)))
		floats.Add(pooled, of.turned[k])
	}
	m.sortAxes(of.axes, pooled)
	if of.bounded {
		floor, spread := m.scales()
		of.turned = append(of.turned, floor, spread)
	}
	for _, a := range of.turned {
		m.turned(a, of.axes)
	}
	return of, true
}

// sortAxes sorts axes, the columns, by the spread along them, the largest first: the order of the turns does not depend
// on that of classes.
func (m *maximum) sortAxes(axes, spread []float64) {
	along := slices.Clone(spread)
	m.turned(along, axes)
	order, from := make([]int, m.d), slices.Clone(axes)
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(along[j*(m.d+1)], along[i*(m.d+1)]) })
	for to, j := range order {
		for r := range m.d {
			axes[r*m.d+to] = from[r*m.d+j]
		}
	}
}

// commonAlong takes the diagonals of DᵀW_kD of all classes, and finds the variances.
func (m *maximum) commonAlong(of axesAt) {
	if of.bounded {
		m.leastOf(of.turned[m.k], of.turned[m.k+1], m.least)
	}
	for k, w := range of.scatters() {
		copy(linalg.Row(m.scatter, k, m.d), diagonalOf(w, m.d))
		copy(linalg.Row(m.least, k, m.d), m.least)
	}
	for i, v := range m.scatter {
		m.scatter[i] = max(0, v)
	}
	m.variances()
}

// plane is the turn of axes i and j that minimises Σ_k (t_ii/σ²_ki + t_jj/σ²_kj), which is P cos 2θ + Q sin 2θ and a
// constant.
func (m *maximum) plane(scatters [][]float64, i, j int) (cos, sin float64) {
	d, p, q := m.d, 0.0, 0.0
	for k, t := range scatters {
		v := linalg.Row(m.variance, k, d)
		g := 1/v[i] - 1/v[j]
		p += g * (t[i*d+i] - t[j*d+j]) / 2
		q += g * t[i*d+j]
	}
	return leastAngle(p, q)
}

// leastAngle is the θ that minimises p cos 2θ + q sin 2θ.
func leastAngle(p, q float64) (cos, sin float64) {
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
		of.turn(m.d, i, j, cos, sin)
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

// turnBoth turns columns and rows of a symmetric matrix.
func turnBoth(a []float64, d, i, j int, cos, sin float64) {
	rowI, rowJ := linalg.Row(a, i, d), linalg.Row(a, j, d)
	for c, x := range rowI {
		y := rowJ[c]
		rowI[c], rowJ[c] = cos*x+sin*y, cos*y-sin*x
	}
	for _, row := range [2][]float64{rowI, rowJ} {
		x, y := row[i], row[j]
		row[i], row[j] = cos*x+sin*y, cos*y-sin*x
	}
	rowJ[i] = rowI[j]
	for c := range d {
		a[c*d+i], a[c*d+j] = rowI[c], rowJ[c]
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
