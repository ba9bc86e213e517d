// Package zip is a mixture of Poisson distributions with an excess of zeros, written down twice: [Density] is its log
// density and nothing else, [Closed] adds what can be computed in closed form. Both give the same fit.
//
// A count is 0 with probability π, and else from the Poisson distribution of its component, of rate λ_k (Lambert 1992,
// Technometrics 34, 1–14, for one component):
//
//	p(0|z=k) = π + (1 − π) exp(−λ_k),    p(x|z=k) = (1 − π) exp(−λ_k) λ_kˣ/x!  for x > 0.
//
// λ_k belongs to a component and π to all: with a π of each component only their mean could be learned from one column.
package zip

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/numeric"
)

// Density is the zero-inflated Poisson distribution, ξ = λ and Θ = π.
type Density struct{}

// Layout is the same for any table; LogProb looks at the first column.
func (Density) Layout(int) numeric.Layout {
	return numeric.Layout{
		Columns:   1,
		Component: []numeric.Parameter{numeric.Rate("rate", 1)},
		Shared:    []numeric.Parameter{numeric.Probability("zeros", 1)},
	}
}

// LogProb is ln p(x|z=k); −Inf where x is no count.
func (Density) LogProb(x, rate, zeros []float64) float64 {
	switch {
	case x[0] == 0:
		return math.Log(zeros[0] + (1-zeros[0])*math.Exp(-rate[0]))
	case x[0] < 0 || x[0] != math.Trunc(x[0]):
		return math.Inf(-1)
	}
	lgamma, _ := math.Lgamma(x[0] + 1)
	return math.Log1p(-zeros[0]) - rate[0] + x[0]*math.Log(rate[0]) - lgamma
}

// Closed is Density with closed forms. It knows rows by T(x) = (1 where x = 0, x, ln x!).
type Closed struct{ Density }

// Statistics is 3.
func (Closed) Statistics(int) int { return 3 }

// Observe puts T(x) into t.
func (Closed) Observe(x, t []float64) {
	t[0], t[1] = 0, x[0]
	if x[0] == 0 {
		t[0] = 1
	}
	t[2], _ = math.Lgamma(x[0] + 1)
}

// LogTotal is the sum of LogProb over rows.
func (Closed) LogTotal(rows numeric.Weighted, rate, zeros []float64) float64 {
	empty, sum := rows.Sums[0], rows.Sums[1]
	total := -rows.Sums[2]
	if empty != 0 {
		total += empty * math.Log(zeros[0]+(1-zeros[0])*math.Exp(-rate[0]))
	}
	if sum != 0 {
		total += (rows.N-empty)*(math.Log1p(-zeros[0])-rate[0]) + sum*math.Log(rate[0])
	}
	return total
}

// chance is the share of a component's zeros that are from its Poisson distribution.
func chance(rate, zeros float64) float64 {
	e := (1 - zeros) * math.Exp(-rate)
	return e / (zeros + e)
}

// Estimate is the best λ for the given π: the root of S/λ = N₊ + N₀·chance(λ), with S the sum of the counts. It lies
// between S/N and S/N₊ and is found by Newton's method, halving the interval where that leaves it.
func (Closed) Estimate(rows numeric.Weighted, rate, zeros []float64) error {
	empty, sum := rows.Sums[0], rows.Sums[1]
	low, high := sum/rows.N, sum/(rows.N-empty)
	if !(sum > 0) {
		rate[0] = 0
		return nil
	}
	x := min(max(rate[0], low), high)
	for range 100 {
		c := chance(x, zeros[0])
		f := sum/x - (rows.N - empty) - empty*c
		if f > 0 {
			low = x
		} else {
			high = x
		}
		next := x + f/(sum/(x*x)-empty*c*(1-c))
		if !(next >= low && next <= high) {
			next = (low + high) / 2
		}
		if math.Abs(next-x) <= 1e-15*x {
			break
		}
		x = next
	}
	rate[0] = x
	return nil
}

// Information is minus the second derivative of LogTotal by λ.
func (Closed) Information(rows numeric.Weighted, rate, zeros []float64, dst *mat.SymDense) {
	c := chance(rate[0], zeros[0])
	dst.SetSym(0, 0, rows.Sums[1]/(rate[0]*rate[0])-rows.Sums[0]*c*(1-c))
}
