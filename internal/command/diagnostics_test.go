package command

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/families"
)

func notes(stderr, path string) []string {
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(stderr, path, "PATH")), "\n")
}

func TestColumnsThatMayMisleadAutoAreNoted(t *testing.T) {
	text := "id,name,age,income,visits\n"
	for i := range 20 {
		age := fmt.Sprint(30 + i%10*7)
		switch i {
		case 4, 9:
			age = "?"
		case 11:
			age = "not known"
		}
		text += fmt.Sprintf("%d,n%d,%s,%d,%d\n", 20-i, i, age, 100+i%7*900, i%4)
	}
	path := file(t, "d.csv", text)
	args := []string{"fit", "--data", path, "--family", "auto", "--k", "1"}
	_, stderr := done(t, args...)
	assert.Equal(t, []string{
		`latent: PATH: left out as numbers of the rows: "id" (1 to 20): --columns id=gaussian keeps it`,
		`latent: PATH: left out as names, of which hardly any occurs in two rows: "name" (20 levels in 20 rows): --columns name=categorical keeps it`,
		`latent: PATH: treated as categorical because some cells are not numbers: "age" ("?", "not known" in 3 cells, the first in row 5, among 17 numbers): --na='?' --na='not known' reads such cells as missing`,
	}, notes(stderr, path))

	_, stderr = done(t, append(args, "--na=?", "--na=not known", "--na=-1", "--drop", "id,name", "--columns", "income=gaussian")...)
	assert.Equal(t, []string{
		`latent: --na '?' makes 2 cells of PATH missing, in "age"`,
		`latent: --na 'not known' makes 1 cell of PATH missing, in "age"`,
		`latent: --na '-1' makes no cell of PATH missing: no cell in use is "-1"`,
		`latent: 3 missing values in 3 of the 20 rows of PATH integrated out (--missing drop leaves the rows out)`,
	}, notes(stderr, path))

	// What is in doubt or left out is in JSON too.
	r := fitJSON(t, args[1:]...)
	assert.Len(t, r.Warnings, 3)
	assert.Equal(t, []string{"texts (\"?\", \"not known\" in 3 cells, the first in row 5, among 17 numbers)", "whole numbers (variance 3.02e+06, mean 2.66e+03)", "counts (variance 1.25, mean 1.5)"},
		[]string{r.Columns[0].Reason, r.Columns[1].Reason, r.Columns[2].Reason})

	// Columns whose family is given are no business of auto.
	_, stderr = done(t, append(args, "--columns", "id=gaussian,name=categorical,age=categorical,income=poisson")...)
	assert.Empty(t, stderr)
	fails(t, 2, "zoo is an embedded data set", "", "fit", "--data", "zoo", "--family", "auto", "--na", "x")
}

// TestFewTextsAmongNumbersAreMissing to auto, which says so: the fit is that of --na, and so are its predictions and assignments.
func TestFewTextsAmongNumbersAreMissing(t *testing.T) {
	table := func(mark, kind string) string {
		text := "x,y,kind\n"
		for i := range 120 {
			x := fmt.Sprintf("%.2f", math.Sin(float64(i))+float64(i%2*9))
			if i == 16 || i == 60 {
				x = mark
			}
			text += fmt.Sprintf("%s,%.2f,%s\n", x, math.Cos(1.3*float64(i)), []string{"a", kind}[i%2])
		}
		return text
	}
	dir := t.TempDir()
	path := file(t, "d.csv", table("o.B.", "b"))
	model, rows := dir+"/m.json", dir+"/rows.csv"
	args := []string{"fit", "--data", path, "--family", "auto", "--k", "2", "--format", "json", "--out", model, "--assignments", rows}
	got, stderr := done(t, args...)
	assert.Equal(t, []string{
		`latent: PATH: read as missing values, texts among numbers: "x" ("o.B." in 2 cells, the first in row 17, among 118 numbers): --columns x=categorical keeps all as texts`,
		`latent: 2 missing values in 2 of the 120 rows of PATH integrated out (--missing drop leaves the rows out)`,
	}, notes(stderr, path))
	assigned := contents(t, rows)
	predicted, _ := done(t, "predict", model, "--data", path)
	assert.Equal(t, assigned, predicted)
	want, _ := done(t, append(args, "--na=o.B.")...)
	assert.Equal(t, assigned, contents(t, rows))
	r, s := reportOf(t, got, args...), reportOf(t, want, args...)
	assert.Equal(t, s.Value, r.Value)
	assert.Equal(t, s.Columns, r.Columns)
	assert.Equal(t, []string{"o.B."}, r.Settings.NA)

	for _, c := range []struct{ text, flags, note string }{
		{table("-", "-"), "", `treated as categorical because some cells are not numbers: "x" ("-" in 2 cells`},   // which another column has as a level
		{table("3+", "b"), "", `treated as categorical because some cells are not numbers: "x" ("3+" in 2 cells`}, // which says more
		{table("none", "b"), "--missing drop", `treated as categorical because some cells are not numbers`},
		{table("none", "b"), "--columns x=categorical", ""},
	} {
		_, stderr := done(t, append([]string{"fit", "--data", file(t, "e.csv", c.text), "--family", "auto", "--k", "1"}, strings.Fields(c.flags)...)...)
		assert.Contains(t, stderr, c.note)
		assert.NotContains(t, stderr, "read as missing values")
	}
	fails(t, 1, `column "x" is categorical: row 17 is "o.B."; a numeric column is needed here (--na=o.B. for a missing value, --drop x,kind, or --family auto)`, "", "fit", "--data", path, "--k", "1", "--family", "gaussian")
	fails(t, 1, `column "x" is categorical: row 17 is "o.B."; drop it (--na=o.B. for a missing value, --drop x)`, "", "fit", "--data", path, "--drop", "kind", "--model", "ppca", "--k", "1")
}

