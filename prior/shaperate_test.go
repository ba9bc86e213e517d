package prior

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pseudoRows draws pseudo-counts of few to many rows, alike or scattered.
func pseudoRows(t *rapid.T) []float64 {
	n := math.Exp(rapid.Float64Range(-4, 8).Draw(t, "ln rows"))
	mean := math.Exp(rapid.Float64Range(-3, 3).Draw(t, "ln mean"))
	gap := math.Exp(rapid.Float64Range(-5, 3).Draw(t, "ln gap"))
	return []float64{n, n * mean, n * (math.Log(mean) - gap)}
}

// The integral over the shape as it stands, ∫ exp(ατ₂ − ν ln Γ(α)) Γ(να+1)/τ₁^(να+1) dα,
// with a step of a fiftieth, and the expectations under it.
func TestGammaPosteriorsAgreeWithTheIntegralOverTheShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, eta := pseudoRows(t), make([]float64, 2)
		logNorm := NaturalShapeRate{}.LogNorm(h)
		psi := NaturalShapeRate{}.Expected(h, eta)
		d := shapeOf(h)
		step := d.step() / 10
		var sum, shape, rate, partition float64
		for i := -3000; i <= 3000; i++ {
			a := d.mode * math.Exp(float64(i)*step)
			if a < 1e-300 || a > 1e15*d.mode {
				continue
			}
			g, _ := math.Lgamma(a)
			k, _ := math.Lgamma(h[0]*a + 1)
			of := Gamma{Shape: h[0]*a + 1, Rate: h[1]}
			density := a * step * math.Exp(a*h[2]-h[0]*g+k-of.Shape*math.Log(of.Rate)-logNorm)
			sum += density
			shape += density * a
			rate += density * of.Mean()
			partition += density * (g - a*of.ExpectedLog())
		}
		tolerance := 1e-11 + 1e-15*h[0]*d.mode*max(1, math.Abs(math.Log(d.mode))) // what ln Γ loses
		require.InDelta(t, 1, sum, tolerance)
		require.InEpsilon(t, shape, eta[1], tolerance)
		require.InEpsilon(t, rate, -eta[0], tolerance)
		require.InDelta(t, partition, psi, tolerance*max(1, math.Abs(psi), d.mode))
	})
}

// The rectangle of the ratio of uniforms holds the region: density ≤ 1, and |u|√density at
// most 1.05 of what it is at the nodes.
func TestTheRatioOfUniformsKeepsToItsRectangle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := shapeOf(pseudoRows(t))
		low, high := 0.0, 0.0
		d.visit(func(u, density float64) {
			low, high = min(low, u*math.Sqrt(density)), max(high, u*math.Sqrt(density))
		})
		for i := -600; i <= 600; i++ {
			u := float64(i) * d.step() / 8
			logDensity := d.log(u)
			require.LessOrEqual(t, logDensity, 1e-9)
			v := u * math.Exp(logDensity/2)
			require.True(t, v >= 1.05*low && v <= 1.05*high, "%v outside [%v, %v]", v, low, high)
		}
	})
}

// Draws of ln α have the second and fourth moments of its density, within 5 standard
// errors: the tails are there.
func TestDrawnShapesHaveTheirTails(t *testing.T) {
	const draws = 6000
	rng := rand.New(rand.NewPCG(1, 2))
	for _, h := range [][]float64{{1, 1.5, -1}, {0.1, 0.1, -0.1}, {50, 100, 30}} {
		d, xi := shapeOf(h), make([]float64, 2)
		var sum, two, four, eight float64
		d.visit(func(u, density float64) {
			u *= u
			sum += density
			two += density * u
			four += density * u * u
			eight += density * u * u * u * u
		})
		two, four, eight = two/sum, four/sum, eight/sum
		var seenTwo, seenFour float64
		for range draws {
			NaturalShapeRate{}.Rand(h, rng, xi)
			u := math.Pow(math.Log(xi[0]/d.mode), 2)
			seenTwo += u / draws
			seenFour += u * u / draws
		}
		require.InDelta(t, two, seenTwo, 5*math.Sqrt((four-two*two)/draws))
		require.InDelta(t, four, seenFour, 5*math.Sqrt((eight-four*four)/draws))
	}
}
