package mixture_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

// regressionRows are two lines, or two curves of counts, over x and z, of which z is hardly centred: the response, its
// exposure where there is one, x and z.
func regressionRows(f regress.Family, n int, rng *rand.Rand) *mat.Dense {
	width := 3
	if f.Exposure {
		width++
	}
	x := mat.NewDense(n, width, nil)
	for i := range n {
		row := x.RawRowView(i)
		a, b, k := rng.NormFloat64(), 30+2*rng.NormFloat64(), float64(i%2)
		row[width-2], row[width-1] = a, b
		eta := 1 + 2*k + (1.5-3*k)*a + 0.1*(b-30)
		switch {
		case f.Response == regress.Counts && f.Exposure:
			row[1] = 1 + 4*rng.Float64()
			row[0] = distuv.Poisson{Lambda: row[1] * math.Exp(eta/2), Src: rng}.Rand()
		case f.Response == regress.Counts:
			row[0] = distuv.Poisson{Lambda: math.Exp(eta / 2), Src: rng}.Rand()
		case f.Response == regress.Successes:
			row[1] = 20
			row[0] = distuv.Binomial{N: 20, P: 1 / (1 + math.Exp(1-eta)), Src: rng}.Rand()
		default:
			row[0] = 4*eta + rng.NormFloat64()
		}
	}
	return x
}

// A chart of a regression: σ², and coefficients of regressors that are white in the table, both in units of its residual variance.
// own are the places of the coefficients among all.
func regressionChart(x *mat.Dense, first int, normal, intercept bool, own []int) chart {
	n, width := x.Dims()
	var gram mat.SymDense
	u := mat.NewDense(n, width-first+1, nil)
	for i := range n {
		u.Set(i, 0, 1)
		for j := first; j < width; j++ {
			u.Set(i, 1+j-first, x.At(i, j))
		}
	}
	if !intercept {
		u = u.Slice(0, n, 1, width-first+1).(*mat.Dense)
	}
	_, all := u.Dims()
	part := mat.NewDense(n, len(own), nil)
	for i, j := range own {
		part.SetCol(i, mat.Col(nil, j, u))
	}
	gram.SymOuterK(1/float64(n), part.T())
	p := len(own)
	var chol mat.Cholesky
	if !chol.Factorize(&gram) {
		panic("dependent regressors")
	}
	var root mat.TriDense
	chol.UTo(&root)
	steps, params := p, all
	if normal {
		steps, params = p+1, all+1
	}
	return chart{params: params, steps: steps, move: func(whole, xi, step []float64) []float64 {
		to, unit := slices.Clone(xi), 1.0
		if normal {
			unit = math.Sqrt(whole[all])
			to[all] += step[0] * whole[all]
			step = step[1:]
		}
		var b mat.VecDense
		if err := b.SolveVec(&root, mat.NewVecDense(p, step[:p])); err != nil {
			panic(err)
		}
		for i, j := range own {
			to[j] += unit * b.AtVec(i)
		}
		return to
	}}
}

// upToPlaces are the places of coefficients of so many columns.
func upToPlaces(columns int, intercept bool) []int {
	if intercept {
		columns++
	}
	return slices.Collect(upTo(columns))
}

// freeWith are the coordinates of free, and what is added to coefficients that all components share.
func freeWith(charts []chart, fixed []int) lvmtest.Coordinates[*mixture.Parameters, *mixture.Statistics] {
	return func(s *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
		x, at := free(charts, 0)(s, p)
		n := len(x)
		return append(x, make([]float64, len(fixed))...), func(x []float64) *mixture.Parameters {
			q := at(x[:n])
			for k := range q.K {
				for i, j := range fixed {
					q.Component(k)[j] += x[n+i]
				}
			}
			return q
		}
	}
}

