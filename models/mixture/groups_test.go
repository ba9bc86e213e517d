package mixture_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/models/mixture"
)

// spheres is a mixture of normal components of equal weight in two columns, each with one variance.
func spheres(means []float64, variances ...float64) *mixture.Parameters {
	k := len(variances)
	p := &mixture.Parameters{K: k, D: 2, Weights: slices.Repeat([]float64{1 / float64(k)}, k)}
	for i, v := range variances {
		p.Components = append(p.Components, means[2*i], means[2*i+1], v, 0, 0, v)
	}
	return p
}

// overlapOf has the posteriors of rows drawn from the mixture.
func overlapOf(t *testing.T, m mixture.Model, p *mixture.Parameters) *grouping.Overlap {
	x, _, err := m.Sample(p, 4000, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, err)
	src, err := blocks.FromSlice(x, 4000, p.D)
	require.NoError(t, err)
	o, err := grouping.Over(context.Background(), src, 1, func() (grouping.Scorer, error) { return m.Scorer(p) })
	require.NoError(t, err)
	return o
}

// Two spheres of equal size: by symmetry the pass is half way, where both have the density exp(−d²/8)/2π.
func TestThePassOfTwoSpheresIsHalfWay(t *testing.T) {
	m := mixture.Model{Family: normal.Family{}}
	p := spheres([]float64{0, 0, 3, 0}, 1, 1)
	terrain, err := m.Terrain(p, overlapOf(t, m, p))
	require.NoError(t, err)
	require.InDelta(t, -9./8-math.Log(2*math.Pi), terrain[1], 1e-12)
	require.Equal(t, terrain[1], terrain[2])
	peak := math.Log((1+math.Exp(-4.5))/2) - math.Log(2*math.Pi)
	require.InDelta(t, peak, terrain[0], 1e-12)
	require.InDelta(t, peak, terrain[3], 1e-12)
}

// On the ridge line both gradients are in line, with opposite directions: at its lowest point the gradient of the
// mixture along the plane is 0 (Ray & Lindsay 2005, theorem 1). The pass found among 65 points is held to a search over
// the plane for the saddle itself.
func TestThePassIsTheSaddleOfTheDensity(t *testing.T) {
	m := mixture.Model{Family: normal.Family{}}
	p := &mixture.Parameters{K: 2, D: 2, Weights: []float64{0.4, 0.6},
		Components: []float64{0, 0, 1, 0.5, 0.5, 0.8, 3.5, 1, 0.6, -0.2, -0.2, 2}}
	terrain, err := m.Terrain(p, overlapOf(t, m, p))
	require.NoError(t, err)
	d, err := m.Distribution(p, nil)
	require.NoError(t, err)
	x := saddle(d.LogProb, 2, 0.5)
	require.InDelta(t, d.LogProb(x), terrain[1], 2e-3)
	require.Less(t, terrain[1], min(terrain[0], terrain[3])-0.3)
	require.GreaterOrEqual(t, terrain[1], d.LogProb(x)-1e-9, "the pass is the lowest point of the way over the saddle")
}

// saddle makes Newton's steps for the gradient by differences.
func saddle(f func(x []float64) float64, at ...float64) []float64 {
	x, h := slices.Clone(at), 1e-4
	g := func(x []float64, i int) float64 {
		a, b := slices.Clone(x), slices.Clone(x)
		a[i], b[i] = a[i]+h, b[i]-h
		return (f(a) - f(b)) / (2 * h)
	}
	for range 50 {
		var grad [2]float64
		var hess [2][2]float64
		for i := range 2 {
			grad[i] = g(x, i)
			for j := range 2 {
				a, b := slices.Clone(x), slices.Clone(x)
				a[j], b[j] = a[j]+h, b[j]-h
				hess[i][j] = (g(a, i) - g(b, i)) / (2 * h)
			}
		}
		det := hess[0][0]*hess[1][1] - hess[0][1]*hess[1][0]
		x[0] -= (hess[1][1]*grad[0] - hess[0][1]*grad[1]) / det
		x[1] -= (hess[0][0]*grad[1] - hess[1][0]*grad[0]) / det
	}
	return x
}

