package command

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// latentClasses are codes 1 and 2 of six items: rows of three classes, which show their own code with probability 0.8.
func latentClasses(rows int, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 6))
	profiles := [][]int{{1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2}, {1, 1, 1, 2, 2, 2}}
	var text strings.Builder
	text.WriteString("q1,q2,q3,q4,q5,q6\n")
	for range rows {
		var cells []string
		for _, code := range profiles[rng.IntN(3)] {
			if rng.Float64() > 0.8 {
				code = 3 - code
			}
			cells = append(cells, fmt.Sprint(code))
		}
		text.WriteString(strings.Join(cells, ",") + "\n")
	}
	return text.String()
}

// TestFamilyAutoFindsThreeLatentClasses in 9 of 10 tables at least.
func TestFamilyAutoFindsThreeLatentClasses(t *testing.T) {
	found := 0
	for seed := range uint64(10) {
		r := fitJSON(t, "--family", "auto", "--data", file(t, "codes.csv", latentClasses(600, seed)))
		require.Equal(t, "cvb0", r.Method)
		if r.K == 3 {
			found++
		}
	}
	t.Logf("%d of 10", found)
	assert.GreaterOrEqual(t, found, 9)
}

// A table with texts is fitted as by --family auto, unless a family is named; where they are left out, as numbers are.
func TestTextsAreDescribedByDefault(t *testing.T) {
	var mixed strings.Builder
	mixed.WriteString("length,sort,width\n")
	for i := range 60 {
		fmt.Fprintf(&mixed, "%v,%c,%v\n", float64(10*(i%2))+float64(i%7)/3, 'a'+i%2, float64(i%11)/3)
	}
	path := file(t, "mixed.csv", mixed.String())
	for _, command := range []string{"fit", "select"} {
		_, stderr := done(t, command, "--data", path, "--kmax", "3", "--restarts", "1")
		assert.Contains(t, stderr, `each column by its kind (--family auto), as texts are in "sort": --drop sort leaves them out`)
	}
	r := fitJSON(t, "--data", path)
	assert.Equal(t, "auto", r.Family)
	assert.Equal(t, []string{"length", "width", "sort"}, []string{r.Columns[0].Name, r.Columns[1].Name, r.Columns[2].Name})
	assert.Equal(t, []string{"gaussian", "gaussian", "categorical"}, []string{r.Columns[0].Family, r.Columns[1].Family, r.Columns[2].Family})
	assert.Equal(t, fitJSON(t, "--data", path, "--family", "auto").Params, r.Params)
	assert.Contains(t, fitJSON(t, "--data", path, "--drop", "sort").Family, "gaussian")
	assert.Equal(t, "gaussian", fitJSON(t, "--data", path, "--gate", "sort").Family)
	fails(t, 1, `column "sort" is categorical: row 1 is "a"`, "", "fit", "--data", path, "--family", "gaussian")
	r = fitJSON(t, "--data", path, "--cov", "EII,VVV") // of the measured columns
	assert.Equal(t, []string{"gaussian", "gaussian", "categorical"}, []string{r.Columns[0].Family, r.Columns[1].Family, r.Columns[2].Family})
	commas := file(t, "commas.csv", "name;length;width\na;1,5;2.5\nb;2;3.5\na;3;4\n") // the column that is misspelt is named, not the first of texts
	fails(t, 1, `column "length" is categorical: row 1 is "1,5"; the table is read with decimal points`, "", "fit", "--data", commas)
}

