package normal

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	lapack "gonum.org/v1/gonum/lapack/gonum"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
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
// kernels of complete ones. C comes from P_mm = UᵀDU, U upper triangular with the diagonal 1: by Gauss's elimination
// or, where that would lose digits, by the QR factorisation of the missing columns of R, R_m = QD^½U.

// gaps are the rows of a chunk in the order of their patterns, complete ones first, and what their completion needs.
// The memory is reused from one chunk to the next.
type gaps struct {
	patterns []pattern
	gone     []int
	rows     []int32 // of each place in the order, the row of the chunk
	cells    []int32 // the missing values' places in X and in the matrices beside it, by patterns and rows
	columns  []int32 // theirs
	first    int     // the place of the first row that is not complete

	keys   []byte
	spare  []int32
	x      []float64
	own    []float64 // of the rows in the order
	places []int     // of one row of each pattern among cells
	kept   []pattern // those of rows that have weights

	classes []completion
}

// A pattern is a set of missing columns, ascending, and the rows that miss them: their places in the order, where their
// missing values begin among all, and what the rows weigh in the class whose sums are taken.
type pattern struct {
	gone           []int
	from, to, cell int
	weight         float64
}

// completion is a class's precision P, the score that it belongs to, and v, what the chunk's missing values lie
// below μ.
type completion struct {
	location, root, matrix []float64
	below                  []float64
	known                  bool
}

// group are patterns of equally many missing columns, m, which are worked on at once, each in a lane. Their number is
// filled up to that of the vector kernels' lanes by more of the last pattern.
type group struct {
	patterns []pattern
	m, side  int
	u        []float64 // U, and D, m×m; below its diagonal C, once it is asked for
	inverse  []float64 // 1/D
	logDet   []float64 // ln|C|
	margin   []float64 // not above 0 where U comes from QR

	factorised, inverted bool
}

// solver has the factors of patterns' P_mm and what they need. It goes from one chunk to another: chunks keep little.
type solver struct {
	root    []float64 // of the class whose factors they are
	groups  []group
	memory  []float64
	whole   bool      // every group has memory of its own
	rows    []float64 // less μ, and completed, d columns
	product []float64 // P times what is not missing of them

	v, work, qr, tau, y, scratch []float64
}

var solvers = sync.Pool{New: func() any { return &solver{} }}

// pivotShare is the share of a precision that the other missing columns have to leave of it. Below, elimination would
// keep fewer than nine digits.
const pivotShare = 1e-6

// negligibleShare is the share of a class's weight that completes no row: its missing values lie at the anchor. What
// that leaves out of the sums is below their rounding, unless a row lies 10,000 standard deviations away.
const negligibleShare = 0x1p-80

// mostNumbersKept bounds the factors that are there at once: above it, one group's are.
const mostNumbersKept = 1 << 15

// observeGaps sorts the rows by their patterns.
func observeGaps(o *family.Observed, b blocks.Rows, at, first, n, d int) error {
	if whole, err := o.Transpose(b, at, first, n, d); whole || err != nil {
		return err
	}
	g := &memory[own](o).gaps
	total, width, infinite := g.sort(o, n, d)
	if infinite {
		return o.Numbers(b, at, first, n, d) // which says where
	}
	o.Complete = false
	g.patterns = g.patterns[:0]
	g.gone = slices.Grow(g.gone[:0], total) // so that patterns keep their part of it
	g.cells, g.columns = slices.Grow(g.cells[:0], total), slices.Grow(g.columns[:0], total)
	for from, to := 0, 0; from < n; from = to {
		key, begin := g.keys[int(g.rows[from])*width:][:width], len(g.gone)
		for to = from; to < n && bytes.Equal(g.keys[int(g.rows[to])*width:][:width], key); {
			to++
		}
		for b, set := range key[:(d+7)/8] {
			for ; set != 0; set &= set - 1 {
				g.gone = append(g.gone, 8*b+bits.TrailingZeros8(set))
			}
		}
		if begin == len(g.gone) {
			g.first = to
			continue
		}
		p := pattern{gone: g.gone[begin:], from: from, to: to, cell: len(g.cells)}
		for i := from; i < to; i++ {
			for _, j := range p.gone {
				g.cells = append(g.cells, int32(j*o.Padded()+i))
				g.columns = append(g.columns, int32(j))
			}
		}
		g.patterns = append(g.patterns, p)
	}
	g.x = linalg.Resize(g.x, len(o.X))
	simd.Gather(g.x, o.X, d, o.Padded(), g.rows)
	o.X, g.x = g.x, o.X
	for k := range g.classes {
		g.classes[k].known = false
	}
	return nil
}