func TestRegressionsConform(t *testing.T) {
	for _, f := range []regress.Family{
		{}, {NoIntercept: true}, {Response: regress.Counts}, {Response: regress.Counts, Exposure: true}, {Response: regress.Successes, Exposure: true},
		{Fixed: []int{0}}, {Fixed: []int{2}}, {Fixed: []int{1, 2}}, {Response: regress.Counts, Fixed: []int{2}}, {Response: regress.Successes, Exposure: true, Fixed: []int{0}},
	} {
		t.Run(fmt.Sprintf("%s %v %v %v", f.Name(), f.Exposure, f.NoIntercept, f.Fixed), func(t *testing.T) {
			if f.NoIntercept || f.Response == regress.Counts && !f.Exposure || len(f.Fixed) > 0 && !f.Exposure && !slices.Equal(f.Fixed, []int{2}) {
				tier.Leave(t, "each response with exposure or without, and one coefficient that components share")
			}
			x, first := regressionRows(f, 80, rand.New(rand.NewPCG(3, 4))), 1
			if f.Exposure {
				first = 2
			}
			_, d := x.Dims()
			normal := f.Response == regress.Normal
			own := slices.DeleteFunc(upToPlaces(d-first, !f.NoIntercept), func(j int) bool { return slices.Contains(f.Fixed, j) })
			charts := []chart{regressionChart(x, first, normal, !f.NoIntercept, own)}
			c := conforming{family: f, x: x, ks: []int{1, 2}}
			test := mixtureCase{
				Model: mixture.Model{Family: f}, Data: lvmtest.Matrix(x), K: c.ks, Free: freeWith(charts, f.Fixed), NoAllocations: false,
				Symmetry: func(p *mixture.Parameters, rng *rand.Rand) *mixture.Parameters {
					q, order := *p, rng.Perm(p.K)
					q.Weights, q.Components = permuted(order, p.Weights), permuted(order, p.Components)
					return &q
				},
				// Each draw has the regressors of a row of the table.
				Sample: func(p *mixture.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
					src, err := blocks.FromMatrix(x)
					if err != nil {
						return lvmtest.Data[blocks.Rows]{}, err
					}
					drawn := mat.NewDense(n, d, nil)
					for done := 0; done < n; {
						again, err := mixture.Model{Family: f}.Resample(context.Background(), src, p, rng)
						if err != nil {
							return lvmtest.Data[blocks.Rows]{}, err
						}
						for b := range again.Blocks(context.Background()) {
							for i := range min(b.N, n-done) {
								drawn.SetRow(done, b.Row(i))
								done++
							}
						}
					}
					return lvmtest.Matrix(drawn), nil
				},
			}
			scales := slices.Repeat([]float64{1}, d)
			scales[d-2], scales[d-1] = 100, 0.02
			units := lvmtest.Rescaled("regressors rescaled", x, scales)
			if units.LogDet = 0; normal {
				test.Latent = latent(charts) // of counts, the coordinates are Jeffreys', and F is that of a row on average
				scales[0] = 1000
				units = lvmtest.Rescaled("response and regressors rescaled", x, scales)
				units.LogDet = math.Log(1000)
			}
			if f.Fixed != nil { // which another design would not have in common
				test.Units = []lvmtest.Units[blocks.Rows]{units}
				lvmtest.Test(t, test)
				return
			}
			turned := mat.DenseCopyOf(x)
			for i := range 80 { // regressors turned into one another, and shifted by the intercept
				row := turned.RawRowView(i)
				shift := 5.0
				if f.NoIntercept {
					shift = 0
				}
				row[d-2], row[d-1] = 2*row[d-2]-row[d-1]+shift, row[d-2]+row[d-1]-2*shift
			}
			test.Units = []lvmtest.Units[blocks.Rows]{units, {Name: "a linear map of the design", Data: lvmtest.Matrix(turned)}}
			lvmtest.Test(t, test)
		})
	}
}

// regression fits the columns of an embedded table, response first, after adding the square of one.
func regressionTable(t testing.TB, name string, square bool, columns ...string) *blocks.Table {
	table, err := data.Load(name)
	require.NoError(t, err)
	table, err = table.Select(columns...)
	require.NoError(t, err)
	x, n, d, err := table.Matrix()
	require.NoError(t, err)
	if square {
		wide := make([]float64, 0, n*(d+1))
		for i := range n {
			wide = append(append(wide, x[i*d:(i+1)*d]...), x[i*d+d-1]*x[i*d+d-1])
		}
		x, d = wide, d+1
	}
	src, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	return src
}