// A wide component around a narrow one shares its mode, and a third one is apart.
func TestAComponentAroundAnotherIsOneGroup(t *testing.T) {
	m := mixture.Model{Family: normal.Family{}}
	p := spheres([]float64{0, 0, 1, 0, 30, 0}, 1, 9, 1)
	x, _, err := m.Sample(p, 2000, rand.New(rand.NewPCG(3, 4)))
	require.NoError(t, err)
	src, err := blocks.FromSlice(x, 2000, 2)
	require.NoError(t, err)
	tree, err := m.Groups(context.Background(), src, p, 1)
	require.NoError(t, err)
	require.Equal(t, 2, tree.Proposed())
	groups, err := tree.Cut(2)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1}, {2}}, groups)
	require.Equal(t, 1., tree.Joined[0].Ridge)
	again, err := m.Groups(context.Background(), src, p, 3)
	require.NoError(t, err)
	require.Equal(t, tree, again, "the bits do not depend on the workers")
}

// Units of the columns change nothing: the terrain moves by their Jacobian, and the hierarchy stays.
func TestGroupsDoNotDependOnUnits(t *testing.T) {
	m := mixture.Model{Family: normal.Family{}}
	p := spheres([]float64{0, 0, 2, 1, 4, -1, 9, 9}, 1, 2, 0.5, 1)
	o := overlapOf(t, m, p)
	before, err := m.Terrain(p, o)
	require.NoError(t, err)
	const scale = 1e6
	for i := range p.K {
		xi := p.Component(i)
		xi[0], xi[2], xi[3], xi[4] = xi[0]*scale, xi[2]*scale*scale, xi[3]*scale, xi[4]*scale
	}
	after, err := m.Terrain(p, o)
	require.NoError(t, err)
	for i := range before {
		if !math.IsInf(before[i], -1) {
			require.InDelta(t, before[i]-math.Log(scale), after[i], 1e-9)
		}
	}
}

// Independent columns have the ridge line of full covariances that are diagonal.
func TestWaysOfDiagonalCovariances(t *testing.T) {
	diagonal := mixture.Model{Family: normal.Family{Covariance: normal.Diagonal}}
	p := &mixture.Parameters{K: 2, D: 2, Weights: []float64{0.5, 0.5}, Components: []float64{0, 0, 1, 100, 2, 30, 0.25, 400}}
	full := &mixture.Parameters{K: 2, D: 2, Weights: p.Weights,
		Components: []float64{0, 0, 1, 0, 0, 100, 2, 30, 0.25, 0, 0, 400}}
	o := overlapOf(t, diagonal, p)
	got, err := diagonal.Terrain(p, o)
	require.NoError(t, err)
	want, err := mixture.Model{Family: normal.Family{}}.Terrain(full, o)
	require.NoError(t, err)
	require.InDeltaSlice(t, want, got, 1e-9)
	require.Less(t, got[1], min(got[0], got[3]))
}

// Every family with location and scatter has a terrain, and the others have none.
func TestFamiliesWithATerrain(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	const n, d = 120, 2
	x := make([]float64, n*d)
	for i := range x {
		x[i] = rng.NormFloat64() + float64(4*(i/d%3))
	}
	src, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	low, high := normal.Ranges(x, d)
	for name, of := range map[string]family.Family{
		"spherical": normal.Family{Covariance: normal.Spherical}, "diagonal": normal.Family{Covariance: normal.Diagonal},
		"tied": normal.Family{Covariance: normal.Tied}, "VVE": normal.Family{Covariance: normal.VVE},
		"EVI": normal.Family{Covariance: normal.EVI}, "student": normal.StudentT{Nu: 1},
		"noise": normal.Noise{Family: normal.Family{}, Low: low, High: high}, "analysers": normal.FactorAnalysers{Factors: 1},
		"columns": family.Product{normal.Family{Covariance: normal.Diagonal}, normal.Family{Covariance: normal.Diagonal}},
	} {
		m := mixture.Model{Family: of}
		r, err := framework.Fit(context.Background(), m, src, framework.Options{K: 3, FixedK: true, Workers: 1, Seed: 1,
			Method: framework.EM})
		require.NoError(t, err, name)
		tree, err := m.Groups(context.Background(), src, r.Parameters, 1)
		require.NoError(t, err, name)
		for _, j := range tree.Joined {
			require.False(t, math.IsNaN(j.Ridge), name)
			require.True(t, j.Ridge >= 0 && j.Ridge <= 1 && j.Overlap >= 0 && j.Overlap <= 1, name)
		}
	}
	for i, v := range x {
		x[i] = math.Exp(v / 4)
	}
	m := mixture.Model{Family: normal.Lognormal{}}
	r, err := framework.Fit(context.Background(), m, src, framework.Options{K: 3, FixedK: true, Workers: 1, Seed: 1,
		Method: framework.EM})
	require.NoError(t, err)
	tree, err := m.Groups(context.Background(), src, r.Parameters, 1)
	require.NoError(t, err)
	require.True(t, math.IsNaN(tree.Joined[0].Ridge))
}
