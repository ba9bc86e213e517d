package bernmix_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bernmix"
	"github.com/latent-go/latent/models/mixture"
)

func codes(x []float64) []int {
	list := make([]int, len(x))
	for i, v := range x {
		list[i] = int(v)
	}
	return list
}

// TestExactEvidenceOfTwoBits: K = 2, M = 2. Variational Bayes bounds the evidence from below;
// gFIC at the exact posterior over Z stays within a constant of it; at the fitted mean-field
// q it does not, because five parameters meet three degrees of freedom.
func TestExactEvidenceOfTwoBits(t *testing.T) {
	weights, probabilities := []float64{0.5, 0.5}, []float64{0.9, 0.8, 0.2, 0.1}
	x := draw(300, weights, probabilities, 6)
	var exactGap, fittedGap []float64
	for _, n := range []int{10, 30, 100, 300} {
		src := rows(t, x[:2*n], 2).Distinct()
		exact := evidence.Mixture{K: 2, Levels: []int{2, 2}, Alpha: 1, Beta: 1}
		gfic, logEvidence, err := exact.ExactGFIC(context.Background(), codes(x[:2*n]), nil)
		require.NoError(t, err)

		vb, err := framework.Fit(context.Background(), bernmix.VB(1, 1), src, framework.Options{K: 2, Method: framework.EM, Restarts: 20})
		require.NoError(t, err)
		assert.Less(t, vb.Value, logEvidence, "N = %d: the bound", n)

		fitted, err := framework.Fit(context.Background(), bernmix.EM(), src, framework.Options{K: 2, Method: framework.EM, Criterion: framework.GFIC, Restarts: 20})
		require.NoError(t, err)
		exactGap, fittedGap = append(exactGap, gfic-logEvidence), append(fittedGap, fitted.Value-logEvidence)
		t.Logf("N = %3d: ln p(X) = %.4f, −F̄ − ln p = %.4f, gFIC − ln p = %.4f at the exact q, %.4f at the fitted q", n, logEvidence, vb.Value-logEvidence, gfic-logEvidence, fitted.Value-logEvidence)
	}
	assert.Less(t, math.Abs(exactGap[3]-exactGap[1]), 0.8, "ln N grows by 2.3 meanwhile")
	assert.Greater(t, fittedGap[1]-fittedGap[3], 0.8, "the fitted q loses a multiple of ln N")
}

// TestExactEvidenceOfSeparatedProfiles: two profiles on three bits, which X distinguishes, seven
// parameters for seven degrees of freedom. gFIC at the fitted q stays within a constant of
// the exact evidence while ln N grows.
func TestExactEvidenceOfSeparatedProfiles(t *testing.T) {
	x := draw(160, []float64{0.6, 0.4}, []float64{0.96, 0.04, 0.95, 0.04, 0.96, 0.05}, 8)
	exact := evidence.Mixture{K: 2, Levels: []int{2, 2, 2}, Alpha: 1, Beta: 0.5}
	var gaps, lost []float64
	for _, n := range []int{20, 40, 80, 160} {
		src := rows(t, x[:3*n], 3).Distinct()
		gfic, logEvidence, err := exact.ExactGFIC(context.Background(), codes(x[:3*n]), nil)
		require.NoError(t, err)
		fitted, err := framework.Fit(context.Background(), bernmix.EM(), src, framework.Options{K: 2, Method: framework.EM, Criterion: framework.GFIC, Restarts: 20})
		require.NoError(t, err)
		vb, err := framework.Fit(context.Background(), bernmix.VB(1, 0.5), src, framework.Options{K: 2, Method: framework.EM, Restarts: 10})
		require.NoError(t, err)
		assert.Less(t, vb.Value, logEvidence)
		gaps, lost = append(gaps, fitted.Value-logEvidence), append(lost, gfic-fitted.Value)
		t.Logf("N = %3d: ln p(X) = %.4f, −F̄ − ln p = %.4f, gFIC − ln p = %.4f at the exact q, %.4f at the fitted q", n, logEvidence, vb.Value-logEvidence, gfic-logEvidence, fitted.Value-logEvidence)
	}
	for i := range gaps {
		assert.Less(t, math.Abs(gaps[i]-gaps[0]), 1.5, "7/2 ln N grows by 7.3 meanwhile")
		assert.Less(t, math.Abs(lost[i]-lost[0]), 0.5, "KL(q‖q*) is bounded")
	}
}

// TestAnnealingAgreesWithTheExactEvidence where both can be had, and one component's, whose
// evidence is the ELBO itself.
func TestAnnealingAgreesWithTheExactEvidence(t *testing.T) {
	x := draw(60, []float64{0.5, 0.5}, []float64{0.9, 0.8, 0.2, 0.1}, 9)
	for _, k := range []int{1, 2} {
		exact, err := evidence.Mixture{K: k, Levels: []int{2, 2}, Alpha: 0.7, Beta: 1.5}.LogEvidence(context.Background(), codes(x), nil)
		require.NoError(t, err)
		target, err := mixture.NewAnnealer(context.Background(), bernmix.VB(0.7, 1.5), rows(t, x, 2).Distinct(), k)
		require.NoError(t, err)
		estimate, err := evidence.AIS(context.Background(), target, evidence.AISOptions{Seed: 3, Temperatures: 2000})
		require.NoError(t, err)
		t.Logf("K = %d: exact %.4f, annealed %.4f ± %.4f", k, exact, estimate.LogEvidence, estimate.StandardError)
		assert.InDelta(t, exact, estimate.LogEvidence, 4*estimate.StandardError)
		assert.Less(t, estimate.StandardError, 0.2)
	}
}
