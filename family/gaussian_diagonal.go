package family

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/laplace"
)

// diagonal has columns that are independent within a component, each a cell. The numbers
// of one component are
//
//	sums    n_j; Σ(x_j−a_j); Σ(x_j−a_j)²
//	anchor  a
//	score   c_j; m; h with score(x) = Σ_j c_j − h_j(x_j−m_j)²
//	params  μ; σ²
type diagonal struct{ d int }

func (diagonal) Name() string { return Gaussian{Diagonal}.Name() }

func (g diagonal) Layout() Layout {
	d := g.d
	return Layout{Columns: d, Cells: d, Free: 2, Sums: 3 * d, Anchor: d, Score: 3 * d, Params: 2 * d, Hyper: 4 * d, Features: d}
}

// thirds gives the three parts of d numbers each.
func thirds(v []float64, d int) (a, b, c []float64) { return v[:d], v[d : 2*d], v[2*d : 3*d] }

func (g diagonal) Observe(b framework.Rows, at, first, n int, o *Observed) error {
	return o.numbers(b, at, first, n, g.d)
}

func (g diagonal) AddScores(o *Observed, scores Table, r []float64) {
	n := o.Padded()
	for j := range scores.K {
		c, m, h := thirds(scores.Row(j, 3*g.d), g.d)
		to := at(r, j, n)
		if o.Complete {
			simd.DiagonalScores(to, o.X, g.d, n, floats.Sum(c), m, h)
			continue
		}
		for a := range g.d {
			for i, v := range at(o.X, a, n) {
				if v == v {
					v -= m[a]
					to[i] += c[a] - h[a]*v*v
				}
			}
		}
	}
}

func (g diagonal) AddSums(o *Observed, r []float64, _, anchors, sums Table) (entropy float64) {
	padded := o.Padded()
	for j := range sums.K {
		n, first, second := thirds(sums.Row(j, 3*g.d), g.d)
		anchor, weights := anchors.Row(j, g.d), at(r, j, padded)
		if o.Complete {
			simd.DiagonalMoments(first, second, o.X, g.d, padded, anchor, weights)
			floats.AddConst(floats.Sum(weights), n)
			continue
		}
		for a := range g.d {
			for i, v := range at(o.X, a, padded) {
				if v == v {
					v -= anchor[a]
					wv := weights[i] * v
					n[a] += weights[i]
					first[a] += wv
					second[a] += wv * v
				}
			}
		}
	}
	return 0
}

func (g diagonal) Features(o *Observed, _ *Pooled, dst []float64, width, at int) {
	o.copyTo(dst, width, at, g.d)
}

func (g diagonal) Estimate(sums, anchor []float64, w *Pooled, xi []float64) error {
	n, first, second := thirds(sums, g.d)
	for a := range g.d {
		if !(n[a] > 0) {
			if w == nil {
				return framework.FaultyColumn(a, framework.ErrNoValue)
			}
			xi[a], xi[g.d+a] = w.Parameters[a], w.Parameters[g.d+a]
			continue
		}
		shift := first[a] / n[a]
		xi[a], xi[g.d+a] = anchor[a]+shift, second[a]/n[a]-shift*shift
		if w == nil {
			if err := measurable(a, xi[a], xi[g.d+a]); err != nil {
				return err
			}
		} else if !(xi[g.d+a] > vanishing*w.Parameters[g.d+a]) {
			return collapsed(a)
		}
	}
	return nil
}

func (g diagonal) Score(xi, score []float64) error {
	c, m, h := thirds(score, g.d)
	copy(m, xi[:g.d])
	for a, v := range xi[g.d : 2*g.d] {
		if !(v > 0) {
			return collapsed(a)
		}
		c[a], h[a] = -(math.Log(2*math.Pi)+math.Log(v))/2, 1/(2*v)
	}
	return nil
}

func (g diagonal) Center(sums, anchor []float64) {
	n, first, _ := thirds(sums, g.d)
	for a := range g.d {
		center(n[a], first[a:a+1], anchor[a:a+1])
	}
}

