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

// everyRow is a model whose rows are not counted together.
type everyRow[P any] struct {
	framework.Model[blocks.Rows, P, *mixture.Statistics]
}

// A fit to rows that repeat is the one to every row by itself, from the same start: the same
// path to rounding, whatever the model is, with missing values and weights.
func TestRowsCountedOnceAreTheSameFit(t *testing.T) {
	const n, d = 3000, 5
	rng := rand.New(rand.NewPCG(1, 20))
	x, weights := make([]float64, n*d), make([]float64, n)
	for i := range n {
		low := rng.Float64() < 0.4
		for j := range d {
			switch u := rng.Float64(); {
			case u < 0.05:
				x[i*d+j] = math.NaN()
			case low == (u < 0.8):
				x[i*d+j] = 1
			}
		}
		weights[i] = float64(rng.IntN(3))
	}
	all, err := blocks.FromIncomplete(x, n, d)
	require.NoError(t, err)
	weighted, err := all.WithWeights(weights)
	require.NoError(t, err)
	for _, table := range []*blocks.Table{all, weighted} {
		condensed := mixture.Model{Family: family.Bernoulli{}}.Condense(context.Background(), table)
		require.Less(t, condensed.Rows(), n/4)
		for _, family := range []family.Family{family.Bernoulli{}, family.Product{family.Of{Family: family.Bernoulli{}, Width: 2}, family.Of{Family: family.Poisson{}, Width: 2}, family.Categorical{Levels: 2}}} {
			m := mixture.Model{Family: family}
			sameFit(t, m, everyRow[*mixture.Parameters]{m}, table, framework.EM)
			v := mixture.Variational{Family: family}
			sameFit(t, v, everyRow[*mixture.Posterior]{v}, table, framework.EM)
		}
	}
}

func sameFit[P any](t *testing.T, once, each framework.Model[blocks.Rows, P, *mixture.Statistics], src framework.Source[blocks.Rows], method framework.Method) {
	t.Helper()
	o := framework.Options{K: 3, Method: method, MaxIterations: 30, Tolerance: math.SmallestNonzeroFloat64, Restarts: 2, Seed: 3}
	o.Criterion = framework.ELBO
	a, err := framework.Fit(context.Background(), once, src, o)
	require.NoError(t, err)
	b, err := framework.Fit(context.Background(), each, src, o)
	require.NoError(t, err)
	require.Len(t, b.Trace, len(a.Trace))
	assert.NotEqual(t, a.Trace, b.Trace, "the rows were not counted together at all")
	assert.InDeltaSlice(t, b.Trace, a.Trace, 1e-9*math.Abs(b.Value))
	assert.InDelta(t, b.N, a.N, 1e-9)
	assert.InDeltaSlice(t, b.Statistics.Nk, a.Statistics.Nk, 1e-6*a.N)
}

// What varies without steps is not looked through, and neither is what has too many values.
func TestRowsThatDoNotRepeatStayAsTheyAre(t *testing.T) {
	ctx := context.Background()
	same, err := blocks.FromSlice(make([]float64, 100), 100, 1)
	require.NoError(t, err)
	for _, f := range []family.Family{normal.Family{}, family.Exponential{}, family.Product{family.Poisson{}, family.Gamma{}}, nil} {
		assert.Same(t, same, mixture.Model{Family: f}.Condense(ctx, same))
	}
	for n, rows := range map[int]int{50: 50, 49: 49} { // different rows of 100
		x := make([]float64, 100)
		for i := range x {
			x[i] = float64(i % n)
		}
		table, err := blocks.FromSlice(x, 100, 1)
		require.NoError(t, err)
		if got := (mixture.Model{Family: family.Poisson{}}).Condense(ctx, table); rows == 50 {
			assert.Same(t, table, got)
		} else {
			assert.Equal(t, rows, got.Rows())
		}
	}
}
