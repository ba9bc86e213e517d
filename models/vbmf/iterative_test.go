package vbmf

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
)

func fit(t require.TestingT, v Iterative, y mat.Matrix, o framework.Options) *framework.Result[*Parameters, *Statistics] {
	o.Method = framework.EM
	res, err := framework.Fit(background, v, table(t, y), o)
	require.NoError(t, err)
	return res
}

// TestIterationStaysAtTheSolution: both algorithms, estimated and given hyperparameters.
func TestIterationStaysAtTheSolution(t *testing.T) {
	for _, y := range []*mat.Dense{artificial(100, 300, 20, 0), artificial(70, 300, 40, 0), artificial(30, 12, 3, 0)} {
		s := solve(t, y, Options{})
		for _, columnWise := range []bool{false, true} {
			v := Iterative{Start: s.Parameters(), ColumnWise: columnWise}
			res := fit(t, v, y, framework.Options{K: s.Rank, MaxIterations: 20, Tolerance: 1e-300})
			for _, value := range res.Trace {
				require.InEpsilon(t, -s.FreeEnergy, value, 1e-9)
			}
			require.InEpsilon(t, s.Noise, res.Parameters.Noise, 1e-9)
			singular := res.Parameters.Singular(res.Statistics)
			for i, c := range s.Kept() {
				require.InEpsilon(t, c.Shrunk, singular[i], 1e-9)
			}
		}
	}
}

// TestNoRunGetsBelowTheSolution: random small matrices, all combinations of what is known,
// both algorithms, several starts; and the free energy never rises on the way.
func TestNoRunGetsBelowTheSolution(t *testing.T) {
	reached, runs := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		l, m := rapid.IntRange(2, 7).Draw(t, "L"), rapid.IntRange(2, 9).Draw(t, "M")
		seed := rapid.Uint64().Draw(t, "seed")
		y := artificial(l, m, rapid.IntRange(1, min(l, m)).Draw(t, "rank"), seed)
		y.Scale(rapid.SampledFrom([]float64{0.01, 1, 50}).Draw(t, "unit"), y)
		var o Options
		if rapid.Bool().Draw(t, "noise known") {
			o.Noise = rapid.SampledFrom([]float64{0.05, 0.5}).Draw(t, "noise") * math.Pow(mat.Norm(y, 2), 2) / float64(l*m)
		}
		if rapid.Bool().Draw(t, "priors known") {
			for range min(l, m) {
				o.Priors = append(o.Priors, Prior{rapid.SampledFrom([]float64{0.1, 1, 10}).Draw(t, "c_a²"), rapid.SampledFrom([]float64{0.1, 1}).Draw(t, "c_b²")})
			}
		}
		s := solve(t, y, o)
		v := Iterative{Noise: o.Noise, Priors: o.Priors, ColumnWise: rapid.Bool().Draw(t, "column-wise")}
		res := fit(t, v, y, framework.Options{K: min(l, m), Restarts: 4, Seed: seed, Tolerance: 1e-10, MaxIterations: 3000})
		size := float64(l * m)
		require.LessOrEqual(t, res.Value, -s.FreeEnergy+1e-8*size*(1+math.Abs(s.FreeEnergy)/size))
		require.LessOrEqual(t, res.Fall, 1e-8*size*(1+math.Abs(s.FreeEnergy)/size))
		if res.Value > -s.FreeEnergy-1e-3*size {
			reached++
		}
		runs++
	})
	t.Logf("%d of %d best runs reached the global minimum", reached, runs)
	assert.Greater(t, 2*reached, runs, "the iteration finds nothing")
}

