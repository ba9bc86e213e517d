package normal_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
)

// crabs are the measurements and the class of each row, as a code.
func crabs(t testing.TB) (table *blocks.Table, x []float64, class []int) {
	all, err := data.Load("crabs")
	require.NoError(t, err)
	for _, code := range all.Codes("class") {
		class = append(class, int(code))
	}
	numbers, err := all.Drop("class")
	require.NoError(t, err)
	x, n, d, err := numbers.Matrix()
	require.NoError(t, err)
	table, err = blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	return table, x, class
}

// estimated makes the global step of a covariance from given responsibilities, rows×K, and returns Σ r_nk ln p(x_n|ξ_k), the
// classes, their parameters and the plan.
func estimated(t testing.TB, form normal.Covariance, table *blocks.Table, r []float64, k int) (float64, *family.Classes, []float64, *family.Plan) {
	pooled, plan, err := family.Pool(context.Background(), table, normal.Family{Covariance: form})
	require.NoError(t, err)
	c, params := plan.Classes(k), []float64{}
	for range k {
		params = append(params, pooled.Parameters...)
	}
	require.NoError(t, c.Prepare(params, nil, nil, make([]float64, k)))
	require.NoError(t, c.Chunks(table.All(), func(first, n int, w []float64) error {
		q := make([]float64, k*family.Padded(n))
		for i := range n {
			for j := range k {
				q[j*family.Padded(n)+i] = r[(first+i)*k+j]
			}
		}
		c.Add(n, w, q)
		return nil
	}))
	require.NoError(t, c.Estimate(params))
	return c.LogJoint(params), c, params, plan
}

// smoothed gives every row 0.925 of its class and 0.025 of each other of four.
func smoothed(class []int) []float64 {
	var r []float64
	for _, c := range class {
		row := []float64{0.025, 0.025, 0.025, 0.025}
		row[c] += 0.9
		r = append(r, row...)
	}
	return r
}

// TestStructuresHaveTheMaximaOfMclust: the global step of every structure at fixed responsibilities, on the crabs, with
// the log-likelihood and the number of parameters of mclust 6.0.0 (mstep, cdens and nMclustParams, tolerances 1e-14). Of VVE
// mclust's majorisation ends 0.144 nats lower, at −1228.859210009.
func TestStructuresHaveTheMaximaOfMclust(t *testing.T) {
	want := []struct {
		logLik float64
		free   int
	}{{-3038.723069397, 24}, {-3031.036944990, 27}, {-2830.140857748, 28}, {-2826.487436014, 31}, {-2826.598895231, 40}, {-2822.933669320, 43}, {-1247.743581736, 38},
		{-1245.079471364, 41}, {-1231.533296639, 50}, {-1228.715653188, 53}, {-1194.567777931, 68}, {-1192.121328881, 71}, {-1188.029622449, 80}, {-1185.741341071, 83}}
	table, _, class := crabs(t)
	names, forms := normal.Structures()
	for i, form := range forms {
		got, _, _, plan := estimated(t, form, table, smoothed(class), 4)
		size := plan.Size()
		t.Logf("%s: %.9f, mclust %.9f", names[i], got, want[i].logLik)
		require.InDelta(t, want[i].logLik, got, 1e-6, names[i])
		require.Equal(t, want[i].free, 3+4*size.Free+size.Shared, names[i])
	}
}

