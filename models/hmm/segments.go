package hmm

import (
	"context"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// A chain from left to right begins with every sequence cut into K segments, which its states have in their order
// (Rabiner 1989, section V.C): equal ones in the first start of a fit, and random shares of the sequence in others.

// segments are the sums of such a start with the steps of each state.
func (c Structure) segments(ctx context.Context, src framework.Source[blocks.Sequences], pl *family.Plan,
	w *family.Pooled, k int, rng *rand.Rand) (*family.Classes, []float64, error) {
	cuts := shares(ctx, k, rng)
	labels, err := successionOf(ctx, src, pl, k)
	if err != nil {
		return nil, nil, err
	}
	var places []int
	if labels != nil {
		if places, err = c.placesOf(labels, cuts); err != nil {
			return nil, nil, err
		}
	}
	classes, counts := pl.Classes(k), make([]float64, k)
	if err := classes.Center(w); err != nil {
		return nil, nil, err
	}
	var q, weights []float64
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, nil, err
		}
		states := statesOf(b, cuts)
		if labels != nil {
			hold(b, heldIn(b, pl), places, states)
		}
		rows := b.Flat()
		if err := classes.Chunks(rows, func(first, n int, of []float64) error {
			padded := family.Padded(n)
			q = linalg.Resize(q, k*padded)
			clear(q)
			for i := range n {
				weight := rows.Weight(first + i)
				q[states[first+i]*padded+i] = weight
				counts[states[first+i]] += weight
			}
			classes.Add(n, of, q)
			return nil
		}); err != nil {
			return nil, nil, err
		}
		if len(classes.Rows.Q) > 0 {
			for i := range rows.N {
				weights = append(weights, rows.Weight(i))
			}
		}
	}
	if weights == nil {
		weights = []float64{floats.Sum(counts)}
	}
	classes.Soften(w, counts, weights)
	return classes, counts, ctx.Err()
}

// shares are where the segments of a start end, as shares of a sequence.
func shares(ctx context.Context, k int, rng *rand.Rand) []float64 {
	cuts := make([]float64, k)
	for j := range cuts {
		cuts[j] = float64(j+1) / float64(k)
	}
	if framework.StartOf(ctx) > 0 {
		for j := range k - 1 {
			cuts[j] = rng.Float64()
		}
		slices.Sort(cuts)
	}
	return cuts
}

// statesOf is the segment of each step of a block.
func statesOf(b blocks.Sequences, cuts []float64) []int {
	states := make([]int, b.Steps.N)
	for i := range b.Len() {
		first, end := b.Bounds(i)
		for t := first; t < end; t++ {
			place := (float64(t-first) + 0.5) / float64(end-first)
			states[t] = sort.SearchFloat64s(cuts, place)
		}
	}
	return states
}