// The data that R's flexmix and mixtools show mixtures of regressions on. flexmix 2.3-18 has ln L = −642.5451 on NPreg
// with 2 classes, a little short of the maximum.
func TestRegressionsOfKnownData(t *testing.T) {
	for _, c := range []struct {
		name   string
		square bool
		column []string
		k      int
	}{
		{"NPreg", true, []string{"yn", "x"}, 2},
		{"NOdata", false, []string{"Equivalence", "NO"}, 2},
		{"tonedata", false, []string{"tuned", "stretchratio"}, 3},
	} {
		src := regressionTable(t, c.name, c.square, c.column...)
		m := mixture.Model{Family: regress.Family{}}
		for seed := range uint64(6) {
			res, err := framework.Fit(context.Background(), m, src, framework.Options{K: 10, Seed: seed, Restarts: 1})
			require.NoError(t, err)
			assert.Equal(t, c.k, res.Shape.K, "%s, seed %d", c.name, seed)
		}
	}
	src := regressionTable(t, "NPreg", true, "yn", "x")
	res, err := framework.Fit(context.Background(), mixture.Model{Family: regress.Family{}}, src, framework.Options{K: 2, Method: framework.EM, Tolerance: 1e-13, Restarts: 5, Also: []framework.Criterion{framework.AIC}})
	require.NoError(t, err)
	assert.InDelta(t, -642.5320, res.Scores[len(res.Scores)-1].Value+9, 5e-5)
}

// value is a criterion's.
func value(t testing.TB, scores []framework.Score, of string) float64 {
	for _, s := range scores {
		if s.Criterion == of {
			require.NoError(t, s.Err)
			return s.Value
		}
	}
	t.Fatalf("no value of %s", of)
	return 0
}

// One class is a least squares fit, and gFIC = ln L − ½ ln|F| − ((p+1)/2) ln N with F = I ⊕ ½ there.
func TestOneRegressionHasAClosedForm(t *testing.T) {
	x := regressionRows(regress.Family{}, 60, rand.New(rand.NewPCG(8, 1)))
	src, err := blocks.FromMatrix(x)
	require.NoError(t, err)
	res, err := framework.Fit(context.Background(), mixture.Model{Family: regress.Family{}}, src, framework.Options{Criterion: framework.GFIC, K: 1})
	require.NoError(t, err)
	a, y, b := mat.NewDense(60, 3, nil), mat.NewVecDense(60, nil), new(mat.VecDense)
	for i := range 60 {
		a.SetRow(i, []float64{1, x.At(i, 1), x.At(i, 2)})
		y.SetVec(i, x.At(i, 0))
	}
	require.NoError(t, b.SolveVec(a, y)) // by QR
	var rest mat.VecDense
	rest.MulVec(a, b)
	rest.SubVec(y, &rest)
	variance := mat.Dot(&rest, &rest) / 60
	assert.InDeltaSlice(t, append(slices.Clone(b.RawVector().Data), variance), res.Parameters.Components, 1e-10)
	assert.InDelta(t, -30*(math.Log(2*math.Pi*variance)+1)+math.Ln2/2-2*math.Log(60), res.Value, 1e-8)

	// Standard errors are those of least squares with σ² = RSS/N.
	components, _, err := mixture.Model{Family: regress.Family{}}.StandardErrors(res.Statistics, res.Parameters)
	require.NoError(t, err)
	var gram, inverse mat.Dense
	gram.Mul(a.T(), a)
	require.NoError(t, inverse.Inverse(&gram))
	for j := range 3 {
		assert.InEpsilon(t, math.Sqrt(variance*inverse.At(j, j)), components[j], 1e-8)
	}
}

// Milliseconds and nanoseconds since 1970 have the standard errors of days since then, in their units.
func TestStandardErrorsHaveTheUnitsOfTheRegressors(t *testing.T) {
	errorsAt := func(scale, origin float64) []float64 {
		x := regressionRows(regress.Family{}, 60, rand.New(rand.NewPCG(8, 1)))
		for i := range 60 {
			x.Set(i, 1, origin+scale*math.Round(1000*x.At(i, 1))/1000)
		}
		src, err := blocks.FromMatrix(x)
		require.NoError(t, err)
		m := mixture.Model{Family: regress.Family{}}
		res, err := framework.Fit(context.Background(), m, src, framework.Options{K: 1, Method: framework.EM})
		require.NoError(t, err)
		deviations, _, err := m.StandardErrors(res.Statistics, res.Parameters)
		require.NoError(t, err)
		return deviations
	}
	want := errorsAt(1, 0)
	for _, second := range []float64{1e3, 1e9} {
		got := errorsAt(86_400*second, 1.6e9*second)
		assert.InEpsilon(t, want[1]/86_400/second, got[1], 1e-6)
		assert.InEpsilon(t, want[2], got[2], 1e-6)
		assert.InEpsilon(t, got[1]*1.6e9*second, got[0], 1e-2, "the intercept is far from the data")
	}
}

