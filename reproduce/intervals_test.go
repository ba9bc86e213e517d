package reproduce

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPosteriorsOfOneComponentAreCalibrated: q is the posterior, so that ranks are uniform and (truth − mean)/sd has
// mean square 1, by margins that a right posterior keeps in all but one of a thousand sets of tables; draws of half the
// spread are found out.
func TestPosteriorsOfOneComponentAreCalibrated(t *testing.T) {
	const n = 300
	u := newUniformity(n)
	for _, c := range posteriorCells()[:2] {
		require.Equal(t, 1, c.k)
		var runs []intervalRun
		for seed := range uint64(n) {
			run, err := c.run(context.Background(), seed)
			require.NoError(t, err)
			runs = append(runs, run)
		}
		p, covered, z := calibratedAs(runs, 0, u)
		t.Logf("%s: p = %.4f, covered %.3f, z %.3f", c.name, p, covered, z)
		assert.Greater(t, p, 0.001)
		assert.InDelta(t, 0.95, covered, 0.042)
		assert.InDelta(t, 1, z, 0.14)
		for i := range runs { // a posterior too narrow
			runs[i].Ranks = []int{min(posteriorDraws, max(0, posteriorDraws/2+2*(runs[i].Ranks[0]-posteriorDraws/2)))}
		}
		p, covered, _ = calibratedAs(runs, 0, u)
		assert.Less(t, p, 0.001)
		assert.Less(t, covered, 0.6)
	}
}

// TestUniformity: p is uniform itself, for ranks that are.
func TestUniformity(t *testing.T) {
	u, rng, below := newUniformity(100), rand.New(rand.NewPCG(7, 7)), 0
	ranks := make([]int, 100)
	for range 1000 {
		for i := range ranks {
			ranks[i] = rng.IntN(posteriorDraws + 1)
		}
		if u.p(ranks) <= 0.1 {
			below++
		}
	}
	assert.InDelta(t, 100, below, 30, "three standard deviations")
}

// TestErrorsOfClearComponents: of one table of clear components, those of complete data are near the bootstrap's.
func TestErrorsOfClearComponents(t *testing.T) {
	run, err := errorCell{5, 500}.run(context.Background(), 1)
	require.NoError(t, err)
	for i, v := range run.Complete {
		assert.InEpsilon(t, run.Resampled[i], v, 0.25, errorNumbers[i])
	}
	assert.Len(t, run.ResampledHolds, len(errorNumbers))
}
