package family_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/prior"
)

// conjugates runs a property of the posteriors of every family under each of its priors.
func conjugates(t *testing.T, property func(t *rapid.T, s specimen, c family.CellPrior, h []float64)) {
	conformAll(t, conjugated(), func(t *rapid.T, s specimen, whole []float64) {
		c, h := s.posterior(t, whole, s.draw(t), rapid.Float64Range(-1, 7).Draw(t, "ln rows"))
		property(t, s, c, h)
	})
}

// posterior draws a prior, and adds e^logRows rows' worth of the expectations under xi.
func (s specimen) posterior(t *rapid.T, whole, xi []float64, logRows float64) (family.CellPrior, []float64) {
	c, err := s.conjugate(rapid.SampledFrom(s.priors).Draw(t, "prior"), whole)
	require.NoError(t, err)
	h := make([]float64, 1+s.family.Statistics())
	c.Prior(h)
	mean, n := make([]float64, len(h)-1), math.Exp(logRows)
	s.family.Expect(xi, mean)
	h[0] += n
	floats.AddScaled(h[1:], n, mean)
	return c, h
}

func TestPriorsThatAreNotConjugateAreRefused(t *testing.T) {
	for _, s := range conjugated() {
		whole := s.params()
		for i := range whole {
			whole[i] = 0.3
		}
		for _, p := range s.refused {
			_, err := s.conjugate(p, whole)
			require.Error(t, err, "%s %#v", s.family.Name(), p)
			require.NotContains(t, err.Error(), "\n")
		}
	}
	for _, f := range []complete{family.Poisson{}, family.Exponential{}, family.Gamma{}} {
		_, err := f.(family.ConjugateFamily).Conjugate(prior.Jeffreys{}, []float64{1, 1})
		require.ErrorContains(t, err, "take prior.", f.Name())
	}
}

// ∂LogNorm/∂τ = E[η] and ∂LogNorm/∂ν = −E[ψ], by differences of 4th order.
func TestExpectationsAreTheGradientOfLogNorm(t *testing.T) {
	conjugates(t, func(t *rapid.T, s specimen, c family.CellPrior, h []float64) {
		expected := make([]float64, len(h))
		expected[0] = -c.Expected(h, expected[1:])
		for i, want := range expected {
			step := 1e-4 * max(1e-3, math.Abs(h[i]))
			if s.family.Name() == "gamma" { // as far as the gap of the logarithms reaches
				gap := math.Log(h[1]/h[0]) - h[2]/h[0]
				step = 0.01 * min(1, gap) * []float64{h[0] / max(1, math.Abs(math.Log(h[1]/h[0]))), h[1], h[0]}[i]
			}
			if s.family.Name() == "bernoulli" { // no further back than the prior
				before := make([]float64, len(h))
				c.Prior(before)
				step = min(0.01*min(h[1], h[0]-h[1]), 0.2*min(h[1]-before[1], h[0]-h[1]-before[0]+before[1]))
			}
			at := func(by float64) float64 {
				moved := append([]float64(nil), h...)
				moved[i] += by
				return c.LogNorm(moved)
			}
			slope := (8*(at(step)-at(-step)) - (at(2*step) - at(-2*step))) / (12 * step)
			requireNear(t, want, slope, 1e-6+1e-13*math.Abs(c.LogNorm(h))/step, "h[%d]", i)
		}
	})
}

// The density of ξ is exp(η·τ − νψ − LogNorm) in the natural parameters, with one constant
// for all posteriors of a family.
func TestPosteriorsHaveTheConjugateForm(t *testing.T) {
	conjugates(t, func(t *rapid.T, s specimen, c family.CellPrior, h []float64) {
		for range 3 {
			xi := s.draw(t)
			natural := s.score(xi, h[0], h[1:])
			scale := max(1, math.Abs(natural), math.Abs(c.LogNorm(h)))
			require.InDelta(t, natural-c.LogNorm(h), c.LogProb(h, xi)+s.jacobian(xi), 1e-11*scale)
		}
	})
}

