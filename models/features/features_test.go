package features

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

func table(t *testing.T, x mat.Matrix) *blocks.Table {
	src, err := blocks.FromMatrix(x)
	require.NoError(t, err)
	return src
}

func fit(t *testing.T, m framework.Model[blocks.Rows, *Parameters, *Statistics], src framework.Source[blocks.Rows], o framework.Options) *framework.Result[*Parameters, *Statistics] {
	res, err := framework.Fit(context.Background(), m, src, o)
	require.NoError(t, err)
	return res
}

// at starts a fit at parameters that are not those of Init.
func at(m Model, p *Parameters) framework.Start[blocks.Rows, *Parameters] {
	return func(ctx context.Context, src framework.Source[blocks.Rows], _ int, _ *rand.Rand) (*Parameters, error) {
		q, err := m.pool(ctx, src)
		if err != nil {
			return nil, err
		}
		r := p.clone()
		r.Center, r.Unit, r.Floor = q.Center, q.Unit, q.Floor
		return r, nil
	}
}

// simulated are rows of D = 10 columns and k features with loadings of scale·N(0,1) where the noise is 1, or exp(N(0,1)/2).
func simulated(t *testing.T, seed uint64, k, n int, scale float64, isotropic bool) (*Parameters, *mat.Dense) {
	const d = 10
	rng := rand.New(rand.NewPCG(seed, uint64(k)))
	p := &Parameters{K: k, D: d, Isotropic: isotropic, Offset: make([]float64, d), Noise: []float64{1}}
	for l := range k {
		p.On = append(p.On, 0.3+0.1*float64(l%3))
	}
	for range d * k {
		p.Loadings = append(p.Loadings, scale*rng.NormFloat64())
	}
	for j := 0; j < d && !isotropic; j++ {
		p.Noise = append(p.Noise[:j], math.Exp(rng.NormFloat64()/2))
	}
	return p, rows(t, p, n, rng)
}

// gFAB finds 3 and 5 features, whatever the noise: docs/theory/features.md, section 5, has the numbers of ten data sets each.
func TestFeaturesAreFound(t *testing.T) {
	for _, isotropic := range []bool{false, true} {
		for _, k := range []int{3, 5} {
			truth, x := simulated(t, 3, k, 300, 1.5, isotropic)
			res := fit(t, Model{Isotropic: isotropic}, table(t, x), framework.Options{K: k + 3, Restarts: 2})
			require.Equal(t, k, res.Shape.K)
			assert.Zero(t, res.Fall)
			got, want := res.Parameters.Canonical(), truth.Canonical()
			for l := range k { // errors of loadings are about (N π(1 − π))^−½ = 0.12
				worst := math.Inf(1)
				for m := range k {
					for _, sign := range []float64{1, -1} { // either, where half of the rows have the feature
						var off mat.VecDense
						off.AddScaledVec(want.W().ColView(l), sign, got.W().ColView(m))
						worst = min(worst, mat.Norm(&off, 2)/math.Sqrt(10))
					}
				}
				assert.Less(t, worst, 0.35)
			}
		}
	}
}

// Moves lead out of a local maximum: from a start that has one feature in place of two, gFAB ends where the best does.
func TestMovesFindTheFeatureThatIsMissing(t *testing.T) {
	_, x := simulated(t, 1, 5, 300, 1.5, true)
	m := Model{Isotropic: true}
	best := fit(t, m, table(t, x), framework.Options{K: 8, Restarts: 5})
	low := fit(t, m, table(t, x), framework.Options{K: 3, NoMoves: true})
	require.Equal(t, 3, low.Shape.K)
	poor := low.Parameters
	o := framework.Options{K: 5}
	grown, err := framework.FitFrom(context.Background(), m, table(t, x), func(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*Parameters, error) {
		q := poor.grown(&Parameters{On: []float64{poor.On[0], 0.5}, Offset: poor.Offset, Loadings: pairs(poor, 0)}, 0)
		return q.grown(&Parameters{On: []float64{poor.On[0], 0.5}, Offset: poor.Offset, Loadings: pairs(poor, 0)}, 0), nil
	}, o)
	require.NoError(t, err)
	assert.NotEmpty(t, grown.Split)
	assert.Equal(t, 5, grown.Shape.K)
	assert.InDelta(t, best.Value, grown.Value, 1e-4)
}

