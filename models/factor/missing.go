package factor

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/lineargaussian"
)

// localStep is the local step of rows that miss entries: what each part adds to the precision of q(z), and statistics
// of a few columns for the rows of one pattern.
type localStep struct {
	weighted []float64 // Ψ⁻¹W, D×K
	added    []float64 // W_gᵀΨ_g⁻¹W_g + D_g·S_g⁻¹, G×K×K
	by       map[int]*lineargaussian.Statistics
	reader   reader

	// Of a pattern: its precision of q(z), K×K, the sums of its columns about the mean, a row about the center, and what
	// p has of its columns; its rows.
	precision, sum, x, mean, w, own, rows []float64
}

// prepare empties s and finds what each part adds (docs/theory/factor.md, section 4).
func (q *localStep) prepare(p *Parameters, weighted []float64, tilt *laplace.Tilt, s *Statistics) error {
	s.Begin(p.Mean, p.Loadings)
	k := p.K
	parts := p.parts(p.D)
	q.weighted, q.added = weighted, linalg.Resize(q.added, len(parts)*k*k)
	clear(q.added)
	for g, part := range parts {
		add := mat.NewSymDense(k, q.added[g*k*k:(g+1)*k*k])
		for _, j := range part {
			for a := range k {
				for b := a; b < k; b++ {
					add.SetSym(a, b, add.At(a, b)+(p.Loadings[j*k+a]*weighted[j*k+b]+p.Loadings[j*k+b]*weighted[j*k+a])/2)
				}
			}
		}
		if tilt.Prior() { // which is none: see integrate
			continue
		}
		if err := tilt.Precision(add, g); err != nil {
			return fmt.Errorf("factor: E[zzᵀ] of the rows that show column %d is singular at K = %d: %w; allow "+
				"pruning, or lower K", part[0]+1, k, err)
		}
	}
	return nil
}

// A pattern is rows of a block, from first to end, that follow one another and miss the same entries.
type pattern struct {
	rows       blocks.Rows
	first, end int
	seen, show []int // the parts and the columns that they have
	fresh      bool  // whether the pattern before was another one
}

// A reader finds the patterns of blocks, and keeps the last one.
type reader struct {
	parts [][]int // of the columns
	last  pattern
	row   []float64 // of the last pattern
}

// each calls f with the patterns of a block of d columns.
func (r *reader) each(b blocks.Rows, st Structure, d int, f func(v *pattern) error) error {
	if b.D != d {
		return fmt.Errorf("factor: %w", blocks.FaultyRow(b.First, "has %d columns, the model %d", b.D, d))
	}
	if r.parts == nil {
		r.parts = st.parts(d)
	}
	v := &r.last
	for v.rows, v.end = b, 0; v.end < b.N; {
		v.first = v.end
		row := b.Row(v.first)
		for v.end++; v.end < b.N && samePattern(row, b.Row(v.end)); v.end++ {
		}
		if v.fresh = len(r.row) == 0 || !samePattern(row, r.row); v.fresh {
			var err error
			if v.seen, err = shown(r.parts, row, b.First+v.first); err != nil {
				return err
			}
			v.show = v.show[:0:0]
			for _, g := range v.seen {
				v.show = append(v.show, r.parts[g]...)
			}
			r.row = append(r.row[:0], row...)
		}
		if err := f(v); err != nil {
			r.row = r.row[:0]
			return err
		}
	}
	return nil
}

// complete are the rows with the columns that they show, in the memory of x.
func (v *pattern) complete(x []float64) blocks.Rows {
	d := len(v.show)
	b := blocks.Rows{First: v.rows.First + v.first, N: v.end - v.first, D: d, Stride: d}
	if v.rows.Weights != nil {
		b.Weights = v.rows.Weights[v.first:v.end]
	}
	b.X = linalg.Resize(x, b.N*d)
	for i := range b.N {
		row := v.rows.Row(v.first + i)
		for at, j := range v.show {
			b.X[i*d+at] = row[j]
		}
	}
	return b
}

// pick takes the rows of a list, D×k, of some columns, in the memory of dst.
func pick(dst, list []float64, k int, show []int) []float64 {
	picked := linalg.Resize(dst, len(show)*k)
	for at, j := range show {
		copy(picked[at*k:(at+1)*k], list[j*k:])
	}
	return picked
}

// samePattern reports whether two rows miss the same entries.
func samePattern(x, y []float64) bool {
	for j, v := range x {
		if (v != v) != (y[j] != y[j]) {
			return false
		}
	}
	return true
}

// shown are the parts that a row shows.
func shown(parts [][]int, x []float64, row int) (seen []int, err error) {
	for g, part := range parts {
		missing := 0
		for _, j := range part {
			if math.IsNaN(x[j]) {
				missing++
			}
		}
		switch {
		case missing == 0:
			seen = append(seen, g)
		case missing < len(part):
			return nil, fmt.Errorf("factor: %w",
				blocks.FaultyRow(row, "misses %d of the %d columns of block %d: noise with blocks integrates out "+
					"whole blocks only; complete the block, or leave it empty", missing, len(part), g+1))
		}
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("factor: %w", blocks.FaultyRow(row, "%w", blocks.ErrNoValue))
	}
	return seen, nil
}

