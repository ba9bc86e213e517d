package experts_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/experts"
)

type conforming = lvmtest.Case[blocks.Rows, *experts.Parameters, *experts.Statistics]

// moved are parameters with other gates but the last, which keeps the sum, and other components.
func moved(p *experts.Parameters, gate, components []float64) *experts.Parameters {
	q := *p
	mix := *p.Mixture
	mix.Components, q.Mixture = components, &mix
	n := len(p.Gate) / p.K()
	q.Gate = slices.Clone(p.Gate)
	last := q.Gate[len(q.Gate)-n:]
	for i, g := range gate {
		last[i%n] -= g - q.Gate[i]
		q.Gate[i] = g
	}
	return &q
}

// free are the gates of all classes but the last, and numbers of the components that move makes others of.
func free(move func(components, x []float64) []float64, each int) lvmtest.Coordinates[*experts.Parameters, *experts.Statistics] {
	return func(_ *experts.Statistics, p *experts.Parameters) ([]float64, func([]float64) *experts.Parameters) {
		gates := len(p.Gate) - len(p.Gate)/p.K()
		x := append(slices.Clone(p.Gate[:gates]), make([]float64, each*p.K())...)
		return x, func(x []float64) *experts.Parameters {
			return moved(p, x[:gates], move(p.Mixture.Components, x[gates:]))
		}
	}
}

func latent(move func(components, x []float64) []float64, each int) lvmtest.Coordinates[*experts.Parameters, *experts.Statistics] {
	return func(_ *experts.Statistics, p *experts.Parameters) ([]float64, func([]float64) *experts.Parameters) {
		return make([]float64, each*p.K()), func(x []float64) *experts.Parameters {
			return moved(p, nil, move(p.Mixture.Components, x))
		}
	}
}

func TestModelConforms(t *testing.T) {
	answers := survey(150, 1)
	rng := rand.New(rand.NewPCG(3, 1))
	heights := mat.NewDense(120, 4, nil) // two Gaussian columns between those of the gate
	for i := range 120 {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		k := 0.0
		if a+rng.NormFloat64() > 0 {
			k = 1
		}
		heights.SetRow(i, []float64{a, 5*k + rng.NormFloat64(), 3*k*b + rng.NormFloat64(), b})
	}
	questions := mat.DenseCopyOf(answers.Slice(0, 150, 0, 6))
	diagonal := normal.Family{Covariance: normal.Diagonal}
	bernoulli := family.Bernoulli{}
	for _, c := range []struct {
		name  string
		model experts.Model
		x     *mat.Dense
		scale []float64
		each  int
		move  func(components, x []float64) []float64
	}{
		{"bernoulli", experts.Model{Family: bernoulli, Gate: []int{0, 1}}, questions, []float64{1000, 0.01, 1, 1, 1, 1}, 4, func(components, x []float64) []float64 {
			to := slices.Clone(components)
			for i := range to {
				bernoulli.Move(components[i:i+1], x[i:i+1], to[i:i+1])
			}
			return to
		}},
		{"gaussian", experts.Model{Family: diagonal, Gate: []int{3, 0}}, heights, []float64{10, 1, 1, 0.01}, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := conforming{
				Model: c.model, Data: lvmtest.Matrix(c.x), K: tier.Sizes(), NoAllocations: true,
				Units: []lvmtest.Units[blocks.Rows]{{Name: "the gate in other units", Data: lvmtest.Rescaled("", c.x, c.scale).Data}},
				Symmetry: func(p *experts.Parameters, rng *rand.Rand) *experts.Parameters {
					q, err := c.model.Permute(p, rng.Perm(p.K()))
					if err != nil {
						panic(err)
					}
					return q
				},
				// No row belongs to the first class, and the bound knows nothing of it.
				Degenerate: func(s *experts.Statistics, p *experts.Parameters) (*experts.Statistics, *experts.Parameters, float64) {
					s.Mixture.Nk[0], s.Level[0] = 0, 0
					clear(s.Mixture.Classes.Sums[:len(s.Mixture.Classes.Sums)/p.K()])
					clear(s.Slope[:len(s.Slope)/p.K()])
					clear(p.Gate[:len(p.Gate)/p.K()])
					return s, p, 0
				},
				Sample: func(p *experts.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
					rows, d := c.x.Dims()
					at := mat.NewDense(n, d, nil)
					for i := range n {
						at.SetRow(i, c.x.RawRowView(rng.IntN(rows)))
					}
					src, err := blocks.FromMatrix(at)
					if err != nil {
						return lvmtest.Data[blocks.Rows]{}, err
					}
					x, _, err := c.model.Sample(src.All(), p, rng)
					return lvmtest.Matrix(mat.NewDense(n, d, x)), err
				},
				SampleRows: 1000, SampleK: 2,
			}
			if c.move != nil {
				of.Free, of.Latent = free(c.move, c.each), latent(c.move, c.each)
			}
			lvmtest.Test(t, of)
		})
	}
}