// sort puts the rows in the order of their keys, which are so wide: a bit for each missing column, then how many there
// are. It returns how many values are missing, and whether one is infinite.
func (g *gaps) sort(o *family.Observed, n, d int) (total, width int, infinite bool) {
	width = (d+7)/8 + 1 + d/256
	g.keys = slices.Grow(g.keys[:0], n*width)[:n*width]
	g.rows, g.spare, g.first = slices.Grow(g.rows[:0], n)[:n], slices.Grow(g.spare[:0], n)[:n], 0
	for i := range n {
		g.rows[i] = int32(i)
		row, key, count := o.Row(i, d), g.keys[i*width:][:width], 0
		for b := range (d + 7) / 8 {
			var set, odd uint8
			for j, v := range row[8*b : min(8*b+8, d)] {
				var one, other uint8
				if v != v { // without a branch
					one = 1
				}
				if v-v != 0 {
					other = 1
				}
				set, odd = set|one<<j, odd|other<<j
			}
			key[b], infinite = set, infinite || set != odd
			count += bits.OnesCount8(set)
		}
		total += count
		for b := (d + 7) / 8; b < width; b++ {
			key[b] = uint8(count)
			count >>= 8
		}
	}
	for b := range width {
		var begin [257]int32
		for i := range n {
			begin[int(g.keys[i*width+b])+1]++
		}
		for v := range 256 {
			begin[v+1] += begin[v]
		}
		for _, i := range g.rows {
			v := g.keys[int(i)*width+b]
			g.spare[begin[v]] = i
			begin[v]++
		}
		g.rows, g.spare = g.spare, g.rows
	}
	return total, width, infinite
}

// of is what is known of class k under its score.
func (g *gaps) of(k, d int, location, root []float64) *completion {
	for len(g.classes) <= k {
		g.classes = append(g.classes, completion{})
	}
	c := &g.classes[k]
	if !slices.Equal(c.root, root) {
		c.root, c.matrix, c.known = append(c.root[:0], root...), linalg.Resize(c.matrix, d*d), false
		r := linalg.General(d, d, c.root)
		linalg.MulSerial(true, false, 1, r, r, 0, linalg.General(d, d, c.matrix))
	}
	if !slices.Equal(c.location, location) {
		c.location, c.known = append(c.location[:0], location...), false
	}
	return c
}

// set divides patterns, ascending in their number of columns, into groups.
func (f *solver) set(list []pattern) {
	f.groups, f.root = f.groups[:0], f.root[:0]
	numbers, most := 0, 0
	for len(list) > 0 {
		m, n := len(list[0].gone), 1
		for n < len(list) && len(list[n].gone) == m && (n+1)*m*m <= max(mostNumbersKept, simd.Lanes*m*m) {
			n++
		}
		g := group{patterns: list[:n], m: m, side: simd.Padded(n)}
		f.groups = append(f.groups, g)
		numbers, most = numbers+g.size(), max(most, g.size())
		list = list[n:]
	}
	f.whole = numbers <= mostNumbersKept
	if !f.whole {
		numbers = most
	}
	f.memory = linalg.Resize(f.memory, numbers)
	rest := f.memory
	for i := range f.groups {
		if !f.whole {
			rest = f.memory
		}
		rest = f.groups[i].place(rest)
	}
}

