package family

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Start is the beginning of a fit. Every start assigns the rows of a sample, at most 8192 drawn without replacement, to
// classes, adds a few rows' worth of the pooled table to each, and makes a global step.
type Start int

const (
	// Varied varies the starts of a fit (see [framework.StartOf]): KMeans, Hierarchical, Scaled, RandomRows, then Seeded
	// and RandomRows in turn; if densities seed the classes (see [RowFactor]), KMeans and RandomRows in turn.
	Varied Start = iota
	// KMeans is k-means of rows, from k-means++ (Arthur & Vassilvitskii 2007), the best of several candidates each time,
	// by Lloyd's steps. If a family is a [Whitener], rows are whitened by the covariance of the table, so that linear maps
	// of its columns change nothing. In many columns full covariances begin as one. For regressions lines replace means
	// and residuals distances (Späth 1979). If densities seed the classes (see [RowFactor]), it builds each component
	// around one row, with distances by densities.
	KMeans
	// RandomResponsibilities draws each row's responsibilities uniformly on the simplex.
	RandomResponsibilities
	// RandomRows builds each component around one row drawn at random.
	RandomRows
	// Scaled is KMeans of rows that are not whitened: clusters that differ in few directions are clearer if other
	// directions count less.
	Scaled
	// Hierarchical is Ward's clustering of at most 1000 rows that are not whitened, or Scaled if these are too few for K.
	// If densities seed the classes, Hierarchical, Scaled and Seeded are KMeans.
	Hierarchical
	// Seeded assigns rows to the nearest of K among them, or of K lines, chosen as k-means++ does: KMeans without Lloyd's
	// steps.
	Seeded
)

var startNames = [...]string{"varied", "kmeans", "random", "rows", "scaled", "hierarchical", "seeded"}

func (s Start) String() string {
	if s < 0 || int(s) >= len(startNames) {
		return fmt.Sprintf("Start(%d)", int(s))
	}
	return startNames[s]
}

// clusters says that rows are assigned to the clusters of their points.
func (s Start) clusters() bool {
	return s == KMeans || s == Scaled || s == Hierarchical || s == Seeded
}

// StartByName finds a start by its name; the error for an unknown name lists all.
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

// Pool describes the table as one class: the scale of its columns, from which the unit-free coordinates of the
// curvature, default priors and starts follow. It checks every value. It reads the first block, and the source twice,
// and more often only if rows lie far out or if the mean of a column is far from that of the first block. The plan that
// it returns has the table attached.
func Pool(ctx context.Context, src framework.Source[blocks.Rows], f Family) (*Pooled, *Plan, error) {
	return pool(ctx, src, f, func(int) *framework.Draw { return nil })
}

// PoolAndDraw is [Pool] together with [DrawRows], so that both read the source at the same time. [Plan.Begin] takes the
// draw.
func PoolAndDraw(
	ctx context.Context, src framework.Source[blocks.Rows], f Family, rng *rand.Rand,
) (w *Pooled, p *Plan, draw *framework.Draw, err error) {
	w, p, err = pool(ctx, src, f, func(columns int) *framework.Draw {
		draw = framework.NewDraw(ctx, src, sampleSize(columns), rng)
		return draw
	})
	return w, p, draw, err
}

func pool(ctx context.Context, src framework.Source[blocks.Rows], f Family,
	drawing func(columns int) *framework.Draw) (*Pooled, *Plan, error) {
	b, err := beginningOf(ctx, src, f)
	if err != nil {
		return nil, nil, err
	}
	p := b.plan
	draw := drawing(p.size.Columns)
	m, err := b.moments(ctx, src, draw)
	if err != nil {
		return nil, nil, err
	}
	if !within(m.Sums) || !within(m.Anchor) {
		return nil, nil, errors.New("family: sums over the rows overflow: rescale the data")
	}
	w := &Pooled{
		N:          m.N,
		Parameters: make([]float64, p.size.Params),
		Sums:       m.Sums,
		Anchor:     m.Anchor,
		Units:      make([]float64, p.size.Units),
	}
	if err := p.estimate(false, w.Sums, w.Anchor, w.Parameters); err != nil {
		return nil, nil, err
	}
	if err := b.refer(ctx, src, w, draw); err != nil {
		return nil, nil, err
	}
	if err := b.setFloors(ctx, src, w); err != nil {
		return nil, nil, err
	}
	p.Attach(w)
	for i := range p.parts {
		if f := &p.parts[i]; f.rows != nil {
			if err := f.rows.PoolRows(m.weighted(f, 0), f.pooled); err != nil {
				return nil, nil, shift(err, f.at.Columns)
			}
		}
	}
	return w, p, nil
}

