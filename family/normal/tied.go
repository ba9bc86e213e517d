package normal

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/variances"
)

// addTied whitens the rows once for all classes, whose R is the same: beyond that a class costs what a spherical
// one does. The mean of the first class is taken off before, so that nothing cancels.
func (g gaussian) addTied(o *family.Observed, scores family.Table, r []float64) {
	d, n, k := g.d, o.Padded(), scores.K
	o.Work = linalg.Resize(o.Work, 2*d*(n+k)+d)
	rows, means, half := o.Work[:2*d*n], o.Work[2*d*n:2*d*(n+k)], o.Work[2*d*(n+k):]
	first, root := g.split(scores.Row(0, 1+d+d*d), 1)
	for a, m := range first {
		for i, v := range linalg.Row(o.X, a, n) {
			rows[a*n+i] = v - m
		}
	}
	for j := range k {
		m, _ := g.split(scores.Row(j, 1+d+d*d), 1)
		floats.SubTo(linalg.Row(means, j, d), m, first)
	}
	whitened, centres := rows[d*n:], means[d*k:]
	linalg.MulSerial(false, false, 1, linalg.General(d, d, root), linalg.General(d, n, rows), 0,
		linalg.General(d, n, whitened))
	linalg.MulSerial(false, true, 1, linalg.General(k, d, means), linalg.General(d, d, root), 0,
		linalg.General(k, d, centres))
	linalg.Fill(half, 0.5)
	for j := range k {
		simd.DiagonalScores(linalg.Row(r, j, n), whitened, d, n, scores.Row(j, 1)[0], linalg.Row(centres, j, d), half)
	}
}

// addTiedSums adds the second moments about the classes' anchors a_k together, and to each class in proportion to
// its weight, because only their sum counts. With w = Σ_k r_k and ā = Σ_k r_k a_k/w of each row,
//
//	Σ_k r_k(x−a_k)(x−a_k)ᵀ = w(x−ā)(x−ā)ᵀ + Σ_{k<l} r_k r_l/w (a_k−a_l)(a_k−a_l)ᵀ,
//
// in which nothing cancels, however far apart the anchors are.
func (g gaussian) addTiedSums(o *family.Observed, r []float64, anchors, sums family.Table) {
	d, n, k, size := g.d, o.Padded(), sums.K, 1+2*g.d+g.d*g.d
	o.Work = linalg.Resize(o.Work, n+k*n+k*d+d*n+k*k+2*d+d*d+simd.MomentsWork(d, n))
	rest := o.Work
	take := func(n int) (part []float64) {
		part, rest = rest[:n:n], rest[n:]
		return part
	}
	weights, shares, shifts, rows, pairs, unused, second := take(n), take(k*n), take(k*d), take(d*n),
		take(k*k), take(2*d), take(d*d)
	clear(weights)
	clear(unused)
	clear(second)
	total := 0.0
	for j := range k {
		own, to, anchor := linalg.Row(r, j, n), sums.Row(j, size), anchors.Row(j, d)
		simd.DiagonalMoments(to[1:], unused, o.X, d, n, anchor, own)
		count := floats.Sum(own)
		to[0] += count
		total += count
		floats.AddConst(count, to[1+d+d*d:])
		floats.Add(weights, own)
		floats.SubTo(linalg.Row(shifts, j, d), anchor, anchors.Row(0, d))
	}
	if !(total > 0) {
		return
	}
	copy(shares, r[:k*n])
	for i, w := range weights {
		if w > 0 {
			for j := range k {
				shares[j*n+i] /= w
			}
		}
	}
	for a, m := range anchors.Row(0, d) {
		for i, v := range linalg.Row(o.X, a, n) {
			rows[a*n+i] = v - m
		}
	}
	linalg.MulSerial(true, false, -1, linalg.General(k, d, shifts), linalg.General(k, n, shares), 1,
		linalg.General(d, n, rows))
	linalg.MulSerial(false, true, 1, linalg.General(k, n, shares), linalg.General(k, n, r), 0, linalg.General(k, k, pairs))
	clear(unused)
	simd.GaussianMoments(unused[d:], second, rows, d, n, unused[:d], weights, rest)
	g.addBetween(second, pairs, shifts, rows)
	for j := range k {
		share := floats.Sum(linalg.Row(r, j, n)) / total
		if _, to := g.split(sums.Row(j, size), 1); share > 0 {
			for a := range d {
				linalg.Axpy(share, second[a*d+a:(a+1)*d], to[a*d+a:(a+1)*d])
			}
		}
	}
}

