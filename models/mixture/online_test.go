package mixture_test

import (
	"context"
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

// ofClasses is a table of n rows in three classes of unequal sizes.
func ofClasses(t *testing.T, n, d int, draw func(class int, rng *rand.Rand) float64) *blocks.Table {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, n*d)
	for i := range n {
		class := []int{0, 0, 0, 1, 1, 2}[rng.IntN(6)]
		for j := range d {
			x[i*d+j] = draw(class, rng)
		}
	}
	table, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	return table
}

// TestOnePassInMiniBatchesComesToTheMaximum, and to K, with the same bits each time and by any number of workers.
func TestOnePassInMiniBatchesComesToTheMaximum(t *testing.T) {
	n := tier.Of(80_000, 80_000, 150_000)
	for name, c := range map[string]struct {
		family family.Family
		d      int
		draw   func(class int, rng *rand.Rand) float64
	}{
		"gaussian": {normal.Family{}, 2, func(class int, rng *rand.Rand) float64 {
			return 2.5*float64(class) + (1+float64(class)/3)*rng.NormFloat64()
		}},
		"exponential": {family.Exponential{}, 3, func(class int, rng *rand.Rand) float64 {
			return []float64{1, 8, 60}[class] * rng.ExpFloat64()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m, rows := mixture.Model{Family: c.family}, ofClasses(t, n, c.d, c.draw)
			o := framework.Options{K: 6, Seed: 1, Online: 1 << 13}
			online, err := framework.Fit(t.Context(), m, rows, o)
			require.NoError(t, err)
			require.Equal(t, framework.OnePass, online.Status)
			require.Equal(t, 3, online.Shape.K)
			require.Equal(t, 1, online.Iterations)
			o.Workers = 3
			again, err := framework.Fit(t.Context(), m, rows, o)
			require.NoError(t, err)
			require.Equal(t, online.Parameters, again.Parameters)
			require.Equal(t, online.Value, again.Value)
			nearby := func(context.Context, framework.Source[blocks.Rows], int, *rand.Rand) (*mixture.Parameters, error) {
				return online.Parameters, nil
			}
			batch, err := framework.FitFrom(t.Context(), m, rows, nearby, framework.Options{K: 3, Seed: 1, Tolerance: 1e-7})
			require.NoError(t, err)
			require.Equal(t, 3, batch.Shape.K)
			far := (batch.Evaluation.LogLikelihood - online.Evaluation.LogLikelihood) / float64(n)
			t.Logf("%g nats a row below the maximum, %g; %d passes", far, batch.Evaluation.LogLikelihood/float64(n), batch.Passes)
			require.Less(t, far, 1e-4)
			require.Greater(t, far, -1e-6)
		})
	}
}