// Before any row, the density is the prior's own.
func TestPriorsAreWhatTheyAreSaidToBe(t *testing.T) {
	three := prior.Concentrations{1, 2, 0.5}
	chances := []float64{0.2, 0.3, 0.5}
	for _, c := range []struct {
		family complete
		prior  prior.Prior
		xi     []float64
		want   float64
	}{
		{family.Poisson{}, prior.Gamma{Shape: 3, Rate: 2}, []float64{0.7}, prior.Gamma{Shape: 3, Rate: 2}.LogProb(0.7)},
		{family.Poisson{}, nil, []float64{0.7}, prior.Gamma{Shape: 1, Rate: 1 / 0.7}.LogProb(0.7)},
		{family.Exponential{}, prior.Gamma{Shape: 3, Rate: 2}, []float64{0.7}, prior.Gamma{Shape: 3, Rate: 2}.LogProb(0.7)},
		{family.Exponential{}, nil, []float64{0.7}, prior.Gamma{Shape: 1, Rate: 1 / 0.7}.LogProb(0.7)},
		{family.Exponential{}, prior.Conjugate{Chi: []float64{3}, Nu: 2}, []float64{0.7}, prior.Gamma{Shape: 3, Rate: 6}.LogProb(0.7)},
		{family.Bernoulli{}, prior.Beta{A: 3, B: 2}, []float64{0.7}, prior.Beta{A: 3, B: 2}.LogProb(0.7)},
		{family.Bernoulli{}, nil, []float64{0.7}, 0},
		{family.Bernoulli{}, prior.Jeffreys{}, []float64{0.7}, prior.Beta{A: 0.5, B: 0.5}.LogProb(0.7)},
		{family.Categorical{Levels: 3}, three, chances, three.LogProb(chances)},
		{family.Multinomial{Categories: 3}, three, chances, three.LogProb(chances)},
		{family.Categorical{Levels: 3}, nil, chances, math.Log(2)},
		{family.Categorical{Levels: 3}, prior.Jeffreys{}, chances, prior.Concentrations{0.5, 0.5, 0.5}.LogProb(chances)},
	} {
		conjugate, err := c.family.(family.ConjugateFamily).Conjugate(c.prior, c.xi)
		require.NoError(t, err)
		h := make([]float64, 1+c.family.Statistics())
		conjugate.Prior(h)
		require.InDelta(t, c.want, conjugate.LogProb(h, c.xi), 1e-12, "%s %v", c.family.Name(), c.prior)
	}
}

// Sums over a fine grid: of the density itself, 1, and of the density times ξ, the mean.
func TestPosteriorsIntegrateToOne(t *testing.T) {
	for _, s := range conjugated() {
		t.Run(s.family.Name(), func(t *testing.T) {
			for i, p := range s.priors {
				xi := []float64{0.5, 0.2, 0.3}[:len(s.params())]
				c, err := s.conjugate(p, xi)
				require.NoError(t, err)
				h, mean, statistics := make([]float64, 1+s.family.Statistics()), s.params(), make([]float64, s.family.Statistics())
				c.Prior(h)
				n := 10 * math.Pow(2, float64(i))
				s.family.Expect(xi, statistics)
				h[0] += n
				floats.AddScaled(h[1:], n, statistics)
				c.Mean(h, mean)
				total, sum := s.integrate(c, h, mean)
				require.InDelta(t, 1, total, 1e-8)
				for j, v := range mean {
					require.InEpsilon(t, v, sum[j], 1e-7)
				}
			}
		})
	}
}

// integrate sums density and density times ξ in the family's chart, around the point that
// belongs to the mean.
func (s specimen) integrate(c family.CellPrior, h, mean []float64) (total float64, sum []float64) {
	var center []float64
	switch len(mean) {
	case 1:
		center = []float64{math.Log(mean[0])}
		if s.family.Name() == "bernoulli" {
			center[0] -= math.Log1p(-mean[0])
		}
	case 2:
		center = []float64{math.Log(mean[0]), math.Log(mean[1] / mean[0])}
	case 3:
		center = []float64{math.Log(mean[0] / mean[2]), math.Log(mean[1] / mean[2])}
	}
	sum = make([]float64, len(mean))
	add := func(y []float64, weight float64) {
		xi, logJacobian := s.chart(y)
		density := weight * math.Exp(c.LogProb(h, xi)+logJacobian)
		total += density
		floats.AddScaled(sum, density, xi)
	}
	if len(center) == 1 {
		for i := -2400; i <= 1000; i++ {
			add([]float64{center[0] + 0.01*float64(i)}, 0.01)
		}
		return total, sum
	}
	for i := -90; i <= 70; i++ {
		for j := -90; j <= 70; j++ {
			add([]float64{center[0] + 0.1*float64(i), center[1] + 0.1*float64(j)}, 0.1*0.1)
		}
	}
	return total, sum
}

