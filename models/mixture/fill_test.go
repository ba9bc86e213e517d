package mixture_test

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
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/fill"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/models/mixture"
)

var missing = math.NaN()

// moments integrates a density of one value over a grid of its support: the mean, and the standard deviation.
func moments(logDensity func(v float64) float64, low, high, step float64) (mean, sd float64) {
	var x, w []float64
	for v := low; v < high; v += step {
		x, w = append(x, v), append(w, math.Exp(logDensity(v)))
	}
	mean, sd = stat.MeanStdDev(x, floats.ScaleTo(make([]float64, len(w)), 1e6/floats.Sum(w), w))
	return mean, sd
}

// TestFilledValuesAreConditionalMeans holds filled values and draws of every family that has gaps to an integral of the
// mixture's density, and codes to the largest of their densities.
func TestFilledValuesAreConditionalMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 400
	x := make([]float64, 0, 4*n) // positive, of two groups, in units of their own
	for range n {
		size := 1 + 2*rng.Float64() + 4*float64(rng.IntN(2))
		x = append(x, size, 100*(size+rng.NormFloat64()/2+3), 0.01*(size+rng.ExpFloat64()), 5+rng.ExpFloat64())
	}
	counted, coded := slices.Clone(x), slices.Clone(x)
	for i := range counted {
		counted[i] = math.Mod(math.Round(100*x[i]), 9)
		coded[i] = math.Mod(counted[i], 3)
	}
	for _, one := range []struct {
		of    family.Family
		x     []float64
		codes int
	}{
		{normal.Family{}, x, 0}, {normal.Family{Covariance: normal.Diagonal}, x, 0},
		{normal.Family{Covariance: normal.Tied}, x, 0},
		{normal.FactorAnalysers{Factors: 2}, x, 0}, {normal.Lognormal{}, x, 0}, {family.Gamma{}, x, 0},
		{family.Exponential{}, x, 0}, {family.Poisson{}, counted, 0}, {family.Categorical{Levels: 3}, coded, 3},
		{family.Ordinal{Levels: 3}, coded, 3},
		{family.Product{normal.Family{}, family.Of{Family: normal.Family{}, Width: 2}, family.Gamma{}}, x, 0},
	} {
		name := one.of.Name()
		table, err := blocks.FromSlice(one.x, n, 4)
		require.NoError(t, err, name)
		m := mixture.Model{Family: one.of}
		res, err := framework.Fit(context.Background(), m, table,
			framework.Options{K: 2, FixedK: true, Method: framework.EM, Restarts: 1, MaxIterations: 30, Criterion: framework.BIC})
		require.NoError(t, err, name)
		p := res.Parameters
		for _, j := range []int{0, 1, 2, 3} {
			row := slices.Clone(one.x[:4])
			row[j], row[(j+2)%4] = missing, missing // the other one is integrated out
			b := blocks.Rows{N: 1, D: 4, Stride: 4, X: row}
			logDensity := func(v float64) float64 {
				seen := slices.Clone(row)
				seen[j] = v
				l, err := m.LogProb(blocks.Rows{N: 1, D: 4, Stride: 4, X: seen}, p, nil)
				require.NoError(t, err)
				return l[0]
			}
			filled, err := m.Fill(b, p, nil)
			require.NoError(t, err, name)
			assert.Equal(t, one.x[(j+1)%4], filled[(j+1)%4], name)
			many := blocks.Rows{N: 2000, D: 4, Stride: 4, X: slices.Repeat(row, 2000)}
			drawn, err := m.Fill(many, p, rand.New(rand.NewPCG(3, uint64(j))))
			require.NoError(t, err, name)
			var values []float64
			for i := range many.N {
				values = append(values, drawn[4*i+j])
				assert.Equal(t, one.x[(j+1)%4], drawn[4*i+(j+1)%4])
			}
			if one.codes > 0 {
				var density []float64
				for code := range one.codes {
					density = append(density, math.Exp(logDensity(float64(code))))
				}
				assert.Equal(t, float64(floats.MaxIdx(density)), filled[j], "%s %d", name, j)
				for code, d := range density {
					share := d / floats.Sum(density)
					assert.InDelta(t, share, float64(floats.Count(func(v float64) bool { return v == float64(code) }, values))/
						float64(many.N), 4*math.Sqrt(share*(1-share)/float64(many.N))+1e-9, "%s %d", name, j)
				}
				continue
			}
			_, sd := stat.MeanStdDev(column(x, 4, j), nil)
			low, high, step := -40*sd, 160*sd, sd/40
			switch one.of.(type) {
			case family.Poisson:
				low, high, step = 0, 60, 1
			case normal.Lognormal, family.Gamma, family.Exponential:
				low = step / 2
			case family.Product:
				if j == 3 {
					low = step / 2
				}
			}
			mean, spread := moments(logDensity, low, high, step)
			assert.InDelta(t, mean, filled[j], 2e-3*spread, "%s %d", name, j)
			got, gotSpread := stat.MeanStdDev(values, nil)
			assert.InDelta(t, mean, got, 5*spread/math.Sqrt(float64(many.N)), "%s %d", name, j)
			assert.InEpsilon(t, spread, gotSpread, 0.15, "%s %d", name, j)
		}
	}
}

