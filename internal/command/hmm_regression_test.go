package command

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/hmm"
)

// switching is a table of a line that switches between two, and its rows.
func switching() (text string, x []float64) {
	rng := rand.New(rand.NewPCG(6, 1))
	var b strings.Builder
	b.WriteString("day,y,x,state,kind\n")
	z := 0
	for day := range 200 {
		if rng.Float64() < 0.06 {
			z = 1 - z
		}
		v, known := math.Round(100*rng.NormFloat64())/100, ""
		y := math.Round(1000*([]float64{1 + 2*v, -1 - v}[z]+0.6*rng.NormFloat64())) / 1000
		if day%8 == 0 {
			known = []string{"up", "down"}[z]
		}
		fmt.Fprintf(&b, "%d,%v,%v,%s,%d\n", day, y, v, known, day%3)
		x = append(x, y, v)
	}
	return b.String(), x
}

// TestRegressionsThatSwitch: text, page, JSON, files and predictions of a chain whose states are regressions, which are
// those of the library.
func TestRegressionsThatSwitch(t *testing.T) {
	text, x := switching()
	table, dir := file(t, "s.csv", text), t.TempDir()
	model := filepath.Join(dir, "m.json")
	fit := []string{"fit", "--model", "hmm", "--data", table, "--response", "y", "--regress", "x", "--kmax", "4", "--restarts", "2"}
	done(t, append(fit, "--out", model, "--report", dir)...)
	page := contents(t, filepath.Join(dir, pageName))
	for _, says := range []string{"Fitted curves", "Coefficients", "Transitions", "How long states are stayed in"} {
		assert.Contains(t, page, says)
	}
	var saved struct {
		Params struct {
			hmm.Parameters
			Transitions [][]float64 `json:"transitions"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(contents(t, model)), &saved))
	p := &saved.Params.Parameters
	p.Transitions = append(saved.Params.Transitions[0], saved.Params.Transitions[1]...)
	rows, err := blocks.FromSlice(x, len(x)/2, 2)
	require.NoError(t, err)
	src, err := blocks.NewSequences(rows, nil)
	require.NoError(t, err)
	m := hmm.Model{Family: regress.Family{}}
	course, err := m.Filter(src.All(), p)
	require.NoError(t, err)
	path, _, err := m.Viterbi(src.All(), p)
	require.NoError(t, err)
	seen, _ := done(t, "predict", model, "--data", table)
	said := records(t, seen)
	assert.Equal(t, []string{"state", "probability", "mean", "p1", "p2", "log_predictive"}, said[0])
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return v
	}
	for i, row := range said[1:] {
		assert.Equal(t, strconv.Itoa(path[i]+1), row[0])
		mean := 0.0
		for k := range 2 {
			b := p.Component(k)
			mean += course.Predicted[2*i+k] * (b[0] + b[1]*x[2*i+1])
		}
		assert.InDelta(t, mean, number(row[2]), 1e-9)
		assert.InDelta(t, course.LogDensity[i], number(row[5]), 1e-9)
	}
	// Of rows to come, whose response is missing, mean is a forecast.
	ahead, _ := done(t, "predict", model, "--data", file(t, "ahead.csv", text+"200,,0.5,,\n201,,0,,\n"))
	last := records(t, ahead)[202]
	assert.Equal(t, "0", last[5])
	assert.Less(t, math.Abs(number(last[2])), 1.1)
	begun, _ := done(t, "fit", "--from", model, "--data", table)
	assert.Contains(t, begun, "gaussian regressions of y on x")

	coded, _ := done(t, "fit", "--model", "hmm", "--data", table, "--response", "y", "--regress", "x,kind", "--columns",
		"kind=categorical", "--k", "2")
	assert.Contains(t, coded, "kind = 2")
	known, _ := done(t, "fit", "--model", "hmm", "--data", table, "--response", "y", "--regress", "x", "--known", "state", "--k", "2")
	assert.Contains(t, known, ", down")
	moved, _ := done(t, append(fit[:len(fit)-4:len(fit)-4], "--covariates", "day", "--k", "2", "--restarts", "1", "--out", model)...)
	assert.Contains(t, moved, `gaussian regressions of y on x, moves by "day"`)
	again, _ := done(t, "predict", model, "--data", table)
	assert.Len(t, records(t, again), len(said))

	for says, args := range map[string][]string{
		"requires --method gfab, fab or em":                    {"--response", "y", "--method", "vb"},
		"--regress requires --response":                        {"--regress", "x"},
		"--fixed requires --response":                          {"--fixed", "x"},
		"requires --family gaussian or poisson":                {"--response", "y", "--family", "student-t"},
		"is named by --response and by --regress":              {"--response", "y", "--regress", "y"},
		"is named by --covariates and by --response":           {"--response", "y", "--covariates", "y"},
		"regressors are numbers, or categorical":               {"--response", "y", "--columns", "x=poisson"},
		"would join the steps before and after a gap: --missi": {"--response", "y", "--missing", "drop"},
	} {
		fails(t, statusUsage, says, "", append([]string{"fit", "--model", "hmm", "--data", table}, args...)...)
	}
	gap := file(t, "gap.csv", "y,x\n1,2\n,1\n3,1\n2,2\n1,1\n")
	fails(t, 1, `row 2 of column "y" is missing: this family needs complete rows: fill it in`, "",
		"fit", "--model", "hmm", "--data", gap, "--response", "y")
	fails(t, 1, `no column "none"`, "", "fit", "--model", "hmm", "--data", table, "--response", "none")
	fails(t, statusUsage, "describes its columns given", "", "sample", model, "-n", "2")
	fails(t, statusUsage, "it would need the values of", "", "predict", model, "--data", table, "--forecast", "2")
	fails(t, 1, "gaps of a regression are not filled in", "", "predict", model, "--data", table, "--fill")
}
