package normal

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/laplace"
)

// isotropic has columns that are independent within a component, in G groups of W neighbours that share
// a variance: a diagonal covariance has groups of one column, a spherical one is one group. A
// group is a cell. The numbers of one component are
//
//	sums    n_g; Σ(x_j−a_j); Σ_{j∈g}(x_j−a_j)²
//	anchor  a
//	score   c_g; m; h_g with score(x) = Σ_g (c_g − h_g Σ_{j∈g}(x_j−m_j)²)
//	params  μ; σ²_g
type isotropic struct {
	groups, width int
	form          Covariance
	floor         float64 // factor of the squared resolutions; 0: there is none
}

func (g isotropic) Name() string { return Family{Covariance: g.form}.Name() }

func (g isotropic) Layout() family.Layout {
	d, n := g.columns(), g.groups
	return family.Layout{
		Columns:  d,
		Cells:    n,
		Free:     g.width + 1,
		Sums:     d + 2*n,
		Anchor:   d,
		Score:    d + 2*n,
		Params:   d + n,
		Hyper:    d + 3*n,
		Features: d,
	}
}

// Join joins diagonal covariances with the same floor.
func (g isotropic) Join(next family.Factor) (family.Factor, bool) {
	other, ok := next.(isotropic)
	if !ok || g.form != Diagonal || other.form != Diagonal || g.floor != other.floor {
		return nil, false
	}
	g.groups += other.groups
	return g, true
}

func (g isotropic) columns() int { return g.groups * g.width }

// of gives group i's part of numbers that there are one a column of.
func (g isotropic) of(v []float64, i int) []float64 { return linalg.Row(v, i, g.width) }

// split gives the parts of sums or of a score: one a group, one a column, one a group.
func (g isotropic) split(v []float64) (a, b, c []float64) {
	d := g.groups + g.columns()
	return v[:g.groups], v[g.groups:d], v[d : d+g.groups]
}

// moments gives means and variances.
func (g isotropic) moments(xi []float64) (mean, variance []float64) {
	return xi[:g.columns()], xi[g.columns():][:g.groups]
}

func (g isotropic) Observe(b blocks.Rows, at, first, n int, o *family.Observed) error {
	d := g.columns()
	if g.form != Diagonal {
		return complete(b, at, first, n, d, g.form, o)
	}
	return o.Numbers(b, at, first, n, d)
}

func (g isotropic) AddScores(o *family.Observed, scores family.Table, r []float64) {
	n, d := o.Padded(), g.columns()
	if !o.Complete { // a group is a column: no other has missing values
		for a := range d {
			g.addColumnScores(linalg.Row(o.X, a, n), a, scores, r)
		}
		return
	}
	o.Work = linalg.Resize(o.Work, d)
	for j := range scores.K {
		c, m, h := g.split(scores.Row(j, d+2*g.groups))
		simd.DiagonalScores(linalg.Row(r, j, n), o.X, d, n, floats.Sum(c), m, g.spread(h, o.Work))
	}
}

// addColumnScores adds those of a column a that may have gaps.
func (g isotropic) addColumnScores(x []float64, a int, scores family.Table, r []float64) {
	whole := simd.Finite(x)
	for j := range scores.K {
		c, m, h := g.split(scores.Row(j, g.columns()+2*g.groups))
		to := linalg.Row(r, j, len(x))
		if whole {
			simd.DiagonalScores(to, x, 1, len(x), c[a], m[a:a+1], h[a:a+1])
			continue
		}
		c0, m0, h0 := c[a], m[a], h[a]
		for i, v := range x {
			if v == v {
				v -= m0
				to[i] += c0 - h0*v*v
			}
		}
	}
}

// spread gives each column the number of its group, in work where groups have several columns.
func (g isotropic) spread(groups, work []float64) []float64 {
	if g.width == 1 {
		return groups
	}
	for i, v := range groups {
		linalg.Fill(g.of(work, i), v)
	}
	return work
}