// headroom bounds the sums over the table: starts, priors and rates multiply them yet.
const headroom = 1e300

func within(v []float64) bool {
	for _, x := range v {
		if !(math.Abs(x) <= headroom) {
			return false
		}
	}
	return true
}

// Begin makes the initial sums of a fit of k classes: the sums of a sample of rows that start has assigned, scaled up
// to the table, plus a few rows' worth of the pooled table for each class, so that no estimate begins singular or on
// the boundary of its range. counts (k) are the rows of each class. The sample is that of draw (see [PoolAndDraw]).
func (p *Plan) Begin(ctx context.Context, src framework.Source[blocks.Rows], w *Pooled, k int, start Start,
	draw *framework.Draw, rng *rand.Rand) (c *Classes, counts []float64, err error) {
	start = p.startOf(start, framework.StartOf(ctx))
	rows, err := some(draw.Rows(ctx))
	if err != nil {
		return nil, nil, err
	}
	if n := src.Rows(); k > n { // before memory is taken for K of anything
		return nil, nil, tooMany(k, n)
	}
	if rows, err = p.withKnown(ctx, src, rows, k); err != nil {
		return nil, nil, err
	}
	if rows, err = p.ordered(rows, w); err != nil {
		return nil, nil, err
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
			row := linalg.Row(r, j, Padded(n))
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
		g.PoolWithin(sums)
	}
	if !p.aroundRows(start) { // else they have the weight that they are to have
		factor := w.N / floats.Sum(rows.Weights)
		c.Scale(factor)
		linalg.Scale(factor, counts)
	}
	weight := p.startWeight()
	if p.aroundRows(start) {
		weight = p.seedWeight()
	}
	c.soften(w, counts, rows.Weights, weight)
	return c, counts, nil
}

// ordered are the rows in descending order of their density in the pooled table, over the highest of those with gaps in
// the same columns: a place that they have in all units that a family allows. Starts draw rows by their place.
func (p *Plan) ordered(rows blocks.Rows, w *Pooled) (blocks.Rows, error) {
	const digits = 0x1p20 // of a nat: more are rounding's
	score, order, top := make([]float64, rows.N), make([]int, rows.N), map[string]float64{}
	gaps := func(i int) string {
		if row := rows.Row(i); floats.HasNaN(row) {
			var at []byte
			for j, x := range row {
				if math.IsNaN(x) {
					at = binary.AppendUvarint(at, uint64(j))
				}
			}
			return string(at)
		}
		return ""
	}
	c := p.Classes(1)
	copy(c.Anchor, w.Anchor)
	if err := c.scoreOne(rows, w.Parameters, func(i int, v float64) {
		score[i], order[i] = v, i
		at := gaps(i)
		if highest, ok := top[at]; !ok || v > highest {
			top[at] = v
		}
	}); err != nil {
		return rows, err
	}
	for i, v := range score {
		score[i] = math.Round((top[gaps(i)] - v) * digits)
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(score[i], score[j]) })
	sorted := blocks.Rows{N: rows.N, D: rows.D, Stride: rows.D, X: make([]float64, 0, len(rows.X))}
	for _, i := range order {
		sorted.X, sorted.Weights = append(sorted.X, rows.Row(i)...), append(sorted.Weights, rows.Weight(i))
	}
	return sorted, nil
}

// Soften adds a few rows' worth of the pooled table to every class, and to counts (K), so that no estimate begins
// singular or on the boundary of its range. weights are those of the rows behind the sums.
func (c *Classes) Soften(w *Pooled, counts, weights []float64) {
	c.soften(w, counts, weights, c.plan.startWeight())
}

