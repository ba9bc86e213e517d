package vbmf

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework/blocks"
	_ "github.com/latent-go/latent/internal/fixedseed"
)

var background = context.Background()

func normal(rng *rand.Rand, r, c int) *mat.Dense {
	x := mat.NewDense(r, c, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = rng.NormFloat64()
	}
	return x
}

// artificial is BAᵀ + E with standard normal entries of all three (paper N, section 4.2).
func artificial(l, m, rank int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 7))
	y := normal(rng, l, m)
	var u mat.Dense
	u.Mul(normal(rng, l, rank), normal(rng, m, rank).T())
	y.Add(y, &u)
	return y
}

func table(t require.TestingT, y mat.Matrix) *blocks.Table {
	tab, err := blocks.FromMatrix(y)
	require.NoError(t, err)
	return tab
}

func solve(t require.TestingT, y mat.Matrix, o Options) *Solution {
	s, err := Solve(background, table(t, y), o)
	require.NoError(t, err)
	return s
}

// eq13 is the free energy of paper N, eq. 13, with its constants, from matrices.
func eq13(y mat.Matrix, p *Posterior) float64 {
	l, m := y.Dims()
	h := p.CovA.SymmetricDim()
	second := func(x *mat.Dense, n int, cov *mat.SymDense) *mat.Dense {
		var s, c mat.Dense
		s.Mul(x.T(), x)
		c.Scale(float64(n), cov)
		s.Add(&s, &c)
		return &s
	}
	aa, bb := second(p.A, m, p.CovA), second(p.B, l, p.CovB)
	trace := func(c *mat.SymDense, s *mat.Dense) float64 {
		var chol mat.Cholesky
		if !chol.Factorize(c) {
			return math.NaN()
		}
		var x mat.Dense
		if chol.SolveTo(&x, s) != nil {
			return math.NaN()
		}
		return mat.Trace(&x)
	}
	logDet := func(c *mat.SymDense) float64 { v, _ := mat.LogDet(c); return v }
	var cross, both mat.Dense
	cross.Product(p.A.T(), y.T(), p.B)
	both.Mul(aa, bb)
	lf, mf := float64(l), float64(m)
	norm := mat.Norm(y, 2)
	return 0.5*lf*mf*math.Log(2*math.Pi*p.Noise) + (norm*norm-2*mat.Trace(&cross)+mat.Trace(&both))/(2*p.Noise) +
		mf/2*(logDet(p.PriorA)-logDet(p.CovA)) + lf/2*(logDet(p.PriorB)-logDet(p.CovB)) -
		0.5*float64(h)*(lf+mf) + 0.5*trace(p.PriorA, aa) + 0.5*trace(p.PriorB, bb)
}

// stationary measures how far a posterior is from eqs. 6 and 7, relatively.
func stationary(t require.TestingT, y mat.Matrix, p *Posterior) float64 {
	worst := 0.0
	step := func(a, b *mat.Dense, covA, covB, priorA *mat.SymDense, y mat.Matrix, l int) {
		var precision, c, cov, mean, diff mat.Dense
		precision.Mul(b.T(), b)
		c.Scale(float64(l), covB)
		precision.Add(&precision, &c)
		precision.Scale(1/p.Noise, &precision)
		var prior mat.Dense
		require.NoError(t, prior.Inverse(priorA))
		precision.Add(&precision, &prior)
		require.NoError(t, cov.Inverse(&precision))
		diff.Sub(&cov, covA)
		worst = max(worst, mat.Norm(&diff, 2)/mat.Norm(&cov, 2))
		mean.Product(y.T(), b, &cov)
		mean.Scale(1/p.Noise, &mean)
		diff.Reset()
		diff.Sub(&mean, a)
		worst = max(worst, mat.Norm(&diff, 2)/(mat.Norm(&mean, 2)+math.Sqrt(mat.Norm(&cov, 2))))
	}
	l, m := y.Dims()
	step(p.A, p.B, p.CovA, p.CovB, p.PriorA, y, l)
	step(p.B, p.A, p.CovB, p.CovA, p.PriorB, y.T(), m)
	return worst
}

