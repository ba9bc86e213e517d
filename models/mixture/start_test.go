package mixture_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// A sparse table starts as the dense one does, also where it has more rows than a start looks
// at and some take the place of others.
func TestSparseRowsStartAsDenseOnesDo(t *testing.T) {
	const n, d, k = 20000, 6, 3
	rng := rand.New(rand.NewPCG(1, 21))
	x, ones := make([]float64, n*d), make([][]int, n)
	for i := range n {
		for j := range d {
			if rng.Float64() < 0.2+0.6*float64(i%2) {
				x[i*d+j] = 1
				ones[i] = append(ones[i], j)
			}
		}
	}
	dense, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	sparse, err := blocks.FromOnes(ones, d)
	require.NoError(t, err)
	for _, start := range []family.Start{family.KMeans, family.RandomRows, family.RandomResponsibilities} {
		m := mixture.Model{Family: family.Bernoulli{}, Start: start}
		want, err := m.Init(context.Background(), dense, k, rand.New(rand.NewPCG(1, 22)))
		require.NoError(t, err)
		got, err := m.Init(context.Background(), sparse, k, rand.New(rand.NewPCG(1, 22)))
		require.NoError(t, err)
		assert.InDeltaSlice(t, want.Weights, got.Weights, 1e-9)
		assert.InDeltaSlice(t, want.Components, got.Components, 1e-9)
	}
}

// TestStartsAreAsGoodAsKMeans: ten of the default ones end where mclust does on iris (−180.1855), and never below ten of k-means alone.
func TestStartsAreAsGoodAsKMeans(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns int
		most    int
		least   float64 // of the largest K
	}{{"iris", 4, 3, -180.1856}, {"faithful", 2, 3, math.Inf(-1)}} {
		src := embedded(t, c.name, c.columns)
		for k := 2; k <= c.most; k++ {
			for seed := range uint64(2) {
				o := framework.Options{K: k, FixedK: true, Method: framework.EM, Restarts: 10, Tolerance: 1e-9, Seed: seed + 1}
				got := fit(t, mixture.Model{Family: normal.Family{}}, src, o).Evaluation.LogLikelihood
				means := fit(t, mixture.Model{Family: normal.Family{}, Start: family.KMeans}, src, o).Evaluation.LogLikelihood
				assert.GreaterOrEqual(t, got, means-1e-4, "%s, K = %d", c.name, k)
				if k == c.most {
					assert.GreaterOrEqual(t, got, c.least, c.name)
				}
			}
		}
	}
}

// TestStartsKeepToAnyOrderOfTheRows: each begins at the same place, of tables that it looks at whole and in part, and a fit whose starts
// end at different maxima has the same K and value.
func TestStartsKeepToAnyOrderOfTheRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 23))
	drawn := make([]float64, 2*10000)
	for i := range drawn {
		drawn[i] = math.Round(100*(rng.NormFloat64()+float64(3*(i/2%4)))) / 100
	}
	for _, table := range []*blocks.Table{columnsOf(t, "geyser"), columnsOf(t, "crabs", "class"), source(t, drawn, 10000, 2)} {
		all := table.All()
		x := make([]float64, 0, len(all.X))
		for _, i := range rng.Perm(all.N) {
			x = append(x, all.Row(i)...)
		}
		other := source(t, x, all.N, all.D)
		for start := family.KMeans; start <= family.Seeded; start++ {
			m := mixture.Model{Family: normal.Family{}, Start: start}
			a, err := m.Init(context.Background(), table, 4, rand.New(rand.NewPCG(1, 24)))
			require.NoError(t, err)
			b, err := m.Init(context.Background(), other, 4, rand.New(rand.NewPCG(1, 24)))
			require.NoError(t, err)
			assert.InDeltaSlice(t, a.Weights, b.Weights, 1e-9, start)
			assert.InEpsilonSlice(t, a.Components, b.Components, 1e-6, start)
		}
		if all.N > 1000 {
			continue
		}
		o := framework.Options{K: 8, Restarts: 5}
		a, err := framework.Fit(context.Background(), mixture.Model{Family: normal.Family{}}, table, o)
		require.NoError(t, err)
		b, err := framework.Fit(context.Background(), mixture.Model{Family: normal.Family{}}, other, o)
		require.NoError(t, err)
		assert.Equal(t, a.Shape.K, b.Shape.K)
		assert.InEpsilon(t, a.Value, b.Value, 1e-7)
	}
}

// TestStartsThatHaveLostAreGivenUp: twelve clusters on a grid, from at most 3 components, then 6, 12, 24.
func TestStartsThatHaveLostAreGivenUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, 600*2)
	for i := range x {
		group := i / 2 % 12
		x[i] = rng.NormFloat64() + 20*float64([2]int{group % 4, group / 4}[i%2])
	}
	src, err := blocks.FromSlice(x, 600, 2)
	require.NoError(t, err)
	m := mixture.Model{Family: normal.Family{}}
	o := framework.Options{K: 3, DoubleTo: 24, Restarts: 6, Workers: 1, NoMoves: true}
	res := fit(t, m, src, o)
	starts, lost := map[int]int{}, 0
	for _, r := range res.Restarts {
		starts[r.From]++
		if r.Status == framework.GivenUp {
			lost++
			require.Less(t, r.Value, res.Value-10)
		}
	}
	require.Equal(t, 12, res.Shape.K)
	require.Positive(t, lost)
	require.Equal(t, 2, starts[3], "no start from 3 comes to the best")
	require.Equal(t, 6, starts[24])
	saved, err := res.Checkpoint()
	require.NoError(t, err)
	o.Resume = saved
	require.Equal(t, res.Restarts, fit(t, m, src, o).Restarts)
}
