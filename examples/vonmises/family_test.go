package vonmises

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/models/mixture"
)

var _ family.ExponentialFamily = VonMises{}

func fitFamily(t *testing.T, f family.Family, table *blocks.Table, o framework.Options) *framework.Result[*mixture.Parameters, *mixture.Statistics] {
	res, err := framework.Fit(context.Background(), mixture.Model{Family: f}, table, o)
	require.NoError(t, err)
	return res
}

// The family and the numeric density are one model. gFIC of the latter is measured against the whole table.
func TestFamilyIsTheDensity(t *testing.T) {
	for _, by := range []float64{0, 116} {
		for _, o := range []framework.Options{{K: 1, Criterion: framework.GFIC}, {K: 2, Method: framework.EM}, {K: 6, Criterion: framework.GFIC}} {
			o.Tolerance, o.Also = 1e-12, []framework.Criterion{framework.FIC, framework.BIC}
			want, got := fit(t, WithSums{}, turned(turtles, by), o), fitFamily(t, VonMises{}, turned(turtles, by), o)
			require.Equal(t, want.Shape.K, got.Shape.K)
			shift := 0.0
			if o.Method == framework.GFAB {
				shift = float64(got.Shape.K) * math.Log(mat.Det(mat.NewDense(2, 2, want.Parameters.Pooled.Units[:4])))
			}
			t.Logf("%v from K = %d: %d, %.9f, apart %.1e", o.Method, o.K, got.Shape.K, got.Value, got.Value+shift-want.Value)
			assert.InDelta(t, want.Value, got.Value+shift, 1e-7)
			assert.InDelta(t, want.Scores[1].Value, got.Scores[1].Value, 1e-7)
			assert.InDelta(t, want.Scores[2].Value, got.Scores[2].Value, 1e-7)
			order := []int{0, 1}[:got.Shape.K]
			if k := got.Shape.K - 1; math.Abs(got.Parameters.Weights[0]-want.Parameters.Weights[0]) > 1e-3 {
				order = []int{k, 0}
			}
			for j, k := range order {
				assert.InDeltaSlice(t, want.Parameters.Component(j), got.Parameters.Components[2*k:2*k+2], 1e-5)
			}
		}
	}
}

// Three classes overlap in their directions and in their counts, and are told apart by both, also where a fifth of the numbers
// are missing.
func TestDirectionsBesideCounts(t *testing.T) {
	beside := family.Product{VonMises{}, family.Poisson{}}
	for seed := range uint64(8) {
		for _, share := range []float64{0, 0.2} {
			rng := rand.New(rand.NewPCG(seed, 1))
			var x []float64
			for i := range 600 {
				direction := []float64{0, 1.5, 1.5}[i%3]
				angle := draw(&mixture.Parameters{K: 1, D: 1, Weights: []float64{1}, Components: meanOf(direction, 5)}, 1, rng).At(0, 0)
				row := []float64{angle, float64(poisson([]float64{4, 4, 14}[i%3], rng))}
				if rng.Float64() < share {
					row[rng.IntN(2)] = math.NaN()
				}
				x = append(x, row...)
			}
			table, err := blocks.FromIncomplete(x, 600, 2)
			require.NoError(t, err)
			res := fitFamily(t, beside, table, framework.Options{K: 6, Restarts: 3})
			t.Logf("seed %d, missing %.1f: K = %d, %.3f, %.3f", seed, share, res.Shape.K, res.Value, res.Parameters.Components)
			assert.Equal(t, 3, res.Shape.K, "seed %d, missing %v", seed, share)
			assert.Zero(t, res.Fall)
		}
	}
}

// meanOf is the mean of (cos x, sin x).
func meanOf(direction, kappa float64) []float64 {
	_, ratio, _ := bessel(kappa)
	return []float64{kappa * ratio * math.Cos(direction), kappa * ratio * math.Sin(direction)}
}

func poisson(mean float64, rng *rand.Rand) (n int) {
	for t := rng.ExpFloat64(); t < mean; t += rng.ExpFloat64() {
		n++
	}
	return n
}

func TestFamilyConforms(t *testing.T) {
	frame := func(m []float64) (along, across []float64) { // the coordinates of the information
		direction, _ := Polar(m)
		sin, cos := math.Sincos(direction)
		return []float64{cos, sin}, []float64{-sin, cos}
	}
	latent := func(_ *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
		return make([]float64, len(p.Components)), func(x []float64) *mixture.Parameters {
			q := *p
			q.Components, q.Weights = slices.Clone(p.Components), slices.Clone(p.Weights)
			for i := 0; i < len(x); i += 2 {
				along, across := frame(p.Components[i : i+2])
				floats.AddScaled(q.Components[i:i+2], x[i], along)
				floats.AddScaled(q.Components[i:i+2], x[i+1], across)
			}
			return &q
		}
	}
	table := func(by float64) lvmtest.Data[blocks.Rows] {
		return lvmtest.Matrix(mat.NewDense(len(turtles), 1, turned(turtles, by).All().X))
	}
	lvmtest.Test(t, lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics]{
		Model: mixture.Model{Family: VonMises{}}, Data: table(0), K: []int{1, 2},
		Latent: latent, NoAllocations: true,
		Free: func(s *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
			x, move := latent(s, p)
			return append(x, p.Weights[1:]...), func(v []float64) *mixture.Parameters {
				q := move(v[:len(x)])
				copy(q.Weights[1:], v[len(x):])
				q.Weights[0] = 1 - floats.Sum(v[len(x):])
				return q
			}
		},
		Sample: func(p *mixture.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
			return lvmtest.Matrix(draw(&mixture.Parameters{K: p.K, D: 1, Weights: p.Weights, Components: p.Components}, n, rng)), nil
		},
		SampleK: 2,
	})
}