// TestClosedFormsAreThoseOfThePaper: the quartic (Corollary 1) against the closed form, and
// Corollary 2 against its own, over sizes, noise and singular values on both sides of
// the thresholds.
func TestClosedFormsAreThoseOfThePaper(t *testing.T) {
	dropped, held := 0, 0
	for _, size := range [][2]int{{1, 1}, {1, 7}, {5, 5}, {3, 40}, {40, 3}, {36, 6435}, {100, 300}, {1000, 1000}} {
		l, m := size[0], size[1]
		for _, noise := range []float64{1e-8, 0.3, 4, 1e6} {
			sigma := math.Sqrt(noise)
			edge := EmpiricalThreshold(l, m, noise)
			for _, factor := range []float64{0.1, 0.9, 1 - 1e-6, 1 + 1e-6, 1.001, 1.1, 2, 10, 1e3} {
				gamma := edge * factor
				want, _, delta := empiricalCorollary2(gamma, l, m, noise)
				got := EmpiricalShrink(gamma, l, m, noise)
				assert.InDelta(t, want, got, 1e-9*gamma, "empirical %d×%d σ²=%g γ=%g Δ=%g", l, m, noise, gamma, delta)
				assert.Equal(t, factor > 1, got > 0)
				for _, c := range []float64{1e-3, 0.1, 1, 30} {
					c2 := c * noise
					threshold := Threshold(l, m, noise, c2)
					gamma := threshold * factor
					want, got := shrinkQuartic(gamma, l, m, noise, c2), Shrink(gamma, l, m, noise, c2)
					assert.InDelta(t, want, got, 1e-9*gamma, "given %d×%d σ²=%g c²=%g γ=%g", l, m, noise, c2, gamma)
					assert.Equal(t, got, Shrink(gamma, m, l, noise, c2), "sides exchanged")
					assert.Less(t, got, gamma)
					if got > 0 {
						held++
					} else {
						dropped++
					}
				}
			}
			assert.GreaterOrEqual(t, edge, (math.Sqrt(float64(l))+math.Sqrt(float64(m)))*sigma)
		}
	}
	assert.Greater(t, dropped, 100)
	assert.Greater(t, held, 100)
}

// TestShrinkageBeginsAtTheThreshold: just above it something is left, and hardly anything; there
// (γ − Lσ²/γ)(γ − Mσ²/γ) is σ⁴/c², which makes the last term of Corollary 1's quartic 0.
func TestShrinkageBeginsAtTheThreshold(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 7}, {5, 5}, {3, 40}, {40, 3}, {100, 300}} {
		l, m := size[0], size[1]
		for _, noise := range []float64{1e-8, 0.3, 1e6} {
			for _, c := range []float64{0.01, 1, 30} {
				c2 := c * noise
				gamma := Threshold(l, m, noise, c2)
				above := Shrink(gamma*(1+1e-6), l, m, noise, c2)
				assert.Positive(t, above)
				assert.Less(t, above, 1e-5*gamma, "%d×%d σ²=%g c²=%g", l, m, noise, c2)
				left := (gamma - float64(l)*noise/gamma) * (gamma - float64(m)*noise/gamma)
				assert.InEpsilon(t, noise*noise/c2, left, 1e-8)
			}
		}
	}
}

