package vonmises

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

type result = framework.Result[*mixture.Parameters, *mixture.Statistics]

// The compiler checks what the package says.
var (
	_ numeric.Density   = Density{}
	_ numeric.Estimator = WithSums{}
	_ numeric.Informer  = WithSums{}
	_ numeric.Additive  = WithSums{}
)

// turtles are the directions, in degrees clockwise from north, in which 76 turtles moved after treatment: Stephens, Techniques for directional
// data, Technical Report 150, Stanford University, 1969; Fisher, Statistical Analysis of Circular Data, 1993, appendix B.3.
var turtles = []float64{
	8, 9, 13, 13, 14, 18, 22, 27, 30, 34, 38, 38, 40, 44, 45, 47, 48, 48, 48, 48, 50, 53, 56, 57, 58, 58, 61, 63, 64, 64, 64, 65, 65, 68, 70, 73, 78, 78,
	78, 83, 83, 88, 88, 88, 90, 92, 92, 93, 95, 96, 98, 100, 103, 106, 113, 118, 138, 153, 153, 155, 204, 215, 223, 226, 237, 238, 243, 244, 250, 251,
	257, 268, 285, 319, 343, 350,
}

// turned is a table of directions in degrees, in radians from another 0°.
func turned(degrees []float64, by float64) *blocks.Table {
	x := make([]float64, len(degrees))
	for i, d := range degrees {
		x[i] = math.Mod(d+by, 360) * math.Pi / 180
	}
	table, err := blocks.FromSlice(x, len(x), 1)
	if err != nil {
		panic(err)
	}
	return table
}

// draw draws directions by rejection from a wrapped Cauchy envelope (Best & Fisher, Applied Statistics 28, 1979).
func draw(p *mixture.Parameters, n int, rng *rand.Rand) *mat.Dense {
	x := mat.NewDense(n, 1, nil)
	for i := range n {
		k, u := 0, rng.Float64()
		for k < p.K-1 && u >= p.Weights[k] {
			u -= p.Weights[k]
			k++
		}
		direction, kappa := Polar(p.Component(k))
		if kappa < 1e-6 {
			x.Set(i, 0, 2*math.Pi*rng.Float64())
			continue
		}
		tau := 1 + math.Sqrt(1+4*kappa*kappa)
		rho := (tau - math.Sqrt(2*tau)) / (2 * kappa)
		r := (1 + rho*rho) / (2 * rho)
		for {
			z := math.Cos(math.Pi * rng.Float64())
			f := (1 + r*z) / (r + z)
			c, u2 := kappa*(r-f), rng.Float64()
			if c*(2-c) > u2 || math.Log(c/u2)+1 >= c {
				x.Set(i, 0, direction+math.Copysign(math.Acos(f), rng.Float64()-0.5))
				break
			}
		}
	}
	return x
}

// integral is (1/2π) ∫ f(cos t) exp(κ (cos t − 1)) dt by the trapezoidal rule, whose error falls exponentially on a circle.
func integral(kappa float64, f func(cos float64) float64) float64 {
	const n = 20000
	sum := 0.
	for i := range n {
		half := math.Sin(math.Pi * float64(i) / n)
		sum += f(1-2*half*half) * math.Exp(-2*kappa*half*half)
	}
	return sum / n
}

func TestBessel(t *testing.T) {
	for _, kappa := range []float64{0, 1e-9, 1e-3, 0.5, 1, 3, 10, 29.999, 30, 30.001, 100, 1e4, 1e6} {
		i0 := integral(kappa, func(float64) float64 { return 1 })
		a := integral(kappa, func(cos float64) float64 { return cos }) / i0
		variance := integral(kappa, func(cos float64) float64 { return (cos - a) * (cos - a) }) / i0
		logI0, ratio, slope := bessel(kappa)
		assert.InDelta(t, math.Log(i0), logI0, 2e-14*(1+math.Abs(math.Log(i0))), "ln I₀(%g)", kappa)
		assert.InDelta(t, a, kappa*ratio, 2e-14, "A(%g)", kappa)
		assert.InEpsilon(t, variance, slope, 1e-13*(1+kappa), "A′(%g)", kappa)

		direction, back := Polar([]float64{-kappa * ratio * 0.6, -kappa * ratio * 0.8})
		assert.InDelta(t, kappa, back, 1e-14*(1+kappa)*(1+kappa), "the κ of A(%g)", kappa)
		if kappa > 0 {
			assert.InDelta(t, math.Atan2(-0.8, -0.6), direction, 1e-15)
		}
	}
}

