package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		`latent: PATH: numbered as rows are: "id" (1 to 20): --drop id leaves it out`,
		`latent: PATH: another text in every row, as names have: "name": --drop name leaves it out`,
		`latent: PATH: taken for categorical because some cells are no numbers: "age" ("?", "not known" in 3 cells, among 17 numbers): --na='?' --na='not known' reads such cells as missing`,
		`latent: PATH: taken for Poisson counts, but with a larger variance than those have: "income" (variance 3.02e+06, mean 2.66e+03): --columns income=gaussian may suit better`,
	}, notes(stderr, path))

	_, stderr = done(t, append(args, "--na=?", "--na=not known", "--na=-1", "--drop", "id,name", "--columns", "income=gaussian")...)
	assert.Equal(t, []string{
		`latent: --na '?' makes 2 cells of PATH missing, in "age"`,
		`latent: --na 'not known' makes 1 cell of PATH missing, in "age"`,
		`latent: --na '-1' makes no cell of PATH missing: none of those used is "-1"`,
		`latent: 3 missing values in 3 of the 20 rows of PATH integrated out (--missing drop leaves the rows out)`,
	}, notes(stderr, path))

	// Columns whose family is given are no business of auto.
	_, stderr = done(t, append(args, "--columns", "id=gaussian,name=categorical,age=categorical,income=poisson")...)
	assert.Empty(t, stderr)
	fails(t, 2, "zoo is an embedded data set", "", "fit", "--data", "zoo", "--family", "auto", "--na", "x")
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
		{cells(30, func(i int) any { return 1 + i%5 }), `few different values, as codes and grades have: "x" (5 values, 1 to 5): --columns x=categorical may suit better`, "--columns x=categorical"},
		{cells(30, func(i int) any { return i % 3 * 2 }), `"x" (3 values, 0 to 4): --columns x=categorical`, "--columns x=categorical"},
		{cells(60, func(i int) any { return i % 3 }), "", ""}, // 0, 1, 2: may be counts
		{cells(30, func(i int) any { return i%3 - 1 }), `"x" (3 values, -1 to 1): --columns x=categorical`, "--columns x=categorical"},
		{cells(30, func(i int) any { return 170 + i*7%20 }), `smaller variance than any mixture of those has: "x" (variance 33.8, mean 179): --columns x=gaussian`, "--columns x=gaussian"},
		{cells(60, func(i int) any { return fmt.Sprintf("L%d", i*7%20) }), `few rows a level: "x" (20 levels in 60 rows): --drop x leaves it out`, "--drop x"},
		{cells(30, func(i int) any { return []string{"a", "b", "-", "N/A"}[i%4] }), `levels that often stand for missing values: "x" ("-", "N/A"): --na='-' --na=N/A reads`, "--na=- --na=N/A"},
		{cells(30, func(i int) any { return fmt.Sprintf("1,%d", i%9) }), `commas in decimals: "x": replace the commas by points`, "--drop x"},
		{cells(30, func(int) any { return 3 }), `with a single value, which distinguishes no rows: "x" (3): --drop x leaves it out`, "--drop x"},
		{cells(30, func(int) any { return 0 }), `"x" (0): --drop x`, "--drop x"},
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
		assert.NotContains(t, stderr, `"x" (`, c.follow)
	}
}

func TestManyDoubtfulColumnsShareANote(t *testing.T) {
	text := "a,b,\"c,d\",e\n" + strings.Repeat("1,1,1,1\n2,2,2,2\n", 20)
	path := file(t, "d.csv", text)
	_, stderr := done(t, "fit", "--data", path, "--family", "auto", "--k", "1")
	assert.Equal(t, []string{`latent: PATH: taken for numbers, but with few different values, as codes and grades have: "a" (2 values, 1 to 2), "b" (2 values, 1 to 2), "c,d" (2 values, 1 to 2), … (4 columns): --columns 'a=categorical,b=categorical,c\,d=categorical' and so on may suit better`}, notes(stderr, path))
	r := fitJSON(t, "--data", path, "--columns", `c\,d=categorical`, "--k", "1")
	assert.Equal(t, familyCategorical, r.Columns[2].Family)
	_, stderr = done(t, "fit", "--data", path, "--columns", "b=gaussian,e=poisson,c\\,d=poisson", "--k", "1")
	assert.Contains(t, stderr, `--columns 'b=gaussian,e=poisson,c\,d=poisson,a=categorical' may suit better`, "those given stay")
}

func TestAutoTellsTheFamilyOfEachColumn(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"zoo", "categorical of 2 levels: hair, feathers, eggs, milk, airborne, aquatic, predator, toothed, backbone, breathes, venomous, fins, tail, domestic, catsize poisson: legs"},
		{"faithful", "gaussian: eruptions poisson: waiting"},
		{file(t, "d.csv", "a,b\n1.5,2.5\n2.5,3.5\n7.5,1.5\n2.5,4.5\n"), "gaussian: a, b"},
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
		{"--columns", "zip=categorical,id=categorical", "--k", "2"},
		{"--family", "auto", "--columns", "id=categorical", "--k", "2"},
		{"--family", "categorical", "--columns", "x=poisson", "--k", "2"},
	} {
		r := fitJSON(t, append([]string{"--data", path, "--out", model}, args...)...)
		assert.Equal(t, []column{{"zip", "categorical", zips}, {"id", "categorical", ids}, {"x", "poisson", nil}}, r.Columns, "%v", args)

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
	require.Equal(t, familyGaussian, r.Columns[0].Family)
	assert.InDelta(t, (1234+2139)/2., float64(r.Components[0].Columns[0].Values["mean"]), 1e-9)
	r = fitJSON(t, "--data", path, "--family", "poisson", "--weights", "x", "--select", "zip", "--k", "1")
	assert.Equal(t, familyPoisson, r.Columns[0].Family)
}