func column(x []float64, d, j int) (of []float64) {
	for i := j; i < len(x); i += d {
		of = append(of, x[i])
	}
	return of
}

// TestFillsAgreeWithFactorAnalysis: a mixture of one component with the covariance of a factor analysis has its means,
// and draws of two values have the covariance of the conditional distribution.
func TestFillsAgreeWithFactorAnalysis(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	x := mat.NewDense(200, 4, nil)
	for i := range 200 {
		z := rng.NormFloat64()
		for j := range 4 {
			x.Set(i, j, float64(j+1)*z+rng.NormFloat64())
		}
	}
	table, err := blocks.FromMatrix(x)
	require.NoError(t, err)
	res, err := framework.Fit(context.Background(), factor.Model{}, table,
		framework.Options{K: 1, FixedK: true, Method: framework.EM})
	require.NoError(t, err)
	q := res.Parameters
	law, err := q.Distribution(nil)
	require.NoError(t, err)
	var cov mat.SymDense
	law.CovarianceMatrix(&cov)
	m := mixture.Model{Family: normal.Family{}}
	p := &mixture.Parameters{K: 1, D: 4, Weights: []float64{1}, Components: append(slices.Clone(q.Mean), cov.RawSymmetric().Data...)}
	for a := range 4 {
		for b := range a {
			p.Components[4+4*a+b] = cov.At(a, b)
		}
	}
	rows := blocks.Rows{N: 3, D: 4, Stride: 4, X: []float64{1, missing, 3, missing, missing, missing, missing, 7, 1, 2, 3, 4}}
	want, err := q.Fill(rows)
	require.NoError(t, err)
	got, err := m.Fill(rows, p, nil)
	require.NoError(t, err)
	assert.InDeltaSlice(t, want.RawMatrix().Data, got, 1e-9)

	const n = 20000
	many := blocks.Rows{N: n, D: 4, Stride: 4, X: slices.Repeat(rows.X[:4], n)}
	drawn, err := m.Fill(many, p, rand.New(rand.NewPCG(7, 8)))
	require.NoError(t, err)
	var of mat.SymDense
	stat.CovarianceMatrix(&of, mat.NewDense(n, 4, drawn), nil)
	// Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om of columns 1 and 3 given 0 and 2
	var inverse, product mat.Dense
	seen := mat.NewDense(2, 2, []float64{cov.At(0, 0), cov.At(0, 2), cov.At(2, 0), cov.At(2, 2)})
	require.NoError(t, inverse.Inverse(seen))
	across := mat.NewDense(2, 2, []float64{cov.At(1, 0), cov.At(1, 2), cov.At(3, 0), cov.At(3, 2)})
	product.Product(across, &inverse, across.T())
	for a, i := range []int{1, 3} {
		for b, j := range []int{1, 3} {
			exact := cov.At(i, j) - product.At(a, b)
			assert.InDelta(t, exact, of.At(i, j), 0.05*math.Sqrt(cov.At(1, 1)*cov.At(3, 3)), "%d %d", i, j)
		}
	}
}

// TestFilledStepsUseTheSequence compares steps of a chain without values with the densities of whole sequences.
func TestFilledStepsUseTheSequence(t *testing.T) {
	p := &hmm.Parameters{K: 2, D: 1, Start: []float64{0.5, 0.5}, Transitions: []float64{0.9, 0.1, 0.2, 0.8},
		Components: []float64{0, 1, 10, 4}}
	m := hmm.Model{Family: normal.Family{}}
	at := func(a, b float64) blocks.Sequences {
		return blocks.Sequences{Steps: blocks.Rows{N: 5, D: 1, Stride: 1, X: []float64{4, a, b, 6, 9}}, Ends: []int{5}}
	}
	filled, err := m.Fill(at(missing, missing), p, nil)
	require.NoError(t, err)
	mean, _ := moments(func(v float64) float64 {
		l, err := m.LogProb(at(v, missing), p, nil)
		require.NoError(t, err)
		return floats.Sum(l)
	}, -10, 30, 0.05)
	assert.InDelta(t, mean, filled[1], 1e-6)
	// Two steps in a row: E[ab|x] by a sum over both.
	var product, total float64
	for a := -8.; a < 22; a += 0.5 {
		for b := -8.; b < 22; b += 0.5 {
			l, err := m.LogProb(at(a, b), p, nil)
			require.NoError(t, err)
			w := math.Exp(floats.Sum(l))
			product, total = product+a*b*w, total+w
		}
	}
	rng, sum := rand.New(rand.NewPCG(1, 1)), 0.0
	const draws = 20000
	for range draws {
		drawn, err := m.Fill(at(missing, missing), p, rng)
		require.NoError(t, err)
		sum += drawn[1] * drawn[2]
	}
	assert.InEpsilon(t, product/total, sum/draws, 0.03, "independent states would have %v", filled[1]*filled[2])
}

