package family_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	_ "github.com/latent-go/latent/internal/fixedseed"
	"github.com/latent-go/latent/prior"
)

// A complete family implements all optional interfaces, but perhaps [family.ConjugateFamily].
type complete interface {
	family.ExponentialFamily
	family.Expecter
	family.Mover
	family.Deviator
	family.Sampler
}

// specimen is a family with what a test knows of it from elsewhere.
type specimen struct {
	family complete
	// draw draws parameters, x a value of the support.
	draw func(t *rapid.T) []float64
	x    func(t *rapid.T) []float64
	// logProb is ln p(x|ξ) by another route.
	logProb func(xi, x []float64) float64
	outside [][]float64
	priors  []prior.Prior // none: the family has no conjugate prior
	refused []prior.Prior
	// jacobian is ln|∂ξ/∂η| in the free parameters, at ξ.
	jacobian func(xi []float64) float64
	// chart maps the plane, or the line, to parameters, with the logarithm of its Jacobian.
	chart func(y []float64) (xi []float64, logJacobian float64)
	// curved families have fewer parameters than statistics.
	curved bool
}

func specimens() []specimen {
	nan, inf := math.NaN(), math.Inf(1)
	count := func(t *rapid.T) []float64 { return []float64{float64(rapid.IntRange(0, 2000).Draw(t, "count"))} }
	rate := func(t *rapid.T) []float64 { return []float64{math.Exp(rapid.Float64Range(-6, 6).Draw(t, "ln rate"))} }
	positive := func(t *rapid.T) []float64 { return []float64{math.Exp(rapid.Float64Range(-9, 9).Draw(t, "ln x"))} }
	exponent := func(y []float64) ([]float64, float64) { return []float64{math.Exp(y[0])}, y[0] }
	return []specimen{{
		family: family.Poisson{}, draw: rate, x: count,
		logProb:  func(xi, x []float64) float64 { return distuv.Poisson{Lambda: xi[0]}.LogProb(x[0]) },
		outside:  [][]float64{{nan}, {inf}, {-inf}, {-1}, {0.5}, {1 << 60}},
		priors:   []prior.Prior{nil, prior.Gamma{Shape: 0.3, Rate: 2}, prior.Conjugate{Chi: []float64{3}, Nu: 0.5}},
		refused:  []prior.Prior{prior.Jeffreys{}, prior.Beta{A: 1, B: 1}, prior.Gamma{Shape: -1, Rate: 1}, prior.Conjugate{Chi: []float64{-1}, Nu: 1}, prior.Conjugate{Chi: []float64{1, 1}, Nu: 1}, prior.Conjugate{Chi: []float64{1}, Nu: 0}},
		jacobian: func(xi []float64) float64 { return math.Log(xi[0]) },
		chart:    exponent,
	}, {
		family:   family.Bernoulli{},
		draw:     func(t *rapid.T) []float64 { return drawChances(t, 2)[:1] },
		x:        func(t *rapid.T) []float64 { return []float64{float64(rapid.IntRange(0, 1).Draw(t, "x"))} },
		logProb:  func(xi, x []float64) float64 { return distuv.Bernoulli{P: xi[0]}.LogProb(x[0]) },
		outside:  [][]float64{{nan}, {inf}, {-1}, {0.5}, {2}},
		priors:   []prior.Prior{nil, prior.Jeffreys{}, prior.Beta{A: 3, B: 0.4}, prior.Conjugate{Chi: []float64{0.2}, Nu: 2}},
		refused:  []prior.Prior{prior.Gamma{Shape: 1, Rate: 1}, prior.Beta{A: 0, B: 1}, prior.Conjugate{Chi: []float64{1}, Nu: 1}, prior.Conjugate{Chi: []float64{0}, Nu: 1}, prior.DataScaled{}},
		jacobian: func(xi []float64) float64 { return math.Log(xi[0] * (1 - xi[0])) },
		chart: func(y []float64) ([]float64, float64) {
			p := 1 / (1 + math.Exp(-y[0]))
			return []float64{p}, math.Log(p) - y[0] + math.Log(p)
		},
	}, {
		family:   family.Categorical{Levels: 3},
		draw:     func(t *rapid.T) []float64 { return drawChances(t, 3) },
		x:        func(t *rapid.T) []float64 { return []float64{float64(rapid.IntRange(0, 2).Draw(t, "x"))} },
		logProb:  func(xi, x []float64) float64 { return distuv.NewCategorical(xi, nil).LogProb(x[0]) },
		outside:  [][]float64{{nan}, {inf}, {-1}, {0.5}, {3}, {1e300}},
		priors:   []prior.Prior{nil, prior.Jeffreys{}, prior.Dirichlet{Alpha: 3}, prior.Concentrations{1, 2, 0.5}, prior.Conjugate{Chi: []float64{0.2, 0.3, 0.5}, Nu: 2}},
		refused:  []prior.Prior{prior.Gamma{Shape: 1, Rate: 1}, prior.Dirichlet{}, prior.Concentrations{1, 2}, prior.Concentrations{1, 2, 0}, prior.Conjugate{Chi: []float64{0.2, 0.3}, Nu: 2}, prior.Conjugate{Chi: []float64{0.2, 0.3, 0.4}, Nu: 2}, prior.Conjugate{Chi: []float64{0, 0.5, 0.5}, Nu: 2}},
		jacobian: sumOfLogs, chart: simplexChart,
	}, {
		family: family.Indicators{Categorical: family.Categorical{Levels: 3}},
		draw:   func(t *rapid.T) []float64 { return drawChances(t, 3) },
		x: func(t *rapid.T) []float64 {
			x := make([]float64, 3)
			x[rapid.IntRange(0, 2).Draw(t, "x")] = 1
			return x
		},
		logProb:  func(xi, x []float64) float64 { return math.Log(floats.Dot(xi, x) / floats.Sum(xi)) },
		outside:  [][]float64{{inf, 0, 0}, {-1, 1, 1}, {0.5, 0.5, 0}, {1, 1, 0}, {1, nan, 1}, {2, 0, 0}},
		priors:   []prior.Prior{nil, prior.Jeffreys{}, prior.Dirichlet{Alpha: 3}, prior.Concentrations{1, 2, 0.5}},
		refused:  []prior.Prior{prior.Gamma{Shape: 1, Rate: 1}, prior.Concentrations{1, 2}},
		jacobian: sumOfLogs, chart: simplexChart,
	}, {
		family: family.Multinomial{Categories: 3},
		draw:   func(t *rapid.T) []float64 { return drawChances(t, 3) },
		x: func(t *rapid.T) []float64 {
			return []float64{float64(rapid.IntRange(0, 50).Draw(t, "x")), float64(rapid.IntRange(0, 3).Draw(t, "x")), float64(rapid.IntRange(0, 900).Draw(t, "x"))}
		},
		logProb: func(xi, x []float64) float64 { // one category after another
			n, p := floats.Sum(x), xi[0]
			rest := distuv.Binomial{N: n - x[0], P: xi[1] / (xi[1] + xi[2])}.LogProb(x[1])
			return distuv.Binomial{N: n, P: p}.LogProb(x[0]) + rest
		},
		outside:  [][]float64{{nan, 1, 1}, {nan, nan, nan}, {inf, 0, 0}, {1, -1, 1}, {0.5, 0.5, 0}, {1 << 53, 1 << 53, 0}},
		priors:   []prior.Prior{nil, prior.Jeffreys{}, prior.Dirichlet{Alpha: 3}, prior.Concentrations{1, 2, 0.5}},
		refused:  []prior.Prior{prior.Gamma{Shape: 1, Rate: 1}, prior.Concentrations{1, 2}},
		jacobian: sumOfLogs, chart: simplexChart,
	}, {
		family: family.Exponential{}, draw: rate, x: positive,
		logProb:  func(xi, x []float64) float64 { return distuv.Exponential{Rate: xi[0]}.LogProb(x[0]) },
		outside:  [][]float64{{nan}, {inf}, {-inf}, {-1}, {-1e-300}},
		priors:   []prior.Prior{nil, prior.Gamma{Shape: 0.3, Rate: 2}, prior.Conjugate{Chi: []float64{3}, Nu: 0.5}},
		refused:  []prior.Prior{prior.Jeffreys{}, prior.Beta{A: 1, B: 1}, prior.Gamma{Shape: 1e-20, Rate: 1}, prior.Conjugate{Chi: []float64{0}, Nu: 1}, prior.Conjugate{Chi: []float64{1, 1}, Nu: 1}},
		jacobian: func([]float64) float64 { return 0 },
		chart:    exponent,
	}, {
		family: family.Gamma{},
		draw: func(t *rapid.T) []float64 {
			return []float64{math.Exp(rapid.Float64Range(-3, 6).Draw(t, "ln shape")), rate(t)[0]}
		},
		x:        positive,
		logProb:  func(xi, x []float64) float64 { return distuv.Gamma{Alpha: xi[0], Beta: xi[1]}.LogProb(x[0]) },
		outside:  [][]float64{{nan}, {inf}, {-inf}, {-1}, {0}},
		priors:   []prior.Prior{nil, prior.Conjugate{Chi: []float64{3, 1}, Nu: 0.4}, prior.Conjugate{Chi: []float64{1e-3, -9}, Nu: 10}},
		refused:  []prior.Prior{prior.Jeffreys{}, prior.Gamma{Shape: 1, Rate: 1}, prior.Conjugate{Chi: []float64{1}, Nu: 1}, prior.Conjugate{Chi: []float64{1, 0}, Nu: 1}, prior.Conjugate{Chi: []float64{-1, 0}, Nu: 1}, prior.Conjugate{Chi: []float64{1, 0.1}, Nu: 1}},
		jacobian: func([]float64) float64 { return 0 },
		chart: func(y []float64) ([]float64, float64) {
			return []float64{math.Exp(y[0]), math.Exp(y[0] + y[1])}, 2*y[0] + y[1]
		},
	}, {
		family: family.Ordinal{Levels: 4},
		draw: func(t *rapid.T) []float64 {
			return []float64{rapid.Float64Range(0.1, 3.5).Draw(t, "location"), math.Exp(rapid.Float64Range(-1, 1).Draw(t, "ln scale"))}
		},
		x: func(t *rapid.T) []float64 { return []float64{float64(rapid.IntRange(0, 3).Draw(t, "x"))} },
		logProb: func(xi, x []float64) float64 {
			below := func(l float64) float64 {
				return distuv.Logistic{Mu: xi[0], S: xi[1]}.CDF(l + 0.5)
			}
			switch x[0] {
			case 0:
				return math.Log(below(0))
			case 3:
				return math.Log(1 - below(2))
			}
			return math.Log(below(x[0]) - below(x[0]-1))
		},
		outside: [][]float64{{nan}, {inf}, {-1}, {0.5}, {4}, {1e300}},
		curved:  true,
	}}
}