// TestStructuresInformation: the unit information is the Hessian of the expected −ln p in the documented coordinates: of
// the mean in units of the table; of Σ = EΛEᵀ, a volume, or the variances of VVE, in units of the table's volume, and X in
// EΛ^½ exp(X) Λ^½Eᵀ, with a diagonal of sum 0 where the shape varies, and the rest where the orientation does.
func TestStructuresInformation(t *testing.T) {
	table, _, class := crabs(t)
	names, forms := normal.Structures()
	for i, form := range forms {
		switch form {
		case normal.Full, normal.Tied, normal.Diagonal, normal.Spherical:
			continue
		}
		t.Run(names[i], func(t *testing.T) {
			_, _, params, plan := estimated(t, form, table, smoothed(class), 4)
			factors, err := normal.Family{Covariance: form}.On(5)
			require.NoError(t, err)
			pooled, _, err := family.Pool(context.Background(), table, normal.Family{Covariance: form})
			require.NoError(t, err)
			xi := params[:plan.Size().Params]
			got := factors[0].(family.SumFactor).Information(xi, pooled, nil)[0]
			require.Equal(t, plan.Size().Free, got.SymmetricDim())
			mean, cov, all := xi[:5], symmetric(xi[5:]), symmetric(pooled.Parameters[5:])
			loss := func(step []float64) float64 { return expectedLoss(names[i], mean, cov, all, step) }
			n, h := got.SymmetricDim(), 1e-3
			step := make([]float64, n)
			at := func(a, b int, x, y float64) float64 {
				clear(step)
				step[a] += x / math.Sqrt(got.At(a, a))
				step[b] += y / math.Sqrt(got.At(b, b))
				return loss(step)
			}
			for a := range n {
				for b := range a + 1 {
					second := (at(a, b, h, h) - at(a, b, h, -h) - at(a, b, -h, h) + at(a, b, -h, -h)) / (4 * h * h)
					require.InDelta(t, got.At(a, b)/math.Sqrt(got.At(a, a)*got.At(b, b)), second, 1e-4, "(%d, %d)", a, b)
				}
			}
			var chol mat.Cholesky
			require.True(t, chol.Factorize(got))
			require.InDelta(t, chol.LogDet(), got.LogDet(), 1e-8)
		})
	}
}

// symmetric is a covariance, or the diagonal one of variances.
func symmetric(v []float64) *mat.SymDense {
	if len(v) == 25 {
		return mat.NewSymDense(5, v)
	}
	s := mat.NewSymDense(5, nil)
	for j, x := range v {
		s.SetSym(j, j, x)
	}
	return s
}

// expectedLoss is −E[ln p(x|ξ')] under ξ, up to a constant, for a step from ξ.
func expectedLoss(form string, mean []float64, cov, all *mat.SymDense, step []float64) float64 {
	const d = 5
	var table mat.Cholesky
	table.Factorize(all)
	var root mat.TriDense
	table.UTo(&root)
	unit := math.Exp(table.LogDet() / d)
	shift := mat.NewVecDense(d, nil)
	shift.MulVec(root.T(), mat.NewVecDense(d, step[:d]))
	step = step[d:]

	var eigen mat.EigenSym
	eigen.Factorize(cov, true)
	values, vectors := eigen.Values(nil), new(mat.Dense)
	eigen.VectorsTo(vectors)
	if form[2] == 'I' {
		for j := range values {
			values[j] = cov.At(j, j)
		}
		vectors = mat.NewDense(d, d, nil)
		vectors.Copy(mat.NewDiagDense(d, []float64{1, 1, 1, 1, 1}))
	}
	x := mat.NewSymDense(d, nil)
	switch {
	case form == "VVE":
		for j := range values { // the longest axis first
			values[d-1-j] += unit * step[j]
		}
		step = step[d:]
	case form[0] == 'V':
		volume := math.Exp(floats.Sum(mapped(math.Log, values)) / d)
		floats.Scale(1+unit*step[0]/volume, values)
		step = step[1:]
	}
	if form[1] == 'V' && form != "VVE" {
		for j := range d - 1 { // Helmert contrasts
			scale := step[j] / math.Sqrt(float64((j+1)*(j+2)))
			for i := range j + 1 {
				x.SetSym(i, i, x.At(i, i)+scale)
			}
			x.SetSym(j+1, j+1, x.At(j+1, j+1)-float64(j+1)*scale)
		}
		step = step[d-1:]
	}
	if form[2] == 'V' {
		for i, at := 0, 0; i < d; i++ {
			for j := i + 1; j < d; j++ {
				x.SetSym(i, j, step[at])
				at++
			}
		}
	}
	var exp, moved mat.Dense
	exp.Exp(x)
	half := mat.NewDiagDense(d, mapped(math.Sqrt, values))
	moved.Product(vectors, half, &exp, half, vectors.T())
	to := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			to.SetSym(i, j, (moved.At(i, j)+moved.At(j, i))/2)
		}
	}
	var chol mat.Cholesky
	chol.Factorize(to)
	var solved mat.Dense
	_ = chol.SolveTo(&solved, cov)
	return (chol.LogDet() + mat.Trace(&solved) + math.Pow(stat.Mahalanobis(shift, mat.NewVecDense(d, nil), &chol), 2)) / 2
}

func mapped(f func(float64) float64, v []float64) []float64 {
	to := make([]float64, len(v))
	for i, x := range v {
		to[i] = f(x)
	}
	return to
}
