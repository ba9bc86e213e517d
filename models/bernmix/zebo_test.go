package bernmix_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bernmix"
)

// TestZeboTables: paper K, tables 6.1 and 6.2, on 1750 users × 82 items (the paper counts 83
// items). The data may not be shipped: LATENT_DATA names a folder that holds zebo.csv.
func TestZeboTables(t *testing.T) {
	folder := os.Getenv("LATENT_DATA")
	path := filepath.Join(folder, "zebo.csv")
	if _, err := os.Stat(path); folder == "" || err != nil {
		t.Skip("set LATENT_DATA to a folder with zebo.csv")
	}
	table, err := data.Open(path)
	require.NoError(t, err)
	x, n, m, err := table.Matrix()
	require.NoError(t, err)
	require.Equal(t, 1750, n)
	require.Equal(t, 82, m)
	src := sparseRows(t, x, m).Distinct()

	categories := func(a, b float64, k int) (p *bernmix.Predictive, kept []int) {
		vb := bernmix.VB(a, b)
		res, err := framework.Fit(context.Background(), vb, src, framework.Options{K: k, Method: framework.EM, Restarts: 20, Tolerance: 1e-7})
		require.NoError(t, err)
		p, err = bernmix.Predict(vb, res.Parameters)
		require.NoError(t, err)
		for k := range p.K {
			if res.Parameters.Weights[k]-a > 0.5 {
				kept = append(kept, k)
			}
		}
		slices.SortFunc(kept, func(i, j int) int { return cmp.Compare(p.Weights[j], p.Weights[i]) })
		var text strings.Builder
		for _, k := range kept {
			fmt.Fprintf(&text, "\n%.5f:", p.Weights[k])
			items := make([]int, m)
			for j := range items {
				items[j] = j
			}
			row := p.Probabilities[k*m : (k+1)*m]
			slices.SortFunc(items, func(i, j int) int { return cmp.Compare(row[j], row[i]) })
			for _, j := range items[:8] {
				fmt.Fprintf(&text, "  %s %.5f", table.Names[j], row[j])
			}
		}
		t.Logf("a = %v, b = %v, K = %d: free energy %.3f, %d categories%s", a, b, k, -res.Value, len(kept), text.String())
		return p, kept
	}

	p, minorities := categories(1e-4, 1e-4, 13)
	assert.Greater(t, len(minorities), 6, "many clusters")
	small, edges := 0, 0
	for _, k := range minorities {
		if p.Weights[k] > 0.01 {
			continue
		}
		small++
		for _, v := range p.Probabilities[k*m : (k+1)*m] {
			if min(v, 1-v) < 0.01 {
				edges++
			}
		}
	}
	assert.Greater(t, small, 2, "small ones among them")
	assert.Greater(t, float64(edges), 0.8*float64(small*m), "with probabilities near 0 or 1")

	q, general := categories(1e-4, 1, 20)
	assert.LessOrEqual(t, len(general), 5, "a few general clusters")
	for _, k := range general {
		assert.Greater(t, q.Weights[k], 0.01)
	}
}
