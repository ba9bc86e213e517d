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
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/evidencetest"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// evident fits by the evidence, from K = 10 where k is 0.
func evident(t testing.TB, m mixture.Model, src *blocks.Table, k int, also ...framework.Criterion) *framework.Result[*mixture.Parameters, *mixture.Statistics] {
	t.Helper()
	o := framework.Options{K: 10, Criterion: framework.Evidence, Also: also, Restarts: 10, Seed: 1}
	if k > 0 {
		o.K, o.FixedK = k, true
	}
	res := fit(t, m, src, o)
	require.Zero(t, res.Fall, "the objective fell")
	return res
}

// Of one class with a full covariance the evidence is that of BIC with one row more; the values are those of a derivation by hand in another
// program (docs/theory/evidence.md, "Held by tests").
func TestEvidenceOfTheGeyser(t *testing.T) {
	m, src := mixture.Model{Family: normal.Family{}, Prior: prior.UnitInformation{Covariance: 1}}, embedded(t, "faithful", 2)
	one := evident(t, m, src, 1, framework.BIC)
	n := one.N
	assert.InDelta(t, one.Evaluation.LogLikelihood-5./2*math.Log(n+1), one.Value, 1e-3)
	assert.InDelta(t, -1303.82, one.Value, 0.01)
	assert.InDelta(t, -1164.82, evident(t, m, src, 2).Value, 0.01)
	assert.Equal(t, 2, evident(t, m, src, 0).Shape.K)
	assert.Equal(t, 2, evident(t, mixture.Model{Family: normal.Family{}}, src, 0).Shape.K, "at √2 rows")
}

// Components that the evidence has emptied leave several at once; the fit is that of two components.
func TestEmptyComponentsLeaveTogether(t *testing.T) {
	m, src := mixture.Model{Family: normal.Family{}}, embedded(t, "faithful", 2)
	res := evident(t, m, src, 0)
	several := func(p framework.Pruned) bool {
		return len(p.Dimensions) > 1 && p.Rule == "objective" && p.After > p.Before
	}
	assert.True(t, slices.ContainsFunc(res.Pruned, several), "%+v", res.Pruned)
	assert.InDelta(t, evident(t, m, src, 2).Value, res.Value, 1e-9*res.N)
}

// The groups stay where one cell is wrong, and its row is a component of its own.
func TestEvidenceKeepsAWrongCellApart(t *testing.T) {
	for _, row := range []int{0, 100, 271} {
		src := embedded(t, "faithful", 2)
		x := slices.Clone(src.All().X)
		x[2*row] = 999
		res := evident(t, mixture.Model{Family: normal.Family{}}, source(t, x, 272, 2), 0)
		sizes := slices.Clone(res.Statistics.Nk)
		slices.Sort(sizes)
		require.Len(t, sizes, 3)
		assert.InDelta(t, 1, sizes[0], 0.01)
		assert.InDelta(t, 96.5, sizes[1], 1.5)
	}
}

// Components of a few rows are not free in many columns: two spherical clusters are two.
func TestEvidenceOfManyColumns(t *testing.T) {
	const n, d = 1000, 32
	rng := rand.New(rand.NewPCG(3, 1))
	x := make([]float64, 0, n*d)
	for i := range n {
		for range d {
			x = append(x, rng.NormFloat64()+3*float64(i%2))
		}
	}
	src := source(t, x, n, d)
	assert.Equal(t, 2, evident(t, mixture.Model{Family: normal.Family{Covariance: normal.EII}}, src, 0).Shape.K)
}

// Every structure: the objective never falls, and its mode is a fixed point of the global step, beyond which it is lower.
func TestEvidenceOfStructures(t *testing.T) {
	src := embedded(t, "iris", 4)
	names, forms := normal.Structures()
	for i, form := range forms {
		t.Run(names[i], func(t *testing.T) {
			m := mixture.Model{Family: normal.Family{Covariance: form}}
			res := evident(t, m, src, 3)
			assert.Less(t, res.Value, res.Evaluation.Bound())
			next, err := m.MaximizePosterior(res.Statistics, res.Parameters, nil)
			require.NoError(t, err)
			for j, v := range res.Parameters.Components {
				assert.InDelta(t, v, next.Components[j], 1e-4*math.Max(1, math.Abs(v)))
			}
		})
	}
}

