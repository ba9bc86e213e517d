package numeric_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/pruning"
)

// faulty is a Poisson density of which one method or another does what it must not.
type faulty struct {
	poisson
	logProb func(x, rate []float64) float64
	layout  func(d int) numeric.Layout
}

func (f faulty) Layout(d int) numeric.Layout {
	if f.layout != nil {
		return f.layout(d)
	}
	return f.poisson.Layout(d)
}

func (f faulty) LogProb(x, rate, shared []float64) float64 {
	if f.logProb != nil {
		return f.logProb(x, rate)
	}
	return f.poisson.LogProb(x, rate, shared)
}

func at(value, instead float64) func(x, rate []float64) float64 {
	return func(x, rate []float64) float64 {
		if x[0] == value {
			return instead
		}
		return poisson{}.LogProb(x, rate, nil)
	}
}

type badGuess struct{ poisson }

func (badGuess) Guess(_ numeric.Weighted, rate, _ []float64) { rate[0] = -1 }

type badEstimate struct {
	poisson
	rate float64
	err  error
}

func (b badEstimate) Estimate(_ numeric.Weighted, rate, _ []float64) error {
	rate[0] = b.rate
	return b.err
}

type panickingEstimate struct{ poisson }

func (panickingEstimate) Estimate(numeric.Weighted, []float64, []float64) error { panic("oh") }

type badInformation struct{ poisson }

func (badInformation) Information(_ numeric.Weighted, _, _ []float64, dst *mat.SymDense) {
	dst.SetSym(0, 0, math.NaN())
}

type badStatistics struct {
	poisson
	n int
}

func (b badStatistics) Statistics(int) int                                    { return b.n }
func (badStatistics) Observe(x, t []float64)                                  { t[0] = x[0]; _ = t[1] }
func (badStatistics) LogTotal(numeric.Weighted, []float64, []float64) float64 { return math.NaN() }

// batched is poisson with ln x! computed once a step.
type batched struct {
	poisson
	wrong func(dst []float64)
}

func (batched) Derived(columns int) int { return columns }

func (batched) Derive(x, d []float64) {
	for j, v := range x {
		d[j], _ = math.Lgamma(v + 1)
	}
}

func (b batched) LogProbs(rows, rate, _, dst []float64) {
	d := len(rate)
	for i := range dst {
		row := rows[2*d*i:][:2*d]
		dst[i] = 0
		for j, v := range rate {
			if dst[i] -= v + row[d+j]; row[j] > 0 {
				dst[i] += row[j] * math.Log(v)
			}
		}
	}
	if b.wrong != nil {
		b.wrong(dst)
	}
}

// TestBatchesAreRows: the fit is the same, also with rows that are missing, and one of two parts of a product.
func TestBatchesAreRows(t *testing.T) {
	x := counts(60, 1, 7)
	some := slices.Clone(x)
	some[3] = math.NaN()
	for _, x := range [][]float64{x, some} {
		table, err := blocks.FromIncomplete(x, 60, 1)
		require.NoError(t, err)
		for _, c := range []framework.Criterion{framework.GFIC, framework.Evidence} {
			o := framework.Options{K: 3, Criterion: c}
			a, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: poisson{}}}, table, o)
			require.NoError(t, err)
			b, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: batched{}}}, table, o)
			require.NoError(t, err)
			assert.Equal(t, a.Shape, b.Shape)
			assert.InDelta(t, a.Value, b.Value, 1e-6)
		}
	}
}

type badGradient struct{ poisson }

func (badGradient) Gradient(_, _, _, dRate, _ []float64) { _ = dRate[7] }

