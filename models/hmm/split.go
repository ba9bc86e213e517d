package hmm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/models/mixture"
)

// A state is divided in two ways, in the second division of a fit by the one that promises more. By what is seen in it:
// a mixture of two that is fitted to its steps, as that of a component is; which half follows which is left to the
// first local step. Or by what follows it: the steps before one of the other states become one half (contextual splits
// of states; Ostendorf & Singer 1997), which also divides states that look the same.

// Split divides state k with a sample of pieces of the sequences (see [optional.Splitter]).
func (m Model) Split(
	ctx context.Context, src framework.Source[blocks.Sequences], s *Statistics, p *Parameters, k int, rng *rand.Rand,
) (*Parameters, float64, error) {
	if m.Structure.LeftRight > 0 {
		return nil, 0, errOrdered
	}
	b, err := pieces(ctx, src, p.D+m.Structure.Covariates, rng)
	if err != nil {
		return nil, 0, err
	}
	q, err := m.Responsibilities(b, p, nil)
	if err != nil {
		return nil, 0, err
	}
	grown, gain, err := m.byEmission(ctx, b, q, s.N, p, k, rng)
	if next := m.successor(p, k, rng); next >= 0 && framework.DivisionOf(ctx) == 1 {
		if other, promise, failed := m.byContext(b, q, s.N, p, k, next); failed == nil && (err != nil || promise > gain) {
			grown, gain, err = other, promise, nil
		}
	}
	if err != nil {
		return nil, 0, err
	}
	return grown, gain, m.Structure.begin(grown.Start, grown.Transitions)
}

// byEmission divides state k by a mixture of two.
func (m Model) byEmission(
	ctx context.Context, b blocks.Sequences, q []float64, n float64, p *Parameters, k int, rng *rand.Rand,
) (*Parameters, float64, error) {
	halves, gain, err := mixture.Halves(ctx, m.Family, m.seen(b.Flat()), q, k, n, rng)
	if err != nil {
		return nil, 0, err
	}
	grown := m.grown(p, k, halves.Parameters.Weights)
	copy(grown.Component(k), halves.Parameters.Component(0))
	copy(grown.Component(p.K), halves.Parameters.Component(1))
	known.Of(m.mustPlan(p)).Divide(p.Component(k), grown.Component(k), grown.Component(p.K))
	return grown, gain, nil
}

// successor draws a state that follows k, other than k itself; −1 where there is none.
func (m Model) successor(p *Parameters, k int, rng *rand.Rand) int {
	row := slices.Clone(at(p.Transitions, k, p.K))
	row[k] = 0
	return categorical.Draw(row, rng)
}

// byContext divides state k into the steps before state next and the others. The gain is what densities of their own
// add for the two halves.
func (m Model) byContext(
	b blocks.Sequences, q []float64, n float64, p *Parameters, k, next int,
) (*Parameters, float64, error) {
	rows := m.seen(b.Flat())
	half := make([]float64, 2*rows.N) // the weight of each step in either half
	for i := range b.Len() {
		first, end := b.Bounds(i)
		for t := first; t < end; t++ {
			before := 0.0
			if t+1 < end {
				before = q[(t+1)*p.K+next]
			}
			v := rows.Weight(t) * q[t*p.K+k]
			half[2*t], half[2*t+1] = v*before, v*(1-before)
		}
	}
	pl := m.mustPlan(p)
	classes, counts, err := sumsOf(pl, p.Pooled, rows, 2, half)
	if err != nil {
		return nil, 0, err
	}
	grown := m.grown(p, k, []float64{counts[0] / floats.Sum(counts), counts[1] / floats.Sum(counts)})
	two := slices.Concat(p.Component(k), p.Component(k))
	if err := classes.Estimate(two); err != nil {
		return nil, 0, err
	}
	gain := classes.LogJoint(two) - classes.LogJoint(slices.Concat(p.Component(k), p.Component(k)))
	copy(grown.Component(k), two)
	copy(grown.Component(p.K), two[len(two)/2:])
	known.Of(pl).Divide(p.Component(k), grown.Component(k), grown.Component(p.K))
	const certain = 0.9
	before, other := at(grown.Transitions, k, grown.K), at(grown.Transitions, p.K, grown.K)
	if m.Structure.Covariates > 0 { // moves the intercepts as if all steps were like the average
		grown.shift(k, next, math.Log1p(certain/((1-certain)*max(before[next], leastMove))))
		grown.shift(p.K, next, math.Log1p(-certain))
	}
	floats.Scale(1-certain, before)
	before[next] += certain
	other[next] *= 1 - certain
	complete(other, next)
	return grown, gain*n/floats.Sum(rows.Weights) - float64(pl.Size().Free), nil
}

// sumsOf are those of rows in k classes with the given weights, rows×k, softened, and the rows of each.
func sumsOf(
	pl *family.Plan, w *family.Pooled, rows blocks.Rows, k int, weights []float64,
) (*family.Classes, []float64, error) {
	classes, counts := pl.Classes(k), make([]float64, k)
	if err := classes.Center(w); err != nil {
		return nil, nil, err
	}
	var q []float64
	err := classes.Chunks(rows, func(first, n int, of []float64) error {
		q = linalg.Resize(q, k*family.Padded(n))
		simd.Columns(q, weights[first*k:], n, k, k)
		for j := range counts {
			counts[j] += floats.Sum(at(q, j, family.Padded(n))[:n])
		}
		classes.Add(n, of, q)
		return nil
	})
	classes.Soften(w, counts, rows.Weights)
	return classes, counts, err
}

