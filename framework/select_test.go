package framework_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/sizes"
	_ "github.com/latent-go/latent/internal/fixedseed"
)

type selection = framework.Selection[*beliefs, *measured]

// TestBestUnderAPriorIsTheLargestSum, by exhaustion, over tables with ties, gaps and sizes ruled out.
func TestBestUnderAPriorIsTheLargestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "sizes")
		few := rapid.SampledFrom([]float64{math.NaN(), math.Inf(-1), -3, -2, -2, -1, 0})
		s := &selection{K: rapid.Permutation([]int{1, 2, 3, 4, 5, 6, 7}).Draw(t, "K")[:n]}
		logPrior := map[int]float64{}
		for _, k := range s.K {
			s.Values = append(s.Values, []float64{0, few.Draw(t, "value")})
			logPrior[k] = rapid.SampledFrom([]float64{math.Inf(-1), -2, -1, 0, 1}).Draw(t, "log prior")
		}
		prior := func(k int) float64 { return logPrior[k] }
		best := s.BestUnder(1, prior)
		q, err := s.SizePosterior(1, prior)
		sum := func(i int) float64 { return s.Values[i][1] + logPrior[s.K[i]] }
		usable := func(i int) bool { return sum(i) > math.Inf(-1) } // and not NaN
		if best < 0 {
			for i := range s.K {
				require.False(t, usable(i))
			}
			require.ErrorContains(t, err, "are −Inf")
			return
		}
		require.True(t, usable(best))
		require.NoError(t, err)
		require.InDelta(t, 1, floats.Sum(q), 1e-14)
		for i := range s.K {
			if !usable(i) {
				require.Zero(t, q[i])
				continue
			}
			require.LessOrEqual(t, sum(i), sum(best))
			if sum(i) == sum(best) {
				require.LessOrEqual(t, s.K[best], s.K[i], "the smaller K wins a tie")
			}
			require.InDelta(t, sum(i)-sum(best), math.Log(q[i]/q[best]), 1e-12)
		}
	})
}

func TestBestIsBestUnderAUniformPrior(t *testing.T) {
	s := &selection{K: []int{4, 2, 3, 1}, Values: [][]float64{{-7.5}, {-8}, {-7}, {math.NaN()}}}
	assert.Equal(t, 2, s.Best(0))
	assert.Equal(t, 2, s.BestUnder(0, sizes.Uniform))
	assert.Equal(t, 2, s.BestUnder(0, func(int) float64 { return 1e3 }), "constants do not count")
	// K = 2 has −8 − 2 ln 2 = −9.39, K = 3 −7 − 3 ln 2 = −9.08, K = 4 −7.5 − 4 ln 2 = −10.27.
	assert.Equal(t, 2, s.BestUnder(0, sizes.Geometric))
	s.Values[2][0] = -7.5 // −9.58
	assert.Equal(t, 1, s.BestUnder(0, sizes.Geometric))
	assert.Equal(t, 2, s.Best(0), "a tie with K = 4")
	assert.Equal(t, -1, s.BestUnder(0, func(int) float64 { return math.Inf(-1) }))
	empty := &selection{K: []int{1}, Values: [][]float64{{math.NaN()}}}
	assert.Equal(t, -1, empty.Best(0))
	_, err := empty.SizePosterior(0, sizes.Uniform)
	assert.ErrorContains(t, err, "are −Inf")
}

func TestPriorsThatAreNoneAreMisuse(t *testing.T) {
	s := &selection{K: []int{1, 2}, Values: [][]float64{{-1}, {math.NaN()}}}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		at := func(k int) sizes.Prior {
			return func(have int) float64 {
				if have == k {
					return bad
				}
				return 0
			}
		}
		assert.PanicsWithValue(t, fmt.Sprintf("framework: the log prior of K = 1 is %v", bad), func() { s.BestUnder(0, at(1)) })
		assert.Panics(t, func() { _, _ = s.SizePosterior(0, at(1)) })
		assert.Zero(t, s.BestUnder(0, at(2)), "nobody asks about a size without a value")
	}
}

func ExampleSelection_BestUnder() {
	sel, err := framework.Select(background, vague{}, table(mixed(60, 1)), []int{1, 2, 3, 4, 5},
		framework.Options{Method: framework.EM, Restarts: 10, Temper: 0.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := sel.SizePosterior(0, sizes.Geometric)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("K =", sel.K[sel.BestUnder(0, sizes.Geometric)])
	for i, k := range sel.K {
		fmt.Printf("K = %d: %.2f\n", k, q[i])
	}
	// Output:
	// K = 3
	// K = 1: 0.00
	// K = 2: 0.00
	// K = 3: 0.95
	// K = 4: 0.04
	// K = 5: 0.00
}
