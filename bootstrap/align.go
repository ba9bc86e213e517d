package bootstrap

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/agreement"
)

// A Permuter is a model whose latent dimensions can be numbered in any order without changing p(X|Π). It must also be
// an [optional.Assigner], because dimensions of a refit are matched to those of the fit by the rows that they share.
type Permuter[P any] interface {
	// Permute returns p with latent dimension order[k] at position k. It does not change p.
	Permute(p P, order []int) (P, error)
}

// An aligner numbers the latent dimensions of refits as those of the fit.
type aligner[B, P any] struct {
	model interface {
		Permuter[P]
		optional.Assigner[B, P]
	}
	src    framework.Source[B]
	k      int
	fitted [][]float64 // responsibilities of the fit, block by block
}

// newAligner returns nil for a model whose latent dimensions need no alignment.
func newAligner[B, P any, S framework.Statistics[S]](
	ctx context.Context, m framework.Model[B, P, S], src framework.Source[B], p P,
) (*aligner[B, P], error) {
	a := &aligner[B, P]{src: src, k: m.Shape(p).K}
	if _, ok := m.(Permuter[P]); !ok || a.k == 1 {
		return nil, nil
	}
	var ok bool
	if a.model, ok = m.(interface {
		Permuter[P]
		optional.Assigner[B, P]
	}); !ok {
		return nil, fmt.Errorf("bootstrap: %T permutes its latent dimensions and cannot align "+
			"them: it does not implement optional.Assigner", m)
	}
	return a, a.each(ctx, p, func(_ int, r []float64) { a.fitted = append(a.fitted, r) })
}

// each visits the responsibilities of the blocks.
func (a *aligner[B, P]) each(ctx context.Context, p P, visit func(block int, r []float64)) error {
	i := 0
	for b, err := range a.src.Blocks(ctx) {
		if err != nil {
			return err
		}
		r, err := a.model.Responsibilities(b, p, nil)
		if err != nil {
			return err
		}
		visit(i, r)
		i++
	}
	return ctx.Err()
}

// align orders the latent dimensions of p so that Σ_n ‖q_n − q*_n‖², the distance of its responsibilities for the
// rows of the fit from the fit's own, is least. As the squares do not depend on the order, that is where
// Σ_n Σ_k q_nk q*_nk is largest.
func (a *aligner[B, P]) align(ctx context.Context, p P) (P, error) {
	if a == nil {
		return p, nil
	}
	cost := make([][]float64, a.k)
	for k := range cost {
		cost[k] = make([]float64, a.k)
	}
	err := a.each(ctx, p, func(block int, r []float64) {
		for i, q := range a.fitted[block] {
			row, k := i/a.k*a.k, i%a.k
			for l, other := range r[row : row+a.k] {
				cost[k][l] -= q * other
			}
		}
	})
	if err != nil {
		return p, err
	}
	return a.model.Permute(p, agreement.Assign(cost))
}
