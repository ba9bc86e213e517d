package family

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	lapack "gonum.org/v1/gonum/lapack/gonum"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Missing values of a covariance matrix are latent variables of the family's own. With P = RᵀR the precision of a class,
// m and o the columns missing and present, and y_o = x_o − μ_o,
//
//	x_m | x_o ~ N(μ_m + v, C),  v = −C P_mo y_o,  C = P_mm⁻¹.
//
// The sums of a row are completed by the conditional mean, those of its squares by C too (Little & Rubin, Statistical
// Analysis with Missing Data, section 11.2). And the density of what is present is that of the completed row x̂ without what
// the missing columns add to it at their conditional mean,
//
//	ln p(x_o) = ln p(x̂) + ½(|m| ln 2π + ln|C|):
//
// a sum of squares from which nothing is subtracted, an error of v enters it squared, and completed rows have the kernels of
// complete ones. C comes from a Cholesky factor LLᵀ = P_mm or, where that would lose digits, from the QR factorisation of
// the missing columns of R, R_m = QLᵀ.

// gaps are the rows of a chunk with missing values, those with the same columns missing together, and what their
// completion needs. The memory is reused from one chunk to the next.
type gaps struct {
	patterns []pattern
	rows     []int32
	gone     []int
	bits     []uint64 // of each row, which columns are missing

	classes []precision
	l       []float64 // L, |m|×|m|, the lower triangle counts
	inverse []float64 // 1/L_aa
	w       []float64 // L⁻ᵀ
	y, v    []float64 // of a row
	qr      []float64 // R_m, and its QR factorisation
	tau     []float64
	work    []float64
	narrow  bool // that L is of QR
}

// A pattern is a set of missing columns, ascending, and the rows that miss them.
type pattern struct {
	gone []int
	rows []int32
}

// precision is P of a class, and the root that it belongs to.
type precision struct{ root, matrix []float64 }

// cholesky is the share of a conditional precision that the other missing columns have to leave. Below, L by Cholesky's
// factorisation would have fewer than nine digits.
const choleskyShare = 1e-6

