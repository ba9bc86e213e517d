package zip

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

type result = framework.Result[*mixture.Parameters, *mixture.Statistics]

func fit(d numeric.Density, o framework.Options) *result {
	table, err := Articles()
	if err != nil {
		panic(err)
	}
	res, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: d}}, table, o)
	if err != nil {
		panic(err)
	}
	return res
}

// Long (1990) prints the mean 1.693 and the standard deviation 1.926 of the counts.
func TestDataAreThoseOfThePaper(t *testing.T) {
	table, err := Articles()
	require.NoError(t, err)
	rows := table.All()
	n, sum, square := 0.0, 0.0, 0.0
	for i := range rows.N {
		w, x := rows.Weight(i), rows.Row(i)[0]
		n, sum, square = n+w, sum+w*x, square+w*x*x
	}
	assert.Equal(t, 915.0, n)
	assert.InDelta(t, 1.693, sum/n, 5e-4)
	assert.InDelta(t, 1.926, math.Sqrt((square-sum*sum/n)/(n-1)), 5e-4)
}

// The density alone and its twin with closed forms end at the same gFIC, K and rates, from every start.
func TestTwinsAgree(t *testing.T) {
	for _, o := range []framework.Options{{K: 1}, {K: 2, FixedK: true}, {K: 5}, {K: 5, Seed: 1}, {K: 5, Seed: 2}} {
		o.Criterion = framework.GFIC
		o.Tolerance = 1e-11
		a, b := fit(Density{}, o), fit(Closed{}, o)
		t.Logf("from K = %d: %d, gFIC %.7f, apart %.1e; rates and zeros %.5f", o.K, a.Shape.K, a.Value, b.Value-a.Value, a.Parameters.Components)
		assert.Equal(t, a.Shape, b.Shape)
		assert.InDelta(t, a.Value, b.Value, 1e-6)
		assert.Zero(t, max(a.Fall, b.Fall))
	}
	for k := range 3 {
		o := framework.Options{K: k + 1, Method: framework.EM}
		a, b := fit(Density{}, o), fit(Closed{}, o)
		assert.InDelta(t, a.Value, b.Value, 1e-9)
	}
}

// Rates and zeros of one component solve the equations of Lambert (1992): the mean is (1 − π)λ, and the share of zeros
// that of the data.
func TestOneComponentSolvesItsEquations(t *testing.T) {
	p := fit(Density{}, framework.Options{K: 1, Method: framework.EM}).Parameters
	rate, zeros := p.Components[0], p.Components[1]
	assert.InDelta(t, 1549.0/915, (1-zeros)*rate, 1e-8)
	assert.InDelta(t, 275.0/915, zeros+(1-zeros)*math.Exp(-rate), 1e-8)
}

func TestWhatIsNoCount(t *testing.T) {
	for _, x := range []float64{-1, 0.5} {
		table, err := blocks.FromSlice([]float64{3, 0, x}, 3, 1)
		require.NoError(t, err)
		_, err = framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: Density{}}}, table, framework.Options{K: 1})
		assert.ErrorContains(t, err, "LogProb of zip.Density")
		assert.ErrorContains(t, err, "row 3")
	}
}

// Three kinds of students, and some who publish nothing beside them.
func Example() {
	table, err := Articles()
	if err != nil {
		panic(err)
	}
	res, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: Density{}}}, table, framework.Options{K: 5})
	if err != nil {
		panic(err)
	}
	fmt.Printf("K = %d, %s = %.3f\n", res.Shape.K, res.Criterion, res.Value)
	fmt.Printf("share of zeros beyond Poisson: %.3f\n", res.Parameters.Component(0)[1])
	for k := range res.Shape.K {
		fmt.Printf("%.3f of the students: %.2f articles\n", res.Parameters.Weights[k], res.Parameters.Component(k)[0])
	}
	// Output:
	// K = 3, evidence = -1627.147
	// share of zeros beyond Poisson: 0.072
	// 0.012 of the students: 10.31 articles
	// 0.296 of the students: 3.23 articles
	// 0.692 of the students: 1.08 articles
}

func BenchmarkDensityAlone(b *testing.B) {
	for b.Loop() {
		fit(Density{}, framework.Options{K: 5})
	}
}

func BenchmarkClosedForms(b *testing.B) {
	for b.Loop() {
		fit(Closed{}, framework.Options{K: 5})
	}
}