// conjugated are those with conjugate priors.
func conjugated() []specimen {
	return slices.DeleteFunc(specimens(), func(s specimen) bool { return len(s.priors) == 0 })
}

// conjugate is the conjugate prior of such a family.
func (s specimen) conjugate(p prior.Prior, pooled []float64) (family.CellPrior, error) {
	return s.family.(family.ConjugateFamily).Conjugate(p, pooled)
}

func drawChances(t *rapid.T, n int) []float64 {
	p := make([]float64, n)
	for i := range p {
		p[i] = math.Exp(rapid.Float64Range(-4, 4).Draw(t, "ln weight"))
	}
	floats.Scale(1/floats.Sum(p), p)
	return p
}

func sumOfLogs(p []float64) float64 {
	sum := 0.0
	for _, v := range p {
		sum += math.Log(v)
	}
	return sum
}

// simplexChart is p ∝ (e^y₁, e^y₂, 1).
func simplexChart(y []float64) ([]float64, float64) {
	p := []float64{math.Exp(y[0]), math.Exp(y[1]), 1}
	floats.Scale(1/floats.Sum(p), p)
	return p, sumOfLogs(p)
}

// conform runs a property of every family on drawn parameters.
func conform(t *testing.T, property func(t *rapid.T, s specimen, xi []float64)) {
	conformAll(t, specimens(), property)
}

