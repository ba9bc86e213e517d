package experts_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/mixture"
)

type (
	result  = framework.Result[*experts.Parameters, *experts.Statistics]
	options = framework.Options
)

// A survey has two covariates, standard normal and in other units, and yes or no to eight questions by class: the log odds of
// classes 2 and 3 against the first are {0.5, 1, 0} and {−0.5, 0, −1.5} of (1, covariates).
var (
	odds    = [][]float64{{0, 0, 0}, {0.5, 1, 0}, {-0.5, 0, -1.5}}
	answers = [][]float64{
		{.9, .9, .9, .9, .9, .1, .1, .1}, {.1, .1, .8, .8, .2, .2, .9, .9}, {.1, .2, .2, .1, .9, .9, .9, .1}}
)

func survey(n int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := mat.NewDense(n, 10, nil)
	for i := range n {
		a := []float64{1, rng.NormFloat64(), rng.NormFloat64()}
		var w []float64
		for _, g := range odds {
			w = append(w, math.Exp(floats.Dot(g, a)))
		}
		x.Set(i, 0, a[1])
		x.Set(i, 1, a[2])
		reply(x, i, answers[categorical.Draw(w, rng)], rng)
	}
	return x
}

// reply draws the answers of row i, yes with the probabilities p.
func reply(x *mat.Dense, i int, p []float64, rng *rand.Rand) {
	for j, v := range p {
		yes := 0.0
		if rng.Float64() < v {
			yes = 1
		}
		x.Set(i, 2+j, yes)
	}
}

func table(t *testing.T, x mat.Matrix) *blocks.Table {
	t.Helper()
	src, err := blocks.FromMatrix(x)
	require.NoError(t, err)
	return src
}

func fit(t *testing.T, m experts.Model, x mat.Matrix, o options) *result {
	t.Helper()
	res, err := framework.Fit(context.Background(), m, table(t, x), o)
	require.NoError(t, err)
	assert.Zero(t, res.Fall, "the objective falls")
	return res
}

var (
	classes = experts.Model{Family: family.Bernoulli{}, Gate: []int{0, 1}}
	em      = options{Method: framework.EM, Criterion: framework.ELBO, FixedK: true, Restarts: 4, Tolerance: 1e-13, Accelerate: true}
)

func with(o options, k int) options {
	o.K = k
	return o
}

// ordered are the classes in the order of the first question's probabilities and the third's.
func ordered(t *testing.T, m experts.Model, p *experts.Parameters) *experts.Parameters {
	t.Helper()
	order := make([]int, p.K())
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := p.Mixture.Component(i), p.Mixture.Component(j)
		return int(math.Copysign(1, 10*math.Round(b[0]-a[0])+b[2]-a[2]))
	})
	q, err := m.Permute(p, order)
	require.NoError(t, err)
	return q
}

// gFAB finds three classes, and coefficients within their standard errors: squares of z-scores average to about 1.
func TestLatentClassRegressionIsRecovered(t *testing.T) {
	seeds := tier.Of(3, 3, 10)
	right, square, worst := 0, 0.0, 0.0
	for seed := range seeds {
		x := survey(1000, uint64(seed))
		res := fit(t, classes, x, options{K: 6, Restarts: 3, Accelerate: true})
		if res.Shape.K != 3 {
			continue
		}
		right++
		p := ordered(t, classes, fit(t, classes, x, with(em, 3)).Parameters)
		list, err := classes.Coefficients(table(t, x).All(), p)
		require.NoError(t, err)
		for k, of := range list {
			for j, c := range of {
				z := (c.Value - odds[k+1][j]) / c.Error
				square += z * z
				worst = max(worst, math.Abs(z))
			}
		}
	}
	mean := square / float64(6*right)
	t.Logf("K = 3 in %d of %d; the squares of %d z-scores average to %.2f, the largest |z| is %.2f", right, seeds, 6*right, mean, worst)
	assert.GreaterOrEqual(t, right, seeds-1)
	assert.InDelta(t, 1, mean, 0.6)
	assert.Less(t, worst, 4.0)
}

