package simd

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMatricesOfLanes: the factors of A = BBᵀ multiply to A, what is solved and inverted multiplies to what it came
// from, and a lane has the same bits alone.
func TestMatricesOfLanes(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(8, 8))
		for m := 1; m < 6; m++ {
			for side := 0; side <= 3*Lanes; side += Lanes {
				at := func(v []float64, a, b, l int) *float64 { return &v[(a*m+b)*side+l] }
				matrix, b := make([]float64, m*m*side), normals(rng, m*m*side, 1, 0)
				for a := range m {
					for c := range m {
						for l := range side {
							for e := range m {
								*at(matrix, a, c, l) += *at(b, a, e, l) * *at(b, c, e, l)
							}
						}
					}
					for l := range side {
						*at(matrix, a, a, l)++
					}
				}
				u, insideU := guarded(t, matrix, 3)
				inverse, insideInverse := guarded(t, make([]float64, m*side), 3)
				margin, insideMargin := guarded(t, make([]float64, side), 3)
				const share = 0.125
				Factorise(u, inverse, margin, m, side, share)
				for l := range side {
					least := 1.0
					for a := range m {
						least = min(least, *at(u, a, a, l)-share**at(matrix, a, a, l))
						require.InDelta(t, 1, *at(u, a, a, l)*inverse[a*side+l], 1e-15)
						for c := a; c < m; c++ {
							sum := 0.0
							for e := range a + 1 {
								ofA, ofC := 1.0, 1.0
								if e < a {
									ofA = *at(u, e, a, l)
								}
								if e < c {
									ofC = *at(u, e, c, l)
								}
								sum += ofA * *at(u, e, e, l) * ofC
							}
							require.InDelta(t, *at(matrix, a, c, l), sum, 1e-13)
						}
					}
					require.InDelta(t, least, margin[l], 1e-15)
				}
				right := normals(rng, m*side, 1, 0)
				n := max(0, side-Lanes)
				v, insideV := guarded(t, right, 3)
				Solve(v, u, inverse, m, side, n)
				for l := range side {
					for a := range m {
						sum := 0.0
						for c := range m {
							sum += *at(matrix, a, c, l) * v[c*side+l]
						}
						if l < n {
							require.InDelta(t, right[a*side+l], sum, 1e-12)
						} else {
							require.Equal(t, right[a*side+l], v[a*side+l])
						}
					}
				}
				factors := append([]float64(nil), u...)
				Invert(u, inverse, m, side)
				for l := range side {
					for a := range m {
						for c := range m {
							sum := 0.0
							for e := range m {
								sum += *at(matrix, a, e, l) * *at(u, max(e, c), min(e, c), l)
							}
							require.InDelta(t, boolToNumber(a == c), sum, 1e-12)
							if c > a {
								require.Equal(t, *at(factors, a, c, l), *at(u, a, c, l))
							}
						}
					}
				}
				insideU()
				insideInverse()
				insideMargin()
				insideV()
				if side > Lanes { // the second register's lanes alone
					alone := make([]float64, m*m*Lanes)
					for i := range m * m {
						copy(alone[i*Lanes:][:Lanes], matrix[i*side+Lanes:])
					}
					own, ownInverse := alone, make([]float64, m*Lanes)
					Factorise(own, ownInverse, make([]float64, Lanes), m, Lanes, share)
					Invert(own, ownInverse, m, Lanes)
					for i := range m * m {
						require.Equal(t, u[i*side+Lanes:][:Lanes], own[i*Lanes:][:Lanes])
					}
				}
			}
		}
	})
}

func boolToNumber(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// TestMarginsOfMatricesThatAreNone: a pivot that is 0, negative or NaN leaves no margin, wherever it is.
func TestMarginsOfMatricesThatAreNone(t *testing.T) {
	onEach(t, func(t *testing.T) {
		const m = 4
		for place := range m {
			for _, wrong := range []float64{0, -1, math.NaN()} {
				u := make([]float64, m*m*Lanes)
				for a := range m {
					for l := range Lanes {
						u[(a*m+a)*Lanes+l] = 2
					}
				}
				u[(place*m+place)*Lanes+3] = wrong
				margin := make([]float64, Lanes)
				Factorise(u, make([]float64, m*Lanes), margin, m, Lanes, 1e-6)
				for l, v := range margin {
					require.Equal(t, l != 3, v > 0, "lane %d, pivot %d of %v", l, place, wrong)
				}
			}
		}
	})
}
