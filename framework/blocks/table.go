// Package blocks has the tables that models are fitted to, and the blocks in which they are read: [Rows], [Sequences]
// of steps, rows given by their [Entries], and what may be wrong with them, a [DataError]. It needs no engine: a table
// has the methods of framework.Source.
package blocks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"golang.org/x/exp/constraints"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Rows is a block of consecutive rows of a table.
type Rows struct {
	First   int       // index of the block's first row in the source
	N, D    int       // rows and columns of the block
	Stride  int       // distance in X between the starts of two rows, at least D
	X       []float64 // row-major: row i is X[i*Stride : i*Stride+D]; NaN is a missing value
	Weights []float64 // frequency weights, length N; nil when every row weighs 1
	Entries *Entries  // the numbers of the rows instead of X, if most are 0; otherwise nil
	// Float32s are the numbers of X as a table of [FromFloat32] has them, N×D, where X is lent: there until the next block
	// is asked for, and not in what a reader has [Rows.Kept]. Otherwise nil.
	Float32s []float32 `fingerprint:"-"`
}

// Row returns row i of the block, length D: sharing its memory, or in new memory if the rows are given by their
// entries, or are those of float32 that a block has [Rows.Kept].
func (b Rows) Row(i int) []float64 {
	if b.Entries != nil {
		row := make([]float64, b.D)
		b.Entries.Put(i, row)
		return row
	}
	if b.X == nil && b.Float32s != nil {
		return b.RowIn(i, new([]float64))
	}
	if b.Stride < b.D {
		panic(fmt.Sprintf("framework: Rows of stride %d and %d columns: Stride must be at least D", b.Stride, b.D))
	}
	return b.X[i*b.Stride : i*b.Stride+b.D]
}

// RowIn is Row, but that a row in new memory is in room, which grows to length D.
func (b Rows) RowIn(i int, room *[]float64) []float64 {
	if b.X != nil || b.Float32s == nil {
		return b.Row(i)
	}
	*room = linalg.Resize(*room, b.D)
	simd.Widen(*room, b.Float32s[i*b.D:(i+1)*b.D])
	return *room
}

// Kept returns n rows of the block, from row first on, for a reader that keeps them after it has asked for the next
// block: X is nil if it was lent. [Rows.Row] and [Rows.RowIn] have their numbers. Rows given by entries have none.
func (b Rows) Kept(first, n int) Rows {
	kept := Rows{First: b.First + first, N: n, D: b.D, Stride: b.Stride}
	if b.Weights != nil {
		kept.Weights = b.Weights[first : first+n]
	}
	switch {
	case n == 0 || b.Entries != nil:
	case b.Float32s != nil:
		kept.Float32s = b.Float32s[first*b.D : (first+n)*b.D]
	default:
		kept.X = b.X[first*b.Stride : (first+n-1)*b.Stride+b.D]
	}
	return kept
}

// Weight returns the frequency weight of row i of the block.
func (b Rows) Weight(i int) float64 {
	if b.Weights == nil {
		return 1
	}
	return b.Weights[i]
}

// Weighing returns the rows of positive weight, or the block itself if no weight is 0: rows of weight 0 may lie where
// no component has a density.
func (b Rows) Weighing() Rows {
	if !slices.Contains(b.Weights, 0) {
		return b
	}
	kept := Rows{First: b.First, D: b.D, Stride: b.D}
	for i, w := range b.Weights {
		if w > 0 {
			kept.N, kept.X, kept.Weights = kept.N+1, append(kept.X, b.Row(i)...), append(kept.Weights, w)
		}
	}
	return kept
}

// Overlay puts the entries of the rows into x, N×D, and leaves x unchanged where entries are missing.
func (b Rows) Overlay(x *mat.Dense) {
	for i := range b.N {
		for j, v := range b.Row(i) {
			if v == v {
				x.Set(i, j, v)
			}
		}
	}
}

