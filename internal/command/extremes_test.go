package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
)

// asked are flags that a model requires.
var asked = map[string][]string{"regression": {"--response", "yn"}}

// fitOf fits a model of the list to its own data set, and reports whether it can without flags of its own.
func fitOf(t *testing.T, name, method, out string, flags ...string) (fit map[string]any, ok bool) {
	t.Helper()
	args := append([]string{"fit", "--model", name, "--method", method, "--format", "json", "--out", out}, slices.Concat(flags, asked[name])...)
	status, stdout, stderr := latent("", append(args, "--max-iter", "7")...)
	if status == statusUsage { // there are no iterations
		status, stdout, stderr = latent("", args...)
	}
	if status == statusUsage {
		t.Logf("%s by %s: %s", name, method, stderr)
		return nil, false
	}
	require.Equal(t, statusDone, status, "%s by %s: %s", name, method, stderr)
	require.NoError(t, json.Unmarshal([]byte(stdout), &fit))
	return fit, true
}

// TestCriteriaAreThoseOfTheEstimatesReported, however early a fit ended: the log-likelihoods of the rows, by the model file, sum
// to what BIC has.
func TestCriteriaAreThoseOfTheEstimatesReported(t *testing.T) {
	path, compared := filepath.Join(t.TempDir(), "m.json"), 0
	for _, name := range slices.Sorted(maps.Keys(known.models)) {
		for _, method := range known.models[name].methods {
			if method == methodVB || method == methodCVB0 {
				continue // which predict by what the posterior says, and not by one estimate
			}
			data := known.models[name].Example
			fit, ok := fitOf(t, name, method, path, "--data", data, "--k", "2")
			if !ok {
				continue
			}
			var rows struct {
				LogLikelihood []float64 `json:"log_likelihood"`
			}
			stdout, _ := done(t, "predict", path, "--data", data, "--format", "json")
			require.NoError(t, json.Unmarshal([]byte(stdout), &rows))
			if rows.LogLikelihood == nil || fit["loglik"] == nil {
				continue
			}
			sum := 0.0
			for _, l := range rows.LogLikelihood {
				sum += l
			}
			require.InEpsilon(t, fit["loglik"], sum, 1e-11, "%s by %s", name, method)
			if !known.models[name].Sequences { // whose parameters are charged by several counts
				require.InEpsilon(t, fit["bic"], sum-fit["df"].(float64)/2*math.Log(fit["n"].(float64)), 1e-11, "%s by %s", name, method)
			}
			compared++
		}
	}
	require.Greater(t, compared, 10)
}

// TestPredictionsOfAnythingAreNumbersOrAnError, of every model.
func TestPredictionsOfAnythingAreNumbersOrAnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.json")
	for _, name := range slices.Sorted(maps.Keys(known.models)) {
		method := known.models[name].methods[0]
		fit, ok := fitOf(t, name, method, path, "--kmax", "2")
		if !ok {
			continue
		}
		heads, cells := []string{}, []string{}
		for _, c := range fit["columns"].([]any) {
			heads, cells = append(heads, c.(map[string]any)["name"].(string)), append(cells, "1")
		}
		for _, cell := range []string{"1e300", "-1e300", "1.7e308", "5e-324"} {
			cells[len(cells)-1] = cell
			far := file(t, "far.csv", strings.Join(heads, ",")+"\n"+strings.Join(cells, ",")+"\n"+strings.Join(cells, ",")+"\n")
			for _, format := range []string{"csv", "json"} {
				status, stdout, stderr := latent("", "predict", path, "--data", far, "--format", format)
				if status != statusDone {
					require.Equal(t, 1, strings.Count(stderr, "\n"), "%s: %s", name, stderr)
					require.Contains(t, stderr, "far.csv", name)
					continue
				}
				require.NotRegexp(t, `NaN|Inf|null`, strings.ReplaceAll(stdout, "Infant", ""), "%s at %s", name, cell)
			}
		}
	}
}

// TestWeightsOfAllSizes: an objective that falls is reported, and must not.
func TestWeightsOfAllSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 5))
	var text strings.Builder
	text.WriteString("w,a,b\n")
	for i := range 40 {
		fmt.Fprintf(&text, "%g,%.6f,%.6f\n", []float64{1, 1e15}[i%2], rng.ExpFloat64()+rng.ExpFloat64(), 0.1+rng.ExpFloat64())
	}
	data := file(t, "w.csv", text.String())
	for _, family := range []string{"gamma", "lognormal", "exponential", "gaussian-diagonal", "gaussian", "student-t"} {
		for _, method := range []string{methodVB, methodEM, methodMAP} {
			if family == "student-t" && method != methodEM {
				continue
			}
			for _, k := range []string{"1", "2", "3"} {
				stdout, _ := done(t, "fit", "--data", data, "--weights", "w", "--family", family, "--method", method, "--k", k, "--restarts", "3", "--format", "json")
				require.NotEqual(t, framework.Falling.String(), decode(t, stdout)["status"], "%s by %s, K = %s", family, method, k)
			}
		}
	}
}

