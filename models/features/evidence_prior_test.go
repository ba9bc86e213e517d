package features

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/evidencetest"
	"github.com/latent-go/latent/prior"
)

// The bound under a prior of five rows is below annealing under the same, and never falls; others are refused.
func TestEvidenceUnderAnotherPrior(t *testing.T) {
	const n, d, rows = 20, 2, 5
	rng := rand.New(rand.NewPCG(7, 1))
	x := mat.NewDense(n, d, nil)
	for j := range d {
		c := make([]float64, n)
		for i := range c {
			c[i] = rng.NormFloat64() + 4*float64(i%3/2)
		}
		floats.AddConst(-floats.Sum(c)/n, c)
		floats.Scale(math.Sqrt(n)/floats.Norm(c, 2), c)
		x.SetCol(j, c)
	}
	m := Model{Prior: prior.UnitInformation{Rows: rows}}
	res := fit(t, m, table(t, x), framework.Options{K: 1, FixedK: true, Criterion: framework.Evidence, Restarts: 5})
	e, err := evidence.AIS(t.Context(), evidencetest.Sharper(exact(x), rows, 1, 0), evidence.AISOptions{Temperatures: 500, Chains: 24, Seed: 2})
	require.NoError(t, err)
	t.Logf("%.3f, annealed %.3f ± %.3f", res.Value, e.LogEvidence, e.StandardError)
	assert.Less(t, res.Value, e.LogEvidence+4*e.StandardError)
	assert.Greater(t, res.Value+math.Ln2, e.LogEvidence-5)
	assert.Zero(t, res.Fall)
	for _, p := range evidencetest.Improper {
		_, err := framework.Fit(t.Context(), Model{Prior: p}, table(t, x), framework.Options{K: 1, Criterion: framework.Evidence})
		assert.ErrorContains(t, err, "prior: ")
	}
}
