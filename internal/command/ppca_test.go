package command

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/data"
)

// TestMaximumLikelihoodOfPPCA against the eigenvalues of the covariance matrix (Tipping & Bishop 1999, eqs. 7 and 8): BIC of every K.
func TestMaximumLikelihoodOfPPCA(t *testing.T) {
	table, err := data.Load("iris")
	require.NoError(t, err)
	table, err = table.Drop("Species")
	require.NoError(t, err)
	x, n, d, err := table.Matrix()
	require.NoError(t, err)
	var covariance mat.SymDense
	stat.CovarianceMatrix(&covariance, mat.NewDense(n, d, x), nil)
	covariance.ScaleSym(float64(n-1)/float64(n), &covariance)
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(&covariance, false))
	values := eigen.Values(nil) // ascending
	path, best := filepath.Join(t.TempDir(), "m.json"), math.Inf(-1)
	for k := 1; k < d; k++ {
		noise, logs := 0.0, 0.0
		for i, v := range values {
			if i < d-k {
				noise += v / float64(d-k)
			} else {
				logs += math.Log(v)
			}
		}
		loglik := -float64(n) / 2 * (logs + float64(d-k)*math.Log(noise) + float64(d)*(1+math.Log(2*math.Pi)))
		df := float64(d*k - k*(k-1)/2 + 1 + d)
		bic := loglik - df/2*math.Log(float64(n))
		for method, tolerance := range map[string]float64{methodClosedForm: 1e-12, methodEM: 1e-7} {
			stdout, _ := done(t, "fit", "--model", "ppca", "--data", "iris", "--method", method, "--k", string(rune('0'+k)), "--format", "json", "--out", path)
			fit := decode(t, stdout)
			require.InEpsilon(t, loglik, fit["loglik"], tolerance)
			require.InEpsilon(t, bic, fit["value"], tolerance)
			require.Equal(t, df, fit["df"])
		}
		best = math.Max(best, bic)
	}
	stdout, _ := done(t, "fit", "--model", "ppca", "--data", "iris", "--format", "json", "--out", path)
	require.InEpsilon(t, best, decode(t, stdout)["value"], 1e-12)
	rows, _ := done(t, "predict", path, "--data", "iris", "--format", "json")
	require.Len(t, decode(t, rows)["log_likelihood"], n)
	fails(t, 2, "cannot be used with --model ppca", "", "fit", "--model", "ppca", "--method", "gfab")
	fails(t, 2, "--prior cannot be used with --model ppca, which has no prior", "", "fit", "--model", "ppca", "--prior", "alpha=1")
	fails(t, 2, "--criterion gfic cannot be used", "", "fit", "--model", "ppca", "--criterion", "gfic")
}