// TestSureCodesAreMissing where nobody chose a family: the fit, its predictions and those of later tables are those of --na.
func TestSureCodesAreMissing(t *testing.T) {
	table := func(other string) string {
		text := "x,y,w\n"
		for i := range 120 {
			x, y := fmt.Sprintf("%.2f", math.Sin(float64(i))+float64(i%2*9)), fmt.Sprintf("%.2f", math.Cos(1.3*float64(i)))
			if i%40 == 7 {
				x = "-999"
			}
			if i%50 == 3 && other != "" {
				y = other
			}
			text += fmt.Sprintf("%s,%s,%d\n", x, y, 1+i%2)
		}
		return text
	}
	const claim = `read as missing values, far from all other numbers of the column: `
	path, dir := file(t, "d.csv", table("")), t.TempDir()
	for _, flags := range []string{"", "--weights w", "--model hmm"} {
		args := append([]string{"fit", "--data", path, "--k", "2", "--format", "json", "--out", dir + "/m.json"}, strings.Fields(flags)...)
		got, stderr := done(t, args...)
		assert.Contains(t, notes(stderr, path), "latent: PATH: "+claim+`-999 in 3 cells of "x": --columns x=gaussian takes it as a number`)
		predicted, _ := done(t, "predict", dir+"/m.json", "--data", file(t, "e.csv", "x,y,w\n-999.0,1,1\n"))
		want, stderr := done(t, append(args, "--na=-999")...)
		assert.NotContains(t, stderr, claim)
		assert.Equal(t, reportOf(t, want, args...).Value, reportOf(t, got, args...).Value, flags)
		assert.Equal(t, []string{"-999"}, reportOf(t, got, args...).Settings.NA)
		wanted, _ := done(t, "predict", dir+"/m.json", "--data", file(t, "e.csv", "x,y,w\n,1,1\n"))
		assert.Equal(t, wanted, predicted)
	}
	for other, flags := range map[string]string{"-999": "", "-1200": "", "": "--family gaussian", "NA": "--columns x=gaussian"} {
		_, stderr := done(t, append([]string{"fit", "--data", file(t, "e.csv", table(other)), "--k", "1"}, strings.Fields(flags)...)...)
		assert.Equal(t, other == "-999" || other == "-1200", strings.Contains(stderr, claim), "%q: %s", other, stderr)
	}
	its := strings.Replace(table(""), "x,y,w\n", "x,y,w\n1,-999,1\n2,-500,1\n2,-999,1\n", 1) // y has it for itself
	_, stderr := done(t, "fit", "--data", file(t, "e.csv", its), "--k", "1")
	assert.NotContains(t, stderr, claim)
}

// Columns that --family takes for categorical, with hardly two rows a level, are noted with what describes them.
func TestLevelsThatAreTooManyAreNoted(t *testing.T) {
	text := "height,name,kind\n"
	for i := range 60 {
		text += fmt.Sprintf("%d.%d,n%d,%c\n", 150+i*i%31, i%10, i/2, 'a'+i%3)
	}
	path := file(t, "d.csv", text)
	_, stderr := done(t, "fit", "--data", path, "--model", "lca", "--k", "1")
	assert.Subset(t, notes(stderr, path), []string{
		`latent: PATH: numbers treated as categorical, with too few rows for each level to tell classes apart: "height" (55 levels in 60 rows): ` +
			`--columns height=gaussian describes measurements`,
		`latent: PATH: texts with too few rows for each level to tell classes apart: "name" (30 levels in 60 rows): --drop name leaves it out`,
	})
	stdout, stderr := done(t, "fit", "--data", path, "--model", "lca", "--k", "1", "--columns", "height=gaussian", "--drop", "name")
	assert.NotContains(t, stderr, "too few rows")
	assert.Contains(t, stdout, "mean ± sd")
}

