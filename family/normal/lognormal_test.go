package normal_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
)

// lognormalRows are 40 rows of two positive columns, with three missing values, and their logarithms.
func lognormalRows() (x, logs []float64) {
	rng := rand.New(rand.NewPCG(4, 2))
	for i := range 80 {
		v := math.Exp(3 + 0.5*rng.NormFloat64())
		if i == 7 || i == 20 || i == 41 {
			v = math.NaN()
		}
		x, logs = append(x, v), append(logs, math.Log(v))
	}
	return x, logs
}

// Pooled tables and starts are a Gaussian's of the logarithms, and log densities differ by the Jacobian.
func TestLognormalIsGaussianOnTheLogarithms(t *testing.T) {
	x, logs := lognormalRows()
	pool := func(x []float64, f family.Family) (*family.Pooled, *family.Plan) {
		table, err := blocks.FromIncomplete(x, 40, 2)
		require.NoError(t, err)
		w, p, err := family.Pool(context.Background(), table, f)
		require.NoError(t, err)
		return w, p
	}
	w, plan := pool(x, normal.Lognormal{Floor: family.NoFloor})
	w0, plan0 := pool(logs, normal.Family{Covariance: normal.Diagonal, Floor: family.NoFloor})
	require.Equal(t, w0, w)

	rows := func(x []float64) blocks.Rows {
		return blocks.Rows{N: 40, D: 2, Stride: 2, X: x, Weights: slices.Repeat([]float64{1}, 40)}
	}
	start, err := plan.Partition(rows(x), 3, family.KMeans, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	start0, err := plan0.Partition(rows(logs), 3, family.KMeans, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	require.Equal(t, start0, start)

	c := plan.Classes(1)
	require.NoError(t, c.Prepare(w.Parameters, nil, nil, []float64{0}))
	require.NoError(t, c.Observe(rows(x), 0, 40))
	scores := make([]float64, family.Padded(40))
	c.AddScores(scores)
	for i := range 40 {
		want := 0.0
		for j := range 2 {
			if v := x[2*i+j]; v == v {
				want += distuv.LogNormal{Mu: w.Parameters[j], Sigma: math.Sqrt(w.Parameters[2+j])}.LogProb(v)
			}
		}
		require.InDelta(t, want, scores[i]+c.BaseOf(i), 1e-12)
	}
}

func TestLognormalSamplesArePositive(t *testing.T) {
	plan, err := family.NewPlan(normal.Lognormal{}, 2)
	require.NoError(t, err)
	x, rng := make([]float64, 2), rand.New(rand.NewPCG(1, 2))
	for range 100 {
		require.NoError(t, plan.Sample([]float64{-700, 700, 400, 400}, rng, x))
		require.True(t, x[0] > 0 && x[1] > 0 && !math.IsInf(x[0]+x[1], 0), "%v", x)
	}
	require.NoError(t, plan.Sample([]float64{1, 2, 1e-30, 1e-30}, rng, x))
	require.InDelta(t, math.E, x[0], 1e-9)
	require.Equal(t, "log mean", plan.Numbers()[0].Name)
	require.Equal(t, "log variance", plan.Numbers()[2].Name)
}
