package topics

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/mathext"

	"github.com/latent-go/latent/internal/special"
)

// ofCount is the distribution of the sum of indicators.
func ofCount(q []float64) []float64 {
	chances := []float64{1}
	for _, p := range q {
		next := make([]float64, len(chances)+1)
		for n, c := range chances {
			next[n] += c * (1 - p)
			next[n+1] += c * p
		}
		chances = next
	}
	return chances
}

// The expectation of ln Γ(a+n) − ln Γ(a) is exact for one indicator and for certain ones, and near what the
// distribution of the count gives otherwise. Taylor's series about the mean, as it is written without 0 apart, is not.
func TestRisingAgreesWithTheDistributionOfTheCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	worst, taylor := 0.0, 0.0
	for _, a := range []float64{0.001, 0.01, 0.1, 1, 50} {
		r := rising{a}
		for i := range 400 {
			q := make([]float64, 1+i%12)
			for j := range q {
				q[j] = math.Pow(rng.Float64(), float64(i%5)) // at i%5 = 0 all are 1
			}
			mean, squares, want := 0.0, 0.0, 0.0
			for _, p := range q {
				mean, squares = mean+p, squares+p*p
			}
			for n, chance := range ofCount(q) {
				want += chance * (lgamma(a+float64(n)) - lgamma(a))
			}
			of := func(a float64) float64 { return rising{a}.of([]float64{mean}, []float64{squares}) }
			got := of(a)
			if len(q) == 1 || i%5 == 0 {
				assert.InDelta(t, want, got, 1e-9*(1+math.Abs(want)))
			}
			worst = max(worst, math.Abs(got-want))
			plain := lgamma(a+mean) - lgamma(a) + (mean-squares)/2*special.Trigamma(a+mean)
			taylor = max(taylor, math.Abs(plain-want))

			// the slope is a derivative of the function with the count's distribution as it is
			h := 1e-4 * a
			assert.InEpsilon(t, (of(a+h)-of(a-h))/(2*h), r.slope(mean, squares), 1e-6)
		}
	}
	t.Logf("largest error %.3f nats, of Taylor's series about the mean %.1f", worst, taylor)
	assert.Less(t, worst, 0.35) // 0.344: one indicator is certain, and others are not
	assert.Greater(t, taylor, 40.0)
}

func TestTetragamma(t *testing.T) {
	for x := 0.0007; x < 1e7; x *= 1.1 {
		assert.InEpsilon(t, -2*mathext.Zeta(3, x), special.Tetragamma(x), 1e-11)
	}
	assert.Zero(t, rising{0.1}.certain(0))
}
