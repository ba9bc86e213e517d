package bootstrap

import (
	"context"
	"fmt"
	"math"

	"github.com/latent-go/latent/framework"
)

// A Permuter is a model whose latent dimensions can be numbered in any order without changing p(X|Π). It must also be
// a [framework.Assigner], because dimensions of a refit are matched to those of the fit by the rows that they share.
type Permuter[P any] interface {
	// Permute returns p with latent dimension order[k] at position k. It does not change p.
	Permute(p P, order []int) (P, error)
}

// An aligner numbers the latent dimensions of refits as those of the fit.
type aligner[B, P any] struct {
	model interface {
		Permuter[P]
		framework.Assigner[B, P]
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
		framework.Assigner[B, P]
	}); !ok {
		return nil, fmt.Errorf("bootstrap: %T permutes its latent dimensions and cannot align "+
			"them: it does not implement framework.Assigner", m)
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
	return a.model.Permute(p, assign(cost))
}

// assign returns for each row of a square matrix its column in the assignment of least cost, by the Hungarian method
// with shortest augmenting paths (Kuhn 1955; Jonker & Volgenant 1987), in O(n³).
func assign(cost [][]float64) []int {
	n := len(cost)
	rowPrice, columnPrice := make([]float64, n), make([]float64, n+1) // dual variables; column n stands for none
	rowOf := make([]int, n+1)
	for j := range rowOf {
		rowOf[j] = -1
	}
	for i := range n {
		augment(cost, i, rowPrice, columnPrice, rowOf)
	}
	columns := make([]int, n)
	for j, i := range rowOf[:n] {
		columns[i] = j
	}
	return columns
}

// augment assigns row i too, along the shortest path of reassignments to a free column.
func augment(cost [][]float64, i int, rowPrice, columnPrice []float64, rowOf []int) {
	n := len(cost)
	slack, before, visited := make([]float64, n), make([]int, n), make([]bool, n+1)
	for j := range slack {
		slack[j] = math.Inf(1)
	}
	at := n
	rowOf[n] = i
	for rowOf[at] >= 0 {
		visited[at] = true
		row, next := rowOf[at], -1
		for j := range n {
			if visited[j] {
				continue
			}
			if d := cost[row][j] - rowPrice[row] - columnPrice[j]; d < slack[j] {
				slack[j], before[j] = d, at
			}
			if next < 0 || slack[j] < slack[next] {
				next = j
			}
		}
		step := slack[next]
		for j := range n + 1 {
			if visited[j] {
				rowPrice[rowOf[j]] += step
				columnPrice[j] -= step
			} else {
				slack[j] -= step
			}
		}
		at = next
	}
	for at != n {
		rowOf[at] = rowOf[before[at]]
		at = before[at]
	}
}