// reference is the maximum of Σ q ln π over the log odds against the first class, by BFGS, from sums in the units of the table.
func reference(t *testing.T, x *mat.Dense, gate []int, q []float64, k int) []float64 {
	n, _ := x.Dims()
	row := func(i int) []float64 {
		a := []float64{1}
		for _, c := range gate {
			a = append(a, x.At(i, c))
		}
		return a
	}
	width := 1 + len(gate)
	value := func(v, gradient []float64) (sum float64) {
		eta := make([]float64, k)
		for i := range n {
			a := row(i)
			for j := 1; j < k; j++ {
				eta[j] = floats.Dot(v[(j-1)*width:j*width], a)
			}
			total := floats.LogSumExp(eta)
			for j := range k {
				sum -= q[i*k+j] * (eta[j] - total)
				if gradient != nil && j > 0 {
					floats.AddScaled(gradient[(j-1)*width:j*width], math.Exp(eta[j]-total)-q[i*k+j], a)
				}
			}
		}
		return sum
	}
	res, err := optimize.Minimize(optimize.Problem{
		Func: func(v []float64) float64 { return value(v, nil) },
		Grad: func(g, v []float64) { clear(g); value(v, g) },
	}, make([]float64, (k-1)*width), &optimize.Settings{GradientThreshold: 1e-8, FuncEvaluations: 5000}, &optimize.BFGS{})
	if err != nil {
		require.Less(t, floats.Norm(res.Gradient, math.Inf(1)), 1e-5, "the reference has not converged")
	}
	return res.X
}

// The bound's fixed point is multinomial logistic regression on the responsibilities, however steep the gate is.
func TestGateIsThatOfMultinomialRegression(t *testing.T) {
	for _, steep := range []float64{1, 4} {
		x := survey(400, 3)
		rng := rand.New(rand.NewPCG(7, 1))
		for i := range 400 { // a third covariate, in other units, that the first answers depend on
			k := 0
			if x.At(i, 0)+rng.NormFloat64()/steep > 0 {
				k = 1
			}
			reply(x, i, answers[k], rng)
			x.Set(i, 0, 2000+10*x.At(i, 0))
		}
		p := fit(t, classes, x, with(em, 2)).Parameters
		q, err := classes.Responsibilities(table(t, x).All(), p, nil)
		require.NoError(t, err)
		list, err := classes.Coefficients(table(t, x).All(), p)
		require.NoError(t, err)
		y := mat.DenseCopyOf(x) // the reference needs columns of similar size
		for i := range 400 {
			y.Set(i, 0, (x.At(i, 0)-2000)/10)
		}
		want := reference(t, y, classes.Gate, q, 2)
		t.Logf("steepness %v: %v, reference %v", steep, list[0], want)
		assert.InDelta(t, want[1]/10, list[0][1].Value, 1e-4*math.Abs(want[1]))
		assert.InDelta(t, want[2], list[0][2].Value, 1e-4)
		assert.InDelta(t, want[0]-200*want[1], list[0][0].Value, 2e-2*math.Abs(want[1]))
	}
}

// The maximum of the likelihood is that of StepMix 3.0.0 (one step, 10 starts; ln L = −1863.8460549) and of R flexmix 2.3-18
// (FLXMCmvbinary with FLXPmultinom, 5 starts; −1863.84605486, coefficients 0.572478607, 1.062281216, 0.135253831 and, as differences,
// −0.507214627, 0.208289885, −1.565733155). R nnet 7.3-18, multinom on the responsibilities, has 0.57247954, 1.06228069, 0.13525286,
// −0.50721267, 0.20829175 and −1.56573187.
func TestAgreesWithOtherPrograms(t *testing.T) {
	x := survey(500, 1)
	res := fit(t, classes, x, with(em, 3))
	assert.InDelta(t, -1863.846055, res.Value, 1e-6)
	want := []float64{0.572478607, 1.062281216, 0.135253831, -0.507214627, 0.208289885, -1.565733155}
	assert.InDeltaSlice(t, want, ordered(t, classes, res.Parameters).LogOdds(), 5e-6)
}

