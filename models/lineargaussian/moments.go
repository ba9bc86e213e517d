package lineargaussian

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/memory"
)

// Moments are the first two moments of a table, which are sufficient for models of complete rows.
// After one pass over the rows an iteration costs O(D²K), whatever N is.
type Moments struct {
	Rows    int       // rows seen, whatever their weight
	N       float64   // sum of the row weights
	D       int       // columns
	Mean    []float64 // length D
	Scatter []float64 // D×D, Σ_n w_n (x_n − mean)(x_n − mean)ᵀ

	once   sync.Once
	rooted Root // see root

	// The rows of Add, centred by the means of their blocks, whose products are not in Scatter yet.
	tile    []float64 // whose rows are D long
	pending int       // rows of tile
	shift   []float64 // D, mean of a block
	workers int       // goroutines that compute the products, where D is large
}

// tileRows is small enough for a tile and its products to stay in cache, and for
// gonum's products to stay in the goroutine that calls them.
const tileRows = 128

// wide is the number of columns from which a pass keeps one sum of the rows' products, whose rows
// are distributed over the goroutines: D×D sums for every shard would take more memory,
// and more time to clear and to add up, than the rows. Twice as many rows are added at a time
// there: package simd sums 256 before it comes back to a number of the result.
const wide = 256

func (m *Moments) allocate(d int) {
	m.D, m.Mean, m.Scatter = d, make([]float64, d), make([]float64, d*d)
}

// Summarize makes one pass over src and returns its moments. workers is the number
// of goroutines (0: one a processor); any number gives the same bits. It returns an error for a source without rows,
// and for an entry that is not finite or overflows, with its row and column.
func Summarize(ctx context.Context, src framework.Source[blocks.Rows], workers int) (*Moments, error) {
	d := firstColumns(ctx, src)
	if err := memory.Need(fmt.Sprintf("the covariance matrix of %d columns", d), 8*float64(d)*float64(d)); err != nil {
		return nil, err
	}
	if d >= wide {
		m := &Moments{workers: workers}
		if workers < 1 {
			m.workers = runtime.GOMAXPROCS(0)
		}
		_, err := framework.Fold(ctx, src, 1, func() (*Moments, error) { return m, nil }, (*Moments).add,
			func(*Moments, *Moments) error { return nil })
		if err = cmp.Or(err, m.complete()); err != nil {
			return nil, err
		}
		m.tile, m.shift = nil, nil
		return m, nil
	}
	q := framework.Ask(ofMoments{}, func() (*Moments, error) { return &Moments{}, nil }, (*Moments).Add, (*Moments).Merge)
	if err := framework.SurveyAll(ctx, src, workers, q); err != nil {
		return nil, err
	}
	q.Sum.tile, q.Sum.shift = nil, nil
	return q.Sum, nil
}

// Names of the sums of a fit's starts.
type (
	ofColumns struct{}
	ofMoments struct{}
)

// firstColumns is the number of columns of the first block; 0 when there is none.
func firstColumns(ctx context.Context, src framework.Source[blocks.Rows]) int {
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			break // which the pass meets again
		}
		return b.D
	}
	return 0
}

// Reset empties the moments and keeps their memory, for rows of as many columns.
func (m *Moments) Reset() {
	m.once = sync.Once{}
	m.Rows, m.N, m.pending = 0, 0, 0
	clear(m.Mean)
	clear(m.Scatter)
}

// Source returns a source of one block, the moments, such as bpca.Compressed is fitted from.
func (m *Moments) Source() framework.Source[*Moments] {
	return blocks.Single[*Moments]{Block: m, Count: m.Rows}
}

// Add adds the rows of a block. Sums are taken about the block's own mean, itself
// found relative to the block's first row, and blocks are combined by the update of
// Chan, Golub & LeVeque (1983): columns with a large mean lose no digits, and a
// constant column has a scatter of exactly 0.
func (m *Moments) Add(b blocks.Rows) error {
	if err := m.add(b); err != nil {
		return err
	}
	return m.complete()
}