// size is the number of a group's numbers.
func (g *group) size() int { return (g.m*g.m + g.m + 2) * g.side }

// place takes memory, and returns the rest.
func (g *group) place(memory []float64) (rest []float64) {
	take := func(n int) (part []float64) {
		part, memory = memory[:n:n], memory[n:]
		return part
	}
	g.u, g.inverse = take(g.m*g.m*g.side), take(g.m*g.side)
	g.logDet, g.margin = take(g.side), take(g.side)
	return memory
}

// each visits the groups with their factors for a class, and with C if it is wanted.
func (f *solver) each(c *completion, d int, inverted bool, visit func(g *group)) {
	if !f.whole || !slices.Equal(f.root, c.root) {
		f.root = append(f.root[:0], c.root...)
		for i := range f.groups {
			f.groups[i].factorised, f.groups[i].inverted = false, false
		}
	}
	for i := range f.groups {
		g := &f.groups[i]
		if !g.factorised {
			f.factorise(g, c, d)
		}
		if inverted && !g.inverted {
			simd.Invert(g.u, g.inverse, g.m, g.side)
			g.inverted = true
		}
		visit(g)
	}
}

// factorise computes U and ln|C| of a class.
func (f *solver) factorise(g *group, c *completion, d int) {
	m, side := g.m, g.side
	g.factorised = true
	for l := range side {
		gone := g.gone(l)
		for a, i := range gone {
			from, to := c.matrix[i*d:(i+1)*d], (a*m+a)*side+l
			for _, j := range gone[a:] {
				g.u[to] = from[j]
				to += side
			}
		}
	}
	simd.Factorise(g.u, g.inverse, g.margin, m, side, pivotShare)
	for l, margin := range g.margin {
		if !(margin > 0) {
			f.triangularise(g, c.root, l, d)
		}
	}
	f.work = linalg.Resize(f.work, m*side)
	simd.Log(f.work, g.inverse)
	clear(g.logDet)
	for a := range m {
		floats.Add(g.logDet, linalg.Row(f.work, a, side))
	}
}

// gone are the columns that lane l misses.
func (g *group) gone(l int) []int { return g.patterns[min(l, len(g.patterns)-1)].gone }

// triangularise computes U of lane l by Householder's reflections of R_m, which is 0 below the row of its last column.
func (f *solver) triangularise(g *group, root []float64, l, d int) {
	f.reflect(root, g.gone(l), d)
	for a := range g.m {
		pivot := f.qr[a*g.m+a]
		g.inverse[a*g.side+l] = 1 / (pivot * pivot)
		for b := a + 1; b < g.m; b++ {
			g.u[(a*g.m+b)*g.side+l] = f.qr[a*g.m+b] / pivot
		}
	}
}

// reflect puts the QR factorisation of R_m into qr, and returns its number of rows.
func (f *solver) reflect(root []float64, gone []int, d int) (rows int) {
	m := len(gone)
	rows = gone[m-1] + 1
	f.qr, f.tau = linalg.Resize(f.qr, rows*m), linalg.Resize(f.tau, m)
	f.y, f.scratch = linalg.Resize(f.y, d), linalg.Resize(f.scratch, max(m, d))
	for i := range rows {
		for b, j := range gone {
			f.qr[i*m+b] = root[i*d+j]
		}
	}
	lapack.Implementation{}.Dgeqr2(rows, m, f.qr, m, f.tau, f.scratch)
	return rows
}

// project solves R_m v = Ry by least squares for a column of y, whose numbers are n apart: P_mm v = P_mo y.
func (f *solver) project(root []float64, gone []int, y []float64, n, d int) (v []float64) {
	m, rows := len(gone), f.reflect(root, gone, d)
	for j := range d {
		f.y[j] = y[j*n]
	}
	for a := range rows {
		f.y[a] = linalg.Dot(root[a*d+a:(a+1)*d], f.y[a:])
	}
	lapack.Implementation{}.Dorm2r(blas.Left, blas.Trans, rows, 1, m, f.qr, m, f.tau, f.y, 1, f.scratch)
	v = f.y[:m]
	blas64.Trsv(blas.NoTrans, blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: m, Stride: m, Data: f.qr[:m*m]},
		blas64.Vector{N: m, Inc: 1, Data: v})
	return v
}

