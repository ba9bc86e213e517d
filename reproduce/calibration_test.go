package reproduce

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/tier"
)

// TestCalibrationProfilesDiffer: components of all truths differ in as many columns as they say.
func TestCalibrationProfilesDiffer(t *testing.T) {
	for i, c := range calibrationCells() {
		profiles := c.truth.profiles(c.k, rand.New(rand.NewPCG(uint64(i), 2))) // some of which leave no room for a fifth
		require.Len(t, profiles, c.k)
		for i, p := range profiles {
			for _, q := range profiles[:i] {
				differ := 0
				for m := range p {
					if p[m] != q[m] {
						differ++
					}
				}
				assert.GreaterOrEqual(t, differ, c.truth.apart, c.truth.name)
			}
		}
		table, err := c.draw(rand.New(rand.NewPCG(1, 2)))
		require.NoError(t, err)
		n := 0.0
		for i := range table.Rows() {
			n += table.All().Weight(i)
		}
		assert.InDelta(t, c.n, n, 0)
	}
}

// TestTallyRates: a method that was left out has no rate, and no part in the best.
func TestTallyRates(t *testing.T) {
	var of tally
	chosen := make([]int, calibrationMethods)
	chosen[calibrationGFIC], chosen[calibrationBIC] = 5, 3
	of.add(3, chosen)
	chosen[calibrationGFIC], chosen[calibrationBIC] = 3, 3
	of.add(3, chosen)
	assert.Equal(t, calibrationBIC, of.best())
	assert.InDelta(t, 0.5, of.rate(calibrationGFIC), 0)
	cells := of.cells()
	assert.Equal(t, "50 (1.0)", cells[calibrationGFIC])
	assert.Equal(t, "100 (0.0)", cells[calibrationBIC])
	assert.Equal(t, "–", cells[calibrationDNML])
}

// TestCalibrationRuns: in the quick size, too, CVB0 is near the exact evidence, and gives one K for House Votes.
func TestCalibrationRuns(t *testing.T) {
	tier.Leave(t, "TestCollapsedEvidenceIsNearTheExactSum and TestHouseVotesHaveOneAnswer of models/mixture")
	reports, err := Run(context.Background(), []*Experiment{calibration()}, Options{Out: t.TempDir(), Quick: true})
	require.NoError(t, err)
	for i, want := range map[int]bool{8: true, 10: true} {
		s := reports[0].Outcome.Statements[i]
		assert.Equal(t, want, s.Agrees, "%+v", s)
	}
}
