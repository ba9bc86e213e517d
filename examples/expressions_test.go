package examples

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/models/mixture"
)

// columns are n rows of d numbers, of which each but the first goes with the first.
func columns(t *testing.T, n, d int) *blocks.Table {
	rng := rand.New(rand.NewPCG(1, 28))
	var x []float64
	for range n {
		z := rng.NormFloat64()
		for range d {
			x = append(x, z+rng.NormFloat64())
		}
	}
	table, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	return table
}

// What docs/guides/factors.md shows.
func TestFactorsOfTheGuide(t *testing.T) {
	ctx, table := context.Background(), columns(t, 100, 6)
	rows := table.All()
	m, err := lineargaussian.Summarize(ctx, table, 0) // one pass over the rows
	require.NoError(t, err)
	all, err := factor.Solve(m, factor.Structure{}, 0) // every K
	require.NoError(t, err)
	k, _, err := all.Best(framework.GFIC)
	require.NoError(t, err)
	p, err := all.Parameters(k)
	require.NoError(t, err)
	rotated, err := factor.Oblimin(p.Standardized(), 0)
	require.NoError(t, err)
	scores, err := p.Transform(rows) // regression scores; p.Bartlett has the unbiased ones
	require.NoError(t, err)
	assert.Equal(t, 1, k)
	assert.NotNil(t, rotated)
	n, _ := scores.Dims()
	assert.Equal(t, 100, n)
}

// What docs/guides/service.md shows, of a model of four columns whose second is a level, and no 3.5.
func TestServiceOfTheGuide(t *testing.T) {
	text, err := os.ReadFile("../builtin/testdata/v3/mixed.json")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("model.json", text, 0o600))
	score := func() error {
		m, err := builtin.Load("model.json")
		if err != nil {
			return err
		}
		row := make([]float64, len(m.Columns()))
		if err := m.Encode(row, []string{"5.1", "3.5", "1.4", "0.2"}); err != nil { // texts in the order of m.Columns()
			return err
		}
		v, err := m.LogProb(row) // ln p(row) in nats
		t.Log(v)
		return err
	}
	assert.ErrorContains(t, score(), `"3.5" is none of its levels`)
}

// A density of the guides' shape: two columns together.
type pair struct{}

func (pair) Layout(int) numeric.Layout {
	return numeric.Layout{Columns: 2, Component: []numeric.Parameter{numeric.Real("mean", 2)}}
}

func (pair) LogProb(x, mean, _ []float64) float64 {
	return -((x[0]-mean[0])*(x[0]-mean[0]) + (x[1]-mean[1])*(x[1]-mean[1])) / 2
}

// The families and models that stand in the text of the guides fit tables of their columns.
func TestExpressionsOfTheGuides(t *testing.T) {
	ctx, o := context.Background(), framework.Options{K: 2, Method: framework.EM, MaxIterations: 20}
	m := mixture.Model{Family: family.Product{normal.Family{}, family.Of{Family: numeric.Family{Density: pair{}}, Width: 2}}}
	_, err := framework.Fit(ctx, m, columns(t, 60, 4), o)
	require.NoError(t, err)
	_, err = framework.Fit(ctx, experts.Model{Family: regress.Family{}, Gate: []int{1}, Columns: []int{0, 1}}, columns(t, 60, 2), o)
	require.NoError(t, err)
}
