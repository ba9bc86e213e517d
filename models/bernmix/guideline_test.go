package bernmix_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/models/bernmix"
)

var goals = []bernmix.Goal{bernmix.Prediction, bernmix.GeneralTendency, bernmix.MinorityClusters}

func TestRecommendationsLieInsideNoRedundantForEveryM(t *testing.T) {
	sizes := []int{1 << 20, 1 << 40, math.MaxInt}
	for m := range 2000 {
		sizes = append(sizes, m+1)
	}
	for _, m := range sizes {
		for _, goal := range goals {
			r, err := bernmix.Recommend(goal, m)
			require.NoError(t, err)
			require.Equal(t, bernmix.NoRedundant, r.Phase)
			require.Less(t, r.A, r.MaxA)
			require.NotEmpty(t, r.Reason)
			phase, err := bernmix.Hyperparameters{A: r.A, B: r.B, M: m}.Phase()
			require.NoError(t, err)
			require.Equal(t, r.Phase, phase)
		}
	}
}

func TestRecommendationsAreThoseOfThePaper(t *testing.T) {
	for goal, want := range map[bernmix.Goal][2]float64{
		bernmix.Prediction:       {1e-4, 1},    // section 6.2.1: (small, 1)
		bernmix.GeneralTendency:  {1e-4, 1},    // Table 6.2
		bernmix.MinorityClusters: {1e-4, 1e-4}, // Table 6.1
	} {
		r, err := bernmix.Recommend(goal, 83)
		require.NoError(t, err)
		assert.Equal(t, want, [2]float64{r.A, r.B}, goal)
	}
}

// TestMaxABoundsNoRedundant: on either side of MaxA the redundant components empty or not,
// and the smaller b is, the smaller it is.
func TestMaxABoundsNoRedundant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHyperparameters(t)
		border := h.MaxA()
		for _, side := range []struct {
			a    float64
			none bool
		}{{border * (1 - 1e-9), true}, {border * (1 + 1e-9), false}, {h.A, h.A < border}} {
			phase, err := bernmix.Hyperparameters{A: side.a, B: h.B, M: h.M}.Phase()
			require.NoError(t, err)
			if phase != bernmix.Critical || side.a != h.A {
				require.Equal(t, side.none, phase == bernmix.NoRedundant, "a = %v, border %v", side.a, border)
			}
		}
		require.LessOrEqual(t, bernmix.Hyperparameters{B: h.B / 2, M: h.M}.MaxA(), border)
		if h.B <= 0.5 { // the corrected border b > a/M − 1/(2M)
			require.InDelta(t, h.B, border/float64(h.M)-1/(2*float64(h.M)), 1e-12)
		}
	})
}

func TestGoalsHaveNames(t *testing.T) {
	for _, goal := range goals {
		got, err := bernmix.GoalByName(goal.String())
		require.NoError(t, err)
		assert.Equal(t, goal, got)
	}
	got, err := bernmix.GoalByName("Minority-Clusters")
	require.NoError(t, err)
	assert.Equal(t, bernmix.MinorityClusters, got)
	_, err = bernmix.GoalByName("fun")
	assert.EqualError(t, err, `bernmix: unknown goal "fun": choose one of prediction, general-tendency, minority-clusters`)
	assert.Equal(t, "Goal(7)", bernmix.Goal(7).String())
	for _, m := range []int{0, -1, math.MinInt} {
		_, err = bernmix.Recommend(bernmix.Prediction, m)
		assert.ErrorContains(t, err, "at least 1")
	}
	_, err = bernmix.Recommend(bernmix.Goal(7), 3)
	assert.ErrorContains(t, err, "Goal(7)")
}
