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
	of, err := m.startingAxes(scatters, covs)
	if err != nil {
		return err
	}
	rounds, slow := mostRounds, 0
	if of.kept && m.conditional {
		rounds = fewRounds
	}
	for range rounds {
		loss := m.loss()
		most, ok := m.turnFreely(of)
		if !ok {
			if slow++; of.kept && slow > fewRounds {
				break
			}
			most = m.turnAboveFloor(of)
		}
		if after := m.loss(); most < 1e-9 || !ok && loss-after <= 1e-12*math.Abs(after) {
			break // the likelihood is flat there, and has all its digits
		}
	}
	for k, cov := range covs {
		assemble(of.axes, linalg.Row(m.variance, k, m.d), cov)
	}
	return nil
}

// axesAt are axes D, D×D with an axis a column, and along them K scatters DᵀW_kD and, with a floor, DᵀFD and DᵀSD, in
// one piece of memory.
type axesAt struct {
	all    []float64
	axes   []float64
	turned [][]float64 // K scatters, then the other two
	kept   bool        // they are those before
}

// resize makes room for axes of d columns and as many matrices along them.
func (a *axesAt) resize(d, matrices int) {
	a.all = linalg.Resize(a.all, (1+matrices)*d*d)
	a.axes, a.turned = linalg.Row(a.all, 0, d*d), a.turned[:0]
	for i := range matrices {
		a.turned = append(a.turned, linalg.Row(a.all, 1+i, d*d))
	}
}

// turn turns axes i and j, and what lies along them.
func (a *axesAt) turn(d, i, j int, cos, sin float64) {
	turn(a.axes, d, i, j, cos, sin)
	for _, t := range a.turned {
		turnBoth(t, d, i, j, cos, sin)
	}
}

// axesMemory is what common axes are found in.
type axesMemory struct {
	best, tried       axesAt
	all               []float64 // of axes before turns
	eigen             linalg.Axes
	before, pooled, a []float64 // D×D
	order             []int
	along             []float64 // D
}

// keep notes axes and what lies along them, for restore.
func (m *maximum) keep(of *axesAt) { m.turns.all = append(m.turns.all[:0], of.all...) }

// restore takes over what was noted, with its variances.
func (m *maximum) restore(of *axesAt) {
	copy(of.all, m.turns.all)
	m.commonAlong(of)
}

// turnFreely turns the axes of every plane once, and returns the sine of the largest angle. It leaves everything as it
// was and says so where a variance is, or comes to be, at its least. Without a floor σ²_ki is t_ii/f_k, with f_k = n_k
// of VVE, and of EVE |W_k|^(1/D), up to a factor of all classes: a turn changes no more than rows and columns i and j.
func (m *maximum) turnFreely(of *axesAt) (most float64, ok bool) {
	if m.onFloor() || !(floats.Min(m.scatter) > 0) {
		return 0, false
	}
	m.keep(of)
	d, scatters, weights, volumes := m.d, of.turned[:m.k], m.level, m.form == EVE
	copy(weights, m.n)
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
	m.turnScales(of)
	if m.commonAlong(of); !m.onFloor() {
		return most, true
	}
	m.restore(of)
	return 0, false
}

// turnAboveFloor turns the axes of every plane once, and returns the sine of the largest angle. The variances follow
// after all turns, or, where the floor makes that worse, after each.
func (m *maximum) turnAboveFloor(of *axesAt) (most float64) {
	loss := m.loss()
	m.keep(of)
	for i := range m.d {
		for j := i + 1; j < m.d; j++ {
			if cos, sin := m.plane(of.turned[:m.k], i, j); sin != 0 {
				of.turn(m.d, i, j, cos, sin)
				most = max(most, math.Abs(sin))
			}
		}
	}
	if m.commonAlong(of); m.loss() <= loss {
		return most
	}
	m.restore(of)
	most = 0
	for i := range m.d {
		for j := i + 1; j < m.d; j++ {
			if cos, sin := m.plane(of.turned[:m.k], i, j); sin != 0 && m.turn(of, i, j, cos, sin) {
				most = max(most, math.Abs(sin))
			}
		}
	}
	return most
}

