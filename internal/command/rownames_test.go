package command

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/outcome"
)

// A first column without a name is passed through, and no data, whether or not a later table has it.
func TestColumnThatNamesTheRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	texts, bare := "\"\",\"a\",\"V1\"\n", "a,V1\n"
	for i := range 40 {
		row := fmt.Sprintf("%.3f,%.3f\n", float64(i%2*9)+rng.NormFloat64(), rng.NormFloat64())
		texts, bare = texts+fmt.Sprintf("\"%d\",", i+1)+row, bare+row
	}
	dir := t.TempDir()
	model, assigned := filepath.Join(dir, "m.json"), filepath.Join(dir, "rows.csv")
	path, plain := file(t, "d.csv", texts), file(t, "plain.csv", bare)
	with, stderr := done(t, "fit", "--data", path, "--out", model, "--assignments", assigned)
	assert.Equal(t, []string{"latent: PATH: column 1, which has no name in the header, numbers the rows and is not data " +
		"(--id 'column 1')"}, notes(stderr, path))
	assert.Contains(t, with, "40 rows × 2 columns")

	rows, stderr := done(t, "predict", model, "--data", path)
	assert.Empty(t, stderr)
	written, err := os.ReadFile(assigned)
	require.NoError(t, err)
	assert.Equal(t, string(written), rows)
	assert.True(t, strings.HasPrefix(rows, "column 1,"), rows)
	assert.Contains(t, rows, "\n40,")
	bareRows, stderr := done(t, "predict", model, "--data", plain)
	assert.Empty(t, stderr)
	for i, line := range strings.Split(strings.TrimSpace(rows), "\n") {
		_, line, _ = strings.Cut(line, ",")
		assert.Equal(t, line, strings.Split(bareRows, "\n")[i])
	}

	_, stderr = done(t, "fit", "--data", file(t, "d.csv", "\"\",a,b,,\n"+strings.Repeat("x,1,2,3,\ny,2,4,5,\nx,3,9,6,\n", 4)), "--k", "1")
	assert.Contains(t, stderr, `the header has no name for "column 1", "column 4", named by their places`)
	assert.Contains(t, stderr, `left out, with neither a name in the header nor a value: column 5`)
}

// Numbers of rows, and those in their order, are left out of tables of numbers, too, unless a flag asks for them.
func TestIdentifiersInTablesOfNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	text := "X,year,a,b\n"
	for i := range 40 {
		text += fmt.Sprintf("%d,%d,%.3f,%.3f\n", i+1, 1900+2*i, rng.NormFloat64(), rng.NormFloat64())
	}
	path := file(t, "d.csv", text)
	for _, args := range [][]string{{"--k", "1"}, {"--model", "bpca"}} {
		stdout, stderr := done(t, append([]string{"fit", "--data", path}, args...)...)
		assert.Contains(t, stdout, "40 rows × 2 columns")
		assert.Equal(t, []string{
			`latent: PATH: left out as numbers of the rows: "X" (1 to 40): --select with all columns to fit keeps it`,
			`latent: PATH: left out as identifiers, which rise or fall from row to row: "year" (1900 to 1978): --select with all columns to fit keeps it`,
		}, notes(stderr, path)[:2])
	}
	for _, args := range [][]string{{"--select", "X,year,a,b"}, {"--family", "gaussian"}} {
		stdout, _ := done(t, append([]string{"fit", "--data", path, "--k", "1"}, args...)...)
		assert.Contains(t, stdout, "40 rows × 4 columns")
	}
	stdout, _ := done(t, "fit", "--data", path, "--select", "year", "--k", "1", "--family", "auto")
	assert.Contains(t, stdout, "40 rows × 1 column\n", "the only column is a measurement")
	text = "order,x,y\n"
	for i := range 40 {
		text += fmt.Sprintf("98765432%09d,%.3f,%.3f\n", i*i*7919, rng.NormFloat64(), rng.NormFloat64())
	}
	path = file(t, "d.csv", text)
	_, stderr := done(t, "fit", "--data", path, "--k", "1")
	assert.Equal(t, `latent: PATH: left out as identifiers, whole numbers of many digits: "order" (17 digits): `+
		"--select with all columns to fit keeps it", notes(stderr, path)[0])
}

