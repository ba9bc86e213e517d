package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// A Resampler is a model that can draw rows.
type Resampler[B, P any] interface {
	// Resample draws a source like src from p: with as many rows, and in each row with what the model takes as given,
	// such as which values are missing. A row of weight w becomes w rows. It returns an error for weights that are not
	// whole numbers. It is called concurrently.
	Resample(ctx context.Context, src framework.Source[B], p P, rng *rand.Rand) (framework.Source[B], error)
}

// A resampling makes one draw.
type resampling[B any] func(ctx context.Context, rng *rand.Rand) (framework.Source[B], error)

func newResampling[B, P any, S framework.Statistics[S]](
	ctx context.Context, m framework.Model[B, P, S], src framework.Source[B], p P, scheme Scheme,
) (resampling[B], error) {
	if scheme == Parametric {
		r, ok := m.(Resampler[B, P])
		if !ok {
			return nil, fmt.Errorf(
				"bootstrap: %T cannot be drawn from: it does not implement bootstrap.Resampler (a Resample method)", m,
			)
		}
		return func(ctx context.Context, rng *rand.Rand) (framework.Source[B], error) {
			return r.Resample(ctx, src, p, rng)
		}, nil
	}
	rows, ok := src.(framework.Source[blocks.Rows])
	if !ok {
		return nil, fmt.Errorf("bootstrap: the %v scheme weights rows, and %T has none: take Parametric", scheme, src)
	}
	weights, err := weightsOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	draw := multinomial
	if scheme == Bayesian {
		draw = exponential
	}
	return func(_ context.Context, rng *rand.Rand) (framework.Source[B], error) {
		return any(framework.Source[blocks.Rows](reweighted{rows, draw(weights, rng)})).(framework.Source[B]), nil
	}, nil
}

func weightsOf(ctx context.Context, src framework.Source[blocks.Rows]) ([]float64, error) {
	weights := make([]float64, 0, src.Rows())
	for b, err := range src.Blocks(ctx) {
		if err == nil {
			err = b.Check()
		}
		if err != nil {
			return nil, err
		}
		for i := range b.N {
			weights = append(weights, b.Weight(i))
		}
	}
	if !(floats.Sum(weights) > 0) {
		return nil, errors.New("bootstrap: the weights of the rows sum to 0: there is nothing to draw")
	}
	return weights, nil
}

// multinomial are the frequencies of N = Σw rows drawn with probabilities w/N, rounded to a whole number of rows and
// scaled back to N.
func multinomial(w []float64, rng *rand.Rand) []float64 {
	cumulative := floats.CumSum(make([]float64, len(w)), w)
	total := cumulative[len(w)-1]
	last := len(w) - 1 // that can be drawn, whatever the rounding
	for w[last] == 0 {
		last--
	}
	n := max(1, math.Round(total))
	drawn := make([]float64, len(w))
	for range int(n) {
		u := rng.Float64() * total
		drawn[min(last, sort.Search(len(w), func(i int) bool { return cumulative[i] > u }))] += total / n
	}
	return drawn
}

// exponential are Dirichlet weights of mean w: gamma variables of shape w, scaled to their sum.
func exponential(w []float64, rng *rand.Rand) []float64 {
	drawn := slices.Clone(w)
	for i, shape := range w {
		if shape > 0 {
			drawn[i] = distuv.Gamma{Alpha: shape, Beta: 1, Src: rng}.Rand()
		}
	}
	floats.Scale(floats.Sum(w)/floats.Sum(drawn), drawn)
	return drawn
}

// reweighted is a source with other weights.
type reweighted struct {
	framework.Source[blocks.Rows]
	weights []float64
}

func (s reweighted) Blocks(ctx context.Context) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		first := 0
		for b, err := range s.Source.Blocks(ctx) {
			if err == nil {
				b.Weights = s.weights[first : first+b.N]
				first += b.N
			}
			if !yield(b, err) {
				return
			}
		}
	}
}