// Three lines of 100 rows in all are found, in 9 of 10 tables or more (measured: 10).
func TestSimulatedRegressionsAreFound(t *testing.T) {
	right := 0
	for set := range uint64(10) {
		rng := rand.New(rand.NewPCG(set, 77))
		x := mat.NewDense(100, 2, nil)
		for i := range 100 {
			a, lines := 10*rng.Float64(), [3][2]float64{{0, 2}, {10, -1}, {25, 1}}
			l := lines[i%3]
			x.SetRow(i, []float64{l[0] + l[1]*a + rng.NormFloat64(), a})
		}
		src, err := blocks.FromMatrix(x)
		require.NoError(t, err)
		res, err := framework.Fit(context.Background(), mixture.Model{Family: regress.Family{}}, src, framework.Options{K: 6, Seed: set})
		require.NoError(t, err)
		if res.Shape.K == 3 {
			right++
		}
	}
	t.Log(right)
	assert.GreaterOrEqual(t, right, 9)
}

// So are two curves of counts in 100 rows (measured: 10 and 10 of 10).
func TestSimulatedCurvesOfCountsAreFound(t *testing.T) {
	for _, f := range []regress.Family{{Response: regress.Counts, Exposure: true}, {Response: regress.Successes, Exposure: true}} {
		right := 0
		for set := range uint64(10) {
			src, err := blocks.FromMatrix(regressionRows(f, 100, rand.New(rand.NewPCG(set, 78))))
			require.NoError(t, err)
			res, err := framework.Fit(context.Background(), mixture.Model{Family: f}, src, framework.Options{K: 5, Seed: set})
			require.NoError(t, err)
			if res.Shape.K == 2 {
				right++
			}
		}
		t.Log(f.Name(), right)
		assert.GreaterOrEqual(t, right, 9, f.Name())
	}
}

// Of R 4.2.2's glm: coefficients, standard errors, ln L.
func TestGeneralisedLinearModelsAreThoseOfR(t *testing.T) {
	for _, c := range []struct {
		response             regress.Response
		column               string
		coefficients, errors []float64
		logLik               float64
	}{
		{regress.Counts, "yp", []float64{1.524111422309, -0.030380058268}, []float64{0.0698482840352, 0.0125593862365}, -460.736785071},
		{regress.Successes, "yb", []float64{-0.2258915607846, 0.0249825992836}, []float64{0.2893372867035, 0.0500448056463}, -138.254583251},
	} {
		m := mixture.Model{Family: regress.Family{Response: c.response}}
		res, err := framework.Fit(context.Background(), m, regressionTable(t, "NPreg", false, c.column, "x"),
			framework.Options{K: 1, Criterion: framework.GFIC, Also: []framework.Criterion{framework.AIC}})
		require.NoError(t, err)
		assert.InDeltaSlice(t, c.coefficients, res.Parameters.Components, 1e-8)
		assert.InDelta(t, c.logLik, value(t, res.Scores, framework.AIC.Name)+2, 1e-7)
		assert.InDelta(t, c.logLik-math.Log(200), res.Value, 1e-7) // F = I: gFIC = ln L − (p/2) ln N
		errs, _, err := m.StandardErrors(res.Statistics, res.Parameters)
		require.NoError(t, err)
		assert.InDeltaSlice(t, c.errors, errs, 1e-6) // R's are those of the iteration before
	}
}

