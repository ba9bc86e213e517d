package mixture_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
	"github.com/latent-go/latent/pruning"
)

// embedded loads a data set without its class labels, and multiplies columns.
func embedded(t testing.TB, name string, columns int, scale ...float64) *blocks.Table {
	t.Helper()
	table, err := data.Load(name)
	require.NoError(t, err)
	table, err = table.Select(table.Names[:columns]...)
	require.NoError(t, err)
	shared, n, d, err := table.Matrix()
	require.NoError(t, err)
	x := append([]float64(nil), shared...)
	for i := range x {
		if len(scale) > 0 {
			x[i] *= scale[i%d]
		}
	}
	return source(t, x, n, d)
}

func source(t testing.TB, x []float64, n, d int) *blocks.Table {
	t.Helper()
	table, err := blocks.FromIncomplete(x, n, d)
	require.NoError(t, err)
	return table
}

func fit[P any](t testing.TB, m framework.Model[blocks.Rows, P, *mixture.Statistics], src framework.Source[blocks.Rows], o framework.Options) *framework.Result[P, *mixture.Statistics] {
	t.Helper()
	res, err := framework.Fit(context.Background(), m, src, o)
	require.NoError(t, err)
	return res
}

// TestRealDataGiveOneAnswerFromEverySeed: gFAB with full covariances, ten starts each.
func TestRealDataGiveOneAnswerFromEverySeed(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns int
		scale   []float64
	}{
		{"iris", 4, nil},
		{"iris", 3, nil},
		{"iris", 4, []float64{10, 0.01, 1, 1000}},
		{"faithful", 2, nil},
	} {
		src := embedded(t, c.name, c.columns, c.scale...)
		var first *framework.Result[*mixture.Parameters, *mixture.Statistics]
		for seed := range uint64(10) {
			res := fit(t, mixture.Model{Family: normal.Family{}}, src, framework.Options{K: 8, Seed: seed})
			require.Equal(t, framework.Converged, res.Status)
			assert.Zero(t, res.Fall, "the objective fell")
			if first == nil {
				first = res
				t.Logf("%s, %d columns, scaled by %v: K = %d, gFIC = %.6f", c.name, c.columns, c.scale, res.Shape.K, res.Value)
			}
			assert.Equal(t, first.Shape.K, res.Shape.K, "%s seed %d", c.name, seed)
			assert.InEpsilon(t, first.Value, res.Value, 1e-6, "%s seed %d", c.name, seed)
		}
	}
}

// TestUnitsChangeNothingButTheJacobian: an affine map of the columns leaves K as it is and
// moves gFIC by −N ln|det A|, for each family the maps that it allows.
func TestUnitsChangeNothingButTheJacobian(t *testing.T) {
	for _, c := range []struct {
		covariance normal.Covariance
		scale      []float64
	}{
		{normal.Full, []float64{10, 0.01, 1, 1000}},
		{normal.Tied, []float64{10, 0.01, 1, 1000}},
		{normal.Diagonal, []float64{10, 0.01, 1, 1000}},
		{normal.Spherical, []float64{1000, 1000, 1000, 1000}},
	} {
		m := mixture.Model{Family: normal.Family{Covariance: c.covariance}}
		o := framework.Options{K: 6, Seed: 3}
		plain, scaled := fit(t, m, embedded(t, "iris", 4), o), fit(t, m, embedded(t, "iris", 4, c.scale...), o)
		logDet := 0.0
		for _, s := range c.scale {
			logDet += math.Log(s)
		}
		assert.Equal(t, plain.Shape.K, scaled.Shape.K, c.covariance)
		assert.InEpsilon(t, plain.Value-150*logDet, scaled.Value, 1e-8, c.covariance)
	}
}

// sixComponents draws Gaussian data with unit covariance from six means N(0, 2.5²) with
// weights Dirichlet(5).
func sixComponents(t testing.TB, n int, draw uint64) *blocks.Table {
	const d, k = 5, 6
	rng := rand.New(rand.NewPCG(draw, 7))
	means := make([]float64, k*d)
	for i := range means {
		means[i] = 2.5 * rng.NormFloat64()
	}
	weights := prior.Dirichlet{Alpha: 5}.Concentrations(k).Rand(rng, nil)
	x := make([]float64, 0, n*d)
	for range n {
		c := categorical.Draw(weights, rng)
		for j := range d {
			x = append(x, means[c*d+j]+rng.NormFloat64())
		}
	}
	return source(t, x, n, d)
}