// addPattern adds rows that show the same parts: their statistics are those of a model of these columns.
func (s *Statistics) addPattern(v *pattern, p *Parameters) (entropy float64, err error) {
	k, d := p.K, len(v.show)
	q := &s.local
	if q.by == nil {
		q.by = map[int]*lineargaussian.Statistics{}
	}
	inner := q.by[d]
	if inner == nil {
		inner = lineargaussian.NewStatistics(k, d)
		q.by[d] = inner
	}
	q.precision, q.sum, q.x = linalg.Resize(q.precision, k*k), linalg.Resize(q.sum, d), linalg.Resize(q.x, p.D)
	clear(q.precision)
	clear(q.sum)
	for _, g := range v.seen {
		linalg.Axpy(1, q.added[g*k*k:(g+1)*k*k], q.precision)
	}
	q.mean, q.w, q.own = pick(q.mean, p.Mean, 1, v.show), pick(q.w, p.Loadings, k, v.show),
		pick(q.own, q.weighted, k, v.show)
	if err := inner.Condition(q.mean, q.w, q.own, 1, q.precision, nil, nil); err != nil {
		return 0, err
	}
	rows, sum, x := v.complete(q.rows), q.sum, q.x
	q.rows = rows.X
	for i := range rows.N {
		weight := rows.Weight(i)
		if weight == 0 {
			continue
		}
		clear(x) // 0 where an entry is missing, which adds nothing
		for at, j := range v.show {
			value := rows.Row(i)[at]
			sum[at] += weight * (value - p.Mean[j])
			x[j] = value - p.Center[j]
		}
		addSquares(s.XX, s.local.reader.parts, weight, x)
	}
	entropy, err = inner.Add(rows)
	if err == nil {
		s.scatter(inner, sum, v, p)
	}
	return entropy, err
}

// scatter adds the sums of the columns that a pattern shows, which are about the mean, to those of all, which are
// about the center. sum is that of the rows.
func (s *Statistics) scatter(inner *lineargaussian.Statistics, sum []float64, v *pattern, p *Parameters) {
	k, d := p.K, len(v.show)
	z := mat.NewVecDense(k, nil)
	z.MulVec(mat.NewDense(k, d, inner.Gain()), mat.NewVecDense(d, sum))
	s.N += inner.N
	linalg.Axpy(1, inner.ZZ, s.ZZ)
	for _, g := range v.seen {
		s.Seen[g] += inner.N
		linalg.Axpy(1, z.RawVector().Data, s.Z[g*k:(g+1)*k])
		linalg.Axpy(1, inner.ZZ, s.PartZZ[g*k*k:(g+1)*k*k])
	}
	for i, j := range v.show {
		shift := p.Mean[j] - p.Center[j]
		s.X[j] += sum[i] + shift*inner.N
		linalg.Axpy(1, inner.XZ[i*k:(i+1)*k], s.XZ[j*k:(j+1)*k])
		linalg.Axpy(shift, z.RawVector().Data, s.XZ[j*k:(j+1)*k])
	}
}

// Condense sorts rows by their missing entries, so that consecutive rows share the covariance of q(z). It returns a
// source unchanged if no entry is missing or if it cannot be read.
func (Model) Condense(ctx context.Context, src framework.Source[blocks.Rows]) framework.Source[blocks.Rows] {
	type row struct {
		x      []float64
		weight float64
	}
	var rows []row
	d, gaps := 0, false
	for b, err := range src.Blocks(ctx) {
		if err != nil || b.D < 1 || d != 0 && b.D != d || b.Check() != nil {
			return src
		}
		d = b.D
		for i := range b.N {
			x := b.Row(i)
			gaps = gaps || slices.ContainsFunc(x, math.IsNaN)
			rows = append(rows, row{x, b.Weight(i)})
		}
	}
	if !gaps || ctx.Err() != nil {
		return src
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		for j, v := range a.x {
			if c := cmp.Compare(mark(v), mark(b.x[j])); c != 0 {
				return c
			}
		}
		return 0
	})
	x, weights := make([]float64, 0, len(rows)*d), make([]float64, 0, len(rows))
	for _, r := range rows {
		x, weights = append(x, r.x...), append(weights, r.weight)
	}
	table, err := blocks.FromIncomplete(x, len(rows), d)
	if err != nil {
		return src
	}
	if table, err = table.WithWeights(weights); err != nil {
		return src
	}
	return table
}

// mark is 1 for a missing entry and 0 for others.
func mark(v float64) int {
	if v != v {
		return 1
	}
	return 0
}
