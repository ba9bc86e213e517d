package theorems

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// integrate is the trapezoid rule with steps of h from −w to w.
func integrate(f func(x float64) float64, w, h float64) float64 {
	sum := 0.0
	for i := -int(w / h); i <= int(w/h); i++ {
		sum += f(float64(i) * h)
	}
	return sum * h
}

func standardNormal(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// posteriors are exact posteriors of one parameter given X and Z, as log densities in the
// coordinate θ of F; mode is the coordinate of the estimate.
var posteriors = []struct {
	given
	posterior func(n, sum, theta float64) float64
	mode      func(xi float64) float64
}{
	{given{mixture.Model{Family: family.Bernoulli{}}, prior.Beta{A: 2, B: 0.7}, 1, [][]float64{{0, 0, 0, 1, 0}, {1, 1, 0, 1, 1, 1, 1}}},
		func(n, sum, theta float64) float64 {
			if theta < 0 || theta > math.Pi {
				return math.Inf(-1)
			}
			s := math.Sin(theta / 2)
			return prior.Beta{A: 2 + sum, B: 0.7 + n - sum}.LogProb(s*s) + math.Log(math.Sin(theta)/2)
		}, func(p float64) float64 { return 2 * math.Asin(math.Sqrt(p)) }},
	{given{mixture.Model{Family: family.Poisson{}}, prior.Gamma{Shape: 2, Rate: 0.3}, 1, [][]float64{{0, 1, 0, 3}, {9, 4, 7, 8, 6}}},
		func(n, sum, theta float64) float64 {
			return prior.Gamma{Shape: 2 + sum, Rate: 0.3 + n}.LogProb(theta*theta/4) + math.Log(theta/2)
		}, func(lambda float64) float64 { return 2 * math.Sqrt(lambda) }},
	{given{mixture.Model{Family: family.Exponential{}}, prior.Gamma{Shape: 2, Rate: 0.3}, 1, [][]float64{{0.1, 1, 0.4, 3}, {9, 4, 7, 8, 0.6}}},
		func(n, sum, theta float64) float64 {
			return prior.Gamma{Shape: 2 + n, Rate: 0.3 + sum}.LogProb(math.Exp(theta)) + theta
		}, math.Log},
}

// curvatureOf is F of component k alone.
func curvatureOf(t *testing.T, m mixture.Model, s *mixture.Statistics, p *mixture.Parameters, k int) laplace.DirectSum {
	t.Helper()
	var f laplace.Curvature
	f.Reset(s.N, false)
	require.NoError(t, m.Curvature(s, p, &f))
	blocks := f.Blocks()
	each := len(blocks) / p.K
	return laplace.DirectSum(blocks[k*each : (k+1)*each])
}

// TestProposition9: given X and a Z that is not degenerate, √N(Π − Π̂) tends to N(0, F⁻¹) in
// distribution (paper G, Proposition 9): the total variation distance falls like N^−½. Its
// coefficient is that of the first term of Edgeworth's series, ½E|h′x + h‴x³/6| with h the log
// posterior in units of (NF)^−½, so that an F with another factor, or N in the place of N_k,
// would be seen at once. Where the component keeps three rows while N grows, which is what
// degenerate means, the distance does not fall.
func TestProposition9(t *testing.T) {
	for _, c := range posteriors {
		for k := range c.clusters {
			distance := func(copies float64, only bool) (n, tv, predicted, wrong float64) {
				s, p := c.statistics(t)
				own, sum := s.Nk[k], 0.0
				for _, x := range c.clusters[k] {
					sum += x
				}
				best, err := c.model.Maximize(s, p, nil)
				require.NoError(t, err)
				if only { // the other component alone grows
					s.N += (copies - 1) * s.Nk[1-k]
					s.Nk[1-k] *= copies
				} else {
					s.Scale(copies)
					own, sum = own*copies, sum*copies
				}
				f := curvatureOf(t, c.model, s, best, k)
				center, sd := c.mode(best.Components[k]), 1/math.Sqrt(s.N*f.At(0, 0))
				h := func(x float64) float64 { return c.posterior(own, sum, center+sd*x) + math.Log(sd) }
				against := func(scale float64) float64 {
					return integrate(func(x float64) float64 {
						density := math.Exp(h(x))
						if math.IsNaN(density) {
							density = 0 // beyond the range of the parameter
						}
						return math.Abs(density-scale*standardNormal(scale*x)) / 2
					}, 15, 2e-3)
				}
				const e = 0.2
				first, third := (h(e)-h(-e))/(2*e), (h(2*e)-2*h(e)+2*h(-e)-h(-2*e))/(2*e*e*e)
				first -= third * e * e / 6
				predicted = integrate(func(x float64) float64 { return standardNormal(x) * math.Abs(first*x+third*x*x*x/6) / 2 }, 15, 2e-3)
				return s.N, against(1), predicted, against(math.Sqrt(2))
			}
			var n, tv []float64
			var predicted, wrong float64
			for _, copies := range []float64{1, 16, 256, 4096} {
				rows, d, p, w := distance(copies, false)
				n, tv, predicted, wrong = append(n, rows), append(tv, d), p, w
			}
			_, stays, _, _ := distance(4096, true)
			t.Logf("%s, component %d: total variation %s at N = %v, slope %.4f, last/predicted %.4f; with 2F %.3f; with N_k kept %.3f", familyOf(c.model), k+1, list("%.5f", tv), n, decay(n, tv), last(tv)/predicted, wrong, stays)
			assert.InDelta(t, -0.5, decay(n, tv), 0.01)
			assert.InDelta(t, 1, last(tv)/predicted, 0.01)
			assert.Greater(t, wrong, 0.1, "the test has power")
			assert.Greater(t, stays, 5*last(tv))
		}
	}
}

// TestProposition9OfTwoParameters: mean and variance of a normal component together, against
// the two-dimensional normal distribution.
func TestProposition9OfTwoParameters(t *testing.T) {
	g := given{mixture.Model{Family: normal.Family{Covariance: normal.Diagonal}}, prior.NormalInverseGamma{Mean: 1, Kappa: 0.5, Shape: 2, Rate: 3}, 1, [][]float64{{0, 2, 1, 4, 2.5}, {11, 9, 14, 12}}}
	var n, tv []float64
	for _, copies := range []float64{16, 256, 4096} {
		s, p := g.statistics(t)
		s.Scale(copies)
		best, err := g.model.Maximize(s, p, nil)
		require.NoError(t, err)
		f := curvatureOf(t, g.model, s, best, 0)
		mean, variance := best.Components[0], best.Components[1]
		unit := best.Pooled.Parameters[1] // the coordinates are μ/√v and σ²/v of the table's variance v
		rows := s.Nk[0]
		posterior := g.prior.(prior.NormalInverseGamma).Update(rows, mean, rows*variance)
		sdMean, sdVariance := math.Sqrt(unit/(s.N*f.At(0, 0))), unit/math.Sqrt(s.N*f.At(1, 1))
		assert.InDelta(t, 0, f.At(0, 1), 1e-12)
		distance := integrate(func(y float64) float64 {
			return integrate(func(x float64) float64 {
				return math.Abs(math.Exp(posterior.LogProb(mean+sdMean*x, variance+sdVariance*y))*sdMean*sdVariance-standardNormal(x)*standardNormal(y)) / 2
			}, 9, 0.05)
		}, 9, 0.05)
		n, tv = append(n, s.N), append(tv, distance)
	}
	t.Logf("mean and variance: total variation %s at N = %v, slope %.4f", list("%.5f", tv), n, decay(n, tv))
	assert.InDelta(t, -0.5, decay(n, tv), 0.02)
	assert.Less(t, last(tv), 0.02)
}
