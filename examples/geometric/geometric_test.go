package geometric

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/examples/zip"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

// draw makes rows of the mixture.
func draw(p *Parameters, n int, rng *rand.Rand) *mat.Dense {
	x := mat.NewDense(n, 1, nil)
	x.Apply(func(_, _ int, _ float64) float64 {
		k, u := 0, rng.Float64()
		for k < len(p.Weights)-1 && u >= p.Weights[k] {
			u -= p.Weights[k]
			k++
		}
		return math.Floor(-rng.ExpFloat64() / math.Log1p(-p.P[k]))
	}, x)
	return x
}

func TestModel(t *testing.T) {
	truth := &Parameters{Weights: []float64{0.5, 0.5}, P: []float64{0.6, 0.03}}
	lvmtest.Test(t, lvmtest.Case[blocks.Rows, *Parameters, *Statistics]{
		Model: Model{},
		Data:  lvmtest.Matrix(draw(truth, 100, rand.New(rand.NewPCG(1, 1)))),
		K:     []int{1, 2},
		Sample: func(p *Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
			return lvmtest.Matrix(draw(p, n, rng)), nil
		},
		SampleK:       2,
		NoAllocations: true,
	})
}

// TestTwinsAgree: the log density alone and the model written by hand.
func TestTwinsAgree(t *testing.T) {
	articles, err := zip.Articles()
	require.NoError(t, err)
	for _, o := range []framework.Options{{K: 1, Criterion: framework.GFIC}, {K: 2, Method: framework.EM}, {K: 6, Criterion: framework.GFIC}} {
		o.Tolerance = 1e-12
		a, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: Density{}}}, articles, o)
		require.NoError(t, err)
		b, err := framework.Fit(context.Background(), Model{}, articles, o)
		require.NoError(t, err)
		assert.Equal(t, a.Shape.K, b.Shape.K)
		assert.InDelta(t, b.Value, a.Value, 1e-6)
	}
}

func Example() {
	articles, _ := zip.Articles()
	res, err := framework.Fit(context.Background(), Model{}, articles, framework.Options{K: 6, Also: []framework.Criterion{framework.BICEM}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("K = %d, gFIC %.2f, p %.3f\n", res.Shape.K, res.Value, res.Parameters.P)
	// Output: K = 1, gFIC -1628.83, p [0.371]
}
