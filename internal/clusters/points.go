// Package clusters assigns the rows of a sample to clusters, from which fits begin: by k-means, by Ward's method, along
// lines.
package clusters

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Points are rows as points, in coordinates in which distances mean something: column-major in
// blocks, of which the last is filled up with points of weight 0.
type Points struct {
	n, width int
	block    int       // rows of a block
	x        []float64 // the coordinates of one block after the other
	weights  []float64

	held  []int     // the cluster of each row that is known, otherwise below 0; nil if there are none
	fixed []float64 // the centres of these clusters, which come first

	gap, trial, best []float64 // squared distances
	share            []float64 // running sums of weights times squared distances: what rows are drawn by
}

// New makes room for points of a width, with weights, in blocks of so many.
func New(weights []float64, width, block int) *Points {
	c := &Points{n: len(weights), width: width, block: block}
	padded := simd.Padded(c.n)
	c.x = make([]float64, padded*width)
	all := make([]float64, 5*padded)
	for i, part := range []*[]float64{&c.weights, &c.gap, &c.trial, &c.best, &c.share} {
		*part = linalg.Row(all, i, padded)
	}
	copy(c.weights, weights)
	return c
}

// Set sets the coordinates of points first to first+n, n×width row-major; first is the beginning of a block.
func (c *Points) Set(first, n int, x []float64) {
	for ; n > 0; first, n = first+c.block, n-c.block {
		rows := min(c.block, n)
		simd.Columns(c.x[first*c.width:], x, rows, c.width, c.width)
		x = x[rows*c.width:]
	}
}

// blocks yields the coordinates of each block and its first row.
func (c *Points) blocks(yield func(first int, x []float64) bool) {
	for first := 0; first < c.n; first += c.block {
		if !yield(first, c.x[first*c.width:][:simd.Padded(min(c.block, c.n-first))*c.width]) {
			return
		}
	}
}

// column yields a coordinate, block by block.
func (c *Points) column(j int) func(yield func(x []float64) bool) {
	return func(yield func(x []float64) bool) {
		for first, x := range c.blocks {
			if !yield(linalg.Row(x, j, len(x)/c.width)[:min(c.block, c.n-first)]) {
				return
			}
		}
	}
}

// point puts the coordinates of a row into dst.
func (c *Points) point(i int, dst []float64) {
	first := i / c.block * c.block
	side := simd.Padded(min(c.block, c.n-first))
	for j := range dst {
		dst[j] = c.x[first*c.width+j*side+i-first]
	}
}

// Standardise shifts and scales every coordinate to mean 0 and variance 1 of the weighted points, and puts 0 where one
// is missing: whitened points stay as they are, whatever their axes.
func (c *Points) Standardise() {
	for j := range c.width {
		c.standardiseOne(j)
	}
}

func (c *Points) standardiseOne(j int) {
	count, mean, at := 0.0, 0.0, 0
	for x := range c.column(j) {
		for i, v := range x {
			if w := c.weights[at+i]; !math.IsNaN(v) && w > 0 {
				count += w
				mean += w * (v - mean) / count
			}
		}
		at += len(x)
	}
	square := 0.0
	at = 0
	for x := range c.column(j) {
		for i, v := range x {
			if v -= mean; !math.IsNaN(v) {
				square += c.weights[at+i] * v * v
			}
		}
		at += len(x)
	}
	scale := 1.0
	if count > 0 {
		scale = math.Sqrt(square / count)
	}
	if scale < 0x1p-52*math.Abs(mean) { // equal numbers, to rounding
		scale = 0
	}
	for x := range c.column(j) {
		for i, v := range x {
			if v = (v - mean) / scale; v-v != 0 {
				v = 0
			}
			x[i] = v
		}
	}
}

// Distinct counts different points, up to a limit.
func (c *Points) Distinct(limit int) int {
	seen := map[string]bool{}
	var key []byte
	point := make([]float64, c.width)
	for i := 0; i < c.n && len(seen) < limit; i++ {
		c.point(i, point)
		key = key[:0]
		for _, v := range point {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
		}
		seen[string(key)] = true
	}
	return len(seen)
}

// nearer puts the smaller of gap and the squared distance from center into dst, for every
// row, and returns the weighted sum.
func (c *Points) nearer(dst, gap, center []float64) (sum float64) {
	for first, x := range c.blocks {
		sum += simd.Nearer(dst[first:], gap[first:], x, c.width, len(x)/c.width, center, c.weights[first:])
	}
	return sum
}

// Seeds chooses K rows by k-means++, several times over where that is cheap, and keeps those
// with the least sum of squared distances: two first seeds in one cluster are no accident
// otherwise.
func (c *Points) Seeds(k int, rng *rand.Rand) []float64 {
	const most, budget = 10, 1e8
	cost := float64(c.n*c.width) * float64(k) * float64(seedCandidates(k))
	tries := int(min(most, max(1, budget/cost)))
	var best []float64
	least := math.Inf(1)
	for range tries {
		if chosen, sum := c.seedsOnce(k, rng); best == nil || sum < least {
			best, least = chosen, sum
		}
	}
	return best
}

func seedCandidates(k int) int { return 2 + int(math.Log(float64(k))) }

