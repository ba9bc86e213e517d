package mixture

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Start is how a fit begins. Every start assigns the rows of a sample, at most 8192 drawn
// without replacement, to components, adds a few rows' worth of the whole table to each
// component, and makes a global step.
type Start int

const (
	// KMeans assigns rows to the nearest of K rows chosen by k-means++ (Arthur &
	// Vassilvitskii 2007), the best of several candidates each time, at the distances of
	// whitened rows.
	KMeans Start = iota
	// RandomResponsibilities draws each row's responsibilities uniformly on the simplex.
	RandomResponsibilities
	// RandomRows builds each component around one row drawn at random.
	RandomRows
)

var startNames = [...]string{"kmeans", "random", "rows"}

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
	return 0, fmt.Errorf("mixture: unknown start %q: choose one of %v", name, startNames)
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

// Init draws starting parameters. It reads the source a few times: for the scale of the
// columns, to check every value, and for the sample.
func (m Model) Init(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (*Parameters, error) {
	return initModel(ctx, m, src, denseOf, k, rng)
}

func denseOf(b framework.Rows) dense { return dense{b} }

func initModel[B any, D block](ctx context.Context, m Model, src framework.Source[B], as func(B) D, k int, rng *rand.Rand) (*Parameters, error) {
	w, pl, err := summarize(ctx, m, src, as)
	if err != nil {
		return nil, err
	}
	s, err := begin(ctx, m, src, as, w, pl, k, rng)
	if err != nil {
		return nil, err
	}
	return m.Maximize(s, &Parameters{K: k, D: pl.columns, Whole: w, plan: pl}, nil)
}

// summarize describes the table as one component. Two passes: the second takes its sums
// about the means that the first has found.
func summarize[B any, D block](ctx context.Context, m Model, src framework.Source[B], as func(B) D) (*Whole, *plan, error) {
	d, err := columns(ctx, src, as)
	if err != nil {
		return nil, nil, err
	}
	pl, err := newPlan(m.Family, d)
	if err != nil {
		return nil, nil, err
	}
	rough, err := moments(ctx, src, as, pl, make([]float64, pl.anchor))
	if err != nil {
		return nil, nil, err
	}
	for i := range pl.parts {
		p := &pl.parts[i]
		p.center(p.ofSums(rough.Sums), p.ofAnchor(rough.Anchor))
	}
	s, err := moments(ctx, src, as, pl, rough.Anchor)
	if err != nil {
		return nil, nil, err
	}
	if !within(s.Sums, headroom) || !within(s.Anchor, headroom) {
		return nil, nil, errors.New("mixture: sums over the rows overflow: rescale the data")
	}
	w := &Whole{N: s.N, Parameters: make([]float64, pl.params), Sums: s.Sums, Anchor: s.Anchor}
	for i := range pl.parts {
		p := &pl.parts[i]
		if err := p.estimate(p.ofSums(w.Sums), p.ofAnchor(w.Anchor), nil, p.ofParams(w.Parameters)); err != nil {
			return nil, nil, shift(err, p.at.columns)
		}
	}
	return w, pl.attach(w), nil
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

func columns[B any, D block](ctx context.Context, src framework.Source[B], as func(B) D) (int, error) {
	for b, err := range src.Blocks(ctx) {
		_, d, _ := as(b).dims()
		return d, err
	}
	return 0, errors.New("mixture: the source has no rows")
}

// moments sums up all rows in one component about the anchor.
func moments[B any, D block](ctx context.Context, src framework.Source[B], as func(B) D, pl *plan, anchor []float64) (*Statistics, error) {
	return framework.Fold(ctx, src, 1,
		func() (*Statistics, error) {
			s := newStatistics(pl, 1)
			copy(s.Anchor, anchor)
			return s, nil
		},
		func(s *Statistics, rows B) error {
			b := as(rows)
			return chunks(s, b, func(first, n int) {
				s.r = linalg.Resize(s.r, simd.Padded(n))
				if w := b.weights(first, n); w != nil {
					copy(s.r, w)
				} else {
					fill(s.r[:n], 1)
				}
				clearBeyond(s.r, n)
				add(s, b, first, n)
			})
		},
		func(into, from *Statistics) error { into.Merge(from); return nil })
}

// begin returns the statistics of a start: sums over a sample, scaled up to the table,
// and for each component a few rows' worth of the whole.
func begin[B any, D block](ctx context.Context, m Model, src framework.Source[B], as func(B) D, w *Whole, pl *plan, k int, rng *rand.Rand) (*Statistics, error) {
	rows, err := sample(ctx, src, as, pl.columns, rng)
	if err != nil {
		return nil, err
	}
	if n := src.Rows(); k > n { // before memory is taken for K of anything
		return nil, tooMany(k, n)
	}
	s := newStatistics(pl, k)
	for j := range k {
		copy(at(s.Anchor, j, pl.anchor), w.Anchor)
	}
	r, err := m.assign(rows, s, rng)
	if err != nil {
		return nil, err
	}
	if err := chunks(s, dense{rows}, func(first, n int) {
		s.r = linalg.Resize(s.r, simd.Padded(n)*k)
		simd.Columns(s.r, r[first*k:], n, k, k)
		add(s, dense{rows}, first, n)
	}); err != nil {
		return nil, err
	}
	if m.Start != RandomRows { // whose seeds have the weight that they are to have
		s.Scale(w.N / s.N)
	}
	s.soften(w)
	return s, nil
}

func tooMany(k, n int) error {
	return fmt.Errorf("mixture: %d components for %d distinct rows: choose K up to %d", k, n, n)
}

// soften adds a few rows' worth of the whole table to every component, so that no estimate
// begins singular or on the edge of its range.
func (s *Statistics) soften(w *Whole) {
	weight := min(float64(s.plan.columns+1), w.N)
	s.N = 0 // anew: the seeds of RandomRows are not all rows of the sample
	for k := range s.K {
		s.Nk[k] += weight
		s.N += s.Nk[k]
		for i := range s.plan.parts {
			p := &s.plan.parts[i]
			p.addWhole(weight, p.whole, p.ofAnchor(at(s.Anchor, k, s.plan.anchor)), p.ofSums(at(s.Sums, k, s.plan.sums)))
		}
	}
}

// sample draws rows without replacement (reservoir sampling); rows of weight 0 are left out.
func sample[B any, D block](ctx context.Context, src framework.Source[B], as func(B) D, d int, rng *rand.Rand) (framework.Rows, error) {
	seen, most := 0, sampleSize(d)
	room := min(most, src.Rows())
	out := framework.Rows{D: d, Stride: d, X: make([]float64, 0, room*d), Weights: make([]float64, 0, room)}
	for rows, err := range src.Blocks(ctx) {
		if err != nil {
			return out, err
		}
		b := as(rows)
		n, _, _ := b.dims()
		w := b.weights(0, n)
		for i := range n {
			weight := 1.0
			if w != nil {
				weight = w[i]
			}
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
			b.copyRow(i, out.Row(place))
			out.Weights[place] = weight
		}
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if out.N == 0 {
		return out, errors.New("mixture: the source has no rows")
	}
	return out, nil
}

// assign returns the responsibilities of a start times the rows' weights, rows×K.
func (m Model) assign(rows framework.Rows, s *Statistics, rng *rand.Rand) ([]float64, error) {
	points, err := s.points(rows)
	if err != nil {
		return nil, err
	}
	if n := points.distinct(s.K); n < s.K && rows.N < sampleSize(rows.D) {
		return nil, tooMany(s.K, n)
	}
	r := make([]float64, rows.N*s.K)
	switch m.Start {
	case KMeans:
		for i, k := range points.nearest(points.seeds(s.K, rng)) {
			r[i*s.K+k] = rows.Weights[i]
		}
	case RandomRows:
		// Every seed is as many rows as the whole table adds later: it sits half-way.
		for k, i := range rng.Perm(rows.N)[:min(s.K, rows.N)] {
			r[i*s.K+k] = float64(s.plan.columns + 1)
		}
	case RandomResponsibilities:
		for i := range rows.N {
			row, sum := at(r, i, s.K), 0.0
			for k := range row {
				row[k] = rng.ExpFloat64()
				sum += row[k]
			}
			for k := range row {
				row[k] *= rows.Weights[i] / sum
			}
		}
	default:
		return nil, fmt.Errorf("mixture: %v: a start is KMeans, RandomResponsibilities or RandomRows", m.Start)
	}
	return r, nil
}

// A cloud is rows as points, in coordinates in which distances mean something. They lie side
// by side in blocks, of which the last is filled up with points of weight 0.
type cloud struct {
	n, width int
	block    int       // rows of a block
	x        []float64 // the coordinates of one block after the other
	weights  []float64

	gap, trial, best []float64 // squared distances
	share            []float64 // weights times squared distances: what rows are drawn by
}

// points are the rows whitened where the family sees all directions, else every column with
// mean 0 and variance 1, and 0 where a value is missing.
func (s *Statistics) points(rows framework.Rows) (*cloud, error) {
	c := &cloud{n: rows.N, width: max(1, s.plan.features)}
	_, _, c.block = dense{rows}.dims()
	padded := simd.Padded(c.n)
	c.x = make([]float64, padded*c.width)
	all := make([]float64, 5*padded)
	c.weights, c.gap, c.trial, c.best, c.share = at(all, 0, padded), at(all, 1, padded), at(all, 2, padded), at(all, 3, padded), at(all, 4, padded)
	copy(c.weights, rows.Weights)
	lying := make([]float64, min(c.n, c.block)*c.width)
	err := chunks(s, dense{rows}, func(first, n int) {
		for i := range s.plan.parts {
			p := &s.plan.parts[i]
			p.features(&s.seen[i], p.whole, lying, c.width, p.at.features)
		}
		simd.Columns(c.x[first*c.width:], lying, n, c.width, c.width)
	})
	for j := range c.width {
		c.standardise(j)
	}
	return c, err
}

// blocks yields the coordinates of each block and its first row.
func (c *cloud) blocks(yield func(first int, x []float64) bool) {
	for first := 0; first < c.n; first += c.block {
		if !yield(first, c.x[first*c.width:][:simd.Padded(min(c.block, c.n-first))*c.width]) {
			return
		}
	}
}

// column yields a coordinate, block by block.
func (c *cloud) column(j int) func(yield func(x []float64) bool) {
	return func(yield func(x []float64) bool) {
		for first, x := range c.blocks {
			if !yield(at(x, j, len(x)/c.width)[:min(c.block, c.n-first)]) {
				return
			}
		}
	}
}

// point puts the coordinates of a row into dst.
func (c *cloud) point(i int, dst []float64) {
	first := i / c.block * c.block
	side := simd.Padded(min(c.block, c.n-first))
	for j := range dst {
		dst[j] = c.x[first*c.width+j*side+i-first]
	}
}

// standardise shifts and scales a coordinate.
func (c *cloud) standardise(j int) {
	count, mean := 0.0, 0.0
	for x := range c.column(j) {
		for _, v := range x {
			if !math.IsNaN(v) {
				count++
				mean += (v - mean) / count
			}
		}
	}
	square := 0.0
	for x := range c.column(j) {
		for _, v := range x {
			if v -= mean; !math.IsNaN(v) {
				square += v * v
			}
		}
	}
	scale := math.Sqrt(square / max(1, count))
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
func (c *cloud) distinct(limit int) int {
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
func (c *cloud) nearer(dst, gap, center []float64) (sum float64) {
	for first, x := range c.blocks {
		sum += simd.Nearer(dst[first:], gap[first:], x, c.width, len(x)/c.width, center, c.weights[first:])
	}
	return sum
}

// seeds chooses K rows by k-means++, several times over where that is cheap, and keeps those
// with the least sum of squared distances: two first seeds in one cluster are no accident
// otherwise.
func (c *cloud) seeds(k int, rng *rand.Rand) []float64 {
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
func (c *cloud) seedsOnce(k int, rng *rand.Rand) (chosen []float64, left float64) {
	fill(c.gap, math.Inf(1))
	copy(c.share, c.weights) // the first is drawn like any row
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
		for i, g := range c.gap {
			c.share[i] = g * c.weights[i]
		}
		c.point(seed, point)
		chosen = append(chosen, point...)
	}
	return chosen, left
}

// draw draws a row in proportion to its share; any row where all shares are 0.
func (c *cloud) draw(rng *rand.Rand) int {
	if i := categorical.Draw(c.share[:c.n], rng); i >= 0 {
		return i
	}
	return rng.IntN(c.n)
}

// nearest gives each row the index of the nearest seed.
func (c *cloud) nearest(seeds []float64) []int {
	label := make([]int, c.n)
	fill(c.gap, math.Inf(1))
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

func distance(x, y []float64) float64 {
	sum := 0.0
	for j, v := range x {
		sum += (v - y[j]) * (v - y[j])
	}
	return sum
}