// addBetween adds Σ_{k<l} pairs_kl (a_k−a_l)(a_k−a_l)ᵀ to the second moments. work has d numbers or more.
func (g gaussian) addBetween(second, pairs, anchors, work []float64) {
	d, k, filled := g.d, len(anchors)/g.d, 0
	flush := func() {
		gaps := linalg.General(filled, d, work)
		linalg.MulSerial(true, false, 1, gaps, gaps, 1, linalg.General(d, d, second))
		filled = 0
	}
	for j := range k {
		for l := range j {
			weight := pairs[j*k+l]
			if weight == 0 {
				continue
			}
			gap := linalg.Row(work, filled, d)
			floats.SubTo(gap, linalg.Row(anchors, j, d), linalg.Row(anchors, l, d))
			linalg.Scale(math.Sqrt(weight), gap)
			if filled++; (filled+1)*d > len(work) {
				flush()
			}
		}
	}
	if filled > 0 {
		flush()
	}
}

// ScoreAs takes the root of the covariance from another class's score.
func (g gaussian) ScoreAs(xi, other, otherScore, score []float64) (ok bool) {
	if !g.tied {
		return false
	}
	mean, cov := g.split(xi, 0)
	if _, shared := g.split(other, 0); !slices.Equal(cov, shared) {
		return false
	}
	copy(score, otherScore)
	copy(score[1:], mean)
	return true
}

// Share averages the covariances, into one that all share, and checks it if there is no floor.
func (g gaussian) Share(sums, _, params family.Table, _ *family.Pooled) error {
	if !g.tied {
		return nil
	}
	d := g.d
	_, shared := g.split(params.Row(0, d+d*d), 0)
	n := 0.0
	for k := range params.K {
		nk := sums.Data[k*sums.Stride]
		n += nk
		_, cov := g.split(params.Row(k, d+d*d), 0)
		for i, v := range cov {
			if k == 0 {
				shared[i] = 0
			}
			shared[i] += nk * v
		}
	}
	for i := range shared {
		shared[i] /= n
	}
	if g.floor == 0 { // else Bound follows
		if err := g.regularShared(sums, params, n); err != nil {
			return err
		}
	}
	for k := 1; k < params.K; k++ {
		_, cov := g.split(params.Row(k, d+d*d), 0)
		copy(cov, shared)
	}
	return nil
}

// regularShared says what makes the covariance that n rows share singular.
func (g gaussian) regularShared(sums, params family.Table, n float64) error {
	_, shared := g.split(params.Row(0, g.d+g.d*g.d), 0)
	for a := range g.d {
		if v := shared[a*g.d+a]; !(v > variances.Vanishing*(v+g.between(sums, params, a, n))) {
			return variances.Collapsed(a)
		}
	}
	if _, ok := g.independent(shared); !ok {
		return variances.Singular()
	}
	return nil
}

// between is the variance of a column's means: with that within the components it makes
// the variance in the table.
func (g gaussian) between(sums, params family.Table, column int, n float64) float64 {
	mean, spread := 0.0, 0.0
	for k := range params.K {
		mean += sums.Data[k*sums.Stride] / n * params.Data[k*params.Stride+column]
	}
	for k := range params.K {
		shift := params.Data[k*params.Stride+column] - mean
		spread += sums.Data[k*sums.Stride] / n * shift * shift
	}
	return spread
}
