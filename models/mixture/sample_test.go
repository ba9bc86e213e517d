package mixture_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

// TestAFitToASampleStartsAFit: all rows have the last word, in fewer passes, with the same bits for any number of workers and over an
// interruption.
func TestAFitToASampleStartsAFit(t *testing.T) {
	n, d, k := tier.Of(20_000, 20_000, 40_000), tier.Of(6, 6, 10), tier.Of(4, 4, 5)
	rng := rand.New(rand.NewPCG(1, 1))
	centers := make([]float64, k*d)
	for i := range centers {
		centers[i] = 1.5 * rng.NormFloat64()
	}
	x, weights := make([]float64, 0, n*d), make([]float64, n)
	for i := range n {
		weights[i] = float64(1 + i%2)
		z := rng.IntN(k)
		for _, c := range centers[z*d : (z+1)*d] {
			x = append(x, c+rng.NormFloat64())
		}
	}
	table, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	table, err = table.WithWeights(weights)
	require.NoError(t, err)
	ctx, m := context.Background(), mixture.Model{Family: normal.Family{}, Start: family.RandomResponsibilities}
	for _, method := range []framework.Method{framework.EM, framework.GFAB} {
		o := framework.Options{K: k, Method: method, NoMoves: true, FixedK: true, MaxIterations: 150}
		type outcome struct {
			value  float64
			passes int
		}
		var fits [2][]outcome // without and with a sample, of several seeds
		best := math.Inf(-1)
		for i := range fits {
			o.Sample = tier.Of(1500, 1500, 2500) * i
			for o.Seed = range 3 {
				res, err := framework.Fit(ctx, m, table, o)
				require.NoError(t, err)
				fits[i], best = append(fits[i], outcome{res.Value, res.Passes}), max(best, res.Value)
			}
		}
		alike := func(one outcome) bool { return one.value > best-1e-8*math.Abs(best) }
		compared := 0
		for seed, without := range fits[0] { // from a seed, either may come to a lower maximum
			if with := fits[1][seed]; alike(without) && alike(with) {
				require.Less(t, 4*with.passes, 3*without.passes, "%v", method)
				compared++
			}
		}
		require.Positive(t, compared)

		o.MaxIterations, o.Seed = 0, 0
		with, err := framework.Fit(ctx, m, table, o)
		require.NoError(t, err)
		o.Workers = 1
		again, err := framework.Fit(ctx, m, table, o)
		require.NoError(t, err)
		require.Equal(t, with.Trace, again.Trace)
		o.MaxIterations = 2
		part, err := framework.Fit(ctx, m, table, o)
		require.NoError(t, err)
		o.MaxIterations = 0
		o.Resume, err = part.Checkpoint()
		require.NoError(t, err)
		again, err = framework.Fit(ctx, m, table, o)
		require.NoError(t, err)
		require.Equal(t, with.Trace, again.Trace)
		o.Sample = 3000
		_, err = framework.Fit(ctx, m, table, o)
		require.ErrorContains(t, err, "Sample")
	}

	// A sample of a component's few rows may be none of them: the fit then begins where it would without.
	_, err = framework.Fit(ctx, m, table, framework.Options{K: 2, Sample: 5, Method: framework.EM})
	require.NoError(t, err)
	_, err = framework.Fit(ctx, m, table, framework.Options{K: 2, Sample: -1})
	require.ErrorContains(t, err, "sample -1")
}
