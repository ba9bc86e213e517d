package bernmix_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/models/bernmix"
)

// TestModelPosteriorMinimisesTheJointFreeEnergy is eq. 4.7: with the posteriors of each
// model fixed, Σ_m q(m)[F̄(m) + ln q(m) − ln p(m)] is least at q̃, where it is
// −ln Σ_m p(m) exp(−F̄(m)).
func TestModelPosteriorMinimisesTheJointFreeEnergy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "models")
		draw := func(name string) []float64 {
			return rapid.SliceOfN(rapid.Float64Range(-8, 8), n, n).Draw(t, name)
		}
		free, prior, other := draw("free energy"), draw("log prior"), draw("another q")
		floats.AddConst(-floats.LogSumExp(prior), prior)
		q, err := bernmix.ModelPosterior(free, prior)
		require.NoError(t, err)
		require.InDelta(t, 1, floats.Sum(q), 1e-14)

		joint := func(q []float64) float64 {
			sum := 0.0
			for i, v := range q {
				sum += v * (free[i] + math.Log(v) - prior[i])
			}
			return sum
		}
		evidence := 0.0
		for i := range free {
			evidence += math.Exp(prior[i] - free[i])
		}
		require.InDelta(t, -math.Log(evidence), joint(q), 1e-10)
		norm := floats.LogSumExp(other)
		for i := range other {
			other[i] = math.Exp(other[i] - norm)
		}
		require.GreaterOrEqual(t, joint(other), joint(q)-1e-10)

		// Only differences count.
		shifted := append([]float64(nil), free...)
		floats.AddConst(12345, shifted)
		again, err := bernmix.ModelPosterior(shifted, prior)
		require.NoError(t, err)
		require.InDeltaSlice(t, q, again, 1e-10)
	})
}

func TestModelPosteriorOfLargeFreeEnergies(t *testing.T) {
	q, err := bernmix.ModelPosterior([]float64{1e6, 1e6 + math.Log(3), math.Inf(1), 1e300}, nil)
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{0.75, 0.25, 0, 0}, q, 1e-9)
	q, err = bernmix.ModelPosterior([]float64{-1e6, -1e6}, []float64{math.Inf(-1), -3})
	require.NoError(t, err)
	assert.Equal(t, []float64{0, 1}, q)
}

// TestModelPosteriorOrdersModelsByFreeEnergy: a nat is a factor e; eq. 4.8 as printed,
// −p(m) times the free energy, would not even be positive.
func TestModelPosteriorOrdersModelsByFreeEnergy(t *testing.T) {
	q, err := bernmix.ModelPosterior([]float64{102, 100, 101}, nil)
	require.NoError(t, err)
	assert.InDelta(t, math.E, q[1]/q[2], 1e-12)
	assert.InDelta(t, math.E, q[2]/q[0], 1e-12)
}

func TestModelPosteriorRefuses(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		free, prior []float64
		says        string
	}{
		{nil, nil, "no models"},
		{[]float64{1}, []float64{}, "1 values, but 0 log priors"},
		{[]float64{1, 2}, []float64{0}, "2 values, but 1 log priors"},
		{[]float64{1, math.NaN()}, nil, "model 2 has the value NaN"},
		{[]float64{1, -inf}, nil, "model 2 has the value +Inf and log prior 0: refit it, or leave it out (a value is minus a free energy)"},
		{[]float64{1}, []float64{math.NaN()}, "model 1"},
		{[]float64{1}, []float64{inf}, "model 1"},
		{[]float64{inf}, []float64{inf}, "model 1"},
		{[]float64{-inf}, []float64{-inf}, "model 1"},
		{[]float64{-math.MaxFloat64}, []float64{math.MaxFloat64}, "model 1"},
		{[]float64{inf, inf}, nil, "the values or log priors of all models (2) are −Inf"},
		{[]float64{inf, 1}, []float64{0, -inf}, "the values or log priors of all models (2) are −Inf"},
	} {
		q, err := bernmix.ModelPosterior(c.free, c.prior)
		assert.ErrorContains(t, err, c.says)
		assert.Nil(t, q)
	}
}
