package clusters

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
)

// Classes that are regressions begin with lines of their own. All near the line of the table are next to a saddle of
// every criterion, which iterations leave slowly or not at all. Points have the response first; the nearest line of a
// row is that with the least residual, and what k-means does with means and distances is done with lines and residuals
// (Späth 1979).

const (
	lineTries = 3   // of seeds
	lineRidge = 0.1 // rows' worth of the line of the table, as the rows of a line may not determine it
)

type lines struct {
	*Points
	table *mat.VecDense // the line of all rows: an intercept and width−1 slopes
}

// AlongLines assigns points to k lines that are seeded as k-means++ does and, where they are refined, moved by Lloyd's
// steps.
func (c *Points) AlongLines(k int, refined bool, rng *rand.Rand) (label []int) {
	c.whitenRegressors()
	l := &lines{Points: c, table: mat.NewVecDense(c.width, nil)}
	l.table = l.fit(1, make([]int, c.n))[0]
	var best []*mat.VecDense
	least := math.Inf(1)
	for range lineTries {
		if seeds, sum := l.seeds(k, rng); sum < least {
			best, least = seeds, sum
		}
	}
	label = l.nearest(best)
	if !refined {
		return label
	}
	return l.settle(label, func(label []int) []int { return l.nearest(l.fit(k, label)) })
}

// whitenRegressors takes the covariance of the regressors out, so that linear maps of them change no distance.
func (c *Points) whitenRegressors() {
	d := c.width
	if d < 2 {
		return
	}
	covariance := mat.NewSymDense(d, c.Scatter())
	covariance.ScaleSym(1/floats.Sum(c.weights), covariance)
	var chol mat.Cholesky
	if !chol.Factorize(covariance.SliceSym(1, d)) {
		return
	}
	var root mat.TriDense
	chol.LTo(&root)
	for _, x := range c.blocks {
		side := len(x) / d
		for j := range d - 1 {
			to := linalg.Row(x, 1+j, side)
			for i := range j {
				linalg.Axpy(-root.At(j, i), linalg.Row(x, 1+i, side), to)
			}
			linalg.Scale(1/root.At(j, j), to)
		}
	}
}

// fit are the lines of k classes by weighted least squares. Rows with a label below 0 have no class.
func (l *lines) fit(k int, label []int) []*mat.VecDense {
	d := l.width
	size := d*d + d // Σ w uuᵀ, and Σ w uy
	sums, u := make([]float64, k*size), make([]float64, d)
	for i, j := range label {
		if j < 0 {
			continue
		}
		l.point(i, u)
		y := u[0]
		u[0] = 1
		to := linalg.Row(sums, j, size)
		for a, v := range u {
			linalg.Axpy(l.weights[i]*v, u, to[a*d:(a+1)*d])
		}
		linalg.Axpy(l.weights[i]*y, u, to[d*d:])
	}
	fitted := make([]*mat.VecDense, k)
	for j := range fitted {
		of := linalg.Row(sums, j, size)
		gram, right := mat.NewSymDense(d, of[:d*d]), mat.NewVecDense(d, of[d*d:])
		for a := range d {
			gram.SetSym(a, a, gram.At(a, a)+lineRidge)
		}
		right.AddScaledVec(right, lineRidge, l.table)
		fitted[j] = mat.NewVecDense(d, nil)
		var chol mat.Cholesky
		if chol.Factorize(gram) {
			_ = chol.SolveVecTo(fitted[j], right) // badly conditioned at worst
		}
	}
	return fitted
}

// nearer puts the smaller of gap and the squared residual from a line into dst, for every row, and returns the weighted
// sum.
func (l *lines) nearer(dst, gap []float64, line *mat.VecDense) (sum float64) {
	b := line.RawVector().Data
	for first, x := range l.blocks {
		side, n := len(x)/l.width, min(l.block, l.n-first)
		e := dst[first : first+n]
		copy(e, x)
		floats.AddConst(-b[0], e)
		for j, slope := range b[1:] {
			linalg.Axpy(-slope, linalg.Row(x, 1+j, side)[:n], e)
		}
		for i, v := range e {
			e[i] = min(gap[first+i], v*v)
		}
		sum += linalg.Dot(e, l.weights[first:first+n])
	}
	return sum
}

// nearest gives each row the index of the nearest line.
func (l *lines) nearest(to []*mat.VecDense) []int {
	return l.nearestOf(len(to), func(k int) { l.nearer(l.trial, l.gap, to[k]) })
}

// seeds chooses k lines, each the best of some candidates, and returns the sum of squared residuals that is left.
func (l *lines) seeds(k int, rng *rand.Rand) (chosen []*mat.VecDense, left float64) {
	linalg.Fill(l.gap, math.Inf(1))
	floats.CumSum(l.share, l.weights)
	candidates := 1 // the first is drawn like any
	for range k {
		var line *mat.VecDense
		for try := range candidates {
			one := l.fit(1, l.candidate(k, try%2 == 0, rng))[0]
			if sum := l.nearer(l.trial, l.gap, one); line == nil || sum < left {
				line, left = one, sum
				l.trial, l.best = l.best, l.trial
			}
		}
		candidates = 2 * seedCandidates(k)
		l.gap, l.best = l.best, l.gap
		floats.CumSum(l.share, floats.MulTo(l.share, l.gap, l.weights))
		chosen = append(chosen, line)
	}
	return chosen, left
}

// candidate labels the rows of a line 0, and others −1. Those far from the lines before are drawn more often: either as
// few as determine one, or one with the rows nearest to it, up to a class's share of them.
func (l *lines) candidate(k int, near bool, rng *rand.Rand) []int {
	label, few := slices.Repeat([]int{-1}, l.n), l.width+1
	if !near {
		for range few {
			label[l.draw(rng)] = 0
		}
		return label
	}
	point, gap := make([]float64, l.width), slices.Repeat([]float64{math.Inf(1)}, len(l.gap))
	l.point(l.draw(rng), point)
	l.Points.nearer(gap, gap, point)
	order := make([]int, l.n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(gap[a], gap[b]) })
	for _, i := range order[:min(l.n, few+rng.IntN(max(1, l.n/k)))] {
		label[i] = 0
	}
	return label
}
