package framework_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
)

// TestPoissonMixtureConforms: the model that the engine is tested with is right itself.
func TestPoissonMixtureConforms(t *testing.T) {
	lvmtest.Test(t, lvmtest.Case[blocks.Rows, *rates, *counts]{
		Model: poisson{},
		Data:  lvmtest.Matrix(mat.NewDense(90, 1, mixed(90, 1))),
		K:     []int{1, 2, 3},
		Latent: func(_ *counts, p *rates) ([]float64, func([]float64) *rates) {
			var x []float64
			for _, rate := range p.Rates {
				x = append(x, math.Sqrt(rate))
			}
			return x, func(x []float64) *rates {
				q := &rates{Weights: p.Weights}
				for _, root := range x {
					q.Rates = append(q.Rates, root*root)
				}
				return q
			}
		},
	})
}
