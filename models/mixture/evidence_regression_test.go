package mixture_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/ranks"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// A zellnerTable is one of a response and regressors, the intercept first, with the prior that the evidence has of it.
type zellnerTable struct {
	y      []float64
	a      *mat.Dense    // n×p
	spread *mat.SymDense // G⁻¹
	mean   float64
	v      float64
}

func newZellnerTable(x *mat.Dense) *zellnerTable {
	n, d := x.Dims()
	z := &zellnerTable{y: mat.Col(nil, 0, x), a: mat.NewDense(n, d, nil), spread: new(mat.SymDense)}
	for i := range n {
		z.a.SetRow(i, append([]float64{1}, x.RawRowView(i)[1:]...))
	}
	var g mat.SymDense
	g.SymOuterK(1/float64(n), z.a.T())
	var chol mat.Cholesky
	if !chol.Factorize(&g) || chol.InverseTo(z.spread) != nil {
		panic("dependent regressors")
	}
	z.mean = floats.Sum(z.y) / float64(n)
	for _, y := range z.y {
		z.v += (y - z.mean) * (y - z.mean) / float64(n)
	}
	return z
}

// logMarginal is ln p(y|A) of some rows as one class: exact in the coefficients, by quadrature in x = ln(s/v) ~ N(0, 2).
func (z *zellnerTable) logMarginal(rows []int) float64 {
	n := len(rows)
	if n == 0 {
		return 0
	}
	a, e := mat.NewDense(n, z.a.RawMatrix().Cols, nil), mat.NewVecDense(n, nil)
	for i, r := range rows {
		a.SetRow(i, z.a.RawRowView(r))
		e.SetVec(i, z.y[r]-z.mean)
	}
	var half, between mat.Dense
	half.Mul(a, z.spread)
	between.Mul(&half, a.T())
	cov := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			cov.SetSym(i, j, z.v*between.At(i, j))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(cov, true) {
		panic("no eigenvalues")
	}
	var vectors mat.Dense
	var along mat.VecDense
	eigen.VectorsTo(&vectors)
	along.MulVec(vectors.T(), e)
	values := eigen.Values(nil)
	const step = 0.03
	var logs []float64
	for x := -14.0; x < 10; x += step {
		log := distuv.Normal{Mu: 0, Sigma: math.Sqrt2}.LogProb(x) + math.Log(step)
		for i, value := range values {
			log += distuv.Normal{Mu: 0, Sigma: math.Sqrt(max(0, value) + z.v*math.Exp(x))}.LogProb(along.AtVec(i))
		}
		logs = append(logs, log)
	}
	return floats.LogSumExp(logs)
}

func upToRows(n int) []int { return slices.Collect(upTo(n)) }

// One normal regression against quadrature: never above it, and nearer the more rows there are. Means of four tables.
func TestEvidenceOfOneRegressionIsBelowQuadrature(t *testing.T) {
	for _, c := range []struct {
		rows, coefficients int
		lowest             float64 // of the mean
	}{{3, 2, -0.5}, {12, 3, -0.2}, {100, 3, -0.03}} {
		mean := 0.0
		for seed := range uint64(4) {
			x, rng := mat.NewDense(c.rows, c.coefficients, nil), rand.New(rand.NewPCG(seed, 11))
			for i := range c.rows {
				row := x.RawRowView(i)
				row[0] = rng.NormFloat64()
				for j := range row[1:] {
					row[1+j] = rng.NormFloat64()
					row[0] += row[1+j]
				}
			}
			src, err := blocks.FromMatrix(x)
			require.NoError(t, err)
			res := evident(t, mixture.Model{Family: regress.Family{Floor: family.NoFloor}}, src, 1)
			gap := res.Value - newZellnerTable(x).logMarginal(upToRows(c.rows))
			assert.Less(t, gap, 0.0)
			assert.Greater(t, gap, -0.65)
			mean += gap / 4
		}
		t.Logf("%d rows, %d coefficients: %.3f", c.rows, c.coefficients, mean)
		assert.Greater(t, mean, c.lowest)
	}
}