func TestBrokenPromises(t *testing.T) {
	layout := func(list ...numeric.Parameter) func(int) numeric.Layout {
		return func(int) numeric.Layout { return numeric.Layout{Component: list} }
	}
	x := []float64{3, 4, 5, 4, 9, 20, 22, 18, 25, 21}
	for name, c := range map[string]struct {
		density numeric.Density
		want    []string
	}{
		"none":                 {nil, []string{"no Density"}},
		"NaN":                  {faulty{logProb: at(9, math.NaN())}, []string{"LogProb of numeric_test.faulty", "row 5, component 1", "NaN"}},
		"+Inf":                 {faulty{logProb: at(22, math.Inf(1))}, []string{"LogProb of numeric_test.faulty", "row 7, component 1", "+Inf"}},
		"-Inf everywhere":      {faulty{logProb: at(22, math.Inf(-1))}, []string{"LogProb of numeric_test.faulty", "row 7", "−Inf", "implement Guess"}},
		"panic":                {faulty{logProb: func(x, _ []float64) float64 { return x[len(x)] }}, []string{"LogProb of numeric_test.faulty panicked at row 1, component 1", "index out of range"}},
		"panic in Layout":      {faulty{layout: func(int) numeric.Layout { panic("oh") }}, []string{"Layout of numeric_test.faulty panicked: oh"}},
		"no kind":              {faulty{layout: layout(numeric.Parameter{Name: "rate"})}, []string{"Layout", `"rate" has no kind`}},
		"no numbers":           {faulty{layout: layout(numeric.Rate("rate", 0))}, []string{"Layout", `"rate" has 0 numbers`}},
		"simplex of one":       {faulty{layout: layout(numeric.Simplex("p", 1))}, []string{"Layout", `"p" has 1 numbers`}},
		"coordinate of a mean": {faulty{layout: layout(numeric.Real("mean", 1).In(numeric.Log))}, []string{"Layout", `"mean"`, "In chooses"}},
		"guess":                {badGuess{}, []string{"Guess of numeric_test.badGuess: contract violated", `"rate" is -1`}},
		"estimate":             {badEstimate{rate: -2}, []string{"Estimate of numeric_test.badEstimate for component 1: contract violated", `"rate" is -2`}},
		"estimate NaN":         {badEstimate{rate: math.NaN()}, []string{"Estimate of numeric_test.badEstimate for component 1: contract violated", "NaN"}},
		"estimate fails":       {badEstimate{rate: 1, err: errors.New("no rows that I like")}, []string{"component 1: no rows that I like"}},
		"estimate panics":      {panickingEstimate{}, []string{"Estimate of numeric_test.panickingEstimate panicked for component 1: oh"}},
		"information":          {badInformation{}, []string{"Information of numeric_test.badInformation for component 1", "NaN"}},
		"negative statistics":  {badStatistics{n: -1}, []string{"Statistics of numeric_test.badStatistics", "-1"}},
		"observe":              {badStatistics{n: 1}, []string{"Observe of numeric_test.badStatistics panicked at row 1"}},
		"total":                {badStatistics{n: 2}, []string{"LogTotal of numeric_test.badStatistics", "NaN"}},
		"gradient":             {badGradient{}, []string{"Gradient of numeric_test.badGradient panicked at row 1, component 1"}},
		"batch of NaN":         {batched{wrong: func(dst []float64) { dst[0] = math.NaN() }}, []string{"LogProbs of numeric_test.batched", "NaN"}},
		"batch that panics":    {batched{wrong: func(dst []float64) { _ = dst[len(dst)] }}, []string{"LogProbs of numeric_test.batched panicked"}},
		"real is not used": {faulty{layout: layout(numeric.Rate("rate", 1), numeric.Real("nothing", 1))},
			[]string{"does not determine the Real parameters"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, workers := range []int{1, 2} {
				_, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: c.density}}, tableOf(t, x, 1), framework.Options{Criterion: framework.GFIC, K: 2, Workers: workers})
				for _, want := range c.want {
					assert.ErrorContains(t, err, want)
				}
			}
		})
	}
}

func TestBadTables(t *testing.T) {
	m := mixture.Model{Family: numeric.Family{Density: poisson{}}}
	_, err := framework.Fit(ctx, m, tableOf(t, []float64{1, 2, 3}, 1), framework.Options{K: 4})
	assert.ErrorContains(t, err, "4 components for 3 distinct rows")

	res, err := framework.Fit(ctx, m, tableOf(t, counts(30, 2, 1), 2), framework.Options{K: 2})
	require.NoError(t, err)
	other := tableOf(t, []float64{1, 2, 3}, 3).All()
	_, err = m.LogProb(other, res.Parameters, nil)
	assert.ErrorContains(t, err, "3 columns does not match a model of 2")
	_, err = m.Responsibilities(other, res.Parameters, nil)
	assert.ErrorContains(t, err, "3 columns does not match a model of 2")
}

