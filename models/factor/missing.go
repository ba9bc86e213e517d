package factor

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
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

// addIncomplete adds rows, those of one pattern that follow one another at a time.
func (s *Statistics) addIncomplete(b framework.Rows, p *Parameters) (entropy float64, err error) {
	if b.D != p.D {
		return 0, fmt.Errorf("factor: %w", framework.FaultyRow(b.First, "has %d columns, the model %d", b.D, p.D))
	}
	parts := p.parts(p.D)
	for first := 0; first < b.N; {
		end := first + 1
		for end < b.N && samePattern(b.Row(first), b.Row(end)) {
			end++
		}
		seen, err := p.shown(parts, b.Row(first), b.First+first)
		if err != nil {
			return 0, err
		}
		h, err := s.addPattern(b, first, end, parts, seen, p)
		if err != nil {
			return 0, err
		}
		entropy, first = entropy+h, end
	}
	return entropy, nil
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
func (st Structure) shown(parts [][]int, x []float64, row int) (seen []int, err error) {
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
				framework.FaultyRow(row, "misses %d of the %d columns of block %d: noise with blocks integrates out "+
					"whole blocks only; complete the block, or leave it empty", missing, len(part), g+1))
		}
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("factor: %w", framework.FaultyRow(row, "%w", framework.ErrNoValue))
	}
	return seen, nil
}

// addPattern adds the rows from first to end, which show the same parts: their statistics are those of a model of
// these columns.
func (s *Statistics) addPattern(
	b framework.Rows, first, end int, parts [][]int, seen []int, p *Parameters,
) (entropy float64, err error) {
	k := p.K
	var show []int
	precision := make([]float64, k*k)
	for _, g := range seen {
		show = append(show, parts[g]...)
		linalg.Axpy(1, s.local.added[g*k*k:(g+1)*k*k], precision)
	}
	d := len(show)
	if s.local.by == nil {
		s.local.by = map[int]*lineargaussian.Statistics{}
	}
	inner := s.local.by[d]
	if inner == nil {
		inner = lineargaussian.NewStatistics(k, d)
		s.local.by[d] = inner
	}
	mean, w, weighted := make([]float64, d), make([]float64, d*k), make([]float64, d*k)
	for i, j := range show {
		mean[i] = p.Mean[j]
		copy(w[i*k:(i+1)*k], p.Loadings[j*k:])
		copy(weighted[i*k:(i+1)*k], s.local.weighted[j*k:])
	}
	if err := inner.Condition(mean, w, weighted, 1, precision, nil, nil); err != nil {
		return 0, err
	}
	rows := framework.Rows{First: b.First + first, N: end - first, D: d, Stride: d, X: make([]float64, (end-first)*d)}
	if b.Weights != nil {
		rows.Weights = b.Weights[first:end]
	}
	sum, x := make([]float64, d), make([]float64, p.D)
	for i := range rows.N {
		weight, row := rows.Weight(i), b.Row(first+i)
		for at, j := range show {
			rows.X[i*d+at] = row[j]
			sum[at] += weight * (row[j] - p.Mean[j])
		}
		if weight == 0 {
			continue
		}
		clear(x) // 0 where an entry is missing, which adds nothing
		for _, j := range show {
			x[j] = row[j] - p.Center[j]
		}
		addSquares(s.XX, parts, weight, x)
	}
	entropy, err = inner.Add(rows)
	if err == nil {
		s.scatter(inner, sum, parts, seen, show, p)
	}
	return entropy, err
}

// scatter adds the sums of the columns that a pattern shows, which are about the mean, to those of all, which are
// about the center. sum is that of the rows.
func (s *Statistics) scatter(
	inner *lineargaussian.Statistics, sum []float64, parts [][]int, seen, show []int, p *Parameters,
) {
	k, d := p.K, len(show)
	z := mat.NewVecDense(k, nil)
	z.MulVec(mat.NewDense(k, d, inner.Gain()), mat.NewVecDense(d, sum))
	s.N += inner.N
	linalg.Axpy(1, inner.ZZ, s.ZZ)
	for _, g := range seen {
		s.Seen[g] += inner.N
		linalg.Axpy(1, z.RawVector().Data, s.Z[g*k:(g+1)*k])
		linalg.Axpy(1, inner.ZZ, s.PartZZ[g*k*k:(g+1)*k*k])
	}
	for i, j := range show {
		shift := p.Mean[j] - p.Center[j]
		s.X[j] += sum[i] + shift*inner.N
		linalg.Axpy(1, inner.XZ[i*k:(i+1)*k], s.XZ[j*k:(j+1)*k])
		linalg.Axpy(shift, z.RawVector().Data, s.XZ[j*k:(j+1)*k])
	}
}

// Condense sorts rows by their missing entries, so that consecutive rows share the covariance of q(z). It returns a
// source unchanged if no entry is missing or if it cannot be read.
func (Model) Condense(ctx context.Context, src framework.Source[framework.Rows]) framework.Source[framework.Rows] {
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
	table, err := framework.FromIncomplete(x, len(rows), d)
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
