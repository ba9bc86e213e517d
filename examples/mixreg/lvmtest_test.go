package mixreg

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

func TestConforms(t *testing.T) {
	// Every second flower.
	all := flowers("Petal.Length", "Sepal.Length").All()
	x := mat.NewDense(75, 2, nil)
	for i := range 75 {
		x.SetRow(i, all.Row(2*i))
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			if testing.Short() && s.name != "WithSums" {
				t.Skip("takes seconds")
			}
			// The density is that of y: the units of x have no Jacobian.
			units := lvmtest.Rescaled("petals in mm, sepals in m", x, []float64{10, 0.01})
			units.LogDet = math.Log(10)
			lvmtest.Test(t, lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics]{
				Model: mixture.Model{Family: numeric.Family{Density: s.density}}, Data: lvmtest.Matrix(x), K: tier.Of([]int{2}, []int{2}, []int{1, 2}), Tolerance: 1e-7, Seed: 2,
				Units: []lvmtest.Units[blocks.Rows]{units},
			})
		})
	}
}