func TestOneRow(t *testing.T) {
	for _, method := range []framework.Method{framework.EM, framework.GFAB, framework.FAB} {
		res, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: poisson{}}}, tableOf(t, []float64{7, 2}, 2), framework.Options{K: 1, Method: method})
		require.NoError(t, err)
		assert.InDeltaSlice(t, []float64{7, 2}, res.Parameters.Components, 1e-6)
	}
	// A Gaussian of one row has no variance.
	_, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: diagonal{}}}, tableOf(t, []float64{7}, 1), framework.Options{K: 1})
	assert.Error(t, err)
	assert.False(t, errors.Is(err, context.Canceled))
}

// A component that settles on rows without spread has no maximum: gFAB drops it, EM says so.
func TestCollapse(t *testing.T) {
	x := append(clouds(40, 6), 500, 500, 500, 500, 500, 500)
	_, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: diagonal{}}}, tableOf(t, x, 2), framework.Options{K: 2, Method: framework.EM})
	assert.ErrorIs(t, err, framework.ErrDegenerate)
	assert.ErrorContains(t, err, `"variance"`)
	res, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: diagonal{}}}, tableOf(t, x, 2), framework.Options{Criterion: framework.GFIC, K: 2})
	require.NoError(t, err)
	assert.Equal(t, 1, res.Shape.K)
}

// pieces hands a table out a few rows at a time, so that there are many blocks.
type pieces struct{ all blocks.Rows }

func (p pieces) Rows() int { return p.all.N }

func (p pieces) Blocks(context.Context) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		for first, p := 0, p.all; first < p.N; first += 7 {
			n := min(7, p.N-first)
			if !yield(blocks.Rows{First: first, N: n, D: p.D, Stride: p.Stride, X: p.X[first*p.Stride : (first+n-1)*p.Stride+p.D]}, nil) {
				return
			}
		}
	}
}

// A component without rows is the first to go, although its charge ½ ln|N F| tends to −∞.
func TestEmptyComponentIsTheLeastRelevant(t *testing.T) {
	src := tableOf(t, counts(100, 1, 3), 1)
	m := mixture.Model{Family: numeric.Family{Density: poisson{}}}
	res, err := framework.Fit(ctx, m, src, framework.Options{Criterion: framework.GFIC, K: 2, FixedK: true, MaxIterations: 3})
	require.NoError(t, err)
	res.Statistics.Nk[0] = 0
	relevance, err := m.Relevance(res.Statistics, res.Parameters)
	require.NoError(t, err)
	assert.Equal(t, math.Inf(-1), relevance[0])
	assert.Greater(t, relevance[1], math.Inf(-1))

	res.Statistics.Nk[1] = 0
	var tilt laplace.Tilt
	tilt.Set(curvature(t, m, res.Statistics, res.Parameters))
	err = m.Prepare(res.Parameters, &tilt, m.NewStatistics(res.Parameters))
	assert.ErrorContains(t, err, "no component has rows")
}

// The same bits for any number of workers, and the same answer for any blocks.
func TestBits(t *testing.T) {
	table := tableOf(t, counts(150, 2, 2), 2)
	src := pieces{table.All()}
	o := framework.Options{K: 4, Workers: 1, Tolerance: 1e-11}
	m := mixture.Model{Family: numeric.Family{Density: poisson{}}}
	one, err := framework.Fit(ctx, m, src, o)
	require.NoError(t, err)
	whole, err := framework.Fit(ctx, m, table, o)
	require.NoError(t, err)
	o.Workers = 3
	three, err := framework.Fit(ctx, m, src, o)
	require.NoError(t, err)
	assert.Equal(t, one.Trace, three.Trace)
	assert.Equal(t, one.Parameters.Components, three.Parameters.Components)
	assert.InDelta(t, whole.Value, one.Value, 1e-6)

	joint := numeric.Continuous{Density: ppca{}}
	src = pieces{tableOf(t, centred(40, 3, 3), 3).All()}
	o = framework.Options{K: 2, Workers: 1, MaxIterations: 10}
	a, err := framework.Fit(ctx, joint, src, o)
	require.NoError(t, err)
	o.Workers = 3
	b, err := framework.Fit(ctx, joint, src, o)
	require.NoError(t, err)
	assert.Equal(t, a.Trace, b.Trace)
	assert.Equal(t, a.Parameters.Components, b.Parameters.Components)
}