func (g isotropic) AddSums(o *family.Observed, r []float64, _, anchors, sums family.Table) (entropy float64) {
	padded, d := o.Padded(), g.columns()
	if !o.Complete {
		for a := range d {
			g.addColumnSums(linalg.Row(o.X, a, padded), a, r, anchors, sums)
		}
		return 0
	}
	o.Work = linalg.Resize(o.Work, d)
	for j := range sums.K {
		n, first, second := g.split(sums.Row(j, d+2*g.groups))
		anchor, weights := anchors.Row(j, d), linalg.Row(r, j, padded)
		floats.AddConst(floats.Sum(weights), n)
		if g.width == 1 {
			simd.DiagonalMoments(first, second, o.X, d, padded, anchor, weights)
			continue
		}
		clear(o.Work)
		simd.DiagonalMoments(first, o.Work, o.X, d, padded, anchor, weights)
		for i := range second {
			second[i] += floats.Sum(g.of(o.Work, i))
		}
	}
	return 0
}

// addColumnSums adds those of a column a that may have gaps.
func (g isotropic) addColumnSums(x []float64, a int, r []float64, anchors, sums family.Table) {
	whole := simd.Finite(x)
	for j := range sums.K {
		n, first, second := g.split(sums.Row(j, g.columns()+2*g.groups))
		anchor, weights := anchors.Row(j, g.columns()), linalg.Row(r, j, len(x))
		if whole {
			n[a] += floats.Sum(weights)
			simd.DiagonalMoments(first[a:a+1], second[a:a+1], x, 1, len(x), anchor[a:a+1], weights)
			continue
		}
		var n0, s0, s1 float64
		for i, v := range x {
			if v == v {
				v -= anchor[a]
				wv := weights[i] * v
				n0 += weights[i]
				s0 += wv
				s1 += wv * v
			}
		}
		n[a], first[a], second[a] = n[a]+n0, first[a]+s0, second[a]+s1
	}
}

func (g isotropic) Features(o *family.Observed, dst []float64, width, at int) {
	o.CopyTo(dst, width, at, g.columns())
}

func (g isotropic) Estimate(sums, anchor []float64, w *family.Pooled, xi []float64) error {
	n, first, second := g.split(sums)
	mean, variance := g.moments(xi)
	for i, rows := range n {
		m, column := g.of(mean, i), i*g.width
		if !(rows > 0) {
			switch {
			case g.form == Spherical:
				return variances.ErrNoRows
			case w == nil:
				return blocks.FaultyColumn(column, blocks.ErrNoValue)
			}
			m[0], variance[i] = w.Parameters[i], w.Parameters[g.groups+i]
			continue
		}
		v := second[i] / rows
		for j := range m {
			shift := first[column+j] / rows
			m[j] = anchor[column+j] + shift
			v -= shift * shift
		}
		variance[i] = v / float64(g.width)
		if err := g.varied(column, m, variance[i], w); err != nil {
			return err
		}
	}
	return nil
}

// varied is an error where the variance of the group that begins with a column has collapsed or is out of range.
func (g isotropic) varied(column int, mean []float64, variance float64, w *family.Pooled) error {
	if g.floor > 0 && (w == nil || len(w.Floor) > 0) {
		return nil // SetFloor judges, or Bound follows
	}
	if w != nil {
		if _, all := g.moments(w.Parameters); !(variance > variances.Vanishing*all[column/g.width]) {
			return variances.Collapsed(column)
		}
		return nil
	}
	largest := floats.Norm(mean, math.Inf(1))
	if g.form == Spherical && variances.Constant(largest, variance) {
		return blocks.FaultyColumn(column, errors.New("is constant, as are all others: there is nothing to fit"))
	}
	return variances.Measurable(column, largest, variance)
}

