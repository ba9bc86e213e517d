package family

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Start is how a fit begins. Every start assigns the rows of a sample, at most 8192 drawn
// without replacement, to classes, adds a few rows' worth of the pooled table to each, and makes
// a global step.
type Start int

const (
	// Varied lets the starts of a fit differ (see [framework.StartOf]): every second one is KMeans, the others
	// RandomResponsibilities, or RandomRows where values repeat or estimates are searched for.
	Varied Start = iota
	// KMeans assigns rows to the nearest of K rows chosen by k-means++ (Arthur & Vassilvitskii 2007), the best of
	// several candidates each time, at the distances of whitened rows. In many columns it is k-means itself, and full
	// covariances begin as one. Where estimates are searched for (see [RowFactor]), it builds each component around one
	// row, and rows are as far apart as densities make them.
	KMeans
	// RandomResponsibilities draws each row's responsibilities uniformly on the simplex.
	RandomResponsibilities
	// RandomRows builds each component around one row drawn at random.
	RandomRows
)

var startNames = [...]string{"varied", "kmeans", "random", "rows"}

func (s Start) String() string {
	if s < 0 || int(s) >= len(startNames) {
		return fmt.Sprintf("Start(%d)", int(s))
	}
	return startNames[s]
}

// StartByName finds a start by its name; the error for an unknown one lists them.
func StartByName(name string) (Start, error) {
	for s, n := range startNames {
		if n == name {
			return Start(s), nil
		}
	}
	return 0, fmt.Errorf("family: unknown start %q: choose one of %v", name, startNames)
}

// A start looks at sampleRows rows, and where they are wide at fewer: sampleNumbers numbers,
// which take 16 MiB and as much for the points that they are, or fewRows rows, whose
// numbers are bounded too.
const (
	sampleRows    = 8192
	sampleNumbers = 1 << 21
	fewRows       = 2048
	mostNumbers   = 1 << 24
)

func sampleSize(d int) int {
	return max(64, min(sampleRows, max(sampleNumbers/d, min(fewRows, mostNumbers/d))))
}

// Pool describes the table as one class: the scale of its columns, which the unit-free coordinates of the curvature,
// default priors and starts are taken from. It reads the source three times, and as much of it again as the resolution
// of its columns takes; it checks every value. The plan that it returns knows the table.
func Pool(ctx context.Context, src framework.Source[framework.Rows], f Family) (*Pooled, *Plan, error) {
	d, err := columns(ctx, src)
	if err != nil {
		return nil, nil, err
	}
	p, err := NewPlan(f, d)
	if err != nil {
		return nil, nil, err
	}
	rough, _, err := p.moments(ctx, src, make([]float64, p.size.Anchor))
	if err != nil {
		return nil, nil, err
	}
	for i := range p.parts { // so that the sums of the second pass are about the means
		part := &p.parts[i]
		if a, ok := part.Factor.(Anchored); ok {
			a.Center(part.ofSums(rough.Sums), part.ofAnchor(rough.Anchor))
		}
	}
	c, n, err := p.moments(ctx, src, rough.Anchor)
	if err != nil {
		return nil, nil, err
	}
	if !within(c.Sums, headroom) || !within(c.Anchor, headroom) {
		return nil, nil, errors.New("family: sums over the rows overflow: rescale the data")
	}
	w := &Pooled{N: n, Parameters: make([]float64, p.size.Params), Sums: c.Sums, Anchor: c.Anchor, Units: make([]float64, p.size.Units)}
	if err := p.estimate(false, w.Sums, w.Anchor, w.Parameters); err != nil {
		return nil, nil, err
	}
	if err := p.refer(ctx, src, w); err != nil {
		return nil, nil, err
	}
	if err := p.setFloors(ctx, src, w); err != nil {
		return nil, nil, err
	}
	p.Attach(w)
	for i := range p.parts {
		if f := &p.parts[i]; f.rows != nil {
			if err := f.rows.PoolRows(c.weighted(f, 0), f.pooled); err != nil {
				return nil, nil, shift(err, f.at.Columns)
			}
		}
	}
	return w, p, nil
}

// headroom bounds the sums over the table: starts, priors and rates multiply them yet.
const headroom = 1e300

func within(v []float64, bound float64) bool {
	for _, x := range v {
		if !(math.Abs(x) <= bound) {
			return false
		}
	}
	return true
}

func columns(ctx context.Context, src framework.Source[framework.Rows]) (int, error) {
	for b, err := range src.Blocks(ctx) {
		return b.D, err
	}
	return 0, errors.New("family: the source has no rows")
}

