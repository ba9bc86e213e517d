package factor

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/numeric"
)

func TestConforms(t *testing.T) {
	// Two times the twelve rows that stand for the pupils, and a little more of each column.
	rng := rand.New(rand.NewPCG(1, 1))
	all := marks().All()
	x := mat.NewDense(2*all.N, all.D, nil)
	for i := range 2 * all.N {
		for j, v := range all.Row(i % all.N) {
			x.Set(i, j, v+0.3*rng.NormFloat64())
		}
	}
	for name, m := range map[string]numeric.Continuous{"density": {Density: Density{}}, "closed forms": {Density: Closed{}}} {
		t.Run(name, func(t *testing.T) {
			c := lvmtest.Case[blocks.Rows, *numeric.ContinuousParameters, *numeric.Posteriors]{
				Model: m, Data: lvmtest.Matrix(x), K: []int{1}, Tolerance: 1e-7,
				Units: []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("columns", x, []float64{1000, 1, 0.1, 2, 1, 50})},
			}
			if _, closed := m.Density.(Closed); closed && !testing.Short() {
				c.K, c.Sample, c.SampleK, c.SampleRows = []int{1, 2}, sample, 1, 500
			} else if !closed && testing.Short() {
				t.Skip("takes seconds")
			}
			lvmtest.Test(t, c)
		})
	}
}

func sample(p *numeric.ContinuousParameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
	z := mat.NewDense(n, p.K, nil)
	z.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, z)
	var x mat.Dense
	x.Mul(z, mat.NewDense(p.K, p.D, p.Components))
	x.Apply(func(_, j int, v float64) float64 { return v + rng.NormFloat64()*math.Sqrt(p.Shared[j]) }, &x)
	return lvmtest.Matrix(&x), nil
}
