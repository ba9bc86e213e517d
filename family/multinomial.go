package family

import (
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/prior"
)

// Multinomial describes groups of at least 2 neighbouring columns, the numbers of a row's trials in each category: ln
// p(x|p) = ln(n!/Πx_l!) + Σ_l x_l ln p_l. The number of trials n, the row's total, is given, not described, and is the
// exposure: the weight of a row is its number of trials, and a row of zeros has no influence. The parameters and the
// coordinates, with a trial as unit, are those of [Categorical].
type Multinomial struct{ Categories int }

// Name is "multinomial".
func (Multinomial) Name() string { return "multinomial" }

// Columns is the number of categories.
func (f Multinomial) Columns() int { return f.Categories }

// On makes the groups of columns independent.
func (f Multinomial) On(columns int) ([]Factor, error) { return Independent(f, columns) }

// Repeats is true: rows are often equal.
func (Multinomial) Repeats() bool { return true }

// Support describes the valid values.
func (f Multinomial) Support() string {
	if f.Categories < 2 {
		return fmt.Sprintf("nothing with %d categories: set Categories to 2 or more", f.Categories)
	}
	return fmt.Sprintf("groups of %d columns of counts 0, 1, 2, …", f.Categories)
}

// Statistics is the number of categories: T(x) = x.
func (f Multinomial) Statistics() int { return f.Categories }

// Observe takes the counts of a row; their total is at most 2⁵³.
func (f Multinomial) Observe(x, t []float64) (exposure, base float64, ok bool) {
	for l, v := range x {
		if !isCount(v) {
			return 0, 0, false
		}
		t[l] = v
		exposure += v
		base -= logFactorial(v)
	}
	if f.Categories < 2 || !isCount(exposure) {
		return 0, 0, false
	}
	return exposure, base + logFactorial(exposure), true
}

// categorical is one trial.
func (f Multinomial) categorical() Categorical { return Categorical{f.Categories} }

// Parameters are the probabilities of the categories.
func (f Multinomial) Parameters() []string { return numbered("category", 1, f.Categories) }

// Free is the number of categories less 1.
func (f Multinomial) Free() int { return f.categorical().Free() }

// Estimate is the share of each category.
func (f Multinomial) Estimate(n float64, t, xi []float64) error {
	return f.categorical().Estimate(n, t, xi)
}

// Natural is η = ln p, ψ = 0; NaN if p are not probabilities that sum to 1.
func (f Multinomial) Natural(xi, eta []float64) float64 { return f.categorical().Natural(xi, eta) }

// Expect is p: the counts of one trial.
func (f Multinomial) Expect(xi, t []float64) { f.categorical().Expect(xi, t) }

// Information is the identity, for each trial.
func (f Multinomial) Information(xi, diag []float64) { f.categorical().Information(xi, diag) }

// Move is that of [Categorical].
func (f Multinomial) Move(xi, step, dst []float64) { f.categorical().Move(xi, step, dst) }

// Deviations is √(p(1−p)/n) after n trials.
func (f Multinomial) Deviations(xi []float64, n float64, dst []float64) {
	f.categorical().Deviations(xi, n, dst)
}

// Sample draws the counts of a single trial: the number of trials is given.
func (f Multinomial) Sample(xi []float64, rng *rand.Rand, x []float64) {
	clear(x)
	x[categorical.Draw(xi, rng)] = 1
}

// Conjugate takes the priors of [Categorical].
func (f Multinomial) Conjugate(p prior.Prior, _ []float64) (CellPrior, error) {
	return dirichletOf(p, f, f.Categories)
}