// The likelihood of R's flexmix 2.3-18, the best of 20 starts.
func TestMixturesOfCountsReachTheLikelihoodOfFlexmix(t *testing.T) {
	res, err := framework.Fit(context.Background(), mixture.Model{Family: regress.Family{Response: regress.Counts}}, regressionTable(t, "NPreg", false, "yp", "x"),
		framework.Options{K: 2, Method: framework.EM, Tolerance: 1e-12, Also: []framework.Criterion{framework.AIC}})
	require.NoError(t, err)
	assert.InDelta(t, -440.64029453, value(t, res.Scores, framework.AIC.Name)+5, 1e-6)

	// With one slope for both (FLXMRglmfix).
	res, err = framework.Fit(context.Background(), mixture.Model{Family: regress.Family{Response: regress.Counts, Fixed: []int{1}}}, regressionTable(t, "NPreg", false, "yp", "x"),
		framework.Options{K: 2, Method: framework.EM, Tolerance: 1e-12, Also: []framework.Criterion{framework.AIC}})
	require.NoError(t, err)
	assert.InDelta(t, -449.54456245, value(t, res.Scores, framework.AIC.Name)+4, 1e-6)
	assert.Equal(t, res.Parameters.Component(0)[1], res.Parameters.Component(1)[1])

	// 200 numbers of successes in 10 trials, alternately of two curves, rounded.
	var x []float64
	for i := range 200 {
		at := -2 + 4*float64(i)/199
		eta := 1 + 1.5*at
		if i%2 == 1 {
			eta = -1 - at
		}
		x = append(x, math.RoundToEven(10/(1+math.Exp(-eta))), 10, at)
	}
	src, err := blocks.FromSlice(x, 200, 3)
	require.NoError(t, err)
	res, err = framework.Fit(context.Background(), mixture.Model{Family: regress.Family{Response: regress.Successes, Exposure: true}}, src,
		framework.Options{K: 2, Method: framework.EM, Tolerance: 1e-12, Also: []framework.Criterion{framework.AIC}})
	require.NoError(t, err)
	assert.InDelta(t, -341.766761834, value(t, res.Scores, framework.AIC.Name)+5, 1e-6)
}

// A component whose responses are all 0 has a finite estimate, and gFAB keeps it.
func TestComponentsOfZerosAreFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	x := mat.NewDense(300, 2, nil)
	for i := range 300 {
		a := rng.NormFloat64()
		x.SetRow(i, []float64{0, a})
		if i%3 > 0 {
			x.Set(i, 0, distuv.Poisson{Lambda: math.Exp(3 + 0.3*a), Src: rng}.Rand())
		}
	}
	src, err := blocks.FromMatrix(x)
	require.NoError(t, err)
	m := mixture.Model{Family: regress.Family{Response: regress.Counts}}
	res, err := framework.Fit(context.Background(), m, src, framework.Options{Criterion: framework.GFIC, K: 4})
	require.NoError(t, err)
	require.Equal(t, 2, res.Shape.K)
	p, err := m.Canonical(res.Parameters)
	require.NoError(t, err)
	assert.InDelta(t, 1./3, p.Weights[1], 0.01)
	assert.InDelta(t, 3, p.Component(0)[0], 0.05)
	assert.Less(t, p.Component(1)[0], -4.) // e⁻⁴ events in 100 rows are none
}

// A row without a response has the weights of the components for its probabilities, and changes no estimate.
func TestRowsWithoutAResponse(t *testing.T) {
	for _, f := range []regress.Family{{}, {Response: regress.Counts}} {
		x := regressionRows(f, 100, rand.New(rand.NewPCG(5, 2)))
		m := mixture.Model{Family: f}
		src, err := blocks.FromMatrix(x)
		require.NoError(t, err)
		want, err := framework.Fit(context.Background(), m, src, framework.Options{K: 2, Method: framework.EM})
		require.NoError(t, err)
		more := slices.Clone(x.RawMatrix().Data)
		for range 30 {
			more = append(more, math.NaN(), 500, math.NaN())
		}
		src, err = blocks.FromIncomplete(more, 130, 3)
		require.NoError(t, err)
		res, err := framework.FitFrom(context.Background(), m, src, func(ctx context.Context, src framework.Source[blocks.Rows], _ int, _ *rand.Rand) (*mixture.Parameters, error) {
			return m.StartAt(ctx, src, want.Parameters)
		}, framework.Options{K: 2, Method: framework.EM})
		require.NoError(t, err)
		assert.InDeltaSlice(t, want.Parameters.Components, res.Parameters.Components, 1e-4)
		means, err := m.Means(src.All(), res.Parameters)
		require.NoError(t, err)
		line := res.Parameters.Component(1)
		eta := line[0] + line[1]*x.At(7, 1) + line[2]*x.At(7, 2)
		if f.Response == regress.Counts {
			eta = math.Exp(eta)
		}
		assert.InDelta(t, eta, means[7*2+1], 1e-9)
		q, err := m.Responsibilities(src.All(), res.Parameters, nil)
		require.NoError(t, err)
		assert.InDeltaSlice(t, res.Parameters.Weights, q[len(q)-2:], 1e-12)
	}
}

