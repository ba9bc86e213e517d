package reproduce

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of three components the first two share nine rows in ten, the third is apart.
func TestRulesOfMergingByHand(t *testing.T) {
	var q []float64
	for range 20 {
		q = append(q, 0.6, 0.4, 0, 0.4, 0.6, 0, 0, 0, 1, 0, 0.001, 0.999)
	}
	require.Equal(t, [][]int{{0, 1}, {2}}, misclassified(q, 3))
	require.Len(t, misclassified(q, 3), 2, "never one")
	require.Equal(t, [][]int{{0, 1}, {2}}, byEntropy(q, 3), "the entropy falls by the first join alone")
	require.InDelta(t, 0, aboutLine([]float64{1, 3, 5, 7}), 1e-12)
	require.InDelta(t, 2./3, aboutLine([]float64{0, 1, 0}), 1e-12)
}

// A table of clear normal classes is found by every rule that does not join what is apart.
func TestGroupsOfClearClasses(t *testing.T) {
	list, err := groupCell{shape: 0, d: 2, n: 300, apart: 5}.indices(context.Background(), 3)
	require.NoError(t, err)
	require.Greater(t, list[0], 0.95)
	require.GreaterOrEqual(t, list[1], list[0])
}
