package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestColumnsThatMayMisleadAutoAreNoted(t *testing.T) {
	text := "id,name,age,income,visits\n"
	for i := range 20 {
		age := fmt.Sprint(30 + i%5*7)
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
		`latent: column "id" of ` + path + ` has the numbers from 1 to 20, each once, as row numbers are: --drop id leaves it out`,
		`latent: column "name" of ` + path + ` has another text in every row, as names have: --drop name leaves it out`,
		`latent: column "age" of ` + path + ` is taken for categorical because 3 cells are no number ("?", "not known"), while 17 are: --na '?' --na 'not known' reads such cells as missing`,
		`latent: column "income" of ` + path + ` is taken for a Poisson count, but its variance is 3.02e+06 and its mean 2.66e+03: --columns income=gaussian may suit it better`,
	}, strings.Split(strings.TrimSpace(stderr), "\n"))

	_, stderr = done(t, append(args, "--na", "?", "--na", "not known", "--drop", "id,name", "--columns", "income=gaussian")...)
	assert.Equal(t, "latent: 3 missing values in 3 of the 20 rows of "+path+" integrated out (--missing drop leaves the rows out)\n", stderr)

	// Columns whose family is given are no business of auto.
	_, stderr = done(t, append(args, "--columns", "id=gaussian,name=categorical,age=categorical,income=poisson")...)
	assert.Empty(t, stderr)
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
