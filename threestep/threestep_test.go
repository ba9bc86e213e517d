package threestep_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/threestep"
)

var all = []threestep.Correction{threestep.Uncorrected, threestep.BCH, threestep.ML}

// rows draws n rows of k classes with their probabilities, and outcomes and covariates by class.
func rows(n, k int, seed uint64) (p, measured, counts, levels, x []float64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	for range n {
		own := make([]float64, k)
		for t := range own {
			own[t] = math.Pow(rng.Float64(), 4)
		}
		floats.Scale(1/floats.Sum(own), own)
		z := float64(categorical.Draw(own, rng))
		p = append(p, own...)
		measured = append(measured, 10+3*z+rng.NormFloat64()*(1+z/2))
		counts = append(counts, distuv.Poisson{Lambda: 1 + 2*z, Src: rng}.Rand())
		levels = append(levels, float64(min(2, rng.IntN(2+int(z)))))
		x = append(x, z+rng.NormFloat64(), rng.NormFloat64())
	}
	return p, measured, counts, levels, x
}

func classify(t *testing.T, p []float64, k int, weights []float64, how threestep.Assignment) *threestep.Classification {
	t.Helper()
	c, err := threestep.Classify(p, k, weights, how)
	require.NoError(t, err)
	return c
}

// numbers are all values and standard errors of all kinds.
func numbers(t *testing.T, c *threestep.Classification, how threestep.Correction, measured, counts, levels, x []float64) (list []float64) {
	t.Helper()
	for _, o := range []threestep.Outcome{{Values: measured}, {Values: counts, Kind: threestep.Count},
		{Values: levels, Kind: threestep.Categorical, Levels: 3}} {
		d, err := c.Outcome(t.Context(), o, how)
		require.NoError(t, err)
		list = append(append(append(list, d.Values...), d.Errors()...), d.Equal().Statistic)
	}
	g, err := c.Covariates(x, 2, how)
	require.NoError(t, err)
	return append(append(append(list, g.Values...), g.Errors()...), g.Without(0).Statistic, g.Without(1).Statistic)
}

// A row of weight 3 is three rows, and a row of weight 0 is none.
func TestWeightsAreFrequencies(t *testing.T) {
	const k = 3
	p, measured, counts, levels, x := rows(200, k, 1)
	weights := make([]float64, 200)
	var again [5][]float64
	for i := range weights {
		weights[i] = float64(i % 4)
		for range i % 4 {
			again[0] = append(again[0], p[i*k:(i+1)*k]...)
			again[1] = append(again[1], measured[i])
			again[2] = append(again[2], counts[i])
			again[3] = append(again[3], levels[i])
			again[4] = append(again[4], x[2*i:2*i+2]...)
		}
	}
	for _, how := range all {
		for _, by := range []threestep.Assignment{threestep.Modal, threestep.Proportional} {
			weighted := numbers(t, classify(t, p, k, weights, by), how, measured, counts, levels, x)
			repeated := numbers(t, classify(t, again[0], k, nil, by), how, again[1], again[2], again[3], again[4])
			assert.InDeltaSlice(t, repeated, weighted, 1e-5, "%v %v", how, by)
		}
	}
}

// Where no row is in doubt there is nothing to correct.
func TestCertainClassesNeedNoCorrection(t *testing.T) {
	const k = 3
	p, measured, counts, levels, x := rows(300, k, 2)
	for i := range 300 {
		own := p[i*k : (i+1)*k]
		at := floats.MaxIdx(own)
		clear(own)
		own[at] = 1
	}
	c := classify(t, p, k, nil, threestep.Proportional)
	want := numbers(t, c, threestep.Uncorrected, measured, counts, levels, x)
	for _, how := range all {
		got := numbers(t, c, how, measured, counts, levels, x)
		for i, v := range want {
			assert.InEpsilon(t, v+1000, got[i]+1000, 1e-6, "%v %d", how, i)
		}
	}
}

// The weights of BCH sum to 1 in each row, and to the size of each class in all of them.
func TestWeightsOfBCHKeepRowsAndClasses(t *testing.T) {
	p, _, _, _, _ := rows(300, 4, 3)
	for _, by := range []threestep.Assignment{threestep.Modal, threestep.Proportional} {
		c := classify(t, p, 4, nil, by)
		b, err := c.Weights(threestep.BCH)
		require.NoError(t, err)
		sizes := make([]float64, 4)
		for row := range slices.Chunk(b, 4) {
			assert.InDelta(t, 1, floats.Sum(row), 1e-12)
			floats.AddScaled(sizes, 1./300, row)
		}
		assert.InDeltaSlice(t, c.Sizes, sizes, 1e-12)
		assert.Less(t, floats.Min(b), 0.)
		for s := range 4 {
			assert.InDelta(t, 1, floats.Sum(c.Errors.RawRowView(s)), 1e-12)
		}
	}
}