func fit(t *testing.T, d numeric.Density, table *blocks.Table, o framework.Options) *result {
	res, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: d}}, table, o)
	require.NoError(t, err)
	return res
}

// Most turtles walk towards one direction, and the others the opposite way.
func Example() {
	res, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: WithSums{}}}, turned(turtles, 0), framework.Options{K: 6})
	if err != nil {
		panic(err)
	}
	fmt.Printf("K = %d, %s = %.3f\n", res.Shape.K, res.Criterion, res.Value)
	for k := range res.Shape.K {
		direction, kappa := Polar(res.Parameters.Component(k))
		fmt.Printf("%.3f of the turtles: %.1f°, κ = %.2f\n", res.Parameters.Weights[k], math.Mod(direction*180/math.Pi+360, 360), kappa)
	}
	// Output:
	// K = 2, evidence = -120.914
	// 0.172 of the turtles: 241.2°, κ = 7.99
	// 0.828 of the turtles: 63.5°, κ = 2.60
}

// The turtles walk one way, and some of them the opposite way, from wherever degrees are counted.
func TestTurtlesFromAnyNorth(t *testing.T) {
	for _, k := range []int{1, 2, 4, 6, 8} {
		want := fit(t, WithSums{}, turned(turtles, 0), framework.Options{K: k, Criterion: framework.GFIC})
		assert.Equal(t, min(k, 2), want.Shape.K)
		for _, by := range []float64{63.5, 116, 180, 241} {
			got := fit(t, WithSums{}, turned(turtles, by), framework.Options{K: k, Criterion: framework.GFIC})
			assert.InDelta(t, want.Value, got.Value, 1e-9)
			require.Equal(t, want.Shape, got.Shape)
			assert.Zero(t, got.Fall)
			for j := range got.Shape.K {
				direction, kappa := Polar(want.Parameters.Component(j))
				other, same := Polar(got.Parameters.Component(j))
				assert.InDelta(t, 0, math.Remainder(other-direction-by*math.Pi/180, 2*math.Pi), 1e-9)
				assert.InEpsilon(t, kappa, same, 1e-9)
			}
		}
	}
}

// The log density alone ends where the sums do. Its curvature is differentiated numerically, and near the rim of the
// disc, of which the framework knows nothing, that costs digits.
func TestTwinsAgree(t *testing.T) {
	for _, o := range []framework.Options{{K: 1, Criterion: framework.GFIC}, {K: 2, Method: framework.EM}, {K: 2, Criterion: framework.GFIC}} {
		o.Tolerance = 1e-11
		a, b := fit(t, Density{}, turned(turtles, 0), o), fit(t, WithSums{}, turned(turtles, 0), o)
		t.Logf("%v from K = %d: %d, %.9f, apart %.1e", o.Method, o.K, b.Shape.K, b.Value, a.Value-b.Value)
		assert.Equal(t, a.Shape, b.Shape)
		assert.InDeltaSlice(t, b.Parameters.Components, a.Parameters.Components, 1e-5)
		assert.InDelta(t, b.Value, a.Value, map[framework.Method]float64{framework.EM: 1e-8, framework.GFAB: 1e-3}[o.Method])
	}
}