// moments sums up all rows in one class about the anchor, and their weights.
func (p *Plan) moments(ctx context.Context, src framework.Source[framework.Rows], anchor []float64) (*Classes, float64, error) {
	type sums struct {
		*Classes
		n float64
		r []float64
	}
	s, err := framework.Fold(ctx, src, 1,
		func() (*sums, error) {
			s := &sums{Classes: p.Classes(1)}
			copy(s.Anchor, anchor)
			return s, nil
		},
		func(s *sums, b framework.Rows) error {
			return s.Chunks(b, func(first, n int, w []float64) error {
				s.r = linalg.Resize(s.r, Padded(n))
				for i := range s.r {
					if s.r[i] = 0; i < n {
						s.r[i] = b.Weight(first + i)
						s.n += s.r[i]
					}
				}
				s.Add(n, w, s.r)
				return nil
			})
		},
		func(into, from *sums) error {
			into.Merge(from.Classes)
			into.n += from.n
			return nil
		})
	if err != nil {
		return nil, 0, err
	}
	return s.Classes, s.n, nil
}

// Begin makes the sums that a fit of k classes begins with: those of a sample of rows that start has
// assigned, scaled up to the table, and of a few rows' worth of the pooled table for each class, so that
// no estimate begins singular or on the edge of its range. counts (k) are the rows of each class.
func (p *Plan) Begin(ctx context.Context, src framework.Source[framework.Rows], w *Pooled, k int, start Start, rng *rand.Rand) (c *Classes, counts []float64, err error) {
	start = p.startOf(start, framework.StartOf(ctx))
	rows, err := DrawRows(ctx, src, p.size.Columns, rng)
	if err != nil {
		return nil, nil, err
	}
	if n := src.Rows(); k > n { // before memory is taken for K of anything
		return nil, nil, tooMany(k, n)
	}
	c, counts = p.Classes(k), make([]float64, k)
	if err := c.Center(w); err != nil {
		return nil, nil, err
	}
	q, err := p.Partition(rows, k, start, rng)
	if err != nil {
		return nil, nil, err
	}
	if p.farOff() {
		harden(q, k)
	}
	var r []float64
	if err := c.Chunks(rows, func(first, n int, w []float64) error {
		r = linalg.Resize(r, Padded(n)*k)
		simd.Columns(r, q[first*k:], n, k, k)
		for j := range k {
			row := at(r, j, Padded(n))
			clear(row[n:])
			counts[j] += floats.Sum(row[:n])
		}
		c.Add(n, w, r)
		return nil
	}); err != nil {
		return nil, nil, err
	}
	if g, wide := p.wide(rows.N, k, start); wide {
		_, _, sums := c.tables(&p.parts[0])
		g.poolWithin(sums)
	}
	if !p.aroundRows(start) { // else they have the weight that they are to have
		factor := w.N / floats.Sum(rows.Weights)
		c.Scale(factor)
		linalg.Scale(factor, counts)
	}
	c.Soften(w, counts, rows.Weights)
	return c, counts, nil
}

// Soften adds a few rows' worth of the pooled table to every class, and to counts (K), so that no estimate begins
// singular or on the edge of its range. weights are those of the rows behind the sums.
func (c *Classes) Soften(w *Pooled, counts, weights []float64) {
	p := c.plan
	weight := min(p.startWeight(), w.N)
	share := weight / floats.Sum(weights)
	for place := range c.Rows.Q {
		c.Rows.Q[place] += share * weights[place/c.K]
	}
	for j := range c.K {
		counts[j] += weight
		for i := range p.parts {
			f := &p.parts[i]
			f.AddPooled(weight, f.begins(), f.ofAnchor(c.anchor(j)), f.ofSums(c.sums(j)))
		}
	}
}

// Center puts the anchors of all classes where those of the pooled table are, or its reference.
func (c *Classes) Center(w *Pooled) error {
	anchor := append([]float64(nil), w.Anchor...)
	for i := range c.plan.parts {
		f := &c.plan.parts[i]
		a, ok := f.Factor.(Anchored)
		if from := f.begins(); ok && from != f.pooled {
			score := make([]float64, f.size.Score)
			if err := f.Score(from.Parameters, score); err != nil {
				return shift(err, f.at.Columns)
			}
			a.Locate(score, f.ofAnchor(anchor))
		}
	}
	for j := range c.K {
		copy(c.anchor(j), anchor)
	}
	return nil
}

