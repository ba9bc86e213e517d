package bootstrap

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
			found := assign(cost)
			require.ElementsMatch(t, combin.Permutations(n, n)[0], found)
			for _, other := range combin.Permutations(n, n) {
				require.LessOrEqual(t, total(found), total(other))
			}
		}
	}
}
