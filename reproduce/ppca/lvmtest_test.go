package ppca

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
)

// TestConformance: sums over rows, memory, encoding and determinism.
func TestConformance(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	x := mat.NewDense(60, 4, nil)
	x.Apply(func(_, j int, _ float64) float64 { return rng.NormFloat64() * float64(j+1) }, x)
	for name, diagonal := range map[string]bool{"full": false, "diagonal": true} {
		t.Run(name, func(t *testing.T) {
			lvmtest.Test(t, lvmtest.Case[blocks.Rows, *Posterior, *Statistics]{
				Model: Model{Noise: 1, PriorVariance: 4, Diagonal: diagonal, Pairs: 8, Steps: 5}, Data: lvmtest.Matrix(x), K: []int{1, 2}, Stochastic: true, NoAllocations: true,
			})
		})
	}
}