func conformAll(t *testing.T, list []specimen, property func(t *rapid.T, s specimen, xi []float64)) {
	for _, s := range list {
		t.Run(s.family.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { property(t, s, s.draw(t)) })
		})
	}
}

func (s specimen) params() []float64 { return make([]float64, len(s.family.Parameters())) }

// score is η(ξ)·t − n ψ(ξ).
func (s specimen) score(xi []float64, n float64, t []float64) float64 {
	eta := make([]float64, len(t))
	psi := s.family.Natural(xi, eta)
	return floats.Dot(eta, t) - n*psi
}

// move steps from ξ by a multiple of a direction.
func (s specimen) move(xi, direction []float64, by float64) []float64 {
	step, dst := make([]float64, len(direction)), s.params()
	floats.AddScaled(step, by, direction)
	s.family.Move(xi, step, dst)
	return dst
}

// whitened directions are those in which the information is 1: a standard deviation of
// one row each.
func (s specimen) whitened(xi []float64) [][]float64 {
	list, info := make([][]float64, s.family.Free()), make([]float64, s.family.Free())
	s.family.Information(xi, info)
	for i := range list {
		list[i] = make([]float64, len(info))
		list[i][i] = 1 / math.Sqrt(info[i])
	}
	return list
}

// statistics sums T over rows drawn from the family.
func (s specimen) statistics(t require.TestingT, xi []float64, rows int, rng *rand.Rand) (n float64, sum []float64) {
	x, one := make([]float64, s.family.Columns()), make([]float64, s.family.Statistics())
	sum = make([]float64, len(one))
	for range rows {
		s.family.Sample(xi, rng, x)
		e, _, ok := s.family.Observe(x, one)
		require.True(t, ok, "%v", x)
		n += e
		floats.Add(sum, one)
	}
	return n, sum
}