// farOff says that classes begin with the reference.
func (p *Plan) farOff() bool {
	return slices.ContainsFunc(p.parts, func(f part) bool { return f.begins() != f.pooled })
}

// harden gives each row, of k shares in q, to one class, as that of a row far off draws its mean there.
func harden(q []float64, k int) {
	for ; len(q) > 0; q = q[k:] {
		most, all := floats.MaxIdx(q[:k]), floats.Sum(q[:k])
		clear(q[:k])
		q[most] = all
	}
}

// begins is the pooled table that classes begin with, with the reference for parameters where rows are so far out that sums about the
// table's mean have no digits for the others.
func (f *part) begins() *Pooled {
	const digits = 0x1p52
	b, ok := f.Factor.(Bounder)
	if !ok || len(f.pooled.Reference) == 0 {
		return f.pooled
	}
	near := b.Spread(f.pooled.Reference)
	for j, v := range b.Spread(f.pooled.Parameters) {
		if v > digits*near[j] {
			about := *f.pooled
			about.Parameters = f.pooled.Reference
			return &about
		}
	}
	return f.pooled
}

// startOf is the start of the fit's number that Varied stands for.
func (p *Plan) startOf(start Start, number int) Start {
	switch {
	case start != Varied:
		return start
	case number%2 == 0:
		return KMeans
	case p.repeats || p.seeded():
		return RandomRows
	}
	return RandomResponsibilities
}

// A TooFewRowsError reports that a table has fewer distinct rows than components are asked for.
type TooFewRowsError struct{ K, Distinct int }

func (e *TooFewRowsError) Error() string {
	return fmt.Sprintf("family: %d components for %d distinct rows: choose K up to %d", e.K, e.Distinct, e.Distinct)
}

func tooMany(k, n int) error { return &TooFewRowsError{k, n} }

// DrawRows draws rows of d columns without replacement (reservoir sampling), as many as a start looks at; rows of
// weight 0 are left out.
func DrawRows(ctx context.Context, src framework.Source[framework.Rows], d int, rng *rand.Rand) (framework.Rows, error) {
	seen, most := 0, sampleSize(d)
	room := min(most, src.Rows())
	out := framework.Rows{D: d, Stride: d, X: make([]float64, 0, room*d), Weights: make([]float64, 0, room)}
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return out, err
		}
		for i := range b.N {
			weight := b.Weight(i)
			if weight == 0 {
				continue
			}
			place := seen
			if seen++; place >= most {
				if place = rng.IntN(seen); place >= most {
					continue
				}
			}
			if place == out.N {
				out.N++
				out.X = append(out.X, make([]float64, d)...)
				out.Weights = append(out.Weights, 0)
			}
			if b.Entries != nil {
				b.Entries.Put(i, out.Row(place))
			} else {
				copy(out.Row(place), b.Row(i))
			}
			out.Weights[place] = weight
		}
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if out.N == 0 {
		return out, errors.New("family: the source has no rows")
	}
	return out, nil
}

// Partition assigns rows, which have weights, to k classes: it returns the weights times the
// responsibilities of the start, rows×k; where classes are built around rows, those of the seeds
// alone. It errs where there are fewer than k different rows.
func (p *Plan) Partition(rows framework.Rows, k int, start Start, rng *rand.Rand) ([]float64, error) {
	start = p.startOf(start, 0)
	if start == KMeans && p.seeded() {
		return p.seeds(rows, k, rng)
	}
	if _, wide := p.wide(rows.N, k, start); wide {
		return p.partitionWide(rows, k, rng)
	}
	points, err := p.points(rows)
	if err != nil {
		return nil, err
	}
	if n := points.distinct(k); n < k && rows.N < sampleSize(rows.D) && !p.seeded() {
		return nil, tooMany(k, n)
	}
	r := make([]float64, rows.N*k)
	switch start {
	case KMeans:
		for i, j := range points.nearest(points.seeds(k, rng)) {
			r[i*k+j] = rows.Weights[i]
		}
	case RandomRows:
		// Every seed is as many rows as the pooled table adds later: it sits half-way.
		for j, i := range rng.Perm(rows.N)[:min(k, rows.N)] {
			r[i*k+j] = p.startWeight()
		}
	case RandomResponsibilities:
		for i := range rows.N {
			row, sum := at(r, i, k), 0.0
			for j := range row {
				row[j] = rng.ExpFloat64()
				sum += row[j]
			}
			for j := range row {
				row[j] *= rows.Weights[i] / sum
			}
		}
	default:
		return nil, fmt.Errorf("family: %v: a start is Varied, KMeans, RandomResponsibilities or RandomRows", start)
	}
	return r, nil
}

