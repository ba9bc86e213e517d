package mixture

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
)

// Sparse, SparseMAP and SparseVariational are [Model], [MAP] and [Variational] fitted from
// sparse rows: the same numbers, to rounding, at a cost that follows the entries and not
// the columns. The family is one whose densities at 0 have T = 0 and h = 1, such as
// [Bernoulli] or [Poisson] on every column.
type (
	Sparse            struct{ Model }
	SparseMAP         struct{ MAP }
	SparseVariational struct{ Variational }
)

// Init is [Model.Init].
func (m Sparse) Init(ctx context.Context, src framework.Source[framework.SparseRows], k int, rng *rand.Rand) (*Parameters, error) {
	return initModel(ctx, m.Model, src, sparseOf, k, rng)
}

// Init is [MAP.Init].
func (m SparseMAP) Init(ctx context.Context, src framework.Source[framework.SparseRows], k int, rng *rand.Rand) (*Parameters, error) {
	p, err := initModel(ctx, m.Model, src, sparseOf, k, rng)
	if err != nil {
		return nil, err
	}
	return m.begin(p)
}

// Init is [Variational.Init].
func (m SparseVariational) Init(ctx context.Context, src framework.Source[framework.SparseRows], k int, rng *rand.Rand) (*Posterior, error) {
	return initVariational(ctx, m.Variational, src, sparseOf, k, rng)
}

// Infer adds the rows of a block.
func (Sparse) Infer(b framework.SparseRows, _ *Parameters, s *Statistics) (float64, error) {
	return infer(s, sparse{b})
}

// Infer adds the rows of a block.
func (SparseMAP) Infer(b framework.SparseRows, _ *Parameters, s *Statistics) (float64, error) {
	return infer(s, sparse{b})
}

// Infer adds the rows of a block.
func (SparseVariational) Infer(b framework.SparseRows, _ *Posterior, s *Statistics) (float64, error) {
	return infer(s, sparse{b})
}

// LogProb is ln Σ_k β_k p(x_n|ξ_k) of each row, in nats.
func (m Sparse) LogProb(b framework.SparseRows, p *Parameters, dst []float64) ([]float64, error) {
	logProb, _, err := m.judgeSparse(b, p, dst, nil)
	return logProb, err
}

// Responsibilities are p(z_n = k|x_n), rows×K.
func (m Sparse) Responsibilities(b framework.SparseRows, p *Parameters, dst []float64) ([]float64, error) {
	_, r, err := m.judgeSparse(b, p, nil, dst)
	return r, err
}

// LogProb is that of [Sparse].
func (m SparseMAP) LogProb(b framework.SparseRows, p *Parameters, dst []float64) ([]float64, error) {
	return Sparse{m.Model}.LogProb(b, p, dst)
}

// Responsibilities are those of [Sparse].
func (m SparseMAP) Responsibilities(b framework.SparseRows, p *Parameters, dst []float64) ([]float64, error) {
	return Sparse{m.Model}.Responsibilities(b, p, dst)
}

// Responsibilities are q(z_n = k) of each row, rows×K.
func (m SparseVariational) Responsibilities(b framework.SparseRows, p *Posterior, dst []float64) ([]float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, err
	}
	_, r, err := judge(s, sparse{b}, nil, dst)
	return r, err
}

func (m Model) judgeSparse(b framework.SparseRows, p *Parameters, logProb, r []float64) ([]float64, []float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, nil, err
	}
	return judge(s, sparse{b}, logProb, r)
}

// sparse rows as a block.
type sparse struct{ framework.SparseRows }

func sparseOf(b framework.SparseRows) sparse { return sparse{b} }

// dims looks at more rows together than dense ones need: the columns of the scores are
// turned round once for them.
func (b sparse) dims() (rows, d, chunk int)     { return b.N, b.D, 1024 }
func (b sparse) weights(first, n int) []float64 { return span(b.Weights, first, n) }
func (b sparse) index(i int) int                { return b.First + i }

func (b sparse) copyRow(i int, dst []float64) {
	clear(dst)
	columns, values := b.Row(i)
	for e, j := range columns {
		if dst[j] = 1; values != nil {
			dst[j] = values[e]
		}
	}
}

func (b sparse) observe(s *Statistics, first, n int) error {
	l, ok := s.plan.parts[0].factor.(linear)
	if !ok || len(s.plan.parts) > 1 || l.s != 1 || l.width != 1 {
		return fmt.Errorf("mixture: sparse rows need one family with one statistic a column, such as bernoulli")
	}
	o := &s.seen[0]
	o.n, o.first, o.complete, o.sparse, o.entries = n, first, true, true, b.SparseRows
	entries := b.Start[first+n] - b.Start[first]
	o.t, o.base = linalg.Resize(o.t, entries+2), linalg.Resize(o.base, n)
	x := o.t[entries+1:] // an observation; before it, its statistic at 0
	x[0] = 0
	if e, h, ok := l.Observe(x, o.t[entries:entries+1]); !ok || e != 1 || h != 0 || o.t[entries] != 0 {
		return fmt.Errorf("mixture: sparse rows need a family in which 0 costs nothing, which %s is not", l.Name())
	}
	at := 0
	for i := range n {
		columns, values := b.Row(first + i)
		o.base[i] = 0
		last := -1
		for e, j := range columns {
			if j <= last || j >= b.D { // a source of one's own may hand out anything
				return fmt.Errorf("mixture: %w", framework.FaultyRow(b.index(first+i), "has an entry in column %d after column %d: columns ascend from 0 to %d", j, last, b.D-1))
			}
			last = j
			if x[0] = 1; values != nil {
				x[0] = values[e]
			}
			exposure, h, ok := l.Observe(x, o.t[at:at+1])
			if !ok || exposure != 1 {
				return l.outside(b.First+first+i, j, x)
			}
			o.base[i] += h
			at++
		}
	}
	return nil
}

// addSparseScores adds Σ_m η_km T(x_nm) over the entries.
func (o *observed) addSparseScores(scores table, cells int, r []float64) {
	k, n := scores.k, o.padded()
	o.e = linalg.Resize(o.e, (cells+1)*k)
	to := at(o.e, cells, k)
	for j := range k {
		for c, eta := range scores.row(j, 2*cells)[cells:] {
			o.e[c*k+j] = eta
		}
	}
	entry := 0
	for i := range o.n {
		columns, _ := o.entries.Row(o.first + i)
		clear(to)
		for _, c := range columns {
			t := o.t[entry]
			for j, eta := range o.e[c*k : (c+1)*k] {
				to[j] += t * eta
			}
			entry++
		}
		for j, v := range to {
			r[j*n+i] += v
		}
	}
}

// addSparseSums adds Σ_n r_nk T(x_nm) over the entries.
func (o *observed) addSparseSums(sums table, cells int, r []float64) {
	k, n := sums.k, o.padded()
	o.e = linalg.Resize(o.e, (cells+1)*k)
	clear(o.e)
	from := at(o.e, cells, k)
	entry := 0
	for i := range o.n {
		columns, _ := o.entries.Row(o.first + i)
		for j := range from {
			from[j] = r[j*n+i]
		}
		for _, c := range columns {
			t := o.t[entry]
			to := o.e[c*k : (c+1)*k]
			for j, q := range from {
				to[j] += q * t
			}
			entry++
		}
	}
	for j := range k {
		for c := range cells {
			sums.data[j*sums.stride+cells+c] += o.e[c*k+j]
		}
	}
}