// TestPosteriorIsCorollary3: lengths and variances against the formulas as printed.
func TestPosteriorIsCorollary3(t *testing.T) {
	for _, size := range [][2]int{{3, 8}, {6, 6}, {10, 200}} {
		l, m := float64(size[0]), float64(size[1])
		for _, p := range []Prior{{0.5, 2}, {3, 0.1}, {1, 1}} {
			for _, noise := range []float64{0.2, 2} {
				edge := Threshold(size[0], size[1], noise, p.A*p.B)
				for _, gamma := range []float64{0.3 * edge, 0.99 * edge, 1.01 * edge, 3 * edge, 20 * edge} {
					c := newComponent(gamma, size[0], size[1], noise, p)
					ac, bc := math.Sqrt(p.A), math.Sqrt(p.B)
					shrunk := Shrink(gamma, size[0], size[1], noise, p.A*p.B)
					lack := (m - l) * (gamma - shrunk)
					delta := (lack + math.Sqrt(lack*lack+4*noise*noise*l*m/(p.A*p.B))) / (2 * noise * m / p.A)
					var eta2 float64
					if gamma > edge {
						eta2 = (1 - noise*l/gamma/gamma) * (1 - noise*m/gamma/gamma) * gamma * gamma
					} else {
						eta2 = noise * noise / (ac * ac * bc * bc)
					}
					d := noise * (m - l)
					va := (-(eta2 - d) + math.Sqrt((eta2-d)*(eta2-d)+4*m*noise*eta2)) / (2 * m * (shrunk/delta + noise/p.A))
					vb := (-(eta2 + d) + math.Sqrt((eta2+d)*(eta2+d)+4*l*noise*eta2)) / (2 * l * (shrunk*delta + noise/p.B))
					name := fmt.Sprint(size, p, noise, gamma)
					assert.InEpsilon(t, va, c.VarA, 1e-8, name)
					assert.InEpsilon(t, vb, c.VarB, 1e-8, name)
					assert.InDelta(t, math.Sqrt(shrunk*delta), c.A, 1e-8*gamma, name)
					assert.InDelta(t, math.Sqrt(shrunk/delta), c.B, 1e-8*gamma, name)
				}
			}
		}
	}
}

// TestSolutionIsStationaryAndItsEnergyIsEq13: for estimated and given, independent and
// correlated priors, tall, wide and square.
func TestSolutionIsStationaryAndItsEnergyIsEq13(t *testing.T) {
	ranks := 0
	for seed, size := range [][3]int{{6, 9, 2}, {9, 6, 2}, {7, 7, 3}, {4, 30, 1}, {1, 12, 1}, {12, 1, 1}} {
		y := artificial(size[0], size[1], size[2], uint64(seed))
		y.Scale(3, y)
		h := min(size[0], size[1], 4)
		rng := rand.New(rand.NewPCG(9, uint64(seed)))
		covariance := func() *mat.SymDense {
			x := normal(rng, h+2, h)
			c := mat.NewSymDense(h, nil)
			c.SymOuterK(1, x.T())
			return c
		}
		ca, cb := covariance(), covariance()
		for _, noise := range []float64{0, 2} {
			s := solve(t, y, Options{Noise: noise})
			if s.Rank > 0 {
				ranks++
				assert.InDelta(t, eq13(y, s.posterior()), s.FreeEnergy, 1e-9*math.Abs(s.FreeEnergy), "empirical %v", size)
				assert.Less(t, stationary(t, y, s.posterior()), 1e-9)
			}

			var priors []Prior
			for range h {
				priors = append(priors, Prior{0.2 + rng.Float64(), 0.2 + 3*rng.Float64()})
			}
			s = solve(t, y, Options{Noise: noise, Priors: priors})
			assert.InDelta(t, eq13(y, s.posterior()), s.FreeEnergy, 1e-9*math.Abs(s.FreeEnergy), "given %v", size)
			assert.Less(t, stationary(t, y, s.posterior()), 1e-9)

			p, err := SolveCorrelated(background, table(t, y), ca, cb, nil, noise)
			require.NoError(t, err)
			assert.InDelta(t, eq13(y, p), p.FreeEnergy, 1e-9*math.Abs(p.FreeEnergy), "correlated %v", size)
			assert.Less(t, stationary(t, y, p), 1e-8)
			assert.Equal(t, ca, p.PriorA)
		}
	}
	assert.Greater(t, ranks, 6)
}