// Texts that pandas reads as missing are in columns of texts, too, with a note; other marks are levels, with one.
func TestTextsForMissingValuesAreNoted(t *testing.T) {
	text := "x,kind,mark\n"
	for i := range 60 {
		text += fmt.Sprintf("%s,%s,%s\n", []string{"1.5", "2", "NULL", "4"}[i%4], []string{"a", "b", "n/a", "k. A."}[i/15], []string{"c", "?"}[i%2])
	}
	path := file(t, "d.csv", text)
	stdout, stderr := done(t, "fit", "--data", path, "--family", "categorical", "--k", "1", "--format", "json")
	assert.Contains(t, stderr, `latent: `+path+`: N/A, NULL, k.A. and the like are read as missing: 45 cells, in "x", "kind"`)
	assert.Equal(t, []string{"a", "b"}, reportOf(t, stdout).Columns[1].Levels)
	_, stderr = done(t, "fit", "--data", path, "--k", "1")
	assert.Contains(t, stderr, `with levels that often stand for missing values: "mark" ("?"): --na='?' reads such cells as missing`)
}

// Texts in order are levels of an ordinal family in this order, which predict takes; others are refused.
func TestOrdinalTextsAreInTheirOrder(t *testing.T) {
	text := "x,y,c\n"
	for i := range 60 {
		text += fmt.Sprintf("%s,%.2f,%c\n", []string{"medium", "low", "low", "high"}[i%4], math.Sin(float64(i)), 'a'+i%3)
	}
	path, model := file(t, "d.csv", text), t.TempDir()+"/m.json"
	stdout, _ := done(t, "fit", "--data", path, "--columns", "x=ordinal", "--k", "1", "--format", "json", "--out", model)
	assert.Equal(t, []string{"low", "medium", "high"}, reportOf(t, stdout).Columns[0].Levels)
	stdout, _ = done(t, "predict", model, "--data", file(t, "e.csv", "x,y,c\nhigh,0,a\nmedium,0,a\n"))
	assert.Len(t, strings.Split(strings.TrimSpace(stdout), "\n"), 3)
	fails(t, 1, `column "c" holds texts, whose order is unknown: number the levels in their order, as in 1 low and 2 high`, "",
		"fit", "--data", path, "--columns", "c=ordinal")
}

// The advice of a note makes a fit in which the columns are no longer noted.
func TestNotesOnColumnsCanBeFollowed(t *testing.T) {
	cells := func(rows int, cell func(i int) any) string {
		text := "x;y\n"
		for i := range rows {
			text += fmt.Sprintf("%v;%.3f\n", cell(i), math.Sin(float64(i)))
		}
		return text
	}
	for _, c := range []struct{ text, note, follow string }{
		{cells(30, func(i int) any { return 1 + i%5 }), `categorical, with few different numbers: "x" (5 values, 1 to 5): --columns x=ordinal if their order matters`, "--columns x=ordinal"},
		{cells(30, func(i int) any { return i % 3 * 2 }), `"x" (3 values, 0 to 4): --columns x=ordinal`, "--columns x=categorical"},
		{cells(60, func(i int) any { return i % 3 }), `"x" (3 values, 0 to 2): --columns x=ordinal`, "--columns x=ordinal"},
		{cells(30, func(i int) any { return i%3 - 1 }), `"x" (3 values, -1 to 1): --columns x=ordinal`, "--columns x=categorical"},
		{cells(30, func(i int) any { return 170 + i*7%20 }), "", ""},
		{cells(30, func(i int) any { return 1 + i%2 }), "", ""},
		{cells(30, func(i int) any { return 1000 + i*i }), `left out as identifiers, which rise or fall from row to row: "x" (1000 to 1841): --columns x=gaussian keeps it`, "--columns x=gaussian"},
		{cells(30, func(i int) any { return fmt.Sprintf("2024-01-%02d", 1+i) }), `left out, dates or times: "x" (such as "2024-01-01"): --dates x takes it as days since 1970`, "--dates x"},
		{cells(30, func(i int) any { return []string{"<5", "5-9", "10+"}[i%3] }), `although the texts show an order: "x" ("<5" to "10+"): --columns x=ordinal if`, "--columns x=ordinal"},
		{cells(60, func(i int) any { return fmt.Sprintf("L%d", i*7%20) }), `few rows for each level: "x" (20 levels in 60 rows): --drop x leaves it out`, "--drop x"},
		{cells(30, func(i int) any { return []string{"a", "b", "-", "n.a."}[i%4] }), `levels that often stand for missing values: "x" ("-", "n.a."): --na='-' --na=n.a. reads`, "--na=- --na=n.a."},
		{cells(30, func(i int) any { return fmt.Sprintf("1,%d", i%9) }), `commas in decimals: "x": write points or commas throughout (--decimal)`, "--drop x"},
		{cells(30, func(int) any { return 3 }), `left out, with the same value in every row: "x"`, "--drop x"},
		{cells(30, func(i int) any { return []string{"X", ""}[i%2] }), `with the same value in every row: "x" ("X" or nothing): write no into empty cells that mean no`, "--drop x"},
		{cells(30, func(int) any { return "a" }), `left out, with the same value in every row: "x"`, "--drop x"},
		{cells(30, func(i int) any { return i % 2 }), "", ""},
		{cells(30, func(i int) any { return "no yes"[i%2*3:][:2] }), "", ""},
	} {
		path := file(t, "d.csv", c.text)
		args := []string{"fit", "--data", path, "--family", "auto", "--k", "1"}
		_, stderr := done(t, args...)
		if c.note == "" {
			assert.Empty(t, stderr, c.text)
			continue
		}
		assert.Contains(t, stderr, c.note)
		_, stderr = done(t, append(args, strings.Fields(c.follow)...)...)
		assert.NotRegexp(t, `(left out|read as missing|treated as|with levels).*"x"`, stderr, c.follow)
	}
}