// seedsOnce chooses each row in proportion to its squared distance from those before, the
// best of 2 + ln K candidates, and returns the sum of squared distances that is left.
func (c *Points) seedsOnce(k int, rng *rand.Rand) (_ []float64, left float64) {
	linalg.Fill(c.gap, math.Inf(1))
	floats.CumSum(c.share, c.weights) // the first is drawn like any row
	point, chosen := make([]float64, c.width), slices.Clone(c.fixed)
	for j := range len(c.fixed) / c.width {
		left = c.nearer(c.trial, c.gap, linalg.Row(c.fixed, j, c.width))
		c.gap, c.trial = c.trial, c.gap
		floats.CumSum(c.share, floats.MulTo(c.share, c.gap, c.weights))
	}
	for j := len(c.fixed) / c.width; j < k; j++ {
		seed, candidates := 0, seedCandidates(k)
		if j == 0 {
			candidates = 1
		}
		for try := range candidates {
			i := c.draw(rng)
			c.point(i, point)
			if sum := c.nearer(c.trial, c.gap, point); try == 0 || sum < left {
				left, seed = sum, i
				c.trial, c.best = c.best, c.trial
			}
		}
		c.gap, c.best = c.best, c.gap
		floats.CumSum(c.share, floats.MulTo(c.share, c.gap, c.weights))
		c.point(seed, point)
		chosen = append(chosen, point...)
	}
	return chosen, left
}

// draw draws a row in proportion to its share; any row where all shares are 0.
func (c *Points) draw(rng *rand.Rand) int {
	u := rng.Float64() * c.share[c.n-1]
	if i := sort.Search(c.n, func(i int) bool { return c.share[i] > u }); i < c.n {
		return i
	}
	return rng.IntN(c.n)
}

// Nearest gives each row the index of the nearest seed.
func (c *Points) Nearest(seeds []float64) []int {
	return c.nearestOf(len(seeds)/c.width, func(k int) { c.nearer(c.trial, c.gap, linalg.Row(seeds, k, c.width)) })
}

// nearestOf gives each row the index, below k, of what is nearest; nearer puts the smaller of gap and the distance from
// one into trial.
func (c *Points) nearestOf(k int, nearer func(j int)) []int {
	label := make([]int, c.n)
	linalg.Fill(c.gap, math.Inf(1))
	for k := range k {
		nearer(k)
		for i := range label {
			if c.trial[i] < c.gap[i] {
				label[i] = k
			}
		}
		c.gap, c.trial = c.trial, c.gap
	}
	for i, j := range c.held {
		if j >= 0 {
			label[i] = j
		}
	}
	return label
}

// Lloyd makes Lloyd's steps from seeds: every row goes to the nearest centre, and centres to the mean of their rows.
func (c *Points) Lloyd(centres []float64) (label []int) {
	k := len(centres) / c.width
	return c.settle(c.Nearest(centres), func(label []int) []int {
		means, counts := c.means(label, k)
		for j, n := range counts {
			if n > 0 {
				copy(linalg.Row(centres, j, c.width), linalg.Row(means, j, c.width))
			}
		}
		return c.Nearest(centres)
	})
}

// settle makes Lloyd's steps until few rows move.
func (c *Points) settle(label []int, step func(label []int) []int) []int {
	for range lloydSteps {
		last, moved := label, 0
		label = step(last)
		for i, j := range label {
			if last[i] != j {
				moved++
			}
		}
		if 1000*moved < c.n {
			break
		}
	}
	return label
}

// means are the weighted means of the rows of each label, k×width, and the weights of their rows.
func (c *Points) means(label []int, k int) (means, counts []float64) {
	means, counts = make([]float64, k*c.width), make([]float64, k)
	for i, j := range label {
		counts[j] += c.weights[i]
	}
	for first, x := range c.blocks {
		n := min(c.block, c.n-first)
		for a := range c.width {
			for i, v := range linalg.Row(x, a, len(x)/c.width)[:n] {
				means[label[first+i]*c.width+a] += c.weights[first+i] * v
			}
		}
	}
	for j, n := range counts {
		if n > 0 {
			linalg.Scale(1/n, linalg.Row(means, j, c.width))
		}
	}
	return means, counts
}

// lloydSteps bounds Lloyd's steps.
const lloydSteps = 25

// Scatter is Σ w xxᵀ.
func (c *Points) Scatter() []float64 {
	sum := make([]float64, c.width*c.width)
	var weighed []float64
	for first, x := range c.blocks {
		side := len(x) / c.width
		weighed = append(weighed[:0], x...)
		for a := range c.width {
			floats.Mul(linalg.Row(weighed, a, side), c.weights[first:first+side])
		}
		linalg.MulSerial(false, true, 1, linalg.General(c.width, side, weighed), linalg.General(c.width, side, x), 1,
			linalg.General(c.width, c.width, sum))
	}
	return sum
}

// TiedFit is the log-likelihood of labelled rows with one covariance, up to a constant. total is the scatter.
func (c *Points) TiedFit(label []int, k int, total []float64) float64 {
	means, counts := c.means(label, k)
	n, d, fit := floats.Sum(counts), c.width, 0.0
	within, weighed := append([]float64(nil), total...), append([]float64(nil), means...)
	for j, nj := range counts {
		linalg.Scale(nj, linalg.Row(weighed, j, d))
		if nj > 0 {
			fit += nj * math.Log(nj)
		}
	}
	linalg.MulSerial(true, false, -1, linalg.General(k, d, weighed), linalg.General(k, d, means), 1,
		linalg.General(d, d, within))
	for a := range d {
		within[a*d+a] += 1e-9 * n // where the table is singular
	}
	chol, ok := linalg.NewCholesky(d, within)
	if !ok {
		return math.Inf(-1)
	}
	return fit - n/2*chol.LogDet()
}
