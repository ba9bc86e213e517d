package family

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed"
	"github.com/latent-go/latent/internal/special"
)

// Known to 16 digits: ψ(1) = −γ, ψ(½) = −γ − 2 ln 2, ψ′(1) = π²/6, ψ′(½) = π²/2,
// ln Γ(½) = ½ ln π.
func TestGammaFunctionsAtKnownPoints(t *testing.T) {
	const gamma = 0.57721566490153286
	require.InDelta(t, gamma, special.DigammaGap(1), 1e-15)
	require.InDelta(t, (gamma+math.Ln2)/2, special.DigammaGap(0.5), 1e-15)
	require.InDelta(t, math.Pi*math.Pi/6-1, special.TrigammaGap(1), 2e-15)
	require.InDelta(t, math.Pi*math.Pi/8-0.5, special.TrigammaGap(0.5), 1e-15)
	require.InDelta(t, (1-math.Ln2)/2, special.StirlingGap(0.5), 1e-15)
	for _, x := range []float64{1e-300, 1e-20} {
		require.InDelta(t, 1, special.DigammaGap(x), 1e-15)
		require.InDelta(t, 1, special.TrigammaGap(x), 1e-15)
	}
	for _, x := range []float64{1e16, 1e300} {
		require.Equal(t, 0.5, special.DigammaGap(x))
		require.Equal(t, 0.5, special.TrigammaGap(x))
		require.InDelta(t, 0, special.StirlingGap(x), 1e-17)
	}
}

// ψ and ψ′ of gonum, the latter as Hurwitz' zeta function of order 2.
func TestGammaFunctionsAgreeWithGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(-4, 4).Draw(t, "ln x"))
		require.InDelta(t, x*(math.Log(x)-mathext.Digamma(x)), special.DigammaGap(x), 1e-10*max(1, x))
		require.InDelta(t, x*x*mathext.Zeta(2, x)-x, special.TrigammaGap(x), 2e-14*max(1, x))
		v, _ := math.Lgamma(x)
		require.InDelta(t, v, special.StirlingGap(x)+(x-0.5)*math.Log(x)-x+special.HalfLogTwoPi, 1e-14*max(1, v))
	})
}

// δ(x) − δ(x+1) = (x+½) ln(1+1/x) − 1, and the recurrences of ψ and ψ′: they tie the series
// to the sums across the point where one takes over from the other.
func TestGammaFunctionsKeepTheirRecurrences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1, 30).Draw(t, "x")
		y := x + 1
		require.InDelta(t, (x+0.5)*math.Log1p(1/x)-1, special.StirlingGap(x)-special.StirlingGap(y), 3e-14)
		require.InDelta(t, 1/x, math.Log1p(1/x)-special.DigammaGap(y)/y+special.DigammaGap(x)/x, 1e-15)
		require.InDelta(t, 1/(x*x), (special.TrigammaGap(x)+x)/(x*x)-(special.TrigammaGap(y)+y)/(y*y), 3e-15)
	})
}

// What makes the search for the mode of a shape's posterior a contraction.
func TestDigammaGapHardlyBends(t *testing.T) {
	for u := -40.0; u < 40; u += 0.01 {
		x := math.Exp(u)
		slope := special.DigammaGap(x) - special.TrigammaGap(x) // in ln x
		require.True(t, slope <= 1e-12 && slope > -0.12, "%v: %v", x, slope)
	}
}

// TestGammasHaveTheConstrainedMaximum: nothing near the estimates of gamma classes, above the floor, is likelier, and what lies
// above it stays.
func TestGammasHaveTheConstrainedMaximum(t *testing.T) {
	rng := seeded(7)
	for range 200 {
		shape, mean, floor := math.Exp(3*rng.NormFloat64()), math.Exp(rng.NormFloat64()), math.Exp(3*rng.NormFloat64()-2)
		estimate := []float64{shape, shape / mean}
		sums := make([]float64, 2)
		Gamma{}.Expect(estimate, sums)
		loss := func(xi []float64) float64 {
			eta := make([]float64, 2)
			partition := Gamma{}.Natural(xi, eta)
			return partition - eta[0]*sums[0] - eta[1]*sums[1]
		}
		xi := slices.Clone(estimate)
		Gamma{}.bound(floor, xi)
		at, variance := Gamma{}.moments(xi)
		require.GreaterOrEqual(t, variance, floor*(1-1e-12))
		if _, before := (Gamma{}).moments(estimate); before >= floor {
			require.Equal(t, estimate, xi)
		}
		for i := range 200 {
			size := math.Pow(10, -float64(i%8))
			near := at * math.Exp(size*rng.NormFloat64())
			other := max(floor, variance*math.Exp(size*rng.NormFloat64()))
			to := []float64{near * near / other, near / other}
			require.LessOrEqual(t, loss(xi), loss(to)+1e-10*(1+math.Abs(loss(to))), "%v %v", estimate, floor)
		}
	}
}