// TestGFABFindsSixComponents from K = 20, ten starts on each of three draws of the data.
func TestGFABFindsSixComponents(t *testing.T) {
	draws, seeds, rows := tier.Of[uint64](1, 1, 3), tier.Of[uint64](1, 2, 10), tier.Of(2000, 5000, 20000)
	for draw := range draws {
		src := sixComponents(t, rows, draw)
		iterations := 0
		for seed := range seeds {
			res := fit(t, mixture.Model{Family: normal.Family{}}, src, framework.Options{K: 20, Seed: seed, Tolerance: 1e-7})
			assert.Equal(t, 6, res.Shape.K, "draw %d, seed %d", draw, seed)
			iterations += res.Passes
		}
		t.Logf("draw %d: %d passes in ten fits", draw, iterations)
	}
}

// TestFABIsFujimakiAndMorinagas: their update of q and their criterion (paper G, eq. 1),
// written out with distuv, against the engine's trace, iteration by iteration.
func TestFABIsFujimakiAndMorinagas(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const n, k = 300, 3
	x := make([]float64, n)
	for i := range x {
		x[i] = distuv.Poisson{Lambda: []float64{2, 9, 30}[rng.IntN(3)], Src: rng}.Rand()
	}
	m, src := mixture.Model{Family: family.Poisson{}}, source(t, x, n, 1)
	p, err := m.Init(context.Background(), src, k, rand.New(rand.NewPCG(1, 0)))
	require.NoError(t, err)
	weights, rates := append([]float64(nil), p.Weights...), append([]float64(nil), p.Components...)

	res := fit(t, m, src, framework.Options{K: k, Method: framework.FAB, Seed: 1, FixedK: true, MaxIterations: 30, Tolerance: 1e-300,
		Prune: pruning.Rules{Eigenvalue: pruning.Eigenvalue{Off: true}, Objective: pruning.Objective{Off: true}}})
	require.Len(t, res.Trace, 30)
	var counts []float64
	for iteration, got := range res.Trace {
		q := make([][]float64, n)
		for i := range q {
			q[i] = make([]float64, k)
			sum := 0.0
			for c := range k {
				q[i][c] = weights[c] * distuv.Poisson{Lambda: rates[c]}.Prob(x[i])
				if counts != nil { // the first step knows no counts yet
					q[i][c] *= math.Exp(-1 / (2 * counts[c]))
				}
				sum += q[i][c]
			}
			for c := range q[i] {
				q[i][c] /= sum
			}
		}
		counts = make([]float64, k)
		sums := make([]float64, k)
		for i, row := range q {
			for c, v := range row {
				counts[c] += v
				sums[c] += v * x[i]
			}
		}
		fic := 0.0
		for c := range k {
			weights[c], rates[c] = counts[c]/n, sums[c]/counts[c]
			fic -= 0.5 * math.Log(counts[c]/n)
		}
		for i, row := range q {
			for c, v := range row {
				fic += v * (math.Log(weights[c]) + distuv.Poisson{Lambda: rates[c]}.LogProb(x[i]) - math.Log(v))
			}
		}
		fic -= float64(k+k-1) / 2 * math.Log(n)
		assert.InEpsilon(t, fic, got, 1e-11, "iteration %d", iteration)
	}
}

// TestWeightsAreRepetitions: ten rows of weight 100 and a thousand repeated rows.
func TestWeightsAreRepetitions(t *testing.T) {
	base := []float64{0.1, 1.9, -0.4, 2.6, 0.8, 1.2, 7.1, 8.8, 6.5, 9.9, 7.7, 8.1, 8.4, 9.2, 6.9, 7.9, 7.3, 9.5, 0.3, 2.2}
	var repeated []float64
	for range 100 {
		repeated = append(repeated, base...)
	}
	weighted, err := source(t, base, 10, 2).WithWeights(slicesRepeat(100, 10))
	require.NoError(t, err)
	for _, c := range []normal.Covariance{normal.Full, normal.Tied, normal.Diagonal, normal.Spherical} {
		m := mixture.Model{Family: normal.Family{Covariance: c}}
		o := framework.Options{K: 2, Also: []framework.Criterion{framework.BIC, framework.ICL}}
		few, many := fit(t, m, weighted, o), fit(t, m, source(t, repeated, 1000, 2).Distinct(), o)
		assert.InEpsilon(t, few.Value, many.Value, 1e-9)
		all := fit(t, m, source(t, repeated, 1000, 2), framework.Options{K: 2, Restarts: 5, Also: o.Also})
		assert.InEpsilon(t, few.Value, all.Value, 1e-9, c)
		assert.Equal(t, few.N, all.N)
		for i := range few.Scores {
			assert.InEpsilon(t, few.Scores[i].Value, all.Scores[i].Value, 1e-8)
		}
	}
}

func slicesRepeat(v float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = v
	}
	return list
}

func bits(v []float64) []uint64 {
	list := make([]uint64, len(v))
	for i, x := range v {
		list[i] = math.Float64bits(x)
	}
	return list
}

// TestResumedFitsKeepTheBits: interrupted at iteration 5, resumed from the checkpoint.
func TestResumedFitsKeepTheBits(t *testing.T) {
	src := embedded(t, "iris", 4)
	resume := func(m framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics], method framework.Method) {
		o := framework.Options{K: 5, Seed: 4, Method: method}
		whole := fit(t, m, src, o)
		var saved []byte
		o.Recorder = func(e framework.Event) (err error) {
			if e.Iteration == 5 {
				saved, err = e.Checkpoint()
			}
			return err
		}
		fit(t, m, src, o)
		o.Recorder, o.Resume = nil, saved
		resumed := fit(t, m, src, o)
		assert.Equal(t, bits(whole.Trace), bits(resumed.Trace))
		assert.Equal(t, bits(whole.Parameters.Components), bits(resumed.Parameters.Components))
	}
	resume(mixture.Model{Family: normal.Family{}}, framework.GFAB)
	resume(mixture.Model{Family: normal.Family{Covariance: normal.Diagonal}}, framework.FAB)
	resume(mixture.MAP{Model: mixture.Model{Family: normal.Family{}}}, framework.EM)
}

// TestSummariesTellTheColumns of a mixed table: what lies where, with standard errors.
func TestSummariesTellTheColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var x []float64
	const n = 400
	for range n {
		x = append(x, 3+2*rng.NormFloat64(), float64(rng.IntN(2)), float64(rng.IntN(3)), distuv.Poisson{Lambda: 4, Src: rng}.Rand())
	}
	m := mixture.Model{Family: family.Product{family.Of{Family: normal.Family{Covariance: normal.Diagonal}, Width: 1}, family.Bernoulli{}, family.Categorical{Levels: 3}, family.Poisson{}}}
	res := fit(t, m, source(t, x, n, 4), framework.Options{K: 1, Method: framework.EM})
	list, err := m.Summarize(res.Statistics, res.Parameters)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.InDelta(t, 1, list[0].Weight, 1e-12)
	assert.InDelta(t, n, list[0].Rows, 1e-9)
	var names [][]string
	for _, column := range list[0].Columns {
		var of []string
		for _, v := range column {
			of = append(of, v.Name)
			assert.Positive(t, v.Error)
		}
		names = append(names, of)
	}
	assert.Equal(t, [][]string{{"mean", "variance"}, {"probability"}, {"level0", "level1", "level2"}, {"rate"}}, names)
	for j, want := range []float64{3, 0.5, 1.0 / 3, 4} {
		v := list[0].Columns[j][0]
		assert.InDelta(t, want, v.Value, 4*v.Error)
	}
}

// TestMissingCellsCountLittle: of a single component of exponential columns the penalty of gFIC
// is ½ ln of each column's effective count, in which a row counts 1 where the cell is there and
// 1/N where it is missing, so that a column that nobody has costs nothing
// (docs/theory/mixtures.md, section 2).
func TestMissingCellsCountLittle(t *testing.T) {
	const n, d = 40, 3
	rng := rand.New(rand.NewPCG(4, 4))
	x, counts := make([]float64, n*d), [d]float64{}
	for i := range x {
		x[i] = rng.ExpFloat64()
		if rng.IntN(d+1) < i%d { // 0, a quarter and half of a column are missing
			x[i] = math.NaN()
		} else {
			counts[i%d]++
		}
	}
	require.Less(t, counts[2], n*0.7)
	want := 0.0
	for c, present := range counts {
		sum := 0.0
		for i := c; i < len(x); i += d {
			if x[i] == x[i] {
				sum += x[i]
			}
		}
		want += present*math.Log(present/sum) - present // Σ ln λ − λx at the estimate
		want -= math.Log(present+(n-present)/n) / 2
	}
	res := fit(t, mixture.Model{Family: family.Exponential{}}, source(t, x, n, d), framework.Options{K: 1, Method: framework.EM, Criterion: framework.GFIC})
	require.InEpsilon(t, want, res.Value, 1e-9)
}

// twins starts with components that are all the same.
type twins struct{ mixture.Model }

func (m twins) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*mixture.Parameters, error) {
	p, err := m.Model.Init(ctx, src, k, rng)
	if err == nil {
		size := len(p.Components) / k
		for j := range k {
			copy(p.Components[j*size:], p.Components[:size])
			p.Weights[j] = 1 / float64(k)
		}
	}
	return p, err
}

// TestATwinIsRelevantByItsChargeAlone: when one of K equal components goes, the rows'
// log-likelihood stays, and gFIC gets back its ½ ln|F_k| + (D_ξ/2) ln N = ½ Σ_c ln(N/K) of
// exponential columns, and ½ ln N for its weight.
func TestATwinIsRelevantByItsChargeAlone(t *testing.T) {
	const n, d = 200, 3
	rng := rand.New(rand.NewPCG(5, 5))
	x := make([]float64, n*d)
	for i := range x {
		x[i] = rng.ExpFloat64()
	}
	for k := 2; k <= 4; k++ {
		res := fit(t, twins{mixture.Model{Family: family.Exponential{}}}, source(t, x, n, d), framework.Options{Criterion: framework.GFIC, K: k})
		require.NotEmpty(t, res.Pruned)
		charge := d*math.Log(n/float64(k))/2 + math.Log(n)/2
		require.InEpsilon(t, -charge, res.Pruned[0].Relevance[0], 1e-9, "K = %d", k)
	}
}

// TestCharacteristicColumnsAreByTheirDivergence: that of a column's normal distribution in a
// component from that in the whole table, against numerical integration.
func TestCharacteristicColumnsAreByTheirDivergence(t *testing.T) {
	const n, d, k = 300, 2, 2
	rng := rand.New(rand.NewPCG(6, 6))
	x := make([]float64, n*d)
	for i := range n {
		c := float64(i % k)
		x[i*d], x[i*d+1] = 4*c+(1+c)*rng.NormFloat64(), 10+(2-c)*rng.NormFloat64()
	}
	for _, form := range []normal.Covariance{normal.Full, normal.Diagonal, normal.Spherical} {
		m := mixture.Model{Family: normal.Family{Covariance: form}}
		p := fit(t, m, source(t, x, n, d), framework.Options{K: k, Method: framework.EM, Criterion: framework.ELBO}).Parameters
		normal := func(xi []float64, column int) distuv.Normal {
			variance := xi[d+min(column, len(xi)-d-1)]
			if form == normal.Full {
				variance = xi[d+column*d+column]
			}
			return distuv.Normal{Mu: xi[column], Sigma: math.Sqrt(variance)}
		}
		size := len(p.Components) / k
		for j := range k {
			list, err := m.Characteristic(p, j)
			require.NoError(t, err)
			require.Len(t, list, d)
			for _, c := range list {
				own, whole := normal(p.Components[j*size:(j+1)*size], c.Column), normal(p.Pooled.Parameters, c.Column)
				want := quad.Fixed(func(v float64) float64 {
					return own.Prob(v) * (own.LogProb(v) - whole.LogProb(v))
				}, own.Mu-10*own.Sigma, own.Mu+10*own.Sigma, 200, nil, 0)
				require.InDelta(t, want, c.Divergence, 1e-9, "%v, component %d, column %d", form, j, c.Column)
			}
			require.GreaterOrEqual(t, list[0].Divergence, list[1].Divergence)
		}
	}
}