// add is Add, but that the last rows may be pending and that nothing is below the diagonal
// of Scatter. What the update of Chan et al. adds, N·w/(N + w)·ddᵀ with the distance d of
// the block's mean, is the product of one more row.
func (m *Moments) add(b blocks.Rows) error {
	if m.Mean == nil {
		m.allocate(b.D)
	}
	if b.D != m.D {
		return fmt.Errorf("lineargaussian: %w", blocks.FaultyRow(b.First, "has %d columns, earlier rows %d", b.D, m.D))
	}
	var weight float64
	m.shift, weight = blockMean(b, m.shift)
	if weight == 0 {
		m.Rows += b.N
		return nil
	}
	m.once = sync.Once{} // of the old scatter
	for _, v := range m.shift {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return badEntry(b)
		}
	}
	for i := range b.N {
		if w := b.Weight(i); w != 0 {
			m.addRow(b.Row(i), m.shift, math.Sqrt(w))
		}
	}
	if m.N > 0 {
		m.addRow(m.shift, m.Mean, math.Sqrt(m.N*(weight/(m.N+weight))))
	}
	m.count(b.N, weight, m.shift)
	return nil
}

// addRow adds the product of scale·(x − mean) with itself, now or later.
func (m *Moments) addRow(x, mean []float64, scale float64) {
	if m.tile == nil {
		rows := tileRows
		if m.D >= wide {
			rows *= 2
		}
		m.tile = make([]float64, rows*m.D)
	}
	centre(m.tile[m.pending*m.D:(m.pending+1)*m.D], x, mean, scale)
	if m.pending++; m.pending*m.D == len(m.tile) {
		m.flush()
	}
}

// flush adds the products of the rows that are pending.
func (m *Moments) flush() {
	if m.pending > 0 {
		linalg.AddGram(m.workers, linalg.General(m.pending, m.D, m.tile),
			blas64.Symmetric{N: m.D, Stride: m.D, Data: m.Scatter, Uplo: blas.Upper})
		m.pending = 0
	}
}

// complete adds what is pending to Scatter.
func (m *Moments) complete() error {
	m.flush()
	linalg.Mirror(m.D, m.Scatter)
	for j := range m.D {
		if v := m.Scatter[j*m.D+j]; math.IsNaN(v) || math.IsInf(v, 0) {
			return errOverflow
		}
	}
	return nil
}

// Merge adds the moments of other rows, which must have the same columns.
func (m *Moments) Merge(o *Moments) error {
	if m.Mean == nil {
		m.allocate(o.D)
	}
	if m.D != o.D {
		return differentColumns(m.D, o.D)
	}
	m.once = sync.Once{} // of the old scatter
	if o.N == 0 {
		m.Rows += o.Rows
		return nil
	}
	m.flush()
	o.flush()
	linalg.Axpy(1, o.Scatter, m.Scatter)
	if m.N > 0 {
		between, d := m.N*o.N/(m.N+o.N), m.D
		for i, v := range o.Mean {
			for j := i; j < d; j++ {
				m.Scatter[i*d+j] += between * (v - m.Mean[i]) * (o.Mean[j] - m.Mean[j])
			}
		}
	}
	m.count(o.Rows, o.N, o.Mean)
	return m.complete()
}

// count moves the mean by that of more rows.
func (m *Moments) count(rows int, weight float64, mean []float64) {
	m.Rows += rows
	total := m.N + weight
	for j, v := range mean {
		m.Mean[j] += weight / total * (v - m.Mean[j])
	}
	if m.N == 0 {
		copy(m.Mean, mean)
	}
	m.N = total
}

func differentColumns(d, other int) error {
	return fmt.Errorf("lineargaussian: some rows have %d columns and others %d: all must have the same", d, other)
}

// root is the Root of Scatter.
func (m *Moments) root() blas64.General {
	m.once.Do(func() { m.rooted.Of(m.D, m.Scatter) })
	return m.rooted.General
}

// A Root is a matrix R of at most D rows with RᵀR = A: the pivoted Cholesky factor, which a singular A has too. It ends
// at the last positive pivot, so that columns much smaller than others count.
type Root struct {
	blas64.General
	factor, work []float64
	pivots       []int
}

