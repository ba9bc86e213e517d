package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNewcomersTableGoesThrough: semicolons, decimal commas, ids and dates, from the file to the model and to predictions of other
// rows, where --assignments is what predict says of the same rows.
func TestNewcomersTableGoesThrough(t *testing.T) {
	dir := t.TempDir()
	model, rows := filepath.Join(dir, "m.json"), filepath.Join(dir, "rows.csv")
	table := file(t, "kunden.csv", customers(90))
	said, stderr := done(t, "fit", "--data", table, "--family", "auto", "--id", "Kunde", "--dates", "Datum", "--out", model, "--assignments", rows)
	assert.Contains(t, stderr, `dates are numbers, days since 1 January 1970: "Datum" (D.M.YYYY)`)
	assert.Contains(t, said, "gaussian (days since 1970): Datum")
	assert.NotContains(t, said+stderr, "categorical")
	want := contents(t, rows)
	assert.True(t, strings.HasPrefix(want, "Kunde,label,probability,p1"), want[:40])
	got, stderr := done(t, "predict", model, "--data", table)
	assert.Equal(t, want, got)
	assert.NotContains(t, stderr, "dates")
	assert.Equal(t, 91, strings.Count(want, "\n"))

	few, _ := done(t, "predict", model, "--data", file(t, "new.csv", "Datum;Umsatz;Abstand;Kunde\n05.06.2024;81,5;0,5;K1\n06.05.2024;;0,1;K2\n"))
	assert.Regexp(t, `(?s)^Kunde,.*\nK1,.*\nK2,`, few)
	drawn, _ := done(t, "sample", model, "-n", "3") // whose dates are numbers already
	_, _ = done(t, "predict", model, "--data", file(t, "drawn.csv", drawn))

	_, stderr = done(t, "fit", "--data", table, "--family", "auto") // what is not asked for is left out, and said
	assert.Contains(t, stderr, `"Datum" (such as "01.01.2024"): --dates Datum takes it as days since 1970`)
	assert.Contains(t, stderr, `as names, of which hardly any occurs in two rows: "Kunde"`)
}

// TestAssignmentsAreThePredictions of every model whose rows are a table, of rows with gaps and of others left out.
func TestAssignmentsAreThePredictions(t *testing.T) {
	gaps := file(t, "gaps.csv", "id,x,y\na,1,2\nb,1.5,2.5\nc,,3\nd,9,8\ne,9.5,\nf,8,9\ng,8.5,7\n")
	for _, c := range []struct{ fit, predict []string }{
		{[]string{"--data", "iris", "--kmax", "4"}, []string{"--data", "iris"}},
		{[]string{"--data", gaps, "--id", "id", "--family", "gaussian-diagonal", "--kmax", "2"}, []string{"--data", gaps, "--id", "id"}},
		{[]string{"--data", gaps, "--id", "id", "--missing", "drop", "--k", "1"}, []string{"--data", gaps, "--missing", "drop"}},
		{[]string{"--model", "bernmix", "--data", "housevotes84", "--kmax", "3"}, []string{"--data", "housevotes84"}},
		{[]string{"--model", "bpca", "--data", "iris", "--k", "2"}, []string{"--data", "iris"}},
		{[]string{"--model", "factor", "--data", holzinger}, []string{"--data", holzinger}},
		{[]string{"--model", "hmm", "--kmax", "3", "--data", "geyser"}, []string{"--data", "geyser"}},
		{[]string{"--model", "regression", "--data", "NOdata", "--response", "NO", "--kmax", "3"}, []string{"--data", "NOdata"}},
		{[]string{"--data", file(t, "polled.csv", polled(60)), "--gate", "age,region", "--drop", "class", "--family", "bernoulli", "--k", "2"}, nil},
	} {
		dir := t.TempDir()
		model, rows := filepath.Join(dir, "m.json"), filepath.Join(dir, "rows.csv")
		if c.predict == nil {
			c.predict = c.fit[:2]
		}
		_, _ = done(t, append([]string{"fit", "--out", model, "--assignments", rows}, c.fit...)...)
		want, _ := done(t, append([]string{"predict", model}, c.predict...)...)
		assert.Equal(t, want, contents(t, rows), c.fit)
	}
}

func TestAssignmentsInParquetAndWhatIsRefused(t *testing.T) {
	dir := t.TempDir()
	rows := filepath.Join(dir, "rows.parquet")
	_, _ = done(t, "fit", "--k", "2", "--assignments", rows)
	back, _ := done(t, "fit", "--data", rows, "--select", "p1,log_likelihood", "--k", "1")
	assert.Contains(t, strings.Join(strings.Fields(back), " "), "272 rows × 2 columns")
	named := file(t, "d.csv", "id,x,y,label,p12\na,1,2,u,1\nb,2,5,u,1\nc,4,1,v,1\n")
	for _, c := range []struct{ args, part string }{
		{"--assignments -", "--assignments is -, but standard output has the report"},
		{"--assignments " + named, "--assignments is the input"},
		{"--assignments " + filepath.Join(dir, "none", "a.csv"), "--assignments: "},
		{"--assignments a.csv --out a.csv", "--out and --assignments both name a.csv"},
		{"--assignments ./a.csv --out a.csv", "--out and --assignments both name ./a.csv"},
		{"--assignments a.csv --model topics", "cannot be used with --model topics"},
		{"--id id --model blockmodel", "--id cannot be used with --model blockmodel"},
		{"--id nobody", `no column "nobody"`},
		{"--id id,id", `"id" twice`},
		{"--id label", `column "label" has the name of a column of the predictions`},
		{"--id p12", `column "p12" has the name of`},
		{"--id id --drop id", `column "id" is named by --id: it cannot be selected or dropped`},
		{"--id id --weights id", `column "id" is named by --weights and by --id: it cannot be both`},
		{"--dates x", `--dates: column "x": it does not have a form of dates`},
		{"--dates nobody", `no column "nobody"`},
		{"--dates x,x", "each column once"},
	} {
		args := append([]string{"fit", "--data", named}, strings.Fields(c.args)...)
		status, _, stderr := latent("", args...)
		require.NotZero(t, status, c.args)
		assert.Contains(t, stderr, c.part)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	_, err := os.Stat("a.csv")
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, _ = done(t, "select", "--data", named, "--id", "id", "--drop", "label,p12", "--kmax", "1", "--family", "gaussian-diagonal")
}