// pairs are the loadings of feature k beside nothing.
func pairs(p *Parameters, k int) (w []float64) {
	for j := range p.D {
		w = append(w, p.Loadings[j*p.K+k], 0)
	}
	return w
}

// z → 1 − z changes nothing: neither the values of a fit nor the way there.
func TestOppositeFeaturesAreTheSame(t *testing.T) {
	truth, x := simulated(t, 2, 3, 150, 1.5, false)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range truth.Loadings {
		truth.Loadings[i] += 0.5 * rng.NormFloat64()
	}
	src := table(t, x)
	for _, method := range []framework.Method{framework.EM, framework.FAB, framework.GFAB} {
		o := framework.Options{K: 3, Method: method, MaxIterations: 60, NoMoves: true, Also: []framework.Criterion{framework.GFIC, framework.BIC, framework.AIC, framework.ICL}}
		a, err := framework.FitFrom(context.Background(), Model{}, src, at(Model{}, truth), o)
		require.NoError(t, err)
		b, err := framework.FitFrom(context.Background(), Model{}, src, at(Model{}, truth.Flipped(0).Flipped(2)), o)
		require.NoError(t, err)
		require.Equal(t, len(a.Trace), len(b.Trace))
		assert.InDeltaSlice(t, a.Trace, b.Trace, 1e-8)
		assert.InDeltaSlice(t, a.Objective, b.Objective, 1e-8)
		for i := range a.Scores {
			assert.InDelta(t, a.Scores[i].Value, b.Scores[i].Value, 1e-8)
			assert.False(t, a.Scores[i].Bound)
		}
		back := b.Parameters.Flipped(0).Flipped(2)
		assert.InDeltaSlice(t, a.Parameters.Loadings, back.Loadings, 1e-6)
		assert.InDeltaSlice(t, a.Parameters.Offset, back.Offset, 1e-6)
	}
}

// The order of rows and of columns changes nothing, where starts end at different maxima as well.
func TestOrderOfRowsAndColumnsChangesNothing(t *testing.T) {
	_, x := simulated(t, 2, 4, 80, 1, false)
	o := framework.Options{K: 6, Restarts: 2}
	a, rng := fit(t, Model{}, table(t, x), o), rand.New(rand.NewPCG(1, 7))
	require.NotEqual(t, a.Restarts[0].Value, a.Restarts[1].Value)
	for range 3 {
		y := mat.NewDense(80, 10, nil)
		rows, columns := rng.Perm(80), rng.Perm(10)
		y.Apply(func(i, j int, _ float64) float64 { return x.At(rows[i], columns[j]) }, y)
		b := fit(t, Model{}, table(t, y), o)
		assert.Equal(t, a.Shape.K, b.Shape.K)
		assert.InEpsilon(t, a.Value, b.Value, 1e-9)
	}
}

// Units of columns change nothing but the Jacobian.
func TestUnitsOfColumnsChangeNothing(t *testing.T) {
	_, x := simulated(t, 2, 3, 150, 1.5, false)
	y := mat.DenseCopyOf(x)
	jacobian := 0.0
	for j := range 10 {
		scale := math.Pow(10, float64(j%4-1))
		jacobian += 150 * math.Log(scale)
		y.Apply(func(_, c int, v float64) float64 {
			if c == j {
				return v*scale + 100*scale
			}
			return v
		}, y)
	}
	a, b := fit(t, Model{}, table(t, x), framework.Options{K: 5}), fit(t, Model{}, table(t, y), framework.Options{K: 5})
	assert.Equal(t, a.Shape.K, b.Shape.K)
	assert.InDelta(t, a.Value, b.Value+jacobian, 1e-6)
	assert.Equal(t, a.KTrace, b.KTrace)
}