func (g isotropic) Score(xi, score []float64) error {
	c, m, h := g.split(score)
	mean, variance := g.moments(xi)
	copy(m, mean)
	for i, v := range variance {
		if !(v > 0) {
			return variances.Collapsed(i * g.width)
		}
		c[i], h[i] = -float64(g.width)/2*(math.Log(2*math.Pi)+math.Log(v)), 1/(2*v)
	}
	return nil
}

func (g isotropic) Center(sums, anchor []float64) {
	n, first, _ := g.split(sums)
	for i, rows := range n {
		center(rows, g.of(first, i), g.of(anchor, i))
	}
}

func (g isotropic) Locate(score, anchor []float64) {
	_, m, _ := g.split(score)
	copy(anchor, m)
}

// AddAbout adds sums about another anchor.
func (g isotropic) AddAbout(sums, anchor, others, another []float64) {
	n, first, second := g.split(sums)
	itsN, itsFirst, itsSecond := g.split(others)
	linalg.Axpy(1, itsN, n)
	linalg.Axpy(1, itsSecond, second)
	for a, its := range itsFirst {
		i, shift := a/g.width, another[a]-anchor[a]
		first[a] += its + itsN[i]*shift
		second[i] += shift * (2*its + itsN[i]*shift)
	}
}

func (g isotropic) Total(score, sums, anchor []float64) float64 {
	c, m, h := g.split(score)
	n, first, second := g.split(sums)
	sum := 0.0
	for i, rows := range n {
		quad := second[i]
		for a := i * g.width; a < (i+1)*g.width; a++ {
			shift := m[a] - anchor[a]
			quad += shift * (rows*shift - 2*first[a])
		}
		sum += rows*c[i] - h[i]*quad
	}
	return sum
}

func (g isotropic) AddPooled(weight float64, w *family.Pooled, anchor, sums []float64) {
	n, first, second := g.split(sums)
	mean, variance := g.moments(w.Parameters)
	floats.AddConst(weight, n)
	for a, m := range mean {
		i, shift := a/g.width, m-anchor[a]
		first[a] += weight * shift
		second[i] += weight * (variance[i] + shift*shift)
	}
}

// Information is that of (μ, σ²), 1/v for each mean and W/(2v²), with the variance of the table as the unit.
func (g isotropic) Information(xi []float64, w *family.Pooled, dst []laplace.Block) []laplace.Block {
	_, variance := g.moments(xi)
	_, all := g.moments(w.Parameters)
	for i := range variance {
		v := variance[i] / all[i]
		var d laplace.Diagonal
		dst, d = family.AppendDiagonal(dst, g.width+1)
		linalg.Fill(d[:g.width], 1/v)
		d[g.width] = float64(g.width) / (2 * v * v)
	}
	return dst
}

func (g isotropic) Numbers() []family.Number {
	var list []family.Number
	for a := range g.columns() {
		list = append(list, family.Number{Name: "mean", From: a, To: a})
	}
	for i := range g.groups {
		list = append(list, family.Number{Name: "variance", From: i * g.width, To: (i+1)*g.width - 1})
	}
	return list
}

// Deviations are √(σ²/n) and σ²√(2/(nW)).
func (g isotropic) Deviations(xi, sums []float64, _ float64, dst []float64) {
	_, variance := g.moments(xi)
	mean, second := g.moments(dst)
	for i, v := range variance {
		n := sums[i]
		linalg.Fill(g.of(mean, i), math.Sqrt(v/n))
		second[i] = v * math.Sqrt(2/(n*float64(g.width)))
	}
}

func (g isotropic) Contrast(xi, pooled, dst []float64) {
	mean, variance := g.moments(xi)
	mean0, variance0 := g.moments(pooled)
	for a := range dst {
		dst[a] = normalDivergence(mean[a], variance[a/g.width], mean0[a], variance0[a/g.width])
	}
}

func (g isotropic) Sample(xi []float64, rng *rand.Rand, x []float64) {
	mean, variance := g.moments(xi)
	for a, m := range mean {
		x[a] = m + math.Sqrt(variance[a/g.width])*rng.NormFloat64()
	}
}
