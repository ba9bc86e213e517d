package command

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin/lineargaussian"
	"github.com/latent-go/latent/internal/outcome"
)

// rankTwo has b = 2a, so that no noise is left beyond K = 1.
const rankTwo = "a,b,c\n1,2,3\n2,4,1\n3,6,9\n4,8,1\n4,8,3\n"

func selectJSON(t *testing.T, args ...string) (s outcome.Selection, stderr string) {
	t.Helper()
	stdout, stderr := done(t, append([]string{"select", "--model", "bpca", "--format", "json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(stdout), &s))
	return s, stderr
}

func TestFitsThatDoNotConvergeAreNotComparedInSilence(t *testing.T) {
	flags := []string{"--data", "iris", "--drop", "Species", "--method", "em", "--max-iter", "2"}
	s, stderr := selectJSON(t, flags...)
	for _, row := range s.Table {
		assert.False(t, row.Converged)
		assert.Equal(t, "iteration limit reached", row.Status)
	}
	const note = "latent: 3 of the 3 fits did not converge: raise --max-iter (K = 1, 2, 3)\n"
	assert.Equal(t, note, stderr)
	stdout, stderr := done(t, append([]string{"select", "--model", "bpca"}, flags...)...)
	assert.Equal(t, note, stderr)
	assert.Equal(t, 4, strings.Count(stdout, "! "), "the key and three rows")

	stdout, stderr = done(t, append([]string{"fit", "--model", "bpca", "--format", "json"}, flags...)...)
	assert.Equal(t, note, stderr)
	assert.Contains(t, stdout, `"converged":false}`)

	s, stderr = selectJSON(t, flags[:len(flags)-2]...)
	for _, row := range s.Table {
		assert.True(t, row.Converged)
		assert.Equal(t, "converged", row.Status)
	}
	assert.Empty(t, stderr)
	stdout, _ = done(t, append([]string{"select", "--model", "bpca"}, flags[:len(flags)-2]...)...)
	assert.NotContains(t, stdout, "!")
}

func TestFitsThatFailSayWhy(t *testing.T) {
	path := file(t, "two.csv", rankTwo)
	for _, method := range []string{"closed-form", "em", "gfab"} {
		s, stderr := selectJSON(t, "--data", path, "--method", method)
		require.Len(t, s.Table, 2)
		assert.True(t, s.Table[0].Converged)
		assert.Empty(t, s.Table[0].Error)
		assert.False(t, s.Table[1].Converged)
		assert.Equal(t, "failed", s.Table[1].Status)
		assert.Regexp(t, "(noise is left beyond K = 1|leaves? no noise)", s.Table[1].Error, method)
		assert.Contains(t, stderr, "latent: 1 of the 2 fits failed (K = 2): ")
		assert.Equal(t, 1, strings.Count(stderr, "\n"))
	}
	_, stderr := done(t, "fit", "--model", "bpca", "--data", path, "--method", "em")
	assert.Contains(t, stderr, "1 of the 2 fits failed (K = 2): ")
}

func TestErrorsAboutTheDataBeginWithTheirName(t *testing.T) {
	for _, c := range []struct{ text, part string }{
		{"a,b,c\n1,2,3\n", "1 row: "},
		{"a\n1\n2\n", "1 column: "},
		{"a,b,c\n1,2,3\n1,5,6\n1,8,1\n1,3,3\n", `column "a" is constant`},
		{"a,b,c\n1,2,3\n4,5,7\n", "gFIC and FIC need more rows than columns"},
		{"1,b\n1,2\n3,4\n", `column "V2" is categorical: row 1 is "b"; the first row looks like a header: read it with a header (--header yes)`},
	} {
		path := file(t, "d.csv", c.text)
		for _, args := range [][]string{{"fit", "--model", "bpca"}, {"select", "--model", "bpca", "--method", "gfab"}} {
			fails(t, 1, "latent: "+path+": "+c.part, "", append(args, "--data", path)...)
		}
	}
}

func TestTheModelKeepsWhatARefitNeeds(t *testing.T) {
	table := file(t, "w.csv", "a,b,c,w\n1,2,3,1\n4,5,6,1\n7,8,1,2\n2,2,2,1\n9,1,1,1\n")
	model := filepath.Join(t.TempDir(), "m.json")
	for _, c := range []struct {
		flags []string
		want  outcome.General
	}{
		{[]string{"--method", "gfab"}, outcome.General{Tolerance: 1e-9, MaxIterations: 10000, Restarts: 1}},
		{[]string{"--method", "em", "--k", "1", "--tol", "1e-6", "--max-iter", "500", "--restarts", "3"},
			outcome.General{Tolerance: 1e-6, MaxIterations: 500, Restarts: 3, FixedK: true}},
		{[]string{"--method", "vb", "--prior", "alpha=1, unit=2.50", "--weights", "w"},
			outcome.General{Tolerance: 1e-9, MaxIterations: 10000, Restarts: 1, Weights: "w", Prior: "alpha=1, unit=2.50"}},
		{[]string{"--method", "closed-form"}, outcome.General{}},
	} {
		r := bpcaJSON(t, append([]string{"--data", table, "--out", model}, c.flags...)...)
		assert.Equal(t, c.want, r.Settings.General)
		saved, err := known.read(model)
		require.NoError(t, err)
		assert.Equal(t, c.want, saved.Settings.General)
		assert.Equal(t, outcome.Reading{}, saved.Settings.Reading)
		assert.Equal(t, new(lineargaussian.PCASettings), saved.Settings.Flags())
		assert.Equal(t, r.Objective, saved.Objective)
		assert.Len(t, r.Objective, len(r.Trace))
	}
	text, err := os.ReadFile(model)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"settings":{},"objective_trace":[]`)
}

// The criterion may dip, the objective does not: docs/theory/gfab.md, section 4.
func TestTheObjectiveNeverFallsWhileKStays(t *testing.T) {
	r := bpcaJSON(t, "--data", "iris", "--k", "2")
	require.Greater(t, len(r.Objective), 2)
	for i := 1; i < len(r.Objective); i++ {
		before, after := float64(r.Objective[i-1]), float64(r.Objective[i])
		assert.GreaterOrEqual(t, after, before-1e-12*math.Abs(before))
	}
}

// Larger is better: BIC is ln p(X|Π) − df/2 ln N, AIC less df, ICL less the entropy too.
func TestEveryFitHasLikelihoodAndCriteria(t *testing.T) {
	for _, args := range [][]string{
		{"--method", "gfab"}, {"--method", "map", "--k", "2"}, {"--method", "em", "--kmax", "2", "--criterion", "icl"}, {"--criterion", "bic", "--method", "em", "--k", "2"},
		{"--model", "bernmix", "--k", "3"}, {"--model", "bpca", "--data", "iris"}, {"--model", "bpca", "--data", "iris", "--method", "closed-form", "--criterion", "aic"},
	} {
		r := fitJSON(t, args...)
		n, loglik, df := float64(r.N), float64(r.LogLik), float64(r.Df)
		assert.InEpsilon(t, loglik-df/2*math.Log(n), float64(r.BIC), 1e-12, args)
		assert.InEpsilon(t, loglik-df, float64(r.AIC), 1e-12, args)
		assert.Equal(t, r.Model != "bpca", r.ICL != nil, args)
		if r.ICL != nil {
			assert.InEpsilon(t, float64(r.BIC-r.Entropy), float64(*r.ICL), 1e-12, args)
			assert.Positive(t, float64(r.Entropy), args)
		}
		switch r.Criterion {
		case "bic":
			assert.Equal(t, r.Value, r.BIC)
		case "icl":
			assert.Equal(t, r.Value, *r.ICL)
		case "aic":
			assert.Equal(t, r.Value, r.AIC)
		}
	}
	for _, args := range [][]string{{"--method", "vb", "--k", "2"}, {"--model", "vbmf", "--data", "iris"}} { // Π is integrated out
		stdout, _ := done(t, append([]string{"fit", "--format", "json"}, args...)...)
		assert.Contains(t, stdout, `"loglik":null`)
		assert.Contains(t, stdout, `"bic":null,"aic":null,`)
		assert.NotContains(t, stdout, `"icl"`)
	}
	r := fitJSON(t, "--max-iter", "2", "--data", "iris")
	assert.Equal(t, []string{`left out the class labels of iris, column "Species" (--select chooses columns)`, "NOT converged: iteration limit reached after 2 iterations: raise --max-iter"}, r.Warnings)
	stdout, _ := done(t, "fit", "--criterion", "gfic")
	for _, part := range []string{"log-likelihood  -1130.264 nats", "free parameters 11", "gfic            -1166.423 nats: larger is better", "bic             -1161.096 nats (mclust: -2322.192; R, scikit-learn: 2322.192)", "entropy         0.696 nats, relative entropy 0.9963 (1: no row is in doubt)"} {
		assert.Contains(t, stdout, part)
	}
}

// The statistics of a row of latent select are those of latent fit at its K.
func TestSelectHasTheStatisticsOfEveryFit(t *testing.T) {
	for _, flags := range [][]string{
		{"--data", "faithful", "--method", "em"},
		{"--data", "faithful", "--method", "vb"},
		{"--data", "iris", "--drop", "Species", "--model", "bpca", "--method", "em"},
		{"--data", "iris", "--drop", "Species", "--model", "vbmf"},
		{"--data", "iris", "--drop", "Species", "--model", "features", "--method", "em"},
	} {
		stdout, _ := done(t, append([]string{"select", "--kmax", "2", "--format", "json"}, flags...)...)
		var s outcome.Selection
		require.NoError(t, json.Unmarshal([]byte(stdout), &s))
		assert.NotNil(t, s.Warnings)
		for _, row := range s.Table {
			r := fitJSON(t, append(flags, "--k", strconv.Itoa(row.K))...)
			assert.Equal(t, r.Df, row.Df, flags)
			for _, pair := range [][2]number{{r.LogLik, row.LogLik}, {r.BIC, row.BIC}, {r.AIC, row.AIC}, {r.Entropy, row.Entropy}} {
				assert.InDelta(t, float64(pair[0]), float64(pair[1]), 1e-4, flags)
			}
			assert.Equal(t, r.ICL == nil, row.ICL == nil)
		}
	}
	s, _ := selectJSON(t, "--data", file(t, "two.csv", rankTwo))
	assert.Equal(t, "failed", s.Table[1].Status)
	stdout, _ := done(t, "select", "--model", "bpca", "--format", "json", "--data", file(t, "two.csv", rankTwo))
	assert.Contains(t, stdout, `"loglik":null,"df":null,"bic":null,"aic":null,"entropy":null,"converged":false`)
}

// More iterations are advised where they help, and only there.
func TestAdviceForFitsThatDidNotConverge(t *testing.T) {
	stdout, _ := done(t, "fit", "--k", "5", "--restarts", "1", "--tol", "1e-300", "--max-iter", "200")
	assert.NotContains(t, stdout, "--max-iter")
	assert.Contains(t, strings.Join(strings.Fields(stdout), " "), "--tol 1e-300 is within the rounding error of the criterion: raise --tol")
}

// The relative entropy is 1 − H/(N ln K), N the sum of the weights of rows or steps; of one component there is none.
func TestRelativeEntropyIsThatOfTheLabels(t *testing.T) {
	for _, args := range [][]string{{"--k", "2"}, {"--model", "hmm", "--k", "3"}, {"--data", "housevotes84", "--family", "auto", "--k", "2", "--method", "cvb0"}} {
		text, _ := done(t, append([]string{"fit", "--format", "json"}, args...)...)
		r := reportOf(t, text, args...)
		require.NotNil(t, r.Relative, args)
		assert.InDelta(t, 1-float64(r.Entropy)/(float64(r.Rows)*math.Log(float64(r.K))), float64(*r.Relative), 1e-9, args)
	}
	one, _ := done(t, "fit", "--format", "json", "--k", "1")
	assert.Contains(t, one, `"relative_entropy":null`)
	text, _ := done(t, "fit", "--k", "1")
	assert.NotContains(t, text, "relative")
	other, _ := done(t, "fit", "--format", "json", "--model", "factor", "--k", "1")
	assert.NotContains(t, other, "relative_entropy")
}

// TestMovesAreReported: each raises the criterion, and what it leaves out goes in the same iteration.
func TestMovesAreReported(t *testing.T) {
	r := fitJSON(t, "--data", "geyser", "--family", "gaussian-diagonal", "--start", "rows", "--kmax", "4", "--restarts", "1", "--seed", "2")
	require.NotEmpty(t, r.Split)
	for _, one := range r.Split {
		assert.Greater(t, one.After, one.Before)
		assert.Contains(t, upTo(1, one.K-1), one.Divided)
		assert.Equal(t, r.Trace[one.Iteration-1], one.After)
	}
	merged := slices.IndexFunc(r.Pruned, func(p outcome.Pruned) bool { return p.Rule == "merge" })
	require.GreaterOrEqual(t, merged, 0)
	assert.Contains(t, r.Split, outcome.Split{Iteration: r.Pruned[merged].Iteration, K: r.Pruned[merged].K + 1, Divided: r.Split[0].Divided, Before: r.Pruned[merged].Before, After: r.Pruned[merged].After})
}

// TestABestValueOfOneStartIsSaid: where the others end lower, more starts may end higher, which text, page and JSON say.
func TestABestValueOfOneStartIsSaid(t *testing.T) {
	alone := []string{"--data", "iris", "--method", "em", "--k", "7", "--restarts", "8"}
	want := "1 of 8 starts reached the best value (to 0.01 nats): more starts may find a better one (--restarts 32)"
	assert.Contains(t, fitJSON(t, alone...).Warnings, want)
	stdout, _ := done(t, append([]string{"fit"}, alone...)...)
	assert.Contains(t, strings.Join(strings.Fields(stdout), " "), "starts 1 of 8 reached this value (to 0.01 nats); more starts may find a better one (--restarts 32)")
	assert.Contains(t, pageOf(t, alone...).text, want)
	stdout, _ = done(t, "fit")
	assert.NotContains(t, stdout, "more starts")
}
