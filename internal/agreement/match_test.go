package agreement

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/combin"
)

// TestAssignmentCostsLeast against every permutation.
func TestAssignmentCostsLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 1; n <= 5; n++ {
		for range 20 {
			cost := make([][]float64, n)
			for i := range cost {
				for range n {
					cost[i] = append(cost[i], float64(rng.IntN(7))-3) // ties among them
				}
			}
			total := func(columns []int) (sum float64) {
				for i, j := range columns {
					sum += cost[i][j]
				}
				return sum
			}
			found := Assign(cost)
			require.ElementsMatch(t, combin.Permutations(n, n)[0], found)
			for _, other := range combin.Permutations(n, n) {
				require.LessOrEqual(t, total(found), total(other))
			}
		}
	}
}

// TestMatchesShareTheirRows: most in all, and at least half of one of both.
func TestMatchesShareTheirRows(t *testing.T) {
	for _, c := range []struct {
		table [][]float64
		want  []int
	}{
		{[][]float64{{9, 0}, {0, 9}}, []int{0, 1}},
		{[][]float64{{1, 9}, {9, 1}}, []int{1, 0}},
		{[][]float64{{9, 0, 0}, {0, 5, 4}}, []int{0, 1, -1}}, // one divided
		{[][]float64{{9}, {8}}, []int{0}},                    // two joined
		{[][]float64{{4, 3, 3}, {3, 4, 3}, {3, 3, 4}}, []int{-1, -1, -1}},
		{[][]float64{{5, 0}, {0, 0}}, []int{0, -1}}, // no rows
	} {
		require.Equal(t, c.want, Match(c.table), c.table)
	}
}