func TestRegressionsRefuse(t *testing.T) {
	normal, counts, binary, trials := regress.Family{}, regress.Family{Response: regress.Counts}, regress.Family{Response: regress.Successes}, regress.Family{Response: regress.Successes, Exposure: true}
	nan := math.NaN()
	for _, c := range []struct {
		family  regress.Family
		columns int
		x       []float64
		want    string
	}{
		{normal, 2, []float64{3, 1, 3, 2, 3, 3, 3, 4}, "column 1 is the response, and constant: there is nothing to explain"},
		{counts, 2, []float64{3, 1, 3, 2, 3, 3, 3, 4}, "column 1 is the response, and constant: there is nothing to explain"},
		{normal, 3, []float64{1, 1, 2, 2, 2, 4, 5, 3, 6, 1, 4, 8, 0, 5, 10}, "column 3 is a linear combination of the intercept and regressors before it: leave it out"},
		{counts, 2, []float64{1, 7, 2, 7, 5, 7, 1, 7}, "column 2 is constant"},
		{normal, 4, []float64{1, 2, 3, 4, 2, 5, 1, 3, 2, 2, 1, 7}, "4 coefficients need at least as many rows with a response, and there are 3: leave regressors out"},
		{normal, 2, []float64{1, 2, 4, 3}, "2 coefficients and a variance need more rows with a response than 2"},
		{counts, 2, []float64{1, 7, 2.5, 8, 5, 9, 1, 7}, "row 2, column 1 is 2.5: a count is a whole number, 0 or above"},
		{binary, 2, []float64{1, 7, 0, 8, 2, 9, 1, 7}, "row 3, column 1 is 2: a response without trials is 0 or 1"},
		{trials, 3, []float64{1, 5, 7, 6, 5, 8, 2, 5, 9, 1, 5, 7}, "row 2, column 1 is 6: there are more successes than trials"},
		{trials, 3, []float64{1, 5, 7, 1, 2.5, 8, 2, 5, 9, 1, 5, 7}, "row 2, column 2 is 2.5: the number of trials is a whole number"},
		{binary, 2, []float64{0, 1, 0, 2, 0, 3, 1, 4, 1, 5, 1, 6}, "column 1 is separated by the regressors"},
		{normal, 2, []float64{1, 2, 4, nan, 5, 2, 6, 7, 1, 2}, "row 2, column 2 is missing: a row with a response needs all of its regressors"},
		{normal, 2, []float64{nan, 2, nan, 1, nan, 2}, "column 1 has no value at all"},
	} {
		src, err := blocks.FromIncomplete(c.x, len(c.x)/c.columns, c.columns)
		require.NoError(t, err)
		_, err = framework.Fit(context.Background(), mixture.Model{Family: c.family}, src, framework.Options{K: 1})
		assert.ErrorContains(t, err, c.want, "%v", c.x)
	}
}

// Without regressors, regressions are the families of their responses: with the same likelihood, the same F and the same K.
func TestRegressionsOnAnInterceptAloneAreTheirFamilies(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, c := range []struct {
		regression, plain family.Family
		draw              func(i int) float64
	}{
		{regress.Family{}, normal.Family{}, func(i int) float64 { return 5*float64(i%2) + rng.NormFloat64() }},
		{regress.Family{Response: regress.Counts}, family.Poisson{}, func(i int) float64 {
			return distuv.Poisson{Lambda: 3 + 12*float64(i%2), Src: rng}.Rand()
		}},
	} {
		var x []float64
		for i := range 200 {
			x = append(x, c.draw(i))
		}
		src, err := blocks.FromSlice(x, 200, 1)
		require.NoError(t, err)
		a, err := framework.Fit(context.Background(), mixture.Model{Family: c.regression}, src, framework.Options{Criterion: framework.GFIC, K: 5})
		require.NoError(t, err)
		b, err := framework.Fit(context.Background(), mixture.Model{Family: c.plain}, src, framework.Options{Criterion: framework.GFIC, K: 5})
		require.NoError(t, err)
		require.Equal(t, 2, a.Shape.K)
		require.Equal(t, 2, b.Shape.K)
		assert.InDelta(t, b.Value, a.Value, 1e-5)
	}
}