// Check returns an error about the shape of a block, or about its weights, which a custom source may have made.
func (b Rows) Check() error {
	switch {
	case b.Entries != nil && len(b.Entries.Start) != b.N+1:
		return fmt.Errorf("framework: a block of %d rows has Entries.Start of length %d; must be %d", b.N,
			len(b.Entries.Start), b.N+1)
	case b.Entries == nil && (b.N < 0 || b.D < 0 || b.Stride < b.D || b.N > 0 && len(b.X) < (b.N-1)*b.Stride+b.D):
		return fmt.Errorf("framework: a block of %d rows, %d columns and stride %d cannot have %d numbers: Stride must be "+
			"at least D", b.N, b.D, b.Stride, len(b.X))
	}
	return checkBlockWeights(b.Weights, b.N, b.First)
}

// Count is the number of rows, which the engine compares with that of the source.
func (b Rows) Count() int { return b.N }

// checkBlockWeights checks that the weights of n rows, the first of which is row first, are finite
// and not negative.
func checkBlockWeights(w []float64, n, first int) error {
	if w != nil && len(w) != n {
		return fmt.Errorf("framework: %d weights for a block of %d rows", len(w), n)
	}
	for i, v := range w {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("framework: the weight of row %d is %v; must be a non-negative finite number", first+i+1, v)
		}
	}
	return nil
}

// blockFloats bounds the numbers in a block: 256 KiB, so that a block and what is
// computed from it stay in a core's own cache. It must not depend on the number
// of workers, or the order of summation would.
const blockFloats = 1 << 15

// Height returns the number of rows in a block of a table with d columns: those of wide tables have up to 256 rows and
// 4 MiB, over which what a block costs by columns squared is spread.
func Height(d int) int { return max(1, blockFloats/d, min(256, 16*blockFloats/d)) }

// Table is an in-memory source of [Rows]. It uses the caller's numbers in place; do not change them while a fit runs.
// The rows of one that [Read] has made are read when they are asked for.
type Table struct {
	x               []float64
	float32s        []float32        // in place of x
	wide            func() []float64 // these as float64, all of them, once that is asked for
	rows, d, stride int
	weights         []float64
	height          int    // rows of a block; 0: as many as d says
	later           *later // in place of x
}

// FromMatrix makes a Table of x, one row an observation. A matrix with a raw
// row-major form, such as a *mat.Dense, is used in place; any other is copied
// once. A NaN or infinite entry is an error that names its row and column,
// counting from 1.
func FromMatrix(x mat.Matrix) (*Table, error) {
	rows, d := x.Dims()
	if raw, ok := x.(mat.RawMatrixer); ok {
		m := raw.RawMatrix()
		return newTable(m.Data, m.Rows, m.Cols, m.Stride)
	}
	flat := make([]float64, rows*d)
	for i := range rows {
		mat.Row(flat[i*d:(i+1)*d], i, x)
	}
	return newTable(flat, rows, d, d)
}

// FromSlice makes a Table of a flat row-major slice, rows×d. float64 numbers are
// used in place, any other floating-point type is converted once (but see [FromFloat32]). It returns the errors of
// [FromMatrix], and one for a length other than rows·d.
func FromSlice[T constraints.Float](x []T, rows, d int) (*Table, error) {
	flat, err := flatten(x, rows, d)
	if err != nil {
		return nil, err
	}
	return newTable(flat, rows, d, d)
}

func flatten[T constraints.Float](x []T, rows, d int) ([]float64, error) {
	if err := checkShape(len(x), rows, d); err != nil {
		return nil, err
	}
	if flat, ok := any(x).([]float64); ok {
		return flat, nil
	}
	return widened(x), nil
}

// checkShape returns an error about so many numbers that are no table of rows and columns, or an empty one.
func checkShape(n, rows, d int) error {
	if rows < 0 || d < 0 || d > 0 && (n%d != 0 || n/d != rows) || d == 0 && n > 0 {
		return fmt.Errorf("framework: %d numbers cannot be a table of %d rows and %d columns", n, rows, d)
	}
	if rows == 0 || d == 0 {
		return fmt.Errorf("framework: a table of %d rows and %d columns holds no data", rows, d)
	}
	return nil
}

func widened[T constraints.Float](x []T) []float64 {
	flat := make([]float64, len(x))
	for i, v := range x {
		flat[i] = float64(v)
	}
	return flat
}

