package reproduce

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of five fits the entropy moves the choice, and leaves K = 1 to the evidence.
func TestRulesOfStructuresByHand(t *testing.T) {
	chosen := func(fits ...structureFit) (list []int) {
		for _, r := range structureRules[:compared] {
			list = append(list, r.choose(fits))
		}
		return list
	}
	chain := structureFit{K: 16, Evidence: -90, Entropy: 40, BIC: -80}
	clear := structureFit{K: 7, Evidence: -95, Entropy: 2, BIC: -99}
	full := structureFit{K: 4, Evidence: -120, BIC: -96}
	require.Equal(t, []int{2, 0, 1, 1, 0, 2}, chosen(chain, clear, full))
	two, single := structureFit{K: 2, Evidence: -90, Entropy: 30, BIC: -91}, structureFit{K: 1, Evidence: -100, BIC: -101}
	require.Equal(t, []int{1, 0, 1, 0, 0, 1}, chosen(two, single))
}

// The fits of a table of clear spheres are theirs.
func TestStructuresOfClearClasses(t *testing.T) {
	fits, err := groupCell{shape: 0, d: 2, n: 200, apart: 6, spheres: true}.structures(context.Background(), 1)
	require.NoError(t, err)
	require.Len(t, fits.Alone, len(structureForms))
	best := structureRules[byDefault].of(fits)
	require.Equal(t, fits.Alone[0], best)
	require.True(t, best.sameAs(structureRules[compared].of(fits)))
	require.Equal(t, 2, best.K)
	require.Greater(t, best.ComponentIndex, 0.95)
}