// TestPaperComparison: the ten starts of paper N, figures 1 and 2, at full rank.
func TestPaperComparison(t *testing.T) {
	starts, iterations := 10, 30
	if testing.Short() {
		starts, iterations = 1, 5
	}
	for _, c := range []struct{ l, m, rank int }{{100, 300, 20}, {70, 300, 40}} {
		y := artificial(c.l, c.m, c.rank, 0)
		s := solve(t, y, Options{})
		res := fit(t, Iterative{}, y, framework.Options{K: c.l, Restarts: starts, Seed: 1, MaxIterations: iterations})
		for i, r := range res.Restarts {
			require.NoError(t, r.Err)
			assert.Greater(t, -r.Value, s.FreeEnergy, "start %d got below the solution", i)
		}
		assert.InDelta(t, 0, res.Fall, 1e-6)
		t.Logf("%d×%d: F/(LM) = %.6f, best of %d starts %.6f", c.l, c.m, s.FreeEnergy/float64(c.l*c.m), starts, -res.Value/float64(c.l*c.m))
	}
}

// TestEngineProperties: workers, blocks and interruptions change no bit; what goes through
// JSON comes back.
func TestEngineProperties(t *testing.T) {
	y := artificial(300, 200, 3, 2)
	for _, columnWise := range []bool{false, true} {
		v := Iterative{ColumnWise: columnWise}
		o := framework.Options{K: 6, MaxIterations: 8, Workers: 1}
		one := fit(t, v, y, o)
		o.Workers = 5
		many := fit(t, v, y, o)
		assert.Equal(t, one.Parameters, many.Parameters)
		assert.Equal(t, one.Trace, many.Trace)

		o.MaxIterations = 4
		half := fit(t, v, y, o)
		checkpoint, err := half.Checkpoint()
		require.NoError(t, err)
		o.MaxIterations, o.Resume = 8, checkpoint
		assert.Equal(t, one.Parameters, fit(t, v, y, o).Parameters)

		text, err := json.Marshal(one.Parameters)
		require.NoError(t, err)
		var back *Parameters
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, one.Parameters, back)
	}
}

