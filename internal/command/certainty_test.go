package command

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/outcome"
)

// What a fit by the evidence says of K adds up: the bound, the modes and the estimate; probabilities that sum to 1, the
// largest of them that of the K found; and it is that of latent select where it met the same values.
func TestFitByTheEvidenceSaysHowSureItIs(t *testing.T) {
	shape := schemas(t)["fit"]
	for _, args := range [][]string{
		{"--data", "faithful"},
		{"--data", "faithful", "--method", "em", "--kmax", "4"},
		{"--model", "bernmix", "--data", "zoo", "--select", "hair,eggs,milk,feathers", "--method", "gfab", "--kmax", "4"},
		{"--model", "hmm", "--data", "geyser", "--kmax", "4", "--restarts", "3"},
		{"--model", "ppca", "--data", "iris", "--drop", "Species"},
		{"--model", "features", "--data", "ruspini", "--kmax", "4", "--restarts", "2"},
		{"--model", "blockmodel", "--method", "gfab", "--kmax", "5"},
		{"--model", "regression", "--data", "NPreg", "--response", "yn", "--regress", "x", "--kmax", "4", "--restarts", "2"},
	} {
		args = append([]string{"fit", "--criterion", "evidence", "--format", "json"}, args...)
		text, _ := done(t, args...)
		conforms(t, shape, text, args)
		var r struct {
			K           int
			Value       float64
			Bound       float64                   `json:"evidence_bound"`
			LogModes    float64                   `json:"ln_modes"`
			LogEvidence float64                   `json:"log_evidence"`
			Posterior   []outcome.SizeProbability `json:"size_posterior"`
			Credible    []int                     `json:"credible"`
			Criteria    map[string]float64        `json:"criteria"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		assert.Equal(t, r.Value, r.Bound, args)
		assert.Equal(t, r.Value, r.Criteria["evidence"], args)
		assert.InDelta(t, r.Bound+r.LogModes, r.LogEvidence, 1e-9, args)
		most, _ := math.Lgamma(float64(r.K) + 1)
		assert.LessOrEqual(t, r.LogModes, most+float64(r.K)*math.Ln2, args)
		sum, best := 0.0, outcome.SizeProbability{}
		for _, one := range r.Posterior {
			sum += float64(one.Probability)
			if one.Probability > best.Probability {
				best = one
			}
		}
		assert.InDelta(t, 1, sum, 1e-12, args)
		assert.Equal(t, r.K, best.K, args)
		assert.True(t, slices.Contains(r.Credible, r.K), args)
	}
}

// One K is not compared, and other criteria say nothing of probabilities.
func TestFitSaysNothingOfKThatWereNotCompared(t *testing.T) {
	text, _ := done(t, "fit", "--data", "ruspini", "--criterion", "evidence", "--k", "4", "--format", "json")
	assert.NotContains(t, text, `"size_posterior"`)
	assert.Contains(t, text, `"ln_modes":3.17`)
	text, _ = done(t, "fit", "--data", "ruspini", "--criterion", "evidence", "--k", "4")
	assert.Contains(t, text, "K was not compared to others")
	text, _ = done(t, "fit", "--data", "ruspini", "--criterion", "gfic", "--format", "json")
	for _, field := range []string{"size_posterior", "evidence_bound", "ln_modes", "credible"} {
		assert.NotContains(t, text, `"`+field+`"`)
	}
}

// Of each K by itself, latent select finds the evidence of latent fit, and the same K.
func TestSelectAgreesWithFit(t *testing.T) {
	for _, args := range [][]string{
		{"--data", "faithful", "--cov", "full"},
		{"--data", "ruspini", "--cov", "full"},
		{"--model", "hmm", "--data", "geyser", "--kmax", "7"},
		{"--model", "regression", "--data", "NOdata", "--response", "NO"},
		{"--model", "regression", "--data", "iris", "--response", "Petal.Length", "--regress", "Sepal.Length"},
	} {
		r := fitJSON(t, append(args, "--restarts", "3")...)
		text, _ := done(t, append([]string{"select", "--criteria", "evidence", "--restarts", "3", "--format", "json"},
			args...)...)
		var s outcome.Selection
		require.NoError(t, json.Unmarshal([]byte(text), &s))
		best, k := math.Inf(-1), 0
		for _, row := range s.Table {
			if v := float64(row.Values["evidence"]); v > best {
				best, k = v, row.K
			}
		}
		assert.Equal(t, r.K, k, args)
		assert.InDelta(t, float64(r.Value), best, 0.01, args)
	}
}

// The prior of the evidence is replaced by --prior, printed, and refused where nothing would use it.
func TestPriorOfTheEvidence(t *testing.T) {
	for _, args := range [][]string{
		{"--data", "faithful", "--cov", "full"},
		{"--model", "hmm", "--data", "earthquakes", "--family", "poisson", "--drop", "year"},
		{"--model", "regression", "--data", "NOdata", "--response", "NO"},
		{"--model", "regression", "--data", "NPreg", "--response", "yn", "--regress", "x", "--gate", "x"},
	} {
		args = append(args, "--k", "2", "--restarts", "1")
		usual, other := fitJSON(t, args...), fitJSON(t, append(args, "--prior", "rows=3")...)
		assert.Equal(t, number(1), usual.EvidencePrior.Rows, args)
		assert.Equal(t, number(3), other.EvidencePrior.Rows, args)
		assert.Greater(t, math.Abs(float64(usual.Value-other.Value)), 0.01, args)
	}
	text, _ := done(t, "fit", "--data", "faithful", "--k", "2", "--cov", "full", "--prior", "rows=2.5,covariance=4")
	assert.Contains(t, text, "unit information, worth 2.5 rows, of covariances 4")
	for _, c := range [][]string{
		{"--prior rows=3 belongs to the evidence, and fits use gfic: leave one out", "--criterion", "gfic"},
		{"--prior rows=3 belongs to the evidence and requires classes or states, and --method gfab", "--method", "em"},
		{"--prior rows=3 belongs to the evidence and requires classes or states, and --method gfab", "--model", "features"},
	} {
		fails(t, 2, c[0], "", append([]string{"fit", "--data", "faithful", "--prior", "rows=3"}, c[1:]...)...)
	}
	fails(t, 2, `--prior: no key "kappa"`, "", "fit", "--data", "faithful", "--prior", "rows=3,kappa=2")
}
