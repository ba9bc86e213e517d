package family

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	lapack "gonum.org/v1/gonum/lapack/gonum"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Missing values of a covariance matrix are latent variables of the family's own. With P = RᵀR the precision of a
// class, m and o the columns missing and present, and y_o = x_o − μ_o,
//
//	x_m | x_o ~ N(μ_m + v, C),  v = −C P_mo y_o,  C = P_mm⁻¹.
//
// The sums of a row are completed by the conditional mean, those of its squares by C too (Little & Rubin, Statistical
// Analysis with Missing Data, section 11.2). And the density of what is present is that of the completed row x̂ without
// what the missing columns add to it at their conditional mean,
//
//	ln p(x_o) = ln p(x̂) + ½(|m| ln 2π + ln|C|):
//
// a sum of squares from which nothing is subtracted, an error of v enters it squared, and completed rows have the
// kernels of complete ones. C comes from P_mm = UᵀD⁻¹U, U upper triangular with the diagonal D: by Gauss's elimination
// or, where that would lose digits, by the QR factorisation of the missing columns of R, R_m = QD^−½U.

// gaps are the rows of a chunk with missing values, those with the same columns missing together and those with as many
// next to each other, and what their completion needs. The memory is reused from one chunk to the next.
type gaps struct {
	patterns []pattern
	rows     []int32
	gone     []int
	missing  []uint64 // of each row, which columns are, a bit each
	order    []incomplete
	kept     []pattern // those of rows that have weights
	list     []int32
	places   []int // of one row of each pattern among all

	classes []precision
	lanes   lanes
}

// A pattern is a set of missing columns, ascending, and the rows that miss them.
type pattern struct {
	gone []int
	rows []int32
}

// incomplete is a row, how many columns it misses, and which of the first 64.
type incomplete struct {
	row, count int32
	mask       uint64
}

// precision is P of a class, and the root that it belongs to.
type precision struct{ root, matrix []float64 }

// lanes are patterns of equally many missing columns, m, which are worked on at once: number a of pattern l lies at
// a·side+l. Their number is filled up to that of the vector kernels' lanes by more of the last pattern.
type lanes struct {
	patterns []pattern
	m, side  int
	u        []float64 // D⁻¹U, m×m, what is above the diagonal counts
	inverse  []float64 // 1/D
	logDet   []float64 // ln|C|
	narrow   []bool    // that U comes from QR
	some     bool      // that one does
	v        []float64 // of one row each
	w        []float64 // U⁻¹D, m×m
	work     []float64

	qr, tau, y, scratch []float64 // of one pattern
}

// pivotShare is the share of a precision that the other missing columns have to leave of it. Below, elimination would
// keep fewer than nine digits.
const pivotShare = 1e-6

// negligibleShare is the share of a class's weight that completes no row: its missing values lie at the anchor. What
// that leaves out of the sums is below their rounding, unless a row lies 10,000 standard deviations away.
const negligibleShare = 0x1p-80

// mostNumbersOfLanes bounds the numbers of U of all patterns together.
const mostNumbersOfLanes = 1 << 14

// observeGaps groups the rows by their patterns.
func (o *Observed) observeGaps(b framework.Rows, at, first, n, d int) error {
	if err := o.numbers(b, at, first, n, d); err != nil || o.Complete {
		return err
	}
	if o.gaps == nil {
		o.gaps = &gaps{}
	}
	g, words := o.gaps, (d+63)/64
	g.missing, g.gone, g.patterns = slices.Grow(g.missing[:0], n*words)[:n*words], g.gone[:0], g.patterns[:0]
	g.order = g.order[:0]
	of := func(row int32) []uint64 { return g.missing[int(row)*words:][:words] }
	total := 0
	for i := range n {
		mask, count := of(int32(i)), 0
		clear(mask)
		for j, v := range o.Row(i, d) {
			bit := 0
			if v != v { // without a branch
				bit = 1
			}
			mask[j/64] |= uint64(bit) << (j % 64)
			count += bit
		}
		if total += count; count > 0 {
			g.order = append(g.order, incomplete{int32(i), int32(count), mask[0]})
		}
	}
	slices.SortFunc(g.order, func(a, b incomplete) int {
		switch {
		case a.count != b.count:
			return int(a.count - b.count)
		case a.mask != b.mask:
			return cmp.Compare(a.mask, b.mask)
		}
		return cmp.Or(slices.Compare(of(a.row), of(b.row)), int(a.row-b.row))
	})
	g.rows, g.gone = g.rows[:0], slices.Grow(g.gone, total) // so that patterns keep their part of it
	for _, r := range g.order {
		g.rows = append(g.rows, r.row)
	}
	for from, to := 0, 0; from < len(g.rows); from = to {
		mask, begin := of(g.rows[from]), len(g.gone)
		for to = from; to < len(g.rows) && slices.Equal(of(g.rows[to]), mask); {
			to++
		}
		for w, word := range mask {
			for ; word != 0; word &= word - 1 {
				g.gone = append(g.gone, 64*w+bits.TrailingZeros64(word))
			}
		}
		g.patterns = append(g.patterns, pattern{g.gone[begin:], g.rows[from:to]})
	}
	return nil
}

