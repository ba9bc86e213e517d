package bpca_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/evidencetest"
	"github.com/latent-go/latent/models/bpca"
)

// The evidence under a prior of five rows is that of annealing under the same; others are refused.
func TestEvidenceUnderAnotherPrior(t *testing.T) {
	const n, d, rows = 40, 4, 5
	x := weak(n, d, 1, 1, 5)
	m := moments(t, table(t, x, d))
	c := mat.NewSymDense(d, slices.Clone(m.Scatter))
	c.ScaleSym(1/m.N, c)
	sol := solve(t, m)
	sol.Prior.Rows = rows
	model := bpca.Compressed{Model: bpca.Model{Prior: sol.Prior}}
	for k := range 2 {
		e, err := sol.Value(k, framework.Evidence)
		require.NoError(t, err)
		of := evidencetest.Sharper(axes(c, m.N, k), rows, 0, d/2.*(math.Log1p(n)-math.Log1p(n/rows)))
		exact, err := evidence.AIS(background, of, evidence.AISOptions{Temperatures: 200, Seed: 3})
		require.NoError(t, err)
		t.Logf("K = %d: %.3f, annealed %.3f ± %.3f", k, e, exact.LogEvidence, exact.StandardError)
		assert.InDelta(t, exact.LogEvidence, e, 1+4*exact.StandardError)
		assert.Less(t, e, exact.LogEvidence+4*exact.StandardError+0.1)
		if k > 0 {
			res, err := framework.Fit(background, model, m.Source(), framework.Options{K: k, FixedK: true, Criterion: framework.Evidence, Tolerance: 1e-12})
			require.NoError(t, err)
			assert.InDelta(t, e, res.Value, 1e-4)
		}
	}
	for _, p := range evidencetest.Improper {
		_, err := framework.Fit(background, bpca.Model{Prior: p}, table(t, x, d), framework.Options{K: 1, Criterion: framework.Evidence})
		assert.ErrorContains(t, err, "prior: ")
	}
}