func TestResume(t *testing.T) {
	src := tableOf(t, counts(120, 2, 3), 2)
	m := mixture.Model{Family: numeric.Family{Density: poisson{}}}
	whole, err := framework.Fit(ctx, m, src, framework.Options{K: 4})
	require.NoError(t, err)
	part, err := framework.Fit(ctx, m, src, framework.Options{K: 4, MaxIterations: 5})
	require.NoError(t, err)
	checkpoint, err := part.Checkpoint()
	require.NoError(t, err)
	rest, err := framework.Fit(ctx, m, src, framework.Options{K: 4, Resume: checkpoint})
	require.NoError(t, err)
	assert.Equal(t, whole.Trace, rest.Trace)
	assert.Equal(t, whole.Parameters.Components, rest.Parameters.Components)

	_, err = framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: faulty{}}}, src, framework.Options{K: 4, Resume: checkpoint})
	assert.ErrorContains(t, err, "another fit")
}

func TestParametersSurviveJSON(t *testing.T) {
	src := tableOf(t, clouds(80, 7), 2)
	m := mixture.Model{Family: numeric.Family{Density: full{}}}
	res, err := framework.Fit(ctx, m, src, framework.Options{K: 2})
	require.NoError(t, err)
	text, err := json.Marshal(res.Parameters)
	require.NoError(t, err)
	var p mixture.Parameters
	require.NoError(t, json.NewDecoder(bytes.NewReader(text)).Decode(&p))
	require.NoError(t, m.Check(&p))
	a, err := framework.Evaluate(ctx, m, src, res.Parameters, 1)
	require.NoError(t, err)
	b, err := framework.Evaluate(ctx, m, src, &p, 1)
	require.NoError(t, err)
	assert.Equal(t, a.LogLikelihood, b.LogLikelihood)
	assert.InDelta(t, a.LogDet, b.LogDet, 1e-6)

	for name, spoil := range map[string]func(p *mixture.Parameters){
		"weights":     func(p *mixture.Parameters) { p.Weights = p.Weights[:1] },
		"sum":         func(p *mixture.Parameters) { p.Weights[0] = 0.9 },
		"covariance":  func(p *mixture.Parameters) { p.Components[2] = -1 },
		"not a table": func(p *mixture.Parameters) { p.Pooled = nil },
	} {
		var q mixture.Parameters
		require.NoError(t, json.Unmarshal(text, &q))
		spoil(&q)
		assert.Error(t, m.Check(&q), name)
	}
}

func TestContinuousParametersSurviveJSON(t *testing.T) {
	src := tableOf(t, centred(20, 3, 6), 3)
	m := numeric.Continuous{Density: ppca{}}
	res, err := framework.Fit(ctx, m, src, framework.Options{K: 1, MaxIterations: 5})
	require.NoError(t, err)
	text, err := json.Marshal(res.Parameters)
	require.NoError(t, err)
	for name, spoil := range map[string]func(p *numeric.ContinuousParameters){
		"":         func(*numeric.ContinuousParameters) {},
		"loadings": func(p *numeric.ContinuousParameters) { p.Components = p.Components[:2] },
		"noise":    func(p *numeric.ContinuousParameters) { p.Shared[0] = 0 },
		"K":        func(p *numeric.ContinuousParameters) { p.K = 0 },
	} {
		var q numeric.ContinuousParameters
		require.NoError(t, json.Unmarshal(text, &q))
		spoil(&q)
		if name != "" {
			assert.Error(t, m.Check(&q), name)
			continue
		}
		require.NoError(t, m.Check(&q))
		want, err := m.LogProb(src.All(), res.Parameters, nil)
		require.NoError(t, err)
		got, err := m.LogProb(src.All(), &q, nil)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// One row tells nothing of the noise, and the model says so; two rows of one column fit.
func TestContinuousNeedsRows(t *testing.T) {
	m := numeric.Continuous{Density: ppca{}}
	_, err := framework.Fit(ctx, m, tableOf(t, []float64{0, 0, 0}, 3), framework.Options{K: 1, Method: framework.EM})
	assert.Error(t, err)
	res, err := framework.Fit(ctx, m, tableOf(t, []float64{1, -2, -1, 2, 0.5, 0.5, -0.5, -0.5}, 2), framework.Options{K: 1, Method: framework.EM, MaxIterations: 50})
	require.NoError(t, err)
	assert.Equal(t, 1, res.Shape.K)
}

// Rows of weight w are w rows.
func TestWeights(t *testing.T) {
	x := counts(40, 1, 4)
	weights := make([]float64, len(x))
	var repeated []float64
	for i := range x {
		weights[i] = float64(i % 3)
		for range i % 3 {
			repeated = append(repeated, x[i])
		}
	}
	weighted, err := tableOf(t, x, 1).WithWeights(weights)
	require.NoError(t, err)
	m := mixture.Model{Family: numeric.Family{Density: poisson{}}}
	a, err := framework.Fit(ctx, m, weighted, framework.Options{K: 4})
	require.NoError(t, err)
	b, err := framework.Fit(ctx, m, tableOf(t, repeated, 1), framework.Options{K: 4})
	require.NoError(t, err)
	assert.Equal(t, b.Shape, a.Shape)
	assert.InDelta(t, b.Value, a.Value, 1e-5)
}

// A row of weight 0 is left out, whatever the density makes of it.
func TestRowsOfNoWeight(t *testing.T) {
	x, weights := counts(40, 1, 4), slices.Repeat([]float64{1}, 41)
	x, weights[20] = slices.Insert(x, 20, 1000), 0
	src, err := tableOf(t, x, 1).WithWeights(weights)
	require.NoError(t, err)
	want, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: poisson{}}}, src, framework.Options{K: 3})
	require.NoError(t, err)
	got, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: faulty{logProb: at(1000, math.NaN())}}}, src, framework.Options{K: 3})
	require.NoError(t, err)
	assert.Equal(t, want.Value, got.Value)

	y := centred(20, 2, 7)
	y[6], weights = 1000, slices.Repeat([]float64{1}, 20)
	weights[3] = 0
	joint, err := tableOf(t, y, 2).WithWeights(weights)
	require.NoError(t, err)
	_, err = framework.Fit(ctx, numeric.Continuous{Density: faultyJoint{logJoint: func(x, _ []float64) float64 {
		if x[0] == 1000 {
			panic("not me")
		}
		return 0
	}}}, joint, framework.Options{K: 1, Method: framework.EM, MaxIterations: 3})
	require.NoError(t, err)
}