func requireNear(t require.TestingT, want, got, relative float64, msg ...any) {
	require.InDelta(t, want, got, relative*max(1, math.Abs(want)), msg...)
}

func TestDensitiesAreThoseOfOtherSources(t *testing.T) {
	conform(t, func(t *rapid.T, s specimen, xi []float64) {
		x, statistics := s.x(t), make([]float64, s.family.Statistics())
		for i := range statistics {
			statistics[i] = math.NaN() // to be overwritten
		}
		n, base, ok := s.family.Observe(x, statistics)
		require.True(t, ok)
		requireNear(t, s.logProb(xi, x), base+s.score(xi, n, statistics), 1e-12*math.Sqrt(max(1, xi[0])))
	})
}

func TestValuesOutsideTheSupportAreRefused(t *testing.T) {
	for _, s := range specimens() {
		for _, x := range s.outside {
			_, _, ok := s.family.Observe(x, make([]float64, s.family.Statistics()))
			require.False(t, ok, "%s: %v", s.family.Name(), x)
		}
		require.NotEmpty(t, s.family.Support())
	}
	for _, f := range []family.ExponentialFamily{family.Categorical{}, family.Categorical{Levels: 1}, family.Categorical{Levels: -3}, family.Multinomial{Categories: 1}, family.Ordinal{Levels: 2}} {
		x, statistics := make([]float64, f.Columns()), make([]float64, f.Statistics())
		_, _, ok := f.Observe(x, statistics)
		require.False(t, ok)
		require.Contains(t, f.Support(), " or more")
	}
}

func TestRowsWithoutTrialsSayNothing(t *testing.T) {
	statistics := make([]float64, 3)
	n, base, ok := family.Multinomial{Categories: 3}.Observe([]float64{0, 0, 0}, statistics)
	require.True(t, ok)
	require.Equal(t, []float64{0, 0, 0, 0, 0}, append(statistics, n, base))
	nan, three := math.NaN(), family.Indicators{Categorical: family.Categorical{Levels: 3}}
	for _, x := range [][]float64{{0, 0, 0}, {0, nan, 0}, {nan, nan, nan}} {
		n, base, ok = three.Observe(x, statistics)
		require.True(t, ok)
		require.Equal(t, []float64{0, 0, 0, 0, 0}, append(statistics, n, base))
	}
	n, _, ok = three.Observe([]float64{nan, 1, 0}, statistics)
	require.True(t, ok)
	require.Equal(t, []float64{0, 1, 0, 1}, append(statistics, n))
}

