package mixture

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

func (diagonal) name() string { return Gaussian{Diagonal}.Name() }

func (g diagonal) layout() layout {
	d := g.d
	return layout{columns: d, cells: d, free: 2, sums: 3 * d, anchor: d, score: 3 * d, params: 2 * d, hyper: 4 * d, features: d}
}

// thirds gives the three parts of d numbers each.
func thirds(v []float64, d int) (a, b, c []float64) { return v[:d], v[d : 2*d], v[2*d : 3*d] }

func (g diagonal) observe(b framework.Rows, at, first, n int, o *observed) error {
	if o.turn(b, at, first, n, g.d) {
		return nil
	}
	o.complete = false
	for i := range n {
		for j, v := range o.row(i, g.d) {
			if math.IsInf(v, 0) {
				return framework.NotFinite(b.First+first+i, at+j, v)
			}
		}
	}
	return nil
}

func (g diagonal) addScores(o *observed, scores table, r []float64) {
	n := o.padded()
	for j := range scores.k {
		c, m, h := thirds(scores.row(j, 3*g.d), g.d)
		to := at(r, j, n)
		if o.complete {
			simd.DiagonalScores(to, o.x, g.d, n, floats.Sum(c), m, h)
			continue
		}
		for a := range g.d {
			for i, v := range at(o.x, a, n) {
				if v == v {
					v -= m[a]
					to[i] += c[a] - h[a]*v*v
				}
			}
		}
	}
}

