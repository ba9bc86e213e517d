package family

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVariedStarts: each kind stands among the first four, and further ones are those that differ by chance.
func TestVariedStarts(t *testing.T) {
	kinds := func(f Family) (list []Start) {
		p, err := NewPlan(f, 2)
		require.NoError(t, err)
		for i := range 8 {
			list = append(list, p.startOf(Varied, i))
		}
		return list
	}
	rows := RandomRows
	assert.Equal(t, []Start{KMeans, Hierarchical, Scaled, rows, Seeded, rows, Seeded, rows}, kinds(Exponential{}))
}

func TestKMeansLabelsFindSeparateClusters(t *testing.T) {
	rng := seeded(1)
	centres := [][]float64{{0, 0, 0}, {9, 0, 0}, {0, 9, 0}, {0, 0, -9}}
	const n = 600
	var x []float64
	for i := range n {
		for _, v := range centres[i%len(centres)] {
			x = append(x, v+rng.NormFloat64())
		}
	}
	label := KMeansLabels(x, n, 3, len(centres), rng)
	seen := map[int]bool{}
	for i, l := range label {
		require.Equal(t, label[i%len(centres)], l)
		seen[l] = true
	}
	require.Len(t, seen, len(centres))
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