// TestHostileMatrices: every matrix ends in a solution of finite numbers, or in an error.
func TestHostileMatrices(t *testing.T) {
	zeros := mat.NewDense(4, 6, nil)
	s := solve(t, zeros, Options{})
	assert.Equal(t, 0, s.Rank)
	assert.Zero(t, s.Noise)
	assert.True(t, math.IsInf(s.FreeEnergy, -1))
	assert.True(t, mat.Equal(zeros, s.Mean()))
	assert.Nil(t, s.Point())
	assert.Nil(t, s.Parameters())
	s = solve(t, zeros, Options{Noise: 2})
	assert.Equal(t, 0, s.Rank)
	assert.InDelta(t, 12*math.Log(2*math.Pi*2), s.FreeEnergy, 1e-9)
	s = solve(t, zeros, Options{Noise: 2, Priors: []Prior{{1, 1}, {2, 2}}})
	assert.InDelta(t, eq13(zeros, s.posterior()), s.FreeEnergy, 1e-9)
	assert.Equal(t, 0, s.Rank)

	var outer mat.Dense
	outer.Mul(mat.NewDense(3, 1, []float64{1, 2, 3}), mat.NewDense(1, 5, []float64{1, -1, 2, 0, 4}))
	for _, y := range []mat.Matrix{&outer, outer.T()} {
		_, err := Solve(background, table(t, y), Options{})
		assert.ErrorIs(t, err, ErrNoNoise)
		s = solve(t, y, Options{Noise: 1e-6})
		assert.Equal(t, 1, s.Rank)
		assert.True(t, mat.EqualApprox(y, s.Mean(), 1e-5))
	}
	_, err := Solve(background, table(t, &outer), Options{Priors: []Prior{{1, 1}}})
	assert.ErrorIs(t, err, ErrNoNoise)

	for _, c := range []struct {
		y    mat.Matrix
		o    Options
		part string
	}{
		{zeros, Options{Noise: -1}, "noise variance is -1; must be positive"},
		{zeros, Options{Noise: math.NaN()}, "noise variance is NaN"},
		{zeros, Options{MaxRank: 5}, "maximal rank 5 of a 4×6 matrix: choose one from 1 to 4"},
		{zeros, Options{MaxRank: -1}, "maximal rank -1"},
		{zeros, Options{Priors: []Prior{}}, "priors of 0 factors"},
		{zeros, Options{Priors: make([]Prior, 5)}, "priors of 5 factors for a 4×6 matrix: give 1 to 4"},
		{zeros, Options{Priors: []Prior{{1, 1}, {0, 1}}}, "factor 2 has prior variances c_a² = 0 and c_b² = 1"},
		{zeros, Options{Priors: []Prior{{1e-200, 1e-200}}}, "both and their product must be positive"},
		{mat.NewDense(1, 2, []float64{1e200, 1}), Options{}, "divide the matrix by its largest entry"},
		{mat.NewDense(1, 2, []float64{1e-200, 1e-201}), Options{}, "divide the matrix by its largest entry"},
	} {
		_, err := Solve(background, table(t, c.y), c.o)
		require.ErrorContains(t, err, c.part)
	}
	missing, err := blocks.FromIncomplete([]float64{1, 2, math.NaN(), 4}, 2, 2)
	require.NoError(t, err)
	_, err = Solve(background, missing, Options{})
	require.ErrorContains(t, err, "row 2, column 1 is NaN")
	_, _, err = PPCA(background, missing, Options{})
	require.ErrorContains(t, err, "row 2, column 1 is NaN") // not row 1, which centring would spoil
	_, err = framework.Fit(background, Iterative{}, missing, framework.Options{K: 1, Method: framework.EM})
	require.ErrorContains(t, err, "row 2, column 1 is NaN")
	weighted, err := table(t, &outer).WithWeights([]float64{1, 2, 1})
	require.NoError(t, err)
	_, err = Solve(background, weighted, Options{})
	require.ErrorContains(t, err, "no weights")
	_, err = framework.Fit(background, Iterative{}, table(t, zeros), framework.Options{K: 1, Method: framework.EM})
	require.ErrorContains(t, err, "needs no iteration")
	_, err = framework.Fit(background, Iterative{}, table(t, &outer), framework.Options{K: 4, Method: framework.EM})
	require.ErrorContains(t, err, "choose K from 1 to 3")

	identity2 := mat.NewDiagDense(2, []float64{1, 1})
	skew := mat.NewSymDense(2, []float64{2, 0.5, 0.5, 1})
	for _, c := range []struct {
		a, b, forward mat.Matrix
		part          string
	}{
		{skew, identity2, identity2, "T does not diagonalise the priors: entry (1, 2) of T·C_A·Tᵀ is 0.5"},
		{identity2, skew, identity2, "of T⁻ᵀ·C_B·T⁻¹ is 0.5"},
		{identity2, identity2, mat.NewDense(2, 2, []float64{1, 1, 1, 1}), "T has no inverse"},
		{identity2, identity2, mat.NewDense(1, 2, nil), "T is 1×2 for 2 factors"},
		{identity2, mat.NewDiagDense(1, []float64{1}), nil, "C_A is of order 2 and C_B of order 1"},
		{mat.NewDiagDense(2, []float64{1, -1}), identity2, nil, "C_A is not positive definite"},
		{mat.NewDense(2, 2, []float64{1, 2, 3, 4}), identity2, nil, "C_A has 2 and 3 at (1, 2) and (2, 1)"},
		{mat.NewDense(2, 3, nil), identity2, nil, "C_A is 2×3; must be square"},
		{nil, identity2, nil, "C_A is missing"},
	} {
		_, err := SolveCorrelated(background, table(t, artificial(3, 4, 1, 1)), c.a, c.b, c.forward, 1)
		require.ErrorContains(t, err, c.part)
	}

	rapid.Check(t, func(t *rapid.T) {
		l, m := rapid.IntRange(1, 4).Draw(t, "L"), rapid.IntRange(1, 4).Draw(t, "M")
		entry := rapid.SampledFrom([]float64{0, 0, 1, -1, 1e-9, 3, 1e100, -1e-100, math.Pi})
		y := mat.NewDense(l, m, nil)
		for i := range y.RawMatrix().Data {
			y.RawMatrix().Data[i] = entry.Draw(t, "entry")
		}
		o := Options{Noise: rapid.SampledFrom([]float64{0, 1, 1e-30, 1e30}).Draw(t, "noise")}
		if rapid.Bool().Draw(t, "priors") {
			for range rapid.IntRange(1, min(l, m)).Draw(t, "H") {
				o.Priors = append(o.Priors, Prior{rapid.SampledFrom([]float64{1e-30, 1, 1e30}).Draw(t, "a"), 1})
			}
		}
		s, err := Solve(background, table(t, y), o)
		if err != nil {
			return
		}
		zero := mat.Norm(y, 2) == 0 && o.Noise == 0
		require.False(t, math.IsNaN(s.FreeEnergy) || math.IsInf(s.FreeEnergy, 0) && !zero)
		for _, c := range s.Components {
			for _, v := range []float64{c.Singular, c.Shrunk, c.A, c.B, c.VarA, c.VarB} {
				require.False(t, math.IsNaN(v) || math.IsInf(v, 0) || v < 0, "%+v", c)
			}
		}
		for _, v := range s.Mean().RawMatrix().Data {
			require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
		}
	})
}