// scan is the least free energy over a fine grid of σ², from Corollary 2 alone.
func scan(s *Spectrum, points int) (noise, energy float64, minima int) {
	l, m := float64(s.L), float64(s.M)
	mean := s.Energy / l / m
	energy = math.Inf(1)
	f := func(v float64) float64 {
		f := l*m*math.Log(2*math.Pi*v) + s.Energy/v
		for _, g := range s.Values {
			if g == 0 {
				break
			}
			if shrunk, _, delta := empiricalCorollary2(g, s.L, s.M, v); shrunk > 0 {
				f += delta
			}
		}
		return f / 2
	}
	before, here := math.Inf(1), f(mean*1e-8)
	for i := 1; i <= points; i++ {
		v := mean * math.Pow(1e-8, 1-float64(i)/float64(points)) * math.Pow(1.5, float64(i)/float64(points))
		next := f(v)
		if here < before && here <= next {
			minima++
		}
		if next < energy {
			noise, energy = v, next
		}
		before, here = here, next
	}
	return noise, energy, minima
}

// TestNoiseIsTheGlobalMinimum against a scan of σ², on random spectra, many of which have
// several local minima.
func TestNoiseIsTheGlobalMinimum(t *testing.T) {
	several := 0
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.IntRange(1, 12).Draw(t, "L")
		m := l + rapid.IntRange(0, 60).Draw(t, "more")
		s := &Spectrum{L: l, M: m}
		value := 1.0
		for range l {
			value *= rapid.SampledFrom([]float64{1, 0.99, 0.9, 0.7, 0.3, 0.05}).Draw(t, "ratio")
			s.Values = append(s.Values, value)
			s.Energy += value * value
		}
		got, err := s.Solve(Options{})
		require.NoError(t, err)
		noise, energy, minima := scan(s, 8000)
		rounding := 1e-9*math.Abs(energy) + 1e-14*s.Energy/noise // that of the scan
		require.Less(t, got.FreeEnergy, energy+rounding, "σ² %v, scanned %v", got.Noise, noise)
		if got.Noise > 2e-8*s.Energy/float64(l*m) { // else beyond the scan, where Corollary 2 as printed cancels
			require.Greater(t, got.FreeEnergy, energy-1e-3*float64(l*m), "σ² %v, scanned %v", got.Noise, noise)
		}
		if minima > 1 {
			several++
		}
	})
	t.Logf("%d spectra had several local minima", several)
	assert.Positive(t, several)
}

// TestGivenPriorsNoiseIsTheGlobalMinimum likewise.
func TestGivenPriorsNoiseIsTheGlobalMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.IntRange(1, 6).Draw(t, "L")
		m := l + rapid.IntRange(0, 20).Draw(t, "more")
		s := &Spectrum{L: l, M: m}
		value := 1.0
		var priors []Prior
		for range l {
			value *= rapid.SampledFrom([]float64{1, 0.9, 0.7, 0.3, 0.05}).Draw(t, "ratio")
			s.Values = append(s.Values, value)
			s.Energy += value * value
			priors = append(priors, Prior{1, rapid.SampledFrom([]float64{1e-4, 0.01, 0.1, 1}).Draw(t, "c²")})
		}
		got, err := s.Solve(Options{Priors: priors})
		require.NoError(t, err)
		energy := math.Inf(1)
		top := 2 * s.Energy / float64(l*m)
		for _, p := range priors {
			top += 2 * p.A * p.B // strong priors and no signal: the factors' variance looks like noise
		}
		for i := range 8000 {
			energy = min(energy, s.freeEnergy(sorted(priors), top*math.Pow(1e-16, float64(i)/8000)))
		}
		require.Less(t, got.FreeEnergy, energy+1e-9*math.Abs(energy))
		require.Greater(t, got.FreeEnergy, energy-1e-3*float64(l*m))
	})
}

