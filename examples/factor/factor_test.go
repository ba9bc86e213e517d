package factor

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
)

type result = framework.Result[*numeric.ContinuousParameters, *numeric.Posteriors]

func fit(d numeric.JointDensity, src *blocks.Table, o framework.Options) *result {
	res, err := framework.Fit(context.Background(), numeric.Continuous{Density: d}, src, o)
	if err != nil {
		panic(err)
	}
	return res
}

func marks() *blocks.Table {
	t, err := Marks()
	if err != nil {
		panic(err)
	}
	return t
}

// scaled has the columns of the marks multiplied.
func scaled(by ...float64) *blocks.Table {
	all := marks().All()
	var x []float64
	for i := range all.N {
		for j, v := range all.Row(i) {
			x = append(x, by[j]*v)
		}
	}
	t, err := blocks.FromSlice(x, all.N, all.D)
	if err == nil {
		t, err = t.WithWeights(all.Weights)
	}
	if err != nil {
		panic(err)
	}
	return t
}

func TestTableHasThePublishedCorrelations(t *testing.T) {
	all := marks().All()
	cov, n := mat.NewSymDense(all.D, nil), 0.0
	for i := range all.N {
		cov.SymRankOne(cov, all.Weight(i)/Pupils, mat.NewVecDense(all.D, all.Row(i)))
		n += all.Weight(i)
	}
	assert.InDelta(t, Pupils, n, 1e-9)
	assert.True(t, mat.EqualApprox(mat.NewSymDense(all.D, correlations[:]), cov, 1e-12))
}

// Lawley and Maxwell (1971) print the communalities 1 − ψ of two factors, maximum likelihood.
func TestCommunalitiesOfTheBook(t *testing.T) {
	for _, d := range []numeric.JointDensity{Density{}, Closed{}} {
		p := fit(d, marks(), framework.Options{K: 2, Method: framework.EM}).Parameters
		for j, want := range []float64{0.490, 0.406, 0.356, 0.623, 0.569, 0.372} {
			assert.InDelta(t, want, 1-p.Shared[j], 6e-4, "%T, %s", d, Subjects[j])
		}
	}
}

// The fit is ln p(X) of a Gaussian with the covariance WᵀW + Ψ.
func TestBoundIsTheLikelihood(t *testing.T) {
	m, src := numeric.Continuous{Density: Density{}}, marks()
	res := fit(m.Density, src, framework.Options{K: 2, Method: framework.EM, Tolerance: 1e-12})
	p := res.Parameters
	cov := mat.NewSymDense(6, nil)
	cov.SymOuterK(1, mat.NewDense(2, 6, p.Components).T())
	for j, v := range p.Shared {
		cov.SetSym(j, j, cov.At(j, j)+v)
	}
	var chol mat.Cholesky
	require.True(t, chol.Factorize(cov))
	var ratio mat.Dense
	require.NoError(t, chol.SolveTo(&ratio, mat.NewSymDense(6, correlations[:])))
	want := -Pupils / 2. * (6*math.Log(2*math.Pi) + chol.LogDet() + mat.Trace(&ratio))
	assert.InDelta(t, want, res.Evaluation.Bound(), 1e-6)
	rows, err := m.LogProb(src.All(), p, nil)
	require.NoError(t, err)
	sum := 0.0
	for i, v := range rows {
		sum += src.All().Weight(i) * v
	}
	assert.InDelta(t, want, sum, 1e-6)
}

func TestTwinsAgree(t *testing.T) {
	for _, o := range []framework.Options{{K: 1, Method: framework.EM}, {K: 2, Method: framework.EM}, {K: 1}, {K: 3}} {
		o.Tolerance = 1e-11
		a, b := fit(Density{}, marks(), o), fit(Closed{}, marks(), o)
		t.Logf("%v from %d: K = %d, %s = %.8f, apart %.1e; noise %.4f", o.Method, o.K, a.Shape.K, a.Criterion, a.Value, b.Value-a.Value, a.Parameters.Shared)
		assert.Equal(t, a.Shape, b.Shape)
		assert.InDelta(t, a.Value, b.Value, 1e-6)
		assert.Less(t, max(a.Fall, b.Fall), 1e-8)
	}
}

// The unit of a column means nothing to factor analysis: K stays, and gFIC moves by the Jacobian. To Bayesian PCA it means
// everything: a column in a smaller unit is a factor of its own.
func TestUnitsOfColumns(t *testing.T) {
	by := []float64{1, 10, 1, 1, 0.1, 3}
	shift := 0.0
	for _, s := range by {
		shift -= Pupils * math.Log(s)
	}
	a, b := fit(Closed{}, marks(), framework.Options{K: 3, Tolerance: 1e-11}), fit(Closed{}, scaled(by...), framework.Options{K: 3, Tolerance: 1e-11})
	assert.Equal(t, 2, a.Shape.K)
	assert.Equal(t, 2, b.Shape.K)
	assert.InDelta(t, a.Value+shift, b.Value, 1e-5)

	pca := func(src *blocks.Table) *framework.Result[*bpca.Parameters, *lineargaussian.Statistics] {
		res, err := framework.Fit(context.Background(), bpca.Model{}, src, framework.Options{K: 4})
		require.NoError(t, err)
		return res
	}
	one, other := pca(marks()), pca(scaled(by...))
	t.Logf("gFIC of factor analysis %.2f and %.2f (without the Jacobian), of BPCA %.2f at K = %d and %.2f at K = %d", a.Value, b.Value-shift, one.Value, one.Shape.K, other.Value-shift, other.Shape.K)
	assert.Greater(t, one.Value, a.Value)
	assert.Less(t, other.Value, b.Value-100)
}

// How much of each subject two factors explain.
func Example() {
	table, err := Marks()
	if err != nil {
		panic(err)
	}
	res, err := framework.Fit(context.Background(), numeric.Continuous{Density: Closed{}}, table, framework.Options{K: 3})
	if err != nil {
		panic(err)
	}
	fmt.Printf("K = %d, evidence = %.3f\n", res.Shape.K, res.Value)
	for j, subject := range Subjects {
		fmt.Printf("%-10s %.2f\n", subject, 1-res.Parameters.Shared[j])
	}
	// Output:
	// K = 2, evidence = -1765.467
	// Gaelic     0.48
	// English    0.40
	// History    0.35
	// Arithmetic 0.62
	// Algebra    0.57
	// Geometry   0.37
}

// A Heywood case is refused: a column that repeats another has no noise.
func TestColumnTwice(t *testing.T) {
	all := marks().All()
	var x []float64
	for i := range all.N {
		row := all.Row(i)
		x = append(x, row[0], row[0], row[1], row[2])
	}
	table, err := blocks.FromSlice(x, all.N, 4)
	require.NoError(t, err)
	for _, d := range []numeric.JointDensity{Density{}, Closed{}} {
		_, err = framework.Fit(context.Background(), numeric.Continuous{Density: d}, table, framework.Options{K: 1, Method: framework.EM, MaxIterations: 3000})
		assert.ErrorIs(t, err, framework.ErrDegenerate, "%T", d)
	}
}

func BenchmarkFit(b *testing.B) {
	for _, d := range []numeric.JointDensity{Density{}, Closed{}} {
		b.Run(fmt.Sprintf("%T", d), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fit(d, marks(), framework.Options{K: 2})
			}
		})
	}
}