func (g diagonal) Locate(score, anchor []float64) { copy(anchor, score[g.d:2*g.d]) }

func (g diagonal) Total(score, sums, anchor []float64) float64 {
	c, m, h := thirds(score, g.d)
	n, first, second := thirds(sums, g.d)
	sum := 0.0
	for a := range g.d {
		shift := m[a] - anchor[a]
		sum += n[a]*c[a] - h[a]*(second[a]+shift*(n[a]*shift-2*first[a]))
	}
	return sum
}

func (g diagonal) AddPooled(weight float64, w *Pooled, anchor, sums []float64) {
	n, first, second := thirds(sums, g.d)
	for a := range g.d {
		shift := w.Parameters[a] - anchor[a]
		n[a] += weight
		first[a] += weight * shift
		second[a] += weight * (w.Parameters[g.d+a] + shift*shift)
	}
}

// Information is that of (μ, σ²) with the variance of the table as the unit: 1/v, 1/(2v²).
func (g diagonal) Information(xi []float64, w *Pooled, dst []laplace.Block) []laplace.Block {
	for a := range g.d {
		v := xi[g.d+a] / w.Parameters[g.d+a]
		var d laplace.Diagonal
		dst, d = AppendDiagonal(dst, 2)
		d[0], d[1] = 1/v, 1/(2*v*v)
	}
	return dst
}

// AppendDiagonal appends a diagonal block of a size to dst, for [Factor].Information: the one that lay in
// the memory of dst before, where it has that size. It returns the block's entries, to be set.
func AppendDiagonal(dst []laplace.Block, size int) ([]laplace.Block, laplace.Diagonal) {
	n := len(dst)
	if n < cap(dst) {
		if d, ok := dst[:n+1][n].(laplace.Diagonal); ok && len(d) == size {
			return dst[:n+1], d // the same interface value: wrapping d again would allocate
		}
	}
	d := make(laplace.Diagonal, size)
	return append(dst, d), d
}

func (g diagonal) Numbers() []Number {
	var list []Number
	for _, name := range []string{"mean", "variance"} {
		for a := range g.d {
			list = append(list, Number{name, a, a})
		}
	}
	return list
}

// Deviations are √(σ²/n) and σ²√(2/n).
func (g diagonal) Deviations(xi, sums []float64, _ float64, dst []float64) {
	for a := range g.d {
		v, n := xi[g.d+a], sums[a]
		dst[a], dst[g.d+a] = math.Sqrt(v/n), v*math.Sqrt(2/n)
	}
}

func (g diagonal) Sample(xi []float64, rng *rand.Rand, x []float64) {
	for a := range g.d {
		x[a] = xi[a] + math.Sqrt(xi[g.d+a])*rng.NormFloat64()
	}
}

// spherical has one variance for all columns of a component, which are one cell. The
// numbers of one component are
//
//	sums    n; Σ(x−a); Σ‖x−a‖²
//	anchor  a
//	score   c; m; h with score(x) = c − h‖x−m‖²
//	params  μ; σ²
type spherical struct{ d int }

func (spherical) Name() string { return Gaussian{Spherical}.Name() }

func (g spherical) Layout() Layout {
	d := g.d
	return Layout{Columns: d, Cells: 1, Free: d + 1, Sums: d + 2, Anchor: d, Score: d + 2, Params: d + 1, Hyper: d + 3, Features: d}
}

func (g spherical) Observe(b framework.Rows, at, first, n int, o *Observed) error {
	return complete(b, at, first, n, g.d, Spherical, o)
}

func (g spherical) AddScores(o *Observed, scores Table, r []float64) {
	n := o.Padded()
	o.Work = linalg.Resize(o.Work, g.d)
	for j := range scores.K {
		score := scores.Row(j, g.d+2)
		for a := range o.Work {
			o.Work[a] = score[1+g.d]
		}
		simd.DiagonalScores(at(r, j, n), o.X, g.d, n, score[0], score[1:], o.Work)
	}
}

