package irt

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/internal/tier"
)

func TestConforms(t *testing.T) {
	tier.Leave(t, "TestLoadingsAreThoseOfOtherPrograms; examples/factor, of a model whose points are exact")
	lvmtest.Test(t, lvmtest.Case[blocks.Rows, *numeric.ContinuousParameters, *numeric.Posteriors]{
		Model:     numeric.Continuous{Density: Density{}},
		Data:      lvmtest.Matrix(mat.NewDense(60, 8, one.answers(t, 60).All().X)),
		K:         []int{1}, // of two abilities falls are those of the rule
		Tolerance: 1e-5,
		Free: func(_ *numeric.Posteriors, p *numeric.ContinuousParameters) (
			[]float64, func([]float64) *numeric.ContinuousParameters) {
			return slices.Concat(p.Components, p.Shared), func(x []float64) *numeric.ContinuousParameters {
				n := len(p.Components)
				return &numeric.ContinuousParameters{K: p.K, D: p.D, Components: slices.Clone(x[:n]),
					Shared: slices.Clone(x[n:]), Pooled: p.Pooled}
			}
		},
	})
}
