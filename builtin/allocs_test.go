//go:build !race

package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Mixtures and regressions by estimates allocate nothing for a row. Under the race detector, pools drop what they have at random.
func TestScoringAllocatesNothing(t *testing.T) {
	for _, name := range []string{"gaussian", "noise", "mixed", "regression"} {
		m, cells, _ := saved(t, models[name].fit, models[name].table)
		row, dst := make([]float64, len(m.Columns())), make([]float64, m.Model.Layout().Width())
		if name != "regression" {
			require.NoError(t, m.Encode(row, cells[0]))
		}
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if m.Score(row, dst) != nil {
				panic(name)
			}
			if _, err := m.LogProb(row); err != nil {
				panic(name)
			}
		}), name)
	}
}
