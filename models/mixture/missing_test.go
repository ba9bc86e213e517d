package mixture_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// holed leaves out a share of the numbers, of row 4 all but one, of row 5 all.
func holed(x *mat.Dense, share float64) *mat.Dense {
	rng := rand.New(rand.NewPCG(13, 14))
	y := mat.DenseCopyOf(x)
	y.Apply(func(i, j int, v float64) float64 {
		if rng.Float64() < share || i == 4 && j > 0 || i == 5 {
			return math.NaN()
		}
		return v
	}, y)
	return y
}

func incompleteTable(t testing.TB, x *mat.Dense) *blocks.Table {
	n, d := x.Dims()
	table, err := blocks.FromIncomplete(x.RawMatrix().Data, n, d)
	require.NoError(t, err)
	return table
}

// completable are the covariances that missing values are integrated out of.
func completable() map[string]normal.Covariance {
	return map[string]normal.Covariance{"VVV": normal.Full, "EEE": normal.Tied, "VEE": normal.VEE, "EVE": normal.EVE, "VVE": normal.VVE, "EEV": normal.EEV, "VEV": normal.VEV, "EVV": normal.EVV}
}

// TestMissingValuesOfCovariancesConform: with a fifth of the values missing, in patterns of all kinds.
func TestMissingValuesOfCovariancesConform(t *testing.T) {
	x := holed(overlapping(150), 0.2)
	for name, form := range completable() {
		t.Run(name, func(t *testing.T) {
			if form != normal.Full && name != "VVE" {
				tier.Leave(t, "covariances of their own, which have a prior, and those of common axes")
			}
			c := conforming{family: normal.Family{}, x: x, ks: []int{1, 2}, incomplete: true}
			model := mixture.Model{Family: normal.Family{Covariance: form}}
			lv := c.estimates(model)
			lv.NoAllocations, lv.Free = false, structureFree(name, 3)
			units := []float64{1000, 0.1, 7}
			if name == "EVE" || name == "VVE" || name == "EEV" || name == "VEV" {
				units = []float64{1000, 1000, 1000}
			}
			scaled := lvmtest.Rescaled("other units", x, units)
			for i, v := range x.RawMatrix().Data { // a number that is missing has no unit
				if math.IsNaN(v) {
					scaled.LogDet -= math.Log(units[i%3]) / 150
				}
			}
			lv.Units = []lvmtest.Units[blocks.Rows]{scaled}
			lvmtest.Test(t, lv)
			if form == normal.Full || form == normal.Tied {
				lv.Model = mixture.MAP{Model: model, Weights: prior.Dirichlet{Alpha: 2}}
				t.Run("MAP", func(t *testing.T) { lvmtest.Test(t, lv) })
				vb := bayesian(mixture.Variational{Family: model.Family}, conforming{family: model.Family, x: x, ks: c.ks}, lvmtest.Matrix(x), lv.Units)
				vb.NoAllocations = false
				t.Run("VB", func(t *testing.T) { lvmtest.Test(t, vb) })
			}
		})
	}
}

