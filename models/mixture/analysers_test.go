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

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/agreement"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

// analysed draws n rows of d columns, in turn from classes with so many factors each.
func analysed(seed uint64, n, d int, factors ...int) (x []float64, labels []int) {
	rng := rand.New(rand.NewPCG(seed, 11))
	type class struct{ mean, loadings, noise []float64 }
	classes := make([]class, len(factors))
	for k, q := range factors {
		c := class{make([]float64, d), make([]float64, d*q), make([]float64, d)}
		for j := range d {
			c.mean[j] = 2 * rng.NormFloat64()
			c.noise[j] = 0.3 + 0.5*rng.Float64()
			for m := range q {
				c.loadings[j*q+m] = rng.NormFloat64()
			}
		}
		classes[k] = c
	}
	for i := range n {
		k := i % len(factors)
		c, q := classes[k], factors[k]
		row := slices.Clone(c.mean)
		for m := range q {
			u := rng.NormFloat64()
			for j := range row {
				row[j] += u * c.loadings[j*q+m]
			}
		}
		for j := range row {
			row[j] += rng.NormFloat64() * c.noise[j]
		}
		x, labels = append(x, row...), append(labels, k)
	}
	return x, labels
}

// factorsOf are the numbers of factors of the components.
func factorsOf(p *mixture.Parameters) (list []int) {
	for k := range p.K {
		xi := p.Component(k)
		list = append(list, int(xi[len(xi)-1]))
	}
	return list
}

// TestComponentsAndTheirFactorsAreFoundInOneFit: from six components of five factors, with the defaults.
func TestComponentsAndTheirFactorsAreFoundInOneFit(t *testing.T) {
	for _, truth := range []struct {
		n, d    int
		factors []int
	}{{1500, 10, []int{1, 2, 3}}, {2000, 15, []int{2, 4}}} {
		for seed := range tier.Of[uint64](1, 1, 10) {
			t.Run(fmt.Sprintf("%v of %d columns, seed %d", truth.factors, truth.d, seed), func(t *testing.T) {
				x, labels := analysed(seed, truth.n, truth.d, truth.factors...)
				src, err := blocks.FromSlice(x, truth.n, truth.d)
				require.NoError(t, err)
				m := mixture.Model{Family: normal.FactorAnalysers{}}
				res, err := framework.Fit(context.Background(), m, src, framework.Options{K: 6, Seed: seed})
				require.NoError(t, err)
				got := factorsOf(res.Parameters)
				slices.Sort(got)
				assert.Equal(t, truth.factors, got)
				assert.Equal(t, framework.Converged, res.Status)
				assert.Zero(t, res.Fall, "the objective never falls")
				q, err := m.Responsibilities(src.All(), res.Parameters, nil)
				require.NoError(t, err)
				table := agreement.CrossTable(labels, mixture.Labels(q, res.Shape.K), nil, len(truth.factors), res.Shape.K)
				assert.Greater(t, agreement.AdjustedRand(table), 0.95)
			})
		}
	}
}

// TestFactorsAreAdded: two of them, to a component that begins without any.
func TestFactorsAreAdded(t *testing.T) {
	const n, d = 400, 6
	x, _ := analysed(4, n, d, 2)
	src, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	m := mixture.Model{Family: normal.FactorAnalysers{}}
	start := func(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*mixture.Parameters, error) {
		p, err := m.Init(ctx, src, k, rng)
		if err == nil {
			clear(p.Component(0)[2*d:])
		}
		return p, err
	}
	for _, criterion := range []framework.Criterion{framework.GFIC, framework.Evidence} {
		res, err := framework.FitFrom(context.Background(), m, src, start, framework.Options{Criterion: criterion, K: 1, FixedK: true})
		require.NoError(t, err)
		assert.Equal(t, []int{2}, factorsOf(res.Parameters), criterion.Name)
	}
}

// analysersFree are coordinates of means, logarithms of noise, loadings of the factors that there are, and weights.
func analysersFree(_ *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
	d, width := p.D, len(p.Components)/p.K
	most := (width - 1 - 2*d) / d
	n := 0
	for _, q := range factorsOf(p) {
		n += 2*d + d*q
	}
	x := append(make([]float64, n), logits(p.Weights)...)
	return x, func(x []float64) *mixture.Parameters {
		q := *p
		q.Components = slices.Clone(p.Components)
		for k, factors := range factorsOf(p) {
			xi := q.Component(k)
			for a := range d {
				sd := math.Sqrt(xi[d+a])
				xi[a] += sd * x[a]
				xi[d+a] *= math.Exp(x[d+a])
				for m := range factors {
					xi[2*d+a*most+m] += sd * x[2*d+a*factors+m]
				}
			}
			x = x[2*d+d*factors:]
		}
		q.Weights = simplex(x)
		return &q
	}
}

