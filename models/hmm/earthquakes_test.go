package hmm_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/hmm"
)

// earthquakes are the numbers of earthquakes of magnitude 7 and more in each year from 1900 to 2006 (Zucchini &
// MacDonald, Hidden Markov Models for Time Series, 2009, table 1.1).
var earthquakes = []float64{
	13, 14, 8, 10, 16, 26, 32, 27, 18, 32, 36, 24, 22, 23, 22, 18, 25, 21, 21, 14,
	8, 11, 14, 23, 18, 17, 19, 20, 22, 19, 13, 26, 13, 14, 22, 24, 21, 22, 26, 21,
	23, 24, 27, 41, 31, 27, 35, 26, 28, 36, 39, 21, 17, 22, 17, 19, 15, 34, 10, 15,
	22, 18, 15, 20, 15, 22, 19, 16, 30, 27, 29, 23, 20, 16, 21, 21, 25, 16, 18, 15,
	18, 14, 10, 15, 8, 15, 6, 11, 8, 7, 18, 16, 13, 12, 13, 20, 15, 16, 12, 18,
	15, 16, 13, 15, 16, 11, 11,
}

func TestEarthquakes(t *testing.T) {
	src := sequencesOf(t, earthquakes)
	likelihood := []float64{391.9189, 341.8787, 328.5275, 326.8864}
	gfic := []float64{-394.2553, -349.7600, -344.2264}
	for k := 1; k <= 4; k++ {
		o := framework.Options{K: k, Method: framework.EM, Criterion: framework.AIC, Restarts: 12, Seed: 1}
		res, err := framework.Fit(context.Background(), hmm.Model{Family: family.Poisson{}}, src, o)
		require.NoError(t, err)
		assert.InDelta(t, -likelihood[k-1], res.Evaluation.LogLikelihood, 5e-5, "K = %d", k)
		if k > 3 {
			continue
		}
		o = framework.Options{Criterion: framework.GFIC, K: k, FixedK: true, Restarts: 6, Seed: 1}
		res, err = framework.Fit(context.Background(), hmm.Model{Family: family.Poisson{}}, src, o)
		require.NoError(t, err)
		assert.InDelta(t, gfic[k-1], res.Value, 5e-5, "K = %d", k)
	}
	assert.InDelta(t, -391.9189-math.Log(107)/2, gfic[0], 1e-4)
	for seed := range uint64(4) {
		res, err := framework.Fit(context.Background(), hmm.Model{Family: family.Poisson{}}, src, framework.Options{Criterion: framework.GFIC, K: 8, Restarts: 2, Seed: seed})
		require.NoError(t, err)
		assert.Equal(t, 3, res.Shape.K, "seed %d", seed)
		t.Log(res.Value, res.Iterations, res.Passes)
	}
}
