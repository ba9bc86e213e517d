package command

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/models/features"
)

type featuresJSON struct {
	K        int
	Value    float64
	LogLik   float64 `json:"loglik"`
	BIC, ICL float64
	Warnings []string
	Params   struct {
		features.Parameters
		Together [][]float64 `json:"co_occurrence"`
	}
}

func fitFeatures(t *testing.T, args ...string) (r featuresJSON) {
	stdout, _ := done(t, append([]string{"fit", "--model", "features", "--format", "json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	return r
}

// The four groups of ruspini are two features, and both of them, and none.
func TestFeaturesOfRuspini(t *testing.T) {
	r := fitFeatures(t, "--criterion", "gfic", "--data", "ruspini")
	assert.Equal(t, 2, r.K)
	assert.InDelta(t, -682.850, r.Value, 1e-2)
	assert.Less(t, r.ICL, r.BIC)
	assert.InDeltaSlice(t, []float64{35. / 75, 32. / 75}, r.Params.On, 0.01) // 23 + 20 + 17 + 15 rows
	assert.InDelta(t, 15./75, r.Params.Together[0][1], 0.01)
	assert.Empty(t, r.Warnings)

	stdout, _ := done(t, "fit", "--criterion", "gfic", "--model", "features", "--data", "ruspini")
	for _, line := range []string{"chosen K        2 of at most 8", "share of the rows", "noise sd", "5 of 5 reached this value"} {
		assert.Contains(t, stdout, line)
	}
	one := fitFeatures(t, "--data", "ruspini", "--noise", "isotropic", "--method", "em", "--k", "2")
	assert.Len(t, one.Params.Noise, 1)
	stdout, _ = done(t, "select", "--model", "features", "--data", "ruspini", "--kmax", "4")
	for _, line := range []string{"gfic   chooses K = 2", "icl    chooses K = 2"} {
		assert.Contains(t, stdout, line)
	}
}

// The predictions are those of the model that was fitted; missing entries are filled in.
func TestPredictFeatures(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	r := fitFeatures(t, "--data", "iris", "--out", model)
	rows, _ := done(t, "predict", model, "--data", "iris")
	lines := strings.Split(strings.TrimSpace(rows), "\n")
	assert.Equal(t, "feature1,feature2,feature3,feature4,feature5,log_likelihood", lines[0])
	require.Len(t, lines, 151)
	sum, setosa := 0.0, 0.0
	for i, line := range lines[1:] {
		cells := strings.Split(line, ",")
		logProb, err := strconv.ParseFloat(cells[5], 64)
		require.NoError(t, err)
		first, err := strconv.ParseFloat(cells[0], 64)
		require.NoError(t, err)
		if sum += logProb; i < 50 {
			setosa += first
		} else {
			assert.Less(t, first, 0.05)
		}
	}
	assert.InDelta(t, r.LogLik, sum, 1e-6)
	assert.InDelta(t, 50, setosa, 1e-3, "the first feature is the species")

	gaps := file(t, "gaps.csv", "Sepal.Length,Sepal.Width,Petal.Length,Petal.Width\n5.1,,1.4,\n,,,\n")
	filled, _ := done(t, "predict", model, "--data", gaps, "--fill", "--format", "json")
	var f struct{ Filled [][]float64 }
	require.NoError(t, json.Unmarshal([]byte(filled), &f))
	assert.Equal(t, 5.1, f.Filled[0][0])
	assert.InDelta(t, 3.49, f.Filled[0][1], 0.1)
	assert.InDelta(t, 3.76, f.Filled[1][2], 0.1, "a row without entries has the mean of the column")
	drawn, _ := done(t, "sample", model, "-n", "5")
	assert.Equal(t, 6, strings.Count(drawn, "\n"))
}

// More features than can be enumerated have a lower bound, and it is called one.
func TestManyFeaturesHaveABound(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	args := []string{"--data", "iris", "--k", "13", "--method", "em", "--restarts", "1", "--max-iter", "2000", "--tol", "1e-6"}
	r := fitFeatures(t, append(args, "--out", model)...)
	assert.Contains(t, r.Warnings, outcome.NoteBound)
	assert.Contains(t, strings.Join(r.Warnings, "\n"), "finds fewer of them than --kmax 12 may")
	rows, _ := done(t, "predict", model, "--data", "iris")
	assert.True(t, strings.HasSuffix(strings.Split(rows, "\n")[0], ",feature13,log_likelihood_bound"))
	_, stderr := done(t, "select", "--model", "features", "--data", "iris", "--kmin", "12", "--kmax", "13", "--restarts", "1", "--max-iter", "20")
	assert.Contains(t, stderr, outcome.NoteBound)
}

func TestFeaturesPageAndErrors(t *testing.T) {
	dir := t.TempDir()
	done(t, "fit", "--criterion", "gfic", "--model", "features", "--data", "iris", "--report", dir)
	page := contents(t, filepath.Join(dir, pageName))
	for _, title := range []string{"What features add", "Features together"} {
		assert.Contains(t, page, ">"+title+"</h2>")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var noise strings.Builder
	noise.WriteString("a,b,c\n")
	for range 60 {
		fmt.Fprintf(&noise, "%v,%v,%v\n", rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64())
	}
	r := fitFeatures(t, "--criterion", "gfic", "--data", file(t, "noise.csv", noise.String()), "--k", "2")
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], "gfic without features is")

	for want, args := range map[string][]string{
		`column "a" is constant, to working precision`:                    {"--data", file(t, "c.csv", "a,b\n1,2\n1,3\n1,5\n")},
		`row 2 of column "b" is missing`:                                  {"--data", file(t, "m.csv", "a,b\n1,2\n3,\n1,5\n")},
		`column "b" is categorical`:                                       {"--data", file(t, "t.csv", "a,b\n1,x\n2,y\n3,x\n")},
		"1 row: features are what tells rows apart":                       {"--data", file(t, "one.csv", "a,b\n1,2\n")},
		"150 features of 150 rows":                                        {"--data", "iris", "--k", "150"},
		"--accelerate cannot be used with more than 12":                   {"--data", "iris", "--kmax", "13", "--accelerate"},
		`--noise must be one of "diagonal","isotropic" but got ""`:        {"--data", "iris", "--noise"},
		"--prior cannot be used with --model features":                    {"--data", "iris", "--prior", "a=1"},
		"--method vb cannot be used":                                      {"--data", "iris", "--method", "vb"},
		"--label requires a mixture":                                      {"--data", "iris", "--label", "Species"},
		"--bootstrap requires a mixture":                                  {"--data", "iris", "--bootstrap", "10"},
		"--rotate is a flag of --model factor, and the model is features": {"--data", "iris", "--rotate", "varimax"},
	} {
		status := 1
		if strings.HasPrefix(want, "-") {
			status = 2 // misuse of flags
		}
		fails(t, status, want, "", append([]string{"fit", "--criterion", "gfic", "--model", "features"}, args...)...)
	}
}