func TestFactorAnalysersConform(t *testing.T) {
	const n, d = 300, 8
	x, _ := analysed(8, n, d, 1, 2)
	rows := mat.NewDense(n, d, x)
	for _, f := range []normal.FactorAnalysers{{Factors: 2, Fixed: true}, {Factors: 2}} {
		t.Run(fmt.Sprintf("fixed %v", f.Fixed), func(t *testing.T) {
			c := conforming{family: normal.Family{}, x: rows, ks: []int{1, 2}}
			model := mixture.Model{Family: f}
			lv := c.estimates(model)
			lv.Units = []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("columns rescaled", rows, []float64{10, 0.01, 1000, 1, 3, 0.2, 1, 5})}
			lv.NoAllocations, lv.Latent, lv.Free = false, nil, analysersFree
			lv.Sample = func(p *mixture.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
				x, _, err := model.Sample(p, n, rng)
				return lvmtest.Matrix(mat.NewDense(n, d, x)), err
			}
			lvmtest.Test(t, lv)
		})
	}
}

// tilted are the responsibilities of gFAB's local step over labels and factors together, and each component's Σ q
// E[u²] and N_k, written down by hand from its estimate: with S_k the expected squares of the factors, of which there
// is one, row n of component k loses (D/2)(u² + …)/S_k and D/(2N_k) for means and noise each (docs/theory/mfa.md,
// section 1).
func tilted(t *testing.T, x []float64, p *mixture.Parameters, counts []float64) (squares, rows []float64) {
	d := p.D
	width := len(p.Components) / p.K
	most := (width - 1 - 2*d) / d
	squares, rows = make([]float64, p.K), make([]float64, p.K)
	for i := range len(x) / d {
		row := x[i*d : (i+1)*d]
		joint, mean, variance := make([]float64, p.K), make([]float64, p.K), make([]float64, p.K)
		for k, n := range counts {
			xi := p.Component(k)
			require.Equal(t, 1., xi[len(xi)-1])
			// W is that of the marginal density, and (1 − D/N_k)^½ times that of p(x|u).
			precision, slope, quad, logDet := 1+float64(d)/(n-float64(d)), 0., 0., 0.
			for a := range d {
				w, psi, e := xi[2*d+a*most]/math.Sqrt(1-float64(d)/n), xi[d+a], row[a]-xi[a]
				precision += w * w / psi
				slope += w * e / psi
				quad += e * e / psi
				logDet += math.Log(psi)
			}
			mean[k], variance[k] = slope/precision, 1/precision
			joint[k] = math.Log(p.Weights[k]) - (quad-slope*slope/precision+logDet+math.Log(precision))/2 - 2*float64(d)/(2*n)
		}
		top := slices.Max(joint)
		sum := 0.0
		for k := range joint {
			joint[k] = math.Exp(joint[k] - top)
			sum += joint[k]
		}
		for k, v := range joint {
			rows[k] += v / sum
			squares[k] += v / sum * (mean[k]*mean[k] + variance[k])
		}
	}
	return squares, rows
}

// TestFactorsHaveTheSquaresOfTheTheorem: S_k = N_k − D at the fixed point of gFAB over labels and factors, and so its
// responsibilities give back the N_k of the fit, which has the factors integrated out.
func TestFactorsHaveTheSquaresOfTheTheorem(t *testing.T) {
	const n, d = 400, 6
	x, _ := analysed(2, n, d, 1, 1)
	for i := range x {
		x[i] /= 3 // components overlap
	}
	src, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	m := mixture.Model{Family: normal.FactorAnalysers{Factors: 1, Fixed: true}}
	res, err := framework.Fit(context.Background(), m, src, framework.Options{Criterion: framework.GFIC, K: 2, FixedK: true, Tolerance: 1e-13})
	require.NoError(t, err)
	counts := res.Statistics.Nk
	squares, rows := tilted(t, x, res.Parameters, counts)
	for k, nk := range counts {
		assert.InDelta(t, nk, rows[k], 1e-4)
		assert.InDelta(t, nk-d, squares[k], 1e-4)
	}
}