// What was said of these once sent the reader elsewhere.
func TestSmallFaultsAreNamed(t *testing.T) {
	for line, part := range map[string]string{
		"fit --model hmm --start kmeans,rows":           "--start kmeans,rows: name one initialisation",
		"fit --model hmm --start kmeans,free,uniform":   "--start kmeans,free,uniform: name one distribution of the first state",
		"fit --model factor --rotate foo":               `--rotate must be one of "none","varimax","promax","oblimin" but got "foo"`,
		"fit --model hmm --missing empty":               "would join the steps",
		"fit --model bpca --missing empty --data zoo":   "--missing empty cannot be used with this model",
		"fit --model factor --rotate varimax --start x": "--start is a flag of --model bernmix, hmm, mixture, regression, and the model is factor",
	} {
		fails(t, 2, part, "", strings.Fields(line)...)
	}
	fails(t, 1, "2 rows: noise of each column needs at least three rows", "", "fit", "--model", "factor", "--data", file(t, "two.csv", "a,b,c\n1,2,3\n2,1,4\n"))

	path := filepath.Join(t.TempDir(), "h.json")
	sequences := file(t, "s.csv", "s,a,b\n1,1,2\n1,2,3\n1,2,1\n2,5,4\n2,3,3\n")
	done(t, "fit", "--model", "hmm", "--data", sequences, "--sequence", "s", "--cov", "diag", "--kmax", "2", "--out", path)
	for _, flag := range []string{"--drop", "--select"} {
		fails(t, 2, `column "s" says which sequence a row belongs to: it cannot be selected or dropped`, "", "predict", path, "--data", sequences, flag, "s")
	}
}

func TestRowsWithoutAnyValueAreLeftOutAlone(t *testing.T) {
	rows := "w,a,b,c,d\n1,1,2,3,1\n1,2,1,4,2\n1,3,1,,4\n1,2,2,5,1\n1,1,3,3,6\n1,,3,1,2\n1,4,4,2,2\n"
	whole, gap := file(t, "whole.csv", rows), file(t, "gap.csv", strings.Replace(rows, "1,3,1,,4\n", "1,,,,\n1,3,1,,4\n", 1))
	args := []string{"fit", "--model", "factor", "--method", "em", "--weights", "w", "--format", "json", "--seed", "1"}
	want, _ := done(t, append(args, "--data", whole)...)
	fails(t, 1, "gap.csv: row 3 has no value at all: drop it (--missing empty)", "", append(args, "--data", gap)...)
	path := filepath.Join(t.TempDir(), "m.json")
	got, stderr := done(t, append(args, "--data", gap, "--missing", "empty", "--out", path)...)
	require.Contains(t, stderr, "left out 1 of the 8 rows of "+gap+", which have no value")
	require.Equal(t, decode(t, want)["value"], decode(t, got)["value"])
	filled, _ := done(t, "predict", path, "--data", gap, "--missing", "empty")
	require.Contains(t, filled, "\n4,", "rows keep their numbers in the file")
	require.NotContains(t, filled, "\n3,")
}

// TestTablesAsPeopleHaveThem are read, or what is to be done is said in one line.
func TestTablesAsPeopleHaveThem(t *testing.T) {
	table := func(a func(i int) string) []string {
		var rows strings.Builder
		for i := range 40 {
			fmt.Fprintf(&rows, "%s,%d\n", a(i), i*7%11)
		}
		return []string{"--data", file(t, "t.csv", "a,b\n"+rows.String())}
	}
	but := func(cell string) []string {
		return table(func(i int) string {
			if i == 5 {
				return cell
			}
			return fmt.Sprint(i)
		})
	}
	fit := []string{"fit", "--kmax", "2", "--restarts", "1"}
	for name, c := range map[string]struct {
		args           []string
		stdout, stderr string // parts; of an error all of stderr but for the name of the file
	}{
		"minus of Unicode":  {append(fit, table(func(i int) string { return fmt.Sprintf("−%d.5", i) })...), "-eei components", ""},
		"inf as a level":    {append(fit, table(func(i int) string { return []string{"inf", "low", "high"}[i%3] })...), "categorical, gaussian", `texts are in "a"`},
		"inf among numbers": {append(fit, but("inf")...), "", `row 6 of column "a" is infinite; correct it, or leave the row out`},
		"hexadecimal": {append(fit, but("0x10")...), "categorical, gaussian",
			`treated as categorical because some cells are not numbers: "a" ("0x10" in row 6, among 39 numbers): --na=0x10 reads such cells as missing`},
		"more fields": {append(fit, but("5,5")...), "", `line 7 has 3 fields separated by ',', expected 2 as in line 1; a field that holds the separator needs quotes`},
		"fewer fields": {append(fit, "--data", file(t, "f.csv", "a,b\n1,2\n3\n")), "",
			`line 3 has 1 field separated by ',', expected 2 as in line 1; an empty field needs its separator, too`},
	} {
		status, stdout, stderr := latent("", c.args...)
		require.Contains(t, stderr, c.stderr, name)
		require.Contains(t, stdout, c.stdout, name)
		require.Equal(t, c.stdout == "", status == statusFailed, "%s: %s", name, stderr)
		if status == statusFailed {
			require.Regexp(t, `^latent: \S+\.csv: `+regexp.QuoteMeta(c.stderr)+`\n$`, stderr, name)
		}
	}

	model := filepath.Join(t.TempDir(), "m.json")
	levels := func(prefix string) []string {
		return table(func(i int) string { return fmt.Sprint(prefix, i%20+i/20*i) })
	}
	done(t, append(append(fit, "--columns", "a=categorical,b=gaussian", "--out", model), levels("L")...)...)
	_, _, stderr := latent("", append([]string{"predict", model}, levels("U")...)...)
	require.Contains(t, stderr, `row 1 of column "a" is "U0", which is none of the levels "L0"`)
	require.Less(t, len(stderr), 800)

	fails(t, 1, `column "w" is a linear combination of other columns of the gate: leave it out of the gate`, "",
		"fit", "--data", file(t, "gate.csv", "x,z,w\n"+strings.Repeat("1,2,4\n5,-1,-2\n2,3,6\n4,0.5,1\n7,-2,-4\n", 4)), "--gate", "z,w")
}