// FromIncomplete makes a Table as [FromSlice] does, with NaN for a missing value. Models that need complete rows reject
// the table with an error that names the row and the column.
func FromIncomplete[T constraints.Float](x []T, rows, d int) (*Table, error) {
	flat, err := flatten(x, rows, d)
	if err != nil {
		return nil, err
	}
	return newIncomplete(flat, rows, d, d)
}

// FromFloat32 is [FromIncomplete] of numbers that are used in place and stay float32, at half the memory. A pass gets
// its blocks in memory that is used again for the next ones (see [Rows.Kept]), widened, which is exact; [Table.Blocks]
// yields blocks in memory of their own, and [Table.All] widens the whole table.
func FromFloat32(x []float32, rows, d int) (*Table, error) {
	if err := checkShape(len(x), rows, d); err != nil {
		return nil, err
	}
	t := &Table{float32s: x, rows: rows, d: d, stride: d}
	t.wide = sync.OnceValue(func() []float64 { return widened(x) })
	for b := range t.Lent() {
		if simd.Finite(b.X) {
			continue
		}
		if at := slices.IndexFunc(b.X, isInfinite); at >= 0 {
			return nil, fmt.Errorf("framework: %w", NotFinite(b.First+at/d, at%d, b.X[at]))
		}
	}
	return t, nil
}

func newTable(x []float64, rows, d, stride int) (*Table, error) {
	return checked(x, rows, d, stride, func(v float64) bool { return v-v != 0 })
}

func newIncomplete(x []float64, rows, d, stride int) (*Table, error) {
	return checked(x, rows, d, stride, isInfinite)
}

func isInfinite(v float64) bool { return math.IsInf(v, 0) }

// checked makes a table without bad entries, which are never finite.
func checked(x []float64, rows, d, stride int, bad func(v float64) bool) (*Table, error) {
	if rows == 0 || d == 0 {
		return nil, fmt.Errorf("framework: a table of %d rows and %d columns holds no data", rows, d)
	}
	for i := range rows {
		row := x[i*stride : i*stride+d]
		if simd.Finite(row) {
			continue
		}
		for j, v := range row {
			if bad(v) {
				return nil, fmt.Errorf("framework: %w", NotFinite(i, j, v))
			}
		}
	}
	return &Table{x: x, rows: rows, d: d, stride: stride}, nil
}

// WithWeights returns the same table with a frequency weight for each row: a row
// of weight 3 stands for three equal rows in every statistic, in every criterion
// and in N. Fractions are allowed, and a weight of 0 leaves the row out. A
// negative or non-finite weight, or a sum that is not positive, is an error.
func (t *Table) WithWeights(w []float64) (*Table, error) {
	if err := checkWeights(w, t.rows); err != nil {
		return nil, err
	}
	weighted := *t
	weighted.weights = w
	return &weighted, nil
}

// Unweighted returns the same table without the weights of [Table.WithWeights].
func (t *Table) Unweighted() *Table {
	same := *t
	same.weights = nil
	return &same
}

func checkWeights(w []float64, rows int) error {
	if len(w) != rows {
		return fmt.Errorf("framework: %d weights for %d rows", len(w), rows)
	}
	sum := 0.0
	for i, v := range w {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("framework: the weight of %w", FaultyRow(i, "is %v; must be a non-negative finite number", v))
		}
		sum += v
	}
	switch {
	case sum == 0:
		return errors.New("framework: the weights sum to 0: at least one row needs a positive weight")
	case math.IsInf(sum, 0):
		return errors.New("framework: the weights sum to more than float64 holds: divide all by the same number")
	}
	if sum < 1.5 && rows > 1 {
		return fmt.Errorf("framework: the weights sum to N = %v: weights are frequencies; multiply "+
			"normalised weights by the number of rows", sum)
	}
	return nil
}

// Rows is the number of rows.
func (t *Table) Rows() int { return t.rows }

// Dims returns the numbers of rows and columns.
func (t *Table) Dims() (rows, d int) { return t.rows, t.d }

// All returns the table as one block. It panics with a *[ReadError] if the table is of [Read] and cannot be read.
func (t *Table) All() Rows { return t.block(0, t.rows) }