// The standard errors are those of the observed information: numeric second derivatives of ln p(X) in the gate.
func TestErrorsAreThoseOfTheLogLikelihood(t *testing.T) {
	x := survey(300, 5)
	p := fit(t, classes, x, with(em, 3)).Parameters
	src := table(t, x)
	list, err := classes.Coefficients(src.All(), p)
	require.NoError(t, err)
	q, err := classes.Responsibilities(src.All(), p, nil)
	require.NoError(t, err)
	prior, err := classes.Prior(src.All(), p, nil)
	require.NoError(t, err)
	value := func(v []float64) (sum float64) { // densities of the classes are q/π, to a factor
		for i := range 300 {
			a, w := []float64{1, x.At(i, 0), x.At(i, 1)}, []float64{1, 0, 0}
			for k := 1; k < 3; k++ {
				w[k] = math.Exp(floats.Dot(v[3*(k-1):3*k], a))
			}
			mixed := 0.0
			for k := range w {
				mixed += w[k] * q[3*i+k] / prior[3*i+k]
			}
			sum += math.Log(mixed / floats.Sum(w))
		}
		return sum
	}
	at := []float64{}
	for _, of := range list {
		for _, c := range of {
			at = append(at, c.Value)
		}
	}
	const h = 1e-3
	info := mat.NewSymDense(6, nil)
	for a := range 6 {
		for b := a; b < 6; b++ {
			sum := 0.0
			for _, s := range [][2]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
				v := slices.Clone(at)
				v[a] += s[0] * h
				v[b] += s[1] * h
				sum -= s[0] * s[1] * value(v)
			}
			info.SetSym(a, b, sum/(4*h*h))
		}
	}
	var chol mat.Cholesky
	var cov mat.SymDense
	require.True(t, chol.Factorize(info))
	require.NoError(t, chol.InverseTo(&cov))
	for a := range 6 {
		assert.InEpsilon(t, math.Sqrt(cov.At(a, a)), list[a/3][a%3].Error, 1e-3)
	}
}

// ln p(x|a) is the sum over classes that a textbook has, from the coefficients in the units of the table.
func TestLogProbIsTheSumOverClasses(t *testing.T) {
	x := survey(200, 2)
	for i := range 200 {
		x.Set(i, 1, 50+7*x.At(i, 1))
	}
	p := fit(t, classes, x, options{K: 3, FixedK: true}).Parameters
	src := table(t, x)
	list, err := classes.Coefficients(src.All(), p)
	require.NoError(t, err)
	score, err := classes.Scorer(p)
	require.NoError(t, err)
	logProb, q, err := score(src.All(), nil, nil)
	require.NoError(t, err)
	prior, err := classes.Prior(src.All(), p, nil)
	require.NoError(t, err)
	for i := range 200 {
		w, joint, total := []float64{1}, make([]float64, 3), 0.0
		for _, of := range list {
			w = append(w, math.Exp(of[0].Value+of[1].Value*x.At(i, 0)+of[2].Value*x.At(i, 1)))
		}
		for k := range w {
			joint[k] = w[k] / floats.Sum(w)
			assert.InDelta(t, joint[k], prior[3*i+k], 1e-9)
			for j, v := range p.Mixture.Component(k) {
				joint[k] *= v*x.At(i, 2+j) + (1-v)*(1-x.At(i, 2+j))
			}
			total += joint[k]
		}
		assert.InDelta(t, math.Log(total), logProb[i], 1e-9)
		for k := range w {
			assert.InDelta(t, joint[k]/total, q[3*i+k], 1e-9)
		}
	}
}

// One class has no gate, and gates without columns are weights.
func TestSpecialCasesAreMixtures(t *testing.T) {
	x := survey(300, 4)
	answers := x.Slice(0, 300, 2, 10)
	plain := func(o options) *framework.Result[*mixture.Parameters, *mixture.Statistics] {
		res, err := framework.Fit(context.Background(), mixture.Model{Family: family.Bernoulli{}}, table(t, answers), o)
		require.NoError(t, err)
		return res
	}
	for _, by := range []options{{Method: framework.EM}, {Method: framework.GFAB, Criterion: framework.GFIC}} {
		o := by
		o.K = 1
		assert.InDelta(t, plain(o).Value, fit(t, classes, x, o).Value, 1e-9)
		o = by
		o.K, o.FixedK, o.Tolerance, o.MaxIterations = 3, true, 1e-15, 100000
		want, got := plain(o), fit(t, experts.Model{Family: family.Bernoulli{}}, answers, o)
		assert.InDelta(t, want.Value, got.Value, 1e-9)
		assert.InDeltaSlice(t, want.Parameters.Weights, got.Parameters.Mixture.Weights, 1e-6)
		assert.InDeltaSlice(t, want.Parameters.Components, got.Parameters.Mixture.Components, 1e-6)
	}
}