var errOrdered = fmt.Errorf("hmm: a chain from left to right has no place for the halves of a state: %w",
	framework.ErrDegenerate)

// grown are the parameters with state k twice, as k and the last: what leads to k leads to them in the given shares.
func (m Model) grown(p *Parameters, k int, shares []float64) *Parameters {
	q := (&Parameters{K: p.K + 1, D: p.D, Pooled: p.Pooled}).like(nil, m.mustPlan(p))
	q.bayes = p.bayes
	copy(q.Components, p.Components)
	divide := func(dst, v []float64) {
		copy(dst, v)
		dst[k], dst[p.K] = v[k]*shares[0], v[k]*shares[1]
	}
	divide(q.Start, p.Start)
	for i := range q.K {
		from := i
		if i == p.K {
			from = k
		}
		divide(at(q.Transitions, i, q.K), at(p.Transitions, from, p.K))
	}
	q.divideGates(p, k, shares)
	return q
}

const (
	// pieceSteps is the number of steps up to which a piece of a sequence is looked at.
	pieceSteps = 256
	// sampleSteps is about how many steps a sample of pieces has.
	sampleSteps = 8192
)

// A pieceCount is of the pieces of a block of sequences, but those of weight 0.
type pieceCount struct{ First, Pieces, Steps int } // the first sequence of the block

// A piece is one that is drawn.
type piece struct {
	At     int // its number among all
	X      []float64
	Weight float64
}

// eachPiece calls visit for the pieces of a block, but those of weight 0.
func eachPiece(b blocks.Sequences, visit func(weight float64, first, end int)) {
	for i := range b.Len() {
		begin, end := b.Bounds(i)
		for first := begin; first < end && b.Weight(i) > 0; first += pieceSteps {
			visit(b.Weight(i), first, min(end, first+pieceSteps))
		}
	}
}

// gather sums up what is found in the blocks of a source, in any order.
func gather[T any](ctx context.Context, src framework.Source[blocks.Sequences], of any,
	find func(b blocks.Sequences, add func(T))) ([]T, error) {
	q := framework.Ask(of, func() (*[]T, error) { return new([]T), nil },
		func(all *[]T, b blocks.Sequences) error {
			find(b, func(one T) { *all = append(*all, one) })
			return nil
		},
		func(into, from *[]T) error {
			*into = append(*into, *from...)
			return nil
		})
	if err := framework.SurveyAll(ctx, src, 0, q); err != nil {
		return nil, err
	}
	return *q.Sum, nil
}

// pieces draws pieces of sequences, without replacement, as many as have about sampleSteps steps; those of weight 0 are
// left out.
func pieces(
	ctx context.Context, src framework.Source[blocks.Sequences], d int, rng *rand.Rand,
) (blocks.Sequences, error) {
	out := blocks.Sequences{Steps: blocks.Rows{D: d, Stride: d}}
	counts, err := gather(ctx, src, pieceCount{}, func(b blocks.Sequences, add func(pieceCount)) {
		c := pieceCount{First: b.First}
		eachPiece(b, func(_ float64, first, end int) { c.Pieces, c.Steps = c.Pieces+1, c.Steps+end-first })
		add(c)
	})
	if err != nil {
		return out, err
	}
	slices.SortFunc(counts, func(a, b pieceCount) int { return cmp.Compare(a.First, b.First) })
	before, count, steps := map[int]int{}, 0, 0 // pieces before a block
	for _, c := range counts {
		before[c.First] = count
		count, steps = count+c.Pieces, steps+c.Steps
	}
	if count == 0 {
		return out, errors.New("hmm: the source has no sequences")
	}
	wanted := min(count, 1+int(float64(sampleSteps)*float64(count)/float64(steps)))
	drawn := map[int]bool{}
	for at := range count {
		if rng.IntN(count-at) < wanted-len(drawn) { // Knuth's selection sampling
			drawn[at] = true
		}
	}
	found, err := gather(ctx, src, nil, func(b blocks.Sequences, add func(piece)) {
		at := before[b.First]
		eachPiece(b, func(weight float64, first, end int) {
			if drawn[at] {
				one := piece{At: at, Weight: weight}
				for t := first; t < end; t++ {
					one.X = append(one.X, b.Steps.Row(t)...)
				}
				add(one)
			}
			at++
		})
	})
	slices.SortFunc(found, func(a, b piece) int { return cmp.Compare(a.At, b.At) })
	for _, one := range found {
		out.Steps.N += len(one.X) / d
		out.Steps.X = append(out.Steps.X, one.X...)
		out.Ends, out.Weights = append(out.Ends, out.Steps.N), append(out.Weights, one.Weight)
	}
	return out, err
}

var _ optional.Splitter[framework.Source[blocks.Sequences], *Parameters, *Statistics] = Model{}
