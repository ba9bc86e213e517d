package command

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

const holzinger = "../../models/factor/testdata/holzinger1939.csv"

// gappy is the table without every 23rd entry.
func gappy(t *testing.T) string {
	lines := strings.Split(strings.TrimSpace(contents(t, holzinger)), "\n")
	at := 0
	for i, line := range lines[1:] {
		cells := strings.Split(line, ",")
		for j := range cells {
			if at++; at%23 == 0 {
				cells[j] = ""
			}
		}
		lines[i+1] = strings.Join(cells, ",")
	}
	return file(t, "gappy.csv", strings.Join(lines, "\n")+"\n")
}

type factorJSON struct {
	K              int
	Method, Status string
	Value          float64
	LogLik         float64   `json:"loglik"`
	Warnings       []string  `json:"warnings"`
	Explained      []float64 `json:"explained"`
	LoadingErrors  []float64 `json:"loading_standard_errors"`
	Params         struct {
		Loadings, Uniquenesses []float64
		Rotation               *struct{ Correlations [][]float64 }
	}
}

func fitFactors(t *testing.T, args ...string) (r factorJSON) {
	stdout, _ := done(t, append([]string{"fit", "--model", "factor", "--format", "json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	return r
}

// The closed form is the default, and iterations end there.
func TestFactorAnalysis(t *testing.T) {
	r := fitFactors(t, "--data", holzinger)
	assert.Equal(t, 3, r.K)
	assert.Equal(t, "closed-form", r.Method)
	assert.InDelta(t, -3826.662, r.Value, 1e-3)
	assert.InDelta(t, -3809.0646, fitFactors(t, "--data", holzinger, "--criterion", "gfic").Value, 1e-3)
	assert.InDelta(t, -3706.5405, r.LogLik, 1e-3)
	assert.InDeltaSlice(t, []float64{.5125, .7487, .5428, .2792, .2429, .3052, .5022, .4685, .5432}, r.Params.Uniquenesses, 6e-5)
	for _, method := range []string{"gfab", "em"} {
		other := fitFactors(t, "--data", holzinger, "--method", method, "--k", "3")
		assert.InDeltaSlice(t, r.Params.Loadings, other.Params.Loadings, 1e-3, method)
		assert.InDelta(t, r.LogLik, other.LogLik, 1e-4, method)
	}
	assert.Equal(t, 3, fitFactors(t, "--data", holzinger, "--method", "gfab").K)

	stdout, _ := done(t, "select", "--model", "factor", "--data", holzinger, "--criteria", "fic,bic,aic,sbic")
	for _, line := range []string{"fic    chooses K = 3", "bic    chooses K = 3", "aic    chooses K = 4", "sbic   chooses K = 3"} {
		assert.Contains(t, stdout, line)
	}
}

func TestFactorRotations(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	plain, _ := done(t, "fit", "--model", "factor", "--data", holzinger, "--out", model)
	assert.Contains(t, plain, "maximum likelihood")
	want, _ := done(t, "predict", model, "--data", holzinger)
	for _, name := range []string{"varimax", "promax", "oblimin"} {
		stdout, _ := done(t, "fit", "--model", "factor", "--data", holzinger, "--rotate", name, "--out", model)
		assert.Contains(t, stdout, "rotation        "+name)
		assert.Equal(t, name != "varimax", strings.Contains(stdout, "Correlations"))
		got, _ := done(t, "predict", model, "--data", holzinger)
		last := func(text string) string { // the log-likelihood of the first row, to rounding
			row := strings.Split(strings.Split(text, "\n")[1], ",")
			return row[len(row)-1][:12]
		}
		assert.Equal(t, last(want), last(got))
		rows, _ := done(t, "sample", model, "-n", "3")
		assert.Equal(t, 4, strings.Count(rows, "\n"))
	}
}

// The shares of the variance sum to the mean communality, also of factors that correlate.
func TestVarianceExplainedByFactors(t *testing.T) {
	for _, name := range []string{"none", "varimax", "promax", "oblimin"} {
		r := fitFactors(t, "--data", holzinger, "--rotate", name)
		assert.InDelta(t, 1-floats.Sum(r.Params.Uniquenesses)/9, floats.Sum(r.Explained), 1e-12, name)
	}
	dir := t.TempDir()
	done(t, "fit", "--model", "factor", "--data", holzinger, "--rotate", "oblimin", "--report", dir)
	assert.Contains(t, contents(t, filepath.Join(dir, pageName)), "correlations of the factors")
}

func TestFactorsOfMissingEntries(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	gaps := gappy(t)
	stdout, stderr := done(t, "fit", "--model", "factor", "--data", gaps, "--out", model)
	assert.Equal(t, 1, strings.Count(stderr, "integrated out"))
	assert.Contains(t, stdout, "by gfab")
	assert.Contains(t, stdout, "chosen K        3 of at most 5")
	filled, _ := done(t, "predict", model, "--data", gaps, "--fill")
	assert.True(t, strings.HasPrefix(filled, "x1,x2,x3"))
	assert.NotContains(t, filled, ",,")
	scores, _ := done(t, "predict", model, "--data", gaps)
	assert.True(t, strings.HasPrefix(scores, "z1,z2,z3,log_likelihood"))
	assert.Equal(t, 302, strings.Count(scores, "\n"))
	sum := 0.
	for _, row := range strings.Split(strings.TrimSpace(scores), "\n")[1:] {
		value, err := strconv.ParseFloat(row[strings.LastIndex(row, ",")+1:], 64)
		require.NoError(t, err)
		sum += value
	}
	assert.InDelta(t, sum, fitFactors(t, "--data", gaps).LogLik, 1e-6, "at the estimates that are saved")
	dropped := fitFactors(t, "--data", gaps, "--missing", "drop", "--kmax", "1")
	assert.Equal(t, "closed-form", dropped.Method)
}

func TestFactorsOfBlocks(t *testing.T) {
	r := fitFactors(t, "--data", holzinger, "--blocks", "x1,x2,x3,x4;x5,x6,x7,x8,x9")
	assert.Equal(t, "closed-form", r.Method)
	assert.Len(t, r.Params.Uniquenesses, 9)
	three := fitFactors(t, "--data", holzinger, "--blocks", "x1,x2,x3;x4,x5,x6;x7,x8,x9", "--kmax", "2")
	assert.Equal(t, "gfab", three.Method)
	assert.Equal(t, 1, three.K)
	isotropic := fitFactors(t, "--data", holzinger, "--noise", "isotropic")
	assert.Equal(t, 3, isotropic.K)
}

func TestFactorPageAndErrors(t *testing.T) {
	dir := t.TempDir()
	stdout, _ := done(t, "fit", "--criterion", "gfic", "--model", "factor", "--data", holzinger, "--report", dir, "--bootstrap", "5")
	assert.Contains(t, stdout, " ± ")
	page := contents(t, filepath.Join(dir, "index.html"))
	for _, title := range []string{"Loadings", "Scree"} {
		assert.True(t, strings.Contains(page, ">"+title+"</h2>"), title)
	}
	r := fitFactors(t, "--data", holzinger, "--k", "4")
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], `Heywood: column "x7"`)
	assert.Len(t, fitFactors(t, "--data", holzinger, "--k", "2", "--bootstrap", "4").LoadingErrors, 18)

	lines := strings.SplitAfter(contents(t, holzinger), "\n")
	few := file(t, "few.csv", strings.Join(lines[:8], ""))
	var twice, empty []string
	for i, line := range lines[:40] {
		line = strings.TrimSpace(line)
		twice = append(twice, line+","+map[bool]string{true: "again", false: strings.SplitN(line, ",", 2)[0]}[i == 0])
		empty = append(empty, line)
	}
	empty = append(empty, ",,,,,,,,")
	for want, args := range map[string][]string{
		"gFIC and FIC need more rows than columns":                     {"--data", few},
		`column "again" repeats column "x1"`:                           {"--data", file(t, "twice.csv", strings.Join(twice, "\n"))},
		"row 40 has no value at all: drop it":                          {"--data", file(t, "empty.csv", strings.Join(empty, "\n"))},
		`--blocks names column "x1" twice in block 1`:                  {"--data", holzinger, "--blocks", "x1,x1;x2"},
		`--blocks names no block of column "x3"`:                       {"--data", holzinger, "--blocks", "x1;x2"},
		`--blocks names column "x1" in two blocks`:                     {"--data", holzinger, "--blocks", "x1;x2,x1"},
		`--blocks names "y"`:                                           {"--data", holzinger, "--blocks", "x1;y"},
		"identifies 5 factors at most":                                 {"--data", holzinger, "--kmax", "6"},
		"choose K from 1 to 8":                                         {"--data", holzinger, "--k", "9", "--method", "em"},
		"--blocks cannot be used with --noise isotropic":               {"--data", holzinger, "--noise", "isotropic", "--blocks", "x1;x2"},
		`--noise must be one of "diagonal","isotropic" but got ""`:     {"--data", holzinger, "--noise"},
		`--noise must be one of "diagonal","isotropic" but got "loud"`: {"--data", holzinger, "--noise=loud"},
		"--method closed-form cannot be used with missing entries":     {"--data", gappy(t), "--method", "closed-form"},
		"columns of block":                                             {"--data", gappy(t), "--blocks", "x1,x2,x3,x4;x5,x6,x7,x8,x9"},
	} {
		status := 1
		if strings.HasPrefix(want, "-") {
			status = 2 // misuse of flags
		}
		fails(t, status, want, "", append([]string{"fit", "--criterion", "gfic", "--model", "factor"}, args...)...)
	}
	_, model := smallModel(t)
	fails(t, 2, "--fill requires a model", "", "predict", model, "--data", "faithful", "--fill")
	fails(t, 2, "--noise isotropic is a flag of --model factor, features, lds, and the model is mixture", "", "fit", "--noise", "isotropic")
	fails(t, 2, "--rotate is a flag of --model factor, and the model is mixture", "", "fit", "--rotate", "varimax")
}