// E[T] has the mean-value property: it is where the likelihood of its own expectation is
// stationary, and the estimate from n rows of it is ξ.
func TestEstimatesMatchMeans(t *testing.T) {
	conform(t, func(t *rapid.T, s specimen, xi []float64) {
		mean, estimate := make([]float64, s.family.Statistics()), s.params()
		s.family.Expect(xi, mean)
		for _, direction := range s.whitened(xi) {
			const h = 1e-4
			slope := (s.score(s.move(xi, direction, h), 1, mean) - s.score(s.move(xi, direction, -h), 1, mean)) / (2 * h)
			require.InDelta(t, 0, slope, 1e-7)
		}
		n := math.Exp(rapid.Float64Range(-20, 20).Draw(t, "ln n"))
		floats.Scale(n, mean)
		require.NoError(t, s.family.Estimate(n, mean, estimate))
		for i, v := range xi { // at a shape of 400 the gap of the logarithms is 1e-3, and its digits fewer
			require.InEpsilon(t, v, estimate[i], 1e-11)
		}
	})
}

func TestEstimatesMaximizeTheLikelihoodOfRows(t *testing.T) {
	conform(t, func(t *rapid.T, s specimen, xi []float64) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n, sum := s.statistics(t, xi, 10, rng)
		estimate, mean := s.params(), make([]float64, len(sum))
		require.NoError(t, s.family.Estimate(n, sum, estimate))
		s.family.Expect(estimate, mean)
		for i, v := range sum {
			if !s.curved {
				requireNear(t, v, n*mean[i], 1e-11, "mean-value property")
			}
		}
		best := s.score(estimate, n, sum)
		for _, direction := range s.whitened(estimate) {
			for range 5 {
				by := math.Exp(-8 * rng.Float64())
				for _, by := range []float64{by, -by} {
					require.LessOrEqual(t, s.score(s.move(estimate, direction, by), n, sum), best+1e-12*max(1, math.Abs(best)))
				}
			}
		}
	})
}

// −E[∂² ln p(x|ξ)], by differences of 4th order along and between the coordinates.
func TestInformationIsTheExpectedCurvature(t *testing.T) {
	conform(t, func(t *rapid.T, s specimen, xi []float64) {
		mean := make([]float64, s.family.Statistics())
		s.family.Expect(xi, mean)
		curvature := func(direction []float64) float64 {
			at := func(h float64) float64 {
				plus, minus := s.score(s.move(xi, direction, h), 1, mean), s.score(s.move(xi, direction, -h), 1, mean)
				return -(plus + minus - 2*s.score(xi, 1, mean)) / (h * h)
			}
			const h = 0.004
			return (4*at(h/2) - at(h)) / 3
		}
		directions := s.whitened(xi)
		for i, v := range directions {
			require.InDelta(t, 1, curvature(v), 1e-4)
			for _, w := range directions[:i] {
				both := floats.AddTo(make([]float64, len(v)), v, w)
				require.InDelta(t, 2, curvature(both), 2e-4, "coordinates %d are not orthogonal", i)
			}
		}
	})
}

func TestNoStepGoesNowhere(t *testing.T) {
	conform(t, func(t *rapid.T, s specimen, xi []float64) {
		dst := s.params()
		s.family.Move(xi, make([]float64, s.family.Free()), dst)
		for i, v := range xi {
			require.InEpsilon(t, v, dst[i], 1e-14)
		}
		direction := s.whitened(xi)[0]
		want := s.move(xi, direction, 0.1)
		s.family.Move(dst, floats.ScaleTo(make([]float64, len(direction)), 0.1, direction), dst)
		for i, v := range want {
			require.InEpsilon(t, v, dst[i], 1e-12, "in place")
		}
	})
}