// observeGaps groups the rows by their patterns.
func (o *Observed) observeGaps(b framework.Rows, at, first, n, d int) error {
	if err := o.numbers(b, at, first, n, d); err != nil || o.Complete {
		return err
	}
	if o.gaps == nil {
		o.gaps = &gaps{}
	}
	g, words := o.gaps, (d+63)/64
	g.rows, g.gone, g.patterns = g.rows[:0], g.gone[:0], g.patterns[:0]
	g.bits = slices.Grow(g.bits[:0], n*words)[:n*words]
	clear(g.bits)
	total := 0
	for i := range n {
		before := total
		for j, v := range o.Row(i, d) {
			if v != v {
				g.bits[i*words+j/64] |= 1 << (j % 64)
				total++
			}
		}
		if total > before {
			g.rows = append(g.rows, int32(i))
		}
	}
	of := func(row int32) []uint64 { return g.bits[int(row)*words:][:words] }
	slices.SortStableFunc(g.rows, func(a, b int32) int { return slices.Compare(of(a), of(b)) })
	g.gone = slices.Grow(g.gone, total) // so that patterns keep their part of it
	for from, to := 0, 0; from < len(g.rows); from = to {
		row := g.rows[from]
		for to = from; to < len(g.rows) && slices.Equal(of(g.rows[to]), of(row)); {
			to++
		}
		begin := len(g.gone)
		for j, v := range o.Row(int(row), d) {
			if v != v {
				g.gone = append(g.gone, j)
			}
		}
		g.patterns = append(g.patterns, pattern{g.gone[begin:], g.rows[from:to]})
	}
	g.y = linalg.Resize(g.y, d)
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

// factorise computes L of a class for the columns gone, and returns ln|C|.
func (g *gaps) factorise(c *precision, gone []int, d int) (logDet float64) {
	m := len(gone)
	g.l, g.inverse, g.v = linalg.Resize(g.l, m*m), linalg.Resize(g.inverse, m), linalg.Resize(g.v, m)
	if g.narrow = !g.cholesky(c.matrix, gone, d); g.narrow {
		g.triangularise(c.root, gone, d)
	}
	for a := range m {
		g.inverse[a] = 1 / g.l[a*m+a]
		logDet -= 2 * math.Log(math.Abs(g.l[a*m+a])) // Householder's may be negative
	}
	return logDet
}

// cholesky factorises P_mm; ok is false where L would be inexact.
func (g *gaps) cholesky(matrix []float64, gone []int, d int) (ok bool) {
	m := len(gone)
	for a, i := range gone {
		row, of := g.l[a*m:a*m+a], matrix[i*d:(i+1)*d]
		for b := range row {
			row[b] = (of[gone[b]] - linalg.Dot(row[:b], g.l[b*m:b*m+b])) * g.inverse[b]
		}
		rest := of[i] - linalg.Dot(row, row)
		if !(rest > choleskyShare*of[i]) {
			return false
		}
		g.l[a*m+a] = math.Sqrt(rest)
		g.inverse[a] = 1 / g.l[a*m+a]
	}
	return true
}

// triangularise factorises R_m = QLᵀ by Householder's reflections. R is upper triangular: R_m ends with the row of its last
// column.
func (g *gaps) triangularise(root []float64, gone []int, d int) {
	m, rows := len(gone), gone[len(gone)-1]+1
	g.qr, g.tau, g.work = linalg.Resize(g.qr, rows*m), linalg.Resize(g.tau, m), linalg.Resize(g.work, max(m, d))
	for i := range rows {
		for b, j := range gone {
			g.qr[i*m+b] = root[i*d+j]
		}
	}
	lapack.Implementation{}.Dgeqr2(rows, m, g.qr, m, g.tau, g.work)
	for a := range m {
		for b := range a + 1 {
			g.l[a*m+b] = g.qr[b*m+a]
		}
	}
}

// complete puts the conditional means of row i, of a class at location, into x, column-major with n rows.
func (g *gaps) complete(o *Observed, c *precision, gone []int, i int, location, x []float64, d, n int) {
	for j, value := range o.Row(i, d) {
		if g.y[j] = value - location[j]; value != value {
			g.y[j] = 0
		}
	}
	m, v := len(gone), g.v
	if g.narrow { // v = −L⁻ᵀQᵀRy
		rows := len(g.qr) / m
		for a := range rows {
			g.work[a] = linalg.Dot(c.root[a*d+a:(a+1)*d], g.y[a:])
		}
		copy(g.y, g.work[:rows])
		lapack.Implementation{}.Dorm2r(blas.Left, blas.Trans, rows, 1, m, g.qr, m, g.tau, g.y, 1, g.work)
		copy(v, g.y)
	} else { // v = −L⁻ᵀL⁻¹P_mo y
		for a, j := range gone {
			v[a] = (linalg.Dot(c.matrix[j*d:(j+1)*d], g.y) - linalg.Dot(g.l[a*m:a*m+a], v[:a])) * g.inverse[a]
		}
	}
	for a := m - 1; a >= 0; a-- {
		v[a] *= g.inverse[a]
		linalg.Axpy(-v[a], g.l[a*m:a*m+a], v[:a])
		x[gone[a]*n+i] = location[gone[a]] - v[a]
	}
}

// addCovariance adds weight·C to the upper triangle of second, d×d.
func (g *gaps) addCovariance(second []float64, gone []int, weight float64, d int) {
	m := len(gone)
	g.w = linalg.Resize(g.w, m*m)
	for a := range m { // row a of L⁻ᵀ
		w := g.w[a*m : (a+1)*m]
		w[a] = g.inverse[a]
		for c := a + 1; c < m; c++ {
			w[c] = -linalg.Dot(w[a:c], g.l[c*m+a:c*m+c]) * g.inverse[c]
		}
	}
	for a, i := range gone {
		for b := a; b < m; b++ {
			second[i*d+gone[b]] += weight * linalg.Dot(g.w[a*m+b:(a+1)*m], g.w[b*m+b:(b+1)*m])
		}
	}
}

// addIncompleteScores is AddScores for rows with missing values.
func (g gaussian) addIncompleteScores(o *Observed, scores Table, r []float64) {
	d, n, gaps := g.d, o.Padded(), o.gaps
	o.Work = linalg.Resize(o.Work, simd.ScoresWork(d))
	for k := range scores.K {
		location, root := g.split(scores.Row(k, 1+d+d*d), 1)
		c, to := gaps.of(k, d, root), at(r, k, n)
		for _, p := range gaps.patterns {
			rest := (float64(len(p.gone))*math.Log(2*math.Pi) + gaps.factorise(c, p.gone, d)) / 2
			for _, i := range p.rows {
				gaps.complete(o, c, p.gone, int(i), location, o.X, d, n)
				to[i] += rest
			}
		}
		g.scoreAll(o, scores, k, to)
	}
}

// addIncompleteSums is AddSums for rows with missing values. Before there are scores, which is when the table is summed up
// as one class and classes begin, a missing value says nothing of its column's mean, and lies at the anchor.
func (g gaussian) addIncompleteSums(o *Observed, r []float64, scores, anchors, sums Table) (entropy float64) {
	d, n := g.d, o.Padded()
	o.Work = linalg.Resize(o.Work, simd.MomentsWork(d, n))
	for k := range sums.K {
		to, anchor, weights := sums.Row(k, 1+2*d+d*d), anchors.Row(k, d), at(r, k, n)
		first, second := g.split(to, 1)
		values := to[1+d+d*d:]
		if location, root := g.split(scores.Row(k, 1+d+d*d), 1); root[0] == 0 {
			o.atAnchor(anchor, weights, values, d, n)
		} else {
			floats.AddConst(floats.Sum(weights), values)
			entropy += o.gaps.addConditionals(o, o.gaps.of(k, d, root), location, anchor, weights, second, d, n)
		}
		x, w := g.weighed(o, weights)
		to[0] += simd.GaussianMoments(first, second, x, d, len(w), anchor, w, o.Work)
	}
	return entropy
}

// atAnchor puts missing values at the anchor, and adds the weights of the others to values.
func (o *Observed) atAnchor(anchor, weights, values []float64, d, n int) {
	for i := range o.N {
		for j, v := range o.Row(i, d) {
			if v == v {
				values[j] += weights[i]
			} else {
				o.X[j*n+i] = anchor[j]
			}
		}
	}
}

// addConditionals completes the rows that have weights, adds their conditional covariances to second, and returns the
// entropy of their missing values. The others' lie at the anchor.
func (g *gaps) addConditionals(o *Observed, c *precision, location, anchor, weights, second []float64, d, n int) (entropy float64) {
	for _, p := range g.patterns {
		total := 0.0
		for _, i := range p.rows {
			total += weights[i]
		}
		logDet := 0.0
		if total > 0 {
			logDet = g.factorise(c, p.gone, d)
			g.addCovariance(second, p.gone, total, d)
			entropy += total * (float64(len(p.gone))*(1+math.Log(2*math.Pi)) + logDet) / 2
		}
		for _, i := range p.rows {
			if weights[i] > 0 {
				g.complete(o, c, p.gone, int(i), location, o.X, d, n)
				continue
			}
			for _, j := range p.gone {
				o.X[j*n+int(i)] = anchor[j]
			}
		}
	}
	return entropy
}