// startingAxes are the best of the axes before and those of the pooled scatter, with a floor also of that raised by it,
// and where all covariances are still the same, as at a start, those of each class.
func (m *maximum) startingAxes(scatters []float64, covs [][]float64) (*axesAt, error) {
	d, t, lowest := m.d, &m.turns, math.Inf(1)
	t.a, t.before, t.pooled = linalg.Resize(t.a, d*d), linalg.Resize(t.before, d*d), linalg.Resize(t.pooled, d*d)
	t.along = linalg.Resize(t.along, d)
	clear(t.before)
	clear(t.pooled)
	equal := true
	for k, cov := range covs {
		equal = equal && slices.Equal(cov, covs[0])
		// unequal shares: no two axes are as long
		floats.AddScaled(t.before, float64(k+1)/geometricMean(diagonalOf(cov, t.along)), cov)
		floats.Add(t.pooled, linalg.Row(scatters, k, d*d))
	}
	try := func(c []float64, kept bool) (ok bool) {
		copy(t.a, c)
		if ok = m.axesOf(t.a, &t.tried, scatters); ok {
			t.tried.kept = kept
			m.commonAlong(&t.tried)
			if loss := m.loss(); loss < lowest || math.IsInf(lowest, 1) {
				t.best, t.tried, lowest = t.tried, t.best, loss
			}
		}
		return ok
	}
	ok := true
	for k := 0; equal && ok && k < m.k; k++ {
		ok = try(linalg.Row(scatters, k, d*d), false)
	}
	if ok = ok && try(t.before, true) && try(t.pooled, false); ok {
		if m.commonAlong(&t.best); m.onFloor() {
			copy(t.before, t.pooled)
			m.addFloor(t.before, floats.Sum(m.n))
			ok = try(t.before, false)
			m.commonAlong(&t.best)
		}
	}
	if !ok {
		return nil, variances.Singular()
	}
	return &t.best, nil
}

// axesOf takes the eigenvectors of a symmetric matrix, scratch then, in the order of the spread along them: the order
// of the turns does not depend on that of classes.
func (m *maximum) axesOf(a []float64, of *axesAt, scatters []float64) (ok bool) {
	d, t := m.d, &m.turns
	matrices := m.k
	if m.floor != nil {
		matrices += 2
	}
	if of.resize(d, matrices); !t.eigen.Find(d, a, true) { // its vectors are rows
		return false
	}
	t.order = t.order[:0]
	for j := range d {
		axis, sum := linalg.Row(a, j, d), 0.0
		for r, v := range axis {
			sum += v * floats.Dot(linalg.Row(t.pooled, r, d), axis)
		}
		t.along[j] = sum
		t.order = append(t.order, j)
	}
	slices.SortStableFunc(t.order, func(i, j int) int { return cmp.Compare(t.along[j], t.along[i]) })
	for to, j := range t.order {
		for r, v := range linalg.Row(a, j, d) {
			of.axes[r*d+to] = v
		}
	}
	for k, w := range of.turned[:m.k] {
		copy(w, linalg.Row(scatters, k, d*d))
		m.turned(w, of.axes)
	}
	m.turnScales(of)
	return true
}

// turnScales puts F and S along the axes, where there is a floor.
func (m *maximum) turnScales(of *axesAt) {
	if m.floor != nil {
		m.scales(of.axes, of.turned[m.k], of.turned[m.k+1])
	}
}

// commonAlong takes the diagonals of DᵀW_kD of all classes, and finds the variances.
func (m *maximum) commonAlong(of *axesAt) {
	for k, w := range of.turned[:m.k] {
		least := linalg.Row(m.least, k, m.d)
		switch {
		case m.floor == nil:
		case k == 0:
			m.leastOf(of.turned[m.k], of.turned[m.k+1], least)
		default:
			copy(least, m.least[:m.d])
		}
		diagonalOf(w, linalg.Row(m.scatter, k, m.d))
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
	r := math.Hypot(p, q)
	if q == 0 && !(p > 0) || !(r <= math.MaxFloat64) {
		return 1, 0
	}
	if p <= 0 { // |θ| ≤ 45°: no difference of equal numbers
		cos = math.Sqrt((1 - p/r) / 2)
		return cos, -q / r / (2 * cos)
	}
	sin = math.Copysign(math.Sqrt((1+p/r)/2), -q)
	return -q / r / (2 * sin), sin
}

// turn turns axes i and j and finds the variances; not so where that is worse, as it can be on the floor.
func (m *maximum) turn(of *axesAt, i, j int, cos, sin float64) (better bool) {
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

// diagonalOf puts the diagonal of a D×D matrix into dst, and returns it.
func diagonalOf(a, dst []float64) []float64 {
	for j := range dst {
		dst[j] = a[j*(len(dst)+1)]
	}
	return dst
}
