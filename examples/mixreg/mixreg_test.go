package mixreg

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

type result = framework.Result[*mixture.Parameters, *mixture.Statistics]

// flowers are the lengths of petals and sepals of irises, cm.
func flowers(columns ...string) *blocks.Table {
	table, err := data.Load("iris")
	if err == nil {
		table, err = table.Select(columns...)
	}
	if err != nil {
		panic(err)
	}
	x, rows, cols, err := table.Matrix()
	if err != nil {
		panic(err)
	}
	source, err := blocks.FromSlice(x, rows, cols)
	if err != nil {
		panic(err)
	}
	return source
}

func fit(d numeric.Density, o framework.Options) *result {
	res, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: d}}, flowers("Petal.Length", "Sepal.Length"), o)
	if err != nil {
		panic(err)
	}
	return res
}

var steps = []struct {
	name    string
	density numeric.Density
}{
	{"Density", Density{}},
	{"WithGradient", WithGradient{}},
	{"WithEstimate", WithEstimate{}},
	{"WithInformation", WithInformation{}},
	{"WithSums", WithSums{}},
}

func TestEveryStepKeepsTheAnswer(t *testing.T) {
	for _, o := range []framework.Options{{K: 4, Criterion: framework.GFIC}, {K: 4, Criterion: framework.GFIC, Seed: 1}, {K: 2, Method: framework.EM}} {
		o.Tolerance = 1e-10
		var first *result
		for _, s := range steps {
			res := fit(s.density, o)
			if first == nil {
				first = res
			}
			t.Logf("%-15s %v from %d: K = %d, %s = %.8f, apart %.1e, %d passes", s.name, o.Method, o.K, res.Shape.K, res.Criterion, res.Value, res.Value-first.Value, res.Passes)
			assert.Equal(t, first.Shape, res.Shape)
			assert.InDelta(t, first.Value, res.Value, 1e-6)
		}
	}
}

// The gradient and the information are the derivatives of LogProb.
func TestDerivatives(t *testing.T) {
	row, xi := []float64{1.5, 0.3, -2}, []float64{0.2, 1.1, -0.4, 0.7}
	g := make([]float64, 4)
	WithGradient{}.Gradient(row, xi, nil, g, nil)
	for j := range xi {
		const h = 1e-6
		at := append([]float64(nil), xi...)
		at[j] += h
		above := Density{}.LogProb(row, at, nil)
		at[j] -= 2 * h
		assert.InDelta(t, (above-Density{}.LogProb(row, at, nil))/(2*h), g[j], 1e-8)
	}
}

// Two regimes are found, and they are the short-petalled species (50 of 150) and the others.
func TestRegimesAreSpecies(t *testing.T) {
	m := mixture.Model{Family: numeric.Family{Density: WithSums{}}}
	res := fit(WithSums{}, framework.Options{K: 4, Criterion: framework.GFIC})
	require.Equal(t, 2, res.Shape.K)
	q, err := m.Responsibilities(flowers("Petal.Length", "Sepal.Length").All(), res.Parameters, nil)
	require.NoError(t, err)
	setosa := 0
	if q[1] > q[0] {
		setosa = 1
	}
	for i := range 150 {
		assert.Equal(t, i < 50, q[2*i+setosa] > 0.5, "row %d", i+1)
	}
}

// A column that depends on others is refused, and says so.
func TestDependentColumns(t *testing.T) {
	for _, s := range steps {
		_, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: s.density}}, flowers("Petal.Length", "Sepal.Length"), framework.Options{K: 151})
		assert.ErrorContains(t, err, "151 components for 150 distinct rows", s.name)
	}
	x := make([]float64, 30)
	for i := range 10 {
		x[3*i], x[3*i+1], x[3*i+2] = math.Sin(float64(i)), float64(i), 2*float64(i)
	}
	table, err := blocks.FromSlice(x, 10, 3)
	require.NoError(t, err)
	for _, s := range steps {
		_, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: s.density}}, table, framework.Options{K: 1})
		assert.ErrorContains(t, err, "determine", s.name)
	}
}

func Example() {
	res, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: Density{}}}, flowers("Petal.Length", "Sepal.Length"),
		framework.Options{K: 4, Criterion: framework.GFIC})
	if err != nil {
		panic(err)
	}
	fmt.Printf("K = %d, gFIC = %.3f\n", res.Shape.K, res.Value)
	for k := range res.Shape.K {
		line := res.Parameters.Component(k)
		fmt.Printf("%2.0f%%: petal = %.2f + %.2f sepal\n", 100*res.Parameters.Weights[k], line[0], line[1])
	}
	// Output:
	// K = 2, gFIC = -163.185
	// 67%: petal = -1.64 + 1.05 sepal
	// 33%: petal = 0.78 + 0.14 sepal
}

// What each closed form saves: go test -run '^$' -bench . ./examples/mixreg
func BenchmarkFit(b *testing.B) {
	for _, s := range steps {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fit(s.density, framework.Options{K: 4})
			}
		})
	}
}

func BenchmarkEM(b *testing.B) {
	for _, s := range steps {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fit(s.density, framework.Options{K: 2, Method: framework.EM})
			}
		})
	}
}