// Select works unchanged, on all criteria.
func TestSelect(t *testing.T) {
	s, err := framework.Select(ctx, mixture.Model{Family: numeric.Family{Density: poisson{}}}, tableOf(t, counts(120, 1, 5), 1), []int{1, 2, 3, 4}, framework.Options{Restarts: 2},
		framework.GFIC, framework.FIC, framework.BICEM, framework.BIC, framework.AIC, framework.ICL)
	require.NoError(t, err)
	for j, c := range s.Criteria {
		assert.Equal(t, 3, s.K[s.Best(j)], c.Name)
	}
}

// Standard errors are those of the textbook: √(λ/N) for rates, √(σ²/N) and σ²√(2/N) for means and variances.
func TestStandardErrors(t *testing.T) {
	m := mixture.Model{Family: numeric.Family{Density: diagonal{}}}
	res, err := framework.Fit(ctx, m, tableOf(t, clouds(100, 8), 2), framework.Options{K: 1})
	require.NoError(t, err)
	errs, _, err := m.StandardErrors(res.Statistics, res.Parameters)
	require.NoError(t, err)
	for j := range 2 {
		v := res.Parameters.Components[2+j]
		assert.InEpsilon(t, math.Sqrt(v/100), errs[j], 1e-5)
		assert.InEpsilon(t, v*math.Sqrt(0.02), errs[2+j], 1e-5)
	}
}

// unprojected is a model whose author has overridden the projection, and keeps every component.
type unprojected struct{ mixture.Model }

func (unprojected) Keep(s *mixture.Statistics, p *mixture.Parameters, _ []int) (*mixture.Statistics, *mixture.Parameters, error) {
	return s, p, nil
}

// Either rule drops a component, and the projection does not: an error that names it.
func TestProjectionToTheWrongSize(t *testing.T) {
	for _, rules := range []pruning.Rules{{Eigenvalue: pruning.Eigenvalue{Observations: 30}}, {Eigenvalue: pruning.Eigenvalue{Off: true}}} {
		_, err := framework.Fit(ctx, unprojected{mixture.Model{Family: numeric.Family{Density: poisson{}}}}, tableOf(t, counts(60, 1, 6), 1), framework.Options{K: 3, Prune: rules})
		assert.ErrorContains(t, err, "Keep of numeric_test.unprojected: contract violated")
		assert.ErrorContains(t, err, "K = 3")
	}
}