// Of conjugate families the evidence is the bound of variational Bayes with the same prior, by other code.
func TestEvidenceIsTheBoundOfVariationalBayes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, c := range []struct {
		of    family.Family
		prior prior.Prior
		draw  func(class int) float64
	}{
		{family.Bernoulli{}, prior.Jeffreys{}, func(class int) float64 { return float64((rng.IntN(8)/6 + class) % 2) }},
		{family.Categorical{Levels: 3}, prior.Jeffreys{}, func(class int) float64 { return float64((rng.IntN(8)/6 + 2*class) % 3) }},
		{family.Poisson{}, nil, func(class int) float64 { return float64(rng.IntN(3 + 9*class)) }},
		{family.Exponential{}, nil, func(class int) float64 { return rng.ExpFloat64() * math.Pow(20, float64(class)) }},
	} {
		t.Run(c.of.Name(), func(t *testing.T) {
			const n, d = 60, 4
			x := make([]float64, n*d)
			for i := range x {
				if x[i] = c.draw(i / d % 2); i%17 == 3 {
					x[i] = math.NaN()
				}
			}
			src := source(t, x, n, d)
			res := evident(t, mixture.Model{Family: c.of}, src, 2)
			vb := fit(t, mixture.Variational{Family: c.of, Prior: c.prior}, src, framework.Options{K: 2, Method: framework.EM, Restarts: 10, Seed: 1})
			assert.InDelta(t, vb.Value, res.Value, 1e-5)
		})
	}
}

// The order of rows and of columns, and units, change nothing but ln |det A|.
func TestEvidenceIsInvariant(t *testing.T) {
	src := embedded(t, "iris", 4)
	n, x := src.Rows(), src.All().X
	moved, logDet := make([]float64, len(x)), 0.0
	scale := []float64{1e-6, 30, 1, 1e8}
	for _, s := range scale {
		logDet += math.Log(s)
	}
	for i := range n {
		for j := range 4 {
			to := (j + 1) % 4
			moved[(n-1-i)*4+to] = scale[to]*x[i*4+j] + 3*scale[to]
		}
	}
	for _, form := range []normal.Covariance{normal.VVV, normal.EEE, normal.VEE, normal.EVV, normal.VVI, normal.EEI, normal.VEI, normal.EVI} {
		m := mixture.Model{Family: normal.Family{Covariance: form, Floor: family.NoFloor}}
		of := evident(t, m, src, 2)
		there := evident(t, m, source(t, moved, n, 4), 2)
		assert.InEpsilon(t, of.Value, there.Value+float64(n)*logDet, 1e-9, fmt.Sprint(form))
	}
}

// Covariances with axes of their own, or one variance, know no other columns than turned ones in one unit: rotations
// change nothing, a unit ln |det A|.
func TestEvidenceIsInvariantUnderRotations(t *testing.T) {
	src := embedded(t, "iris", 4)
	n, x := src.Rows(), src.All().X
	var qr mat.QR
	rng := rand.New(rand.NewPCG(13, 1))
	qr.Factorize(mat.NewDense(4, 4, func() (g []float64) {
		for range 16 {
			g = append(g, rng.NormFloat64())
		}
		return g
	}()))
	var q, turned mat.Dense
	qr.QTo(&q)
	const unit = 25.4
	q.Scale(unit, &q)
	turned.Mul(mat.NewDense(n, 4, x), &q)
	for _, form := range []normal.Covariance{normal.EII, normal.VII, normal.EEV, normal.VEV, normal.EVE, normal.VVE} {
		m := mixture.Model{Family: normal.Family{Covariance: form, Floor: family.NoFloor}}
		of := evident(t, m, src, 2)
		there := evident(t, m, source(t, turned.RawMatrix().Data, n, 4), 2)
		assert.InEpsilon(t, of.Value, there.Value+4*float64(n)*math.Log(unit), 1e-9, fmt.Sprint(form))
	}
}

// A component without rows has the prior's mode, and lowers the evidence by what its weight costs, ln((N + K − 1)/(K − 1)),
// however tight the others are.
func TestEvidenceOfAnEmptyComponent(t *testing.T) {
	const n, d = 50, 2
	rng, x := rand.New(rand.NewPCG(7, 1)), make([]float64, n*d)
	for i := range x {
		x[i] = float64(rng.IntN(9))
	}
	tight := slices.Clone(x) // 20 rows lie far out
	for i := range tight[:20*d] {
		tight[i] += 300
	}
	for _, c := range []struct {
		of family.Family
		x  []float64
		k  int
	}{
		{family.Poisson{}, x, 1}, {normal.Family{Covariance: normal.VEV}, x, 1},
		{normal.Family{}, tight, 2}, {normal.Family{Covariance: normal.EII}, tight, 2}, {normal.Lognormal{}, positive(tight), 2}, {family.Gamma{}, positive(tight), 2},
	} {
		src, m := source(t, c.x, n, d), mixture.Model{Family: c.of}
		full := evident(t, m, src, c.k)
		of := full.Parameters
		each := len(of.Components) / c.k
		far := slices.Clone(of.Components[:each])
		far[0], far[1] = 1e6, 1e6 // means, or shape and rate
		p := &mixture.Parameters{K: c.k + 1, D: d, Weights: append(slices.Clone(of.Weights), 1e-300), Components: append(slices.Clone(of.Components), far...), Pooled: of.Pooled}
		s := m.NewStatistics(p)
		require.NoError(t, m.Prepare(p, nil, s))
		entropy, err := m.Infer(src.All(), p, s)
		require.NoError(t, err)
		require.Zero(t, s.Nk[c.k], c.of.Name())
		for range 50 {
			p, err = m.MaximizePosterior(s, p, nil)
			require.NoError(t, err)
		}
		assert.InDelta(t, of.Pooled.Parameters[0], p.Components[c.k*each], 1e-9*math.Abs(of.Pooled.Parameters[0]), c.of.Name())
		var f laplace.Curvature
		f.ResetPrior(n)
		require.NoError(t, m.Curvature(s, p, &f))
		followed, information := f.Integral()
		rest := full.Value - math.Log(float64(n+c.k)/float64(c.k))
		assert.InDelta(t, rest, m.LogJoint(s, p)+entropy+followed+information, 1e-5, c.of.Name())
	}
}

