package experts_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/models/experts"
)

// TestKnownClassesConform behind a gate.
func TestKnownClassesConform(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	x := mat.NewDense(120, 4, nil)
	for i := range 120 {
		a, k, label := rng.NormFloat64(), 0.0, math.NaN()
		if a+rng.NormFloat64() > 0 {
			k = 1
		}
		if i%6 == 0 {
			label = k
		}
		x.SetRow(i, []float64{a, 2*k + rng.NormFloat64(), k + rng.NormFloat64(), label})
	}
	m := experts.Model{Family: known.Labelled(normal.Family{Covariance: normal.Diagonal}, 2), Gate: []int{0}}
	lvmtest.Test(t, conforming{
		Model: m, Data: lvmtest.Matrix(x), K: []int{2, 3}, Least: 2, NoAllocations: true,
		Symmetry: func(p *experts.Parameters, rng *rand.Rand) *experts.Parameters {
			q, err := m.Permute(p, rng.Perm(p.K()))
			if err != nil {
				panic(err)
			}
			return q
		},
	})
}