// TestMissingValuesAreIntegratedOut: a row has the density of the columns that it has, and EM climbs to where the gradient of
// their likelihood is 0.
func TestMissingValuesAreIntegratedOut(t *testing.T) {
	x := holed(overlapping(150), 0.25)
	table := incompleteTable(t, x)
	for name, form := range completable() {
		m := mixture.Model{Family: normal.Family{Covariance: form}}
		res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 2, FixedK: true, Method: framework.EM, Tolerance: 1e-13, MaxIterations: 20000})
		require.NoError(t, err, name)
		require.Zero(t, res.Fall, name)
		logProb, err := m.LogProb(table.All(), res.Parameters, nil)
		require.NoError(t, err)
		chart := structureChart{name, 3, 2}
		covs := chart.covs(res.Parameters.Components)
		for i, got := range logProb {
			var seen []int
			for j := range 3 {
				if v := x.At(i, j); v == v {
					seen = append(seen, j)
				}
			}
			joint := make([]float64, 2)
			for k := range joint {
				joint[k] = math.Log(res.Parameters.Weights[k])
				if len(seen) == 0 {
					continue
				}
				row, mean, cov := []float64{}, []float64{}, mat.NewSymDense(len(seen), nil)
				for a, j := range seen {
					row, mean = append(row, x.At(i, j)), append(mean, res.Parameters.Component(k)[j])
					for b := range a + 1 {
						cov.SetSym(a, b, covs[k].At(j, seen[b]))
					}
				}
				normal, ok := distmv.NewNormal(mean, cov, nil)
				require.True(t, ok)
				joint[k] += normal.LogProb(row)
			}
			require.InDelta(t, floats.LogSumExp(joint), got, 1e-10, "%s, row %d", name, i)
		}
		require.InDelta(t, floats.Sum(logProb), res.Evaluation.LogLikelihood, 1e-8)
		x0, at := structureFree(name, 3)(res.Statistics, res.Parameters)
		grad := make([]float64, len(x0))
		gradient(grad, func(x []float64) float64 {
			p, err := m.LogProb(table.All(), at(x), nil)
			require.NoError(t, err)
			return floats.Sum(p)
		}, x0)
		require.Less(t, floats.Norm(grad, math.Inf(1)), 1e-3, name)
	}
}

// TestMissingValuesDoNotHideClusters: three classes with a third of the values missing, where leaving out rows leaves 30 of 100.
func TestMissingValuesDoNotHideClusters(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	x := mat.NewDense(600, 3, nil)
	for i := range 600 {
		a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		k := float64(i % 3)
		x.SetRow(i, []float64{8*k + a, 8*k*(2-k) + a + 0.5*b, 100 + c - a})
	}
	for _, form := range []normal.Covariance{normal.Full, normal.Tied, normal.EEV} {
		m := mixture.Model{Family: normal.Family{Covariance: form}}
		res, err := framework.Fit(context.Background(), m, incompleteTable(t, holed(x, 0.33)), framework.Options{K: 6, Restarts: 3})
		require.NoError(t, err)
		require.Equal(t, 3, res.Shape.K, form)
		for k := range 3 {
			cov := structureChart{"VVV", 3, 3}.covs(res.Parameters.Components)[k]
			require.InDelta(t, 1, cov.At(0, 1), 0.35, form)  // of a and a + b/2
			require.InDelta(t, -1, cov.At(0, 2), 0.35, form) // of a and c − a
			require.InDelta(t, 100, res.Parameters.Component(k)[2], 0.4)
		}
	}
}

// TestMissingValuesDoNotEndAFit: five components of full covariances in tables with values missing at random,
// whose surplus components shrink until columns of theirs are nearly dependent, and begin far from the table's mean.
func TestMissingValuesDoNotEndAFit(t *testing.T) {
	const d, k = 5, 5
	for _, c := range []struct {
		n     int
		seed  uint64
		share float64
	}{{1000, 1, 0.1}, {4000, 4, 0.05}} {
		rng := rand.New(rand.NewPCG(c.seed, 29))
		means, roots := mat.NewDense(k, d, nil), make([]*mat.TriDense, k)
		means.Apply(func(int, int, float64) float64 { return 5 * rng.NormFloat64() }, means)
		for j := range roots {
			roots[j] = mat.NewTriDense(d, mat.Lower, nil)
			for a := range d {
				for b := range a {
					roots[j].SetTri(a, b, 0.5*rng.NormFloat64())
				}
				roots[j].SetTri(a, a, 0.5+rng.Float64())
			}
		}
		x := mat.NewDense(c.n, d, nil)
		for i := range c.n {
			row, z := x.RowView(i).(*mat.VecDense), mat.NewVecDense(d, nil)
			for a := range d {
				z.SetVec(a, rng.NormFloat64())
			}
			row.MulVec(roots[i%k], z)
			row.AddVec(row, means.RowView(i%k))
		}
		m := mixture.Model{Family: normal.Family{}}
		res, err := framework.Fit(context.Background(), m, incompleteTable(t, holed(x, c.share)), framework.Options{K: 10, Restarts: 3, Seed: c.seed})
		require.NoError(t, err)
		require.Equal(t, k, res.Shape.K)
	}
}