func (c *Classes) soften(w *Pooled, counts, weights []float64, weight float64) {
	p := c.plan
	weight = min(weight, w.N)
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

// Center puts the anchors of all classes at those of the pooled table, or at its reference.
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

// begins is the pooled table that classes begin with, with the reference for parameters where rows are so far out that
// sums about the table's mean have no digits for the others.
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
	case start == Varied && p.seeded():
		start = [...]Start{KMeans, RandomRows}[number%2]
	case start == Varied: // further clusterings would mostly be the same
		start = [...]Start{KMeans, Hierarchical, Scaled, RandomRows, Seeded}[min(number, 4-number%2)]
	}
	if p.seeded() && start.clusters() {
		return KMeans
	}
	return start
}

// A TooFewRowsError reports that a table has fewer distinct rows than the requested components.
type TooFewRowsError struct{ K, Distinct int }

func (e *TooFewRowsError) Error() string {
	return fmt.Sprintf("family: %d components for %d distinct rows: choose K up to %d", e.K, e.Distinct, e.Distinct)
}

func tooMany(k, n int) error { return &TooFewRowsError{k, n} }

// DrawRows draws rows of d columns as [framework.DrawRows] does, as many as a start uses.
func DrawRows(
	ctx context.Context, src framework.Source[blocks.Rows], d int, rng *rand.Rand,
) (blocks.Rows, error) {
	return some(framework.DrawRows(ctx, src, sampleSize(d), rng))
}

// some returns an error if there are no rows.
func some(rows blocks.Rows, err error) (blocks.Rows, error) {
	if err == nil && rows.N == 0 {
		err = errors.New("family: the source has no rows")
	}
	return rows, err
}

// Partition assigns weighted rows to k classes: it returns the weights times the responsibilities of the start, rows×k;
// if classes are built around rows, those of the seeds alone. It returns an error for fewer than k different rows.
func (p *Plan) Partition(rows blocks.Rows, k int, start Start, rng *rand.Rand) ([]float64, error) {
	start = p.startOf(start, 0)
	if start == KMeans && p.seeded() {
		return p.seeds(rows, k, rng)
	}
	if known, _ := p.Labeller(); known != nil && start == Hierarchical {
		start = Scaled // whose centres can begin with known rows
	}
	points, err := p.points(rows, start == KMeans || start == Seeded)
	if err != nil {
		return nil, err
	}
	if n := points.Distinct(k); n < k && rows.N < sampleSize(rows.D) && !p.seeded() && p.designed == 0 {
		return nil, tooMany(k, n)
	}
	r := make([]float64, rows.N*k)
	var label []int // of rows that are clustered
	_, wide := p.wide(rows.N, k, start)
	switch {
	case p.regresses() && (start == KMeans || start == Seeded):
		label = points.AlongLines(k, start == KMeans, rng)
		points.Match(label)
	case wide && start == KMeans:
		label, err = p.clusterWide(points, rows, k, rng)
	case start == KMeans || start == Scaled:
		label = points.Lloyd(points.Seeds(k, rng))
	case start == Seeded:
		label = points.Nearest(points.Seeds(k, rng))
	case start == Hierarchical:
		label = points.Hierarchical(k, rng)
	case start == RandomRows:
		// Every seed is as many rows as the pooled table adds later: it sits half-way.
		time, order := make([]float64, rows.N), make([]int, rows.N)
		for i, w := range rows.Weights {
			time[i] = rng.ExpFloat64() / w
		}
		floats.Argsort(time, order)
		for j, i := range points.Around(order, k) {
			r[i*k+j] = p.seedWeight()
		}
	case start == RandomResponsibilities:
		for i := range rows.N {
			row, sum := linalg.Row(r, i, k), 0.0
			for j := range row {
				row[j] = rng.ExpFloat64()
				sum += row[j]
			}
			for j := range row {
				row[j] *= rows.Weights[i] / sum
			}
		}
	default:
		return nil, fmt.Errorf("family: unknown start %v: choose one of %v", start, startNames)
	}
	for i, j := range label {
		r[i*k+j] = rows.Weights[i]
	}
	p.restrict(rows, r, k)
	return r, err
}