// of is the precision of class k with root R, computed where it is not known.
func (g *gaps) of(k, d int, root []float64) *precision {
	for len(g.classes) <= k {
		g.classes = append(g.classes, precision{})
	}
	c := &g.classes[k]
	if slices.Equal(c.root, root) {
		return c
	}
	c.root, c.matrix = append(c.root[:0], root...), linalg.Resize(c.matrix, d*d)
	r := linalg.General(d, d, c.root)
	linalg.MulSerial(true, false, 1, r, r, 0, linalg.General(d, d, c.matrix))
	return c
}

// set takes patterns from the beginning of a list, and returns the rest.
func (e *lanes) set(list []pattern) (rest []pattern) {
	e.m = len(list[0].gone)
	most := max(simd.Lanes, mostNumbersOfLanes/(e.m*e.m)&^(simd.Lanes-1))
	n := 1
	for n < min(most, len(list)) && len(list[n].gone) == e.m {
		n++
	}
	e.patterns, e.side = list[:n], simd.Padded(n)
	return list[n:]
}

// factorise computes U and ln|C| of a class.
func (e *lanes) factorise(c *precision, d int) {
	m, side := e.m, e.side
	e.u, e.inverse = linalg.Resize(e.u, m*m*side), linalg.Resize(e.inverse, m*side)
	e.work = linalg.Resize(e.work, (m+1)*side)
	e.narrow, e.some = slices.Grow(e.narrow[:0], side)[:side], false
	clear(e.narrow)
	for l := range side {
		gone := e.patterns[min(l, len(e.patterns)-1)].gone
		for a, i := range gone {
			from, to := c.matrix[i*d:(i+1)*d], e.u[a*m*side+l:]
			for b := a; b < m; b++ {
				to[b*side] = from[gone[b]]
			}
		}
	}
	for a := range m { // of each column, the least pivot; then what is left of the precision
		least := at(e.inverse, a, side)
		for l, v := range at(e.u, a*m+a, side) {
			least[l] = pivotShare * v
		}
	}
	for a := range m {
		e.eliminate(a)
	}
	if e.some {
		e.triangularise(c.root, d)
	}
	e.logDet = linalg.Resize(e.logDet, side)
	clear(e.logDet)
	logs := e.work[:side]
	for a := range m {
		simd.Log(logs, at(e.inverse, a, side))
		floats.Add(e.logDet, logs)
	}
}

// eliminate takes column a out of those after it.
func (e *lanes) eliminate(a int) {
	m, side := e.m, e.side
	inverse, negative, factors := at(e.inverse, a, side), e.work[:side], e.work[side:(m-a)*side]
	for l, pivot := range at(e.u, a*m+a, side) {
		if !(pivot > inverse[l]) {
			e.narrow[l], e.some = true, true
		}
		inverse[l] = 1 / pivot
		negative[l] = -inverse[l]
	}
	row := e.u[(a*m+a+1)*side : (a+1)*m*side]
	clear(factors)
	simd.SubtractProducts(factors, side, row, side, negative, m-a-1, side)
	for b := a + 1; b < m; b++ {
		simd.SubtractProducts(e.u[(b*m+b)*side:], side, row[(b-a-1)*side:], side, at(factors, b-a-1, side), m-b, side)
	}
	copy(row, factors)
}

// triangularise computes U of narrow patterns by Householder's reflections of R_m, which is 0 below the row of its last
// column.
func (e *lanes) triangularise(root []float64, d int) {
	m := e.m
	for l, narrow := range e.narrow {
		if !narrow {
			continue
		}
		e.reflect(root, e.patterns[min(l, len(e.patterns)-1)].gone, d)
		for a := range m {
			pivot := e.qr[a*m+a]
			e.inverse[a*e.side+l] = 1 / (pivot * pivot)
			for b := a + 1; b < m; b++ {
				e.u[(a*m+b)*e.side+l] = e.qr[a*m+b] / pivot
			}
		}
	}
}

// reflect puts the QR factorisation of R_m into qr.
func (e *lanes) reflect(root []float64, gone []int, d int) {
	m, rows := e.m, gone[e.m-1]+1
	e.qr, e.tau = linalg.Resize(e.qr, rows*m), linalg.Resize(e.tau, m)
	e.y, e.scratch = linalg.Resize(e.y, d), linalg.Resize(e.scratch, max(m, d))
	for i := range rows {
		for b, j := range gone {
			e.qr[i*m+b] = root[i*d+j]
		}
	}
	lapack.Implementation{}.Dgeqr2(rows, m, e.qr, m, e.tau, e.scratch)
}

