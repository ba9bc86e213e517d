package factor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/models/mixture"
)

// of is the evidence of a model with k latent dimensions.
func of[B, P any, S framework.Statistics[S]](t *testing.T, m framework.Model[B, P, S], src framework.Source[B],
	k int) float64 {
	t.Helper()
	o := framework.Options{K: k, FixedK: true, Criterion: framework.Evidence, Tolerance: 1e-13, Restarts: 3, Workers: 1}
	res, err := framework.Fit(t.Context(), m, src, o)
	require.NoError(t, err)
	return res.Value
}

// What is the same model has the same evidence, whatever says it: one class in any structure of its form, one state, one class
// behind a gate, no factors. So values of different models compare.
func TestEvidenceHasOneScale(t *testing.T) {
	x := drawn(60, 3, 1, 1, 7)
	src := rows(t, x, 3)
	steps, err := blocks.NewSequences(src, []int{60})
	require.NoError(t, err)
	gaussian := func(form normal.Covariance) mixture.Model {
		return mixture.Model{Family: normal.Family{Covariance: form}}
	}
	same := func(want float64, form ...normal.Covariance) {
		for _, one := range form {
			m := gaussian(one)
			assert.InDelta(t, want, of(t, m, src, 1), 1e-8, "%v", one)
			assert.InDelta(t, want, of(t, hmm.Model{Family: m.Family}, steps, 1), 1e-8, "one state, %v", one)
			assert.InDelta(t, want, of(t, experts.Model{Family: m.Family, Gate: []int{2}, Columns: []int{0, 1, 2}}, src, 1), 1e-8, "gate, %v", one)
		}
	}
	full := of(t, gaussian(normal.VVV), src, 1)
	same(full, normal.EEE, normal.VEV, normal.EVE, normal.EVV)
	diagonal := of(t, gaussian(normal.VVI), src, 1)
	same(diagonal, normal.EEI, normal.VEI)
	spherical := of(t, gaussian(normal.VII), src, 1)
	same(spherical, normal.EII)
	m := moments(t, src)
	assert.InDelta(t, diagonal, evidences(t, m, factor.Structure{}, 0)[0], 1e-8)
	assert.InDelta(t, spherical, evidences(t, m, factor.Structure{Isotropic: true}, 0)[0], 1e-8)

	// An intercept alone is integrated in another way, and of counts has a normal prior in place of gamma's, of the same worth.
	column, counts := x[:20], make([]float64, 20)
	for i := range counts {
		counts[i] = math.Floor(math.Exp(x[i] + 1))
	}
	assert.InDelta(t, of(t, mixture.Model{Family: normal.Family{}}, rows(t, column, 1), 1),
		of(t, mixture.Model{Family: regress.Family{}}, rows(t, column, 1), 1), 0.02)
	assert.InDelta(t, of(t, mixture.Model{Family: family.Poisson{}}, rows(t, counts, 1), 1),
		of(t, mixture.Model{Family: regress.Family{Response: regress.Counts}}, rows(t, counts, 1), 1), 0.1)
}