// Features that say nothing of their own are pruned: one that every row has, one that none has, a copy, an opposite.
func TestDegenerateFeaturesArePruned(t *testing.T) {
	truth, x := simulated(t, 2, 2, 200, 1.5, true)
	src, m := table(t, x), Model{Isotropic: true}
	best := fit(t, m, src, framework.Options{K: 2})
	column := func(k int, factor float64) []float64 {
		w := mat.Col(nil, k, truth.W())
		floats.Scale(factor, w)
		return w
	}
	for name, c := range map[string]struct {
		on float64
		w  []float64
	}{
		"on everywhere": {1 - 1e-9, column(0, 0.5)},
		"on nowhere":    {1e-9, column(0, 0.5)},
		"a copy":        {truth.On[0], column(0, 1)},
		"an opposite":   {1 - truth.On[0], column(0, -1)},
	} {
		three := &Parameters{K: 3, D: 10, Isotropic: true, On: append(slices.Clone(truth.On), c.on), Offset: slices.Clone(truth.Offset), Noise: []float64{1}}
		for j := range 10 {
			three.Loadings = append(three.Loadings, truth.Loadings[2*j], truth.Loadings[2*j+1], c.w[j])
		}
		res, err := framework.FitFrom(context.Background(), m, src, at(m, three), framework.Options{K: 3, NoMoves: true})
		require.NoError(t, err)
		assert.Equal(t, 2, res.Shape.K, name)
		assert.InDelta(t, best.Value, res.Value, 1e-5, name)
	}
}

// Where FIC takes the data from the last feature too, the fit says so in place of a value that is infinite.
func TestNoFeaturesAreLeft(t *testing.T) {
	_, x := simulated(t, 6, 3, 60, 0.5, false)
	_, err := framework.Fit(context.Background(), Model{}, table(t, x), framework.Options{K: 8, Seed: 6, Method: framework.FAB, Tolerance: 1e-7})
	require.ErrorIs(t, err, ErrNone)
	e := (&Parameters{D: 2, Unit: []float64{4, 9}, Floor: []float64{1, 1}}).Featureless(10) // columns of standard deviations 2 and 3
	assert.InDelta(t, -10*(math.Log(2*math.Pi)+math.Log(6)+1)-4/2*math.Log(10), framework.GFIC.Value(&e), 1e-9)
	assert.InDelta(t, framework.GFIC.Value(&e), framework.BIC.Value(&e), 1e-9)
}

// A mean-field fit never falls, and its bound is below the log-likelihood.
func TestMeanFieldBoundsTheLikelihood(t *testing.T) {
	_, x := simulated(t, 4, 4, 200, 1, false)
	src := table(t, x)
	for _, method := range []framework.Method{framework.EM, framework.FAB, framework.GFAB} {
		res := fit(t, MeanField{}, src, framework.Options{K: 6, Method: method, NoMoves: true, Also: []framework.Criterion{framework.BIC, framework.ICL}})
		assert.Zero(t, res.Fall, method)
		exact, err := Model{}.LogProb(src.All(), res.Parameters, nil)
		require.NoError(t, err)
		sum := floats.Sum(exact)
		assert.Less(t, res.Evaluation.LogLikelihood, sum)
		assert.Less(t, res.Evaluation.Bound(), sum)
		assert.InDelta(t, sum, res.Evaluation.LogLikelihood, 0.15*200, "a mean-field q is near")
		for _, s := range res.Scores[1:] {
			assert.True(t, s.Bound, s.Criterion)
		}
	}
}