// points are rows as points, in coordinates in which distances mean something: column-major in
// blocks, of which the last is filled up with points of weight 0.
type points struct {
	n, width int
	block    int       // rows of a block
	x        []float64 // the coordinates of one block after the other
	weights  []float64

	gap, trial, best []float64 // squared distances
	share            []float64 // running sums of weights times squared distances: what rows are drawn by
}

// newPoints makes room for n points of a width.
func newPoints(n, width, block int) *points {
	c := &points{n: n, width: width, block: block}
	padded := Padded(n)
	c.x = make([]float64, padded*width)
	all := make([]float64, 5*padded)
	c.weights, c.gap, c.trial, c.best, c.share = at(all, 0, padded), at(all, 1, padded), at(all, 2, padded), at(all, 3, padded), at(all, 4, padded)
	return c
}

// points are the rows as points: whitened by a full covariance, else every column with mean 0 and
// variance 1, and 0 where a value is missing.
func (p *Plan) points(rows framework.Rows) (*points, error) {
	c := newPoints(rows.N, max(1, p.size.Features), ChunkRows(rows))
	copy(c.weights, rows.Weights)
	lying := make([]float64, min(c.n, c.block)*c.width)
	one := p.Classes(1)
	err := one.Chunks(rows, func(first, n int, _ []float64) error {
		for i := range p.parts {
			f := &p.parts[i]
			if f.sums == nil {
				continue
			}
			f.sums.Features(&one.seen[i], f.pooled, lying, c.width, f.at.Features)
		}
		simd.Columns(c.x[first*c.width:], lying, n, c.width, c.width)
		return nil
	})
	for j := range c.width {
		c.standardise(j)
	}
	return c, err
}

// blocks yields the coordinates of each block and its first row.
func (c *points) blocks(yield func(first int, x []float64) bool) {
	for first := 0; first < c.n; first += c.block {
		if !yield(first, c.x[first*c.width:][:Padded(min(c.block, c.n-first))*c.width]) {
			return
		}
	}
}

// column yields a coordinate, block by block.
func (c *points) column(j int) func(yield func(x []float64) bool) {
	return func(yield func(x []float64) bool) {
		for first, x := range c.blocks {
			if !yield(at(x, j, len(x)/c.width)[:min(c.block, c.n-first)]) {
				return
			}
		}
	}
}

// point puts the coordinates of a row into dst.
func (c *points) point(i int, dst []float64) {
	first := i / c.block * c.block
	side := Padded(min(c.block, c.n-first))
	for j := range dst {
		dst[j] = c.x[first*c.width+j*side+i-first]
	}
}

// standardise shifts and scales a coordinate, by mean and variance of the weighted rows: whitened rows stay as they
// are, whatever their axes.
func (c *points) standardise(j int) {
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

// distinct counts different points, up to a limit.
func (c *points) distinct(limit int) int {
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
func (c *points) nearer(dst, gap, center []float64) (sum float64) {
	for first, x := range c.blocks {
		sum += simd.Nearer(dst[first:], gap[first:], x, c.width, len(x)/c.width, center, c.weights[first:])
	}
	return sum
}

// seeds chooses K rows by k-means++, several times over where that is cheap, and keeps those
// with the least sum of squared distances: two first seeds in one cluster are no accident
// otherwise.
func (c *points) seeds(k int, rng *rand.Rand) []float64 {
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
func (c *points) seedsOnce(k int, rng *rand.Rand) (chosen []float64, left float64) {
	linalg.Fill(c.gap, math.Inf(1))
	floats.CumSum(c.share, c.weights) // the first is drawn like any row
	point := make([]float64, c.width)
	for j := range k {
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
func (c *points) draw(rng *rand.Rand) int {
	u := rng.Float64() * c.share[c.n-1]
	if i := sort.Search(c.n, func(i int) bool { return c.share[i] > u }); i < c.n {
		return i
	}
	return rng.IntN(c.n)
}

// nearest gives each row the index of the nearest seed.
func (c *points) nearest(seeds []float64) []int {
	label := make([]int, c.n)
	linalg.Fill(c.gap, math.Inf(1))
	for k := range len(seeds) / c.width {
		c.nearer(c.trial, c.gap, at(seeds, k, c.width))
		for i := range label {
			if c.trial[i] < c.gap[i] {
				label[i] = k
			}
		}
		c.gap, c.trial = c.trial, c.gap
	}
	return label
}