// The covariance of the parameters is J diag(1/nI) Jᵀ, J being Move's Jacobian.
func TestDeviationsAreTheInverseInformation(t *testing.T) {
	conform(t, func(t *rapid.T, s specimen, xi []float64) {
		const n, h = 7.0, 1e-4
		variance := make([]float64, len(xi))
		for _, direction := range s.whitened(xi) {
			plus, minus := s.move(xi, direction, h), s.move(xi, direction, -h)
			for i := range variance {
				variance[i] += math.Pow((plus[i]-minus[i])/(2*h), 2) / n
			}
		}
		deviations := s.params()
		s.family.Deviations(xi, n, deviations)
		for i, v := range variance {
			require.InEpsilon(t, math.Sqrt(v), deviations[i], 1e-6)
		}
	})
}

// A thousand rows estimate the parameters that they were drawn from within 5 of their
// standard errors and 3 %, for the bias of the estimates.
func TestSampledRowsGiveTheParametersBack(t *testing.T) {
	conform(t, func(t *rapid.T, s specimen, xi []float64) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		n, sum := s.statistics(t, xi, 1000, rng)
		estimate, deviations := s.params(), s.params()
		require.NoError(t, s.family.Estimate(n, sum, estimate))
		s.family.Deviations(xi, n, deviations)
		for i, v := range xi {
			require.InDelta(t, v, estimate[i], 5*deviations[i]+0.03*v)
		}
	})
}

// Chances and rates of 0, and chances of 1, have finite scores: what cannot be costs
// about 690 nats.
func TestEdgesOfTheRangeAreFinite(t *testing.T) {
	never := -300 * math.Ln10
	for _, c := range []struct {
		family complete
		xi, x  []float64
		want   float64
	}{
		{family.Poisson{}, []float64{0}, []float64{0}, 0},
		{family.Poisson{}, []float64{0}, []float64{1}, never},
		{family.Bernoulli{}, []float64{0}, []float64{0}, 0},
		{family.Bernoulli{}, []float64{0}, []float64{1}, never},
		{family.Bernoulli{}, []float64{1}, []float64{1}, 0},
		{family.Bernoulli{}, []float64{1}, []float64{0}, never},
		{family.Categorical{Levels: 3}, []float64{0, 1, 0}, []float64{1}, 0},
		{family.Categorical{Levels: 3}, []float64{0, 1, 0}, []float64{0}, never},
		{family.Multinomial{Categories: 2}, []float64{0, 1}, []float64{1, 0}, never},
		{family.Exponential{}, []float64{0}, []float64{1}, never},
		{family.Gamma{}, []float64{1, 0}, []float64{1}, never},
		{family.Gamma{}, []float64{0, 1}, []float64{1}, never - 1},
		{family.Ordinal{Levels: 4}, []float64{2, 1. / 64}, []float64{2}, 0},
		{family.Ordinal{Levels: 4}, []float64{0.5, 1. / 64}, []float64{1}, -math.Ln2},
		{family.Ordinal{Levels: 4}, []float64{1.5, 1e12}, []float64{3}, -math.Ln2},
	} {
		s := specimen{family: c.family}
		statistics := make([]float64, c.family.Statistics())
		n, base, ok := c.family.Observe(c.x, statistics)
		require.True(t, ok)
		require.InDelta(t, c.want, base+s.score(c.xi, n, statistics), 1e-10, "%s %v %v", c.family.Name(), c.xi, c.x)
		c.family.Expect(c.xi, statistics)
		require.False(t, math.IsNaN(floats.Sum(statistics)), c.family.Name())
		rng := rand.New(rand.NewPCG(1, 2))
		c.family.Sample(c.xi, rng, c.x)
		_, _, ok = c.family.Observe(c.x, statistics)
		require.True(t, ok, "%s drew %v", c.family.Name(), c.x)
	}
}