// More features than can be enumerated are fitted by mean field, and scored by its bound.
func TestManyFeatures(t *testing.T) {
	_, x := simulated(t, 5, 3, 200, 2, true)
	src := table(t, x)
	_, err := framework.Fit(context.Background(), Model{}, src, framework.Options{K: 13})
	require.ErrorContains(t, err, "13 features have 2^13 states, and 12 at most are enumerated: take MeanField")
	res := fit(t, MeanField{Model{Isotropic: true}}, src, framework.Options{K: 14, MaxIterations: 3, NoMoves: true, FixedK: true, Method: framework.EM})
	require.Equal(t, 14, res.Shape.K)
	bound, on, err := res.Parameters.Score(src.All())
	require.NoError(t, err)
	assert.Len(t, on, 14*200)
	s, entropy, err := framework.LocalStep(context.Background(), MeanField{Model{Isotropic: true}}, src, res.Parameters, 1)
	require.NoError(t, err)
	assert.InDelta(t, Model{}.LogJoint(s, res.Parameters)+entropy, floats.Sum(bound), 1e-6*math.Abs(floats.Sum(bound)))
	_, err = Model{}.LogProb(src.All(), res.Parameters, nil)
	require.ErrorContains(t, err, "12 at most are enumerated")
}

// The noise stays above the resolution of the columns, where a feature is a column.
func TestNoiseHasAFloor(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	x := mat.NewDense(100, 4, nil)
	x.Apply(func(_, j int, _ float64) float64 {
		if j == 0 {
			return float64(rng.IntN(2))
		}
		return rng.NormFloat64()
	}, x)
	for i := range 100 {
		x.Set(i, 1, x.At(i, 1)+4*x.At(i, 0))
	}
	res := fit(t, Model{}, table(t, x), framework.Options{K: 2, Restarts: 3})
	assert.GreaterOrEqual(t, res.Parameters.Noise[0], 1.0/12-1e-12)
	assert.Equal(t, []int{0}, res.Parameters.AtFloor())
}

func TestCanonicalFormAndFiles(t *testing.T) {
	truth, x := simulated(t, 2, 3, 100, 1.5, false)
	res := fit(t, Model{}, table(t, x), framework.Options{Criterion: framework.GFIC, K: 3, MaxIterations: 30, NoMoves: true})
	p := res.Parameters.Canonical()
	for _, on := range p.On {
		assert.LessOrEqual(t, on, 0.5)
	}
	a, err := Model{}.LogProb(table(t, x).All(), res.Parameters, nil)
	require.NoError(t, err)
	b, err := Model{}.LogProb(table(t, x).All(), p, nil)
	require.NoError(t, err)
	assert.InDeltaSlice(t, a, b, 1e-9)
	text, err := json.Marshal(p)
	require.NoError(t, err)
	var read Parameters
	require.NoError(t, json.Unmarshal(text, &read))
	require.NoError(t, read.Check())
	assert.Equal(t, p.Loadings, read.Loadings)
	shares := res.Statistics.CoOccurrence()
	assert.InDelta(t, res.Parameters.On[1], shares.At(1, 1), 1e-12)
	assert.Less(t, shares.At(0, 1), min(shares.At(0, 0), shares.At(1, 1))+1e-12)

	for want, change := range map[string]func(*Parameters){
		"do not match":      func(p *Parameters) { p.Loadings = p.Loadings[1:] },
		"of the noise":      func(p *Parameters) { p.Noise = p.Noise[1:] },
		"is NaN":            func(p *Parameters) { p.Offset[1] = math.NaN() },
		"of feature 2 is 2": func(p *Parameters) { p.On[1] = 2 },
		"must be positive":  func(p *Parameters) { p.Noise[0] = 0 },
	} {
		bad := p.clone()
		change(bad)
		require.ErrorContains(t, bad.Check(), want)
	}
	require.Error(t, (*Parameters)(nil).Check())
	_, err = truth.Sample(0, nil)
	require.Error(t, err)
}

func TestBadRows(t *testing.T) {
	for want, x := range map[string][]float64{
		"column 2 is constant":           {1, 2, 3, 2, 2, 2, 5, 2},
		"row 2, column 1 is NaN: remove": {1, 2, math.NaN(), 3, 2, 5, 5, 1},
	} {
		src, err := blocks.FromIncomplete(x, 4, 2)
		require.NoError(t, err)
		_, err = framework.Fit(context.Background(), Model{}, src, framework.Options{K: 1})
		require.ErrorContains(t, err, want)
	}
}