func (t *Table) block(first, n int) Rows {
	b := Rows{First: first, N: n, D: t.d, Stride: t.stride}
	x := t.x
	switch {
	case t.wide != nil:
		x = t.wide()
	case t.later != nil:
		var weights []float64
		if x, weights = t.later.all(); weights != nil {
			b.Weights = weights[first : first+n]
		}
	}
	b.X = x[first*t.stride : (first+n-1)*t.stride+t.d]
	return t.weighted(b)
}

// lent is a block of float32 in room, which is used again for the next, or in memory of its own if there is none.
func (t *Table) lent(first, n int, room []float64) Rows {
	b, part := Rows{First: first, N: n, D: t.d, Stride: t.d, X: room}, t.float32s[first*t.d:(first+n)*t.d]
	if room == nil {
		b.X = make([]float64, len(part))
	} else {
		b.X, b.Float32s = room[:len(part)], part
	}
	simd.Widen(b.X, part)
	return t.weighted(b)
}

func (t *Table) weighted(b Rows) Rows {
	if t.weights != nil {
		b.Weights = t.weights[b.First : b.First+b.N]
	}
	return b
}

// Blocks yields the rows in blocks of [Height] rows.
func (t *Table) Blocks(ctx context.Context) iter.Seq2[Rows, error] { return t.Shards(ctx, 0, 1, 1) }

// Every yields the blocks first, first + step, first + 2·step, …, counted from 0. Those of a table of [FromFloat32] are
// there until the next one is asked for.
func (t *Table) Every(first, step int) iter.Seq2[Rows, error] {
	if t.float32s == nil {
		return t.Shards(context.Background(), first, first+1, step)
	}
	return func(yield func(Rows, error) bool) {
		room := rooms.Get().(*[]float64)
		defer rooms.Put(room)
		*room = linalg.Resize(*room, min(t.rows, t.size())*t.d)
		t.each(first, first+1, step, *room, yield)
	}
}

// Lent yields all rows in blocks that are there until the next one is asked for: what of [Table.All] needs them one
// after the other takes no memory for a table of [FromFloat32]. It panics as All does.
func (t *Table) Lent() iter.Seq[Rows] {
	return func(yield func(Rows) bool) {
		for b, err := range t.Every(0, 1) {
			if err != nil {
				panic(&ReadError{err})
			}
			if !yield(b) {
				return
			}
		}
	}
}

// HasGaps reports whether an entry of the first d columns is missing. It panics as [Table.All] does.
func (t *Table) HasGaps(d int) bool {
	for b := range t.Lent() {
		for i := range b.N {
			if row := b.Row(i)[:d]; !simd.Finite(row) && slices.ContainsFunc(row, math.IsNaN) {
				return true
			}
		}
	}
	return false
}

var rooms = sync.Pool{New: func() any { return new([]float64) }} // for blocks that are lent

// Shards yields the blocks of shards first to last−1, in order: block i, from 0, belongs to shard i mod shards.
func (t *Table) Shards(ctx context.Context, first, last, shards int) iter.Seq2[Rows, error] {
	if t.later != nil {
		return t.read(ctx, first, last, shards)
	}
	return func(yield func(Rows, error) bool) { t.each(first, last, shards, nil, yield) }
}

func (t *Table) each(first, last, shards int, room []float64, yield func(Rows, error) bool) {
	size := t.size()
	for lap := 0; lap*size < t.rows; lap += shards {
		for row := (lap + first) * size; row < min(t.rows, (lap+last)*size); row += size {
			var b Rows
			if n := min(size, t.rows-row); t.float32s == nil {
				b = t.block(row, n)
			} else {
				b = t.lent(row, n, room)
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

func (t *Table) size() int { return cmp.Or(t.height, Height(t.d)) }

// Single is a source of one block that stands for a number of rows, such as the
// moments of a table.
type Single[B any] struct {
	Block B
	Count int // number of rows that the block stands for
}

// Rows is the number of rows that the block stands for.
func (s Single[B]) Rows() int { return s.Count }

// Blocks yields the block.
func (s Single[B]) Blocks(context.Context) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) { yield(s.Block, nil) }
}
