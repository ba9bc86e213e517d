package factor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/evidencetest"
	"github.com/latent-go/latent/models/factor"
)

var pairsOfColumns = factor.Structure{Blocks: [][]int{{0, 2}, {1, 3}}}

// blocked is a model of 0 or 1 factors of two blocks of two columns under the prior of the evidence, for annealing: X, the logarithm of the
// noise, of each block, and loadings, in coordinates in which the covariance of each block is I. Means are integrated out.
func blocked(x []float64, k int) *evidence.Metropolis {
	const d = 4
	n := len(x) / d
	all := mat.NewSymDense(d, nil)
	means := make([]float64, d)
	for i, v := range x {
		means[i%d] += v / float64(n)
	}
	for i := range n {
		row := make([]float64, d)
		for j := range row {
			row[j] = x[i*d+j] - means[j]
		}
		all.SymRankOne(all, 1, mat.NewVecDense(d, row))
	}
	unit, jacobian := mat.NewDense(d, d, nil), 0.0 // of blocks in their order, whitened
	for _, block := range pairsOfColumns.Blocks {
		cov := mat.NewSymDense(2, nil)
		for a, i := range block {
			for b, j := range block {
				cov.SetSym(a, b, all.At(i, j)/float64(n))
			}
		}
		var chol mat.Cholesky
		chol.Factorize(cov)
		var lower mat.TriDense
		chol.LTo(&lower)
		var inverse mat.Dense
		_ = inverse.Inverse(&lower)
		for a, i := range block {
			for b, j := range block {
				unit.Set(i, j, inverse.At(a, b))
			}
		}
		jacobian -= float64(n) / 2 * chol.LogDet()
	}
	var half, whole mat.Dense
	half.Mul(unit, all)
	whole.Mul(&half, unit.T())
	nu := math.Sqrt2 // rows that the prior of a block's noise is worth
	deviation := func(i int) float64 {
		switch {
		case i >= 6:
			return 1
		case i%3 == 2: // off the diagonal
			return 1 / math.Sqrt(nu)
		}
		return math.Sqrt(2 / nu)
	}
	deviations := make([]float64, 6+k*d)
	for i := range deviations {
		deviations[i] = deviation(i)
	}
	return evidencetest.Normal(deviations, func(theta []float64) float64 {
		cov := mat.NewSymDense(d, nil)
		if k == 1 {
			cov.SymRankOne(cov, 1, mat.NewVecDense(d, theta[6:]))
		}
		for b, block := range pairsOfColumns.Blocks {
			var eigen mat.EigenSym
			var vectors mat.Dense
			eigen.Factorize(mat.NewSymDense(2, []float64{theta[3*b], theta[3*b+2], theta[3*b+2], theta[3*b+1]}), true)
			eigen.VectorsTo(&vectors)
			for v, value := range eigen.Values(nil) {
				for a, i := range block {
					for c, j := range block[a:] {
						cov.SetSym(i, j, cov.At(i, j)+math.Exp(value)*vectors.At(a, v)*vectors.At(a+c, v))
					}
				}
			}
		}
		return jacobian + evidencetest.MeanOut(float64(n), &whole, cov)
	})
}

// Beside annealed importance sampling of the same prior.
func TestEvidenceOfBlocksAgainstAnnealing(t *testing.T) {
	for _, one := range []struct {
		n, k int
		s    float64
	}{{20, 0, 0}, {30, 1, 1.5}, {30, 1, 0}} {
		x := drawn(one.n, 4, 1, one.s, 9)
		e := evidences(t, moments(t, rows(t, x, 4)), pairsOfColumns, one.k)[one.k]
		exact, err := evidence.AIS(background, blocked(x, one.k), evidence.AISOptions{Temperatures: 200, Chains: 32, Seed: 3})
		require.NoError(t, err)
		t.Logf("%+v: %.3f, annealed %.3f ± %.3f", one, e, exact.LogEvidence, exact.StandardError)
		assert.Less(t, e, exact.LogEvidence+4*exact.StandardError+0.1)
		assert.Greater(t, e, exact.LogEvidence-8) // the bound of q charges for what complete data would tell
	}
}

// Affine maps of each block change nothing but the Jacobian; K = 1 is found; fits have the value of the closed form, and never fall.
func TestEvidenceOfBlocks(t *testing.T) {
	const n, d = 200, 6
	st := factor.Structure{Blocks: [][]int{{0, 1, 2}, {3, 4, 5}}}
	x := drawn(n, d, 1, 1, 4)
	y := make([]float64, len(x))
	for i := 0; i < len(x); i += d {
		copy(y[i:], []float64{3*x[i] + x[i+1], 5 * x[i+1], x[i+2] - x[i], 1e3 * x[i+3], x[i+4] + 7, 2 * x[i+5]})
	}
	a, b := evidences(t, moments(t, rows(t, x, d)), st, 2), evidences(t, moments(t, rows(t, y, d)), st, 2)
	for k, v := range a {
		assert.InDelta(t, v-n*math.Log(3*5*1e3*2), b[k], 1e-6)
	}
	assert.Greater(t, a[1], a[0])
	assert.Greater(t, a[1], a[2])
	for _, o := range []framework.Options{{Criterion: framework.Evidence}, {Criterion: framework.GFIC, Also: []framework.Criterion{framework.Evidence}}} {
		o.K, o.FixedK, o.Tolerance = 1, true, 1e-12
		res, err := framework.Fit(background, factor.Compressed{Model: factor.Model{Structure: st}}, moments(t, rows(t, x, d)).Source(), o)
		require.NoError(t, err)
		assert.InDelta(t, a[1], res.Scores[len(res.Scores)-1].Value, 1e-4)
		assert.Zero(t, res.Fall)
	}
	gaps, err := framework.Fit(background, factor.Model{Structure: st}, rows(t, pierced(mat.NewDense(n, d, x), 0.2, st.Blocks, 3).RawMatrix().Data, d),
		framework.Options{K: 1, FixedK: true, Criterion: framework.Evidence})
	require.NoError(t, err)
	assert.Zero(t, gaps.Fall)
	assert.Greater(t, gaps.Value, a[1])
}