// A density that fails in the smaller model of a trial only is not taken for one that needs the larger model.
func TestContractViolatedInATrial(t *testing.T) {
	var tried atomic.Bool
	m := numeric.Continuous{Density: faultyJoint{logJoint: func(_, z []float64) float64 {
		if tried.Load() && len(z) == 1 {
			return math.NaN()
		}
		if len(z) == 2 {
			tried.Store(true)
		}
		return 0
	}}}
	_, err := framework.Fit(ctx, m, tableOf(t, centred(20, 3, 8), 3),
		framework.Options{K: 2, Criterion: framework.GFIC})
	assert.ErrorIs(t, err, framework.ErrContract)
	assert.ErrorContains(t, err, "LogJoint of numeric_test.faultyJoint")

	_, err = framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: panickingEstimate{}}}, tableOf(t, []float64{1, 2}, 1), framework.Options{K: 1})
	assert.ErrorIs(t, err, framework.ErrContract)
}

// chosen is a Poisson density with another coordinate for its curvature.
type chosen struct {
	poisson
	in numeric.Coordinate
}

func (c chosen) Layout(int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Rate("rate", 1).In(c.in)}}
}

// The information about a rate λ is 1/λ; in other coordinates it is that divided by (dφ/dλ)².
func TestChosenCoordinates(t *testing.T) {
	src := tableOf(t, slices.Repeat([]float64{2, 3, 4, 5, 6}, 10), 1) // λ = 4 is the whole table's too
	for name, c := range map[string]struct {
		in   numeric.Coordinate
		want float64
	}{
		"default": {nil, 1},
		"Root":    {numeric.Root, 1. / 4 / (1. / 4)},
		"Log":     {numeric.Log, 1. / 4 / (1. / 16)},
		"Linear":  {numeric.Linear, 1. / 4 / (1. / 16)},
		"own":     {func(_, _ float64) float64 { return 3 }, 1. / 4 / 9},
	} {
		m := mixture.Model{Family: numeric.Family{Density: chosen{in: c.in}}}
		res, err := framework.Fit(ctx, m, src, framework.Options{Criterion: framework.GFIC, K: 1})
		require.NoError(t, err)
		f := curvature(t, m, res.Statistics, res.Parameters).Blocks()
		assert.InEpsilon(t, c.want, f[1].At(0, 0), 1e-6, name) // after the block of the rows
	}
	for _, in := range []numeric.Coordinate{numeric.Root, numeric.Linear} {
		_, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: chosen{in: in}}}, tableOf(t, []float64{0, 0, 0}, 1), framework.Options{Criterion: framework.GFIC, K: 1})
		assert.ErrorContains(t, err, "no slope")
	}
}

// faultyJoint is probabilistic PCA of which one method or another does what it must not.
type faultyJoint struct {
	ppca
	logJoint func(x, z []float64) float64
	layout   func(d int) numeric.Layout
}

func (f faultyJoint) Layout(d int) numeric.Layout {
	if f.layout != nil {
		return f.layout(d)
	}
	return f.ppca.Layout(d)
}

func (f faultyJoint) LogJoint(x, z, w, noise []float64) float64 {
	if f.logJoint != nil {
		if v := f.logJoint(x, z); v != 0 {
			return v
		}
	}
	return f.ppca.LogJoint(x, z, w, noise)
}

type badPosterior struct{ ppca }

func (badPosterior) Posterior(_, _, _ []float64, _ mat.Symmetric, _ []float64, _ *mat.SymDense) {}

type badMean struct{ ppca }

func (badMean) Posterior(_, _, _ []float64, _ mat.Symmetric, mean []float64, _ *mat.SymDense) {
	mean[0] = math.NaN()
}

type badJointEstimate struct{ ppca }

func (badJointEstimate) EstimateJoint(_ numeric.Inferred, _, noise []float64) error {
	noise[0] = 0
	return nil
}

type badJointInformation struct{ ppca }

func (badJointInformation) InformationJoint(_ numeric.Inferred, _, _ []float64, dst *mat.SymDense) {
	dst.SetSym(0, 1, math.NaN())
}