func positive(x []float64) []float64 {
	y := slices.Clone(x)
	for i := range y {
		y[i]++
	}
	return y
}

// At one q the evidence and the collapsed evidence, to first order, are one number: ln ∫ p(Π) exp E_q[ln p(X,Z|Π)] dΠ + H(q). What is reported
// as collapsed has the second order besides, and is no bound.
func TestEvidenceIsTheCollapsedEvidenceToFirstOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	const n, d = 200, 6
	x := make([]float64, n*d)
	for i := range x {
		if class := i / d % 2; rng.Float64() < 0.2+0.6*float64(class) {
			x[i] = 1
		}
	}
	src, m := source(t, x, n, d), mixture.Model{Family: family.Bernoulli{}}
	of := mixture.MAP{Model: m, Prior: prior.Jeffreys{}, Weights: prior.Dirichlet{Alpha: 1}}
	for k := 1; k <= 3; k++ {
		res := evident(t, m, src, k)
		first, err := of.LogEvidence(res.Statistics, res.Parameters)
		require.NoError(t, err)
		assert.InDelta(t, res.Value, first+res.Evaluation.Entropy, 1e-9*n)
		second, err := framework.CollapsedEvidence(context.Background(), of, src, res.Parameters, 1)
		require.NoError(t, err)
		assert.InDelta(t, []float64{0, 0.93, 2.59}[k-1], second-res.Value, 0.1, "K = %d", k)
	}
}

// Of no more rows than columns the covariance matrix is singular, and the prior is about the variances alone: the value
// of one class is that of quadrature over its matrix logarithm, and full covariances have no bonus over the true ones.
func TestEvidenceOfNoMoreRowsThanColumns(t *testing.T) {
	x := []float64{1.01234567, 10.7712345, 3.0234891, 50.3198237}
	value := evident(t, mixture.Model{Family: normal.Family{}}, source(t, x, 2, 2), 1).Value
	nodes, weights := make([]float64, 20), make([]float64, 20)
	quad.Hermite{}.FixedLocations(nodes, weights, math.Inf(-1), math.Inf(1))
	worth := prior.UnitInformation{}.CovarianceOr(2)
	rows := mat.NewDense(2, 2, []float64{2, 2, 2, 2}) // of standardised columns
	var covariance mat.SymDense
	var terms []float64
	for i, a := range nodes {
		for j, b := range nodes {
			for l, c := range nodes {
				root := mat.NewDense(2, 2, nil)
				root.Exp(mat.NewDense(2, 2, []float64{
					a / math.Sqrt(worth), c / math.Sqrt(2*worth), c / math.Sqrt(2*worth), b / math.Sqrt(worth),
				})) // half of X, whose entries have variances 2/ν and 1/ν
				covariance.SymOuterK(1, root)
				terms = append(terms, evidencetest.MeanOut(2, rows, &covariance)+
					math.Log(weights[i]*weights[j]*weights[l]/math.Pow(math.Pi, 1.5)))
			}
		}
	}
	exact := floats.LogSumExp(terms) - 2*math.Log((x[2]-x[0])/2*(x[3]-x[1])/2)
	t.Logf("E − ln p(X) = %.4f", value-exact)
	assert.Less(t, value, exact+0.01)
	assert.Greater(t, value, exact-0.5)

	const d = 30
	last := 0.0
	for _, n := range []int{10, 25} {
		rng, x := rand.New(rand.NewPCG(1, 2)), make([]float64, n*d)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		src := source(t, x, n, d)
		sphere := evident(t, mixture.Model{Family: normal.Family{Covariance: normal.EII}}, src, 1).Value
		for _, of := range []family.Family{normal.Family{}, normal.StudentT{}} {
			full := evident(t, mixture.Model{Family: of}, src, 1).Value
			assert.Less(t, full, sphere, "%d rows, %s", n, of.Name())
			if of.Name() == "gaussian" {
				assert.Less(t, full, last, "%d rows", n)
				last = full
			}
		}
	}
}
