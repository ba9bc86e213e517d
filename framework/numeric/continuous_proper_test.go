package numeric_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/internal/evidencetest"
	"github.com/latent-go/latent/prior"
)

// The evidence of continuous z is below that by annealed importance sampling under the same prior, with z integrated
// out in closed form, and not far below: complete data would tell more. It never falls.
func TestEvidenceOfContinuousIsBelowTheAnnealedOne(t *testing.T) {
	const n, d = 30, 3
	x := centred(n, d, 4)
	scatter := mat.NewDense(d, d, nil)
	scatter.Mul(mat.NewDense(n, d, x).T(), mat.NewDense(n, d, x))
	for _, c := range []struct {
		k    int
		rows float64
	}{{1, 1}, {2, 1}, {1, 2}} {
		m := numeric.Continuous{Density: ppca{}, Prior: prior.UnitInformation{Rows: c.rows}}
		res, err := framework.Fit(ctx, m, tableOf(t, x, d), framework.Options{K: c.k, FixedK: true, Tolerance: 1e-8})
		require.NoError(t, err)
		require.Equal(t, "evidence", res.Criterion)
		assert.Less(t, res.Fall, 1e-6)
		w := res.Parameters.Pooled
		deviations := make([]float64, c.k*d+1)
		for i := range deviations[:c.k*d] {
			deviations[i] = 1 / math.Sqrt(c.rows)
		}
		deviations[c.k*d] = 1 / math.Sqrt(c.rows*w.Information[0])
		root := mat.NewTriDense(d, mat.Upper, w.Root)
		target := evidencetest.Normal(deviations, func(theta []float64) float64 {
			cov, xi := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
			for k := range c.k {
				if xi.SolveVec(root, mat.NewVecDense(d, theta[k*d:(k+1)*d])) != nil {
					return math.Inf(-1)
				}
				cov.SymRankOne(cov, 1, xi)
			}
			for j := range d {
				cov.SetSym(j, j, cov.At(j, j)+w.Shared[0]*math.Exp(theta[c.k*d]))
			}
			var chol mat.Cholesky
			var solved mat.Dense
			if !chol.Factorize(cov) || chol.SolveTo(&solved, scatter) != nil {
				return math.Inf(-1)
			}
			return -(n*(chol.LogDet()+d*math.Log(2*math.Pi)) + mat.Trace(&solved)) / 2
		})
		exact, err := evidence.AIS(ctx, target, evidence.AISOptions{Temperatures: 200, Chains: 32, Seed: 1})
		require.NoError(t, err)
		off := res.Value - exact.LogEvidence
		t.Logf("K = %d, a prior of %v rows: %.3f, annealed %.3f ± %.3f", c.k, c.rows, res.Value, exact.LogEvidence, exact.StandardError)
		assert.Less(t, off, 4*exact.StandardError+0.1)
		assert.Greater(t, off, -3.)
	}
	one := func(axes bool) float64 {
		res, err := framework.Fit(ctx, numeric.Continuous{Density: ppca{}, Axes: axes}, tableOf(t, x, d),
			framework.Options{K: 1, Tolerance: 1e-9})
		require.NoError(t, err)
		return res.Value
	}
	assert.InDelta(t, one(false), one(true)+math.Ln2, 1e-5, "one dimension cannot mix, and an axis has no sign")
	for _, bad := range evidencetest.Improper {
		_, err := framework.Fit(ctx, numeric.Continuous{Density: ppca{}, Prior: bad}, tableOf(t, x, d),
			framework.Options{K: 1, Criterion: framework.Evidence})
		assert.ErrorContains(t, err, "prior", "%v", bad)
	}
}