// Parameters outside their range, such as those of a file, have no score: Check refuses
// them.
func TestParametersOutsideTheirRangeHaveNoScore(t *testing.T) {
	for _, c := range []struct {
		family family.ExponentialFamily
		xi     [][]float64
	}{
		{family.Poisson{}, [][]float64{{-1}, {math.NaN()}, {math.Inf(1)}}},
		{family.Bernoulli{}, [][]float64{{-1}, {1.5}, {math.NaN()}}},
		{family.Categorical{Levels: 2}, [][]float64{{0.5, 0.4}, {1.5, -0.5}, {math.NaN(), 0.5}}},
		{family.Multinomial{Categories: 2}, [][]float64{{0.5, 0.4}, {1.5, -0.5}, {math.NaN(), 0.5}}},
		{family.Exponential{}, [][]float64{{-1}, {math.NaN()}, {math.Inf(1)}}},
		{family.Gamma{}, [][]float64{{-1, 1}, {1, -1}, {math.NaN(), 1}, {1, math.NaN()}, {math.Inf(1), 1}, {1, math.Inf(1)}}},
		{family.Ordinal{Levels: 3}, [][]float64{{1, -1}, {1, 0}, {1, math.NaN()}, {math.NaN(), 1}, {1, math.Inf(1)}, {math.Inf(1), 1}}},
	} {
		for _, xi := range c.xi {
			eta := make([]float64, c.family.Statistics())
			sum := c.family.Natural(xi, eta) + floats.Sum(eta)
			require.NotZero(t, sum-sum, "%s %v: %v", c.family.Name(), xi, sum)
		}
	}
}

// Sums may exceed the exposure by rounding.
func TestChancesStayBelowOne(t *testing.T) {
	n := 0.3
	over := math.Nextafter(n, 1)
	xi := make([]float64, 2)
	require.NoError(t, family.Bernoulli{}.Estimate(n, []float64{over}, xi))
	require.Equal(t, 1.0, xi[0])
	require.NoError(t, family.Categorical{Levels: 2}.Estimate(n, []float64{over, -1e-17}, xi))
	require.Equal(t, []float64{1, 0}, xi)
	conform(t, func(t *rapid.T, s specimen, xi []float64) {
		if f := s.family.Name(); f == "gamma" || f == "poisson" || f == "exponential" || f == "ordinal" {
			return
		}
		direction := make([]float64, s.family.Free())
		for i := range direction {
			direction[i] = rapid.Float64Range(-9, 9).Draw(t, "step")
		}
		for _, p := range s.move(xi, direction, 1) {
			require.True(t, p >= 0 && p <= 1, "%v", p)
		}
	})
}

// The sphere's geodesics: the angle between √p and √p′ is half the length of the step, as
// long as the point stays where all coordinates are positive.
func TestCategoricalStepsAreGreatCircles(t *testing.T) {
	f := family.Categorical{Levels: 5}
	s := specimen{family: f}
	rapid.Check(t, func(t *rapid.T) {
		xi := drawChances(t, 5)
		step := make([]float64, 4)
		for i := range step {
			step[i] = rapid.Float64Range(-1, 1).Draw(t, "step")
		}
		floats.Scale(math.Sqrt(floats.Min(xi))/2, step)
		cos := 0.0
		moved := s.move(xi, step, 1)
		for l, p := range moved {
			cos += math.Sqrt(p * xi[l])
		}
		requireNear(t, 1, floats.Sum(moved), 1e-14)
		require.InDelta(t, math.Cos(floats.Norm(step, 2)/2), cos, 1e-14)
	})
}

// Steps add to the coordinates of the gamma distribution, ln(α/β) and 1/α.
func TestGammaStepsAreInItsCoordinates(t *testing.T) {
	s := specimen{family: family.Gamma{}}
	rapid.Check(t, func(t *rapid.T) {
		shape, rate := math.Exp(rapid.Float64Range(-20, 20).Draw(t, "ln shape")), 3.0
		by := rapid.Float64Range(0, 5).Draw(t, "by")
		moved := s.move([]float64{shape, rate}, []float64{0.1, 1}, by)
		require.InDelta(t, math.Log(shape/rate)+0.1*by, math.Log(moved[0]/moved[1]), 1e-12)
		require.InEpsilon(t, 1/shape+by, 1/moved[0], 1e-12)
	})
}