func TestManyDoubtfulColumnsShareANote(t *testing.T) {
	text := "a,b,\"c,d\",e\n"
	for i := range 81 {
		text += fmt.Sprintf("%d,%d,%d,%d\n", 1+i%3, 1+i/3%3, 1+i/9%3, 1+i/27)
	}
	path := file(t, "d.csv", text)
	_, stderr := done(t, "fit", "--data", path, "--family", "auto", "--method", "gfab", "--k", "1")
	assert.Equal(t, []string{`latent: PATH: treated as categorical, with few different numbers: "a" (3 values, 1 to 3), "b" (3 values, 1 to 3), "c,d" (3 values, 1 to 3), … (4 columns): --columns 'a=ordinal,b=ordinal,c\,d=ordinal' and so on if their order matters`}, notes(stderr, path))
	r := fitJSON(t, "--data", path, "--columns", `c\,d=categorical`, "--k", "1")
	assert.Equal(t, families.Categorical, r.Columns[2].Family)
	_, stderr = done(t, "fit", "--data", path, "--columns", "b=gaussian,e=poisson,c\\,d=poisson", "--k", "1")
	assert.Contains(t, stderr, `--columns 'b=gaussian,e=poisson,c\,d=poisson,a=ordinal' if their order matters`, "those given stay")
}

// skewedTable has a lognormal column and one of waiting times.
func skewedTable() string {
	rng, text := rand.New(rand.NewPCG(4, 4)), "a,b\n"
	for range 300 {
		text += fmt.Sprintf("%.5f,%.5f\n", math.Exp(rng.NormFloat64()), rng.ExpFloat64()+rng.ExpFloat64())
	}
	return text
}

func TestAutoTellsTheFamilyOfEachColumn(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"zoo", "categorical of 2 levels (texts): hair, feathers, eggs, milk, airborne, aquatic, predator, toothed, backbone, breathes, venomous, fins, tail, domestic, catsize categorical of 6 levels (few values): legs"},
		{"faithful", "gaussian (numbers): eruptions gaussian (whole numbers): waiting"},
		{file(t, "d.csv", "a,b\n1.5,2.5\n2.5,3.5\n7.5,1.5\n2.5,4.5\n"), "gaussian (numbers): a, b"},
		{file(t, "skew.csv", skewedTable()), "lognormal (long tail): a gamma (long tail): b"},
	} {
		for _, command := range []string{"fit", "select"} {
			stdout, _ := done(t, command, "--data", c.data, "--family", "auto", "--kmax", "2")
			assert.Contains(t, strings.Join(strings.Fields(stdout), " "), c.want)
		}
	}
}

// codes are texts that numbers would not tell apart, in two kinds of rows.
func codes(rows int) string {
	text := "zip,id,x\n"
	for i := range rows {
		text += fmt.Sprintf("%s,%s,%d\n", []string{"01234", "02139"}[i%2], []string{"1.0", "01", "9007199254740993", "1"}[i%4], i%2*20+i%5)
	}
	return text
}