// Two normal regressions and ln 2!, for the labels, against the sum over all labels of nine rows: never above.
func TestEvidenceOfTwoRegressionsIsBelowTheSumOverAllLabels(t *testing.T) {
	const n = 9
	for seed := range uint64(2) {
		x := regressionRows(regress.Family{}, n, rand.New(rand.NewPCG(seed, 12))).Slice(0, n, 0, 2).(*mat.Dense)
		src, err := blocks.FromMatrix(x)
		require.NoError(t, err)
		z, own := newZellnerTable(x), make([]float64, 1<<n)
		for set := range own {
			own[set] = z.logMarginal(slices.DeleteFunc(upToRows(n), func(i int) bool { return set>>i&1 == 0 }))
		}
		logs := make([]float64, 1<<n)
		for set := range own {
			ones := 0
			for i := range n {
				ones += set >> i & 1
			}
			a, _ := math.Lgamma(float64(ones + 1))
			b, _ := math.Lgamma(float64(n - ones + 1))
			all, _ := math.Lgamma(n + 2)
			logs[set] = a + b - all + own[set] + own[len(own)-1-set]
		}
		res := evident(t, mixture.Model{Family: regress.Family{Floor: family.NoFloor}}, src, 2)
		gap := res.Value + math.Ln2 - floats.LogSumExp(logs)
		t.Logf("%.3f", gap)
		assert.Less(t, gap, 0.0)
		assert.Greater(t, gap, -4.0)
	}
}

// One regression of counts, or of successes, against quadrature over both coefficients. Laplace's method may err upwards.
func TestEvidenceOfCurvesIsNextToQuadrature(t *testing.T) {
	for _, f := range []regress.Family{{Response: regress.Counts}, {Response: regress.Counts, Exposure: true}, {Response: regress.Successes, Exposure: true}} {
		for _, n := range []int{8, 60} {
			x := regressionRows(f, n, rand.New(rand.NewPCG(5, 13)))
			_, d := x.Dims()
			x = x.Slice(0, n, 0, d-1).(*mat.Dense)
			src, err := blocks.FromMatrix(x)
			require.NoError(t, err)
			for _, worth := range []float64{1, 3} {
				m := mixture.Model{Family: f, Prior: prior.UnitInformation{Rows: worth}}
				gap := evident(t, m, src, 1).Value - logMarginalOfCurve(f, x, worth)
				t.Logf("%s, %d rows, a prior worth %v: %.4f", f.Name(), n, worth, gap)
				assert.InDelta(t, 0, gap, 1/float64(n))
			}
		}
	}
}

// logMarginalOfCurve is ln p(y|x) of one class by a grid over the intercept, at the mean of x, and the slope, under a prior
// that is worth so many events or trials.
func logMarginalOfCurve(f regress.Family, x *mat.Dense, worth float64) float64 {
	n, d := x.Dims()
	exposure := func(i int) float64 {
		if f.Exposure {
			return x.At(i, 1)
		}
		return 1
	}
	var y, e, mean float64
	for i := range n {
		y, e, mean = y+x.At(i, 0), e+exposure(i), mean+x.At(i, d-1)/float64(n)
	}
	eta, weight, events := math.Log(y/e), y/e, y
	if f.Response == regress.Successes {
		eta, weight, events = math.Log(y/(e-y)), y/e*(1-y/e), e
	}
	row := mat.NewSymDense(2, nil) // the information of an event, or of a trial
	for i := range n {
		row.SymRankOne(row, worth*weight*exposure(i)/events, mat.NewVecDense(2, []float64{1, x.At(i, d-1) - mean}))
	}
	logProb := func(b0, b1 float64) float64 {
		at := mat.NewVecDense(2, []float64{b0 - eta, b1})
		sum := math.Log(mat.Det(row))/2 - math.Log(2*math.Pi) - mat.Inner(at, row, at)/2
		for i := range n {
			h := b0 + b1*(x.At(i, d-1)-mean)
			if f.Response == regress.Counts {
				sum += distuv.Poisson{Lambda: exposure(i) * math.Exp(h)}.LogProb(x.At(i, 0))
			} else {
				sum += distuv.Binomial{N: exposure(i), P: 1 / (1 + math.Exp(-h))}.LogProb(x.At(i, 0))
			}
		}
		return sum
	}
	best := []float64{eta, 0}
	step := 0.5
	for step > 1e-3 { // the mode, by turns
		moved := false
		for _, way := range [][2]float64{{step, 0}, {-step, 0}, {0, step}, {0, -step}} {
			if logProb(best[0]+way[0], best[1]+way[1]) > logProb(best[0], best[1]) {
				best[0], best[1], moved = best[0]+way[0], best[1]+way[1], true
			}
		}
		if !moved {
			step /= 2
		}
	}
	half := 8 / math.Sqrt(row.At(0, 0)*events+1) // wide enough for both
	width := [2]float64{half, 8 / math.Sqrt(row.At(1, 1)*events+1)}
	const points = 120
	var logs []float64
	for i := range points {
		for j := range points {
			b0 := best[0] + width[0]*(2*(float64(i)+0.5)/points-1)
			b1 := best[1] + width[1]*(2*(float64(j)+0.5)/points-1)
			logs = append(logs, logProb(b0, b1))
		}
	}
	return floats.LogSumExp(logs) + math.Log(4*width[0]*width[1]/points/points)
}

