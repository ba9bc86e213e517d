package normal

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// TestWideStartsFindClearClusters though there are fewer rows than columns·K, in directions that whitening would hide, with
// one covariance for all classes.
func TestWideStartsFindClearClusters(t *testing.T) {
	const d, k, n = 30, 6, 600
	for seed := range uint64(5) {
		rng := seeded(seed)
		means, x := normals(rng, k*d), make([]float64, n*d)
		for i := range n {
			for j := range d {
				x[i*d+j] = 3*means[i%k*d+j] + rng.NormFloat64()
			}
		}
		src := tableOf(t, x, n, d)
		w, p, draw, err := family.PoolAndDraw(context.Background(), src, Family{}, rng)
		require.NoError(t, err)
		require.True(t, gaussian{d: d}.Pools(n, k))
		rows := src.All()
		rows.Weights = ones(n)
		q, err := p.Partition(rows, k, family.KMeans, rng)
		require.NoError(t, err)
		seen := map[string]bool{}
		for i := range n {
			for j := range k {
				if q[i*k+j] > 0 {
					seen[fmt.Sprint(i%k, j)] = true
				}
			}
		}
		assert.Len(t, seen, k, seed) // each class has one cluster

		c, counts, err := p.Begin(context.Background(), src, w, k, family.KMeans, draw, rng)
		require.NoError(t, err)
		g := gaussian{d: d, floor: 1}
		for j := range k {
			assert.InDelta(t, n/k+d+1, counts[j], 1e-9)
			xi := make([]float64, d+d*d)
			require.NoError(t, g.Estimate(linalg.Row(c.Sums, j, g.Layout().Sums), linalg.Row(c.Anchor, j, d), w, xi))
		}
	}
}

// TestPoolWithinKeepsSumsAndScatter: counts, first moments and the sum of all second moments stay.
func TestPoolWithinKeepsSumsAndScatter(t *testing.T) {
	rng := seeded(7)
	const d, k, n = 4, 3, 30
	g, anchor := gaussian{d: d}, normals(rng, d)
	l := g.Layout()
	sums, total := family.Table{K: k, Stride: l.Sums}, make([]float64, l.Sums)
	for range k {
		one := sumsOf(t, g, normals(rng, n*d), ones(n), anchor)
		sums.Data = append(sums.Data, one...)
		for i, v := range one {
			total[i] += v
		}
	}
	g.PoolWithin(sums)
	var first []float64
	for j := range k {
		xi := make([]float64, l.Params)
		require.NoError(t, g.Estimate(sums.Row(j, l.Sums), anchor, &family.Pooled{Parameters: append(make([]float64, d), covarianceOf(rng, d, 2)...)}, xi))
		if j == 0 {
			first = xi[d:]
		}
		allClose(t, first, xi[d:], 1e-12)
		for i, v := range sums.Row(j, l.Sums) {
			total[i] -= v
		}
	}
	for i, v := range total {
		if i < 1+d || (i-1-d)/d <= (i-1-d)%d { // the upper triangle
			assert.InDelta(t, 0, v, 1e-9)
		}
	}
}

// TestWideStartsWantDifferentRows, as all others.
func TestWideStartsWantDifferentRows(t *testing.T) {
	const d = 20
	x := normals(seeded(8), 2*d)
	for range 4 {
		x = append(x, x[:2*d]...)
	}
	_, p, err := family.Pool(context.Background(), tableOf(t, x, len(x)/d, d), Family{})
	require.NoError(t, err)
	_, err = p.Partition(blocks.Rows{N: len(x) / d, D: d, Stride: d, X: x, Weights: ones(len(x) / d)}, 3, family.KMeans, seeded(9))
	assert.ErrorContains(t, err, "3 components for 2 distinct rows")
}

// TestWhitenedStartsDoNotDependOnDirections: rows whose columns are mixed linearly are in the same classes.
func TestWhitenedStartsDoNotDependOnDirections(t *testing.T) {
	rng := seeded(5)
	const n, d, k = 300, 3, 4
	x, mixed := normals(rng, n*d), make([]float64, n*d)
	mix := []float64{1, 5, 0, 0, 1e-3, 2, 0, 0, 40}
	for i := range n {
		for a := range d {
			mixed[i*d+a] = 7
			for b := range d {
				mixed[i*d+a] += mix[a*d+b] * x[i*d+b]
			}
		}
	}
	classes := func(x []float64, start family.Start) (label []int) {
		src := tableOf(t, x, n, d)
		_, p, err := family.Pool(t.Context(), src, Family{})
		require.NoError(t, err)
		rows := src.All()
		rows.Weights = ones(n)
		q, err := p.Partition(rows, k, start, seeded(1))
		require.NoError(t, err)
		for i := range n {
			for j := range k {
				if q[i*k+j] > 0 {
					label = append(label, j)
				}
			}
		}
		return label
	}
	for _, start := range []family.Start{family.KMeans, family.Seeded} {
		assert.Equal(t, classes(x, start), classes(mixed, start), start)
	}
}
