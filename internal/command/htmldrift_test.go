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

	"github.com/latent-go/latent/fitted/drift"
)

// Rows that the model was fitted to are like those of the fit, and rows that have moved are not, by as much as they have.
func TestDriftIsByHowMuchRowsHaveMoved(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--criterion", "gfic", "--out", model)
	same := pageBeside(t, "predict", model, "--data", "faithful")
	assert.Contains(t, same.text, "The new rows are like those of the fit.")
	assert.Contains(t, same.text, "There are none.")
	var now [2]float64
	n := same.length(t, "label")
	for i := range n {
		for k := range now {
			now[k] += number64(t, same.at(t, "responsibilities", i, k)) / float64(n)
		}
	}
	for k, row := range same.tables["shares"][1:] {
		assert.InDelta(t, now[k], number64(t, row[2]), 1e-12)
		assert.InDelta(t, now[k], number64(t, row[1]), 1e-3, "EM ends where the weights are the means")
	}
	for _, row := range same.tables["means ± standard deviations"][1:] {
		assert.Regexp(t, `^[+−]?0\.0\d$`, row[3])
	}

	r := rand.New(rand.NewPCG(3, 3))
	text := "eruptions,waiting\n"
	for range 500 {
		text += fmt.Sprintf("%.3f,%.1f\n", 4.29+0.41*r.NormFloat64(), 80+3*13.57+6*r.NormFloat64())
	}
	moved := pageBeside(t, "predict", model, "--data", file(t, "moved.csv", text+"2,500\n,\n"))
	for _, part := range []string{"The new rows are unlike those of the fit.", "Moved most: waiting (higher by 3.", "of the cells are missing", "The first 20 are listed."} {
		assert.Contains(t, moved.text, part)
	}
	rows := moved.tables["least likely rows"]
	require.Len(t, rows, 1+20)
	assert.Equal(t, []string{"501", "waiting"}, []string{rows[1][0], rows[1][2]})
	low := number64(t, rows[1][1])
	for _, row := range rows[1:] {
		assert.GreaterOrEqual(t, number64(t, row[1]), low)
		low = number64(t, row[1])
	}
}

// A scheduler reads the verdict as JSON, or as an exit status.
func TestDriftForPrograms(t *testing.T) {
	model, dir := filepath.Join(t.TempDir(), "m.json"), t.TempDir()
	done(t, "fit", "--criterion", "gfic", "--out", model)
	schema := schemas(t)["drift"]
	found := func() (f drift.Finding) {
		text := contents(t, filepath.Join(dir, driftName))
		conforms(t, schema, text)
		require.NoError(t, json.Unmarshal([]byte(text), &f))
		return f
	}
	out, _ := done(t, "predict", model, "--data", "faithful", "--report", dir, "--fail-on-drift")
	f := found()
	assert.Equal(t, drift.Alike, f.Verdict)
	assert.False(t, f.Drift)
	assert.Equal(t, 272, f.Rows)
	assert.InDelta(t, float64(f.Expected), float64(f.LogLik), 1e-9)
	assert.Len(t, f.Columns, 2)
	assert.False(t, f.Columns[0].Clear)

	text := "eruptions,waiting\n"
	r := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		text += fmt.Sprintf("%.3f,%.1f\n", 4.29+0.41*r.NormFloat64(), 80+3*13.57+6*r.NormFloat64())
	}
	moved := file(t, "moved.csv", text)
	status, rows, errs := latent("", "predict", model, "--data", moved, "--report", dir, "--fail-on-drift")
	assert.Equal(t, statusDrift, status)
	assert.Contains(t, errs, "moved.csv: the rows are unlike those of the fit of "+model)
	assert.Equal(t, 301, strings.Count(rows, "\n"), "the predictions are written")
	f = found()
	assert.Equal(t, drift.Unlike, f.Verdict)
	assert.True(t, f.Drift)
	assert.Equal(t, "waiting", f.Columns[0].Name)
	assert.True(t, f.Columns[0].Clear)
	assert.InDelta(t, 3.5, float64(f.Columns[0].Moved), 1)

	status, rows, _ = latent("", "predict", model, "--data", moved, "--fail-on-drift")
	assert.Equal(t, statusDrift, status)
	assert.Equal(t, 301, strings.Count(rows, "\n"))
	status, again, errs := latent("", "predict", model, "--data", "faithful", "--fail-on-drift")
	assert.Equal(t, statusDone, status, errs)
	assert.Equal(t, out, again)
	analyser := filepath.Join(t.TempDir(), "f.json")
	done(t, "fit", "--model", "factor", "--data", "crabs", "--k", "1", "--out", analyser)
	fails(t, statusUsage, "--fail-on-drift cannot be used with --forecast or --fill", "", "predict", analyser, "--data", "crabs", "--fail-on-drift", "--fill")
}