// Linear maps of the gate's columns change nothing but its coefficients.
func TestLinearMapsOfTheGateChangeNothing(t *testing.T) {
	x := survey(300, 6)
	y := mat.DenseCopyOf(x)
	for i := range 300 {
		u, v := x.At(i, 0), x.At(i, 1)
		y.Set(i, 0, 1900+100*(2*u-v))
		y.Set(i, 1, -0.01*(u+v))
	}
	o := options{K: 5, Restarts: 2}
	a, b := fit(t, classes, x, o), fit(t, classes, y, o)
	assert.Equal(t, a.Shape, b.Shape)
	assert.InDelta(t, a.Value, b.Value, 1e-6)
	left, err := classes.Coefficients(table(t, x).All(), a.Parameters)
	require.NoError(t, err)
	right, err := classes.Coefficients(table(t, y).All(), b.Parameters)
	require.NoError(t, err)
	for k := range left {
		assert.InDelta(t, left[k][1].Value, 200*right[k][1].Value-0.01*right[k][2].Value, 1e-4)
		assert.InDelta(t, left[k][2].Value, -100*right[k][1].Value-0.01*right[k][2].Value, 1e-4)
	}
}

// Steps do not know the order of the classes.
func TestOrderOfTheClassesDoesNotMatter(t *testing.T) {
	x := survey(300, 7)
	res := fit(t, classes, x, options{K: 3, FixedK: true, MaxIterations: 5})
	order := []int{2, 0, 1}
	a, err := classes.StartAt(context.Background(), table(t, x), res.Parameters)
	require.NoError(t, err)
	b, err := classes.Permute(res.Parameters, order)
	require.NoError(t, err)
	b, err = classes.StartAt(context.Background(), table(t, x), b)
	require.NoError(t, err)
	a, err = classes.Permute(a, order)
	require.NoError(t, err)
	assert.InDeltaSlice(t, a.Vector(), b.Vector(), 1e-10)
}

// A gate that has no finite maximum is noticed; one that is steep, or knows nothing, is not suspected.
func TestSeparationIsNoticed(t *testing.T) {
	x := survey(300, 8)
	fitted := func() []error {
		p := fit(t, classes, x, options{K: 3, FixedK: true, Method: framework.EM, Criterion: framework.ELBO, Restarts: 3}).Parameters
		doubts, err := classes.Doubts(table(t, x).All(), p)
		require.NoError(t, err)
		return doubts
	}
	assert.Empty(t, fitted())
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 300 { // the second covariate is above 1 where the second class answers
		k := 0
		if x.Set(i, 1, rng.Float64()); i%3 == 0 {
			k = 1
			x.Set(i, 1, 1.5+rng.Float64())
		}
		sure := make([]float64, len(answers[k]))
		for j, p := range answers[k] {
			sure[j] = 0.02 + 0.96*math.Round(p)
		}
		reply(x, i, sure, rng)
	}
	classes := experts.Model{Family: family.Bernoulli{}, Gate: []int{0, 1}}
	p := fit(t, classes, x, options{K: 2, FixedK: true, Method: framework.EM, Criterion: framework.ELBO, Restarts: 3}).Parameters
	doubts, err := classes.Doubts(table(t, x).All(), p)
	require.NoError(t, err)
	require.Len(t, doubts, 1)
	assert.ErrorContains(t, doubts[0], "column 2 separates classes in the gate")
	for i := range p.Gate {
		p.Gate[i] *= 1e3 // probabilities are 0 and 1
	}
	doubts, err = classes.Doubts(table(t, x).All(), p)
	require.NoError(t, err)
	require.Len(t, doubts, 1)
}