// Of makes r the root of a, D×D, in the memory of before.
func (r *Root) Of(d int, a []float64) {
	r.factor, r.work = append(r.factor[:0], a...), linalg.Resize(r.work, 2*d)
	r.pivots = slices.Grow(r.pivots[:0], d)[:d]
	_, rank, _ := lapack64.Pstrf(blas64.Symmetric{N: d, Stride: max(1, d), Data: r.factor, Uplo: blas.Upper}, r.pivots,
		0, r.work)
	r.General = linalg.General(rank, d, linalg.Resize(r.Data, rank*d))
	clear(r.Data)
	for i := range rank {
		for j := i; j < d; j++ {
			r.Data[i*d+r.pivots[j]] = r.factor[i*d+j]
		}
	}
}

// centre writes scale·(x − mean) to dst.
func centre(dst, x, mean []float64, scale float64) {
	for j, v := range x {
		dst[j] = scale * (v - mean[j])
	}
}

// blockMean returns the weighted mean of a block, found relative to its first
// row of positive weight, in the memory of dst, and the weight of the block.
func blockMean(b blocks.Rows, dst []float64) (mean []float64, weight float64) {
	mean = linalg.Resize(dst, b.D)
	clear(mean)
	var pivot []float64
	for i := range b.N {
		w, row := b.Weight(i), b.Row(i)
		if w == 0 {
			continue
		}
		if pivot == nil {
			pivot = row
		}
		weight += w
		for j, v := range row {
			mean[j] += w * (v - pivot[j])
		}
	}
	for j, p := range pivot {
		mean[j] = mean[j]/weight + p
	}
	return mean, weight
}

// badEntry returns the error about the first entry of a block that is not finite, or about squares
// that overflow.
func badEntry(b blocks.Rows) error {
	for i := range b.N {
		for j, v := range b.Row(i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("lineargaussian: %w", blocks.NotFinite(b.First+i, j, v))
			}
		}
	}
	return errOverflow
}

var errOverflow = errors.New("lineargaussian: the squares of the entries overflow: divide the data by a large number " +
	"first")

// Variances returns the column variances, Σ w (x − mean)²/N.
func (m *Moments) Variances() []float64 {
	v := make([]float64, m.D)
	for j := range v {
		v[j] = m.Scatter[j*m.D+j] / m.N
	}
	return v
}

// CheckData returns an error unless rows of this number, weight and column variances have axes and noise of one
// variance.
func CheckData(rows int, n float64, variances []float64) error {
	if rows < 2 {
		return fmt.Errorf("lineargaussian: %d row: a variance needs at least two", rows)
	}
	if n < 2 {
		return fmt.Errorf("lineargaussian: the rows have total weight %v: a variance needs at least two rows", n)
	}
	mean := 0.0
	for j, v := range variances {
		if v == 0 {
			return fmt.Errorf("lineargaussian: %w", blocks.FaultyColumn(j, blocks.ErrConstant))
		}
		mean += v / float64(len(variances))
	}
	if !(mean >= 1e-280 && mean <= 1e280) { // squares of variances leave the range of float64
		return fmt.Errorf("lineargaussian: the mean column variance is %v: rescale the data to numbers near 1", mean)
	}
	if len(variances) < 2 {
		return fmt.Errorf("lineargaussian: %d column: at least two are needed, so that there is a K < D", len(variances))
	}
	return nil
}

// CheckK returns an error for a number of latent dimensions that leaves no noise.
func CheckK(k, d int) error {
	if k < 1 || k >= d {
		return fmt.Errorf("lineargaussian: K = %d with D = %d columns: choose K from 1 to %d, so that noise "+
			"is left over", k, d, d-1)
	}
	return nil
}

// Columns are the means and variances of columns over the entries that each shows: of rows that miss entries, and of
// columns so many that D×D moments would be too large.
type Columns struct {
	Rows    int       // rows seen, whatever their weight
	N       float64   // sum of the row weights
	Count   []float64 // weight of the entries that each column shows, length D
	Mean    []float64 // length D
	Squares []float64 // length D, about the mean
	// Gap, from 1, is the first row that misses an entry, and GapColumn, from 0, the first column there; Gap is 0 if
	// none is missing.
	Gap, GapColumn int
}

