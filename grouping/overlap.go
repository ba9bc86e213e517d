package grouping

import (
	"context"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// An Overlap sums products of posteriors over rows: K(K+1)/2 + K numbers for any number of rows. The zero value is
// empty, and takes K from the first row. The Overlap of all rows is the sum of the Overlaps of their parts.
type Overlap struct {
	Rows     []float64 // N_k = Σ w_n q_nk, K
	Assigned []float64 // K: the weight of the rows whose most probable component is k, or the first of equals

	both []float64 // C_kl = Σ w_n q_nk q_nl, of k ≥ l, row by row
	some []int     // components that a row may belong to
}

// A Scorer returns ln p of the rows of a block, which this package ignores, and their posteriors q, rows×K, like the
// scorer of a mixture. It may reuse the slices that it is given.
type Scorer = func(b blocks.Rows, logProb, q []float64) ([]float64, []float64, error)

// Over makes one pass over a source, with a scorer for each goroutine. The bits are the same for any number of workers
// (0: one a processor).
func Over(ctx context.Context, src framework.Source[blocks.Rows], workers int, ready func() (Scorer, error)) (
	*Overlap, error) {
	type shard struct {
		Overlap
		score      Scorer
		logProb, q []float64
	}
	all, err := framework.Fold(ctx, src, workers,
		func() (*shard, error) {
			score, err := ready()
			return &shard{score: score}, err
		},
		func(s *shard, b blocks.Rows) (err error) {
			b = b.Weighing()
			if s.logProb, s.q, err = s.score(b, s.logProb, s.q); err != nil || b.N == 0 {
				return err
			}
			k := len(s.q) / b.N
			for i := range b.N {
				s.Add(s.q[i*k:(i+1)*k], b.Weight(i))
			}
			return nil
		},
		func(into, from *shard) error {
			into.Merge(&from.Overlap)
			return nil
		})
	if err != nil {
		return nil, err
	}
	return &all.Overlap, nil
}

// negligible is the posterior below which a component has no part of a row: products of less do not reach the last
// digit of an overlap that counts.
const negligible = 1e-12

// Add adds a row with posterior q, K probabilities, that counts weight times.
func (o *Overlap) Add(q []float64, weight float64) {
	o.ready(len(q))
	floats.AddScaled(o.Rows, weight, q)
	o.Assigned[floats.MaxIdx(q)] += weight
	o.some = o.some[:0]
	for k, p := range q {
		if p < negligible {
			continue
		}
		o.some = append(o.some, k)
		own := o.both[k*(k+1)/2:]
		for _, l := range o.some {
			own[l] += weight * p * q[l]
		}
	}
}

func (o *Overlap) ready(k int) {
	if o.Rows == nil {
		o.Rows, o.Assigned, o.both = make([]float64, k), make([]float64, k), make([]float64, k*(k+1)/2)
	}
}

// Merge adds the sums of other.
func (o *Overlap) Merge(other *Overlap) {
	if len(other.Rows) == 0 {
		return
	}
	o.ready(len(other.Rows))
	floats.Add(o.Rows, other.Rows)
	floats.Add(o.Assigned, other.Assigned)
	floats.Add(o.both, other.both)
}

// Both returns C_kl of components k and l, which count from 0: the expected weight of the rows for which one draw
// from the posterior gives k and another gives l.
func (o *Overlap) Both(k, l int) float64 {
	if k < l {
		k, l = l, k
	}
	return o.both[k*(k+1)/2+l]
}

// Between returns the overlap of two components, from 0 to 1; 0 if one has no rows.
func (o *Overlap) Between(k, l int) float64 { return share(o.Both(k, l), o.Rows[k], o.Rows[l]) }

// share is C as a share of the smaller of two numbers of rows.
func share(both, a, b float64) float64 {
	if least := min(a, b); least > 0 {
		return both / least
	}
	return 0
}
