package grouping_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/grouping"
	_ "github.com/latent-go/latent/internal/fixedseed"
)

// posteriors are n rows of k probabilities, some of them 0.
func posteriors(rng *rand.Rand, n, k int) []float64 {
	q := make([]float64, n*k)
	for i := range n {
		row, sum := q[i*k:(i+1)*k], 0.
		for j := range row {
			if rng.IntN(3) > 0 || j == k-1 && sum == 0 {
				row[j] = math.Exp(3 * rng.NormFloat64())
			}
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
	}
	return q
}

func overlapOf(q []float64, k int) *grouping.Overlap {
	var o grouping.Overlap
	for row := range slices.Chunk(q, k) {
		o.Add(row, 1)
	}
	return &o
}

// The overlap of groups is that of posteriors that are summed over their components, at every level of the hierarchy.
func TestOverlapsOfGroupsAreThoseOfTheirPosteriors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		k, n := rapid.IntRange(2, 7).Draw(t, "K"), 40
		q := posteriors(rng, n, k)
		tree, err := grouping.Join(overlapOf(q, k), nil)
		require.NoError(t, err)
		require.Len(t, tree.Joined, k-1)
		for _, j := range tree.Joined {
			var both, a, b float64
			for row := range slices.Chunk(q, k) {
				qa, qb := 0., 0.
				for _, c := range j.Groups[0] {
					qa += row[c]
				}
				for _, c := range j.Groups[1] {
					qb += row[c]
				}
				both, a, b = both+qa*qb, a+qa, b+qb
			}
			require.InDelta(t, both/min(a, b), j.Overlap, 1e-9)
			require.LessOrEqual(t, j.Overlap, 1+1e-12)
		}
	})
}

// Sums of parts of the rows are those of the whole, and a weight of 2 is a row twice.
func TestOverlapsAdd(t *testing.T) {
	q := posteriors(rand.New(rand.NewPCG(1, 1)), 30, 4)
	whole, first, rest := overlapOf(q, 4), overlapOf(q[:40], 4), overlapOf(q[40:], 4)
	first.Merge(rest)
	first.Merge(&grouping.Overlap{})
	var twice grouping.Overlap
	twice.Add(q[:4], 2)
	again := overlapOf(slices.Concat(q[:4], q[:4]), 4)
	for k := range 4 {
		require.InDelta(t, whole.Rows[k], first.Rows[k], 1e-12)
		require.Equal(t, whole.Assigned[k], first.Assigned[k])
		for l := range 4 {
			require.InDelta(t, whole.Both(k, l), first.Both(k, l), 1e-12)
			require.Equal(t, whole.Both(k, l), whole.Both(l, k))
			require.InDelta(t, again.Both(k, l), twice.Both(k, l), 1e-12)
		}
	}
}

func TestOneLevelOfTheHierarchyRefinesTheNext(t *testing.T) {
	q := posteriors(rand.New(rand.NewPCG(2, 1)), 50, 9)
	tree, err := grouping.Join(overlapOf(q, 9), nil)
	require.NoError(t, err)
	last, err := tree.Cut(9)
	require.NoError(t, err)
	for n := 8; n >= 1; n-- {
		groups, err := tree.Cut(n)
		require.NoError(t, err)
		require.Len(t, groups, n)
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, slices.Sorted(slices.Values(slices.Concat(groups...))))
		require.True(t, slices.IsSortedFunc(groups, func(a, b []int) int { return a[0] - b[0] }))
		for _, fine := range last {
			require.True(t, slices.ContainsFunc(groups, func(g []int) bool {
				return !slices.ContainsFunc(fine, func(c int) bool { return !slices.Contains(g, c) })
			}))
		}
		last = groups
	}
	for _, wrong := range []int{0, 10, -1} {
		_, err := tree.Cut(wrong)
		require.ErrorContains(t, err, "choose 1 to 9")
	}
}

// even is the overlap of three components of 100 rows: the first two share three in ten of theirs, the last two, too.
func even() *grouping.Overlap {
	var o grouping.Overlap
	for i := range 300 {
		q := make([]float64, 3)
		switch k := i / 100; {
		case i%100 >= 70 || k == 1 && i%100 >= 40:
			a := min(k, 1)
			if k == 1 && i%100 < 70 {
				a = 0
			}
			q[a], q[a+1] = 0.5, 0.5
		default:
			q[k] = 1
		}
		o.Add(q, 1)
	}
	return &o
}