// solve solves P_mm v = P_mo y for one row of each pattern: x_m is μ_m − v. Its y and its product with P begin at
// places, and the numbers of a column are apart by stride. Patterns without a place have no such row.
func (e *lanes) solve(root, y, product []float64, places []int, stride, d int) {
	m, side, n := e.m, e.side, simd.Padded(len(places))
	e.v = linalg.Resize(e.v, m*side)
	for a := range m {
		to := at(e.v, a, side)[:n]
		clear(to[len(places):])
		for l, q := range places {
			to[l] = product[e.patterns[l].gone[a]*stride+q]
		}
	}
	for a := range m - 1 {
		simd.SubtractProducts(e.v[(a+1)*side:], side, e.u[(a*m+a+1)*side:], side, at(e.v, a, side), m-a-1, n)
	}
	if e.some {
		e.projectNarrow(root, y, places, stride, d)
	}
	for a := range m {
		inverse := at(e.inverse, a, side)
		for l, v := range at(e.v, a, side)[:n] {
			e.v[a*side+l] = v * inverse[l]
		}
	}
	for b := m - 1; b > 0; b-- {
		simd.SubtractProducts(e.v, side, e.u[b*side:], m*side, at(e.v, b, side), b, n)
	}
}

// projectNarrow puts D^½Qᵀ of Ry in the place of DU⁻ᵀP_mo y, which it is.
func (e *lanes) projectNarrow(root, y []float64, places []int, stride, d int) {
	for l, q := range places {
		if !e.narrow[l] {
			continue
		}
		m, gone := e.m, e.patterns[l].gone
		e.reflect(root, gone, d)
		for j := range d {
			e.y[j] = y[j*stride+q]
		}
		rows := len(e.qr) / m
		for a := range rows {
			e.y[a] = linalg.Dot(root[a*d+a:(a+1)*d], e.y[a:])
		}
		lapack.Implementation{}.Dorm2r(blas.Left, blas.Trans, rows, 1, m, e.qr, m, e.tau, e.y, 1, e.scratch)
		for a := range m {
			e.v[a*e.side+l] = e.qr[a*m+a] * e.y[a]
		}
	}
}

// addCovariances adds C = WD⁻¹Wᵀ, W = U⁻¹D, of each pattern to the upper triangle of second, d×d, weights of its rows
// times.
func (e *lanes) addCovariances(second, weights []float64, d int) {
	m, side := e.m, e.side
	e.w, e.work = linalg.Resize(e.w, m*m*side), linalg.Resize(e.work, (m+2)*side)
	sums, factor, of := e.work[2*side:], e.work[:side], e.work[side:2*side]
	clear(of)
	for l, p := range e.patterns {
		for _, i := range p.rows {
			of[l] += weights[i]
		}
	}
	for a := m - 1; a >= 0; a-- {
		row, sums := e.w[a*m*side:(a+1)*m*side], sums[:(m-a)*side]
		linalg.Fill(at(row, a, side), 1)
		clear(row[(a+1)*side:])
		for b := a; b < m-1; b++ {
			simd.SubtractProducts(row[(b+1)*side:], side, e.u[(b*m+b+1)*side:], side, at(row, b, side), m-b-1, side)
		}
		clear(sums)
		for c := a; c < m; c++ {
			inverse := at(e.inverse, c, side)
			for l, w := range at(row, c, side) {
				factor[l] = -w * inverse[l] * of[l]
			}
			simd.SubtractProducts(sums, side, e.w[(a*m+c)*side:], m*side, factor, c-a+1, side)
		}
		for l, p := range e.patterns {
			to := second[p.gone[a]*d:]
			for b, j := range p.gone[a:] {
				to[j] += sums[b*side+l]
			}
		}
	}
}

// above are the patterns of the rows whose weights are above least, nil for all, and these rows.
func (g *gaps) above(weights []float64, least float64) ([]pattern, []int32) {
	if weights == nil {
		return g.patterns, g.rows
	}
	g.kept, g.list = g.kept[:0], slices.Grow(g.list[:0], len(g.rows)) // so that patterns keep their part of it
	for _, p := range g.patterns {
		first := len(g.list)
		for _, i := range p.rows {
			if weights[i] > least {
				g.list = append(g.list, i)
			}
		}
		if first < len(g.list) {
			g.kept = append(g.kept, pattern{p.gone, g.list[first:]})
		}
	}
	return g.kept, g.list
}