func TestBrokenPromisesOfJointDensities(t *testing.T) {
	x := centred(12, 3, 2)
	third := x[6]
	for name, c := range map[string]struct {
		model numeric.Continuous
		want  []string
	}{
		"none": {numeric.Continuous{}, []string{"no Density"}},
		"NaN": {numeric.Continuous{Density: faultyJoint{logJoint: func(x, _ []float64) float64 {
			if x[0] == third {
				return math.NaN()
			}
			return 0
		}}}, []string{"LogJoint of numeric_test.faultyJoint at row 3: contract violated", "NaN"}},
		"+Inf far out": {numeric.Continuous{Density: faultyJoint{logJoint: func(_, z []float64) float64 {
			if len(z) > 1 {
				return math.Inf(1)
			}
			return 0
		}}}, []string{"LogJoint of numeric_test.faultyJoint at row 1: contract violated", "+Inf"}},
		"panic": {numeric.Continuous{Density: faultyJoint{logJoint: func(_, z []float64) float64 {
			if len(z) == 2 {
				panic("two!")
			}
			return 0
		}}}, []string{"LogJoint of numeric_test.faultyJoint panicked at row 1: two!"}},
		"no prior": {numeric.Continuous{Density: faultyJoint{logJoint: func(x, z []float64) float64 {
			if len(z) == 1 {
				return 0
			}
			return -1 + 0.01*z[0]*z[0]
		}}}, []string{"LogJoint of numeric_test.faultyJoint at row 1", "maximum in z"}},
		"not Real": {numeric.Continuous{Density: faultyJoint{layout: func(int) numeric.Layout {
			return numeric.Layout{Component: []numeric.Parameter{numeric.Rate("w", 3)}}
		}}}, []string{`"w"`, "not Real"}},
		"nothing": {numeric.Continuous{Density: faultyJoint{layout: func(int) numeric.Layout { return numeric.Layout{} }}},
			[]string{"no parameters"}},
		"unused": {numeric.Continuous{Density: faultyJoint{layout: func(d int) numeric.Layout {
			l := ppca{}.Layout(d)
			l.Component[0] = numeric.Real("w", d+1)
			return l
		}, logJoint: func(x, z []float64) float64 { return -1 - z[0]*z[0]/2 }}}, []string{"does not determine"}},
		"posterior":   {numeric.Continuous{Density: badPosterior{}}, []string{"Posterior of numeric_test.badPosterior at row 1: contract violated", "not positive definite"}},
		"mean":        {numeric.Continuous{Density: badMean{}}, []string{"Posterior of numeric_test.badMean at row 1: contract violated", "NaN"}},
		"estimate":    {numeric.Continuous{Density: badJointEstimate{}}, []string{"EstimateJoint of numeric_test.badJointEstimate: contract violated", `"noise" is 0`}},
		"information": {numeric.Continuous{Density: badJointInformation{}}, []string{"InformationJoint of numeric_test.badJointInformation: contract violated", "NaN"}},
		"nodes":       {numeric.Continuous{Density: ppca{}, Nodes: 200}, []string{"too many points"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := framework.Fit(ctx, c.model, tableOf(t, x, 3),
				framework.Options{K: 2, MaxIterations: 3, Criterion: framework.GFIC})
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func ExampleFamily() {
	table, err := blocks.FromSlice([]float64{2, 3, 1, 2, 2, 14, 15, 11, 17, 13}, 10, 1)
	if err != nil {
		panic(err)
	}
	res, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: poisson{}}}, table, framework.Options{K: 4})
	if err != nil {
		panic(err)
	}
	fmt.Printf("K = %d, rates %.1f\n", res.Shape.K, res.Parameters.Components)
	// Output: K = 2, rates [12.9 2.8]
}

type (
	otherGradient struct{ poisson }
	pointerGuess  struct{ poisson }
	otherJoint    struct{ ppca }
)

func (otherGradient) Gradient(_, _, _ []float64) []float64 { return nil }

func (*pointerGuess) Guess(numeric.Weighted, []float64, []float64) {}

func (otherJoint) Posterior(_, _ []float64) {}

// A method with a known name and another signature or receiver would never be called, and is an error.
func TestMethodsThatMissTheirInterfaceAreRefused(t *testing.T) {
	src := tableOf(t, counts(30, 1, 1), 1)
	for want, density := range map[string]numeric.Density{
		"Gradient of numeric_test.otherGradient is func([]float64, []float64, []float64) []float64, and numeric.Differentiable has": otherGradient{},
		"Guess of numeric_test.pointerGuess has a pointer receiver":                                                                 pointerGuess{},
	} {
		_, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: density}}, src, framework.Options{K: 1})
		assert.ErrorContains(t, err, want)
	}
	_, err := framework.Fit(ctx, numeric.Continuous{Density: otherJoint{}}, src, framework.Options{K: 1})
	assert.ErrorContains(t, err, "Posterior of numeric_test.otherJoint is")
}
