package special

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/combin"
)

// complexity is C(n, L) by its definition: the sum over the counts of the first value, and then of the others.
func complexity(n, values int) float64 {
	var sum func(left, values int, log float64) float64
	term := func(r int) float64 { // r ln (r/n) − ln r!
		v, _ := math.Lgamma(float64(r) + 1)
		if r == 0 {
			return 0
		}
		return float64(r)*math.Log(float64(r)/float64(n)) - v
	}
	sum = func(left, values int, log float64) float64 {
		if values == 1 {
			return math.Exp(log + term(left))
		}
		total := 0.
		for r := range left + 1 {
			total += sum(left-r, values-1, log+term(r))
		}
		return total
	}
	factorial, _ := math.Lgamma(float64(n) + 1)
	return sum(n, values, factorial)
}

func TestComplexityIsTheSumOverAllData(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 20, 41} {
		for values := 1; values <= 5; values++ {
			require.InEpsilon(t, complexity(n, values), math.Exp(LogComplexity(float64(n), values)), 1e-11, "C(%d, %d)", n, values)
		}
	}
	// All eight sequences of three bits, one by one.
	all := 0.
	for ones := range 4 {
		p := float64(ones) / 3
		all += float64(combin.Binomial(3, ones)) * math.Pow(p, float64(ones)) * math.Pow(1-p, float64(3-ones))
	}
	require.InEpsilon(t, all, math.Exp(LogComplexity(3, 2)), 1e-14)
	require.Zero(t, LogComplexity(0, 4))
	require.InDelta(t, (3*LogComplexity(4, 3)+LogComplexity(5, 3))/4, LogComplexity(4.25, 3), 1e-15)
}

// Where the expansion takes over from the sum, nothing jumps.
func TestComplexityIsSmoothWhereTheExpansionBegins(t *testing.T) {
	before := LogComplexity(directly, 2)
	require.InDelta(t, before+0.5*math.Log1p(1./directly), LogComplexity(directly+1, 2), 2e-8)
	require.InDelta(t, 0.5*math.Log(1e12*math.Pi/2), LogComplexity(1e12, 2), 1e-6)
}