// No fall of the objective, and a mode that the global step keeps, for every response, with coefficients in common, missing responses
// and classes of zeros alone; units and linear combinations of regressors change nothing.
func TestEvidenceOfRegressions(t *testing.T) {
	for _, f := range []regress.Family{
		{}, {NoIntercept: true}, {Response: regress.Counts, Exposure: true}, {Response: regress.Successes, Exposure: true},
		{Fixed: []int{0}}, {Fixed: []int{1, 2}}, {Response: regress.Counts, Fixed: []int{2}}, {Response: regress.Successes, Exposure: true, Fixed: []int{0}},
	} {
		t.Run(fmt.Sprintf("%s %v %v", f.Name(), f.NoIntercept, f.Fixed), func(t *testing.T) {
			x := regressionRows(f, 80, rand.New(rand.NewPCG(3, 4)))
			_, d := x.Dims()
			x.Set(5, 0, math.NaN())
			for i := range 12 {
				x.Set(6+2*i, 0, 0)
			}
			m := mixture.Model{Family: f}
			of := func(x *mat.Dense, k int) *framework.Result[*mixture.Parameters, *mixture.Statistics] {
				res := fit(t, m, source(t, x.RawMatrix().Data, 80, d), framework.Options{K: k, FixedK: k == 2, Criterion: framework.Evidence, Restarts: 12 / k, Seed: 1})
				require.Zero(t, res.Fall, "the objective fell")
				return res
			}
			of(x, 5)
			res := of(x, 2)
			next, err := m.MaximizePosterior(res.Statistics, res.Parameters, nil)
			require.NoError(t, err)
			for j, v := range res.Parameters.Components {
				assert.InDelta(t, v, next.Components[j], 1e-4*math.Max(1, math.Abs(v)))
			}
			turned, logDet := mat.DenseCopyOf(x), 0.0
			for i := range 80 {
				row := turned.RawRowView(i)
				if f.Fixed == nil {
					row[d-2], row[d-1] = 2*row[d-2]-row[d-1], row[d-2]+row[d-1]
				}
				row[d-1] *= 0.02
				if f.Response == regress.Normal {
					row[0] *= 1000
				}
			}
			if f.Response == regress.Normal {
				logDet = 79 * math.Log(1000)
			}
			there := of(turned, 2)
			assert.InDelta(t, res.Value, there.Value+logDet, 1e-4)
		})
	}
}

// The tables that R's flexmix and mixtools show have as many lines by the evidence as by gFIC, and the bits are the same in three processes
// and after a resume.
func TestEvidenceOfKnownRegressions(t *testing.T) {
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
		res := evident(t, mixture.Model{Family: regress.Family{}}, src, 0)
		t.Log(c.name, res.Value)
		assert.Equal(t, c.k, res.Shape.K, c.name)
	}
	src, m := regressionTable(t, "NOdata", false, "Equivalence", "NO"), mixture.Model{Family: regress.Family{}}
	o := framework.Options{K: 4, Criterion: framework.Evidence, Seed: 1}
	whole := fit(t, m, src, o)
	for rank, err := range ranks.Each(3, func(r ranks.Rank) error {
		o := o
		o.Group = r
		res, err := framework.Fit(t.Context(), m, src, o)
		if err == nil && !slices.Equal(whole.Parameters.Components, res.Parameters.Components) {
			err = fmt.Errorf("other bits: %v and %v", whole.Parameters.Components, res.Parameters.Components)
		}
		return err
	}) {
		require.NoError(t, err, "process %d", rank)
	}
	short := o
	short.MaxIterations = 5
	saved, err := fit(t, m, src, short).Checkpoint()
	require.NoError(t, err)
	o.Resume = saved
	assert.Equal(t, whole.Parameters.Components, fit(t, m, src, o).Parameters.Components)
}