// solve computes what the missing values of a group's rows lie below their means.
func (f *solver) solve(e *group, g *gaps, c *completion, n, d int) {
	f.v = linalg.Resize(f.v, e.m*e.side)
	for t := 0; ; t++ { // row t of each pattern
		g.places = g.places[:0]
		found := 0
		for l, p := range e.patterns {
			g.places = append(g.places, p.cell+min(t, p.to-p.from-1)*e.m)
			if t < p.to-p.from {
				found = l + 1
			}
		}
		if found == 0 {
			return
		}
		for a := range e.m {
			to := linalg.Row(f.v, a, e.side)
			for l, cell := range g.places[:found] {
				to[l] = f.product[g.cells[cell+a]]
			}
			clear(to[found:])
		}
		simd.Solve(f.v, e.u, e.inverse, e.m, e.side, simd.Padded(found))
		for l, p := range e.patterns[:found] {
			if t >= p.to-p.from {
				continue
			}
			below := c.below[g.places[l]:][:e.m]
			if e.margin[l] > 0 {
				for a := range below {
					below[a] = f.v[a*e.side+l]
				}
			} else {
				copy(below, f.project(c.root, p.gone, f.rows[p.from+t:], n, d))
			}
		}
	}
}

// complete computes where a class has the missing values, and visits the groups of patterns, which are set.
func (f *solver) complete(o *family.Observed, c *completion, visit func(e *group)) {
	g, d, n := &memory[own](o).gaps, len(c.location), o.Padded()
	f.rows, f.product = append(f.rows[:0], o.X...), linalg.Resize(f.product, d*n)
	y := f.rows
	for j, m := range c.location {
		floats.AddConst(-m, linalg.Row(y, j, n))
	}
	for _, cell := range g.cells {
		y[cell] = 0
	}
	from := g.first &^ (simd.Lanes - 1) // the rows before are complete
	part := func(v []float64) blas64.General {
		return blas64.General{Rows: d, Cols: n - from, Stride: n, Data: v[from:]}
	}
	linalg.MulSerial(false, false, 1, linalg.General(d, d, c.matrix), part(y), 0, part(f.product))
	c.below, c.known = linalg.Resize(c.below, len(g.cells)), true
	f.each(c, d, false, func(e *group) {
		f.solve(e, g, c, n, d)
		visit(e)
	})
	for i, cell := range g.cells {
		y[cell] = -c.below[i]
	}
}

// addIncompleteScores is AddScores for rows with missing values.
func (g gaussian) addIncompleteScores(o *family.Observed, scores family.Table, r []float64) {
	d, n, gaps := g.d, o.Padded(), &memory[own](o).gaps
	f := solvers.Get().(*solver)
	defer solvers.Put(f)
	f.set(gaps.patterns)
	o.Work = linalg.Resize(o.Work, d+simd.ScoresWork(d))
	zeros, work := o.Work[:d], o.Work[d:]
	clear(zeros)
	for k := range scores.K {
		score := scores.Row(k, 1+d+d*d)
		location, root := g.split(score, 1)
		own := gaps.ofRows(n)
		f.complete(o, gaps.of(k, d, location, root), func(e *group) {
			units := float64(e.m) * math.Log(2*math.Pi)
			for l, p := range e.patterns {
				for i := p.from; i < p.to; i++ {
					own[i] = (units + e.logDet[l]) / 2
				}
			}
		})
		simd.GaussianScores(own, f.rows, d, n, score[0], zeros, root, work)
		to := linalg.Row(r, k, n)
		for i, row := range gaps.rows {
			to[row] += own[i]
		}
	}
}

// ofRows are n numbers, 0 at first, of the rows in the order.
func (g *gaps) ofRows(n int) []float64 {
	g.own = linalg.Resize(g.own, n)
	clear(g.own)
	return g.own
}

