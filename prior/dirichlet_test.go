package prior_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distmv"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/prior"
)

// By mpmath 1.3 with 60 digits.
func TestDirichletAgreesWithLongArithmetic(t *testing.T) {
	for _, c := range []struct {
		a       prior.Concentrations
		logNorm float64
		logs    []float64
	}{
		{prior.Concentrations{1e9, 1e-4}, 9.2082103320503176, []float64{-1.00000000049995e-13, -10021.30031701996}},
		{prior.Concentrations{1e9, 1e9}, -1386294370.2160114, []float64{-0.69314718080994531, -0.69314718080994531}},
		{prior.Concentrations{1e-4, 1e-4}, 9.9034875360891911, []float64{-5000.0001644573523, -5000.0001644573523}},
		{prior.Concentrations{1e-4, 3, 1e9, 0.5}, -62.057707978152826,
			[]float64{-10021.30031702346, -19.800481504848044, -3.5000999956247e-9, -22.686775865967935}},
		{prior.Concentrations{7, 7, 7, 1e6}, -270.38817807978447,
			[]float64{-11.942746722655727, -11.942746722655727, -11.942746722655727, -2.0999790002869956e-5}},
		{prior.Concentrations{1e200, 1e-200}, 460.51701859880914, []float64{0, -1e200}},
		{prior.Concentrations{1e9, 1e8, 1e-4, 2}, -335099747.7568599,
			[]float64{-0.095310181668052132, -2.3978952791620978, -10021.395627201628, -20.395791683015996}},
	} {
		assert.InEpsilon(t, c.logNorm, c.a.LogNorm(), 1e-14, "%v", c.a)
		for i, v := range c.a.ExpectedLog(nil) {
			// ψ of 1e9 less its logarithm is −5e-10, whose last bit is 1e-25.
			assert.InDelta(t, c.logs[i], v, 1e-14*math.Abs(c.logs[i])+1e-25, "%v, %d", c.a, i)
		}
	}
}

// Γ(a+1) = aΓ(a): a count of one in weight i multiplies the integral by E[p_i].
func TestDirichletLogNormGrowsByTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := concentrations(t)
		i := rapid.IntRange(0, len(a)-1).Draw(t, "i")
		more := slices.Clone(a)
		more[i]++
		got := more.LogNorm() - a.LogNorm()
		assert.InDelta(t, math.Log(a.Mean(nil)[i]), got, 1e-14*(10+math.Abs(a.LogNorm())))
	})
}

func concentrations(t *rapid.T) prior.Concentrations {
	logs := rapid.SliceOfN(rapid.Float64Range(-9, 20), 1, 6).Draw(t, "ln a")
	a := make(prior.Concentrations, len(logs))
	for i, v := range logs {
		a[i] = math.Exp(v)
	}
	return a
}

func TestSymmetricDirichletIsTheFullOneOfEqualConcentrations(t *testing.T) {
	for _, alpha := range []float64{1e-4, 0.5, 1, 30, 1e9} {
		for _, n := range []int{1, 2, 7, 1000} {
			d := prior.Dirichlet{Alpha: alpha}
			full := d.Concentrations(n)
			require.Len(t, full, n)
			closeTo(t, full.LogNorm(), d.LogNorm(n), 1e-12, []float64{alpha, float64(n)})
		}
	}
}

func TestDirichletExpectedLogIsTheGradientOfLogNorm(t *testing.T) {
	for _, a := range []prior.Concentrations{{2}, {0.3, 4}, {1, 1, 1}, {0.01, 5, 200}, {30, 0.5, 0.5, 2}} {
		for i, v := range a.ExpectedLog(nil) {
			slope := central(func(x float64) float64 {
				b := slices.Clone(a)
				b[i] = x
				return b.LogNorm()
			}, a[i])
			closeTo(t, v, slope, 1e-9, a)
		}
	}
}

// The density as this package writes it and as gonum does; its integral over the
// triangle of three weights is 1.
func TestDirichletLogProbIsADensity(t *testing.T) {
	for _, a := range []prior.Concentrations{{1, 1, 1}, {2, 3, 4}, {1, 2.5, 9}} {
		p := a.Rand(generator(1), nil)
		closeTo(t, distmv.NewDirichlet(a, nil).LogProb(p), a.LogProb(p), 1e-12, a)

		mass := integral(func(x float64) float64 {
			return integral(func(y float64) float64 {
				return math.Exp(a.LogProb([]float64{x, y, 1 - x - y}))
			}, 0, 1-x, 40)
		}, 0, 1, 40)
		closeTo(t, 1, mass, 1e-6, a) // 2e-7 for {1, 2.5, 9}, which is not smooth at its edge
	}
}