// Units of outcome and covariates change nothing but the units.
func TestUnitsChangeNothingElse(t *testing.T) {
	p, measured, _, _, x := rows(300, 3, 4)
	c := classify(t, p, 3, nil, threestep.Modal)
	const scale, shift = 1e-4, 7e3
	moved, movedX := slices.Clone(measured), slices.Clone(x)
	for i := range moved {
		moved[i] = shift + scale*moved[i]
		movedX[2*i] = shift + scale*movedX[2*i]
	}
	for _, how := range all {
		d, err := c.Outcome(t.Context(), threestep.Outcome{Values: measured}, how)
		require.NoError(t, err)
		e, err := c.Outcome(t.Context(), threestep.Outcome{Values: moved}, how)
		require.NoError(t, err)
		assert.InEpsilon(t, d.Equal().Statistic, e.Equal().Statistic, 1e-5)
		assert.InEpsilon(t, d.Errors()[0]*scale, e.Errors()[0], 1e-5)
		g, err := c.Covariates(x, 2, how)
		require.NoError(t, err)
		h, err := c.Covariates(movedX, 2, how)
		require.NoError(t, err)
		assert.InEpsilon(t, g.Values[1], h.Values[1]*scale, 1e-5)
		assert.InEpsilon(t, g.Without(0).Statistic, h.Without(0).Statistic, 1e-5)
	}
}

// The log-likelihood of ML, written down once more: its maximum and its second derivatives are those of the estimates.
func TestLikelihoodIsAtItsMaximum(t *testing.T) {
	const n, k = 400, 2
	p, measured, _, _, x := rows(n, k, 5)
	c := classify(t, p, k, nil, threestep.Modal)
	assigned := make([]int, n)
	for i := range assigned {
		assigned[i] = floats.MaxIdx(p[i*k : (i+1)*k])
	}
	d, err := c.Outcome(t.Context(), threestep.Outcome{Values: measured}, threestep.ML)
	require.NoError(t, err)
	outcome := func(i int, theta []float64) float64 { // ln odds of class 2, means and standard deviations
		size := 1 / (1 + math.Exp(-theta[0]))
		one := distuv.Normal{Mu: theta[1], Sigma: theta[2]}.Prob(measured[i]) * c.Errors.At(0, assigned[i]) * (1 - size)
		two := distuv.Normal{Mu: theta[3], Sigma: theta[4]}.Prob(measured[i]) * c.Errors.At(1, assigned[i]) * size
		return math.Log(one + two)
	}
	logit := func(i int, theta []float64) float64 {
		two := 1 / (1 + math.Exp(-theta[0]-theta[1]*x[2*i]-theta[2]*x[2*i+1]))
		return math.Log(c.Errors.At(0, assigned[i])*(1-two) + c.Errors.At(1, assigned[i])*two)
	}
	g, err := c.Covariates(x, 2, threestep.ML)
	require.NoError(t, err)
	for _, one := range []struct {
		of   func(i int, theta []float64) float64
		at   []float64
		want []float64 // standard errors of the last numbers
	}{
		{outcome, append([]float64{maximum(sum(n, outcome), append([]float64{0}, d.Values...))}, d.Values...), d.Errors()},
		{logit, g.Values, g.Errors()},
	} {
		size := len(one.at)
		assert.InDeltaSlice(t, make([]float64, size), fd.Gradient(nil, sum(n, one.of), one.at, nil), 1e-3)
		var hessian, inverse mat.SymDense
		fd.Hessian(&hessian, sum(n, one.of), one.at,
			&fd.Settings{Formula: fd.Formula{Stencil: fd.Central.Stencil, Derivative: 1, Step: 1e-4}})
		hessian.ScaleSym(-1, &hessian)
		var chol mat.Cholesky
		require.True(t, chol.Factorize(&hessian))
		require.NoError(t, chol.InverseTo(&inverse))
		scores := mat.NewSymDense(size, nil)
		for i := range n {
			of := func(theta []float64) float64 { return one.of(i, theta) }
			scores.SymRankOne(scores, 1, mat.NewVecDense(size, fd.Gradient(nil, of, one.at, nil)))
		}
		var half, cov mat.Dense
		half.Mul(&inverse, scores)
		cov.Mul(&half, &inverse)
		for i, want := range one.want {
			at := i + size - len(one.want)
			assert.InEpsilon(t, math.Sqrt(cov.At(at, at)), want, 2e-3)
		}
	}
}

// sum is a function of rows over all rows.
func sum(n int, of func(i int, theta []float64) float64) func(theta []float64) float64 {
	return func(theta []float64) (total float64) {
		for i := range n {
			total += of(i, theta)
		}
		return total
	}
}

// maximum is where a function of a first number is largest.
func maximum(f func([]float64) float64, at []float64) float64 {
	low, high := -10., 10.
	for range 100 {
		a, b := low+(high-low)/3, high-(high-low)/3
		at[0] = a
		left := f(at)
		if at[0] = b; left < f(at) {
			low = a
		} else {
			high = b
		}
	}
	return low
}