// Few rows differ by chance, and a row with gaps is compared to rows with the same gaps, which are likelier.
func TestDriftSaysWhatIsClear(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--criterion", "gfic", "--out", model)
	few := pageBeside(t, "predict", model, "--data", file(t, "few.csv", "eruptions,waiting\n4.3,80\n4.2,79\n4.4,81\n"))
	assert.Contains(t, few.text, "The new rows do not differ clearly from those of the fit: the mean log-likelihood of 3 rows is uncertain by ± 1.")
	assert.NotContains(t, few.text, "Moved most")
	assert.Contains(t, few.text, "100\u00a0% of them belong to their component with a probability of 0.9 or more; the model expects")

	text := "eruptions,waiting\n"
	r := rand.New(rand.NewPCG(5, 5))
	for i := range 400 {
		if i%25 < 9 {
			text += fmt.Sprintf("%.3f,\n", 2.04+0.26*r.NormFloat64())
		} else {
			text += fmt.Sprintf("%.3f,\n", 4.29+0.41*r.NormFloat64())
		}
	}
	gaps := pageBeside(t, "predict", model, "--data", file(t, "gaps.csv", text))
	for _, part := range []string{"The new rows are like those of the fit.", "50\u00a0% of the cells are missing: the rows that the model draws for comparison have the same gaps.", "integrated out"} {
		assert.Contains(t, gaps.text, part)
	}
}

func TestDriftOfEveryModelOfRows(t *testing.T) {
	polls := file(t, "polled.csv", polled(200))
	for _, c := range []struct{ fit, data string }{
		{"--family auto --data zoo", "zoo"},
		{"--model hmm --data geyser --k 3 --restarts 1", "geyser"},
		{"--model bpca --data iris", "iris"},
		{"--model factor --data crabs --k 1", "crabs"},
		{"--model features --data iris --k 2", "iris"},
		{"--model regression --data NOdata --response NO --k 2", "NOdata"},
		{"--gate age,region --family bernoulli --drop class --k 2 --restarts 1 --data " + polls, polls},
	} {
		model, dir := filepath.Join(t.TempDir(), "m.json"), t.TempDir()
		done(t, append([]string{"fit", "--out", model}, strings.Fields(c.fit)...)...)
		done(t, "predict", model, "--data", c.data, "--report", dir)
		page := contents(t, filepath.Join(dir, pageName))
		assert.NotContains(t, page, "The new rows are unlike", c.fit)
		assert.Equal(t, !strings.Contains(c.fit, "regression"), strings.Contains(page, "Columns then and now"), c.fit)
		assert.NotContains(t, page, "NaN")
		assert.NotContains(t, page, filepath.Dir(polls), "files without their folders")
	}
}

func TestDriftOfWhatIsNotARow(t *testing.T) {
	dir, model := t.TempDir(), filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--model", "blockmodel", "--data", "karate", "--out", model)
	fails(t, 2, "which is not about rows", "", "predict", model, "--data", "karate", "--report", dir)
	done(t, "fit", "--model", "regression", "--data", "NOdata", "--response", "NO", "--k", "1", "--out", model)
	fails(t, 2, "needs all columns of the model", "", "predict", model, "--data", file(t, "x.csv", "Equivalence\n0.9\n1\n"), "--report", dir)
	fails(t, 2, "--report is -: name a folder", "", "predict", model, "--data", "NOdata", "--report", "-")
}

// TestDriftOfSequencesKnowsThatStepsDepend: tables that the model draws are hardly ever said to differ from it, although means of steps that
// depend on each other vary more than those of independent rows; another series is.
func TestDriftOfSequencesKnowsThatStepsDepend(t *testing.T) {
	model, dir := filepath.Join(t.TempDir(), "m.json"), t.TempDir()
	done(t, "fit", "--model", "hmm", "--data", "earthquakes", "--drop", "year", "--family", "poisson", "--k", "3", "--restarts", "1", "--out", model)
	verdict := func(table string) string {
		done(t, "predict", model, "--data", table, "--report", dir, "--out", filepath.Join(dir, "p.csv"))
		page := contents(t, filepath.Join(dir, pageName))
		_, said, _ := strings.Cut(page, "What was found")
		said, _, _ = strings.Cut(said, "</section>")
		return said
	}
	var differ, moved int
	for seed := range 20 {
		table := filepath.Join(dir, "s.csv")
		done(t, "sample", model, "-n", "107", "--seed", strconv.Itoa(seed+1), "--out", table)
		said := verdict(table)
		if strings.Contains(said, "unlike") || strings.Contains(said, "less likely") {
			differ++
		}
		if strings.Contains(said, "Moved most") {
			moved++
		}
	}
	assert.LessOrEqual(t, differ, 1)
	assert.LessOrEqual(t, moved, 4, "3 here; of 50 tables 4, and 30 where steps were taken for independent rows")
	busy := "count\n"
	for i := range 107 {
		busy += fmt.Sprintln(60 + i%9)
	}
	said := verdict(file(t, "other.csv", busy))
	assert.Contains(t, said, "unlike those of the fit")
	assert.Contains(t, said, "Moved most")
}
