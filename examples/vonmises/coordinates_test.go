package vonmises

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

// angle has the numbers of the formula, μ and κ.
type angle struct{}

func (angle) Layout(int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Real("direction", 1), numeric.Rate("concentration", 1)}}
}

func (angle) LogProb(x, xi, _ []float64) float64 {
	logI0, _, _ := bessel(xi[1])
	return xi[1]*(math.Cos(x[0]-xi[0])-1) - logI0 - math.Log(2*math.Pi)
}

// natural has the natural parameter κ (cos μ, sin μ).
type natural struct{}

func (natural) Layout(int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Real("natural parameter", 2)}}
}

func (natural) LogProb(x, eta, _ []float64) float64 {
	kappa := math.Hypot(eta[0], eta[1])
	logI0, _, _ := bessel(kappa)
	return eta[0]*math.Cos(x[0]) + eta[1]*math.Sin(x[0]) - kappa - logI0 - math.Log(2*math.Pi)
}

// The same density in other numbers has the same likelihood, but not the same gFIC: docs/guides/new-model.md, section 2.
func TestOtherNumbers(t *testing.T) {
	em := framework.Options{K: 2, Method: framework.EM, Tolerance: 1e-11}
	want := fit(t, WithSums{}, turned(turtles, 0), em)
	for _, c := range []struct {
		density numeric.Density
		k       int
	}{
		{angle{}, 2},   // as κ grows, the information tends to a constant
		{natural{}, 2}, // the information falls like κ⁻³, but what rows do not tell does not pay for a component
	} {
		assert.InDelta(t, want.Value, fit(t, c.density, turned(turtles, 0), em).Value, 1e-6)
		res := fit(t, c.density, turned(turtles, 0), framework.Options{K: 6})
		t.Logf("%T: K = %d, gFIC %.3f, numbers %.4f, weights %.3f", c.density, res.Shape.K, res.Value, res.Parameters.Components, res.Parameters.Weights)
		assert.Equal(t, c.k, res.Shape.K)
	}
}

// μ has no estimate where the whole table has no direction, although a component may have one.
func TestAngleWithoutDirection(t *testing.T) {
	_, err := framework.Fit(t.Context(), mixture.Model{Family: numeric.Family{Density: angle{}}}, turned(opposite(), 0), framework.Options{K: 2})
	assert.ErrorContains(t, err, "does not determine the Real parameters of vonmises.angle")
}