// TestCodesAndCountsAreIntegratedOutByDefault: --k and --method go first, and tables of more than 1,000,000 cells
// and of other columns have gFAB.
func TestCodesAndCountsAreIntegratedOutByDefault(t *testing.T) {
	codes, counts := file(t, "codes.csv", latentClasses(60, 1)), file(t, "counts.csv", "a,b\n0,3\n2,9\n1,7\n0,4\n12,2\n9,1\n8,0\n")
	many := file(t, "many.csv", "a\n9950\n20080\n10010\n19900\n10100\n20010\n")
	large := file(t, "large.csv", "a\n"+strings.Repeat("0\n1\n1\n", 333_334))
	for want, list := range map[string][][]string{
		"cvb0": {{"--data", codes, "--family", "auto"}, {"--data", codes, "--family", "bernoulli"}, {"--data", codes, "--columns", "q1=categorical"},
			{"--data", counts, "--family", "poisson"}, {"--data", counts, "--columns", "a=poisson,b=poisson"}, {"--model", "bernmix", "--data", codes},
			{"--data", codes, "--family", "auto", "--prior", "a=2,b=2"}, {"--data", codes, "--family", "auto", "--criterion", "exacticl"}},
		"gfab": {{"--data", codes, "--family", "auto", "--method", "gfab"}, {"--data", codes, "--family", "auto", "--k", "2"}, {"--data", codes, "--columns", "q1=gaussian"}, {"--data", counts, "--family", "multinomial"},
			{"--data", large, "--family", "auto"}, {"--data", large, "--model", "bernmix"}, {"--data", counts}, {"--data", many, "--family", "poisson"}},
	} {
		for _, args := range list {
			assert.Equal(t, want, fitJSON(t, args...).Method, args)
		}
	}
	stdout, _ := done(t, "fit", "--data", codes, "--family", "auto")
	assert.Contains(t, stdout, "method          cvb0, as the columns are codes (default elsewhere: gfab)")
	assert.Contains(t, stdout, "5 of 5 reached this value") // three from K = 10 and three from 2, two of which begin at the same point
	stdout, _ = done(t, "fit", "--data", counts, "--family", "poisson")
	assert.Contains(t, stdout, "cvb0, as the columns are codes or counts")
	stdout, _ = done(t, "fit", "--data", codes, "--family", "auto", "--method", "cvb0")
	assert.NotContains(t, stdout, "default elsewhere")
	for method, said := range map[string]bool{"": true, "gfab": false} {
		args := []string{"fit", "--data", large, "--family", "auto", "--kmax", "2"}
		if method != "" {
			args = append(args, "--method", method)
		}
		_, stderr := done(t, args...)
		assert.Equal(t, said, strings.Contains(stderr, "more than 1000000 cells") && strings.Contains(stderr, "components of a few rows; --method cvb0"), stderr)
	}
	for _, list := range [][]string{{"--data", many, "--family", "poisson"}, {"--data", codes, "--family", "auto", "--k", "2"}} {
		assert.Contains(t, strings.Join(fitJSON(t, list...).Warnings, "\n"), ": method gfab, as ")
	}
	for flag, want := range map[string]string{"--accelerate": "climbs nothing: leave it out, or take --method gfab or fab or em or map or vb", "--sample=20": "counts that hold all rows",
		"--bootstrap=20": "posterior of the parameters: leave it out, or take --method gfab or em", "--criterion=bic": "choose one of collapsed, exacticl, dnml, or --method gfab or fab or em or map"} {
		_, _, stderr := latent("", "fit", "--data", codes, "--family", "auto", flag)
		assert.Contains(t, stderr, "--method cvb0 (the default here, as the columns are codes)")
		fails(t, 2, want, "", "fit", "--data", codes, "--family", "auto", flag)
	}
	fails(t, 2, "--prior requires --method map or vb or cvb0, and the method is gfab (the default here, as a table of more", "", "fit", "--data", large, "--family", "auto", "--prior", "a=2,b=2")
	fails(t, 2, "--prior requires --method map or vb or cvb0, and the method is gfab", "", "fit", "--prior", "weights=1")
}

// TestSelectWarnsOfTheLargestK where the table bears larger ones, and only there.
func TestSelectWarnsOfTheLargestK(t *testing.T) {
	_, stderr := done(t, "select", "--data", "iris", "--kmax", "3", "--restarts", "1")
	assert.Contains(t, stderr, "latent: K = 3 is the largest compared, and best by fic, aic: larger K may be better (--kmax)\n")
	stdout, stderr := done(t, "select", "--data", "ruspini", "--cov", "all", "--kmax", "3", "--restarts", "1", "--format", "json")
	assert.Contains(t, stderr, "K = 3 is the largest compared, and best by gaussian-vve")
	assert.Contains(t, stdout, `"warnings":["K = 3 is the largest`)
	for _, args := range [][]string{{"--data", "faithful", "--kmax", "4", "--criteria", "gfic"}, {"--data", "iris", "--kmin", "4", "--kmax", "4"}, {"--model", "bpca", "--data", "iris"}} {
		_, stderr = done(t, append([]string{"select"}, args...)...)
		assert.NotContains(t, stderr, "largest compared", args)
	}
}

// Where nobody names a family each column has its kind: codes and two values among measurements have families of their own, counts have
// theirs where nothing is measured, and what has no value is left out. Of a handful of rows numbers do not show what they are.
func TestColumnsOfNumbersHaveTheirKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	mixed, counts, few := "x,y,smoker,grade,visits,gone\n", "births,deaths\n", "births,deaths\n"
	for i := range 60 {
		mixed += fmt.Sprintf("%.3f,%.3f,%d,%d,%d,\n", rng.NormFloat64(), rng.NormFloat64(), i*i%3%2, 1+i*7%11%4, rng.IntN(4)*rng.IntN(5))
		row := fmt.Sprintf("%d,%d\n", rng.IntN(3)+rng.IntN(3), rng.IntN(2)+rng.IntN(3)*rng.IntN(2))
		if counts += row; i < 5 {
			few += row
		}
	}
	for text, want := range map[string][]string{
		mixed:  {"x gaussian", "y gaussian", "smoker bernoulli", "grade categorical", "visits poisson"},
		counts: {"births poisson", "deaths poisson"},
		few:    {"births gaussian", "deaths gaussian"},
	} {
		stdout, stderr := done(t, "fit", "--kmax", "2", "--restarts", "1", "--data", file(t, "t.csv", text), "--format", "json")
		var got []string
		for _, c := range reportOf(t, stdout).Columns {
			family, _, _ := strings.Cut(c.Family, "-")
			got = append(got, c.Name+" "+family)
		}
		assert.Equal(t, want, got)
		assert.Equal(t, text == mixed, strings.Contains(stderr, `left out, without any value: "gone"`))
		assert.Equal(t, text != few, strings.Contains(stderr, "each column by its kind (--family auto), as these are not measurements"))
	}
	plain := fitJSON(t, "--family", "gaussian", "--k", "1", "--data", file(t, "t.csv", counts))
	assert.Equal(t, "gaussian", plain.Columns[0].Family)
}
