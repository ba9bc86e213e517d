package framework

import (
	"context"
	"math"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
)

// logModes is ln M at p(Z|X,p), in nats: a q covers one of M equivalent modes; spread evenly over all of them, it would
// raise [Evidence] by ln M, to estimate ln p(X|K) (docs/theory/evidence.md, section 1). Labels that overlap count for
// less: with ρ_kl = Π_n (1 − (√q_nk − √q_nl)²), the Bhattacharyya coefficient of q and of q with k and l exchanged,
//
//	ln M = max(0, ln K! − Σ_{k<l} ln(1 + ρ_kl)).
//
// It makes one pass over the source if it compares labels, and is NaN for a model that is neither an
// [optional.Assigner] nor [optional.Symmetric].
func logModes[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], p P, workers int,
) (float64, error) {
	k := m.Shape(p).K
	most, _ := math.Lgamma(float64(k) + 1)
	symmetric, ok := m.(optional.Symmetric[P])
	if ok {
		most = symmetric.LogModes(p)
	}
	of, assigns := m.(optional.Assigner[B, P])
	switch _, coupled := m.(optional.Coupled[B, Source[B], P, S]); {
	case ok && (most == 0 || !assigns || coupled):
		return most, nil
	case !assigns || coupled:
		return math.NaN(), nil
	}
	sums, err := Survey(ctx, src, workers,
		func() (*overlaps, error) { return &overlaps{k: k, Logs: make([]float64, k*(k-1)/2)}, nil },
		func(o *overlaps, b B) (err error) {
			if rows, is := any(b).(blocks.Rows); is {
				b = any(rows.Weighing()).(B)
			}
			if o.q, err = of.Responsibilities(b, p, o.q); err == nil {
				o.add(weightsOf(b))
			}
			return err
		},
		func(into, from *overlaps) error {
			for i, v := range from.Logs {
				into.Logs[i] += v
			}
			return nil
		})
	if err != nil {
		return 0, err
	}
	for _, v := range sums.Logs {
		most -= math.Log1p(math.Exp(v))
	}
	return max(0, most), nil
}

// overlaps are ln ρ_kl of the pairs k < l, over the rows seen.
type overlaps struct {
	k    int
	Logs []float64
	q    []float64 // of the rows of a block, N×K
}

func (o *overlaps) add(weight func(row int) float64) {
	roots := make([]float64, o.k)
	for row := range len(o.q) / o.k {
		w := weight(row)
		if w == 0 {
			continue
		}
		for i, q := range o.q[row*o.k : (row+1)*o.k] {
			roots[i] = math.Sqrt(q)
		}
		pair := 0
		for i, a := range roots {
			for _, b := range roots[:i] {
				o.Logs[pair] += w * math.Log1p(-min(1, (a-b)*(a-b)))
				pair++
			}
		}
	}
}

// weightsOf are the weights of the rows of a block, of steps those of their sequences.
func weightsOf(block any) func(row int) float64 {
	switch b := block.(type) {
	case blocks.Sequences:
		i := 0
		return func(row int) float64 { // rows come in order
			for row >= b.Ends[i] {
				i++
			}
			return b.Weight(i)
		}
	case interface{ Weight(row int) float64 }:
		return b.Weight
	}
	return func(int) float64 { return 1 }
}