// TestOneComponentIsFactorAnalysis: the likelihood at R 4.2.2's factanal, and FIC as it follows from that in closed
// form.
func TestOneComponentIsFactorAnalysis(t *testing.T) {
	const d, n = 9, 301.
	src := school(t)
	for q, want := range []float64{1: -3851.2242, 2: -3760.2453, 3: -3706.5405} {
		if q == 0 {
			continue
		}
		m := mixture.Model{Family: normal.FactorAnalysers{Factors: q, Fixed: true}}
		res, err := framework.Fit(context.Background(), m, src, framework.Options{K: 1, Criterion: framework.FIC, Also: []framework.Criterion{framework.BIC}})
		require.NoError(t, err)
		assert.InDelta(t, want, res.Evaluation.LogLikelihood, 1e-3, "%d factors", q)
		charge := float64(q)/2*(d+(n-d)*math.Log(1-d/n)) - float64(d*q+2*d)/2*math.Log(n)
		assert.InDelta(t, want+charge, res.Value, 1e-3, "%d factors", q)
		assert.Equal(t, d*q+2*d-q*(q-1)/2, res.Shape.Identifiable())
	}
	free, err := framework.Fit(context.Background(), mixture.Model{Family: normal.FactorAnalysers{}}, src, framework.Options{K: 1})
	require.NoError(t, err)
	assert.Equal(t, []int{3}, factorsOf(free.Parameters), "as FIC, BIC and sBIC choose")
}

// school is a table with the mean 0, and the covariance matrix (divided by N) of the columns x1 to x9 of
// HolzingerSwineford1939, R's lavaan 0.6-14.
func school(t *testing.T) framework.Source[blocks.Rows] {
	const d, n = 9, 301.
	cov := mat.NewSymDense(d, []float64{
		1.3583698455, 0.4073713302, 0.5798993223, 0.5048349962, 0.4406155374, 0.4548081306, 0.0847654345, 0.2638376844, 0.4583385471,
		0.4073713302, 1.3817838655, 0.4510639369, 0.2089233703, 0.2110910752, 0.2475445713, -0.0967510176, 0.1096593857, 0.2440094509,
		0.5798993223, 0.4510639369, 1.2748648608, 0.2081696129, 0.1122962909, 0.2441089815, 0.0883418380, 0.2123226427, 0.3738525709,
		0.5048349962, 0.2089233703, 0.2081696129, 1.3506645079, 1.0977527816, 0.8955157094, 0.2197425898, 0.1255933500, 0.2433627372,
		0.4406155374, 0.2110910752, 0.1122962909, 1.0977527816, 1.6597857640, 1.0145240421, 0.1429995481, 0.1806052086, 0.2952413297,
		0.4548081306, 0.2475445713, 0.2441089815, 0.8955157094, 1.0145240421, 1.1963583780, 0.1440783892, 0.1654310049, 0.2359969494,
		0.0847654345, -0.0967510176, 0.0883418380, 0.2197425898, 0.1429995481, 0.1440783892, 1.1831394643, 0.5352452212, 0.3732972192,
		0.2638376844, 0.1096593857, 0.2123226427, 0.1255933500, 0.1806052086, 0.1654310049, 0.5352452212, 1.0219828148, 0.4573165598,
		0.4583385471, 0.2440094509, 0.3738525709, 0.2433627372, 0.2952413297, 0.2359969494, 0.3732972192, 0.4573165598, 1.0150038700,
	})
	var chol mat.Cholesky
	require.True(t, chol.Factorize(cov))
	var u mat.TriDense
	chol.UTo(&u)
	rng := rand.New(rand.NewPCG(1, 1))
	var qr mat.QR
	var q, root mat.Dense
	random := mat.NewDense(d, d, nil)
	random.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, random)
	qr.Factorize(random)
	qr.QTo(&q)
	root.Mul(&q, &u)
	var x, weights []float64
	for a := range d {
		for _, sign := range []float64{-3, 3} {
			for b := range d {
				x = append(x, sign*root.At(a, b))
			}
			weights = append(weights, n/(2*d))
		}
	}
	src, err := blocks.FromSlice(x, 2*d, d)
	require.NoError(t, err)
	src, err = src.WithWeights(weights)
	require.NoError(t, err)
	return src
}