// TestFilledRowsUseTheGate: rows with no value but the gate's have the gate's mean of the means.
func TestFilledRowsUseTheGate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var x []float64
	for range 300 {
		a := rng.NormFloat64()
		v := rng.NormFloat64()
		if a+rng.NormFloat64()/2 > 0 {
			v += 8
		}
		x = append(x, v, v/2+rng.NormFloat64(), a)
	}
	table, err := blocks.FromSlice(x, 300, 3)
	require.NoError(t, err)
	m := experts.Model{Family: normal.Family{}, Gate: []int{2}}
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 2, FixedK: true, Method: framework.EM})
	require.NoError(t, err)
	p := res.Parameters
	b := blocks.Rows{N: 1, D: 3, Stride: 3, X: []float64{missing, missing, 0.3}}
	filled, err := m.Fill(b, p, nil)
	require.NoError(t, err)
	prior, err := m.Prior(b, p, nil)
	require.NoError(t, err)
	assert.InDelta(t, prior[0]*p.Mixture.Component(0)[0]+prior[1]*p.Mixture.Component(1)[0], filled[0], 1e-12)
	assert.Equal(t, 0.3, filled[2])
}

// What takes a part of the row as given cannot draw a whole one.
func TestFillNeedsWholeRows(t *testing.T) {
	pl, err := family.NewPlan(family.Multinomial{Categories: 3}, 3)
	require.NoError(t, err)
	_, err = fill.New(pl, []float64{0.2, 0.3, 0.5})
	require.ErrorContains(t, err, "takes a part of the row as given")
}

// TestFilledCellsAreThoseOfTheTruth in at least 9 of 10 tables of two overlapping groups, a quarter of the cells
// missing, without K: filled cells are as close to what was there as those by the true parameters, but for 3 %, and 20
// draws but for 15 %.
func TestFilledCellsAreThoseOfTheTruth(t *testing.T) {
	found := 0
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 4))
		const n = 500
		var whole, x []float64
		for range n {
			z := float64(rng.IntN(2))
			common := rng.NormFloat64()
			row := []float64{4*z + common, 4*z - common + 0.5*rng.NormFloat64(), 2*common - 3*z + 0.5*rng.NormFloat64()}
			for _, v := range row {
				if whole = append(whole, v); rng.IntN(4) == 0 {
					v = math.NaN()
				}
				x = append(x, v)
			}
		}
		table, err := blocks.FromIncomplete(x, n, 3)
		require.NoError(t, err)
		m := mixture.Model{Family: normal.Family{}}
		res, err := framework.Fit(context.Background(), m, table,
			framework.Options{K: 4, Restarts: 2, Criterion: framework.Evidence})
		require.NoError(t, err)
		cov := []float64{1, -1, 2, -1, 1.25, -2, 2, -2, 4.25}
		truth := &mixture.Parameters{K: 2, D: 3, Weights: []float64{0.5, 0.5}, Pooled: res.Parameters.Pooled,
			Components: slices.Concat([]float64{0, 0, 0}, cov, []float64{4, 4, -3}, cov)}
		off := func(p *mixture.Parameters, rng *rand.Rand, draws int) (sum float64) {
			for range draws {
				filled, err := m.Fill(table.All(), p, rng)
				require.NoError(t, err)
				for i, v := range x {
					if v != v {
						sum += (filled[i] - whole[i]) * (filled[i] - whole[i])
					}
				}
			}
			return math.Sqrt(sum)
		}
		means := off(res.Parameters, nil, 1) / off(truth, nil, 1)
		draws := off(res.Parameters, rng, 20) / off(truth, rng, 20)
		if res.Parameters.K == 2 && means < 1.03 && math.Abs(draws-1) < 0.15 {
			found++
		}
		t.Logf("K = %d: %.4f of the truth, draws %.4f", res.Parameters.K, means, draws)
	}
	assert.GreaterOrEqual(t, found, 9)
}