func TestSpectrumOfTheUser(t *testing.T) {
	for _, s := range []*Spectrum{{}, {L: 1, M: 2}, {L: 2, M: 2, Values: []float64{1, 2}, Energy: 5}, {L: 2, M: 2, Values: []float64{math.NaN()}},
		{L: 1, M: 1, Values: []float64{1, 1}, Energy: 2}, {L: 3, M: 3, Values: []float64{2}, Energy: 1}} {
		_, err := s.Solve(Options{})
		assert.Error(t, err, "%+v", s)
	}
	s, err := (&Spectrum{L: 30, M: 50, Values: []float64{100, 90}, Energy: 18100 + 1500}).Solve(Options{})
	require.NoError(t, err)
	assert.Equal(t, 2, s.Rank)
	assert.Empty(t, s.Left)
}

// TestPPCAAndComparison: loadings near those of maximum likelihood where N is large, and
// all rules agree on an easy table whose mean is large.
func TestPPCAAndComparison(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, d, k = 3000, 10, 3
	x := normal(rng, n, d)
	var signal mat.Dense
	signal.Mul(normal(rng, n, k), normal(rng, k, d))
	x.Add(x, &signal)
	x.Apply(func(_, j int, v float64) float64 { return v + 1e4*float64(j) }, x)
	tab := table(t, x)
	p, s, err := PPCA(background, tab, Options{})
	require.NoError(t, err)
	require.Equal(t, k, s.Rank)
	require.NoError(t, p.Check())
	assert.InDelta(t, 9e4, p.Mean[9], 1)

	spectrum, err := lineargaussian.Decompose(background, tab, 1)
	require.NoError(t, err)
	ml, err := bpca.Solve(spectrum, 0)
	require.NoError(t, err)
	want, err := ml.Parameters(k, framework.EM)
	require.NoError(t, err)
	got := p.Canonical()
	assert.InEpsilon(t, want.Noise, got.Noise, 5e-3)
	var a, b mat.Dense
	a.Mul(want.W(), want.W().T())
	b.Mul(got.W(), got.W().T())
	assert.True(t, mat.EqualApprox(&a, &b, 0.01*mat.Norm(&a, 2)))

	c, err := Compare(background, tab, 1)
	require.NoError(t, err)
	require.NoError(t, c.NoGFAB)
	assert.Equal(t, []int{k, k, k, k}, []int{c.GFAB, c.BICEM, c.BIC, c.VBMF})

	wide, err := Compare(background, table(t, artificial(20, 60, 2, 1)), 1)
	require.NoError(t, err)
	assert.True(t, errors.Is(wide.NoGFAB, lineargaussian.ErrTooFewRows))
	assert.Equal(t, 2, wide.VBMF)
}