// SummarizeColumns makes one pass over src. It returns an error for a source without rows, and for an infinite entry
// or one that overflows.
func SummarizeColumns(ctx context.Context, src framework.Source[blocks.Rows]) (*Columns, error) {
	q := framework.Ask(ofColumns{}, func() (*Columns, error) { return &Columns{}, nil }, (*Columns).add, (*Columns).merge)
	if err := framework.SurveyAll(ctx, src, 0, q); err != nil {
		return nil, err
	}
	c := q.Sum
	if math.IsNaN(floats.Sum(c.Squares)) || math.IsInf(floats.Sum(c.Squares), 0) {
		return nil, errOverflow
	}
	return c, nil
}

// Complete returns an error that names the first missing entry, if there is one.
func (c *Columns) Complete() error {
	if c.Gap == 0 {
		return nil
	}
	return fmt.Errorf("lineargaussian: %w", blocks.NotFinite(c.Gap-1, c.GapColumn, math.NaN()))
}

func (c *Columns) add(b blocks.Rows) error {
	if c.Mean == nil {
		c.Count, c.Mean, c.Squares = make([]float64, b.D), make([]float64, b.D), make([]float64, b.D)
	}
	if len(c.Mean) != b.D {
		return differentColumns(len(c.Mean), b.D)
	}
	for i := range b.N {
		w := b.Weight(i)
		for j, v := range b.Row(i) {
			switch {
			case math.IsNaN(v):
				if row := b.First + i + 1; c.Gap == 0 || row < c.Gap {
					c.Gap, c.GapColumn = row, j
				}
			case math.IsInf(v, 0):
				return fmt.Errorf("lineargaussian: %w", blocks.NotFinite(b.First+i, j, v))
			case w > 0:
				c.Count[j] += w
				delta := v - c.Mean[j]
				c.Mean[j] += w / c.Count[j] * delta
				c.Squares[j] += w * delta * (v - c.Mean[j])
			}
		}
		c.Rows++
		c.N += w
	}
	return nil
}

func (c *Columns) merge(o *Columns) error {
	switch {
	case o.Mean == nil:
		return nil
	case c.Mean == nil:
		*c = *o
		return nil
	case len(c.Mean) != len(o.Mean):
		return differentColumns(len(c.Mean), len(o.Mean))
	}
	c.Rows += o.Rows
	c.N += o.N
	if o.Gap > 0 && (c.Gap == 0 || o.Gap < c.Gap) {
		c.Gap, c.GapColumn = o.Gap, o.GapColumn
	}
	for j, n := range o.Count {
		if n > 0 {
			total, delta := c.Count[j]+n, o.Mean[j]-c.Mean[j]
			c.Squares[j] += o.Squares[j] + c.Count[j]*n/total*delta*delta
			c.Mean[j] += n / total * delta
			c.Count[j] = total
		}
	}
	return nil
}

// Variances returns the variance of each column over the entries that it shows.
func (c *Columns) Variances() []float64 {
	return floats.DivTo(make([]float64, len(c.Count)), c.Squares, c.Count)
}

// TimesScatter is NC·q for the covariance C about mean and a D×k matrix q, in one pass over the rows.
func TimesScatter(
	ctx context.Context, src framework.Source[blocks.Rows], mean, q []float64, k int,
) ([]float64, error) {
	d := len(mean)
	type product struct {
		Y    []float64
		tile localStep
	}
	sum, err := framework.Survey(ctx, src, 0,
		func() (*product, error) { return &product{Y: make([]float64, d*k)}, nil },
		func(a *product, b blocks.Rows) error {
			a.tile.mean = mean
			a.tile.eachTile(b, func(n int) {
				x, z := linalg.General(n, d, a.tile.x), linalg.General(n, k, a.tile.scratch(&a.tile.z, k))
				linalg.Mul(false, false, 1, x, linalg.General(d, k, q), 0, z)
				a.tile.weigh(z)
				linalg.Mul(true, false, 1, x, z, 1, linalg.General(d, k, a.Y))
			})
			return nil
		},
		func(into, from *product) error {
			linalg.Axpy(1, from.Y, into.Y)
			return nil
		})
	if err != nil {
		return nil, err
	}
	return sum.Y, nil
}

// Pool merges the blocks of a source of moments.
func Pool(ctx context.Context, src framework.Source[*Moments]) (*Moments, error) {
	return framework.Fold(ctx, src, 1,
		func() (*Moments, error) { return &Moments{}, nil },
		(*Moments).Merge,
		(*Moments).Merge)
}