// TestPaperData: Satellite as 36 × 6435 and SPECTF as 44 × 267, raw. The figures are those
// of a scan in Python (NumPy 1.24.2, SciPy 1.10.1, Corollary 2 as printed and a bounded
// search): σ² = 3.867166 with F = 694693.02300 and 18.446567 with 39847.16201.
func TestPaperData(t *testing.T) {
	satellite, err := data.Load("satellite")
	require.NoError(t, err)
	satellite, err = satellite.Drop("classes")
	require.NoError(t, err)
	for _, wide := range []bool{true, false} {
		s := solve(t, matrix(t, satellite, wide), Options{})
		assert.Equal(t, 29, s.Rank)
		assert.InDelta(t, 3.867166, s.Noise, 5e-6)
		assert.InDelta(t, 694693.02300, s.FreeEnergy, 1e-5)
	}

	path := filepath.Join(os.Getenv("LATENT_DATA"), "spectf.csv")
	if _, err := os.Stat(path); os.Getenv("LATENT_DATA") == "" || err != nil {
		t.Skip("set LATENT_DATA to a folder with spectf.csv")
	}
	spectf, err := data.Open(path)
	require.NoError(t, err)
	spectf, err = spectf.Drop("ClassLabel")
	require.NoError(t, err)
	s := solve(t, matrix(t, spectf, true), Options{})
	assert.Equal(t, 15, s.Rank)
	assert.InDelta(t, 18.446567, s.Noise, 5e-6)
	assert.InDelta(t, 39847.16201, s.FreeEnergy, 1e-5)
}

func matrix(t *testing.T, table *data.Table, transpose bool) mat.Matrix {
	x, n, d, err := table.Matrix()
	require.NoError(t, err)
	y := mat.NewDense(n, d, x)
	if transpose {
		return y.T()
	}
	return y
}

// TestRankOfArtificialData: paper N, section 4.2. Artificial1 has its rank in every draw;
// Artificial2's smallest singular value is so near the threshold that the least free
// energy has rank 39 in two of these 20 draws (12 of 500).
func TestRankOfArtificialData(t *testing.T) {
	found := map[int]int{}
	for seed := range uint64(20) {
		assert.Equal(t, 20, solve(t, artificial(100, 300, 20, seed), Options{}).Rank)
		y := artificial(70, 300, 40, seed)
		s := solve(t, y, Options{})
		found[s.Rank]++
		spectrum, err := Decompose(background, table(t, y), 0)
		require.NoError(t, err)
		_, energy, _ := scan(spectrum, 3000)
		assert.Less(t, s.FreeEnergy, energy, "the scan found a lower free energy than rank %d's", s.Rank)
	}
	t.Log(found)
	assert.Equal(t, map[int]int{40: 18, 39: 2}, found)
}

