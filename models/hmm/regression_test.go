package hmm_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/hmm"
)

// A regression that switches between two lines, or two curves of counts, with regressors far from 0.
func TestStatesMayBeRegressions(t *testing.T) {
	for _, f := range []regress.Family{{}, {Response: regress.Counts}} {
		rng := rand.New(rand.NewPCG(11, 3))
		var x []float64
		state := 0.
		for range 300 {
			if rng.Float64() < 0.05 {
				state = 1 - state
			}
			a := rng.NormFloat64()
			mean := 2 + (1-2*state)*a
			y := 1e6 + mean + 0.5*rng.NormFloat64()
			if f.Response == regress.Counts {
				y = distuv.Poisson{Lambda: 3 * (mean*mean + 1), Src: rng}.Rand()
			}
			x = append(x, y, 1e5+a)
		}
		table, err := blocks.FromSlice(x, 300, 2)
		require.NoError(t, err)
		src, err := blocks.NewSequences(table, nil)
		require.NoError(t, err)
		res, err := framework.Fit(context.Background(), hmm.Model{Family: f}, src, framework.Options{K: 5})
		require.NoError(t, err)
		assert.Equal(t, 2, res.Shape.K, f.Name())
	}
}