// complete puts the conditional means of a class into the rows whose weights are above least, nil for all, and calls
// visit with patterns of these rows, some at a time.
func (g *gaps) complete(o *Observed, c *precision, weights []float64, least float64, location []float64, n int,
	visit func(e *lanes)) {
	patterns, rows := g.above(weights, least)
	d, side, e := len(location), simd.Padded(len(rows)), &g.lanes
	o.Work = linalg.Resize(o.Work, 2*d*side)
	y, product := o.Work[:d*side], o.Work[d*side:]
	simd.Gather(y, o.X, d, n, rows)
	for j, m := range location {
		column := at(y, j, side)
		for i, v := range column {
			column[i] = v - m
		}
	}
	first := 0
	for _, p := range patterns {
		for _, j := range p.gone {
			for q := range p.rows { // a call of clear takes longer
				y[j*side+first+q] = 0
			}
		}
		first += len(p.rows)
	}
	in, out := linalg.General(d, side, y), linalg.General(d, side, product)
	linalg.MulSerial(false, false, 1, linalg.General(d, d, c.matrix), in, 0, out)
	first = 0
	for len(patterns) > 0 {
		patterns = e.set(patterns)
		e.factorise(c, d)
		for t := 0; ; t++ { // row t of each pattern
			g.places = g.places[:0]
			place, found := first, 0
			for l, p := range e.patterns {
				g.places = append(g.places, place+min(t, len(p.rows)-1))
				if place += len(p.rows); t < len(p.rows) {
					found = l + 1
				}
			}
			if found == 0 {
				first = place
				break
			}
			e.solve(c.root, y, product, g.places[:found], side, d)
			for l, p := range e.patterns[:found] {
				if t < len(p.rows) {
					for a, j := range p.gone {
						o.X[j*n+int(p.rows[t])] = location[j] - e.v[a*e.side+l]
					}
				}
			}
		}
		visit(e)
	}
}

// addIncompleteScores is AddScores for rows with missing values.
func (g gaussian) addIncompleteScores(o *Observed, scores Table, r []float64) {
	d, n := g.d, o.Padded()
	for k := range scores.K {
		location, root := g.split(scores.Row(k, 1+d+d*d), 1)
		to := at(r, k, n)
		o.gaps.complete(o, o.gaps.of(k, d, root), nil, 0, location, n, func(e *lanes) {
			for l, p := range e.patterns {
				rest := (float64(e.m)*math.Log(2*math.Pi) + e.logDet[l]) / 2
				for _, i := range p.rows {
					to[i] += rest
				}
			}
		})
		o.Work = linalg.Resize(o.Work, simd.ScoresWork(d))
		g.scoreAll(o, scores, k, to)
	}
}

// addIncompleteSums is AddSums for rows with missing values. Before there are scores, which is when the table is summed
// up as one class and classes begin, a missing value says nothing of its column's mean, and lies at the anchor.
func (g gaussian) addIncompleteSums(o *Observed, r []float64, scores, anchors, sums Table) (entropy float64) {
	d, n := g.d, o.Padded()
	for k := range sums.K {
		to, anchor, weights := sums.Row(k, 1+2*d+d*d), anchors.Row(k, d), at(r, k, n)
		first, second := g.split(to, 1)
		values := to[1+d+d*d:]
		o.anchorGaps(anchor, n)
		if location, root := g.split(scores.Row(k, 1+d+d*d), 1); root[0] == 0 {
			o.addValues(weights, values)
		} else {
			total := floats.Sum(weights)
			floats.AddConst(total, values)
			least := negligibleShare * (to[0] + total)
			o.gaps.complete(o, o.gaps.of(k, d, root), weights, least, location, n, func(e *lanes) {
				e.addCovariances(second, weights, d)
				for l, p := range e.patterns {
					for _, i := range p.rows {
						entropy += weights[i] * (float64(e.m)*(1+math.Log(2*math.Pi)) + e.logDet[l]) / 2
					}
				}
			})
		}
		o.Work = linalg.Resize(o.Work, simd.MomentsWork(d, n))
		x, w := g.weighed(o, weights)
		to[0] += simd.GaussianMoments(first, second, x, d, len(w), anchor, w, o.Work)
	}
	return entropy
}

// anchorGaps puts missing values at the anchor: rows without weight have to be finite, too.
func (o *Observed) anchorGaps(anchor []float64, n int) {
	for _, p := range o.gaps.patterns {
		for _, j := range p.gone {
			for _, i := range p.rows {
				o.X[j*n+int(i)] = anchor[j]
			}
		}
	}
}

// addValues adds the weights of the rows that have a value to each column's.
func (o *Observed) addValues(weights, values []float64) {
	for i := range o.N {
		for j, v := range o.Row(i, len(values)) {
			if v == v {
				values[j] += weights[i]
			}
		}
	}
}