// Columns that are hardly data of a family are noted with the flag that says what they are.
func TestRemarksOnColumns(t *testing.T) {
	counts, rain, series := "Hair,Eye,Freq\n", "date,rain,temp,grade\n", "day,level\n"
	rng := rand.New(rand.NewPCG(3, 5))
	for i := range 60 {
		if i < 12 {
			counts += fmt.Sprintf("%c,%d,%d\n", 'a'+i%4, i/4, i*i%37)
		}
		rain += fmt.Sprintf("2024-%02d-%02d,%.1f,%.2f,%d\n", 1+i/28, 1+i%28, float64(i%2)*(1+9*rng.Float64()), rng.NormFloat64(), 1+i%3)
		series += fmt.Sprintf("%d,%.2f\n", 2000+3*i, rng.NormFloat64())
	}
	for _, c := range []struct {
		text, note string
		args       []string
	}{
		{counts, `"Freq" may say how often a row occurs, as no two rows are equal in the other columns: --weights Freq`, nil},
		{rain, `many zeros, and other numbers far from them, a gap that alone may decide the components: "rain" (50 % of the rows): --drop`, nil},
		{rain, `few different numbers, as codes have: "grade" (3 values`, []string{"--drop", "date", "--family", "gaussian"}},
		{rain, `one series is left: --model hmm describes its rows as steps, if they are in the order of "date"`, []string{"--select", "date,temp"}},
		{series, `one series is left: --model hmm describes its rows as steps, if they are in the order of "day"`, nil},
		{"# of 2024\n" + strings.Replace(counts, "a,", "A ,", 1), `levels of their own, though they differ in case or blanks alone: "A " and "a" of "Hair"`, nil},
		{"# of 2024\n" + series, `left out above the table: "# of 2024"`, nil},
	} {
		path := file(t, "d.csv", c.text)
		_, stderr := done(t, append([]string{"fit", "--data", path, "--k", "1"}, c.args...)...)
		assert.Contains(t, stderr, c.note)
	}
	_, noted := done(t, "fit", "--data", file(t, "d.csv", counts), "--k", "1", "--family", "auto")
	assert.Contains(t, noted, "--weights Freq")
	for _, text := range []string{counts + "a,0,5\n", strings.ReplaceAll(counts, "Freq", "size"), strings.Replace(counts, ",0\n", ",0.5\n", 1)} {
		_, stderr := done(t, "fit", "--data", file(t, "d.csv", text), "--k", "1")
		assert.NotContains(t, stderr, "--weights")
	}
	_, stderr := done(t, "fit", "--data", file(t, "d.csv", series), "--k", "1", "--model", "hmm")
	assert.NotContains(t, stderr, "one series")
}

// Addresses, and other texts that differ in every row, are left out, however they look; if nothing else is there, one line
// says so.
func TestAddressesAreLeftOut(t *testing.T) {
	points, commas, alone := "ip,x\n", "ip;x\n", "ip\n"
	for i := range 40 {
		ip := fmt.Sprintf("192.168.%d.%d", 100+i, 100+i*i%151)
		points, commas, alone = points+fmt.Sprintf("%s,%d\n", ip, i*i%23), commas+fmt.Sprintf("%s;%d,5\n", ip, i*i%23), alone+ip+"\n"
	}
	for _, text := range []string{points, commas} {
		path := file(t, "d.csv", text)
		_, stderr := done(t, "fit", "--data", path, "--k", "1")
		assert.Contains(t, notes(stderr, path), `latent: PATH: left out as names, of which hardly any occurs in two rows: "ip" (40 levels `+
			"in 40 rows): --columns ip=categorical keeps it")
	}
	fails(t, 1, `no column is left to fit: left out as names, of which hardly any occurs in two rows: "ip" (40 levels in 40 rows): `+
		"--columns ip=categorical keeps it (fields are separated by commas, semicolons, tabs or bars, or by blanks, as many in each line)", "", "fit", "--data", file(t, "d.csv", alone))
}

// Numbers that stand for missing values, such as -999, are noted with the flag that reads them so, which takes -999.0,
// too; numbers that others are near to are not.
func TestCodesOfMissingValuesAreNoted(t *testing.T) {
	text := "ozone,age,dose,even\n"
	for i := range 60 {
		ozone, age, dose := fmt.Sprint(float64(30+i*i%47)/8), fmt.Sprint(20+i*i%79), fmt.Sprint(100*(i*i%101))
		if i%13 == 5 {
			ozone, age, dose = "-999.0", []string{"99", "999"}[i%2], "9999"
		}
		text += fmt.Sprintf("%s,%s,%s,%d\n", ozone, age, dose, -99*(i%2))
	}
	path := file(t, "d.csv", text)
	_, stderr := done(t, "fit", "--data", path, "--k", "1") // which reads the first as missing
	assert.Contains(t, notes(stderr, path), "latent: PATH: far from all other numbers of the column, like codes for missing "+
		`values: 999 in 3 cells of "age": --na=999 if they are codes`)
	_, stderr = done(t, "fit", "--data", path, "--k", "1", "--family", "gaussian")
	assert.Contains(t, notes(stderr, path), "latent: PATH: far from all other numbers of the column, like codes for missing "+
		`values: -999 in 5 cells of "ozone", 999 in 3 cells of "age": --na=-999 --na=999 if they are codes`)
	_, stderr = done(t, "fit", "--data", path, "--k", "1", "--na=-999", "--na=999")
	assert.Contains(t, stderr, `--na '-999' makes 5 cells`)
	assert.NotContains(t, stderr, "codes of missing values")
}