func TestBadGates(t *testing.T) {
	x := survey(100, 9)
	of := func(m experts.Model, x mat.Matrix) error {
		n, d := x.Dims()
		src, err := blocks.FromIncomplete(mat.DenseCopyOf(x).RawMatrix().Data, n, d)
		require.NoError(t, err)
		_, err = framework.Fit(context.Background(), m, src, options{K: 2})
		return err
	}
	m := func(gate ...int) experts.Model { return experts.Model{Family: family.Bernoulli{}, Gate: gate} }
	assert.ErrorContains(t, of(m(0, 12), x), "the gate names column 13, and the table has columns 1 to 10")
	assert.ErrorContains(t, of(m(0, 0), x), "column 1 twice")
	assert.ErrorContains(t, of(m(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), x), "leave some to the family")
	assert.ErrorContains(t, of(m(0), x), "column 2") // a number that is no code
	y := mat.DenseCopyOf(x)
	y.Set(5, 1, math.NaN())
	assert.ErrorContains(t, of(m(0, 1), y), "row 6, column 2 is missing: a gate needs every value")
	for i := range 100 {
		y.Set(i, 1, 7)
	}
	assert.ErrorContains(t, of(m(0, 1), y), "column 2 is constant: leave it out of the gate")
	for i := range 100 {
		y.Set(i, 1, 3-2*y.At(i, 0))
	}
	assert.ErrorContains(t, of(m(0, 1), y), "column 2 is a linear combination of other columns of the gate: leave it out")
	p := fit(t, m(0, 1), x, options{K: 2}).Parameters
	_, err := m(0, 1).LogProb(table(t, x.Slice(0, 5, 0, 3)).All(), p, nil)
	assert.ErrorContains(t, err, "a row of 3 columns does not match a model of 10")
	require.NoError(t, m(0, 1).Check(p))
	require.Error(t, m(0).Check(p))
	require.Error(t, m(0, 1).Check(nil))
}

// Rows that are drawn from the estimates give them back.
func TestDrawsComeFromTheModel(t *testing.T) {
	x := survey(2000, 10)
	m := classes
	p := ordered(t, m, fit(t, m, x, with(em, 3)).Parameters)
	rng := rand.New(rand.NewPCG(2, 2))
	draw, labels, err := m.Sample(table(t, x).All(), p, rng)
	require.NoError(t, err)
	require.Len(t, labels, 2000)
	again := fit(t, m, mat.NewDense(2000, 10, draw), with(em, 3)).Parameters
	again = ordered(t, m, again)
	assert.InDeltaSlice(t, p.Mixture.Components, again.Mixture.Components, 0.1)
	src, err := m.Resample(context.Background(), table(t, x), p, rng)
	require.NoError(t, err)
	require.Equal(t, 2000, src.Rows())
}

// What ln p(X) loses at once without a class is known from the sums of a local step.
func TestLossWithoutAClass(t *testing.T) {
	x := survey(200, 11)
	rows := table(t, x).All()
	p := fit(t, classes, x, options{K: 3, FixedK: true, MaxIterations: 20}).Parameters
	s := classes.NewStatistics(p)
	require.NoError(t, classes.Prepare(p, nil, s))
	_, err := classes.Infer(rows, p, s)
	require.NoError(t, err)
	total := func(p *experts.Parameters) float64 {
		list, err := classes.LogProb(rows, p, nil)
		require.NoError(t, err)
		return floats.Sum(list)
	}
	for k, dims := range [][]int{{1, 2}, {0, 2}, {0, 1}} {
		_, kept, err := classes.Keep(s, p, dims)
		require.NoError(t, err)
		assert.InDelta(t, total(p)-total(kept), s.Mixture.Loss[k]+s.Vacated[k], 1e-8)
	}
}

// The steeper a gate, the looser is the bound, and the more iterations EM makes; extrapolated, it does not creep.
func TestSteepGatesConverge(t *testing.T) {
	for _, steep := range []float64{1, 3, 8} {
		x := survey(500, 12)
		rng := rand.New(rand.NewPCG(12, 2))
		for i := range 500 {
			k := 0
			if rng.Float64() < 1/(1+math.Exp(-steep*(x.At(i, 0)+x.At(i, 1)))) {
				k = 1
			}
			reply(x, i, answers[k], rng)
		}
		o := options{K: 2, FixedK: true, Method: framework.EM, Criterion: framework.ELBO}
		plain := fit(t, classes, x, o)
		o.Accelerate = true
		fast := fit(t, classes, x, o)
		t.Logf("log odds rise by %v: %d iterations to %.6f, extrapolated %d to %.6f", steep, plain.Iterations, plain.Value, fast.Iterations, fast.Value)
		assert.InDelta(t, plain.Value, fast.Value, 1e-3)
		assert.Less(t, fast.Iterations, 100)
	}
}