// Rows without the outcome or a covariate have no part in the third step, and a part in the classification errors.
func TestRowsWithGapsAreLeftOutOfTheThirdStep(t *testing.T) {
	p, measured, _, _, x := rows(300, 3, 6)
	c := classify(t, p, 3, nil, threestep.Modal)
	holes, holesX := slices.Clone(measured), slices.Clone(x)
	for i := 0; i < 300; i += 10 {
		holes[i], holesX[2*i+1] = math.NaN(), math.NaN()
	}
	weights := make([]float64, 300)
	for _, how := range all {
		d, err := c.Outcome(t.Context(), threestep.Outcome{Values: holes}, how)
		require.NoError(t, err)
		assert.Equal(t, []int{270, 30}, []int{d.Rows, d.Left})
		g, err := c.Covariates(holesX, 2, how)
		require.NoError(t, err)
		assert.Equal(t, []int{270, 30}, []int{g.Rows, g.Left})
	}
	b, err := c.Weights(threestep.BCH)
	require.NoError(t, err)
	sum := 0.0
	for i, v := range holes {
		if v == v {
			weights[i] = b[3*i]
			sum += weights[i] * v
		}
	}
	d, err := c.Outcome(t.Context(), threestep.Outcome{Values: holes}, threestep.BCH)
	require.NoError(t, err)
	assert.InDelta(t, sum/floats.Sum(weights), d.Values[0], 1e-9)
}

func TestRefusals(t *testing.T) {
	p, measured, _, levels, x := rows(60, 3, 7)
	_, err := threestep.Classify(p[:60], 1, nil, threestep.Modal)
	assert.ErrorContains(t, err, "one class")
	_, err = threestep.Classify(p[:5], 3, nil, threestep.Modal)
	assert.ErrorContains(t, err, "no rows of 3 classes")
	_, err = threestep.Classify(p, 3, []float64{1}, threestep.Modal)
	assert.ErrorContains(t, err, "weights do not match")
	_, err = threestep.Classify([]float64{0.5, 0.6}, 2, nil, threestep.Modal)
	assert.ErrorContains(t, err, "must be probabilities")
	_, err = threestep.Classify([]float64{0.9, 0.1, 0.8, 0.2}, 2, nil, threestep.Modal)
	assert.ErrorContains(t, err, "no row is assigned to class 2")

	c := classify(t, p, 3, nil, threestep.Modal)
	for _, one := range []struct {
		o    threestep.Outcome
		want string
	}{
		{threestep.Outcome{Values: measured[:5]}, "do not match"},
		{threestep.Outcome{Values: slices.Repeat([]float64{4}, 60)}, "one value"},
		{threestep.Outcome{Values: measured, Kind: threestep.Count}, "not a count"},
		{threestep.Outcome{Values: levels, Kind: threestep.Categorical, Levels: 2}, "not the code of a level"},
	} {
		_, err := c.Outcome(t.Context(), one.o, threestep.BCH)
		assert.ErrorContains(t, err, one.want)
	}
	_, err = c.Covariates(x[:7], 2, threestep.ML)
	assert.ErrorContains(t, err, "not 2 covariates of 60 rows")
	constant, dependent := slices.Clone(x), slices.Clone(x)
	for i := range 60 {
		constant[2*i+1], dependent[2*i+1] = 3, 2*x[2*i]-1
	}
	for want, x := range map[error][]float64{threestep.ErrConstant: constant, threestep.ErrDependent: dependent} {
		_, err := c.Covariates(x, 2, threestep.ML)
		assert.ErrorIs(t, err, want)
		var fault *blocks.DataError
		require.ErrorAs(t, err, &fault)
		assert.Equal(t, 1, fault.Column)
	}
}

// A covariate that is the class has no finite log odds.
func TestSeparationIsSaid(t *testing.T) {
	p, _, _, _, _ := rows(200, 3, 8)
	x := make([]float64, 200)
	for i := range x {
		x[i] = float64(floats.MaxIdx(p[3*i : 3*i+3]))
	}
	c := classify(t, p, 3, nil, threestep.Modal)
	for _, how := range all {
		_, err := c.Covariates(x, 1, how)
		assert.ErrorIs(t, err, threestep.ErrSeparated, how)
	}
}

// Classes that nobody can tell apart have no weights of BCH.
func TestClassesThatAreEqualHaveNoInverse(t *testing.T) {
	var p []float64
	for i := range 100 {
		v := 0.5 + 1e-12*float64(i%2)
		p = append(p, v, 1-v)
	}
	c := classify(t, p, 2, nil, threestep.Proportional)
	_, err := c.Weights(threestep.BCH)
	assert.ErrorContains(t, err, "overlap too much")
}
