package framework

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
)

// Online EM (Cappé & Moulines, Journal of the Royal Statistical Society B 71(3), 2009, Algorithm 1, with mini-batches).
// Each iteration makes a local step of a mini-batch, and averages its sums, at the weight of all rows, with those of
// the iterations before:
//
//	S_t = (1 − γ_t) S_{t−1} + γ_t (N/n_t) S(batch t; Π_{t−1}),   Π_t = argmax of S_t,   γ_t = t^−onlineDecay.
//
// So it is an iteration of a run as any other is, over other rows each time.

// onlineDecay is the exponent of the weight of a mini-batch, in (1/2, 1]: .6 as in section 3 there.
const onlineDecay = 0.6

var errOnline = errors.New("framework: Online needs blocks.Rows that are not given by their entries: leave Online 0")

// checkOnline is the error about a fit that cannot be made in mini-batches.
func (a *capabilities[B, P, S]) checkOnline(src Source[B], o Options) error {
	_, rows := src.(Source[blocks.Rows])
	_, elsewhere := src.(Executor[P])
	switch {
	case o.Online == 0:
		return nil
	case !a.scaler:
		return a.unscalable("Online is set")
	case a.fixedPoint || a.coupled != nil:
		return fmt.Errorf("framework: Online is set, and %s keeps a q of all rows: leave Online 0", a.name)
	case o.Group != nil || elsewhere:
		return errors.New("framework: Online is set, and several processes share the passes: mini-batches are those of " +
			"one process")
	case !rows:
		return errOnline
	}
	return nil
}

// online is a start with the parameters of a whole fit to a sample of the rows, and then of one pass over all of them
// in mini-batches.
func online[B, P any, S Statistics[S]](m Model[B, P, S], start Start[B, P], o Options) Start[B, P] {
	return func(ctx context.Context, src Source[B], k int, rng *rand.Rand) (none P, err error) {
		few, err := sampleOf(ctx, any(src).(Source[blocks.Rows]), o.Sample, rng)
		if err != nil {
			return none, err
		}
		if few == nil {
			return none, errOnline
		}
		w := few.All().Weights // K is that of so few rows
		floats.Scale(float64(few.Rows())/floats.Sum(w), w)
		own := o.ofSample(k)
		own.FixedK, own.NoMoves, own.DoubleTo, own.Restarts = o.FixedK, o.NoMoves, o.DoubleTo, o.Restarts
		own.Prune, own.Seed = o.Prune, o.Seed
		sample, err := FitFrom(ctx, m, any(few).(Source[B]), start, own)
		if err != nil {
			return none, err
		}
		batches, err := batchesOf(ctx, src, o.Online)
		if err != nil {
			return none, err
		}
		batches.weight *= o.Temper
		own.K, own.NoMoves, own.DoubleTo, own.Restarts, own.Accelerate = sample.Shape.K, true, 0, 1, false
		own.Prune.Objective.Off, own.Tolerance, own.MaxIterations = true, math.SmallestNonzeroFloat64, batches.n
		pass, err := FitFrom(ctx, m, Source[B](batches), startAt[B](sample.Parameters), own)
		if err != nil {
			return none, err
		}
		return pass.Parameters, nil
	}
}

// batches are mini-batches of a source, one after another: one has the blocks i, i + n, i + 2n, … for some i, and those
// that follow one another lie apart, so that a few of them have rows of all of a sorted table.
type batches[B any] struct {
	Source[B]
	n, at  int     // how many there are, and the one at hand
	stride int     // from one to the next
	weight float64 // of all rows
}

// batches are those that the run goes through; nil: each of its iterations reads all rows.
func (r *run[B, P, S]) batches() *batches[B] {
	b, _ := r.condensed.(*batches[B])
	return b
}

// batchesOf divides a source into mini-batches of about so many rows.
func batchesOf[B any](ctx context.Context, src Source[B], rows int) (*batches[B], error) {
	b := &batches[B]{Source: src}
	found := 0
	for one, err := range any(src).(Source[blocks.Rows]).Blocks(ctx) {
		if err != nil {
			return nil, &sourceError{err}
		}
		if found++; one.Weights == nil {
			b.weight += float64(one.N)
		} else {
			b.weight += floats.Sum(one.Weights)
		}
	}
	b.n = max(1, min(found, src.Rows()/rows))
	b.stride = int(float64(b.n) / math.Phi)
	for b.stride = max(1, b.stride); gcd(b.stride, b.n) > 1; {
		b.stride++
	}
	return b, ctx.Err()
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Blocks yields those of the batch at hand.
func (b *batches[B]) Blocks(ctx context.Context) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		i := b.at * b.stride % b.n
		partOf(ctx, b.Source, span{i, i + 1, b.n})(yield)
	}
}

// average makes the sums of a mini-batch, and the entropy of its q, the running averages at the weight of all rows.
func (b *batches[B]) average(
	iteration int, batch optional.Scaler, weight, entropy, before float64, merge func(),
) float64 {
	gain, whole := math.Pow(float64(iteration), -onlineDecay), b.weight/weight
	if iteration == 1 {
		batch.Scale(whole)
		return whole * entropy
	}
	batch.Scale(gain / (1 - gain) * whole)
	merge()
	batch.Scale(1 - gain)
	return gain*whole*entropy + (1-gain)*before
}
