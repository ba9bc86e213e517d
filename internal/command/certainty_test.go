package command

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
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

// Criteria that integrate the parameters out under another prior say how sure K is, too; the K found is the most
// probable. What one fit finds on its way is what latent select finds of each K.
func TestMethodsThatIntegrateSayHowSureTheyAre(t *testing.T) {
	shape := schemas(t)["fit"]
	words := file(t, "words.csv", "doc,word,n\na,x,9\na,y,8\nb,x,7\nb,y,9\nc,u,9\nc,v,8\nd,u,6\nd,v,9\ne,u,5\ne,v,7\n")
	for _, c := range []struct {
		args   []string
		within float64 // of the probability by latent select
	}{
		{[]string{"--data", "zoo", "--kmax", "6"}, 0.05},
		{[]string{"--model", "bernmix", "--data", "zoo", "--select", "hair,eggs,milk,feathers", "--method", "vb"}, 1e-9},
		{[]string{"--model", "topics", "--data", words, "--kmax", "3"}, 0.2},
		{[]string{"--model", "vbmf", "--data", "iris", "--drop", "Species"}, 1e-9},
		{[]string{"--model", "blockmodel", "--kmax", "6"}, 1e-9},
		{[]string{"--model", "bpca", "--data", "iris", "--drop", "Species", "--method", "vb", "--restarts", "2"}, 1e-9},
	} {
		text, _ := done(t, append([]string{"fit", "--format", "json"}, c.args...)...)
		conforms(t, shape, text, c.args)
		assert.NotContains(t, text, "evidence_bound", c.args)
		var r struct {
			K         int
			Method    string
			Prior     map[string]string
			Posterior []outcome.SizeProbability `json:"size_posterior"`
			Credible  []int
		}
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		assert.Equal(t, map[string]string{"form": "conjugate"}, r.Prior, c.args)
		of := map[int]float64{}
		for _, one := range r.Posterior {
			of[one.K] = float64(one.Probability)
		}
		assert.Greater(t, of[r.K], 0.3, c.args)
		assert.Contains(t, r.Credible, r.K, c.args)
		text, _ = done(t, append([]string{"select", "--format", "json", "--method", r.Method}, c.args...)...)
		var s outcome.Selection
		require.NoError(t, json.Unmarshal([]byte(text), &s))
		for _, one := range s.Posterior {
			assert.InDelta(t, float64(one.Probability), of[one.K], c.within, "%v: K = %d", c.args, one.K)
		}
	}
	text, _ := done(t, "fit", "--model", "bernmix", "--data", "zoo", "--select", "hair,eggs,milk", "--method", "vb",
		"--temper", "0.5", "--format", "json")
	assert.NotContains(t, text, "size_posterior", "of a tempered bound")
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
		if !slices.Contains(args, "--kmax") {
			args = append(args, "--kmax", "5")
		}
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
		{"--data", "faithful", "--method", "em", "--criterion", "evidence"},
		{"--model", "features", "--data", "ruspini"},
		{"--model", "factor", "--data", "crabs", "--drop", "class", "--method", "gfab", "--criterion", "evidence"},
		{"--model", "bpca", "--data", "crabs", "--drop", "class", "--criterion", "evidence"},
	} {
		args = append(args, "--k", "2", "--restarts", "1")
		usual, other := fitJSON(t, args...), fitJSON(t, append(args, "--prior", "rows=3")...)
		assert.Equal(t, number(1), usual.EvidencePrior.Rows, args)
		assert.Equal(t, number(3), other.EvidencePrior.Rows, args)
		assert.Greater(t, math.Abs(float64(usual.Value-other.Value)), 0.01, args)
	}
	var solved []float64 // by closed forms; one model, by three names
	for _, args := range [][]string{
		{"--model", "bpca", "--method", "closed-form"}, {"--model", "ppca"}, {"--model", "factor", "--noise", "isotropic"},
	} {
		args = append(args, "--data", "crabs", "--drop", "class", "--criterion", "evidence", "--prior", "rows=2")
		solved = append(solved, float64(fitJSON(t, args...).Value))
	}
	assert.InDeltaSlice(t, []float64{solved[0], solved[0], solved[0]}, solved, 1e-9)
	text, _ := done(t, "fit", "--data", "faithful", "--k", "2", "--cov", "full", "--prior", "rows=2.5,covariance=4")
	assert.Contains(t, text, "unit information, worth 2.5 rows, of covariances 4")
	for _, c := range [][]string{
		{"--prior rows=3 belongs to the evidence, and fits use gfic: leave one out", "--criterion", "gfic"},
		{"--prior rows=3 belongs to the evidence, and cannot be used with --method vb", "--method", "vb"},
		{"--prior rows=3 belongs to the evidence, whose prior --model lds fixes", "--model", "lds"},
	} {
		fails(t, 2, c[0], "", append([]string{"fit", "--data", "faithful", "--prior", "rows=3"}, c[1:]...)...)
	}
	fails(t, 2, `--prior: no key "kappa"`, "", "fit", "--data", "faithful", "--prior", "rows=3,kappa=2")
}

// A search by estimates that passes a better value of another K says so, in place of probabilities that contradict what
// it chose.
func TestASearchThatPassedABetterSizeSaysSo(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	text := "a,b\n"
	for i := range 60 { // hardly a level occurs twice
		text += fmt.Sprintf("x%d,x%d\n", i%3*1000+rng.IntN(40), i%3*1000+rng.IntN(40))
	}
	path := file(t, "levels.csv", text)
	out, stderr := done(t, "fit", "--data", path, "--kmax", "12", "--restarts", "1", "--format", "json", "--columns",
		"a=categorical,b=categorical")
	assert.NotContains(t, out, "size_posterior")
	assert.Regexp(t, `K = \d+ is in doubt: the search passed K = \d+, with a value \d+\.\d nats higher: latent select`, stderr)
}
