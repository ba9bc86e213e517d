package clusters

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pointsOf are n rows of x, row-major, as points of weights.
func pointsOf(x, weights []float64, d int) *Points {
	c := New(weights, d, 64)
	c.Set(0, len(weights), x)
	return c
}

// agglomerate merges, of all pairs of clusters, those that raise the sum of squared distances from the centres of their
// rows least, until k are left, and returns the cluster of each row and what the mergers cost.
func agglomerate(x, weights []float64, d, k int) (label []int, heights []float64) {
	var clusters [][]int
	for i := range weights {
		clusters = append(clusters, []int{i})
	}
	inertia := func(rows []int) (sum float64) {
		mean, n := make([]float64, d), 0.0
		for _, i := range rows {
			n += weights[i]
			for j := range d {
				mean[j] += weights[i] * x[i*d+j]
			}
		}
		for _, i := range rows {
			for j := range d {
				sum += weights[i] * math.Pow(x[i*d+j]-mean[j]/n, 2)
			}
		}
		return sum
	}
	for len(clusters) > k {
		a, b, least := 0, 0, math.Inf(1)
		for i := range clusters {
			for j := range i {
				both := append(append([]int{}, clusters[i]...), clusters[j]...)
				if v := inertia(both) - inertia(clusters[i]) - inertia(clusters[j]); v < least {
					a, b, least = j, i, v
				}
			}
		}
		clusters[a] = append(clusters[a], clusters[b]...)
		clusters = append(clusters[:b], clusters[b+1:]...)
		heights = append(heights, least)
	}
	label = make([]int, len(weights))
	for c, rows := range clusters {
		for _, i := range rows {
			label[i] = c
		}
	}
	return label, heights
}

// sameClusters says that two labellings differ in the names of clusters alone.
func sameClusters(t *testing.T, want, got []int, of ...any) {
	t.Helper()
	name := map[int]int{}
	seen := map[int]bool{}
	for i, w := range want {
		if g, ok := name[w]; ok {
			require.Equal(t, g, got[i], of...)
			continue
		}
		require.False(t, seen[got[i]], of...)
		name[w], seen[got[i]] = got[i], true
	}
}

// TestWardIsItsDefinition: chains of nearest neighbours merge what the search of all pairs does, at every number of clusters.
func TestWardIsItsDefinition(t *testing.T) {
	for seed := range uint64(6) {
		rng := seeded(seed)
		n, d := 40, 1+int(seed)%3
		x, weights := normals(rng, n*d), ones(n)
		if seed%2 == 1 {
			for i := range weights {
				weights[i] = 0.1 + 3*rng.Float64()
			}
		}
		list := pointsOf(x, weights, d).ward()
		require.Len(t, list, n-1)
		for k := 1; k <= n; k += 3 {
			label, heights := agglomerate(x, weights, d, k)
			sameClusters(t, label, cut(list, n, k), seed, k)
			for i, h := range heights {
				assert.InDelta(t, h, list[i].height, 1e-9, fmt.Sprint(seed, k, i))
			}
		}
	}
}

// TestWardOfEqualPoints ends, and merges them first.
func TestWardOfEqualPoints(t *testing.T) {
	var x []float64
	for i := range 300 {
		x = append(x, float64(i%3))
	}
	label := cut(pointsOf(x, ones(300), 1).ward(), 300, 3)
	for i, j := range label {
		require.Equal(t, label[i%3], j)
	}
	assert.Equal(t, []int{0}, cut(nil, 1, 1))
}

// TestHierarchicalFindsClusters of more points than Ward's clustering takes, and leaves clusters of too few of them to
// k-means.
func TestHierarchicalFindsClusters(t *testing.T) {
	rng := seeded(3)
	const n, k = 5000, 5
	x, truth := make([]float64, 2*n), make([]int, n)
	for i := range n {
		truth[i] = i * k / n // in order, so that a sample of the first would not do
		x[2*i], x[2*i+1] = 20*float64(truth[i])+rng.NormFloat64(), rng.NormFloat64()
	}
	c := pointsOf(x, ones(n), 2)
	sameClusters(t, truth, c.Hierarchical(k, rng))
	assert.Len(t, c.Hierarchical(wardRows, rng), n)
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func normals(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }
