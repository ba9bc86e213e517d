package mixture_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

// labelledIris is the table of irises, with the species of every fifth row.
func labelledIris(t *testing.T) *blocks.Table {
	t.Helper()
	iris, err := data.Load("iris")
	require.NoError(t, err)
	codes := iris.Codes("Species")
	iris, err = iris.Drop("Species")
	require.NoError(t, err)
	x, n, d, err := iris.Matrix()
	require.NoError(t, err)
	var rows []float64
	for i := range n {
		label := math.NaN()
		if i%5 == 0 {
			label = float64(codes[i])
		}
		rows = append(append(rows, x[i*d:(i+1)*d]...), label)
	}
	table, err := blocks.FromIncomplete(rows, n, d+1)
	require.NoError(t, err)
	return table
}

// The likelihood is Σ ln β_k p(x|ξ_k) of the rows whose class k is known, and that of the mixture of the others.
func TestLikelihoodOfKnownClasses(t *testing.T) {
	table := labelledIris(t)
	known := mixture.Model{Family: known.Labelled(normal.Family{}, 3)}
	res, err := framework.Fit(context.Background(), known, table, framework.Options{K: 3, FixedK: true, Method: framework.EM,
		Tolerance: 1e-12, Criterion: framework.BIC})
	require.NoError(t, err)
	p := res.Parameters
	plain := mixture.Model{Family: normal.Family{}}
	inner := &mixture.Parameters{K: 3, D: 4, Weights: p.Weights}
	for k := range 3 {
		own := p.Component(k)
		assert.Equal(t, k, known.Label(p, k), "classes begin in the order of their labels")
		inner.Components = append(inner.Components, own[:len(own)-1]...)
	}
	rows := table.All()
	alone := rows.Columns([]int{0, 1, 2, 3})
	score, err := plain.Scorer(inner)
	require.NoError(t, err)
	logProb, q, err := score(alone, nil, nil)
	require.NoError(t, err)
	sum := 0.0
	for i, l := range logProb {
		if label := rows.Row(i)[4]; label == label {
			l += math.Log(q[3*i+int(label)])
		}
		sum += l
	}
	assert.InDelta(t, sum, res.Evaluation.LogLikelihood, 1e-8)
	got, err := known.Responsibilities(rows, p, nil)
	require.NoError(t, err)
	for i := range rows.N {
		for k := range 3 {
			want := q[3*i+k]
			if label := rows.Row(i)[4]; label == label {
				want = 0
				if k == int(label) {
					want = 1
				}
			}
			assert.InDelta(t, want, got[3*i+k], 1e-12)
		}
	}
}

// TestKnownClassesOfMclust: log-likelihoods of MclustSSC.fit of R's mclust 6.0.0 with tol = 1e-15, on the irises with the
// species of every fifth row, in three classes.
func TestKnownClassesOfMclust(t *testing.T) {
	want := map[string]float64{"VVV": -182.2062574927, "EEE": -258.0134361861, "EII": -402.2443375721,
		"VII": -384.8379614245, "VVI": -307.3761206377, "EEI": -361.9042793842}
	names, forms := normal.Structures()
	compared := 0
	for i, name := range names {
		if want[name] == 0 {
			continue
		}
		compared++
		m := mixture.Model{Family: known.Labelled(normal.Family{Covariance: forms[i]}, 3)}
		res, err := framework.Fit(context.Background(), m, labelledIris(t), framework.Options{K: 3, FixedK: true,
			Method: framework.EM, Tolerance: 1e-13, MaxIterations: 10000, Criterion: framework.BIC})
		require.NoError(t, err, name)
		assert.InDelta(t, want[name], res.Evaluation.LogLikelihood, 1e-6, name)
	}
	assert.Equal(t, len(want), compared)
}

// TestKnownClassesAreFound in at least 9 of 10 tables whose classes overlap, by the labels of a tenth of the rows.
func TestKnownClassesAreFound(t *testing.T) {
	found, without := 0, 0
	for table := range 10 {
		rng := rand.New(rand.NewPCG(uint64(table), 1))
		const n = 600
		var x, free []float64
		for range n {
			z := rng.IntN(3)
			u, v := rng.NormFloat64(), rng.NormFloat64()
			a, b := [...]float64{0, 1.6, 3.2}[z]+u, [...]float64{0, 1.5, 0}[z]+v
			label := math.NaN()
			if rng.Float64() < 0.1 {
				label = float64(z)
			}
			x, free = append(x, a, b, label), append(free, a, b)
		}
		labelled, err := blocks.FromIncomplete(x, n, 3)
		require.NoError(t, err)
		m := mixture.Model{Family: known.Labelled(normal.Family{}, 3)}
		res, err := framework.Fit(context.Background(), m, labelled, framework.Options{K: 6, Criterion: framework.Evidence})
		require.NoError(t, err)
		close := res.Shape.K == 3
		for k := range res.Shape.K {
			label, own := m.Label(res.Parameters, k), res.Parameters.Component(k)
			close = close && label >= 0 && math.Hypot(own[0]-[]float64{0, 1.6, 3.2}[label], own[1]-[]float64{0, 1.5, 0}[label]) < 0.4
		}
		if close {
			found++
		}
		alone, err := blocks.FromSlice(free, n, 2)
		require.NoError(t, err)
		other, err := framework.Fit(context.Background(), mixture.Model{Family: normal.Family{}}, alone,
			framework.Options{K: 6, Criterion: framework.Evidence})
		require.NoError(t, err)
		if other.Shape.K == 3 {
			without++
		}
	}
	assert.GreaterOrEqual(t, found, 9)
	t.Logf("%d of 10, without labels %d", found, without)
}

// TestKnownRegressionsAreFound in at least 9 of 10 tables whose lines are hidden in their noise, by the labels of a sixth
// of the rows: the lines are those of their labels.
func TestKnownRegressionsAreFound(t *testing.T) {
	tables, found, without := tier.Of(2, 4, 10), 0, 0
	m := mixture.Model{Family: known.Labelled(regress.Family{}, 2)}
	o := framework.Options{K: 5, Restarts: 3, Criterion: framework.Evidence}
	for table := range tables {
		rng := rand.New(rand.NewPCG(uint64(table), 3))
		const n = 400
		var x, free []float64
		for i := range n {
			z, a := i%2, 2*rng.NormFloat64()
			y, label := []float64{0.25, -0.15}[z]*a+rng.NormFloat64(), math.NaN()
			if rng.Float64() < 1.0/6 {
				label = float64(1 - z)
			}
			x, free = append(x, y, a, label), append(free, y, a)
		}
		labelled, err := blocks.FromIncomplete(x, n, 3)
		require.NoError(t, err)
		res, err := framework.Fit(context.Background(), m, labelled, o)
		require.NoError(t, err)
		close := res.Shape.K == 2
		for k := range res.Shape.K {
			label, own := m.Label(res.Parameters, k), res.Parameters.Component(k)
			close = close && label >= 0 && math.Abs(own[1]-[]float64{-0.15, 0.25}[label]) < 0.15
		}
		if close {
			found++
		}
		alone, err := blocks.FromSlice(free, n, 2)
		require.NoError(t, err)
		other, err := framework.Fit(context.Background(), mixture.Model{Family: regress.Family{}}, alone, o)
		require.NoError(t, err)
		if other.Shape.K == 2 {
			without++
		}
	}
	assert.GreaterOrEqual(t, found, tables-tables/10)
	assert.Zero(t, without)
	t.Logf("%d of %d, without labels %d", found, tables, without)
}

// TestKnownClassesWithNoise has β_k ((1−ε) p(x|ξ_k) + ε/V) of a row whose class k is known, also where that row is an
// outlier, and probabilities of noise from that.
func TestKnownClassesWithNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	const n = 300
	var x, free []float64
	for i := range n {
		z, label := i%2, math.NaN()
		a, b := 4*float64(z)+rng.NormFloat64(), rng.NormFloat64()
		if i%10 == 9 {
			a, b = 40*rng.Float64()-20, 40*rng.Float64()-20
		}
		if i%8 == 1 || i%8 == 2 {
			label = float64(z)
		}
		x, free = append(x, a, b, label), append(free, a, b)
	}
	table, err := blocks.FromIncomplete(x, n, 3)
	require.NoError(t, err)
	noise := normal.Noise{Family: normal.Family{}}
	noise.Low, noise.High = normal.Ranges(free, 2)
	m := mixture.Model{Family: known.Labelled(noise, 2)}
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 4, Criterion: framework.GFIC})
	require.NoError(t, err)
	p := res.Parameters
	require.Equal(t, 2, p.K)
	joint := noise.LogJoint(p.Component(0)[:len(p.Component(0))-1], 2)
	logProb, err := m.LogProb(table.All(), p, nil)
	require.NoError(t, err)
	probability := m.NoiseProbability(table.All(), logProb, p, nil)
	share := 1 - p.Component(0)[6] // ε follows two means and four covariances
	for i := range n {
		sum, outlier := 0.0, 0.0
		for k, w := range p.Weights {
			label, own := x[3*i+2], p.Component(k)
			if label == label && m.Label(p, k) != int(label) {
				continue
			}
			law, ok := distmv.NewNormal(own[:2], mat.NewSymDense(2, own[2:6]), nil)
			require.True(t, ok)
			sum += w * (share*law.Prob(free[2*i:2*i+2]) + math.Exp(joint))
			outlier += w * math.Exp(joint)
		}
		assert.InDelta(t, math.Log(sum), logProb[i], 1e-9)
		assert.InDelta(t, outlier/sum, probability[i], 1e-9)
	}
	for k := range p.K {
		assert.InDelta(t, 4*float64(m.Label(p, k)), p.Component(k)[0], 0.3)
	}
}

// partlyKnown are rows of three classes, of which the first two are known for a part.
func partlyKnown(n int) *mat.Dense {
	rng := rand.New(rand.NewPCG(3, 4))
	x := mat.NewDense(n, 3, nil)
	for i := range n {
		z, label := i%3, math.NaN()
		if i%7 == 0 && z < 2 {
			label = float64(z)
		}
		x.SetRow(i, []float64{2.5*float64(z) + rng.NormFloat64(), float64(z*z) + rng.NormFloat64(), label})
	}
	return x
}

// TestKnownClassesConform, K of which is at least the labels.
func TestKnownClassesConform(t *testing.T) {
	m := mixture.Model{Family: known.Labelled(normal.Family{}, 2)}
	lvmtest.Test(t, mixtureCase{
		Model: m, Data: lvmtest.Matrix(partlyKnown(120)), K: []int{2, 3}, Least: 2, NoAllocations: true,
		Symmetry: func(p *mixture.Parameters, rng *rand.Rand) *mixture.Parameters {
			q, err := m.Permute(p, rng.Perm(p.K))
			if err != nil {
				panic(err)
			}
			return q
		},
	})
	lvmtest.Test(t, lvmtest.Case[blocks.Rows, *mixture.Posterior, *mixture.Statistics]{
		Model: mixture.Variational{Family: known.Labelled(normal.Family{Covariance: normal.Diagonal}, 2)},
		Data:  lvmtest.Matrix(partlyKnown(120)), K: []int{2, 3}, Least: 2, NoAllocations: true,
	})
	lines := mixture.Model{Family: known.Labelled(regress.Family{}, 2)}
	lvmtest.Test(t, mixtureCase{
		Model: lines, Data: lvmtest.Matrix(partlyKnown(120)), K: []int{2}, Least: 2,
	})
	codes := partlyKnown(120)
	for i := range 120 {
		codes.Set(i, 0, math.Round(math.Min(3, math.Max(0, codes.At(i, 0)/2))))
		codes.Set(i, 1, math.Round(math.Min(3, math.Max(0, codes.At(i, 1)))))
	}
	lvmtest.Test(t, lvmtest.Case[blocks.Rows, *mixture.Posterior, *mixture.Statistics]{
		Model: mixture.CVB0{Variational: mixture.Variational{Family: known.Labelled(family.Categorical{Levels: 4}, 2)}},
		Data:  lvmtest.Matrix(codes), K: []int{2, 3}, Least: 2,
	})
}

// TestFewKnownRowsOfManyAreFound: a start draws 8192 rows of a table, in which a few known ones need not be. Two labels
// are known of three classes, of which the third is found.
func TestFewKnownRowsOfManyAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const n = 12000
	x := make([]float64, 0, 2*n)
	for i := range n {
		z, label := i%3, math.NaN()
		if i < 12 && z > 0 {
			label = float64(2 - z)
		}
		x = append(x, 6*float64(z)+rng.NormFloat64(), label)
	}
	table, err := blocks.FromIncomplete(x, n, 2)
	require.NoError(t, err)
	for _, start := range []family.Start{family.Varied, family.RandomRows} {
		m := mixture.Model{Family: known.Labelled(normal.Family{}, 2), Start: start}
		res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 5, Restarts: 2})
		require.NoError(t, err)
		require.Equal(t, 3, res.Shape.K, start)
		for k := range 3 {
			mean := res.Parameters.Component(k)[0]
			assert.InDelta(t, map[int]float64{0: 12, 1: 6, family.Free: 0}[m.Label(res.Parameters, k)], mean, 0.1, start)
		}
	}
}

