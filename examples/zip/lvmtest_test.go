package zip

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

func TestConforms(t *testing.T) {
	// Every ninth student.
	var x []float64
	n := 0
	for count, students := range articles {
		for range int(students) {
			if n++; n%9 == 0 {
				x = append(x, float64(count))
			}
		}
	}
	for name, m := range map[string]numeric.Family{"density": {Density: Density{}}, "closed forms": {Density: Closed{}}} {
		t.Run(name, func(t *testing.T) {
			c := lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics]{
				Model: mixture.Model{Family: m}, Data: lvmtest.Matrix(mat.NewDense(len(x), 1, x)), K: tier.Of([]int{2}, []int{2}, []int{1, 2}), Tolerance: 1e-7,
				Symmetry: func(p *mixture.Parameters, rng *rand.Rand) *mixture.Parameters {
					q := &mixture.Parameters{K: p.K, D: p.D, Pooled: p.Pooled}
					for _, k := range rng.Perm(p.K) {
						q.Weights = append(q.Weights, p.Weights[k])
						q.Components = append(q.Components, p.Component(k)...)
					}
					return q
				},
			}
			if _, closed := m.Density.(Closed); closed && !testing.Short() {
				c.Sample = sample
			} else if !closed && testing.Short() {
				t.Skip("takes seconds")
			}
			lvmtest.Test(t, c)
		})
	}
}

func sample(p *mixture.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
	x := mat.NewDense(n, 1, nil)
	component := distuv.NewCategorical(p.Weights, rng)
	for i := range n {
		k := int(component.Rand())
		if rng.Float64() >= p.Component(k)[1] {
			x.Set(i, 0, distuv.Poisson{Lambda: p.Component(k)[0], Src: rng}.Rand())
		}
	}
	return lvmtest.Matrix(x), nil
}