// TestWithoutFactorsTheyAreDiagonalGaussians.
func TestWithoutFactorsTheyAreDiagonalGaussians(t *testing.T) {
	const n, d = 600, 4
	x, _ := analysed(5, n, d, 0, 0, 0)
	src, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	for _, o := range []framework.Options{{K: 6, Criterion: framework.GFIC}, {K: 3, Method: framework.EM, Criterion: framework.BIC}} {
		want, err := framework.Fit(context.Background(), mixture.Model{Family: normal.Family{Covariance: normal.Diagonal}}, src, o)
		require.NoError(t, err)
		got, err := framework.Fit(context.Background(), mixture.Model{Family: normal.FactorAnalysers{Factors: normal.NoFactors}}, src, o)
		require.NoError(t, err)
		assert.Equal(t, want.Shape, got.Shape)
		assert.InDelta(t, want.Value, got.Value, 1e-6)
	}
}

// TestFactorsOfIncompleteRows: with a tenth of the values missing, and with nothing missing as without gaps.
func TestFactorsOfIncompleteRows(t *testing.T) {
	const n, d = 1500, 10
	x, _ := analysed(1, n, d, 1, 2, 3)
	rng := rand.New(rand.NewPCG(4, 4))
	for i := range x {
		if rng.Float64() < 0.1 {
			x[i] = math.NaN()
		}
	}
	src, err := blocks.FromIncomplete(x, n, d)
	require.NoError(t, err)
	res, err := framework.Fit(context.Background(), mixture.Model{Family: normal.FactorAnalysers{}}, src, framework.Options{K: 6})
	require.NoError(t, err)
	got := factorsOf(res.Parameters)
	slices.Sort(got)
	assert.Equal(t, []int{1, 2, 3}, got)
	assert.Zero(t, res.Fall)
}

func TestFactorAnalysersThatCannotBe(t *testing.T) {
	src, err := blocks.FromSlice([]float64{1, 2, 3, 4, 2, 1, 5, 3, 8, 1, 4, 4}, 6, 2)
	require.NoError(t, err)
	for _, c := range []struct {
		family normal.FactorAnalysers
		says   string
	}{
		{normal.FactorAnalysers{Factors: 2}, "2 factors of 2 columns: there must be fewer factors than columns"},
		{normal.FactorAnalysers{Factors: -2}, "-2 factors"},
		{normal.FactorAnalysers{Floor: math.NaN()}, "floor"},
	} {
		_, err := framework.Fit(context.Background(), mixture.Model{Family: c.family}, src, framework.Options{K: 1})
		assert.ErrorContains(t, err, c.says)
	}
	_, err = framework.Fit(context.Background(), mixture.Variational{Family: normal.FactorAnalysers{Factors: 1}}, src, framework.Options{K: 1, Method: framework.EM, Criterion: framework.ELBO})
	assert.ErrorContains(t, err, "no conjugate prior")
}

// TestFactorsOfDegenerateColumns: constant columns, duplicates and columns that others determine have a maximum all
// the same.
func TestFactorsOfDegenerateColumns(t *testing.T) {
	const n, d = 300, 5
	rng := rand.New(rand.NewPCG(3, 9))
	var x []float64
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		x = append(x, a, a, b, a+b, 7)
	}
	src, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	for _, factors := range []int{1, 3} {
		m := mixture.Model{Family: normal.FactorAnalysers{Factors: factors}}
		res, err := framework.Fit(context.Background(), m, src, framework.Options{Criterion: framework.GFIC, K: 3})
		require.NoError(t, err)
		assert.False(t, math.IsNaN(res.Value) || math.IsInf(res.Value, 0))
		assert.Less(t, res.Fall, 1e-8, "but for rounding, of covariances of a condition of 1e4")
		doubts, err := m.Doubts(res.Parameters)
		require.NoError(t, err)
		assert.Len(t, doubts, 1, "the constant column")
	}
	_, err = framework.Fit(context.Background(), mixture.Model{Family: normal.FactorAnalysers{Factors: 1, Floor: family.NoFloor}}, src, framework.Options{Criterion: framework.GFIC, K: 1})
	assert.ErrorContains(t, err, "column 5")
}