func TestDirichletLogProbAtTheEdgeAndOff(t *testing.T) {
	a := prior.Concentrations{0.5, 2, 1}
	assert.Equal(t, inf, a.LogProb([]float64{0, 0.5, 0.5}))
	assert.Equal(t, -inf, a.LogProb([]float64{0.5, 0, 0.5}))
	assert.Equal(t, -inf, a.LogProb([]float64{0, 0, 1}))
	assert.False(t, math.IsInf(a.LogProb([]float64{0.5, 0.5, 0}), 0))
	for _, p := range [][]float64{{0.5, 0.5, 0.5}, {-0.5, 0.5, 1}, {nan, 0.5, 0.5}, {inf, 0, 0}, {0, 0.1, 0.1}} {
		assert.Equal(t, -inf, a.LogProb(p), "%v", p)
	}
	assert.Panics(t, func() { a.LogProb([]float64{1}) })
}

func TestDirichletModeIsWhereTheDensityIsGreatest(t *testing.T) {
	rng := generator(2)
	for _, a := range []prior.Concentrations{{2, 3, 4}, {1, 2, 1.5}, {1, 1, 1 + 1e-3}, {1e9, 2, 5}, {3}} {
		mode, err := a.Mode(nil)
		require.NoError(t, err)
		closeTo(t, 1, floats.Sum(mode), 1e-15, a)
		peak := a.LogProb(mode)
		other := make([]float64, len(a))
		for range 200 {
			uniform := prior.Dirichlet{Alpha: 1}.Concentrations(len(a)).Rand(rng, nil)
			step := math.Pow(10, -5*rng.Float64())
			floats.AddScaledTo(other, mode, -step, mode)
			floats.AddScaled(other, step, uniform)
			assert.GreaterOrEqual(t, peak+1e-14*max(1, math.Abs(peak), a[0]*20), a.LogProb(other), "%v at %v", a, other)
		}
	}
	for _, a := range []prior.Concentrations{{0.5, 2}, {1, 1, 1}, {nan, 2}} {
		_, err := a.Mode(nil)
		assert.ErrorContains(t, err, "prior: a Dirichlet", "%v", a)
	}
}

func TestDirichletDrawsHaveTheMoments(t *testing.T) {
	const n = 20000
	for i, a := range []prior.Concentrations{{1e-4, 1e-4, 2e-4}, {0.1, 0.7, 1}, {3, 1, 20}, {1e9, 2e9, 1e8}} {
		rng := generator(uint64(10 + i))
		draws := make([][]float64, len(a))
		logs := make([][]float64, len(a))
		p := make([]float64, len(a))
		for range n {
			a.Rand(rng, p)
			require.InDelta(t, 1, floats.Sum(p), 1e-14, "%v", a)
			for j, v := range p {
				draws[j] = append(draws[j], v)
				logs[j] = append(logs[j], math.Log(v))
			}
		}
		mean, expected := a.Mean(nil), a.ExpectedLog(nil)
		for j := range a {
			meanIs(t, mean[j], draws[j], a)
			if a[j] >= 0.1 { // below, weights underflow
				meanIs(t, expected[j], logs[j], a)
			}
		}
	}
}

// Shapes so small that even the logarithms overflow leave one weight, drawn right.
func TestDirichletDrawsOneWeightAtTheEndOfTheRange(t *testing.T) {
	const n = 20000
	a := prior.Concentrations{1e-322, 3e-322}
	rng := generator(20)
	var first []float64
	for range n {
		p := a.Rand(rng, nil)
		require.Equal(t, 1., p[0]+p[1])
		first = append(first, p[0])
	}
	meanIs(t, a[0]/(a[0]+a[1]), first, a)
}

func TestDirichletReusesTheDestination(t *testing.T) {
	a := prior.Concentrations{1, 2, 3}
	dst := make([]float64, 5)
	allocated := testing.AllocsPerRun(10, func() {
		a.ExpectedLog(dst)
		a.Mean(dst)
		_, _ = a.Mode(dst)
		a.LogNorm()
		prior.Dirichlet{Alpha: 2}.LogNorm(3)
	})
	assert.Zero(t, allocated)
	assert.Same(t, &dst[0], &a.Mean(dst)[0])
}