// TestLabelsOfSeveralClasses restrict a row to these.
func TestLabelsOfSeveralClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var x []float64
	for i := range 300 {
		z := i % 3
		code := math.NaN()
		switch {
		case i < 30:
			code = float64(z)
		case z > 0 && i < 200:
			code = 3 // the second or the third
		}
		x = append(x, 1.5*float64(z)+rng.NormFloat64(), code)
	}
	table, err := blocks.FromIncomplete(x, 300, 2)
	require.NoError(t, err)
	m := mixture.Model{Family: known.Family{Family: normal.Family{}, Sets: [][]int{{0}, {1}, {2}, {1, 2}}}}
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 3, FixedK: true, Method: framework.EM})
	require.NoError(t, err)
	q, err := m.Responsibilities(table.All(), res.Parameters, nil)
	require.NoError(t, err)
	for k := range 3 {
		if label := m.Label(res.Parameters, k); label == 0 {
			for i := 30; i < 200; i++ {
				assert.Equal(t, i%3 == 0, q[3*i+k] > 0, "row %d", i)
			}
		}
	}
	// Codes are drawn, which are no labels.
	m.Family = known.Family{Family: normal.Family{}, Sets: [][]int{{0, 1}, {1}, {0}}}
	p := &mixture.Parameters{K: 3, D: 2, Weights: []float64{0.4, 0.3, 0.3}, Components: []float64{0, 1, 0, 9, 1, 1, 20, 1, family.Free}}
	drawn, labels, err := m.Sample(p, 50, rng)
	require.NoError(t, err)
	for i, k := range labels {
		if k == 2 {
			assert.True(t, math.IsNaN(drawn[2*i+1]))
		} else {
			assert.Equal(t, float64(2-k), drawn[2*i+1])
		}
	}
}

// TestEquivalentModesOfKnownClasses are the orders of the free ones.
func TestEquivalentModesOfKnownClasses(t *testing.T) {
	m := mixture.Model{Family: known.Labelled(normal.Family{Covariance: normal.Diagonal}, 2)}
	p := &mixture.Parameters{K: 5, D: 2, Components: []float64{0, 1, 1, 1, 1, family.Free, 2, 1, family.Free, 3, 1, 0, 4, 1, family.Free}}
	assert.InDelta(t, math.Log(6), m.LogModes(p), 1e-12)
}

func TestKnownClassesRefuse(t *testing.T) {
	table := labelledIris(t)
	fit := func(f family.Family, k int) error {
		_, err := framework.Fit(context.Background(), mixture.Model{Family: f}, table, framework.Options{K: k})
		return err
	}
	var few *family.TooManyLabelsError
	require.ErrorAs(t, fit(known.Labelled(normal.Family{}, 3), 2), &few)
	require.ErrorContains(t, fit(known.Labelled(normal.Family{}, 4), 5), "no row of positive weight is known to have label 3")
	require.ErrorContains(t, fit(known.Labelled(normal.Family{}, 2), 5), "must be a code of known classes, from 0 to 1, or missing")
	require.ErrorContains(t, fit(known.Family{Family: normal.Family{}, Sets: [][]int{{0}, {1, 2}, {2}}}, 5),
		"label 1 is the only one of no code")
	require.ErrorContains(t, fit(known.Family{}, 5), "family")
	m := mixture.Model{Family: known.Labelled(normal.Family{Covariance: normal.Diagonal}, 3)}
	p := &mixture.Parameters{K: 2, D: 2, Weights: []float64{0.5, 0.5}, Components: []float64{0, 1, 0, 5, 1, 1}}
	_, err := m.LogProb(blocks.Rows{N: 1, D: 2, Stride: 2, X: []float64{1, 2}}, p, nil)
	require.ErrorContains(t, err, "is in a known class that none of the 2 classes has")
}

// A checkpoint of other labels is one of other data.
func TestKnownClassesArePartOfACheckpoint(t *testing.T) {
	table, m := labelledIris(t), mixture.Model{Family: known.Labelled(normal.Family{}, 3)}
	o := framework.Options{K: 4, MaxIterations: 3}
	res, err := framework.Fit(context.Background(), m, table, o)
	require.NoError(t, err)
	o.Resume, err = res.Checkpoint()
	require.NoError(t, err)
	_, err = framework.Fit(context.Background(), m, table, o)
	require.NoError(t, err)
	rows := table.All()
	rows.Row(0)[4] = math.NaN()
	_, err = framework.Fit(context.Background(), m, table, o)
	require.ErrorContains(t, err, "belongs to a fit to other rows")
}
