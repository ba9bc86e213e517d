package numeric_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

type discrete = lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics]

// tolerance is what numeric steps need beside closed forms.
const tolerance = 1e-7

func TestDiscreteConforms(t *testing.T) {
	t.Run("poisson", func(t *testing.T) {
		x := mat.NewDense(150, 1, counts(150, 1, 11))
		x.Apply(func(_, _ int, v float64) float64 { return math.Floor(v / 2) }, x) // components that overlap
		lvmtest.Test(t, discrete{
			Model: mixture.Model{Family: numeric.Family{Density: poisson{}}}, Data: lvmtest.Matrix(x), K: []int{1, 3},
			Free: free(math.Log, math.Exp), Symmetry: relabelled, Degenerate: emptied, Tolerance: tolerance,
			// 2√λ.
			Latent: latent(func(_ *mixture.Parameters, _ int, v float64) float64 { return 2 * math.Sqrt(v) },
				func(_ *mixture.Parameters, _ int, v float64) float64 { return v * v / 4 }),
		})
	})
	t.Run("diagonal", func(t *testing.T) {
		tier.Leave(t, "the same of rates, TestTwinsOfMixtureFamilies, and the densities of examples")
		x := mat.NewDense(80, 2, clouds(80, 11))
		lvmtest.Test(t, discrete{
			Model: mixture.Model{Family: numeric.Family{Density: diagonal{}}}, Data: lvmtest.Matrix(x), K: []int{1, 2},
			Free: free(func(v float64) float64 { return v }, func(v float64) float64 { return v }), Symmetry: relabelled, Degenerate: emptied, Tolerance: tolerance,
			Units: []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("columns times 1000 and 0.01", x, []float64{1000, 0.01})},
			// Means and variances in units of the table's.
			Latent: latent(func(p *mixture.Parameters, i int, v float64) float64 { return v / unit(p, i) },
				func(p *mixture.Parameters, i int, v float64) float64 { return v * unit(p, i) }),
		})
	})
}

// unit of number i of a component of a diagonal Gaussian on two columns.
func unit(p *mixture.Parameters, i int) float64 {
	v := p.Pooled.Parameters[2+i%2]
	if i < 2 {
		return math.Sqrt(v)
	}
	return v
}

// with has other numbers.
func with(p *mixture.Parameters, weights, components []float64) *mixture.Parameters {
	return &mixture.Parameters{K: p.K, D: p.D, Weights: weights, Components: components, Pooled: p.Pooled}
}

// free coordinates are the logarithms of the weights against the last one, and a transform of the numbers.
func free(to, from func(float64) float64) lvmtest.Coordinates[*mixture.Parameters, *mixture.Statistics] {
	return func(_ *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
		var x []float64
		for _, w := range p.Weights[:p.K-1] {
			x = append(x, math.Log(w/p.Weights[p.K-1]))
		}
		for _, v := range p.Components {
			x = append(x, to(v))
		}
		return x, func(x []float64) *mixture.Parameters {
			weights, sum := []float64{}, 1.0
			for _, v := range x[:p.K-1] {
				weights = append(weights, math.Exp(v))
				sum += math.Exp(v)
			}
			weights = append(weights, 1)
			for k := range weights {
				weights[k] /= sum
			}
			var components []float64
			for _, v := range x[p.K-1:] {
				components = append(components, from(v))
			}
			return with(p, weights, components)
		}
	}
}

// latent coordinates are functions of number i of each component.
func latent(to, from func(p *mixture.Parameters, i int, v float64) float64) lvmtest.Coordinates[*mixture.Parameters, *mixture.Statistics] {
	return func(_ *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
		n := len(p.Components) / p.K
		x := make([]float64, len(p.Components))
		for i, v := range p.Components {
			x[i] = to(p, i%n, v)
		}
		return x, func(x []float64) *mixture.Parameters {
			components := make([]float64, len(x))
			for i, v := range x {
				components[i] = from(p, i%n, v)
			}
			return with(p, slices.Clone(p.Weights), components)
		}
	}
}

// relabelled has the components in another order.
func relabelled(p *mixture.Parameters, rng *rand.Rand) *mixture.Parameters {
	var weights, components []float64
	for _, k := range rng.Perm(p.K) {
		weights = append(weights, p.Weights[k])
		components = append(components, p.Component(k)...)
	}
	return with(p, weights, components)
}

// emptied gives the rows of the last component to the first, and its weight with them.
func emptied(s *mixture.Statistics, p *mixture.Parameters) (*mixture.Statistics, *mixture.Parameters, float64) {
	last := p.K - 1
	q := s.Classes.Rows.Q
	for row := 0; row < len(q); row += p.K {
		q[row] += q[row+last]
		q[row+last] = 0
	}
	s.Classes.Sums[0] += s.Classes.Sums[last]
	s.Classes.Sums[last] = 0
	s.Nk[0] += s.Nk[last]
	s.Nk[last] = 0
	weights := slices.Clone(p.Weights)
	weights[0] += weights[last]
	weights[last] = 0
	return s, with(p, weights, slices.Clone(p.Components)), 0
}

func TestContinuousConforms(t *testing.T) {
	tier.Leave(t, "examples/factor, whose model is one, and TestTwinOfBPCA")
	x := mat.NewDense(24, 3, centred(24, 3, 11))
	reloaded := func(p *numeric.ContinuousParameters, w []float64, noise float64) *numeric.ContinuousParameters {
		return &numeric.ContinuousParameters{K: p.K, D: p.D, Components: w, Shared: []float64{noise}, Pooled: p.Pooled}
	}
	lvmtest.Test(t, lvmtest.Case[blocks.Rows, *numeric.ContinuousParameters, *numeric.Posteriors]{
		Model: numeric.Continuous{Density: ppca{}}, Data: lvmtest.Matrix(x), K: []int{1, 2}, Tolerance: tolerance,
		Units: []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("times 1000", x, []float64{1000, 1000, 1000})},
		Free: func(_ *numeric.Posteriors, p *numeric.ContinuousParameters) ([]float64, func([]float64) *numeric.ContinuousParameters) {
			return append(slices.Clone(p.Components), math.Log(p.Shared[0])), func(x []float64) *numeric.ContinuousParameters {
				return reloaded(p, slices.Clone(x[:len(x)-1]), math.Exp(x[len(x)-1]))
			}
		},
		// Loadings of data whose mean column variance is 1, which is what noise there is without latent dimensions.
		Latent: func(_ *numeric.Posteriors, p *numeric.ContinuousParameters) ([]float64, func([]float64) *numeric.ContinuousParameters) {
			scale := math.Sqrt(p.Pooled.Shared[0])
			times := func(v []float64, by float64) []float64 {
				w := slices.Clone(v)
				for i := range w {
					w[i] *= by
				}
				return w
			}
			return times(p.Components, 1/scale), func(x []float64) *numeric.ContinuousParameters {
				return reloaded(p, times(x, scale), p.Shared[0])
			}
		},
		Symmetry: func(p *numeric.ContinuousParameters, rng *rand.Rand) *numeric.ContinuousParameters {
			sin, cos := math.Sincos(rng.Float64())
			turn := mat.NewDense(2, 2, []float64{cos, -sin, sin, cos})
			w := mat.NewDense(p.K, p.D, nil)
			w.Mul(turn.Slice(0, p.K, 0, p.K), mat.NewDense(p.K, p.D, slices.Clone(p.Components)))
			if p.K == 1 {
				w.Scale(-1/cos, w)
			}
			return reloaded(p, w.RawMatrix().Data, p.Shared[0])
		},
	})
}