func TestTextsThatLookLikeNumbersAreKept(t *testing.T) {
	ids := []string{"01", "1", "1.0", "9007199254740993"}
	zips := []string{"01234", "02139"}
	path, model := file(t, "d.csv", codes(40)), t.TempDir()+"/m.json"
	for _, args := range [][]string{
		{"--columns", "zip=categorical,id=categorical,x=poisson", "--k", "2"},
		{"--family", "auto", "--columns", "id=categorical,x=poisson", "--k", "2"},
		{"--family", "categorical", "--columns", "x=poisson", "--k", "2"},
	} {
		r := fitJSON(t, append([]string{"--data", path, "--out", model}, args...)...)
		assert.Equal(t, []data.Column{{Name: "zip", Family: "categorical", Levels: zips}, {Name: "id", Family: "categorical", Levels: ids}, {Name: "x", Family: "poisson"}}, withoutReasons(r.Columns), "%v", args)

		want, _ := done(t, "predict", model, "--data", path)
		_, rest, _ := strings.Cut(codes(40), "\n")
		got, _ := done(t, "predict", model, "--data", file(t, "unnamed.csv", rest))
		assert.Equal(t, want, got, "columns by their places")
		fails(t, 1, `row 1 of column "id" is "9007199254740992", which is none of the levels`, "", "predict", model, "--data", file(t, "o.csv", "zip,id,x\n01234,9007199254740992,1\n"))
	}
	stdout, _ := done(t, "sample", model, "-n", "50")
	for _, row := range records(t, stdout)[1:] {
		assert.Contains(t, zips, row[0])
		assert.Contains(t, ids, row[1])
	}

	// Where the column is said to be one of numbers, it is.
	r := fitJSON(t, "--data", path, "--family", "auto", "--columns", "zip=gaussian", "--drop", "id", "--k", "1")
	require.Equal(t, families.Gaussian, r.Columns[0].Family)
	assert.InDelta(t, (1234+2139)/2., float64(r.Components[0].Columns[0].Values["mean"]), 1e-9)
	r = fitJSON(t, "--data", path, "--family", "poisson", "--weights", "x", "--select", "zip", "--k", "1")
	assert.Equal(t, families.Poisson, r.Columns[0].Family)
}

func withoutReasons(columns []data.Column) (list []data.Column) {
	for _, c := range columns {
		c.Reason = ""
		list = append(list, c)
	}
	return list
}

// Where nothing would be left, it is an error that names every column.
func TestTablesOfNothingButIdentifiersAreRefused(t *testing.T) {
	text := "id,name,one\n"
	for i := range 12 {
		text += fmt.Sprintf("%d,n%d,1\n", i+1, i)
	}
	fails(t, 1, `no column is left to fit: left out as numbers of the rows: "id" (1 to 12): --columns id=gaussian keeps it; left out as names, of which hardly any occurs in two rows: "name" (12 levels in 12 rows): --columns name=categorical keeps it; left out, with the same value in every row: "one"`,
		"", "fit", "--data", file(t, "d.csv", text), "--family", "auto")
}

// Columns of two values are codes of two levels, unless a Gaussian is asked for, which suggests that.
func TestTwoValuesSuggestAuto(t *testing.T) {
	text := "a,b,promo,sex\n"
	for i := range 60 {
		text += fmt.Sprintf("%.3f,%.3f,%d,%d\n", math.Sin(float64(i)), math.Cos(float64(3*i)), i%3/2, 1+i%2)
	}
	path := file(t, "d.csv", text)
	_, stderr := done(t, "fit", "--data", path, "--k", "1", "--family", "gaussian")
	assert.Equal(t, []string{`latent: PATH: 2 columns have 2 values ("promo", "sex"): --family auto would treat them as Bernoulli`}, notes(stderr, path))
	_, stderr = done(t, "fit", "--data", path, "--k", "1", "--family", "gaussian", "--drop", "sex")
	assert.Equal(t, []string{`latent: PATH: "promo" has 2 values: --family auto would treat it as Bernoulli`}, notes(stderr, path))
	r := fitJSON(t, "--data", path, "--k", "1", "--family", "auto")
	assert.Equal(t, []data.Column{{Name: "promo", Family: "bernoulli", Reason: "two values (0 and 1)"}, {Name: "sex", Family: "bernoulli", Levels: []string{"1", "2"}, Reason: "two values (1 and 2)"}}, r.Columns[2:])
	assert.Empty(t, r.Warnings)
	assert.InDelta(t, 0.5, float64(r.Components[0].Columns[3].Values["probability"]), 1e-9)
}
