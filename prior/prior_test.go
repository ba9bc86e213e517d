package prior_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat"

	_ "github.com/latent-go/latent/internal/fixedseed"
	"github.com/latent-go/latent/prior"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

// closeTo holds got to want, within tolerance times the larger of |want| and 1.
func closeTo(t *testing.T, want, got, tolerance float64, name any) {
	t.Helper()
	assert.InDelta(t, want, got, tolerance*max(1, math.Abs(want)), "%v", name)
}

// central differentiates f at x by five points, with step relative to x.
func central(f func(float64) float64, x float64) float64 {
	const step = 1e-3
	five := fd.Formula{
		Stencil:    []fd.Point{{Loc: -2, Coeff: 1. / 12}, {Loc: -1, Coeff: -8. / 12}, {Loc: 1, Coeff: 8. / 12}, {Loc: 2, Coeff: -1. / 12}},
		Derivative: 1, Step: step,
	}
	return fd.Derivative(f, x, &fd.Settings{Formula: five, Step: step * x})
}

// integral is a Gauss–Legendre rule of n points.
func integral(f func(float64) float64, low, high float64, n int) float64 {
	return quad.Fixed(f, low, high, n, nil, 0)
}

// meanIs holds the mean of draws to want, within five standard errors as estimated
// from the draws; it returns how many it is off.
func meanIs(t *testing.T, want float64, draws []float64, name any) {
	t.Helper()
	mean, deviation := stat.MeanStdDev(draws, nil)
	off := (mean - want) / (deviation / math.Sqrt(float64(len(draws))))
	assert.LessOrEqual(t, math.Abs(off), 5., "%v: mean %v, want %v", name, mean, want)
}

func generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(2011, seed)) }

func TestCheckRefusesWhatNoDistributionHasAndNamesIt(t *testing.T) {
	wishart := func(change func(p *prior.NormalInverseWishart)) prior.NormalInverseWishart {
		p := prior.NormalInverseWishart{Mean: []float64{1, 2}, Kappa: 1, Nu: 2, Scale: []float64{2, 1, 1, 2}}
		change(&p)
		return p
	}
	for _, c := range []struct {
		p    prior.Prior
		says string // "" accepts
	}{
		{prior.Dirichlet{Alpha: 1e-4}, ""},
		{prior.Dirichlet{}, "Dirichlet.Alpha is 0"},
		{prior.Dirichlet{Alpha: nan}, "Dirichlet.Alpha is NaN"},
		{prior.Dirichlet{Alpha: inf}, "Dirichlet.Alpha is +Inf"},
		{prior.Concentrations{1e-4, 1e9}, ""},
		{prior.Concentrations(nil), "empty"},
		{prior.Concentrations{1, -2}, "Concentrations[1] is -2"},
		{prior.Concentrations{1, nan}, "Concentrations[1] is NaN"},
		{prior.Concentrations{1e308, 1e308}, "sum"},
		{prior.Beta{A: 0.5, B: 0.5}, ""},
		{prior.Beta{B: 1}, "Beta.A is 0"},
		{prior.Beta{A: 1, B: inf}, "Beta.B is +Inf"},
		{prior.Beta{A: 1e308, B: 1e308}, "Beta.A + Beta.B is +Inf"},
		{prior.Gamma{Shape: 1, Rate: 1}, ""},
		{prior.Gamma{Rate: 1}, "Gamma.Shape is 0"},
		{prior.Gamma{Shape: 1, Rate: -1}, "Gamma.Rate is -1"},
		{prior.NormalInverseGamma{Kappa: 1, Shape: 1, Rate: 1}, ""},
		{prior.NormalInverseGamma{Mean: nan, Kappa: 1, Shape: 1, Rate: 1}, "NormalInverseGamma.Mean is NaN"},
		{prior.NormalInverseGamma{Shape: 1, Rate: 1}, "NormalInverseGamma.Kappa is 0"},
		{prior.NormalInverseGamma{Kappa: 1, Rate: 1}, "NormalInverseGamma.Shape is 0"},
		{prior.NormalInverseGamma{Kappa: 1, Shape: 1}, "NormalInverseGamma.Rate is 0"},
		{wishart(func(p *prior.NormalInverseWishart) {}), ""},
		{prior.NormalInverseWishart{Kappa: 1, Nu: 1}, "Scale has 0 entries and Mean 0"},
		{wishart(func(p *prior.NormalInverseWishart) { p.Scale = p.Scale[:3] }), "Scale has 3 entries and Mean 2"},
		{wishart(func(p *prior.NormalInverseWishart) { p.Kappa = 0 }), "Kappa is 0"},
		{wishart(func(p *prior.NormalInverseWishart) { p.Nu = 1 }), "Nu is 1: 2 columns need more than 1"},
		{wishart(func(p *prior.NormalInverseWishart) { p.Nu = nan }), "Nu is NaN"},
		{wishart(func(p *prior.NormalInverseWishart) { p.Mean[1] = inf }), "Mean is +Inf: give a finite number at column 1"},
		{wishart(func(p *prior.NormalInverseWishart) { p.Scale[2] = nan }), "Scale is NaN: give a finite number at row 1, column 0"},
		{wishart(func(p *prior.NormalInverseWishart) { p.Scale[2] = 0 }), "not symmetric: 1 at row 0, column 1, but 0"},
		{wishart(func(p *prior.NormalInverseWishart) { p.Scale[0] = 0.4 }), "not positive definite"},
		{wishart(func(p *prior.NormalInverseWishart) { p.Scale[0] = -2 }), "not positive definite"},
		{prior.DataScaled{}, ""},
		{prior.DataScaled{Kappa: -1}, "DataScaled.Kappa is -1"},
		{prior.DataScaled{Nu: nan}, "DataScaled.Nu is NaN"},
		{prior.Conjugate{Chi: []float64{-1, 2}, Nu: 3}, ""},
		{prior.Conjugate{Chi: []float64{1}}, "Conjugate.Nu is 0"},
		{prior.Conjugate{Nu: 1}, "Conjugate.Chi is empty"},
		{prior.Conjugate{Chi: []float64{1, nan}, Nu: 1}, "Conjugate.Chi is NaN: give a finite number at statistic 1"},
		{prior.Conjugate{Chi: []float64{1e300}, Nu: 1e300}, "Conjugate.Nu times Chi is +Inf"},
		{prior.Jeffreys{}, ""},
	} {
		err := c.p.Check()
		if c.says == "" {
			assert.NoError(t, err)
			continue
		}
		require.Error(t, err, "%+v", c.p)
		assert.ErrorContains(t, err, c.says)
		assert.Regexp(t, "^prior: [^\n]*$", err.Error())
	}
}

// √det of the Fisher information: 1/√(p(1−p)) of a Bernoulli chance, Π p_i^−½ of the
// chances of three values.
func TestJeffreysIsTheRootOfTheFisherInformation(t *testing.T) {
	beta := prior.Jeffreys{}.Beta()
	dirichlet := prior.Jeffreys{}.Dirichlet().Concentrations(3)
	constant := func(p []float64) float64 {
		return dirichlet.LogProb(p) + math.Log(p[0]*p[1]*p[2])/2
	}
	for _, p := range []float64{1e-9, 0.1, 0.5, 0.7} {
		closeTo(t, -math.Log(math.Pi), beta.LogProb(p)+math.Log(p*(1-p))/2, 1e-13, p)
		closeTo(t, -math.Log(2*math.Pi), constant([]float64{p, (1 - p) / 3, (1 - p) * 2 / 3}), 1e-13, p)
	}
}
