package family

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
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
		w, p, err := Pool(context.Background(), src, Gaussian{})
		require.NoError(t, err)
		_, wide := p.wide(n, k, KMeans)
		require.True(t, wide)
		rows := src.All()
		rows.Weights = ones(n)
		q, err := p.Partition(rows, k, KMeans, rng)
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

		c, counts, err := p.Begin(context.Background(), src, w, k, KMeans, rng)
		require.NoError(t, err)
		g := p.parts[0].Factor.(gaussian)
		for j := range k {
			assert.InDelta(t, n/k+d+1, counts[j], 1e-9)
			xi := make([]float64, d+d*d)
			require.NoError(t, g.Estimate(c.sums(j), c.anchor(j), w, xi))
		}
	}
}

// TestPoolWithinKeepsSumsAndScatter: counts, first moments and the sum of all second moments stay.
func TestPoolWithinKeepsSumsAndScatter(t *testing.T) {
	rng := seeded(7)
	const d, k, n = 4, 3, 30
	g, anchor := gaussian{d: d}, normals(rng, d)
	l := g.Layout()
	sums, total := Table{K: k, Stride: l.Sums}, make([]float64, l.Sums)
	for range k {
		one := sumsOf(t, g, normals(rng, n*d), ones(n), anchor)
		sums.Data = append(sums.Data, one...)
		for i, v := range one {
			total[i] += v
		}
	}
	g.poolWithin(sums)
	var first []float64
	for j := range k {
		xi := make([]float64, l.Params)
		require.NoError(t, g.Estimate(sums.Row(j, l.Sums), anchor, &Pooled{Parameters: append(make([]float64, d), covarianceOf(rng, d, 2)...)}, xi))
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
	_, p, err := Pool(context.Background(), tableOf(t, x, len(x)/d, d), Gaussian{})
	require.NoError(t, err)
	_, err = p.Partition(framework.Rows{N: len(x) / d, D: d, Stride: d, X: x, Weights: ones(len(x) / d)}, 3, KMeans, seeded(9))
	assert.ErrorContains(t, err, "3 components for 2 distinct rows")
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