// What has no estimate says so, and so that a fit can lower K.
func TestCollapsedComponentsAreDegenerate(t *testing.T) {
	xi := make([]float64, 2)
	require.ErrorIs(t, family.Exponential{}.Estimate(3, []float64{0}, xi), framework.ErrDegenerate)
	require.ErrorIs(t, family.Exponential{}.Estimate(3, []float64{5e-324}, xi), framework.ErrDegenerate)
	for _, x := range []float64{1e-300, 0.1, 1, 7, 1e9, 1e300} {
		require.ErrorIs(t, family.Gamma{}.Estimate(3, []float64{3 * x, 3 * math.Log(x)}, xi), framework.ErrDegenerate)
	}
	for spread := 1.0; spread > 1e-12; spread /= 3 {
		sum, logs := 0.0, 0.0
		for _, z := range []float64{-1, 0, 1} {
			x := 1e4 * (1 + spread*z/2)
			sum, logs = sum+x, logs+math.Log(x)
		}
		err := family.Gamma{}.Estimate(3, []float64{sum, logs}, xi)
		if spread > 1e-5 {
			require.NoError(t, err, spread)
		}
		if spread < 1e-6 {
			require.ErrorIs(t, err, framework.ErrDegenerate, spread)
		}
		if err == nil {
			eta := make([]float64, 2)
			score := family.Gamma{}.Natural(xi, eta) + floats.Sum(eta)
			require.Zero(t, score-score, "%v: %v", spread, xi)
			require.InEpsilon(t, 1e4, xi[0]/xi[1], 1e-12)
			if spread > 1e-3 {
				continue
			}
			require.InEpsilon(t, 6/(spread*spread), xi[0], 0.01+1e-13*math.Pow(spread, -2), "1/α is the squared coefficient of variation")
		}
	}
}

// Counts of one level, of two neighbours, of the first and the last alone, or of one beside a trace of another,
// have a maximum, as high as that of the categorical family.
func TestOrdinalEstimatesAtTheEdges(t *testing.T) {
	f := family.Ordinal{Levels: 5}
	for _, counts := range [][]float64{
		{7, 0, 0, 0, 0}, {0, 0, 7, 0, 0}, {0, 0, 0, 0, 7}, {0, 3, 4, 0, 0}, {0, 0, 0, 1, 500}, {2, 0, 0, 0, 9},
		{1, 1e-300, 0, 0, 0}, {1e-300, 1, 0, 0, 0}, {0, 0, 1e-18, 1, -1e-17}, {5, 0, 0, 0, 1e-200},
		{3, 0, 0, 0, 1}, {1, 0, 0, 0, 9}, {4.5, 0, 0, 0, 0.5}, {0.5, 0, 0, 0, 4.5},
	} {
		n, best := floats.Sum(counts), 0.0
		for _, v := range counts {
			if v > 0 {
				best += v * math.Log(v/n)
			}
		}
		xi, eta := make([]float64, 2), make([]float64, 5)
		require.NoError(t, f.Estimate(n, counts, xi))
		require.Zero(t, f.Natural(xi, eta))
		require.InDelta(t, best, floats.Dot(eta, counts), 1e-9, "%v: %v", counts, xi)
		direction := make([]float64, 2)
		for _, direction[0] = range []float64{-1, 0, 1} {
			f.Move(xi, direction, xi)
			require.False(t, math.IsNaN(f.Natural(xi, eta)+floats.Sum(eta)), "%v", xi)
		}
	}
}

func TestFamiliesDoNotAllocate(t *testing.T) {
	for _, s := range specimens() {
		f := s.family
		xi, estimate, x, statistics := s.params(), s.params(), make([]float64, f.Columns()), make([]float64, f.Statistics())
		for i := range xi {
			xi[i] = 1 / float64(len(xi)+1)
		}
		for i := range x {
			x[i] = 1
		}
		require.Zero(t, testing.AllocsPerRun(10, func() {
			f.Observe(x, statistics)
			f.Natural(xi, statistics)
			f.Expect(xi, statistics)
			_ = f.Estimate(1, statistics, estimate)
		}), f.Name())
	}
	for _, s := range conjugated() {
		xi, statistics, h := s.params(), make([]float64, s.family.Statistics()), make([]float64, 1+s.family.Statistics())
		for i := range xi {
			xi[i] = 1 / float64(len(xi)+1)
		}
		c, err := s.conjugate(nil, xi)
		require.NoError(t, err)
		c.Prior(h)
		require.Zero(t, testing.AllocsPerRun(10, func() {
			c.Expected(h, statistics)
			c.LogNorm(h)
		}), s.family.Name())
	}
}
