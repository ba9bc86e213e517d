package agreement

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// byPairs is the index from its definition over all pairs of rows.
func byPairs(a, b []int) float64 {
	var both, inA, inB, all float64
	for i := range a {
		for j := range i {
			sameA, sameB := a[i] == a[j], b[i] == b[j]
			all++
			if sameA {
				inA++
			}
			if sameB {
				inB++
			}
			if sameA && sameB {
				both++
			}
		}
	}
	expected := inA * inB / all
	return (both - expected) / ((inA+inB)/2 - expected)
}

func TestAdjustedRandCountsPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for range 50 {
		n := 10 + rng.IntN(40)
		a, b := make([]int, n), make([]int, n)
		for i := range a {
			a[i] = rng.IntN(3)
			if b[i] = rng.IntN(4); rng.IntN(2) == 0 {
				b[i] = a[i]
			}
		}
		got := AdjustedRand(CrossTable(a, b, nil, 3, 4))
		assert.InDelta(t, byPairs(a, b), got, 1e-12)
		assert.InDelta(t, got, AdjustedRand(CrossTable(b, a, nil, 4, 3)), 1e-12, "symmetric")
		assert.InDelta(t, 1, AdjustedRand(CrossTable(a, a, nil, 3, 3)), 1e-12)
	}
}

func TestAdjustedRandAtItsEdges(t *testing.T) {
	assert.True(t, math.IsNaN(AdjustedRand(nil)))
	assert.True(t, math.IsNaN(AdjustedRand([][]float64{{1}})))
	assert.EqualValues(t, 1, AdjustedRand([][]float64{{7}}), "one class each")
	assert.EqualValues(t, 1, AdjustedRand([][]float64{{1, 0}, {0, 1}}), "every row by itself")
	assert.EqualValues(t, 0, AdjustedRand([][]float64{{3, 4}}), "one class against two")
	// A weight of 2 is a row twice; rows without a label do not count.
	weighted := CrossTable([]int{0, 0, 1, 1, -1, 0}, []int{0, 1, 1, 1, 0, -1}, []float64{2, 1, 1, 2, 5, 5}, 2, 2)
	assert.Equal(t, [][]float64{{2, 1}, {0, 3}}, weighted)
	assert.InDelta(t, byPairs([]int{0, 0, 0, 1, 1, 1}, []int{0, 0, 1, 1, 1, 1}), AdjustedRand(weighted), 1e-12)
	assert.Panics(t, func() { CrossTable([]int{0}, nil, nil, 1, 1) })
}
