package linalg

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDeterminedColumnsAndFloors has columns of noise, one of which is a combination of those before it, and a floor
// that the covariance exceeds by a known factor: with G of independent columns, GᵀG + F is above tF for t below 1, and
// GᵀG of fewer rows than columns plus F is not for t above 1.
func TestDeterminedColumnsAndFloors(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, d := range []int{1, 2, 15, 16, 17, 31, 32, 33, 50, 100} {
		rows := 2*d + 1
		x := make([]float64, rows*d)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for _, fault := range []int{d / 2, d - 1} {
			if fault == 0 { // no columns before it
				continue
			}
			y, before := slices.Clone(x), 1+fault/2
			for i := range rows {
				y[i*d+fault] = 0
				for c := range before {
					y[i*d+fault] += float64(c+1) * y[i*d+c]
				}
			}
			cov := gramOf(rows, d, y)
			kept := slices.Clone(cov)
			column, ok := Undetermined(d, cov)
			require.False(t, ok, d)
			require.Equal(t, fault, column, d)
			require.Equal(t, kept, cov, "it is restored")
		}
		cov := gramOf(rows, d, x)
		_, ok := Undetermined(d, cov)
		require.True(t, ok, d)
		floor, few := make([]float64, d), gramOf(d-1, d, x)
		for a := range floor {
			floor[a] = 1 + rng.Float64()
			few[a*d+a] += floor[a]
		}
		kept := slices.Clone(few)
		require.True(t, Above(d, few, floor, 1-1e-9), d)
		require.False(t, Above(d, few, floor, 1+1e-9), d)
		require.True(t, Above(d, few, floor, -1), d)
		require.Equal(t, kept, few, "it is restored")
	}
}

// gramOf is XᵀX of some rows.
func gramOf(rows, d int, x []float64) []float64 {
	gram := make([]float64, d*d)
	MulSerial(true, false, 1, General(rows, d, x), General(rows, d, x), 0, General(d, d, gram))
	Mirror(d, gram)
	return gram
}
