package family

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// addTied whitens the rows once for all classes, whose R is the same: beyond that a class costs what a spherical
// one does. The mean of the first class is taken off before, so that nothing cancels.
func (g gaussian) addTied(o *Observed, scores Table, r []float64) {
	d, n, k := g.d, o.Padded(), scores.K
	o.Work = linalg.Resize(o.Work, 2*d*(n+k)+d)
	rows, means, half := o.Work[:2*d*n], o.Work[2*d*n:2*d*(n+k)], o.Work[2*d*(n+k):]
	first, root := g.split(scores.Row(0, 1+d+d*d), 1)
	for a, m := range first {
		for i, v := range at(o.X, a, n) {
			rows[a*n+i] = v - m
		}
	}
	for j := range k {
		m, _ := g.split(scores.Row(j, 1+d+d*d), 1)
		floats.SubTo(at(means, j, d), m, first)
	}
	whitened, centres := rows[d*n:], means[d*k:]
	linalg.MulSerial(false, false, 1, linalg.General(d, d, root), linalg.General(d, n, rows), 0, linalg.General(d, n, whitened))
	linalg.MulSerial(false, true, 1, linalg.General(k, d, means), linalg.General(d, d, root), 0, linalg.General(k, d, centres))
	linalg.Fill(half, 0.5)
	for j := range k {
		simd.DiagonalScores(at(r, j, n), whitened, d, n, scores.Row(j, 1)[0], at(centres, j, d), half)
	}
}

// ScoreAs takes the root of the covariance from another class's score.
func (g gaussian) ScoreAs(xi, other, otherScore, score []float64) (ok bool) {
	mean, cov := g.split(xi, 0)
	if _, shared := g.split(other, 0); !g.tied || !slices.Equal(cov, shared) {
		return false
	}
	copy(score, otherScore)
	copy(score[1:], mean)
	return true
}

// Share averages the covariances, which makes one that all share, and checks it where there is no floor.
func (g gaussian) Share(sums, params Table) error {
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
func (g gaussian) regularShared(sums, params Table, n float64) error {
	_, shared := g.split(params.Row(0, g.d+g.d*g.d), 0)
	for a := range g.d {
		if v := shared[a*g.d+a]; !(v > vanishing*(v+g.between(sums, params, a, n))) {
			return collapsed(a)
		}
	}
	if _, ok := g.independent(shared); !ok {
		return singular()
	}
	return nil
}

// between is the variance of a column's means: with that within the components it makes
// the variance in the table.
func (g gaussian) between(sums, params Table, column int, n float64) float64 {
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