// What is no table, or not one as it stands, is an error of one line that says what to do.
func TestTablesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.pdf", "b.pdf"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("%PDF-1.4\n"), 0o600))
	}
	const header = ", and names of rows need a place in the header, which write.table of R leaves out (col.names = NA, or write.csv)"
	for _, c := range []struct{ source, want string }{
		{dir, "is a directory: name a file, or a pattern of files"},
		{filepath.Join(dir, "*.pdf"), "a.pdf: this is a PDF document, not a table of text; save the table as CSV in UTF-8"},
		{file(t, "w.xlsx", "PK\x03\x04\x14\x00\x06\x00xl/workbook.xml"), "this is a workbook of a spreadsheet program, not a table of " +
			"text; save one sheet as CSV in UTF-8 (in Excel by File, Save As, CSV UTF-8)"},
		{file(t, "d.csv", "a,b\n1,2\n"), "1 row: a fit needs several"},
		{file(t, "d.csv", "a,b\nx,2\n"), "1 row: a fit needs several"},
		{file(t, "d.csv", "a,b,c\n1,2\n3\n4,5,6,7\n"), "line 2 has 2 fields separated by ',', expected 3 as in line 1; an empty field"},
		{file(t, "d.csv", "a,b,c\n1,2,3\n3\n4,5,6,7\n"), "line 3 has 1 field separated by ',', expected 3 as in line 1; an empty field"},
		{file(t, "d.csv", "a\tb\n1\t2\t3\n"), "needs quotes" + header},
		{file(t, "d.csv", "a\tb\n1\t2\n1\t2\t3\n"), "needs quotes\n"},
	} {
		fails(t, 1, c.want, "", "fit", "--data", c.source)
	}
	levels := "a,b\n"
	for i := range 400 {
		levels += fmt.Sprintf("level %d,%d\n", i%100, i*i%7)
	}
	model := filepath.Join(dir, "m.json")
	done(t, "fit", "--data", file(t, "d.csv", levels), "--k", "1", "--out", model)
	_, _, stderr := latent("", "predict", model, "--data", file(t, "d.csv", "a,b\nnone,1\n"))
	assert.Contains(t, stderr, `, … (100 in all); give it one of them, or leave it empty (--unseen missing takes`)
	assert.Less(t, len(stderr), 500)
}

// select leaves the column of --label out, as fit does, and compares every K to it.
func TestSelectComparesWithLabels(t *testing.T) {
	fit := fitJSON(t, "--data", "iris", "--label", "Species", "--family", "gaussian-tied", "--method", "em", "--k", "3")
	stdout, _ := done(t, "select", "--data", "iris", "--label", "Species", "--family", "gaussian-tied", "--kmax", "3", "--format", "json")
	var got outcome.Selection
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Len(t, got.Table, 3)
	assert.Equal(t, "Species", got.Label)
	assert.Equal(t, 4, got.D)
	assert.Zero(t, float64(*got.Table[0].AdjustedRand), "one component is no clustering")
	assert.InDelta(t, float64(fit.Agreement.AdjustedRand), float64(*got.Table[2].AdjustedRand), 1e-9)
	text, _ := done(t, "select", "--data", "iris", "--label", "Species", "--family", "gaussian-tied", "--kmax", "2", "--out", filepath.Join(t.TempDir(), "t.csv"))
	assert.Contains(t, text, `adjusted Rand of components and column "Species": K = 1: 0.0000, K = 2:`)
	fails(t, 2, "--label compares components of one family, and cannot be used with --family all or --cov all", "", "select", "--data", "iris", "--label", "Species", "--cov", "all")
	fails(t, 2, "--label requires a mixture", "", "select", "--model", "factor", "--data", "iris", "--label", "Species")
}