func (g spherical) AddSums(o *Observed, r []float64, _, anchors, sums Table) (entropy float64) {
	n := o.Padded()
	o.Work = linalg.Resize(o.Work, g.d)
	for j := range sums.K {
		to, weights := sums.Row(j, g.d+2), at(r, j, n)
		clear(o.Work)
		simd.DiagonalMoments(to[1:], o.Work, o.X, g.d, n, anchors.Row(j, g.d), weights)
		to[0] += floats.Sum(weights)
		to[1+g.d] += floats.Sum(o.Work)
	}
	return 0
}

func (g spherical) Features(o *Observed, _ *Pooled, dst []float64, width, at int) {
	o.copyTo(dst, width, at, g.d)
}

func (g spherical) Estimate(sums, anchor []float64, w *Pooled, xi []float64) error {
	n := sums[0]
	if !(n > 0) {
		return errEmpty
	}
	v := sums[1+g.d] / n
	for a := range g.d {
		shift := sums[1+a] / n
		xi[a] = anchor[a] + shift
		v -= shift * shift
	}
	xi[g.d] = v / float64(g.d)
	switch {
	case w != nil && !(xi[g.d] > vanishing*w.Parameters[g.d]):
		return collapsed(0)
	case w != nil:
		return nil
	case g.constant(xi):
		return framework.FaultyColumn(0, errors.New("is constant, like all others: there is nothing to fit"))
	}
	return measurable(0, 0, xi[g.d])
}

// constant says that all columns are: the mean variance is the rounding of the means.
func (g spherical) constant(xi []float64) bool {
	largest := 0.0
	for _, m := range xi[:g.d] {
		largest = max(largest, math.Abs(m))
	}
	return constant(largest, xi[g.d])
}

func (g spherical) Score(xi, score []float64) error {
	v := xi[g.d]
	if !(v > 0) {
		return collapsed(0)
	}
	copy(score[1:], xi[:g.d])
	score[0] = -float64(g.d) / 2 * (math.Log(2*math.Pi) + math.Log(v))
	score[1+g.d] = 1 / (2 * v)
	return nil
}

func (g spherical) Center(sums, anchor []float64) { center(sums[0], sums[1:1+g.d], anchor) }

func (g spherical) Locate(score, anchor []float64) { copy(anchor, score[1:1+g.d]) }

func (g spherical) Total(score, sums, anchor []float64) float64 {
	n, quad := sums[0], sums[1+g.d]
	for a := range g.d {
		shift := score[1+a] - anchor[a]
		quad += shift * (n*shift - 2*sums[1+a])
	}
	return n*score[0] - score[1+g.d]*quad
}

func (g spherical) AddPooled(weight float64, w *Pooled, anchor, sums []float64) {
	sums[0] += weight
	for a := range g.d {
		shift := w.Parameters[a] - anchor[a]
		sums[1+a] += weight * shift
		sums[1+g.d] += weight * (w.Parameters[g.d] + shift*shift)
	}
}

// Information is that of (μ, σ²) with the mean variance of the table as the unit.
func (g spherical) Information(xi []float64, w *Pooled, dst []laplace.Block) []laplace.Block {
	dst, d := AppendDiagonal(dst, g.d+1)
	v := xi[g.d] / w.Parameters[g.d]
	for a := range g.d {
		d[a] = 1 / v
	}
	d[g.d] = float64(g.d) / (2 * v * v)
	return dst
}

func (g spherical) Numbers() []Number {
	return append(diagonal(g).Numbers()[:g.d], Number{"variance", 0, g.d - 1})
}

// Deviations are √(σ²/n) and σ²√(2/(nD)).
func (g spherical) Deviations(xi, sums []float64, _ float64, dst []float64) {
	v, n := xi[g.d], sums[0]
	for a := range g.d {
		dst[a] = math.Sqrt(v / n)
	}
	dst[g.d] = v * math.Sqrt(2/(n*float64(g.d)))
}

func (g spherical) Sample(xi []float64, rng *rand.Rand, x []float64) {
	for a := range g.d {
		x[a] = xi[a] + math.Sqrt(xi[g.d])*rng.NormFloat64()
	}
}