// Directions within a small angle are numbers on a line, and the mixture is that of normal distributions. gFIC differs by
// ½ ln 2 a component: the information about a variance is 1/(2σ⁴), and Real numbers are measured against the whole table.
func TestNormalLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 200)
	for i := range x {
		x[i] = 1 + 1e-3*(rng.NormFloat64()+float64(i%2)*6)
	}
	table, err := blocks.FromSlice(x, len(x), 1)
	require.NoError(t, err)
	for _, o := range []framework.Options{{K: 1, Criterion: framework.GFIC}, {K: 4, Criterion: framework.GFIC}} {
		want, err := framework.Fit(context.Background(), mixture.Model{Family: normal.Family{}}, table, o)
		require.NoError(t, err)
		got := fit(t, WithSums{}, table, o)
		assert.Equal(t, want.Shape, got.Shape)
		assert.InDelta(t, want.Value-float64(want.Shape.K)*math.Ln2/2, got.Value, 1e-3)
	}
}

// Where the whole table has no direction, a fit goes on all the same.
func TestTablesWithoutDirection(t *testing.T) {
	around := make([]float64, 36)
	for i := range around {
		around[i] = 10 * float64(i)
	}
	res := fit(t, WithSums{}, turned(around, 0), framework.Options{K: 4, Criterion: framework.GFIC})
	assert.Equal(t, 1, res.Shape.K)
	_, kappa := Polar(res.Parameters.Components)
	assert.InDelta(t, 0, kappa, 1e-12)

	assert.Equal(t, 2, fit(t, WithSums{}, turned(opposite(), 0), framework.Options{K: 4}).Shape.K)
}

// opposite are two groups that look away from each other.
func opposite() []float64 {
	x := make([]float64, 100)
	for i := range x {
		x[i] = float64(i/2) + 180*float64(i%2)
	}
	return x
}

func TestOneDirectionOnly(t *testing.T) {
	_, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: WithSums{}}}, turned([]float64{5, 5, 5}, 0), framework.Options{K: 1})
	assert.ErrorContains(t, err, "one direction only")
}

func TestModel(t *testing.T) {
	free := func(_ *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
		at := func(v []float64) *mixture.Parameters { // K − 1 weights, then the mean vectors
			rest := 1 - floats.Sum(v[:p.K-1])
			return &mixture.Parameters{K: p.K, D: p.D, Pooled: p.Pooled, Weights: append(slices.Clone(v[:p.K-1]), rest), Components: slices.Clone(v[p.K-1:])}
		}
		return slices.Concat(p.Weights[:p.K-1], p.Components), at
	}
	latent := func(_ *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
		unit := mat.NewDense(2, 2, p.Pooled.Units[:4]) // φ = R m
		var phi mat.Dense
		phi.Mul(mat.NewDense(p.K, 2, p.Components), unit.T())
		at := func(v []float64) *mixture.Parameters {
			var m mat.Dense
			if err := m.Solve(unit, mat.NewDense(p.K, 2, v).T()); err != nil {
				panic(err)
			}
			components := mat.DenseCopyOf(m.T()).RawMatrix().Data
			return &mixture.Parameters{K: p.K, D: p.D, Pooled: p.Pooled, Weights: slices.Clone(p.Weights), Components: components}
		}
		return phi.RawMatrix().Data, at
	}
	table := func(by float64) lvmtest.Data[blocks.Rows] {
		return lvmtest.Matrix(mat.NewDense(len(turtles), 1, turned(turtles, by).All().X))
	}
	lvmtest.Test(t, lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics]{
		Model:  mixture.Model{Family: numeric.Family{Density: WithSums{}}},
		Data:   table(0),
		Units:  []lvmtest.Units[blocks.Rows]{{Name: "another north", Data: table(100)}},
		Free:   free,
		Latent: latent,
		K:      []int{1, 2}, // the turtles do not carry more
		Symmetry: func(p *mixture.Parameters, rng *rand.Rand) *mixture.Parameters {
			q := &mixture.Parameters{K: p.K, D: p.D, Pooled: p.Pooled}
			for _, k := range rng.Perm(p.K) {
				q.Weights, q.Components = append(q.Weights, p.Weights[k]), append(q.Components, p.Component(k)...)
			}
			return q
		},
		Sample: func(p *mixture.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
			return lvmtest.Matrix(draw(p, n, rng)), nil
		},
		SampleK:   2,
		Tolerance: 1e-7, // the mode under a prior has no closed form, and is searched for
	})
}
