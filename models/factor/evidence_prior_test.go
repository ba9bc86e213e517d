package factor_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/evidencetest"
	"github.com/latent-go/latent/models/factor"
)

// The evidence under a prior of two rows is that of annealing under the same; others are refused.
func TestEvidenceUnderAnotherPrior(t *testing.T) {
	const n, d, worth = 30, 4, 2
	x := drawn(n, d, 1, 1.5, 9)
	m := moments(t, rows(t, x, d))
	s := solve(t, m, factor.Structure{}, 1)
	s.Prior.Rows = worth
	values, err := s.Values(framework.Evidence)
	require.NoError(t, err)
	y, jacobian := standard(x, d)
	for k, e := range values {
		of := evidencetest.Sharper(analysis(y, d, k, jacobian), worth, 0, d/2.*(math.Log1p(n)-math.Log1p(n/float64(worth))))
		exact, err := evidence.AIS(background, of, evidence.AISOptions{Temperatures: 200, Chains: 32, Seed: 3})
		require.NoError(t, err)
		t.Logf("K = %d: %.3f, annealed %.3f ± %.3f", k, e, exact.LogEvidence, exact.StandardError)
		assert.InDelta(t, exact.LogEvidence, e, 3+4*exact.StandardError)
		assert.Less(t, e, exact.LogEvidence+4*exact.StandardError+0.1)
	}
	model := factor.Model{Prior: s.Prior}
	res, err := framework.Fit(background, factor.Compressed{Model: model}, m.Source(), framework.Options{K: 1, FixedK: true, Criterion: framework.Evidence, Tolerance: 1e-12})
	require.NoError(t, err)
	assert.InDelta(t, values[1], res.Value, 1e-4)
	gaps := slices.Clone(x)
	gaps[3] = math.NaN()
	with, err := framework.Fit(background, model, rows(t, gaps, d), framework.Options{K: 1, FixedK: true, Criterion: framework.Evidence})
	require.NoError(t, err)
	assert.InDelta(t, values[1], with.Value, 12, "a bound, without one cell")
	for _, p := range evidencetest.Improper {
		_, err := framework.Fit(background, factor.Model{Prior: p}, rows(t, x, d), framework.Options{K: 1, Criterion: framework.Evidence})
		assert.ErrorContains(t, err, "prior: ")
	}
}