// TestInvariances: exchanging sides, rotating rows, and units change nothing but the
// Jacobian LM·ln s.
func TestInvariances(t *testing.T) {
	y := artificial(20, 50, 4, 3)
	for _, given := range []bool{false, true} {
		o := Options{}
		if given {
			o.Priors = []Prior{{1, 2}, {1, 1}, {0.5, 0.5}, {0.1, 0.2}, {0.1, 0.2}, {0.01, 1}}
		}
		s := solve(t, y, o)
		mirror := o
		mirror.Priors = nil
		for _, p := range o.Priors {
			mirror.Priors = append(mirror.Priors, Prior{p.B, p.A})
		}
		flipped := solve(t, y.T(), mirror)
		assert.InDelta(t, s.FreeEnergy, flipped.FreeEnergy, 1e-9*s.FreeEnergy)
		assert.Equal(t, s.Rank, flipped.Rank)
		assert.True(t, mat.EqualApprox(s.Mean(), flipped.Mean().T(), 1e-9))

		var qr mat.QR
		qr.Factorize(normal(rand.New(rand.NewPCG(1, 1)), 20, 20))
		var q, rotated, back mat.Dense
		qr.QTo(&q)
		rotated.Mul(&q, y)
		r := solve(t, &rotated, o)
		assert.InDelta(t, s.FreeEnergy, r.FreeEnergy, 1e-9*s.FreeEnergy)
		back.Mul(q.T(), r.Mean())
		assert.True(t, mat.EqualApprox(s.Mean(), &back, 1e-9))

		for _, unit := range []float64{1e-60, 1e-3, 1e3, 1e60} {
			var z, u mat.Dense
			z.Scale(unit, y)
			scaled := Options{}
			for _, p := range o.Priors {
				scaled.Priors = append(scaled.Priors, Prior{p.A * unit, p.B * unit})
			}
			r := solve(t, &z, scaled)
			assert.Equal(t, s.Rank, r.Rank)
			assert.InEpsilon(t, s.Noise, r.Noise/unit/unit, 1e-9)
			assert.InDelta(t, s.FreeEnergy+1000*math.Log(unit), r.FreeEnergy, 1e-9*math.Abs(r.FreeEnergy))
			u.Scale(1/unit, r.Mean())
			assert.True(t, mat.EqualApprox(s.Mean(), &u, 1e-8))
		}
	}
}

// TestSmallSingularValuesAreResolved: singular values over seven orders of magnitude, of
// which the product of the smaller side alone keeps less than half.
func TestSmallSingularValuesAreResolved(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const l, m = 12, 40
	var left, right mat.QR
	left.Factorize(normal(rng, l, l))
	right.Factorize(normal(rng, m, m))
	var u, v, y mat.Dense
	left.QTo(&u)
	right.QTo(&v)
	d := mat.NewDense(l, m, nil)
	for i := range l {
		d.Set(i, i, math.Pow(10, -float64(i)*0.6))
	}
	y.Product(&u, d, v.T())
	noise := 1e-18
	for _, x := range []mat.Matrix{&y, y.T()} {
		s := solve(t, x, Options{Noise: noise})
		require.Equal(t, l, s.Rank)
		for i, c := range s.Components {
			assert.InEpsilon(t, d.At(i, i), c.Singular, 1e-8, "value %d", i)
		}
		assert.True(t, mat.EqualApprox(x, s.Mean(), 1e-8))
	}
}

// TestLeadingValuesAreThoseOfTheWhole: with a cap on the rank, large matrices are solved
// from their leading singular values alone.
func TestLeadingValuesAreThoseOfTheWhole(t *testing.T) {
	y := artificial(400, 700, 12, 1)
	for _, x := range []mat.Matrix{y, y.T()} {
		tab := table(t, x)
		part, err := Decompose(background, tab, 12)
		require.NoError(t, err)
		require.Len(t, part.Values, 12, "the leading path was not taken")
		whole, err := Decompose(background, tab, 0)
		require.NoError(t, err)
		for i, v := range part.Values {
			assert.InEpsilon(t, whole.Values[i], v, 1e-11)
		}
		capped, free := solve(t, x, Options{MaxRank: 12}), solve(t, x, Options{})
		assert.Equal(t, 12, capped.Rank)
		assert.InEpsilon(t, free.FreeEnergy, capped.FreeEnergy, 1e-11)
		assert.True(t, mat.EqualApprox(free.Mean(), capped.Mean(), 1e-8))
		assert.True(t, mat.EqualApprox(free.MeanA(), capped.MeanA(), 1e-8), "signs")

		low := solve(t, x, Options{MaxRank: 5})
		assert.Equal(t, 5, low.Rank)
		assert.Greater(t, low.FreeEnergy, free.FreeEnergy)
		assert.Greater(t, low.Noise, free.Noise)
	}
}