func TestAGapKeepsGroupsApart(t *testing.T) {
	low := math.Log(0.2)
	for _, c := range []struct {
		terrain  grouping.Terrain
		proposed int
		groups   [][]int
	}{
		{grouping.Terrain{0, 0, 0, 0, 0, low, 0, low, 0}, 2, [][]int{{0, 1}, {2}}},
		{grouping.Terrain{0, low, 0, low, 0, 0, 0, 0, 0}, 2, [][]int{{0}, {1, 2}}},
		{grouping.Terrain{0, low, low, low, 0, low, low, low, 0}, 3, [][]int{{0}, {1}, {2}}},
	} {
		tree, err := grouping.Join(even(), c.terrain)
		require.NoError(t, err)
		require.Equal(t, c.proposed, tree.Proposed())
		groups, err := tree.Cut(c.proposed)
		require.NoError(t, err)
		require.Equal(t, c.groups, groups)
	}
}

// A small bump between two large classes belongs to one of them; it does not join the two.
func TestABridgeDoesNotJoinTwoPeaks(t *testing.T) {
	var o grouping.Overlap
	for i := range 1000 {
		q := []float64{0, 0, 0}
		switch {
		case i%10 == 0:
			q[0], q[1] = 0.5, 0.5
		case i%10 == 1:
			q[1], q[2] = 0.5, 0.5
		case i%10 < 6:
			q[0] = 1
		default:
			q[2] = 1
		}
		o.Add(q, 1)
	}
	bump := math.Log(0.01) // the density there, of that at the peaks; it does not fall towards either
	tree, err := grouping.Join(&o, grouping.Terrain{0, bump, math.Inf(-1), bump, bump, bump, math.Inf(-1), bump, 0})
	require.NoError(t, err)
	require.Equal(t, 2, tree.Proposed())
	require.Equal(t, 1., tree.Joined[0].Ridge)
	require.InDelta(t, 0.01, tree.Joined[1].Ridge, 1e-12)
}

func TestPosteriorsOfGroups(t *testing.T) {
	q := []float64{0.5, 0.25, 0.25, 0, 0, 1}
	got := grouping.Pool(nil, q, 3, [][]int{{0, 2}, {1}})
	require.Equal(t, []float64{0.75, 0.25, 1, 0}, got)
	require.Equal(t, 0., testing.AllocsPerRun(10, func() { grouping.Pool(got, q, 3, [][]int{{0, 2}, {1}}) }))
}

func TestTreesAtTheirEdges(t *testing.T) {
	none, err := grouping.Join(&grouping.Overlap{}, nil)
	require.NoError(t, err)
	require.Equal(t, 0, none.Proposed())
	one, err := grouping.Join(overlapOf([]float64{1, 1}, 1), nil)
	require.NoError(t, err)
	require.Equal(t, 1, one.Proposed())
	groups, err := one.Cut(1)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0}}, groups)
	two, err := grouping.Join(overlapOf([]float64{0.5, 0.5}, 2), nil)
	require.NoError(t, err)
	require.Equal(t, 2, two.Proposed(), "never below two")
	empty, err := grouping.Join(overlapOf([]float64{0.5, 0.5, 0, 1, 0, 0}, 3), grouping.Terrain(make([]float64, 9)))
	require.NoError(t, err)
	require.Equal(t, [2][]int{{0, 1}, {2}}, empty.Joined[1].Groups, "a component without rows comes last")
	require.Zero(t, empty.Joined[1].Overlap)
	_, err = grouping.Join(overlapOf([]float64{1, 0}, 2), grouping.Terrain{0})
	require.ErrorContains(t, err, "the terrain has 1 numbers for 2 components")
	_, err = grouping.Join(overlapOf(make([]float64, grouping.MostComponents+1), grouping.MostComponents+1), nil)
	require.ErrorContains(t, err, "at most 1000")
}

// The sums have the same bits for any number of workers, with weights and rows of weight 0.
func TestOverDoesNotDependOnWorkers(t *testing.T) {
	const n, k = 5000, 3
	x := posteriors(rand.New(rand.NewPCG(4, 4)), n, k)
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = float64(i % 3)
	}
	src, err := blocks.FromSlice(x, n, k)
	require.NoError(t, err)
	src, err = src.WithWeights(weights)
	require.NoError(t, err)
	same := func() (grouping.Scorer, error) {
		return func(b blocks.Rows, _, _ []float64) ([]float64, []float64, error) { return nil, b.X[:b.N*b.D], nil }, nil
	}
	one, err := grouping.Over(context.Background(), src, 1, same)
	require.NoError(t, err)
	three, err := grouping.Over(context.Background(), src, 3, same)
	require.NoError(t, err)
	require.Equal(t, one.Rows, three.Rows)
	var by grouping.Overlap
	for i, w := range weights {
		by.Add(x[i*k:(i+1)*k], w)
	}
	for a := range k {
		require.InEpsilon(t, by.Rows[a], one.Rows[a], 1e-12)
		for b := range k {
			require.Equal(t, one.Both(a, b), three.Both(a, b))
			require.InEpsilon(t, by.Both(a, b), one.Both(a, b), 1e-12)
		}
	}
}