// addIncompleteSums is AddSums for rows with missing values. Before there are scores, which is when the table is summed
// up as one class and classes begin, a missing value says nothing of its column's mean, and lies at the anchor.
func (g gaussian) addIncompleteSums(
	o *family.Observed, r []float64, scores, anchors, sums family.Table,
) (entropy float64) {
	d, n, gaps := g.d, o.Padded(), &memory[own](o).gaps
	f := solvers.Get().(*solver)
	defer solvers.Put(f)
	if g.tied {
		f.set(gaps.patterns) // the factors of the first class are those of all
	}
	for k := range sums.K {
		to, anchor, weights := sums.Row(k, 1+2*d+d*d), anchors.Row(k, d), gaps.ofRows(n)
		first, second := g.split(to, 1)
		values := to[1+d+d*d:]
		for i, row := range gaps.rows {
			weights[i] = r[k*n+int(row)]
		}
		if location, root := g.split(scores.Row(k, 1+d+d*d), 1); root[0] == 0 {
			gaps.fill(o, 0, len(gaps.cells), anchor)
			addValues(o, weights, values)
		} else {
			total := floats.Sum(weights)
			floats.AddConst(total, values)
			c := gaps.of(k, d, location, root)
			if !c.known {
				f.set(gaps.patterns)
				f.complete(o, c, func(*group) {})
			}
			gaps.weigh(o, c, weights, negligibleShare*(to[0]+total), anchor)
			if !g.tied {
				f.set(gaps.kept)
			}
			entropy += f.addCovariances(c, second, d)
		}
		o.Work = linalg.Resize(o.Work, simd.MomentsWork(d, n))
		x, w := g.weighed(o, weights)
		to[0] += simd.GaussianMoments(first, second, x, d, len(w), anchor, w, o.Work)
	}
	return entropy
}

// weigh completes the rows whose weights are above least, keeps their patterns, and leaves the others at the anchor.
func (g *gaps) weigh(o *family.Observed, c *completion, weights []float64, least float64, anchor []float64) {
	g.kept = g.kept[:0]
	for i := range g.patterns {
		p := &g.patterns[i]
		p.weight = 0
		for t, w := range weights[p.from:p.to] {
			from := p.cell + t*len(p.gone)
			to := from + len(p.gone)
			if !(w > least) {
				g.fill(o, from, to, anchor)
				continue
			}
			p.weight += w
			for cell := from; cell < to; cell++ {
				o.X[g.cells[cell]] = c.location[g.columns[cell]] - c.below[cell]
			}
		}
		if p.weight > 0 {
			g.kept = append(g.kept, *p)
		}
	}
}

// addCovariances adds C, the patterns' weights times, to the upper triangle of second, d×d. It returns the entropy of
// the missing values.
func (f *solver) addCovariances(c *completion, second []float64, d int) (entropy float64) {
	f.each(c, d, true, func(e *group) {
		units := float64(e.m) * (1 + math.Log(2*math.Pi))
		for l, p := range e.patterns {
			if p.weight == 0 {
				continue
			}
			entropy += p.weight * (units + e.logDet[l]) / 2
			for a, i := range p.gone {
				to, from := second[i*d:(i+1)*d], e.u[a*e.side+l:]
				for b := a; b < e.m; b++ {
					to[p.gone[b]] += p.weight * from[b*e.m*e.side]
				}
			}
		}
	})
	return entropy
}

// fill puts some missing values at a location.
func (g *gaps) fill(o *family.Observed, from, to int, location []float64) {
	for cell := from; cell < to; cell++ {
		o.X[g.cells[cell]] = location[g.columns[cell]]
	}
}

// addValues adds the weights of the rows that have a value to each column's.
func addValues(o *family.Observed, weights, values []float64) {
	for i, row := range memory[own](o).gaps.rows {
		for j, v := range o.Row(int(row), len(values)) {
			if v == v {
				values[j] += weights[i]
			}
		}
	}
}