// Draws have the mean that Mean says and the expectations of η and ψ that Expected says,
// within 5 standard errors.
func TestDrawsAgreeWithExpectations(t *testing.T) {
	conformAll(t, conjugated(), func(t *rapid.T, s specimen, whole []float64) {
		c, h := s.posterior(t, whole, s.draw(t), rapid.Float64Range(1, 6).Draw(t, "ln rows"))
		agree(t, s, c, h, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3)))
	})
}

func agree(t require.TestingT, s specimen, c family.CellPrior, h []float64, rng *rand.Rand) {
	const draws = 500
	p, statistics := len(s.params()), s.family.Statistics()
	want, xi := make([]float64, p+statistics+1), s.params()
	c.Mean(h, want[:p])
	want[p+statistics] = c.Expected(h, want[p:p+statistics])
	seen := make([][]float64, len(want))
	eta := make([]float64, statistics)
	for range draws {
		c.Rand(h, rng, xi)
		psi := s.family.Natural(xi, eta)
		for i, v := range append(append(append([]float64(nil), xi...), eta...), psi) {
			seen[i] = append(seen[i], v)
		}
	}
	for i, v := range want {
		mean, deviation := stat.MeanStdDev(seen[i], nil)
		require.InDelta(t, v, mean, 5*deviation/math.Sqrt(draws)+1e-12*math.Abs(v), "%d: %v", i, h)
	}
}

func TestModesAreTheHighestPoints(t *testing.T) {
	conformAll(t, conjugated(), func(t *rapid.T, s specimen, whole []float64) {
		c, h := s.posterior(t, whole, s.draw(t), rapid.Float64Range(6, 9).Draw(t, "ln rows"))
		mode := s.params()
		if err := c.Mode(h, mode); err != nil {
			for i := 1; i < len(h) && s.family.Name() != "gamma"; i++ {
				if h[i] < 1 || h[0]-h[i] < 1 { // pseudo-counts below 1 pull to the edge
					return
				}
			}
			require.NoError(t, err)
		}
		best := c.LogProb(h, mode)
		for _, direction := range s.whitened(mode) {
			for _, by := range []float64{1e-3, 0.01, 0.1} {
				for _, by := range []float64{by, -by} {
					moved := s.move(mode, direction, by)
					require.LessOrEqual(t, c.LogProb(h, moved), best+1e-11*math.Abs(h[0]), "%v against %v", moved, mode)
				}
			}
		}
	})
}

// However small a prior's counts, they survive those of the rows.
func TestTinyPriorsSurviveManyRows(t *testing.T) {
	const tiny = 1e-20
	c, err := family.Bernoulli{}.Conjugate(prior.Beta{A: tiny, B: tiny}, []float64{0.5})
	require.NoError(t, err)
	h, eta := make([]float64, 2), make([]float64, 1)
	c.Prior(h)
	h[0], h[1] = h[0]+1e9, h[1]+1e9
	psi := c.Expected(h, eta)
	require.InEpsilon(t, 1/tiny, psi, 1e-9)
	require.InEpsilon(t, 1/tiny, eta[0], 1e-9)
	require.InDelta(t, math.Log(1/tiny), c.LogNorm(h), 1e-9)
	require.False(t, math.IsNaN(c.LogProb(h, []float64{0.5})))
}

// Rows that are equal, few, many or extreme.
func TestGammaPosteriorsAreFiniteWhateverTheRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []float64{1e-3, 1, 100, 1e6} {
		for _, x := range []float64{1e-200, 1e-3, 1, 50, 1e200} {
			for _, spread := range []float64{0, 1e-9, 1e-3, 2, 300} {
				whole := []float64{2, 2 / x}
				c, err := family.Gamma{}.Conjugate(nil, whole)
				require.NoError(t, err)
				h, eta, xi := make([]float64, 3), make([]float64, 2), make([]float64, 2)
				c.Prior(h)
				h[0] += n
				h[1] += n * x
				h[2] += n * (math.Log(x) - spread)
				values := append(eta, c.Expected(h, eta), c.LogNorm(h))
				copy(values, eta)
				c.Rand(h, rng, xi)
				values = append(values, xi...)
				require.NoError(t, c.Mode(h, xi))
				values = append(append(values, xi...), c.LogProb(h, xi))
				for _, v := range values {
					require.Zero(t, v-v, "n %v, x %v, spread %v: %v", n, x, spread, values)
				}
			}
		}
	}
}