// TestComparisonNamesItsCriteria: with few rows BIC, which charges nothing for rotations but for
// the mean, and BICEM differ. Both are computed again from the eigenvalues of the covariance, by
// the likelihood at its maximum (Tipping & Bishop 1999, eqs. 7 and 8).
func TestComparisonNamesItsCriteria(t *testing.T) {
	differ := 0
	for seed := range uint64(10) {
		const n, d = 60, 12
		y := artificial(n, d, 5, seed)
		c, err := Compare(background, table(t, y), 1)
		require.NoError(t, err)
		var cov mat.SymDense
		stat.CovarianceMatrix(&cov, y, nil)
		var eigen mat.EigenSym
		require.True(t, eigen.Factorize(&cov, false))
		values := eigen.Values(nil) // ascending
		ranks, best := [2]int{}, [2]float64{math.Inf(-1), math.Inf(-1)}
		for k := 1; k < d; k++ {
			noise, logDet := 0.0, 0.0
			for j, v := range values {
				v *= float64(n-1) / n
				if j < d-k {
					noise += v / float64(d-k)
				} else {
					logDet += math.Log(v)
				}
			}
			logLikelihood := -n / 2.0 * (d*math.Log(2*math.Pi) + logDet + float64(d-k)*math.Log(noise) + d)
			for i, parameters := range []int{d*k + 1, d*k - k*(k-1)/2 + 1 + d} {
				if v := logLikelihood - float64(parameters)/2*math.Log(n); v > best[i] {
					ranks[i], best[i] = k, v
				}
			}
		}
		assert.Equal(t, ranks, [2]int{c.BICEM, c.BIC}, "seed %d", seed)
		if ranks[0] != ranks[1] {
			differ++
		}
	}
	assert.Positive(t, differ, "tables on which the two differ")
}

// TestPointsDoNotDependOnTheSharesOfThePriors: only the product c_a²c_b² matters to the
// distribution of the rows, so that WWᵀ + σ²I stays where one of the two takes from the other;
// and both kinds of fit give the same.
func TestPointsDoNotDependOnTheSharesOfThePriors(t *testing.T) {
	y := artificial(80, 9, 3, 1)
	var first mat.Dense
	for _, share := range []float64{1, 0.01, 7, 400} {
		priors := make([]Prior, 4)
		for h := range priors {
			product := 2 / float64(h+1)
			priors[h] = Prior{A: product * share, B: 1 / share}
		}
		s := solve(t, y, Options{Noise: 1, Priors: priors})
		require.GreaterOrEqual(t, s.Rank, 3)
		for name, p := range map[string]*bpca.Parameters{"solution": s.Point(), "iteration": s.Parameters().Point()} {
			var ww mat.Dense
			ww.Mul(p.W(), p.W().T())
			if first.IsEmpty() {
				first.CloneFrom(&ww)
			}
			assert.True(t, mat.EqualApprox(&first, &ww, 1e-9*mat.Norm(&first, 2)), "%s, share %v: %v, not %v", name, share, mat.Trace(&ww), mat.Trace(&first))
		}
	}
}

func ExampleSolve() {
	y := artificial(100, 300, 20, 0)
	t, _ := blocks.FromMatrix(y)
	s, _ := Solve(background, t, Options{})
	fmt.Printf("rank %d, noise variance %.2f\n", s.Rank, s.Noise)
	// Output: rank 20, noise variance 1.01
}

// TestAccelerationTowardsTheSolution: components that are not there shrink ever more slowly. Accelerated, both
// algorithms come nearer to the closed form's free energy than 10,000 plain iterations do.
func TestAccelerationTowardsTheSolution(t *testing.T) {
	y := artificial(60, 40, 5, 3)
	s := solve(t, y, Options{})
	for _, columnWise := range []bool{false, true} {
		v, o := Iterative{ColumnWise: columnWise}, framework.Options{K: 10}
		plain := fit(t, v, y, o)
		o.Accelerate = true
		fast := fit(t, v, y, o)
		t.Logf("%d passes, %d plain; %.3g and %.3g nats to go", fast.Passes, plain.Passes, -s.FreeEnergy-fast.Value, -s.FreeEnergy-plain.Value)
		require.Equal(t, framework.Converged, fast.Status)
		require.Less(t, fast.Passes, plain.Passes/3)
		require.Less(t, fast.Value, -s.FreeEnergy+1e-9*math.Abs(s.FreeEnergy))
		require.Greater(t, fast.Value, plain.Value)
		require.Zero(t, fast.Fall)
	}
}
