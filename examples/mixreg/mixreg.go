// Package mixreg is a mixture of linear regressions: rows (y, x) of which each follows one of K lines (DeSarbo & Cron
// 1988, Journal of Classification 5, 249–282),
//
//	p(y|x, z=k) = N(y | b_k0 + b_kᵀx, s_k).
//
// It begins with the log density ([Density]), and adds one closed form after the other: the gradient ([WithGradient]),
// the weighted least squares of the global step ([WithEstimate]), the information ([WithInformation]) and sums in place
// of the rows ([WithSums]). The answer stays the same, and the test measures what each saves.
package mixreg

import (
	"math"

	"github.com/latent-go/latent/framework/numeric"
)

// Density is a regression of the first column on the others. ξ are the coefficients, the intercept first, and the
// variance.
type Density struct{}

// Layout has as many coefficients as the table has columns.
func (Density) Layout(columns int) numeric.Layout {
	return numeric.Layout{
		Component: []numeric.Parameter{numeric.Real("coefficients", columns), numeric.Positive("variance", 1)},
	}
}

// residual is y − b₀ − bᵀx.
func residual(row, xi []float64) float64 {
	r := row[0] - xi[0]
	for j, x := range row[1:] {
		r -= xi[1+j] * x
	}
	return r
}

// LogProb is ln N(y | b₀ + bᵀx, s).
func (Density) LogProb(row, xi, _ []float64) float64 {
	r, s := residual(row, xi), xi[len(row)]
	return -(math.Log(2*math.Pi*s) + r*r/s) / 2
}

// WithGradient adds the gradient of LogProb.
type WithGradient struct{ Density }

// Gradient is (r/s)(1, x) and (r²/s − 1)/(2s).
func (WithGradient) Gradient(row, xi, _, dXi, _ []float64) {
	r, s := residual(row, xi), xi[len(row)]
	dXi[0] = r / s
	for j, x := range row[1:] {
		dXi[1+j] = r / s * x
	}
	dXi[len(row)] = (r*r/s - 1) / (2 * s)
}