func (g diagonal) addSums(o *observed, r []float64, anchors, sums table) {
	padded := o.padded()
	for j := range sums.k {
		n, first, second := thirds(sums.row(j, 3*g.d), g.d)
		anchor, weights := anchors.row(j, g.d), at(r, j, padded)
		if o.complete {
			simd.DiagonalMoments(first, second, o.x, g.d, padded, anchor, weights)
			floats.AddConst(floats.Sum(weights), n)
			continue
		}
		for a := range g.d {
			for i, v := range at(o.x, a, padded) {
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
}

func (g diagonal) features(o *observed, _ *whole, dst []float64, width, at int) {
	for i := range o.n {
		copy(dst[i*width+at:], o.row(i, g.d))
	}
}

func (g diagonal) estimate(sums, anchor []float64, w *whole, xi []float64) error {
	n, first, second := thirds(sums, g.d)
	for a := range g.d {
		if !(n[a] > 0) {
			if w == nil {
				return framework.FaultyColumn(a, framework.ErrNoValue)
			}
			xi[a], xi[g.d+a] = w.xi[a], w.xi[g.d+a]
			continue
		}
		shift := first[a] / n[a]
		xi[a], xi[g.d+a] = anchor[a]+shift, second[a]/n[a]-shift*shift
		if w == nil {
			if err := measurable(a, xi[a], xi[g.d+a]); err != nil {
				return err
			}
		} else if !(xi[g.d+a] > vanishing*w.xi[g.d+a]) {
			return collapsed(a)
		}
	}
	return nil
}

func (g diagonal) natural(xi, score []float64) error {
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

func (g diagonal) center(sums, anchor []float64) {
	n, first, _ := thirds(sums, g.d)
	for a := range g.d {
		center(n[a], first[a:a+1], anchor[a:a+1])
	}
}

func (g diagonal) locate(score, anchor []float64) { copy(anchor, score[g.d:2*g.d]) }

func (g diagonal) total(score, sums, anchor []float64) float64 {
	c, m, h := thirds(score, g.d)
	n, first, second := thirds(sums, g.d)
	sum := 0.0
	for a := range g.d {
		shift := m[a] - anchor[a]
		sum += n[a]*c[a] - h[a]*(second[a]+shift*(n[a]*shift-2*first[a]))
	}
	return sum
}

func (g diagonal) addWhole(weight float64, w *whole, anchor, sums []float64) {
	n, first, second := thirds(sums, g.d)
	for a := range g.d {
		shift := w.xi[a] - anchor[a]
		n[a] += weight
		first[a] += weight * shift
		second[a] += weight * (w.xi[g.d+a] + shift*shift)
	}
}

// information is that of (μ, σ²) with the variance of the table as the unit: 1/v, 1/(2v²).
func (g diagonal) information(xi []float64, w *whole, dst []laplace.Block) []laplace.Block {
	for a := range g.d {
		v := xi[g.d+a] / w.xi[g.d+a]
		var d laplace.Diagonal
		dst, d = appendDiagonal(dst, 2)
		d[0], d[1] = 1/v, 1/(2*v*v)
	}
	return dst
}

// appendDiagonal appends a diagonal block, the one that was at that place before where it
// has the size, and returns its entries to be set.
func appendDiagonal(dst []laplace.Block, size int) ([]laplace.Block, laplace.Diagonal) {
	n := len(dst)
	if n < cap(dst) {
		if d, ok := dst[:n+1][n].(laplace.Diagonal); ok && len(d) == size {
			return dst[:n+1], d // the same interface value: wrapping d again would allocate
		}
	}
	d := make(laplace.Diagonal, size)
	return append(dst, d), d
}

func (g diagonal) numbers() []Number {
	var list []Number
	for _, name := range []string{"mean", "variance"} {
		for a := range g.d {
			list = append(list, Number{name, a, a})
		}
	}
	return list
}

// deviations are √(σ²/n) and σ²√(2/n).
func (g diagonal) deviations(xi, sums []float64, _ float64, dst []float64) {
	for a := range g.d {
		v, n := xi[g.d+a], sums[a]
		dst[a], dst[g.d+a] = math.Sqrt(v/n), v*math.Sqrt(2/n)
	}
}

func (g diagonal) sample(xi []float64, rng *rand.Rand, x []float64) {
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

func (spherical) name() string { return Gaussian{Spherical}.Name() }

func (g spherical) layout() layout {
	d := g.d
	return layout{columns: d, cells: 1, free: d + 1, sums: d + 2, anchor: d, score: d + 2, params: d + 1, hyper: d + 3, features: d}
}

func (g spherical) observe(b framework.Rows, at, first, n int, o *observed) error {
	return see(b, at, first, n, g.d, Spherical, o)
}

func (g spherical) addScores(o *observed, scores table, r []float64) {
	n := o.padded()
	o.work = linalg.Resize(o.work, g.d)
	for j := range scores.k {
		score := scores.row(j, g.d+2)
		for a := range o.work {
			o.work[a] = score[1+g.d]
		}
		simd.DiagonalScores(at(r, j, n), o.x, g.d, n, score[0], score[1:], o.work)
	}
}

func (g spherical) addSums(o *observed, r []float64, anchors, sums table) {
	n := o.padded()
	o.work = linalg.Resize(o.work, g.d)
	for j := range sums.k {
		to, weights := sums.row(j, g.d+2), at(r, j, n)
		clear(o.work)
		simd.DiagonalMoments(to[1:], o.work, o.x, g.d, n, anchors.row(j, g.d), weights)
		to[0] += floats.Sum(weights)
		to[1+g.d] += floats.Sum(o.work)
	}
}

func (g spherical) features(o *observed, _ *whole, dst []float64, width, at int) {
	for i := range o.n {
		copy(dst[i*width+at:], o.row(i, g.d))
	}
}

func (g spherical) estimate(sums, anchor []float64, w *whole, xi []float64) error {
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
	case w != nil && !(xi[g.d] > vanishing*w.xi[g.d]):
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

func (g spherical) natural(xi, score []float64) error {
	v := xi[g.d]
	if !(v > 0) {
		return collapsed(0)
	}
	copy(score[1:], xi[:g.d])
	score[0] = -float64(g.d) / 2 * (math.Log(2*math.Pi) + math.Log(v))
	score[1+g.d] = 1 / (2 * v)
	return nil
}

func (g spherical) center(sums, anchor []float64) { center(sums[0], sums[1:1+g.d], anchor) }

func (g spherical) locate(score, anchor []float64) { copy(anchor, score[1:1+g.d]) }

func (g spherical) total(score, sums, anchor []float64) float64 {
	n, quad := sums[0], sums[1+g.d]
	for a := range g.d {
		shift := score[1+a] - anchor[a]
		quad += shift * (n*shift - 2*sums[1+a])
	}
	return n*score[0] - score[1+g.d]*quad
}

func (g spherical) addWhole(weight float64, w *whole, anchor, sums []float64) {
	sums[0] += weight
	for a := range g.d {
		shift := w.xi[a] - anchor[a]
		sums[1+a] += weight * shift
		sums[1+g.d] += weight * (w.xi[g.d] + shift*shift)
	}
}

// information is that of (μ, σ²) with the mean variance of the table as the unit.
func (g spherical) information(xi []float64, w *whole, dst []laplace.Block) []laplace.Block {
	dst, d := appendDiagonal(dst, g.d+1)
	v := xi[g.d] / w.xi[g.d]
	for a := range g.d {
		d[a] = 1 / v
	}
	d[g.d] = float64(g.d) / (2 * v * v)
	return dst
}

func (g spherical) numbers() []Number {
	return append(diagonal(g).numbers()[:g.d], Number{"variance", 0, g.d - 1})
}

// deviations are √(σ²/n) and σ²√(2/(nD)).
func (g spherical) deviations(xi, sums []float64, _ float64, dst []float64) {
	v, n := xi[g.d], sums[0]
	for a := range g.d {
		dst[a] = math.Sqrt(v / n)
	}
	dst[g.d] = v * math.Sqrt(2/(n*float64(g.d)))
}

func (g spherical) sample(xi []float64, rng *rand.Rand, x []float64) {
	for a := range g.d {
		x[a] = xi[a] + math.Sqrt(xi[g.d])*rng.NormFloat64()
	}
}
